"""Some of many queries and of their items, the same each time."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import IntArray

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
