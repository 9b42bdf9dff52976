"""Labels, risks and decisions written straight into the arrays of a prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@jit
def settle_pairs(
    differences: FloatArray,
    proba: FloatArray,
    losses: FloatArray,
    cuts: FloatArray,
    label: IntArray,
    risk: FloatArray,
    accepted: NDArray[np.bool_],
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
