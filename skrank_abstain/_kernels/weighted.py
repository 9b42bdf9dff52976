"""Weights of concordant, tied and discordant pairs beyond given differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.counting import as_cuts, just_above
from skrank_abstain._kernels.sorting import dense_grades_within
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def weigh_outcomes_by_query(
    scores: FloatArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    cuts: FloatArray,
    tol: float = 0.0,
    *,
    n_threads: int | None = None,
) -> FloatArray:
    """Add up the pairs with ``|d| >= cut`` of each query by outcome.

    A pair weighs the product of the weights of its items.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0.
    weights : ndarray of shape (n,), float64
        Item weights, non-negative.
    offsets : ndarray of shape (n_queries + 1,), int64
    cuts : ndarray of shape (n_cuts,), float64
    tol : float, default=0.0
        Scores at most this far apart carry no order.
    n_threads : int, default=None

    Returns
    -------
    totals : ndarray of shape (n_queries, n_cuts, 4), float64
        Concordant, tied, discordant, and untied pairs of equal scores.

    Notes
    -----
    A Fenwick tree over the grades of a query: O(n log n) per cut. A query's sums do
    not depend on the other queries, nor on the number of threads.
    """
    cuts = as_cuts(cuts)
    # Within the tolerance scores carry no order: orders are summed from just above it,
    # ties from the cut itself, and the difference is the fourth column.
    ordered = np.maximum(cuts, just_above(tol))
    both = np.concatenate([cuts, ordered])
    # The tree has a node for each grade of the query: those of other queries would only
    # make it deeper.
    local, n_grades = dense_grades_within(grades, offsets, n_threads)
    sizes = np.diff(offsets)
    parts = map_ranges(
        lambda q0, q1: _weigh_range(
            scores, local, weights, offsets, q0, q1, both, n_grades
        ),
        both.size * sizes * (20.0 + 8.0 * np.log2(np.maximum(n_grades, 1))) + 5.0,
        n_threads,
    )
    raw = np.concatenate([np.zeros((0, both.size, 3)), *parts])
    every, beyond = raw[:, : cuts.size], raw[:, cuts.size :]
    out = np.empty((raw.shape[0], cuts.size, 4))
    out[..., 0] = beyond[..., 0]
    out[..., 1] = every[..., 1]
    out[..., 2] = beyond[..., 2]
    out[..., 3] = (every - beyond)[..., 0] + (every - beyond)[..., 2]
    return out


@jit
def _weigh_range(
    scores: FloatArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    cuts: FloatArray,
    n_grades: IntArray,
) -> FloatArray:
    """Return concordant, tied and discordant weight, (q1 - q0, n_cuts, 3)."""
    out = np.zeros((q1 - q0, cuts.shape[0], 3), dtype=np.float64)
    for q in range(q0, q1):
        size = n_grades[q]
        tree = np.empty(size + 1, dtype=np.float64)
        same = np.empty(size, dtype=np.float64)
        for c in range(cuts.shape[0]):
            cut = cuts[c]
            tree[:] = 0.0
            same[:] = 0.0
            far = offsets[q]
            seen = 0.0
            for i in range(offsets[q], offsets[q + 1]):
                while far < i and scores[i] - scores[far] >= cut:
                    weight = weights[far]
                    seen += weight
                    same[grades[far]] += weight
                    node = grades[far] + 1
                    while node <= size:
                        tree[node] += weight
                        # A Fenwick tree: node k holds the sum over the (k & -k) grades
                        # that end at k.
                        node += node & -node
                    far += 1
                lower = 0.0
                node = grades[i]
                while node > 0:
                    lower += tree[node]
                    node &= node - 1
                # From an array of its own: two sums from the tree would cost twice and
                # round.
                equal = same[grades[i]]
                out[q - q0, c, 0] += weights[i] * lower
                out[q - q0, c, 1] += weights[i] * equal
                # Weights are floats: rounding must not leave less than nothing.
                out[q - q0, c, 2] += weights[i] * max(seen - lower - equal, 0.0)
    return out
