"""Confidence intervals of a ratio of totals over queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from skrank_abstain._validation import check_fraction


def ratio_interval(
    numerators: ArrayLike, denominators: ArrayLike, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return a cluster-t interval of a ratio of totals.

    Parameters
    ----------
    numerators, denominators : array-like of shape (n_queries,)
        Totals per query, such as correct and accepted pairs. Denominators are
        non-negative.
    confidence : float, default=0.95
        In (0, 1).

    Returns
    -------
    low, high : float
        NaN where there are fewer than two queries or the denominators sum to zero.

    Notes
    -----
    With R = sum(e) / sum(a) over Q queries, R plus or minus the t quantile with Q - 1
    degrees of freedom times sqrt(Q / (Q - 1) sum((e - R a)^2)) / sum(a): the
    linearised variance of a ratio, as in cluster sampling [1]_. Asymptotic in the
    number of queries, and not clipped to a range. O(n_queries).

    References
    ----------
    .. [1] Cochran (1977). "Sampling Techniques", third edition, section 6.3.

    Examples
    --------
    >>> from skrank_abstain.concentration import ratio_interval
    >>> low, high = ratio_interval([3, 1, 4, 2], [4, 2, 4, 4])
    >>> round(low, 2), round(high, 2)
    (0.32, 1.11)
    """
    check_fraction(confidence, "confidence")
    part = np.asarray(numerators, dtype=np.float64)
    whole = np.asarray(denominators, dtype=np.float64)
    n_queries, total = whole.size, float(whole.sum())
    if n_queries < 2 or total <= 0:
        return float("nan"), float("nan")
    ratio = float(part.sum()) / total
    spread = np.sqrt(n_queries / (n_queries - 1) * np.sum((part - ratio * whole) ** 2))
    half = float(stdtrit(n_queries - 1, (1 + confidence) / 2) * spread / total)
    return ratio - half, ratio + half
