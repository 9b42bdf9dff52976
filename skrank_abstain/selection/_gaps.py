"""Decisions by models of the score difference: two cuts in the gap.

The pairs whose risk is at most ``tau`` are those with ``gap <= inner`` (predicted ties)
and those with ``gap >= outer`` (predicted orders). Thresholds live in the gap:
recomputed risks of equal gaps may differ in the last bit, gaps compared with one
tolerance do not.

The risk of an order falls with the gap and that of a tie rises: the smaller of the two
rises up to the crossing and falls from there. The search for the pair of a given rank
keeps one set of pairs with fewer than wanted and one with enough. Counts of pairs in
bins say where the first two end; then the gaps between them are halved until few pairs
remain to be sorted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.pairs import (
    Scores,
    count_outcomes,
    count_within,
    counts_by_gap,
    semiorder_ranks,
)
from skrank_abstain.selection import _engine
from skrank_abstain.selection._tally import Tally
from skrank_abstain.tie_models import DifferenceModel, expected_losses

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14
#: The search for a cut gives up this many times beyond the calibration gaps.
_REACH = 2.0**60
#: Gaps that a search tries at a time.
_TRIED = 64
#: The pairs between two sets are collected and sorted once they are this few.
COLLECT = 1 << 17
#: Pairs on either side of the rank that the first two sets aim at.
_AIM = 1 << 15


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
    margin_of : float, default=None
        The curve is that of the `margins` of this bound.

    Attributes
    ----------
    crossing : float
        Gap below which a tie is predicted; 0 if a tie is never predicted,
        infinity if an order never is.
    highest : float
        Largest conditional risk over all gaps.
    of_equal : float
        Expected loss of calling equal scores a tie.
    """

    def __init__(
        self,
        model: DifferenceModel,
        loss: FloatArray,
        largest: float,
        margin_of: float | None = None,
    ) -> None:
        self._model = model
        self._loss = loss
        self._margin_of = margin_of
        self._unit = largest if largest > 0 else 1.0
        self.crossing = float(self._first(self._order_costs, 0.0, 0.0))
        # The risk rises up to the crossing and falls beyond, so that its maximum is
        # there; where no order ever wins it is at the far end.
        peak = self.crossing if np.isfinite(self.crossing) else self._unit * _REACH
        self.highest = float(self(np.array([peak, max(_below(peak), 0.0)])).max())
        self.of_equal = float(self._risks(np.zeros(1))[0][0])

    def __call__(self, gap: FloatArray) -> FloatArray:
        """Return the conditional risk at each gap, shape (n,)."""
        return np.where(gap < self.crossing, *self._risks(gap))

    def at(self, gap: float) -> float:
        """Return the conditional risk at one gap."""
        return float(self(np.array([gap]))[0])

    def outer_cut(self, risk: Any) -> Any:
        """Return the smallest gap where an order has at most each risk.

        Infinity if there is none; as ``risk``, a number or an array.
        """
        if not np.isfinite(self.crossing):
            return np.full(np.shape(risk), np.inf)[()]
        return self._first(lambda d: self._risks(d)[1], self.crossing, risk)

    def inner_cut(self, risk: Any) -> Any:
        """Return the largest gap where a tie has at most each risk.

        Negative if there is none.
        """
        if self.crossing == 0:
            return np.full(np.shape(risk), -1.0)[()]
        beyond = self._first(lambda d: self._risks(d)[0], 0.0, risk, np.greater)
        # The last float before the risk exceeds the threshold, itself accepted.
        last = np.where(beyond < np.inf, np.nextafter(beyond, 0.0), np.inf)
        return np.where(self.of_equal > risk, -1.0, np.minimum(last, self.crossing))[()]

    def _risks(self, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the risks of a tie and of an order at each gap, (n,) both."""
        proba = self._model.checked_proba_at_gap(gap)
        if self._margin_of is not None:
            bound = self._margin_of
            return _engine.margins(proba, 0, bound), _engine.margins(proba, 1, bound)
        losses = expected_losses(proba, self._loss)
        return losses[:, 1], losses[:, 2]

    def _order_costs(self, gap: FloatArray) -> FloatArray:
        losses = expected_losses(self._model.checked_proba_at_gap(gap), self._loss)
        return losses[:, 2] - losses[:, 1]

    def _first(self, of: Any, start: float, risk: Any, has: Any = np.less_equal) -> Any:
        """Return where a quantity of the gap has reached each risk, or infinity.

        Each step tries 64 gaps for all risks, which costs little more than one gap for
        one: they cut the floats between two bounds into equal parts. Neighbouring risks
        are mostly between the same two.
        """
        risks = np.reshape(risk, (-1, 1))
        rows = np.arange(risks.size)

        def holds(gap: FloatArray, of_risk: Any = 0) -> Any:
            return has(of(gap.ravel()).reshape(gap.shape)[of_risk], risks)

        low = high = np.full(risks.shape, start)
        seek, step = ~holds(np.array([[start]])), self._unit
        while seek.any() and step <= self._unit * _REACH:
            low, high = np.where(seek, high, low), np.where(seek, start + step, high)
            seek &= ~holds(np.array([[start + step]]))
            step *= 2
        first, last = np.where(seek, start, (low, high)).view(np.int64)
        while (width := last - first).max(initial=0) > 1:
            part = np.maximum(width // _TRIED, 1)
            n_parts = int(-(-width // part).min())
            tried = np.minimum(first + part * np.arange(n_parts + 1), last)
            new = np.append(True, last[1:] != last[:-1])
            true = holds(tried[new, 1:].view(np.float64), np.cumsum(new) - 1)
            place = (true | (tried[:, 1:] == last)).argmax(axis=1)
            first, last = (tried[rows, place + k, None] for k in (0, 1))
        return np.where(seek, np.inf, last.view(np.float64)).reshape(np.shape(risk))[()]


@dataclass(frozen=True)
class _Set:
    """The pairs with ``|d| <= inner`` or ``|d| > outer``, and how many there are."""

    inner: float
    outer: float
    count: int


def cuts_at_rank(
    curve: RiskCurve, items: Scores, rank: int, tolerance: float
) -> tuple[float, float, float]:
    """Return where the ``rank`` surest pairs end.

    Parameters
    ----------
    curve : RiskCurve
    items : Scores
    rank : int
        From 1. Equal risks are ordered by gap, the surer side first, orders
        before ties; rounding of the risk does not change the order within a side.
    tolerance : float
        Gaps that differ by at most this are equal.

    Returns
    -------
    risk : float
        Of the last of these pairs.
    inner, outer : float
        Ties up to the one gap and orders from the other on are these pairs, and new
        ones that are as sure.

    Notes
    -----
    The last pair is a predicted tie or a predicted order, and is itself the cut among
    its like. Among the others the cut is the gap at which the risk reaches the
    threshold, held between the last pair that is accepted and the first that is not:
    where the risk is flat, rounding would otherwise decide on which side of them it
    falls.

    Each step of the search counts pairs, O(n) for n items: mostly two to four steps,
    and up to 130 where many pairs share a gap. Two MB of memory.
    """
    crossing = curve.crossing
    low = _Set(-1.0, np.inf, 0)
    high = _Set(_below(crossing), _below(crossing), items.n_pairs)
    if items.n_pairs > COLLECT:
        low, high = _guessed(curve, items, rank, low, high)
    while high.count - low.count > COLLECT:
        ends = _halfway(curve, low, high)
        if ends is None:
            # All pairs between share one gap: any of them will do.
            shared = low.outer if low.outer > high.outer else high.inner
            return _merge(curve, low, high, np.array([shared]), 1, tolerance)
        low, high = _narrowed(items, rank, low, high, *ends)
    from skrank_abstain._kernels.gaps import differences_between

    data = items.ascending.value, items.ascending.offsets
    windows = (low.inner, high.inner), (high.outer, low.outer)
    inside = np.concatenate([differences_between(*data, *window) for window in windows])
    return _merge(curve, low, high, inside, rank - low.count, tolerance)


def _narrowed(
    items: Scores, rank: int, low: _Set, high: _Set, inner: float, outer: float
) -> tuple[_Set, _Set]:
    """Replace one of two sets, so that the pair of the rank stays between them."""
    # Held between the two sets: risks are rounded, and the counts of sets that are not
    # nested mean nothing.
    inner = min(max(inner, low.inner), high.inner)
    outer = min(max(outer, high.outer), low.outer)
    within, beyond = count_within(items, [inner, outer]).tolist()
    middle = _Set(inner, outer, within + items.n_pairs - beyond)
    return (middle, high) if middle.count < rank else (low, middle)


def _guessed(
    curve: RiskCurve, items: Scores, rank: int, low: _Set, high: _Set
) -> tuple[_Set, _Set]:
    """Return sets with a little fewer and a little more pairs than two wide ones."""
    # Pairs in bins, which the tie model was fitted to as well.
    gap, _, weight = items.gap_outcomes
    risk = curve(gap)
    order = np.argsort(risk, kind="stable")
    upto = np.cumsum(weight[order]) - weight[order] / 2
    aim = _AIM
    # Where both guesses fall on one side, those further out are tried, too.
    while high.count - low.count > COLLECT and aim <= 64 * _AIM:
        for side in (rank - aim, rank + aim):
            at = float(np.interp(side, upto, risk[order]))
            ends = curve.inner_cut(at), _below(curve.outer_cut(at))
            if low.outer > ends[1] > high.outer or low.inner < ends[0] < high.inner:
                low, high = _narrowed(items, rank, low, high, *ends)
        aim *= 4
    return low, high


def _halfway(curve: RiskCurve, low: _Set, high: _Set) -> tuple[float, float] | None:
    """Return the ends of a set about halfway between two.

    None if only one gap lies between them.
    """
    first, last = _place(low.inner), _place(high.inner)
    near, far = _place(high.outer), _place(low.outer)
    if far - near > 1:
        pivot = _gap_at((near + far) // 2 + 1)
        # Orders come before ties of the same risk.
        return curve.inner_cut(_below(curve.at(pivot))), _below(pivot)
    if last - first > 1:
        pivot = _gap_at((first + last) // 2)
        return pivot, _below(curve.outer_cut(curve.at(pivot)))
    if first == last or near == far:
        return None
    if curve.at(low.outer) <= curve.at(high.inner):
        return low.inner, high.outer
    return high.inner, low.outer


def _place(gap: float) -> int:
    """Return the place of a gap among all floats from 0 on; -1 for negative ones."""
    # Non-negative floats have the order of their bit patterns.
    return -1 if gap < 0 else int(np.float64(gap).view(np.int64))


def _gap_at(place: int) -> float:
    return float(np.int64(place).view(np.float64))


def _below(value: float) -> float:
    return math.nextafter(value, -math.inf)


def _above(value: float) -> float:
    return math.nextafter(value, math.inf)  # above the largest float is infinity


def _merge(
    curve: RiskCurve,
    low: _Set,
    high: _Set,
    inside: FloatArray,
    n_accepted: int,
    tolerance: float,
) -> tuple[float, float, float]:
    """Find the pair of a rank among the gaps between two sets, and the cuts there."""
    orders = np.sort(inside[inside >= curve.crossing])[::-1]
    ties = np.sort(inside[inside < curve.crossing])
    both = np.concatenate([orders, ties])
    # Rounding of the risk must not reorder a side.
    sides = [np.maximum.accumulate(curve(side)) for side in (orders, ties)]
    risk, tie = np.concatenate(sides), both < curve.crossing
    # Stable: orders come before ties of the same risk, so that a rank is one pair.
    order = np.argsort(risk, kind="stable")
    last = order[n_accepted - 1]
    accepted = np.zeros(both.size, dtype=bool)
    accepted[order[:n_accepted]] = True
    level, cut = float(risk[last]), float(both[last])
    if tie[last]:
        end = float(both[~tie & ~accepted].max(initial=high.outer))
        outer = max(curve.outer_cut(level), _above(end + 2 * tolerance))
        most = float(both[~tie & accepted].min(initial=_above(low.outer)))
        return level, cut, float(min(outer, most))
    end = float(both[tie & ~accepted].min(initial=_above(high.inner)))
    inner = min(curve.inner_cut(level), _below(end - 2 * tolerance))
    return level, float(max(inner, both[tie & accepted].max(initial=low.inner))), cut


@dataclass(frozen=True)
class GapRegion(Value):
    """The gaps that are accepted, and those where a tie is predicted.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk, or on the margin.
    inner : float
        Pairs with a gap up to here are accepted as ties; negative for none.
    outer : float
        Pairs with a gap from here on are accepted; infinity for none.
    tolerance : float
        Differences this close are equal.
    kappa : float
        Probability of accepting a pair on a cut.
    seed : int
        Seed of the draws for the pairs on a cut.
    crossing : float
        Closer pairs are predicted to be ties, the others in the order of the scores.
    margin_of : float or None
        The threshold is one on the `margins` of this bound; None: on the risk.
    """

    risk: float
    inner: float
    outer: float
    tolerance: float
    kappa: float = 1.0
    seed: int = 0
    crossing: float = 0.0
    margin_of: float | None = None

    @property
    def draws(self) -> bool:
        """Whether some pairs are accepted by lot."""
        return self.kappa < 1

    @property
    def tie_up_to(self) -> float:
        """The largest gap of a predicted tie.

        Equal scores carry no order: they are a tie even where a strict label would
        have the least expected loss.
        """
        return max(_below(self.crossing), self.tolerance)

    @property
    def smallest_order(self) -> float:
        """The smallest gap that does not count as equal scores."""
        return _above(self.tolerance)

    @property
    def order_from(self) -> float:
        """The smallest gap of an order that is accepted for certain."""
        first = float(self.cuts()[2])
        # Accepted with some probability is not certain: ranks take a pair on a
        # randomised cut as abstained on.
        if self.kappa < 1:
            first = _above(self._edges(self.outer)[1])
        return max(first, _above(self.tie_up_to))

    def cuts(self) -> FloatArray:
        """Return the largest gap of a tie, and where acceptance ends and begins.

        Returns
        -------
        cuts : ndarray of shape (3,), float64
            A tie is predicted up to the first; pairs are accepted up to the second
            and from the third on.
        """
        accepted_to = self._edges(self.inner)[1]
        accepted_from = self._edges(self.outer)[0]
        if self.crossing > 0:
            # What counts as equal to the inner cut may reach beyond the zone of ties.
            accepted_to = min(accepted_to, self.tie_up_to)
        if self.outer > 0:
            # Equal scores stay apart, also where they are called an order, of the
            # smallest gap there is, and however close to them the outer cut is.
            accepted_from = max(accepted_from, _above(self.smallest_order))
        return np.array([self.tie_up_to, accepted_to, accepted_from])

    def weight(self, gap: FloatArray) -> FloatArray:
        """Return the probability of acceptance: 1, 0, or ``kappa`` on a cut."""
        _, inner, outer = self.cuts()
        inside = (gap <= inner) | (gap >= outer)
        weight: FloatArray = inside.astype(np.float64)
        for cut in (self.inner, self.outer) if self.draws else ():
            low, high = self._edges(cut)
            weight[inside & (gap >= low) & (gap <= high)] = self.kappa
        return weight

    def starts(self) -> list[float]:
        """Return gaps from which the probability of acceptance or the label may change.

        Finite and from 0, in no order.
        """
        tie_to, inner, outer = self.cuts().tolist()
        found = [0.0, _above(tie_to), _above(inner), outer]
        for cut in (self.inner, self.outer) if self.draws else ():
            low, high = self._edges(cut)
            found += [low, _above(high)]
        # An infinite cut is one that no pair reaches: no class begins there.
        return [each for each in found if 0 <= each < np.inf]

    def _edges(self, cut: float) -> tuple[float, float]:
        """Return the first and the last gap that count as equal to a cut."""
        return (-1.0, -1.0) if cut < 0 else (cut - self.tolerance, cut + self.tolerance)


class GapEngine(_engine.RiskEngine):
    """Conditional risk under a model of the score difference.

    Parameters
    ----------
    model : DifferenceModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    largest : float
        Largest gap of the calibration pairs.
    tolerance : float
        Differences this close are equal and decided alike.
    """

    def __init__(
        self, model: DifferenceModel, loss: FloatArray, largest: float, tolerance: float
    ) -> None:
        self._model = model
        self.loss = loss
        self._tolerance = tolerance
        self._largest = largest
        self._curve = RiskCurve(model, loss, largest)
        self._curves: dict[float | None, RiskCurve] = {None: self._curve}
        # Equal scores carry no order, so that the answer is a tie also where that is
        # the worse one: beside the curve there is an atom at a gap of 0.
        self.highest = max(self._curve.highest, self._curve.of_equal)

    def each_below(self, risks: FloatArray, margin_of: Any = None) -> list[GapRegion]:
        # Two monotone searches, whatever the number of pairs.
        curve = self._by(margin_of)
        every = risks >= max(curve.highest, curve.of_equal)
        least = _above(self._tolerance) if curve.crossing == 0 else 0.0
        inner = np.where(every, -1.0, curve.inner_cut(risks))
        outer = np.where(every, 0.0, np.maximum(curve.outer_cut(risks), least))
        cuts = zip(risks.tolist(), inner.tolist(), outer.tolist(), strict=True)
        fixed: Any = {"crossing": self._curve.crossing, "margin_of": margin_of}
        return [GapRegion(*each, self._tolerance, **fixed) for each in cuts]

    def _by(self, margin_of: float | None) -> RiskCurve:
        """Return the curve that a threshold is compared with."""
        if margin_of not in self._curves:
            curve = RiskCurve(self._model, self.loss, self._largest, margin_of)
            self._curves[margin_of] = curve
        return self._curves[margin_of]

    def surest(self, scores: Scores, rank: int) -> GapRegion:
        # Counting finds the order statistic, O(n log n) for n items.
        # Equal scores in a zone of ties are the surest ties, on the curve.
        if self._curve.crossing == 0 and (
            rank > scores.n_pairs - count_within(scores, [self._tolerance])[0]
        ):
            return self.below(self.highest)
        return self._region(*cuts_at_rank(self._curve, scores, rank, self._tolerance))

    def _decide(
        self, region: GapRegion, values: FloatArray, pairs: _engine.RowPairs
    ) -> _engine.DecisionArrays:
        from skrank_abstain._kernels.filling import settle_pairs

        difference, n_pairs = pairs.difference, pairs.difference.size
        proba = np.empty((n_pairs, 3))
        label = np.empty(n_pairs, dtype=np.int64)
        risk = np.empty(n_pairs)
        accepted = np.empty(n_pairs, dtype=bool)
        loss = self.loss
        losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
        cuts = region.cuts()
        for first in range(0, n_pairs, _BLOCK):
            block = slice(first, first + _BLOCK)
            gap = np.abs(difference[block])
            given = np.asarray(self._model.proba_at_gap(gap))
            if given.dtype.kind != "f" or given.shape != (gap.size, 3):
                # Other shapes might be broadcast; this check names the model.
                given = self._model.checked_proba_at_gap(gap)
            proba[block] = given
            settled = label[block], risk[block], accepted[block]
            arrays = difference[block], proba[block], losses, cuts, *settled
            # The kernel checks the probabilities on its way: that costs nothing.
            if not settle_pairs(*arrays):
                # Raises, or mends values rounded below zero.
                proba[block] = self._model.checked_proba_at_gap(gap)
                settle_pairs(*arrays)
        if region.kappa < 1:
            weight = region.weight(np.abs(difference))
            accepted = _engine.draw_boundary(weight, region.seed, pairs)
        return _engine.DecisionArrays(label, accepted, risk, proba)

    def _classes(self, regions: Sequence[GapRegion]) -> _engine.Classes:
        # A class reaches from its cut to the next one.
        cuts = np.unique(np.concatenate([region.starts() for region in regions]))
        accepted = np.stack([region.weight(cuts) for region in regions])
        tie = cuts <= regions[0].tie_up_to
        new = np.append(True, (np.diff(accepted) != 0).any(axis=0) | np.diff(tie))
        return _engine.Classes(cuts[new], accepted[:, new], tie[new])

    def _count(
        self, classes: _engine.Classes, scores: Scores, weight: FloatArray | None
    ) -> FloatArray:
        beyond = count_outcomes(scores, classes.split, self._tolerance, weight)
        return beyond - np.pad(beyond[:, 1:], ((0, 0), (0, 1), (0, 0)))

    def _mass(self, classes: _engine.Classes, scores: Scores) -> FloatArray:
        below = count_within(scores, np.nextafter(classes.split, -np.inf))
        return np.diff(np.append(below, scores.n_pairs)).astype(np.float64)

    def _by_risk(self, scores: Scores, margin_of: float | None) -> Tally:
        gap, counts = counts_by_gap(scores)
        curve = self._by(margin_of)
        tie = gap <= self._region(0.0, -1.0, np.inf).tie_up_to
        # The order of the columns: the right order first.
        counts = np.pad(counts[:, ::-1], ((0, 0), (0, 1)))
        risk = np.where(gap <= self._tolerance, curve.of_equal, curve(gap))
        return Tally(counts[None], np.empty((0, risk.size)), tie, self.loss, risk)

    def _ranks(self, region: GapRegion, scores: Scores) -> IntArray:
        return semiorder_ranks(scores, region.order_from)

    def _region(self, risk: float, inner: float, outer: float) -> GapRegion:
        crossing = self._curve.crossing
        return GapRegion(risk, inner, outer, self._tolerance, crossing=crossing)
