"""Scores sorted within queries."""

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

# Items of a run, which is sorted by comparing all with all.
_RUN = 64


def sort_within_queries(
    scores: FloatArray, order: IntArray, offsets: IntArray
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

    def sort(q0: int, q1: int) -> None:
        # One scratch for all queries of the range, which may be many and small.
        n_spare = int(sizes[q0:q1].max(initial=0)) + _RUN
        spare_keys, spare_rows = np.empty(n_spare), np.empty(n_spare, dtype=np.int64)
        data = scores, order, offsets[q0 : q1 + 1], ascending, rows
        _sort_range(*data, spare_keys, spare_rows)

    map_ranges(sort, cost)
    return ascending, rows


def dense_grades_within(
    grades: IntArray, offsets: IntArray
) -> tuple[IntArray, IntArray]:
    """Return dense ranks of the grades of each query, and how many it has.

    Parameters
    ----------
    grades : ndarray of shape (n,), int64
    offsets : ndarray of shape (n_queries + 1,), int64

    Returns
    -------
    local : ndarray of shape (n,), int64
        From 0 within each query.
    n_grades : ndarray of shape (n_queries,), int64
    """
    # As floats they are exact: grades are ranks, far below 2 ** 53.
    values, rows = sort_within_queries(
        grades.astype(np.float64), np.arange(grades.size), offsets
    )
    return _rank(values, rows, offsets)


@jit
def _sort_range(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    keys: FloatArray,
    rows: IntArray,
    spare_keys: FloatArray,
    spare_rows: IntArray,
) -> None:
    """Fill ``keys`` and ``rows`` (n,).

    The others are scratch, ``_RUN`` longer than the longest of these queries.
    """
    n_spare = spare_keys.shape[0] - _RUN
    run, equal = spare_keys[n_spare:], spare_rows[n_spare:]
    for q in range(offsets.shape[0] - 1):
        hi = offsets[q + 1]
        for start in range(offsets[q], hi, _RUN):
            m = min(_RUN, hi - start)
            for p in range(_RUN):
                # Scores are finite: infinite padding is smaller than none of them.
                # Adding zero turns negative zero into zero.
                run[p] = scores[order[start + p]] + 0.0 if p < m else np.inf
                equal[p] = 0
            for p in range(m):
                key = run[p]
                smaller = np.int64(0)
                # Always as many, without branches: the compiler vectorises it.
                for k in range(_RUN):
                    smaller += np.int64(run[k] < key)
                # Equal keys have as many smaller ones, and stand in the order in which
                # they come: the sort is stable.
                place = start + smaller + equal[smaller]
                equal[smaller] += 1
                keys[place] = key
                rows[place] = order[start + p]
        _merge_runs(keys, rows, offsets[q], hi, spare_keys, spare_rows)


@jit
def _merge_runs(
    keys: FloatArray,
    rows: IntArray,
    lo: int,
    hi: int,
    spare_keys: FloatArray,
    spare_rows: IntArray,
) -> None:
    """Sort ``keys`` from ``lo`` to ``hi`` in place and stably, ``rows`` along."""
    width = _RUN
    while width < hi - lo:
        for start in range(lo, hi - width, 2 * width):
            mid, end = start + width, min(start + 2 * width, hi)
            # Runs in order already stay: ascending scores take O(n) in all.
            if keys[mid - 1] <= keys[mid]:
                continue
            for p in range(width):
                spare_keys[p] = keys[start + p]
                spare_rows[p] = rows[start + p]
            i, j, k = 0, mid, start
            while i < width and j < end:
                # Written without branches: which run is next cannot be predicted.
                take = 1 if keys[j] < spare_keys[i] else 0
                keys[k] = keys[j] if take else spare_keys[i]
                rows[k] = rows[j] if take else spare_rows[i]
                j += take
                i += 1 - take
                k += 1
            for p in range(i, width):
                keys[k + p - i] = spare_keys[p]
                rows[k + p - i] = spare_rows[p]
        width *= 2


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
