"""Estimators: thin scikit-learn shells around the numeric core."""

from skrank_abstain.estimators._baltor import BALToR
from skrank_abstain.estimators._cost_abstainer import CostAbstainer
from skrank_abstain.estimators._item_rows import (
    Items,
    check_columns,
    groups_of_queries,
    take_column,
)
from skrank_abstain.estimators._item_scorer import ItemScorer, ItemValues
from skrank_abstain.estimators._model_wrapper import ModelWrapper
from skrank_abstain.estimators._operating_points import OperatingPoint
from skrank_abstain.estimators._pair_decider import PairDecider
from skrank_abstain.estimators._pairwise import PairwiseRankerClassifier
from skrank_abstain.estimators._query_checks import (
    OneQueryWarning,
    refuse_fit_arguments,
)
from skrank_abstain.estimators._repeats import (
    describe_rows,
    find_repeats,
    warn_of_repeats,
)
from skrank_abstain.estimators._risk_controlled import RiskControlledRanker
from skrank_abstain.estimators._row_hashes import hash_rows_if_readable
from skrank_abstain.estimators._selective_ranker import SelectiveRanker
from skrank_abstain.estimators._splitting import divide_by_size, split_for_calibration
from skrank_abstain.estimators._training import (
    CalibrationData,
    check_labelled_items,
    take_labelled_items,
    train_and_score,
)

__all__ = [
    "SelectiveRanker",
    "BALToR",
    "CostAbstainer",
    "RiskControlledRanker",
    "PairwiseRankerClassifier",
    "OperatingPoint",
    "OneQueryWarning",
]
