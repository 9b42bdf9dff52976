"""A check that names the parameter of a display."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_vector


def check_finite(
    values: ArrayLike, name: str, n_values: int, *, unit: str = "item"
) -> FloatArray:
    """Return ``values`` as finite float64, one per ``unit``."""
    array = check_vector(values, name, n_values, unit=unit)
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}.")
    numbers: FloatArray = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        bad = numbers[~np.isfinite(numbers)][0]
        raise ValueError(f"{name} must be finite, got {bad}.")
    return numbers
