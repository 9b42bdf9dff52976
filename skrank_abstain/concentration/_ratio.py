"""Intervals and a test of ratios of totals over queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_not_negative,
    check_per_query,
)

#: Relative difference of two ratios that stands for none.
_ROUNDING = 8 * np.finfo(np.float64).eps


class RatioDifference(NamedTuple):
    """A difference of two ratios, with its interval and p-value.

    Attributes
    ----------
    difference : float
        First ratio minus second.
    low, high : float
        Ends of the confidence interval.
    pvalue : float
        Two-sided, of no difference.
    """

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
        non-negative. Each column has an interval of its own.
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
    queries; with few, or where a handful of them holds most pairs or all errors, it
    covers less. It is not clipped to a range. O(n_queries * n_ratios).

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
    part_a: ArrayLike,
    whole_a: ArrayLike,
    part_b: ArrayLike,
    whole_b: ArrayLike,
    *,
    confidence: float = 0.95,
) -> RatioDifference:
    """Compare two ratios of totals that were measured on the same queries.

    Parameters
    ----------
    part_a, whole_a : array-like of shape (n_queries,)
        Totals per query of the first ranker, such as correct and accepted pairs.
        Wholes are non-negative.
    part_b, whole_b : array-like of shape (n_queries,)
        Those of the second, for the same queries in the same order.
    confidence : float, default=0.95
        Of the interval, in (0, 1).

    Returns
    -------
    result : RatioDifference
        Named tuple ``(difference, low, high, pvalue)``, the difference being first
        minus second. The difference is NaN where a whole sums to zero, the rest also
        where there are fewer than two queries.

    Raises
    ------
    TypeError, ValueError
        As in `ratio_interval`.

    Notes
    -----
    Ratio A is linearised to one value per query, Q (e - R_A a) / sum(a), and so is B;
    the differences of the values are tested as in a paired t test with Q - 1 degrees
    of freedom [1]_. With all wholes equal it is the paired t test of the shares. For
    i.i.d. queries level and coverage are right in the limit of many queries. Where no
    query deviates from its ratios, such as A always and B never right, the interval has
    no width and the p-value of a difference is 0. Two rankers that accept differently
    many pairs differ in selective accuracy for that reason alone: compare at one
    coverage. O(n_queries).

    References
    ----------
    .. [1] Cochran (1977). "Sampling Techniques", third edition, chapter 6.

    Examples
    --------
    >>> from skrank_abstain.concentration import paired_ratio_test
    >>> result = paired_ratio_test(
    ...     [4, 3, 5, 4, 3], [5, 4, 6, 5, 4], [4, 2, 4, 4, 2], [5, 4, 6, 5, 4]
    ... )
    >>> round(result.difference, 3), round(result.low, 3), round(result.pvalue, 3)
    (0.125, -0.025, 0.082)
    """
    check_fraction(confidence, "confidence")
    first, total_a, second, total_b = check_per_query(
        {"part_a": part_a, "whole_a": whole_a, "part_b": part_b, "whole_b": whole_b}
    )
    check_not_negative(total_a, "whole_a")
    check_not_negative(total_b, "whole_b")
    # Linearised first and subtracted then: the difference of two ratios has no other
    # value for each query, and what the rankers share cancels query by query.
    ratio_a, influence_a = _linearise(first, total_a)
    ratio_b, influence_b = _linearise(second, total_b)
    difference, freedom = float(ratio_a - ratio_b), first.size - 1
    error = float(_standard_error(influence_a - influence_b))
    half = error * float(stdtrit(freedom, (1 + confidence) / 2))
    # Equal but for rounding: 0 / 0 would make the p-value a matter of luck.
    if abs(difference) <= _ROUNDING * max(abs(ratio_a), abs(ratio_b)) and freedom > 0:
        pvalue = 1.0
    elif error == 0:
        pvalue = 0.0
    else:
        pvalue = float(2 * stdtr(freedom, -abs(difference) / error))
    return RatioDifference(difference, difference - half, difference + half, pvalue)


def _linearise(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a ratio, NaN if undefined, and each query's linear share of its error."""
    # To first order the error of the ratio is the mean of these: its delta method.
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
