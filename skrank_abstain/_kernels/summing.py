"""Summaries of the pairs of queries that can be added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.binning import Bins
from skrank_abstain._kernels.histogram import outcome_histogram
from skrank_abstain._kernels.lags import (
    LagWeights,
    cheaper_on_grid,
    lag_points,
    lag_weights,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PairSums:
    """All pairs of some queries.

    Attributes
    ----------
    lags : LagWeights or None
        Of queries on a grid; None where there are none.
    bins : Bins
        Of the pairs of other queries.
    """

    lags: LagWeights | None
    bins: Bins

    def __add__(self, other: PairSums) -> PairSums:
        """Return the sums of two parts, on the same grid and in the same bins."""
        lags = self.lags or other.lags
        if self.lags and other.lags:
            lags = self.lags + other.lags
        return PairSums(lags, self.bins + other.bins)

    def points(self, step: float) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return differences, outcomes and weights (m,), for a grid of this step."""
        pieces = [self.bins.points()]
        if self.lags:
            pieces.insert(0, lag_points(self.lags, step))
        gap, outcome, weight = (
            np.concatenate(each) for each in zip(*pieces, strict=True)
        )
        return gap, outcome, weight


def sum_pairs(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    n_grades: int,
    largest: float,
    step: float | None,
) -> PairSums:
    """Summarise all pairs, each query the cheaper way.

    Points on a grid and of single pairs are weights of the same sums, and can be put
    together.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
    offsets : ndarray of shape (n_queries + 1,), int64
    n_grades, largest : int and float
        As in ``lag_weights`` and ``outcome_histogram``: over all parts.
    step : float or None
        Of the grid; None: there is none.

    Returns
    -------
    sums : PairSums
    """
    cheap = np.zeros(offsets.size - 1, dtype=bool)
    if step is not None:
        cheap = cheaper_on_grid(scores, offsets, n_grades, step)
    sizes = np.diff(offsets)

    def of(chosen: NDArray[np.bool_]) -> tuple[FloatArray, IntArray, IntArray]:
        if chosen.all():
            return scores, grades, offsets
        items = np.repeat(chosen, sizes)
        return scores[items], grades[items], np.append(0, np.cumsum(sizes[chosen]))

    lags = None
    if step is not None and cheap.any():
        lags = lag_weights(*of(cheap), step, n_grades)
    return PairSums(lags, outcome_histogram(*of(~cheap), largest))
