"""Wing: bounds of the area under the ROC curve.

How far the AUC of a sample may be from the AUC of what the sample was drawn from, for
all ranking functions of a class at once. About one given ranker are
`skrank_abstain.metrics.auc_confidence_interval` and `auc_test_set_bound`.
"""

from skrank_abstain.theory._auc_bounds import (
    auc_sample_size,
    auc_uniform_bound,
    auc_uniform_bound_by_share,
    auc_uniform_bound_freund,
    auc_uniform_probability,
)
from skrank_abstain.theory._auc_shatter import (
    count_distinct_rank_matrices,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)
from skrank_abstain.theory._rank_matrices import (
    bipartite_rank_matrix,
    count_rank_matrices,
    empirical_auc,
    forbidden_submatrix,
    is_rank_matrix,
)

__all__ = [
    "auc_uniform_bound",
    "auc_uniform_bound_by_share",
    "auc_uniform_bound_freund",
    "auc_uniform_probability",
    "auc_sample_size",
    "log_rank_shatter_linear",
    "log_threshold_shatter_linear",
    "count_distinct_rank_matrices",
    "empirical_auc",
    "bipartite_rank_matrix",
    "is_rank_matrix",
    "forbidden_submatrix",
    "count_rank_matrices",
]
