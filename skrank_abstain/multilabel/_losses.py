"""Losses of label rankings, and finite classes of rankings by brute force.

Each loss is a function of `RankedLabels`. A label takes each position of its group of
equal scores with the same probability; the functions return the expected loss, which is
the loss itself if no scores are equal.

The *sum loss* at p charges each label ``min(rank, p + 1)`` times its relevance, the
*precision loss* at p the relevance that is missing from the top p. The sum loss sees
which label is at each of the top p positions; the precision loss sees only their set.

A class is an array of ranks, (n_hypotheses, n_points, n_labels): the ranking of each
point of a finite domain by each hypothesis. The *threshold class* of label i and rank j
is the set of binary functions ``bin_rel(class_ranks, j)[:, :, i]``, a matrix with one
row for each function and one column for each point.
"""

import math
from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_positive_int,
    check_row_order,
    check_sample_weight,
    listed,
    names_of_columns,
    refuse_lazy,
    refuse_values,
    shown,
)
from skrank_abstain._warnings import warn_user


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


def rank_labels(y: FloatArray, scores: FloatArray, *, average: bool) -> RankedLabels:
    """Order relevance by scores; equal scores form groups if ``average``."""
    # Stable, so that equal scores keep the order of the columns: the paper's tie rule.
    order = np.argsort(-scores, axis=1, kind="stable")
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
    return _missed(ranked, (_ranks(ranked) <= p).astype(np.float64), ranked.y)


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
    reciprocal = (-np.diff(none, axis=1, prepend=1.0) / ranks).sum(axis=1)
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
TOP_LOSSES = {"sum": sum_loss, "precision": precision_loss, "dcg": dcg_loss}
_GRADED = {"pairwise": pairwise_loss, "misordered_share": misordered_share}
_BINARY = {
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
    check_same_labels(y_true=y_true, y_score=y_score)
    whole = np.asarray(y_score).dtype.kind == "i" and y.shape[1] > 2
    if whole and (np.sort(scores) == np.arange(1, y.shape[1] + 1)).all():
        warn_user("y_score must be higher for better labels: pass ranks as -ranks.")
    # 2**y - 1 is a gain for grades only.
    unknown = (y < 0) | (y != np.rint(y)) | (y > LARGEST_GRADE)
    rule = f"y_true must hold integer grades from 0 to {LARGEST_GRADE}"
    refuse_values(y, unknown, rule, " Higher is better.")
    if loss in _BINARY:
        others = ", ".join([*TOP_LOSSES, *_GRADED])
        remedy = f" For graded relevance take one of the losses {others}."
        refuse_values(y, y > 1, "y_true must hold 0 and 1 only", remedy)
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
        If ``y_score`` is not a matrix of finite numbers.

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
    scores = check_label_matrix(y_score, "y_score", allow_empty=True)
    return np.asarray(rankdata(-scores, method="ordinal", axis=1), dtype=np.int64)


def check_label_relevance(
    y: Any, shape: Any, *, every: bool = False, names: Any = None
) -> FloatArray:
    """Return relevance as `check_label_matrix` does, NaN where it is unknown.

    With ``every``, some value of each label has to be known. ``names`` of the columns,
    where they have any, are for the message.
    """
    matrix = check_label_matrix(y, "y", shape, allow_nan=True)
    unknown = np.isnan(matrix)
    # Among other real numbers -1 is a relevance.
    codes = np.array_equal(matrix[~unknown], np.rint(matrix[~unknown]))
    bad = unknown.all(axis=1) | (codes & (matrix == -1).any(axis=1))
    if bad.any():
        raise ValueError(
            "y must hold no -1 and a known label in each row, got "
            f"{listed(matrix[bad.argmax()].tolist())} in row {bad.argmax()}. If -1 is "
            "no, pass y > 0; an unknown label is NaN. Leave out rows of which nothing "
            "is known."
        )
    if every and (empty := np.flatnonzero(unknown.all(axis=0)).tolist()):
        raise ValueError(
            "y must hold a known value in each column to fit, got only NaN in column "
            f"{listed(names[k] if names else k for k in empty)}: leave it out."
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
    values: Any, name: str, shape: Any = (None, None), **allowed: Any
) -> FloatArray:
    """Return one finite float64 per sample and label.

    ``shape`` is what the shape has to be, None for any number of samples or labels;
    ``allow_nan`` and ``allow_empty`` are as in `check_finite`.
    """
    refuse_lazy(values, name)
    remedy = " It has one column for each label, higher is better."
    if name[:1] == "y":
        remedy += " Of lists of names: MultiLabelBinarizer; of words: y == 'yes'."
    matrix = check_finite(
        values.toarray() if issparse(values) else values,
        name,
        ("n_samples", "n_labels"),
        **allowed,
        remedy=remedy,
    )
    for axis, what in enumerate(("samples", "labels")):
        if shape[axis] not in (None, matrix.shape[axis]):
            raise ValueError(
                f"{name} must have {shape[axis]} {what}, got shape {matrix.shape} "
                "(inconsistent numbers of samples or labels)."
            )
    return matrix


def check_same_labels(**frames: Any) -> None:
    """Refuse two frames whose rows or columns stand in different orders."""
    check_row_order(None, **frames)
    one, other = frames
    known, given = map(names_of_columns, frames.values())
    if known and given and known != given:
        raise ValueError(
            f"{other} must have the columns of {one} in their order, {listed(known)}, "
            f"got {listed(given)}: pass {other}[{one}.columns], or "
            f"{other}.to_numpy() where the positions are right."
        )


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


#: A loss ``(y_true, y_score) -> float``, such as `multilabel_loss`.
RankingLoss = Callable[[NDArray[np.float64], NDArray[np.float64]], float]

#: Largest number of losses to compute.
MAX_LOSSES = 250_000

#: Differences up to this count as rounding.
TOLERANCE = 1e-9


class Witness(NamedTuple):
    """Why a loss is not in a family: see `loss_family_membership`."""

    y: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]
    loss: tuple[float, ...]


class FamilyMembership(NamedTuple):
    """Whether a loss is in a family: see `loss_family_membership`."""

    zero_sets_equal: bool
    invariant: bool
    witness: Witness | None

    @property
    def member(self) -> bool:
        """Whether both conditions hold."""
        return self.zero_sets_equal and self.invariant


def loss_family_membership(
    loss: RankingLoss,
    n_labels: int,
    *,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
) -> FamilyMembership:
    """Return whether a loss belongs to the family of the sum or precision loss at p.

    Parameters
    ----------
    loss : callable
        ``loss(y_true, y_score) -> float`` for arrays of shape (1, n_labels), such as
        ``functools.partial(multilabel_loss, loss="auc")``.
    n_labels : int
        Number of labels, small: all rankings are tried.
    family : {"sum", "precision"}
        The loss that gives the family its name.
    p : int, default=None
        Number of top positions, from 1 to n_labels; None for all in the sum family. The
        precision family needs one: the top n_labels miss nothing.
    max_grade : int, default=1
        Relevance is tried from 0 to ``max_grade``.

    Returns
    -------
    membership : FamilyMembership
        ``zero_sets_equal``: whether the loss is 0 exactly where the family's loss is.
        ``invariant``: whether rankings that look the same to the family have equal
        losses. ``member``: whether both hold. ``witness``: None, or a counterexample to
        the first condition that fails, with the relevance ``y`` of the labels, one or
        two rankings ``ranks`` and their ``loss``.

    Raises
    ------
    TypeError
        If a number is not an integer, or ``loss`` is not a function of two arguments.
    ValueError
        If ``family`` is unknown, ``p`` is out of range, or missing for the precision
        family, or more than 250,000 losses would have to be computed.

    Notes
    -----
    The definition of Raman, Subedi and Tewari (2023). A loss is in the family of the
    sum (precision) loss at p if it is 0 exactly where that loss is 0, and takes equal
    values on any two rankings with the same label at each of the top p positions (with
    the same set of top p labels). All losses of a family are learnable for the same
    classes of rankings.

    The paper lists the reciprocal-rank loss in the family of the precision loss at 1.
    By this definition it is not a member (see the example), since it looks below a
    wrong top label. The loss that only asks whether the top label is relevant is one.

    By enumeration: O(n_labels! (max_grade + 1)**n_labels) losses are computed.

    Examples
    --------
    >>> from functools import partial
    >>> from skrank_abstain.multilabel import loss_family_membership, multilabel_loss
    >>> auc = partial(multilabel_loss, loss="auc")
    >>> loss_family_membership(auc, 4, family="sum").member
    True
    >>> reciprocal_rank = partial(multilabel_loss, loss="reciprocal_rank")
    >>> check = loss_family_membership(reciprocal_rank, 4, family="precision", p=1)
    >>> check.zero_sets_equal, check.invariant, check.member
    (True, False, False)
    >>> check.witness.y, check.witness.ranks
    ((0, 0, 0, 1), ((1, 2, 3, 4), (1, 2, 4, 3)))
    """
    n_labels = check_positive_int(n_labels, "n_labels")
    p = check_family(family, p, n_labels)
    grades, losses = loss_table(loss, n_labels, check_grades(n_labels, max_grade))
    return _membership(grades, losses, family, p)


def _membership(
    grades: IntArray, losses: FloatArray, family: str, p: int
) -> FamilyMembership:
    ranks = all_rankings(grades.shape[1])
    # For each ranking, the first one that looks the same to the family.
    seen = top_positions(ranks, family, p)
    _, first, inverse = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    alike = first[inverse.reshape(-1)]
    # Zero in floats is "at most TOLERANCE"; the family's own loss is in integers.
    named = family_loss(ranks, grades[:, np.newaxis], family, p)
    zeros = np.argwhere((losses > TOLERANCE) != (named > 0))
    varying = np.argwhere(np.abs(losses - losses[:, alike]) > TOLERANCE)
    witness = None
    if len(zeros) or len(varying):
        row, ranking = [*zeros, *varying][0]
        chosen = [ranking] if len(zeros) else [alike[ranking], ranking]
        witness = Witness(
            tuple(grades[row].tolist()),
            tuple(map(tuple, ranks[chosen].tolist())),
            tuple(losses[row, chosen].tolist()),
        )
    return FamilyMembership(not len(zeros), not len(varying), witness)


def check_function(function: Any, call: str) -> None:
    """Raise if ``function`` cannot be called as ``call``, such as "loss(y, score)"."""
    if not callable(function):
        name = call.partition("(")[0]
        raise TypeError(f"{name} must be a function {call}, got {shown(function)}.")


def check_family(family: str, p: Any, n_labels: int) -> int:
    """Return the number of top positions of a known family, or raise."""
    check_choice(family, "family", ("sum", "precision"))
    return check_top(p, n_labels, "family", family)


def check_member(
    loss: RankingLoss, grades: IntArray, losses: FloatArray, family: str, p: int
) -> None:
    """Raise if a loss with these values is not in the family at p."""
    if not _membership(grades, losses, family, p).member:
        raise ValueError(
            f"loss must be in the family of the {family} loss at p = {p}, got "
            f"{getattr(loss, '__name__', loss)}, which is not: see "
            f"loss_family_membership, and pass p as in functools.partial(loss, p={p})."
        )


def check_grades(n_labels: int, max_grade: int) -> int:
    """Return the number of grades; refuse to compute too many losses."""
    grades = check_positive_int(max_grade, "max_grade") + 1
    n_losses = number_of_losses(n_labels, grades)
    if n_losses > MAX_LOSSES:
        raise ValueError(
            f"n_labels and max_grade must ask for at most {MAX_LOSSES} losses, got "
            f"{n_labels} and {grades - 1}, which ask for {n_losses}."
        )
    return grades


def number_of_losses(n_labels: int, n_grades: int) -> int:
    """Return the number of pairs of a ranking and a relevance of the labels."""
    return math.factorial(n_labels) * int(n_grades**n_labels)


def loss_table(
    loss: RankingLoss, n_labels: int, n_grades: int
) -> tuple[IntArray, FloatArray]:
    """Return each relevance of the labels, in order, and its loss of each ranking."""
    check_function(loss, "loss(y_true, y_score)")
    grades = np.array([*product(range(n_grades), repeat=n_labels)], dtype=np.int64)
    # One sample at a time.
    relevance = grades[:, np.newaxis].astype(np.float64)
    scores = -all_rankings(n_labels)[:, np.newaxis].astype(np.float64)
    losses = [[loss(y, row) for row in scores] for y in relevance]
    return grades, np.array(losses, dtype=np.float64)


def all_rankings(n_labels: int) -> IntArray:
    """Return all permutations of the ranks 1 to n_labels, one in a row."""
    return np.array([*permutations(range(1, n_labels + 1))], dtype=np.int64)


def family_loss(ranks: IntArray, y: IntArray, family: str, p: int) -> IntArray:
    """Return the sum or precision loss at p over the last axis."""
    best = -np.sort(-y, axis=-1)
    in_order = top_positions(np.arange(1, y.shape[-1] + 1), family, p)
    excess = (top_positions(ranks, family, p) * y - in_order * best).sum(axis=-1)
    # Positions are costs in the sum loss and gains in the precision loss.
    return np.asarray(excess if family == "sum" else -excess)


def top_positions(ranks: IntArray, family: str, p: int) -> IntArray:
    """Return the part of rankings that the family sees: top positions, or their set."""
    return np.minimum(ranks, p + 1) if family == "sum" else 1 * (ranks <= p)


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
    array = _check_permutations(ranks, "ranks")
    return in_top(array, check_between(j, "j", 1, array.shape[-1]))


def in_top(ranks: IntArray, j: int) -> IntArray:
    """Return `bin_rel` of ranks that are known to be permutations."""
    return (ranks <= j).astype(np.int64)


def least_loss_learner(family: str, p: int) -> Learner:
    """Return the learner that takes the first row of least family loss at p."""

    def learn(class_ranks: IntArray, points: IntArray, relevance: IntArray) -> int:
        losses = family_loss(class_ranks[:, points], relevance, family, p)
        return int(np.argmin(losses.sum(axis=1)))

    return learn


def learned_row(
    learner: Learner, class_ranks: IntArray, points: IntArray, relevance: IntArray
) -> int:
    """Return the row that a learner picks; refuse anything but a row number."""
    check_function(learner, "learner(class_ranks, points, relevance)")
    row: Any = learner(class_ranks, points, relevance)
    if np.ndim(row) or row not in range(len(class_ranks)):
        raise ValueError(
            "learner must return the number of a row of class_ranks, 0 to "
            f"{len(class_ranks) - 1}, got {shown(row)}."
        )
    return int(row)


def check_class(class_ranks: ArrayLike) -> IntArray:
    """Return the ranks of a class as integers, or raise."""
    axes = ("n_hypotheses", "n_points", "n_labels")
    return _check_permutations(class_ranks, "class_ranks", axes)


def check_codes(values: ArrayLike, name: str, n_codes: int, *axes: str) -> IntArray:
    """Return the numbers 0 to ``n_codes - 1`` as integers, or raise."""
    array = check_finite(values, name, axes)
    rule = f"{name} must hold whole numbers from 0 to {n_codes - 1}"
    refuse_values(array, ~np.isin(array, range(n_codes)), rule)
    return array.astype(np.int64)


def _check_permutations(
    values: ArrayLike, name: str, axes: tuple[str, ...] | None = None
) -> IntArray:
    ranks = np.atleast_1d(check_finite(values, name, axes)).astype(np.int64)
    n_labels = ranks.shape[-1]
    wrong = (np.sort(ranks, axis=-1) != np.arange(1, n_labels + 1)).any(axis=-1)
    refuse_values(ranks, wrong, f"{name} must hold permutations of 1 to {n_labels}")
    return ranks


#: Largest number of sums to compute, one for each function and choice of signs.
MAX_SUMS = 2**24


def empirical_rademacher_complexity(values: ArrayLike) -> float:
    """Return how well a finite class of functions follows random signs on a sample.

    Not negative; 0 for a single function.

    Parameters
    ----------
    values : array-like of shape (n_functions, n_samples)
        Value of each function at each sample.

    Returns
    -------
    complexity : float
        Mean over all signs s in {-1, 1}**n_samples of the largest, over functions f, of
        ``sum_i s_i f(x_i) / n_samples``.

    Raises
    ------
    ValueError
        If ``values`` is not a non-empty matrix of finite numbers, or if more than 2**24
        sums would have to be computed: 16 samples for 256 functions.

    See Also
    --------
    rademacher_bound : A bound for the losses of a class of rankings.

    Notes
    -----
    Definition 3 of Raman, Subedi and Tewari (2023), exactly: O(2**n_samples
    n_functions) time and memory. If it goes to 0 with the size of the sample, the means
    over the sample go to expectations for all functions at once.

    Examples
    --------
    >>> from skrank_abstain.multilabel import empirical_rademacher_complexity
    >>> empirical_rademacher_complexity([[0, 0], [1, 1]])  # (1 + 0 + 0 + 0) / 4
    0.25
    """
    array = check_finite(values, "values", ("n_functions", "n_samples"))
    array = np.unique(array, axis=0)
    n_functions, n_samples = array.shape
    if n_functions * 2.0**n_samples > MAX_SUMS:
        raise ValueError(
            f"values must ask for at most {MAX_SUMS} sums, got {n_functions} different "
            f"functions and 2**{n_samples} signs. Take fewer samples."
        )
    sums = np.zeros((1, n_functions))
    for column in array.T:
        sums = np.concatenate([sums + column, sums - column])
    return float(sums.max(axis=1).mean() / n_samples)


def rademacher_bound(
    class_ranks: ArrayLike,
    points: ArrayLike,
    *,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
) -> float:
    """Return a bound on the Rademacher complexity of the losses of a class of rankings.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    points : array-like of shape (n_samples,), int
        The sample.
    family : {"sum", "precision"}
        Whether the loss is the sum or the precision loss at p.
    p : int, default=None
        Number of top positions; None for all labels in the sum family. The precision
        family needs one: the top n_labels miss nothing.
    max_grade : int, default=1
        Largest relevance of a label.

    Returns
    -------
    bound : float
        ``max_grade`` times the sum of the empirical Rademacher complexities of the
        threshold classes of all labels and all j up to p (only j = p for the precision
        loss).

    Raises
    ------
    TypeError
        If ``p`` or ``max_grade`` is not an integer.
    ValueError
        If ranks are not permutations, points are out of range, ``family`` is unknown,
        ``p`` or ``max_grade`` out of range, ``p`` is missing for the precision family,
        or there are too many samples, see `empirical_rademacher_complexity`.

    Notes
    -----
    From the proofs of Lemmas 4.3 and C.2 of Raman, Subedi and Tewari (2023). The
    complexity of the losses is at most this, whatever the relevance of the sample: if
    the threshold classes are learnable, so is the class of rankings, by the ranking of
    least mean loss.

    Examples
    --------
    >>> from skrank_abstain.multilabel import (
    ...     empirical_rademacher_complexity,
    ...     multilabel_sample_losses,
    ...     rademacher_bound,
    ... )
    >>> import numpy as np
    >>> class_ranks = np.array([[[1, 2], [1, 2]], [[2, 1], [2, 1]]])
    >>> y = [[1, 0], [0, 1]]
    >>> losses = [multilabel_sample_losses(y, -h, loss="sum") for h in class_ranks]
    >>> empirical_rademacher_complexity(losses)
    0.25
    >>> rademacher_bound(class_ranks, [0, 1], family="sum")
    0.5
    """
    ranks = check_class(class_ranks)
    p = check_family(family, p, ranks.shape[2])
    sample = check_codes(points, "points", ranks.shape[1], "n_samples")
    grade = check_positive_int(max_grade, "max_grade")
    classes = [
        in_top(ranks[:, sample], j)[:, :, label]
        for j in (range(1, p + 1) if family == "sum" else [p])
        for label in range(ranks.shape[2])
    ]
    return grade * math.fsum(map(empirical_rademacher_complexity, classes))


def vc_dimension(members: ArrayLike) -> int:
    """Return the largest number of points that a class of binary functions shatters.

    Parameters
    ----------
    members : array-like of shape (n_functions, n_points), int
        0 or 1 that each function gives to each point of the domain.

    Returns
    -------
    dimension : int
        Largest number of points on which the class has all 0/1 patterns.

    Raises
    ------
    ValueError
        If ``members`` is not a non-empty matrix of 0 and 1.

    See Also
    --------
    littlestone_dimension : The same for learning online.

    Notes
    -----
    A class of rankings is agnostic PAC learnable if and only if all its threshold
    classes (with j = p for the precision family) are (Raman, Subedi and Tewari, 2023),
    that is if their VC dimensions are finite. A finite class has a dimension of at most
    log2(n_functions). Sets are extended while they are shattered.

    Examples
    --------
    >>> from skrank_abstain.multilabel import bin_rel, vc_dimension
    >>> vc_dimension([[0, 0], [0, 1], [1, 1]])  # no function has 1 and 0
    1
    >>> class_ranks = [[[1, 2], [1, 2]], [[1, 2], [2, 1]], [[2, 1], [1, 2]]]
    >>> vc_dimension(bin_rel(class_ranks, j=1)[:, :, 0])  # label 0 in the top 1
    1
    """
    # A shattered set holds no two points at which every function has equal values.
    array = _distinct(members)
    shattered: list[tuple[int, ...]] = [()]
    size = 0
    while True:
        larger = []
        for points in shattered:
            last = points[-1] + 1 if points else 0
            for point in range(last, array.shape[1]):
                codes = array[:, [*points, point]] @ (1 << np.arange(size + 1))
                if np.unique(codes).size == 2 ** (size + 1):
                    larger.append((*points, point))
        if not larger:
            return size
        shattered, size = larger, size + 1


def littlestone_dimension(members: ArrayLike) -> int:
    """Return how many mistakes a class of binary functions can force online.

    Parameters
    ----------
    members : array-like of shape (n_functions, n_points), int
        0 or 1 that each function gives to each point of the domain.

    Returns
    -------
    dimension : int
        Depth of the largest complete binary tree of points such that some function
        follows each path, left for 0 and right for 1: the mistakes that the best
        deterministic online learner makes at worst on noise-free data.

    Raises
    ------
    ValueError
        If ``members`` is not a non-empty matrix of 0 and 1.

    See Also
    --------
    vc_dimension : The same for a sample; never larger.

    Notes
    -----
    A class of rankings is agnostic online learnable if and only if all its threshold
    classes (with j = p for the precision family) are (Raman, Subedi and Tewari, 2023),
    that is if their Littlestone dimensions are finite. A finite class has a dimension
    of at most log2(n_functions). Recursion over the functions left after some answers.

    Examples
    --------
    >>> from skrank_abstain.multilabel import littlestone_dimension, vc_dimension
    >>> thresholds = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    >>> vc_dimension(thresholds), littlestone_dimension(thresholds)
    (1, 2)
    """
    array = _distinct(members)
    # For each point, the functions that are 1 there, as the bits of a number.
    ones = [sum(1 << int(f) for f in np.flatnonzero(column)) for column in array.T]

    @cache
    def dimension(left: int) -> int:
        found, most = 0, left.bit_count().bit_length() - 1
        for says_one in ones:
            one, zero = left & says_one, left & ~says_one
            # Smaller parts cannot be deeper.
            if min(one.bit_count(), zero.bit_count()) >= 2**found:
                found = max(found, 1 + min(dimension(one), dimension(zero)))
            if found == most:
                break
        return found

    return dimension((1 << len(array)) - 1)


def _distinct(members: ArrayLike) -> IntArray:
    """Return a class without repeated functions and without points that look alike."""
    array = check_codes(members, "members", 2, "n_functions", "n_points")
    return np.unique(np.unique(array, axis=0), axis=1)
