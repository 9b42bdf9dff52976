"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._baltor import BALToR
from skrank_abstain.estimators._cost_abstainer import CostAbstainer
from skrank_abstain.estimators._model_wrapper import ModelWrapper
from skrank_abstain.estimators._operating_points import OperatingPoint
from skrank_abstain.estimators._pair_decider import (
    ItemValues,
    PairDecider,
    predict_items,
    score_new_items,
)
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._risk_controlled import RiskControlledRanker
from skrank_abstain.estimators._selective_ranker import SelectiveRanker

__all__ = [
    "SelectiveRanker",
    "BALToR",
    "CostAbstainer",
    "RiskControlledRanker",
    "PairwiseRankerClassifier",
]
