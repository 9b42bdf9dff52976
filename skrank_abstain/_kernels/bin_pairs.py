"""Weights of pairs by the bins of their items and by outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels._threads import map_ranges
from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def weigh_groups(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    n_groups: int,
    *,
    by_query: bool,
    n_threads: int | None = None,
) -> FloatArray:
    """Add up pairs by the group that their two bins belong to, and by outcome.

    A pair weighs the product of the weights of its items.

    Parameters
    ----------
    bins : ndarray of shape (n,), int64
        Bin of each item, ascending within each query.
    grades : ndarray of shape (n,), int64
    weights : ndarray of shape (n,), float64
    offsets : ndarray of shape (n_queries + 1,), int64
    group : ndarray of shape (n_bins, n_bins), int64
        Group of the pairs of bins (lower, higher), from 0; negative ones are left
        out.
    n_groups : int
    by_query : bool
        Whether to keep queries apart.
    n_threads : int, default=None

    Returns
    -------
    totals : ndarray of shape (n_queries or 1, n_groups, 4), float64
        Concordant, tied, discordant, and untied pairs of items of one bin.

    Notes
    -----
    A query of n items costs the smaller of n**2 / 2 and n * n_bins steps. Whole
    weights give exact sums up to 2**53.
    """
    n_bins = group.shape[0]
    sizes = np.diff(offsets).astype(np.float64)
    # Where `_weigh_range` changes from pairs to bins, their costs are taken as equal:
    # at 4 * n_bins items.
    cost = 2.0 * np.minimum(sizes * sizes, 4.0 * sizes * n_bins) + 20.0

    def weigh(q0: int, q1: int) -> FloatArray:
        out = np.zeros((q1 - q0 if by_query else 1, n_groups, 4))
        _weigh_range(bins, grades, weights, offsets, group, q0, q1, by_query, out)
        return out

    parts = map_ranges(weigh, cost, n_threads)
    if by_query:
        return np.concatenate([np.zeros((0, n_groups, 4)), *parts])
    # Added in the order of the ranges, which depend on the queries alone: sums of
    # floats are the same for any number of threads.
    total = np.zeros((1, n_groups, 4))
    for part in parts:
        total += part
    return total


@jit
def _weigh_range(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    q0: int,
    q1: int,
    by_query: bool,
    out: FloatArray,
) -> None:
    """Add the pairs of the queries q0 to q1 to ``out``."""
    n_bins = group.shape[0]
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        totals = out[q - q0 if by_query else 0]
        # By bins a query takes a step for each item and bin, by pairs one for each
        # pair: with few items per bin pairs are cheaper.
        if hi - lo > 4 * n_bins:
            _weigh_by_bin(bins[lo:hi], grades[lo:hi], weights[lo:hi], group, totals)
        else:
            _weigh_by_pair(bins[lo:hi], grades[lo:hi], weights[lo:hi], group, totals)


@jit
def _weigh_by_pair(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    group: IntArray,
    totals: FloatArray,
) -> None:
    for i in range(bins.shape[0]):
        own, grade, weight = bins[i], grades[i], weights[i]
        for j in range(i):
            place = group[bins[j], own]
            if place < 0:
                continue
            if grades[j] == grade:
                column = 1
            elif bins[j] == own:
                column = 3
            elif grade > grades[j]:
                column = 0
            else:
                column = 2
            totals[place, column] += weight * weights[j]


@jit
def _weigh_by_bin(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    group: IntArray,
    totals: FloatArray,
) -> None:
    """Merge the grades of each two bins, in ascending order."""
    n_bins = group.shape[0]
    # Bins ascend with the scores: each is one stretch of the items.
    start = np.searchsorted(bins, np.arange(n_bins + 1))
    grade, weight = grades.copy(), weights.copy()
    for own in range(n_bins):
        a, b = start[own], start[own + 1]
        order = np.argsort(grades[a:b], kind="mergesort")
        grade[a:b] = grades[a:b][order]
        weight[a:b] = weights[a:b][order]
    for high in range(n_bins):
        a, b = start[high], start[high + 1]
        if a == b:
            continue
        for low in range(high):
            c, d = start[low], start[low + 1]
            place = group[low, high]
            if place >= 0 and c < d:
                _merge_grades(
                    grade[c:d], weight[c:d], grade[a:b], weight[a:b], totals[place]
                )
        if group[high, high] >= 0:
            _pair_up(grade[a:b], weight[a:b], totals[group[high, high]])


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
    everything = weight.sum()
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


@jit
def _pair_up(grade: IntArray, weight: FloatArray, total: FloatArray) -> None:
    """Add the pairs of one bin, by ascending grade."""
    before, run = 0.0, 0.0  # weight of the lower grades, and of this one so far
    for k in range(grade.shape[0]):
        if k > 0 and grade[k] != grade[k - 1]:
            before += run
            run = 0.0
        total[1] += weight[k] * run
        total[3] += weight[k] * before
        run += weight[k]
