"""The differences of the pairs between two distances: all of them, or a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels._jit import jit
from skrank_abstain._kernels._threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def differences_between(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    *,
    n_threads: int | None = None,
) -> FloatArray:
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
    differences : ndarray of shape (n_pairs,), float64
        By the higher-scored item of the pair, in the order of ``scores``.

    Notes
    -----
    O(n) plus the number of these pairs.
    """
    first, count = _partners(scores, offsets, low, high, n_threads)
    upto = np.cumsum(count)
    out = np.empty(int(upto[-1]) if upto.size else 0, dtype=np.float64)
    map_ranges(
        lambda p0, p1: _collect_range(scores, first, count, upto, p0, p1, out),
        count + 2,
        n_threads,
    )
    return out


def sample_between(
    scores: FloatArray, offsets: IntArray, low: float, high: float, size: int
) -> FloatArray:
    """Return ``size`` differences of random pairs with low < |d| <= high.

    Drawn with replacement and always the same; none if there are no such pairs.
    """
    first, count = _partners(scores, offsets, low, high, None)
    upto = np.cumsum(count)
    if upto.size == 0 or upto[-1] == 0:
        return np.empty(0, dtype=np.float64)
    draws = np.random.default_rng(0).integers(0, upto[-1], size=size)
    items = np.searchsorted(upto, draws, side="right")
    partners = first[items] + (draws - (upto[items] - count[items]))
    with np.errstate(over="ignore"):
        differences: FloatArray = scores[items] - scores[partners]
    return differences


def _partners(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    n_threads: int | None,
) -> tuple[IntArray, IntArray]:
    """Return each item's first lower partner of these pairs, and their number."""
    first = np.empty(scores.shape[0], dtype=np.int64)
    count = np.empty(scores.shape[0], dtype=np.int64)
    map_ranges(
        lambda q0, q1: _partners_range(
            scores, offsets, q0, q1, low, high, first, count
        ),
        np.diff(offsets) * 15.0,
        n_threads,
    )
    return first, count


@jit
def _partners_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    low: float,
    high: float,
    first: IntArray,
    count: IntArray,
) -> None:
    """Fill ``first`` and ``count`` (n,) with partners j of item i, low < d <= high."""
    for q in range(q0, q1):
        near = far = offsets[q]
        for i in range(offsets[q], offsets[q + 1]):
            while far < i and scores[i] - scores[far] > high:
                far += 1
            while near < i and scores[i] - scores[near] > low:
                near += 1
            first[i] = far
            count[i] = near - far


@jit
def _collect_range(
    scores: FloatArray,
    first: IntArray,
    count: IntArray,
    upto: IntArray,
    p0: int,
    p1: int,
    out: FloatArray,
) -> None:
    """Fill ``out`` (n_pairs,) with the differences of the items ``p0`` to ``p1``."""
    for i in range(p0, p1):
        start = upto[i] - count[i]
        for k in range(count[i]):
            out[start + k] = scores[i] - scores[first[i] + k]
