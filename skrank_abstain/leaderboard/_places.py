"""Which items are surely stronger, all pairs at once, and the places that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.leaderboard._maxima import Single, largest_differences
from skrank_abstain.pairs import bounds_of_orders, check_output_size

#: Draws of the largest difference.
N_DRAWS = 2000
#: Bytes of a pair on the way: two items, five numbers and what is made of them.
_BYTES = 100
REMEDY = "Strengths and probabilities need no pairs: use strengths_ and predict_proba."


@dataclass(frozen=True, eq=False)
class Comparisons:
    """All pairs of items, the first one before the second.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
    statistic : ndarray of shape (n_pairs,), float64
        Difference of the strengths over its standard error; 0 for items that never
        met, not even over others.
    pvalue : ndarray of shape (n_pairs,), float64
        Adjusted for all pairs.
    accepted : ndarray of shape (n_pairs,), bool
        Whether the order is sure.
    """

    left: IntArray
    right: IntArray
    statistic: FloatArray
    pvalue: FloatArray
    accepted: BoolArray

    def places(self, n_items: int) -> IntArray:
        """Return best and worst place of each item, shape (n_items, 2)."""
        won = self.statistic[self.accepted] > 0
        left, right = self.left[self.accepted], self.right[self.accepted]
        return bounds_of_orders(
            np.where(won, left, right),
            np.where(won, right, left),
            np.zeros(n_items, dtype=np.int64),
        )


def compare_items(
    theta: FloatArray,
    sandwich: FloatArray,
    expected: FloatArray,
    component: IntArray,
    *,
    alpha: float,
    control: str,
    degrees: float,
    rng: np.random.Generator,
) -> Comparisons:
    """Decide which of two items is stronger, for all pairs at once.

    Parameters
    ----------
    theta : ndarray of shape (n_items,)
    sandwich, expected : ndarray of shape (n_items, n_items)
        Two covariances; a difference is as uncertain as the larger one says.
    component : ndarray of shape (n_items,), int64
        Items of different ones never met.
    alpha : float
        "familywise": probability that any order is false; "fdr": expected share of
        false ones among those that are decided.
    control : {"familywise", "fdr"}
    degrees : float
        Degrees of freedom of the covariance: clusters, or queries, less one; infinite
        for many votes.
    rng : numpy Generator

    Returns
    -------
    comparisons : Comparisons

    Notes
    -----
    Familywise: Bonferroni's rule, then the step-down of the largest statistic: draws
    of all differences, with their correlations, give the largest one by chance among
    the pairs that are still open, until no further pair exceeds it. Fdr: Benjamini and
    Hochberg's rule. With few clusters the ratio of a difference to its standard error
    follows Student's distribution, and is brought to the normal one first.
    O(n_items^2) times the number of draws.
    """
    n = theta.size
    check_output_size(n * (n - 1) // 2, _BYTES, remedy=REMEDY)
    left, right = np.triu_indices(n, 1)
    of_votes = _errors(sandwich, left, right)
    error = np.maximum(of_votes, _errors(expected, left, right))
    difference = theta[left] - theta[right]
    met = (component[left] == component[right]) & (error > 0)
    statistic = np.zeros(left.size)
    np.divide(difference, error, out=statistic, where=met)
    single = 2 * student.sf(np.abs(statistic), degrees)
    # As large for a normal variable, with which the draws are made.
    size = norm.isf(single / 2)
    pvalue = np.ones(left.size)
    if control == "fdr":
        pvalue[met] = false_discovery_control(single[met]) if met.any() else 1.0
        return Comparisons(left, right, statistic, pvalue, met & (pvalue <= alpha))
    pvalue[met] = np.minimum(1.0, single[met] * met.sum())
    accepted = met & (pvalue <= alpha)
    precision = np.zeros(left.size, dtype=np.float32)
    np.divide(1, of_votes, out=precision, where=of_votes > 0, casting="unsafe")
    draws = _draws(sandwich, rng)
    floor = pvalue[accepted].max(initial=0.0)
    live = np.flatnonzero(met & ~accepted)
    while live.size:
        largest = np.zeros(draws.shape[1], dtype=np.float32)
        largest_differences(draws, left[live], right[live], precision[live], largest)
        below = np.searchsorted(np.sort(largest), size[live])
        p = np.maximum((1 + N_DRAWS - below) / (1 + N_DRAWS), floor)
        pvalue[live] = p
        fallen = p <= alpha
        if not fallen.any():
            break
        accepted[live[fallen]] = True
        floor = p[fallen].max()
        live = live[~fallen]
    return Comparisons(left, right, statistic, pvalue, accepted)


def _errors(covariance: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Return the standard errors of differences."""
    variance = np.diag(covariance)
    square = variance[left] + variance[right] - 2 * covariance[left, right]
    return np.asarray(np.sqrt(np.maximum(square, 0)))


def _draws(covariance: FloatArray, rng: np.random.Generator) -> Single:
    """Return draws of the strengths, shape (n_items, N_DRAWS), float32."""
    n = len(covariance)
    # What is added to all strengths alike cancels in differences. The diagonal keeps
    # covariances of few clusters, which have a lower rank, positive definite.
    scale = max(float(np.diag(covariance).mean()), np.finfo(float).tiny)
    matrix = covariance + scale / n + 1e-8 * scale * np.eye(n)
    noise = rng.standard_normal((n, N_DRAWS))
    return np.asarray(cholesky(matrix, lower=True) @ noise, dtype=np.float32)
