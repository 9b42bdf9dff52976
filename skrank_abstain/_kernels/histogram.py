"""All pairs of many queries in bins of their difference, by outcome."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.binning import Bins
from skrank_abstain._kernels.correlation import add_by_correlation
from skrank_abstain._kernels.threads import n_threads as count_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Queries of more items than this are not enumerated: 50 million pairs.
_LARGE = 10_000
# Items that are worked on at a time, for the memory of what is known of each.
_BLOCK = 1 << 18


def outcome_histogram(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    largest: float,
    *,
    n_threads: int | None = None,
) -> Bins:
    """Count pairs in bins, for sums of smooth functions of |d|.

    What a discordant pair adds to such a sum must continue, across zero, what a
    concordant pair adds: ``f(-d)`` and ``f(d)`` for a smooth ``f``, as in every tie
    model.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0.
    offsets : ndarray of shape (n_queries + 1,), int64
    largest : float
        No difference is larger. Bins of the same ``largest`` can be added.
    n_threads : int, default=None
        By default one per available CPU.

    Returns
    -------
    bins : Bins
        512 per octave, 52 octaves. The ``points`` of untied pairs of equal scores have
        a difference of 0, half of them concordant and half discordant.

    Notes
    -----
    Pairs of queries of up to 10,000 items are enumerated, 1.2 ns each; larger queries
    are correlated on a grid (see ``correlation``), which smears the order of the
    closest pairs over one step.

    Differences that overflow count as the largest float.
    """
    sizes = np.diff(offsets)
    large = sizes > _LARGE
    bins = Bins.empty(largest)
    starts = np.searchsorted(offsets, np.arange(0, scores.size, _BLOCK))
    for q0, q1 in pairwise(np.unique([*starts, sizes.size])):
        here = slice(offsets[q0], offsets[q1])
        first = np.repeat(offsets[q0:q1] - offsets[q0], sizes[q0:q1])
        count = np.arange(first.size) - first
        count[np.repeat(large[q0:q1], sizes[q0:q1])] = 0
        bins.add_pairs(scores[here], grades[here], first, count, n_threads)
    for query in np.flatnonzero(large):
        here = slice(offsets[query], offsets[query + 1])
        add_by_correlation(bins, scores[here], grades[here], count_threads(n_threads))
    return bins
