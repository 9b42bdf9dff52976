"""QueryRiskRanker: abstention on whole queries."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from skrank_abstain import concentration
from skrank_abstain._kernels import BoolArray, FloatArray
from skrank_abstain._saving import all_or_nothing
from skrank_abstain._validation import check_fraction, shown
from skrank_abstain._warnings import warn_of_excess, warn_user
from skrank_abstain.intake import take_labelled_rows
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import Scores, Table
from skrank_abstain.queries._expected_metrics import ListMetric, gains_of
from skrank_abstain.queries._list_ranker import Findings, ListRanker, mean_of_known
from skrank_abstain.tie_models import GradedRelevance

#: Largest number of thresholds to test.
_N_THRESHOLDS = 100


@dataclass(frozen=True, eq=False, repr=False)
class QueryResults(Table):
    """Table of queries, one row each, in order of first appearance.

    The columns of ``to_frame`` and ``to_dicts`` are ``qid``, ``risk``, ``accepted`` and
    the names of ``metrics``.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        The query.
    risk : ndarray of shape (n_queries,), float64
        One minus the expected metric of its list; lower is better, in [0, 1]. Given
        that the list holds a relevant item, and 1 if no draw has one.
    accepted : ndarray of shape (n_queries,), bool
        Whether the risk is at most the threshold; the other queries go to a person.
    metrics : dict of str to ndarray of shape (n_queries,), float64
        Of labelled queries: the ranker's metric and, for NDCG, also that of the other
        gain; names say the gain. Higher is better; NaN without a relevant item. A gain
        that does not apply to the relevance is left out.
    weight : ndarray of shape (n_queries,), float64
        Mean sample weight of the items; 1 without weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import QueryRiskRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> results = ranker.evaluate(new.data, new.target, qid=new.qid)
    >>> results.selective_risk < results.full_risk
    True
    >>> list(results.metrics)
    ['ndcg@10 (exponential gain)', 'ndcg@10 (linear gain)']
    """

    qid: NDArray[Any]
    risk: FloatArray
    accepted: BoolArray
    weight: FloatArray
    metrics: dict[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.risk.size)

    def __repr__(self) -> str:
        return f"QueryResults(n_queries={len(self)}, accepted={self.accepted.sum()})"

    def _columns(self) -> dict[str, NDArray[Any]]:
        own = {"qid": self.qid, "risk": self.risk, "accepted": self.accepted}
        return {**own, **self.metrics}

    @property
    def metric(self) -> FloatArray:
        """Ranker's metric of each list, (n_queries,); NaN without labels."""
        return next(iter(self.metrics.values()), np.full(len(self), np.nan))

    @property
    def coverage(self) -> float:
        """Share of the queries that are accepted; NaN without queries."""
        return mean_of_known(self.accepted.astype(np.float64), self.weight)

    @property
    def selective_risk(self) -> float:
        """Mean of one minus the metric of the accepted queries; NaN if none counts.

        Queries without a relevant item do not count.
        """
        metric = np.where(self.accepted, self.metric, np.nan)
        return 1 - mean_of_known(metric, self.weight)

    @property
    def full_risk(self) -> float:
        """The same if every query were accepted."""
        return 1 - mean_of_known(self.metric, self.weight)


class QueryRiskRanker(ListRanker[QueryResults]):
    """Ranker that leaves whole queries to a person if their lists are probably poor.

    The risk of a query is one minus the expected metric of its list, under a model of
    the grades of its items. Queries up to a threshold of the risk are accepted: a share
    ``coverage`` of them, or as many as a bound on the loss certifiably allows. With
    ``max_risk``, for new queries from the same source,

        P(E[1 - metric | accepted, holds a relevant item] <= max_risk) >= 1 - delta,

    over the draw of the queries that certify and do nothing else. Each query counts
    alike: it is accepted as a whole and has one metric, whatever its number of items.

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
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model and choose the start, in
        (0, 1). Only used with ``max_risk``.
    gain : {"exponential", "linear"} or callable, default="exponential"
        Gain of an item in NDCG: ``2 ** y - 1``, as in boosters, for whole grades from 0
        to 31; ``y``, as in scikit-learn, at least 0; or a function that maps an array
        of relevance to numbers of at least 0.
    tie_model : str or GradedRelevance, default="graded_relevance"
        "graded_relevance", "feature_aware_relevance", or an instance of either.
    prefit, relevance_bins, qid_col, verbose
        As in :class:`~skrank_abstain.BALToR`.
    calibration_size : float, default=0.25
        As in :class:`~skrank_abstain.BALToR`. Certification needs many queries: try
        0.5, or pass a fitted ranker.
    random_state : int, RandomState instance or None, default=None
        Splits the queries, shuffles the certification queries, and draws grades.

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
    n_group_queries_ : dict
        Number of certification queries of each group; one entry, ``None``, if ``fit``
        got no groups.
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

    `concentration.certify_risk` certifies ``max_risk``: the tuning queries fit the tie
    model, supply up to 100 thresholds and choose the first one to test; the others test
    one threshold after the other, each at level ``delta``, by betting. With ``groups``
    in ``fit`` the bound holds in every group at once (see
    :class:`~skrank_abstain.RiskControlledRanker`). O(n log n) for n items, and 1000
    draws of each.

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
    >>> queries = ranker.accept_queries(new.data, qid=new.qid)
    >>> queries
    QueryResults(n_queries=100, accepted=52)
    >>> for_a_person = queries.qid[~queries.accepted]
    >>> found = ranker.evaluate(new.data, new.target, qid=new.qid).metric
    >>> bool(np.nanmean(found[queries.accepted]) > np.nanmean(found))
    True
    """

    _own = ("coverage", "max_risk", "delta", "metric", "gain")

    # As in RiskControlledRanker: the groups of a splitter are other ones.
    __metadata_request__fit = {"qid": True, "groups": False}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        *,
        metric: str = "ndcg@10",
        coverage: float | None = None,
        max_risk: float | None = None,
        delta: float = 0.1,
        tuning_size: float = 0.3,
        gain: Any = "exponential",
        tie_model: Any = "graded_relevance",
        prefit: Any = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.coverage = coverage
        self.max_risk = max_risk
        self.delta = delta
        self.tuning_size = tuning_size
        self.gain = gain
        self.tie_model = tie_model
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None, groups: Any = None) -> Self:
        """Train the ranker unless it is fitted, and set the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better, as ``gain`` needs it.
        qid : array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order.
        groups : array-like of shape (n_items,), default=None
            Kind of query of each item, such as a site, the same for all items of a
            query; ``max_risk`` is then certified in every group.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input is invalid, both or none of ``coverage`` and
            ``max_risk`` are given, or ``gain`` does not apply to the relevance.
        TypeError
            If the tie model is not a model of grades.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        UserWarning
            If nothing could be certified, or many queries of equal risk make the
            coverage exceed the target.
        """
        self._check_target()
        if groups is not None and self.max_risk is None:
            raise ValueError(
                "groups must be None with coverage, which promises nothing. Pass "
                "max_risk, which is certified in each group, or no groups."
            )
        # Parameters that are set after fit have no effect on the fitted ranker.
        self._metric, self._gain = self.metric, self.gain
        rows = take_labelled_rows(self, X, y, qid)
        gains_of(rows.y, self.gain)  # raises before anything is trained
        size = 0.0 if self.max_risk is None else self.tuning_size
        parts, data = self._learn(rows, size, groups)
        self._draw_seed = data.seed
        self._groups = data.groups
        self._gain_of_grade = _gains_by_grade(self.tie_model_, parts[0].y, self.gain)
        self._risks = [self._risk(part) for part in parts]
        self._losses = [1 - self._metrics_of(part)[self._named] for part in parts]
        self.n_irrelevant_queries_ = int(np.isnan(self._losses[-1]).sum())
        return self._end_fit()

    def at_coverage(self, coverage: float) -> Self:
        """Return a fitted copy that accepts another share of the queries.

        Parameters
        ----------
        coverage : float
            Share of the queries to accept, in (0, 1].

        Returns
        -------
        ranker : QueryRiskRanker
            Without a bound. Shares the fitted models and the risks of the calibration
            queries; nothing is rescored.
        """
        return self._moved(coverage=coverage, max_risk=None)

    def at_risk(self, max_risk: float) -> Self:
        """Return a fitted copy with another bound.

        Parameters
        ----------
        max_risk : float
            Bound on the mean of one minus the metric, in (0, 1).

        Returns
        -------
        ranker : QueryRiskRanker
            Shares the fitted models and the risks of the calibration queries; nothing
            is rescored. The promise holds for each bound by itself, not for the best of
            several.

        Raises
        ------
        ValueError
            If ``fit`` had no ``max_risk``: no queries were set aside to certify.
        """
        return self._moved(coverage=None, max_risk=max_risk)

    @property
    def n_group_queries_(self) -> dict[Any, int]:
        """Number of certification queries of each group."""
        check_is_fitted(self, "threshold_")
        return self._groups.counts()

    def _set_threshold(self) -> None:
        """Set the threshold from the risks and losses of the calibration queries."""
        self._check_target()
        target = self.coverage or 1.0
        if self.max_risk is not None:
            self.threshold_ = self._certify(self.max_risk)
        elif target == 1:
            self.threshold_ = 1.0  # no risk is higher: new queries are accepted too
        else:
            found = np.quantile(self._risks[-1], target, method="inverted_cdf")
            self.threshold_ = float(found)
        self.certified_ = self.max_risk is not None and self.threshold_ > -np.inf
        self.coverage_ = float((self._risks[-1] <= self.threshold_).mean())
        why = "many have the same risk, as lists of one item do. Leave these out of X."
        warn_of_excess("queries", self.coverage_, target, self.n_queries_, why)

    def accept_queries(self, X: Any, *, qid: Any = None) -> QueryResults:
        """Return the risk of each query, and whether it is accepted.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        queries : QueryResults
            A table: ``qid``, ``risk``, ``accepted``.

        Raises
        ------
        ValueError
            If columns do not match ``fit``.
        """
        items = self._scored(X, qid)
        return self._results(items, np.ones(items.queries.n_queries))

    query_risk = accept_queries

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
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
        found = self.evaluate(X, y, qid=qid, sample_weight=sample_weight)
        if np.isnan(found.selective_risk):
            reason = "no accepted query has a relevant item"
            return undefined(f"The mean {self._metric}", reason)
        return 1 - found.selective_risk

    def _results(self, items: Scores, weight: FloatArray) -> QueryResults:
        metrics = {} if items.y is None else self._metrics_of(items)
        risk = self._risk(items)
        qid, accepted = items.queries.values, risk <= self.threshold_
        return QueryResults(qid, risk, accepted, weight, metrics)

    def _findings(self, found: QueryResults, *, labelled: bool) -> Findings:
        ones, loss, name = np.ones(found.risk.size), 1 - found.metric, self._named
        decided = found.accepted.astype(np.float64)
        expected = f"expected one minus {name}"
        ratios = {
            "coverage: share of queries accepted": (decided, ones),
            f"{expected}, accepted queries": (found.risk * decided, decided),
            f"{expected}, all queries": (found.risk, ones),
        }
        short = (
            f"{decided.sum():.0f} of {decided.size} queries are accepted; "
            f"{decided.size - decided.sum():.0f} are left to a person"
        )
        if labelled:
            ratios[f"one minus {name}, accepted queries"] = loss * decided, decided
            ratios[f"one minus {name}, all queries"] = loss, ones
            none = np.isnan(loss).sum()
            short += f"; {none} queries hold no relevant item and have no {name}"
        rule = [
            f"a query is accepted if its risk, one minus the expected {name}, is at "
            f"most {self.threshold_:.6g}",
            f"share of calibration queries accepted: {self.coverage_:.4f} of "
            f"{self.n_queries_}",
        ]
        limit, bound = self._parameters["max_risk"], None
        if labelled and self.certified_:
            bound = f"one minus {name}, accepted queries", limit, False
        return Findings(short, rule, self._promise(), ratios, 1.0, bound)

    def _promise(self) -> list[str]:
        """Return the lines of a page about the promise."""
        then = self._parameters
        if then["max_risk"] is None:
            return [
                "NOTHING IS PROMISED about the metric: the share of new queries "
                "accepted is about the target.",
                f"{self.n_queries_} queries fitted the tie model and set a threshold.",
            ]
        promised = "NOT CERTIFIED. Nothing is accepted, so nothing is promised."
        if self.certified_:
            promised = (
                f"CERTIFIED. With a probability of at least {1 - then['delta']:g}, "
                "over the draw of the certification queries, the mean of one minus "
                f"{self._named} over new accepted queries that hold a relevant item "
                f"is at most {then['max_risk']:g}, each query counting alike."
            )
        lines = [
            promised,
            f"{self.n_queries_} queries certified and did nothing else; "
            f"{self.n_tuning_queries_} others fitted the tie model and chose where the "
            "search starts.",
        ]
        counts = self.n_group_queries_
        if None not in counts:
            listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
            lines.append(f"groups: {listed}; the bound is for each of them at once")
        return lines

    def _check_target(self) -> None:
        """Check the parameters."""
        ListMetric.parse(self.metric)
        if (self.coverage is None) == (self.max_risk is None):
            raise ValueError(
                "coverage or max_risk must be given, and not both, got "
                f"coverage={shown(self.coverage)} and max_risk={shown(self.max_risk)}."
            )
        if self.max_risk is None:
            check_fraction(self.coverage, "coverage", include_one=True)
        else:
            for name in ("max_risk", "delta", "tuning_size"):
                check_fraction(getattr(self, name), name)

    def _certify(self, max_risk: float) -> float:
        """Return the largest certified threshold; minus infinity for none."""
        if len(self._risks) == 1:
            raise ValueError(
                "max_risk must be given in fit already to have at_risk: its promise "
                "needs queries that did not fit the tie model, and with coverage= all "
                "of them did. Call fit again with max_risk=."
            )
        concentration.check_chance(self.delta, "delta")
        levels = np.linspace(0, 1, _N_THRESHOLDS)
        tuning = self._risks[0]
        thresholds = np.unique(np.quantile(tuning, levels, method="inverted_cdf"))
        thresholds[-1] = 1.0
        tables = []
        for risk, loss in zip(self._risks, self._losses, strict=True):
            # Queries without a relevant item have no metric and no part in the bound.
            known = ~np.isnan(loss)
            accepted = (risk[known, None] <= thresholds).astype(np.float64)
            tables.append((accepted, accepted * loss[known, None]))
        if not tables[0][0].size:
            raise ValueError(
                "y must give at least one of the queries that fit the tie model a "
                f"relevant item, got none in {tuning.size}. Pass more queries."
            )
        groups = self._groups.take(known)
        counts = groups.counts()
        # The test bets on one query after the other: their order must be random.
        order = np.random.default_rng(self._draw_seed).permutation(groups.code.size)
        accepted, lost = tables[1]
        found = concentration.certify_risk(
            accepted[order],
            lost[order],
            concentration.choose_start(*tables[0], max_risk=max_risk),
            max_risk=max_risk,
            delta=self.delta,
            groups=groups.code[order],
        )
        # A group without a query that counts was not tested.
        if found is not None and min(counts.values()):
            return float(thresholds[found])
        advice = concentration.advise_on_certification(
            max_risk, self.delta, counts, tables[0]
        )
        warn_user(
            f"No threshold could be certified for max_risk={max_risk:g} at "
            f"delta={self.delta:g} on {order.size} queries with a relevant item: the "
            f"ranker abstains on every query. {advice}"
        )
        return -np.inf

    def _risk(self, items: Scores) -> FloatArray:
        metric, weights = ListMetric.parse(self._metric), self.tie_model_.node_weights_
        gains, seed, expected = self._gain_of_grade, self._draw_seed, []
        for rows, proba in self._graded(items, by=items.score):
            own = items.score[rows]
            expected.append(metric.expected(proba, weights, gains, own, seed=seed))
        return 1 - np.array(expected)

    @property
    def _named(self) -> str:
        """Name of the metric, with its gain."""
        return ListMetric.parse(self._metric).named(self._gain)

    def _metrics_of(self, items: Scores) -> dict[str, FloatArray]:
        """Return the metric of each list, that of the ranker's own gain first."""
        metric = ListMetric.parse(self._metric)

        def values(gain: Any) -> FloatArray:
            return metric.by_query(items.score, gains_of(items.y, gain), items.queries)

        found = {self._named: values(self._gain)}
        for gain in ("exponential", "linear"):
            if (name := metric.named(gain)) not in found:
                with suppress(ValueError):  # relevance that has no such gain
                    found[name] = values(gain)
        return found


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
    return np.bincount(grades, gains_of(y, gain)) / np.bincount(grades)
