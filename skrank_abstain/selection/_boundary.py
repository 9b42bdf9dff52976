"""Draws for pairs on the threshold (Theorem 3.2 of the BALToR paper).

A stream of random numbers would tie a pair's fate to the order of the batch. A hash
of the seed and of the pair's two scores does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


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
    The bits of the smaller and of the larger score pass through the finaliser of
    SplitMix64 [1]_ one after the other.

    References
    ----------
    .. [1] Steele, Lea and Flood (2014). "Fast Splittable Pseudorandom Number
       Generators". OOPSLA. doi:10.1145/2660193.2660195.
    """
    # Adding zero turns -0.0 into 0.0, which has other bits.
    low = (np.minimum(left, right) + 0.0).view(np.uint64)
    high = (np.maximum(left, right) + 0.0).view(np.uint64)
    # One draw for both orientations: a symmetric loss makes the optimal rule decide (x,
    # x') and (x', x) alike, and two draws would not.
    state = _mix(np.full(low.shape, seed, dtype=np.uint64))
    state = _mix(state ^ low)
    state = _mix(state ^ high)
    # 53 bits, which a float64 in [0, 1) holds exactly.
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
