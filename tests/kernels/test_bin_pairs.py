import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.grouped import EXAMPLES, random_queries

from skrank_abstain._kernels import threads as _threads
from skrank_abstain._kernels.outcomes import weigh_groups


def reference(values, edges, grades, weights, offsets, group, n_groups, tolerance):
    """Sum pair by pair from the definition."""
    bins = (values[:, None] >= edges).sum(axis=1)
    weights = np.ones(values.size) if weights is None else weights
    totals = np.zeros((offsets.size - 1, n_groups, 4))
    for q in range(offsets.size - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                low, high = (j, i) if values[j] <= values[i] else (i, j)
                same = bins[i] == bins[j] and values[high] - values[low] <= tolerance
                # The pairs of equal values of a bin come last.
                place = group[-1 if same else bins[high], bins[low]]
                order = np.sign(grades[high] - grades[low])
                column = 3 if order and same else 1 - order
                totals[q, place, column] += weights[i] * weights[j]
    return totals


@st.composite
def celled(draw):
    n_bins = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(0, 30), min_size=1, max_size=4))
    seed = draw(st.integers(0, 10**6))
    n_grades = draw(st.sampled_from([1, 3, 1000]))
    rng = np.random.default_rng(seed)
    # Multiples of 1/4, some of them equal.
    values = [np.sort(rng.integers(0, 4 * n_bins, size)) / 4 for size in sizes]
    values = np.concatenate(values)
    n = sum(sizes)
    n_groups = draw(st.integers(1, 3))
    return (
        values,
        np.arange(1.0, n_bins),
        rng.integers(0, n_grades, n),
        draw(st.sampled_from([None, rng.integers(0, 4, n).astype(float)])),
        np.concatenate([[0], np.cumsum(sizes)]),
        rng.integers(0, n_groups, (n_bins + 1, n_bins + 1)),
        n_groups,
        draw(st.sampled_from([0.0, 0.25])),
    )


@EXAMPLES
@given(celled())
def test_totals_are_those_of_every_pair(case):
    # Few bins and up to 30 items: queries of more than 4 items a bin are merged.
    expected = reference(*case)
    found = weigh_groups(*case, by_query=True)
    np.testing.assert_array_equal(found, expected)
    pooled = weigh_groups(*case, by_query=False)
    np.testing.assert_array_equal(pooled, expected.sum(axis=0, keepdims=True))


def test_threads_do_not_matter(monkeypatch):
    scores, grades, offsets = random_queries(50, 40, None)
    edges = np.arange(1.0, 6.0)
    weights = np.random.default_rng(0).random(scores.size)
    group = np.arange(49).reshape(7, 7)
    monkeypatch.setattr(_threads, "MIN_COST", 100.0)
    data = scores, edges, grades, weights, offsets, group, 49, 0.0
    monkeypatch.setattr(_threads, "n_threads", lambda: 8)
    eight = weigh_groups(*data, by_query=False)
    monkeypatch.setattr(_threads, "n_threads", lambda: 1)
    one = weigh_groups(*data, by_query=False)
    np.testing.assert_array_equal(one, eight)
    assert one.sum() == pytest.approx(
        sum(
            (weights[a:b].sum() ** 2 - (weights[a:b] ** 2).sum()) / 2
            for a, b in itertools.pairwise(offsets)
        )
    )
