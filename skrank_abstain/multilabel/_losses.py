"""Losses of label rankings, and ranks, on arrays of shape (n_samples, n_labels).

Each loss is a function of `RankedLabels`. A label takes each position of its group of
equal scores with the same probability; the functions return the expected loss, which is
the loss itself if no scores are equal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import rankdata

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_positive_int,
    check_sample_weight,
    listed,
    refuse_lazy,
)


class RankedLabels(NamedTuple):
    """Relevance in the order of the scores, and the groups of equal scores.

    Attributes
    ----------
    y : ndarray of shape (n_samples, n_labels), float64
        Relevance of the label at each position, best score first.
    start, stop : ndarray of shape (n_samples or 1, n_labels), int64
        First position of the group that a position belongs to, and the one after
        its last.
    """

    y: FloatArray
    start: IntArray
    stop: IntArray

    @property
    def size(self) -> IntArray:
        """Number of labels in the group of each position."""
        return self.stop - self.start


def order_labels(scores: FloatArray) -> IntArray:
    """Return the labels of each row, best score first, then smaller index."""
    # Stable, so that equal scores keep the order of the columns: the paper's tie rule.
    return np.argsort(-scores, axis=1, kind="stable").astype(np.int64)


def rank_labels(y: FloatArray, scores: FloatArray, *, average: bool) -> RankedLabels:
    """Order relevance by scores; equal scores form groups if ``average``."""
    order = order_labels(scores)
    ranked = np.take_along_axis(y, order, axis=1)
    if not average:
        position = np.arange(y.shape[1], dtype=np.int64)[np.newaxis]
        return RankedLabels(ranked, position, position + 1)
    first, last = (
        np.take_along_axis(rankdata(-scores, method=by, axis=1), order, axis=1)
        for by in ("min", "max")
    )
    return RankedLabels(ranked, first - 1, last)


def sum_loss(ranked: RankedLabels, p: int) -> FloatArray:
    """Sum of min(rank, p + 1) y, minus the smallest such sum."""
    return _missed(ranked, np.maximum(-1.0 * _ranks(ranked), -p - 1.0), ranked.y)


def precision_loss(ranked: RankedLabels, p: int) -> FloatArray:
    """Sum of the p largest y, minus the sum over the top p."""
    top = (_ranks(ranked) <= p).astype(np.float64)
    return _missed(ranked, top, ranked.y)


def dcg_loss(ranked: RankedLabels, p: int) -> FloatArray:
    """Largest sum of (2**y - 1) / log2(1 + rank) over the top p, minus this one."""
    ranks = _ranks(ranked)
    return _missed(ranked, (ranks <= p) / np.log2(ranks + 1), np.exp2(ranked.y) - 1)


def pairwise_loss(ranked: RankedLabels) -> FloatArray:
    """Count the pairs of labels in which the less relevant one is ranked better."""
    # Grades may be few and far between: 0 and 1000 are two levels.
    level = rankdata(ranked.y, method="dense", axis=1)
    # Grade by grade, each against all below it: linear in the labels, where pairs are
    # quadratic.
    loss = np.zeros(ranked.y.shape[0])
    for grade in range(2, int(level.max(initial=1)) + 1):
        # Each worse label above counts twice, and one of an equal score once.
        above, until = _counts_around(ranked, level < grade)
        loss += ((level == grade) * (above + until)).sum(axis=1) / 2
    return loss


def misordered_share(ranked: RankedLabels) -> FloatArray:
    """`pairwise_loss` as a share of the pairs of different relevance, or 0."""
    worst = rank_labels(ranked.y, -ranked.y, average=True)
    # 0 / 1 in place of 0 / 0 where all labels are equally relevant.
    return pairwise_loss(ranked) / np.maximum(pairwise_loss(worst), 1.0)


def average_precision_loss(ranked: RankedLabels) -> FloatArray:
    """One minus the mean precision at the ranks of the relevant labels, or 0."""
    total = ranked.y.sum(axis=1)
    before, until = _counts_around(ranked, ranked.y)
    tied = until - before
    position = np.arange(ranked.y.shape[1])
    # McSherry and Najork (2008): given a relevant label at this position, the other
    # relevant ones of its group are spread evenly over the group's other positions.
    others = (position - ranked.start) * (tied - 1) / np.maximum(ranked.size - 1, 1)
    precision = (before + 1 + others) / (position + 1)
    mean = (tied / ranked.size * precision).sum(axis=1) / np.maximum(total, 1)
    return np.where(total > 0, np.maximum(1 - mean, 0.0), 0.0)


def reciprocal_rank_loss(ranked: RankedLabels) -> FloatArray:
    """One minus the reciprocal rank of the first relevant label, or 0."""
    before, until = _counts_around(ranked, ranked.y)
    ranks = _ranks(ranked)
    # Probability that no relevant label is among the first k positions: the labels of
    # a group are drawn without replacement.
    none = np.cumprod(1 - (until - before) / (ranked.stop - ranks + 1), axis=1)
    first = -np.diff(none, axis=1, prepend=1.0)
    reciprocal = (first / ranks).sum(axis=1)
    return np.where(ranked.y.any(axis=1), np.maximum(1 - reciprocal, 0.0), 0.0)


def _ranks(ranked: RankedLabels) -> IntArray:
    return np.arange(1, ranked.y.shape[1] + 1)


def _missed(ranked: RankedLabels, weights: FloatArray, gains: FloatArray) -> FloatArray:
    """Largest sum of gains times weights that a ranking has, minus that of this one.

    ``weights`` belong to positions and do not increase.
    """
    total = np.append(0.0, np.cumsum(weights))
    mean = (total[ranked.stop] - total[ranked.start]) / ranked.size
    # The weight itself where there is no tie, so that the best ranking loses exactly 0.
    exact = np.where(ranked.size == 1, weights, mean)
    # Rearrangement inequality: the best order is that of decreasing gains.
    best = (-np.sort(-gains, axis=1) * weights).sum(axis=1)
    # Rounding may take a loss of 0 below it.
    return np.asarray(np.maximum(best - (gains * exact).sum(axis=1), 0.0))


def _counts_around(
    ranked: RankedLabels, marked: BoolArray | FloatArray
) -> tuple[IntArray, IntArray]:
    """Count the marked labels before the group of each position, and up to its end."""
    count = np.pad(np.cumsum(marked, axis=1, dtype=np.int64), ((0, 0), (1, 0)))
    before = np.take_along_axis(count, ranked.start, axis=1)
    return before, np.take_along_axis(count, ranked.stop, axis=1)


#: Losses of the top p labels, of all graded labels, and of relevant labels.
TOP_LOSSES: dict[str, Callable[[RankedLabels, int], FloatArray]] = {
    "sum": sum_loss,
    "precision": precision_loss,
    "dcg": dcg_loss,
}
_GRADED: dict[str, Callable[[RankedLabels], FloatArray]] = {
    "pairwise": pairwise_loss,
    "misordered_share": misordered_share,
}
_BINARY: dict[str, Callable[[RankedLabels], FloatArray]] = {
    "auc": misordered_share,
    "average_precision": average_precision_loss,
    "reciprocal_rank": reciprocal_rank_loss,
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
        loss needs, a choice is unknown, or ``p`` is out of range,
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
    reciprocal-rank loss among the losses of the top label only; by its own
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
    ranked = rank_labels(y, scores, average=ties == "average")
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
    scores = check_label_matrix(y_score, "y_score")
    return np.asarray(rankdata(-scores, method="ordinal", axis=1), dtype=np.int64)


def check_label_relevance(y: Any, shape: Any, *, every: bool = False) -> FloatArray:
    """Return relevance as `check_label_matrix` does, NaN where it is unknown.

    With ``every``, some value of each label has to be known.
    """
    matrix = check_label_matrix(y, "y", shape, allow_nan=True)
    unknown = np.isnan(matrix)
    # Among other real numbers -1 is a relevance.
    codes = np.array_equal(matrix[~unknown], np.rint(matrix[~unknown]))
    bad = unknown.all(axis=1) | (codes & (matrix == -1).any(axis=1))
    if bad.any() or (every and unknown.all(axis=0).any()):
        raise ValueError(
            "y must hold NaN, not -1, for unknown labels (0 for irrelevant ones), and "
            "a known label in each row; to fit, also a known value in each column; got "
            f"{listed(matrix[bad.argmax()].tolist())} in row {bad.argmax()}. Leave out "
            "rows and columns of which nothing is known."
        )
    return matrix


def losses_of_known(
    loss: Callable[[RankedLabels], FloatArray], y: FloatArray, scores: FloatArray
) -> FloatArray:
    """Return the loss of each sample as if it had only the labels that are not NaN.

    Equal scores form groups.
    """
    known = ~np.isnan(y)
    counts = known.sum(axis=1)
    losses = np.empty(counts.size)
    for count in np.unique(counts):
        part = known & (counts == count)[:, None]
        few = (values[part].reshape(-1, count) for values in (y, scores))
        losses[counts == count] = loss(rank_labels(*few, average=True))
    return losses


def check_label_matrix(
    values: Any, name: str, shape: Any = (None, None), *, allow_nan: bool = False
) -> FloatArray:
    """Return one finite float64 per sample and label.

    ``shape`` is what the shape has to be, None for any number of samples or labels.
    """
    refuse_lazy(values, name)
    matrix = check_finite(
        values.toarray() if issparse(values) else values,
        name,
        ("n_samples", "n_labels"),
        allow_nan=allow_nan,
        remedy=" It has one column for each label, higher is better.",
    )
    for axis, what in enumerate(("samples", "labels")):
        if shape[axis] not in (None, matrix.shape[axis]):
            raise ValueError(
                f"{name} must have {shape[axis]} {what}, got shape {matrix.shape} "
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
