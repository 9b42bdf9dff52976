"""Labelled data that tie models are fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils import _safe_indexing

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import (
    GapArray,
    Queries,
    ScoredItems,
    group_queries,
)
from skrank_abstain.tie_models._tie_model import (
    DifferenceModel,
    TieModel,
    check_spread,
)


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
