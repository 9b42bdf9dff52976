"""Weights of pairs by the bins of their items and by outcome."""

from itertools import pairwise

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.outcomes import count_outcomes
from skrank_abstain._kernels.threads import map_ranges


def weigh_groups(
    values: FloatArray,
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray | None,
    offsets: IntArray,
    group: IntArray,
    n_groups: int,
    tolerance: float,
    *,
    by_query: bool,
) -> FloatArray:
    """Add up pairs by the group that their two bins belong to, and by outcome.

    A pair weighs the product of the weights of its items.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        Ascending within each query.
    bins : ndarray of shape (n,), int64
        Bin of each value.
    grades : ndarray of shape (n,), int64
    weights : ndarray of shape (n,), float64, or None
    offsets : ndarray of shape (n_queries + 1,), int64
    group : ndarray of shape (n_bins + 1, n_bins + 1), int64
        Group of the pairs of bins (lower, higher), from 0; with the last one in place
        of the higher bin, that of the pairs of equal values of a bin.
    n_groups : int
    tolerance : float
        Values of one bin at most this far apart are equal.
    by_query : bool
        Whether to keep queries apart.

    Returns
    -------
    totals : ndarray of shape (n_queries or 1, n_groups, 4), float64
        Concordant, tied, discordant, and untied pairs of equal values.

    Notes
    -----
    A query of n items costs the smaller of n**2 / 2 and n * n_bins steps, and at most
    n log n for the pairs within bins. Whole weights give exact sums up to 2**53.
    """
    n_bins = group.shape[0] - 1
    sizes = np.diff(offsets).astype(np.float64)
    # By bin a query takes one step for each item and bin, by pair one for each pair,
    # which is cheaper with few items per bin.
    by_bin = sizes > 4 * n_bins
    cost = 2.0 * np.minimum(sizes * sizes, 4.0 * sizes * n_bins) + 20.0
    mass = np.ones(values.size) if weights is None else weights

    def weigh(q0: int, q1: int) -> FloatArray:
        out = np.zeros((q1 - q0 if by_query else 1, n_groups, 4))
        changes = q0 + 1 + np.flatnonzero(np.diff(by_bin[q0:q1]))
        for start, stop in pairwise([q0, *changes, q1]):
            rows = out[start - q0 : stop - q0] if by_query else out
            here, task = offsets[start : stop + 1], (group, by_query, rows)
            if by_bin[start]:
                items, bounds = _stretches(bins, grades, here, n_bins)
                _merge_bins(grades[items], mass[items], bounds, *task)
            else:
                _weigh_by_pair(bins, grades, mass, here, *task)
        return out

    parts = map_ranges(weigh, cost)
    totals = np.concatenate([np.zeros((0, n_groups, 4)), *parts])
    if not by_query:
        # Added in the order of the ranges, which depend on the queries alone: sums of
        # floats are the same for any number of threads.
        totals = totals.sum(axis=0, keepdims=True)
    _add_within(values, bins, grades, weights, offsets, group, tolerance, totals)
    return totals


def _add_within(
    values: FloatArray,
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray | None,
    offsets: IntArray,
    group: IntArray,
    tolerance: float,
    totals: FloatArray,
) -> None:
    """Add the pairs within bins to ``totals`` (n_queries or 1, n_groups, 4)."""
    n_bins, sizes = group.shape[0] - 1, np.diff(offsets)
    block = np.repeat(np.arange(sizes.size) * n_bins, sizes) + bins
    new = np.diff(block, prepend=-1) != 0
    paired = ~(new & np.append(new[1:], True)[: new.size])
    block = block[paired]
    starts = np.append(np.flatnonzero(new[paired]), block.size)
    cuts = np.array([0.0, np.nextafter(tolerance, np.inf)])
    data = values[paired], grades[paired], starts, cuts, tolerance
    counts = count_outcomes(*data, None if weights is None else weights[paired])
    query, number = np.divmod(block[starts[:-1]], n_bins)
    query *= totals.shape[1] * (totals.shape[0] > 1)
    # The pairs beyond the tolerance, and the others.
    entry = np.concatenate([query + group[number, number], query + group[number, -1]])
    found = np.concatenate([counts[:, 1], counts[:, 0] - counts[:, 1]])
    rows = totals.reshape(-1, 4)
    for column in range(4):
        rows[:, column] += np.bincount(entry, found[:, column], rows.shape[0])


@jit
def _weigh_by_pair(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    by_query: bool,
    out: FloatArray,
) -> None:
    """Add the pairs of different bins to ``out``."""
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        # Slices indexed from 0: numba need not check for negative indices.
        theirs, their_grades, their_weights = bins[lo:hi], grades[lo:hi], weights[lo:hi]
        totals = out[q if by_query else 0]
        first = 0  # of the bin
        for i in range(hi - lo):
            own, grade, weight = theirs[i], their_grades[i], their_weights[i]
            if theirs[first] != own:
                first = i
            for j in range(first):
                place = group[theirs[j], own]
                # Without a branch: which item has the higher grade is unpredictable.
                higher = np.int64(grade > their_grades[j])
                lower = np.int64(grade < their_grades[j])
                totals[place, 1 + lower - higher] += weight * their_weights[j]


def _stretches(
    bins: IntArray, grades: IntArray, offsets: IntArray, n_bins: int
) -> tuple[IntArray, IntArray]:
    """Return the items of each query and bin by grade, and where each bin begins."""
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    here = slice(offsets[0], offsets[-1])
    place = query * n_bins + bins[here]
    order = np.lexsort((grades[here], place)) + offsets[0]
    # Bins ascend with the scores: each is one stretch of the items.
    return order, np.searchsorted(place, np.arange((offsets.size - 1) * n_bins + 1))


@jit
def _merge_bins(
    grades: IntArray,
    weights: FloatArray,
    bounds: IntArray,
    group: IntArray,
    by_query: bool,
    out: FloatArray,
) -> None:
    """Add the pairs of different bins between ``bounds`` (n_queries * n_bins + 1,)."""
    n_bins = group.shape[0] - 1
    for start in range(0, bounds.shape[0] - 1, n_bins):
        totals = out[start // n_bins if by_query else 0]
        for high in range(n_bins):
            a, b = bounds[start + high], bounds[start + high + 1]
            if a == b:
                continue
            for low in range(high):
                c, d = bounds[start + low], bounds[start + low + 1]
                if c < d:
                    _merge_grades(
                        grades[c:d],
                        weights[c:d],
                        grades[a:b],
                        weights[a:b],
                        totals[group[low, high]],
                    )


@jit
def _merge_grades(
    grade: IntArray,
    weight: FloatArray,
    higher_grade: IntArray,
    higher_weight: FloatArray,
    total: FloatArray,
) -> None:
    """Add the pairs of a lower and a higher bin, both by ascending grade."""
    n = grade.shape[0]
    everything = 0.0
    for p in range(n):
        everything += weight[p]
    less, upto = 0.0, 0.0  # weight of the grades below this one, and up to it
    p, r = 0, 0
    for k in range(higher_grade.shape[0]):
        while p < n and grade[p] < higher_grade[k]:
            less += weight[p]
            p += 1
        while r < n and grade[r] <= higher_grade[k]:
            upto += weight[r]
            r += 1
        total[0] += higher_weight[k] * less
        total[1] += higher_weight[k] * (upto - less)
        total[2] += higher_weight[k] * (everything - upto)
