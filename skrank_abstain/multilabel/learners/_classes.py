"""Finite classes of rankings: checks, BinRel, and learners that pick a member.

A class is an array of ranks, (n_hypotheses, n_points, n_labels): the ranking of each
point of a finite domain by each hypothesis. The *threshold class* of label i and rank j
is the set of binary functions ``bin_rel(class_ranks, j)[:, :, i]``.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_finite,
    shown,
)
from skrank_abstain.multilabel._losses import check_between
from skrank_abstain.multilabel.learners._families import check_function, family_loss

#: A learner ``(class_ranks, points, relevance) -> number of a row of class_ranks``.
Learner = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], int]


def bin_rel(ranks: ArrayLike, j: int) -> IntArray:
    """Return the relevance that says which labels a ranking has in its top j.

    Parameters
    ----------
    ranks : array-like of shape (..., n_labels), int
        Permutations of the ranks 1 (best) to n_labels.
    j : int
        Number of top positions, from 1 to n_labels.

    Returns
    -------
    relevance : ndarray of shape (..., n_labels), int64
        1 for the labels of rank j or better, and 0 for the others.

    Raises
    ------
    TypeError
        If ``j`` is not an integer.
    ValueError
        If ``ranks`` does not hold permutations, or ``j`` is out of range.

    Notes
    -----
    ``BinRel(r, j)`` of Raman, Subedi and Tewari (2023). Column i of
    ``bin_rel(class_ranks, j)`` is the threshold class of label i and rank j, a class of
    binary functions.

    Examples
    --------
    >>> from skrank_abstain.multilabel import bin_rel
    >>> bin_rel([[2, 3, 1], [1, 2, 3]], j=2)
    array([[1, 0, 1],
           [1, 1, 0]])
    """
    array = _check_permutations(_as_array(ranks, "ranks"), "ranks")
    return in_top(array, check_between(j, "j", 1, array.shape[-1]))


def in_top(ranks: IntArray, j: int) -> IntArray:
    """Return `bin_rel` of ranks that are known to be permutations."""
    relevance: IntArray = (ranks <= j).astype(np.int64)
    return relevance


def least_loss_learner(family: str, p: int) -> Learner:
    """Return the learner that takes the first row of least family loss at p."""

    def learn(class_ranks: IntArray, points: IntArray, relevance: IntArray) -> int:
        losses = family_loss(class_ranks[:, points], relevance, family, p)
        return int(np.argmin(losses.sum(axis=1)))

    return learn


def check_learner(learner: Learner | None) -> None:
    """Raise where a learner is neither None nor a function of three arguments."""
    if learner is not None:
        check_function(learner, "learner", "learner(class_ranks, points, relevance)")


def learned_row(
    learner: Learner, class_ranks: IntArray, points: IntArray, relevance: IntArray
) -> int:
    """Return the row that a learner picks; refuse anything but a row number."""
    # The user's function may return anything.
    row: Any = learner(class_ranks, points, relevance)
    if not isinstance(row, Integral) or int(row) not in range(len(class_ranks)):
        raise ValueError(
            "learner must return the number of a row of class_ranks, 0 to "
            f"{len(class_ranks) - 1}, got {shown(row)}."
        )
    return int(row)


def check_class(class_ranks: ArrayLike) -> IntArray:
    """Return the ranks of a class as integers, or raise."""
    ranks = _as_array(class_ranks, "class_ranks")
    if ranks.ndim != 3 or ranks.size == 0:
        raise ValueError(
            "class_ranks must be of shape (n_hypotheses, n_points, n_labels), at least "
            f"one of each, got shape {ranks.shape}."
        )
    return _check_permutations(ranks, "class_ranks")


def check_points(points: ArrayLike, name: str, n_points: int) -> IntArray:
    """Return numbers of points of the domain, or raise."""
    array = _as_array(points, name)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a non-empty 1d array of integers, got shape {array.shape} "
            f"of {array.dtype}."
        )
    outside = (array < 0) | (array >= n_points)
    if outside.any():
        raise ValueError(
            f"{name} must be points from 0 to {n_points - 1}, got {array[outside][0]}."
        )
    return array.astype(np.int64)


def check_label_relevance(
    y: ArrayLike, n_samples: int, n_labels: int, unit: str
) -> FloatArray:
    """Return the relevance of the labels of points, or raise."""
    array = check_finite(y, "y", ("n_rows", "n_labels"))
    if array.shape != (n_samples, n_labels):
        raise ValueError(
            f"y must have one row per {unit} and one column per label, shape "
            f"{(n_samples, n_labels)}, got {array.shape}."
        )
    return array


def check_binary(y: ArrayLike, n_samples: int, unit: str) -> IntArray:
    """Return one 0 or 1 per labelled point or round, or raise."""
    array = _as_array(y, "y")
    if array.shape != (n_samples,):
        raise ValueError(
            f"y must have one value per {unit}, shape {(n_samples,)}, got "
            f"{array.shape}."
        )
    return zeros_and_ones(array, "y")


def zeros_and_ones(array: NDArray[Any], name: str) -> IntArray:
    """Return 0 and 1 as integers, or raise where there is another number."""
    wrong = ~np.isin(array, (0, 1))
    if wrong.any():
        raise ValueError(
            f"{name} must hold 0 and 1 alone, got {shown(array[wrong].tolist()[0])}."
        )
    return array.astype(np.int64)


def _as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return finite numbers with the dtype that they came in, or raise."""
    check_finite(values, name)
    return np.asarray(values)


def _check_permutations(ranks: NDArray[Any], name: str) -> IntArray:
    if ranks.ndim == 0 or ranks.size == 0:
        raise ValueError(
            f"{name} must have labels along its last axis, got shape {ranks.shape}."
        )
    wrong = (np.sort(ranks, axis=-1) != np.arange(1, ranks.shape[-1] + 1)).any(axis=-1)
    if wrong.any():
        raise ValueError(
            f"{name} must hold permutations of 1 to {ranks.shape[-1]}, got "
            f"{ranks[wrong].reshape(-1, ranks.shape[-1])[0].tolist()}."
        )
    return ranks.astype(np.int64)
