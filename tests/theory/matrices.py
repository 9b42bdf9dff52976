"""Rank matrices: of scores, and what no scores can produce."""

from itertools import combinations

import numpy as np


def rank_matrix(positive, negative):
    """1 where the positive has the higher score, 1/2 at equal scores, 0 otherwise."""
    gap = np.subtract.outer(positive, negative)
    return (np.sign(gap) + 1) / 2


def forbidden_submatrix(matrix):
    """Return two rows and two columns that no scores can produce; None if some can.

    A row compares two negatives: if its entries differ, the larger entry belongs to the
    lower score; if both are 1/2, the scores are equal; if both are 0 or both are 1, the
    row does not compare them. Two rows that compare them differently are forbidden.
    """
    for first, second in combinations(range(matrix.shape[1]), 2):
        left, right = matrix[:, first], matrix[:, second]
        order = np.sign(left - right)
        rows = np.flatnonzero((order != 0) | (left == 0.5))
        other = rows[order[rows] != order[rows[:1]]]
        if other.size:
            return (rows[0], other[0]), (first, second)
    return None
