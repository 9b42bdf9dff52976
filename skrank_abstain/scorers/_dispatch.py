"""What kind of model an object is, without importing its library."""

from __future__ import annotations

import os
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skrank_abstain.scorers._adapter import Booster
from skrank_abstain.scorers._catboost import CATBOOST
from skrank_abstain.scorers._lightgbm import LIGHTGBM
from skrank_abstain.scorers._xgboost import XGBOOST

#: Every library that is known. A list, so that users can append one of their own.
BOOSTERS: list[Booster] = [XGBOOST, LIGHTGBM, CATBOOST]


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

    # Cloning a booster would copy the model for each candidate and fold of a search.
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


def booster_of(model: Any) -> Booster | None:
    """Return the booster that a model comes from, or None.

    The nearest base class decides: a library may derive its models from another's.
    """
    for kind in type(unwrap(model)).__mro__:
        for booster in BOOSTERS:
            if not isinstance(booster, Booster):
                raise TypeError(f"BOOSTERS must hold Booster instances, got {booster}.")
            if booster.owns(kind):
                return booster
    return None


def of_cluster(model: Any) -> bool:
    """Return whether a model trains and predicts on frames of Dask or Spark alone."""
    booster = booster_of(model)
    return booster is not None and booster.of_cluster(unwrap(model))


def ranking_booster(model: Any) -> Booster | None:
    """Return the booster of a model whose training takes queries its way, or None."""
    booster = booster_of(model)
    if booster is None or unwrap(model) is not model:  # frozen: fit does nothing
        return None
    return booster if booster.is_ranker(model) else None


def library_of(model: Any) -> str | None:
    """Return the boosting library that a model comes from.

    Parameters
    ----------
    model : object
        A model, possibly frozen, possibly of a subclass that the user wrote.

    Returns
    -------
    library : str or None
        The library's import name, such as "lightgbm". None for models of no library
        in ``BOOSTERS``, pipelines that end in a booster among them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import library_of
    >>> library_of(Ridge()) is None
    True
    """
    booster = booster_of(model)
    return None if booster is None else booster.name


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
    booster = booster_of(inner)
    name = type(inner).__name__
    return name if booster is None else f"{booster.title} {name}"
