"""Risk against coverage, and the areas under it.

Pairs are accepted in the order of increasing risk. No threshold separates pairs of
equal risk: the curve accepts them as a block, and the areas are averages over all
orders within the block.

Other conventions are in use, and their numbers differ. For the area under the
risk-coverage curve (AURC) there are the mean of prefix risks with equal risks in
the order of the input, the trapezoid rule on coverages ``k / n`` divided by
``1 - 1/n`` (torch-uncertainty), and the trapezoid rule over distinct thresholds,
level to the left of the first and multiplied by 1000 (fd-shifts). On an example of
eight pairs, four of them in two ties, these give 0.2807, 0.2850 and 0.2804; the
average over orders, used here, is 0.3223: ties alone move the area by 15 %. Compare
numbers of one convention only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.special import digamma

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_labels, check_loss, check_numbers
from skrank_abstain.metrics._scores import Area, MetricValue, check_average, pair_weight


def risk_coverage_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    risk: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    loss: Any = "misranking",
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coverage and selective risk at every threshold on the risk.

    A lower curve is better.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}, of all pairs.
    risk : array-like of shape (n_pairs,)
        Finite numbers, of which only the order counts: pairs of low risk are accepted
        first.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights. A weight of k is the same as k copies of the pair.
    loss : {"misranking", "clear_order", "zero_one"} or array-like of shape (3, 3), \
default="misranking"
        Cost of a prediction, rows predicted, columns true, order -1, 0, +1. The
        default is that of the rankers; the papers have "zero_one".

    Returns
    -------
    coverage : ndarray of shape (n_thresholds,), float64
        Share of the pairs with a risk of at most the threshold; ends with 1.
    selective_risk : ndarray of shape (n_thresholds,), float64
        Mean loss of these pairs.
    thresholds : ndarray of shape (n_thresholds,), float64
        The distinct risks, ascending.

    Raises
    ------
    ValueError
        If lengths differ, a label is not -1, 0 or +1, or a risk is not finite.

    See Also
    --------
    aurc_loss : One number, the area under this curve.
    augrc_loss : The area under ``coverage * selective_risk``.

    Notes
    -----
    With weights w_p, losses l_p and risks r_p, at the threshold t: the coverage is the
    sum of w_p over pairs with r_p <= t, over the sum of all w_p; the selective risk is
    the sum of w_p l_p over these pairs, over that of their w_p [1]_. No pairs give
    empty arrays. Only equal floats are ties. O(n_pairs log n_pairs).

    References
    ----------
    .. [1] El-Yaniv and Wiener (2010). "On the Foundations of Noise-free Selective
       Classification". JMLR 11.

    Examples
    --------
    >>> from skrank_abstain.metrics import risk_coverage_curve
    >>> coverage, selective_risk, thresholds = risk_coverage_curve(
    ...     [1, 1, 0, -1], [1, 1, 1, 1], [0.1, 0.2, 0.2, 0.4]
    ... )
    >>> coverage
    array([0.25, 0.75, 1.  ])
    >>> selective_risk
    array([0.  , 0.  , 0.25])
    """
    cost, risks = _cost_and_risk(y_true, y_pred, risk, loss)
    # Each pair is a query of its own, which counts as often as its weight says.
    blocks = cumulate_queries(cost, risks, np.arange(risks.size))
    count, total, thresholds = blocks(pair_weight(sample_weight, risks.size))
    return count / count[-1:], total / count, thresholds


def aurc_loss(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    risk: ArrayLike,
    *,
    excess: bool = False,
    qid: Any = None,
    average: str = "pooled",
    loss: Any = "misranking",
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    r"""Return the area under the risk-coverage curve, averaged over orders of ties.

    Lower is better; from 0 to the largest entry of the loss, NaN, with a warning, for
    no pairs. Low where errors are few and where they have the highest risks.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}, of all pairs.
    risk : array-like of shape (n_pairs,)
        Pairs of low risk are accepted first. Only the order counts.
    excess : bool, default=False
        Whether to subtract the area of the best order of the same pairs, by their true
        cost [1]_: 0 if every error has a higher risk than every correct pair. The
        excess rewards the order, not accuracy.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        The area of all pairs in one order, or the mean of the queries' areas.
    loss : str or array-like of shape (3, 3), default="misranking"
        "misranking", the rankers' default, "clear_order", "zero_one", which the papers
        have, or the cost of a prediction: rows predicted, columns true, order -1, 0, 1.
    interval : {None, "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, random_state : float, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    aurc : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, a label is not -1, 0 or +1, a risk is not finite, or ``qid``
        is missing.

    See Also
    --------
    augrc_loss : Weighs all errors alike; AURC weighs the surest ones most.

    Notes
    -----
    With the losses :math:`\ell_{(i)}` in the order of increasing risk, AURC is the
    mean of prefix risks [1]_

    .. math:: \frac1n \sum_{k=1}^n \frac1k \sum_{i=1}^k \ell_{(i)},

    here its expected value where pairs of equal risk stand in random order. The
    expected sum of the first k losses is linear in k within a block of equal risks,
    so that every loss may be replaced by the mean of its block. Other conventions
    give other numbers, see the module. Fractions of a pair have no prefixes, so there
    are no pair weights. The published formula for the best order,
    r + (1 - r) ln(1 - r) at an error rate r, is the limit for many pairs; ``excess``
    uses the mean of prefix risks there too. O(n_pairs log n_pairs).

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv (2019). "Bias-Reduced Uncertainty Estimation
       for Deep Neural Classifiers". ICLR. arXiv:1805.08206.

    Examples
    --------
    >>> from skrank_abstain.metrics import aurc_loss
    >>> aurc_loss([1, -1], [1, 1], [0.1, 0.4])
    0.25
    >>> aurc_loss([1, -1], [1, 1], [0.4, 0.4])
    0.5
    >>> aurc_loss([1, -1], [1, 1], [0.1, 0.4], excess=True)
    0.0
    """
    cost, risks = _cost_and_risk(y_true, y_pred, risk, loss)
    over = check_average(qid, average, interval, confidence, random_state)
    area, name = (_excess_aurc, "excess AURC") if excess else (_aurc, "AURC")
    return over.area(area, cost, risks, name)


def augrc_loss(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    risk: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    loss: Any = "misranking",
    interval: str | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> MetricValue:
    r"""Return the area under the generalised risk-coverage curve.

    Lower is better; from 0 to half the largest entry of the loss, NaN, with a warning,
    for no pairs. The mean probability, over all coverages, that a pair is accepted and
    wrong.

    Parameters
    ----------
    y_true, y_pred, risk, qid, average, loss
        As in `aurc_loss`.
    interval, confidence, random_state
        As in `aurc_loss`.

    Returns
    -------
    augrc : float, or Estimate with an interval

    See Also
    --------
    aurc_loss : The area under the selective risk itself.

    Notes
    -----
    The generalised risk is the loss of the accepted pairs over the number of *all*
    pairs, that is coverage times selective risk [1]_. The area is that of straight
    lines from (0, 0) through the points at the distinct risks, which is also the
    average over the orders of equal risks; fd-shifts reports it times 1000. For the
    zero-one loss

    .. math:: AUGRC = (1 - A) a (1 - a) + \tfrac12 (1 - a)^2

    with the accuracy a and A the AUC of the risk as a detector of errors.
    O(n_pairs log n_pairs).

    References
    ----------
    .. [1] Traub et al. (2024). "Overcoming Common Flaws in the Evaluation of Selective
       Classification Systems". NeurIPS. arXiv:2407.01032.

    Examples
    --------
    >>> from skrank_abstain.metrics import augrc_loss
    >>> augrc_loss([1, -1], [1, 1], [0.1, 0.4])
    0.125
    """
    cost, risks = _cost_and_risk(y_true, y_pred, risk, loss)
    over = check_average(qid, average, interval, confidence, random_state)
    return over.area(_augrc, cost, risks, "AUGRC")


def area_of_prefixes(count: FloatArray, total: FloatArray) -> float:
    """Return the AURC: the mean of expected prefix risks, from blocks of equal risk.

    Parameters
    ----------
    count, total : ndarray of shape (n_blocks,), float64
        Number and cost of the pairs up to the end of each block, which may be empty.

    Returns
    -------
    area : float
        NaN without any pair.

    Notes
    -----
    Take a block of m pairs that cost c in all, after b pairs that cost t. The k-th
    prefix is expected to cost t + c (k - b) / m, and these costs divided by k sum to
    c + (t - b c / m) (H(b + m) - H(b)) with the harmonic numbers H.
    """
    some = np.diff(count, prepend=0) > 0
    if not some.any():
        return np.nan
    count, total = count[some], total[some]
    before, spent = np.append(0, count[:-1]), np.append(0, total[:-1])
    # H(n) = digamma(n + 1) + Euler's constant, which the differences cancel.
    rate = (total - spent) / (count - before)
    harmonic = np.diff(digamma(np.append(0, count) + 1))
    sums = rate * (count - before) + (spent - before * rate) * harmonic
    return float(sums.sum() / count[-1])


def generalised_area(count: FloatArray, total: FloatArray) -> float:
    """Return the AUGRC from blocks of equal risk; parameters as `area_of_prefixes`."""
    if count[-1] == 0:
        return np.nan
    # Straight lines between blocks are the average over orders within a block. They
    # start at (0, 0): with nothing accepted the generalised risk is 0.
    return float(trapezoid(np.append(0, total), np.append(0, count)) / count[-1] ** 2)


def _aurc(cost: FloatArray, risk: FloatArray, codes: IntArray) -> Area:
    by_risk = cumulate_queries(cost, risk, codes)
    return lambda times: area_of_prefixes(*by_risk(times)[:2])


def _excess_aurc(cost: FloatArray, risk: FloatArray, codes: IntArray) -> Area:
    # The best order accepts by the true cost of the pairs.
    area, best = _aurc(cost, risk, codes), _aurc(cost, cost, codes)
    return lambda times: area(times) - best(times)


def _augrc(cost: FloatArray, risk: FloatArray, codes: IntArray) -> Area:
    by_risk = cumulate_queries(cost, risk, codes)
    return lambda times: generalised_area(*by_risk(times)[:2])


def cumulate_queries(
    cost: FloatArray, risk: FloatArray, codes: IntArray
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]:
    """Return a function from how often each query counts to the points of a curve.

    The points are the cumulated number and cost of the pairs up to each distinct risk,
    and these risks. Several costs, of shape (n_costs, n_pairs), are cumulated at once.
    """
    # Resamples change only how often a pair counts, so one sort serves them all.
    order = np.argsort(risk, kind="stable")
    ordered, query, risks = cost[..., order], codes[order], risk[order]
    # Exact comparison: equal pairs have equal risks, and a tolerance would chain
    # distinct risks together.
    last = np.flatnonzero(np.append(risks[1:] != risks[:-1], risks.size > 0))

    def blocks(times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        weight = times[query]
        count = np.cumsum(weight)[last]
        total = np.cumsum(weight * ordered, axis=-1)[..., last]
        # A block without a pair in the resample adds no point to its curve.
        filled = np.diff(count, prepend=0) > 0
        return count[filled], total[..., filled], risks[last][filled]

    return blocks


def _cost_and_risk(
    y_true: ArrayLike, y_pred: ArrayLike, risk: ArrayLike, loss: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the cost and the risk of each prediction."""
    matrix = check_loss(loss)
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    # Rows of a loss matrix are predictions, columns truths; label l is at l + 1.
    cost: FloatArray = matrix[predicted + 1, truth + 1]
    return cost, check_numbers(risk, "risk", truth.size, unit="pair")
