"""Base of the rankers of whole queries: scores, values and P(grade) of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_columns,
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
    TrainingRecord,
    describe_rows,
    hash_rows,
    take_columns,
    train_and_score,
)
from skrank_abstain.pairs import Queries
from skrank_abstain.queries._pages import PageFacts
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
        *("_largest_query", "_fitted_with_qid", "_parameters"),
        *("_fitted_qid_col", "_fitted_sparse"),
    )

    # What the wrapped model requests, if it does, can pass through a Pipeline.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__decision_function = {"qid": True}  # noqa: RUF012

    #: Names of the parameters that a report compares with those of fit.
    _own: tuple[str, ...] = ()

    tie_model: Any
    tie_model_: GradedRelevance
    qid_col: str | int | None
    verbose: int
    threshold_: float

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
        groups: Any = None,
    ) -> tuple[list[LabelledScores], list[ValuedItems], TrainingRecord]:
        """Train the ranker, split the queries, and fit the tie model.

        Parameters
        ----------
        model : GradedRelevance
            Unfitted.
        given : tuple
            Result of ``take_labelled_items``.
        tuning_size : float
            Share of the calibration queries that only fit the tie model; 0: all fit it.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item; each group is split by itself.

        Returns
        -------
        data : list of LabelledScores
            The queries that fit the tie model, and the others if there are any.
        valued : list of ValuedItems
            The same queries; the values of the first are out of fold.
        record : TrainingRecord
        """
        record = train_and_score(self, *given, tuning_size=tuning_size, groups=groups)
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
        return data, valued, record

    def _valued(self, X: Any, qid: Any, *, needs_qid: bool = False) -> ValuedItems:
        """Return new items with their values."""
        items, scores = score_new_items(self, X, qid, needs_qid=needs_qid)
        values = self.tie_model_.checked_transform(scores, items.queries, items.X)
        return ValuedItems(scores, values, items.queries)

    def _labelled(
        self, X: Any, y: Any, qid: Any, sample_weight: Any = None
    ) -> tuple[ValuedItems, FloatArray]:
        """Return labelled items with their values, and their relevance."""
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        items = self._valued(X, qid, needs_qid=True)
        return items, check_relevance(y, items.queries.n_items)

    def _remember_parameters(self) -> None:
        """Note the parameters that set the threshold: later ones have no effect."""
        self._parameters = tuple((name, getattr(self, name)) for name in self._own)

    def _tell(self) -> None:
        """Print the line of a verbose fit."""
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] calibrated on {self.n_queries_} queries: "
                f"threshold {self.threshold_:.6g}"
            )

    def _facts_of_page(self, X: Any, items: ValuedItems, relevance: Any) -> PageFacts:
        """Return what a report says about the ranker and the rows."""
        check_is_fitted(self, "threshold_")
        X = check_columns(self, X, reset=False)
        X, _ = take_columns(X, qid_col=self._fitted_qid_col)
        rows = describe_rows(self, hash_rows(X), items.queries.codes, relevance)
        changed = [
            f"{name}={shown(getattr(self, name))} after {shown(then)}"
            for name, then in self._parameters
            if getattr(self, name) is not then and getattr(self, name) != then
        ]
        if changed:
            text = (
                f"parameters were set after fit and have no effect: got "
                f"{', '.join(changed)}. The report is about what was fitted"
            )
            warn_user(f"{text[0].upper()}{text[1:]}. Call fit again to use them.")
            rows.warnings.append(text)
        return PageFacts(self, items.queries, rows, relevance is not None)


def weights_of_queries(sample_weight: Any, queries: Queries) -> FloatArray:
    """Return the mean weight of the items of each query; 1 without weights."""
    weight = check_sample_weight(sample_weight, queries.n_items)
    if weight is None:
        return np.ones(queries.n_queries)
    mean: FloatArray = np.bincount(queries.codes, weight) / queries.sizes
    return mean
