"""Abstention on pairs of items that are near each other in feature space.

The one number of the rule is the distance gamma: pairs at most so far apart are
abstained on, the others are decided by the order of their scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.spatial import cKDTree

from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    BoolArray,
    FloatArray,
    IntArray,
    rounded_share,
)
from skrank_abstain.distance._pairs import (
    NumberedPairs,
    distances,
    farthest_near,
    in_blocks,
)
from skrank_abstain.pairs import Scores, count_outcomes
from skrank_abstain.selection import DecisionArrays, RowPairs, Tally

#: Largest number of pairs to choose gamma from.
_MOST_PAIRS = 1 << 22
#: Values of gamma to keep besides those that are best at some cost.
_KEPT = 1 << 16
#: Smallest query to search for neighbours in ...
_SEARCHED = 128
#: ... and the largest share of near pairs, estimated from _SOME_PAIRS pairs.
_NEAR_SHARE = 0.25
_SOME_PAIRS = 1 << 12
#: Largest number of pairs of one query to look at: about a minute.
_MOST_LOOKED_AT = 1 << 30
#: Items of one tree: two trees have at most four million pairs.
_TREE = 2048
#: Relative extension of the search radius, so that rounding loses no pair.
_SLACK = 1e-9
#: Differences of losses up to this count as rounding.
_ROUNDING = 8 * np.finfo(np.float64).eps


class AbstentionCurve(NamedTuple):
    """What each distance would do on the calibration pairs.

    Attributes
    ----------
    gamma : ndarray of shape (n_gammas,), float64
        Ascending from 0.
    loss : ndarray of shape (n_gammas,), float64
        Mean bipartite misranking loss of the accepted pairs, plus the cost of the
        others. Lower is better.
    coverage : ndarray of shape (n_gammas,), float64
        Share of pairs accepted.
    """

    gamma: FloatArray
    loss: FloatArray
    coverage: FloatArray


@dataclass(frozen=True, eq=False)
class NearCurve:
    """Abstentions and errors left at each distance.

    Attributes
    ----------
    gamma : ndarray of shape (n_gammas,), float64
        0 and distances of calibration pairs, ascending.
    abstained : ndarray of shape (n_gammas,), int64
        Pairs at most so far apart.
    halves : ndarray of shape (n_gammas,), int64
        Pairs further apart that are misranked: of different relevance and in the
        wrong order, which count two, or with equal scores, which count one.
    n_pairs : int
        All pairs.
    """

    gamma: FloatArray
    abstained: IntArray
    halves: IntArray
    n_pairs: int

    @classmethod
    def of(cls, X: FloatArray, norm: float, items: Scores) -> Self:
        """Look at labelled pairs.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_features), float64
        norm : float
        items : Scores
            With relevance; at least one pair.

        Returns
        -------
        curve : NearCurve

        Notes
        -----
        O(m log m) for m pairs, and their distances. All pairs up to four million;
        of more, that many spread over all. Of more than 65,536 distances those at
        evenly spaced ranks are kept, and every one that is best at some cost: the
        ends of the pools of the isotonic regression of the error rate on the
        distance, falling. Giving up a pool pays if its error rate is above the cost.
        """
        # A sample of four million pairs puts a share off by 0.00025 (one standard
        # error) at most.
        high, low = NumberedPairs.every(items.offsets).sample(_MOST_PAIRS)
        distance = distances(X, items.rows[low], items.rows[high], norm)
        order = np.argsort(distance)
        distance = distance[order]
        wrong = np.append(0, np.cumsum(_halves(items, low, high)[order]))
        gamma = np.unique(np.append(0.0, distance))
        reached = np.searchsorted(distance, farthest_near(gamma), side="right")
        # Distances within rounding of each other are given up together.
        reached, first = np.unique(reached, return_index=True)
        gamma, wrong_near = gamma[first], wrong[reached]
        kept = _best_at_some_cost(reached, wrong_near)
        step = max(1, -(-reached.size // _KEPT))
        kept = np.union1d(kept, np.arange(0, reached.size, step))
        return cls(
            gamma[kept], reached[kept], wrong[-1] - wrong_near[kept], distance.size
        )

    def at_cost(self, cost: float) -> AbstentionCurve:
        """Return loss and coverage at each distance."""
        loss = (self.halves / 2 + cost * self.abstained) / self.n_pairs
        coverage = (self.n_pairs - self.abstained) / self.n_pairs
        return AbstentionCurve(self.gamma, loss, coverage)

    def at_coverage(self, coverage: float) -> float:
        """Return the largest distance beyond which so large a share of pairs lies."""
        left = self.n_pairs - self.abstained
        enough = np.flatnonzero(left >= rounded_share(coverage, self.n_pairs))
        if not enough.size:
            raise ValueError(
                f"coverage must be at most {left[0] / self.n_pairs:.6g}, got "
                f"{coverage:g}: the other calibration pairs are of equal items, which "
                "no distance tells apart."
            )
        return float(self.gamma[enough[-1]])

    def best(self, cost: float) -> float:
        """Return the smallest distance of the least loss."""
        # argmax of a condition finds the first, that is the smallest distance.
        loss = self.at_cost(cost).loss
        return float(self.gamma[np.argmax(loss <= loss.min() + _ROUNDING)])

    def coverage(self, gamma: float) -> float:
        """Return the share of pairs further apart than ``gamma``."""
        below = np.searchsorted(self.gamma, farthest_near(gamma), side="right")
        return float(self.n_pairs - self.abstained[below - 1]) / self.n_pairs


def _halves(items: Scores, low: IntArray, high: IntArray) -> IntArray:
    """Return twice the misranking of each pair of positions."""
    grades = items.grades
    equal = items.value[low] == items.value[high]
    return np.where(
        equal, grades[low] != grades[high], 2 * (grades[low] > grades[high])
    )


def _best_at_some_cost(reached: IntArray, wrong: IntArray) -> IntArray:
    """Return the corners of the convex hull of abstentions and errors left."""
    pairs = np.diff(reached)
    if pairs.size == 0:
        return np.zeros(1, dtype=np.int64)
    # Isotonic regression computes the hull, whose slopes fall from corner to corner.
    rate = np.diff(wrong) / pairs
    corners: IntArray = isotonic_regression(
        rate, weights=pairs, increasing=False
    ).blocks.astype(np.int64)
    return corners


@dataclass(frozen=True, eq=False)
class NearDecision:
    """Decides the pairs that are further apart than gamma; a region is a gamma.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features), float64
    norm : float
        The p of the l_p norm.
    unit : float, default=1.0
        What distances are divided by where they are shown.

    Notes
    -----
    ``tally`` searches for neighbours in large queries where few pairs are near, and
    looks at every pair elsewhere. Both give the same: it counts all pairs from sorted
    scores and subtracts the near ones.
    """

    X: FloatArray
    norm: float
    unit: float = 1.0

    def decide(
        self, region: float, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        """Decide pairs of rows by their distance, in the order of their scores."""
        distance = distances(self.X, pairs.left, pairs.right, self.norm)
        label = np.sign(pairs.difference).astype(np.int64)
        accepted = distance > farthest_near(region)
        return DecisionArrays(label, accepted, distance=distance / self.unit)

    def tally(
        self, scores: Scores, regions: Any, *, weight: FloatArray | None = None
    ) -> Tally:
        """Count the pairs of each query, near ones and others, by outcome."""
        items, region = scores.ascending, float(regions[0])
        X = self.X[items.rows]
        if weight is None:
            weight = np.ones(len(self.X))
        value = weight[items.rows]
        sizes = np.diff(items.offsets)
        near = self._near_share(X, region, items)
        searched = (sizes >= _SEARCHED) & (near <= _NEAR_SHARE)
        looked_at = np.where(searched, near, 1.0) * items.pair_counts
        if looked_at.max(initial=0.0) > _MOST_LOOKED_AT:
            raise ValueError(
                f"X must have queries of fewer items where many are near each other: "
                f"of one of {sizes[looked_at.argmax()]} items some "
                f"{looked_at.max():.1e} pairs would be looked at one by one, more than "
                f"{_MOST_LOOKED_AT:.1e}. Evaluate a random part of its items, of which "
                "all shares are about the same."
            )
        # Sums by query, equality of scores, and outcome.
        # All pairs, and those of different scores.
        cuts = np.array([0.0, np.nextafter(0.0, 1.0)])
        beyond = count_outcomes(items, cuts, 0.0, weight)
        every = np.stack([beyond[:, 1], beyond[:, 0] - beyond[:, 1]], axis=1)
        near_cells = np.zeros(every.shape)
        for low, high in self._near_pairs(X, items.offsets, searched, region):
            if low.size:
                query, sums = _outcomes(items, low, high, value)
                near_cells[query : query + len(sums)] += sums
        # Weighted sums differ in the last digits, so differences may be just below 0.
        far_cells = np.maximum(every - near_cells, 0)
        counts = np.concatenate([near_cells, far_cells], axis=1)
        accepted = np.array([[0.0, 0.0, 1.0, 1.0]])
        return Tally(counts, accepted, np.array([False, True] * 2), ZERO_ONE_LOSS)

    def _near_pairs(
        self, X: FloatArray, offsets: IntArray, searched: BoolArray, gamma: float
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield blocks of positions of near pairs, low before high."""
        sizes = np.diff(offsets)
        positions = np.flatnonzero(np.repeat(~searched, sizes))
        pairs = NumberedPairs.every(np.append(0, np.cumsum(sizes[~searched])))
        for numbers in in_blocks(pairs.n_pairs):
            high, low = (positions[side] for side in pairs.decode(numbers))
            near = distances(X, low, high, self.norm) <= farthest_near(gamma)
            yield low[near], high[near]
        for query in np.flatnonzero(searched).tolist():
            start, stop = int(offsets[query]), int(offsets[query + 1])
            yield from near_pairs(X, start, stop, gamma, self.norm)

    def _near_share(self, X: FloatArray, gamma: float, items: Scores) -> float:
        """Estimate the share of pairs at most gamma apart."""
        later, earlier = NumberedPairs.every(items.offsets).sample(_SOME_PAIRS)
        distance = distances(X, later, earlier, self.norm)
        n_near = int((distance <= farthest_near(gamma)).sum())
        return n_near / max(distance.size, 1)


def _outcomes(
    items: Scores, low: IntArray, high: IntArray, value: FloatArray
) -> tuple[int, FloatArray]:
    """Add up pairs of positions: the first query, and sums of shape (n, 2, 4)."""
    query = np.searchsorted(items.offsets, low, side="right") - 1
    first = int(query.min())
    n_queries = int(query.max()) - first + 1
    grades = items.grades
    equal = items.value[low] == items.value[high]
    order = np.sign(grades[high] - grades[low])
    outcome = np.where(equal & (order != 0), 3, 1 - order)
    cell = ((query - first) * 2 + equal) * 4 + outcome
    sums = np.bincount(cell, value[low] * value[high], 8 * n_queries)
    return first, sums.reshape(-1, 2, 4).astype(np.float64)


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
