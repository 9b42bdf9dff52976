"""Which pair has a given rank of risk, found by counting.

The accepted pairs of a difference model are those with ``|d| <= a`` or ``|d| > e``.
The search keeps two such sets, one with fewer pairs than the rank asks for and one with
at least as many, and narrows them by pivots from a sample until the pairs between them
can be collected and sorted. The sample decides how long it takes, never the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray
from skrank_abstain.pairs import PairDistances
from skrank_abstain.selection._regions import RiskCurve

#: Pairs that are collected and sorted once the bracket is narrow enough.
COLLECT = 1 << 21
_SAMPLE = 1 << 16
#: Half the width of a new bracket, in standard errors of the sample.
_SPREAD = 3.0


@dataclass(frozen=True)
class _Set:
    """The pairs with ``|d| <= inner`` or ``|d| > outer``, and how many there are."""

    inner: float
    outer: float
    count: int


def pair_of_rank(
    curve: RiskCurve, distances: PairDistances, rank: int
) -> tuple[float, bool]:
    """Return the distance of the pair with this rank of risk.

    Parameters
    ----------
    curve : RiskCurve
    distances : PairDistances
    rank : int
        From 1, the smallest risk. Equal risks are ordered by distance: orders before
        ties, orders from the largest distance down, ties from the smallest up.

    Returns
    -------
    distance : float
    tie : bool
        Whether a tie is predicted there.

    Notes
    -----
    Without predicted ties the rank of the risk is the rank of the distance. With them,
    a few counting passes, O(n log n) in the number of items, and at most 16 MB.
    """
    if curve.crossing == 0:
        return distances.kth_largest(rank), False
    crossing = float(np.nextafter(curve.crossing, -np.inf))
    low = _Set(-1.0, np.inf, 0)
    high = _Set(crossing, crossing, distances.n_pairs)
    while high.count - low.count > COLLECT:
        pivot = _pivots(curve, distances, low, high, rank)
        before = low, high
        low, high, found = _narrow(curve, distances, low, high, pivot, rank)
        if found is not None:
            return found, found < curve.crossing
        if before == (low, high):
            break
    inside = np.concatenate(
        [
            distances.collect(low.inner, high.inner),
            distances.collect(high.outer, low.outer),
        ]
    )
    order = _surest_first(curve, inside)
    distance = float(inside[order[rank - low.count - 1]])
    return distance, distance < curve.crossing


def _surest_first(curve: RiskCurve, distance: FloatArray) -> FloatArray:
    """Sort by risk, then orders before ties, then by distance, the surer side first."""
    tie: BoolArray = distance < curve.crossing
    return np.lexsort((np.where(tie, distance, -distance), tie, curve(distance)))


def _pivots(
    curve: RiskCurve, distances: PairDistances, low: _Set, high: _Set, rank: int
) -> FloatArray:
    """Return sampled distances on both sides of the wanted rank."""
    inner, outer = distances.count_within([low.inner, high.inner]), low.count
    share = (inner[1] - inner[0]) / (high.count - outer)
    n_inner = round(_SAMPLE * float(share))
    windows = (
        (low.inner, high.inner, n_inner),
        (high.outer, low.outer, _SAMPLE - n_inner),
    )
    sample = np.concatenate([distances.sample(*w) for w in windows if w[2] > 0])
    sample = sample[_surest_first(curve, sample)]
    place = (rank - low.count) / (high.count - low.count)
    centre = place * sample.size
    spread = 2 + _SPREAD * np.sqrt(sample.size * place * (1 - place))
    ends = np.clip([centre - spread, centre + spread], 0, sample.size - 1)
    return sample[ends.astype(np.int64)]


def _narrow(
    curve: RiskCurve,
    distances: PairDistances,
    low: _Set,
    high: _Set,
    pivots: FloatArray,
    rank: int,
) -> tuple[_Set, _Set, float | None]:
    """Count the pairs surer than each pivot, with and without those as sure as it."""
    bounds = []
    for pivot in pivots.tolist():
        risk = float(curve(np.array([pivot]))[0])
        if pivot < curve.crossing:
            outer = float(np.nextafter(curve.outer_cut(risk), -np.inf))
            outer = min(max(outer, high.outer), low.outer)
            bounds += [(np.nextafter(pivot, -np.inf), outer), (pivot, outer)]
        else:
            inner = min(max(curve.inner_cut(risk), low.inner), high.inner)
            bounds += [(inner, pivot), (inner, np.nextafter(pivot, -np.inf))]
    within = distances.count_within(np.array(bounds, dtype=np.float64).reshape(-1))
    counts = within[0::2] + distances.n_pairs - within[1::2]
    for (inner, outer), count in zip(bounds, counts.tolist(), strict=True):
        if count < rank and count > low.count:
            low = _Set(float(inner), float(outer), count)
        elif rank <= count < high.count:
            high = _Set(float(inner), float(outer), count)
    for k, pivot in enumerate(pivots.tolist()):
        if counts[2 * k] < rank <= counts[2 * k + 1]:
            return low, high, pivot
    return low, high, None
