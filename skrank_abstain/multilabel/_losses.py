"""Losses of label rankings, and ranks, on arrays of shape (n_samples, n_labels)."""

from __future__ import annotations

from collections.abc import Callable
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
    refuse_lazy,
)
from skrank_abstain.multilabel import _ranked_labels as rows

#: Losses of the top p labels, of all graded labels, and of relevant labels.
TOP_LOSSES: dict[str, Callable[[rows.RankedLabels, int], FloatArray]] = {
    "sum": rows.sum_loss,
    "precision": rows.precision_loss,
    "dcg": rows.dcg_loss,
}
_GRADED: dict[str, Callable[[rows.RankedLabels], FloatArray]] = {
    "pairwise": rows.pairwise_loss,
    "misordered_share": rows.misordered_share,
}
_BINARY: dict[str, Callable[[rows.RankedLabels], FloatArray]] = {
    "auc": rows.misordered_share,
    "average_precision": rows.average_precision_loss,
    "reciprocal_rank": rows.reciprocal_rank_loss,
}

#: Grades above it have gains, 2**y - 1, or sums of gains that no float holds.
LARGEST_GRADE = 1000


def multilabel_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    loss: str = "sum",
    p: int | None = None,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean loss of the label rankings of samples.

    Lower is better, from 0: no ranking of the labels is better.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better; only 0 and 1 for the last
        three losses.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    loss : str, default="sum"
        "sum", "precision", "dcg", "pairwise", "misordered_share", "auc",
        "average_precision" or "reciprocal_rank"; see Notes.
    p : int, default=None
        Number of top positions, from 1 to n_labels, of the first three losses. None:
        all, except for "precision", which needs it.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples in the mean.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not what the
        loss needs, a choice is unknown, all weights are zero, or ``p`` is out of range,
        missing, or given to a loss of all labels.

    See Also
    --------
    multilabel_sample_losses : One value for each sample.
    sklearn.metrics.label_ranking_loss : "auc" with equal scores counted as wrong.
    sklearn.metrics.label_ranking_average_precision_score : One minus
        "average_precision", with another rule for equal scores.
    sklearn.metrics.ndcg_score : The discounted gain as a share of the largest.

    Notes
    -----
    With ranks r (1 for the best) and relevance y of the labels of one sample, the
    losses of [1]_ are:

    - "sum": sum of min(r, p + 1) y, minus its smallest value: the order of the top p;
    - "precision": the p largest y, minus the sum of y with r <= p: the set of the top
      p. For 0/1 relevance p times the missing precision at p;
    - "dcg": the largest discounted cumulative gain at p, minus the sum of
      (2**y - 1) / log2(1 + r) with r <= p;
    - "pairwise": the number of pairs of labels with y_i > y_j and r_i > r_j;
    - "misordered_share": the same as a share of the pairs with y_i > y_j;
    - "auc": that share for relevant and irrelevant labels, one minus the area under the
      ROC curve;
    - "average_precision": one minus the mean over relevant labels i of
      #{j relevant: r_j <= r_i} / r_i; with ``ties="average"`` as in [2]_;
    - "reciprocal_rank": one minus 1 / r of the best-ranked relevant label.

    A sample whose labels are all equally relevant costs 0. [1]_ counts the
    reciprocal-rank loss among those that look at the top label only; by its own
    definition it is not one of them, see `loss_family_membership`.

    ``functools.partial(multilabel_loss, loss="sum", p=3)`` is a loss
    ``(y_true, y_score) -> float`` that can be pickled. O(n_samples n_labels log
    n_labels), for "pairwise" and "misordered_share" with G grades
    O(n_samples n_labels (G + log n_labels)).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.
    .. [2] McSherry and Najork (2008). "Computing Information Retrieval Performance
       Measures Efficiently in the Presence of Tied Scores". ECIR 2008.
       doi:10.1007/978-3-540-78646-7_38.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_loss
    >>> y, s = [[2, 0, 1]], [[0.3, 0.9, 0.5]]
    >>> multilabel_loss(y, s, loss="sum", p=1)  # 2*2 + 1*2 - (2 + 2)
    2.0
    >>> multilabel_loss(y, s, loss="pairwise")
    3.0
    >>> round(multilabel_loss([[1, 0, 1]], s, loss="average_precision"), 3)
    0.417
    """
    values = multilabel_sample_losses(y_true, y_score, loss=loss, p=p, ties=ties)
    weight = check_sample_weight(sample_weight, values.size, unit="sample")
    # np.average would raise a ZeroDivisionError, which names no parameter.
    if weight is not None and weight.sum() == 0:
        raise ValueError("sample_weight must not be zero for all samples.")
    return float(np.average(values, weights=weight))


def multilabel_sample_losses(
    y_true: Any,
    y_score: ArrayLike,
    *,
    loss: str = "sum",
    p: int | None = None,
    ties: str = "index",
) -> FloatArray:
    """Return the loss of the label ranking of each sample.

    Lower is better, from 0. For standard errors, for comparisons sample by sample, and
    for `OnlineMultilabelRanker`.

    Parameters
    ----------
    y_true, y_score, loss, p, ties
        As for `multilabel_loss`, which returns the mean of these losses and explains
        them.

    Returns
    -------
    losses : ndarray of shape (n_samples,), float64

    Raises
    ------
    TypeError, ValueError
        As `multilabel_loss`.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_sample_losses
    >>> y, s = [[1, 0, 1], [0, 0, 1]], [[0.9, 0.8, 0.1], [0.2, 0.4, 0.3]]
    >>> multilabel_sample_losses(y, s, loss="auc")
    array([0.5, 0.5])
    >>> multilabel_sample_losses(y, s, loss="precision", p=1)
    array([0., 1.])
    """
    check_choice(loss, "loss", (*TOP_LOSSES, *_GRADED, *_BINARY))
    check_choice(ties, "ties", ("index", "average"))
    y = check_label_matrix(y_true, "y_true")
    scores = check_label_matrix(y_score, "y_score", y.shape)
    # 2**y - 1 is a gain for grades only.
    unknown = (y < 0) | (y != np.rint(y)) | (y > LARGEST_GRADE)
    if unknown.any():
        raise ValueError(
            f"y_true must hold integer grades from 0 to {LARGEST_GRADE}, higher is "
            f"better, got {y[unknown][0]}."
        )
    if loss in _BINARY and (y > 1).any():
        raise ValueError(
            f"y_true must hold 0 and 1 only, got {y[y > 1][0]}. For graded relevance "
            f"take one of the losses {', '.join([*TOP_LOSSES, *_GRADED])}."
        )
    ranked = rows.rank_labels(y, scores, average=ties == "average")
    if loss in TOP_LOSSES:
        return TOP_LOSSES[loss](ranked, check_top(p, y.shape[1], "loss", loss))
    if p is not None:
        raise ValueError(
            f"p must be None with loss={loss!r}, which looks at all labels, got {p}."
        )
    return (_GRADED | _BINARY)[loss](ranked)


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
    The tie rule of Raman, Subedi and Tewari (2023). O(n_samples n_labels log n_labels).

    Examples
    --------
    >>> from skrank_abstain.multilabel import label_ranks
    >>> label_ranks([[0.1, 0.9, 0.4], [0.5, 0.2, 0.5]])
    array([[3, 1, 2],
           [1, 3, 2]])
    """
    # The inverse of a permutation: position in the order, by label.
    order = rows.order_labels(check_label_matrix(y_score, "y_score"))
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None], axis=1)
    return ranks


def check_label_matrix(values: Any, name: str, shape: Any = (None, None)) -> FloatArray:
    """Return one finite float64 per sample and label.

    ``shape`` is what the shape has to be, None for any number of samples or labels.
    """
    refuse_lazy(values, name)
    matrix = check_finite(
        values.toarray() if issparse(values) else values,
        name,
        ("n_samples", "n_labels"),
        remedy=" It has one column for each label, higher is better.",
    )
    for what, got, asked in zip(
        ("samples", "labels"), matrix.shape, shape, strict=True
    ):
        if asked not in (None, got):
            raise ValueError(
                f"{name} must have {asked} {what}, got shape {matrix.shape} "
                "(inconsistent numbers of samples or labels)."
            )
    return matrix


def check_top(p: Any, n_labels: int, name: str, value: str) -> int:
    """Return the number of top positions of a loss or family called ``value``."""
    if p is None and value == "precision":
        raise ValueError(
            f"p must be given with {name}='precision', got None: the top n_labels miss "
            "nothing."
        )
    return n_labels if p is None else check_between(p, "p", 1, n_labels)


def check_between(value: Any, name: str, low: int, high: int) -> int:
    """Return an integer from ``low`` to ``high``."""
    number = check_positive_int(value, name, minimum=low)
    if number > high:
        raise ValueError(f"{name} must be at most {high}, got {number}.")
    return number
