"""Query identifiers, as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MappingView, Set
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation._arrays import IntArray, check_length
from skrank_abstain._validation._rows import refuse_lazy
from skrank_abstain._validation._shown import shown


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
        The query identifiers, in order of first appearance; texts as Python objects.
    """
    refuse_lazy(qid, name)  # which would be one query of all rows
    if is_scalar(qid):
        one = _as_exact_array([qid])[:n_values]
        return np.zeros(n_values, dtype=np.int64), _texts_as_objects(one)
    raw = _qid_array(qid, name)
    check_length(raw, name, n_values, unit)
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
    if isinstance(qid, str | bytes):
        return True
    try:
        iter(qid)
    except TypeError:
        return True
    return False


def _qid_array(qid: Any, name: str) -> NDArray[Any]:
    # A set has no order and an iterator is used up: rows could not be told by either.
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
                f"{name} must hold hashable values, got {shown(value)} at row {row}."
            ) from error
    for value, code in seen.items():
        # A missing value is equal to nothing, or has no truth value (pandas.NA).
        if value is None or type(value).__name__ == "NAType" or value != value:
            row = int(np.argmax(codes == code))
            raise ValueError(f"{name} must not be missing, got {value!r} at row {row}.")
    values = np.fromiter(seen, dtype=object, count=len(seen))
    return codes, values if raw.dtype == object else values.astype(raw.dtype)
