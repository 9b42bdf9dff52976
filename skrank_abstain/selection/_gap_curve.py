"""The conditional risk as a function of |d|, and the pairs below a risk.

For a difference model the risk of predicting the order of the scores falls with
``|d|`` and the risk of predicting a tie rises. The smaller of the two therefore rises
up to the crossing and falls from there, and the pairs whose risk is at most ``tau``
are those with ``|d| <= inner`` (predicted ties) and those with ``|d| >= outer``
(predicted orders). Thresholds live in ``|d|``: recomputed risks of equal differences
may differ in the last bit, differences compared with one tolerance do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.selection._boundary import unordered_uniform
from skrank_abstain.tie_models import DifferenceModel, expected_losses

#: The search for a cut gives up this many times beyond the calibration gaps.
_REACH = 2.0**60
#: Gaps that a search tries at a time.
_TRIED = 64


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
        peak = self.crossing if np.isfinite(self.crossing) else self._unit * _REACH
        self.highest = float(self(np.array([peak]))[0])

    def __call__(self, gap: FloatArray) -> FloatArray:
        """Return the conditional risk at each gap, shape (n,)."""
        losses = self._losses(gap)
        return np.minimum(losses[:, 1], losses[:, 2])

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
        return min(float(np.nextafter(beyond, 0.0)), self.crossing)

    def _losses(self, gap: FloatArray) -> FloatArray:
        return expected_losses(self._model.proba_at_gap(gap), self._loss)

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
class GapRegion:
    """How a difference model decides: cuts in ``|d|``.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk.
    inner : float
        Pairs with ``|d|`` up to here are accepted as ties; negative for none.
    outer : float
        Pairs with ``|d|`` from here on are accepted; infinity for none.
    tolerance : float
        Differences this close are equal.
    kappa : float
        Probability of accepting a pair on a cut.
    seed : int
        Seed of the draws for the pairs on a cut.
    crossing : float
        Closer pairs are predicted to be ties, the others in the order of the scores.
    """

    risk: float
    inner: float
    outer: float
    tolerance: float
    kappa: float = 1.0
    seed: int = 0
    crossing: float = 0.0

    def label(self, difference: FloatArray) -> IntArray:
        """Return the predictions at signed differences: -1, 0 or +1.

        Equal scores carry no order: their label is 0 even where a strict label would
        have the least expected loss.
        """
        gap = np.abs(difference)
        tie = (gap < self.crossing) | (gap <= self.tolerance)
        label: IntArray = np.where(tie, 0, np.sign(difference)).astype(np.int64)
        return label

    def weight(self, gap: FloatArray) -> FloatArray:
        """Return the probability of acceptance: 1, 0, or ``kappa`` on a cut."""
        weight = self._inside(gap).astype(np.float64)
        weight[self._on_cut(gap)] = self.kappa
        return weight

    def pieces(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Cut the gaps where the probability of acceptance or the label changes.

        Returns
        -------
        starts : ndarray of shape (n_pieces,), float64
            Each piece reaches from its start to the next one's; the first is 0.
        weight : ndarray of shape (n_pieces,), float64
            Probability of acceptance.
        tie : ndarray of shape (n_pieces,), bool
            Whether a tie is predicted.
        """
        edges = np.array([*self._edges(self.inner), *self._edges(self.outer)])
        edges[1::2] = np.nextafter(edges[1::2], np.inf)
        labels = [self.crossing, np.nextafter(self.tolerance, np.inf)]
        starts = np.unique(np.maximum([0.0, *edges, *labels], 0.0))
        starts = starts[np.isfinite(starts)]
        weight, tie = self.weight(starts), self.label(starts) == 0
        new = np.append(True, (np.diff(weight) != 0) | (tie[1:] != tie[:-1]))
        return starts[new], weight[new], tie[new]

    def accept(self, left: FloatArray, right: FloatArray) -> BoolArray:
        """Decide pairs from the scores of their items.

        A pair on a cut is drawn from a hash of the seed and its two scores, so that
        its fate depends on nothing else: not on order, batch or orientation.
        """
        with np.errstate(over="ignore"):
            gap = np.abs(left - right)
        accepted = self._inside(gap)
        if self.kappa < 1:
            on_cut = np.flatnonzero(self._on_cut(gap))
            draw = unordered_uniform(self.seed, left[on_cut], right[on_cut])
            accepted[on_cut] = draw < self.kappa
        return accepted

    def cuts(self) -> FloatArray:
        """Return the largest gap of a tie, and where acceptance ends and begins.

        Returns
        -------
        cuts : ndarray of shape (3,), float64
            A tie is predicted up to the first; pairs are accepted up to the second
            and from the third on.
        """
        tie_up_to = max(float(np.nextafter(self.crossing, -np.inf)), self.tolerance)
        return np.array(
            [tie_up_to, self._edges(self.inner)[1], self._edges(self.outer)[0]]
        )

    @property
    def order_from(self) -> float:
        """The smallest gap of an order that is accepted for certain."""
        first, last = self._edges(self.outer)
        if self.kappa < 1:
            first = float(np.nextafter(last, np.inf))
        with np.errstate(over="ignore"):  # above the largest float is infinity
            return max(first, float(np.nextafter(self.cuts()[0], np.inf)))

    def _inside(self, gap: FloatArray) -> BoolArray:
        inside: BoolArray = (gap <= self._edges(self.inner)[1]) | (
            gap >= self._edges(self.outer)[0]
        )
        return inside

    def _on_cut(self, gap: FloatArray) -> BoolArray:
        on_cut: BoolArray = np.zeros(gap.shape, dtype=bool)
        for cut in (self.inner, self.outer):
            low, high = self._edges(cut)
            on_cut |= (gap >= low) & (gap <= high)
        return on_cut

    def _edges(self, cut: float) -> tuple[float, float]:
        """Return the first and the last gap that count as equal to a cut."""
        if cut < 0:
            return -1.0, -1.0
        return cut - self.tolerance, cut + self.tolerance
