"""The step-down of the largest ratio, without a table of pairs by draws."""

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit

Single = NDArray[np.float32]


@jit
def count_larger(
    draws: Single, left: IntArray, right: IntArray, scales: Single, limits: Single
) -> FloatArray:
    """Count the draws in which a pair, or one before it, reaches the limit of the pair.

    ``draws`` (n_items, n_draws) are contiguous; the others (n_pairs,). The size of a
    pair in a draw is the distance of its two items times its scale. The counts are
    returned, (n_pairs,). O(n_pairs n_draws).
    """
    counts, largest = np.zeros(left.shape[0]), np.zeros(draws.shape[1], np.float32)
    for k in range(left.shape[0]):
        first, second = draws[left[k]], draws[right[k]]
        scale, limit = scales[k], limits[k]
        # As wide as the draws, so that the loop is vectorised.
        reached = np.int32(0)
        for draw in range(draws.shape[1]):
            size = max(abs(first[draw] - second[draw]) * scale, largest[draw])
            largest[draw] = size
            reached += np.int32(size >= limit)
        counts[k] = reached
    return counts
