"""The package's one mixer of 64-bit numbers."""

import numpy as np

from skrank_abstain._kernels import BitArray


def mix(bits: BitArray) -> BitArray:
    """Return the image of each number under a fixed bijection that mixes all bits.

    Parameters
    ----------
    bits : ndarray, uint64

    Returns
    -------
    mixed : ndarray of the same shape, uint64
        A new array.

    Notes
    -----
    One step of SplitMix64 [1]_.

    References
    ----------
    .. [1] Steele, Lea and Flood (2014). "Fast Splittable Pseudorandom Number
       Generators". OOPSLA. doi:10.1145/2660193.2660195.
    """
    mixed = bits + np.uint64(0x9E3779B97F4A7C15)
    # In place: on long arrays new ones cost more than the arithmetic.
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
