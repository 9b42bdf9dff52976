"""What an engine offers: regions of pairs, decisions about pairs, counts of them.

How the pairs below a risk are found depends on the structure of the tie model: two
cuts in the gap for models of the score difference, a table for models that are constant
on bins. Novel items and groups of items are the same for both, and live here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._kernels.mixing import mix
from skrank_abstain._saving import Value
from skrank_abstain.pairs import (
    ALL_PAIRS,
    BYTES_PER_PAIR,
    PAIRS_OF_ONE_QUERY,
    NumberedPairs,
    PairDecisions,
    Scores,
    bounds_of_orders,
    by_query,
    check_graph_size,
    check_output_size,
    semiorder_graph,
)
from skrank_abstain.selection._tally import Tally

#: Counts that a table of thresholds holds at a time, for each outcome and class.
_COUNTS = 1 << 16
#: Bytes of a pair whose decision is made for the ranks of its items.
_BYTES = 100
#: Two groups of items, by number, the lower first: their pairs.
Cell: TypeAlias = tuple[int, int]
#: Hashes of rows, which draws on a boundary go by.
Keys: TypeAlias = NDArray[np.uint64] | None


class Region(Protocol):
    """The pairs that a rule accepts, in the terms of one engine."""

    @property
    def risk(self) -> float:
        """Threshold on the conditional risk, or on the margin."""

    @property
    def margin_of(self) -> float | None:
        """The bound whose `margins` the threshold is about; None: about the risk."""


class RowPairs(NamedTuple):
    """Pairs of rows.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
    difference : ndarray of shape (n_pairs,), float64
        By how much the left value exceeds the right one.
    keys : ndarray of shape (n_rows,), uint64, or None
        Hashes of the rows, for draws on a boundary.
    group : ndarray of shape (n_rows,), int64, or None
        Number of the group of each row.
    """

    left: IntArray
    right: IntArray
    difference: FloatArray
    keys: Keys = None
    group: IntArray | None = None

    @classmethod
    def of(
        cls, values: FloatArray, left: IntArray, right: IntArray, *more: Any
    ) -> Self:
        """Compare the values of the rows; ``more`` are keys and group, in turn."""
        # An infinite difference of huge scores still has the right sign.
        with np.errstate(over="ignore"):
            return cls(left, right, values[left] - values[right], *more)


@dataclass(frozen=True)
class DecisionArrays:
    """Decisions about pairs; see ``PairDecisions`` for the arrays."""

    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None
    threshold: FloatArray | None = None
    margin: FloatArray | None = None
    equal: BoolArray | None = None


class Decides(Protocol):
    """What ``predict_pairs`` and ``evaluate`` ask of an engine."""

    def decide(
        self, region: Any, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        """Decide pairs of rows, whose values the tie model compares."""

    def tally(
        self, scores: Scores, regions: Any, *, weight: FloatArray | None = None
    ) -> Tally:
        """Count pairs by query, class and outcome."""


@dataclass(frozen=True, eq=False)
class CellRegion(Value):
    """A region for each two groups of items.

    Attributes
    ----------
    regions : tuple of Region
    of_cell : ndarray of shape (n_groups, n_groups), int64
        Number of the region of each two groups.
    """

    regions: tuple[Region, ...]
    of_cell: IntArray
    margin_of = None

    @property
    def risk(self) -> float:
        """The highest threshold on the conditional risk."""
        return max(each.risk for each in self.regions)

    def at(self, cell: Cell) -> Region:
        """Return the region of a cell."""
        return self.regions[int(self.of_cell[cell])]

    def to_plain(self) -> dict[str, Any]:
        plain = {f"region{k}": region for k, region in enumerate(self.regions)}
        return {"of_cell": self.of_cell, **plain}

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        of_cell = plain.pop("of_cell")
        return cls(tuple(plain[f"region{k}"] for k in range(len(plain))), of_cell)


def cells_of(scores: Scores, n_groups: int) -> dict[Cell, int]:
    """Return each two groups with the number of queries that have such pairs."""
    here = scores.ascending
    key = here.queries.codes * n_groups + here.group
    counts = np.bincount(key, minlength=here.n_queries * n_groups)
    counts = counts.reshape(here.n_queries, n_groups)
    found = {}
    for one, other in combinations_with_replacement(range(n_groups), 2):
        both = np.minimum(counts[:, one], counts[:, other]) > (one == other)
        found[one, other] = int(both.sum())
    return found


class Classes(NamedTuple):
    """Pairs that some regions treat alike.

    Attributes
    ----------
    split : ndarray
        What tells the classes apart, in the terms of the engine.
    accepted : ndarray of shape (n_regions, n_classes), float64
    tie : ndarray of shape (n_classes,), bool
        As in `Tally`.
    """

    split: NDArray[Any]
    accepted: FloatArray
    tie: BoolArray


class RiskEngine(ABC):
    """Conditional risk of pairs under a fitted tie model and a loss.

    The methods hold for items with novel ones and with groups, too. The hooks below
    them, which an engine writes, know of neither.

    Attributes
    ----------
    highest : float
        The largest conditional risk that a pair can have.
    loss : ndarray of shape (3, 3)
    """

    highest: float
    loss: FloatArray

    def below(self, risk: float, margin_of: float | None = None) -> Any:
        """Return the region of the pairs whose risk is at most ``risk``.

        With ``margin_of`` those of which the `margins` of this bound are.
        """
        return self.each_below(np.array([risk], dtype=np.float64), margin_of)[0]

    @abstractmethod
    def each_below(self, risks: FloatArray, margin_of: Any = None) -> list[Any]:
        """Return the region below each risk."""

    @abstractmethod
    def surest(self, scores: Scores, rank: int) -> Region:
        """Return the region of the ``rank`` surest pairs.

        Pairs of equal risk are ordered by gap, the surer side first.
        """

    def tally(
        self,
        scores: Scores,
        regions: Sequence[Any] | None = None,
        *,
        weight: FloatArray | None = None,
        every: bool = True,
        outcomes: bool = True,
        margin_of: float | None = None,
    ) -> Tally:
        """Count pairs by query, class and outcome.

        Parameters
        ----------
        scores : Scores
            With relevance.
        regions : sequence of Region, default=None
            A class are pairs that these treat alike. None: pairs of equal risk, of all
            queries together.
        weight : ndarray of shape (n_rows,), default=None
            By row of X; a pair weighs the product of its two.
        every : bool, default=True
            False: pairs of novel items, which are accepted nowhere, may be left out.
        outcomes : bool, default=True
            False: a single row for all queries, without outcomes: the pairs of a class
            are in its first column. That takes O(n).
        margin_of : float, default=None
            Without regions: the `margins` of this bound take the place of the risk.
        """
        here = scores.ascending

        def count(some: Scores) -> Tally:
            if regions is None:
                return self._by_risk(some, margin_of)
            return self._tally(some, regions, weight, outcomes)

        sound = count(here.sound)
        if here.novel is None:
            return sound
        drawn = None if sound.drawn is None else sound.drawn[: here.n_queries]
        sound = replace(sound, counts=sound.counts[: here.n_queries], drawn=drawn)
        # A threshold beyond the highest risk accepts the pairs of novel items, too: on
        # a curve they are the last. No margin does.
        last = [
            float(region.risk > self.highest and region.margin_of is None)
            for region in regions or []
        ]
        if not (every or any(last)) or here.sound.n_pairs == here.n_pairs:
            return sound
        # The classes of all pairs, less those of the sound ones: what novel items add.
        whole = count(here)
        beyond = np.outer(last, np.ones(whole.tie.size + sound.tie.size))
        risk = sound.risk
        if risk is not None:
            highest = np.nextafter(self.highest, np.inf)
            risk = np.append(risk, np.full(beyond.shape[1], highest))
        return replace(
            sound,
            counts=np.concatenate([sound.counts, whole.counts, -sound.counts], axis=1),
            accepted=np.concatenate([sound.accepted, beyond], axis=1),
            tie=np.concatenate([sound.tie, whole.tie, sound.tie]),
            risk=risk,
        )

    def decide(
        self, region: Any, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        """Decide pairs of rows, whose values the tie model compares."""
        equal, margin = pairs.difference == 0, None
        if not isinstance(region, CellRegion):
            made = self._decide(region, values, pairs)
            limit = np.broadcast_to(region.risk, equal.size)
            if region.margin_of is not None and made.proba is not None:
                margin = margins(made.proba, made.label, region.margin_of)
            return replace(made, threshold=limit, margin=margin, equal=equal)
        group: Any = pairs.group
        of_pair = region.of_cell[group[pairs.left], group[pairs.right]]
        # Label, risk and probabilities are those of any region.
        made = self._decide(region.regions[0], values, pairs)
        limit = np.array([each.risk for each in region.regions])[of_pair]
        for k in np.unique(of_pair).tolist():
            at = np.flatnonzero(of_pair == k)
            some = RowPairs(pairs.left[at], pairs.right[at], pairs.difference[at])
            made.accepted[at] = self._decide(region.regions[k], values, some).accepted
        return replace(made, threshold=limit, equal=equal)

    def ranks(self, region: Any, scores: Scores) -> IntArray:
        """Return the best and the worst rank of each item that accepted orders leave.

        Pairs on a randomised boundary do not count as accepted; what follows from the
        orders by transitivity counts.

        Returns
        -------
        bounds : ndarray of shape (n_items, 2), int64
            In the order of the rows of X.
        """
        here = scores.ascending
        rows: Any = here.rows
        if isinstance(region, CellRegion):
            orders = [np.empty((2, 0), np.int64), *self._orders(region, here)]
            winner, loser = rows[np.concatenate(orders, axis=1)]
            return bounds_of_orders(winner, loser, here.queries.codes[np.argsort(rows)])
        bounds = self._ranks(region, here.sound)
        if here.novel is None:
            return bounds
        # A novel item may have any rank, and push every other item down by one.
        sizes = here.queries.sizes
        n_novel = np.add.reduceat(here.novel, here.offsets[:-1], dtype=np.int64)
        size, pushed = np.repeat(sizes, sizes), np.repeat(n_novel, sizes)
        best, worst = bounds[rows].T
        bounds[rows, 0] = np.where(here.novel, 1, best)
        bounds[rows, 1] = np.where(here.novel, size, worst + pushed)
        return bounds

    def graph(self, region: Any, scores: Scores) -> csr_array:
        """Return the accepted orders that do not follow from others.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            Rows and columns are those of X; accepted as in ``ranks``.
        """
        if isinstance(region, CellRegion):
            return self._graph_by_pair(region, scores.ascending)
        return self._graph(region, scores.ascending.sound)

    @abstractmethod
    def _classes(self, regions: Sequence[Any]) -> Classes:
        """Divide all pairs into classes that the regions treat alike."""

    @abstractmethod
    def _count(
        self, classes: Classes, scores: Scores, weight: FloatArray | None
    ) -> FloatArray:
        """Count pairs by outcome, (n_queries, n_classes, 4)."""

    @abstractmethod
    def _mass(self, classes: Classes, scores: Scores) -> FloatArray:
        """Count the pairs of each class, (n_classes,)."""

    @abstractmethod
    def _by_risk(self, scores: Scores, margin_of: float | None) -> Tally:
        """Count the pairs of equal risk, or margin, of all queries together."""

    @abstractmethod
    def _decide(
        self, region: Any, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays: ...

    @abstractmethod
    def _ranks(self, region: Any, scores: Scores) -> IntArray: ...

    def _graph(self, region: Any, scores: Scores) -> csr_array:
        return semiorder_graph(scores, self._ranks(region, scores))

    def _tally(
        self,
        scores: Scores,
        regions: Sequence[Any],
        weight: FloatArray | None,
        outcomes: bool,
    ) -> Tally:
        if isinstance(regions[0], CellRegion):
            how: Any = {"weight": weight, "outcomes": outcomes}
            parts = [
                tally_of(self, cell, scores, [each.at(cell) for each in regions], **how)
                for cell in cells_of(scores, len(regions[0].of_cell))
            ]
            return Tally(
                np.concatenate([part.counts for part in parts], axis=1),
                np.concatenate([part.accepted for part in parts], axis=1),
                np.concatenate([part.tie for part in parts]),
                self.loss,
            )
        classes = self._classes(regions)
        if not outcomes:
            counts = np.zeros((1, classes.tie.size, 4))
            counts[0, :, 0] = self._mass(classes, scores)
            return Tally(counts, classes.accepted, classes.tie, self.loss)
        drawn = None
        if regions[0].draws and scores.key is not None:
            drawn = self._settle_draws(regions[0], scores, weight)
        counts = self._count(classes, scores, weight)
        return Tally(counts, *classes[1:], self.loss, drawn=drawn)

    def _settle_draws(
        self, region: Any, scores: Scores, weight: FloatArray | None
    ) -> FloatArray:
        """Count the pairs that are drawn and accepted, by query, label and outcome.

        Returns
        -------
        drawn : ndarray of shape (n_queries, 2, 4), float64
            Called an order, or a tie.

        Notes
        -----
        O(n_pairs log n) time; forms a block of pairs at a time.
        """
        always, sums = replace(region, kappa=0.0), np.zeros(8 * scores.n_queries)
        every = NumberedPairs.every(scores.offsets)
        for numbers in every.in_blocks(every.n_pairs):
            high, low = every.decode(numbers)
            pairs = RowPairs.of(scores.value, high, low, scores.key)
            made = self._decide(region, scores.value, pairs)
            # Pairs that are always accepted are counted elsewhere.
            fixed = self._decide(always, scores.value, pairs).accepted
            kept = made.accepted & ~fixed
            low, high, tie = low[kept], high[kept], made.label[kept] == 0
            outcome = 1 - np.sign(scores.grades[high] - scores.grades[low])
            entry = (scores.query_of(low) * 2 + tie) * 4 + outcome
            # One by one: the blocks of a query must not change the last bit.
            np.add.at(sums, entry, scores.weight_of(low, high, weight))
        return sums.reshape(-1, 2, 4)

    def _graph_by_pair(self, region: Any, scores: Scores) -> csr_array:
        from skrank_abstain._kernels.closing import close_orders

        entries = [np.empty((2, 0), dtype=np.int64)]
        each = zip(self._orders(region, scores), pairwise(scores.offsets), strict=True)
        for orders, (start, stop) in each:
            winner, loser = orders - start
            over = close_orders(winner, loser, int(stop - start)).astype(np.float32)
            # What follows through a third item is left out.
            direct = np.stack(np.nonzero((over > 0) & (over @ over == 0)))
            entries.append(direct + start)
        rows: Any = scores.rows
        higher, lower = rows[np.concatenate(entries, axis=1)]
        check_graph_size(higher.size)
        ones, n_items = np.ones(higher.size, dtype=bool), rows.size
        return csr_array((ones, (higher, lower)), shape=(n_items, n_items))

    def _orders(self, region: Any, scores: Scores) -> Iterator[IntArray]:
        """Yield winners and losers of the accepted orders, query by query."""
        most = int(scores.pair_counts.max(initial=0))
        check_output_size(most, _BYTES, remedy=PAIRS_OF_ONE_QUERY)
        for start, stop in pairwise(scores.offsets):
            both = start + np.stack(np.triu_indices(int(stop - start), 1))
            pairs = RowPairs.of(scores.value, *both, None, scores.group)
            made = self.decide(region, scores.value, pairs)
            ordered = np.where(made.label > 0, both, both[::-1])
            yield ordered[:, made.accepted & (made.label != 0)]


def tally_of(
    engine: RiskEngine,
    cell: Cell,
    scores: Scores,
    regions: Sequence[Any],
    **options: Any,
) -> Tally:
    """Count the pairs of two groups of items, decided by their own regions.

    Those of both groups together less those within each: no pair is formed.
    """
    here = scores.ascending
    both = engine.tally(here.of_groups(*{*cell}), regions, **options)
    counts = both.counts[: here.n_queries]
    for each in cell if len({*cell}) == 2 else ():
        within = engine.tally(here.of_groups(each), regions, **options)
        counts = counts - within.counts[: here.n_queries]
    return replace(both, counts=counts)


def margins(proba: FloatArray, label: Any, max_risk: float) -> FloatArray:
    """Return by how much pairs break a bound on the discordance, as expected.

    Parameters
    ----------
    proba : ndarray of shape (..., 3), float64
        Probabilities of the labels -1, 0, +1.
    label : int or ndarray of shape (...), int64
        Answers.
    max_risk : float

    Returns
    -------
    margins : ndarray of shape (...), float64
        p - max_risk d, p the probability that the order is wrong (a tie is half wrong
        about a pair that differs) and d the probability that the pair differs.
    """
    lower, higher = proba[..., 0], proba[..., 2]
    differs = lower + higher
    wrong = np.where(label == 0, differs / 2, np.where(label > 0, lower, higher))
    return np.asarray(wrong - max_risk * differs)


def at_thresholds(
    engine: RiskEngine,
    scores: Scores,
    thresholds: FloatArray,
    margin_of: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Add up accepted pairs and their loss, by query and threshold on the risk.

    With ``margin_of``, thresholds are on the `margins` of this bound, and what is added
    up are accepted pairs of different relevance, and those in the wrong order, a called
    tie counting one half.

    Returns
    -------
    accepted : ndarray of shape (n_queries, n_thresholds), float64
        Pairs with at most each risk.
    cost : ndarray of shape (n_queries, n_thresholds), float64
        Sum of the losses of their predictions; for the zero-one loss the errors.
    """
    regions = engine.each_below(thresholds, margin_of)

    def count(some: Scores) -> tuple[FloatArray, ...]:
        tally = engine.tally(some, regions, every=False)
        return tally.at_regions(discordance=margin_of is not None)

    most = max(1, _COUNTS // max(thresholds.size, 1))
    accepted, cost = by_query(scores.ascending, count, most)
    return accepted, cost


def decide_queries(
    engine: Decides, region: Any, items: Scores, start: int = 0, stop: int | None = None
) -> PairDecisions:
    """Decide all pairs of the queries ``start`` to ``stop`` (exclusive).

    Parameters
    ----------
    engine : RiskEngine
    region : object
        What it accepts.
    items : Scores
        With keys for a region on whose boundary is drawn, and with groups for a region
        by groups.
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    decisions : PairDecisions
        In canonical order.

    Raises
    ------
    ValueError
        If the result would need more than half of the memory that is available.

    Notes
    -----
    Serial, O(n_pairs); every pair is written once, straight into the result.
    """
    from skrank_abstain._kernels.filling import fill_pairs

    queries = items.queries
    stop = queries.n_queries if stop is None else stop
    counts = queries.pair_counts[start:stop]
    # Before anything is allocated: a refusal must cost nothing.
    check_output_size(
        int(counts.sum()),
        BYTES_PER_PAIR + queries.values.itemsize,
        remedy=ALL_PAIRS if np.count_nonzero(counts) > 1 else PAIRS_OF_ONE_QUERY,
    )
    filled = fill_pairs(items.value, queries.order, queries.offsets, start, stop)
    pairs = RowPairs(*filled, items.key, items.group)
    qid = np.repeat(queries.values[start:stop], counts)
    made = engine.decide(region, items.value, pairs)
    return PairDecisions(pairs.left, pairs.right, qid, **vars(made))


def decide_pairs(
    engine: Decides, region: Any, items: Scores, left: IntArray, right: IntArray
) -> PairDecisions:
    """Decide the given pairs of rows; parameters as in ``decide_queries``."""
    qid = items.queries.values[items.queries.codes[left]]
    pairs = RowPairs.of(items.value, left, right, items.key, items.group)
    made = engine.decide(region, items.value, pairs)
    return PairDecisions(left, right, qid, **vars(made))


def draw_boundary(weight: FloatArray, seed: int, pairs: RowPairs) -> BoolArray:
    """Accept pairs with their probabilities.

    Parameters
    ----------
    weight : ndarray of shape (n_pairs,), float64
        Probability of acceptance; most are 0 or 1.
    seed : int
    pairs : RowPairs

    Returns
    -------
    accepted : ndarray of shape (n_pairs,), bool
        The fate of a pair depends on the seed and on its two rows alone, not on order,
        batch or orientation: the draws are hashes, not a stream of numbers.
    """
    accepted: BoolArray = weight == 1
    drawn = np.flatnonzero((weight > 0) & (weight < 1))
    if drawn.size:
        if pairs.keys is None:
            raise ValueError("keys must be given where pairs are drawn, got None.")
        left, right = pairs.keys[pairs.left[drawn]], pairs.keys[pairs.right[drawn]]
        accepted[drawn] = unordered_uniform(seed, left, right) < weight[drawn]
    return accepted


def unordered_uniform(
    seed: int, left: NDArray[np.uint64], right: NDArray[np.uint64]
) -> FloatArray:
    """Return one number in [0, 1) per pair, the same for both orientations.

    Uniform over pairs of distinct keys, of shape (n_pairs,): the seed, the smaller and
    the larger key are mixed one after the other.
    """
    # One draw for both orientations: a symmetric loss makes the optimal rule decide (x,
    # x') and (x', x) alike, and two draws would not.
    state = mix(np.full(left.shape, seed, dtype=np.uint64))
    state = mix(state ^ np.minimum(left, right))
    state = mix(state ^ np.maximum(left, right))
    # 53 bits, which a float64 in [0, 1) holds exactly.
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
