"""Where the accepted pairs end, found by counting.

The pairs of a difference model in order of risk are two sequences merged: predicted
orders from the largest ``|d|`` down and predicted ties from the smallest up. A set of
the surest pairs is therefore ``|d| <= inner`` or ``|d| > outer``. The search keeps one
such set with fewer pairs than wanted and one with at least as many, and narrows them
until the pairs between can be collected and merged. What guides it decides how long it
takes, never the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import PairDistances
from skrank_abstain.selection._regions import RiskCurve

#: Pairs that are collected and merged once the bracket is narrow enough.
COLLECT = 1 << 20
_SAMPLE = 1 << 16
#: Half the width of a new bracket, in standard errors of a sample.
_SPREAD = 3.0


@dataclass(frozen=True)
class Cuts:
    """Where the pairs up to some rank of risk end.

    Attributes
    ----------
    risk : float
        Conditional risk of the pair of this rank; grows with the rank.
    distance : float
        ``|d|`` of that pair.
    tie : bool
        Whether a tie is predicted there.
    inner, inner_end : float
        The largest accepted distance of a predicted tie (negative for none) and the
        smallest that is not.
    outer, outer_end : float
        The smallest accepted distance of a predicted order (infinity for none) and
        the largest that is not.
    """

    risk: float
    distance: float
    tie: bool
    inner: float
    inner_end: float
    outer: float
    outer_end: float


@dataclass(frozen=True)
class _Set:
    """The pairs with ``|d| <= inner`` or ``|d| > outer``, and how many there are."""

    inner: float
    outer: float
    count: int


def cuts_at_rank(curve: RiskCurve, distances: PairDistances, rank: int) -> Cuts:
    """Return where the ``rank`` surest pairs end.

    Parameters
    ----------
    curve : RiskCurve
    distances : PairDistances
    rank : int
        From 1. Equal risks are ordered by distance, the surer side first, orders
        before ties; rounding of the risk does not change the order within a side.

    Returns
    -------
    cuts : Cuts

    Notes
    -----
    A few counting passes, O(n log n) in the number of items, and at most some 30 MB.
    """
    low = _Set(-1.0, np.inf, 0)
    top = _below(curve.crossing) if curve.crossing > 0 else -1.0
    high = _Set(top, _below(curve.crossing), distances.n_pairs)
    guide, exact = distances.sketch(), False
    while high.count - low.count > COLLECT:
        pivots = _pivots(curve, guide, low, high, rank, exact)
        before = low, high
        low, high, found = _narrow(curve, distances, low, high, pivots, rank)
        if found is not None:
            return found
        if exact and before == (low, high):
            break
        if high.count - low.count > COLLECT:
            guide, exact = _sample(distances, low, high), True
    return _merge(curve, distances, low, high, rank)


def _below(value: float) -> float:
    return float(np.nextafter(value, -np.inf))


def _above(value: float) -> float:
    with np.errstate(over="ignore"):  # above the largest float is infinity
        return float(np.nextafter(value, np.inf))


def _surest_first(
    curve: RiskCurve, distance: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray, IntArray]:
    """Merge both sides by risk; rounding must not reorder a side.

    Returns the distances of both sides, their risk, whether each predicts a tie, and
    the order.
    """
    orders = np.sort(distance[distance >= curve.crossing])[::-1]
    ties = np.sort(distance[distance < curve.crossing])
    both = np.concatenate([orders, ties])
    risk = np.concatenate(
        [np.maximum.accumulate(curve(side)) for side in (orders, ties)]
    )
    return both, risk, both < curve.crossing, np.argsort(risk, kind="stable")


def _merge(
    curve: RiskCurve, distances: PairDistances, low: _Set, high: _Set, rank: int
) -> Cuts:
    """Collect the pairs between two sets and find the one of the wanted rank."""
    inside = np.concatenate(
        [
            distances.collect(low.inner, high.inner),
            distances.collect(high.outer, low.outer),
        ]
    )
    both, risk, tie, order = _surest_first(curve, inside)
    n_accepted = rank - low.count
    last = order[n_accepted - 1]
    accepted = np.zeros(both.size, dtype=bool)
    accepted[order[:n_accepted]] = True
    return Cuts(
        risk=float(risk[last]),
        distance=float(both[last]),
        tie=bool(tie[last]),
        inner=float(both[tie & accepted].max(initial=low.inner)),
        inner_end=float(both[tie & ~accepted].min(initial=_above(high.inner))),
        outer=float(both[~tie & accepted].min(initial=_above(low.outer))),
        outer_end=float(both[~tie & ~accepted].max(initial=high.outer)),
    )


def _sample(
    distances: PairDistances, low: _Set, high: _Set
) -> tuple[FloatArray, FloatArray]:
    """Draw pairs between two sets, each side as many as it has pairs."""
    n_inner = int(np.diff(distances.count_within([low.inner, high.inner]))[0])
    share = n_inner / (high.count - low.count)
    size = round(_SAMPLE * share)
    drawn = [
        distances.sample(*window)
        for window in (
            (low.inner, high.inner, size),
            (high.outer, low.outer, _SAMPLE - size),
        )
        if window[2] > 0
    ]
    sample = np.concatenate(drawn)
    return sample, np.ones(sample.size)


def _pivots(
    curve: RiskCurve,
    guide: tuple[FloatArray, FloatArray],
    low: _Set,
    high: _Set,
    rank: int,
    exact: bool,
) -> FloatArray:
    """Return distances that probably lie on both sides of the wanted rank."""
    distance, weight = guide
    both, _, _, order = _surest_first(curve, distance)
    # The weights follow the distances into both sides.
    by_distance = np.argsort(distance, kind="stable")
    n_ties = int(np.sum(distance < curve.crossing))
    moved = np.concatenate([by_distance[n_ties:][::-1], by_distance[:n_ties]])
    total = np.cumsum(weight[moved][order])
    place = (rank - low.count) / (high.count - low.count)
    # A sample has errors of its size, a sketch those of its points.
    slack = 2 + (_SPREAD * np.sqrt(total[-1] * place * (1 - place)) if exact else 0)
    at = np.searchsorted(total, place * total[-1])
    if exact:
        ends = np.searchsorted(total, [total[-1] * place - slack, total[at] + slack])
    else:
        ends = np.array([at - slack, at + slack])
    return both[order[np.clip(ends, 0, order.size - 1).astype(np.int64)]]


def _narrow(
    curve: RiskCurve,
    distances: PairDistances,
    low: _Set,
    high: _Set,
    pivots: FloatArray,
    rank: int,
) -> tuple[_Set, _Set, Cuts | None]:
    """Count the pairs surer than each pivot, without and with those as sure as it.

    Both, so that a distance that very many pairs share is found and not bracketed.
    """
    bounds = []
    for pivot in pivots.tolist():
        risk = float(curve(np.array([pivot]))[0])
        if pivot < curve.crossing:
            outer = min(max(_below(curve.outer_cut(risk)), high.outer), low.outer)
            pair = [(_below(pivot), outer), (pivot, outer)]
        else:
            inner = min(max(curve.inner_cut(risk), low.inner), high.inner)
            pair = [(inner, pivot), (inner, _below(pivot))]
        bounds += [
            (
                min(max(inner, low.inner), high.inner),
                min(max(outer, high.outer), low.outer),
            )
            for inner, outer in pair
        ]
    within = distances.count_within(np.array(bounds, dtype=np.float64).reshape(-1))
    counts = (within[0::2] + distances.n_pairs - within[1::2]).tolist()
    for k, pivot in enumerate(pivots.tolist()):
        without, including = counts[2 * k], counts[2 * k + 1]
        if without < rank <= including:
            inner, outer = bounds[2 * k + 1]
            tie, risk = pivot < curve.crossing, float(curve(np.array([pivot]))[0])
            return low, high, _cuts_at(risk, pivot, tie, inner, outer)
    for (inner, outer), count in zip(bounds, counts, strict=True):
        if low.count < count < rank:
            low = _Set(inner, outer, count)
        elif rank <= count < high.count:
            high = _Set(inner, outer, count)
    return low, high, None


def _cuts_at(
    risk: float, distance: float, tie: bool, inner: float, outer: float
) -> Cuts:
    """Return the cuts of a set that ends exactly at ``distance``."""
    return Cuts(
        risk=risk,
        distance=distance,
        tie=tie,
        inner=inner,
        inner_end=_above(inner),
        outer=_above(outer),
        outer_end=outer,
    )
