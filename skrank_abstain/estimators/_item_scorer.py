"""Scores of items, by the wrapped model of an estimator."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import BoolArray, FloatArray
from skrank_abstain.intake import Items, check_columns, take_items, warn_of_batch
from skrank_abstain.pairs import Queries, ScoredItems
from skrank_abstain.scorers import score_items


class ItemValues(NamedTuple):
    """Items with what their model and their tie model make of them.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
        Of the wrapped model.
    values : ndarray of shape (n_items,), float64
        What the tie model compares. One number per item, whatever it looks at: pairs
        can then be counted from sorted numbers, in O(n log n), without being formed.
    queries : Queries
    novel : ndarray of shape (n_items,), bool, or None
        Items whose pairs are abstained on.
    """

    scores: FloatArray
    values: FloatArray
    queries: Queries
    novel: BoolArray | None = None

    def sorted(self, y: FloatArray | None = None) -> ScoredItems:
        """Return the items in the order of their values, with their relevance."""
        return ScoredItems.build(self.values, self.queries, y, self.novel)


class ItemScorer:
    """Mixin of the estimators that score items by a model.

    ``fit`` sets ``estimator_``, and what ``take_labelled_items`` and
    ``train_and_score`` leave behind.
    """

    _fitted_state: tuple[str, ...] = ("_largest_query", "_fitted_with_qid")

    qid_col: str | int | None
    estimator_: Any
    _fitted_with_qid: bool
    _largest_query: int

    def predict(self, X: Any) -> FloatArray:
        """Return the wrapped ranker's score of each item.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better. One value per *item*: decisions come from other methods.
        """
        check_is_fitted(self, "estimator_")
        # Items are scored without their queries: GridSearchCV.predict cannot hand on a
        # qid, even under metadata routing.
        if self.qid_col is None:
            return score_items(self.estimator_, check_columns(self, X, reset=False))
        return self._score_items(X, None)[1]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the item scores of ``predict``; scikit-learn's scorers ask for it.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        return self.predict(X)

    def _score_items(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[Items, FloatArray]:
        check_is_fitted(self, "estimator_")
        items = take_items(self, X, qid, self.qid_col, reset=False)
        # For labelled rows only: without queries, items would be compared whose labels
        # were never meant to be. Unlabelled rows may well be one new query.
        if needs_qid and self._fitted_with_qid and not items.has_qid:
            raise ValueError(
                "qid= must be given to score labelled rows, since fit got one: rows of "
                "different queries would be compared without it. Pass qid= (a Pipeline "
                "hands it on only with enable_metadata_routing=True and "
                "set_score_request(qid=True)), or name a column of X with qid_col=."
            )
        warn_of_batch(self, items)
        return items, score_items(self.estimator_, items.X)
