"""From the risks of the calibration pairs to a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank_abstain.selection._base import PairRisk
from skrank_abstain.selection._difference import DifferenceRisk
from skrank_abstain.selection._quantile import order_statistic_rank


@dataclass(frozen=True)
class Calibration:
    """Calibration pairs, and the risks that they had.

    Attributes
    ----------
    risk : PairRisk
        Decides new pairs.
    parts : tuple of (PairRisk, PairDistances or ScoredItems)
        The calibration pairs, each part with the risk that judged it: ``risk`` itself
        for models of one or two parameters, and for others one that was fitted
        without the queries of the part.
    """

    risk: PairRisk
    parts: tuple[tuple[PairRisk, Any], ...]

    @property
    def n_pairs(self) -> int:
        """Number of calibration pairs."""
        return sum(items.n_pairs for _, items in self.parts)

    def select_coverage(
        self,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> Any:
        """Return the region of the pairs up to the coverage quantile of the risks.

        Parameters
        ----------
        coverage : float
            Target share of accepted pairs, in (0, 1]. 1 accepts every pair, also those
            riskier than any calibration pair.
        quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
            The order statistic of rank ``ceil(coverage * n_pairs)``, or numpy's linear
            interpolation between two.
        boundary : {"accept", "randomize"}, default="accept"
            Whether pairs on the threshold are all accepted, or each with the
            probability that makes the calibration coverage exact. The same for
            cross-fitted risks, where no new pair lies on the threshold.
        seed : int, default=0
            For ``boundary="randomize"``.

        Returns
        -------
        region : Region
        """
        (risk, items), *rest = self.parts
        if isinstance(risk, DifferenceRisk) and risk is self.risk and not rest:
            return risk.select_coverage(
                items, coverage, quantile=quantile, boundary=boundary, seed=seed
            )
        if coverage == 1:
            return self.risk.select_risk(self.risk.highest)
        if quantile == "inverted_cdf":
            rank = order_statistic_rank(coverage, self.n_pairs)
            return self.risk.select_risk(self._order_statistic(rank))
        place = coverage * (self.n_pairs - 1)
        ranks = sorted({int(np.floor(place)) + 1, int(np.ceil(place)) + 1})
        found = [self._order_statistic(rank) for rank in ranks]
        threshold = float(np.quantile(found, place - np.floor(place)))
        return self.risk.select_risk(threshold)

    def coverage(self, region: Any) -> float:
        """Return the share of the calibration pairs that are accepted."""
        if self.parts[0][0] is self.risk:
            return self.risk.accepted_mass(region, self.parts[0][1]) / self.n_pairs
        accepted = sum(risk.counter(items)(region.risk) for risk, items in self.parts)
        return accepted / self.n_pairs

    def _order_statistic(self, rank: int) -> float:
        """Return the smallest float with at least ``rank`` pairs at or below it.

        Non-negative floats have the order of their bit patterns: bisection over these
        ends after at most 63 counts.
        """
        counters = [risk.counter(items) for risk, items in self.parts]
        top = max(risk.highest for risk, _ in self.parts)
        low, high = -1, int(np.float64(top).view(np.int64))
        while high - low > 1:
            middle = (low + high) // 2
            value = float(np.int64(middle).view(np.float64))
            if sum(count(value) for count in counters) >= rank:
                high = middle
            else:
                low = middle
        return float(np.int64(high).view(np.float64))
