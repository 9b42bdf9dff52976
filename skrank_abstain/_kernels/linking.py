"""Pairs of the items of one query as a graph, and trees that span it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    """

    left: IntArray
    right: IntArray
    likelihood: FloatArray
    start: IntArray
    pairs: IntArray
    order: IntArray
    parent: IntArray
    tree: IntArray


@jit
def _span(
    n: int, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Span pairs by trees, breadth first from the first item of each: see Answered."""
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
                if tree[j] < 0:
                    tree[j] = root
                    parent[j] = pairs[p]
                    order[n_found] = j
                    n_found += 1
    return start, pairs, order[:n_found], parent, tree


def link_items(
    n: int, left: IntArray, right: IntArray, likelihood: FloatArray
) -> Answered:
    """Return the answered pairs (m,) of ``n`` items with the trees that span them."""
    return Answered(left, right, likelihood, *_span(n, left, right))
