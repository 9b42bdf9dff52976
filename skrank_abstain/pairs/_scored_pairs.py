"""Labelled pairs that were given one by one, as queries of two items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs._gaps import GapOutcomes
from skrank_abstain.pairs._scored_items import ScoredItems


@dataclass(frozen=True)
class ScoredPairs(ScoredItems):
    """Pairs of two items each; a query has any number of pairs.

    Attributes
    ----------
    values, rows, offsets, grades
        As in `ScoredItems`, as if each pair were a query; ``rows`` are rows of pairs.
    codes : ndarray of shape (n_pairs,), int64
        Number of the query of each pair, ascending.
    """

    codes: IntArray = None  # type: ignore[assignment]

    @classmethod
    def of_pairs(
        cls,
        left: FloatArray,
        right: FloatArray,
        label: IntArray,
        queries: IntArray | None = None,
        keys: NDArray[np.uint64] | None = None,
    ) -> Self:
        """Take the scores of the two items of each pair, its label and its query.

        Without queries each pair is one of its own. ``keys`` has shape (n_pairs, 2).
        """
        values = np.stack([left, right], axis=1)
        grades = np.stack([label + 1, np.ones_like(label)], axis=1)
        grades[left > right] = grades[left > right, ::-1]
        values.sort(axis=1)
        n_pairs = label.size
        codes = np.arange(n_pairs)
        if queries is not None:
            codes = np.unique(queries, return_inverse=True)[1].reshape(-1)
        order = np.argsort(codes, kind="stable")
        return cls(
            values[order].reshape(-1),
            np.repeat(order, 2),
            2 * np.arange(n_pairs + 1),
            grades[order].reshape(-1),
            keys=None if keys is None else keys[order].reshape(-1),
            codes=codes[order],
        )

    def fit(self, model: Any) -> Self:
        """Fit a model of the score difference."""
        model.fit_items(self)
        return self

    def transformed_by(self, model: Any) -> Self:
        """Return the pairs: models of the score difference compare scores."""
        return self

    def take(self, start: int, stop: int) -> Self:
        first, last = np.searchsorted(self.codes, [start, stop]).tolist()
        items = slice(2 * first, 2 * last)
        return type(self)(
            self.values[items],
            self.rows[items],
            2 * np.arange(last - first + 1),
            self.known_grades[items],
            keys=None if self.keys is None else self.keys[items],
            codes=self.codes[first:last] - start,
        )

    def query_of(self, items: IntArray) -> IntArray:
        return self.codes[items // 2]

    def weight_of(
        self, low: IntArray, high: IntArray, weight: FloatArray | None
    ) -> FloatArray:
        return np.ones(low.size) if weight is None else weight[self.rows[low]]

    @property
    def n_queries(self) -> int:
        return int(self.pair_counts.size)

    @property
    def pair_counts(self) -> IntArray:
        return np.bincount(self.codes)

    @cached_property
    def outcomes(self) -> GapOutcomes:
        """The pairs one by one."""
        return self.every_outcome()

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        return self._add_up(cuts, tolerance, None).astype(np.int64)

    def weigh_outcomes(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray
    ) -> FloatArray:
        """As ``count_outcomes``; ``weight`` is that of each pair, as it was given."""
        return self._add_up(cuts, tolerance, weight[self.rows[::2]])

    def _add_up(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray | None
    ) -> FloatArray:
        gap, outcome, _ = self.outcomes
        given = np.asarray(cuts, dtype=np.float64)
        shape = self.n_queries, given.size, 4
        column = np.where((gap <= tolerance) & (outcome != 0), 3, 1 - outcome)
        # A pair with a gap below all cuts is beyond none of them.
        last = np.searchsorted(given, gap, side="right") - 1
        beyond_one = last >= 0
        entry = ((self.codes * given.size + last) * 4 + column)[beyond_one]
        mass = None if weight is None else weight[beyond_one]
        sums = np.bincount(entry, mass, shape[0] * shape[1] * 4)
        beyond = np.cumsum(sums.reshape(shape)[:, ::-1], axis=1)[:, ::-1]
        return beyond.astype(np.float64)
