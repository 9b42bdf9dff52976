"""Gaps, the absolute score differences of pairs, and how the pairs came out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray


class GapOutcomes(NamedTuple):
    """Weighted gaps with their outcomes: all that a difference model is fitted on.

    Attributes
    ----------
    gap : ndarray of shape (n,), float64
        Absolute score differences.
    outcome : ndarray of shape (n,), int64
        +1 the higher-scored item is preferred (or the scores are equal and one of
        the two is), 0 tie, -1 the lower-scored item is preferred.
    weight : ndarray of shape (n,), float64
        How many pairs the entry stands for.

    Examples
    --------
    >>> from skrank_abstain.pairs import GapOutcomes
    >>> GapOutcomes([0.5, 2.0], [0, 1], [3.0, 1.0]).gap
    [0.5, 2.0]
    """

    gap: FloatArray
    outcome: IntArray
    weight: FloatArray


def outcomes_of(difference: FloatArray, label: IntArray) -> IntArray:
    """Return labels as if the higher-scored item of each pair came first.

    Parameters
    ----------
    difference : ndarray of shape (n_pairs,), float64
        Score of the left item minus that of the right one.
    label : ndarray of shape (n_pairs,), int64

    Returns
    -------
    outcome : ndarray of shape (n_pairs,), int64
        An untied pair of equal scores counts as +1.
    """
    # The sign of a zero difference would make a tie of a pair whose relevance differs.
    outcome: IntArray = np.where(
        difference == 0, abs(label), np.sign(difference) * label
    ).astype(np.int64)
    return outcome
