"""A weighted sample of differences that stands for all pairs in a smooth fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.binning import Bins
from skrank_abstain._kernels.correlation import add_by_correlation
from skrank_abstain._kernels.threads import n_threads as count_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Queries of more items than this are not enumerated: 50 million pairs.
_LARGE = 10_000


def outcome_histogram(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    largest: float,
    tol: float = 0.0,
    *,
    n_threads: int | None = None,
) -> Bins:
    """Summarise all pairs for maximum-likelihood fits of smooth functions of |d|.

    The functions summed may differ by outcome, but what a discordant pair adds must
    continue, across zero, what a concordant one adds: ``f(-d)`` for a smooth ``f``,
    as in every tie model.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0; any number of them.
    offsets : ndarray of shape (n_queries + 1,), int64
    largest : float
        No difference is larger. Summaries of parts of the queries can be added where
        it is the same.
    tol : float, default=0.0
        Scores at most this far apart carry no order.
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    bins : Bins
        At most 1,536 per octave between the largest difference and the smallest that is
        told from zero (2**-52 of the largest, and above ``tol``). The ``points`` of
        untied pairs of equal scores are here too, with a difference of 0, half of them
        concordant and half discordant.

    Notes
    -----
    Pairs of queries of up to 10,000 items are enumerated, larger queries are
    correlated on a grid: see ``correlation``. Sums of integers: neither the number of
    threads nor the order of the queries changes anything. Differences that overflow
    count as the largest float. For exact counts use ``count_outcomes``; close to zero
    the grid smears order over one step.
    """
    sizes = np.diff(offsets)
    bins = Bins.empty(largest, tol)
    small = np.repeat(sizes <= _LARGE, sizes)
    first = np.repeat(offsets[:-1], sizes)
    count = np.where(small, np.arange(scores.shape[0]) - first, 0)
    bins.add_pairs(scores, grades, first, count, n_threads)
    for query in np.flatnonzero(sizes > _LARGE):
        here = slice(offsets[query], offsets[query + 1])
        add_by_correlation(bins, scores[here], grades[here], count_threads(n_threads))
    return bins
