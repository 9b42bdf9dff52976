"""Pairs written straight into the arrays that a prediction returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def fill_pairs(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    start: int = 0,
    stop: int | None = None,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of the queries ``start`` to ``stop`` in canonical order.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        One score per row, in row order.
    order : ndarray of shape (n,), int64
        Rows grouped by query, in row order within each.
    offsets : ndarray of shape (n_queries + 1,), int64
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), int64
        Queries in order, within a query all (i, j) with i before j.
    differences : ndarray of shape (n_pairs,), float64
        ``scores[left] - scores[right]``, never negative zero.

    Notes
    -----
    Serial: predictions use one thread. One pass writes all three arrays; gathering the
    scores afterwards costs as much again.
    """
    stop = offsets.shape[0] - 1 if stop is None else stop
    sizes = np.diff(offsets[start : stop + 1])
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    left, right = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    differences = np.empty(n_pairs)
    _fill_range(scores, order, offsets, start, stop, left, right, differences)
    return left, right, differences


@jit
def _fill_range(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    left: IntArray,
    right: IntArray,
    differences: FloatArray,
) -> None:
    """Fill the three arrays (n_pairs,) for the queries ``q0`` to ``q1``."""
    k = 0
    for q in range(q0, q1):
        for p in range(offsets[q], offsets[q + 1]):
            row = order[p]
            for other in range(p + 1, offsets[q + 1]):
                left[k] = row
                right[k] = order[other]
                # Adding zero turns negative zero into zero.
                differences[k] = scores[row] - scores[order[other]] + 0.0
                k += 1
