"""Checks of arrays: relevance, scores, weights, probabilities."""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._validation._rows import refuse_lazy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: How far the probabilities of a pair may be from a sum of one.
_PROBA_TOLERANCE = 1e-6


def check_vector(
    values: ArrayLike, name: str, n_values: int | None = None, *, unit: str = "item"
) -> Any:
    """Return ``values`` as a 1-D array, one value per ``unit`` of ``n_values``."""
    refuse_lazy(values, name)
    array = np.asarray(values)
    # A frame's single column is a vector to its user.
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1d array, got shape {array.shape}.")
    if n_values is not None:
        check_length(array, name, n_values, unit)
    return array


def check_length(array: Any, name: str, n_values: int, unit: str) -> None:
    if array.shape[0] != n_values:
        asked = f"X has {n_values} rows" if unit == "item" else f"{n_values} {unit}s"
        raise ValueError(
            f"{name} must have one value per {unit}: {asked}, {name} has "
            f"{array.shape[0]} values (inconsistent numbers of samples)."
        )


def as_numbers(values: Any) -> FloatArray:
    """Return real numbers as float64; text that looks like one is refused."""
    array = np.asarray(values)
    # numpy would read "1.5" as a number: in data that is a column that was not parsed.
    real = array.dtype.kind in "iufb"
    if array.dtype == object:
        # None is a missing value, and becomes NaN.
        numbers = Real | Decimal | np.bool_ | None
        real = all(issubclass(kind, numbers) for kind in {*map(type, array.flat)})
    if not real:
        raise TypeError(f"real numbers are needed, got dtype {array.dtype}.")
    return np.asarray(array, dtype=np.float64, order="C")


def check_finite(
    values: Any,
    name: str,
    shape: tuple[str, ...] | None = None,
    *,
    allow_empty: bool = False,
    remedy: str = "",
    error: type[Exception] = ValueError,
) -> FloatArray:
    """Return finite real numbers as float64.

    Parameters
    ----------
    values : array-like
    name : str
        Name of the parameter, for the message.
    shape : tuple of str, default=None
        Names of the axes, such as ``("n_samples", "n_labels")``; None for any.
    allow_empty : bool, default=False
        Whether an axis named in ``shape`` may have no entry.
    remedy : str, default=""
        What to do about it, at the end of the message.
    error : type, default=ValueError
        Raised for what is no number; scikit-learn's checks ask for a ValueError.

    Returns
    -------
    numbers : ndarray of the shape of ``values``, float64

    Raises
    ------
    ValueError
        If the shape is another or a number is not finite.
    """
    try:
        array = np.asarray(values)
    except ValueError as cause:
        raise error(f"{name} must have rows of one length: {cause}{remedy}") from cause
    if shape is not None and (
        array.ndim != len(shape) or not (allow_empty or array.size)
    ):
        least = "" if allow_empty else ", at least one of each"
        raise ValueError(
            f"{name} must be of shape ({', '.join(shape)}{',' * (len(shape) == 1)})"
            f"{least}, got shape {array.shape}.{remedy}"
        )
    # scikit-learn's estimator checks look for these words.
    if array.dtype.kind == "c":
        raise error(f"Complex data not supported: {name} has {array.dtype}.")
    try:
        numbers = as_numbers(array)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(
            f"{name} must hold numbers, got dtype {array.dtype}.{remedy}"
        ) from cause
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(
            f"{name} must be finite, got {_describe(numbers, bad)}.{remedy}"
        )
    return numbers


def _describe(numbers: FloatArray, bad: IntArray) -> str:
    """Return the first number that is not finite, where it is, and how many are."""
    value = numbers[tuple(bad[0])]
    # The word and the value: a user searches for NaN, and -inf is not inf.
    kind = f"{'NaN' if np.isnan(value) else 'infinity'} ({value})"
    axes = ", ".join(
        f"{axis} {i}" for axis, i in zip(("row", "column"), bad[0], strict=False)
    )
    return f"{kind} at {axes} and {len(bad)} such values in all" if axes else kind


def check_numbers(
    values: ArrayLike,
    name: str,
    n_values: int | None = None,
    *,
    unit: str = "item",
    remedy: str = "",
) -> FloatArray:
    """Return finite numbers as float64, one value per ``unit`` of ``n_values``."""
    array = check_vector(values, name, n_values, unit=unit)
    return check_finite(array, name, remedy=remedy)


def check_not_negative(numbers: FloatArray, name: str) -> FloatArray:
    """Return ``numbers`` if none is below 0, or raise a ValueError."""
    if (numbers < 0).any():
        raise ValueError(f"{name} must be non-negative, got {float(numbers.min())}.")
    return numbers


def check_relevance(y: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return relevance as finite float64, one value per item.

    Integers beyond 2**53 would be merged by the conversion and raise.
    """
    numbers = check_numbers(
        y, "y", n_items, remedy=" Encode grades as ordered numbers, one for each item."
    )
    # Two grades that become one float would be a tie that the data do not have.
    large = np.flatnonzero(np.abs(numbers) >= 2.0**53)
    if large.size:
        # As they were given: in a list with floats numpy makes them floats at once.
        given = np.asarray(y, dtype=object).reshape(-1)[large]
        integers = [int(value) for value in given if isinstance(value, Integral)]
        if integers and abs(furthest := max(integers, key=abs)) > 2**53:
            raise ValueError(
                "y must not exceed 2**53 in absolute value (integers beyond it are "
                f"not exact as floats), got {furthest}."
            )
    return numbers


def check_scores(scores: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return a model's scores as finite float64, one value per item."""
    remedy = " Look at the model and at the features of that row."
    return check_numbers(scores, "scores", n_items, remedy=remedy)


def check_sample_weight(
    weight: ArrayLike | None, n_values: int, *, unit: str = "item"
) -> FloatArray | None:
    """Return weights, one per ``unit``, as finite, non-negative float64, or None."""
    if weight is None:
        return None
    numbers = check_numbers(weight, "sample_weight", n_values, unit=unit)
    return check_not_negative(numbers, "sample_weight")


def check_labels(labels: ArrayLike, name: str, n_pairs: int | None = None) -> IntArray:
    """Return labels in {-1, 0, +1} as int64."""
    array = check_vector(labels, name, n_pairs, unit="pair")
    # Compared before the conversion, which would turn 0.7 into the label 0.
    unknown = ~np.isin(array, (-1, 0, 1))
    if unknown.any():
        raise ValueError(
            f"{name} must hold the labels -1, 0 and 1, got {array[unknown][0]!r}."
        )
    checked: IntArray = array.astype(np.int64)
    return checked


def check_proba(
    proba: ArrayLike, n_pairs: int | None = None, *, name: str = "proba"
) -> FloatArray:
    """Return pair probabilities as float64, not rescaled.

    Parameters
    ----------
    proba : array-like of shape (n_pairs, 3)
        Finite and non-negative, rows sum to one, both within 1e-6. An empty list
        stands for no pairs.
    n_pairs : int, default=None
        Number of rows there must be, where known.
    name : str, default="proba"
        Name of the parameter, for the message.

    Returns
    -------
    proba : ndarray of shape (n_pairs, 3), float64
        What rounding took below zero, as 1 - p - q has it, is zero.
    """
    try:
        rows = as_numbers(proba)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must hold numbers, three in each row: {error}"
        ) from error
    # An empty list has no columns to count.
    if rows.shape == (0,):
        rows = rows.reshape(0, 3)
    if rows.shape != (rows.size // 3 if n_pairs is None else n_pairs, 3):
        known = "" if n_pairs is None else f" = ({n_pairs}, 3)"
        raise ValueError(
            f"{name} must be of shape (n_pairs, 3){known}, columns for the labels "
            f"-1, 0, +1, got {rows.shape}."
        )
    # Rows are not rescaled: a caller's mistake would look like a probability.
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.sum(axis=1)
    # Written so that NaN, which compares false, is refused too.
    fine = (rows >= -_PROBA_TOLERANCE).all(axis=1)
    bad = ~(fine & (np.abs(total - 1) <= _PROBA_TOLERANCE))
    if bad.any():
        raise ValueError(
            f"{name} must have non-negative rows that sum to one within "
            f"{_PROBA_TOLERANCE:g}, got {rows[bad][0].tolist()} at row "
            f"{int(bad.argmax())}."
        )
    return np.maximum(rows, 0.0)
