"""Scores sorted within queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels._threads import map_ranges
from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Runs sorted by comparing all with all before merging starts.
_RUN = 64
# Integers of up to this range are ranked by marking which there are.
_SMALL_RANGE = 1024
# Values that are ranked at a time.
_PIECE = 1 << 14


def sort_within_queries(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    *,
    n_threads: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Sort the scores of each query in ascending order.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        One finite score per row, in any order.
    order : ndarray of shape (n,), int64
        Rows grouped by query.
    offsets : ndarray of shape (n_queries + 1,), int64
        ``order[offsets[q]:offsets[q + 1]]`` are the rows of query ``q``.
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    ascending : ndarray of shape (n,), float64
        Scores in ascending order within each query; negative zero becomes zero.
    rows : ndarray of shape (n,), int64
        ``scores[rows]`` equals ``ascending``. Rows of equal scores keep the order
        that they have in ``order``.

    Notes
    -----
    A merge sort, O(n log n), and O(n) where the scores ascend already. Short runs are
    sorted by counting, for each score, the smaller ones.
    """
    ascending = np.empty(order.shape[0], dtype=np.float64)
    rows = np.empty(order.shape[0], dtype=np.int64)
    sizes = np.diff(offsets)
    cost = sizes * (20.0 + 5.0 * np.log2(np.maximum(sizes, 1)))
    map_ranges(
        lambda q0, q1: _sort_range(scores, order, offsets, q0, q1, ascending, rows),
        cost,
        n_threads,
    )
    return ascending, rows


def dense_grades_within(
    grades: IntArray, offsets: IntArray, n_threads: int | None = None
) -> tuple[IntArray, IntArray]:
    """Return dense ranks of the grades of each query, and how many it has.

    Parameters
    ----------
    grades : ndarray of shape (n,), int64
    offsets : ndarray of shape (n_queries + 1,), int64
    n_threads : int, default=None

    Returns
    -------
    local : ndarray of shape (n,), int64
        From 0 within each query.
    n_grades : ndarray of shape (n_queries,), int64
    """
    every = np.arange(grades.shape[0], dtype=np.int64)
    # As floats they are exact: grades are ranks, far below 2 ** 53.
    values, rows = sort_within_queries(
        grades.astype(np.float64), every, offsets, n_threads=n_threads
    )
    return _rank(values, rows, offsets)


def rank_integers(
    values: FloatArray, rows: IntArray, *, n_threads: int | None = None
) -> IntArray | None:
    """Return dense ranks of small integers, or nothing for other values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
    rows : ndarray of shape (n,), int64
    n_threads : int, default=None

    Returns
    -------
    ranks : ndarray of shape (n,), int64, or None
        Of ``values[rows]``, from 0 over all values.
    """
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if not 0 <= high - low < _SMALL_RANGE:  # negative for no value at all
        return None
    present = np.zeros(int(high - low) + 1, dtype=np.bool_)
    if not _mark(values, low, present):
        return None
    rank = np.cumsum(present) - 1
    ranks = np.empty(rows.shape[0], dtype=np.int64)
    map_ranges(
        lambda start, stop: _look_up(values, low, rank, rows, start, stop, ranks),
        np.full(rows.shape[0] // _PIECE + 1, 3.0 * _PIECE),
        n_threads,
    )
    return ranks


@jit
def _mark(values: FloatArray, low: float, present: NDArray[np.bool_]) -> bool:
    """Mark which integers from ``low`` occur; return whether all values are such."""
    for value in values:
        place = int(value - low)
        if low + place != value:
            return False
        present[place] = True
    return True


@jit
def _look_up(
    values: FloatArray,
    low: float,
    rank: IntArray,
    rows: IntArray,
    start: int,
    stop: int,
    ranks: IntArray,
) -> None:
    """Fill the pieces ``start`` to ``stop`` of ``ranks`` (n,)."""
    for p in range(start * _PIECE, min(stop * _PIECE, rows.shape[0])):
        ranks[p] = rank[int(values[rows[p]] - low)]


@jit
def _sort_range(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    keys: FloatArray,
    rows: IntArray,
) -> None:
    """Fill ``keys`` and ``rows`` (n,) for the queries ``q0`` to ``q1``."""
    largest = 0
    for q in range(q0, q1):
        largest = max(largest, offsets[q + 1] - offsets[q])
    # One scratch for all queries of the range, which may be many and small.
    spare_keys = np.empty(largest, dtype=np.float64)
    spare_rows = np.empty(largest, dtype=np.int64)
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        for p in range(lo, hi):
            rows[p] = order[p]
            keys[p] = scores[order[p]] + 0.0  # negative zero becomes zero
        n = hi - lo
        _merge_sort(keys[lo:hi], rows[lo:hi], spare_keys[:n], spare_rows[:n])


@jit
def _merge_sort(
    keys: FloatArray, rows: IntArray, spare_keys: FloatArray, spare_rows: IntArray
) -> None:
    """Sort ``keys`` (n,) in place and stably, ``rows`` (n,) along; two are scratch."""
    n = keys.shape[0]
    run, equal = np.empty(_RUN), np.empty(_RUN, dtype=np.int64)
    for start in range(0, n, _RUN):
        m = min(_RUN, n - start)
        # Scores are finite: infinite padding is smaller than none of them.
        run[m:] = np.inf
        for p in range(m):
            run[p] = keys[start + p]
            spare_rows[start + p] = rows[start + p]
        equal[:] = 0
        for p in range(m):
            key = run[p]
            smaller = np.int64(0)
            # Always as many, without branches: the compiler vectorises it.
            for k in range(_RUN):
                smaller += np.int64(run[k] < key)
            # Equal keys have as many smaller ones, and stand in the order in which they
            # come: the sort is stable.
            place = start + smaller + equal[smaller]
            equal[smaller] += 1
            keys[place] = key
            rows[place] = spare_rows[start + p]
    width = _RUN
    in_spare = False
    while width < n:
        for start in range(0, n, 2 * width):
            mid = min(start + width, n)
            end = min(start + 2 * width, n)
            if in_spare:
                _merge(spare_keys, spare_rows, keys, rows, start, mid, end)
            else:
                _merge(keys, rows, spare_keys, spare_rows, start, mid, end)
        in_spare = not in_spare
        width *= 2
    if in_spare:
        keys[:] = spare_keys
        rows[:] = spare_rows


@jit
def _merge(
    keys: FloatArray,
    rows: IntArray,
    out_keys: FloatArray,
    out_rows: IntArray,
    start: int,
    mid: int,
    end: int,
) -> None:
    """Merge the runs [start, mid) and [mid, end) of ``keys`` (n,) into ``out_keys``."""
    i, j, k = start, mid, start
    # Runs in order already are copied: ascending scores take O(n) in all.
    if mid < end and keys[mid - 1] > keys[mid]:
        while i < mid and j < end:
            # Written without branches: which run is next cannot be predicted.
            take = int(keys[j] < keys[i])
            source = j if take else i
            out_keys[k] = keys[source]
            out_rows[k] = rows[source]
            j += take
            i += 1 - take
            k += 1
    for p in range(i, mid):
        out_keys[k] = keys[p]
        out_rows[k] = rows[p]
        k += 1
    for p in range(j, end):
        out_keys[k] = keys[p]
        out_rows[k] = rows[p]
        k += 1


@jit
def _rank(
    values: FloatArray, rows: IntArray, offsets: IntArray
) -> tuple[IntArray, IntArray]:
    """Return dense ranks (n,) of ascending values (n,), and how many a query has."""
    ranks = np.empty(rows.shape[0], dtype=np.int64)
    numbers = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        rank = 0
        for p in range(lo, hi):
            if p > lo and values[p] > values[p - 1]:
                rank += 1
            ranks[rows[p]] = rank
        numbers[q] = rank + 1
    return ranks, numbers
