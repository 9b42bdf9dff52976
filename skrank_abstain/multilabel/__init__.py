"""Wing: rankings of the labels of each sample, from relevance (n_samples, n_labels).

A sample is a query and its labels are the items. Rankers of labels, their losses on
arrays, abstention on pairs of labels, learners from the theory of multilabel ranking,
and a reader of published label rankings.

Source: Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
NeurIPS 2023. arXiv:2304.03337.
"""

from skrank_abstain.multilabel._files import load_label_ranking
from skrank_abstain.multilabel._learners import (
    OnlineExpertRun,
    agnostic_relabelling_learner,
    online_expert_run,
    online_threshold_run,
    threshold_relabelling_learner,
)
from skrank_abstain.multilabel._losses import (
    bin_rel,
    empirical_rademacher_complexity,
    label_ranks,
    littlestone_dimension,
    loss_family_membership,
    multilabel_loss,
    multilabel_sample_losses,
    rademacher_bound,
    vc_dimension,
)
from skrank_abstain.multilabel._online import OnlineMultilabelRanker
from skrank_abstain.multilabel._ranker import (
    LinearMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.multilabel._selective import SelectiveMultilabelRanker, to_items

__all__ = [
    "SelectiveMultilabelRanker",
    "LinearMultilabelRanker",
    "ThresholdDecompositionRanker",
    "OnlineMultilabelRanker",
    "to_items",
    "label_ranks",
    "multilabel_loss",
    "multilabel_sample_losses",
    "loss_family_membership",
    "bin_rel",
    "agnostic_relabelling_learner",
    "threshold_relabelling_learner",
    "online_expert_run",
    "online_threshold_run",
    "OnlineExpertRun",
    "empirical_rademacher_complexity",
    "rademacher_bound",
    "vc_dimension",
    "littlestone_dimension",
    "load_label_ranking",
]
