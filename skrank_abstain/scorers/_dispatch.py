"""What kind of model an object is, without importing its library."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

#: Import name of each library, as the user writes it and as we print it.
TITLES = {"xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost"}

#: Classes whose training needs to know the queries.
RANKERS = {
    "xgboost": "XGBRanker",
    "lightgbm": "LGBMRanker",
    "catboost": "CatBoostRanker",
}


class FrozenModel:
    """Hold a fitted model that a clone shares instead of copying.

    It does for raw boosters what :class:`sklearn.frozen.FrozenEstimator` does for
    scikit-learn's estimators.

    Parameters
    ----------
    model : object
        Raw booster, or another object that predicts and has no ``fit``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __sklearn_clone__(self) -> FrozenModel:
        return self

    def __repr__(self) -> str:
        kind = type(self.model)
        return f"FrozenModel({kind.__module__.split('.')[0]}.{kind.__name__})"

    def set_params(self, **params: Any) -> None:
        """Refuse: a fitted model has no parameters left to set."""
        raise ValueError(
            f"estimator is a fitted model, its parameters are fixed; got {params!r}. "
            "Pass an unfitted estimator, or one with prefit=False, to search over them."
        )


def is_path(model: Any) -> bool:
    """Return whether ``model`` is the path of a file."""
    return isinstance(model, str | os.PathLike)


def unwrap(model: Any) -> Any:
    """Return the model inside any number of frozen wrappers."""
    while isinstance(model, FrozenEstimator | FrozenModel):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.model
    return model


def last_step(model: Any) -> Any:
    """Return the estimator that ends a (nested, frozen) pipeline, or the model."""
    model = unwrap(model)
    while isinstance(model, Pipeline):
        model = unwrap(model.steps[-1][1])
    return model


def library_of(model: Any) -> str | None:
    """Return the boosting library that a model comes from.

    Parameters
    ----------
    model : object
        A model, possibly frozen, possibly of a subclass that the user wrote.

    Returns
    -------
    library : {"xgboost", "lightgbm", "catboost"} or None
        None for anything else, pipelines that end in a booster among them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import library_of
    >>> library_of(Ridge()) is None
    True
    """
    for base in type(unwrap(model)).__mro__:
        root = base.__module__.partition(".")[0]
        if root in TITLES:
            return root
    return None


def is_raw(model: Any, library: str | None) -> bool:
    """Return whether ``model`` is a library's own object, no scikit-learn one."""
    if library == "catboost":
        return not hasattr(model, "score")
    return library is not None and not hasattr(model, "get_params")


def is_ranker(model: Any) -> bool:
    """Return whether training ``model`` takes queries the way its library wants."""
    library = library_of(model)
    if library is None or unwrap(model) is not model:  # frozen: fit does nothing
        return False
    names = {base.__name__ for base in type(model).__mro__}
    return RANKERS[library] in names or (
        library == "catboost" and is_raw(model, library)
    )


def loaded_library(name: str) -> Any:
    """Return the module of a library that the user's model has already imported."""
    return sys.modules.get(name) or importlib.import_module(name)


def import_library(name: str, purpose: str) -> Any:
    """Import a library, or say which extra installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{purpose} requires {name}; install skrank-abstain[{name}]."
        ) from error


def describe(model: Any) -> str:
    """Return the library and the class of a model, seen through frozen wrappers.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import describe
    >>> describe(FrozenEstimator(Ridge()))
    'Ridge'
    """
    inner = unwrap(model)
    library = library_of(inner)
    name = type(inner).__name__
    return f"{TITLES[library]} {name}" if library else name
