"""Checks of arrays that hold one value, or one row, per query."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation._arrays import FloatArray, check_finite

#: How far sums of weights may round a share out of its range.
_ROUNDING = 1e-9


def check_array(values: ArrayLike, name: str, *shape: str) -> FloatArray:
    """Return finite numbers as float64; anything but numbers is a TypeError."""
    return check_finite(values, name, shape or None, allow_empty=True, error=TypeError)


def check_range(values: FloatArray, name: str) -> FloatArray:
    """Return values clipped to [0, 1], or raise where rounding cannot explain them."""
    # Shares of weighted pairs may sum to 1 + 1e-16.
    bad = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if bad.any():
        raise ValueError(f"{name} must be in [0, 1], got {values[bad][0]}.")
    return np.clip(values, 0.0, 1.0)


def check_table(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of shape (n_queries, n_candidates) with values in [0, 1]."""
    return check_range(check_array(values, name, "n_queries", "n_candidates"), name)


def check_shares(
    accepted: ArrayLike, errors: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return per-query shares of accepted and of wrongly decided pairs."""
    share = check_table(accepted, "accepted")
    wrong = check_table(errors, "errors")
    if share.shape != wrong.shape:
        raise ValueError(
            "errors must have the shape of accepted, got "
            f"{wrong.shape} and {share.shape}."
        )
    # The likeliest mistake: errors as a share of accepted pairs, in place of all pairs.
    bad = wrong > share + _ROUNDING
    if bad.any():
        raise ValueError(
            "errors must not exceed accepted (both are shares of all pairs of the "
            f"query), got {wrong[bad][0]} of {share[bad][0]}."
        )
    return share, wrong


def check_per_query(
    arrays: dict[str, ArrayLike], *, columns: bool = False
) -> list[FloatArray]:
    """Return arrays of one shape, one value, or with ``columns`` one row, per query."""
    checked: list[FloatArray] = []
    for name, values in arrays.items():
        array = check_array(values, name)
        if array.ndim not in (1, 1 + columns):
            raise ValueError(
                f"{name} must have one value per query, got shape {array.shape}."
            )
        if checked and array.shape != checked[0].shape:
            raise ValueError(
                f"{name} must have one value per query like {next(iter(arrays))}, "
                f"got shapes {array.shape} and {checked[0].shape}."
            )
        checked.append(array)
    return checked
