"""What every tie model offers, and what the models of a score difference share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    FloatArray,
    check_relevance,
    check_scores,
    check_vector,
)
from skrank_abstain.pairs import Queries, ScoredItems, group_queries, outcomes_of
from skrank_abstain.tie_models._likelihood import (
    PairOutcomes,
)


class TieModel(BaseEstimator, ABC):
    """Probabilities of the three outcomes of a pair from the values of its items.

    The value of an item is its score, or what a model makes of the score, the query
    and the features (``item_values``).

    Attributes
    ----------
    candidate_losses_ : dict of str to float
        Cross-fitted log loss of each candidate, lower is better; only where the model
        was chosen from several, as by ``tie_model="auto"``.
    """

    candidate_losses_: dict[str, float]

    def fit(self, scores: ArrayLike, y: ArrayLike, qid: Any = None) -> Self:
        """Fit on the pairs of labelled queries.

        Parameters
        ----------
        scores : array-like of shape (n_items,)
            A ranker's scores, higher is better.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar means one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If lengths differ, a value is not finite, or no query has two items.
        """
        return self._fit_labelled(scores, y, qid, None)

    def _fit_labelled(self, scores: ArrayLike, y: ArrayLike, qid: Any, X: Any) -> Self:
        scores = check_scores(scores)
        relevance = check_relevance(y, scores.shape[0])
        queries = group_queries(qid, scores.shape[0])
        if queries.n_pairs == 0:
            raise ValueError(
                "qid must give at least one query with two items, got "
                f"{queries.n_queries} queries with n_samples={queries.n_items} items."
            )
        values = self.fit_values(scores, relevance, queries, X)
        return self.fit_items(ScoredItems.build(values, queries, relevance))

    def fit_items(self, items: ScoredItems) -> Self:
        """Fit on items that are sorted by score already.

        Parameters
        ----------
        items : ScoredItems
            With relevance, and at least one pair.

        Returns
        -------
        self : object
        """
        self._fit(items)
        self.n_pairs_ = items.n_pairs
        return self

    def fit_values(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        """Learn how items get their values, before ``fit_items``.

        Parameters
        ----------
        scores, y : ndarray of shape (n_items,), float64
        queries : Queries
        X : array or frame of shape (n_items, n_features), or None

        Returns
        -------
        values : ndarray of shape (n_items,), float64
            The value of each item, from a fit that has not seen its query.
        """
        return scores

    def item_values(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        """Return what the model compares: one value per item, higher is better.

        Parameters
        ----------
        scores : ndarray of shape (n_items,), float64
        queries : Queries
        X : array or frame of shape (n_items, n_features), or None

        Returns
        -------
        values : ndarray of shape (n_items,), float64
        """
        return scores

    @abstractmethod
    def log_loss(self, items: ScoredItems) -> float:
        """Return the mean log loss of all pairs; lower is better.

        Parameters
        ----------
        items : ScoredItems
            With relevance, sorted by their values.

        Returns
        -------
        loss : float
            In nats per pair.
        """

    def proba(self, left_scores: ArrayLike, right_scores: ArrayLike) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1.

        Parameters
        ----------
        left_scores, right_scores : array-like of shape (n_pairs,)
            Scores of the two items of each pair.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            Columns: right preferred, tie, left preferred. Swapping the two items
            reverses a row exactly.
        """
        check_is_fitted(self, "n_pairs_")
        left = check_scores(left_scores)
        return self._proba(left, check_scores(right_scores, left.shape[0]))

    @abstractmethod
    def _fit(self, items: ScoredItems) -> None:
        """Fit on labelled items, sorted by score within each query."""

    @abstractmethod
    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return probabilities for checked arrays."""


class DifferenceModel(TieModel):
    """A tie model of the score difference ``d`` alone.

    With growing ``|d|`` a tie grows less probable and the order of the scores more
    so. The conditional risk then rises up to one point and falls from there, so that
    the pairs below any risk are those with ``|d|`` below one cut or above another.
    A subclass fits by ``_fit_outcomes``, which serves labelled queries and labelled
    pairs alike.
    """

    def fit_pairs(
        self, left_scores: ArrayLike, right_scores: ArrayLike, label: ArrayLike
    ) -> Self:
        """Fit on labelled pairs.

        Parameters
        ----------
        left_scores, right_scores : array-like of shape (n_pairs,)
            Scores of the two items of each pair, higher is better.
        label : array-like of shape (n_pairs,)
            +1 left preferred, 0 tie, -1 right preferred.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If there is no pair, lengths differ, a score is not finite, or a label
            is another than -1, 0 and +1.
        """
        left = check_scores(left_scores)
        right = check_scores(right_scores, left.shape[0])
        labels = check_vector(label, "label", left.shape[0], unit="pair")
        if labels.size == 0:
            raise ValueError("label must have at least one pair, got none.")
        unknown = ~np.isin(labels, (-1, 0, 1))
        if unknown.any():
            raise ValueError(
                f"label must hold the labels -1, 0 and 1, got {labels[unknown][0]!r}."
            )
        difference = left - right
        outcome = outcomes_of(difference, labels.astype(np.int64))
        pairs = PairOutcomes(np.abs(difference), outcome, np.ones(outcome.size))
        self._fit_outcomes(pairs)
        self.n_pairs_ = int(labels.size)
        return self

    def _fit(self, items: ScoredItems) -> None:
        self._fit_outcomes(PairOutcomes(*items.outcomes))

    def _fit_outcomes(self, pairs: PairOutcomes) -> None:
        """Fit on gaps and outcomes; for subclasses."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _fit_outcomes to be fitted on pairs."
        )

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            difference = left - right
        proba = self.proba_at_gap(np.abs(difference))
        return np.where((difference < 0)[:, None], proba[:, ::-1], proba)

    def log_loss(self, items: ScoredItems) -> float:
        gap, counts = items.counts_by_gap()
        return mean_log_loss(counts, self.proba_at_gap(gap))

    @abstractmethod
    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        """Return probabilities at absolute differences.

        Parameters
        ----------
        gap : ndarray of shape (n,), float64
            Absolute score differences.

        Returns
        -------
        proba : ndarray of shape (n, 3)
            Lower-scored item preferred, tie, higher-scored item preferred.
        """


def mean_log_loss(counts: FloatArray, proba: FloatArray) -> float:
    """Return the mean of minus ln of the probability of what happened.

    Parameters
    ----------
    counts, proba : ndarray of shape (n, 3)
        How often each outcome happened, and its probability.
    """
    happened = counts > 0
    with np.errstate(divide="ignore"):
        total = -np.sum(counts[happened] * np.log(proba[happened]))
    return float(total / counts.sum())
