"""One threshold for each two groups of items, so that none is decided less often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray, rounded_share
from skrank_abstain.pairs import PAIRS_OF_ONE_QUERY, ScoredItems, check_output_size
from skrank_abstain.selection._engine import (
    DecisionArrays,
    Region,
    RiskEngine,
    RowPairs,
)
from skrank_abstain.selection._totals import PairTotals, RiskProfile

#: Cells with pairs in fewer calibration queries get the threshold of all pairs.
FEWEST_QUERIES = 30
#: Bytes of a pair whose decision is made for the ranks of its items.
_BYTES = 100


class Cell(NamedTuple):
    """The pairs of two groups of items.

    Attributes
    ----------
    one, other : int
        Numbers of the groups; the same for pairs within one.
    n_queries : int
        Queries with such pairs.
    """

    one: int
    other: int
    n_queries: int


@dataclass(frozen=True, eq=False)
class CellRegion(Value):
    """A region for each two groups of items.

    Attributes
    ----------
    risk : float
        The highest threshold on the conditional risk.
    regions : tuple of Region
    of_cell : ndarray of shape (n_groups, n_groups), int64
        Number of the region of each two groups.
    """

    risk: float
    regions: tuple[Region, ...]
    of_cell: IntArray

    def to_plain(self) -> dict[str, Any]:
        plain = {f"region{k}": region for k, region in enumerate(self.regions)}
        return {"of_cell": self.of_cell, **plain}

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        of_cell = plain.pop("of_cell")
        return cls.of([plain[f"region{k}"] for k in range(len(plain))], of_cell)

    @classmethod
    def of(cls, regions: list[Region], of_cell: IntArray) -> Self:
        """Put regions together."""
        return cls(max(each.risk for each in regions), tuple(regions), of_cell)

    def at(self, cell: Cell) -> Region:
        """Return the region of a cell."""
        return self.regions[int(self.of_cell[cell.one, cell.other])]


class CellEngine(RiskEngine[CellRegion]):
    """Accept pairs by the groups of their items; another engine knows the risks.

    What it counts of two groups is what it counts of both together less what it counts
    of each: no pair is formed.

    Parameters
    ----------
    engine : RiskEngine
    n_groups : int

    Notes
    -----
    n_groups (n_groups + 1) / 2 passes of the other engine over all items.
    """

    def __init__(self, engine: RiskEngine[Any], n_groups: int) -> None:
        self._engine = engine
        self._n_groups = n_groups
        self.highest = engine.highest

    def select_risk(self, risk: float) -> CellRegion:
        return self._everywhere(self._engine.select_risk(risk))

    def up_to_rank(self, items: ScoredItems, rank: int) -> Callable[..., CellRegion]:
        region = self._engine.up_to_rank(items, rank)
        return lambda **boundary: self._everywhere(region(**boundary))

    def _everywhere(self, region: Region) -> CellRegion:
        return CellRegion.of([region], np.zeros((self._n_groups,) * 2, dtype=np.int64))

    def select_coverage(
        self, items: ScoredItems, coverage: float, **options: Any
    ) -> CellRegion:
        pooled = self._engine.select_coverage(items, coverage, **options)
        everywhere = self._everywhere(pooled)
        if coverage == 1:
            return everywhere
        regions, of_cell = [pooled], everywhere.of_cell
        for cell in self.cells(items):
            if cell.n_queries >= FEWEST_QUERIES:
                of_cell[cell.one, cell.other] = len(regions)
                of_cell[cell.other, cell.one] = len(regions)
                regions.append(self._select(items, cell, coverage))
        return CellRegion.of(regions, of_cell)

    def _select(self, items: ScoredItems, cell: Cell, coverage: float) -> Region:
        """Return the smallest region of a risk that accepts the coverage of a cell."""

        def accepted(region: Region) -> float:
            return self._mass_of(cell, items, region)

        # Where nothing is below the risk 0, all of it may be wanted.
        low, high = -1.0, self._engine.highest
        region: Region = self._engine.select_risk(high)
        wanted = rounded_share(coverage, round(accepted(region)))
        # Halving ends where the two are neighbours, or the count is met to the pair.
        while low < (middle := (low + high) / 2) < high:
            tried = self._engine.select_risk(middle)
            found = accepted(tried)
            if found < wanted:
                low = middle
                continue
            high, region = middle, tried
            if found == wanted:
                break
        return region

    def cells(self, items: ScoredItems) -> Iterator[Cell]:
        """Yield each two groups with the number of queries that have such pairs."""
        counts = self.item_counts(items)
        for one, other in combinations_with_replacement(range(self._n_groups), 2):
            both = np.minimum(counts[:, one], counts[:, other]) > (one == other)
            yield Cell(one, other, int(both.sum()))

    def item_counts(self, items: ScoredItems) -> IntArray:
        """Return the items of each group in each query, (n_queries, n_groups)."""
        query = np.repeat(np.arange(items.n_queries), np.diff(items.offsets))
        key = query * self._n_groups + items.known_groups
        counts = np.bincount(key, minlength=items.n_queries * self._n_groups)
        return counts.reshape(items.n_queries, self._n_groups)

    def _mass_of(
        self, cell: Cell, items: ScoredItems, region: Region, **options: Any
    ) -> float:
        return sum(
            sign * self._engine.accepted_mass(region, part, **options)
            for sign, part in _parts(items, cell)
        )

    def accepted_mass(
        self, region: CellRegion, items: ScoredItems, *, ties_only: bool = False
    ) -> float:
        return sum(
            self._mass_of(cell, items, region.at(cell), ties_only=ties_only)
            for cell in self.cells(items)
        )

    def decide(
        self, region: CellRegion, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        group: Any = pairs.group
        of_pair = region.of_cell[group[pairs.left], group[pairs.right]]
        # Label, risk and probabilities are those of any region.
        made = self._engine.decide(region.regions[0], values, pairs)
        for k in np.unique(of_pair).tolist():
            at = np.flatnonzero(of_pair == k)
            some = RowPairs(pairs.left[at], pairs.right[at], pairs.difference[at])
            decided = self._engine.decide(region.regions[k], values, some)
            made.accepted[at] = decided.accepted
        return made

    def totals(
        self, region: CellRegion, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        found = [
            self.totals_of(cell, region, items, weight) for cell in self.cells(items)
        ]
        return _combined((1, each) for each in found)

    def totals_of(
        self,
        cell: Cell,
        region: CellRegion,
        items: ScoredItems,
        weight: FloatArray | None = None,
    ) -> PairTotals:
        """Add up what happens to the pairs of a cell."""
        own, n_queries = region.at(cell), items.n_queries
        return _combined(
            (sign, self._engine.totals(own, part, weight).of_queries(slice(n_queries)))
            for sign, part in _parts(items, cell)
        )

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._engine.at_thresholds(items, thresholds)

    def profile(self, items: ScoredItems) -> RiskProfile:
        return self._engine.profile(items)

    def rank_bounds(self, region: CellRegion, items: ScoredItems) -> IntArray:
        from skrank_abstain._kernels.closing import ranks_of_orders

        orders = [*self._orders(region, items)]
        counts = [winner.size for winner, _ in orders]
        winner, loser = (
            np.concatenate([np.empty(0, np.int64), *each])
            for each in zip(*orders, strict=True)
        )
        starts = np.append(0, np.cumsum(counts))
        bounds = np.empty((items.rows.size, 2), dtype=np.int64)
        bounds[items.rows] = ranks_of_orders(winner, loser, starts, items.offsets)
        return bounds

    def preference_graph(self, region: CellRegion, items: ScoredItems) -> csr_array:
        from skrank_abstain._kernels.closing import close_orders

        entries = [np.empty((2, 0), dtype=np.int64)]
        for start, stop, (winner, loser) in zip(
            items.offsets, items.offsets[1:], self._orders(region, items), strict=False
        ):
            over = close_orders(winner, loser, int(stop - start)).astype(np.float32)
            # What follows through a third item is left out.
            entries.append(
                np.stack(np.nonzero((over > 0) & (over @ over == 0))) + start
            )
        higher, lower = items.rows[np.concatenate(entries, axis=1)]
        ones, n_items = np.ones(higher.size, dtype=bool), items.rows.size
        return csr_array((ones, (higher, lower)), shape=(n_items, n_items))

    def _orders(
        self, region: CellRegion, items: ScoredItems
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the accepted orders of each query as positions within it."""
        most = int(items.pair_counts.max(initial=0))
        check_output_size(most, _BYTES, remedy=PAIRS_OF_ONE_QUERY)
        for start, stop in zip(items.offsets, items.offsets[1:], strict=False):
            one, other = np.triu_indices(int(stop - start), 1)
            values, group = items.values[start:stop], items.known_groups[start:stop]
            pairs = RowPairs.of(values, one, other, group=group)
            made = self.decide(region, values, pairs)
            ordered = made.accepted & (made.label != 0)
            first = made.label > 0
            winner, loser = np.where(first, one, other), np.where(first, other, one)
            yield winner[ordered], loser[ordered]


def _parts(items: ScoredItems, cell: Cell) -> list[tuple[int, ScoredItems]]:
    """Return items whose pairs, with these signs, are the pairs of a cell."""
    one, other, _ = cell
    if one == other:
        return [(1, items.of_groups(one))]
    apart = [(-1, items.of_groups(each)) for each in (one, other)]
    return [(1, items.of_groups(one, other)), *apart]


def _combined(signed: Any) -> PairTotals:
    """Add up totals with their signs."""
    parts = [*signed]
    sums: dict[str, Any] = {
        field.name: sum(sign * getattr(each, field.name) for sign, each in parts)
        for field in fields(PairTotals)
    }
    return PairTotals(**sums)
