"""Decisions by models of the score difference: cuts in ``|d|``."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import PairDistances, ScoredItems
from skrank_abstain.selection._base import (
    Decided,
    PairRisk,
    PairTotals,
    RiskProfile,
    loss_of_orders,
    loss_of_ties,
)
from skrank_abstain.selection._regions import DistanceRegion, RiskCurve
from skrank_abstain.selection._rules import (
    accepted_mass,
    select_coverage,
    select_risk,
)
from skrank_abstain.tie_models import DifferenceModel

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14
#: Counts that are held at a time.
_COUNTS = 1 << 22


class DifferenceRisk(PairRisk):
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

    def select_risk(self, risk: float) -> DistanceRegion:
        return select_risk(self._curve, risk, tolerance=self._tolerance)

    def select_coverage(
        self,
        items: PairDistances,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> DistanceRegion:
        return select_coverage(
            self._curve,
            items,
            coverage,
            tolerance=self._tolerance,
            quantile=quantile,
            boundary=boundary,
            seed=seed,
        )

    def accepted_mass(self, region: DistanceRegion, items: PairDistances) -> float:
        return accepted_mass(region, items)

    def decide(
        self,
        region: DistanceRegion,
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
            proba[block] = self._model.proba_at_distance(np.abs(difference[block]))
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
        self, region: DistanceRegion, items: ScoredItems, weight: FloatArray | None
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
        mass, spent = self._prices(cuts, pieces)
        accepted = np.empty((items.n_queries, thresholds.size))
        cost = np.empty((items.n_queries, thresholds.size))
        # Counts of all queries at all cuts at once would be large.
        step = max(1, _COUNTS // (4 * cuts.size))
        for first in range(0, items.n_queries, step):
            rows = slice(first, first + step)
            some = items.take(first, min(first + step, items.n_queries))
            beyond = some.count_outcomes(cuts, self._tolerance).astype(np.float64)
            beyond = beyond.reshape(some.n_queries, -1).T
            accepted[rows] = (mass @ beyond).T
            cost[rows] = (spent @ beyond).T
        return accepted, cost

    def _prices(
        self, cuts: FloatArray, pieces: list[tuple[FloatArray, FloatArray, BoolArray]]
    ) -> tuple[csr_array, csr_array]:
        """Return what a pair beyond a cut, of some outcome, adds for each threshold.

        Two matrices of shape (n_thresholds, 4 * n_cuts): accepted pairs, and loss. A
        piece from one cut to the next adds at the first and takes off at the second.
        """
        outcomes = np.eye(4)
        by_order = loss_of_orders(outcomes, self._loss)
        by_tie = loss_of_ties(outcomes, self._loss)
        mass = np.zeros((len(pieces), cuts.size, 4))
        spent = np.zeros((len(pieces), cuts.size, 4))
        for k, (starts, weight, tie) in enumerate(pieces):
            at = np.searchsorted(cuts, starts)
            worth = weight[:, None] * np.where(tie[:, None], by_tie, by_order)
            for matrix, value in ((mass, weight[:, None]), (spent, worth)):
                matrix[k, at] += value
                matrix[k, at[1:]] -= value[:-1]
        return (
            csr_array(mass.reshape(len(pieces), -1)),
            csr_array(spent.reshape(len(pieces), -1)),
        )

    def profile(self, items: ScoredItems) -> RiskProfile:
        distance, counts = items.counts_by_distance()
        tie = (distance < self._curve.crossing) | (distance <= self._tolerance)
        correct = np.where(tie, counts[:, 1], counts[:, 2])
        return RiskProfile.of(self._curve(distance), counts.sum(axis=1), correct)

    def rank_bounds(self, region: DistanceRegion, items: ScoredItems) -> IntArray:
        return items.rank_bounds(region.order_from)
