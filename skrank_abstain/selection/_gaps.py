"""Decisions by models of the score difference: two cuts in the gap.

The pairs whose risk is at most ``tau`` are those with ``gap <= inner`` (predicted ties)
and those with ``gap >= outer`` (predicted orders). Thresholds live in the gap:
recomputed risks of equal gaps may differ in the last bit, gaps compared with one
tolerance do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.pairs import (
    Scores,
    count_outcomes,
    count_within,
    counts_by_gap,
    semiorder_graph,
    semiorder_ranks,
)
from skrank_abstain.selection._engine import (
    Classes,
    DecisionArrays,
    RiskEngine,
    RowPairs,
    draw_boundary,
)
from skrank_abstain.selection._gap_curve import Cuts, RiskCurve, cuts_at_rank
from skrank_abstain.selection._tally import Tally
from skrank_abstain.tie_models import DifferenceModel

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14


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


class GapEngine(RiskEngine):
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

    def below(self, risk: float, margin_of: float | None = None) -> GapRegion:
        # Two monotone searches, whatever the number of pairs.
        curve = self._by(margin_of)
        if risk >= max(curve.highest, curve.of_equal):
            inner, outer = -1.0, 0.0
        else:
            inner, outer = curve.inner_cut(risk), curve.outer_cut(risk)
            if curve.crossing == 0:
                outer = max(outer, float(np.nextafter(self._tolerance, np.inf)))
        return replace(self._region(risk, inner, outer), margin_of=margin_of)

    def _by(self, margin_of: float | None) -> RiskCurve:
        """Return the curve that a threshold is compared with."""
        if margin_of not in self._curves:
            curve = RiskCurve(self._model, self.loss, self._largest, margin_of)
            self._curves[margin_of] = curve
        return self._curves[margin_of]

    def surest(
        self, scores: Scores, rank: int, *, kappa: float = 1.0, seed: int = 0
    ) -> GapRegion:
        # Counting finds the order statistic, O(n log n) for n items.
        if self._is_of_equal_scores(rank, scores):
            region = self.below(self.highest)
        else:
            cuts = cuts_at_rank(self._curve, scores, rank)
            region = self._region(cuts.risk, *self._ends(cuts))
        return replace(region, kappa=kappa, seed=seed)

    def _decide(
        self, region: GapRegion, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
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
                # Raises, or mends values rounded below zero.
                proba[block] = self._model.checked_proba_at_gap(gap)
                settle_pairs(*arrays)
        if region.kappa < 1:
            weight = region.weight(np.abs(difference))
            accepted = draw_boundary(weight, region.seed, pairs)
        return DecisionArrays(label, accepted, risk, proba)

    def _classes(self, regions: Sequence[GapRegion]) -> Classes:
        pieces = [region.pieces() for region in regions]
        # A class reaches from its cut to the next one.
        cuts = np.unique(np.concatenate([starts for starts, _, _ in pieces]))
        at = [
            np.searchsorted(starts, cuts, side="right") - 1 for starts, _, _ in pieces
        ]
        found = zip(pieces, at, strict=True)
        accepted = np.stack([weight[place] for (_, weight, _), place in found])
        return Classes(cuts, accepted, pieces[0][2][at[0]])

    def _count(
        self, classes: Classes, scores: Scores, weight: FloatArray | None
    ) -> FloatArray:
        beyond = count_outcomes(scores, classes.split, self._tolerance, weight)
        return beyond - np.pad(beyond[:, 1:], ((0, 0), (0, 1), (0, 0)))

    def _mass(self, classes: Classes, scores: Scores) -> FloatArray:
        below = count_within(scores, np.nextafter(classes.split, -np.inf))
        return np.diff(np.append(below, scores.n_pairs)).astype(np.float64)

    def _by_risk(self, scores: Scores, margin_of: float | None) -> Tally:
        gap, counts = counts_by_gap(scores)
        curve = self._by(margin_of)
        tie = gap <= self._region(0.0, -1.0, np.inf).tie_up_to
        # The order of the columns: the right order first.
        counts = np.pad(counts[:, ::-1], ((0, 0), (0, 1)))
        equal = gap <= self._tolerance
        risk = np.where(equal, curve.of_equal, curve(gap))
        none = np.empty((0, risk.size))
        return Tally(counts[None], none, tie, self.loss, risk)

    def _ranks(self, region: GapRegion, scores: Scores) -> IntArray:
        return semiorder_ranks(scores, region.order_from)

    def _graph(self, region: GapRegion, scores: Scores) -> csr_array:
        return semiorder_graph(scores, self._ranks(region, scores))

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

    def _is_of_equal_scores(self, rank: int, scores: Scores) -> bool:
        """Whether the pair of this rank has equal scores and no zone of ties around."""
        if self._curve.crossing > 0:
            return False  # equal scores are the surest ties, on the curve
        n_equal = int(count_within(scores, [self._tolerance])[0])
        return rank > scores.n_pairs - n_equal
