"""Checks of arrays: one value an item, a pair or a query, probabilities, the loss."""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._validation._values import check_choice, shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: How far the probabilities of a pair may sum from one.
_PROBA_TOLERANCE = 1e-6
#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)
#: A wrong order costs, and a tie for an order, too. An order for a true tie is free, so
#: that ties are predicted for equal scores only.
MISRANKING_LOSS: FloatArray = np.array([[0.0, 0, 1], [1, 0, 1], [1, 0, 0]])
#: A tie is hardly an answer, and an order of equals a mistake: prefers clear orders.
_CLEAR_ORDER_LOSS = np.array([[0.0, 1, 1], [10, 0, 10], [1, 1, 0]])
_NAMED_LOSSES = {
    "misranking": MISRANKING_LOSS,
    "clear_order": _CLEAR_ORDER_LOSS,
    "zero_one": ZERO_ONE_LOSS,
}
_LOSS_NAMES = ", ".join(map(repr, _NAMED_LOSSES))


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse lazy frames, and masked arrays, whose mask numpy would drop."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must be an array without a mask, got a masked array: its hidden "
            f"values would count. Leave their rows out, or pass {name}.filled(...)."
        )
    if hasattr(values, "collect"):
        raise TypeError(
            f"{name} must hold its rows, got a {type(values).__name__}, which is a "
            f"query for them: pass {name}.collect()."
        )


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
    if n_values is not None and array.size != n_values:
        asked = f"X has {n_values} rows" if unit == "item" else f"{n_values} {unit}s"
        raise ValueError(
            f"{name} must have one value per {unit}: {asked}, {name} has "
            f"{array.size} values (inconsistent numbers of samples)."
        )
    return array


def as_numbers(values: Any) -> FloatArray:
    """Return real numbers as float64; raise a TypeError for other values.

    Text is refused even if numpy would read it as a number: it is an unparsed column.
    """
    try:
        array = np.asarray(values)
        real = array.dtype.kind in "iufb"
        if array.dtype == object:
            # A missing value, None, becomes NaN.
            numbers = Real | Decimal | np.bool_ | None
            real = all(issubclass(kind, numbers) for kind in {*map(type, array.flat)})
        if not real:
            raise TypeError(f"real numbers are needed, got dtype {array.dtype}.")
        return np.asarray(array, dtype=np.float64, order="C")
    except (ValueError, OverflowError) as error:
        raise TypeError(str(error)) from error


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
        Raised for values that are no numbers; scikit-learn's checks ask for a
        ValueError.

    Returns
    -------
    numbers : ndarray of the shape of ``values``, float64

    Raises
    ------
    ValueError
        If the shape is wrong or a number is not finite.
    """
    refuse_lazy(values, name)
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
    except TypeError as cause:
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
    """Describe the numbers that are not finite: the first, its place, how many."""
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
    """Return ``numbers``; raise a ValueError if one is negative."""
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
    # Two grades that become one float would make a tie that the data do not have.
    large = np.flatnonzero(np.abs(numbers) >= 2.0**53)
    if large.size:
        # From the original: numpy turns integers beside floats into floats.
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
    return np.array(array, dtype=np.int64)


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
        Required number of rows.
    name : str, default="proba"
        For the message.

    Returns
    -------
    proba : ndarray of shape (n_pairs, 3), float64
        Values below zero by rounding, as in 1 - p - q, become zero.
    """
    try:
        rows = as_numbers(proba)
    except TypeError as error:
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
    # Not rescaled: a caller's mistake would look like a probability.
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.sum(axis=1)
    # NaN compares false, so it is refused, too.
    fine = (rows >= -_PROBA_TOLERANCE).all(axis=1)
    bad = ~(fine & (np.abs(total - 1) <= _PROBA_TOLERANCE))
    if bad.any():
        raise ValueError(
            f"{name} must have non-negative rows that sum to one within "
            f"{_PROBA_TOLERANCE:g}, got {rows[bad][0].tolist()} at row "
            f"{int(bad.argmax())}."
        )
    return np.maximum(rows, 0.0)


def check_loss(loss: Any) -> FloatArray:
    """Return the 3x3 loss matrix that ``loss`` stands for.

    Parameters
    ----------
    loss : "misranking", "clear_order", "zero_one" or array-like of shape (3, 3)
        Rows are predictions, columns truths, both in the order -1, 0, +1. The
        diagonal is zero, entries are finite and non-negative, and turning a pair
        around changes nothing: ``loss[i, j] == loss[2 - i, 2 - j]``.

    Returns
    -------
    loss : ndarray of shape (3, 3), float64
    """
    if isinstance(loss, str):
        return _NAMED_LOSSES[check_choice(loss, "loss", tuple(_NAMED_LOSSES))].copy()
    refuse_lazy(loss, "loss")
    try:
        matrix = as_numbers(loss).copy()
    except TypeError as error:
        raise TypeError(
            f"loss must be one of {_LOSS_NAMES} or a 3x3 matrix of numbers, got "
            f"{shown(loss)}."
        ) from error
    if matrix.shape != (3, 3):
        raise ValueError(
            f"loss must be one of {_LOSS_NAMES} or a 3x3 matrix (rows predicted, "
            f"columns true, order -1, 0, +1), got shape {matrix.shape}."
        )
    rules = {
        "have finite, non-negative entries": np.isfinite(matrix) & (matrix >= 0),
        # A right prediction costs nothing: risks are measured against it.
        "have a zero diagonal": np.diag(matrix) == 0,
        # Left and right depend on row order alone.
        "be mirror-symmetric, loss[i, j] == loss[2 - i, 2 - j], so that turning a "
        "pair around changes nothing": matrix == matrix[::-1, ::-1],
    }
    for rule, kept in rules.items():
        if not kept.all():
            raise ValueError(f"loss must {rule}, got {matrix.tolist()}.")
    return matrix


def check_array(values: ArrayLike, name: str, *shape: str) -> FloatArray:
    """Return finite numbers as float64; values that are no numbers are a TypeError."""
    return check_finite(values, name, shape or None, allow_empty=True, error=TypeError)


def check_per_query(
    arrays: dict[str, ArrayLike], *, columns: bool = False
) -> list[FloatArray]:
    """Return arrays of one shape: a value per query, or a row if ``columns``."""
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
