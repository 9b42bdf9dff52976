"""Pairs of an evaluation set: what is true of them and what a ranker said."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import BoolArray, FloatArray, IntArray, check_relevance


@dataclass(frozen=True)
class EvaluatedPairs:
    """All within-query pairs, one value per pair in every array.

    Attributes
    ----------
    truth, label : ndarray of shape (n_pairs,), int64
        True and predicted labels in {-1, 0, +1}.
    accepted : ndarray of shape (n_pairs,), bool
    risk : ndarray of shape (n_pairs,), float64
        Conditional risk.
    """

    truth: IntArray
    label: IntArray
    accepted: BoolArray
    risk: FloatArray

    def __len__(self) -> int:
        return int(self.truth.shape[0])


def evaluate_pairs(ranker: Any, X: Any, y: ArrayLike, qid: Any) -> EvaluatedPairs:
    """Return the ranker's decisions beside the truth.

    Parameters
    ----------
    ranker : object
        A fitted ranker with ``iter_pairs`` and ``score``.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
    y : array-like of shape (n_items,)
        Relevance, higher is better.
    qid : None, scalar or array-like of shape (n_items,)

    Returns
    -------
    pairs : EvaluatedPairs

    Raises
    ------
    ValueError
        If the ranker was fitted with a ``qid`` and is evaluated without one.
    """
    relevance = check_relevance(y, _num_samples(X))
    if qid is None:
        _check_does_without_qid(ranker, X, relevance)
    nothing = np.empty(0, dtype=np.int64)
    parts = [(nothing, nothing, nothing.astype(np.bool_), nothing.astype(np.float64))]
    for decisions in ranker.iter_pairs(X, qid):
        difference = relevance[decisions.left] - relevance[decisions.right]
        truth = np.sign(difference).astype(np.int64)
        parts.append((truth, decisions.label, decisions.accepted, decisions.risk))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return EvaluatedPairs(*columns)


def _check_does_without_qid(ranker: Any, X: Any, y: FloatArray) -> None:
    """Let the ranker's own ``score`` refuse to do without a ``qid``.

    One row tells, and has no pairs to compare.
    """
    row = slice(0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        ranker.score(_safe_indexing(X, row), y[row])


def find_ranker(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the selective ranker inside ``estimator``, and the X it gets to see.

    Parameters
    ----------
    estimator : object
        A fitted selective ranker, or a Pipeline or search that holds one.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)

    Returns
    -------
    ranker, X

    Raises
    ------
    TypeError
        If there is no selective ranker inside.
    """
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        return find_ranker(estimator[-1], X)
    if hasattr(estimator, "iter_pairs"):
        return estimator, X
    if hasattr(estimator, "best_estimator_"):
        return find_ranker(estimator.best_estimator_, X)
    raise TypeError(
        "estimator must be a selective ranker, which has iter_pairs, or a Pipeline or "
        f"fitted search that ends in one, got {estimator!r}."
    )
