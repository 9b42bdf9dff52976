"""TopSetRanker: a small set of items that holds a best one of the query."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_fraction,
    check_relevance,
    check_row_order,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.intake import (
    groups_of_queries,
    take_labelled_items,
)
from skrank_abstain.queries._best_sets import (
    best_levels,
    conformal_level,
    levels_of_list,
)
from skrank_abstain.queries._graded_lists import (
    GradedLists,
    ValuedItems,
    weights_of_queries,
)
from skrank_abstain.queries._pages import report_on_sets
from skrank_abstain.queries._results import SetResults
from skrank_abstain.report import Report


class TopSetRanker(GradedLists):
    """Ranker that returns, for each query, a small set of items that holds a best one.

    A best item is one of the highest relevance in its query. The set has many items if
    the scores are close and one if they are far apart. For a new query from the same
    source whose items differ in relevance,

        P(the set holds a best item) >= 1 - alpha,

    for any number of calibration queries, ranker and tie model: poor ones make large
    sets. Some labelled queries train the ranker, unless it is fitted; some fit the tie
    model; the others do nothing but determine how large the sets have to be.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`~skrank_abstain.BALToR`.
    alpha : float, default=0.1
        Share of the sets that may hold no best item, in (0, 1). Needs at least
        ``1 / alpha - 1`` queries that do not fit the tie model.
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model, in (0, 1).
    tie_model : str or GradedRelevance, default="graded_relevance"
        "graded_relevance", "feature_aware_relevance", or an instance of either.
    prefit, calibration_size, relevance_bins, qid_col, random_state, verbose
        As in :class:`~skrank_abstain.BALToR`.

    Attributes
    ----------
    threshold_ : float
        Items of at least this level are in the set. The level is the smallest
        probability, from the second item down to this one, of being the first best one.
    n_queries_ : int
        Queries that set the threshold; their items differ in relevance.
    n_equal_queries_ : int
        Calibration queries whose items are all equally relevant: left out, since any
        item is a best one.
    n_tuning_queries_ : int
        Queries that fitted the tie model.
    estimator_, tie_model_, prefit_, n_features_in_, feature_names_in_
        As in :class:`~skrank_abstain.BALToR`.

    See Also
    --------
    QueryRiskRanker : Abstains on whole queries.
    skrank_abstain.tie_models.GradedRelevance : P(grade) of an item.

    Notes
    -----
    A set consists of the first items by value (the score, unless the tie model uses the
    features); equal values enter together, and no set is empty. P(the first m hold a
    best item) is a product of distribution functions of grades for each shift of a
    query. The conformity score of a query is that of least ambiguous sets [1]_: the
    level of its first best item. The threshold is the k-th smallest of these, k =
    floor(alpha (n + 1)): the level of a new query is below it with probability at most
    alpha if the queries are exchangeable. This holds on average over calibration and
    new queries, not for each kind of query by itself. O(n log n) for n items.

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

    _fitted_state: tuple[str, ...] = ("threshold_", "n_equal_queries_", "_known")
    _own = ("alpha",)

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
        verbose: int = 0,
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
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:
        """Train the ranker unless it is fitted, fit the tie model, and calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input is invalid, or too few calibration queries for
            this ``alpha`` have items that differ.
        TypeError
            If the tie model is not a model of grades.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.
        """
        check_fraction(self.alpha, "alpha")
        share = check_fraction(self.tuning_size, "tuning_size")
        model = self._unfitted_tie_model()
        given = take_labelled_items(self, X, y, qid)
        data, items, _ = self._learn(model, given, share)
        levels = best_levels(self._levels(items[-1]), data[-1].y, items[-1].queries)
        self._known = levels[~np.isnan(levels)]
        self.n_queries_ = int(self._known.size)
        self.n_equal_queries_ = int(levels.size - self._known.size)
        self._set_threshold()
        self._tell()
        return self

    def at_alpha(self, alpha: float) -> Self:
        """Return a fitted copy with sets for another share of misses.

        Parameters
        ----------
        alpha : float
            Share of the sets that may hold no best item, in (0, 1).

        Returns
        -------
        ranker : TopSetRanker
            Shares the fitted models and the calibration queries; nothing is rescored.

        Raises
        ------
        ValueError
            If there are too few calibration queries for this ``alpha``.
        """
        check_is_fitted(self, "threshold_")
        other = copy.copy(self)
        other.alpha = alpha
        other._set_threshold()
        return other

    def _set_threshold(self) -> None:
        alpha = check_fraction(self.alpha, "alpha")
        threshold = conformal_level(self._known, alpha)
        if threshold is None:
            n_all = self.n_queries_ + self.n_equal_queries_
            raise ValueError(
                f"alpha={alpha:g} needs at least {math.ceil(1 / alpha - 1)} "
                "calibration queries whose items differ in relevance, besides those "
                f"that fit the tie model, got {self.n_queries_} of {n_all}. Pass more "
                "labelled queries (a larger calibration_size or a fitted ranker leaves "
                "more), or allow a larger alpha."
            )
        self.threshold_ = threshold
        self._remember_parameters()

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
            At least one item of each query.

        Raises
        ------
        ValueError
            If columns do not match ``fit``.
        """
        return self._inside(self._valued(X, qid))

    def set_sizes(self, X: Any, qid: Any = None) -> IntArray:
        """Return the size of the set of each query.

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

        Higher is better, in [0, 1]; about ``1 - alpha`` or more for every ranker.
        Compare rankers by the size of their sets: `neg_set_size_scorer`.

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
            Over the queries whose items differ in relevance; NaN if there are none.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If the items of no query differ.
        """
        share = self.evaluate(X, y, qid, sample_weight).share
        if np.isnan(share):
            warn_user(
                "The share of sets that hold a best item is undefined and set to NaN: "
                "the items of no query differ in relevance.",
                UndefinedMetricWarning,
            )
        return share

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> SetResults:
        """Return, query by query, the size of the set and whether it holds a best item.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``score``.

        Returns
        -------
        results : SetResults
            Arrays of shape (n_queries,); ``results.share`` is the score,
            ``results.mean_size`` the price of it.
        """
        items, relevance = self._labelled(X, y, qid, sample_weight)
        return self._results(items, relevance, sample_weight)

    def report(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: Any = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Report:
        """Return a page about data, model, threshold and sets, for an audit.

        Parameters
        ----------
        X, qid
            As in ``predict_set``.
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. None: the page has the sizes of the sets alone.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, the same for all items of a query: adds a table
            for each.

        Returns
        -------
        report : Report
            A text in markdown; ``report.to_html("audit.html")`` saves it as a page.

        Warns
        -----
        UserWarning
            If items have the features of items that ``fit`` got, or parameters were set
            after ``fit``: the report is about what was fitted.
        """
        check_row_order(X, y=y, qid=qid, groups=groups)
        items = self._valued(X, qid, needs_qid=y is not None)
        queries, relevance = items.queries, None
        if y is not None:
            relevance = check_relevance(y, queries.n_items)
        facts = self._facts_of_page(X, items, relevance)
        # Without labels all items count as equal, and no query as a hit or a miss.
        known = np.zeros(queries.n_items) if relevance is None else relevance
        found = self._results(items, known, None)
        return report_on_sets(facts, found, groups_of_queries(groups, queries))

    def _results(
        self, items: ValuedItems, relevance: FloatArray, sample_weight: Any
    ) -> SetResults:
        levels, queries = self._levels(items), items.queries
        inside = np.bincount(queries.codes[levels >= self.threshold_])
        best = best_levels(levels, relevance, queries)
        return SetResults(
            size=inside.astype(np.int64),
            n_items=queries.sizes,
            holds_best=np.where(np.isnan(best), np.nan, best >= self.threshold_),
            weight=weights_of_queries(sample_weight, queries),
        )

    def _inside(self, items: ValuedItems) -> BoolArray:
        inside: BoolArray = self._levels(items) >= self.threshold_
        return inside

    def _levels(self, items: ValuedItems) -> FloatArray:
        """Return the largest threshold at which each item is in its set."""
        levels = np.empty(items.values.size)
        weights = self.tie_model_.node_weights_
        for rows, proba in items.lists(self.tie_model_, by=items.values):
            levels[rows] = levels_of_list(proba, weights, items.values[rows])
        return levels
