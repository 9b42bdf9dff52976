"""Decisions by models of the score difference: cuts in ``|d|``."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import PairGaps, ScoredItems
from skrank_abstain.selection._base import (
    Decided,
    PairRisk,
    PairTotals,
    RiskProfile,
    loss_of_orders,
    loss_of_ties,
)
from skrank_abstain.selection._gap_curve import GapRegion, RiskCurve
from skrank_abstain.selection._rules import (
    accepted_mass,
    select_coverage,
    select_risk,
)
from skrank_abstain.tie_models import DifferenceModel

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14
#: Counts that are held at a time: they stay in the cache, but are work for threads.
_COUNTS = 1 << 19


class GapRisk(PairRisk):
    """Conditional risk under a model of the score difference.

    Parameters
    ----------
    model : DifferenceModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    largest : float
        Largest ``|d|`` of the calibration pairs.
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
        self.highest = self._curve.highest

    def select_risk(self, risk: float) -> GapRegion:
        return select_risk(self._curve, risk, tolerance=self._tolerance)

    def select_coverage(
        self,
        items: PairGaps,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> GapRegion:
        return select_coverage(
            self._curve,
            items,
            coverage,
            tolerance=self._tolerance,
            quantile=quantile,
            boundary=boundary,
            seed=seed,
        )

    def accepted_mass(self, region: GapRegion, items: PairGaps) -> float:
        return accepted_mass(region, items)

    def decide(
        self,
        region: GapRegion,
        scores: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> Decided:
        from skrank_abstain._kernels.deciding import settle_pairs

        n_pairs = difference.size
        proba = np.empty((n_pairs, 3))
        for first in range(0, n_pairs, _BLOCK):
            block = slice(first, first + _BLOCK)
            proba[block] = self._model.proba_at_gap(np.abs(difference[block]))
        label = np.empty(n_pairs, dtype=np.int64)
        risk = np.empty(n_pairs)
        accepted = np.empty(n_pairs, dtype=bool)
        loss = self._loss
        losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
        settle_pairs(difference, proba, losses, region.cuts(), label, risk, accepted)
        if region.kappa < 1:
            accepted = region.accept(scores[left], scores[right])
        return Decided(label, accepted, risk, proba)

    def totals(
        self, region: GapRegion, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        starts, accepted, tie = region.pieces()
        if weight is None:
            beyond = items.count_outcomes(starts, self._tolerance).astype(np.float64)
        else:
            beyond = items.weigh_outcomes(starts, self._tolerance, weight)
        pieces = beyond - np.pad(beyond[:, 1:], ((0, 0), (0, 1), (0, 0)))
        return PairTotals.of_pieces(pieces, accepted, tie)

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        regions = [self.select_risk(float(risk)) for risk in thresholds]
        pieces = [region.pieces() for region in regions]
        cuts = np.unique(np.concatenate([starts for starts, _, _ in pieces]))
        prices = self._prices(cuts, pieces)
        accepted = np.empty((items.n_queries, thresholds.size))
        cost = np.empty((items.n_queries, thresholds.size))
        step = max(1, _COUNTS // (4 * cuts.size))
        for first in range(0, items.n_queries, step):
            rows = slice(first, first + step)
            some = items.take(first, min(first + step, items.n_queries))
            beyond = some.count_outcomes(cuts, self._tolerance)
            beyond = beyond.reshape(some.n_queries, -1).T
            both = prices @ beyond.astype(np.float64, order="C")
            accepted[rows], cost[rows] = both.T[:, ::2], both.T[:, 1::2]
        return accepted, cost

    def _prices(
        self, cuts: FloatArray, pieces: list[tuple[FloatArray, FloatArray, BoolArray]]
    ) -> csr_array:
        """Return what a pair beyond a cut, of some outcome, adds for each threshold.

        A matrix of shape (2 * n_thresholds, 4 * n_cuts): for each threshold a row for
        accepted pairs and one for their loss. A piece from one cut to the next adds at
        the first and takes off at the second.
        """
        outcomes = np.eye(4)
        by_order = loss_of_orders(outcomes, self._loss)
        by_tie = loss_of_ties(outcomes, self._loss)
        prices = np.zeros((len(pieces), 2, cuts.size, 4))
        for k, (starts, weight, tie) in enumerate(pieces):
            at = np.searchsorted(cuts, starts)
            worth = weight[:, None] * np.where(tie[:, None], by_tie, by_order)
            for row, value in zip(prices[k], (weight[:, None], worth), strict=True):
                row[at] += value
                row[at[1:]] -= value[:-1]
        return csr_array(prices.reshape(2 * len(pieces), -1))

    def profile(self, items: ScoredItems) -> RiskProfile:
        gap, counts = items.counts_by_gap()
        tie = (gap < self._curve.crossing) | (gap <= self._tolerance)
        correct = np.where(tie, counts[:, 1], counts[:, 2])
        return RiskProfile.of(self._curve(gap), counts.sum(axis=1), correct)

    def rank_bounds(self, region: GapRegion, items: ScoredItems) -> IntArray:
        return items.rank_bounds(region.order_from)
