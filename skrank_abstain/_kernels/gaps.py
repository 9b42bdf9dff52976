"""Pairs within and between gaps, and the ranks they leave, by two pointers."""

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges


def count_within(scores: FloatArray, offsets: IntArray, cuts: FloatArray) -> IntArray:
    """Count the pairs with ``|d| <= cut``.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    cuts : ndarray of shape (n_cuts,), float64
        In any order, without NaN; infinite values are allowed.

    Returns
    -------
    counts : ndarray of shape (n_cuts,), int64

    Notes
    -----
    Two pointers walk along each query: O(n) per cut.
    """

    def count(q0: int, q1: int) -> IntArray:
        out = np.zeros(cuts.size, dtype=np.int64)
        _within_range(scores, offsets[q0 : q1 + 1], cuts, out)
        return out

    parts = map_ranges(count, np.diff(offsets) * (4.0 * cuts.size) + 5.0)
    return sum(parts, np.zeros(cuts.size, dtype=np.int64))


@jit
def _within_range(
    scores: FloatArray, offsets: IntArray, cuts: FloatArray, out: IntArray
) -> None:
    """Add counts to ``out`` (n_cuts,)."""
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        for c in range(cuts.shape[0]):
            # No pair is within a negative cut. The pointer below stops where an item
            # meets itself, at a difference of 0, and would run past the end.
            if cuts[c] < 0.0:
                continue
            far = lo  # items before this one are further than the cut from item i
            for i in range(lo, hi, 8):
                # Eight items share a scan without branches: twice as fast as one by
                # one, and the search for an order statistic does little else.
                eight = scores[i : min(i + 8, hi)]
                near = far
                while eight[-1] - scores[near] > cuts[c]:
                    near += 1
                out[c] += eight.size * (i - far) + eight.size * (eight.size - 1) // 2
                for score in scores[far:near]:
                    for k in range(eight.size):
                        out[c] -= np.int64(eight[k] - score > cuts[c])
                far = near


def differences_between(
    scores: FloatArray, offsets: IntArray, low: float, high: float
) -> FloatArray:
    """Return the differences of all pairs with low < |d| <= high.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    low, high : float

    Returns
    -------
    differences : ndarray of shape (n_pairs,), float64
        In the order of the higher-scored items.

    Notes
    -----
    Two pointers walk along each query: O(n) plus the number of these pairs.
    """

    def collect(q0: int, q1: int) -> FloatArray:
        # Room for one difference an item; where there are more, another pass has room.
        out, n = np.empty(0), int(offsets[q1] - offsets[q0])
        while n > out.size:
            out = np.empty(n)
            n = _collect_range(scores, offsets[q0 : q1 + 1], low, high, out)
        return out[:n]

    parts = map_ranges(collect, np.diff(offsets) * 10.0 + 5.0)
    return np.concatenate([np.empty(0), *parts])


@jit
def _collect_range(
    scores: FloatArray, offsets: IntArray, low: float, high: float, out: FloatArray
) -> int:
    """Count the pairs and fill ``out``, while it has room, with their differences."""
    n = 0
    for q in range(offsets.shape[0] - 1):
        # Items before ``near`` are further than ``low`` from item i, those before
        # ``far`` further than ``high``.
        near = far = offsets[q]
        for i in range(offsets[q], offsets[q + 1]):
            while near < i and scores[i] - scores[near] > low:
                near += 1
            while far < near and scores[i] - scores[far] > high:
                far += 1
            for j in range(far, near):
                if n < out.shape[0]:
                    out[n] = scores[i] - scores[j]
                n += 1
    return n


def rank_bounds(scores: FloatArray, offsets: IntArray, delta: float) -> IntArray:
    """Return the best and the worst rank of each item within its query.

    Item i is accepted over item j where ``s_i - s_j >= delta``.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    delta : float
        Positive; infinity accepts nothing but differences that overflow.

    Returns
    -------
    bounds : ndarray of shape (n, 2), int64
        In the order of ``scores``. Rank 1 is the top: best is 1 plus the number of
        items accepted over this one, worst the size of the query minus the number
        of items that this one is accepted over.

    Notes
    -----
    Two pointers, O(n).
    """
    bounds = np.empty((scores.shape[0], 2), dtype=np.int64)

    def bound(q0: int, q1: int) -> None:
        _bounds_range(scores, offsets[q0 : q1 + 1], float(delta), bounds)

    map_ranges(bound, np.diff(offsets) * 15.0)
    return bounds


@jit
def _bounds_range(
    scores: FloatArray, offsets: IntArray, delta: float, bounds: IntArray
) -> None:
    """Fill ``bounds`` (n, 2)."""
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        beaten = lo  # items before this one are beaten by item i
        beating = lo  # items from this one on beat item i
        for i in range(lo, hi):
            while beaten < i and scores[i] - scores[beaten] >= delta:
                beaten += 1
            while beating < hi and not scores[beating] - scores[i] >= delta:
                beating += 1
            bounds[i, 0] = 1 + hi - beating
            bounds[i, 1] = hi - beaten
