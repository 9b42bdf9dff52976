"""The bootstrap of whole queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    FloatArray,
    check_choice,
    check_fraction,
    check_positive_int,
)
from skrank_abstain.concentration._query_arrays import check_per_query

#: Draws of a query that are held in memory at a time.
_BLOCK = 1 << 20


def cluster_bootstrap(
    statistic: Callable[..., ArrayLike],
    *arrays: ArrayLike,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    method: str = "percentile",
    random_state: Any = None,
) -> tuple[float, float]:
    """Return a bootstrap interval of a function of totals over queries.

    Parameters
    ----------
    statistic : callable
        Takes the totals of each array over the queries of a resample, with resamples
        along a first axis: for an array of shape (n_queries,) its totals have shape
        (n,), for one of shape (n_queries, k) they have shape (n, k). Returns one
        number per resample, shape (n,); NaN where it is undefined.
    *arrays : array-like of shape (n_queries,) or (n_queries, k)
        What each query adds to the totals, such as correct and accepted pairs.
    n_resamples : int, default=2000
        Number of resamples.
    confidence : float, default=0.95
        In (0, 1).
    method : {"percentile", "bca"}, default="percentile"
        "bca" corrects for bias and for a variance that changes with the value, which
        helps with skewed statistics, and evaluates the statistic without each query.
    random_state : None, int or RandomState, default=None
        Draws the resamples.

    Returns
    -------
    low, high : float
        NaN where there are fewer than two queries or the statistic is undefined on all
        of them; for "bca" also where it is undefined without one of the queries, or
        where all resamples lie on one side of the estimate.

    Raises
    ------
    TypeError
        If an array is not numeric or ``n_resamples`` no integer.
    ValueError
        If there is no array, the arrays differ in length or hold NaN or infinity, the
        statistic returns another shape, or a parameter is out of range.

    Notes
    -----
    Queries are drawn with replacement, all their pairs with them, so that pairs of a
    query may depend on each other [1]_. For i.i.d. queries the interval covers in the
    limit of many queries; with fewer than about thirty the percentile interval is too
    narrow. Resamples on which the statistic is NaN, such as an accuracy with nothing
    accepted, are left out. O(n_resamples * n_queries * k), with bounded memory.

    References
    ----------
    .. [1] Davison and Hinkley (1997). "Bootstrap Methods and their Application",
       section 3.8 and chapter 5. Cambridge University Press.
    .. [2] Efron (1987). "Better bootstrap confidence intervals". Journal of the
       American Statistical Association 82(397). doi:10.1080/01621459.1987.10478410

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import cluster_bootstrap
    >>> correct, accepted = np.tile([3, 1, 4, 2], 10), np.tile([4, 2, 4, 4], 10)
    >>> low, high = cluster_bootstrap(np.divide, correct, accepted, random_state=0)
    >>> bool(low < 10 / 14 < high)
    True
    """
    check_fraction(confidence, "confidence")
    check_choice(method, "method", ("percentile", "bca"))
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    if not arrays:
        raise ValueError("arrays must hold at least one array, got none.")
    rows = check_per_query({f"arrays[{i}]": a for i, a in enumerate(arrays)}, ndim=None)
    # All resamples of one query are that query: no spread to be seen.
    if rows[0].shape[0] < 2:
        return float("nan"), float("nan")
    observed = _evaluate(statistic, [array.sum(axis=0)[None] for array in rows])[0]
    resampled = np.concatenate(
        [
            _evaluate(statistic, [_totals(times, array) for array in rows])
            for times in resample_queries(rows[0].shape[0], n_resamples, random_state)
        ]
    )
    # A resample that accepts nothing has no accuracy. Left out, the interval is about
    # accuracy given that something is accepted.
    resampled = resampled[~np.isnan(resampled)]
    if np.isnan(observed) or not resampled.size:
        return float("nan"), float("nan")
    if method == "bca":
        # The jackknife values, from totals less one query each.
        without = _evaluate(statistic, [a.sum(axis=0) - a for a in rows])
        tails = _corrected(confidence, observed, resampled, without)
        if np.isnan(tails).any():
            return float("nan"), float("nan")
        low, high = np.quantile(resampled, tails)
    else:
        low, high = percentile_interval(resampled, confidence)
    return float(low), float(high)


def _evaluate(
    statistic: Callable[..., ArrayLike], totals: list[FloatArray]
) -> FloatArray:
    # 0 / 0 is how a statistic says that it is undefined.
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.asarray(statistic(*totals), dtype=np.float64)
    if values.shape != totals[0].shape[:1]:
        raise ValueError(
            "statistic must return one number per resample, shape "
            f"{totals[0].shape[:1]}, got {values.shape}."
        )
    return values


def resample_queries(
    n_queries: int, n_resamples: int, random_state: Any
) -> Iterator[FloatArray]:
    """Draw queries with replacement, all pairs of a query together.

    Parameters
    ----------
    n_queries, n_resamples : int
        At least one of each.
    random_state : None, int or RandomState

    Yields
    ------
    times : ndarray of shape (n, n_queries), float64
        How often each query is in each of the next n resamples; its rows sum to
        ``n_queries``. Together the blocks have ``n_resamples`` rows.

    Notes
    -----
    The draws depend on the random state alone, not on how they are cut into blocks.
    """
    rng = check_random_state(random_state)
    height = max(_BLOCK // n_queries, 1)
    for first in range(0, n_resamples, height):
        n_drawn = min(height, n_resamples - first)
        drawn = rng.randint(n_queries, size=(n_drawn, n_queries))
        # One count for a whole block: the resamples get ranges of numbers of their own.
        drawn += n_queries * np.arange(n_drawn)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield times.astype(np.float64)


def percentile_interval(resampled: FloatArray, confidence: float) -> FloatArray:
    """Return the central share of resampled values, as rows low and high."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    interval: FloatArray = np.quantile(resampled, tails, axis=0)
    return interval


def _totals(weights: FloatArray, array: FloatArray) -> FloatArray:
    # Counts of draws times what a query adds: one matrix product for a block, where
    # gathering the drawn rows would copy the data for each resample.
    totals = weights @ array.reshape(array.shape[0], -1)
    return totals.reshape(weights.shape[0], *array.shape[1:])


def _corrected(
    confidence: float, observed: float, resampled: FloatArray, without: FloatArray
) -> FloatArray:
    """Return the tail probabilities of the BCa interval, NaN if there are none."""
    # Half of the values that equal the estimate, as for discrete statistics: shares of
    # few pairs tie often. Bias and acceleration are those of Efron (1987).
    below = np.mean(resampled < observed) + np.mean(resampled == observed) / 2
    bias = ndtri(below)
    # All resamples on one side of the estimate: no bias correction exists.
    if not np.isfinite(bias):
        return np.full(2, np.nan)
    # Acceleration from the skewness of the jackknife values; 0 where all are equal.
    gap = without.mean() - without
    spread = np.sum(gap**2) ** 1.5
    skewness = np.sum(gap**3) / (6 * spread) if spread != 0 else 0.0
    shifted = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    corrected: FloatArray = ndtr(bias + shifted / (1 - skewness * shifted))
    return corrected
