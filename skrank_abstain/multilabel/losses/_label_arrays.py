"""What the metrics of label rankings share: checks of matrices, ranks, averages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_finite,
    check_positive_int,
    check_sample_weight,
)
from skrank_abstain.multilabel.losses._rows import (
    RankedLabels,
    order_labels,
    rank_labels,
)

#: What may stand for equal scores.
TIES = ("index", "average")

#: Grades above it have gains, 2**y - 1, or sums of gains that no float holds.
LARGEST_GRADE = 1000


def label_ranks(y_score: ArrayLike) -> IntArray:
    """Return the rank of each label in its row, 1 for the best.

    Parameters
    ----------
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_labels), int64
        In each row a permutation of 1, ..., n_labels: of equal scores, the one with
        the smaller label index gets the better rank.

    Raises
    ------
    ValueError
        If ``y_score`` is not a non-empty matrix of finite numbers.

    See Also
    --------
    scipy.stats.rankdata : Ranks by other rules for ties, as of ``-y_score``.

    Notes
    -----
    The rule for ties of [1]_. ``-ranks`` are scores with the same ranking: to evaluate
    ranks in place of scores, pass them with a minus sign. O(n_samples n_labels log
    n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import label_ranks
    >>> label_ranks([[0.1, 0.9, 0.4], [0.5, 0.2, 0.5]])
    array([[3, 1, 2],
           [1, 3, 2]])
    """
    # The inverse of a permutation: position in the order, by label.
    order = order_labels(check_matrix(y_score, "y_score"))
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None], axis=1)
    return ranks


def check_matrix(values: Any, name: str) -> FloatArray:
    """Return a non-empty, finite matrix as float64; a sparse one is made dense."""
    # Losses need all scores of a row in order: zeros count as much as the rest.
    dense = values.toarray() if issparse(values) else values
    return check_finite(dense, name, ("n_samples", "n_labels"))


def check_top(p: Any, n_labels: int) -> int:
    """Return the number of top positions; None stands for all labels."""
    if p is None:
        return n_labels
    number = check_positive_int(p, "p")
    if number > n_labels:
        raise ValueError(
            f"p must be at most the number of labels, {n_labels}, got {p}."
        )
    return number


def ranked_labels(
    y_true: Any, y_score: Any, ties: str, *, binary: bool = False
) -> RankedLabels:
    """Check relevance and scores, and return the relevance in ranked order."""
    check_choice(ties, "ties", TIES)
    y, scores = check_labels_and_scores(y_true, y_score, binary=binary)
    return rank_labels(y, scores, average=ties == "average")


def check_labels_and_scores(
    y_true: Any, y_score: Any, *, binary: bool
) -> tuple[FloatArray, FloatArray]:
    """Check relevance and scores of the same shape."""
    y = check_matrix(y_true, "y_true")
    scores = check_matrix(y_score, "y_score")
    if y.shape != scores.shape:
        raise ValueError(
            "y_true and y_score must have the same shape (n_samples, n_labels), got "
            f"{y.shape} and {scores.shape} (inconsistent numbers of samples or labels)."
        )
    # Grades, not any numbers: 2**y - 1 is a gain for those alone.
    unknown = (y < 0) | (y != np.rint(y)) | (y > LARGEST_GRADE)
    if unknown.any():
        raise ValueError(
            f"y_true must hold integer grades from 0 to {LARGEST_GRADE}, higher is "
            f"better, got {y[unknown][0]}."
        )
    if binary and (y > 1).any():
        raise ValueError(
            f"y_true must hold 0 and 1 only, got {y[y > 1][0]}. For graded relevance "
            "there are the sum, precision, pairwise and DCG losses."
        )
    return y, scores


def mean_over_samples(values: FloatArray, sample_weight: ArrayLike | None) -> float:
    """Weighted mean of one value per row."""
    weight = check_row_weights(sample_weight, values.size)
    return float(np.average(values, weights=weight))


def check_row_weights(
    sample_weight: ArrayLike | None, n_samples: int
) -> FloatArray | None:
    """Check the weights of the rows in a mean."""
    # numpy's average of no weight is a ZeroDivisionError, which names no parameter.
    weight = check_sample_weight(sample_weight, n_samples, unit="sample")
    if weight is not None and weight.sum() == 0:
        raise ValueError("sample_weight must not be zero for all samples.")
    return weight
