"""One float64 score per item from any model."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import FloatArray, check_scores
from skrank_abstain.scorers._columns import align_columns
from skrank_abstain.scorers._conventions import response
from skrank_abstain.scorers._dispatch import booster_of, last_step, unwrap
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
    return check_scores(_raw_scores(model, X), n_items)


def _raw_scores(model: Any, X: Any) -> Any:
    model = unwrap(resolve_model(model))
    if hasattr(model, "best_estimator_"):  # a search, which checks no columns itself
        return _raw_scores(model.best_estimator_, X)
    if isinstance(model, Pipeline) and booster_of(last_step(model)):
        # Transformers may pass names on, so the booster's columns are checked too.
        passed_on = model[:-1].transform(X) if len(model.steps) > 1 else X
        return _raw_scores(model.steps[-1][1], passed_on)
    booster = booster_of(model)
    if booster is None:
        return response(model, X)
    features = booster.features(model)
    return booster.score(model, align_columns(X, booster, features), features)
