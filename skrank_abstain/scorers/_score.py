"""One float64 score per item from any model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import FloatArray, check_scores
from skrank_abstain.scorers._columns import (
    Features,
    align_columns,
    column_names,
    has_default_names,
)
from skrank_abstain.scorers._dispatch import (
    is_raw,
    last_step,
    library_of,
    loaded_library,
    unwrap,
)
from skrank_abstain.scorers._models import resolve_model


def score_items(model: Any, X: Any) -> FloatArray:
    """Return one score per item, higher is better.

    Parameters
    ----------
    model : estimator, booster or path
        A fitted model.
    X : array, sparse matrix or data frame of shape (n_items, n_features)
        Reaches the model untouched, except that the columns of a data frame are
        put into the order in which a booster was trained on them.

    Returns
    -------
    scores : ndarray of shape (n_items,), float64
        ``decision_function`` where it gives one value per row; else, for
        classifiers of numbers, the expected class under ``predict_proba``; else
        ``predict``. Raw boosters give their raw score, before any link function,
        from the trees up to the best iteration where training stopped early.

    Raises
    ------
    ValueError
        If the scores are not finite, not one per item, or if columns of X are
        missing or unexpected.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.scorers import score_items
    >>> score_items(Ridge(alpha=0).fit([[0.0], [1.0]], [0, 2]), [[0.5]])
    array([1.])
    """
    n_items = _num_samples(X)
    return check_scores(_raw_scores(resolve_model(model), X), n_items)


def _raw_scores(model: Any, X: Any) -> Any:
    model = unwrap(model)
    if hasattr(model, "best_estimator_"):  # a search, which checks no columns itself
        return _raw_scores(model.best_estimator_, X)
    if isinstance(model, Pipeline) and library_of(last_step(model)):
        # Transformers may pass names on, so the booster's columns are checked too.
        features = model[:-1].transform(X) if len(model.steps) > 1 else X
        return _raw_scores(model.steps[-1][1], features)
    library = library_of(model)
    if library is None:
        return _response(model, X)
    booster = _BOOSTERS[library](model)
    known = _FEATURES[library](booster)
    aligned = align_columns(X, library, known)
    if library == "lightgbm" and hasattr(aligned, "tocsr"):
        aligned = sparse.csr_matrix(aligned)  # it would convert, and warn of it
    if is_raw(model, library):
        return _PREDICT[library](booster, aligned)
    if library == "lightgbm" and has_default_names(known, library):
        with warnings.catch_warnings():
            # Before 4.7 it passes off the names it made up as the training data's.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return _response(model, aligned)
    return _response(model, aligned)


def _response(model: Any, X: Any) -> Any:
    """Score with the methods that scikit-learn's conventions name."""
    if hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
        if decision.ndim == 1 or decision.shape[1] == 1:
            return decision
    if hasattr(model, "predict_proba"):
        classes = np.asarray(getattr(model, "classes_", ()))
        if classes.ndim == 1 and classes.size:
            return _expected_class(model, X, classes)
    return model.predict(X)


def _expected_class(model: Any, X: Any, classes: Any) -> Any:
    if classes.dtype.kind not in "buif":
        raise ValueError(
            "estimator must be trained on numeric relevance to give one score per "
            f"item, got the classes {classes[:10].tolist()}; encode y as numbers, "
            "higher is better."
        )
    return np.asarray(model.predict_proba(X)) @ classes.astype(np.float64)


def _xgboost_predict(booster: Any, X: Any) -> Any:
    xgboost = loaded_library("xgboost")
    labels = {}
    if column_names(X, "xgboost") is None:
        # The columns of an array were counted; they stand for the model's in order.
        labels = {
            "feature_names": booster.feature_names,
            "feature_types": booster.feature_types,
        }
    matrix = xgboost.DMatrix(X, enable_categorical=True, **labels)
    return booster.predict(
        matrix, output_margin=True, iteration_range=_xgboost_iterations(booster)
    )


def _xgboost_iterations(booster: Any) -> tuple[int, int]:
    """Range of trees that early stopping kept; (0, 0) means all of them."""
    best = booster.attr("best_iteration")
    if best is None:
        return (0, 0)
    config = json.loads(booster.save_config())
    if config["learner"]["gradient_booster"]["name"] == "gblinear":
        return (0, 0)  # it has no trees to count
    return (0, int(best) + 1)


def _xgboost_knows_categories(booster: Any) -> bool:
    if "c" not in (booster.feature_types or ()):
        return False
    # Neither XGBoost nor its files kept them before 3.1.
    return hasattr(booster, "get_categories") and not booster.get_categories().empty()


def _lightgbm_predict(booster: Any, X: Any) -> Any:
    return booster.predict(X, raw_score=True)


def _catboost_predict(model: Any, X: Any) -> Any:
    return model.predict(X, prediction_type="RawFormulaVal")


def _lightgbm_booster(model: Any) -> Any:
    return model if is_raw(model, "lightgbm") else model.booster_


def _xgboost_booster(model: Any) -> Any:
    return model if is_raw(model, "xgboost") else model.get_booster()


#: The object of each library that knows its features.
_BOOSTERS: dict[str, Callable[[Any], Any]] = {
    "xgboost": _xgboost_booster,
    "lightgbm": _lightgbm_booster,
    "catboost": lambda model: model,
}

#: What each library's model knows about its columns. CatBoost counts them right only
#: by their names: n_features_in_ is 0 for a model read from a file.
_FEATURES: dict[str, Callable[[Any], Features]] = {
    "xgboost": lambda booster: Features(
        booster.feature_names,
        booster.num_features(),
        knows_categories=_xgboost_knows_categories(booster),
    ),
    "lightgbm": lambda booster: Features(
        booster.feature_name(),
        booster.num_feature(),
        knows_categories=booster.pandas_categorical is not None,
    ),
    "catboost": lambda model: Features(
        model.feature_names_, len(model.feature_names_), knows_categories=True
    ),
}

_PREDICT: dict[str, Callable[[Any, Any], Any]] = {
    "xgboost": _xgboost_predict,
    "lightgbm": _lightgbm_predict,
    "catboost": _catboost_predict,
}
