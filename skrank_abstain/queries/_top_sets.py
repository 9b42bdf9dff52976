"""TopSetRanker: few items of a query, among them a best one."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_fraction,
)
from skrank_abstain.intake import refuse_fit_arguments, take_labelled_items
from skrank_abstain.queries._best_sets import (
    best_levels,
    conformal_level,
    levels_of_list,
)
from skrank_abstain.queries._graded_lists import GradedLists, ValuedItems


class TopSetRanker(GradedLists):
    """Ranker that says who is among the best: a set that holds a best item.

    Who of the applicants should be seen first? The set of a query is made to hold an
    item of the highest relevance in the query, and to be small: many items where the
    scores are close, one where they are far apart. For a new query of the same source
    whose items differ in relevance,

        P(the set holds a best item) >= 1 - alpha,

    for any number of calibration queries, whatever the ranker and the tie model are
    worth: a poor one makes large sets. The labelled queries are divided by purpose.
    Some train the ranker, unless it is fitted; some fit the tie model; the others,
    which were used for nothing else, say how large the sets have to be.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`~skrank_abstain.BALToR`.
    alpha : float, default=0.1
        Share of the sets that may hold no best item, in (0, 1). At least
        ``1 / alpha - 1`` queries are needed for nothing else.
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model, in (0, 1).
    tie_model : str or GradedRelevance, default="graded_relevance"
        "graded_relevance", "feature_aware_relevance", or an instance of either: models
        of the grade of an item.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is: see :class:`~skrank_abstain.BALToR`.
    calibration_size : float, default=0.25
        Share of the queries set aside to calibrate on when the estimator is trained
        here.
    relevance_bins : int, default=None
        Quantile bins of ``y`` for training a booster.
    qid_col : str or int, default=None
        Column of X that holds the query, instead of ``qid=``.
    random_state : int, RandomState instance or None, default=None
        Splits the queries.

    Attributes
    ----------
    threshold_ : float
        Items of a level of at least this are in the set; the level is the smallest
        probability, from the second item down to this one, of being the first best one
        where the items differ.
    n_queries_ : int
        Queries that set the threshold. Their items differ in relevance.
    n_equal_queries_ : int
        Queries set aside with them whose items are all equally relevant. Any item is a
        best one there, so that they say nothing.
    n_tuning_queries_ : int
        Queries that fitted the tie model.
    estimator_, tie_model_, prefit_
        As in :class:`~skrank_abstain.BALToR`.
    n_features_in_ : int
        Number of columns of X, the query column included.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    QueryRiskRanker : Abstains on whole queries.
    skrank_abstain.tie_models.GradedRelevance : P(grade) of an item.

    Notes
    -----
    Items are taken in the order of their values (those of the scores, unless the tie
    model looks at the features). P(the first m hold a best item) is a product of
    distribution functions of grades for each shift of a query. A query's score of
    conformity is that of least ambiguous sets [1]_: the level of its first best item.
    The threshold is the k-th smallest of these, k = floor(alpha (n + 1)), so that the
    level of a new query is below it with probability at most alpha if the queries are
    exchangeable. That is on average over the calibration and the new query, and does
    not hold for every kind of query by itself. Each set holds an item at least; equal
    values come in together. O(n log n) for n items.

    References
    ----------
    .. [1] Sadinle, Lei and Wasserman (2019). "Least Ambiguous Set-Valued Classifiers
       with Bounded Error Levels". JASA 114(525). arXiv:1609.00451.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> ranker = TopSetRanker(Ridge(), alpha=0.1, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> sets = ranker.predict_set(new.data, qid=new.qid)
    >>> sizes = ranker.set_sizes(new.data, qid=new.qid)
    >>> bool(sets.sum() == sizes.sum()), bool(sizes.mean() < 8)
    (True, True)
    >>> ranker.score(new.data, new.target, qid=new.qid) > 0.85
    True
    """

    _fitted_state: tuple[str, ...] = ("threshold_", "n_equal_queries_")

    def __init__(
        self,
        estimator: Any,
        *,
        alpha: float = 0.1,
        tuning_size: float = 0.3,
        tie_model: Any = "graded_relevance",
        prefit: Any = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.tuning_size = tuning_size
        self.tie_model = tie_model
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Train the ranker unless it is fitted, fit the tie model, and calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order.
        **unknown
            None is taken.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, or too few calibration queries
            have items that differ for this ``alpha``.
        TypeError
            If the tie model is none of grades, or an argument is unknown.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.
        """
        if unknown:
            refuse_fit_arguments(self, unknown)
        alpha = check_fraction(self.alpha, "alpha")
        share = check_fraction(self.tuning_size, "tuning_size")
        model = self._unfitted_tie_model()
        given = take_labelled_items(self, X, y, qid)
        data, items, _ = self._learn(model, given, share)
        levels = best_levels(self._levels(items[-1]), data[-1].y, items[-1].queries)
        known = levels[~np.isnan(levels)]
        threshold = conformal_level(known, alpha)
        if threshold is None:
            raise ValueError(
                f"alpha={alpha:g} must leave at least {math.ceil(1 / alpha - 1)} "
                "calibration queries whose items differ in relevance, besides those "
                f"that fit the tie model, got {known.size} of {levels.size}. Pass more "
                "labelled queries (a larger calibration_size or a fitted ranker leaves "
                "more), or allow a larger alpha."
            )
        self.threshold_ = threshold
        self.n_queries_ = int(known.size)
        self.n_equal_queries_ = int(levels.size - known.size)
        return self

    def predict_set(self, X: Any, qid: Any = None) -> BoolArray:
        """Return which items are in the set of their query.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        inside : ndarray of shape (n_items,), bool
            One or more of each query.

        Raises
        ------
        ValueError
            If columns do not match ``fit``.
        """
        return self._inside(self._valued(X, qid))

    def set_sizes(self, X: Any, qid: Any = None) -> IntArray:
        """Return how many items the set of each query has.

        Parameters
        ----------
        X, qid
            As in ``predict_set``.

        Returns
        -------
        sizes : ndarray of shape (n_queries,), int64
            At least 1; queries in order of first appearance.
        """
        items = self._valued(X, qid)
        codes = items.queries.codes[self._inside(items)]
        return np.bincount(codes, minlength=items.queries.n_queries).astype(np.int64)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of queries whose set holds a best item.

        Higher is better, in [0, 1]; about ``1 - alpha``, or more. What is left to
        compare is the size of the sets: `neg_set_size_scorer`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        sample_weight : array-like of shape (n_items,), default=None
            Item weights; a query weighs their mean.

        Returns
        -------
        share : float
            Of the queries whose items differ in relevance; NaN where there are none.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If the items of no query differ.
        """
        items, relevance = self._labelled(X, y, qid, sample_weight)
        levels = best_levels(self._levels(items), relevance, items.queries)
        hit = np.where(np.isnan(levels), np.nan, levels >= self.threshold_)
        return self._mean_of_queries(
            hit,
            sample_weight,
            items.queries,
            "The share of sets that hold a best item is undefined and set to NaN: the "
            "items of no query differ in relevance",
        )

    def _inside(self, items: ValuedItems) -> BoolArray:
        inside: BoolArray = self._levels(items) >= self.threshold_
        return inside

    def _levels(self, items: ValuedItems) -> FloatArray:
        """Return up to which threshold each item is in the set of its query."""
        levels = np.empty(items.values.size)
        weights = self.tie_model_.node_weights_
        for rows, proba in items.lists(self.tie_model_, by=items.values):
            levels[rows] = levels_of_list(proba, weights, items.values[rows])
        return levels
