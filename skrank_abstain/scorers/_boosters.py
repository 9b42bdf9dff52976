"""The known boosting libraries."""

from skrank_abstain.scorers._adapter import Booster
from skrank_abstain.scorers._catboost import CATBOOST
from skrank_abstain.scorers._lightgbm import LIGHTGBM
from skrank_abstain.scorers._xgboost import XGBOOST

#: A list, so that users can append a library of their own.
BOOSTERS: list[Booster] = [XGBOOST, LIGHTGBM, CATBOOST]
