"""Base class of the multilabel rankers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._saving import Saved
from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_columns,
    check_row_order,
)
from skrank_abstain.multilabel._losses import check_label_matrix, label_ranks
from skrank_abstain.multilabel._ranked_labels import misordered_share, rank_labels


class MultilabelRanker(Saved, BaseEstimator):
    """Base of estimators that rank the labels of each sample.

    A subclass supplies ``fit`` and ``_scores``. Nothing here is a classifier: relevance
    may be graded, and what is predicted is an order. X is left as it is, for wrapped
    estimators to read; a subclass that reads X itself overrides ``_check_features``.
    """

    n_labels_: int

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of checked samples, shape (n_samples, n_labels)."""

    def _check_fit(
        self, X: Any, y: Any, *, reset: bool = True
    ) -> tuple[Any, FloatArray]:
        """Check training data; store its numbers of features and labels.

        Without ``reset``, compare them with the stored ones.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        check_row_order(X, y=y)
        X = self._check_features(X, reset=reset)
        n_labels = None if reset else self.n_labels_
        relevance = check_label_matrix(y, "y", (X.shape[0], n_labels))
        self.n_labels_ = relevance.shape[1]
        return X, relevance

    def _check_samples(self, X: Any) -> Any:
        check_is_fitted(self, "n_labels_")
        return self._check_features(X, reset=False)

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        """Check the columns of X, and that there are samples."""
        return check_columns(self, X, reset=reset)

    def decision_function(self, X: Any) -> FloatArray:
        """Return a score of each label of each sample.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels), float64
            Higher is better.
        """
        return self._scores(self._check_samples(X))

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of ``decision_function``.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels), float64
            Higher is better, like ``y``: scikit-learn's ranking metrics may be given
            either. Ranks, of which 1 is the best, come from ``predict_ranks``.
        """
        # Not the ranks: a scorer that calls predict would silently take the last label
        # for the best.
        return self.decision_function(X)

    def predict_ranks(self, X: Any) -> IntArray:
        """Return the rank of each label of each sample.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ranks : ndarray of shape (n_samples, n_labels), int64
            1 is the best; each row is a permutation. Of labels of equal score the one
            of smaller index comes first.
        """
        return label_ranks(self.decision_function(X))

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the mean share of label pairs in the right order.

        Higher is better, in [0, 1].

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        share : float
            Of the pairs of labels of different relevance, averaged over samples;
            equal scores count half, and a sample whose labels are all equally relevant
            counts 1. For 0/1 relevance and distinct scores one minus scikit-learn's
            ``label_ranking_loss``.
        """
        scores, relevance = self._labelled(X, y)
        # Each sample counts alike, as in scikit-learn's label_ranking_loss.
        ranked = rank_labels(relevance, scores, average=True)
        return float(1.0 - misordered_share(ranked).mean())

    def _labelled(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        """Return scores and relevance of labelled samples."""
        check_row_order(X, y=y)
        scores = np.ascontiguousarray(self.decision_function(X))
        return scores, check_label_matrix(y, "y", scores.shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        # y has one column per label; a single column has no order to predict.
        tags.target_tags.two_d_labels = True
        tags.input_tags.sparse = True
        return tags


def label_scores(estimator: Any, X: Any, n_labels: int) -> FloatArray:
    """Return a score of each label of each sample.

    They come from ``decision_function`` if the fitted estimator has one, otherwise from
    ``predict_proba`` (one matrix of probabilities, or a list with a matrix of class
    probabilities for each label, of which the expected class is taken), otherwise from
    ``predict``.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    elif hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            # After partial_fit, only the parts of a MultiOutputClassifier have them.
            classes = getattr(estimator, "classes_", None) or [
                part.classes_ for part in estimator.estimators_
            ]
            # The expected class: P(1) for 0/1 labels, and 0 for a label that was never
            # relevant, whose only class is 0.
            scores = np.stack(
                [
                    p @ np.asarray(c, dtype=np.float64)
                    for p, c in zip(proba, classes, strict=True)
                ],
                axis=1,
            )
        else:
            scores = np.asarray(proba)
            if n_labels == 1 and scores.ndim == 2 and scores.shape[1] > 1:
                # A single label has one column per class.
                scores = scores @ np.asarray(estimator.classes_, dtype=np.float64)
    else:
        scores = np.asarray(estimator.predict(X))
    if scores.ndim == 1 and n_labels == 1:
        scores = scores[:, None]
    return check_label_matrix(scores, "the estimator's scores", (None, n_labels))
