"""Engine of models that are constant on bins: a table of pairs of bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._saving import Value
from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems, check_graph_size
from skrank_abstain.selection._engine import (
    DecisionArrays,
    RiskEngine,
    RowPairs,
    draw_boundary,
    settle_draws,
)
from skrank_abstain.selection._totals import PairTotals, RiskProfile, loss_of
from skrank_abstain.tie_models import BinModel, expected_losses


@dataclass(frozen=True, eq=False)
class BinRegion(Value):
    """Pairs of bins that are accepted.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk.
    weight : ndarray of shape (n_bins, n_bins), float64
        Probability of acceptance by the bins of the left and of the right item.
    seed : int
        Seed of the draws for probabilities between 0 and 1.
    """

    risk: float
    weight: FloatArray
    seed: int = 0

    @property
    def draws(self) -> bool:
        """Whether some pairs are accepted by lot."""
        return bool(((self.weight > 0) & (self.weight < 1)).any())

    def to_plain(self) -> dict[str, Any]:
        # Pack the weights, nearly all 0 or 1, into bits.
        levels, level = np.unique(self.weight, return_inverse=True)
        bits = level.reshape(1, -1) == np.arange(1, levels.size)[:, None]
        plain = {"levels": levels, "bits": np.packbits(bits, axis=1)}
        n_bins = self.weight.shape[0]
        return {"risk": self.risk, "seed": self.seed, "n_bins": n_bins, **plain}

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        levels, bits, n_bins = map(plain.pop, ("levels", "bits", "n_bins"))
        level = np.arange(1, levels.size) @ np.unpackbits(bits, axis=1, count=n_bins**2)
        return cls(weight=levels[level].reshape(n_bins, n_bins), **plain)


class BinEngine(RiskEngine[BinRegion]):
    """Conditional risk under a model that is constant on bins.

    Parameters
    ----------
    model : BinModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    """

    def __init__(self, model: BinModel, loss: FloatArray) -> None:
        self._model = model
        self._loss = loss
        n_bins = model.table_.shape[0]
        self._upper = np.triu_indices(n_bins)
        losses = expected_losses(model.table_.reshape(-1, 3), loss)
        losses = losses.reshape(n_bins, n_bins, 3)
        # Tables are mirrored up to rounding; decisions must be mirrored exactly.
        lower = np.tri(n_bins, dtype=bool)[:, :, None]
        losses = np.where(lower, losses, np.swapaxes(losses, 0, 1)[:, :, ::-1])
        number = np.arange(n_bins)
        # An order always favours the higher bin, which wins at least as probably as
        # the lower one. Items of one bin carry no order: their label is a tie, their
        # risk the expected loss of that answer.
        order = np.sign(number[:, None] - number[None, :])
        strict = np.take_along_axis(losses, order[:, :, None] + 1, axis=2)[:, :, 0]
        strict = _monotone(strict)
        strict[number, number] = np.inf
        self._risk = np.minimum(strict, losses[:, :, 1])
        self._label = np.where(losses[:, :, 1] < strict, 0, order).astype(np.int64)
        self.highest = float(self._risk.max())
        self._counted: dict[int, tuple[ScoredItems, FloatArray]] = {}

    def select_risk(self, risk: float) -> BinRegion:
        return BinRegion(risk, (self._risk <= risk).astype(np.float64))

    def up_to_rank(self, items: ScoredItems, rank: int) -> Callable[..., BinRegion]:
        # Where risks are equal, orders of items far apart come first and ties last.
        risk, nearness = self._risk[self._upper], self._nearness()
        order = np.lexsort((nearness[self._upper], risk))
        last = order[np.searchsorted(np.cumsum(self._count(items)[order]), rank)]
        threshold, limit = float(risk[last]), nearness[self._upper][last]
        at = self._risk == threshold
        below = (self._risk < threshold) | (at & (nearness < limit))
        at &= nearness == limit

        def region(kappa: float = 1.0, seed: int = 0) -> BinRegion:
            return BinRegion(threshold, np.where(at, kappa, below), seed)

        return region

    def _count(self, items: ScoredItems) -> FloatArray:
        """Return the number of pairs of each two bins, shape (n_pairs_of_bins,)."""
        # Setting and describing a threshold count the same pairs several times. The
        # items are kept, too, so that no others get their id.
        if id(items) not in self._counted:
            counts = self._model.count_pairs(items).sum(axis=1)
            self._counted[id(items)] = items, counts
        return self._counted[id(items)][1]

    def _nearness(self) -> FloatArray:
        """Return an order of the pairs of bins of equal risk, the surest first.

        Returns
        -------
        nearness : ndarray of shape (n_bins, n_bins), float64
            Minus the gap of the bins' middles where an order is predicted, the
            gap where a tie is.
        """
        edges = np.nan_to_num(self._model.edges_) / 8  # no sum or gap overflows
        centre = np.arange(edges.size + 1.0)
        if edges.size > 1:
            # The outermost bins, which have one edge, are as wide as their neighbours.
            edges = np.pad(edges, 1, mode="reflect", reflect_type="odd")
            centre = (edges[:-1] + edges[1:]) / 2
        gap = np.abs(centre[:, None] - centre[None, :])
        return np.where(self._label == 0, gap, -gap)

    def accepted_mass(
        self, region: BinRegion, items: ScoredItems, *, ties_only: bool = False
    ) -> float:
        weight = region.weight * (self._label == 0) if ties_only else region.weight
        return float((self._count(items) * weight[self._upper]).sum())

    def decide(
        self, region: BinRegion, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        pair = self._pairs_of_bins(values, pairs)
        weight = region.weight.reshape(-1)[pair]
        accepted = draw_boundary(weight, region.seed, pairs)
        return DecisionArrays(
            label=self._label.reshape(-1)[pair],
            accepted=accepted,
            risk=self._risk.reshape(-1)[pair],
            proba=self._model.table_.reshape(-1, 3)[pair],
        )

    def _pairs_of_bins(self, values: FloatArray, pairs: RowPairs) -> IntArray:
        bins: IntArray = self._model.bins(values)
        pair: IntArray = bins[pairs.left] * self._risk.shape[0] + bins[pairs.right]
        return pair

    def totals(
        self, region: BinRegion, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        # Pairs of equal probability of acceptance and equal label are one group: two to
        # six groups, however many bins there are.
        levels, level = np.unique(region.weight, return_inverse=True)
        group = 2 * level.reshape(region.weight.shape) + (self._label == 0)
        n_groups = 2 * levels.size
        pieces = items.weigh_bins(
            self._model.edges_, group, n_groups, by_query=True, weight=weight
        )
        tie = np.arange(n_groups) % 2 == 1
        accepted, drawn = np.repeat(levels, 2), None
        if region.draws:
            drawn = settle_draws(
                partial(self._judge, region), region.seed, items, weight
            )
        return PairTotals.of_pieces(pieces, accepted, tie, self._loss, drawn)

    def _judge(
        self, region: BinRegion, values: FloatArray, pairs: RowPairs
    ) -> tuple[FloatArray, BoolArray]:
        """Return the probability of accepting each pair, and whether it is a tie."""
        pair = self._pairs_of_bins(values, pairs)
        return region.weight.reshape(-1)[pair], self._label.reshape(-1)[pair] == 0

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        order = np.argsort(thresholds, kind="stable")
        # The first threshold, in ascending order, that accepts the pairs of two bins.
        first = np.searchsorted(thresholds[order], self._risk, side="left")
        tie = self._label == 0
        n_thresholds = thresholds.size
        group = np.where(first < n_thresholds, 2 * first + tie, -1)
        pieces = items.weigh_bins(
            self._model.edges_, group, 2 * n_thresholds, by_query=True
        )
        mass = pieces.sum(axis=2)
        is_tie = np.arange(2 * n_thresholds) % 2 == 1
        spent = loss_of(pieces, is_tie, self._loss)
        accepted = np.empty((items.n_queries, n_thresholds))
        cost = np.empty((items.n_queries, n_thresholds))
        accepted[:, order] = np.cumsum(mass[:, ::2] + mass[:, 1::2], axis=1)
        cost[:, order] = np.cumsum(spent[:, ::2] + spent[:, 1::2], axis=1)
        return accepted, cost

    def profile(self, items: ScoredItems) -> RiskProfile:
        counts = self._model.count_pairs(items)
        tie = self._label[self._upper] == 0
        seen = counts.any(axis=1)
        risk = self._risk[self._upper][seen]
        return RiskProfile.of(risk, counts[seen], tie[seen], self._loss)

    def rank_bounds(self, region: BinRegion, items: ScoredItems) -> IntArray:
        over = self._over(region)
        below = over.sum(axis=1)
        bins = self._model.bins(items.values)
        bounds = np.empty((bins.size, 2), dtype=np.int64)
        if not _is_semiorder(over, below):
            # Items far apart may be called a tie where closer ones are ordered: orders
            # that follow through other items are found query by query.
            from skrank_abstain._kernels.closing import ranks_of_bins

            bounds[items.rows] = ranks_of_bins(bins, items.offsets, over)
            return bounds
        n_bins = below.size
        above = np.searchsorted(below, np.arange(n_bins), side="right")
        query = np.repeat(np.arange(items.n_queries), np.diff(items.offsets))
        key = query * (n_bins + 1) + bins  # ascending
        start, stop = items.offsets[query], items.offsets[query + 1]
        place = query * (n_bins + 1)
        n_below = np.searchsorted(key, place + below[bins]) - start
        n_above = stop - np.searchsorted(key, place + above[bins])
        bounds[items.rows, 0] = 1 + n_above
        bounds[items.rows, 1] = stop - start - n_below
        return bounds

    def preference_graph(self, region: BinRegion, items: ScoredItems) -> csr_array:
        from skrank_abstain._kernels.closing import reduced_orders

        over = self._over(region)
        if _is_semiorder(over, over.sum(axis=1)):
            return items.preference_graph(self.rank_bounds(region, items))
        bins = self._model.bins(items.values)
        new = np.append(True, bins[1:] != bins[:-1])[: bins.size]
        new[items.offsets[:-1]] = True
        first = np.flatnonzero(new)  # of the items of one query and one bin: a group
        starts = np.searchsorted(first, items.offsets)
        higher, lower = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start, stop in pairwise(starts):
            found = reduced_orders(bins[first[start:stop]], over)
            higher.append(found[0] + start)
            lower.append(found[1] + start)
        entries = np.concatenate(higher), np.concatenate(lower)
        ones = np.ones(entries[0].size, dtype=bool)
        groups = csr_array((ones, entries), shape=(first.size, first.size))
        # Each item of a group has the orders of the group.
        group = np.cumsum(new) - 1
        size = np.bincount(group)
        check_graph_size(int((size[entries[0]] * size[entries[1]]).sum()))
        shape = (bins.size, first.size)
        member = csr_array((np.ones(bins.size, bool), (items.rows, group)), shape=shape)
        return member @ groups @ member.T

    def _over(self, region: BinRegion) -> BoolArray:
        """Return which bin is accepted over which lower one, (n_bins, n_bins)."""
        return np.tril((region.weight == 1) & (self._label == 1))


def _is_semiorder(over: BoolArray, below: IntArray) -> bool:
    """Whether each bin is over the ``below`` lowest ones, higher bins over no fewer.

    That holds for all semiorders along the values.
    """
    lowest = np.arange(below.size)[None, :] < below[:, None]
    return np.array_equal(over, lowest) and bool((np.diff(below) >= 0).all())


def _monotone(risk: FloatArray) -> FloatArray:
    """Undo rounding that makes the order of bins further apart the riskier one.

    Parameters
    ----------
    risk : ndarray of shape (n_bins, n_bins), float64
        Symmetric.

    Returns
    -------
    risk : ndarray of shape (n_bins, n_bins), float64
        As it was, if more than rounding stands between it and monotony.
    """
    lower = np.tri(risk.shape[0], k=-1, dtype=bool)
    falling = np.minimum.accumulate(np.where(lower, risk, np.inf), axis=0)
    smooth = np.maximum.accumulate(falling, axis=1)
    smooth = np.where(lower, smooth, np.where(lower.T, smooth.T, risk))
    rounding = 16 * np.finfo(np.float64).eps * risk.max()
    return smooth if np.abs(smooth - risk).max() <= rounding else risk
