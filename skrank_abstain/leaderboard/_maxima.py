"""The largest of many correlated differences, draw by draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._validation import IntArray

Single = NDArray[np.float32]


@jit
def largest_differences(
    draws: Single,
    left: IntArray,
    right: IntArray,
    precision: Single,
    largest: Single,
) -> None:
    """Find the largest standardised difference of each draw.

    Parameters
    ----------
    draws : ndarray of shape (n_items, n_draws), float32
    left, right : ndarray of shape (n_pairs,), int64
    precision : ndarray of shape (n_pairs,), float32
        One over the standard error of the difference.
    largest : ndarray of shape (n_draws,), float32
        Raised where a pair has more.
    """
    n_draws = draws.shape[1]
    for pair in range(left.size):
        first, second, factor = draws[left[pair]], draws[right[pair]], precision[pair]
        for draw in range(n_draws):
            size = abs(first[draw] - second[draw]) * factor
            largest[draw] = max(largest[draw], size)
