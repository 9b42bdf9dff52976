"""TopSetRanker: a small set of items that holds a best one, or most of the first k.

Items are sorted by their values, the best first. Given the shift of a query its items
are independent, so that probabilities are products of distribution functions.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import all_or_nothing
from skrank_abstain._validation import check_fraction, check_positive_int
from skrank_abstain.concentration import check_chance
from skrank_abstain.intake import take_labelled_rows
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import Scores, Table
from skrank_abstain.queries._expected_metrics import score_blocks
from skrank_abstain.queries._list_ranker import Findings, ListRanker, mean_of_known
from skrank_abstain.selection import true_places

#: Rounding of alpha (n + 1) must not cost a rank.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class SetResults(Table):
    """What ``TopSetRanker.evaluate`` returns: a table of labelled queries.

    The attributes are the columns of ``to_frame`` and ``to_dicts``.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        The query.
    size : ndarray of shape (n_queries,), int64
        Items in the set of each query, in order of first appearance.
    n_items : ndarray of shape (n_queries,), int64
        Items of each query.
    holds_best : ndarray of shape (n_queries,), float64
        1 if the set holds a best item, 0 if not; for k > 1 the share of the first k
        that it holds. NaN where any set would do: the items of the query are equally
        relevant, or no more than k.
    weight : ndarray of shape (n_queries,), float64
        Mean sample weight of the items; 1 without weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> new = make_ranking(n_queries=400, random_state=1)
    >>> ranker = TopSetRanker(Ridge(), random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> results = ranker.evaluate(new.data, new.target, qid=new.qid)
    >>> results.share > 0.85, results.mean_size < 8
    (True, True)
    """

    qid: NDArray[Any]
    size: IntArray
    n_items: IntArray
    holds_best: FloatArray
    weight: FloatArray

    def __repr__(self) -> str:
        return f"SetResults(n_queries={self.size.size}, mean_size={self.mean_size:.3g})"

    @property
    def share(self) -> float:
        """Mean of ``holds_best`` over the queries that count; NaN without any."""
        return mean_of_known(self.holds_best, self.weight)

    @property
    def mean_size(self) -> float:
        """Mean size of the sets; NaN without queries."""
        return mean_of_known(self.size.astype(np.float64), self.weight)


class TopSetRanker(ListRanker[SetResults]):
    """Ranker that returns, for each query, a small set of items that holds a best one.

    A best item is one of the highest relevance in its query. The set has many items if
    the scores are close and one if they are far apart. For a new query from the same
    source whose items differ in relevance,

        P(the set holds a best item) >= 1 - alpha,

    for any number of calibration queries, ranker and tie model: poor ones make large
    sets. Some labelled queries train the ranker, unless it is fitted; some fit the tie
    model; the others do nothing but determine how large the sets have to be.

    With ``k`` above 1 the set holds most of the first k, the k most relevant items; of
    items tied for the last of these places any will do. For a new query with more than
    k items that differ in relevance,

        E[share of the first k that the set misses] <= alpha.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`~skrank_abstain.BALToR`.
    alpha : float, default=0.1
        Share of the sets that may hold no best item, or of the first k that sets may
        miss, in (0, 1). Needs at least ``1 / alpha - 1`` queries that do not fit the
        tie model.
    k : int, default=1
        Number of first items that a set is for.
    tuning_size : float, default=0.15
        Share of the calibration queries that fit the tie model, in (0, 1). Not used for
        ``k > 1`` with ``tie_model="graded_relevance"``, which has no part in the sets.
    tie_model : str or GradedRelevance, default="graded_relevance"
        "graded_relevance", "feature_aware_relevance", or an instance of either.
    prefit, calibration_size, relevance_bins, qid_col, random_state, verbose
        As in :class:`~skrank_abstain.BALToR`.

    Attributes
    ----------
    threshold_ : float
        Items of at least this level are in the set. The level is the smallest
        probability, from the second item down to this one, of being the first best one;
        for k > 1 minus the number of items down to this one.
    n_queries_ : int
        Queries that set the threshold; their items differ in relevance, and are more
        than k.
    n_equal_queries_ : int
        Other calibration queries: left out, since any k items are the first k.
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
    features), at least k; equal values enter together. P(the first m hold a
    best item) is a product of distribution functions of grades for each shift of a
    query. The conformity score of a query is that of least ambiguous sets [1]_: the
    level of its first best item. The threshold is the k-th smallest of these, k =
    floor(alpha (n + 1)): the level of a new query is below it with probability at most
    alpha if the queries are exchangeable. This holds on average over calibration and
    new queries, not for each kind of query by itself. O(n log n) for n items.

    For k > 1 the set is as many of the first items of every query as conformal risk
    control [2]_ finds. Sets that depend on the scores or on the size of the query were
    not smaller on both collections where we measured them.

    References
    ----------
    .. [1] Sadinle, Lei and Wasserman (2019). "Least Ambiguous Set-Valued Classifiers
       with Bounded Error Levels". JASA 114(525). arXiv:1609.00451.
    .. [2] Angelopoulos, Bates, Fisch, Lei and Schuster (2024). "Conformal risk
       control". ICLR. arXiv:2208.02814

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> ranker = TopSetRanker(Ridge(), alpha=0.1, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = make_ranking(n_queries=400, random_state=1)
    >>> sets = ranker.predict_set(new.data, qid=new.qid)
    >>> sizes = ranker.set_sizes(new.data, qid=new.qid)
    >>> bool(sets.sum() == sizes.sum()), bool(sizes.mean() < 8)
    (True, True)
    >>> ranker.score(new.data, new.target, qid=new.qid) > 0.85
    True
    """

    _own = ("alpha", "k")

    def __init__(
        self,
        estimator: Any,
        *,
        alpha: float = 0.1,
        k: int = 1,
        tuning_size: float = 0.15,
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
        self.k = k
        self.tuning_size = tuning_size
        self.tie_model = tie_model
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None) -> Self:
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
        self._k = check_positive_int(self.k, "k")
        if self._k > 1 and self.tie_model == "graded_relevance":
            share = 0.0  # the sets go by places, of which this tie model changes none
        parts, _ = self._learn(take_labelled_rows(self, X, y, qid), share)
        levels = first_levels(self._levels(parts[-1]), parts[-1], self._k)
        self._known = levels[~np.isnan(levels[:, 0])]
        self.n_queries_ = len(self._known)
        self.n_equal_queries_ = len(levels) - self.n_queries_
        return self._end_fit()

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
        return self._moved(alpha=alpha)

    def _set_threshold(self) -> None:
        alpha = check_chance(self.alpha, "alpha")
        threshold = conformal_level(self._known, alpha)
        if threshold is None:
            n_all = self.n_queries_ + self.n_equal_queries_
            raise ValueError(
                f"alpha={alpha:g} needs at least {math.ceil(1 / alpha - 1)} "
                f"calibration queries {self._whose}, besides those that train the "
                f"ranker and the {self.n_tuning_queries_} that fit the tie model, got "
                f"{self.n_queries_} of {n_all}. Pass more labelled queries "
                "(a larger calibration_size or a fitted ranker leaves more), or allow "
                "a larger alpha."
            )
        self.threshold_ = threshold

    def predict_set(self, X: Any, *, qid: Any = None) -> BoolArray:
        """Return which items are in the set of their query.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        inside : ndarray of shape (n_items,), bool
            At least k items of each query, or all.

        Raises
        ------
        ValueError
            If columns do not match ``fit``.
        """
        return np.asarray(self._levels(self._scored(X, qid)) >= self.threshold_)

    def set_sizes(self, X: Any, *, qid: Any = None) -> IntArray:
        """Return the size of the set of each query.

        Parameters
        ----------
        X, qid
            As in ``predict_set``.

        Returns
        -------
        sizes : ndarray of shape (n_queries,), int64
            At least k, or all; queries in order of first appearance.
        """
        items = self._scored(X, qid)
        return self._results(items, np.ones(items.queries.n_queries)).size

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of queries whose set holds a best item.

        For k > 1 the share of the first k that a set holds, on average. Higher is
        better, in [0, 1]; about ``1 - alpha`` or more for every ranker. Compare rankers
        by the size of their sets: `neg_set_size_scorer`.

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
            Over the queries of more than k items that differ in relevance; NaN if there
            are none.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no query has more than k items that differ.
        """
        share = self.evaluate(X, y, qid=qid, sample_weight=sample_weight).share
        if np.isnan(share):
            reason = f"there is no query {self._whose}"
            return undefined("The share that sets hold", reason)
        return share

    def _results(self, items: Scores, weight: FloatArray) -> SetResults:
        levels, queries = self._levels(items), items.queries
        held = np.full(queries.n_queries, np.nan)
        if items.y is not None:
            first = first_levels(levels, items, self._k)
            held = (first >= self.threshold_).mean(axis=1)
            held[np.isnan(first[:, 0])] = np.nan
        # No set is empty, so that each query is counted.
        size = np.bincount(queries.codes[levels >= self.threshold_]).astype(np.int64)
        return SetResults(queries.values, size, queries.sizes, held, weight)

    def _findings(self, found: SetResults, *, labelled: bool) -> Findings:
        ones, size = np.ones(found.size.size), found.size.astype(np.float64)
        ratios = {
            "items in a set, mean": (size, ones),
            "share of the items of a query in its set": (size / found.n_items, ones),
        }
        k, alpha, bound = self._k, self._parameters["alpha"], None
        short = f"a set has {found.mean_size:.2f} items on average"
        if labelled:
            known = found.holds_best[~np.isnan(found.holds_best)]
            name = "sets that hold a best item"
            held = f"{known.sum():.0f} of {known.size} sets hold a best item"
            if k > 1:
                name = f"share of the first {k} in a set"
                held = f"{known.size} sets hold {found.share:.1%} of the first {k}"
            ratios[name] = found.holds_best, ones
            bound = name, 1 - alpha, True
            short += (
                f"; {held} ({size.size - known.size} queries are not among those "
                f"{self._whose}, and do not count)"
            )
        rule = f"an item is in the set if its level is at least {self.threshold_:.6g}"
        holds = f"holds a best item with a probability of at least {1 - alpha:g}"
        if k > 1:
            holds = (
                f"misses at most a share {alpha:g} of its first {k} (of items tied for "
                "the last of these places any will do)"
            )
        promise = [
            f"For a new query from the same source {self._whose}, its set {holds}, on "
            "average over calibration and new queries; each query counts alike.",
            f"{self.n_queries_} queries set the threshold and nothing else that forms "
            f"the sets; {self.n_tuning_queries_} others fitted the tie model.",
        ]
        return Findings(short, [rule], promise, ratios, np.inf, bound)

    @property
    def _whose(self) -> str:
        """Which queries count: of others any k items are the first k."""
        several = f"more than {self._k} items that" if self._k > 1 else "items that"
        return f"with {several} differ in relevance"

    def _levels(self, items: Scores) -> FloatArray:
        """Return the largest threshold at which each item is in its set."""
        if self._k > 1:
            first, last = true_places(items.value, items.queries).T
            return np.where(first <= self._k, np.inf, -last)
        levels, weights = np.empty(items.value.size), self.tie_model_.node_weights_
        for rows, proba in self._graded(items, by=items.value):
            levels[rows] = levels_of_list(proba, weights, items.value[rows])
        return levels


def first_best_proba(grade_proba: FloatArray, node_weights: FloatArray) -> FloatArray:
    """Return the probability that each item is the first best one.

    Parameters
    ----------
    grade_proba : ndarray of shape (n_nodes, n_items, n_grades), float64
        P(grade) of the items of one query by node of its shift, the best item first.
    node_weights : ndarray of shape (n_nodes,), float64

    Returns
    -------
    proba : ndarray of shape (n_items,), float64
        Sums to 1; the sum of the first m is the probability that the first m items hold
        one of the highest grade present.

    Notes
    -----
    Item m is the first best one if it has a grade g, the items before it are below g
    and the items after it are not above g. O(n_nodes n_items n_grades).
    """
    at_most = np.minimum(np.cumsum(grade_proba, axis=2), 1.0)
    below = np.zeros_like(at_most)
    below[:, :, 1:] = at_most[:, :, :-1]
    before, after = np.ones_like(at_most), np.ones_like(at_most)
    np.cumprod(below[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumprod(at_most[:, :0:-1], axis=1)[:, ::-1]
    proba = (before * grade_proba * after).sum(axis=2)
    # No matrix product: its last bits depend on the number of threads.
    return (node_weights[:, None] * proba).sum(axis=0)


def levels_of_list(
    grade_proba: FloatArray, node_weights: FloatArray, values: FloatArray
) -> FloatArray:
    """Return the largest threshold at which each item of one query is in its set.

    Parameters
    ----------
    grade_proba, node_weights
        As in ``first_best_proba``.
    values : ndarray of shape (n_items,), float64
        The sort key, descending; items of equal value enter together.

    Returns
    -------
    levels : ndarray of shape (n_items,), float64
        Descending; infinity for the first item and its equals, which are in every set.

    Notes
    -----
    In a query whose items differ, an item adds the probability that it is the first
    best one. The level of an item is the smallest such probability down to it, so that
    every set consists of the first items.
    """
    added = first_best_proba(grade_proba, node_weights)
    equal = (node_weights * grade_proba.prod(axis=1).sum(axis=1)).sum()
    # The guarantee is about queries whose items differ. Rounding must not make "a later
    # item is the best" more probable than "items differ".
    differ = max(1 - equal, added[1:].sum())
    added[0] = np.inf
    added[1:] /= differ or 1.0
    levels: FloatArray = np.minimum.accumulate(added)
    first = score_blocks(values)
    return levels[first].repeat(np.diff(first, append=values.size))


def first_levels(levels: FloatArray, items: Scores, k: int) -> FloatArray:
    """Return the largest thresholds at which the set of each query holds its first k.

    Parameters
    ----------
    levels : ndarray of shape (n_items,), float64
    items : Scores
        With their relevance.
    k : int

    Returns
    -------
    levels : ndarray of shape (n_queries, k), float64
        Of the k most relevant items; of items tied for the last of these places those
        with the highest levels. NaN where all items have the same relevance, or there
        are no more than k.
    """
    queries = items.queries
    order = np.lexsort((-levels, -items.y, queries.codes))
    first, last = queries.offsets[:-1], queries.offsets[1:] - 1
    differ = (items.y[order[first]] > items.y[order[last]]) & (queries.sizes > k)
    places = np.minimum(first[:, None] + np.arange(k), last[:, None])
    return np.where(differ[:, None], levels[order[places]], np.nan)


def conformal_level(levels: FloatArray, alpha: float) -> float | None:
    """Return the conformal threshold of the calibration queries.

    Parameters
    ----------
    levels : ndarray of shape (n_queries, k), float64
        Returned by ``first_levels``, for queries that did not fit the tie model.
    alpha : float
        In (0, 1).

    Returns
    -------
    threshold : float or None
        The largest with sum of missed shares <= alpha (n_queries + 1) - 1; None if that
        is negative. For k = 1 the floor(alpha (n_queries + 1))-th smallest level.

    Notes
    -----
    For k = 1 the score of least ambiguous sets [1]_, else conformal risk control [2]_.
    If these queries and a new one are exchangeable, the new one is expected to have at
    most a share alpha of its levels below the threshold.

    References
    ----------
    .. [1] Sadinle, Lei and Wasserman (2019). "Least Ambiguous Set-Valued Classifiers
       with Bounded Error Levels". JASA 114(525). arXiv:1609.00451
    .. [2] Angelopoulos, Bates, Fisch, Lei and Schuster (2024). "Conformal risk
       control". ICLR. arXiv:2208.02814
    """
    n_queries, k = levels.shape
    n_missed = math.floor(k * (alpha * (n_queries + 1) - 1) + _SLACK)
    if n_missed < 0:
        return None
    return float(np.partition(levels, n_missed, axis=None)[n_missed])
