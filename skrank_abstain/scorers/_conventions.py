"""Models by scikit-learn's conventions, whatever their origin."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


def looks_fitted(model: Any) -> bool:
    """Return whether a model seems to be fitted."""
    if not hasattr(model, "fit"):
        return True
    if not hasattr(model, "__sklearn_tags__"):
        # All that duck-typed estimators may follow is the naming of attributes.
        return any(a.endswith("_") and not a.startswith("__") for a in vars(model))
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def response(model: Any, X: Any) -> Any:
    """Score with decision_function, predict_proba or predict."""
    if hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X))
        # One column for each class gives no order of items.
        if decision.ndim == 1 or decision.shape[1] == 1:
            return decision
    if hasattr(model, "predict_proba"):
        classes = np.asarray(getattr(model, "classes_", ()))
        # The most probable class would give all items of a grade one score.
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
