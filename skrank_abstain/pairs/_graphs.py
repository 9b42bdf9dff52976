"""Orders as graphs."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import IntArray
from skrank_abstain.pairs._memory import check_graph_size


def semiorder_graph(rows: IntArray, offsets: IntArray, bounds: IntArray) -> csr_array:
    """Return the transitive reduction of the orders within the queries.

    Parameters
    ----------
    rows : ndarray of shape (n_items,), int64
        Rows of X by query and ascending score.
    offsets : ndarray of shape (n_queries + 1,), int64
    bounds : ndarray of shape (n_items, 2), int64
        Best and worst rank of each item, in the order of the rows of X, that a
        semiorder along the scores leaves open.

    Returns
    -------
    graph : csr_array of shape (n_items, n_items), bool

    Notes
    -----
    Within a query, in the order of ascending scores, an item is over the first
    ``below`` items. The highest of these is over more of them than any other: over its
    own first ``below`` items. Orders to those follow from the order to this highest
    item; orders to the others follow from nothing else, and are the entries.
    """
    sizes = np.diff(offsets)
    start = np.repeat(offsets[:-1], sizes)
    below = np.repeat(sizes, sizes) - bounds[rows, 1]
    through = np.where(below > 0, below[start + below - 1], 0)
    counts = below - through
    check_graph_size(int(counts.sum()))
    first = np.cumsum(counts) - counts
    lower = np.arange(counts.sum()) - np.repeat(first - through - start, counts)
    entries = (np.repeat(rows, counts), rows[lower])
    return csr_array(
        (np.ones(lower.size, dtype=bool), entries), shape=(rows.size, rows.size)
    )
