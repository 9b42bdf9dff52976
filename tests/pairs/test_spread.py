"""Some of many queries, and items that are summarised."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import scored

from skrank_abstain.pairs import group_queries, thin


def built(fine, offsets):
    """Return items of these grades; equal scores, so that they keep their order."""
    qid = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    return scored(np.zeros(fine.size), group_queries(qid, qid.size), fine)


def test_small_data_are_fitted_whole():
    np.testing.assert_array_equal(thin(np.array([0, 3, 3, 10]), 30_000), np.arange(10))


def test_large_queries_are_thinned_evenly():
    rows = thin(np.array([0, 5, 1005, 1010]), 30_000)
    inside = rows[(rows >= 5) & (rows < 1005)]
    assert inside.size == 400
    assert inside[[0, -1]].tolist() == [5, 1004]
    assert set(np.diff(inside)) == {2, 3}
    assert set(rows) - set(inside) == {0, 1, 2, 3, 4, 1005, 1006, 1007, 1008, 1009}
    np.testing.assert_array_equal(rows, thin(np.array([0, 5, 1005, 1010]), 30_000))


@pytest.mark.parametrize(
    "sizes",
    [[10] * 40_000, [1000] * 1000, [2] * 100_000 + [5000], [5000] + [3] * 50_000],
)
def test_of_many_queries_some_are_fitted_whole(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = thin(offsets, 30_000)
    # Nearly as many items as may be, whatever the largest query is.
    assert 24_000 < rows.size <= 30_500
    assert (np.diff(rows) > 0).all()
    query = np.searchsorted(offsets, rows, side="right") - 1
    used, counts = np.unique(query, return_counts=True)
    most = np.clip(30_000 // len(sizes), 40, 400)
    np.testing.assert_array_equal(counts, np.minimum(np.array(sizes)[used], most))
    # The first and the last query, and about equal steps between.
    assert used[0] == 0
    assert used[-1] == len(sizes) - 1
    assert np.ptp(np.diff(used)) <= 1


@pytest.mark.parametrize("place", [0, 500, 501, 502, 999])
@pytest.mark.parametrize("others", [1, 2])
def test_a_grade_that_is_seen_once_in_a_large_query_is_not_lost(place, others):
    grades = np.arange(1000) * others // 1000
    grades[place] = others
    items = built(grades.astype(float), np.array([0, 1000]))
    some = items.thinned(200, np.arange(others + 1))
    assert 200 <= some.value.size <= 201
    assert np.bincount(some.grades)[others] == 1
    np.testing.assert_array_equal(some.grades, grades[some.rows])


def test_grades_are_merged_and_rare_ones_of_many_queries_kept():
    fine = np.tile([0.0, 1.0], 1000)
    fine[1234] = 2
    items = built(fine, np.arange(0, 2001, 10))
    some = items.thinned(200, np.array([0, 0, 1]))
    assert some.n_queries == 21  # 20 evenly spaced ones, and that of the rare grade
    assert some.offsets.tolist()[-1] == some.value.size == 201
    assert some.grades.sum() == 1
    assert some.rows[some.grades == 1].tolist() == [1234]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=2, max_size=25),
    st.integers(1, 4),
)
def test_pairs_of_one_grade_are_those_of_every_pair(rows, width):
    query, fine = np.array(sorted(rows)).T
    fine = np.unique(fine, return_inverse=True)[1]
    merged = np.unique(np.arange(fine.max() + 1) // width, return_inverse=True)[1]
    offsets = np.append(0, np.cumsum(np.unique(query, return_counts=True)[1]))
    expected = np.zeros((2, merged.max() + 1))
    for i, j in itertools.combinations(range(fine.size), 2):
        if query[i] == query[j] and merged[fine[i]] == merged[fine[j]]:
            expected[:, merged[fine[i]]] += [fine[i] == fine[j], 1]
    items = built(fine.astype(float), offsets)
    np.testing.assert_array_equal(items.pairs_by_grade(merged), expected)
