"""A tie model that looks at the features of the items."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length
from threadpoolctl import threadpool_limits

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import FloatArray, IntArray, shown
from skrank_abstain.pairs import Queries, ScoredItems
from skrank_abstain.tie_models._graded_relevance import (
    GradedRelevance,
    combine,
    query_means,
    weigh,
)
from skrank_abstain.tie_models._tie_model import check_labelled

#: How often the queries are divided into halves.
_N_DIVISIONS = 12
#: Expected grades are kept this far from the lowest and the highest.
_INSIDE = 1e-3


class FeatureAwareRelevance(GradedRelevance):
    """`GradedRelevance` of a value that combines the score with the features.

    A classifier predicts the grade of an item from its features, their ranks within
    the query, the score and the query's mean score. What it expects and the score are
    combined into one value per item, and pairs are judged by these values.

    Parameters
    ----------
    classifier : classifier or None, default=None
        Any scikit-learn classifier with ``predict_proba``; a clone is fitted. By
        default small gradient-boosted trees, which take missing values.
    max_grades : int, default=10
        As in `GradedRelevance`.

    Attributes
    ----------
    classifiers_ : list of classifier
        Twelve, each fitted on half of the queries; none where all items have the same
        relevance, or the features say too little about it: the model is that of the
        score alone then.
    weights_ : ndarray of shape (2,), float64
        Of the score and of the classifier's expectation in the value, at least 0.
    slope_, cut_points_, query_spread_, edges_, table_, n_pairs_
        As in `GradedRelevance`, of the values.

    See Also
    --------
    GradedRelevance : Needs no features, and is fitted in a moment.

    Notes
    -----
    Twelve times the queries (of a single query: the items) are divided into halves, at
    random but the same every time, and a classifier is fitted on each half. For a
    calibration item the expectation is the mean of the twelve that have not seen its
    query: risks, and the threshold with them, would be too low otherwise. For a new
    item it is the mean of twelve too, one of each division, although all twenty-four
    are known. A mean of twenty-four would vary less from item to item than the
    calibration values did, so that gaps between new items would be narrower, and the
    threshold, set on the wider ones, would abstain on too many pairs. The value of an
    item depends on the other items of its query, through the ranks. Features must be
    numbers; put an encoder before the selective ranker where they are not. The
    combination is a proportional-odds fit with non-negative weights of the score and of
    ``logit(mean_k P(grade >= k))``. Where what the latter adds to the log-likelihood,
    less one for the parameter, does not exceed its standard error over queries, the
    score alone is taken: with few queries that is the better model.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.tie_models import FeatureAwareRelevance
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> aware = FeatureAwareRelevance(LogisticRegression())
    >>> ranker = BALToR(Ridge(), tie_model=aware, random_state=0)
    >>> ranker.fit(data.data, data.target, qid=data.qid).tie_model_.weights_.shape
    (2,)
    """

    _fitted_state: tuple[str, ...] = ("classifiers_", "_n_grades")

    def __init__(self, classifier: Any = None, *, max_grades: int = 10) -> None:
        self.classifier = classifier
        self.max_grades = max_grades

    @all_or_nothing
    def fit(
        self, scores: ArrayLike, y: ArrayLike, qid: Any = None, X: Any = None
    ) -> Self:
        """Fit on the pairs of labelled queries.

        Parameters
        ----------
        scores : array-like of shape (n_items,)
            A ranker's scores, higher is better.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar means one query.
        X : array-like of shape (n_items, n_features)
            Features, numbers or NaN.

        Returns
        -------
        self : object
            For probabilities, which depend on the whole query, ask ``pair_proba`` of a
            ranker.

        Raises
        ------
        ValueError
            If lengths differ, a score is not finite, features are missing or no
            numbers, or no query has two items.
        """
        labelled = check_labelled(scores, y, qid)
        values = self.checked_fit_transform(*labelled, X)
        return self.fit_items(ScoredItems.build(values, labelled[2], labelled[1]))

    def fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        classifier = self.classifier
        if classifier is None:
            classifier = default_classifier()
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(
                f"classifier must have predict_proba, got {shown(classifier)}."
            )
        design = self._design(scores, queries, X)
        grades = self._grades(y)
        self._n_grades = int(grades.max()) + 1
        self.classifiers_ = []
        if self._n_grades == 1:
            self.weights_ = np.array([1.0, 0.0])
            return scores
        unseen = np.zeros(scores.size)
        # Of a single query the items are divided.
        groups = queries.codes if queries.n_queries > 1 else np.arange(scores.size)
        with one_thread():
            for division in range(_N_DIVISIONS):
                halves = GroupKFold(2, shuffle=True, random_state=division)
                both = []
                for seen, other in halves.split(design, groups=groups):
                    both.append(_learn(classifier, design[seen], grades[seen]))
                    unseen[other] += self._expect(both[-1], design[other])
                # One classifier of each division: twelve, as many as judge a
                # calibration item. The halves take turns, since with an odd number of
                # queries one of the two is larger.
                self.classifiers_.append(both[division % 2])
        expected = unseen / _N_DIVISIONS
        self.weights_ = weigh(scores, expected, grades, queries)
        if not self.weights_[1]:
            # Pairs are told apart by the score, as `GradedRelevance` does.
            self.classifiers_ = []
            return scores
        return combine(scores, expected, self.weights_)

    def transform(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        if not self.classifiers_:
            return scores
        design = self._design(scores, queries, X)
        with one_thread():
            every = [self._expect(fitted, design) for fitted in self.classifiers_]
        return combine(scores, np.mean(every, axis=0), self.weights_)

    def _design(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        """Return what the classifier sees, shape (n_items, 2 * n_features + 3)."""
        if X is None:
            raise ValueError(
                f"X must be given to {type(self).__name__}, which looks at the "
                "features, got None."
            )
        try:
            features = check_array(
                X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=0
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"X must be a dense array or frame of numbers for "
                f"{type(self).__name__}{_not_numeric(X)}: put an encoder before the "
                f"selective ranker, or use GradedRelevance. {error}"
            ) from error
        check_consistent_length(features, scores)
        mean = query_means(scores, queries)
        columns = np.column_stack([features, scores])
        ranks = np.empty_like(columns)
        for query in range(queries.n_queries):
            rows = queries.rows(query)
            # As shares of the query, which mean the same in queries of all sizes.
            ranks[rows] = (_rank(columns[rows]) - 0.5) / rows.size
        return np.column_stack([columns, ranks, mean])

    def _expect(self, classifier: Any, design: FloatArray) -> FloatArray:
        """Return the logit of the expected grade as a share of the highest."""
        if design.shape[0] == 0:
            return np.empty(0)
        proba = np.zeros((design.shape[0], self._n_grades))
        # One half of the queries may lack a grade: its probability stays 0.
        proba[:, classifier.classes_] = classifier.predict_proba(design)
        share = (proba * np.arange(self._n_grades)).sum(axis=1) / (self._n_grades - 1)
        expected: FloatArray = logit(np.clip(share, _INSIDE, 1 - _INSIDE))
        return expected


def default_classifier() -> HistGradientBoostingClassifier:
    """Return small boosted trees, the same every time."""
    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=60,
        max_leaf_nodes=8,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )


def one_thread() -> Any:
    """Keep OpenMP's threads from waiting for each other on busy cores.

    What takes 0.3 s can take a minute otherwise.
    """
    return threadpool_limits(limits=1, user_api="openmp")


def _not_numeric(X: Any) -> str:
    """Name the columns of a pandas frame that hold no numbers."""
    try:
        names = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    except (AttributeError, TypeError):
        return ""
    return f", which the columns {names} do not" if names else ""


def _learn(template: Any, design: FloatArray, grades: IntArray) -> Any:
    """Fit a classifier on grades; a constant one where all items have one grade."""
    if np.ptp(grades) == 0:
        return DummyClassifier().fit(design, grades)
    # scikit-learn's boosted trees stumble over a column without a number.
    empty = np.isnan(design).all(axis=0)
    return clone(template).fit(np.where(empty, 0.0, design), grades)


def _rank(columns: FloatArray) -> FloatArray:
    """Rank each column from 1, equal values alike; NaN stays."""
    policy = "omit" if np.isnan(columns).any() else "propagate"
    return np.asarray(rankdata(columns, axis=0, nan_policy=policy))
