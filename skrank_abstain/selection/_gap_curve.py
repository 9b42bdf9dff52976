"""The conditional risk as a function of the gap, and where the surest pairs end.

For a difference model the risk of predicting the order of the scores falls with the gap
and the risk of predicting a tie rises. The smaller of the two therefore rises up to the
crossing and falls from there. In order of risk the pairs are two sequences merged:
predicted orders from the largest gap down and predicted ties from the smallest up. A
set of the surest pairs is therefore ``gap <= inner`` or ``gap > outer``. The search for
the pair of a given rank keeps one such set with fewer pairs than wanted and one with at
least as many, and narrows them until the pairs between can be collected and merged.
What guides it decides how long it takes, never the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import GapArray, PairGaps
from skrank_abstain.tie_models import DifferenceModel, expected_losses

#: The search for a cut gives up this many times beyond the calibration gaps.
_REACH = 2.0**60
#: Gaps that a search tries at a time.
_TRIED = 64
#: The search collects the pairs between its two sets once these are so few, and goes
#: on among them until they are few enough to be sorted and merged.
COLLECT = 1 << 21
_MERGE = 1 << 14
_SAMPLE = 1 << 16
#: A sample of fewer pairs between the two sets is drawn anew.
_FEWEST = 256
#: Half the width of a new bracket, in standard errors of a sample.
_SPREAD = 2.0


class RiskCurve:
    """Conditional risk of a fitted difference model as a function of ``|d|``.

    Parameters
    ----------
    model : DifferenceModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    largest : float
        Largest ``|d|`` of the calibration pairs: the unit of the searches.

    Attributes
    ----------
    crossing : float
        Gap below which a tie is predicted; 0 if a tie is never predicted,
        infinity if an order never is.
    highest : float
        Largest conditional risk over all gaps.
    """

    def __init__(
        self, model: DifferenceModel, loss: FloatArray, largest: float
    ) -> None:
        self._model = model
        self._loss = loss
        self._unit = largest if largest > 0 else 1.0
        self.crossing = self._first(self._order_wins, 0.0)
        # The risk rises up to the crossing and falls beyond, so that its maximum is
        # there; where no order ever wins it is at the far end.
        peak = self.crossing if np.isfinite(self.crossing) else self._unit * _REACH
        self.highest = float(self(np.array([peak]))[0])

    def __call__(self, gap: FloatArray) -> FloatArray:
        """Return the conditional risk at each gap, shape (n,)."""
        losses = self._losses(gap)
        return np.minimum(losses[:, 1], losses[:, 2])

    def of_tie(self, gap: float) -> float:
        """Return the expected loss of calling a pair a tie."""
        return float(self._losses(np.array([gap]))[0, 1])

    def outer_cut(self, risk: float) -> float:
        """Return the smallest gap where an order has at most this risk.

        Infinity if there is none.
        """
        if not np.isfinite(self.crossing):
            return np.inf
        return self._first(lambda d: self._losses(d)[:, 2] <= risk, self.crossing)

    def inner_cut(self, risk: float) -> float:
        """Return the largest gap where a tie has at most this risk.

        Negative if there is none.
        """
        if self.crossing == 0 or self._losses(np.zeros(1))[0, 1] > risk:
            return -1.0
        beyond = self._first(lambda d: self._losses(d)[:, 1] > risk, 0.0)
        if beyond == np.inf:
            return self.crossing
        # The last float before the risk exceeds the threshold, itself accepted.
        return min(float(np.nextafter(beyond, 0.0)), self.crossing)

    def _losses(self, gap: FloatArray) -> FloatArray:
        return expected_losses(self._model.checked_proba_at_gap(gap), self._loss)

    def _order_wins(self, gap: FloatArray) -> BoolArray:
        losses = self._losses(gap)
        wins: BoolArray = losses[:, 2] <= losses[:, 1]
        return wins

    def _first(self, reached: Callable[[FloatArray], BoolArray], start: float) -> float:
        """Return where a condition that stays true becomes true, or infinity.

        Many gaps are tried at a time, which costs little more than one: the
        floats between two bounds, in their order, are cut into so many parts.
        """
        if reached(np.array([start]))[0]:
            return start
        low, step = start, self._unit
        while not reached(np.array([start + step]))[0]:
            low, step = start + step, 2 * step
            if step > self._unit * _REACH:
                return np.inf
        # Non-negative floats have the order of their bit patterns.
        first, last = np.array([low, start + step]).view(np.int64).tolist()
        while last - first > 1:
            inner = np.arange(first, last, max((last - first) // _TRIED, 1))[1:]
            place = int(np.argmax(np.append(reached(inner.view(np.float64)), True)))
            ends = first, *inner.tolist(), last
            first, last = ends[place], ends[place + 1]
        return float(np.int64(last).view(np.float64))


@dataclass(frozen=True)
class Cuts:
    """Where the pairs up to some rank of risk end.

    Attributes
    ----------
    risk : float
        Conditional risk of the pair of this rank; grows with the rank.
    gap : float
        ``|d|`` of that pair.
    tie : bool
        Whether a tie is predicted there.
    inner, inner_end : float
        The largest accepted gap of a predicted tie (negative for none) and the
        smallest that is not.
    outer, outer_end : float
        The smallest accepted gap of a predicted order (infinity for none) and
        the largest that is not.
    """

    risk: float
    gap: float
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


def cuts_at_rank(curve: RiskCurve, gaps: PairGaps, rank: int) -> Cuts:
    """Return where the ``rank`` surest pairs end.

    Parameters
    ----------
    curve : RiskCurve
    gaps : PairGaps
    rank : int
        From 1. Equal risks are ordered by gap, the surer side first, orders
        before ties; rounding of the risk does not change the order within a side.

    Returns
    -------
    cuts : Cuts

    Notes
    -----
    Where there are many pairs, some that are spread over all of them say between
    which gaps to collect; collecting counts the pairs on both sides, so that one
    pass is usually enough: O(n) in the number of items, and at most some 60 MB.
    """
    low = _Set(-1.0, np.inf, 0)
    top = _below(curve.crossing) if curve.crossing > 0 else -1.0
    high = _Set(top, _below(curve.crossing), gaps.n_pairs)
    return _search(curve, gaps, low, high, rank, COLLECT)


def _search(
    curve: RiskCurve,
    gaps: PairGaps,
    low: _Set,
    high: _Set,
    rank: int,
    few: int,
) -> Cuts:
    """Narrow two sets until the pairs between are ``few``, and search those.

    Pairs that have been collected are searched in the same way: counting them costs
    next to nothing.
    """
    guide, fresh = gaps.sketch(), False
    while high.count - low.count > few:
        pivots = _pivots(curve, guide, low, high, rank)
        if few > _MERGE:
            # Collecting counts the pairs on both sides as it goes: where the sample
            # finds few pairs between the pivots, the search may end in one pass.
            ends = [_ends_at(curve, low, high, pivots[k][0], k == 1) for k in (0, 1)]
            surer, other = (_Set(inner, outer, 0) for inner, outer in ends)
            share = float(np.mean(_between(guide, surer, other)))
            if share * (high.count - low.count) <= few:
                collected = _collect(curve, gaps, surer, other, rank)
                if collected is not None:
                    return collected
        before = low, high
        low, high, found = _narrow(curve, gaps, low, high, pivots, rank)
        if found is not None:
            return found
        # Neither pivot moved a bound. A fresh sample from between the bounds may do
        # better; if it does not, what is left is collected.
        stuck = before == (low, high)
        if stuck and fresh:
            break
        guide = guide[_between(guide, low, high)]
        fresh = stuck or guide.size < _FEWEST
        if fresh and high.count - low.count > few:
            guide = _sample(gaps, low, high)
    if few > _MERGE and high.count - low.count > _MERGE:
        found = _collect(curve, gaps, low, high, rank)
        if found is not None:
            return found
    return _merge(curve, gaps, low, high, rank)


def _collect(
    curve: RiskCurve, gaps: PairGaps, low: _Set, high: _Set, rank: int
) -> Cuts | None:
    """Search the pairs between two sets, unless the rank is not among these."""
    (n_inner, ties), (n_outer, orders) = gaps.collect(
        (low.inner, high.inner), (high.outer, low.outer)
    )
    n_low = n_inner + gaps.n_pairs - n_outer - orders.size
    if not n_low < rank <= n_low + ties.size + orders.size:
        return None
    every = GapArray.of(np.concatenate([ties, orders]))
    low, high = replace(low, count=0), replace(high, count=every.n_pairs)
    return _search(curve, every, low, high, rank - n_low, _MERGE)


def _below(value: float) -> float:
    return float(np.nextafter(value, -np.inf))


def _above(value: float) -> float:
    with np.errstate(over="ignore"):  # above the largest float is infinity
        return float(np.nextafter(value, np.inf))


def _surest_first(
    curve: RiskCurve, gap: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray, IntArray]:
    """Merge both sides by risk; rounding must not reorder a side.

    Returns the gaps of both sides, their risk, whether each predicts a tie, and
    the order.
    """
    # The stable sort below puts orders before ties of the same risk, which is what
    # makes a rank one pair and no other.
    orders = np.sort(gap[gap >= curve.crossing])[::-1]
    ties = np.sort(gap[gap < curve.crossing])
    both = np.concatenate([orders, ties])
    risk = np.concatenate(
        [np.maximum.accumulate(curve(side)) for side in (orders, ties)]
    )
    return both, risk, both < curve.crossing, np.argsort(risk, kind="stable")


def _merge(curve: RiskCurve, gaps: PairGaps, low: _Set, high: _Set, rank: int) -> Cuts:
    """Collect the pairs between two sets and find the one of the wanted rank."""
    found = gaps.collect((low.inner, high.inner), (high.outer, low.outer))
    inside = np.concatenate([gap for _, gap in found])
    both, risk, tie, order = _surest_first(curve, inside)
    n_accepted = rank - low.count
    last = order[n_accepted - 1]
    accepted = np.zeros(both.size, dtype=bool)
    accepted[order[:n_accepted]] = True
    return Cuts(
        risk=float(risk[last]),
        gap=float(both[last]),
        tie=bool(tie[last]),
        inner=float(both[tie & accepted].max(initial=low.inner)),
        inner_end=float(both[tie & ~accepted].min(initial=_above(high.inner))),
        outer=float(both[~tie & accepted].min(initial=_above(low.outer))),
        outer_end=float(both[~tie & ~accepted].max(initial=high.outer)),
    )


def _between(gap: FloatArray, low: _Set, high: _Set) -> BoolArray:
    """Tell which gaps lie between two sets."""
    inner = (gap > low.inner) & (gap <= high.inner)
    between: BoolArray = inner | ((gap > high.outer) & (gap <= low.outer))
    return between


def _sample(gaps: PairGaps, low: _Set, high: _Set) -> FloatArray:
    """Draw pairs between two sets, each side as many as it has pairs."""
    n_inner = int(np.diff(gaps.count_within([low.inner, high.inner]))[0])
    share = n_inner / (high.count - low.count)
    size = round(_SAMPLE * share)
    drawn = [
        gaps.sample(*window)
        for window in (
            (low.inner, high.inner, size),
            (high.outer, low.outer, _SAMPLE - size),
        )
        if window[2] > 0
    ]
    return np.concatenate(drawn)


def _pivots(
    curve: RiskCurve, guide: FloatArray, low: _Set, high: _Set, rank: int
) -> list[tuple[float, bool]]:
    """Return gaps that probably lie on both sides of the wanted rank.

    And whether each stands in the sample more than once: many pairs may share it.
    """
    both, _, _, order = _surest_first(curve, guide)
    place = (rank - low.count) / (high.count - low.count)
    # The standard error of a place among n p (1 - p), and two more for small samples.
    slack = 2 + _SPREAD * np.sqrt(both.size * place * (1 - place))
    ends = np.array([place * both.size - slack, place * both.size + slack])
    pivots = both[order[np.clip(ends, 0, both.size - 1).astype(np.int64)]]
    return [(pivot, int((guide == pivot).sum()) > 1) for pivot in pivots.tolist()]


def _ends_at(
    curve: RiskCurve, low: _Set, high: _Set, pivot: float, including: bool
) -> tuple[float, float]:
    """Return the ends of the pairs surer than a pivot, or also as sure as it."""
    risk = float(curve(np.array([pivot]))[0])
    if pivot < curve.crossing:
        inner = pivot if including else _below(pivot)
        outer = _below(curve.outer_cut(risk))
    else:
        inner = curve.inner_cut(risk)
        outer = _below(pivot) if including else pivot
    return (
        # Held inside the bracket: the risk of a pivot is rounded, and sets must stay
        # nested for their counts to mean anything.
        min(max(inner, low.inner), high.inner),
        min(max(outer, high.outer), low.outer),
    )


def _narrow(
    curve: RiskCurve,
    gaps: PairGaps,
    low: _Set,
    high: _Set,
    pivots: list[tuple[float, bool]],
    rank: int,
) -> tuple[_Set, _Set, Cuts | None]:
    """Count the pairs surer than each pivot, with those as sure as it.

    Where many pairs may share a pivot's gap also without them, so that such a
    gap is found and not bracketed.
    """
    bounds: list[tuple[float, float]] = []
    shared: list[tuple[int, float]] = []
    for pivot, often in pivots:
        if often:
            shared.append((len(bounds), pivot))
            bounds.append(_ends_at(curve, low, high, pivot, True))
        bounds.append(_ends_at(curve, low, high, pivot, not often))
    within = gaps.count_within(np.array(bounds, dtype=np.float64).reshape(-1))
    counts = (within[0::2] + gaps.n_pairs - within[1::2]).tolist()
    for k, pivot in shared:
        if counts[k + 1] < rank <= counts[k]:
            tie, risk = pivot < curve.crossing, float(curve(np.array([pivot]))[0])
            return low, high, _cuts_at(risk, pivot, tie, *bounds[k])
    for (inner, outer), count in zip(bounds, counts, strict=True):
        if low.count < count < rank:
            low = _Set(inner, outer, count)
        elif rank <= count < high.count:
            high = _Set(inner, outer, count)
    return low, high, None


def _cuts_at(risk: float, gap: float, tie: bool, inner: float, outer: float) -> Cuts:
    """Return the cuts of a set that ends exactly at ``gap``."""
    return Cuts(
        risk=risk,
        gap=gap,
        tie=tie,
        inner=inner,
        inner_end=_above(inner),
        outer=_above(outer),
        outer_end=outer,
    )
