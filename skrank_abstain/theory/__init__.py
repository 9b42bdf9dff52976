"""Wing: intervals and bounds of the area under the ROC curve.

For one given ranker use `auc_confidence_interval` or `auc_test_set_bound`. The others
bound how far the AUC on a sample is from the expected AUC, for all ranking functions of
a class at once.

Source: Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
Under the ROC Curve". AISTATS 2005.
"""

from skrank_abstain.theory._auc import (
    auc_confidence_interval,
    auc_sample_size,
    auc_test_set_bound,
    auc_uniform_bound,
    auc_uniform_bound_by_share,
    auc_uniform_bound_freund,
    auc_uniform_probability,
    bipartite_rank_matrix,
    count_rank_matrices,
    empirical_auc,
    forbidden_submatrix,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)

__all__ = [
    "auc_confidence_interval",
    "auc_test_set_bound",
    "auc_uniform_bound",
    "auc_uniform_bound_by_share",
    "auc_uniform_bound_freund",
    "auc_uniform_probability",
    "auc_sample_size",
    "log_rank_shatter_linear",
    "log_threshold_shatter_linear",
    "empirical_auc",
    "bipartite_rank_matrix",
    "forbidden_submatrix",
    "count_rank_matrices",
]
