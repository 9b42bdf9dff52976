"""Projections on balls of the l_1, l_2 and l_inf norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray, check_real

#: The q of the l_q ball of weights, by the p of the l_p norm of items: 1/p + 1/q = 1.
_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


def check_ball_norm(norm: Any) -> float:
    """Return the p of the norm of items, of which the dual ball can be projected on."""
    number = check_real(norm, "norm")
    if number not in _DUAL:
        raise ValueError(
            "norm must be 1, 2 or inf (the p of the l_p norm of items; weights have a "
            f"bounded dual norm), got {norm!r}."
        )
    return number


def dual_norm(norm: float) -> float:
    """Return the q with 1 / p + 1 / q = 1."""
    return _DUAL[norm]


def project_rows(vectors: FloatArray, radius: float, q: float) -> FloatArray:
    """Return the point of the l_q ball that is nearest to each row.

    Parameters
    ----------
    vectors : ndarray of shape (..., n_features), float64
    radius : float
        At least 0.
    q : {1, 2, inf}

    Returns
    -------
    projected : ndarray of the same shape, float64
        Distances are Euclidean. Norms, as ``np.linalg.norm`` computes them, are at most
        ``radius``, rounding included; rows within the ball stay as they are.

    Notes
    -----
    O(n_features) for each row, for l_1 O(n_features log n_features): the sizes shrink
    by one amount, found by sorting [1]_.

    References
    ----------
    .. [1] Duchi, Shalev-Shwartz, Singer and Chandra (2008). "Efficient Projections onto
       the l1-Ball for Learning in High Dimensions". ICML 2008.
    """
    # Each coordinate has its own bound.
    if q == np.inf:
        clipped: FloatArray = np.clip(vectors, -radius, radius)
        return clipped
    norms = np.linalg.norm(vectors, q, axis=-1, keepdims=True)
    outside = norms > radius
    if not outside.any():
        return vectors
    if q == 2:
        nearest = vectors * (radius / np.where(outside, norms, 1.0))
    else:
        nearest = _shrink(vectors, radius)
    projected: FloatArray = np.where(outside, nearest, vectors)
    return _round_inwards(projected, radius, q)


def _shrink(vectors: FloatArray, radius: float) -> FloatArray:
    """Return the rows with sizes less the amount that leaves ``radius`` in all."""
    sizes = np.abs(vectors)
    descending = -np.sort(-sizes, axis=-1)
    # The amount to subtract if the largest 1, 2, ... coordinates stay.
    counts = np.arange(1, vectors.shape[-1] + 1)
    amounts = (np.cumsum(descending, axis=-1) - radius) / counts
    staying = np.maximum((descending > amounts).sum(axis=-1, keepdims=True), 1)
    amount = np.take_along_axis(amounts, staying - 1, axis=-1)
    shrunk: FloatArray = np.copysign(np.maximum(sizes - amount, 0.0), vectors)
    return shrunk


def _round_inwards(vectors: FloatArray, radius: float, q: float) -> FloatArray:
    """Shrink rows that rounding left outside of the ball."""
    # The norm that a user computes must not exceed the radius in the last bit. Doubling
    # the cut ends after a few rounds.
    ulps = np.finfo(np.float64).eps
    while True:
        outside = np.linalg.norm(vectors, q, axis=-1, keepdims=True) > radius
        if not outside.any():
            return vectors
        vectors = np.where(outside, vectors * (1 - ulps), vectors)
        ulps *= 2
