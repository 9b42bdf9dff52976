"""Pairs and decisions written straight into the arrays that a prediction returns."""

import numpy as np

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit


def fill_pairs(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    start: int = 0,
    stop: int | None = None,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of the queries ``start`` to ``stop`` in canonical order.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        One score per row, in row order.
    order : ndarray of shape (n,), int64
        Rows grouped by query, in row order within each.
    offsets : ndarray of shape (n_queries + 1,), int64
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), int64
        Queries in order, within a query all (i, j) with i before j.
    differences : ndarray of shape (n_pairs,), float64
        ``scores[left] - scores[right]``, never negative zero.

    Notes
    -----
    Serial: predictions use one thread. One pass writes all three arrays; gathering the
    scores afterwards costs as much again.
    """
    here = offsets[start : None if stop is None else stop + 1]
    sizes = np.diff(here)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    left, right = np.empty((2, n_pairs), dtype=np.int64)
    differences = np.empty(n_pairs)
    _fill_range(scores, order, here, left, right, differences)
    return left, right, differences


@jit
def _fill_range(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    left: IntArray,
    right: IntArray,
    differences: FloatArray,
) -> None:
    """Fill the three arrays (n_pairs,)."""
    k = 0
    for q in range(offsets.shape[0] - 1):
        for p in range(offsets[q], offsets[q + 1]):
            row = order[p]
            for other in range(p + 1, offsets[q + 1]):
                left[k] = row
                right[k] = order[other]
                # Adding zero turns negative zero into zero.
                differences[k] = scores[row] - scores[order[other]] + 0.0
                k += 1


@jit
def settle_pairs(
    differences: FloatArray,
    proba: FloatArray,
    losses: FloatArray,
    cuts: FloatArray,
    label: IntArray,
    risk: FloatArray,
    accepted: BoolArray,
) -> bool:
    """Settle pairs (n,) from their differences and their probabilities.

    ``proba`` (n, 3) holds lower-scored item preferred, tie, higher-scored item
    preferred, and is turned in place where the difference is negative. ``losses``
    (3,): confusing the orders, an order for a tie, a tie for an order. ``cuts`` (3,):
    ties are predicted up to the first, pairs accepted up to the second and from the
    third on. ``label``, ``risk`` and ``accepted`` (n,) are written. Returns whether
    all rows of ``proba`` are probabilities, to 1e-6.
    """
    fine = True
    swap, order_for_tie, tie_for_order = losses[0], losses[1], losses[2]
    tie_up_to, inner, outer = cuts[0], cuts[1], cuts[2]
    for k in range(differences.shape[0]):
        difference = differences[k]
        gap = abs(difference)
        lower, tie, higher = proba[k, 0], proba[k, 1], proba[k, 2]
        # NaN compares false, so it fails the check. A branch that is never taken costs
        # less than a flag computed for each pair.
        if not (abs(lower + tie + higher - 1) <= 1e-6 and min(lower, tie, higher) >= 0):
            fine = False
        accepted[k] = gap <= inner or gap >= outer
        if difference < 0:
            proba[k, 0] = higher
            proba[k, 2] = lower
            label[k] = -1
        else:
            label[k] = 1
        # A tie overrules either order; at a gap of 0 the order set above is arbitrary.
        # The risk is the expected loss of the answer that is given.
        if gap <= tie_up_to:
            label[k] = 0
            risk[k] = tie_for_order * (lower + higher)
        else:
            risk[k] = swap * lower + order_for_tie * tie
    return fine


@jit
def settle_bins(
    left: IntArray,
    right: IntArray,
    differences: FloatArray,
    bins: IntArray,
    tolerance: float,
    places: IntArray,
    labels: IntArray,
    risks: FloatArray,
    probas: FloatArray,
    place: IntArray,
    label: IntArray,
    risk: FloatArray,
    proba: FloatArray,
) -> None:
    """Settle pairs (n,) of rows by the bins of their items (n_rows,).

    The tables, (n_bins + 1, n_bins + 1) and (n_bins + 1, n_bins + 1, 3), describe pairs
    of two bins; in the last column, of values of one bin that differ by at most
    ``tolerance``. Other values of one bin are ordered by their difference. ``place``,
    ``label``, ``risk`` and ``proba`` (n,) and (n, 3) are written.
    """
    last = labels.shape[0] - 1
    for k in range(left.shape[0]):
        one, other = bins[left[k]], bins[right[k]]
        sign = 1
        if one == other:
            if abs(differences[k]) <= tolerance:
                other = last
            elif differences[k] < 0:
                sign = -1
        place[k] = places[one, other]
        label[k] = sign * labels[one, other]
        risk[k] = risks[one, other]
        proba[k, 0] = probas[one, other, 0]
        proba[k, 1] = probas[one, other, 1]
        proba[k, 2] = probas[one, other, 2]
