"""Multilabel rankers: the base class, linear scores, votes of binary classifiers."""

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import gammaln
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Saved, all_or_nothing
from skrank_abstain._validation import (
    MOST_GRADES,
    check_choice,
    check_columns,
    check_given,
    check_positive_int,
    check_real,
    check_row_order,
    listed,
    names_of_columns,
    refuse_lazy,
    select_columns,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.multilabel._losses import (
    TOP_LOSSES,
    check_label_matrix,
    check_label_relevance,
    check_top,
    label_ranks,
    losses_of_known,
    misordered_share,
)
from skrank_abstain.scorers import ScoreColumn, last_step, named_step


class MultilabelRanker(Saved, BaseEstimator):
    """Base of estimators that rank the labels of each sample.

    A subclass supplies ``fit`` and ``_scores``. None of them is a classifier: relevance
    may be graded, and they predict an order. X stays as it is, for wrapped
    estimators to read; a subclass that reads X itself overrides ``_check_features``.
    """

    n_labels_: int
    label_names_: list[Any] | None = None  # older saved rankers have none
    #: Whether ``fit`` needs a known value of each label.
    _learns_each_label = False

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of checked samples, shape (n_samples, n_labels)."""

    def _check_fit(
        self, X: Any, y: Any, *, reset: bool = True
    ) -> tuple[Any, FloatArray]:
        """Check training data; store its numbers of features and labels.

        Without ``reset``, compare them with the stored ones.
        """
        check_given(y, self)
        check_row_order(X, y=y)
        X = self._check_features(X, reset=reset)
        if reset:
            refuse_lazy(y, "y")
            self.label_names_ = names_of_columns(y)
        n_labels = None if reset else self.n_labels_
        relevance = self._relevance(
            y, (X.shape[0], n_labels), every=reset and self._learns_each_label
        )
        self.n_labels_ = relevance.shape[1]
        return X, relevance

    def _relevance(self, y: Any, shape: Any, **rules: bool) -> FloatArray:
        """Return checked relevance with its labels in the order of ``fit``."""
        names = names_of_columns(y)
        if names is not None and self.label_names_ is not None:
            y = _safe_indexing(y, order_of_labels(names, self.label_names_), axis=1)
        # NumPy 2.0 writes no NaN among integers, not even where none is missing.
        if hasattr(y, "iloc") and y.isna().to_numpy().any():
            y = y.to_numpy(na_value=np.nan)
        return check_label_relevance(y, shape, names=self.label_names_, **rules)

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
            1 is the best; each row is a permutation. Labels of equal score stand in
            the order of their indices.
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
            Of the pairs of labels of different known relevance, averaged over samples;
            equal scores count half, and a sample whose labels are all equally relevant
            counts 1. For 0/1 relevance and distinct scores one minus scikit-learn's
            ``label_ranking_loss``.
        """
        scores, relevance = self._labelled(X, y)
        # Each sample counts alike, as in scikit-learn's label_ranking_loss.
        return float(1.0 - losses_of_known(misordered_share, relevance, scores).mean())

    def _labelled(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        """Return scores and relevance of labelled samples."""
        check_row_order(X, y=y)
        scores = np.ascontiguousarray(self.decision_function(X))
        return scores, self._relevance(y, scores.shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        # y has one column per label; a single column has no order to predict.
        tags.target_tags.two_d_labels = True
        tags.input_tags.sparse = True
        return tags


def order_of_labels(given: list[Any], known: list[Any]) -> list[int]:
    """Return the positions of known labels among given ones, which are the same."""
    place = {name: position for position, name in enumerate(given)}
    if len(place) < len(given) or place.keys() != set(known):
        where = "" if given == known else f" where {listed(known)} are known"
        raise ValueError(
            "y must name each label once, and the same labels wherever it is given, "
            f"got {listed(given)}{where}. Rename or select its columns, or pass "
            "y.to_numpy(), which goes by position."
        )
    return [place[name] for name in known]


def label_scores(
    estimator: Any, X: Any, n_labels: int, names: Any = None
) -> FloatArray:
    """Return a score of each label of each sample, in the order of ``names``.

    They come from ``predict_proba`` if the fitted estimator has it (one matrix of
    probabilities, or a list with a matrix of class probabilities for each label, whose
    expected class is the score), otherwise from ``decision_function``, otherwise from
    ``predict`` of an estimator that is not a classifier.
    """
    if not _num_samples(X):  # models refuse X without rows
        return np.empty((0, n_labels))
    model = last_step(estimator)
    if isinstance(model, ScoreColumn):  # a column for each label
        # Scores that are named as the labels are theirs, in any order.
        if names is not None and {*names} == {*(names_of_columns(X) or ())}:
            X = select_columns(X, list(names))
        return check_label_matrix(X, "X of ScoreColumn", (None, n_labels))
    # Probabilities first: they place labels that never, or always, occurred.
    is_constant = any(map(_has_constant, (model, *getattr(model, "estimators_", ()))))
    if hasattr(estimator, "predict_proba"):
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
    elif hasattr(estimator, "decision_function") and not is_constant:
        scores = np.asarray(estimator.decision_function(X))
    elif hasattr(model, "__sklearn_tags__") and is_classifier(model):
        raise TypeError(
            "estimator must have predict_proba, or decision_function and no label that "
            f"never or always occurs in training, got {shown(model)}, whose values do "
            "not place the labels. Use a forest, or CalibratedClassifierCV around its "
            "classifier in OneVsRestClassifier or ThresholdDecompositionRanker."
        )
    else:
        scores = np.asarray(estimator.predict(X))
    known = names_of_labels(estimator)
    if names is not None and known is not None:
        scores = scores[:, order_of_labels(known, names)]
    return check_label_matrix(scores, "the estimator's scores", (None, n_labels))


def names_of_labels(estimator: Any) -> list[Any] | None:
    """Return the labels that a fitted estimator names: its own, or classes in words."""
    model = last_step(estimator)
    classes = getattr(model, "classes_", ())
    words = [str(name) for name in classes if isinstance(name, str)]
    return getattr(model, "label_names_", None) or words or None


def warn_of_another_order(scores: FloatArray, y: FloatArray, names: list[Any]) -> None:
    """Warn if another order of the columns of ``y`` fits the scores far better.

    Rank correlations of each score with each label; the gain of the best assignment is
    beyond chance, at a level of .01 for all orders together, if no score says anything
    (a union bound with the variance of such gains).
    """
    rows, n = ~np.isnan(y).any(axis=1), y.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):  # constant columns
        ranks = rankdata(np.hstack([scores, y])[rows], axis=0)
        found = np.nan_to_num(np.corrcoef(ranks, rowvar=False))
    best = linear_sum_assignment(found[:n, n:], maximize=True)[1]
    moved = np.eye(n)[best] - np.eye(n)
    fits = found[:n, n:]
    gain = float(np.sum(moved * fits))
    # Scores that lie upside down may fit another order by chance, as others do not.
    upside_down = -np.trace(fits) > np.trace(fits) + gain
    variance = np.trace(moved @ found[n:, n:] @ moved.T @ found[:n, :n]) / rows.sum()
    if not upside_down and gain**2 > 2 * variance * (gammaln(n + 1) + np.log(100)):
        warn_user(
            "y must have its columns in the order in which the fitted estimator "
            f"learned them, got {listed(names)}; its scores fit "
            f"{listed(names[k] for k in best)} far better: use the order of training."
        )


def _has_constant(part: Any) -> bool:
    """Return whether a classifier has a constant for a label, not a score."""
    if isinstance(part, RidgeClassifier | RidgeClassifierCV):
        return not np.any(part.coef_, axis=-1).all()
    return type(part).__name__ == "_ConstantPredictor"


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
    return total / n_samples + 0.5 * alpha * float(np.sum(coef**2)), gradient.ravel()


class LinearMultilabelRanker(MultilabelRanker):
    """Rank the labels of a sample by linear scores, learned from pairs of labels.

    Each label has a linear score ``x @ coef_[i] + intercept_[i]``. They are learned
    together: training minimises the logistic loss of score differences over the pairs
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
    label_names_ : list of length n_labels, or None
        Names of the columns of y, where it had any. Later frames are put into this
        order; other names are refused.
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

    _learns_each_label = True

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
            the order within a sample matters. NaN: unknown, its pairs do not count.

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
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=float)

    def _scores(self, X: Any) -> FloatArray:
        return np.asarray(X @ self.coef_.T + self.intercept_)


def top_targets(y: FloatArray, ranks: ArrayLike, ties: str) -> Iterator[FloatArray]:
    """Yield, for each j in ``ranks``, whether labels are among the j most relevant.

    Labels of equal relevance share the places that they compete for ("share": the
    target is the probability of getting one when ties are broken at random), or the
    labels of smaller index get them ("index"). Targets are in [0, 1]; the rows of each,
    of shape (n_samples, n_labels), sum to ``min(j, n_labels)``.
    """
    methods = ("ordinal", "ordinal") if ties == "index" else ("min", "max")
    best, worst = (rankdata(-y, method=by, axis=1) for by in methods)
    for j in np.asarray(ranks):
        # Labels of equal relevance compete for the places `best` to `worst`, and (j + 1
        # - best) of these are among the first j.
        yield np.clip((j + 1.0 - best) / (worst + 1.0 - best), 0.0, 1.0)


def sample_weights(y: FloatArray, ranks: IntArray, ties: str) -> FloatArray | None:
    """Return weights of samples for targets of shared places; None for equal weights.

    The most and the least relevant label of each sample are then as far apart in votes
    as in relevance.
    """
    if ties == "index":
        return None
    # Without weights, a sample counts by the range of its votes. For the first rank
    # alone that is 1 / r with r relevant labels, which is best for recall but not for
    # the sum and precision losses.
    spread = np.ptp(np.asarray(sum(top_targets(y, ranks, ties))), axis=1)
    distance = np.ptp(y, axis=1)
    weight = np.where(spread > 0, distance / np.where(spread > 0, spread, 1.0), 0.0)
    # No weights if all are zero or equal; otherwise of mean one, so that penalties of
    # the base learner keep their meaning.
    varies = np.ptp(weight) > 1e-9 * weight.max(initial=0.0)
    return weight / weight.mean() if varies else None


class ThresholdDecompositionRanker(MetaEstimatorMixin, MultilabelRanker):
    """Rank labels by votes: probabilities of binary problems, added up.

    Each label gets one binary problem per threshold, each problem a clone of
    ``estimator``, and each label its sum of predicted probabilities as a score.

    Parameters
    ----------
    estimator : object
        A probabilistic classifier. With ``thresholds="rank"`` and ties in ``y``, its
        ``fit`` (in a Pipeline, that of the last step) has to take ``sample_weight``.
    p : int, default=None
        Number of top ranks that count, by default all.
    loss : {"sum", "precision"}, default="sum"
        The loss that `score` reports: ranks, cut off after ``p`` and weighted by
        relevance, or the relevance missed by the top ``p``.
    thresholds : {"grade", "rank"}, default="grade"
        The questions of the binary problems. "grade": one problem for each grade but
        the lowest, "is the relevance of the label at least this grade?". "rank": one
        for each j, "is the label among the j most relevant of its sample?". With grades
        ``p`` and ``loss`` do not matter for training; for 0/1 relevance this is binary
        relevance. With ranks j runs up to ``p``; for the precision loss it is ``p``
        only.
    ties : {"share", "index"}, default="share"
        How ``thresholds="rank"`` treats labels of equal relevance. They share the
        places that they compete for, as if ties were broken at random, and samples are
        weighted so that votes are as far apart as relevance; or the labels of smaller
        index come first, as in [1]_.
    n_jobs : int, default=None
        Problems fitted at a time, as in joblib. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of n_thresholds lists of n_labels estimators
        A float in place of an estimator, the predicted probability, if the target is
        the same for all samples.
    thresholds_ : ndarray of shape (n_thresholds,)
        The ranks j, or all grades except the lowest.
    vote_weights_ : ndarray of shape (n_thresholds,), float64
        Votes that a probability of one is worth: 1 for a rank, and for a grade the gap
        to the one below.
    n_labels_ : int
        Number of labels.
    label_names_ : list of length n_labels, or None
        Names of the columns of y, where it had any. Later frames are put into this
        order; other names are refused.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    LinearMultilabelRanker : Fits all labels in one convex problem.
    SelectiveMultilabelRanker : Says which pairs of labels it is not sure of.

    Notes
    -----
    Both losses are linear in relevance, so labels are best ordered by ``E[y_i | x]``,
    whatever ``p`` is. Votes for grades estimate just that. Votes for ranks estimate the
    number of ``j`` up to ``p`` for which the label is among the top ``j``, in general
    another order. With shared ties and weighted samples it is the best one if no sample
    has more than two different relevances, 0/1 included. With ties broken by index it
    is not, however many data there are.

    A shared place is a target between 0 and 1. Such a sample comes twice, as a member
    and as a non-member, weighted by the target and its complement; a base learner that
    holds out rows will find such twins on both sides. Samples whose labels are all
    equally relevant are left out of the problems for shared ranks.

    One classifier is fitted for each label and threshold: for ranks at most
    ``n_labels * (n_labels - 1)``, since all labels are among the ``n_labels`` best; for
    grades at most ``30 * n_labels``, since more than 31 are refused.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel
       Ranking". NeurIPS 36.
    .. [2] Dembczyński, Kotłowski and Hüllermeier (2012). "Consistent Multilabel Ranking
       through Univariate Losses". ICML.
    .. [3] Frank and Hall (2001). "A Simple Approach to Ordinal Classification". ECML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skrank_abstain.multilabel import ThresholdDecompositionRanker
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.array([[2, 0, 1], [1, 0, 0], [0, 2, 1], [0, 2, 0]])
    >>> ranker = ThresholdDecompositionRanker(LogisticRegression()).fit(X, y)
    >>> ranker.thresholds_
    array([1., 2.])
    >>> ranker.predict_ranks([[-1.5], [1.5]])
    array([[1, 3, 2],
           [3, 1, 2]])
    """

    thresholds_: IntArray | FloatArray
    _learns_each_label = True

    def __init__(
        self,
        estimator: Any,
        *,
        p: int | None = None,
        loss: str = "sum",
        thresholds: str = "grade",
        ties: str = "share",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.p = p
        self.loss = loss
        self.thresholds = thresholds
        self.ties = ties
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit a classifier for each label and threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Goes to the classifiers untouched. Where all targets are constant, none is
            fitted, and nothing reads its values.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better: 0/1 or grades; any numbers with
            ``thresholds="rank"``. NaN: unknown, left out; only for grades.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, or ``y`` has more than 31
            grades.
        TypeError
            If the estimator has no ``predict_proba``, or takes no ``sample_weight``
            where samples have weights.
        """
        check_choice(self.loss, "loss", ("sum", "precision"))
        check_choice(self.thresholds, "thresholds", ("grade", "rank"))
        check_choice(self.ties, "ties", ("share", "index"))
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                "estimator must have predict_proba, since votes are probabilities, got "
                f"{shown(self.estimator)}. Wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        X, relevance = self._check_fit(X, y)
        p = check_top(self.p, self.n_labels_, "loss", self.loss)
        targets, weight = self._problems(relevance, p)
        prefix, final = named_step(self.estimator)
        takes = has_fit_parameter(final, "sample_weight")
        weight_name = f"{prefix}sample_weight" if takes else None
        # Targets are made when workers ask for them; all at once they would take
        # n_thresholds times the memory of y.
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_problem)(self.estimator, X, column, weight, weight_name)
            for target in targets
            for column in target.T
        )
        k = self.n_labels_
        self.estimators_ = [fitted[i : i + k] for i in range(0, len(fitted), k)]
        return self

    def _problems(
        self, relevance: FloatArray, p: int
    ) -> tuple[Iterator[FloatArray], FloatArray | None]:
        """Set thresholds and votes; return the targets of each, and weights."""
        if self.thresholds == "grade":
            unknown = np.isnan(relevance)
            grades = np.unique(relevance[~unknown])
            if grades.size > MOST_GRADES:
                raise ValueError(
                    f"y must have at most {MOST_GRADES} different values with "
                    f"thresholds='grade', got {grades.size}. Round it, or use "
                    "thresholds='rank'."
                )
            # sum_k (g_k - g_{k-1}) P(y >= g_k | x) = E[y | x] - g_0, by which labels
            # are best ordered (thresholds as in Frank and Hall 2001).
            self.thresholds_, self.vote_weights_ = grades[1:], np.diff(grades)
            return (np.where(unknown, np.nan, relevance >= g) for g in grades[1:]), None
        # An unknown label may be among the most relevant.
        check_label_matrix(relevance, "y with thresholds='rank'")
        # All labels are among the n_labels best, so there is nothing to learn.
        last = min(p, max(self.n_labels_ - 1, 1))
        # H_i^j for all j <= p, or for j = p alone: learnability of the two families of
        # losses rests on these (Theorems 4.1 and 4.2 of [1]_).
        ranks = np.arange(1 if self.loss == "sum" else last, last + 1)
        self.thresholds_, self.vote_weights_ = ranks, np.ones(ranks.size)
        weight = sample_weights(relevance, ranks, self.ties)
        return top_targets(relevance, ranks, self.ties), weight

    def _scores(self, X: Any) -> FloatArray:
        # Sorting by votes minimises <ranks, votes>: Algorithm 7 of [1]_ in one line.
        votes = np.zeros((X.shape[0], self.n_labels_))
        for weight, row in zip(self.vote_weights_, self.estimators_, strict=True):
            for label, estimator in enumerate(row):
                if isinstance(estimator, float):
                    votes[:, label] += weight * estimator
                else:
                    column = list(estimator.classes_).index(1)
                    votes[:, label] += weight * estimator.predict_proba(X)[:, column]
        return votes

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return one minus the targeted loss, as a share of the largest possible.

        Higher is better, in [0, 1]: 1 where no order has a lower loss, 0 where none has
        a higher one.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        score : float
            ``1 - sum(loss) / sum(loss of the worst order)`` over samples. On the same
            data it orders models as the mean loss does. 1 where no order matters.
            Equal votes are in any order: the loss is its average over these.
        """
        scores, relevance = self._labelled(X, y)
        p = check_top(self.p, self.n_labels_, "loss", self.loss)
        loss = TOP_LOSSES[self.loss]
        got, worst = (
            float(losses_of_known(lambda ranked: loss(ranked, p), relevance, by).sum())
            for by in (scores, -relevance)
        )
        # Relevance that is equal up to rounding has no order to lose.
        rounding = 1e-12 * float(np.nansum(np.abs(relevance)))
        return 1.0 - got / worst if worst > rounding else 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = copy.copy(get_tags(self.estimator).input_tags)
        return tags


def _fit_problem(
    estimator: Any,
    X: Any,
    target: FloatArray,
    weight: FloatArray | None,
    weight_name: str | None,
) -> Any:
    """Fit a clone to one target in [0, 1], or return the target if it is constant.

    Samples whose target is NaN are left out.
    """
    some = ~np.isnan(target) if weight is None else weight > 0
    # Classifiers refuse a single class; the constant target is the best prediction.
    if np.ptp(target[some]) == 0:
        return float(target[some][0])
    inside, outside = (np.flatnonzero(some & part) for part in (target > 0, target < 1))
    # No target is shared: each row comes once, and no sample_weight is needed.
    if weight is None and inside.size + outside.size == some.sum():
        known = X if some.all() else _safe_indexing(X, np.flatnonzero(some))
        return clone(estimator).fit(known, (target[some] > 0).astype(int))
    if weight_name is None:
        raise TypeError(
            "estimator must take sample_weight in fit where labels share ranks or "
            f"samples have weights, got {shown(estimator)}. Use thresholds='grade' or "
            "ties='index', or another estimator."
        )
    share = np.ones(target.size) if weight is None else weight
    # A target t between 0 and 1 is two rows, of weight t and 1 - t: for the log loss
    # that is the same as the target itself.
    rows = np.concatenate([inside, outside])
    belongs = np.repeat([1, 0], [inside.size, outside.size])
    weights = share[rows] * np.where(belongs, target[rows], 1.0 - target[rows])
    twice = _safe_indexing(X, rows)
    return clone(estimator).fit(twice, belongs, **{weight_name: weights})
