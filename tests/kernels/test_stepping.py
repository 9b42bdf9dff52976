import numpy as np
import pytest

from skrank_abstain._kernels.stepping import count_larger


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_the_largest_size_so_far(seed):
    rng = np.random.default_rng(seed)
    n_items, n_draws = rng.integers(2, 9), rng.integers(1, 40)
    draws = rng.integers(-3, 4, size=(n_items, n_draws)).astype(np.float32)
    left, right = rng.permuted(np.array(np.triu_indices(n_items, 1)), axis=1)
    scales = rng.integers(0, 3, left.size).astype(np.float32)
    limits = np.sort(rng.integers(0, 8, left.size)).astype(np.float32)
    sizes = np.abs(draws[left] - draws[right]) * scales[:, None]
    expected = [
        (sizes[: k + 1].max(axis=0) >= limit).sum() for k, limit in enumerate(limits)
    ]
    found = count_larger(draws, left, right, scales, limits)
    np.testing.assert_array_equal(found, expected)


def test_no_pair_has_no_count():
    none = np.zeros(0, dtype=np.int64)
    few = np.zeros(0, dtype=np.float32)
    draws = np.zeros((1, 3), dtype=np.float32)
    assert count_larger(draws, none, none, few, few).shape == (0,)
