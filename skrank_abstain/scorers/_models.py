"""What can be asked of a model before it scores: is it one, is it fitted, freeze it."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skrank_abstain._validation import shown
from skrank_abstain.scorers._conventions import looks_fitted
from skrank_abstain.scorers._dispatch import (
    FrozenModel,
    booster_of,
    describe,
    is_path,
    of_cluster,
    unwrap,
)
from skrank_abstain.scorers._files import load_model

_METHODS = ("decision_function", "predict_proba", "predict")


def resolve_model(model: Any) -> Any:
    """Return an object that scores: a loaded booster for a path, else ``model``.

    A model of Dask or Spark, which predicts frames of the cluster alone, becomes its
    library's ordinary one.

    Parameters
    ----------
    model : estimator, booster or path

    Returns
    -------
    model : object

    Raises
    ------
    TypeError
        If the object is a class or has none of the scoring methods.
    ValueError, FileNotFoundError
        If the path is not a file that one of the libraries saved, or the model is
        one of Dask or Spark and not fitted.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import resolve_model
    >>> resolve_model(Ridge())
    Ridge()
    """
    if is_path(model):
        return load_model(model)
    if isinstance(model, type):
        raise TypeError(
            f"estimator must be an instance, got the class {model.__name__}; "
            f"write {model.__name__}()."
        )
    booster = booster_of(model)
    if booster is not None and of_cluster(model):
        if not is_fitted(model):
            raise ValueError(
                f"estimator must be fitted, got an unfitted {describe(model)}, which "
                "trains on frames of a cluster alone: fit it there, and pass it then."
            )
        return booster.local(unwrap(model))
    if not any(hasattr(unwrap(model), method) for method in _METHODS):
        raise TypeError(
            "estimator must have one of decision_function, predict_proba and predict, "
            f"got {shown(model)}, which has none; pass a model or the path of its file."
        )
    return model


def is_fitted(model: Any) -> bool:
    """Return whether a model can score without being trained.

    Parameters
    ----------
    model : estimator, booster or path
        Paths, raw boosters and objects that predict but have no ``fit`` count as
        fitted; a pipeline is as fitted as its last step.

    Returns
    -------
    fitted : bool

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import is_fitted
    >>> is_fitted(Ridge()), is_fitted(Ridge().fit([[0.0], [1.0]], [0, 1]))
    (False, True)
    """
    if is_path(model):
        return True
    model = unwrap(model)
    if isinstance(model, Pipeline):
        return is_fitted(model.steps[-1][1])
    booster = booster_of(model)
    return looks_fitted(model) if booster is None else booster.is_fitted(model)


def feature_names(model: Any) -> list[str] | None:
    """Return the column names that a fitted model was given, None if it was not."""
    names, made_up = names_in_model(model)
    return None if made_up else names


def names_in_model(model: Any) -> tuple[list[str] | None, bool]:
    """Return the column names in a fitted model, and whether they may be made up.

    A library may have given them to columns without names; a user may call columns so.
    """
    model = unwrap(model)
    booster = booster_of(model)
    if booster is None:
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else list(names), False
    features = booster.features(model)
    return features.names, booster.made_up(features)


def freeze(model: Any) -> Any:
    """Return what a clone of a wrapper should hold, so that the model stays fitted.

    Parameters
    ----------
    model : estimator, booster or path

    Returns
    -------
    model : object
        ``FrozenEstimator(model)`` for scikit-learn estimators. Raw boosters and
        objects without ``fit`` get a wrapper of this package that clones to
        itself. Paths and models that are already frozen are returned unchanged.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import freeze
    >>> freeze(Ridge())
    FrozenEstimator(estimator=Ridge())
    """
    if is_path(model) or isinstance(model, FrozenEstimator | FrozenModel):
        return model
    estimator_like = all(
        hasattr(model, name) for name in ("fit", "get_params", "__sklearn_tags__")
    )
    booster = booster_of(model)
    raw = booster is not None and booster.is_raw(model)
    # FrozenEstimator refuses raw boosters, which are no estimators.
    return FrozenEstimator(model) if estimator_like and not raw else FrozenModel(model)
