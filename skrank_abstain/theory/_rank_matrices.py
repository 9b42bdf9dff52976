"""Bipartite rank matrices: all that the AUC depends on.

Rows are positives, columns negatives. An entry is 1 where the positive has the higher
score, 1/2 where the scores are equal and 0 otherwise, so the mean is the AUC.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from skrank_abstain._validation import FloatArray, check_finite, check_positive_int


def bipartite_rank_matrix(
    positive_scores: ArrayLike, negative_scores: ArrayLike
) -> FloatArray:
    """Return how each positive compares with each negative.

    Parameters
    ----------
    positive_scores : array-like of shape (m,)
        Scores of the positives; higher is better.
    negative_scores : array-like of shape (n,)
        Scores of the negatives.

    Returns
    -------
    matrix : ndarray of shape (m, n), float64
        1 where the positive has the higher score, 1/2 at equal scores, 0 otherwise.

    Raises
    ------
    ValueError
        If an array is empty, not one-dimensional, or has values that are not finite.

    See Also
    --------
    empirical_auc : The mean of the matrix, in O((m + n) log(m + n)).

    Notes
    -----
    Defined in Agarwal, Har-Peled and Roth (2005). O(m n) time and memory.

    Examples
    --------
    >>> from skrank_abstain.theory import bipartite_rank_matrix
    >>> bipartite_rank_matrix([0.9, 0.4], [0.4, 0.1, 0.7])
    array([[1. , 1. , 1. ],
           [0.5, 1. , 0. ]])
    """
    positive, negative = _check_scores(positive_scores, negative_scores)
    above = positive[:, None] > negative
    matrix: FloatArray = above + 0.5 * (positive[:, None] == negative)
    return matrix


def empirical_auc(positive_scores: ArrayLike, negative_scores: ArrayLike) -> float:
    """Return the AUC of a sample.

    Higher is better, in [0, 1]; 0.5 is guessing.

    Parameters
    ----------
    positive_scores : array-like of shape (m,)
        Scores of the positives; higher is better.
    negative_scores : array-like of shape (n,)
        Scores of the negatives.

    Returns
    -------
    auc : float
        Share of pairs of a positive and a negative in which the positive has the higher
        score; equal scores count one half.

    Raises
    ------
    ValueError
        If an array is empty, not one-dimensional, or has values that are not finite.

    See Also
    --------
    sklearn.metrics.roc_auc_score : The same from labels and scores.
    auc_confidence_interval : The same with an interval.

    Notes
    -----
    Equation 1 of Agarwal, Har-Peled and Roth (2005), by the rank sum of Wilcoxon, Mann
    and Whitney. O((m + n) log(m + n)).

    Examples
    --------
    >>> from skrank_abstain.theory import empirical_auc
    >>> empirical_auc([0.9, 0.4], [0.4, 0.1, 0.7, 0.2])
    0.8125
    """
    positive, negative = _check_scores(positive_scores, negative_scores)
    m, n = positive.size, negative.size
    rank = rankdata(np.concatenate([positive, negative]))[:m]
    return float((rank.sum() - m * (m + 1) / 2) / (m * n))


def forbidden_submatrix(
    matrix: ArrayLike,
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return two rows and two columns that no scores can produce.

    A matrix is the rank matrix of some scores if and only if there are none.

    Parameters
    ----------
    matrix : array-like of shape (m, n)
        Entries 0, 1/2 and 1.

    Returns
    -------
    rows, columns : tuple of two ints
        The first such columns and, within them, the first such rows. None in place of
        both if some scores have this matrix.

    Raises
    ------
    ValueError
        If the matrix is empty, not two-dimensional, or has other entries.

    Notes
    -----
    A row compares two negatives: if its entries differ, the larger entry belongs to the
    lower score; if both are 1/2, the scores are equal; if both are 0 or both are 1, the
    row says nothing. Two rows that disagree contradict each other, as in 30 of the 81
    matrices of shape (2, 2). A matrix without such a sub-matrix is realizable: Agarwal,
    Har-Peled and Roth (2005), Table 1. O(m n^2) time.

    Examples
    --------
    >>> from skrank_abstain.theory import forbidden_submatrix
    >>> forbidden_submatrix([[1, 1, 1], [1, 0.5, 0], [0, 0, 1]])
    ((1, 2), (0, 2))
    """
    array = check_finite(matrix, "matrix", ("n_positives", "n_negatives"))
    other = ~np.isin(array, (0, 0.5, 1))
    if other.any():
        raise ValueError(
            f"matrix must have entries 0, 1/2 and 1, got {array[other][0]}."
        )
    for first, second in combinations(range(array.shape[1]), 2):
        left, right = array[:, first], array[:, second]
        # How each row orders the two negatives: 0 for equal scores (both entries 1/2).
        # Rows with two 0s or two 1s do not compare them.
        order = np.sign(left - right)
        rows = np.flatnonzero((order != 0) | (left == 0.5))
        other = rows[order[rows] != order[rows[:1]]]
        if other.size:
            return (int(rows[0]), int(other[0])), (first, second)
    return None


def count_rank_matrices(m: int, n: int) -> int:
    """Return the number of realizable bipartite rank matrices of a shape.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.

    Returns
    -------
    count : int
        Exact, however large.

    Raises
    ------
    TypeError
        If ``m`` or ``n`` is not an integer.
    ValueError
        If one is less than 1.

    Notes
    -----
    No class of ranking functions can have a larger bipartite rank-shatter coefficient
    (Agarwal, Har-Peled and Roth, 2005). A matrix is a sequence of score levels. A level
    holds positives, negatives or both; neighbouring levels that hold positives alone,
    or negatives alone, count as one. The number of sequences with k levels of positives
    and l of negatives is the coefficient of a^k b^l in (1 + a) (1 + b) / (1 - 2ab - a^2
    b - a b^2 - a^2 b^2). Each can be filled in k! S(m, k) l! S(n, l) ways, where S are
    Stirling numbers of the second kind. O(m n + m^2 + n^2) operations on integers.

    Examples
    --------
    >>> from skrank_abstain.theory import count_rank_matrices
    >>> [count_rank_matrices(m, n) for m, n in [(1, 1), (2, 2), (3, 3), (6, 6)]]
    [3, 51, 2067, 3279778851]
    """
    rows = _surjections(check_positive_int(m, "m"))
    columns = _surjections(check_positive_int(n, "n"))
    # base[k + 2][l + 2] is the coefficient of a^k b^l in 1 / denominator of the
    # generating function in the Notes. Two rows and columns of zeros stand for negative
    # powers. Python's integers never overflow.
    base = [[0] * (len(columns) + 2) for _ in range(len(rows) + 2)]
    base[2][2] = 1
    total = 0
    for k, fillings in enumerate(rows, start=2):
        one, two, now = base[k - 1], base[k - 2], base[k]
        for i, others in enumerate(columns, start=2):
            now[i] += 2 * one[i - 1] + two[i - 1] + one[i - 2] + two[i - 2]
            levels = now[i] + one[i] + now[i - 1] + one[i - 1]
            total += levels * fillings * others
    return total


def _surjections(n: int) -> list[int]:
    """Return the number of maps of n elements onto k, for k from 0 to n."""
    # k! S(n, k) = k ((k - 1)! S(n - 1, k - 1) + k! S(n - 1, k)).
    counts = [1]
    for _ in range(n):
        padded = [0, *counts, 0]
        counts = [k * (padded[k + 1] + padded[k]) for k in range(len(counts) + 1)]
    return counts


def _check_scores(
    positive_scores: ArrayLike, negative_scores: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    return (
        check_finite(positive_scores, "positive_scores", ("n_positives",)),
        check_finite(negative_scores, "negative_scores", ("n_negatives",)),
    )
