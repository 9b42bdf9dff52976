"""Pairwise ranking that knows when to stay silent.

score -> pair probabilities -> risk -> threshold -> decisions -> report
"""

from importlib.metadata import PackageNotFoundError, version

from skrank_abstain.estimators import (
    BALToR,
    CostAbstainer,
    OneQueryWarning,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.pairs import PairDecisions, Ranking

try:
    __version__ = version("skrank-abstain")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

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
