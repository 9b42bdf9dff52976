"""Rules that turn calibration pairs into a region of accepted pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skrank_abstain.pairs import PairGaps
from skrank_abstain.selection._gap_curve import GapRegion, RiskCurve
from skrank_abstain.selection._order import Cuts, cuts_at_rank
from skrank_abstain.selection._quantile import order_statistic_rank


def select_coverage(
    curve: RiskCurve,
    gaps: PairGaps,
    coverage: float,
    *,
    tolerance: float,
    quantile: str = "inverted_cdf",
    boundary: str = "accept",
    seed: int = 0,
) -> GapRegion:
    """Accept the pairs whose risk is at most the coverage quantile.

    Parameters
    ----------
    curve : RiskCurve
    gaps : PairGaps
        ``|d|`` of the calibration pairs.
    coverage : float
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair, also those
        riskier than any calibration pair.
    tolerance : float
        Differences this close are equal and decided alike.
    quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
        The order statistic of rank ``ceil(coverage * n_pairs)``, or numpy's linear
        interpolation between two.
    boundary : {"accept", "randomize"}, default="accept"
        Whether pairs on the threshold are all accepted, or each with the probability
        that makes the calibration coverage exact.
    seed : int, default=0
        For ``boundary="randomize"``.

    Returns
    -------
    region : GapRegion

    Notes
    -----
    Theorem 3.2 and Algorithm 1 of [1]_. Pairs of equal risk are taken by gap,
    the surer side first. The order statistic is found by counting, in O(n log n) for
    n items whatever the number of pairs.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention
       Pairwise Learning to Rank". arXiv:2505.23437.
    """
    if coverage == 1:
        return GapRegion(curve.highest, -1.0, 0.0, tolerance, crossing=curve.crossing)
    n_pairs = gaps.n_pairs
    if quantile == "linear":
        threshold = _linear_quantile(curve, gaps, coverage)
        return select_risk(curve, threshold, tolerance=tolerance)
    rank = order_statistic_rank(coverage, n_pairs)
    cuts = cuts_at_rank(curve, gaps, rank)
    region = GapRegion(
        cuts.risk,
        *_ends(curve, cuts, tolerance),
        tolerance,
        crossing=curve.crossing,
    )
    if boundary == "accept":
        return region
    # With kappa = 0 the pairs on the cuts count as abstained.
    n_accepted = accepted_mass(region, gaps)
    n_below = accepted_mass(replace(region, kappa=0.0), gaps)
    kappa = (coverage * n_pairs - n_below) / (n_accepted - n_below)
    return replace(region, kappa=float(np.clip(kappa, 0, 1)), seed=seed)


def accepted_mass(region: GapRegion, gaps: PairGaps) -> float:
    """Return the expected number of accepted pairs."""
    starts, weight, _ = region.pieces()
    below = gaps.count_within(np.nextafter(starts, -np.inf))
    counts = np.diff(np.append(below, gaps.n_pairs))
    return float(weight @ counts)


def _linear_quantile(curve: RiskCurve, gaps: PairGaps, coverage: float) -> float:
    """Interpolate between two order statistics, as numpy does by default."""
    place = coverage * (gaps.n_pairs - 1)
    ranks = sorted({int(np.floor(place)) + 1, int(np.ceil(place)) + 1})
    found = [cuts_at_rank(curve, gaps, rank).risk for rank in ranks]
    return float(np.quantile(found, place - np.floor(place)))


def _ends(curve: RiskCurve, cuts: Cuts, tolerance: float) -> tuple[float, float]:
    """Return the inner and the outer cut of the threshold.

    On the side of the pair that sets the threshold the cut is that pair. On the other
    it is where the risk is the threshold, between the last accepted calibration pair
    and the first that is not: where the risk is flat, its rounding must not decide.
    """
    if cuts.tie:
        with np.errstate(over="ignore"):  # where an order never wins
            reach = np.nextafter(cuts.outer_end + 2 * tolerance, np.inf)
        outer = max(curve.outer_cut(cuts.risk), float(reach))
        return cuts.gap, min(outer, cuts.outer)
    reach = np.nextafter(cuts.inner_end - 2 * tolerance, -np.inf)
    inner = min(curve.inner_cut(cuts.risk), float(reach))
    return max(inner, cuts.inner), cuts.gap


def select_risk(curve: RiskCurve, risk: float, *, tolerance: float) -> GapRegion:
    """Accept the pairs whose conditional risk is at most ``risk``.

    Parameters
    ----------
    curve : RiskCurve
    risk : float
        Threshold on the conditional risk.
    tolerance : float
        Differences this close are equal and decided alike.

    Returns
    -------
    region : GapRegion

    Notes
    -----
    Two monotone searches, independent of the number of pairs.
    """
    if risk >= curve.highest:
        return GapRegion(risk, -1.0, 0.0, tolerance, crossing=curve.crossing)
    inner, outer = curve.inner_cut(risk), curve.outer_cut(risk)
    return GapRegion(risk, inner, outer, tolerance, crossing=curve.crossing)
