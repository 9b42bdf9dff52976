"""Which order statistic a coverage asks for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skrank_abstain._validation import check_choice, check_fraction

#: Rounding of coverage * n_pairs that must not ask for one pair more.
_SLACK = 1e-12


def check_quantile(coverage: float, quantile: str, boundary: str) -> None:
    """Refuse what is no coverage, and options that are unknown or go ill together."""
    check_fraction(coverage, "coverage", include_one=True)
    check_choice(boundary, "boundary", ("accept", "randomize"))
    check_choice(quantile, "quantile", ("inverted_cdf", "linear"))
    if boundary == "randomize" and quantile == "linear":
        raise ValueError(
            "boundary='randomize' must go with quantile='inverted_cdf', got "
            "quantile='linear': an interpolated threshold has no pairs on it."
        )


def linear_quantile(
    risk_at: Callable[[int], float], coverage: float, n_pairs: int
) -> float:
    """Interpolate between two order statistics, as numpy does by default.

    Parameters
    ----------
    risk_at : callable
        Takes a rank, from 1, and returns the risk of the pair of this rank.
    coverage : float
    n_pairs : int
    """
    place = coverage * (n_pairs - 1)
    low = math.floor(place)
    ends = [risk_at(low + 1), risk_at(math.ceil(place) + 1)]
    return float(np.quantile(ends, place - low))


def order_statistic_rank(coverage: float, n_pairs: int) -> int:
    """Return the rank of the risk that is the coverage quantile.

    Parameters
    ----------
    coverage : float
        Target, in (0, 1].
    n_pairs : int
        Number of calibration pairs, at least 1.

    Returns
    -------
    rank : int
        ``ceil(coverage * n_pairs)``, from 1 to ``n_pairs``: the smallest risk at or
        below which there is at least this share of the pairs (``inverted_cdf``).

    Examples
    --------
    >>> from skrank_abstain.selection import order_statistic_rank
    >>> order_statistic_rank(0.7, 10), order_statistic_rank(0.71, 10)
    (7, 8)
    """
    exact = coverage * n_pairs
    return min(max(math.ceil(exact - _SLACK * max(exact, 1.0)), 1), n_pairs)
