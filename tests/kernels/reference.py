"""Slow oracles, written pair by pair from the definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

CONCORDANT, TIED, DISCORDANT, EQUAL_UNTIED = range(4)


def pairs_of_query(scores, grades, offsets, q):
    """Yield (|d|, column) of each pair of one query, order taken at face value."""
    with np.errstate(over="ignore"):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                high, low = (i, j) if scores[i] >= scores[j] else (j, i)
                column = TIED
                if grades[high] != grades[low]:
                    column = CONCORDANT if grades[high] > grades[low] else DISCORDANT
                yield np.float64(scores[high]) - np.float64(scores[low]), column


def differences(scores, offsets):
    grades = np.zeros(len(scores), dtype=int)
    return [
        np.array([d for d, _ in pairs_of_query(scores, grades, offsets, q)])
        for q in range(len(offsets) - 1)
    ]


def count_within(scores, offsets, cuts):
    every = np.concatenate([np.empty(0), *differences(scores, offsets)])
    return np.array([int((every <= cut).sum()) for cut in cuts], dtype=int)


def count_outcomes_by_query(scores, grades, offsets, cuts, tol):
    out = np.zeros((len(offsets) - 1, len(cuts), 4), dtype=int)
    for q in range(len(offsets) - 1):
        for d, column in pairs_of_query(scores, grades, offsets, q):
            if d <= tol and column != TIED:
                column = EQUAL_UNTIED
            for k, cut in enumerate(cuts):
                out[q, k, column] += d >= cut
    return out


def weigh_outcomes_by_query(scores, grades, offsets, cuts, tol, weights):
    out = np.zeros((len(offsets) - 1, len(cuts), 4))
    for q in range(len(offsets) - 1):
        pairs_in_order = (
            (i, j)
            for i in range(offsets[q], offsets[q + 1])
            for j in range(offsets[q], i)
        )
        pairs = pairs_of_query(scores, grades, offsets, q)
        for (i, j), (d, column) in zip(pairs_in_order, pairs, strict=True):
            if d <= tol and column != TIED:
                column = EQUAL_UNTIED
            for k, cut in enumerate(cuts):
                out[q, k, column] += (d >= cut) * weights[i] * weights[j]
    return out


def rank_bounds(scores, offsets, delta):
    out = np.empty((len(scores), 2), dtype=int)
    with np.errstate(over="ignore"):
        for lo, hi in pairwise(offsets):
            for i in range(lo, hi):
                others = [j for j in range(lo, hi) if j != i]
                out[i, 0] = 1 + sum(scores[j] - scores[i] >= delta for j in others)
                out[i, 1] = (
                    hi - lo - sum(scores[i] - scores[j] >= delta for j in others)
                )
    return out


def pairs(scores, order, offsets):
    left, right = [], []
    for lo, hi in pairwise(offsets):
        for p in range(lo, hi):
            for other in range(p + 1, hi):
                left.append(order[p])
                right.append(order[other])
    left, right = np.array(left, dtype=int), np.array(right, dtype=int)
    with np.errstate(over="ignore"):
        return left, right, scores[left] - scores[right]
