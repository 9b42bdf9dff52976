"""Engine of models that are constant on bins: a table of pairs of bins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.pairs import Scores
from skrank_abstain.selection import _engine
from skrank_abstain.selection._tally import Tally
from skrank_abstain.tie_models import BinModel, expected_losses


@dataclass(frozen=True)
class BinRegion(Value):
    """The surest pairs of bins, up to a place in their order.

    Attributes
    ----------
    risk : float
        The threshold on the conditional risk, or on the margin.
    last : int
        Place of the last pairs of bins that are accepted, from 0.
    kappa : float
        Probability of accepting pairs at the last place.
    seed : int
        Seed of the draws for these.
    margin_of : float or None
        The places are those by the `margins` of this bound; None: by the risk.
    """

    risk: float
    last: int
    kappa: float = 1.0
    seed: int = 0
    margin_of: float | None = None

    @property
    def draws(self) -> bool:
        """Whether some pairs are accepted by lot."""
        return 0 < self.kappa < 1

    def weight(self, place: IntArray) -> FloatArray:
        """Return the probability of accepting pairs of bins at these places."""
        weight: FloatArray = (place <= self.last).astype(np.float64)
        if self.kappa < 1:
            weight[place == self.last] = self.kappa
        return weight


class BinEngine(_engine.RiskEngine):
    """Conditional risk under a model that is constant on bins.

    All pairs of bins stand in one order, the surest first, and a region is a place in
    it. Regions by a margin have an order of their own. Where risks are equal, orders of
    items far apart come first and ties last.

    Inside a bin the higher value is first, with the risk of the opposite order. The
    pairs of equal values of a bin, which carry no order, stand in the tables as the
    pairs of this bin and one more behind the last.

    Parameters
    ----------
    model : BinModel
        Fitted.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    tolerance : float
        Values of one bin this close are equal.
    """

    def __init__(self, model: BinModel, loss: FloatArray, tolerance: float) -> None:
        self._model = model
        self.loss = loss
        self._tolerance = tolerance
        number = np.arange(model.table_.shape[0])
        n = number.size + 1
        self._proba: FloatArray = np.pad(model.table_, ((0, 1), (0, 1), (0, 0)))
        self._proba[:-1, -1] = self._proba[-1, :-1] = model.table_[number, number]
        # Without the last: no pair has two items of equal value in no bin. The pairs of
        # one higher bin stand together, so that counting them stays in the cache.
        self._upper = tuple(index[:-1] for index in np.tril_indices(n)[::-1])
        losses = expected_losses(self._proba.reshape(-1, 3), loss).reshape(n, n, 3)
        # Tables are mirrored up to rounding; decisions must be mirrored exactly.
        lower = np.tri(n, dtype=bool)
        mirrored = np.swapaxes(losses, 0, 1)[:, :, ::-1]
        losses = np.where(lower[:, :, None], losses, mirrored)
        # An order always favours the higher value, which wins at least as probably as
        # the lower one.
        strict = np.full((n, n), np.inf)
        of_order = np.where(lower, losses[:, :, 2], losses[:, :, 0])
        strict[:-1, :-1] = _monotone(of_order[:-1, :-1])
        self._risk: FloatArray = np.minimum(strict, losses[:, :, 1])
        order = np.where(lower, 1, -1)
        self._label = np.where(losses[:, :, 1] < strict, 0, order).astype(np.int64)
        self.highest = float(self._risk.max())
        self._orders_by: dict[float | None, tuple[IntArray, FloatArray]] = {}

    def _places(self, margin_of: float | None = None) -> tuple[IntArray, FloatArray]:
        """Return the place of each two bins, the surest first, and the risk there.

        Shapes (n_bins + 1, n_bins + 1), equal values last, and (n_places,).
        """
        if margin_of in self._orders_by:
            return self._orders_by[margin_of]
        risks, near = self._by(margin_of)[self._upper], self._nearness()[self._upper]
        order = np.lexsort((near, risks))
        new = (np.diff(risks[order]) > 0) | (np.diff(near[order]) > 0)
        ranks = np.append(0, np.cumsum(new))[np.argsort(order)]
        place = np.zeros(self._risk.shape, dtype=np.int64)
        place[self._upper] = place.T[self._upper] = ranks
        self._orders_by[margin_of] = place, risks[order][np.append(True, new)]
        return self._orders_by[margin_of]

    def _by(self, margin_of: float | None) -> FloatArray:
        """Return what a threshold is compared with, (n_bins + 1, n_bins + 1)."""
        if margin_of is None:
            return self._risk
        return _engine.margins(self._proba, self._label, margin_of)

    def each_below(self, risks: FloatArray, margin_of: Any = None) -> list[BinRegion]:
        last = np.searchsorted(self._places(margin_of)[1], risks, side="right") - 1
        both = zip(risks.tolist(), last.tolist(), strict=True)
        return [BinRegion(*each, margin_of=margin_of) for each in both]

    def surest(self, scores: Scores, rank: int) -> BinRegion:
        place, risks = self._places()
        mass = np.bincount(place[self._upper], self._pooled(scores).sum(axis=1))
        last = int(np.searchsorted(np.cumsum(mass), rank))
        return BinRegion(float(risks[last]), last)

    def _pooled(self, scores: Scores) -> FloatArray:
        """Count the pairs of each two bins, by outcome, (n_pairs_of_bins, 4)."""
        known = scores.ascending.known
        # Setting and describing a threshold count the same pairs several times.
        if self not in known:
            group = np.zeros(self._risk.shape, dtype=np.int64)
            group[self._upper[::-1]] = number = np.arange(self._upper[0].size)
            known[self] = self._weighed(scores, group, number.size)[0]
        return np.asarray(known[self])

    def _weighed(
        self,
        scores: Scores,
        group: IntArray,
        n_groups: int,
        weight: FloatArray | None = None,
        by_query: bool = False,
    ) -> FloatArray:
        """Add up pairs by the group of their two bins and by outcome."""
        from skrank_abstain._kernels.outcomes import weigh_groups

        here = scores.ascending
        weight = None if weight is None else weight[here.rows]
        data = here.value, self._model.edges_, here.grades, weight, here.offsets
        return weigh_groups(*data, group, n_groups, self._tolerance, by_query=by_query)

    def _nearness(self) -> FloatArray:
        """Return an order of the pairs of bins of equal risk, the surest first.

        Returns
        -------
        nearness : ndarray of shape (n_bins + 1, n_bins + 1), float64
            Minus the gap of the bins' middles where an order is predicted, the
            gap where a tie is.
        """
        edges = np.nan_to_num(self._model.edges_) / 8  # no sum or gap overflows
        centre = np.arange(edges.size + 1.0)
        if edges.size > 1:
            # The outermost bins, which have one edge, are as wide as their neighbours.
            edges = np.pad(edges, 1, mode="reflect", reflect_type="odd")
            centre = (edges[:-1] + edges[1:]) / 2
        gap = np.pad(np.abs(centre[:, None] - centre[None, :]), (0, 1))
        return np.where(self._label == 0, gap, -gap)

    def _classes(self, regions: Sequence[BinRegion]) -> _engine.Classes:
        ends = [region.last for region in regions]
        ends += [region.last - 1 for region in regions if region.kappa < 1]
        distinct = np.unique(ends)
        place, risks = self._places(regions[0].margin_of)
        # Up to each end, beyond the one before it; and beyond all.
        places = np.append(distinct, risks.size)
        accepted = np.stack([region.weight(places) for region in regions])
        tie = np.arange(2 * places.size) % 2 == 1
        split = 2 * np.searchsorted(distinct, place) + (self._label == 0)
        return _engine.Classes(split, np.repeat(accepted, 2, axis=1), tie)

    def _count(
        self, classes: _engine.Classes, scores: Scores, weight: FloatArray | None
    ) -> FloatArray:
        return self._weighed(scores, classes.split, classes.tie.size, weight, True)

    def _mass(self, classes: _engine.Classes, scores: Scores) -> FloatArray:
        counts, of_pair = self._pooled(scores).sum(axis=1), classes.split[self._upper]
        return np.bincount(of_pair, counts, classes.tie.size).astype(np.float64)

    def _by_risk(self, scores: Scores, margin_of: float | None) -> Tally:
        counts = self._pooled(scores)
        seen = counts.any(axis=1)
        risk = self._by(margin_of)[self._upper][seen]
        label = self._label[self._upper][seen]
        none = np.empty((0, risk.size))
        return Tally(counts[seen][None], none, label == 0, self.loss, risk)

    def _decide(
        self, region: BinRegion, values: FloatArray, pairs: _engine.RowPairs
    ) -> _engine.DecisionArrays:
        from skrank_abstain._kernels.filling import settle_bins

        n_pairs = pairs.left.size
        place, label = np.empty((2, n_pairs), dtype=np.int64)
        risk, proba = np.empty(n_pairs), np.empty((n_pairs, 3))
        arrays: list[Any] = [*pairs[:3], self._model.bins(values), self._tolerance]
        arrays += [self._places(region.margin_of)[0], self._label, self._risk]
        arrays += [self._proba, place, label, risk, proba]
        settle_bins(*arrays)
        accepted = place <= region.last
        if region.kappa < 1:
            accepted = _engine.draw_boundary(region.weight(place), region.seed, pairs)
        return _engine.DecisionArrays(label, accepted, risk, proba)

    def _ranks(self, region: BinRegion, scores: Scores) -> IntArray:
        from skrank_abstain._kernels.gaps import rank_bounds

        over, bins = self._over(region), self._model.bins(scores.value)
        found = self._ranks_across(np.tril(over, -1), bins, scores)
        # Where the items of one query and one bin begin, and how many they are.
        new = np.append(True, bins[1:] != bins[:-1])[: bins.size]
        new[scores.offsets[:-1]] = True
        offsets = np.append(np.flatnonzero(new), bins.size)
        size = np.repeat(np.diff(offsets), np.diff(offsets))
        beyond = float(np.nextafter(self._tolerance, np.inf))
        within = rank_bounds(scores.value, offsets, beyond)
        free = ~over.diagonal()[bins]
        within[free] = np.stack([np.ones_like(size), size], axis=1)[free]
        # What follows through other bins goes by the bins, and what follows inside a
        # bin by the values: the two add up.
        found += within - 1
        found[:, 1] -= size - 1
        bounds = np.empty_like(found)
        bounds[scores.rows] = found
        return bounds

    def _ranks_across(
        self, over: BoolArray, bins: IntArray, scores: Scores
    ) -> IntArray:
        """Return the ranks, (n_items, 2) by position, that orders of bins leave."""
        below = over.sum(axis=1)
        if not _is_semiorder(over, below):
            # Items far apart may be called a tie where closer ones are ordered: orders
            # that follow through other items are found query by query.
            from skrank_abstain._kernels.closing import ranks_of_bins

            return ranks_of_bins(bins, scores.offsets, over)
        n_bins = below.size
        above = np.searchsorted(below, np.arange(n_bins), side="right")
        query, offsets = scores.queries.codes, scores.offsets
        place = query * (n_bins + 1)
        key = place + bins  # ascending
        start, stop = offsets[query], offsets[query + 1]
        n_below = np.searchsorted(key, place + below[bins]) - start
        n_above = stop - np.searchsorted(key, place + above[bins])
        return np.stack([1 + n_above, stop - start - n_below], axis=1)

    def _graph(self, region: BinRegion, scores: Scores) -> csr_array:
        over = self._over(region)
        if _is_semiorder(over, over.sum(axis=1)):
            return super()._graph(region, scores)
        # Pairs that are drawn are abstained on.
        fixed = replace(region, kappa=float(region.kappa == 1))
        return self._graph_by_pair(fixed, scores)

    def _over(self, region: BinRegion) -> BoolArray:
        """Return which bin is accepted over which lower one, (n_bins, n_bins).

        On the diagonal: whether the higher values of a bin are, over its lower ones.
        """
        place = self._places(region.margin_of)[0][:-1, :-1]
        return np.tril((region.weight(place) == 1) & (self._label[:-1, :-1] == 1))


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
    lower = np.tri(risk.shape[0], dtype=bool)
    falling = np.minimum.accumulate(np.where(lower, risk, np.inf), axis=0)
    smooth = np.maximum.accumulate(falling, axis=1)
    smooth = np.where(lower, smooth, smooth.T)
    rounding = 16 * np.finfo(np.float64).eps * risk.max()
    return smooth if np.abs(smooth - risk).max() <= rounding else risk
