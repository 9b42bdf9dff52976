"""Tests and intervals that respect that pairs of one query are dependent.

The unit of sampling is the query: pairs of one query share its items. Functions take
arrays with one entry, or one row, per query.

Queries are the sample; pairs inside a query may depend on each other in any way. The
hypothesis is always that a mean loss exceeds a bound, so a small p-value is evidence
that the bound holds. Queries that certify have no other use.

Tables have a row for each query and a column for each threshold, from the most
conservative to the most permissive. For query q and one threshold, a_q is the share of
its pairs that is accepted, e_q the share that is accepted and decided wrongly.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtr, stdtrit
from sklearn.utils import check_random_state

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_fraction,
    check_not_negative,
    check_positive_int,
)
from skrank_abstain._warnings import warn_user

# Other rooms import more: certificates, the bootstrap of queries, p-values of items.
__all__ = ["least_queries", "ratio_interval", "paired_ratio_test"]

#: Two ratios with at most this relative difference are equal.
_ROUNDING = 8 * np.finfo(np.float64).eps
#: Coverages further apart are not compared without a warning.
_UNEQUAL = 0.02
#: Draws of queries held in memory at a time.
_BLOCK = 1 << 20
_N_RESAMPLES = 1000
#: Queries drawn at a time; they fit into the processor's cache.
_MOST_DRAWN = 1 << 16


class RatioDifference(NamedTuple):
    """Two numbers and their difference, with its interval and p-value.

    Attributes
    ----------
    a, b : float
        The first and the second.
    difference : float
        First minus second.
    low, high : float
        Ends of the confidence interval.
    pvalue : float
        Two-sided, of no difference.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    pvalue: float


def ratio_interval(
    numerators: ArrayLike, denominators: ArrayLike, *, confidence: float = 0.95
) -> tuple[Any, Any]:
    """Return a cluster-t interval of a ratio of totals.

    Parameters
    ----------
    numerators, denominators : array-like of shape (n_queries,) or (n_queries, n_ratios)
        Totals per query, such as correct and accepted pairs. Denominators are
        non-negative. Each column gets an interval of its own.
    confidence : float, default=0.95
        In (0, 1).

    Returns
    -------
    low, high : float or ndarray of shape (n_ratios,)
        NaN where there are fewer than two queries or the denominators sum to zero.

    Raises
    ------
    TypeError
        If an array is not numeric.
    ValueError
        If the arrays differ in length, hold NaN or infinity, a denominator is
        negative, or ``confidence`` is outside (0, 1).

    Notes
    -----
    With R = sum(e) / sum(a) over Q queries, and h = a / sum(a) the share of each, the
    interval is R plus or minus the t quantile with 1 / sum(h^2) - 1 degrees of freedom
    times sqrt((Q - 1) / Q sum(((e - R a) / (1 - h))^2)) / sum(a), the jackknife's
    standard error [1]_. 1 / sum(h^2) is the number of queries of one size that would
    vary as much [2]_: it is Q if all sizes are equal, and less if a few queries hold
    most pairs. For i.i.d. queries the interval covers E[e] / E[a] with the given
    probability in the limit of many queries. It covers less if a few queries hold all
    errors. It is not clipped to a range. O(n_queries * n_ratios).

    References
    ----------
    .. [1] Cochran (1977). "Sampling Techniques", third edition, chapter 6.
    .. [2] Kish (1965). "Survey Sampling", chapter 11; Carter, Schnepel and Steigerwald
       (2017). "Asymptotic behavior of a t-test robust to cluster heterogeneity".

    Examples
    --------
    >>> from skrank_abstain.concentration import ratio_interval
    >>> low, high = ratio_interval([3, 1, 4, 2], [4, 2, 4, 4])
    >>> round(low, 2), round(high, 2)
    (0.29, 1.14)
    """
    check_chance(confidence, "confidence")
    totals = {"numerators": numerators, "denominators": denominators}
    part, whole = _check_per_query(totals, columns=True)
    check_not_negative(whole, "denominators")
    ratio, influence, freedom = _jackknife(part, whole)
    half = _standard_error(influence) * stdtrit(freedom, (1 + confidence) / 2)
    low, high = ratio - half, ratio + half
    return (low, high) if part.ndim > 1 else (float(low), float(high))


def widened(
    share: float, low: float, high: float, n: int, confidence: float
) -> tuple[float, float]:
    """Return an interval of a share, held in [0, 1], around the share.

    Where n alike observations show no spread at all, they may have missed a part
    p = 1 - ((1 - confidence) / 2)^(1 / n) of others (Clopper and Pearson 1934): it
    then reaches from (1 - p) share to share + p (1 - share).
    """
    if high - low < 1e-12:
        missed = 1 - ((1 - confidence) / 2) ** (1 / n)
        low, high = (1 - missed) * share, share + missed * (1 - share)
    # Percentiles of few resamples need not enclose the share.
    return float(np.clip(low, 0.0, share)), float(np.clip(high, share, 1.0))


def paired_ratio_test(
    a: Any,
    b: Any,
    part: str = "discordant",
    whole: str = "unlike",
    *,
    confidence: float = 0.95,
) -> RatioDifference:
    """Compare a ratio of totals of two rankers on the same queries.

    Parameters
    ----------
    a, b : PairTotals
        What ``evaluate`` of the two rankers returned for the same rows; or any objects
        with ``qid`` and the two arrays by name, each of shape (n_queries,). What has
        one ``qid``, as under several seeds, is added up: one query.
    part, whole : str, default="discordant" and "unlike"
        Names of the two totals whose ratio is compared; by default the share of wrong
        orders of decided pairs that differ. ``"correct"`` and ``"accepted"``: the
        accuracy; ``"loss"`` and ``"accepted"``: the risk. Wholes are non-negative.
    confidence : float, default=0.95
        Of the interval, in (0, 1).

    Returns
    -------
    result : RatioDifference
        Named tuple ``(a, b, difference, low, high, pvalue)``: the two ratios, and the
        first minus the second, NaN if a whole sums to zero. The rest is NaN with fewer
        than two queries, too.

    Raises
    ------
    ValueError
        If the queries of ``b`` are others than those of ``a``, or in another order, or
        there are no totals by the name ``part`` or ``whole``.

    Warns
    -----
    UserWarning
        If the two decide shares of the pairs that are more than .02 apart: the ratios
        differ for that reason alone.

    See Also
    --------
    skrank_abstain.metrics.compare : The same at equal coverage.

    Notes
    -----
    Each query moves a ratio by (Q - 1) (e - R a) / (sum(a) - a), the jackknife's share.
    The differences of these shares are tested as in a paired t test with 1 / sum(h^2) -
    1 degrees of freedom, the fewer of the two, h = a / sum(a) [1]_. If all wholes are
    equal it is the paired t test of the ratios e / a. For i.i.d. queries level and
    coverage are right in the limit of many queries. If no
    query deviates from its ratios, as when A is always and B never right, the interval
    has no width and the p-value of a difference is 0. O(n_queries).

    References
    ----------
    .. [1] Cochran (1977). "Sampling Techniques", third edition, chapter 6.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from skrank_abstain.concentration import paired_ratio_test
    >>> a = SimpleNamespace(qid=[1, 2, 3, 4, 5], right=[4, 3, 5, 4, 3])
    >>> b = SimpleNamespace(qid=[1, 2, 3, 4, 5], right=[4, 2, 4, 4, 2])
    >>> a.asked = b.asked = [5, 4, 6, 5, 4]
    >>> result = paired_ratio_test(a, b, "right", "asked")
    >>> round(result.difference, 3), round(result.low, 3), round(result.pvalue, 3)
    (0.125, -0.026, 0.083)
    """
    if not np.array_equal(a.qid, b.qid):
        raise ValueError(
            "b must be of the same queries as a, in the same order, got other qid: "
            "evaluate both rankers on the same rows."
        )
    for each, (key, name) in product((a, b), (("part", part), ("whole", whole))):
        if np.ndim(getattr(each, name, 0)) != 1:
            known = (k for k, values in vars(each).items() if np.ndim(values) == 1)
            check_choice(name, key, tuple(k for k in known if k != "qid"))
    shares = [getattr(each, "coverage", np.nan) for each in (a, b)]
    if whole != "pairs" and abs(shares[0] - shares[1]) > _UNEQUAL:
        warn_user(
            f"a decides {shares[0]:.3f} of the pairs and b {shares[1]:.3f}: who "
            "decides less has fewer errors for that reason alone. metrics.compare "
            "compares at equal coverage."
        )
    number: dict[Any, int] = {}
    query = np.array([number.setdefault(q, len(number)) for q in a.qid], np.int64)
    named = product((a, b), (part, whole))
    columns = [np.bincount(query, getattr(each, name)) for each, name in named]
    return ratio_difference(*columns, confidence=confidence)


def ratio_difference(*columns: ArrayLike, confidence: float = 0.95) -> RatioDifference:
    """Compare two ratios of arrays of shape (n_queries,), as `paired_ratio_test`.

    ``columns`` are part and whole of the first, then part and whole of the second.
    """
    named = dict(zip(("part_a", "whole_a", "part_b", "whole_b"), columns, strict=True))
    first, total_a, second, total_b = _check_per_query(named)
    check_not_negative(total_a, "whole_a")
    check_not_negative(total_b, "whole_b")
    # Subtract what each query moves: a difference of ratios has no value for each
    # query, and common errors cancel query by query.
    ratio_a, influence_a, freedom_a = _jackknife(first, total_a)
    ratio_b, influence_b, freedom_b = _jackknife(second, total_b)
    influence, freedom = influence_a - influence_b, float(min(freedom_a, freedom_b))
    return difference_of(float(ratio_a), float(ratio_b), influence, freedom, confidence)


def difference_of(
    a: float, b: float, influence: FloatArray, freedom: float, confidence: float
) -> RatioDifference:
    """Return ``a - b`` with its t interval and p-value.

    ``influence`` of shape (n_queries,) holds what each query moves the difference by:
    the standard error of its mean is that of the difference. ``freedom`` are the
    degrees of freedom of this error.
    """
    check_chance(confidence, "confidence")
    difference = a - b
    error = float(_standard_error(influence))
    half = error * float(stdtrit(freedom, (1 + confidence) / 2))
    # Equal up to rounding: 0 / 0 would make the p-value a matter of luck.
    if abs(difference) <= _ROUNDING * max(abs(a), abs(b)) and freedom > 0:
        pvalue = 1.0
    elif error == 0:
        pvalue = 0.0
    else:
        pvalue = float(2 * stdtr(freedom, -abs(difference) / error))
    low, high = difference - half, difference + half
    return RatioDifference(a, b, difference, low, high, pvalue)


def _check_per_query(
    arrays: dict[str, ArrayLike], *, columns: bool = False
) -> list[FloatArray]:
    """Return arrays of one shape: a value per query, or a row if ``columns``."""
    checked: list[FloatArray] = []
    for name, values in arrays.items():
        array = check_finite(values, name, allow_empty=True, error=TypeError)
        known = checked[0].shape if checked else array.shape
        if array.ndim not in (1, 1 + columns) or array.shape != known:
            raise ValueError(
                f"{name} must have one value per query like {next(iter(arrays))}, "
                f"got shapes {array.shape} and {known}."
            )
        checked.append(array)
    return checked


def _jackknife(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, ...]:
    """Return a ratio, what each query moves it by, and the degrees of freedom.

    NaN if it is undefined, or one query holds the whole.
    """
    total = whole.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = part.sum(axis=0) / np.where(total > 0, total, np.nan)
        influence = (len(part) - 1) * (part - ratio * whole) / (total - whole)
        return ratio, influence, total**2 / (whole**2).sum(axis=0) - 1


def _standard_error(influence: FloatArray) -> FloatArray:
    """Return the standard error of a mean of zero, NaN for fewer than two queries."""
    n_queries = len(influence)
    if n_queries < 2:
        return np.full(influence.shape[1:], np.nan)
    return np.sqrt(np.sum(influence**2, axis=0) / (n_queries - 1) / n_queries)


def cluster_bootstrap(
    statistic: Callable[[FloatArray], ArrayLike],
    n_queries: int,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Return a percentile interval over resamples of whole queries.

    Parameters
    ----------
    statistic : callable
        Takes the number of draws of each query in some resamples, a float64 array of
        shape (n, n_queries), and returns a number, or a row of numbers, per resample.
        A sum over queries is a matrix product with these counts.
    n_queries : int
    n_resamples : int, default=2000
    confidence : float, default=0.95
        In (0, 1).
    random_state : None, int or RandomState, default=None

    Returns
    -------
    low, high : float or ndarray
        NaN for fewer than two queries, and where every resample gives NaN.

    Raises
    ------
    ValueError
        If ``confidence`` or ``n_resamples`` is out of range.

    Notes
    -----
    Queries are drawn with replacement, each with all its pairs, so that pairs of a
    query may depend on each other [1]_. With fewer than about thirty queries the
    interval is too narrow. A resample whose statistic is NaN, such as an accuracy when
    nothing is accepted, is left out.

    `scipy.stats.bootstrap` does not serve: it gathers the rows of each resample, though
    a matrix product with counts will do, and one NaN makes its interval NaN.

    References
    ----------
    .. [1] Davison and Hinkley (1997). "Bootstrap Methods and their Application",
       section 3.8. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import cluster_bootstrap
    >>> correct, accepted = np.tile([3, 1, 4, 2], 10), np.tile([4, 2, 4, 4], 10)
    >>> low, high = cluster_bootstrap(
    ...     lambda times: (times @ correct) / (times @ accepted), 40, random_state=0
    ... )
    >>> bool(low < 10 / 14 < high)
    True
    """
    check_chance(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    if n_queries < 2:
        return float("nan"), float("nan")
    rng = check_random_state(random_state)
    found = []
    # Blocks do not change the draws.
    height = max(_BLOCK // n_queries, 1)
    for first in range(0, n_resamples, height):
        n_drawn = min(height, n_resamples - first)
        drawn = rng.randint(n_queries, size=(n_drawn, n_queries))
        # Each resample gets its own range of numbers: one bincount counts a block.
        drawn += n_queries * np.arange(n_drawn)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        # An undefined statistic is 0 / 0.
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.asarray(statistic(times.astype(np.float64)), float))
    values = np.concatenate(found)
    if np.isnan(values).all():
        return float("nan"), float("nan")
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(values, tails, axis=0)
    return (low, high) if values.ndim > 1 else (float(low), float(high))


def coverage_interval(
    accepted: FloatArray,
    pairs: FloatArray,
    *,
    seed: int,
    n_new: int | None = None,
    confidence: float = 0.95,
) -> FloatArray:
    """Return an interval for the coverage of new queries.

    Parameters
    ----------
    accepted, pairs : ndarray of shape (n_queries,), float64
        Accepted pairs and pairs of each query that set the threshold.
    seed : int
    n_new : int, default=None
        Number of new queries with pairs; None: as many as set the threshold.
    confidence : float, default=0.95
        In (0, 1).

    Returns
    -------
    interval : ndarray of shape (2,), float64
        In [0, 1], and all of it where fewer than two queries have pairs.

    Notes
    -----
    Queries are resampled, not pairs, which are dependent within a query [1]_. The
    coverage of new queries differs from that of the calibration queries as two samples
    differ, so that the ends are quantiles of the differences of two resamples.
    O(n_queries) a thousand times.

    Resamples of few queries vary too little. The differences are stretched by
    ``sqrt(m / (m - 1))`` and by the ratio of the quantiles of Student's t with m - 1
    degrees of freedom and of the normal distribution. ``m = sum(N)**2 / sum(N**2)``
    is the effective number of queries of N pairs [2]_: a few large queries say less
    than as many equal ones.

    References
    ----------
    .. [1] Davison and Hinkley (1997). "Bootstrap Methods and their Application",
       section 3.8. Cambridge University Press.
    .. [2] Kish (1965). "Survey Sampling", section 11.7. Wiley.
    """
    has_pairs = pairs > 0
    accepted, pairs = accepted[has_pairs], pairs[has_pairs]
    n = pairs.size
    if n < 2:
        return np.array([0.0, 1.0])
    rng = np.random.default_rng(seed)
    both = np.empty((2, _N_RESAMPLES))
    for coverage, size in zip(both, (n, n_new or n), strict=True):
        at_a_time = max(_MOST_DRAWN // size, 1)
        for first in range(0, _N_RESAMPLES, at_a_time):
            part = coverage[first : first + at_a_time]
            drawn = rng.integers(0, n, (part.size, size))
            part[:] = accepted[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    tail, (one, other) = (1 - confidence) / 2, both
    differs = np.quantile(one - other, [tail, 1 - tail])
    m = pairs.sum() ** 2 / (pairs**2).sum()
    # One dominating query leaves no degree of freedom.
    free = max(m - 1, 1e-3)
    stretch = np.sqrt(m / free) * stdtrit(free, tail) / ndtri(tail)
    return np.asarray(np.clip(accepted.sum() / pairs.sum() + stretch * differs, 0, 1))


#: Largest share of the capital that a loss of one may take.
_BOLDNESS = 0.99
#: A mean up to this may be a rounded mean of zeros.
_NO_MARGIN = 1e-12


def wsr_pvalue(losses: FloatArray, alpha: float, *, level: float = 0.1) -> FloatArray:
    """Return the betting p-value of H0: the mean loss exceeds ``alpha``.

    Parameters
    ----------
    losses : ndarray of shape (n_queries,) or (n_queries, n_candidates), float64
        Losses in [0, 1], one row per query, in an order that does not depend on the
        losses. Each column is a test of its own.
    alpha : float
        Bound on the mean loss, in (0, 1).
    level : float, default=0.1
        Level in (0, 1) at which the p-value will be compared; the bets are sized for
        it. The p-value is valid at every level.

    Returns
    -------
    pvalue : ndarray of shape ``losses.shape[1:]``, float64
        In [0, 1]; 1 for no queries.

    Notes
    -----
    A gambler bets against H0, query after query in the given order: the capital is
    K_t = prod_{s<=t} (1 + b_s (alpha - u_s)), and p = 1 / max_t K_t, at most 1 [1]_.
    The bet b_t = min(sqrt(2 log(1/level) / (n v_{t-1})), 0.99 / (1 - alpha)) is set
    before loss t is seen; v is the running variance. The running mean and variance
    start as if one loss of ``alpha`` with the variance alpha (1 - alpha) of a coin
    flip had been seen, and a loss of one leaves a hundredth of the capital: with few
    queries the largest bet decides what can be certified.

    Valid at every n for i.i.d. queries: P(p <= delta) <= delta under H0. The order of
    the queries changes the p-value but not its validity, as long as it was fixed
    without looking at the losses: shuffle queries once if their order means something.
    The smallest p-value of several orders is not valid. O(n_queries * n_candidates).

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024). "Estimating means of bounded random
       variables by betting". Journal of the Royal Statistical Society B 86(1).
       doi:10.1093/jrsssb/qkad009

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import wsr_pvalue
    >>> losses = np.tile([0.0, 0.1, 0.05], 30)
    >>> round(float(wsr_pvalue(losses, 0.1)), 3)
    0.009
    """
    # A bet may only use the past: mean and variance of earlier losses, after one
    # pretended loss of alpha.
    n_queries = len(losses)
    seen = np.arange(2.0, n_queries + 2).reshape(-1, *[1] * (losses.ndim - 1))
    mean = (alpha + np.cumsum(losses, axis=0)) / seen
    squares = np.cumsum((losses - mean) ** 2, axis=0)
    before = np.concatenate([np.zeros_like(losses[:1]), squares[:-1]])
    variance = (alpha * (1 - alpha) + before) / (seen - 1)
    bet = np.sqrt(-2 * math.log(level) / (max(n_queries, 1) * variance))
    # A loss of one multiplies the capital by 1 - bet (1 - alpha), which stays above 0.
    bet = np.minimum(bet, _BOLDNESS / (1 - alpha))
    # Logarithms: thousands of factors would overflow.
    capital = np.cumsum(np.log1p(bet * (alpha - losses)), axis=0)
    return np.asarray(np.exp(-np.max(capital, axis=0, initial=0.0)))


def least_queries(alpha: float, delta: float) -> int:
    """Return the least number of queries that can certify a mean loss of ``alpha``.

    Parameters
    ----------
    alpha : float
        Bound on the mean loss, in (0, 1).
    delta : float
        Level of the test, in (0, 1).

    Returns
    -------
    n_queries : int
        Necessary for any test, even if no query loses anything; rarely sufficient.

    Notes
    -----
    The smallest n with (1 - alpha)^n <= delta. If each query loses everything with
    probability just above alpha, n queries without a loss have this probability, so no
    valid test rejects with fewer. O(1).

    Examples
    --------
    >>> from skrank_abstain.concentration import least_queries
    >>> least_queries(0.1, 0.1), least_queries(0.05, 0.1)
    (22, 45)
    """
    check_fraction(alpha, "alpha")
    check_fraction(delta, "delta")
    # The slack undoes rounding just above a whole number.
    return math.ceil(math.log(delta) / math.log1p(-alpha) * (1 - 1e-12))


def choose_start(accepted: FloatArray, errors: FloatArray, *, max_risk: float) -> int:
    """Return the threshold at which `certify_risk` should start.

    Parameters
    ----------
    accepted, errors : ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q on queries that do not certify, such as the queries to which
        the tie model was fitted.
    max_risk : float
        Bound on the selective risk, in (0, 1).

    Returns
    -------
    start : int
        First column with the largest mean of ``max_risk * a_q - e_q``.

    Notes
    -----
    The risk need not grow with coverage: few queries contribute to the smallest
    thresholds, often queries on which a ranker is wrongly sure of itself, and a
    sequence that starts there fails at its first step. Any start among the thresholds
    that pass leads to the same end, so take the one most likely to pass. In simulations
    of rankers that are confidently wrong on some queries, the smallest p-value, the
    fastest growth of capital and the largest t statistic gave no more coverage. A poor
    start costs coverage, never validity.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import choose_start
    >>> accepted = np.array([[0.1, 0.5, 0.9], [0.1, 0.4, 1.0]])
    >>> errors = np.array([[0.1, 0.0, 0.3], [0.0, 0.0, 0.2]])
    >>> choose_start(accepted, errors, max_risk=0.2)
    1
    """
    # argmax returns the first maximum, the most conservative one.
    return int(np.argmax((max_risk * accepted - errors).mean(axis=0)))


def fixed_sequence(pvalues: FloatArray, delta: float, *, start: int = 0) -> int | None:
    """Test hypotheses in order; return the last one before the first failure.

    Parameters
    ----------
    pvalues : ndarray of shape (n_candidates,), float64
        P-values in [0, 1], from the most conservative candidate to the most
        permissive.
    delta : float
        Level of the test, in (0, 1).
    start : int, default=0
        First hypothesis to test, chosen without the data of the p-values.

    Returns
    -------
    last : int or None
        Index before the first p-value above ``delta`` from ``start`` on; None if the
        p-value at ``start`` is above it.

    Notes
    -----
    All candidates from ``start`` to ``last`` are certified together, with probability
    at least ``1 - delta`` [1]_, however the p-values depend on each other: an error
    implies that the first true hypothesis was rejected. Small p-values after the first
    failure do not count.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then test:
       calibrating predictive algorithms to achieve risk control". arXiv:2110.01052

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import fixed_sequence
    >>> fixed_sequence(np.array([0.4, 0.02, 0.03, 0.2, 0.01]), 0.1, start=1)
    2
    """
    # delta is not divided by the number of candidates: testing stops at the first
    # failure, so that only the first true hypothesis can be rejected wrongly.
    failed = np.flatnonzero(pvalues[start:] > delta)
    n_rejected = int(failed[0]) if failed.size else pvalues.size - start
    return start + n_rejected - 1 if n_rejected else None


def certify_risk(
    accepted: FloatArray,
    errors: FloatArray,
    start: int,
    *,
    max_risk: float,
    delta: float,
    groups: IntArray | None = None,
) -> int | None:
    """Return the most permissive threshold whose selective risk is certified.

    Parameters
    ----------
    accepted, errors : ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q on queries that did not influence the ranker, its tie model,
        the list of thresholds or ``start``. Leave out queries without pairs.
    start : int
        Threshold to start from, such as that of `choose_start` on other queries.
    max_risk : float
        Bound on the selective risk, in (0, 1).
    delta : float
        Probability with which the certificate may be wrong, in (0, 1).
    groups : ndarray of shape (n_queries,), int64, default=None
        Group of each query; the bound is then certified in every group at once.

    Returns
    -------
    index : int or None
        Column of the threshold. None if not even ``start`` is certified: then accept
        nothing.

    Notes
    -----
    The bound is on the query-balanced selective risk, E[e_q] / E[a_q]: each query
    counts alike, however many pairs it has. Over the draw of the queries,
    P(E[e_q] / E[a_q] <= max_risk at the threshold returned, or None) >= 1 - delta, for
    any number of i.i.d. queries and any dependence of the pairs inside a query. It
    says nothing about the risk in one query, the mean of e_q / a_q, the risk pooled
    over pairs, or queries from another source.

    The ratio is at most ``max_risk`` exactly if u_q = e_q + max_risk (1 - a_q), which
    is in [0, 1], has a mean of at most ``max_risk``. `wsr_pvalue`, which depends on the
    order of the queries, tests that along a `fixed_sequence` of thresholds, as in learn
    then test [1]_; the risk need not be monotone, and the number of thresholds costs
    nothing. A threshold that accepts no pair at all is never certified.

    With groups a threshold passes only if it passes in each of them: the largest of
    their p-values is one for "the bound fails in some group", so that ``delta`` need
    not be divided among them (an intersection-union test).

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then test:
       calibrating predictive algorithms to achieve risk control". arXiv:2110.01052

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import certify_risk
    >>> accepted = np.tile([0.2, 0.5, 0.8, 1.0], (100, 1))
    >>> errors = accepted * [0.01, 0.02, 0.05, 0.3]
    >>> certify_risk(accepted, errors, 1, max_risk=0.1, delta=0.1)
    2
    """
    if not len(accepted):
        return None  # without evidence nothing is certified
    # u_q of the Notes: defined for queries that accept nothing, unlike e_q / a_q, and
    # within [0, 1] but for rounding, since errors <= accepted <= 1.
    losses = errors[:, start:] + max_risk * (1 - accepted[:, start:])
    every = np.zeros(len(losses)) if groups is None else groups
    of_groups = (losses[every == group] for group in np.unique(every))
    pvalues = [wsr_pvalue(each, max_risk, level=delta) for each in of_groups]
    # Intersection-union: every group must reject for "fails in some group" to be.
    last = fixed_sequence(np.max(pvalues, axis=0), delta)
    return None if last is None else start + last


def check_chance(value: Any, name: str, *, include_one: bool = False) -> float:
    """Return a probability of failure, or a ``confidence``; warn if it seems turned."""
    chance = check_fraction(value, name, include_one=include_one)
    for doubt in doubts_of_chance(chance, name):
        warn_user(doubt)
    return chance


def doubts_of_chance(chance: float, name: str) -> list[str]:
    """Say that a probability seems turned, if it does."""
    kept = chance if name == "confidence" else 1 - chance
    if kept >= 0.5:
        return []
    return [
        f"{name}={chance:.3g} promises something with a probability of at least "
        f"{kept:.3g} only. If it was meant the other way round, pass "
        f"{name}={1 - chance:.3g}."
    ]


def advise_on_certification(
    max_risk: float,
    delta: float,
    counts: dict[Any, int],
    tuned: tuple[FloatArray, FloatArray],
    *,
    besides: str = "",
) -> str:
    """Return advice for a user whose risk could not be certified.

    Parameters
    ----------
    max_risk, delta : float
        As in `certify_risk`.
    counts : dict of str to int
        Queries of each group; the only key is None where there are no groups.
    tuned : tuple of two ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q that `choose_start` was given.
    besides : str, default=""
        Further advice, for a user with enough queries.

    Notes
    -----
    How many queries a bound takes that errors do not forbid is not said: estimated from
    the queries that tuned, the number differs by a factor of ten between splits.
    """
    name, count = min(counts.items(), key=lambda entry: entry[1])
    least = least_queries(max_risk, delta)
    more = "Pass more labelled queries, since those that train or fit a model certify "
    more += "nothing (a larger calibration_size or a fitted ranker leaves more), or "
    if count < least:
        where = "" if name is None else f" in each group, and {name!r} has {count}"
        few = f"Even without a single error this takes {least} certification queries"
        return f"{few}{where}. {more}allow a larger max_risk or delta."
    margin = (max_risk * tuned[0] - tuned[1]).mean(axis=0).max()
    if margin <= _NO_MARGIN:
        return (
            "No threshold kept the bound on the queries that tuned, either: pass a "
            f"better ranker or tie model, or allow a larger max_risk.{besides}"
        )
    more += "a better ranker or tie model, or allow a larger max_risk or delta."
    return f"{more}{besides}"


#: Rounding of a sum over queries must not demand a higher threshold.
_SLACK = 1e-12
#: Thresholds tried at a time.
_TRIED = 16


def hierarchical_quantile(
    shares: Callable[[FloatArray], ArrayLike],
    coverage: float,
    *,
    highest: float = 1.0,
    weights: FloatArray | None = None,
) -> float:
    """Return the threshold that accepts a share of the pairs of a new query.

    Parameters
    ----------
    shares : callable
        Takes ascending thresholds t >= 0 and returns the share of pairs with risk at
        most t in each query that has pairs, an array of shape (n_queries,
        n_thresholds). No share may fall as t grows.
    coverage : float
        Target, in (0, 1).
    highest : float, default=1.0
        Largest possible risk, positive and finite; risks are non-negative.
    weights : ndarray of shape (n_queries,), default=None
        Weight of each query, in [0, 1]; a new query weighs at most 1. None: 1 each.
        With the number of pairs over that of the largest query allowed, each pair
        counts alike.

    Returns
    -------
    threshold : float
        The smallest float in [0, highest] at which the shares sum to at least
        ``coverage * (n_queries + 1)``, less 1e-12; with weights the weighted shares, to
        ``coverage * (sum(weights) + 1)``. +inf if there is no such float.

    Notes
    -----
    If the queries and a new query are exchangeable, a pair drawn uniformly from the
    new query is accepted with probability at least ``coverage``, for any number of
    queries [1]_, [2]_: on average over the calibration and the new query. A single new
    query may be covered less. The risk function must not have been fitted on these
    queries. The price is about coverage / n_queries more coverage than asked for.

    With weights w the promise is E[w a] >= ``coverage`` E[w], a the accepted share of
    the new query: conformal risk control [3]_ of w (coverage - a), which is at most
    ``coverage``.

    The search divides the ordered floats by sixteen at a time: exact, with at most 17
    calls of ``shares``.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342
    .. [2] Dunn, Wasserman and Ramdas (2023). "Distribution-free prediction sets for
       two-layer hierarchical models". Journal of the American Statistical Association
       118(544). doi:10.1080/01621459.2022.2060112
    .. [3] Angelopoulos, Bates, Fisch, Lei and Schuster (2024). "Conformal risk
       control". ICLR. arXiv:2208.02814

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import hierarchical_quantile
    >>> queries = [np.array([0.1, 0.4, 0.2]), np.array([0.3])]
    >>> def shares(t):
    ...     return [np.mean(risks[:, None] <= t, axis=0) for risks in queries]
    >>> hierarchical_quantile(shares, 0.5)
    0.3
    """

    def is_enough(bits: list[int]) -> list[bool]:
        thresholds = np.array(bits, dtype=np.int64).view(np.float64)
        table = np.asarray(shares(thresholds), dtype=np.float64)
        weight = np.ones(len(table)) if weights is None else weights
        # Plus one for the new query: it counts as if all its pairs were abstained on.
        # Contiguous rows add up in one order, whatever the number of thresholds.
        sums = np.ascontiguousarray((table * weight[:, None]).T).sum(axis=1)
        return list(sums / (weight.sum() + 1) >= coverage - _SLACK)

    # The bit patterns of non-negative floats are ordered like the floats.
    first, end = 0, int(np.float64(highest).view(np.int64)) + 1
    n_patterns = end
    while first < end:
        width = end - first
        # Few thresholds are many octaves below the highest risk.
        below = (min(width * k // _TRIED, (2**k - 1) << 52) for k in range(_TRIED))
        tried = sorted({end - 1 - each for each in below})
        place = bisect_left(is_enough(tried), True)
        first, end = [first, *(k + 1 for k in tried)][place], [*tried, end][place]
    return float(np.int64(first).view(np.float64)) if first < n_patterns else np.inf


def novelty_pvalues(
    strangeness: FloatArray, reference: FloatArray, queries: IntArray
) -> FloatArray:
    """Return conformal p-values of items of new queries.

    Parameters
    ----------
    strangeness : ndarray of shape (n_items,), float64
        Higher is stranger.
    reference : ndarray of shape (n_reference,), float64
        Strangeness of the items of known queries; the detector was not fitted on them.
    queries : ndarray of shape (n_reference,), int64
        Numbers of their queries, from 0, without gaps.

    Returns
    -------
    pvalues : ndarray of shape (n_items,), float64
        (1 + sum over queries of the share of items at least as strange) /
        (n_queries + 1), in (0, 1]. Low for items unlike the known ones.

    Notes
    -----
    If the known queries and a new one are exchangeable, a random item of the new query
    has a p-value of at most alpha with probability at most alpha, for any number of
    queries [1]_. Treating the similar items of a query as independent would break this.
    The least value is 1 / (n_queries + 1). O(n log n) for n items in all.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import novelty_pvalues
    >>> known, query = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    >>> novelty_pvalues(np.array([0.5, 2.5, 9.0]), known, query) * 3
    array([2.5, 1.5, 1. ])
    """
    sizes = np.bincount(queries)
    found = 1 + _at_least(strangeness, reference, 1 / sizes[queries])
    return np.asarray(np.minimum(found / (sizes.size + 1), 1.0))


def novelty_pvalues_of_known(reference: FloatArray, queries: IntArray) -> FloatArray:
    """Return the p-value of each known item against all other queries.

    Parameters as in ``novelty_pvalues``; shape (n_reference,).
    """
    order = np.lexsort((reference, queries))
    sizes = np.bincount(queries)
    share = 1 / sizes[queries]
    ends = np.repeat(np.cumsum(sizes), sizes)
    # Equal items of a query count together, from the beginning of their block.
    ordered, query = reference[order], queries[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]) | (query[1:] != query[:-1]))
    begins = np.flatnonzero(new)[np.cumsum(new) - 1]
    own = np.empty(reference.size)
    own[order] = (ends - begins) * share[order]
    others = np.maximum(_at_least(reference, reference, share) - own, 0.0)
    return np.asarray(np.minimum((1 + others) / sizes.size, 1.0))


def _at_least(
    values: FloatArray, reference: FloatArray, share: FloatArray
) -> FloatArray:
    """Return the summed shares of the reference items at or above each value."""
    order = np.argsort(reference, kind="stable")
    above = np.append(np.cumsum(share[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(reference[order], values, side="left")])
