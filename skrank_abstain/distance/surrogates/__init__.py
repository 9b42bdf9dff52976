"""Smooth and convex stand-ins for misranking, which ranking functions are trained on.

A margin t is positive where a pair is ordered right. ``MarginLoss`` objects say what a
margin costs; the surrogate losses add them up over the pairs of items.
"""

from skrank_abstain.distance.surrogates._losses import (
    bipartite_surrogate_loss,
    pairwise_surrogate_loss,
)
from skrank_abstain.distance.surrogates._margins import (
    Exponential,
    Hinge,
    Logistic,
    MarginLoss,
    Sigmoid,
)
from skrank_abstain.distance.surrogates._pairs import pair_feature_distances

__all__ = [
    "MarginLoss",
    "Hinge",
    "Exponential",
    "Sigmoid",
    "Logistic",
    "pairwise_surrogate_loss",
    "bipartite_surrogate_loss",
    "pair_feature_distances",
]
