"""Pairs of the items of one query as a graph, and trees that span it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Answered(NamedTuple):
    """Answered pairs, and trees that span them.

    Attributes
    ----------
    left, right : ndarray of shape (m,), int64
        Items of each answered pair.
    likelihood : ndarray of shape (m, 3), float64
    start : ndarray of shape (n + 1,), int64
        Where the answered pairs of each item start in ``pairs`` (2m,).
    pairs : ndarray of shape (2m,), int64
    order : ndarray of shape (n_answered,), int64
        The items with an answer, from the roots down.
    parent : ndarray of shape (n,), int64
        The pair that leads to the parent of each item; -1 for roots.
    tree : ndarray of shape (n,), int64
        The first item of the tree that each item is in.
    cut : ndarray of shape (m,), bool
        Answered pairs with an item that cuts a loop: no tree has them.
    """

    left: IntArray
    right: IntArray
    likelihood: FloatArray
    start: IntArray
    pairs: IntArray
    order: IntArray
    parent: IntArray
    tree: IntArray
    cut: BoolArray

    @property
    def has_loops(self) -> bool:
        """Whether the pairs that are not cut have a loop."""
        return bool((~self.cut).sum() > (self.parent >= 0).sum())


@jit
def _neighbours(n: int, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return ``start`` and ``pairs``: see Answered."""
    start = np.zeros(n + 1, dtype=np.int64)
    for e in range(left.shape[0]):
        start[left[e] + 1] += 1
        start[right[e] + 1] += 1
    start = np.cumsum(start)
    pairs = np.empty(2 * left.shape[0], dtype=np.int64)
    filled = start[:-1].copy()
    for e in range(left.shape[0]):
        for i in (left[e], right[e]):
            pairs[filled[i]] = e
            filled[i] += 1
    return start, pairs


@jit
def _cut_loops(
    left: IntArray, right: IntArray, start: IntArray, pairs: IntArray, most: int
) -> IntArray:
    """Return at most ``most`` items without which the pairs have fewer loops.

    Greedily: of the items that are in a loop or between loops, the one with the most
    pairs.
    """
    n = start.shape[0] - 1
    degree = start[1:] - start[:-1]
    alive = degree > 0
    found = np.empty(most, dtype=np.int64)
    n_found = 0
    leaves = np.empty(n, dtype=np.int64)
    n_leaves = 0
    for i in range(n):
        if degree[i] == 1:
            leaves[n_leaves] = i
            n_leaves += 1
    while n > 0:
        if n_leaves:
            n_leaves -= 1
            i = leaves[n_leaves]
            if not alive[i]:
                continue
        else:
            # Without leaves, whoever is left is in a loop or between loops.
            i = int(np.argmax(np.where(alive, degree, 0)))
            if degree[i] < 2 or not alive[i] or n_found == most:
                break
            found[n_found] = i
            n_found += 1
        alive[i] = False
        for p in range(start[i], start[i + 1]):
            j = left[pairs[p]] + right[pairs[p]] - i
            if alive[j]:
                degree[j] -= 1
                if degree[j] == 1:
                    leaves[n_leaves] = j
                    n_leaves += 1
    return found[:n_found]


@jit
def _span(
    left: IntArray, right: IntArray, start: IntArray, pairs: IntArray, cut: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Span pairs by trees, breadth first from the first item of each: see Answered."""
    n = start.shape[0] - 1
    order = np.empty(n, dtype=np.int64)
    parent = np.full(n, -1, dtype=np.int64)
    tree = np.full(n, -1, dtype=np.int64)
    n_found = 0
    for root in range(n):
        if tree[root] >= 0:
            continue
        tree[root] = root
        if start[root] == start[root + 1]:
            continue
        head = n_found
        order[n_found] = root
        n_found += 1
        while head < n_found:
            i = order[head]
            head += 1
            for p in range(start[i], start[i + 1]):
                j = left[pairs[p]] + right[pairs[p]] - i
                if tree[j] < 0 and not cut[pairs[p]]:
                    tree[j] = root
                    parent[j] = pairs[p]
                    order[n_found] = j
                    n_found += 1
    return order[:n_found], parent, tree


def link_items(
    n: int, left: IntArray, right: IntArray, likelihood: FloatArray, most_cut: int
) -> tuple[Answered, IntArray]:
    """Return the answered pairs (m,) of ``n`` items, and the items that cut loops.

    At most ``most_cut`` of these; what is left of the loops stays.
    """
    start, pairs = _neighbours(n, left, right)
    items = _cut_loops(left, right, start, pairs, most_cut)
    cut = np.isin(left, items) | np.isin(right, items)
    order, parent, tree = _span(left, right, start, pairs, cut)
    answered = Answered(left, right, likelihood, start, pairs, order, parent, tree, cut)
    return answered, items
