"""Recognise a model without importing its library."""

from __future__ import annotations

import os
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skrank_abstain.scorers._adapter import Booster
from skrank_abstain.scorers._catboost import CATBOOST
from skrank_abstain.scorers._lightgbm import LIGHTGBM
from skrank_abstain.scorers._xgboost import XGBOOST

#: The known libraries. A list, so that users can append one of their own.
BOOSTERS: list[Booster] = [XGBOOST, LIGHTGBM, CATBOOST]


class FrozenModel:
    """Hold a fitted model, which clones share.

    The counterpart of :class:`sklearn.frozen.FrozenEstimator` for raw boosters.

    Parameters
    ----------
    model : object
        Raw booster, or another object that predicts and has no ``fit``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    # A copy would be made for each candidate and fold of a search.
    def __sklearn_clone__(self) -> FrozenModel:
        return self

    def __repr__(self) -> str:
        kind = type(self.model)
        return f"FrozenModel({kind.__module__.split('.')[0]}.{kind.__name__})"

    def set_params(self, **params: Any) -> None:
        """Refuse: the parameters of a fitted model are fixed."""
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
    """Return the last step of a (nested, frozen) pipeline, or the model itself."""
    model = unwrap(model)
    while isinstance(model, Pipeline):
        model = unwrap(model.steps[-1][1])
    return model


def booster_of(model: Any) -> Booster | None:
    """Return the booster that a model comes from, or None.

    The nearest base class decides, since a library may derive from another's models.
    """
    for kind in type(unwrap(model)).__mro__:
        for booster in BOOSTERS:
            if not isinstance(booster, Booster):
                raise TypeError(f"BOOSTERS must hold Booster instances, got {booster}.")
            if booster.owns(kind):
                return booster
    return None


def of_cluster(model: Any) -> bool:
    """Return whether a model only trains and predicts on frames of Dask or Spark."""
    booster = booster_of(model)
    return booster is not None and booster.of_cluster(unwrap(model))


def ranking_booster(model: Any) -> Booster | None:
    """Return the booster of a model whose training takes queries, or None."""
    booster = booster_of(model)
    frozen = unwrap(model) is not model  # its fit does nothing
    return booster if booster and not frozen and booster.is_ranker(model) else None


def library_of(model: Any) -> str | None:
    """Return the boosting library that a model comes from.

    Parameters
    ----------
    model : object
        May be frozen, and of a user's subclass.

    Returns
    -------
    library : str or None
        The library's import name, such as "lightgbm". None for other models,
        pipelines that end in a booster included.

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
    """Return the library and the class of a model, which may be frozen.

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
