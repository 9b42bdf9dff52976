"""What can be known of a ranker without seeing all pairs there are.

How far the AUC of a sample may be from the AUC of what the sample was drawn from:
intervals for one given ranker, and bounds that hold for all rankers of a class at once.
And what a small surrogate loss says about misranking with abstention, and which losses
of label rankings can be learned by learning another one.
"""

from skrank_abstain.theory._auc_bounds import (
    auc_test_set_bound,
    auc_uniform_bound,
    auc_uniform_bound_by_share,
    auc_uniform_bound_freund,
    auc_uniform_probability,
)
from skrank_abstain.theory._auc_intervals import AUCInterval, auc_confidence_interval
from skrank_abstain.theory._auc_shatter import (
    count_distinct_rank_matrices,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)
from skrank_abstain.theory._conditional_risk import (
    LinearScorers,
    OneHiddenLayerScorers,
    minimal_conditional_risk,
    minimizability_gap,
)
from skrank_abstain.theory._consistency import (
    NegativeExample,
    consistency_bound,
    negative_example,
)
from skrank_abstain.theory._multilabel_families import (
    FamilyMembership,
    loss_family_membership,
)
from skrank_abstain.theory._multilabel_learners import (
    OnlineExpertRun,
    RelabellingResult,
    agnostic_relabelling_learner,
    online_expert_run,
)
from skrank_abstain.theory._rank_matrices import (
    bipartite_rank_matrix,
    count_rank_matrices,
    forbidden_submatrix,
    is_rank_matrix,
)

__all__ = [
    "auc_confidence_interval",
    "AUCInterval",
    "auc_test_set_bound",
    "auc_uniform_bound",
    "auc_uniform_bound_by_share",
    "auc_uniform_bound_freund",
    "auc_uniform_probability",
    "log_rank_shatter_linear",
    "log_threshold_shatter_linear",
    "count_distinct_rank_matrices",
    "bipartite_rank_matrix",
    "is_rank_matrix",
    "forbidden_submatrix",
    "count_rank_matrices",
    "consistency_bound",
    "LinearScorers",
    "OneHiddenLayerScorers",
    "minimal_conditional_risk",
    "minimizability_gap",
    "negative_example",
    "NegativeExample",
    "loss_family_membership",
    "FamilyMembership",
    "agnostic_relabelling_learner",
    "RelabellingResult",
    "online_expert_run",
    "OnlineExpertRun",
]
