"""Checks of user input.

Every message names the parameter, the rule and the value received. Nothing is
dropped, reordered or coerced in silence.
"""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)


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
        matrix = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError) as error:
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


def check_vector(values: ArrayLike, name: str, n_items: int | None = None) -> Any:
    """Return ``values`` as a 1-D array, of length ``n_items`` where given."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1d array, got shape {array.shape}.")
    if n_items is not None and array.shape[0] != n_items:
        raise ValueError(
            f"{name} must have one value per item: X has {n_items} rows, "
            f"{name} has {array.shape[0]} values (inconsistent numbers of samples)."
        )
    return array


def _as_finite(array: Any, name: str, remedy: str = "") -> FloatArray:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has {array.dtype}.")
    try:
        numbers = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, got dtype {array.dtype}.{remedy}"
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
    array = check_vector(y, "y", n_items)
    numbers = _as_finite(array, "y")
    if array.dtype.kind in "iu" and array.size and np.abs(numbers).max() > 2.0**53:
        raise ValueError(
            "y must not exceed 2**53 in absolute value (integers beyond it are not "
            f"exact as floats), got {array[np.argmax(np.abs(numbers))]}."
        )
    return numbers


def check_scores(scores: ArrayLike, n_items: int | None = None) -> FloatArray:
    """Return a model's scores as finite float64, one value per item."""
    array = check_vector(scores, "scores", n_items)
    return _as_finite(
        array, "scores", " Look at the model and at the features of that row."
    )


def check_sample_weight(weight: ArrayLike | None, n_items: int) -> FloatArray | None:
    """Return item weights as finite, non-negative float64, or None."""
    if weight is None:
        return None
    array = check_vector(weight, "sample_weight", n_items)
    numbers = _as_finite(array, "sample_weight")
    if (numbers < 0).any():
        raise ValueError(
            f"sample_weight must be non-negative, got {float(numbers.min())}."
        )
    return numbers


def encode_qid(qid: Any, n_items: int) -> tuple[IntArray, NDArray[Any]]:
    """Encode query identifiers by the order in which they first appear.

    Parameters
    ----------
    qid : None, scalar or array-like of shape (n_items,)
        Any hashable values, in any order. None or a scalar: all items belong to
        one query.
    n_items : int

    Returns
    -------
    codes : ndarray of shape (n_items,), int64
        Number of each item's query, 0 for the first that appears.
    values : ndarray of shape (n_queries,)
        The query identifiers, in order of first appearance.
    """
    if qid is None or isinstance(qid, str | bytes) or np.ndim(qid) == 0:
        values = np.asarray([qid])
        return np.zeros(n_items, dtype=np.int64), values[: min(n_items, 1)]
    raw = _qid_array(qid)
    if raw.shape[0] != n_items:
        raise ValueError(
            f"qid must have one value per item: X has {n_items} rows, qid has "
            f"{raw.shape[0]} values (inconsistent numbers of samples)."
        )
    if raw.dtype.kind in "iufbUS":
        if raw.dtype.kind == "f" and np.isnan(raw).any():
            raise ValueError(
                "qid must not be missing, got NaN at row "
                f"{int(np.isnan(raw).argmax())}."
            )
        _, first, inverse = np.unique(raw, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        return number[inverse.reshape(-1)].astype(np.int64), raw[first[order]]
    return _encode_hashable(raw)


def _qid_array(qid: Any) -> NDArray[Any]:
    raw = np.asarray(qid) if hasattr(qid, "__array__") else None
    if raw is None:
        items = list(qid)
        raw = np.asarray(items) if not any(map(_is_container, items)) else None
        # np.asarray([1, "1"]) would turn the number into a string and merge the two.
        if raw is None or (raw.dtype.kind in "US" and len({*map(type, items)}) > 1):
            raw = np.empty(len(items), dtype=object)
            raw[:] = items
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim != 1:
        raise ValueError(f"qid must be a 1d array, got shape {raw.shape}.")
    return raw


def _is_container(value: Any) -> bool:
    return isinstance(value, tuple | list | frozenset)


def _encode_hashable(raw: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    seen: dict[Hashable, int] = {}
    codes = np.empty(raw.shape[0], dtype=np.int64)
    for row, value in enumerate(raw.tolist() if raw.dtype != object else raw):
        # A missing value is equal to nothing, or has no truth value (pandas.NA).
        if value is None or type(value).__name__ == "NAType" or value != value:
            raise ValueError(f"qid must not be missing, got {value!r} at row {row}.")
        try:
            codes[row] = seen.setdefault(value, len(seen))
        except TypeError as error:
            raise TypeError(
                f"qid must hold hashable values, got {value!r} at row {row}."
            ) from error
    values = np.empty(len(seen), dtype=object)
    for value, code in seen.items():
        values[code] = value
    return codes, values if raw.dtype == object else values.astype(raw.dtype)
