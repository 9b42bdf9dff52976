"""Rankers with bounded weights, and what they are trained on."""

import numpy as np

from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
)
from skrank_abstain.pairs import enumerate_pairs, group_queries

RANKERS = [ConstrainedLinearRanker, ConstrainedMLPRanker]


def strict_differences(X, y, qid):
    """Return features of the better item less those of the worse, pair by pair."""
    left, right = enumerate_pairs(group_queries(qid, len(y)))
    sign = np.sign(y[left] - y[right])
    return (sign[:, None] * (X[left] - X[right]))[sign != 0]
