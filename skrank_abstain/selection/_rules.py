"""Rules that turn calibration pairs into a region of accepted pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.selection._quantile import order_statistic_rank
from skrank_abstain.selection._regions import DistanceRegion, RiskCurve


def select_coverage(
    curve: RiskCurve,
    distance: FloatArray,
    coverage: float,
    *,
    tolerance: float,
    quantile: str = "inverted_cdf",
    boundary: str = "accept",
    seed: int = 0,
) -> DistanceRegion:
    """Accept the pairs whose risk is at most the coverage quantile.

    Parameters
    ----------
    curve : RiskCurve
    distance : ndarray of shape (n_pairs,)
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
    region : DistanceRegion

    Notes
    -----
    Theorem 3.2 and Algorithm 1 of [1]_. Pairs of equal risk are taken by distance,
    the surer side first. O(n_pairs log n_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention
       Pairwise Learning to Rank". arXiv:2505.23437.
    """
    if coverage == 1:
        return DistanceRegion(curve.highest, -1.0, 0.0, tolerance)
    risk = curve(distance)
    if quantile == "linear":
        threshold = float(np.quantile(risk, coverage))
        return select_risk(curve, threshold, tolerance=tolerance)
    below_crossing = distance < curve.crossing
    surest_first = np.where(below_crossing, distance, -distance)
    order = np.lexsort((surest_first, below_crossing, risk))
    last = order[order_statistic_rank(coverage, distance.size) - 1]
    threshold, cut = float(risk[last]), float(distance[last])
    region = (
        DistanceRegion(threshold, cut, curve.outer_cut(threshold), tolerance)
        if below_crossing[last]
        else DistanceRegion(threshold, curve.inner_cut(threshold), cut, tolerance)
    )
    if boundary == "accept":
        return region
    # With kappa = 1/2 the weights tell inside (1), cut (1/2) and outside (0) apart.
    weight = replace(region, kappa=0.5).weight(distance)
    n_below, n_at = np.sum(weight == 1), np.sum(weight == 0.5)
    kappa = float(np.clip((coverage * distance.size - n_below) / n_at, 0, 1))
    return replace(region, kappa=kappa, seed=seed)


def select_risk(curve: RiskCurve, risk: float, *, tolerance: float) -> DistanceRegion:
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
    region : DistanceRegion

    Notes
    -----
    Two monotone searches, independent of the number of pairs.
    """
    if risk >= curve.highest:
        return DistanceRegion(risk, -1.0, 0.0, tolerance)
    return DistanceRegion(risk, curve.inner_cut(risk), curve.outer_cut(risk), tolerance)
