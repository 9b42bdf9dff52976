"""Scorers: any model in, one float64 score per item out.

A ranker may be an XGBoost, LightGBM or CatBoost model, the path of a file that
one of them saved, or any scikit-learn estimator. Here the differences end: each
library's query argument, its order of columns, its early stopping. Nothing here
imports a library that the user's own model does not come from.

One file says all that is particular to a library, as a ``Booster`` in ``BOOSTERS``.
"""

from skrank_abstain.scorers._adapter import Booster, Features
from skrank_abstain.scorers._dispatch import (
    BOOSTERS,
    describe,
    last_step,
    library_of,
    of_cluster,
)
from skrank_abstain.scorers._files import load_model
from skrank_abstain.scorers._fit import fit_ranker
from skrank_abstain.scorers._models import (
    feature_names,
    freeze,
    is_fitted,
    names_in_model,
    resolve_model,
)
from skrank_abstain.scorers._score import score_items

__all__ = [
    "resolve_model",
    "load_model",
    "library_of",
    "describe",
    "is_fitted",
    "freeze",
    "fit_ranker",
    "score_items",
    "Booster",
    "Features",
    "BOOSTERS",
]
