"""Relevance and scores of labels: checks, and how many pairs are in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from skrank_abstain._validation import FloatArray
from skrank_abstain.multilabel.losses._rows import pairwise_loss, rank_labels


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
    by_score = rank_labels(relevance, scores, average=True)
    reversed_ = rank_labels(relevance, -relevance, average=True)  # all pairs are wrong
    share: FloatArray = pairwise_loss(by_score) / np.maximum(
        pairwise_loss(reversed_), 1.0
    )
    return share
