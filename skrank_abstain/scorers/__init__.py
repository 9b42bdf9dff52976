"""Scorers: any model in, one float64 score per item out.

A ranker may be an XGBoost, LightGBM or CatBoost model, the path of a file that one of
them saved, or any scikit-learn estimator. This room hides how the libraries differ:
their query arguments, the order of columns, early stopping. It imports no library but
that of the user's model.

All that is particular to a library is in one file, as a ``Booster`` in ``BOOSTERS``.
"""

from skrank_abstain.scorers._adapter import Booster, Features
from skrank_abstain.scorers._boosters import BOOSTERS
from skrank_abstain.scorers._context import numeric_columns
from skrank_abstain.scorers._ensemble import RankerEnsemble
from skrank_abstain.scorers._files import load_model
from skrank_abstain.scorers._fit import fit_ranker
from skrank_abstain.scorers._models import (
    check_queries,
    class_proba,
    describe,
    feature_names,
    freeze,
    is_fitted,
    last_step,
    library_of,
    names_in_model,
    of_cluster,
    requests_queries,
    resolve_model,
    score_items,
    unwrap,
)

__all__ = [
    "RankerEnsemble",
    "load_model",
    "fit_ranker",
    "score_items",
    "freeze",
    "Booster",
    "Features",
    "BOOSTERS",
]
