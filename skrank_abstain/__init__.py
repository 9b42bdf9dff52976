"""Pairwise ranking that knows when to stay silent.

score -> pair probabilities -> risk -> threshold -> decisions -> report
"""

from skrank_abstain._saving import __version__
from skrank_abstain.estimators import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.intake import OneQueryWarning
from skrank_abstain.pairs import PairDecisions, Ranking

__all__ = [
    "BALToR",
    "SelectiveRanker",
    "CostAbstainer",
    "PairwiseRankerClassifier",
    "RiskControlledRanker",
    "Ranking",
    "PairDecisions",
    "OneQueryWarning",
    "__version__",
]
