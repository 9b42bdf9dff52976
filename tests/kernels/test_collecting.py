from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import EXAMPLES, grouped, random_queries

from skrank_abstain._kernels.collecting import (
    differences_between,
    pairs_of_sample,
    sample_between,
)


@EXAMPLES
@given(
    data=grouped(),
    ends=st.tuples(st.floats(-1, 1e301), st.floats(-1, 1e301)).map(sorted),
)
def test_collects_exactly_the_pairs_between(data, ends):
    low, high = ends
    every = np.concatenate(reference.differences(data.scores, data.offsets))
    n_within, found = differences_between(data.scores, data.offsets, low, high)
    expected = every[(every > low) & (every <= high)]
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))
    assert n_within == (every <= low).sum()
    sample = sample_between(data.scores, data.offsets, low, high, 20)
    assert set(sample.tolist()) <= set(expected.tolist())
    assert sample.size == (20 if expected.size else 0)


def test_a_sample_is_uniform_and_repeatable():
    data = random_queries(40, 150, rounded=None)
    every = np.concatenate(reference.differences(data.scores, data.offsets))
    inside = every[(every > 0.5) & (every <= 1.5)]
    sample = sample_between(data.scores, data.offsets, 0.5, 1.5, 20_000)
    again = sample_between(data.scores, data.offsets, 0.5, 1.5, 20_000)
    np.testing.assert_array_equal(sample, again)
    # The standard error of a share of 20,000 draws is at most 0.0035.
    for share in (0.1, 0.5, 0.9):
        cut = np.quantile(inside, share)
        assert abs(np.mean(sample <= cut) - share) < 0.015


def test_no_items():
    none = np.empty(0)
    assert differences_between(none, np.array([0]), 0.0, 1.0)[1].shape == (0,)
    assert sample_between(none, np.array([0]), 0.0, 1.0, 5).shape == (0,)


@EXAMPLES
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 80))
def test_a_sample_is_spread_over_all_pairs(sizes, size):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    # All pairs in the order of the later item, query by query.
    every = [
        (i, j)
        for lo, hi in pairwise(offsets)
        for i in range(lo, hi)
        for j in range(lo, i)
    ]
    later, earlier = pairs_of_sample(offsets, size)
    drawn = list(zip(later.tolist(), earlier.tolist(), strict=True))
    if len(every) <= size:
        assert drawn == every
        return
    assert len(drawn) == size
    places = [every.index(pair) for pair in drawn]
    for k, place in enumerate(places):
        # One of each of ``size`` equal shares; a pair may lie across two of them.
        assert k * len(every) / size - 1 < place < (k + 1) * len(every) / size
