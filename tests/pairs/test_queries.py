import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import items, qids

from skrank_abstain.pairs import (
    check_item_id,
    check_pairs,
    enumerate_pairs,
    group_queries,
    pair_labels,
    rows_by_place,
)


def as_tuples(left, right):
    return list(zip(left.tolist(), right.tolist(), strict=True))


@given(st.data(), st.integers(1, 12))
def test_pairs_are_those_of_the_definition_in_canonical_order(data, n):
    qid = data.draw(qids(n))
    queries = group_queries(qid, n)
    left, right = enumerate_pairs(queries)
    assert as_tuples(left, right) == reference.pairs(list(qid))
    assert left.dtype == right.dtype == np.int64
    assert queries.n_pairs == left.size


@given(st.data(), st.integers(1, 12))
def test_parts_of_the_queries_have_the_pairs_of_these(data, n):
    queries = group_queries(data.draw(qids(n)), n)
    stop = data.draw(st.integers(0, queries.n_queries))
    start = data.draw(st.integers(0, stop))
    found = as_tuples(*enumerate_pairs(queries, start, stop))
    every = as_tuples(*enumerate_pairs(queries))
    assert found == [pair for pair in every if start <= queries.codes[pair[0]] < stop]
    assert as_tuples(*enumerate_pairs(queries, start)) == [
        pair for pair in every if queries.codes[pair[0]] >= start
    ]


@given(st.data(), st.integers(1, 12))
def test_queries_partition_the_items(data, n):
    qid = data.draw(qids(n))
    queries = group_queries(qid, n)
    assert queries.n_items == n
    assert queries.n_queries == len(queries.values) == len({*qid})
    for q in range(queries.n_queries):
        rows = queries.rows(q)
        assert rows.tolist() == [i for i in range(n) if qid[i] == queries.values[q]]
        assert queries.sizes[q] == rows.size
        assert queries.pair_counts[q] == rows.size * (rows.size - 1) // 2
        assert (queries.codes[rows] == q).all()


@pytest.mark.parametrize("qid", [None, 4, "query"])
def test_without_identifiers_all_items_are_one_query(qid):
    queries = group_queries(qid, 3)
    assert as_tuples(*enumerate_pairs(queries)) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("frame", [pd.Series, pl.Series, list, np.array])
def test_containers_make_no_difference(frame):
    queries = group_queries(frame(["b", "a", "b", "a", "c"]), 5)
    assert as_tuples(*enumerate_pairs(queries)) == [(0, 2), (1, 3)]
    assert queries.sizes.tolist() == [2, 2, 1]


@pytest.mark.parametrize(("qid", "n"), [([], 0), (None, 0), (None, 1), ([3, 1, 2], 3)])
def test_no_pairs(qid, n):
    queries = group_queries(qid, n)
    left, right = enumerate_pairs(queries)
    assert left.shape == right.shape == (0,)
    assert left.dtype == right.dtype == np.int64
    assert queries.n_pairs == 0


def test_comparing_is_by_identity():
    one, other = group_queries([1, 2], 2), group_queries([1, 2], 2)
    assert one != other
    assert len({one, other, one}) == 2


@given(st.data(), st.integers(1, 15), st.integers(0, 15))
def test_pairs_of_ranges_of_queries_join_to_all(data, n, cut):
    queries = group_queries(data.draw(qids(n)), n)
    cut = min(cut, queries.n_queries)
    first = as_tuples(*enumerate_pairs(queries, 0, cut))
    rest = as_tuples(*enumerate_pairs(queries, cut))
    assert first + rest == as_tuples(*enumerate_pairs(queries))


@given(items())
def test_labels_are_the_signs_of_the_differences(data):
    left, right = enumerate_pairs(group_queries(data.qid, data.y.size))
    expected = [
        reference.label(int(data.y[i]) - int(data.y[j]))
        for i, j in as_tuples(left, right)
    ]
    labels = pair_labels(data.y, left, right)
    assert labels.tolist() == expected
    assert labels.dtype == np.int64
    assert pair_labels(data.y, right, left).tolist() == [-e for e in expected]


def test_labels_come_from_the_raw_relevance():
    one, two = np.array([0]), np.array([1])
    assert pair_labels(np.array([0, 100], dtype=np.uint8), one, two).tolist() == [-1]
    assert pair_labels([5e-324, 0.0], one, two).tolist() == [1]
    assert pair_labels([-0.0, 0.0], one, two).tolist() == [0]
    with pytest.raises(ValueError, match="y must be finite, got NaN"):
        pair_labels([np.nan, 0.0], one, two)


class TestCheckPairs:
    queries = group_queries(["b", "a", "b", "a"], 4)

    @pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
    def test_keeps_order_and_orientation(self, dtype):
        left, right = check_pairs(np.array([[2, 0], [1, 3]], dtype), self.queries)
        assert as_tuples(left, right) == [(2, 0), (1, 3)]
        assert left.dtype == right.dtype == np.int64

    @pytest.mark.parametrize("pairs", [[], np.empty((0, 2)), np.empty((0, 2), int)])
    def test_accepts_no_pairs(self, pairs):
        left, right = check_pairs(pairs, self.queries)
        assert left.shape == right.shape == (0,)

    @pytest.mark.parametrize("shape", [(3, 0), (0, 5), (1, 0), (0, 0), (0, 2, 1)])
    def test_refuses_other_empty_shapes(self, shape):
        with pytest.raises(ValueError, match=r"pairs must be of shape \(n_pairs, 2\)"):
            check_pairs(np.empty(shape, dtype=int), self.queries)

    @pytest.mark.parametrize(
        ("pairs", "exception", "message"),
        [
            ([0, 2], ValueError, r"pairs must be of shape \(n_pairs, 2\).*got \(2,\)"),
            ([[0, 2, 1]], ValueError, r"pairs must be of shape .*got \(1, 3\)"),
            ([[[0, 2]]], ValueError, r"pairs must be of shape .*got \(1, 1, 2\)"),
            (3, ValueError, r"pairs must be of shape .*got \(\)"),
            (
                [[0.0, 2.0]],
                TypeError,
                r"positions of two rows of X, got dtype float64",
            ),
            (
                [[False, True]],
                TypeError,
                r"positions of two rows of X, got dtype bool",
            ),
            (
                [["a", "b"]],
                TypeError,
                r"positions of two rows of X, got dtype",
            ),
            (
                [[0, 2], [1, 4]],
                ValueError,
                r"rows from 0 to 3, got \(1, 4\) at position 1 and 1 such pairs in all",
            ),
            ([[-1, 1]], ValueError, r"rows from 0 to 3, got \(-1, 1\) at position 0"),
            ([[2, 2]], ValueError, r"two different rows, got \(2, 2\)"),
            (
                [[0, 1], [2, 3]],
                ValueError,
                r"two rows of the same query, got \(0, 1\) .* 2 such pairs in all",
            ),
            (np.array([[0, 2**64 - 1]], np.uint64), ValueError, r"rows from 0 to 3"),
        ],
    )
    def test_refuses(self, pairs, exception, message):
        with pytest.raises(exception, match=message):
            check_pairs(pairs, self.queries)


@given(items(min_size=1))
def test_rows_by_place_go_down_and_keep_equal_ones_in_order(case):
    queries = group_queries(case.qid, case.scores.size)
    rows, place = rows_by_place(case.scores, queries)
    expected = [
        row
        for query in range(queries.n_queries)
        for row in sorted(queries.rows(query), key=lambda row: -case.scores[row])
    ]
    assert rows.tolist() == expected
    sizes = queries.sizes.tolist()
    assert place.tolist() == [k + 1 for size in sizes for k in range(size)]


@pytest.mark.parametrize(
    "ids",
    [
        ["Ann", "Bo", "Cy"],
        np.array([5, 7, 6], dtype=np.int32),
        pd.Series(["x", "y", "z"], index=[9, 8, 7]),
        pd.Index(["x", "y", "z"]),
        pl.Series(["x", "y", "z"]),
        [("a", 1), frozenset("b"), 3.5],
        pd.date_range("2026-01-01", periods=3),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_names_of_items_are_any_hashables(ids):
    found = check_item_id(ids, group_queries(None, 3))
    assert found.shape == (3,)
    assert found.tolist() == np.asarray(ids, object).tolist() or (
        found.tolist() == np.asarray(ids).tolist()
    )


def test_a_name_may_come_back_in_another_query_only():
    ids = ["Ann", "Bo", "Ann"]
    assert check_item_id(ids, group_queries([1, 1, 2], 3)).tolist() == ids
    assert check_item_id(None, group_queries(None, 3)) is None
    message = (
        "item_id must be unique within a query, got 'Ann' at rows 0 and 2 of "
        "query 'Mon'"
    )
    with pytest.raises(ValueError, match=message):
        check_item_id(ids, group_queries(["Mon", "Tue", "Mon"], 3))


@pytest.mark.parametrize(
    ("ids", "exception", "message"),
    [
        ("Ann", ValueError, "item_id must have one value per row, got 'Ann'"),
        (7, ValueError, "item_id must have one value per row, got 7"),
        (["a", "b"], ValueError, "item_id"),
        (["a", None, "b"], ValueError, "item_id must not be missing, got None"),
        ([1.0, np.nan, 2.0], ValueError, "item_id must not be missing, got NaN"),
        ([[1], [2], "a"], TypeError, "item_id must hold hashable values"),
        ({1, 2, 3}, TypeError, "item_id must be a list or an array"),
    ],
)
def test_names_of_items_that_name_nothing_are_refused(ids, exception, message):
    with pytest.raises(exception, match=message):
        check_item_id(ids, group_queries(None, 3))


@pytest.mark.parametrize("n_queries", [1, 30])
def test_many_rows_are_placed_as_few_are(n_queries):
    rng = np.random.default_rng(0)
    values, qid = rng.integers(-5, 5, 1500) / 2, rng.integers(0, n_queries, 1500)
    values[::7] = -0.0
    queries = group_queries(qid, 1500)
    rows, place = rows_by_place(values, queries)
    np.testing.assert_array_equal(rows, np.lexsort((-values, queries.codes)))
    few = np.flatnonzero(qid == qid[0])[:900]
    alone = rows_by_place(values[few], group_queries(None, few.size))
    np.testing.assert_array_equal(few[alone[0]], rows[np.isin(rows, few)])
    assert place[:2].tolist() == alone[1][:2].tolist() == [1, 2]


def test_a_frame_names_its_rows_where_labels_differ_within_queries():
    queries = group_queries([1, 1, 2], 3)

    def named(index):
        found = check_item_id(None, queries, pd.DataFrame({"x": [5, 6, 7]}, index))
        return None if found is None else found.tolist()

    assert named(["p7", "p2", "p7"]) == ["p7", "p2", "p7"]
    assert named([8, 3, 0]) == [8, 3, 0]
    assert named([0, 1, 2]) is None
    # A label that is twice in a query, missing, or of several levels names no row.
    assert named(["p7", "p7", "p2"]) is None
    assert named(["p7", None, "p2"]) is None
    assert named(pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)])) is None
    assert check_item_id(None, queries, [[5], [6], [7]]) is None
