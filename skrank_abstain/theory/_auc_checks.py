"""Checks of the arrays that this package takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray


def check_finite(values: ArrayLike, name: str, ndim: int) -> FloatArray:
    """Return ``values`` as a finite, non-empty float64 array of ``ndim`` dimensions."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if array.ndim != ndim or array.size == 0:
        raise ValueError(
            f"{name} must be a non-empty {ndim}d array, got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}.")
    return array
