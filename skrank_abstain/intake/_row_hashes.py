"""A 64-bit hash of each row of X: equal rows have equal hashes in any container.

Hashes are the same in every process and on every machine. Among a million different
rows two have the same hash with a probability of about one in 37 million.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b, sha256
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from skrank_abstain._kernels.mixing import BitArray, mix

#: Values that are hashed at once: they stay in the processor's cache.
_BLOCK = 32768
_MISSING = np.float64(np.nan).view(np.uint64)


def hash_rows(X: Any) -> BitArray | None:
    """Return a hash of each row, by value; None if numpy cannot read X.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_items, n_features)
        Read only. Missing values are equal to each other, -0.0 is 0.0, 1 is 1.0;
        categories count by what they stand for.

    Returns
    -------
    hashes : ndarray of shape (n_items,), uint64, or None

    Notes
    -----
    One pass: every value is mixed with the number of its column, and a row is the sum.
    """
    # Imported here, since importing numba takes long.
    from skrank_abstain._kernels.hashing import add_row_hashes

    total = np.zeros(X.shape[0], dtype=np.uint64)
    try:
        if issparse(X):
            return mix(_sums_of_sparse(X))
        for first, columns in _columns_of(X):
            n_columns = columns.shape[1]
            salt = mix(np.arange(first, first + n_columns, dtype=np.uint64))
            step = max(1, _BLOCK // max(n_columns, 1))
            for start in range(0, total.size, step):
                rows = slice(start, start + step)
                add_row_hashes(_bits(columns[rows]), salt, total[rows])
    except (TypeError, ValueError, OverflowError):
        return None
    return mix(total)


def fingerprint(hashes: BitArray | None, *columns: Any) -> str:
    """Return 16 hexadecimal digits that identify the data.

    They begin the SHA-256 of the hashes of the rows (or of their parts) and of further
    columns (the number of the query, the label) as float64, all little-endian, in the
    order of the rows. Empty without hashes.
    """
    if hashes is None:
        return ""
    digest = sha256(hashes.astype("<u8").tobytes())
    for column in columns:
        digest.update((np.asarray(column, dtype=np.float64) + 0.0).astype("<f8"))
    return digest.hexdigest()[:16]


def _columns_of(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield columns as numbers or dates, and the position of the first of them."""
    if hasattr(X, "iloc") and X.dtypes.nunique() == 1:
        X = X.to_numpy()  # one block, as a rule without a copy
    if hasattr(X, "column_names"):  # pyarrow
        columns = X.columns
    elif hasattr(X, "columns"):
        numbers = range(X.shape[1])
        columns = (X.iloc[:, i] if hasattr(X, "iloc") else X[:, i] for i in numbers)
    else:
        array = np.asarray(X)
        if array.dtype.kind in "iufbmM":
            yield 0, array
            return
        columns = array.T
    for position, column in enumerate(columns):
        values = np.asarray(column)
        if values.dtype.kind not in "iufbmM":
            # As dates, whose bits are taken as they are.
            values = _bits_of_objects(values.tolist()).view("M8[ns]")
        yield position, values[:, None]


def _bits_of_objects(values: list[Any]) -> BitArray:
    try:
        known = {value: _bits_of_object(value) for value in dict.fromkeys(values)}
        bits = [known[value] for value in values]
    except TypeError:  # Python cannot hash lists and the like
        bits = [_bits_of_object(value) for value in values]
    return np.array(bits, dtype=np.uint64)


def _bits_of_object(value: Any) -> int:
    if value is None or type(value).__name__ == "NAType":
        return int(_MISSING)
    if isinstance(value, Real):
        return int(_bits(np.array([float(value)]))[0])
    # Python's own hash of a text differs from process to process.
    text = value if isinstance(value, str) else f"{type(value).__name__}{value!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _bits(values: NDArray[Any]) -> BitArray:
    """Return a new C-contiguous array of the bits of numbers or dates."""
    if values.dtype.kind in "mM":
        return np.array(values, order="C").view(np.uint64)
    numbers = np.add(values, 0.0, dtype=np.float64, order="C")  # -0.0 becomes 0.0
    bits: BitArray = numbers.view(np.uint64)
    missing = numbers != numbers
    if missing.any():
        bits[missing] = _MISSING
    return bits


def _sums_of_sparse(X: Any) -> BitArray:
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    salt = mix(np.arange(X.shape[1], dtype=np.uint64))
    # A row of zeros, to which each stored value adds its difference from a zero.
    zeros = mix(salt)
    added = mix(_bits(rows.data) + salt[rows.indices]) - zeros[rows.indices]
    sums = np.append(np.uint64(0), np.cumsum(added, dtype=np.uint64))
    total: BitArray = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]] + zeros.sum()
    return total
