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
        Number of threads; by default one per available CPU.

    Returns
    -------
    n_within : int
        Number of pairs with ``|d| <= low``.
    differences : ndarray of shape (n_pairs,), float64
        By the higher-scored item of the pair, in the order of ``scores``, for each
        item in ascending order.

    Notes
    -----
    One pointer walks along each query: O(n) plus the number of these pairs.
    """
    if high < 0:  # no difference is
        return 0, np.empty(0)

    def collect(q0: int, q1: int) -> tuple[int, FloatArray]:
        beyond = np.empty(8, dtype=np.int64)
        # Room for some of each item, and, where that was too little, for all.
        out = np.empty(4 * int(offsets[q1] - offsets[q0]))
        data = scores, offsets, q0, q1, low, high, beyond
        n_within, n = _collect_range(*data, out)
        if n > out.size:
            out = np.empty(n)
            _collect_range(*data, out)
        return n_within, out[:n]

    parts = map_ranges(
        collect,
        np.diff(offsets) * 8.0 + 5.0,
        n_threads,
    )
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
    beyond: IntArray,
    out: FloatArray,
) -> tuple[int, int]:
    """Return how many are within ``low``, and how many between; these fill ``out``.

    What is too much for it is only counted. ``beyond`` (8,) is room.
    """
    n = n_within = 0
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        far = lo  # items before this one are further than ``low`` from item i
        # Eight items share the scan of the stretch where their pointers lie, and count
        # by comparing, without branches.
        for start in range(lo, hi, 8):
            eight = scores[start : min(start + 8, hi)]
            last = eight[eight.shape[0] - 1]
            near = far
            while near < hi and last - scores[near] > low:
                near += 1
            beyond[:] = 0
            for j in range(far, near):
                score = scores[j]
                for k in range(eight.shape[0]):
                    beyond[k] += np.int64(eight[k] - score > low)
            for k in range(eight.shape[0]):
                # Of the items before this one those further than ``low``.
                first = min(far + beyond[k], start + k)
                n_within += start + k - first
                for j in range(first - 1, lo - 1, -1):
                    difference = eight[k] - scores[j]
                    if difference > high:
                        break
                    if n < out.shape[0]:
                        out[n] = difference
                    n += 1
            far = min(near, start + eight.shape[0] - 1)
    return n_within, n
