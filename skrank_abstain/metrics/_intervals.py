"""Confidence intervals of the metrics, with the query as the unit of sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_fraction,
    check_positive_int,
    encode_qid,
)
from skrank_abstain.concentration import (
    cluster_bootstrap,
    ratio_interval,
)
from skrank_abstain.metrics._pair_arrays import undefined

#: A number, or an `Estimate` where an interval was asked for. Only the value of an
#: argument tells which, so that type checkers are told nothing.
MetricValue: TypeAlias = Any

#: A number that depends on how often each query counts, shape (n_queries,).
QueryFunction: TypeAlias = Callable[[FloatArray], float]


class Estimate(NamedTuple):
    """A metric with a confidence interval over queries.

    Metrics on plain arrays return it where ``interval`` is not None. Pairs of a query
    share its items, so that whole queries, not pairs, are taken to be i.i.d.

    Attributes
    ----------
    value : float or ndarray
        What the metric is without an interval.
    low, high : float or ndarray
        NaN where the value is undefined or there are fewer than two queries.

    Notes
    -----
    These parameters of the metrics say how the interval is made:

    interval : {None, "delta", "bootstrap"}, default=None
        "delta": for a ratio of sums over queries, the linearised ratio plus or minus
        a t quantile; for ``average="query"``, the t interval of the mean over the
        queries that have a value. Fast and exact to repeat, not clipped to the range
        of the metric, and not available for areas under curves.
        "bootstrap": percentiles over resamples of whole queries (of those that have a
        value, for ``average="query"``); an area is computed anew for each resample.
    confidence : float, default=0.95
        In (0, 1). Each number has an interval of its own.
    n_resamples : int, default=2000
        Number of resamples of "bootstrap".
    random_state : None, int or RandomState, default=None
        Draws the resamples of "bootstrap".

    ``qid`` is needed for either. With fewer than about thirty queries both are too
    narrow, the bootstrap more so. "delta" costs O(n_pairs) and "bootstrap" of a ratio
    O(n_pairs + n_resamples * n_queries), that of an area O(n_resamples * n_pairs) in
    O(n_pairs) memory.

    See Also
    --------
    skrank_abstain.concentration.ratio_interval : "delta".
    skrank_abstain.concentration.paired_ratio_test : Which of two rankers is better.

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_score
    >>> estimate = coverage_score(
    ...     [True, True, False, True, False, True], qid=[1, 1, 2, 2, 3, 3],
    ...     interval="delta", confidence=0.8,
    ... )
    >>> round(estimate.value, 2), round(estimate.low, 2), round(estimate.high, 2)
    (0.67, 0.35, 0.98)
    """

    value: Any
    low: Any
    high: Any


@dataclass(frozen=True, eq=False)
class OverQueries:
    """How an interval is made, and the number of each pair's query."""

    method: str
    confidence: float
    n_resamples: int
    random_state: Any
    codes: IntArray

    def ratio(
        self,
        value: float,
        part: FloatArray,
        whole: FloatArray,
        weight: FloatArray,
        average: str = "pooled",
    ) -> Estimate:
        """Return a ratio of sums, or the mean over queries of ratios, with bounds.

        Parameters
        ----------
        value : float
        part, whole, weight : ndarray of shape (n_pairs,), float64
            What each pair adds to the sums, and its own weight: queries of no weight
            are left out.
        average : {"pooled", "query"}, default="pooled"
        """
        parts, wholes, weights = (
            np.bincount(self.codes, weights=column).astype(np.float64)
            for column in (part, whole, weight)
        )
        # The mean of ratios is a ratio of sums too: of the ratios, over the number of
        # queries that have one.
        if average == "query":
            defined = wholes > 0
            return self.mean(value, parts[defined] / wholes[defined])
        # They would count as queries in the degrees of freedom.
        present = weights > 0
        return Estimate(value, *self._bounds(parts[present], wholes[present]))

    def mean(self, value: float, values: FloatArray) -> Estimate:
        """Return a mean over queries with bounds."""
        return Estimate(value, *self._bounds(values, np.ones(values.size)))

    def resample(self, value: float, area: QueryFunction) -> Estimate:
        """Return a function of how often each query counts with bootstrap bounds."""
        # Codes are numbered without gaps; of no pairs there is no largest.
        n_queries = int(self.codes.max(initial=-1)) + 1
        return Estimate(value, *self._bootstrap(n_queries, lambda b: [*map(area, b)]))

    def _bounds(self, part: FloatArray, whole: FloatArray) -> tuple[float, float]:
        if self.method == "delta":
            return ratio_interval(part, whole, confidence=self.confidence)
        return self._bootstrap(part.size, lambda times: times @ part / (times @ whole))

    def _bootstrap(self, n_queries: int, statistic: Any) -> tuple[float, float]:
        return cluster_bootstrap(
            statistic,
            n_queries,
            n_resamples=self.n_resamples,
            confidence=self.confidence,
            random_state=self.random_state,
        )


def check_interval(
    interval: str | None,
    confidence: float,
    n_resamples: int,
    random_state: Any,
    qid: Any,
    n_pairs: int,
    *,
    area: bool = False,
) -> OverQueries | None:
    """Return how the interval is made, or None where none is asked for."""
    # The other arguments are not looked at: their defaults must not need a qid.
    if interval is None:
        return None
    check_choice(interval, "interval", ("delta", "bootstrap"))
    # An area is a function of the whole order, of which no query has a part.
    if area and interval == "delta":
        raise ValueError(
            'interval must be None or "bootstrap" for an area under a curve, which is '
            'no ratio of sums over queries, got "delta".'
        )
    if qid is None:
        raise ValueError(
            f"qid= must be given for interval={interval!r}, which is over queries, "
            "got None."
        )
    confidence = check_fraction(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    codes, _ = encode_qid(qid, n_pairs, unit="pair")
    return OverQueries(interval, confidence, n_resamples, random_state, codes)


def mean_over_queries(
    area: Callable[[FloatArray, FloatArray, IntArray], QueryFunction],
    cost: FloatArray,
    risk: FloatArray,
    codes: IntArray | None,
    name: str,
    over: OverQueries | None,
) -> float | Estimate:
    """Return the area of all pairs, or the mean of the queries' areas.

    Parameters
    ----------
    area : callable
        Takes the cost, the risk and the number of the query of pairs.
    cost, risk : ndarray of shape (n_pairs,), float64
    codes : ndarray of shape (n_pairs,), int64, or None
        Number of each pair's query where the mean is asked for.
    name : str
        What the area is called, for the warning if there are no pairs.
    over : OverQueries or None
    """
    if cost.size == 0:
        value = undefined(name)
        return value if over is None else over.mean(value, np.empty(0))
    if codes is None:
        queries = np.zeros(cost.size, dtype=np.int64) if over is None else over.codes
        of_queries = area(cost, risk, queries)
        value = of_queries(np.ones(queries.max() + 1))
        return value if over is None else over.resample(value, of_queries)
    # One sort, and then slices: masks for each query would cost queries times pairs.
    order = np.argsort(codes, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    one = np.ones(1)
    values = [area(cost[q], risk[q], np.zeros_like(q))(one) for q in pieces]
    value = float(np.mean(values))
    return value if over is None else over.mean(value, np.array(values))
