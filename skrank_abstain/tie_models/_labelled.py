"""Labelled data that tie models are fitted and judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import (
    GapArray,
    Queries,
    ScoredItems,
    group_queries,
    spread_queries,
)
from skrank_abstain.tie_models._tie_model import (
    DifferenceModel,
    TieModel,
    check_spread,
)

#: Parts that queries are divided into.
N_FOLDS = 5
#: Items by which a model is chosen: the error is one over queries, and small by then.
_MOST_ITEMS = 100_000


class LabelledData(Protocol):
    """Pairs whose outcomes are known."""

    def some(self) -> Any:
        """Return what is enough to choose a model by."""

    def folds(self) -> list[tuple[Any, Any]]:
        """Return (rest, part) for each part of the data; empty if there are no two."""

    def blocks(self, n_blocks: int) -> list[Any]:
        """Divide the queries with pairs into so many blocks, or one by one."""

    def fit(self, model: Any) -> Any:
        """Fit a model in place and return the pairs, by out-of-fold values."""

    def transformed_by(self, model: Any) -> Any:
        """Return the pairs, by the values that a fitted model gives."""


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scored items of labelled queries.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
    y : ndarray of shape (n_items,), float64
        Relevance, higher is better.
    queries : Queries
    X : array or frame of shape (n_items, n_features), default=None
        The features that were scored.
    novel : ndarray of shape (n_items,), bool, default=None
        Items whose pairs are abstained on.
    """

    scores: FloatArray
    y: FloatArray
    queries: Queries
    X: Any = None
    novel: BoolArray | None = None

    def some(self) -> LabelledScores:
        """Return evenly spaced queries with about 100,000 items."""
        used = self.enough(self.queries.sizes)
        if used.size == self.queries.n_queries:
            return self
        return self.take(np.flatnonzero(np.isin(self.queries.codes, used)))

    @staticmethod
    def enough(sizes: IntArray) -> IntArray:
        """Return the numbers of the queries, of these sizes, that are ``some``."""
        return spread_queries(sizes, _MOST_ITEMS)[0]

    def folds(self) -> list[tuple[LabelledScores, LabelledScores]]:
        """Divide the queries with pairs into parts of about as many items."""
        rows, codes = self._with_pairs()
        return [
            (self.take(rows[a]), self.take(rows[b])) for a, b in _group_folds(codes)
        ]

    def blocks(self, n_blocks: int) -> list[LabelledScores]:
        rows, codes = self._with_pairs()
        return [self.take(rows[part]) for part in _group_blocks(codes, n_blocks)]

    def _with_pairs(self) -> tuple[IntArray, IntArray]:
        """Return the rows of queries with pairs, and the codes of these."""
        # Parts are balanced by items: a query of one item would count without a pair.
        rows = np.flatnonzero(self.queries.sizes[self.queries.codes] > 1)
        return rows, self.queries.codes[rows]

    def fit(self, model: TieModel) -> ScoredItems:
        """Fit a model; the values are from fits that have not seen the query."""
        check_spread(self.scores)
        values = model.checked_fit_transform(self.scores, self.y, self.queries, self.X)
        items = ScoredItems.build(values, self.queries, self.y, self.novel)
        model.fit_items(items)
        return items

    def transformed_by(self, model: TieModel) -> ScoredItems:
        """Return the items sorted by their values."""
        values = model.checked_transform(self.scores, self.queries, self.X)
        return ScoredItems.build(values, self.queries, self.y, self.novel)

    def take(self, rows: IntArray) -> LabelledScores:
        """Return some rows, in ascending order."""
        return LabelledScores(
            self.scores[rows],
            self.y[rows],
            group_queries(self.queries.codes[rows], rows.size),
            None if self.X is None else _safe_indexing(self.X, rows),
            None if self.novel is None else self.novel[rows],
        )


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs that were given one by one.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), float64
        Scores.
    label : ndarray of shape (n_pairs,), int64
    groups : ndarray of shape (n_pairs,), int64
        Pairs of one group are never divided.
    """

    left: FloatArray
    right: FloatArray
    label: IntArray
    groups: IntArray

    def some(self) -> LabelledPairs:
        """Return all of them: a fit to pairs is quick."""
        return self

    def folds(self) -> list[tuple[LabelledPairs, LabelledPairs]]:
        """Divide the groups into parts of about as many pairs."""
        return [(self.take(a), self.take(b)) for a, b in _group_folds(self.groups)]

    def blocks(self, n_blocks: int) -> list[LabelledPairs]:
        return [self.take(rows) for rows in _group_blocks(self.groups, n_blocks)]

    def fit(self, model: DifferenceModel) -> GapArray:
        """Fit a model."""
        model.fit_pairs(self.left, self.right, self.label)
        return self.transformed_by(model)

    def transformed_by(self, model: DifferenceModel) -> GapArray:
        """Return the gaps with their outcomes."""
        return GapArray.of_pairs(self.left, self.right, self.label, self.groups)

    def take(self, rows: IntArray) -> LabelledPairs:
        """Return some pairs."""
        return LabelledPairs(
            self.left[rows], self.right[rows], self.label[rows], self.groups[rows]
        )


def _group_folds(groups: IntArray) -> list[tuple[IntArray, IntArray]]:
    n_folds = min(N_FOLDS, np.unique(groups).size)
    if n_folds < 2:
        return []
    # Not shuffled: the folds are the same for all candidates and at each fit.
    return list(GroupKFold(n_folds).split(groups, groups=groups))


def _group_blocks(groups: IntArray, n_blocks: int) -> list[IntArray]:
    kinds, number = np.unique(groups, return_inverse=True)
    n_blocks = min(n_blocks, kinds.size)
    # Neighbours in one block, about as many groups in each.
    block = number.reshape(-1) * n_blocks // kinds.size
    return [np.flatnonzero(block == k) for k in range(n_blocks)]
