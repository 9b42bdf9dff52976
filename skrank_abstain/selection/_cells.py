"""Decisions by models that are constant on cells: a table of pairs of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._base import Decided, PairRisk, PairTotals, RiskProfile
from skrank_abstain.tie_models import CellModel, expected_losses


@dataclass(frozen=True, eq=False)
class CellRegion:
    """The pairs of cells that are accepted.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk.
    accepted : ndarray of shape (n_cells, n_cells), bool
        By the cells of the left and of the right item.
    """

    risk: float
    accepted: BoolArray


class CellRisk(PairRisk):
    """Conditional risk under a model that is constant on cells.

    Parameters
    ----------
    model : CellModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    """

    def __init__(self, model: CellModel, loss: FloatArray) -> None:
        self._model = model
        n_cells = model.table_.shape[0]
        losses = expected_losses(model.table_.reshape(-1, 3), loss)
        losses = losses.reshape(n_cells, n_cells, 3)
        cell = np.arange(n_cells)
        # The higher cell is never the less probable winner. Items of one cell carry
        # no order: their label is a tie, their risk that of the best prediction.
        order = np.sign(cell[:, None] - cell[None, :])
        strict = np.take_along_axis(losses, order[:, :, None] + 1, axis=2)[:, :, 0]
        strict[cell, cell] = losses[cell, cell].min(axis=1)
        self._risk = np.minimum(strict, losses[:, :, 1])
        self._label = np.where(losses[:, :, 1] < strict, 0, order).astype(np.int64)
        self.highest = float(self._risk.max())

    def select_risk(self, risk: float) -> CellRegion:
        return CellRegion(risk, self._risk <= risk)

    def counter(self, items: ScoredItems) -> Callable[[float], float]:
        pairs = self._pairs_of_cells(items).sum(axis=1)
        lower, higher = np.triu_indices(self._risk.shape[0])
        risk = self._risk[lower, higher]
        order = np.argsort(risk, kind="stable")
        risk, count = risk[order], np.append(0, np.cumsum(pairs[order]))
        return lambda bound: float(count[np.searchsorted(risk, bound, side="right")])

    def accepted_mass(self, region: CellRegion, items: ScoredItems) -> float:
        pairs = self._pairs_of_cells(items).sum(axis=1)
        return float(pairs @ region.accepted[np.triu_indices(self._risk.shape[0])])

    def decide(
        self,
        region: CellRegion,
        scores: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> Decided:
        cells = self._model.cells(scores)
        n_cells = self._risk.shape[0]
        pair = cells[left] * n_cells + cells[right]
        return Decided(
            label=self._label.reshape(-1)[pair],
            accepted=region.accepted.reshape(-1)[pair],
            risk=self._risk.reshape(-1)[pair],
            proba=self._model.table_.reshape(-1, 3)[pair],
        )

    def totals(
        self, region: CellRegion, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        group = 2 * region.accepted + (self._label == 0)
        cells = self._model.cells(items.scores)
        pieces = items.weigh_cells(cells, group, 4, by_query=True, weight=weight)
        accepted, tie = np.divmod(np.arange(4), 2)
        return PairTotals.of_pieces(pieces, accepted.astype(np.float64), tie == 1)

    def profile(self, items: ScoredItems) -> RiskProfile:
        counts = self._pairs_of_cells(items)
        lower, higher = np.triu_indices(self._risk.shape[0])
        tie = self._label[lower, higher] == 0
        correct = np.where(tie, counts[:, 1], counts[:, 0])
        pairs = counts.sum(axis=1)
        seen = pairs > 0
        return RiskProfile.of(
            self._risk[lower, higher][seen], pairs[seen], correct[seen]
        )

    def rank_bounds(self, region: CellRegion, items: ScoredItems) -> IntArray:
        n_cells = self._risk.shape[0]
        # Of each higher cell, how many cells from the bottom it is accepted over.
        over = np.tril(region.accepted & (self._label == 1))
        below = over.sum(axis=1)
        semiorder = np.array_equal(over, np.arange(n_cells)[None, :] < below[:, None])
        if not semiorder or (np.diff(below) < 0).any():
            raise ValueError(
                "rank_intervals needs accepted orders that form a semiorder, and at "
                f"this threshold ({region.risk:.3g}) they do not: far apart items may "
                "be called a tie where closer ones are ordered. Lower the threshold, "
                "or read predict_pairs."
            )
        above = np.searchsorted(below, np.arange(n_cells), side="right")
        cells = self._model.cells(items.scores)
        query = np.repeat(np.arange(items.n_queries), np.diff(items.offsets))
        key = query * (n_cells + 1) + cells  # ascending
        start, stop = items.offsets[query], items.offsets[query + 1]
        place = query * (n_cells + 1)
        n_below = np.searchsorted(key, place + below[cells]) - start
        n_above = stop - np.searchsorted(key, place + above[cells])
        bounds = np.empty((cells.size, 2), dtype=np.int64)
        bounds[items.rows, 0] = 1 + n_above
        bounds[items.rows, 1] = stop - start - n_below
        return bounds

    def _pairs_of_cells(self, items: ScoredItems) -> FloatArray:
        """Count pairs by pair of cells and outcome, shape (n_cell_pairs, 4)."""
        return self._model.count_pairs(items)
