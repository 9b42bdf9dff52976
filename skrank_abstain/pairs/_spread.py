"""Some of many queries and of their items, the same each time."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import BoolArray, IntArray

_FEWEST_PER_QUERY, _MOST_PER_QUERY = 40, 400


def spread_queries(sizes: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """Return evenly spaced queries, and how many items of each make about ``most``.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,), int64
    most : int

    Returns
    -------
    used : ndarray of shape (n_used,), int64
        Numbers of queries.
    n_items : ndarray of shape (n_used,), int64
        At most 400 of one, and 40 where there are many queries: what the items of a
        query share limits what more of them can say.
    """
    each = np.clip(most // max(sizes.size, 1), _FEWEST_PER_QUERY, _MOST_PER_QUERY)
    n_items = np.minimum(sizes, each)
    used = np.arange(sizes.size)
    if n_items.sum() > most:
        n_used = sizes.size * most // int(n_items.sum())
        used = np.linspace(0, sizes.size - 1, n_used).round().astype(int)
    return used, n_items[used]


def spread_rows(offsets: IntArray, used: IntArray, n_items: IntArray) -> IntArray:
    """Return so many evenly spaced rows of each of some queries."""
    rows = [
        np.linspace(offsets[q], offsets[q + 1] - 1, n).round().astype(int)
        for q, n in zip(used.tolist(), n_items.tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def thin(offsets: IntArray, most: int) -> IntArray:
    """Return about ``most`` rows, evenly spaced within evenly spaced queries."""
    return spread_rows(offsets, *spread_queries(np.diff(offsets), most))


def part_novel_items(novel: BoolArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Put each novel item into a query of its own, after all others.

    Parameters
    ----------
    novel : ndarray of shape (n_items,), bool
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin; none is empty.

    Returns
    -------
    items : ndarray of shape (n_items,), int64
        Their new order.
    offsets : ndarray of int64
        A query of novel items alone keeps one of them, so that none is empty.
    """
    sizes = np.diff(offsets)
    all_novel = np.logical_and.reduceat(novel, offsets[:-1])
    alone = novel.copy()
    alone[offsets[:-1][all_novel]] = False
    query = np.repeat(np.arange(sizes.size), sizes)
    kept = np.bincount(query[~alone], minlength=sizes.size)
    ends = np.cumsum(np.append(kept, np.ones(alone.sum(), dtype=np.int64)))
    return np.argsort(alone, kind="stable"), np.append(0, ends)
