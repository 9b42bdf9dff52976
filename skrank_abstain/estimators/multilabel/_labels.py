"""Relevance and scores of labels: checks, ranks, and how many pairs are in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skrank_abstain._validation import FloatArray, IntArray


def check_label_matrix(values: Any, name: str, shape: Any = (None, None)) -> FloatArray:
    """Return one finite float64 per sample and label.

    Parameters
    ----------
    values : array-like or sparse matrix of shape (n_samples, n_labels)
    name : str
        Name of the parameter, for the message.
    shape : tuple of two int or None, default=(None, None)
        What the shape has to be; None: any.

    Returns
    -------
    matrix : ndarray of shape (n_samples, n_labels), float64, C-contiguous

    Raises
    ------
    ValueError
        If the shape is another, or a value is no finite number.
    """
    array = values.toarray() if issparse(values) else np.asarray(values)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be of shape (n_samples, n_labels), one column for each "
            f"label, got {array.ndim}D array of shape {array.shape}."
        )
    if array.shape[1] == 0:
        raise ValueError(f"{name} must have at least one label, got {array.shape}.")
    for axis, (got, asked) in enumerate(zip(array.shape, shape, strict=True)):
        if asked is not None and got != asked:
            what = ("samples", "labels")[axis]
            raise ValueError(
                f"{name} must have {asked} {what}, got shape {array.shape} "
                "(inconsistent numbers of samples or labels)."
            )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has {array.dtype}.")
    try:
        if array.dtype.kind not in "iufbO":  # text that looks like a number is none
            raise TypeError
        matrix = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, higher is better, got dtype {array.dtype}."
        ) from error
    if not np.isfinite(matrix).all():
        row, label = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"{name} must be finite, got {matrix[row, label]} at sample {row}, label "
            f"{label} (NaN or infinity)."
        )
    return matrix


def label_ranks(scores: ArrayLike) -> IntArray:
    """Return the rank of each label among those of its sample.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_labels)
        Higher is better, as ``decision_function`` of a multilabel ranker returns.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_labels), int64
        1 is the best. Of labels of equal score the one of smaller index comes first,
        so that each row is a permutation.

    Raises
    ------
    ValueError
        If the scores are not a matrix of finite numbers.

    Notes
    -----
    O(n_samples * n_labels * log(n_labels)).

    Examples
    --------
    >>> from skrank_abstain.estimators.multilabel import label_ranks
    >>> label_ranks([[0.1, 0.9, 0.4], [0.5, 0.5, 0.7]])
    array([[3, 1, 2],
           [2, 3, 1]])
    """
    matrix = check_label_matrix(scores, "scores")
    order = np.argsort(-matrix, axis=1, kind="stable")
    ranks = np.empty(matrix.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, matrix.shape[1] + 1)[None], axis=1)
    return ranks


def misordered_share(relevance: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the share of each sample's label pairs that the scores get wrong.

    Parameters
    ----------
    relevance, scores : ndarray of shape (n_samples, n_labels), float64

    Returns
    -------
    share : ndarray of shape (n_samples,), float64
        Of the pairs of labels of different relevance; equal scores count half. In
        [0, 1], lower is better; 0 where all labels are equally relevant.
    """
    from skrank_abstain._kernels.labels import misordered_label_pairs

    misordered, n_pairs = np.empty((2, relevance.shape[0]))
    misordered_label_pairs(scores, relevance, misordered, n_pairs)
    return misordered / np.maximum(n_pairs, 1.0)
