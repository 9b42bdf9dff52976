"""Wing: rankings of the labels of each sample, from relevance (n_samples, n_labels).

A sample is a query and its labels are the items. Rankers of labels, their losses on
arrays, abstention on pairs of labels, which losses can be learned by learning another
one, and readers of published collections.
"""

from skrank_abstain.multilabel.datasets import load_label_ranking, load_mulan_arff
from skrank_abstain.multilabel.learners import (
    FamilyMembership,
    OnlineExpertRun,
    RelabellingResult,
    ThresholdRelabellingResult,
    agnostic_relabelling_learner,
    bin_rel,
    empirical_rademacher_complexity,
    littlestone_dimension,
    loss_family_membership,
    online_expert_run,
    online_threshold_run,
    rademacher_bound,
    threshold_relabelling_learner,
    vc_dimension,
)
from skrank_abstain.multilabel.losses import (
    label_ranks,
    multilabel_auc_loss,
    multilabel_auc_score,
    multilabel_average_precision_loss,
    multilabel_average_precision_score,
    multilabel_dcg_loss,
    multilabel_dcg_score,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_precision_score,
    multilabel_reciprocal_rank_loss,
    multilabel_reciprocal_rank_score,
    multilabel_sample_losses,
    multilabel_sum_loss,
)
from skrank_abstain.multilabel.rankers import (
    LabelItems,
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    ScoreColumn,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    to_items,
)

__all__ = [
    "SelectiveMultilabelRanker",
    "LinearMultilabelRanker",
    "ThresholdDecompositionRanker",
    "OnlineMultilabelRanker",
    "to_items",
    "LabelItems",
    "ScoreColumn",
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
    "loss_family_membership",
    "FamilyMembership",
    "bin_rel",
    "agnostic_relabelling_learner",
    "RelabellingResult",
    "threshold_relabelling_learner",
    "ThresholdRelabellingResult",
    "online_expert_run",
    "online_threshold_run",
    "OnlineExpertRun",
    "empirical_rademacher_complexity",
    "rademacher_bound",
    "vc_dimension",
    "littlestone_dimension",
    "load_mulan_arff",
    "load_label_ranking",
]
