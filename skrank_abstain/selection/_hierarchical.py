"""A coverage that holds for any number of calibration queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.concentration import hierarchical_quantile_search
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._base import PairRisk


def select_hierarchical(risk: PairRisk, items: ScoredItems, coverage: float) -> Any:
    """Accept the pairs up to the hierarchical conformal quantile of the risk.

    Parameters
    ----------
    risk : PairRisk
        Fitted without the queries of ``items``.
    items : ScoredItems
        Calibration queries, each with at least one pair.
    coverage : float
        In (0, 1]; 1 accepts every pair.

    Returns
    -------
    region : Region
        Accepts every pair where there are too few queries for the coverage.

    Notes
    -----
    See ``concentration.hierarchical_quantile``. Some 60 counting passes, O(n) each.
    """
    if coverage == 1:
        return risk.select_risk(risk.highest)
    pairs = items.pair_counts

    def shares(threshold: float) -> FloatArray:
        accepted, _ = risk.at_thresholds(items, np.array([threshold]))
        share: FloatArray = accepted[:, 0] / pairs
        return share

    found = hierarchical_quantile_search(shares, coverage, highest=risk.highest)
    return risk.select_risk(min(found, risk.highest))
