"""Shares and proper scores of pair decisions, their averages and intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain import concentration
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_labels,
    check_proba,
    check_sample_weight,
    check_vector,
    encode_qid,
)
from skrank_abstain._warnings import warn_user

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
        value. Deterministic, O(n_pairs), clipped to the range of the metric, and not
        available for areas under curves.
        "bootstrap": percentiles over 2,000 resamples of whole queries (for
        ``average="query"``, of queries that have a value). Each takes O(n_queries) for
        a ratio, O(n_pairs) for an area.
    confidence : float, default=0.95
        In (0, 1). Each number has its own interval.
    random_state : None, int or RandomState, default=None
        Draws the resamples of "bootstrap".

    With fewer than about thirty queries both are too narrow, the bootstrap more so.
    Where n queries show no spread at all, such as no error, the interval of a share
    from 0 to 1 allows for the part of others that they may have missed, as that of
    ``theory.auc_confidence_interval`` does.

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


def selective_accuracy_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of correct predictions among accepted pairs.

    Higher is better, in [0, 1]; NaN, with a warning, where no pair is accepted.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        Over all pairs that count (here the accepted ones), or the mean of the queries'
        values; queries without such a pair are left out.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.
    interval : {None, "delta", "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, random_state : float, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    accuracy : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, a label is not -1, 0 or +1, or ``qid`` is missing.

    See Also
    --------
    coverage_score : How many pairs were accepted.

    Notes
    -----
    With weights w_p, a_p = 1 for accepted pairs and 0 for others: sum over pairs of
    w_p a_p [y_pred = y_true], over the sum of w_p a_p. Q1 of [1]_. O(n_pairs). An order
    of two equal items counts as wrong, and a tie called on them as right, whatever the
    loss, as in ``evaluate(...).accuracy`` and ``selective_accuracy_scorer``. Where many
    pairs are tied and none may be called a tie, report one minus `selective_auc_score`,
    the discordance.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_accuracy_score
    >>> selective_accuracy_score([1, 0, -1], [1, 1, -1], [True, False, True])
    1.0
    """
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    mask = check_accepted(accepted, truth.size)
    weight = pair_weight(sample_weight, truth.size)
    over = check_average(qid, average, interval, confidence, random_state)
    decided = weight * mask
    return over.ratio(decided * (truth == predicted), decided, weight, "accuracy")


def coverage_score(
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of pairs that were accepted.

    In [0, 1]; NaN, with a warning, for no pairs. At equal accuracy a higher coverage is
    better.

    Parameters
    ----------
    accepted, qid, average, sample_weight
        As in `selective_accuracy_score`.
    interval, confidence, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    coverage : float, or Estimate with an interval

    Notes
    -----
    With weights w_p, a_p = 1 for accepted pairs and 0 for others: sum(w_p a_p) /
    sum(w_p). Q2 of Ferrara et al. (2025), as `selective_accuracy_score`. O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_score
    >>> coverage_score([True, True, False, True])
    0.75
    """
    mask = check_accepted(accepted)
    weight = pair_weight(sample_weight, mask.size)
    over = check_average(qid, average, interval, confidence, random_state)
    return over.ratio(weight * mask, weight, weight, "coverage")


def class_acceptance(
    y_true: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of each true label among accepted pairs.

    In [0, 1]. If a share differs from the share among all pairs, abstention spares
    one outcome at the expense of the others.

    Parameters
    ----------
    y_true, accepted, qid, sample_weight
        As in `selective_accuracy_score`.
    interval, confidence, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    fraction : ndarray of shape (3,), float64, or Estimate of three such arrays
        For the labels -1, 0, +1; sums to one, or NaN, with a warning, where no pair is
        accepted. Each share has an interval of its own.

    Notes
    -----
    For the label l, with weights w_p and a_p = 1 for accepted pairs and 0 for others:
    sum over pairs of w_p a_p [y_true = l], over the sum of w_p a_p. Q3 of Ferrara et
    al. (2025), as `selective_accuracy_score`. The shares of -1 and +1 depend on which
    item of a pair stands left; their sum, the share of strict pairs, does not.
    O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.metrics import class_acceptance
    >>> class_acceptance([1, 0, -1, 1], [True, True, False, True])
    array([0.        , 0.33333333, 0.66666667])
    """
    truth = check_labels(y_true, "y_true")
    weight = pair_weight(sample_weight, truth.size)
    decided = weight * check_accepted(accepted, truth.size)
    over = check_average(qid, "pooled", interval, confidence, random_state)
    if not decided.any():
        unknown = np.full(3, undefined("class_acceptance"))
        return unknown if interval is None else Estimate(unknown, unknown, unknown)
    # Three intervals, not a region: a reader compares one share at a time.
    each = [
        over.ratio(decided * (truth == label), decided, weight, "class_acceptance")
        for label in (-1, 0, 1)
    ]
    if interval is None:
        return np.array(each)
    return Estimate(*map(np.array, zip(*each, strict=True)))


def selective_auc_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the AUC over accepted pairs of different relevance.

    Higher is better, in [0, 1]; NaN, with a warning, where there is no such pair. The
    right order counts 1, the wrong order 0, a predicted tie 1/2.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}. Pairs with label 0 do not count.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}; equal scores are a tie.
    accepted, qid, average, sample_weight
        As in `selective_accuracy_score`.
    interval, confidence, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    auc : float, or Estimate with an interval

    See Also
    --------
    selective_accuracy_score : Counts true ties too, and a predicted tie as an error.
    sklearn.metrics.roc_auc_score : The same for one query of binary relevance, all
        pairs accepted, and labels that are the signs of score differences.

    Notes
    -----
    With weights w_p, the sum over accepted pairs of different relevance of
    w_p (1 + y_true y_pred) / 2, over the sum of their w_p: the pairwise form of the AUC
    [1]_, restricted to accepted pairs. O(n_pairs).

    References
    ----------
    .. [1] Hanley and McNeil (1982). "The meaning and use of the area under a receiver
       operating characteristic (ROC) curve". Radiology 143(1).
       doi:10.1148/radiology.143.1.7063747.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_auc_score
    >>> selective_auc_score([1, 0, -1, 1], [1, 1, 0, -1], [True, True, True, False])
    0.75
    """
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    # Pairs of equal relevance have no right order and are in neither sum.
    mask = check_accepted(accepted, truth.size) & (truth != 0)
    weight = pair_weight(sample_weight, truth.size)
    over = check_average(qid, average, interval, confidence, random_state)
    strict = weight * mask
    # truth * predicted is +1 in the right order, -1 in the wrong one, 0 for a tie.
    ordered = strict * (1 + truth * predicted) / 2
    return over.ratio(ordered, strict, weight, "selective AUC")


def correctness_completeness_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> tuple[MetricValue, MetricValue]:
    """Return how right the accepted orders are, and how many there are.

    Higher is better in both. Correctness is in [-1, 1]: 1 if every given order is
    right, -1 if every one is wrong, 0 for guesses. Completeness is in [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}. True ties do not count.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}. A predicted tie gives no order.
    accepted, qid, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    correctness : float, or Estimate with an interval
        ``(C - D) / (C + D)`` of ``C`` concordant and ``D`` discordant pairs; NaN, with
        a warning, without any.
    completeness : float, or Estimate with an interval
        ``(C + D)`` over the number of pairs of different relevance; NaN, with a
        warning, without any.

    See Also
    --------
    selective_auc_score : ``(correctness + 1) / 2`` where no tie is predicted.

    Notes
    -----
    C and D count accepted pairs of different relevance for which an order is
    predicted. Correctness is the gamma rank correlation of Goodman and Kruskal over
    these pairs [1]_. O(n_pairs).

    References
    ----------
    .. [1] Cheng, Rademaker, De Baets and Hüllermeier (2010). "Predicting Partial
       Orders: Ranking with Abstention". ECML PKDD.
       doi:10.1007/978-3-642-15880-3_20.

    Examples
    --------
    >>> from skrank_abstain.metrics import correctness_completeness_score
    >>> correctness_completeness_score([1, 1, -1, 0], [1, 1, 1, 1], [True] * 4)
    (0.3333333333333333, 1.0)
    """
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    over = check_average(qid, "pooled", interval, confidence, random_state)
    mask = check_accepted(accepted, truth.size)
    # +1 for a concordant pair, -1 for a discordant one, 0 without an order to judge:
    # the absolute values sum to C + D.
    agreement = (truth * predicted * mask).astype(np.float64)
    given, strict = np.abs(agreement), np.abs(truth).astype(np.float64)
    # No pair weights: the published measures count pairs.
    one = np.ones(truth.size)
    return (
        over.ratio(agreement, given, one, "correctness", limits=(-1.0, 1.0)),
        over.ratio(given, strict, one, "completeness"),
    )


def pairwise_log_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the mean negative log probability of the true label.

    Lower is better, from 0 to 36.04 nats; NaN, with a warning, without a pair of
    positive weight.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1, in this order.
    qid, average, sample_weight, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    loss : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If a row of ``proba`` is negative or does not sum to one within 1e-6, and as in
        `selective_accuracy_score`.

    See Also
    --------
    pairwise_brier_loss : Bounded, so that no single pair dominates.
    sklearn.metrics.log_loss : The same, without queries.

    Notes
    -----
    With weights w_p, minus the sum of w_p ln P(y_true), over the sum of the w_p.
    As in scikit-learn, probabilities are clipped to ``[eps, 1 - eps]`` with the ``eps``
    of float64, so that a label that was called impossible costs ``-ln(eps) = 36.04``:
    a tie model without ties pays that for each tied pair. Strictly proper [1]_.
    O(n_pairs).

    References
    ----------
    .. [1] Gneiting and Raftery (2007). "Strictly Proper Scoring Rules, Prediction,
       and Estimation". JASA 102. doi:10.1198/016214506000001437.

    Examples
    --------
    >>> from skrank_abstain.metrics import pairwise_log_loss
    >>> round(pairwise_log_loss([1, 0], [[0.25, 0.25, 0.5], [0.25, 0.5, 0.25]]), 4)
    0.6931
    """
    truth, rows = _check_inputs(y_true, proba)
    weight = pair_weight(sample_weight, truth.size)
    over = check_average(qid, average, interval, confidence, random_state)
    # scikit-learn's clipping, so that the two agree to the last digit.
    eps = np.finfo(np.float64).eps
    # Column 0, 1, 2 for the label -1, 0, +1.
    likelihood = rows[np.arange(truth.size), truth + 1]
    costs = -weight * np.log(np.clip(likelihood, eps, 1 - eps))
    return over.ratio(costs, weight, weight, "pairwise log loss", limits=(0.0, np.inf))


def pairwise_brier_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    """Return the mean squared error of the probabilities, summed over the labels.

    Lower is better, in [0, 2]; NaN, with a warning, without a pair of positive weight.

    Parameters
    ----------
    y_true, proba
        As in `pairwise_log_loss`.
    qid, average, sample_weight, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    loss : float, or Estimate with an interval

    See Also
    --------
    pairwise_log_loss : Punishes a certain error far more.

    Notes
    -----
    With weights w_p, the sum over pairs of w_p times the sum over the labels k of
    (P(k) - [y_true = k])^2, over the sum of the w_p: the original definition [1]_, over
    all three labels. Without ties it is twice the score over the positive class alone.
    Strictly proper. O(n_pairs).

    References
    ----------
    .. [1] Brier (1950). "Verification of Forecasts Expressed in Terms of
       Probability". Monthly Weather Review 78(1).

    Examples
    --------
    >>> from skrank_abstain.metrics import pairwise_brier_loss
    >>> pairwise_brier_loss([1, 0], [[0.0, 0.0, 1.0], [0.25, 0.5, 0.25]])
    0.1875
    """
    truth, rows = _check_inputs(y_true, proba)
    weight = pair_weight(sample_weight, truth.size)
    over = check_average(qid, average, interval, confidence, random_state)
    costs = weight * ((rows - np.eye(3)[truth + 1]) ** 2).sum(axis=1)
    return over.ratio(costs, weight, weight, "pairwise Brier loss", limits=(0.0, 2.0))


def _check_inputs(y_true: ArrayLike, proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return labels and probabilities, the latter scaled to sum to exactly one."""
    truth = check_labels(y_true, "y_true")
    rows = check_proba(proba, truth.size)
    # The check allows 1e-6, which would count as skill in a log loss.
    return truth, rows / rows.sum(axis=1, keepdims=True)


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
        limits : (float, float), default=(0.0, 1.0)
            Of the ratio; an interval ends there.
        """
        by_query = self.average == "query"
        codes = encode_qid(self.qid, part.size, unit="pair")[0]
        unit = codes if by_query else np.zeros_like(codes)
        parts, wholes = _add_up(part, unit), _add_up(whole, unit)
        # A query without an accepted pair has no accuracy: 0 or 1 would punish or
        # reward abstention.
        defined = wholes > 0
        ratios = parts[defined] / wholes[defined]
        if by_query and ratios.size:
            return self._mean(ratios, limits)
        value = float(ratios.mean()) if ratios.size else undefined(name)
        # Queries without weight would add degrees of freedom.
        present = _add_up(weight, codes) > 0
        parts, wholes = (_add_up(column, codes)[present] for column in (part, whole))
        return self._estimate(value, parts, wholes, limits)

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
        if self.interval is not None:  # an area is no ratio of sums over queries
            check_choice(self.interval, "interval of an area", ("bootstrap",))
        if cost.size == 0:
            value = undefined(name)
            return value if self.interval is None else Estimate(value, np.nan, np.nan)
        codes = encode_qid(self.qid, cost.size, unit="pair")[0]
        if self.average == "query":
            # Sort once and slice: masks would cost queries times pairs.
            order = np.argsort(codes, kind="stable")
            pieces = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
            values = [
                area(cost[q], risk[q], np.zeros_like(q))(np.ones(1)) for q in pieces
            ]
            return self._mean(np.array(values), (-np.inf, np.inf))
        of_queries = area(cost, risk, codes)
        n_queries = int(codes.max()) + 1
        value = of_queries(np.ones(n_queries))
        if self.interval is None:
            return value
        ends = concentration.cluster_bootstrap(
            lambda block: [*map(of_queries, block)], n_queries, **self.options
        )
        return Estimate(value, *ends)

    def _mean(self, values: FloatArray, limits: tuple[float, float]) -> MetricValue:
        # A mean is a ratio of sums, too: the values over their number.
        return self._estimate(values.mean(), values, np.ones(values.size), limits)

    def _estimate(
        self, value: Any, part: FloatArray, whole: FloatArray, limits: Any
    ) -> MetricValue:
        if self.interval is None:
            return float(value)
        value, confidence = float(value), self.options["confidence"]
        if self.interval == "delta":
            # Symmetric about the ratio, which may be near a limit.
            low, high = concentration.ratio_interval(part, whole, confidence=confidence)
            low, high = max(low, limits[0]), min(high, limits[1])
        else:
            low, high = concentration.cluster_bootstrap(
                lambda times: times @ part / (times @ whole), part.size, **self.options
            )
        if limits == (0.0, 1.0):
            low, high = concentration.widened(
                value, low, high, int((whole > 0).sum()), confidence
            )
        return Estimate(value, low, high)


def check_average(
    qid: Any,
    average: str,
    interval: str | None,
    confidence: float,
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
        options["confidence"] = concentration.check_chance(confidence, "confidence")
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


def undefined(name: str, reason: str = "no pair counts towards it") -> float:
    """Return NaN, with a warning."""
    warn_user(f"{name} is undefined and set to NaN: {reason}.", UndefinedMetricWarning)
    return np.nan
