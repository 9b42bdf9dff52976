"""Wing: abstention on pairs of items that are near in feature space, and its losses.

`DistanceAbstainer` abstains on a pair whose items are at most gamma apart. Around it
are the losses that price its abstentions, the surrogates that rankers are trained with,
rankers whose weights stay within a ball, and what a small surrogate loss says about
misranking for their hypothesis set H (H-consistency bounds).

Source: Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.
"""

from skrank_abstain.distance._abstainer import DistanceAbstainer
from skrank_abstain.distance._constrained import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
)
from skrank_abstain.distance._losses import (
    Exponential,
    Hinge,
    LinearScorers,
    Logistic,
    MarginLoss,
    OneHiddenLayerScorers,
    Sigmoid,
    consistency_bound,
    minimal_conditional_risk,
    minimizability_gap,
    misranking_loss,
    negative_example,
    surrogate_loss,
)
from skrank_abstain.distance._pairs import pair_feature_distances

__all__ = [
    "DistanceAbstainer",
    "ConstrainedLinearRanker",
    "ConstrainedMLPRanker",
    "misranking_loss",
    "surrogate_loss",
    "MarginLoss",
    "Hinge",
    "Exponential",
    "Sigmoid",
    "Logistic",
    "pair_feature_distances",
    "consistency_bound",
    "negative_example",
    "minimal_conditional_risk",
    "minimizability_gap",
    "LinearScorers",
    "OneHiddenLayerScorers",
]
