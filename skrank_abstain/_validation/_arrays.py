"""Checks of what holds one value a row: relevance, scores, labels, queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MappingView, Set
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._validation._values import check_choice, is_missing, shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: How far the probabilities of a pair may be from a sum of one.
_PROBA_TOLERANCE = 1e-6
#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)
#: A wrong order costs, and so does a tie where there is an order; an order for a true
#: tie is free, so that a tie is predicted for equal scores alone.
MISRANKING_LOSS: FloatArray = np.array([[0.0, 0, 1], [1, 0, 1], [1, 0, 0]])
#: A tie is hardly an answer, and an order of equals a mistake: clear orders come first.
_CLEAR_ORDER_LOSS = np.array([[0.0, 1, 1], [10, 0, 10], [1, 1, 0]])
_NAMED_LOSSES = {
    "misranking": MISRANKING_LOSS,
    "clear_order": _CLEAR_ORDER_LOSS,
    "zero_one": ZERO_ONE_LOSS,
}
_LOSS_NAMES = ", ".join(map(repr, _NAMED_LOSSES))


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse a lazy frame, and a masked array, whose mask numpy would drop."""
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


def names_of_columns(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None for other containers."""
    names = getattr(X, "column_names", None)
    # The columns of a pyarrow Table are the data. In pandas, column_names is a column.
    if not isinstance(names, list):
        names = getattr(X, "columns", None)
    return None if names is None else list(names)


def check_row_order(X: Any, **others: Any) -> None:
    """Refuse values in another order than the rows of X, where labels show it.

    Raises ValueError for pandas objects (``others``, by the name of the parameter) that
    share labels of the index with X, or with each other where X has none, at different
    positions, and for the name of a column of X as ``qid``, which would be one query of
    all rows. Otherwise rows are taken by position: labels that differ altogether do not
    tell which row is which.
    """
    qid = others.get("qid")
    if isinstance(qid, str) and qid in (names_of_columns(X) or ()):
        raise ValueError(
            f"qid must be one value per row, got {qid!r}, the name of a column of X: "
            f"pass X[{qid!r}] without that column in X, or qid_col={qid!r} to a ranker "
            "that has it."
        )
    given = {"X": X, **others}
    labelled = [name for name, each in given.items() if hasattr(each, "iloc")]
    for name in labelled[1:]:
        first = labelled[0]
        known, index = given[first].index, given[name].index
        if len(index) != len(known) or index.nlevels != known.nlevels:
            continue
        if index.equals(known):
            continue
        moved = index[index.to_numpy() != known.to_numpy()]
        moved = moved[moved.isin(known)]
        if not len(moved):
            continue
        if index.symmetric_difference(known, sort=False).empty:
            raise ValueError(
                f"{name} must have its rows in the order of {first}, got the labels of "
                f"{first}'s index in another order. Pass {name}.loc[{first}.index], or "
                f"{name}.to_numpy() where the positions are right."
            )
        raise ValueError(
            f"{name} must have its rows in the order of {first}, got {len(moved)} "
            f"labels of {first}'s index at other positions, as {moved[0]!r}: were they "
            f"filtered by different rules? Select the same rows of both, or pass "
            f"{name}.to_numpy() where the positions are right."
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
    """Return real numbers as float64; refuse text, even if it looks like a number."""
    array = np.asarray(values)
    # numpy would read "1.5" as a number; in data it is a column that was not parsed.
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
        Values that rounding took below zero, as in 1 - p - q, are zero.
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
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"loss must be one of {_LOSS_NAMES} or a 3x3 matrix of numbers, got "
            f"{shown(loss)}."
        ) from error
    if matrix.shape != (3, 3):
        raise ValueError(
            f"loss must be one of {_LOSS_NAMES} or a 3x3 matrix (rows predicted, "
            f"columns true, order -1, 0, +1), got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError(
            f"loss must have finite, non-negative entries, got {matrix.tolist()}."
        )
    # The right prediction costs nothing: risks are measured against it.
    if np.diag(matrix).any():
        raise ValueError(
            f"loss must have a zero diagonal, got {np.diag(matrix).tolist()}."
        )
    # Left and right depend on row order alone: (i, j) and (j, i) must agree.
    if not np.array_equal(matrix, matrix[::-1, ::-1]):
        raise ValueError(
            "loss must be mirror-symmetric, loss[i, j] == loss[2 - i, 2 - j], so that "
            f"turning a pair around changes nothing; got {matrix.tolist()}."
        )
    return matrix


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
        For the message.

    Returns
    -------
    codes : ndarray of shape (n_values,), int64
        Number of each query, 0 for the first that appears.
    values : ndarray of shape (n_queries,)
        The query identifiers, in order of first appearance; texts as Python objects.
    """
    refuse_lazy(qid, name)  # which would be one query of all rows
    if is_scalar(qid):
        one = _as_exact_array([qid])[:n_values]
        return np.zeros(n_values, dtype=np.int64), _texts_as_objects(one)
    raw = _qid_array(qid, name)
    if raw.dtype.kind in "iu" and raw.shape != (n_values,) and raw.sum() == n_values:
        raise ValueError(
            f"{name} must have one value per {unit}, got {raw.size} values that add up "
            f"to the {n_values} rows, as group sizes do: {raw[:5].tolist()}. Pass "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    raw = check_vector(raw, name, n_values, unit=unit)
    # Sorting is many times faster than hashing; what cannot be sorted is hashed.
    sortable = raw.dtype.kind in "iufbUS"
    codes, values = (_encode_sortable if sortable else _encode_hashable)(raw, name)
    return codes, _texts_as_objects(values)


def _texts_as_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects, which many pairs can share.

    In an array of texts each entry takes the width of the longest.
    """
    return values.astype(object) if values.dtype.kind in "US" else values


def is_scalar(qid: Any) -> bool:
    """Return whether ``qid`` is one value for all rows; None is."""
    return isinstance(qid, str | bytes) or not np.iterable(qid)


def _qid_array(qid: Any, name: str) -> NDArray[Any]:
    # A set has no order, and an iterator is used up.
    unordered = isinstance(qid, Mapping | Set) and not isinstance(qid, MappingView)
    if unordered or isinstance(qid, Iterator):
        raise TypeError(
            f"{name} must be a list or an array, one value per row in the order of "
            f"the rows, got a {type(qid).__name__}."
        )
    return np.asarray(qid) if hasattr(qid, "__array__") else _as_exact_array(list(qid))


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
    """Return whether numpy may have merged some of these items of one type."""
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
    number = np.argsort(order)  # of each distinct value, by first appearance
    codes = np.repeat(number[inverse], np.diff(start, append=raw.size))
    return codes, raw[start[first[order]]]


def _has_missing(value: Any) -> bool:
    if isinstance(value, tuple):  # inside of which None may be a name like others
        return any(each is not None and _has_missing(each) for each in value)
    return is_missing(value)


def _encode_hashable(raw: NDArray[Any], name: str) -> tuple[IntArray, NDArray[Any]]:
    seen: dict[Hashable, int] = {}
    codes = np.empty(raw.shape[0], dtype=np.int64)
    for row, value in enumerate(raw.tolist() if raw.dtype != object else raw):
        try:
            codes[row] = seen.setdefault(value, len(seen))
        except TypeError as error:
            raise TypeError(
                f"{name} must hold hashable values, got {shown(value)} at row {row}."
            ) from error
    for value, code in seen.items():
        if _has_missing(value):
            row = int(np.argmax(codes == code))
            raise ValueError(f"{name} must not be missing, got {value!r} at row {row}.")
    values = np.fromiter(seen, dtype=object, count=len(seen))
    return codes, values if raw.dtype == object else values.astype(raw.dtype)
