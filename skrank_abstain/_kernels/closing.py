"""Transitive closure of orders, in bits: row i marks the items that i is over."""

import numpy as np

from skrank_abstain._kernels import BitArray, BoolArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges


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
    O(m^2) for the m bins that a query has items in, and O(m^3 / 64) at worst.
    """
    sizes = np.diff(offsets)
    new = np.diff(bins, prepend=-1) != 0
    new[offsets[:-1][sizes > 0]] = True
    first = np.flatnonzero(new)  # of the items of one query and one bin: a group
    groups = np.searchsorted(first, offsets)
    members = np.diff(first, append=bins.size)
    above, below = np.zeros((2, first.size), dtype=np.int64)
    data = bins[first], members, over
    map_ranges(
        lambda q0, q1: _ranks_range(*data, groups[q0 : q1 + 1], above, below),
        4.0 * np.diff(groups) ** 2.0,
    )
    best = 1 + np.repeat(above, members)
    worst = np.repeat(sizes, sizes) - np.repeat(below, members)
    return np.column_stack([best, worst])


def reduced_orders(bins: IntArray, over: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the orders of different bins that do not follow from the others.

    Parameters
    ----------
    bins : ndarray of shape (m,), int64
        Ascending, each once.
    over : ndarray of shape (n_bins, n_bins), bool
        As in ``ranks_of_bins``.

    Returns
    -------
    higher, lower : ndarray of shape (n_orders,), int64
        Positions in ``bins``.
    """
    kept = np.zeros((bins.size, bins.size), dtype=np.bool_)
    _reach(bins, over, kept)
    higher, lower = np.nonzero(kept)
    return higher, lower


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
    n_columns = 2 if wanted is None else 3
    bounds = np.empty((int(offsets[-1]), n_columns), dtype=np.int64)
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
    words = _close(winner, loser, n).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(np.bool_)


@jit
def _has(reach: BitArray, i: int, j: int) -> bool:
    """Whether ``reach`` (m, n_words) has bit ``j`` in row ``i``."""
    bit = (reach[i, j >> 6] >> np.uint64(j & 63)) & np.uint64(1)
    return bool(bit)


@jit
def _reach(bins: IntArray, over: BoolArray, kept: BoolArray) -> BitArray:
    """Return the closure as bits (m, n_words); set ``kept`` for irreducible orders.

    The highest of the bins below one come first: the bins below these are known by
    then. ``kept`` is (m, m), or (0, 0) to mark nothing.
    """
    m = bins.shape[0]
    reach = np.zeros((m, (m + 63) >> 6), dtype=np.uint64)
    for i in range(m):
        for j in range(i - 1, -1, -1):
            if over[bins[i], bins[j]] and not _has(reach, i, j):
                for word in range((j >> 6) + 1):
                    reach[i, word] |= reach[j, word]
                reach[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
                if kept.size:
                    kept[i, j] = True
    return reach


@jit
def _ranks_range(
    bins: IntArray,
    members: IntArray,
    over: BoolArray,
    groups: IntArray,
    above: IntArray,
    below: IntArray,
) -> None:
    """Count the items above and below each group (n_groups,) of the queries."""
    for q in range(groups.shape[0] - 1):
        start, stop = groups[q], groups[q + 1]
        reach = _reach(bins[start:stop], over, over[:0])
        for i in range(stop - start):
            for j in range(i):
                if _has(reach, i, j):
                    below[start + i] += members[start + j]
                    above[start + j] += members[start + i]


@jit
def _close(winner: IntArray, loser: IntArray, n: int) -> BitArray:
    """Return bits (n, n_words) of the closure of the orders of one query."""
    reach = np.zeros((n, (n + 63) >> 6), dtype=np.uint64)
    for k in range(winner.shape[0]):
        bit = np.uint64(1) << np.uint64(loser[k] & 63)
        reach[winner[k], loser[k] >> 6] |= bit
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
