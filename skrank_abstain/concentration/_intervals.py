"""Intervals of statistics over queries: of ratios of totals, and by the bootstrap."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtr, stdtrit
from sklearn.utils import check_random_state

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import (
    check_fraction,
    check_not_negative,
    check_per_query,
    check_positive_int,
)
from skrank_abstain._warnings import warn_user

#: Two ratios with at most this relative difference are equal.
_ROUNDING = 8 * np.finfo(np.float64).eps
#: Coverages further apart are not compared without a warning.
_UNEQUAL = 0.02
#: Draws of queries held in memory at a time.
_BLOCK = 1 << 20
_CONFIDENCE = 0.95
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
    With R = sum(e) / sum(a) over Q queries, R plus or minus the t quantile with Q - 1
    degrees of freedom times sqrt(Q / (Q - 1) sum((e - R a)^2)) / sum(a): the
    linearised variance of a ratio, as in cluster sampling [1]_. For i.i.d. queries
    the interval covers E[e] / E[a] with the given probability in the limit of many
    queries. It covers less with few queries, or if a handful of them holds most pairs
    or all errors. It is not clipped to a range. O(n_queries * n_ratios).

    References
    ----------
    .. [1] Cochran (1977). "Sampling Techniques", third edition, chapter 6.

    Examples
    --------
    >>> from skrank_abstain.concentration import ratio_interval
    >>> low, high = ratio_interval([3, 1, 4, 2], [4, 2, 4, 4])
    >>> round(low, 2), round(high, 2)
    (0.32, 1.11)
    """
    check_fraction(confidence, "confidence")
    part, whole = check_per_query(
        {"numerators": numerators, "denominators": denominators}, columns=True
    )
    check_not_negative(whole, "denominators")
    ratio, influence = _linearise(part, whole)
    half = _standard_error(influence) * stdtrit(len(part) - 1, (1 + confidence) / 2)
    low, high = ratio - half, ratio + half
    return (low, high) if part.ndim > 1 else (float(low), float(high))


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
        with ``qid`` and the two arrays by name, each of shape (n_queries,).
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
        If the queries of ``b`` are others than those of ``a``, or in another order.

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
    Each ratio is linearised to one value per query, Q (e - R a) / sum(a), and the
    differences of these values are tested as in a paired t test with Q - 1 degrees of
    freedom [1]_. If all wholes are equal it is the paired t test of the shares. For
    i.i.d. queries level and coverage are right in the limit of many queries. If no
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
    (0.125, -0.025, 0.082)
    """
    if not np.array_equal(a.qid, b.qid):
        raise ValueError(
            "b must be of the same queries as a, in the same order, got other qid: "
            "evaluate both rankers on the same rows."
        )
    shares = [getattr(each, "coverage", np.nan) for each in (a, b)]
    if whole != "pairs" and abs(shares[0] - shares[1]) > _UNEQUAL:
        warn_user(
            f"a decides {shares[0]:.3f} of the pairs and b {shares[1]:.3f}: who "
            "decides less has fewer errors for that reason alone. metrics.compare "
            "compares at equal coverage."
        )
    columns = [getattr(each, name) for each in (a, b) for name in (part, whole)]
    return ratio_difference(*columns, confidence=confidence)


def ratio_difference(*columns: ArrayLike, confidence: float = 0.95) -> RatioDifference:
    """Compare two ratios of arrays of shape (n_queries,), as `paired_ratio_test`.

    ``columns`` are part and whole of the first, then part and whole of the second.
    """
    names = ("part_a", "whole_a", "part_b", "whole_b")
    named = dict(zip(names, columns, strict=True))
    first, total_a, second, total_b = check_per_query(named)
    check_not_negative(total_a, "whole_a")
    check_not_negative(total_b, "whole_b")
    # Linearise, then subtract: a difference of ratios has no value for each query, but
    # its linearisation has, and common errors cancel query by query.
    ratio_a, influence_a = _linearise(first, total_a)
    ratio_b, influence_b = _linearise(second, total_b)
    influence = influence_a - influence_b
    return difference_of(float(ratio_a), float(ratio_b), influence, confidence)


def difference_of(
    a: float, b: float, influence: FloatArray, confidence: float
) -> RatioDifference:
    """Return ``a - b`` with its t interval and p-value.

    ``influence`` of shape (n_queries,) holds each query's linear share of the error:
    the standard error of its mean is that of the difference.
    """
    check_fraction(confidence, "confidence")
    difference, freedom = a - b, len(influence) - 1
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


def _linearise(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a ratio, NaN if undefined, and each query's linear share of its error."""
    # Delta method: to first order the error of the ratio is the mean of these.
    total = whole.sum(axis=0)
    total = np.where(total > 0, total, np.nan)
    ratio = part.sum(axis=0) / total
    return ratio, len(part) * (part - ratio * whole) / total


def _standard_error(influence: FloatArray) -> FloatArray:
    """Return the standard error of a mean of zero, NaN for fewer than two queries."""
    n_queries = len(influence)
    if n_queries < 2:
        return np.full(influence.shape[1:], np.nan)
    error: FloatArray = np.sqrt(
        np.sum(influence**2, axis=0) / (n_queries - 1) / n_queries
    )
    return error


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
    check_fraction(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    if n_queries < 2:
        return float("nan"), float("nan")
    # An undefined statistic is 0 / 0.
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.concatenate(
            [
                np.asarray(statistic(times), dtype=np.float64)
                for times in _resample(n_queries, n_resamples, random_state)
            ]
        )
    if np.isnan(values).all():
        return float("nan"), float("nan")
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(values, tails, axis=0)
    return (low, high) if values.ndim > 1 else (float(low), float(high))


def _resample(
    n_queries: int, n_resamples: int, random_state: Any
) -> Iterator[FloatArray]:
    """Yield the number of draws of each query in resamples, shape (n, n_queries)."""
    rng = check_random_state(random_state)
    # Blocks do not change the draws.
    height = max(_BLOCK // n_queries, 1)
    for first in range(0, n_resamples, height):
        n_drawn = min(height, n_resamples - first)
        drawn = rng.randint(n_queries, size=(n_drawn, n_queries))
        # Each resample gets its own range of numbers: one bincount counts a block.
        drawn += n_queries * np.arange(n_drawn)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield times.astype(np.float64)


def coverage_interval(
    accepted: FloatArray, pairs: FloatArray, *, seed: int
) -> FloatArray:
    """Return a 95 % interval for the coverage of as many new queries.

    Parameters
    ----------
    accepted, pairs : ndarray of shape (n_queries,), float64
        Accepted pairs and pairs of each query that set the threshold.
    seed : int

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
    coverage = np.empty(2 * _N_RESAMPLES)
    at_a_time = max(_MOST_DRAWN // n, 1)
    for first in range(0, coverage.size, at_a_time):
        part = coverage[first : first + at_a_time]
        drawn = rng.integers(0, n, (part.size, n))
        part[:] = accepted[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    tail = (1 - _CONFIDENCE) / 2
    one, other = coverage.reshape(2, -1)
    differs = np.quantile(one - other, [tail, 1 - tail])
    m = pairs.sum() ** 2 / (pairs**2).sum()
    # One dominating query leaves no degree of freedom.
    free = max(m - 1, 1e-3)
    stretch = np.sqrt(m / free) * stdtrit(free, tail) / ndtri(tail)
    return np.asarray(np.clip(accepted.sum() / pairs.sum() + stretch * differs, 0, 1))
