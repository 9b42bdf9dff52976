"""Base class of the multilabel rankers, and the linear one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank_abstain._saving import Saved
from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_columns,
    check_positive_int,
    check_real,
    check_row_order,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.multilabel._losses import (
    check_label_matrix,
    label_ranks,
    misordered_share,
    rank_labels,
)


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

    #: Checks the columns of X, and that there are samples.
    _check_features = check_columns

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
            expected = [
                p @ np.asarray(c, dtype=np.float64)
                for p, c in zip(proba, classes, strict=True)
            ]
            scores = np.stack(expected, axis=1)
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


def pairwise_logistic_objective(
    params: FloatArray, X: Any, relevance: FloatArray, alpha: float
) -> tuple[float, FloatArray]:
    """Return the objective of `LinearMultilabelRanker` and its gradient.

    Lower is better; convex in ``params``.

    Parameters
    ----------
    params : ndarray of shape (n_labels * (n_features + fit_intercept),), float64
        Coefficients label by label, each followed by its intercept, if there is one.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    relevance : ndarray of shape (n_samples, n_labels), float64
    alpha : float
    fit_intercept : bool

    Returns
    -------
    value : float
    gradient : ndarray of the shape of ``params``
    """
    from skrank_abstain.multilabel._kernels import logistic_over_label_pairs

    n_samples, n_features = X.shape
    weights = params.reshape(relevance.shape[1], -1)
    coef, intercept = weights[:, :n_features], weights[:, n_features:]
    scores = X @ coef.T + intercept.sum(axis=1)
    slopes = np.empty(relevance.shape)
    total = logistic_over_label_pairs(np.ascontiguousarray(scores), relevance, slopes)
    gradient = np.empty_like(weights)
    gradient[:, :n_features] = (X.T @ slopes).T / n_samples + alpha * coef
    gradient[:, n_features:] = slopes.sum(axis=0)[:, None] / n_samples
    # Intercepts are not penalised: the popularity of a label does not depend on the
    # unit of the features.
    penalty = 0.5 * alpha * float(np.sum(coef**2))
    return total / n_samples + penalty, gradient.ravel()


class LinearMultilabelRanker(MultilabelRanker):
    """Rank the labels of a sample by linear scores, learned from pairs of labels.

    Each label has a linear score ``x @ coef_[i] + intercept_[i]``. They are learned
    together: what is minimised is the logistic loss of score differences over the pairs
    of labels of a sample that differ in relevance, averaged first over these pairs and
    then over samples, plus an L2 penalty.

    Parameters
    ----------
    alpha : float, default=0.001
        Strength of the penalty ``alpha / 2 * ||coef_||^2``, not negative. Intercepts
        are not penalised. Standardise the features.
    fit_intercept : bool, default=True
        Whether labels have intercepts, which say how popular they are.
    max_iter : int, default=1000
        Most iterations of L-BFGS.
    tol : float, default=1e-6
        Training ends where no derivative exceeds this, or where the objective no longer
        falls.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Only differences between labels matter: with a penalty, columns sum to zero.
    intercept_ : ndarray of shape (n_labels,)
        They sum to zero.
    n_iter_ : int
        Iterations of the optimiser.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    ThresholdDecompositionRanker : Any probabilistic classifier in place of the lines.

    Notes
    -----
    A convex stand-in for the share of misordered label pairs, scikit-learn's
    ``label_ranking_loss``, which `score` reports. The reduction to pairs of labels is
    that of [1]_. As every convex loss of score differences it is not consistent for
    that share [2]_: with enough data and no restriction to lines, ordering labels by
    probabilities may do better. Linear rankers can be learned for this loss in the
    sense of [3]_.

    A sample whose labels are all equally relevant adds nothing. Each step takes
    O(n_samples * n_labels * (n_features + n_labels)) time and, beyond X,
    O(n_labels * (n_samples + n_features)) memory; X may be sparse.

    References
    ----------
    .. [1] Elisseeff and Weston (2001). "A kernel method for multi-labelled
       classification". NeurIPS 14.
    .. [2] Gao and Zhou (2013). "On the consistency of multi-label learning".
       Artificial Intelligence 199-200.
    .. [3] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel
       Ranking". NeurIPS 36.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.multilabel import LinearMultilabelRanker
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    >>> ranker = LinearMultilabelRanker().fit(X, y)
    >>> ranker.predict_ranks([[-1.5], [1.5]])
    array([[1, 2, 3],
           [2, 1, 3]])
    """

    def __init__(
        self,
        *,
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the scores of the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better: 0/1, grades, or real numbers, of which only
            the order within a sample matters.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the optimiser stopped early.
        """
        for name in ("alpha", "tol"):
            check_real(getattr(self, name), name, 0, np.inf, include_high=False)
        check_positive_int(self.max_iter, "max_iter")
        X, relevance = self._check_fit(X, y)
        n_columns = X.shape[1] + bool(self.fit_intercept)
        # From zero: the slopes of the two labels of a pair are opposite, so that every
        # gradient, and with it every iterate, sums to zero over labels. The loss itself
        # depends on differences alone and does not fix these sums.
        result = minimize(
            pairwise_logistic_objective,
            np.zeros(self.n_labels_ * n_columns),
            args=(X, relevance, float(self.alpha)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0},
        )
        # 1: out of iterations. 2, a line search that finds no lower value, is not a
        # failure: floats come no closer.
        if result.status == 1:
            warn_user(
                f"L-BFGS stopped after max_iter={self.max_iter} iterations before the "
                f"derivatives fell to tol={self.tol:g}. Increase max_iter, standardise "
                "the features or raise alpha.",
                ConvergenceWarning,
            )
        weights = result.x.reshape(self.n_labels_, n_columns)
        self.coef_ = weights[:, : X.shape[1]].copy()
        # The sum over one column, or over none.
        self.intercept_ = weights[:, X.shape[1] :].sum(axis=1)
        # No iteration is needed if no two labels differ in relevance, but scikit-learn
        # asks for at least one.
        self.n_iter_ = max(int(result.nit), 1)
        return self

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64
        )

    def _scores(self, X: Any) -> FloatArray:
        scores: FloatArray = X @ self.coef_.T + self.intercept_
        return scores
