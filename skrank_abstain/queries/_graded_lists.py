"""Base of the rankers of whole queries: scores, values and P(grade) of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_relevance,
    check_row_order,
    check_sample_weight,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators import (
    ItemValues,
    ModelWrapper,
    predict_items,
    score_new_items,
)
from skrank_abstain.intake import (
    Items,
    train_and_score,
)
from skrank_abstain.pairs import Queries
from skrank_abstain.selection import LabelledScores
from skrank_abstain.tie_models import GradedRelevance, resolve_tie_model

_NAMES = ("graded_relevance", "feature_aware_relevance")
#: Number of items whose probabilities are computed at a time.
_PIECE = 20_000


class ValuedItems(ItemValues):
    """Items with scores and values, which can be read list by list."""

    def lists(
        self, model: GradedRelevance, by: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rows of each query, the best first, and P(grade) of its items.

        Parameters
        ----------
        model : GradedRelevance
        by : ndarray of shape (n_items,), float64
            Sort key; equal items are sorted by their values.

        Yields
        ------
        rows : ndarray of shape (n,), int64
        proba : ndarray of shape (n_nodes, n, n_grades), float64
        """
        # By values too, so that draws do not depend on the order of the rows.
        rows = np.lexsort((-self.values, -by, self.queries.codes))
        offsets = self.queries.offsets
        pieces = np.flatnonzero(np.diff(offsets[:-1] // _PIECE)) + 1
        for numbers in np.split(np.arange(self.queries.n_queries), pieces):
            start, stop = offsets[numbers[0]], offsets[numbers[-1] + 1]
            proba = model.grade_proba(self.values[rows[start:stop]])
            for query in numbers.tolist():
                own = slice(offsets[query] - start, offsets[query + 1] - start)
                yield rows[start:stop][own], proba[:, own]


class GradedLists(ModelWrapper):
    """Base of the rankers that apply a model of grades to whole queries."""

    _fitted_state: tuple[str, ...] = (
        *("tie_model_", "n_queries_", "n_tuning_queries_"),
        *("_largest_query", "_fitted_with_qid"),
    )

    # What the wrapped model requests, if it does, can pass through a Pipeline.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__decision_function = {"qid": True}  # noqa: RUF012

    tie_model: Any
    tie_model_: GradedRelevance

    def predict(self, X: Any, qid: Any = None) -> FloatArray:
        """Return the wrapped ranker's score of each item.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; only models that request ``qid`` need it.

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        return predict_items(self, X, qid)

    def decision_function(self, X: Any, qid: Any = None) -> FloatArray:
        """Return the item scores of ``predict``, for scikit-learn's scorers.

        Parameters
        ----------
        X, qid
            As in ``predict``.

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        return predict_items(self, X, qid)

    def _unfitted_tie_model(self) -> GradedRelevance:
        """Return the tie model; raise if it is not a model of grades."""
        model, found = None, self.tie_model
        # The message for other names would list models that are not models of grades.
        if not isinstance(found, str) or found in _NAMES:
            model = resolve_tie_model(found)
        if not isinstance(model, GradedRelevance):
            kind = ValueError if isinstance(found, str) else TypeError
            raise kind(
                "tie_model must be a model of grades, 'graded_relevance', "
                "'feature_aware_relevance' or an instance of either, got "
                f"{shown(self.tie_model)}."
            )
        return model

    def _learn(
        self,
        model: GradedRelevance,
        given: tuple[Items, FloatArray],
        tuning_size: float,
    ) -> tuple[list[LabelledScores], list[ValuedItems], int]:
        """Train the ranker, split the queries, and fit the tie model.

        Parameters
        ----------
        model : GradedRelevance
            Unfitted.
        given : tuple
            Result of ``take_labelled_items``.
        tuning_size : float
            Share of the calibration queries that only fit the tie model; 0: all fit it.

        Returns
        -------
        data : list of LabelledScores
            The queries that fit the tie model, and the others if there are any.
        valued : list of ValuedItems
            The same queries; the values of the first are out of fold.
        seed : int
        """
        record = train_and_score(self, *given, tuning_size=tuning_size)
        self._take_over(record)
        first, last = record.tuning or record.rest, record.rest
        items = first.fit(model)
        values = np.empty(first.scores.size)
        values[items.rows] = items.values
        data, valued = [first], [ValuedItems(first.scores, values, first.queries)]
        if last is not first:
            values = model.checked_transform(last.scores, last.queries, last.X)
            data.append(last)
            valued.append(ValuedItems(last.scores, values, last.queries))
        self.tie_model_ = model
        self.n_queries_ = last.queries.n_queries
        self.n_tuning_queries_ = first.queries.n_queries if last is not first else 0
        return data, valued, record.seed

    def _valued(self, X: Any, qid: Any, *, needs_qid: bool = False) -> ValuedItems:
        """Return new items with their values."""
        items, scores = score_new_items(self, X, qid, needs_qid=needs_qid)
        values = self.tie_model_.checked_transform(scores, items.queries, items.X)
        return ValuedItems(scores, values, items.queries)

    def _labelled(
        self, X: Any, y: Any, qid: Any, sample_weight: Any = None
    ) -> tuple[ValuedItems, FloatArray]:
        """Return labelled items with their values, and their relevance."""
        check_row_order(X, y=y, sample_weight=sample_weight)
        items = self._valued(X, qid, needs_qid=True)
        return items, check_relevance(y, items.queries.n_items)

    def _mean_of_queries(
        self, values: FloatArray, sample_weight: Any, queries: Queries, name: str
    ) -> float:
        """Return the weighted mean over queries; NaN, with a warning, without any.

        Parameters
        ----------
        values : ndarray of shape (n_queries,), float64
            NaN for queries that do not count.
        sample_weight : array-like of shape (n_items,) or None
            A query weighs the mean of its items.
        queries : Queries
        name : str
            Start of the warning: what is undefined, and why.
        """
        weight = check_sample_weight(sample_weight, queries.n_items)
        of_query = np.ones(queries.n_queries)
        if weight is not None:
            of_query = np.bincount(queries.codes, weight) / queries.sizes
        known = ~np.isnan(values)
        if not of_query[known].sum():
            warn_user(f"{name}.", UndefinedMetricWarning)
            return float("nan")
        return float(np.average(values[known], weights=of_query[known]))
