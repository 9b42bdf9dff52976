"""Numbered pairs, of which one item is to win, and batches of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.distance._margins import MarginLoss
from skrank_abstain.pairs import Queries


class NumberedPairs(ABC):
    """Pairs of a better and a worse item, numbered from 0."""

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """Number of pairs."""

    @abstractmethod
    def decode(self, number: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of the better and the worse item."""

    def spread(self, size: int, draws: FloatArray | float) -> IntArray:
        """Return one number from each of ``size`` stretches of equal length.

        With uniform ``draws`` of shape (size,) in [0, 1), each pair is as likely as any
        other to be that of a stretch drawn at random; with as many stretches as pairs
        each comes once.
        """
        # Stratified: no stretch of pairs goes unseen, at the cost of independence.
        width = self.n_pairs / max(size, 1)
        numbers = ((np.arange(size) + draws) * width).astype(np.int64)
        return np.minimum(numbers, self.n_pairs - 1)

    def sample(self, size: int) -> tuple[IntArray, IntArray]:
        """Return pairs that stand for all, the same each time; all, if so few."""
        size = min(size, self.n_pairs)
        # At random within its stretch, so as not to follow a pattern in the rows.
        draws = np.random.RandomState(0).random_sample(size)
        return self.decode(self.spread(size, draws))


@dataclass(frozen=True)
class LabelledPairs(NumberedPairs):
    """Given pairs of rows of X; they may repeat and contradict each other."""

    better: IntArray
    worse: IntArray

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.better.size

    def decode(self, number: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of the better and the worse item."""
        return self.better[number], self.worse[number]


@dataclass(frozen=True)
class StrictPairs(NumberedPairs):
    """All pairs of items of different relevance, within queries; none is stored.

    Attributes
    ----------
    rows : ndarray of shape (n_items,), int64
        Rows of X by query, relevance ascending within it.
    first : ndarray of shape (n_items,), int64
        Where in ``rows`` the query of each begins.
    ends : ndarray of shape (n_items,), int64
        Pairs whose better item is at this position or before.
    """

    rows: IntArray
    first: IntArray
    ends: IntArray

    @classmethod
    def of(cls, y: FloatArray, queries: Queries) -> Self:
        """Sort items, O(n log n).

        Raises
        ------
        ValueError
            If there is no pair.
        """
        # Within a query relevance ascends: the items worse than an item are those
        # before its grade, a range, so pairs have numbers and need no list.
        rows = np.lexsort((y, queries.codes))
        code, grade = queries.codes[rows], y[rows]
        new_query = np.diff(code, prepend=-1) != 0
        new_grade = new_query | (np.diff(grade, prepend=np.nan) != 0)
        first = _start_of_run(new_query)
        pairs = cls(rows, first, np.cumsum(_start_of_run(new_grade) - first))
        if pairs.n_pairs == 0:
            raise ValueError(
                "y must have different relevance for two items of one query, got no "
                f"such pair (n_samples={y.size}, {queries.n_queries} queries)."
            )
        return pairs

    @classmethod
    def every(cls, offsets: IntArray) -> Self:
        """Take all pairs of positions, a later one as the better of an earlier one."""
        first = np.repeat(offsets[:-1], np.diff(offsets))
        position = np.arange(first.size)
        return cls(position, first, np.cumsum(position - first))

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.ends[-1]) if self.ends.size else 0

    def decode(self, number: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of the better and the worse item, O(log n) for each pair."""
        better = np.searchsorted(self.ends, number, side="right")
        below = number - np.where(better > 0, self.ends[better - 1], 0)
        return self.rows[better], self.rows[self.first[better] + below]


def _start_of_run(starts_here: BoolArray) -> IntArray:
    """Return for each position where the run that it belongs to begins."""
    at = np.where(starts_here, np.arange(starts_here.size), 0)
    start: IntArray = np.maximum.accumulate(at)
    return start


class Batch(NamedTuple):
    """Some pairs, and the features that they take.

    Attributes
    ----------
    items : ndarray of shape (n_items, n_features), float64
    better, worse : ndarray of shape (n_pairs,), int64
        Rows of ``items``.
    """

    items: FloatArray
    better: IntArray
    worse: IntArray

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return how much higher the better item of each pair is scored."""
        margin: FloatArray = scores[self.better] - scores[self.worse]
        return margin

    def loss(
        self, scores: FloatArray, surrogate: MarginLoss
    ) -> tuple[float, FloatArray]:
        """Return the mean surrogate of the margins, and its gradient in the scores."""
        margin = self.margins(scores)
        # An item is in many pairs, so slopes are summed by item.
        slope = surrogate.derivative(margin) / margin.size
        gradient: Any = np.bincount(self.better, slope, scores.size)
        gradient -= np.bincount(self.worse, slope, scores.size)
        return float(surrogate.value(margin).mean()), gradient

    def check_finite(self, loss: float, *gradients: FloatArray) -> None:
        """Raise where the surrogate of these features does not fit into float64."""
        if not (np.isfinite(loss) and all(np.isfinite(g).all() for g in gradients)):
            raise ValueError(
                "X must have features so small that the surrogate stays finite within "
                f"the bounds, got one of size {np.abs(self.items).max():g}. Put a "
                "scaler in front, or lower weight_norm."
            )


@dataclass(frozen=True)
class PairBatches:
    """Batches of pairs, drawn anew each time, or always all of them.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features), float64
    pairs : NumberedPairs
    size : int
        Pairs in a batch; from as many as there are, a batch holds each pair once.
    generator : RandomState
    """

    X: FloatArray
    pairs: NumberedPairs
    size: int
    generator: np.random.RandomState

    @property
    def complete(self) -> bool:
        """Whether a batch holds all pairs."""
        return self.size >= self.pairs.n_pairs

    def draw(self) -> Batch:
        """Return a batch, in O(size) memory."""
        if self.complete:
            return self._all
        draws = self.generator.random_sample(self.size)
        return self._gather(*self.pairs.decode(self.pairs.spread(self.size, draws)))

    def evenly(self, size: int) -> Batch:
        """Return pairs that stand for all, the same each time; all, if so few."""
        return self._gather(*self.pairs.sample(size))

    @cached_property
    def _all(self) -> Batch:
        return self._gather(*self.pairs.decode(np.arange(self.pairs.n_pairs)))

    def _gather(self, better: IntArray, worse: IntArray) -> Batch:
        # Small batches copy the rows that they need, to save a product with all of X.
        if 2 * better.size >= self.X.shape[0]:
            return Batch(self.X, better, worse)
        place = np.arange(better.size)
        items = self.X[np.concatenate([better, worse])]
        return Batch(items, place, place + better.size)
