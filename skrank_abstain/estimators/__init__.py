"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._baltor import BALToR
from skrank_abstain.estimators._cost import CostAbstainer
from skrank_abstain.estimators._distance import DistanceAbstainer
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._risk_controlled import RiskControlledRanker

__all__ = [
    "BALToR",
    "CostAbstainer",
    "DistanceAbstainer",
    "PairwiseRankerClassifier",
    "RiskControlledRanker",
]
