"""The risk of pairs where those with a novel item are abstained on, whatever it is."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import FloatArray, IntArray, check_fraction
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._decision import Decided
from skrank_abstain.selection._pair_risk import PairRisk
from skrank_abstain.selection._totals import PairTotals, RiskProfile

#: What is added up over all pairs, decided or not.
_OF_ALL = ("pairs", "correct_all", "tied")


class SoundPairs(PairRisk):
    """Conditional risk of the pairs of sound items; others are accepted by no region.

    To every question the engine gets the items with the novel ones in queries of their
    own, where they have no pairs. Shares are of all pairs.

    Parameters
    ----------
    risk : PairRisk
        The engine.
    """

    def __init__(self, risk: PairRisk) -> None:
        self._risk = risk
        self.highest = risk.highest

    def select_risk(self, risk: float) -> Any:
        return self._risk.select_risk(risk)

    def select_coverage(
        self,
        items: ScoredItems,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> Any:
        check_fraction(coverage, "coverage", include_one=True)
        sound = items.isolated
        self.check_reach(items, coverage, coverage)
        return self._risk.select_coverage(
            sound,
            min(coverage * items.n_pairs / sound.n_pairs, 1.0),
            quantile=quantile,
            boundary=boundary,
            seed=seed,
        )

    def check_reach(self, items: Any, coverage: float, asked: float) -> None:
        n_pairs, n_sound = items.n_pairs, items.isolated.n_pairs
        # Rounding of what is divided next must not refuse it.
        if n_sound == 0 or coverage * n_pairs > n_sound * (1 + 1e-12):
            raise ValueError(
                f"coverage must be lower, got {asked:g}: it is a share of all pairs, "
                f"and {n_pairs - n_sound} of {n_pairs} calibration pairs have a novel "
                f"item and are abstained on, so that {n_sound / n_pairs:.4g} is the "
                "most. Ask for less, or pass a lower novelty_level."
            )

    def accepted_mass(self, region: Any, items: ScoredItems) -> float:
        return self._risk.accepted_mass(region, items.isolated)

    def accepted_tie_mass(self, region: Any, items: ScoredItems) -> float:
        return self._risk.accepted_tie_mass(region, items.isolated)

    def decide(
        self,
        region: Any,
        values: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> Decided:
        # Which rows are novel is known where the decisions are put together.
        return self._risk.decide(region, values, left, right, difference)

    def totals(
        self, region: Any, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        every = self._risk.totals(region, items, weight)
        sound = self._risk.totals(region, items.isolated, weight)
        names = [each.name for each in fields(sound) if each.name not in _OF_ALL]
        return replace(
            every, **{name: getattr(sound, name)[: items.n_queries] for name in names}
        )

    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        accepted, cost = self._risk.at_thresholds(items.isolated, thresholds)
        return accepted[: items.n_queries], cost[: items.n_queries]

    def profile(self, items: ScoredItems) -> RiskProfile:
        return self._risk.profile(items.isolated)

    def rank_bounds(self, region: Any, items: ScoredItems) -> IntArray:
        bounds = self._risk.rank_bounds(region, items.isolated)
        if items.novel is None:
            return bounds
        # A novel item may stand anywhere, and so push every other one down by one.
        sizes = np.diff(items.offsets)
        n_novel = np.add.reduceat(items.novel, items.offsets[:-1], dtype=np.int64)
        size, pushed = np.repeat(sizes, sizes), np.repeat(n_novel, sizes)
        best, worst = bounds[items.rows].T
        bounds[items.rows, 0] = np.where(items.novel, 1, best)
        bounds[items.rows, 1] = np.where(items.novel, size, worst + pushed)
        return bounds

    def preference_graph(self, region: Any, items: ScoredItems) -> csr_array:
        return self._risk.preference_graph(region, items.isolated)
