"""Finding the ranker inside what scikit-learn hands to a scorer."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from skrank_abstain._validation import shown


def find_ranker(
    estimator: Any, X: Any, needs: str = "risk_profile", *, remedy: str = ""
) -> tuple[Any, Any]:
    """Return the selective ranker inside ``estimator``, and the X it gets to see.

    Parameters
    ----------
    estimator : object
        A fitted selective ranker, or a Pipeline or search that holds one.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
    needs : str, default="risk_profile"
        Method that the ranker must have.
    remedy : str, default=""
        Advice that ends the message of the TypeError for any other estimator.
    """
    # The steps before the ranker transform X. A Pipeline passes X through them in its
    # own score method, but a scorer needs the ranker's other methods.
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        return find_ranker(estimator[-1], X, needs, remedy=remedy)
    if hasattr(estimator, needs):
        return estimator, X
    if hasattr(estimator, "best_estimator_"):
        return find_ranker(estimator.best_estimator_, X, needs, remedy=remedy)
    message = (
        f"estimator must be a selective ranker, which has {needs}, or a Pipeline "
        f"or fitted search that ends in one, got {shown(estimator)}."
    )
    raise TypeError(f"{message} {remedy}".rstrip())
