"""Checks of rows: the columns of X, an order of rows shared with X, the queries.

X goes to the wrapped model as it came, so that missing values, categories and column
names survive. Only its length, column names and column count are checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, MappingView, Set
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from skrank_abstain._validation._arrays import IntArray, check_vector, refuse_lazy
from skrank_abstain._validation._values import is_missing, listed, shown


def names_of_columns(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None for other containers."""
    names = getattr(X, "column_names", None)
    # In a pyarrow Table ``columns`` are the data; in pandas column_names is a column.
    if not isinstance(names, list):
        names = getattr(X, "columns", None)
    return None if names is None else list(names)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check shape and names of X; put named columns into the order of ``fit``."""
    refuse_lazy(X, "X")
    item = X[0] if isinstance(X, list) and X else X
    # A dok_array is a mapping, too.
    if isinstance(item, str | PathLike | Mapping) and not issparse(item):
        call = "read_csv" if isinstance(item, str | PathLike) else "DataFrame"
        raise TypeError(
            f"X must be an array or a frame, got {shown(X)}; pass pandas.{call}(X)."
        )
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if issparse(X) and getattr(X, "format", "") not in ("csr", "csc"):
        sparse: Any = X
        X = sparse.asformat("csr")  # other formats cannot select rows
    # Messages begin with the words that scikit-learn's estimator checks look for.
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: X must be of shape "
            f"(n_items, n_features), got {X.shape}. Reshape your data."
        )
    for axis, what in ((1, "feature"), (0, "sample")):
        if X.shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                f"is required by {type(estimator).__name__}."
            )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}.")
    names = list(getattr(estimator, "feature_names_in_", []))
    columns = names_of_columns(X) or []
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(
            f"X must have columns of different names, got {listed(twice)} more than "
            "once; rename or drop them."
        )
    if not reset and columns != names and Counter(columns) == Counter(names):
        # scikit-learn's models refuse another order of columns; LightGBM's scores are
        # then silently wrong. `validate_data` reports missing and unknown names.
        X = select_columns(X, names)
    # Names and counts only: missing values and categories are the wrapped model's.
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def select_columns(X: Any, names: list[Any]) -> Any:
    """Return the named columns of a frame or table, in this order."""
    # A pyarrow Table is not indexed by names; in pandas, column_names is a column.
    is_table = hasattr(X, "column_names") and not hasattr(X, "iloc")
    return X.select(names) if is_table else X[names]


def check_row_order(X: Any, **others: Any) -> None:
    """Refuse values in another order than the rows of X, if labels show it.

    Raises ValueError for pandas objects (``others``, by the name of the parameter) that
    share labels of the index with X, or with each other if X has none, at different
    positions, and for the name of a column of X as ``qid``, which would be one query of
    all rows. Otherwise rows correspond by position: labels that differ altogether do
    not tell which row is which.
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
        alike = len(index) == len(known) and index.nlevels == known.nlevels
        if not alike or index.equals(known):
            continue
        moved = index[index.to_numpy() != known.to_numpy()]
        moved = moved[moved.isin(known)]
        if not len(moved):
            continue
        found = (
            f"the labels of {first}'s index in another order. Pass {name}.loc["
            f"{first}.index], or"
            if index.symmetric_difference(known, sort=False).empty
            else f"{len(moved)} labels of {first}'s index at other positions, as "
            f"{moved[0]!r}: were they filtered by different rules? Select the same "
            "rows of both, or pass"
        )
        raise ValueError(
            f"{name} must have its rows in the order of {first}, got {found} "
            f"{name}.to_numpy() where the positions are right."
        )


def encode_qid(
    qid: Any, n_values: int, *, unit: str = "item", name: str = "qid"
) -> tuple[IntArray, NDArray[Any]]:
    """Encode query identifiers in the order in which they first appear.

    Parameters
    ----------
    qid : None, scalar or array-like of shape (n_values,)
        Any hashable values, in any order. Values of a list are equal if Python says so:
        ``1`` is ``1.0`` but not ``"1"``. None or a scalar: one query.
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
    refuse_lazy(qid, name)  # it would be one query of all rows
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
    # Sorting is many times faster than hashing, but not all values can be sorted.
    sortable = raw.dtype.kind in "iufbUS"
    codes, values = (_encode_sortable if sortable else _encode_hashable)(raw, name)
    return codes, _texts_as_objects(values)


def _texts_as_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects, which many pairs can share.

    In an array of texts each entry takes the memory of the longest.
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
    """Return a 1-D array of the items, of dtype object if another would change them."""
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
    # Sort one value per run of equal values: rows mostly come query by query.
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
