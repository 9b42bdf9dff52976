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
)
from skrank_abstain.pairs import Queries, group_queries


class TieModel(BaseEstimator, ABC):
    """Probabilities of the three outcomes of a pair from the scores of its items."""

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
        scores = check_scores(scores)
        relevance = check_relevance(y, scores.shape[0])
        queries = group_queries(qid, scores.shape[0])
        if queries.n_pairs == 0:
            raise ValueError(
                "qid must give at least one query with two items, got "
                f"{queries.n_queries} queries with n_samples={queries.n_items} items."
            )
        self._fit(scores, relevance, queries)
        self.n_pairs_ = queries.n_pairs
        return self

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
    def _fit(self, scores: FloatArray, y: FloatArray, queries: Queries) -> None:
        """Fit on checked arrays."""

    @abstractmethod
    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return probabilities for checked arrays."""


class DifferenceModel(TieModel):
    """A tie model of the score difference ``d`` alone.

    With growing ``|d|`` a tie grows less probable and the order of the scores more
    so. The conditional risk then rises up to one point and falls from there, so that
    the pairs below any risk are those with ``|d|`` below one cut or above another.
    """

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        difference = left - right
        proba = self.proba_at_distance(np.abs(difference))
        return np.where((difference < 0)[:, None], proba[:, ::-1], proba)

    @abstractmethod
    def proba_at_distance(self, distance: FloatArray) -> FloatArray:
        """Return probabilities at absolute differences.

        Parameters
        ----------
        distance : ndarray of shape (n,), float64
            Absolute score differences.

        Returns
        -------
        proba : ndarray of shape (n, 3)
            Lower-scored item preferred, tie, higher-scored item preferred.
        """
