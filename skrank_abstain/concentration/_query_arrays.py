"""Checks of arrays that hold one value, or one row, per query."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_finite

#: How far sums of weights may round a share out of its range.
_ROUNDING = 1e-9


def check_array(values: ArrayLike, name: str, *shape: str) -> FloatArray:
    """Return finite numbers as float64; anything but numbers is a TypeError."""
    return check_finite(values, name, shape or None, allow_empty=True, error=TypeError)


def check_range(values: FloatArray, name: str, high: float = 1.0) -> FloatArray:
    """Return values of [0, high], less rounding, or raise."""
    # Relative to the range: shares of weighted pairs may sum to 1 + 1e-16.
    slack = _ROUNDING * high
    bad = (values < -slack) | (values > high + slack)
    if bad.any():
        raise ValueError(f"{name} must be in [0, {high:g}], got {values[bad][0]}.")
    return np.clip(values, 0.0, high)


def check_table(values: ArrayLike, name: str, high: float = 1.0) -> FloatArray:
    """Return an array of shape (n_queries, n_candidates) with values in [0, high]."""
    table = check_array(values, name, "n_queries", "n_candidates")
    return check_range(table, name, high)


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
    arrays: dict[str, ArrayLike], *, ndim: int | None = 1
) -> list[FloatArray]:
    """Return arrays with one entry per query each, and equally many of them."""
    checked: list[FloatArray] = []
    for name, values in arrays.items():
        array = check_array(values, name)
        if array.ndim < 1 or (ndim is not None and array.ndim != ndim):
            raise ValueError(
                f"{name} must have one value per query, got shape {array.shape}."
            )
        if checked and array.shape[0] != checked[0].shape[0]:
            raise ValueError(
                f"{name} must have one value per query like {next(iter(arrays))}, "
                f"got {array.shape[0]} and {checked[0].shape[0]}."
            )
        checked.append(array)
    return checked
