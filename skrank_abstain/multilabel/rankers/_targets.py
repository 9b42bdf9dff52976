"""The binary problems of a ranking of labels, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from skrank_abstain._validation import MOST_GRADES, FloatArray, IntArray


@dataclass(frozen=True)
class BinaryProblems:
    """A family of binary problems per label, one for each threshold.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Ranks or grades.
    vote_weights : ndarray of shape (n_thresholds,), float64
        What a probability of one counts as a vote.
    sample_weight : ndarray of shape (n_samples,), float64, or None
        None: all samples weigh the same.
    """

    relevance: FloatArray
    thresholds: IntArray | FloatArray
    vote_weights: FloatArray
    sample_weight: FloatArray | None
    ties: str

    def targets(self) -> Iterator[FloatArray]:
        """Yield the targets of each threshold, shape (n_samples, n_labels)."""
        if self.ties != "grade":
            yield from top_targets(self.relevance, self.thresholds, self.ties)
            return
        for grade in self.thresholds:
            yield (self.relevance >= grade).astype(np.float64)


def top_targets(
    relevance: FloatArray, ranks: ArrayLike, ties: str
) -> Iterator[FloatArray]:
    """Yield whether each label is among the ``j`` most relevant of its sample.

    Parameters
    ----------
    relevance : ndarray of shape (n_samples, n_labels), float64
    ranks : array-like of shape (n_thresholds,), int
        Values of j.
    ties : {"share", "index"}
        Labels of equal relevance share the places that they compete for: the target is
        the probability of getting one when ties are broken at random. Or those of
        smaller index get them.

    Yields
    ------
    target : ndarray of shape (n_samples, n_labels), float64
        In [0, 1]; rows sum to ``min(j, n_labels)``. One for each j.
    """
    methods = ("ordinal", "ordinal") if ties == "index" else ("min", "max")
    best, worst = (rankdata(-relevance, method=by, axis=1) for by in methods)
    for j in np.asarray(ranks):
        # Labels of equal relevance compete for the places `best` to `worst`, and (j + 1
        # - best) of these are among the first j.
        target: FloatArray = np.clip((j + 1.0 - best) / (worst + 1.0 - best), 0.0, 1.0)
        yield target


def rank_problems(relevance: FloatArray, ranks: IntArray, ties: str) -> BinaryProblems:
    """Return the problems "is among the ``j`` most relevant", for each j in ``ranks``.

    Parameters
    ----------
    relevance : ndarray of shape (n_samples, n_labels), float64
    ranks : ndarray of shape (n_thresholds,), int64
    ties : {"share", "index"}

    Returns
    -------
    problems : BinaryProblems
        Where ties are shared, samples are weighted so that the most and the least
        relevant label of each are as far apart in votes as in relevance.
    """
    weight = None
    if ties == "share":
        # Without weights, a sample counts by the range of its votes. For the first rank
        # alone that is 1 / r with r relevant labels, which is best for recall but not
        # for the sum and precision losses.
        votes = sum(top_targets(relevance, ranks, ties))
        spread = np.ptp(np.asarray(votes), axis=1)
        distance = np.ptp(relevance, axis=1)
        weight = np.where(spread > 0, distance / np.where(spread > 0, spread, 1.0), 0.0)
        # None where all weights are zero or equal; otherwise of mean one, so that
        # penalties of the base learner keep their meaning.
        varies = np.ptp(weight) > 1e-9 * weight.max(initial=0.0)
        weight = weight / weight.mean() if varies else None
    return BinaryProblems(relevance, ranks, np.ones(ranks.size), weight, ties)


def grade_problems(relevance: FloatArray) -> BinaryProblems:
    """Return the problems "is at least of this grade", for each but the lowest grade.

    Parameters
    ----------
    relevance : ndarray of shape (n_samples, n_labels), float64

    Returns
    -------
    problems : BinaryProblems
        Votes weigh the gaps between grades and so add up to the relevance beyond the
        lowest grade.

    Raises
    ------
    ValueError
        If there are more than 31 grades.
    """
    grades = np.unique(relevance)
    if grades.size > MOST_GRADES:
        raise ValueError(
            f"y must have at most {MOST_GRADES} different values with "
            f"thresholds='grade', got {grades.size}. Round it, or use "
            "thresholds='rank'."
        )
    # sum_k (g_k - g_{k-1}) P(y >= g_k | x) = E[y | x] - g_0, by which labels are best
    # ordered (thresholds as in Frank and Hall 2001).
    return BinaryProblems(relevance, grades[1:], np.diff(grades), None, "grade")
