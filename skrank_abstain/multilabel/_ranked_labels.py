"""Losses of one ranking of labels per row, from the relevance in ranked order.

Pure functions of `RankedLabels`, shape (n_samples,). A label takes each position of its
group of equal scores with the same probability; the functions return the expected loss,
which is the loss itself if no scores are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, IntArray


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
        sizes: IntArray = self.stop - self.start
        return sizes


def order_labels(scores: FloatArray) -> IntArray:
    """Return the labels of each row, best score first, then smaller index."""
    # Stable, so that equal scores keep the order of the columns: the paper's tie rule.
    order: IntArray = np.argsort(-scores, axis=1, kind="stable").astype(np.int64)
    return order


def rank_labels(y: FloatArray, scores: FloatArray, *, average: bool) -> RankedLabels:
    """Order relevance by scores; equal scores form groups if ``average``."""
    order = order_labels(scores)
    ranked = np.take_along_axis(y, order, axis=1)
    position = np.arange(y.shape[1], dtype=np.int64)[np.newaxis]
    if not average:
        return RankedLabels(ranked, position, position + 1)
    ordered = np.take_along_axis(scores, order, axis=1)
    new = np.ones((y.shape[0], y.shape[1] + 1), dtype=bool)
    new[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    # Running extremes carry the first position of a group forwards, and the one after
    # its last backwards.
    start = np.maximum.accumulate(np.where(new[:, :-1], position, 0), axis=1)
    after = np.where(new[:, 1:], position + 1, y.shape[1])[:, ::-1]
    return RankedLabels(ranked, start, np.minimum.accumulate(after, axis=1)[:, ::-1])


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
    level = _levels(ranked.y)
    # Grade by grade, each against all below it: linear in the labels, where pairs are
    # quadratic.
    loss = np.zeros(ranked.y.shape[0])
    for grade in range(1, int(level.max(initial=0)) + 1):
        loss += _misordered(ranked, level < grade, level == grade)
    return loss


def misordered_share(ranked: RankedLabels) -> FloatArray:
    """`pairwise_loss` as a share of the pairs of different relevance, or 0."""
    worst = rank_labels(ranked.y, -ranked.y, average=True)
    # 0 / 1 in place of 0 / 0 where all labels are equally relevant.
    share: FloatArray = pairwise_loss(ranked) / np.maximum(pairwise_loss(worst), 1.0)
    return share


def average_precision_loss(ranked: RankedLabels) -> FloatArray:
    """One minus the mean precision at the ranks of the relevant labels, or 0."""
    total = ranked.y.sum(axis=1)
    count = _padded_cumsum(ranked.y)
    before = np.take_along_axis(count, ranked.start, axis=1)
    tied = np.take_along_axis(count, ranked.stop, axis=1) - before
    position = np.arange(ranked.y.shape[1])
    # McSherry and Najork (2008): given a relevant label at this position, the other
    # relevant ones of its group are spread evenly over the group's other positions.
    others = (position - ranked.start) * (tied - 1) / np.maximum(ranked.size - 1, 1)
    precision = (before + 1 + others) / (position + 1)
    mean = (tied / ranked.size * precision).sum(axis=1) / np.maximum(total, 1)
    return np.where(total > 0, _non_negative(1 - mean), 0.0)


def reciprocal_rank_loss(ranked: RankedLabels) -> FloatArray:
    """One minus the reciprocal rank of the first relevant label, or 0."""
    count = _padded_cumsum(ranked.y)
    tied = np.take_along_axis(count, ranked.stop, axis=1)
    tied -= np.take_along_axis(count, ranked.start, axis=1)
    ranks = _ranks(ranked)
    # Probability that no relevant label is among the first k positions: the labels of
    # a group are drawn without replacement.
    none = np.cumprod(1 - tied / (ranked.stop - ranks + 1), axis=1)
    first = -np.diff(none, axis=1, prepend=1.0)
    reciprocal = (first / ranks).sum(axis=1)
    return np.where(ranked.y.any(axis=1), _non_negative(1 - reciprocal), 0.0)


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
    return _non_negative(best - (gains * exact).sum(axis=1))


def _misordered(
    ranked: RankedLabels, worse: NDArray[np.bool_], better: NDArray[np.bool_]
) -> FloatArray:
    """Pairs of a worse label above a better one; equal scores are half a pair."""
    count = _padded_cumsum(worse)
    above = np.take_along_axis(count, ranked.start, axis=1)
    until = np.take_along_axis(count, ranked.stop, axis=1)
    # With groups of one label, above + until counts each worse label above twice.
    pairs: FloatArray = (better * (above + until)).sum(axis=1) / 2
    return pairs


def _levels(y: FloatArray) -> IntArray:
    """Return the place of each value among the distinct ones of its row, from 0."""
    order = np.argsort(y, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(y, order, axis=1), axis=1) > 0
    # Grades may be few and far between: 0 and 1000 are two levels.
    level = np.zeros(y.shape, dtype=np.int64)
    np.put_along_axis(level, order, _padded_cumsum(steps), axis=1)
    return level


def _padded_cumsum(values: NDArray[np.bool_] | FloatArray) -> IntArray:
    """Cumulative counts along rows, starting with 0: one column more."""
    count = np.zeros((values.shape[0], values.shape[1] + 1), dtype=np.int64)
    np.cumsum(values, axis=1, out=count[:, 1:], dtype=np.int64)
    return count


def _non_negative(loss: FloatArray) -> FloatArray:
    # Rounding may take a loss of 0 below it.
    clipped: FloatArray = np.maximum(loss, 0.0)
    return clipped
