"""Metrics of pair decisions and of label rankings, on arrays; scorers of rankers."""

from skrank_abstain.metrics._auc import selective_auc_score
from skrank_abstain.metrics._correctness import correctness_completeness_score
from skrank_abstain.metrics._curves import (
    augrc_loss,
    aurc_loss,
    excess_aurc_loss,
    risk_coverage_curve,
)
from skrank_abstain.metrics._intervals import Estimate
from skrank_abstain.metrics._misranking import (
    bipartite_abstention_loss,
    bipartite_misranking_loss,
    pairwise_abstention_loss,
    pairwise_misranking_loss,
)
from skrank_abstain.metrics._multilabel_binary import (
    multilabel_auc_loss,
    multilabel_auc_score,
    multilabel_average_precision_loss,
    multilabel_average_precision_score,
    multilabel_reciprocal_rank_loss,
    multilabel_reciprocal_rank_score,
)
from skrank_abstain.metrics._multilabel_checks import label_ranks
from skrank_abstain.metrics._multilabel_graded import (
    multilabel_dcg_loss,
    multilabel_dcg_score,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_precision_score,
    multilabel_sum_loss,
)
from skrank_abstain.metrics._multilabel_samples import multilabel_sample_losses
from skrank_abstain.metrics._proper import pairwise_brier_loss, pairwise_log_loss
from skrank_abstain.metrics._scorers import (
    accuracy_at_coverage,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_accuracy_scorer,
    selective_auc_scorer,
    selective_utility,
)
from skrank_abstain.metrics._selective import (
    class_acceptance,
    coverage_score,
    selective_accuracy_score,
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
    "excess_aurc_loss",
    "pairwise_log_loss",
    "pairwise_brier_loss",
    "Estimate",
    "pairwise_misranking_loss",
    "bipartite_misranking_loss",
    "pairwise_abstention_loss",
    "bipartite_abstention_loss",
    "label_ranks",
    "multilabel_sample_losses",
    "multilabel_sum_loss",
    "multilabel_precision_loss",
    "multilabel_precision_score",
    "multilabel_pairwise_loss",
    "multilabel_dcg_loss",
    "multilabel_dcg_score",
    "multilabel_average_precision_loss",
    "multilabel_average_precision_score",
    "multilabel_auc_loss",
    "multilabel_auc_score",
    "multilabel_reciprocal_rank_loss",
    "multilabel_reciprocal_rank_score",
    "selective_accuracy_scorer",
    "selective_auc_scorer",
    "neg_aurc_scorer",
    "accuracy_at_coverage",
    "coverage_at_risk",
    "selective_utility",
]
