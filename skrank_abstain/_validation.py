"""Checks of user input.

Every message names the parameter, the rule and the value received. Nothing is
dropped, reordered or coerced in silence.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MappingView, Set
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)

#: How far the probabilities of a pair may be from a sum of one.
_PROBA_TOLERANCE = 1e-6


def check_fraction(
    value: Any, name: str, *, include_zero: bool = False, include_one: bool = False
) -> float:
    """Return ``value`` as a float in the unit interval, or raise.

    Parameters
    ----------
    value : object
        What the user passed.
    name : str
        Name of the parameter, for the message.
    include_zero, include_one : bool, default=False
        Whether the end points are allowed.

    Returns
    -------
    value : float

    Raises
    ------
    TypeError
        If ``value`` is not a real number.
    ValueError
        If it lies outside the interval.
    """
    interval = f"{'[' if include_zero else '('}0, 1{']' if include_one else ')'}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number in {interval}, got {value!r}.")
    number = float(value)
    above = number >= 0 if include_zero else number > 0
    below = number <= 1 if include_one else number < 1
    if not (above and below):
        raise ValueError(f"{name} must be in {interval}, got {value!r}.")
    return number


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise a ValueError."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def check_positive_int(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``, or raise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}.")
    return int(value)


def check_loss(loss: Any) -> FloatArray:
    """Return the 3x3 loss matrix that ``loss`` stands for.

    Parameters
    ----------
    loss : "zero_one" or array-like of shape (3, 3)
        Rows are predictions, columns truths, both in the order -1, 0, +1. The
        diagonal is zero, entries are finite and non-negative, and turning a pair
        around changes nothing: ``loss[i, j] == loss[2 - i, 2 - j]``.

    Returns
    -------
    loss : ndarray of shape (3, 3), float64
    """
    if isinstance(loss, str):
        check_choice(loss, "loss", ("zero_one",))
        return ZERO_ONE_LOSS.copy()
    try:
        matrix = _as_numbers(loss).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"loss must be 'zero_one' or a 3x3 matrix of numbers, got {loss!r}."
        ) from error
    if matrix.shape != (3, 3):
        raise ValueError(
            "loss must be 'zero_one' or a 3x3 matrix (rows predicted, columns true, "
            f"order -1, 0, +1), got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError(
            f"loss must have finite, non-negative entries, got {matrix.tolist()}."
        )
    if np.diag(matrix).any():
        raise ValueError(
            f"loss must have a zero diagonal, got {np.diag(matrix).tolist()}."
        )
    if not np.array_equal(matrix, matrix[::-1, ::-1]):
        raise ValueError(
            "loss must be mirror-symmetric, loss[i, j] == loss[2 - i, 2 - j], so that "
            f"turning a pair around changes nothing; got {matrix.tolist()}."
        )
    return matrix


def check_vector(
    values: ArrayLike, name: str, n_values: int | None = None, *, unit: str = "item"
) -> Any:
    """Return ``values`` as a 1-D array, one value per ``unit`` of ``n_values``."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1d array, got shape {array.shape}.")
    if n_values is not None:
        _check_length(array, name, n_values, unit)
    return array


def _check_length(array: Any, name: str, n_values: int, unit: str) -> None:
    if array.shape[0] != n_values:
        asked = f"X has {n_values} rows" if unit == "item" else f"{n_values} {unit}s"
        raise ValueError(
            f"{name} must have one value per {unit}: {asked}, {name} has "
            f"{array.shape[0]} values (inconsistent numbers of samples)."
        )


def _as_numbers(values: Any) -> FloatArray:
    """Return real numbers as float64; text that looks like a number is none."""
    array = np.asarray(values)
    real = array.dtype.kind in "iufb"
    if array.dtype == object:
        # None is a missing value, and becomes NaN.
        numbers = Real | Decimal | np.bool_ | None
        real = all(issubclass(kind, numbers) for kind in {*map(type, array.flat)})
    if not real:
        raise TypeError(f"real numbers are needed, got dtype {array.dtype}.")
    return np.asarray(array, dtype=np.float64, order="C")


def _as_finite(array: Any, name: str, remedy: str = "") -> FloatArray:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has {array.dtype}.")
    try:
        numbers = _as_numbers(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must hold numbers, got dtype {array.dtype}."
            + (" Encode grades as ordered numbers." if name == "y" else remedy)
        ) from error
    bad = ~np.isfinite(numbers)
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        kind = "NaN" if np.isnan(numbers[where]) else "infinity"
        raise ValueError(
            f"{name} must be finite, got {kind} ({numbers[where]}) at row {where} "
            f"and {int(bad.sum())} such values in all.{remedy}"
        )
    return numbers


def check_relevance(y: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return relevance as finite float64, one value per item.

    Integers beyond 2**53 would be merged by the conversion and raise.
    """
    numbers = _as_finite(check_vector(y, "y", n_items), "y")
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
    array = check_vector(scores, "scores", n_items)
    return _as_finite(
        array, "scores", " Look at the model and at the features of that row."
    )


def check_sample_weight(
    weight: ArrayLike | None, n_values: int, *, unit: str = "item"
) -> FloatArray | None:
    """Return weights, one per ``unit``, as finite, non-negative float64, or None."""
    if weight is None:
        return None
    array = check_vector(weight, "sample_weight", n_values, unit=unit)
    numbers = _as_finite(array, "sample_weight")
    if (numbers < 0).any():
        raise ValueError(
            f"sample_weight must be non-negative, got {float(numbers.min())}."
        )
    return numbers


def check_proba(
    proba: ArrayLike, n_pairs: int | None = None, *, name: str = "proba"
) -> FloatArray:
    """Return pair probabilities as float64, not rescaled.

    Parameters
    ----------
    proba : array-like of shape (n_pairs, 3)
        Finite and non-negative; rows sum to one within 1e-6. An empty list stands
        for no pairs.
    n_pairs : int, default=None
        Number of rows there must be, where known.
    name : str, default="proba"
        Name of the parameter, for the message.

    Returns
    -------
    proba : ndarray of shape (n_pairs, 3), float64
    """
    try:
        rows = _as_numbers(proba)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must hold numbers, three in each row: {error}"
        ) from error
    if rows.shape == (0,):
        rows = rows.reshape(0, 3)
    if rows.shape != (rows.size // 3 if n_pairs is None else n_pairs, 3):
        known = "" if n_pairs is None else f" = ({n_pairs}, 3)"
        raise ValueError(
            f"{name} must be of shape (n_pairs, 3){known}, columns for the labels "
            f"-1, 0, +1, got {rows.shape}."
        )
    with np.errstate(invalid="ignore", over="ignore"):
        total = rows.sum(axis=1)
    # Written so that NaN, which compares false, is refused too.
    bad = ~((rows >= 0).all(axis=1) & (np.abs(total - 1) <= _PROBA_TOLERANCE))
    if bad.any():
        raise ValueError(
            f"{name} must have non-negative rows that sum to one within "
            f"{_PROBA_TOLERANCE:g}, got {rows[bad][0].tolist()} at row "
            f"{int(bad.argmax())}."
        )
    return rows


def encode_qid(
    qid: Any, n_values: int, *, unit: str = "item", name: str = "qid"
) -> tuple[IntArray, NDArray[Any]]:
    """Encode query identifiers by the order in which they first appear.

    Parameters
    ----------
    qid : None, scalar or array-like of shape (n_values,)
        Any hashable values, in any order; in a list they are told apart as Python
        does, so that ``1`` is ``1.0`` but not ``"1"``. None or a scalar: all belong
        to one query.
    n_values : int
    unit : str, default="item"
        What each value belongs to, for the message.
    name : str, default="qid"
        The parameter that they came in, for the message.

    Returns
    -------
    codes : ndarray of shape (n_values,), int64
        Number of each query, 0 for the first that appears.
    values : ndarray of shape (n_queries,)
        The query identifiers, in order of first appearance.
    """
    if _is_scalar(qid):
        one = _as_exact_array([qid])
        return np.zeros(n_values, dtype=np.int64), one[: min(n_values, 1)]
    raw = _qid_array(qid, name)
    _check_length(raw, name, n_values, unit)
    if raw.dtype.kind in "iufbUS":
        return _encode_sortable(raw, name)
    return _encode_hashable(raw, name)


def _is_scalar(qid: Any) -> bool:
    if isinstance(qid, str | bytes):
        return True
    try:
        iter(qid)
    except TypeError:
        return True
    return False


def _qid_array(qid: Any, name: str) -> NDArray[Any]:
    unordered = isinstance(qid, Mapping | Set) and not isinstance(qid, MappingView)
    if unordered or isinstance(qid, Iterator):
        raise TypeError(
            f"{name} must be a list or an array, one value per row in the order of "
            f"the rows, got a {type(qid).__name__}."
        )
    raw: NDArray[Any] = (
        np.asarray(qid) if hasattr(qid, "__array__") else _as_exact_array(list(qid))
    )
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim != 1:
        raise ValueError(f"{name} must be a 1d array, got shape {raw.shape}.")
    return raw


def _as_exact_array(items: list[Any]) -> NDArray[Any]:
    """Return a 1-D array of the items, of dtype object where another changes them."""
    # np.asarray([1, "1"]) would turn the number into a string and merge the two,
    # np.asarray([2**53 + 1, 0.5]) would round.
    if len({*map(type, items)}) <= 1:
        try:
            raw = np.asarray(items)
        except ValueError:  # sequences of different lengths
            raw = np.empty((0, 0))
        if raw.ndim == 1 and not _is_changed(raw, items):
            return raw
    return np.fromiter(items, dtype=object, count=len(items))


def _is_changed(raw: NDArray[Any], items: list[Any]) -> bool:
    """Whether numpy's conversion of items of one type may have merged some."""
    if raw.dtype.kind == "f" and items:
        return isinstance(items[0], Integral)  # some need int64 and others uint64
    if raw.dtype.kind in "US" and isinstance(items[0], str | bytes):
        padding = "\0" if raw.dtype.kind == "U" else b"\0"
        return any(item.endswith(padding) for item in items)
    return False


def _encode_sortable(raw: NDArray[Any], name: str) -> tuple[IntArray, NDArray[Any]]:
    missing = np.isnan(raw) if raw.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} must not be missing, got NaN at row {int(missing.argmax())}."
        )
    # Runs of equal values are sorted as one: rows mostly come query by query.
    start = np.flatnonzero(np.append(True, raw[1:] != raw[:-1])[: raw.size])
    _, first, inverse = np.unique(raw[start], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    codes = np.repeat(number[inverse], np.diff(start, append=raw.size))
    return codes, raw[start[first[order]]]


def _encode_hashable(raw: NDArray[Any], name: str) -> tuple[IntArray, NDArray[Any]]:
    seen: dict[Hashable, int] = {}
    codes = np.empty(raw.shape[0], dtype=np.int64)
    for row, value in enumerate(raw.tolist() if raw.dtype != object else raw):
        try:
            codes[row] = seen.setdefault(value, len(seen))
        except TypeError as error:
            raise TypeError(
                f"{name} must hold hashable values, got {value!r} at row {row}."
            ) from error
    for value, code in seen.items():
        # A missing value is equal to nothing, or has no truth value (pandas.NA).
        if value is None or type(value).__name__ == "NAType" or value != value:
            row = int(np.argmax(codes == code))
            raise ValueError(f"{name} must not be missing, got {value!r} at row {row}.")
    values = np.fromiter(seen, dtype=object, count=len(seen))
    return codes, values if raw.dtype == object else values.astype(raw.dtype)


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
