"""Gaps, the absolute score differences of pairs, and how the pairs came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray


class GapOutcomes(NamedTuple):
    """Weighted gaps with their outcomes: all that a difference model is fitted on.

    Attributes
    ----------
    gap : ndarray of shape (n,), float64
        Absolute score differences.
    outcome : ndarray of shape (n,), int64
        +1 the higher-scored item is preferred (or the scores are equal and one of
        the two is), 0 tie, -1 the lower-scored item is preferred.
    weight : ndarray of shape (n,), float64
        How many pairs the entry stands for.

    Examples
    --------
    >>> from skrank_abstain.pairs import GapOutcomes
    >>> GapOutcomes([0.5, 2.0], [0, 1], [3.0, 1.0]).gap
    [0.5, 2.0]
    """

    gap: FloatArray
    outcome: IntArray
    weight: FloatArray


class PairGaps(Protocol):
    """What selection needs to know about the calibration pairs."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""

    @property
    def largest(self) -> float:
        """Largest gap."""

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with gap at most each cut."""

    def outline(self) -> tuple[FloatArray, FloatArray]:
        """Return gaps that stand for all, and how many pairs each stands for."""

    def collect(self, *windows: tuple[float, float]) -> list[tuple[int, FloatArray]]:
        """Return how many gaps are at most each ``low``, and those in (low, high]."""


@dataclass(frozen=True)
class GapArray(Value):
    """Gaps of pairs that were given one by one, or collected.

    Attributes
    ----------
    gaps : ndarray of shape (n_pairs,), float64
        In ascending order.
    outcomes : ndarray of shape (n_pairs,), int64, or None
        As in `GapOutcomes`.
    largest_value : float
        The largest absolute score, which sets the rounding of the gaps.
    rows : ndarray of shape (n_pairs,), int64, or None
        Where each pair stood.
    codes : ndarray of shape (n_pairs,), int64, or None
        Number of the query of each pair.
    """

    gaps: FloatArray
    outcomes: IntArray | None = None
    largest_value: float = 0.0
    rows: IntArray | None = None
    codes: IntArray | None = None

    @classmethod
    def of(cls, gaps: FloatArray) -> Self:
        """Take gaps in any order."""
        return cls(np.sort(gaps))

    @classmethod
    def of_pairs(
        cls,
        left: FloatArray,
        right: FloatArray,
        label: IntArray,
        queries: IntArray | None = None,
    ) -> Self:
        """Take the scores of the two items of each pair, its label and its query.

        Without queries each pair is one of its own.
        """
        # Differences of huge scores may overflow: infinity is still the largest gap.
        with np.errstate(over="ignore"):
            difference = left - right
        gap = np.abs(difference)
        outcome = outcomes_of(difference, label)
        order = np.argsort(gap, kind="stable")
        largest = max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
        # Numbers without a gap, in the order of those that were given.
        codes = order if queries is None else _dense(queries)[order]
        return cls(gap[order], outcome[order], float(largest), order, codes)

    def to_plain(self) -> dict[str, Any]:
        plain = super().to_plain()
        del plain["rows"]  # of an X that is not saved
        return plain

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        return cls(rows=np.arange(plain["gaps"].size), **plain)

    def by_query(
        self, task: Callable[[Any], tuple[FloatArray, ...]], most: int
    ) -> tuple[FloatArray, ...]:
        """Return what a task finds of each query, ``most`` queries at a time."""
        found = [
            task(self.take(first, min(first + most, self.n_queries)))
            for first in range(0, self.n_queries, most)
        ]
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))

    def take(self, start: int, stop: int) -> Self:
        """Return the queries ``start`` to ``stop`` (exclusive)."""
        by_query, offsets = self._by_query
        chosen = np.sort(by_query[offsets[start] : offsets[stop]])
        outcomes, rows, codes = self._labelled
        return type(self)(
            self.gaps[chosen],
            outcomes[chosen],
            self.largest_value,
            rows[chosen],
            codes[chosen] - start,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.pair_counts.size)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        return np.diff(self._by_query[1])

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        """Count the pairs of each query with gap at least each cut, by outcome.

        Parameters
        ----------
        cuts : array-like of shape (n_cuts,)
            Ascending.
        tolerance : float
            Scores no further apart carry no order.

        Returns
        -------
        counts : ndarray of shape (n_queries, n_cuts, 4), int64
            Concordant, tied, discordant, and untied pairs of equal scores.
        """
        return self._add_up(cuts, tolerance, None).astype(np.int64)

    def weigh_outcomes(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray
    ) -> FloatArray:
        """Like ``count_outcomes``; ``weight`` is of the pairs, where they stood."""
        return self._add_up(cuts, tolerance, weight[self._labelled[1]])

    def _add_up(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray | None
    ) -> FloatArray:
        outcomes, _, codes = self._labelled
        given = np.asarray(cuts, dtype=np.float64)
        shape = self.n_queries, given.size, 4
        column = np.where((self.gaps <= tolerance) & (outcomes != 0), 3, 1 - outcomes)
        # Pairs of a gap below all cuts are beyond none of them.
        last = np.searchsorted(given, self.gaps, side="right") - 1
        some = last >= 0
        entry = ((codes * given.size + last) * 4 + column)[some]
        mass = None if weight is None else weight[some]
        sums = np.bincount(entry, mass, shape[0] * shape[1] * 4)
        beyond = np.cumsum(sums.reshape(shape)[:, ::-1], axis=1)[:, ::-1]
        return beyond.astype(np.float64)

    @cached_property
    def _by_query(self) -> tuple[IntArray, IntArray]:
        """Pairs sorted by query, and where each query begins."""
        codes = self._labelled[2]
        counts = np.bincount(codes)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return np.argsort(codes, kind="stable"), offsets

    @property
    def _labelled(self) -> tuple[IntArray, IntArray, IntArray]:
        if self.outcomes is None or self.rows is None or self.codes is None:
            raise ValueError("outcomes need labels: build these gaps with them.")
        return self.outcomes, self.rows, self.codes

    def counts_by_gap(self) -> tuple[FloatArray, FloatArray]:
        """Return the gaps, and one count of the outcome of each."""
        return self.gaps, np.eye(3)[self._labelled[0] + 1]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.gaps.size)

    @property
    def largest(self) -> float:
        """Largest gap."""
        return float(self.gaps[-1])

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with gap at most each cut, O(log n) each."""
        counts: IntArray = np.searchsorted(self.gaps, cuts, side="right")
        return counts

    def outline(self) -> tuple[FloatArray, FloatArray]:
        """Return the middle of each of 65,536 equal shares, and their size."""
        step = max(1, self.n_pairs >> 16)
        gaps = self.gaps[step // 2 :: step]
        return gaps, np.full(gaps.size, float(step))

    def collect(self, *windows: tuple[float, float]) -> list[tuple[int, FloatArray]]:
        """Return how many gaps are at most each ``low``, and those in (low, high]."""
        ends = self.count_within(np.reshape(windows, (-1, 2)))
        return [(start, self.gaps[start:stop]) for start, stop in ends.tolist()]


def _dense(codes: IntArray) -> IntArray:
    dense: IntArray = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return dense


def outcomes_of(difference: FloatArray, label: IntArray) -> IntArray:
    """Return labels as if the higher-scored item of each pair came first.

    Parameters
    ----------
    difference : ndarray of shape (n_pairs,), float64
        Score of the left item minus that of the right one.
    label : ndarray of shape (n_pairs,), int64

    Returns
    -------
    outcome : ndarray of shape (n_pairs,), int64
        An untied pair of equal scores counts as +1.
    """
    # The sign of a zero difference would make a tie of a pair whose relevance differs.
    outcome: IntArray = np.where(
        difference == 0, abs(label), np.sign(difference) * label
    ).astype(np.int64)
    return outcome
