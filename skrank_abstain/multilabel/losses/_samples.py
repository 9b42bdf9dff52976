"""Losses of label rankings, one value per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_choice
from skrank_abstain.multilabel.losses import _rows
from skrank_abstain.multilabel.losses._label_arrays import check_top, ranked_labels

#: Losses that look at the top p labels, and the others.
_TOP: dict[str, Callable[[_rows.RankedLabels, int], FloatArray]] = {
    "sum": _rows.sum_loss,
    "precision": _rows.precision_loss,
    "dcg": _rows.dcg_loss,
}
_WHOLE: dict[str, Callable[[_rows.RankedLabels], FloatArray]] = {
    "pairwise": _rows.pairwise_loss,
    "auc": _rows.auc_loss,
    "average_precision": _rows.average_precision_loss,
    "reciprocal_rank": _rows.reciprocal_rank_loss,
}
#: Defined for relevant and irrelevant labels alone.
_BINARY = ("auc", "average_precision", "reciprocal_rank")


def multilabel_sample_losses(
    y_true: Any,
    y_score: ArrayLike,
    *,
    loss: str = "sum",
    p: int | None = None,
    ties: str = "index",
) -> FloatArray:
    """Return a loss of the label ranking of each sample.

    Lower is better, from 0 [1]_. The mean over samples is what
    ``multilabel_<loss>_loss`` returns for the same ``ties``; its ``ties="max"``, where
    it has it, is not offered here. The values are for standard errors, for comparisons
    sample by sample, and for `OnlineMultilabelRanker`.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better; 0 and 1 only for "auc",
        "average_precision" and "reciprocal_rank".
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    loss : str, default="sum"
        "sum", "precision", "dcg", "pairwise", "auc", "average_precision" or
        "reciprocal_rank".
    p : int, default=None
        Number of top positions, from 1 to n_labels, of the first three losses. None:
        all, except for "precision", which needs it.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.

    Returns
    -------
    losses : ndarray of shape (n_samples,), float64

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not of the
        kind that the loss takes, ``loss`` or ``ties`` is unknown, or ``p`` is out of
        range, missing, or given to a loss that looks at all labels.

    See Also
    --------
    multilabel_sum_loss, multilabel_precision_loss, multilabel_dcg_loss,
    multilabel_pairwise_loss, multilabel_auc_loss, multilabel_average_precision_loss,
    multilabel_reciprocal_rank_loss : Formulas and means.

    Notes
    -----
    ``functools.partial(multilabel_sample_losses, loss="sum", p=3)`` is a loss
    ``(y_true, y_score) -> losses`` that can be pickled.
    O(n_samples n_labels log n_labels), and for "pairwise" with G grades
    O(n_samples n_labels (G + log n_labels)).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_sample_losses
    >>> y, s = [[1, 0, 1], [0, 0, 1]], [[0.9, 0.8, 0.1], [0.2, 0.4, 0.3]]
    >>> multilabel_sample_losses(y, s, loss="auc")
    array([0.5, 0.5])
    >>> multilabel_sample_losses(y, s, loss="precision", p=1)
    array([0., 1.])
    """
    check_choice(loss, "loss", (*_TOP, *_WHOLE))
    # One ranking serves every loss; what differs is what is read off it.
    ranked = ranked_labels(y_true, y_score, ties, binary=loss in _BINARY)
    if loss in _TOP:
        if p is None and loss == "precision":
            raise ValueError(
                "p must be given with loss='precision', got None: the top n_labels "
                "miss nothing."
            )
        return _TOP[loss](ranked, check_top(p, ranked.y.shape[1]))
    if p is not None:
        raise ValueError(
            f"p must be None with loss={loss!r}, which looks at all labels, got {p}."
        )
    return _WHOLE[loss](ranked)
