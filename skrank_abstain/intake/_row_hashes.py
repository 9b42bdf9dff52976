"""Sixty-four bits for each row of X, whatever X is: equal rows have equal ones.

The same data in the same kind of container hash alike in every process and on every
machine. Two different rows of a million have equal hashes with a probability of about
one in 37 million. A fingerprint of all rows is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b, sha256
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

HashArray = NDArray[np.uint64]

#: Values that are hashed at once: they stay in the processor's cache.
_BLOCK = 32768
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_MISSING = np.float64(np.nan).view(np.uint64)
#: Bits that are no number to convert, as dates are.
_BITS = "M8[ns]"


def hash_rows(X: Any) -> HashArray:
    """Return a hash of each row, by value.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_items, n_features)
        Read only. Missing values are equal to each other, -0.0 is 0.0, 1 is 1.0;
        categories count by what they stand for.

    Returns
    -------
    hashes : ndarray of shape (n_items,), uint64

    Raises
    ------
    TypeError
        If X is of a kind that numpy cannot read.

    Notes
    -----
    One pass: every value is mixed with the number of its column, and a row is the sum.
    """
    total = np.zeros(X.shape[0], dtype=np.uint64)
    if issparse(X):
        _add_sparse(total, X)
        return mix(total)
    for first, part in _columns_of(X):
        _add(total, part, first)
    return mix(total)


def hash_rows_if_readable(X: Any) -> HashArray | None:
    """Return a hash of each row, or None for a container that numpy cannot read."""
    try:
        return hash_rows(X)
    except (TypeError, ValueError, OverflowError):
        return None


def fingerprint(hashes: HashArray | None, *columns: Any) -> str:
    """Return what tells data from others: 16 hexadecimal digits.

    Parameters
    ----------
    hashes : ndarray of shape (n_rows,) or (n_rows, n_parts), uint64, or None
        Of the rows, or of the parts of each.
    *columns : array-like of shape (n_rows,) or (n_rows, n_columns)
        Numbers that belong to the rows: the number of the query, counted as queries
        appear, and the label.

    Returns
    -------
    digits : str
        The first of the SHA-256 of the hashes and of the columns as float64, all of
        them little-endian, in the order of the rows. Empty without hashes.
    """
    if hashes is None:
        return ""
    digest = sha256(hashes.astype("<u8").tobytes())
    for column in columns:
        digest.update((np.asarray(column, dtype=np.float64) + 0.0).astype("<f8"))
    return digest.hexdigest()[:16]


def mix(bits: Any) -> HashArray:
    """Return each number's image under one fixed, well-mixing bijection."""
    mixed = np.array(bits, dtype=np.uint64)
    _mix_in_place(mixed)
    return mixed


def _mix_in_place(bits: HashArray) -> None:
    # Of whole numbers as floats only the highest bits differ: they come down first.
    for factor in (_FIRST, _SECOND):
        bits ^= bits >> _HALF
        bits *= factor
    bits ^= bits >> _HALF


def _salt(columns: Any) -> HashArray:
    """Return what tells equal values of different columns apart."""
    numbers = np.asarray(columns, dtype=np.uint64)
    return mix((numbers + np.uint64(1)) * _GOLDEN)


def _columns_of(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield columns side by side, of one kind each, and the number of the first."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        for column in range(X.shape[1]):
            yield column, _numbers_or_bits(_column(X, column))[:, None]
        return
    array = np.asarray(X)
    if array.dtype.kind in "iufbmM":
        yield 0, array
        return
    for column in range(array.shape[1]):
        yield column, _numbers_or_bits(array[:, column])[:, None]


def _column(X: Any, column: int) -> Any:
    if hasattr(X, "column_names"):
        return X.column(column)  # pyarrow
    return X.iloc[:, column] if hasattr(X, "iloc") else X[:, column]


def _numbers_or_bits(column: Any) -> NDArray[Any]:
    """Return a column as numbers or dates, or each value's bits (uint64)."""
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    if categories is not None and hasattr(column, "cat") and hasattr(column, "iloc"):
        of_category = _bits_of_objects(np.asarray(categories).tolist())
        bits = np.append(of_category, _MISSING)[np.asarray(column.cat.codes)]
        of_code: NDArray[Any] = bits.view(_BITS)
        return of_code
    values = np.asarray(column)
    if values.dtype.kind in "iufbmM":
        return values
    of_row: NDArray[Any] = _bits_of_objects(values.tolist()).view(_BITS)
    return of_row


def _bits_of_objects(values: list[Any]) -> HashArray:
    try:
        known = {value: _bits_of(value) for value in dict.fromkeys(values)}
        bits = [known[value] for value in values]
    except TypeError:  # what is not hashable
        bits = [_bits_of(value) for value in values]
    return np.array(bits, dtype=np.uint64)


def _bits_of(value: Any) -> int:
    if value is None or type(value).__name__ == "NAType":
        return int(_MISSING)
    if isinstance(value, Real):
        number = np.float64(value) + 0.0
        return int(_MISSING if np.isnan(number) else number.view(np.uint64))
    # Python's own hash of a text differs from process to process.
    text = value if isinstance(value, str) else f"{type(value).__name__}{value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _add(total: HashArray, values: NDArray[Any], first: int) -> None:
    """Add the hashes of some columns to those of the rows."""
    n_rows, n_columns = values.shape
    salt = _salt(np.arange(first, first + n_columns))
    step = max(1, _BLOCK // max(n_columns, 1))
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        bits = _bits(values[rows])
        bits += salt
        _mix_in_place(bits)
        total[rows] += bits.sum(axis=1, dtype=np.uint64)


def _bits(values: NDArray[Any]) -> HashArray:
    """Return a new array of the bits of numbers or dates."""
    if values.dtype.kind in "mM":
        return np.array(values, order="C").view(np.uint64)
    numbers = np.add(values, 0.0, dtype=np.float64, order="C")  # -0.0 becomes 0.0
    bits: HashArray = numbers.view(np.uint64)
    missing = numbers != numbers
    if missing.any():
        bits[missing] = _MISSING
    return bits


def _add_sparse(total: HashArray, X: Any) -> None:
    # All begin as rows of zeros, so that the hashes are those of the dense matrix.
    total += mix(_salt(np.arange(X.shape[1]))).sum(dtype=np.uint64)
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    salt = _salt(rows.indices)
    bits = _bits(np.asarray(rows.data)) + salt
    _mix_in_place(bits)
    bits -= mix(salt)
    sums = np.append(np.uint64(0), np.cumsum(bits, dtype=np.uint64))
    total += sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
