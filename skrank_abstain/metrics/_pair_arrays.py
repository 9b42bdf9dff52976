"""What the metrics share: checks of per-pair arrays, and undefined values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    check_sample_weight,
    check_vector,
)
from skrank_abstain._warnings import warn_user


def check_accepted(accepted: ArrayLike, n_pairs: int | None = None) -> BoolArray:
    """Return the mask of accepted pairs; it must be boolean, or empty."""
    array = check_vector(accepted, "accepted", n_pairs, unit="pair")
    # A mask of 0 and 1 would index rows 0 and 1 further on. An empty list has no
    # boolean dtype.
    if array.size and array.dtype != np.bool_:
        raise TypeError(f"accepted must be boolean, got dtype {array.dtype}.")
    mask: BoolArray = array.astype(np.bool_, copy=False)
    return mask


def pair_weight(weight: ArrayLike | None, n_pairs: int) -> FloatArray:
    """Return non-negative pair weights, ones by default."""
    checked = check_sample_weight(weight, n_pairs, unit="pair")
    return np.ones(n_pairs) if checked is None else checked


def undefined(name: str, zero_division: float = np.nan) -> float:
    """Return ``zero_division``, with a warning where it is NaN."""
    if np.isnan(zero_division):
        warn_user(
            f"{name} is undefined and set to NaN: no pair counts towards it.",
            UndefinedMetricWarning,
        )
    return zero_division
