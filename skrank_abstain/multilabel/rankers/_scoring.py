"""One score per label from any estimator of several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.multilabel._losses import check_label_matrix


def label_scores(estimator: Any, X: Any, n_labels: int) -> FloatArray:
    """Return a score of each label of each sample.

    Parameters
    ----------
    estimator : object
        Fitted.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
    n_labels : int

    Returns
    -------
    scores : ndarray of shape (n_samples, n_labels), float64
        Higher is better. ``decision_function``, where there is one; else the expected
        class under ``predict_proba``, given as one matrix of probabilities or as a
        list with one matrix of class probabilities per label; else ``predict``.

    Raises
    ------
    ValueError
        If they are not one finite number per sample and label.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
    elif hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            # After partial_fit a MultiOutputClassifier leaves them to its parts.
            classes = getattr(estimator, "classes_", None) or [
                part.classes_ for part in estimator.estimators_
            ]
            # The expected class: P(1) for 0/1 labels, and 0 for a label that was never
            # relevant, whose only class is 0.
            scores = np.stack(
                [
                    p @ np.asarray(c, dtype=np.float64)
                    for p, c in zip(proba, classes, strict=True)
                ],
                axis=1,
            )
        else:
            scores = np.asarray(proba)
            if n_labels == 1 and scores.ndim == 2 and scores.shape[1] > 1:
                # Of a single label: one column per class, not per label.
                scores = scores @ np.asarray(estimator.classes_, dtype=np.float64)
    else:
        scores = np.asarray(estimator.predict(X))
    if scores.ndim == 1 and n_labels == 1:
        scores = scores[:, None]
    return check_label_matrix(scores, "the estimator's scores", (None, n_labels))
