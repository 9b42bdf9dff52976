"""Abstain on all pairs with a novel item, whatever their risk."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import FloatArray, IntArray, check_fraction
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._engine import (
    DecisionArrays,
    RegionT,
    RiskEngine,
    RowPairs,
)
from skrank_abstain.selection._totals import PairTotals, RiskProfile

#: Totals over all pairs, decided or not.
_OF_ALL = ("pairs", "correct_all", "tied", "loss_all")


class SoundPairs(RiskEngine[RegionT]):
    """Accept no pair with a novel item; another engine decides the sound pairs.

    That engine gets the items with the novel ones in queries of their own, where they
    have no pairs. Shares are of all pairs.

    Parameters
    ----------
    engine : RiskEngine
        The engine of the sound pairs.
    """

    def __init__(self, engine: RiskEngine[RegionT]) -> None:
        self._engine = engine
        self.highest = engine.highest

    def select_risk(self, risk: float) -> RegionT:
        return self._engine.select_risk(risk)

    def up_to_rank(self, items: ScoredItems, rank: int) -> Callable[..., RegionT]:
        return self._engine.up_to_rank(items.without_novel_pairs, rank)

    def select_coverage(
        self, items: ScoredItems, coverage: float, **options: Any
    ) -> RegionT:
        check_fraction(coverage, "coverage", include_one=True)
        sound, most = items.without_novel_pairs, self.largest_coverage(items)
        # Rounding in the division must not refuse a coverage that can be reached.
        if most == 0 or coverage > most * (1 + 1e-12):
            # Rounded down, so that the coverage in the message can be reached.
            most = math.floor(most * 1e4) / 1e4
            raise ValueError(
                f"coverage must be lower, got {coverage:g}: it is a share of all "
                f"pairs, and {items.n_pairs - sound.n_pairs} of {items.n_pairs} "
                "calibration pairs have a novel item and are abstained on. Ask for at "
                f"most {most:g}, or pass a lower novelty_level."
            )
        share = min(coverage * items.n_pairs / sound.n_pairs, 1.0)
        return self._engine.select_coverage(sound, share, **options)

    def largest_coverage(self, items: ScoredItems) -> float:
        return float(items.without_novel_pairs.n_pairs / items.n_pairs)

    def accepted_mass(
        self, region: RegionT, items: ScoredItems, *, ties_only: bool = False
    ) -> float:
        sound = items.without_novel_pairs
        return self._engine.accepted_mass(region, sound, ties_only=ties_only)

    def decide(
        self, region: RegionT, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        # Which rows are novel is known where the decisions are put together.
        return self._engine.decide(region, values, pairs)

    def totals(
        self, region: RegionT, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        every = self._engine.totals(region, items, weight)
        sound = self._engine.totals(region, items.without_novel_pairs, weight)
        names = [each.name for each in fields(sound) if each.name not in _OF_ALL]
        return replace(
            every, **{name: getattr(sound, name)[: items.n_queries] for name in names}
        )

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        found = self._engine.at_thresholds(items.without_novel_pairs, thresholds)
        accepted, cost = (each[: items.n_queries] for each in found)
        last = thresholds > self.highest
        if last.any():
            every = self._engine.at_thresholds(items, thresholds[last])
            accepted[:, last], cost[:, last] = every
        return accepted, cost

    def profile(self, items: ScoredItems) -> RiskProfile:
        sound = self._engine.profile(items.without_novel_pairs)
        every = self._engine.profile(items)
        if every.n_pairs.sum() == sound.n_pairs.sum():
            return sound

        def with_novel(name: str) -> FloatArray:
            known = getattr(sound, name)
            return np.append(known, getattr(every, name).sum() - known.sum())

        # Riskier than all others: on a curve they are the last that would be decided.
        last = np.nextafter(self.highest, np.inf)
        sums = {each.name: with_novel(each.name) for each in fields(sound)[1:]}
        return RiskProfile(np.append(sound.risk, last), **sums)

    def rank_bounds(self, region: RegionT, items: ScoredItems) -> IntArray:
        bounds = self._engine.rank_bounds(region, items.without_novel_pairs)
        if items.novel is None:
            return bounds
        # A novel item may have any rank, and push every other item down by one.
        sizes = np.diff(items.offsets)
        n_novel = np.add.reduceat(items.novel, items.offsets[:-1], dtype=np.int64)
        size, pushed = np.repeat(sizes, sizes), np.repeat(n_novel, sizes)
        best, worst = bounds[items.rows].T
        bounds[items.rows, 0] = np.where(items.novel, 1, best)
        bounds[items.rows, 1] = np.where(items.novel, size, worst + pushed)
        return bounds

    def preference_graph(self, region: RegionT, items: ScoredItems) -> csr_array:
        return self._engine.preference_graph(region, items.without_novel_pairs)
