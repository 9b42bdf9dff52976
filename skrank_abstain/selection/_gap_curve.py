"""The conditional risk as a function of the gap, and where the surest pairs end.

For a difference model the risk of predicting the order of the scores falls with the gap
and the risk of predicting a tie rises. The smaller of the two therefore rises up to the
crossing and falls from there. The surest pairs are always those with ``gap <= inner``,
predicted to be ties, or ``gap > outer``, predicted in the order of their scores. The
search for the pair of a given rank keeps one such set with fewer pairs than wanted and
one with enough, and halves the gaps between them until few pairs remain to be sorted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank_abstain._kernels import BoolArray, FloatArray
from skrank_abstain.pairs import Scores, count_within
from skrank_abstain.selection._engine import margins
from skrank_abstain.tie_models import DifferenceModel, expected_losses

#: The search for a cut gives up this many times beyond the calibration gaps.
_REACH = 2.0**60
#: Gaps that a search tries at a time.
_TRIED = 64
#: The pairs between two sets are collected and sorted once they are this few.
COLLECT = 1 << 17


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
        self.crossing = self._first(self._order_wins, 0.0)
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

    def outer_cut(self, risk: float) -> float:
        """Return the smallest gap where an order has at most this risk.

        Infinity if there is none.
        """
        if not np.isfinite(self.crossing):
            return np.inf
        return self._first(lambda d: self._risks(d)[1] <= risk, self.crossing)

    def inner_cut(self, risk: float) -> float:
        """Return the largest gap where a tie has at most this risk.

        Negative if there is none.
        """
        if self.crossing == 0 or self.of_equal > risk:
            return -1.0
        beyond = self._first(lambda d: self._risks(d)[0] > risk, 0.0)
        if beyond == np.inf:
            return self.crossing
        # The last float before the risk exceeds the threshold, itself accepted.
        return min(float(np.nextafter(beyond, 0.0)), self.crossing)

    def _risks(self, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the risks of a tie and of an order at each gap, (n,) both."""
        proba = self._model.checked_proba_at_gap(gap)
        if self._margin_of is not None:
            bound = self._margin_of
            return margins(proba, 0, bound), margins(proba, 1, bound)
        losses = expected_losses(proba, self._loss)
        return losses[:, 1], losses[:, 2]

    def _order_wins(self, gap: FloatArray) -> BoolArray:
        losses = expected_losses(self._model.checked_proba_at_gap(gap), self._loss)
        return losses[:, 2] <= losses[:, 1]

    def _first(self, reached: Callable[[FloatArray], BoolArray], start: float) -> float:
        """Return where a condition that stays true becomes true, or infinity.

        Each step tries 64 gaps, which costs little more than one: they cut the
        floats between two bounds into equal parts.
        """
        if reached(np.array([start]))[0]:
            return start
        low, step = start, self._unit
        while not reached(np.array([start + step]))[0]:
            low, step = start + step, 2 * step
            if step > self._unit * _REACH:
                return np.inf
        first, last = _place(low), _place(start + step)
        while last - first > 1:
            inner = np.arange(first, last, max((last - first) // _TRIED, 1))[1:]
            place = int(np.argmax(np.append(reached(inner.view(np.float64)), True)))
            ends = first, *inner.tolist(), last
            first, last = ends[place], ends[place + 1]
        return _gap_at(last)


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


def cuts_at_rank(curve: RiskCurve, items: Scores, rank: int) -> Cuts:
    """Return where the ``rank`` surest pairs end.

    Parameters
    ----------
    curve : RiskCurve
    items : Scores
    rank : int
        From 1. Equal risks are ordered by gap, the surer side first, orders
        before ties; rounding of the risk does not change the order within a side.

    Returns
    -------
    cuts : Cuts

    Notes
    -----
    Each step of the search counts pairs, O(n) for n items: at most 130 steps, mostly
    far fewer. Two MB of memory.
    """
    crossing = curve.crossing
    low = _Set(-1.0, np.inf, 0)
    high = _Set(_below(crossing), _below(crossing), items.n_pairs)
    while high.count - low.count > COLLECT:
        ends = _halfway(curve, low, high)
        if ends is None:
            # All pairs between share one gap: any of them will do.
            shared = low.outer if low.outer > high.outer else high.inner
            return _merge(curve, low, high, np.array([shared]), 1)
        middle = _count(items, low, high, *ends)
        if middle.count < rank:
            low = middle
        else:
            high = middle
    from skrank_abstain._kernels.gaps import differences_between

    data = items.ascending.value, items.ascending.offsets
    windows = (low.inner, high.inner), (high.outer, low.outer)
    inside = np.concatenate([differences_between(*data, *window) for window in windows])
    return _merge(curve, low, high, inside, rank - low.count)


def _count(items: Scores, low: _Set, high: _Set, inner: float, outer: float) -> _Set:
    """Count the pairs of a set between two."""
    # Held between the two sets: risks are rounded, and the counts of sets that are not
    # nested mean nothing.
    inner = min(max(inner, low.inner), high.inner)
    outer = min(max(outer, high.outer), low.outer)
    within, beyond = count_within(items, [inner, outer]).tolist()
    return _Set(inner, outer, within + items.n_pairs - beyond)


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
    return float(np.nextafter(value, -np.inf))


def _above(value: float) -> float:
    with np.errstate(over="ignore"):  # above the largest float is infinity
        return float(np.nextafter(value, np.inf))


def _merge(
    curve: RiskCurve, low: _Set, high: _Set, inside: FloatArray, n_accepted: int
) -> Cuts:
    """Find the pair of a rank among the gaps between two sets."""
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
    return Cuts(
        risk=float(risk[last]),
        gap=float(both[last]),
        tie=bool(tie[last]),
        inner=float(both[tie & accepted].max(initial=low.inner)),
        inner_end=float(both[tie & ~accepted].min(initial=_above(high.inner))),
        outer=float(both[~tie & accepted].min(initial=_above(low.outer))),
        outer_end=float(both[~tie & ~accepted].max(initial=high.outer)),
    )
