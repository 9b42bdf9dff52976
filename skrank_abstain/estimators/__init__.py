"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._baltor import BALToR
from skrank_abstain.estimators._constrained_linear import ConstrainedLinearRanker
from skrank_abstain.estimators._constrained_mlp import ConstrainedMLPRanker
from skrank_abstain.estimators._cost import CostAbstainer
from skrank_abstain.estimators._distance import DistanceAbstainer
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._risk_controlled import RiskControlledRanker
from skrank_abstain.estimators.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)

__all__ = [
    "BALToR",
    "ConstrainedLinearRanker",
    "ConstrainedMLPRanker",
    "CostAbstainer",
    "DistanceAbstainer",
    "PairwiseRankerClassifier",
    "RiskControlledRanker",
    "LinearMultilabelRanker",
    "ThresholdDecompositionRanker",
    "OnlineMultilabelRanker",
    "SelectiveMultilabelRanker",
]
