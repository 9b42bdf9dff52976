"""The risk of pairs where those with a novel item are abstained on, whatever it is."""

from __future__ import annotations

import math
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
        sound, reach = items.isolated, self.reach(items)
        # Rounding of what is divided next must not refuse it.
        if reach == 0 or coverage > reach * (1 + 1e-12):
            # Rounded down: what the message says can be asked for.
            most = math.floor(reach * 1e4) / 1e4
            raise ValueError(
                f"coverage must be lower, got {coverage:g}: it is a share of all "
                f"pairs, and {items.n_pairs - sound.n_pairs} of {items.n_pairs} "
                "calibration pairs have a novel item and are abstained on. Ask for at "
                f"most {most:g}, or pass a lower novelty_level."
            )
        return self._risk.select_coverage(
            sound,
            min(coverage * items.n_pairs / sound.n_pairs, 1.0),
            quantile=quantile,
            boundary=boundary,
            seed=seed,
        )

    def reach(self, items: Any) -> float:
        return float(items.isolated.n_pairs / items.n_pairs)

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
        found = self._risk.at_thresholds(items.isolated, thresholds)
        accepted, cost = (each[: items.n_queries] for each in found)
        last = thresholds > self.highest
        if last.any():
            every = self._risk.at_thresholds(items, thresholds[last])
            accepted[:, last], cost[:, last] = every
        return accepted, cost

    def profile(self, items: ScoredItems) -> RiskProfile:
        sound, every = (self._risk.profile(each) for each in (items.isolated, items))
        n_novel, n_correct = (
            getattr(every, name).sum() - getattr(sound, name).sum()
            for name in ("n_pairs", "n_correct")
        )
        if n_novel == 0:
            return sound
        # Riskier than all others: on a curve they are the last that would be decided.
        return RiskProfile(
            np.append(sound.risk, np.nextafter(self.highest, np.inf)),
            np.append(sound.n_pairs, n_novel),
            np.append(sound.n_correct, n_correct),
        )

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
