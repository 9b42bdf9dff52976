"""Decisions by models of the score difference: two cuts in the gap.

The pairs whose risk is at most ``tau`` are those with ``gap <= inner`` (predicted ties)
and those with ``gap >= outer`` (predicted orders). Thresholds live in the gap:
recomputed risks of equal gaps may differ in the last bit, gaps compared with one
tolerance do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._saving import Value
from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._engine import (
    DecisionArrays,
    RiskEngine,
    RowPairs,
    draw_boundary,
    settle_draws,
)
from skrank_abstain.selection._gap_curve import Cuts, RiskCurve, cuts_at_rank
from skrank_abstain.selection._totals import PairTotals, RiskProfile, loss_of
from skrank_abstain.tie_models import DifferenceModel

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14
#: Counts that are held at a time: they stay in the cache, but are work for threads.
_COUNTS = 1 << 19


@dataclass(frozen=True)
class GapRegion(Value):
    """The gaps that are accepted, and those where a tie is predicted.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk.
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
    """

    risk: float
    inner: float
    outer: float
    tolerance: float
    kappa: float = 1.0
    seed: int = 0
    crossing: float = 0.0

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
        return max(float(np.nextafter(self.crossing, -np.inf)), self.tolerance)

    @property
    def smallest_order(self) -> float:
        """The smallest gap that does not count as equal scores."""
        return float(np.nextafter(self.tolerance, np.inf))

    @property
    def order_from(self) -> float:
        """The smallest gap of an order that is accepted for certain."""
        first = float(self.cuts()[2])
        # Accepted with some probability is not certain: ranks take a pair on a
        # randomised cut as abstained on.
        if self.kappa < 1:
            first = float(np.nextafter(self._edges(self.outer)[1], np.inf))
        with np.errstate(over="ignore"):  # above the largest float is infinity
            return max(first, float(np.nextafter(self.tie_up_to, np.inf)))

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
            beyond = float(np.nextafter(self.smallest_order, np.inf))
            accepted_from = max(accepted_from, beyond)
        return np.array([self.tie_up_to, accepted_to, accepted_from])

    def weight(self, gap: FloatArray) -> FloatArray:
        """Return the probability of acceptance: 1, 0, or ``kappa`` on a cut."""
        _, inner, outer = self.cuts()
        inside = (gap <= inner) | (gap >= outer)
        weight: FloatArray = inside.astype(np.float64)
        for cut in (self.inner, self.outer):
            low, high = self._edges(cut)
            weight[inside & (gap >= low) & (gap <= high)] = self.kappa
        return weight

    def judge(
        self, values: FloatArray, pairs: RowPairs
    ) -> tuple[FloatArray, BoolArray]:
        """Return the probability of accepting each pair, and whether it is a tie."""
        gap = np.abs(pairs.difference)
        return self.weight(gap), gap <= self.tie_up_to

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
        others = [self.crossing, self.smallest_order, self.cuts()[2]]
        starts = np.unique(np.maximum([0.0, *edges, *others], 0.0))
        # An infinite cut is one that no pair reaches: no piece begins there.
        starts = starts[np.isfinite(starts)]
        weight, tie = self.weight(starts), starts <= self.tie_up_to
        new = np.append(True, (np.diff(weight) != 0) | (tie[1:] != tie[:-1]))
        return starts[new], weight[new], tie[new]

    def _edges(self, cut: float) -> tuple[float, float]:
        """Return the first and the last gap that count as equal to a cut."""
        if cut < 0:
            return -1.0, -1.0
        return cut - self.tolerance, cut + self.tolerance


class GapEngine(RiskEngine[GapRegion]):
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
        self,
        model: DifferenceModel,
        loss: FloatArray,
        largest: float,
        tolerance: float,
    ) -> None:
        self._model = model
        self._loss = loss
        self._tolerance = tolerance
        self._curve = RiskCurve(model, loss, largest)
        # Equal scores carry no order, so that the answer is a tie also where that is
        # the worse one: beside the curve there is an atom at a gap of 0.
        self.highest = max(self._curve.highest, self._curve.of_equal)

    def select_risk(self, risk: float) -> GapRegion:
        # Two monotone searches, whatever the number of pairs.
        if risk >= self.highest:
            return self._region(risk, -1.0, 0.0)
        inner, outer = self._curve.inner_cut(risk), self._curve.outer_cut(risk)
        if self._curve.crossing == 0:
            outer = max(outer, float(np.nextafter(self._tolerance, np.inf)))
        return self._region(risk, inner, outer)

    def up_to_rank(self, items: ScoredItems, rank: int) -> Callable[..., GapRegion]:
        # Counting finds the order statistic, O(n log n) for n items.
        if self._is_of_equal_scores(rank, items):
            region = self.select_risk(self.highest)
        else:
            cuts = cuts_at_rank(self._curve, items, rank)
            region = self._region(cuts.risk, *self._ends(cuts))
        return partial(replace, region)

    def accepted_mass(
        self, region: GapRegion, items: ScoredItems, *, ties_only: bool = False
    ) -> float:
        starts, weight, tie = region.pieces()
        if ties_only:
            weight = weight * tie
        below = items.count_within(np.nextafter(starts, -np.inf))
        counts = np.diff(np.append(below, items.n_pairs))
        return float(weight @ counts)

    def decide(
        self, region: GapRegion, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        from skrank_abstain._kernels.deciding import settle_pairs

        difference, n_pairs = pairs.difference, pairs.difference.size
        proba = np.empty((n_pairs, 3))
        label = np.empty(n_pairs, dtype=np.int64)
        risk = np.empty(n_pairs)
        accepted = np.empty(n_pairs, dtype=bool)
        loss = self._loss
        losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
        cuts = region.cuts()
        for first in range(0, n_pairs, _BLOCK):
            block = slice(first, first + _BLOCK)
            gap = np.abs(difference[block])
            given: object = self._model.proba_at_gap(gap)
            if not (
                isinstance(given, np.ndarray)
                and given.dtype.kind == "f"
                and given.shape == (gap.size, 3)
            ):
                # Other shapes might be broadcast; this check names the model.
                given = self._model.checked_proba_at_gap(gap)
            proba[block] = given
            settled = label[block], risk[block], accepted[block]
            arrays = difference[block], proba[block], losses, cuts, *settled
            # The kernel checks the probabilities on its way: that costs nothing.
            if not settle_pairs(*arrays):
                # Raises, or mends what was rounded below zero.
                proba[block] = self._model.checked_proba_at_gap(gap)
                settle_pairs(*arrays)
        if region.kappa < 1:
            weight = region.weight(np.abs(difference))
            accepted = draw_boundary(weight, region.seed, pairs)
        return DecisionArrays(label, accepted, risk, proba)

    def totals(
        self, region: GapRegion, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        starts, accepted, tie = region.pieces()
        if weight is None:
            beyond = items.count_outcomes(starts, self._tolerance).astype(np.float64)
        else:
            beyond = items.weigh_outcomes(starts, self._tolerance, weight)
        pieces = beyond - np.pad(beyond[:, 1:], ((0, 0), (0, 1), (0, 0)))
        drawn = None
        if region.draws:
            drawn = settle_draws(region.judge, region.seed, items, weight)
        return PairTotals.of_pieces(pieces, accepted, tie, self._loss, drawn)

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        regions = [self.select_risk(float(risk)) for risk in thresholds]
        pieces = [region.pieces() for region in regions]
        cuts = np.unique(np.concatenate([starts for starts, _, _ in pieces]))
        # Pairs are counted once for all thresholds. What each makes of the counts is a
        # product with a matrix that is nearly all zero.
        price = partial(self._price, cuts, self._prices(cuts, pieces))
        both = items.by_query(price, max(1, _COUNTS // (4 * cuts.size)))
        return both[0], both[1]

    def _price(
        self, cuts: FloatArray, prices: csr_array, items: ScoredItems
    ) -> tuple[FloatArray, FloatArray]:
        """Return accepted pairs of each query and their loss, by threshold."""
        beyond = items.count_outcomes(cuts, self._tolerance)
        beyond = beyond.reshape(items.n_queries, -1).T
        both = (prices @ beyond.astype(np.float64, order="C")).T
        return both[:, ::2], both[:, 1::2]

    def profile(self, items: ScoredItems) -> RiskProfile:
        gap, counts = items.counts_by_gap()
        tie = gap <= self._region(0.0, -1.0, np.inf).tie_up_to
        # The order of the other sums: the right order first.
        counts = np.pad(counts[:, ::-1], ((0, 0), (0, 1)))
        equal = gap <= self._tolerance
        risk = np.where(equal, self._curve.of_equal, self._curve(gap))
        return RiskProfile.of(risk, counts, tie, self._loss)

    def rank_bounds(self, region: GapRegion, items: ScoredItems) -> IntArray:
        return items.rank_bounds(region.order_from)

    def preference_graph(self, region: GapRegion, items: ScoredItems) -> csr_array:
        return items.preference_graph(self.rank_bounds(region, items))

    def _region(self, risk: float, inner: float, outer: float) -> GapRegion:
        crossing = self._curve.crossing
        return GapRegion(risk, inner, outer, self._tolerance, crossing=crossing)

    def _ends(self, cuts: Cuts) -> tuple[float, float]:
        """Return the inner and the outer cut of a threshold.

        The pair that sets the threshold is a predicted tie or a predicted order, and
        is itself the cut among its like. Among the others the cut is the gap at which
        the risk reaches the threshold, held between the last calibration pair that is
        accepted and the first that is not: where the risk is flat, rounding would
        otherwise decide on which side of them it falls.
        """
        tolerance = self._tolerance
        if cuts.tie:
            with np.errstate(over="ignore"):  # where an order never wins
                first = np.nextafter(cuts.outer_end + 2 * tolerance, np.inf)
            outer = max(self._curve.outer_cut(cuts.risk), float(first))
            return cuts.gap, min(outer, cuts.outer)
        last = np.nextafter(cuts.inner_end - 2 * tolerance, -np.inf)
        inner = min(self._curve.inner_cut(cuts.risk), float(last))
        return max(inner, cuts.inner), cuts.gap

    def _is_of_equal_scores(self, rank: int, items: ScoredItems) -> bool:
        """Whether the pair of this rank has equal scores and no zone of ties around."""
        if self._curve.crossing > 0:
            return False  # equal scores are the surest ties, on the curve
        n_equal = int(items.count_within([self._tolerance])[0])
        return rank > items.n_pairs - n_equal

    def _prices(
        self, cuts: FloatArray, pieces: list[tuple[FloatArray, FloatArray, BoolArray]]
    ) -> csr_array:
        """Return what a pair beyond a cut, of some outcome, adds for each threshold.

        A matrix of shape (2 * n_thresholds, 4 * n_cuts): for each threshold a row for
        accepted pairs and one for their loss. A piece from one cut to the next adds at
        the first and takes off at the second.
        """
        prices = np.zeros((len(pieces), 2, cuts.size, 4))
        for k, (starts, weight, tie) in enumerate(pieces):
            at = np.searchsorted(cuts, starts)
            # One pair of each outcome: its loss, by piece.
            spent = loss_of(np.eye(4)[:, None], tie, self._loss).T
            worth = weight[:, None] * spent
            for row, value in zip(prices[k], (weight[:, None], worth), strict=True):
                row[at] += value
                row[at[1:]] -= value[:-1]
        return csr_array(prices.reshape(2 * len(pieces), -1))
