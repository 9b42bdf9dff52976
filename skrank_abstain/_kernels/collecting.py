"""The differences of the pairs between two gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def differences_between(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    *,
    n_threads: int | None = None,
) -> tuple[int, FloatArray]:
    """Return the differences of all pairs with low < |d| <= high.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    low, high : float
    n_threads : int, default=None
        By default one per available CPU.

    Returns
    -------
    n_within : int
        Number of pairs with ``|d| <= low``.
    differences : ndarray of shape (n_pairs,), float64
        In the order of the higher-scored items.

    Notes
    -----
    Two pointers walk along each query: O(n) plus the number of these pairs.
    """
    if high < 0:  # no difference is
        return 0, np.empty(0)

    def collect(q0: int, q1: int) -> tuple[int, FloatArray]:
        # Most calls find few pairs an item; a second pass has room for all.
        out = np.empty(4 * int(offsets[q1] - offsets[q0]))
        n_within, n = _collect_range(scores, offsets, q0, q1, low, high, out)
        if n > out.size:
            out = np.empty(n)
            _collect_range(scores, offsets, q0, q1, low, high, out)
        return n_within, out[:n]

    parts = map_ranges(collect, np.diff(offsets) * 10.0 + 5.0, n_threads)
    n_within = sum(part[0] for part in parts)
    return n_within, np.concatenate([np.empty(0), *(part[1] for part in parts)])


@jit
def _collect_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    low: float,
    high: float,
    out: FloatArray,
) -> tuple[int, int]:
    """Count the pairs within ``low`` and those between; fill ``out`` with the latter.

    Pairs for which ``out`` has no room are only counted.
    """
    n = n_within = 0
    for q in range(q0, q1):
        # Items before ``near`` are further than ``low`` from item i, those before
        # ``far`` further than ``high``.
        near = far = offsets[q]
        for i in range(offsets[q], offsets[q + 1]):
            while near < i and scores[i] - scores[near] > low:
                near += 1
            while far < near and scores[i] - scores[far] > high:
                far += 1
            n_within += i - near
            for j in range(far, near):
                if n < out.shape[0]:
                    out[n] = scores[i] - scores[j]
                n += 1
    return n_within, n
