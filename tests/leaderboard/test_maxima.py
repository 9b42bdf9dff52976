"""The largest difference of each draw against numpy's."""

import numpy as np

from skrank_abstain.leaderboard._maxima import largest_differences


def test_the_largest_difference_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(6, 50)).astype(np.float32)
    left, right = np.triu_indices(6, 1)
    precision = rng.uniform(0.5, 2, size=left.size).astype(np.float32)
    largest = np.full(50, 0.7, dtype=np.float32)
    largest_differences(draws, left, right, precision, largest)
    every = np.abs(draws[left] - draws[right]) * precision[:, None]
    np.testing.assert_array_equal(largest, np.maximum(every.max(axis=0), 0.7))
