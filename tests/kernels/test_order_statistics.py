from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from kernels import reference
from kernels.grouped import COMPILED, EXAMPLES, grouped, random_queries

from skrank_abstain._kernels import order_statistics
from skrank_abstain._kernels.order_statistics import kth_difference


def small_limits(collect=8, sample=16):
    """Narrow brackets by sampling where one would otherwise collect."""
    return mock.patch.multiple(order_statistics, _COLLECT=collect, _SAMPLE=sample)


@EXAMPLES
@given(data=grouped())
@pytest.mark.parametrize("collect", [2, 1 << 20])
def test_every_rank_is_exact(collect, data):
    every = np.sort(np.concatenate(reference.differences(data.scores, data.offsets)))
    ranks = np.arange(1, every.size + 1)
    with small_limits(collect):
        smallest = kth_difference(data.scores, data.offsets, ranks)
        largest = kth_difference(data.scores, data.offsets, ranks, largest=True)
    np.testing.assert_array_equal(smallest, every)
    np.testing.assert_array_equal(largest, every[::-1])


@pytest.mark.parametrize("rounded", [None, 1])
def test_many_pairs(rounded):
    data = random_queries(40, 150, rounded=rounded)
    every = np.sort(np.concatenate(reference.differences(data.scores, data.offsets)))
    ranks = np.array([every.size, 1, 2, every.size // 3, every.size // 3])
    with small_limits(2000, 500):
        found = kth_difference(data.scores, data.offsets, ranks)
    np.testing.assert_array_equal(found, every[ranks - 1])


@COMPILED
def test_a_million_items():
    n = 1_000_000
    scores, offsets = np.arange(n, dtype=float) * 0.5, np.array([0, n])
    # Among the differences of 0, 1, ... the first n - 1 are 1, the next n - 2 are 2.
    ranks = np.array([n - 1, n, 2 * n - 3, 2 * n - 2, n * (n - 1) // 2])
    found = kth_difference(scores, offsets, ranks)
    assert (found * 2).tolist() == [1, 2, 2, 3, n - 1]


def test_nearly_equal_floats_and_one_far_away():
    scores = np.concatenate([1 + np.arange(500) * np.finfo(float).eps, [1e300]])
    offsets = np.array([0, scores.size])
    every = np.sort(np.concatenate(reference.differences(scores, offsets)))
    with small_limits(100, 64):
        found = kth_difference(scores, offsets, np.arange(1, every.size + 1, 977))
    np.testing.assert_array_equal(found, every[::977])


@pytest.mark.parametrize("rank", [0, 4])
def test_a_rank_that_does_not_exist_is_refused(rank):
    with pytest.raises(ValueError, match="between 1 and 3, the number of pairs"):
        kth_difference(np.arange(3.0), np.array([0, 3]), [rank])


def test_no_ranks():
    assert kth_difference(np.zeros(1), np.array([0, 1]), []).shape == (0,)
