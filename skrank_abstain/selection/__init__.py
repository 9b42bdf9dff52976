"""Selection: from conditional risk to a threshold, and from it to acceptance.

A rule is a frozen value; what it selects is a region of pairs that are accepted.
"""

from skrank_abstain.selection._calibration import (
    Bound,
    Calibration,
    Groups,
    Rule,
    RuleText,
    check_largest_query,
    check_rule,
    fit_calibration,
    fit_values,
    risk_engine,
    totals_by_better,
    totals_by_group,
    warn_of_coin,
)
from skrank_abstain.selection._engine import (
    Decides,
    DecisionArrays,
    Region,
    RiskEngine,
    RowPairs,
    at_thresholds,
    cells_of,
    decide_pairs,
    decide_queries,
    margins,
)
from skrank_abstain.selection._gaps import GapRegion
from skrank_abstain.selection._places import (
    confident_places,
    first_place_results,
    own_places,
    place_results,
    place_shares,
    queries_for,
    true_places,
)
from skrank_abstain.selection._rules import (
    CertifiedRisk,
    Coverage,
    GuaranteedCoverage,
    Price,
)
from skrank_abstain.selection._tally import (
    OperatingPoint,
    OperatingPoints,
    PairTotals,
    RiskProfile,
    Tally,
    parts_of,
)

__all__ = [
    "Coverage",
    "GuaranteedCoverage",
    "Price",
    "CertifiedRisk",
    "Rule",
    "RuleText",
    "Calibration",
    "PairTotals",
    "RiskProfile",
]
