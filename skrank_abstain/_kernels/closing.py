"""Transitive closure of orders, in bits: row i marks the items that i is over."""

from itertools import pairwise

import numpy as np

from skrank_abstain._kernels import BitArray, BoolArray, IntArray
from skrank_abstain._kernels.compiling import jit


def ranks_of_bins(bins: IntArray, offsets: IntArray, over: BoolArray) -> IntArray:
    """Return the best and the worst rank of each item by the orders of its bin.

    Parameters
    ----------
    bins : ndarray of shape (n,), int64
        Bin of each item, ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    over : ndarray of shape (n_bins, n_bins), bool
        Whether the items of one bin are over those of another, lower one.

    Returns
    -------
    bounds : ndarray of shape (n, 2), int64
        Best is 1 plus the number of items over this one, directly or through others of
        the query; worst the size of the query minus the number that this one is over.

    Notes
    -----
    O(m^3 / 64) at worst for the m bins that a query has items in.
    """
    bounds = np.empty((bins.size, 2), dtype=np.int64)
    for start, stop in pairwise(offsets):
        kinds, _, group, members = np.unique_all(bins[start:stop])
        winner, loser = np.nonzero(over[np.ix_(kinds, kinds)])
        reach = close_orders(winner, loser, kinds.size)
        bounds[start:stop, 0] = 1 + (members @ reach)[group]
        bounds[start:stop, 1] = stop - start - (reach @ members)[group]
    return bounds


def ranks_of_orders(
    winner: IntArray,
    loser: IntArray,
    orders: IntArray,
    offsets: IntArray,
    wanted: IntArray | None = None,
) -> IntArray:
    """Return the best and the worst rank of each item by any orders.

    Parameters
    ----------
    winner, loser : ndarray of shape (n_orders,), int64
        Positions within their query.
    orders : ndarray of shape (n_queries + 1,), int64
        Where the orders of each query begin.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where its items begin.
    wanted : ndarray of shape (n,), int64, default=None
        The items of each query, as positions within it, in the wanted order.

    Returns
    -------
    bounds : ndarray of shape (n, 2 or 3), int64
        As in ``ranks_of_bins``. Items on a cycle are not over each other. With
        ``wanted`` a third column holds the place of the item: each place goes to the
        first wanted item that no item without a place is over.

    Notes
    -----
    Warshall's algorithm, O(n^3 / 64) for a query of n items.
    """
    bounds = np.empty((int(offsets[-1]), 2 if wanted is None else 3), dtype=np.int64)
    for query in range(offsets.size - 1):
        of_query = slice(orders[query], orders[query + 1])
        items = slice(offsets[query], offsets[query + 1])
        n = int(offsets[query + 1] - offsets[query])
        reach = _close(winner[of_query], loser[of_query], n)
        _ranks_of_query(reach, bounds[items])
        if wanted is not None:
            _places_of_query(reach, wanted[items], bounds[items])
    return bounds


def close_orders(winner: IntArray, loser: IntArray, n: int) -> BoolArray:
    """Return the closure of the orders (n_orders,) of ``n`` items, (n, n) bool."""
    # np.nonzero returns strided arrays, for which the kernel would be compiled again.
    winner, loser = np.ascontiguousarray(winner), np.ascontiguousarray(loser)
    words = _close(winner, loser, n).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(np.bool_)


@jit
def _has(reach: BitArray, i: int, j: int) -> bool:
    """Whether ``reach`` (m, n_words) has bit ``j`` in row ``i``."""
    return bool((reach[i, j >> 6] >> np.uint64(j & 63)) & np.uint64(1))


@jit
def _close(winner: IntArray, loser: IntArray, n: int) -> BitArray:
    """Return bits (n, n_words) of the closure of the orders of one query."""
    reach = np.zeros((n, (n + 63) >> 6), dtype=np.uint64)
    for k in range(winner.shape[0]):
        reach[winner[k], loser[k] >> 6] |= np.uint64(1) << np.uint64(loser[k] & 63)
    for through in range(n):
        for i in range(n):
            if _has(reach, i, through):
                for word in range(reach.shape[1]):
                    reach[i, word] |= reach[through, word]
    return reach


@jit
def _ranks_of_query(reach: BitArray, bounds: IntArray) -> None:
    """Fill the first two columns of ``bounds`` (n, 2 or 3) of one query."""
    n = bounds.shape[0]
    for i in range(n):
        bounds[i, 0], bounds[i, 1] = 1, n
    for i in range(n):
        for j in range(n):
            if _has(reach, i, j) and not _has(reach, j, i):
                bounds[i, 1] -= 1
                bounds[j, 0] += 1


@jit
def _places_of_query(reach: BitArray, wanted: IntArray, bounds: IntArray) -> None:
    """Fill the third column of ``bounds`` (n, 3) of one query."""
    n = bounds.shape[0]
    above = bounds[:, 0] - 1
    bounds[:, 2] = 0
    for place in range(1, n + 1):
        for k in range(n):
            i = wanted[k]
            if bounds[i, 2] == 0 and above[i] == 0:
                bounds[i, 2] = place
                for j in range(n):
                    if _has(reach, i, j) and not _has(reach, j, i):
                        above[j] -= 1
                break
