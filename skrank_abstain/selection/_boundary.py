"""Draws for pairs on the threshold (Theorem 3.2 of the BALToR paper).

A stream of random numbers would tie a pair's fate to the order of the batch. A hash
of the seed and of the pair's two scores does not.
"""

from __future__ import annotations

import numpy as np

from skrank_abstain._kernels.mixing import mix
from skrank_abstain._validation import BoolArray, FloatArray, IntArray


def draw_boundary(
    weight: FloatArray,
    seed: int,
    values: FloatArray,
    left: IntArray,
    right: IntArray,
) -> BoolArray:
    """Accept pairs with their probabilities.

    Parameters
    ----------
    weight : ndarray of shape (n_pairs,), float64
        Probability of acceptance; most are 0 or 1.
    seed : int
    values : ndarray of shape (n_items,), float64
    left, right : ndarray of shape (n_pairs,), int64
        Rows.

    Returns
    -------
    accepted : ndarray of shape (n_pairs,), bool
        The fate of a pair depends on the seed and on its two values alone: not on
        order, batch or orientation.
    """
    accepted: BoolArray = weight == 1
    drawn = np.flatnonzero((weight > 0) & (weight < 1))
    if drawn.size:
        draw = unordered_uniform(seed, values[left[drawn]], values[right[drawn]])
        accepted[drawn] = draw < weight[drawn]
    return accepted


def unordered_uniform(seed: int, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return one number in [0, 1) per pair, the same for both orientations.

    Parameters
    ----------
    seed : int
        Non-negative.
    left, right : ndarray of shape (n_pairs,), float64
        Scores of the two items.

    Returns
    -------
    uniform : ndarray of shape (n_pairs,), float64
        Uniform over pairs of distinct scores.

    Notes
    -----
    The seed, the smaller and the larger score are mixed one after the other.
    """
    # Adding zero turns -0.0 into 0.0, which has other bits.
    low = (np.minimum(left, right) + 0.0).view(np.uint64)
    high = (np.maximum(left, right) + 0.0).view(np.uint64)
    # One draw for both orientations: a symmetric loss makes the optimal rule decide (x,
    # x') and (x', x) alike, and two draws would not.
    state = mix(np.full(low.shape, seed, dtype=np.uint64))
    state = mix(state ^ low)
    state = mix(state ^ high)
    # 53 bits, which a float64 in [0, 1) holds exactly.
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
