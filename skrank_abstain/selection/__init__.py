"""Selection: from conditional risk to a threshold, and from it to acceptance."""

from skrank_abstain.selection._base import (
    Decided,
    PairJudge,
    PairRisk,
    PairTotals,
    Region,
    RiskProfile,
)
from skrank_abstain.selection._bin_risk import BinRegion, BinRisk
from skrank_abstain.selection._decide import decide_pairs, decide_queries
from skrank_abstain.selection._fitting import calibrate, pair_risk
from skrank_abstain.selection._gap_curve import GapRegion, RiskCurve
from skrank_abstain.selection._gap_risk import GapRisk
from skrank_abstain.selection._hierarchical import select_hierarchical
from skrank_abstain.selection._quantile import order_statistic_rank
from skrank_abstain.selection._rules import (
    accepted_mass,
    select_coverage,
    select_risk,
)

__all__ = [
    "PairJudge",
    "PairRisk",
    "PairTotals",
    "RiskProfile",
    "Region",
    "calibrate",
    "pair_risk",
    "GapRisk",
    "BinRisk",
    "BinRegion",
    "RiskCurve",
    "GapRegion",
    "select_coverage",
    "select_risk",
    "select_hierarchical",
    "accepted_mass",
    "decide_queries",
    "decide_pairs",
    "order_statistic_rank",
]
