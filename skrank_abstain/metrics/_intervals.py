"""Averages of the metrics over pairs or queries, and their confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_fraction,
    check_positive_int,
    check_sample_weight,
    check_vector,
    encode_qid,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval

#: A number, or an `Estimate` with an interval. The value of an argument decides, which
#: type checkers cannot know.
MetricValue: TypeAlias = Any

#: An area as a function of how often each query counts, shape (n_queries,).
Area: TypeAlias = Callable[[FloatArray], float]


class Estimate(NamedTuple):
    """A metric with a confidence interval over queries.

    Metrics on plain arrays return it if ``interval`` is not None. Pairs of a query
    share its items, so whole queries are the i.i.d. sample, not pairs.

    Attributes
    ----------
    value : float or ndarray
        The metric, as without an interval.
    low, high : float or ndarray
        NaN where the value is undefined or there are fewer than two queries.

    Notes
    -----
    These parameters of the metrics say how the interval is made; both kinds need
    ``qid``:

    interval : {None, "delta", "bootstrap"}, default=None
        "delta": the linearised ratio plus or minus a t quantile; for
        ``average="query"``, the t interval of the mean over the queries that have a
        value. Deterministic, O(n_pairs), not clipped to the range of the metric, and
        not available for areas under curves.
        "bootstrap": percentiles over resamples of whole queries (for
        ``average="query"``, of queries that have a value). O(n_pairs + n_resamples *
        n_queries) for a ratio, O(n_resamples * n_pairs) for an area.
    confidence : float, default=0.95
        In (0, 1). Each number has its own interval.
    n_resamples : int, default=2000
        Number of resamples of "bootstrap".
    random_state : None, int or RandomState, default=None
        Draws the resamples of "bootstrap".

    With fewer than about thirty queries both are too narrow, the bootstrap more so.

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
class Averaging:
    """Queries of pairs, and the options of averages and intervals."""

    qid: Any
    average: str
    interval: str | None
    #: Options of `cluster_bootstrap`.
    options: dict[str, Any]

    def ratio(
        self,
        part: FloatArray,
        whole: FloatArray,
        weight: FloatArray,
        name: str,
        zero_division: float = np.nan,
        limits: tuple[float, float] = (0.0, 1.0),
    ) -> MetricValue:
        """Return a ratio of sums over pairs, or the mean over queries of such ratios.

        Parameters
        ----------
        part, whole : ndarray of shape (n_pairs,), float64
            Contributions of each pair to the two sums.
        weight : ndarray of shape (n_pairs,), float64
            Weight of each pair; intervals leave out queries of no weight.
        name : str
            For the warning if no pair counts.
        zero_division : float, default=np.nan
            The value in that case.
        limits : (float, float), default=(0.0, 1.0)
            Of the ratio; an interval ends there.
        """
        by_query, codes = self.average == "query", self._codes(part.size)
        unit = codes if by_query else np.zeros_like(codes)
        parts, wholes = _add_up(part, unit), _add_up(whole, unit)
        # A query without an accepted pair has no accuracy: 0 or 1 would punish or
        # reward abstention.
        defined = wholes > 0
        ratios = parts[defined] / wholes[defined]
        value = float(ratios.mean()) if ratios.size else undefined(name, zero_division)
        if self.interval is None:
            return value
        if by_query:
            # A mean is a ratio of sums, too: the values over their number.
            return Estimate(value, *self._bounds(ratios, np.ones(ratios.size), limits))
        # Queries without weight would add degrees of freedom.
        present = _add_up(weight, codes) > 0
        parts, wholes = (_add_up(column, codes)[present] for column in (part, whole))
        return Estimate(value, *self._bounds(parts, wholes, limits))

    def area(
        self,
        area: Callable[[FloatArray, FloatArray, IntArray], Area],
        cost: FloatArray,
        risk: FloatArray,
        name: str,
    ) -> MetricValue:
        """Return the area of all pairs, or the mean of the areas of the queries.

        Parameters
        ----------
        area : callable
            Takes the cost, the risk and the query number of pairs.
        cost, risk : ndarray of shape (n_pairs,), float64
        name : str
            For the warning if there are no pairs.
        """
        if self.interval == "delta":
            raise ValueError(
                'interval must be None or "bootstrap" for an area under a curve, which '
                'is not a ratio of sums over queries, got "delta".'
            )
        if cost.size == 0:
            value = undefined(name)
            return value if self.interval is None else Estimate(value, np.nan, np.nan)
        codes = self._codes(cost.size)
        if self.average == "query":
            # Sort once and slice: masks would cost queries times pairs.
            order = np.argsort(codes, kind="stable")
            pieces = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
            values = [
                area(cost[q], risk[q], np.zeros_like(q))(np.ones(1)) for q in pieces
            ]
            value = float(np.mean(values))
            if self.interval is None:
                return value
            return Estimate(
                value, *self._bounds(np.array(values), np.ones(len(values)))
            )
        of_queries = area(cost, risk, codes)
        n_queries = int(codes.max()) + 1
        value = of_queries(np.ones(n_queries))
        if self.interval is None:
            return value
        ends = cluster_bootstrap(
            lambda block: [of_queries(times) for times in block],
            n_queries,
            **self.options,
        )
        return Estimate(value, *ends)

    def _codes(self, n_pairs: int) -> IntArray:
        """Return the number of the query of each pair; all are one without ``qid``."""
        if self.qid is None:
            return np.zeros(n_pairs, dtype=np.int64)
        return encode_qid(self.qid, n_pairs, unit="pair")[0]

    def _bounds(
        self,
        part: FloatArray,
        whole: FloatArray,
        limits: tuple[float, float] = (-np.inf, np.inf),
    ) -> tuple[Any, Any]:
        if self.interval == "delta":
            confidence = self.options["confidence"]
            # Symmetric about the ratio, which may be near a limit.
            low, high = ratio_interval(part, whole, confidence=confidence)
            return max(low, limits[0]), min(high, limits[1])
        return cluster_bootstrap(
            lambda times: times @ part / (times @ whole), part.size, **self.options
        )


def check_average(
    qid: Any,
    average: str,
    interval: str | None,
    confidence: float,
    n_resamples: int,
    random_state: Any,
) -> Averaging:
    """Check the parameters that all metrics share."""
    check_choice(average, "average", ("pooled", "query"))
    if qid is None and (average == "query" or interval is not None):
        raise ValueError(
            "qid must be given for averages and intervals over queries, got None."
        )
    options = {"random_state": random_state}
    if interval is not None:
        check_choice(interval, "interval", ("delta", "bootstrap"))
        options["confidence"] = check_fraction(confidence, "confidence")
        options["n_resamples"] = check_positive_int(n_resamples, "n_resamples")
    return Averaging(qid, average, interval, options)


def _add_up(column: FloatArray, codes: IntArray) -> FloatArray:
    return np.bincount(codes, weights=column).astype(np.float64)


def check_accepted(accepted: ArrayLike, n_pairs: int | None = None) -> BoolArray:
    """Return the mask of accepted pairs; it must be boolean, or empty."""
    array = check_vector(accepted, "accepted", n_pairs, unit="pair")
    # A mask of 0 and 1 would index rows 0 and 1. An empty list is not boolean.
    if array.size and array.dtype != np.bool_:
        raise TypeError(f"accepted must be boolean, got dtype {array.dtype}.")
    return np.asarray(array, dtype=np.bool_)


def pair_weight(weight: ArrayLike | None, n_pairs: int) -> FloatArray:
    """Return non-negative pair weights, ones by default."""
    checked = check_sample_weight(weight, n_pairs, unit="pair")
    return np.ones(n_pairs) if checked is None else checked


def undefined(name: str, zero_division: float = np.nan) -> float:
    """Return ``zero_division``, with a warning where it is NaN."""
    if np.isnan(zero_division):
        warn_user(
            f"{name} is undefined and set to NaN: no pair counts towards it.",
            UndefinedMetricWarning,
        )
    return zero_division
