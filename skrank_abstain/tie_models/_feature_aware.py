"""A tie model that looks at the features of the items."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from threadpoolctl import threadpool_limits

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import check_numbers, shown
from skrank_abstain.pairs import Queries, Scores, spread_queries, spread_rows, thin
from skrank_abstain.scorers import query_context
from skrank_abstain.tie_models._graded_relevance import (
    MOST_ITEMS,
    GradedRelevance,
    fit_grades,
)

#: How often the queries are divided into halves.
_N_DIVISIONS = 12
#: Expected grades are kept this far from the lowest and the highest.
_INSIDE = 1e-3
#: The features must add this much to the log-likelihood. One parameter costs 1, but
#: this one weighs a learned value: at a price of 1, 6 queries accepted features that
#: did harm.
_PRICE = 2.0
#: Regressors learn from about this many items, and predict this many at a time.
_MOST_ITEMS = _PIECE = 20_000


class FeatureAwareRelevance(GradedRelevance):
    """`GradedRelevance` of a value that combines the score with the features.

    A regressor predicts the grade of an item from its features, their ranks within
    the query, the score and the query's mean score. The prediction and the score are
    combined into one value per item, and pairs are judged by these values.

    Parameters
    ----------
    regressor : regressor or None, default=None
        Any scikit-learn regressor; clones are fitted on an array of the features,
        their ranks, the score and its mean over the query. By default a few extremely
        randomised trees, which accept missing values; other regressors may need an
        imputer.
    max_grades : int, default=10
        As in `GradedRelevance`.

    Attributes
    ----------
    regressors_ : list of regressor
        Twelve, each fitted on half of the queries. Empty if all items have the same
        relevance or the features add too little: the value is then the score.
    weights_ : ndarray of shape (2,), float64
        Weights of the score and of the expected grade in the value, at least 0.
    slope_, cut_points_, query_spread_, edges_, table_, n_pairs_
        As in `GradedRelevance`, with values in place of scores.

    See Also
    --------
    GradedRelevance : Needs no features, and is fitted in a moment.

    Notes
    -----
    The queries (or, of a single query, the items) are divided into halves twelve times,
    with fixed random seeds, and a regressor is fitted on each half. A calibration item
    is judged by the mean of the twelve regressors that did not see its query: otherwise
    risks, and so the threshold, would be too low. A new item is judged by twelve, too,
    one of each division. The mean of all twenty-four would vary less from item to item
    than the calibration values do: gaps between new items would be narrower, and the
    threshold, set on the wider ones, would abstain on too many pairs. By default the
    twelve are a forest of 36 extremely randomised trees [1]_, which try a third of
    the columns at each split. With more than 20,000 items the regressors learn from
    evenly spaced queries.

    Through the ranks the value of an item depends on the other items of its query.
    Features must be numbers; otherwise put an encoder before the selective ranker. The
    two are combined by a proportional-odds fit with non-negative weights of the score
    and of the logit of the expected grade, as a share of the highest. The features are
    used if they add more to the log-likelihood than two and than the standard error of
    the gain over queries; with few queries the score alone is the better model.
    O(n log n) for n items and each feature, besides the regressor.

    References
    ----------
    .. [1] Geurts, Ernst and Wehenkel (2006). "Extremely Randomized Trees". Machine
       Learning 63(1).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), tie_model="feature_aware_relevance", random_state=0)
    >>> ranker.fit(data.data, data.target, qid=data.qid).tie_model_.weights_.shape
    (2,)
    """

    regressors_: list[Any]

    def __init__(self, regressor: Any = None, *, max_grades: int = 10) -> None:
        self.regressor = regressor
        self.max_grades = max_grades

    def fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        if self.regressor is not None and not (
            isinstance(self.regressor, BaseEstimator) and is_regressor(self.regressor)
        ):
            raise TypeError(
                "regressor must be None or an instance of a scikit-learn regressor, "
                f"got {shown(self.regressor)}."
            )
        _check_given(X, scores)
        _, ranks, counts = np.unique(y, return_inverse=True, return_counts=True)
        grades = self.merged_grades(counts)[ranks.reshape(-1)]
        self.regressors_, self.weights_ = [], np.array([1.0, 0.0])
        if not grades.any():
            return scores
        expected = self._learn(scores, grades, queries, X)
        self.weights_ = _weigh(scores, expected, grades, queries)
        if not self.weights_[1]:
            self.regressors_ = []
            return scores
        return self._combined(scores, expected)

    def transform(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        if not self.regressors_:
            return scores
        _check_given(X, scores)
        return self._combined(scores, self._expected(scores, queries, X))

    def proba(self, left_scores: ArrayLike, right_scores: ArrayLike) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1, if scores are enough.

        Parameters
        ----------
        left_scores, right_scores : array-like of shape (n_pairs,)
            Scores of the two items of each pair.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            As in `GradedRelevance`.

        Raises
        ------
        ValueError
            If a score is not finite, or the model uses the features (``weights_[1]``
            is not 0).
        """
        check_is_fitted(self, "n_pairs_")
        if self.weights_[1]:
            raise ValueError(
                f"{type(self).__name__} compares values that depend on the features, "
                f"got weights_={self.weights_.tolist()}: two scores are not enough for "
                "proba. Call pair_proba of the ranker."
            )
        return super().proba(left_scores, right_scores)

    def _learn(
        self, scores: FloatArray, grades: IntArray, queries: Queries, X: Any
    ) -> FloatArray:
        """Fit the regressors; return the out-of-fold logit of each expected grade."""
        items = Scores(scores, queries).ascending
        is_learned = np.zeros(scores.size, dtype=bool)
        is_learned[items.rows[thin(items.offsets, _MOST_ITEMS)]] = True
        pieces = over_designs(np.asarray, scores, queries, X, is_learned)
        rows, design = map(np.concatenate, zip(*pieces, strict=True))
        target = grades[rows] / grades.max()
        # A single query is divided by its items.
        groups = queries.codes[rows] if queries.n_queries > 1 else rows
        unseen = np.zeros(rows.size)
        # A fit of 0.3 s could take a minute where OpenMP's threads wait for busy cores.
        with threadpool_limits(limits=1, user_api="openmp"):
            for division in range(_N_DIVISIONS):
                halves = GroupKFold(2, shuffle=True, random_state=division)
                both = []
                for seen, other in halves.split(design, groups=groups):
                    # Some regressors refuse columns without a number.
                    empty = np.isnan(design[seen]).all(axis=0)
                    filled = np.where(empty, 0.0, design[seen])
                    both.append(self._learner(division).fit(filled, target[seen]))
                    unseen[other] += both[-1].predict(design[other])
                # The halves take turns: with an odd number of queries one is larger.
                self.regressors_.append(both[division % 2])
        expected = np.empty(scores.size)
        if not is_learned.all():
            # The regressors never saw the left-out items.
            expected = self._expected(scores, queries, X)
        expected[rows] = _as_logit(unseen / _N_DIVISIONS)
        return check_numbers(expected, "what regressor predicts", scores.size)

    def _learner(self, division: int) -> Any:
        if self.regressor is not None:
            return clone(self.regressor)
        # A third of the columns, Breiman's default for regression (Random Forests,
        # 2001), takes half the time of all columns.
        return ExtraTreesRegressor(
            3, min_samples_leaf=10, max_features=1 / 3, random_state=division
        )

    def _expected(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        """Return the logit of the expected grade of new items, shape (n_items,)."""
        expected = np.empty(scores.size)
        every = np.ones(scores.size, dtype=bool)
        # No method: to rows that lie elsewhere the task travels before the fit ends.
        task = partial(_predicted, self.regressors_)
        for rows, found in over_designs(task, scores, queries, X, every):
            expected[rows] = found
        return expected

    def _combined(self, scores: FloatArray, expected: FloatArray) -> FloatArray:
        # No matrix product: its last bits depend on the number of threads.
        return np.asarray(scores * self.weights_[0] + expected * self.weights_[1])


def _weigh(
    scores: FloatArray, expected: FloatArray, grades: IntArray, queries: Queries
) -> FloatArray:
    """Return the weights of the score and of the expected grade in an item's value.

    They are at least 0, and [1, 0] unless the second weight adds more to the
    log-likelihood than its price [1]_ and the standard error of the gain over queries.

    References
    ----------
    .. [1] Akaike (1974). "A New Look at the Statistical Model Identification". IEEE
       Transactions on Automatic Control 19(6). (A price of 1.)
    """
    used, n_items = spread_queries(queries.sizes, MOST_ITEMS)
    rows = np.concatenate([queries.rows(query) for query in used.tolist()])
    # Sorted by everything that matters: the order of the rows must not change the last
    # bits of the fit.
    keys = grades[rows], expected[rows], scores[rows], queries.codes[rows]
    offsets = np.append(0, np.cumsum(queries.sizes[used]))
    rows = rows[np.lexsort(keys)][spread_rows(offsets, np.arange(used.size), n_items)]
    known = np.unique(grades[rows], return_inverse=True)[1].reshape(-1)
    if not known.any():
        return np.array([1.0, 0.0])
    inputs = np.stack([scores[rows], expected[rows]], axis=1)
    data = np.arange(rows.size), known, np.append(0, np.cumsum(n_items))
    alone, both = fit_grades(inputs[:, :1], *data), fit_grades(inputs, *data)
    gain = both.log_likelihood - alone.log_likelihood
    # A single query says nothing about queries.
    error = gain.std(ddof=1) * np.sqrt(gain.size) if gain.size > 1 else 0.0
    return both.slopes if gain.sum() - _PRICE > error else np.array([1.0, 0.0])


def _check_given(X: Any, scores: FloatArray) -> None:
    if X is None:
        raise ValueError(
            "X must be given to FeatureAwareRelevance, which looks at the features, "
            "got None."
        )
    check_consistent_length(X, scores)


def _predicted(regressors: list[Any], design: FloatArray) -> FloatArray:
    """Return the logit of the mean prediction of each row."""
    with threadpool_limits(limits=1, user_api="openmp"):
        of_each = [fitted.predict(design) for fitted in regressors]
    return _as_logit(np.mean(of_each, axis=0))


def over_designs(
    task: Callable[[FloatArray], FloatArray],
    scores: FloatArray,
    queries: Queries,
    X: Any,
    wanted: BoolArray,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield rows of whole queries, and ``task`` of the columns for regressors.

    The columns are the features and the score, the ranks of all of these within the
    query as shares, and the query's mean score: shape (n, 2 * n_features + 3). Only
    ``wanted`` rows, a mask, are passed on. If the rows of X lie elsewhere, its
    method ``over_designs`` calls this function there.
    """
    if hasattr(type(X), "over_designs"):
        yield from X.over_designs(task, scores, queries, wanted)
        return
    numbers = np.unique(queries.codes[wanted])
    # All queries at once would take twice the memory of X.
    pieces = np.cumsum(queries.sizes[numbers]) // _PIECE
    for part in np.split(numbers, np.flatnonzero(np.diff(pieces)) + 1):
        if part.size:
            rows = np.concatenate([queries.rows(query) for query in part.tolist()])
            own = Queries.of_sizes(queries.sizes[part])
            columns = np.column_stack([_numbers(X, rows), scores[rows]])
            ranks = query_context(columns, own)[:, columns.shape[1] : -1] + 0.5
            # The mean score of each query: divided before they are added, so that huge
            # scores do not overflow; sorted, so that the order of rows changes nothing.
            ascending = Scores(scores[rows], own).ascending.value
            shares = ascending / np.repeat(own.sizes, own.sizes)
            means = np.add.reduceat(shares, own.offsets[:-1])[own.codes]
            design = np.column_stack([columns, ranks, means])
            kept = wanted[rows]
            yield rows[kept], task(design[kept])


def _numbers(X: Any, rows: IntArray) -> FloatArray:
    """Return rows of the features, shape (n, n_features); NaN is allowed."""
    try:
        chosen = _safe_indexing(X, rows)
        return check_array(chosen, dtype=np.float64, ensure_all_finite="allow-nan")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X must be a dense array or frame of numbers for FeatureAwareRelevance: "
            "put an encoder before the selective ranker, or use GradedRelevance. "
            f"{error}"
        ) from error


def _as_logit(share: FloatArray) -> FloatArray:
    """Return the logit of an expected grade in [0, 1], kept finite."""
    return np.asarray(logit(np.clip(share, _INSIDE, 1 - _INSIDE)))
