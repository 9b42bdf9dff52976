"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._bases import (
    ModelWrapper,
    model_columns,
    predict,
    score_new_items,
)
from skrank_abstain.estimators._named_rankers import (
    BALToR,
    CostAbstainer,
    RiskControlledRanker,
)
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._selective_ranker import PairDecider, SelectiveRanker

__all__ = [
    "SelectiveRanker",
    "BALToR",
    "CostAbstainer",
    "RiskControlledRanker",
    "PairwiseRankerClassifier",
]
