"""Relevance and scores of labels: checks, and how many pairs are in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from skrank_abstain._validation import FloatArray, check_finite, refuse_lazy
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
        If the shape is another, or a value is not a finite number.
    """
    refuse_lazy(values, name)
    dense = values.toarray() if issparse(values) else values
    matrix = check_finite(
        dense,
        name,
        ("n_samples", "n_labels"),
        allow_empty=True,
        remedy=" It has one column for each label, higher is better.",
    )
    if matrix.shape[1] == 0:
        raise ValueError(f"{name} must have at least one label, got {matrix.shape}.")
    for axis, (got, asked) in enumerate(zip(matrix.shape, shape, strict=True)):
        if asked is not None and got != asked:
            what = ("samples", "labels")[axis]
            raise ValueError(
                f"{name} must have {asked} {what}, got shape {matrix.shape} "
                "(inconsistent numbers of samples or labels)."
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
    # Raman, Subedi and Tewari (2023) leave the loss undefined where no two labels
    # differ in relevance. No pair can be wrong then: it is 0 here, and the maximum
    # keeps it from being 0 / 0.
    share: FloatArray = pairwise_loss(by_score) / np.maximum(
        pairwise_loss(reversed_), 1.0
    )
    return share
