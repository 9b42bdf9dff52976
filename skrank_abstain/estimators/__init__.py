"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._abstaining import AbstainingRanker
from skrank_abstain.estimators._baltor import BALToR
from skrank_abstain.estimators._cost import CostAbstainer
from skrank_abstain.estimators._items import Items, check_columns, take_column
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._report import write_report
from skrank_abstain.estimators._risk_controlled import RiskControlledRanker
from skrank_abstain.estimators._splitting import split_for_calibration
from skrank_abstain.estimators._wrapping import RankerWrapper

__all__ = [
    "BALToR",
    "CostAbstainer",
    "PairwiseRankerClassifier",
    "RiskControlledRanker",
]
