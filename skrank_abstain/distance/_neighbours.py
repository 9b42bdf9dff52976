"""Pairs of items that are near each other, without looking at the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.distance._pairs import distances, farthest_near

#: Items of one tree: two of them have at most four million pairs.
_TREE = 2048
#: The search goes this much further than asked, so that its own rounding loses no pair.
_SLACK = 1e-9


def near_pairs(
    X: FloatArray, start: int, stop: int, gamma: float, norm: float
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield blocks of the pairs of items of one query that are at most gamma apart.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features), float64
    start, stop : int
        The query is the items from ``start`` to ``stop`` (exclusive).
    gamma : float
    norm : float

    Yields
    ------
    low, high : ndarray of int64
        Positions, ``low < high``. Each pair once; up to four million at a time.

    Notes
    -----
    k-d trees of some two thousand neighbouring items each find candidates, whose
    distances are computed as everywhere else: the pairs are exactly those of
    ``distances(...) <= farthest_near(gamma)``.
    """
    limit = farthest_near(gamma)
    points = X[start:stop]
    radius = gamma * (1 + _SLACK)
    for first, second in _candidates(points, radius, norm):
        low, high = np.minimum(first, second), np.maximum(first, second)
        low, high = low + start, high + start
        near = distances(X, low, high, norm) <= limit
        yield low[near], high[near]


def _candidates(
    points: FloatArray, radius: float, norm: float
) -> Iterator[tuple[IntArray, IntArray]]:
    # The leaves of a tree are neighbours, so most pairs of parts are far apart.
    order = cKDTree(points, leafsize=_TREE).indices
    parts = [order[first : first + _TREE] for first in range(0, order.size, _TREE)]
    trees = [cKDTree(points[part]) for part in parts]
    for k, tree in enumerate(trees):
        inside = tree.query_pairs(radius, p=norm, output_type="ndarray")
        yield parts[k][inside[:, 0]], parts[k][inside[:, 1]]
        for other in range(k):
            found = tree.sparse_distance_matrix(
                trees[other], radius, p=norm, output_type="ndarray"
            )
            yield parts[k][found["i"]], parts[other][found["j"]]
