"""Tie models that know how relevant items of a score are."""

from __future__ import annotations

import warnings
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

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_positive_int,
    check_relevance,
    check_scores,
)
from skrank_abstain.pairs import Queries, ScoredItems, group_queries
from skrank_abstain.tie_models._cells import CellModel
from skrank_abstain.tie_models._ordinal import fit_grades, pair_table

#: Cells that the values are divided into; more change nothing that can be measured.
_N_CELLS = 256
#: Parts of the queries for values from fits without the item's query.
_N_FOLDS = 5
#: Expected grades are kept this far from the lowest and the highest.
_INSIDE = 1e-3


class GradedRelevance(CellModel):
    """A tie model that knows how relevant items of a score are.

    Each item has a distribution over grades of relevance that depends on its score,
    and a pair is tied where both have the same grade. So two low-scored items, both
    of which are probably irrelevant, are more often tied than two middling ones with
    the same difference: no model of the difference alone can say that.

    Parameters
    ----------
    max_grades : int, default=10
        Relevance with more distinct values is divided into so many quantile grades,
        at least 2. Items of one quantile grade are tied as often as they are in the
        calibration data: never, if every item has a relevance of its own.

    Attributes
    ----------
    slope_ : float
        Of the logit of P(grade >= k) in the score, at least 0.
    cut_points_ : ndarray of shape (n_grades - 1,), float64
        Where these logits are zero, times the slope.
    query_spread_ : float
        Standard deviation of what the items of a query share, on the logit scale.
        Too small in queries of more than 20 items, which weigh as 20.
    edges_ : ndarray of shape (n_cells - 1,), float64
        Up to 256 cells of about equally many calibration items.
    table_ : ndarray of shape (n_cells, n_cells, 3), float64
        Probabilities of the labels -1, 0, +1 by the cells of left and right item.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    FeatureAwareRelevance : Looks at the features too.
    BradleyTerry : Knows the difference of the scores alone.

    Notes
    -----
    A proportional-odds model [1]_ with a normal random intercept per query [2]_:

        logit P(grade >= k | query) = slope * score + spread * u - cut_k,  u ~ N(0, 1).

    Given u the items of a query are independent. Averaged over u they are not: in a
    query whose items are all irrelevant everything is tied, and the spread says how
    much of that there is. For ``P(left > right) = sum_{a > b} P_left(a) P_right(b)``
    given u the higher-scored item is never the less probable winner, so that accepted
    orders never form a cycle; for thresholds of at most 1/2 they are a semiorder.

    Fitted by marginal maximum likelihood. A query weighs as 20 items at most, since
    pairs of one query are dependent, and a weak prior keeps slope and spread finite;
    one pair of unknown outcome is added, so that no probability is 0 or 1. Of more
    than 100,000 items, evenly spaced queries are fitted. The fit has a handful of
    parameters, so that the threshold comes from the risks of the calibration pairs
    themselves. O(n log n) for n items.

    References
    ----------
    .. [1] McCullagh (1980). "Regression Models for Ordinal Data". JRSS B 42(2).
    .. [2] Hedeker and Gibbons (1994). "A Random-Effects Ordinal Regression Model for
       Multilevel Analysis". Biometrics 50(4).

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.tie_models import GradedRelevance
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> scores = data.data.sum(axis=1)
    >>> model = GradedRelevance().fit(scores, data.target, data.qid)
    >>> low, middling = model.proba([-5.0, 1.0], [-6.0, 0.0])[:, 1]  # both differ by 1
    >>> bool(low > middling)
    True
    """

    def __init__(self, *, max_grades: int = 10) -> None:
        self.max_grades = max_grades

    def _fit(self, items: ScoredItems) -> None:
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        grades = merge_grades(items.known_grades, max_grades)
        self.edges_, centres = divide(items.scores)
        n_grades = int(grades.max()) + 1
        if n_grades == 1:
            warnings.warn(
                "All items have the same relevance: every pair is expected to be tied.",
                stacklevel=3,
            )
            self.slope_, self.query_spread_ = 0.0, 0.0
            self.cut_points_ = np.empty(0)
            table = np.zeros((centres.size, centres.size, 3))
            table[:, :, 1] = 1.0
        else:
            fit = fit_grades(items.scores[:, None], grades, items.offsets)
            self.slope_, self.query_spread_ = float(fit.slopes[0]), fit.spread
            self.cut_points_ = fit.cuts
            shares = tied_shares(items.known_grades, grades, items.offsets)
            table = pair_table(fit, fit.value(centres[:, None]), shares)
        # One pair more, of any outcome.
        n_pairs = items.n_pairs
        self.table_ = (n_pairs * table + 1 / 3) / (n_pairs + 1)


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
    classifier_ : classifier
        Fitted on all calibration items.
    weights_ : ndarray of shape (2,), float64
        Of the score and of the classifier's expectation in the value, at least 0.
    slope_, cut_points_, query_spread_, edges_, table_, n_pairs_
        As in `GradedRelevance`, of the values.

    See Also
    --------
    GradedRelevance : Needs no features, and is fitted in a moment.

    Notes
    -----
    For the calibration items the classifier's expectation comes from five fits that
    have not seen their query (of a single query: the item): risks, and the threshold
    with them, would be too low otherwise. The value of an item depends on the other
    items of its query, through the ranks. Features must be numbers; put an encoder
    before the selective ranker where they are not. The combination is a
    proportional-odds fit with non-negative weights of the score and of
    ``logit(mean_k P(grade >= k))``.

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

    def __init__(self, classifier: Any = None, *, max_grades: int = 10) -> None:
        self.classifier = classifier
        self.max_grades = max_grades

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
            ``proba`` takes values as ``item_values`` returns them.

        Raises
        ------
        ValueError
            If lengths differ, a score is not finite, features are missing or no
            numbers, or no query has two items.
        """
        scores = check_scores(scores)
        y = check_relevance(y, scores.shape[0])
        queries = group_queries(qid, scores.shape[0])
        values = self.fit_values(scores, y, queries, X)
        return super().fit(values, y, qid)

    def fit_values(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        classifier = self.classifier
        if classifier is None:
            classifier = default_classifier()
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(f"classifier must have predict_proba, got {classifier!r}.")
        design = self._design(scores, queries, X)
        ranks = np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.int64)
        grades = merge_grades(ranks, max_grades)
        self._n_grades = int(grades.max()) + 1
        if self._n_grades == 1:
            self.classifier_, self.weights_ = None, np.array([1.0, 0.0])
            return scores
        unseen = np.empty(scores.size)
        self.classifier_ = _learn(classifier, design, grades)
        # Of a single query the items are divided.
        groups = queries.codes if queries.n_queries > 1 else np.arange(scores.size)
        n_folds = min(_N_FOLDS, int(groups.max()) + 1)
        for rest, part in GroupKFold(n_folds).split(design, groups=groups):
            fitted = _learn(classifier, design[rest], grades[rest])
            unseen[part] = self._expect(fitted, design[part])
        inputs = np.stack([scores, unseen], axis=1)
        order = queries.order
        fit = fit_grades(inputs[order], grades[order], queries.offsets)
        self.weights_ = fit.slopes
        return fit.value(inputs)

    def item_values(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        if self.classifier_ is None:
            return scores
        expected = self._expect(self.classifier_, self._design(scores, queries, X))
        value: FloatArray = (np.stack([scores, expected], axis=1) * self.weights_).sum(
            axis=1
        )
        return value

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
        with np.errstate(over="ignore"):
            sums = np.bincount(queries.codes, scores, queries.n_queries)
        mean = (sums / queries.sizes)[queries.codes]
        columns = np.column_stack([features, scores])
        ranks = np.empty_like(columns)
        for query in range(queries.n_queries):
            rows = queries.rows(query)
            ranks[rows] = (_rank(columns[rows]) - 0.5) / rows.size
        return np.column_stack([columns, ranks, mean])

    def _expect(self, classifier: Any, design: FloatArray) -> FloatArray:
        """Return the logit of the expected grade as a share of the highest."""
        if design.shape[0] == 0:
            return np.empty(0)
        proba = np.zeros((design.shape[0], self._n_grades))
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


def _not_numeric(X: Any) -> str:
    """Name the columns of a pandas frame that hold no numbers."""
    try:
        names = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    except (AttributeError, TypeError):
        return ""
    return f", which the columns {names} do not" if names else ""


def _learn(template: Any, design: FloatArray, grades: IntArray) -> Any:
    """Fit a classifier on grades, of which a part of the queries may have one only."""
    if np.ptp(grades) == 0:
        return DummyClassifier().fit(design, grades)
    # scikit-learn's boosted trees stumble over a column without a number.
    empty = np.isnan(design).all(axis=0)
    # On busy cores OpenMP's threads wait for each other: 0.3 s can become a minute.
    with threadpool_limits(limits=1, user_api="openmp"):
        return clone(template).fit(np.where(empty, 0.0, design), grades)


def merge_grades(grades: IntArray, max_grades: int) -> IntArray:
    """Divide many grades into quantile grades, from 0 without gaps."""
    counts = np.bincount(grades)
    if counts.size <= max_grades:
        return grades
    # The middle of each grade in the running share decides.
    middle = (np.cumsum(counts) - counts / 2) / grades.size
    merged = np.minimum((middle * max_grades).astype(np.int64), max_grades - 1)
    return np.unique(merged[grades], return_inverse=True)[1].reshape(-1)


def tied_shares(fine: IntArray, grades: IntArray, offsets: IntArray) -> FloatArray:
    """Return which share of the pairs of one grade are truly tied.

    Parameters
    ----------
    fine : ndarray of shape (n_items,), int64
        Ranks of relevance.
    grades : ndarray of shape (n_items,), int64
        What these were merged into.
    offsets : ndarray of shape (n_queries + 1,), int64

    Returns
    -------
    shares : ndarray of shape (n_grades,), float64
        1 for a grade without pairs.
    """
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))

    def pairs_by_grade(kind: IntArray) -> FloatArray:
        key = query * (int(kind.max()) + 1) + kind
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        pairs = counts * (counts - 1.0) / 2
        totals = np.bincount(grades[first], pairs, int(grades.max()) + 1)
        return totals.astype(np.float64)

    tied, same = pairs_by_grade(fine), pairs_by_grade(grades)
    return np.divide(tied, same, out=np.ones_like(same), where=same > 0)


def divide(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide values into cells of about equally many.

    Parameters
    ----------
    values : ndarray of shape (n,), float64

    Returns
    -------
    edges : ndarray of shape (n_cells - 1,), float64
        Between two values each; equal values are never divided.
    centres : ndarray of shape (n_cells,), float64
        Mean of the values of each cell.
    """
    levels, counts = np.unique(values, return_counts=True)
    passed = np.cumsum(counts)
    wanted = values.size * np.arange(1, _N_CELLS) / _N_CELLS
    last = np.unique(np.searchsorted(passed, wanted))
    last = last[last < levels.size - 1]
    if levels.size <= _N_CELLS:
        last = np.arange(levels.size - 1)
    low, high = levels[last], levels[last + 1]
    middle = low / 2 + high / 2
    edges = np.where(middle > low, np.minimum(middle, high), high)
    cell = np.searchsorted(edges, levels, side="right")
    share = counts / np.bincount(cell, counts)[cell]
    return edges, np.bincount(cell, share * levels).astype(np.float64)


def _rank(columns: FloatArray) -> FloatArray:
    """Rank each column from 1, equal values alike; NaN stays."""
    policy = "omit" if np.isnan(columns).any() else "propagate"
    return np.asarray(rankdata(columns, axis=0, nan_policy=policy))
