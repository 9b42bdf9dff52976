"""QueryRiskRanker: abstention on whole queries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import BoolArray, FloatArray, check_fraction, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import (
    advise_on_certification,
    certify_risk,
    choose_start,
)
from skrank_abstain.intake import refuse_fit_arguments, take_labelled_items
from skrank_abstain.queries._expected_metrics import (
    ListMetric,
    check_gain,
    expected_metric,
    gains_of,
    metric_by_query,
    score_blocks,
)
from skrank_abstain.queries._graded_lists import GradedLists, ValuedItems
from skrank_abstain.tie_models import GradedRelevance

#: Share of the calibration queries that fit the tie model where a risk is certified.
_TUNING_SIZE = 0.3
#: `fit` warns if the share of accepted queries exceeds the target by more than this.
_MOST_EXCESS = 0.1
#: Largest number of thresholds to test.
_N_THRESHOLDS = 100


class QueryRiskRanker(GradedLists):
    """Ranker that leaves whole queries to a person if their lists are probably poor.

    The risk of a query is one minus the expected metric of its list, under a model of
    the grades of its items. Queries up to a threshold of the risk are accepted: a share
    ``coverage`` of them, or as many as a bound on the loss certifiably allows. With
    ``max_risk``, for new queries from the same source,

        P(E[1 - metric | accepted, holds a relevant item] <= max_risk) >= 1 - delta,

    over the draw of the queries that certify and do nothing else.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`~skrank_abstain.BALToR`.
    metric : str, default="ndcg@10"
        "ndcg@k", "precision@k" or "mrr". Items with a gain above 0 are relevant;
        precision@k divides by k, even for shorter lists.
    coverage : float, default=None
        Share of the queries to accept, in (0, 1].
    max_risk : float, default=None
        Bound on the mean of one minus the metric, in (0, 1). Pass exactly one of
        ``coverage`` and ``max_risk``.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    gain : {"exponential", "linear"} or callable, default="exponential"
        Gain of an item in NDCG: ``2 ** y - 1``, as in boosters, for whole grades from 0
        to 31; ``y``, as in scikit-learn, at least 0; or a function that maps an array
        of relevance to numbers of at least 0.
    tie_model : str or GradedRelevance, default="graded_relevance"
        "graded_relevance", "feature_aware_relevance", or an instance of either.
    prefit, relevance_bins, qid_col
        As in :class:`~skrank_abstain.BALToR`.
    calibration_size : float, default=0.25
        As in :class:`~skrank_abstain.BALToR`. Certification needs many queries: try
        0.5, or pass a fitted ranker.
    random_state : int, RandomState instance or None, default=None
        Splits the queries, shuffles those that certify, and draws grades.

    Attributes
    ----------
    threshold_ : float
        Queries of at most this risk are accepted; minus infinity if nothing could be
        certified.
    coverage_ : float
        Share accepted of the queries that set the threshold.
    certified_ : bool
        Whether ``max_risk`` was certified.
    n_queries_ : int
        Queries that set the threshold.
    n_irrelevant_queries_ : int
        Those among them without a relevant item. They have no metric and no part in the
        risk, but count in ``coverage_``, since new ones cannot be recognised.
    n_tuning_queries_ : int
        Queries that fitted the tie model only; 0 with ``coverage``, where the same
        queries also set the threshold.
    estimator_, tie_model_, prefit_, n_features_in_, feature_names_in_
        As in :class:`~skrank_abstain.BALToR`.

    See Also
    --------
    TopSetRanker : A set of items that holds a best one, of every query.
    skrank_abstain.RiskControlledRanker : A certified bound on the errors of pairs.

    Notes
    -----
    The expectation is over the grades of the items, given that one is relevant: a mean
    over 1000 draws, with one seed for all queries, so that the risk of a query does not
    depend on the others. Given the shift of a query its items are independent. Equal
    scores are in random order. More than ten distinct values of relevance are merged
    into ten grades, each with the mean gain of its items (``max_grades`` of
    `GradedRelevance`).

    `concentration.certify_risk` certifies ``max_risk``: 30 % of the calibration queries
    fit the tie model, supply up to 100 thresholds and choose the first one to test; the
    others test one threshold after the other, each at level ``delta``. O(n log n) for n
    items, and 1000 draws of each.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then Test:
       Calibrating Predictive Algorithms to Achieve Risk Control". arXiv:2110.01052.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import QueryRiskRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> accepted = ranker.accept_queries(new.data, qid=new.qid)
    >>> accepted.shape  # one value per query
    (100,)
    >>> found = ranker.query_metric(new.data, new.target, qid=new.qid)
    >>> bool(np.nanmean(found[accepted]) > np.nanmean(found))
    True
    """

    _fitted_state: tuple[str, ...] = (
        *("threshold_", "certified_", "coverage_", "n_irrelevant_queries_"),
        *("_metric", "_gain", "_gain_of_grade", "_draw_seed"),
    )

    def __init__(
        self,
        estimator: Any,
        *,
        metric: str = "ndcg@10",
        coverage: float | None = None,
        max_risk: float | None = None,
        delta: float = 0.1,
        gain: Any = "exponential",
        tie_model: Any = "graded_relevance",
        prefit: Any = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.coverage = coverage
        self.max_risk = max_risk
        self.delta = delta
        self.gain = gain
        self.tie_model = tie_model
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Train the ranker unless it is fitted, and set the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better, as ``gain`` needs it.
        qid : array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order.
        **unknown
            Accepts nothing; explains what to use instead.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input is invalid, both or none of ``coverage`` and
            ``max_risk`` are given, or ``gain`` does not apply to the relevance.
        TypeError
            If the tie model is not a model of grades, or an argument is unknown.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        UserWarning
            If nothing could be certified, or many queries of equal risk make the
            coverage exceed the target.
        """
        if unknown:
            refuse_fit_arguments(self, unknown)
        certifies = self._check_target()
        # Parameters that are set after fit have no effect on what was fitted.
        self._metric, self._gain = self.metric, self.gain
        model = self._unfitted_tie_model()
        items, relevance = take_labelled_items(self, X, y, qid)
        gains_of(relevance, self.gain)  # raises before anything is trained
        size = _TUNING_SIZE if certifies else 0.0
        data, valued, self._draw_seed = self._learn(model, (items, relevance), size)
        self._gain_of_grade = _gains_by_grade(model, data[0].y, self.gain)
        risks = [self._risk(part) for part in valued]
        losses = [
            1 - self._metric_of(part, labelled.y)
            for part, labelled in zip(valued, data, strict=True)
        ]
        self.n_irrelevant_queries_ = int(np.isnan(losses[-1]).sum())
        if certifies:
            self.threshold_ = self._certify(risks, losses)
        else:
            coverage = float(self.coverage or 0)
            found = np.quantile(risks[0], coverage, method="inverted_cdf")
            # No risk is above 1, so that all new queries are accepted too.
            self.threshold_ = 1.0 if coverage == 1 else float(found)
        self.certified_ = certifies and self.threshold_ > -np.inf
        self.coverage_ = float((risks[-1] <= self.threshold_).mean())
        asked = float(self.coverage or 0) + _MOST_EXCESS + 1 / self.n_queries_
        if not certifies and self.coverage_ > asked:
            warn_user(
                f"{self.coverage_:.0%} of the calibration queries are accepted instead "
                f"of coverage={self.coverage:g}, since many have the same risk, as "
                "lists of one item do. Leave these out of X."
            )
        return self

    def accept_queries(self, X: Any, qid: Any = None) -> BoolArray:
        """Return which queries are accepted; the others go to a person.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        accepted : ndarray of shape (n_queries,), bool
            Queries in order of first appearance.

        Raises
        ------
        ValueError
            If columns do not match ``fit``.
        """
        accepted: BoolArray = self.query_risk(X, qid) <= self.threshold_
        return accepted

    def query_risk(self, X: Any, qid: Any = None) -> FloatArray:
        """Return one minus the expected metric of the list of each query.

        Parameters
        ----------
        X, qid
            As in ``accept_queries``.

        Returns
        -------
        risk : ndarray of shape (n_queries,), float64
            Lower is better, in [0, 1]; given that the list holds a relevant item, and 1
            if no draw has one. Queries in order of first appearance.
        """
        return self._risk(self._valued(X, qid))

    def query_metric(self, X: Any, y: ArrayLike, qid: Any = None) -> FloatArray:
        """Return the metric of the list of each labelled query.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.

        Returns
        -------
        values : ndarray of shape (n_queries,), float64
            Higher is better, in [0, 1]; NaN for queries without a relevant item.
            Queries in order of first appearance.

        Raises
        ------
        ValueError
            If ``gain`` does not apply to the relevance, or the model was fitted with a
            ``qid`` and this call has none.
        """
        return self._metric_of(*self._labelled(X, y, qid))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean metric of the accepted queries.

        Higher is better, in [0, 1]. Do not choose ``coverage`` by it: the fewer queries
        are accepted, the higher it is. `neg_query_aurc_scorer` compares rankers over
        all thresholds.

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
        mean : float
            Over the accepted queries with a relevant item; NaN if there are none.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no accepted query has a relevant item.
        """
        items, relevance = self._labelled(X, y, qid, sample_weight)
        accepted = self._risk(items) <= self.threshold_
        return self._mean_of_queries(
            np.where(accepted, self._metric_of(items, relevance), np.nan),
            sample_weight,
            items.queries,
            f"The mean {self._metric} is undefined and set to NaN: no accepted query "
            "has a relevant item",
        )

    def _check_target(self) -> bool:
        """Check the parameters; return whether to certify a bound."""
        ListMetric.parse(self.metric)
        check_gain(self.gain)
        if (self.coverage is None) == (self.max_risk is None):
            raise ValueError(
                "coverage or max_risk must be given, and not both, got "
                f"coverage={shown(self.coverage)} and max_risk={shown(self.max_risk)}."
            )
        check_fraction(self.delta, "delta")
        if self.max_risk is None:
            check_fraction(self.coverage, "coverage", include_one=True)
            return False
        check_fraction(self.max_risk, "max_risk")
        return True

    def _certify(self, risks: list[FloatArray], losses: list[FloatArray]) -> float:
        """Return the largest certified threshold; minus infinity for none.

        ``risks`` and ``losses`` hold the queries that tune, then those that certify.
        """
        max_risk = float(self.max_risk or 0)
        levels = np.linspace(0, 1, _N_THRESHOLDS)
        thresholds = np.unique(np.quantile(risks[0], levels, method="inverted_cdf"))
        thresholds = np.append(thresholds[:-1], 1.0)
        tables = []
        for risk, loss in zip(risks, losses, strict=True):
            # Queries without a relevant item have no metric and no part in the bound.
            known = ~np.isnan(loss)
            accepted = (risk[known, None] <= thresholds).astype(np.float64)
            tables.append((accepted, accepted * loss[known, None]))
        if not tables[0][0].size:
            raise ValueError(
                "y must give at least one of the queries that fit the tie model a "
                f"relevant item, got none in {risks[0].size}. Pass more queries."
            )
        # The test bets on one query after the other: their order must be random.
        n_queries = tables[1][0].shape[0]
        order = np.random.default_rng(self._draw_seed).permutation(n_queries)
        found = certify_risk(
            tables[1][0][order],
            tables[1][1][order],
            choose_start(*tables[0], max_risk=max_risk),
            max_risk=max_risk,
            delta=self.delta,
        )
        if found is not None:
            return float(thresholds[found])
        advice = advise_on_certification(
            max_risk, self.delta, {None: n_queries}, tables[0]
        )
        warn_user(
            f"No threshold could be certified for max_risk={max_risk:g} at "
            f"delta={self.delta:g} on {n_queries} queries with a relevant item: the "
            f"ranker abstains on every query. {advice}"
        )
        return -np.inf

    def _risk(self, items: ValuedItems) -> FloatArray:
        metric = ListMetric.parse(self._metric)
        weights = self.tie_model_.node_weights_
        return np.array(
            [
                1
                - expected_metric(
                    metric,
                    proba,
                    weights,
                    self._gain_of_grade,
                    score_blocks(items.scores[rows]),
                    seed=self._draw_seed,
                )
                for rows, proba in items.lists(self.tie_model_, by=items.scores)
            ]
        )

    def _metric_of(self, items: ValuedItems, y: FloatArray) -> FloatArray:
        gains = gains_of(y, self._gain)
        metric = ListMetric.parse(self._metric)
        return metric_by_query(metric, items.scores, gains, items.queries)


def _gains_by_grade(model: GradedRelevance, y: FloatArray, gain: Any) -> FloatArray:
    """Return the mean gain of the items of each grade of a fitted tie model.

    Parameters
    ----------
    model : GradedRelevance
    y : ndarray of shape (n_items,), float64
        Relevance of the items that it was fitted on.
    gain : str or callable

    Returns
    -------
    gains : ndarray of shape (n_grades,), float64
    """
    _, ranks, counts = np.unique(y, return_inverse=True, return_counts=True)
    grades = model.merged_grades(counts)[ranks.reshape(-1)]
    gains: FloatArray = np.bincount(grades, gains_of(y, gain)) / np.bincount(grades)
    return gains
