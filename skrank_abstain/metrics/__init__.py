"""Metrics of pair decisions on arrays; scorers of rankers."""

# The other rooms import the areas, find_ranker and undefined, too.
from skrank_abstain.metrics._compare import compare
from skrank_abstain.metrics._curves import (
    area_of_prefixes,
    augrc_loss,
    aurc_loss,
    risk_coverage_curve,
)
from skrank_abstain.metrics._scorers import (
    RankerScorer,
    accuracy_at_coverage,
    coverage_at_risk,
    find_ranker,
    neg_aurc_scorer,
    selective_accuracy_scorer,
    selective_auc_scorer,
    selective_utility,
)
from skrank_abstain.metrics._scores import (
    Estimate,
    class_acceptance,
    correctness_completeness_score,
    coverage_score,
    pairwise_brier_loss,
    pairwise_log_loss,
    selective_accuracy_score,
    selective_auc_score,
    undefined,
)

__all__ = [
    "selective_accuracy_score",
    "selective_auc_score",
    "coverage_score",
    "class_acceptance",
    "correctness_completeness_score",
    "risk_coverage_curve",
    "aurc_loss",
    "augrc_loss",
    "pairwise_log_loss",
    "pairwise_brier_loss",
    "Estimate",
    "compare",
    "RankerScorer",
    "selective_accuracy_scorer",
    "selective_auc_scorer",
    "neg_aurc_scorer",
    "accuracy_at_coverage",
    "coverage_at_risk",
    "selective_utility",
]
