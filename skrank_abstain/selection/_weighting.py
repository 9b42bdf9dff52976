"""What a promise about new queries weighs: each query alike, or each pair."""

import math

import numpy as np

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import check_choice, check_positive_int, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import ratio_difference
from skrank_abstain.selection._calibration import Calibration
from skrank_abstain.selection._engine import Region

WEIGHTINGS = ("queries", "pairs")
#: `fit` warns where one of the two weightings exceeds the other by more than this.
_MOST_EXCESS = 0.5
#: Level at which the difference must not be chance.
_LEVEL = 0.05


def check_weighting(weighting: str, largest_query: int | None) -> None:
    """Refuse a weighting that is unknown, or has no largest query where it needs one.

    Raises
    ------
    ValueError, TypeError
        Naming ``weighting`` or ``largest_query``.
    """
    check_choice(weighting, "weighting", WEIGHTINGS)
    if weighting == "pairs":
        if largest_query is None:
            raise ValueError(
                "largest_query must be given with weighting='pairs', got None: pass "
                "the number of items of the largest query that may ever come. A "
                "promise about pairs cannot cover queries of any size."
            )
        check_positive_int(largest_query, "largest_query", minimum=2)
    elif largest_query is not None:
        raise ValueError(
            "largest_query must go with weighting='pairs', got "
            f"{shown(largest_query)} and weighting='queries', which allows queries of "
            "any size."
        )


def check_largest_query(largest: int, largest_query: int | None) -> None:
    """Refuse a query that is larger than a promise about pairs allows.

    Parameters
    ----------
    largest : int
        Items of the largest query.
    largest_query : int or None
        None allows any size.

    Raises
    ------
    ValueError
        If ``largest`` exceeds ``largest_query``.
    """
    if largest_query is not None and largest > largest_query:
        raise ValueError(
            f"X must hold queries of at most largest_query={largest_query} items, got "
            f"one of {largest}: the promise weighs pairs and covers no larger query. "
            "Rank it by predict and leave its pairs to a person, or fit with a larger "
            "largest_query."
        )


def most_pairs(calibration: Calibration, largest_query: int | None) -> float | None:
    """Return the pairs of the largest query that is allowed; None for any size.

    Raises
    ------
    ValueError
        If a query is larger, or pairs are given one by one, without their items.
    """
    if largest_query is None:
        return None
    for items in (calibration.tuning or calibration.items, calibration.items):
        if items.unit is not None:
            raise ValueError(
                "weighting must be 'queries' for comparisons, got 'pairs': new "
                "comparisons come one by one, and nothing says how many a query has."
            )
        # n items have n (n - 1) / 2 pairs.
        largest = (1 + math.isqrt(1 + 8 * int(items.pair_counts.max(initial=0)))) // 2
        check_largest_query(largest, largest_query)
    return largest_query * (largest_query - 1) / 2


def both_ways(
    part: FloatArray, whole: FloatArray, pairs: FloatArray
) -> tuple[float, float, bool]:
    """Return a ratio of totals, each query and each pair counting alike.

    Parameters
    ----------
    part, whole, pairs : ndarray of shape (n_queries,), float64
        Totals by query, such as losses, accepted pairs and all pairs.

    Returns
    -------
    by_query, by_pair : float
        NaN where the wholes sum to zero.
    differ : bool
        Whether one exceeds the other by more than half, and not by chance (5 %).
    """
    some = pairs > 0
    part, whole, pairs = part[some], whole[some], pairs[some]
    by_query, by_pair = np.nan, np.nan
    if whole.sum() > 0:
        by_query = float((part / pairs).sum() / (whole / pairs).sum())
        by_pair = float(part.sum() / whole.sum())
    low, high = sorted([by_query, by_pair])
    differ = high > (1 + _MOST_EXCESS) * low
    if differ:
        test = ratio_difference(part, whole, part / pairs, whole / pairs)
        differ = test.pvalue <= _LEVEL
    return by_query, by_pair, differ


def risk_both_ways(
    calibration: Calibration, region: Region, bound: str = "loss"
) -> tuple[float, float, bool]:
    """Return the selective risk, or the discordance, on the calibration pairs.

    As `both_ways`.
    """
    totals = calibration.totals(region, calibration.items)
    if bound == "discordance":
        return both_ways(totals.discordant, totals.unlike, totals.pairs - totals.tied)
    return both_ways(totals.loss, totals.accepted, totals.pairs)


def coverage_both_ways(
    calibration: Calibration, region: Region
) -> tuple[float, float, bool]:
    """Return the coverage of the calibration pairs, as `both_ways`."""
    accepted, pairs = calibration.accepted_by_query(region)
    return both_ways(accepted, pairs, pairs)


def warn_of_difference(
    what: str, weighting: str, found: tuple[float, float, bool]
) -> None:
    """Warn where the weightings differ by more than half.

    Parameters
    ----------
    what : str
        "discordance", "selective risk" or "coverage".
    weighting : {"queries", "pairs"}
        That of the promise.
    found : tuple
        As `both_ways` returns it.
    """
    by_query, by_pair, differ = found
    if differ:
        by_pairs = weighting == "pairs"
        one, other = ("pair", "queries") if by_pairs else ("query", "pairs")
        warn_user(
            f"On the calibration data the {what} is {by_query:.3f}, each query "
            f"counting alike, and {by_pair:.3f}, each pair counting alike: query size "
            f"goes with it. The promise counts each {one} alike (weighting="
            f"{weighting!r}); for a promise about {other} see weighting={other!r}."
        )
