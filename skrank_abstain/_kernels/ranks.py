"""Best and worst ranks that accepted strict pairs leave open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def rank_bounds(
    scores: FloatArray, offsets: IntArray, delta: float, *, n_threads: int | None = None
) -> IntArray:
    """Return the best and the worst rank of each item within its query.

    Item i is accepted over item j where ``s_i - s_j >= delta``.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    delta : float
        Positive; infinity accepts nothing but differences that overflow.
    n_threads : int, default=None
        By default one per available CPU.

    Returns
    -------
    bounds : ndarray of shape (n, 2), int64
        In the order of ``scores``. Rank 1 is the top: best is 1 plus the number of
        items accepted over this one, worst the size of the query minus the number
        of items that this one is accepted over.

    Notes
    -----
    Two pointers, O(n).
    """
    # Not `delta <= 0`: NaN has to be refused, too.
    if not delta > 0:
        raise ValueError(
            f"delta must be positive (equal scores carry no order), got {delta}."
        )
    bounds = np.empty((scores.shape[0], 2), dtype=np.int64)
    map_ranges(
        lambda q0, q1: _bounds_range(scores, offsets, q0, q1, float(delta), bounds),
        np.diff(offsets) * 15.0,
        n_threads,
    )
    return bounds


@jit
def _bounds_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    delta: float,
    bounds: IntArray,
) -> None:
    """Fill ``bounds`` (n, 2) for the queries ``q0`` to ``q1``."""
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        beaten = lo  # items before this one are beaten by item i
        beating = lo  # items from this one on beat item i
        for i in range(lo, hi):
            while beaten < i and scores[i] - scores[beaten] >= delta:
                beaten += 1
            while beating < hi and not scores[beating] - scores[i] >= delta:
                beating += 1
            bounds[i, 0] = 1 + hi - beating
            bounds[i, 1] = hi - beaten
