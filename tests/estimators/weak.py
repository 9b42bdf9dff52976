"""Data and rankers whose scores say little."""

import numpy as np

from skrank_abstain.datasets import make_ranking

NAMES = [
    "bradley_terry",
    "davidson",
    "thurstone_mosteller",
    "graded_relevance",
    "isotonic_difference",
    "feature_aware_relevance",
]


def weak_scores(n_queries=40, random_state=0):
    """Queries whose first column is a noisy utility, and the second a better one."""
    data = make_ranking(n_queries, (1, 12), random_state=random_state)
    noise = np.random.default_rng(random_state).normal(size=(data.utility.size, 2))
    noisy = data.utility[:, None] + noise * [2, 0.2]
    return np.column_stack([noisy, data.data]), data.target, data.qid
