"""The absolute score differences of many pairs, without the pairs.

A difference model asks of its pairs only how many lie within a distance, which
distance has a given rank, and what outcomes go with which distance. Sorted scores
answer that in O(n log n); a plain array of distances answers it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs._queries import Queries

#: Pairs that stand for all where exactness does not matter.
_SKETCH = 1 << 17


class PairDistances(Protocol):
    """What selection needs to know about the calibration pairs."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""

    @property
    def largest(self) -> float:
        """Largest distance."""

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with distance at most each cut."""

    def sketch(self) -> FloatArray:
        """Return distances of some pairs that roughly stand for all."""

    def collect(self, low: float, high: float) -> tuple[int, FloatArray]:
        """Return how many distances are at most ``low``, and those in (low, high]."""

    def sample(self, low: float, high: float, size: int) -> FloatArray:
        """Return ``size`` distances drawn from (low, high], the same each time."""


@dataclass(frozen=True)
class DistanceArray:
    """Distances of pairs that were given one by one.

    Attributes
    ----------
    distances : ndarray of shape (n_pairs,), float64
        In ascending order.
    """

    distances: FloatArray

    @classmethod
    def of(cls, distances: FloatArray) -> Self:
        """Take distances in any order."""
        return cls(np.sort(distances))

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.distances.size)

    @property
    def largest(self) -> float:
        """Largest distance."""
        return float(self.distances[-1])

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with distance at most each cut, O(log n) each."""
        counts: IntArray = np.searchsorted(self.distances, cuts, side="right")
        return counts

    def sketch(self) -> FloatArray:
        """Return evenly spaced order statistics."""
        step = max(1, self.n_pairs >> 16)
        return self.distances[step // 2 :: step]

    def collect(self, low: float, high: float) -> tuple[int, FloatArray]:
        """Return how many distances are at most ``low``, and those in (low, high]."""
        start, stop = self.count_within([low, high])
        return int(start), self.distances[start:stop]

    def sample(self, low: float, high: float, size: int) -> FloatArray:
        """Return ``size`` distances drawn from (low, high], the same each time."""
        return np.random.default_rng(0).choice(self.collect(low, high)[1], size)


class OutcomeSummary(NamedTuple):
    """Weighted distances with their outcomes, each of shape (n,).

    Attributes
    ----------
    distance : ndarray, float64
    outcome : ndarray, int64
        +1 the higher-scored item is preferred, 0 tie, -1 the lower-scored one is.
    weight : ndarray, float64
        Number of pairs.
    """

    distance: FloatArray
    outcome: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class ScoredItems:
    """Items of labelled or unlabelled queries, sorted by score within each query.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
        Ascending within each query.
    rows : ndarray of shape (n_items,), int64
        Row of each item in X.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin.
    grades : ndarray of shape (n_items,), int64, or None
        Dense ranks of relevance, aligned with ``scores``.
    """

    scores: FloatArray
    rows: IntArray
    offsets: IntArray
    grades: IntArray | None = None

    @classmethod
    def build(
        cls, scores: FloatArray, queries: Queries, y: FloatArray | None = None
    ) -> Self:
        """Sort items within their queries, O(n log n)."""
        from skrank_abstain._kernels.sorting import rank_integers, sort_within_queries

        ascending, rows = sort_within_queries(scores, queries.order, queries.offsets)
        if y is None:
            return cls(ascending, rows, queries.offsets)
        grades = rank_integers(y, rows)
        if grades is None:
            grades = np.unique(y[rows], return_inverse=True)[1].reshape(-1)
        return cls(
            ascending, rows, queries.offsets, grades.astype(np.int64, copy=False)
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.offsets.size - 1)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        sizes = np.diff(self.offsets)
        counts: IntArray = sizes * (sizes - 1) // 2
        return counts

    @property
    def n_pairs(self) -> int:
        """Number of within-query pairs."""
        return int(self.pair_counts.sum())

    @property
    def largest(self) -> float:
        """Largest distance within a query; 0 for no pair."""
        sizes = np.diff(self.offsets)
        first, last = self.offsets[:-1][sizes > 1], self.offsets[1:][sizes > 1] - 1
        with np.errstate(over="ignore"):
            spread = self.scores[last] - self.scores[first]
        return float(spread.max(initial=0.0))

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with distance at most each cut, O(n) each."""
        from skrank_abstain._kernels.counting import count_within

        return count_within(
            self.scores, self.offsets, np.asarray(cuts, dtype=np.float64)
        )

    @cached_property
    def outcomes(self) -> OutcomeSummary:
        """Pairs of nearly the same distance and the same outcome, as one entry each.

        O(n_pairs) for queries of up to ten thousand items, O(n log n) for larger
        ones; computed once.
        """
        from skrank_abstain._kernels.histogram import outcome_histogram

        grades = np.zeros_like(self.rows) if self.grades is None else self.grades
        histogram = outcome_histogram(self.scores, grades, self.offsets)
        return OutcomeSummary(
            histogram.differences, histogram.outcomes, histogram.weights
        )

    @cached_property
    def some_outcomes(self) -> OutcomeSummary:
        """Pairs spread over all pairs, the same each time, of equal weight.

        O(n_queries) plus their number, 131,072; all pairs where they are no more.
        """
        from skrank_abstain._kernels.collecting import pairs_of_sample

        high, low = pairs_of_sample(self.offsets, _SKETCH)
        with np.errstate(over="ignore"):
            distance = self.scores[high] - self.scores[low]
        outcome = np.sign(self.known_grades[high] - self.known_grades[low])
        # Equal scores carry no order.
        outcome[distance == 0] = abs(outcome[distance == 0])
        weight = np.full(distance.size, self.n_pairs / max(distance.size, 1))
        return OutcomeSummary(distance, outcome, weight)

    def outcomes_on_grid(self, step: float) -> OutcomeSummary:
        """Summarise all pairs for sums of functions of the difference.

        Parameters
        ----------
        step : float
            Positive. The functions must be smooth on a scale of several steps: those
            of an untied pair also across zero, from agreement into disagreement.

        Returns
        -------
        summary : OutcomeSummary
            The weights add up to the numbers of pairs by outcome of order (tied or
            not), but some are negative. ``outcomes`` has counts.

        Notes
        -----
        O(n) for queries whose pairs are many for the steps that their scores span;
        the pairs of others are enumerated.
        """
        from skrank_abstain._kernels.histogram import outcome_histogram
        from skrank_abstain._kernels.lags import cheaper_on_grid, lag_points

        grades = self.known_grades
        cheap = cheaper_on_grid(
            self.scores, self.offsets, int(grades.max(initial=0)) + 1, step
        )
        if not cheap.any():
            return self.outcomes
        if cheap.all():
            return OutcomeSummary(*lag_points(self.scores, grades, self.offsets, step))
        sizes = np.diff(self.offsets)

        def of(chosen: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
            items = np.repeat(chosen, sizes)
            offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
            return self.scores[items], grades[items], offsets

        pieces = lag_points(*of(cheap), step), outcome_histogram(*of(~cheap))
        return OutcomeSummary(
            *(np.concatenate(both) for both in zip(*pieces, strict=True))
        )

    def sketch(self) -> FloatArray:
        """Return the distances of pairs spread over all pairs."""
        return self.some_outcomes.distance

    def collect(self, low: float, high: float) -> tuple[int, FloatArray]:
        """Return how many distances are at most ``low``, and those in (low, high]."""
        from skrank_abstain._kernels.collecting import differences_between

        return differences_between(self.scores, self.offsets, low, high)

    def sample(self, low: float, high: float, size: int) -> FloatArray:
        """Return ``size`` distances drawn from (low, high], the same each time."""
        from skrank_abstain._kernels.collecting import sample_between

        return sample_between(self.scores, self.offsets, low, high, size)

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        """Count the pairs of each query with distance at least each cut, by outcome.

        Parameters
        ----------
        cuts : array-like of shape (n_cuts,)
        tolerance : float
            Scores no further apart carry no order.

        Returns
        -------
        counts : ndarray of shape (n_queries, n_cuts, 4), int64
            Concordant, tied, discordant, and untied pairs of equal scores.
        """
        from skrank_abstain._kernels.outcomes import count_outcomes_by_query

        return count_outcomes_by_query(
            self.scores, self.known_grades, self.offsets, np.asarray(cuts), tolerance
        )

    def weigh_outcomes(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray
    ) -> FloatArray:
        """Like ``count_outcomes``, a pair weighing the product of its items' weights.

        Parameters
        ----------
        cuts : array-like of shape (n_cuts,)
        tolerance : float
        weight : ndarray of shape (n_items,), float64
            Item weights, in the order of the rows of X.

        Returns
        -------
        totals : ndarray of shape (n_queries, n_cuts, 4), float64
        """
        from skrank_abstain._kernels.weighted import weigh_outcomes_by_query

        return weigh_outcomes_by_query(
            self.scores,
            self.known_grades,
            weight[self.rows],
            self.offsets,
            np.asarray(cuts, dtype=np.float64),
            tolerance,
        )

    def rank_bounds(self, order_from: float) -> IntArray:
        """Return the best and worst rank of each item, in the order of the rows of X.

        Parameters
        ----------
        order_from : float
            Items further apart than this are ordered; positive.

        Returns
        -------
        bounds : ndarray of shape (n_items, 2), int64
        """
        from skrank_abstain._kernels.ranks import rank_bounds

        bounds = np.empty((self.rows.size, 2), dtype=np.int64)
        bounds[self.rows] = rank_bounds(self.scores, self.offsets, order_from)
        return bounds

    def preference_graph(self, order_from: float) -> csr_array:
        """Return the transitive reduction of the orders of one query.

        The items below an item are the first ``below`` ones of the ascending scores.
        The highest of them is over all that any of them is over, so that the orders
        that do not follow lead to the items from its own ``below`` on.
        """
        worst = self.rank_bounds(order_from)[self.rows, 1]
        below = self.scores.size - worst
        through = np.where(below > 0, below[below - 1], 0)
        counts = below - through
        first = np.cumsum(counts) - counts
        lower = np.arange(counts.sum()) - np.repeat(first - through, counts)
        entries = (np.repeat(self.rows, counts), self.rows[lower])
        shape = (self.scores.size, self.scores.size)
        return csr_array((np.ones(lower.size, dtype=bool), entries), shape=shape)

    @property
    def known_grades(self) -> IntArray:
        """The grades, of items that were built with relevance."""
        if self.grades is None:
            raise ValueError("outcomes need relevance: build these items with y.")
        return self.grades
