"""Scorers: any model in, one float64 score per item out.

A ranker may be an XGBoost, LightGBM or CatBoost model, the path of a file that one of
them saved, or any scikit-learn estimator. This room hides how the libraries differ:
their query arguments, the order of columns, early stopping. It only imports the library
of the user's model. One ``Booster`` in ``BOOSTERS`` holds each library's particulars.
"""

from skrank_abstain.scorers._boosters import BOOSTERS, Booster, Features
from skrank_abstain.scorers._context import numeric_columns, query_context
from skrank_abstain.scorers._ensemble import RankerEnsemble
from skrank_abstain.scorers._fit import fit_ranker, named_step, trained_on
from skrank_abstain.scorers._models import (
    ScoreColumn,
    check_queries,
    class_proba,
    clone_parameters,
    describe,
    freeze,
    is_fitted,
    last_step,
    library_of,
    load_model,
    names_in_model,
    of_cluster,
    requests_queries,
    resolve_model,
    score_items,
    unwrap,
)

__all__ = [
    "RankerEnsemble",
    "ScoreColumn",
    "load_model",
    "fit_ranker",
    "score_items",
    "freeze",
    "Booster",
    "Features",
    "BOOSTERS",
]
