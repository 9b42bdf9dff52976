"""Rows of X by query.

X goes to the wrapped model as it came, so that missing values, categories and column
names survive. Only its length, column names and column count are checked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, validate_data

from skrank_abstain._validation import (
    IntArray,
    check_row_order,
    encode_qid,
    listed,
    names_of_columns,
    refuse_lazy,
    shown,
)
from skrank_abstain.pairs import Queries, group_queries
from skrank_abstain.selection import Groups

#: Beyond this, floats skip integers and two identifiers could become one.
_LARGEST_EXACT_FLOAT = 2.0**53


@dataclass(frozen=True)
class Items:
    """Rows of X grouped by query.

    Attributes
    ----------
    X : array or frame of shape (n_items, n_features)
        For the wrapped model: without the query column, if X had one.
    queries : Queries
    has_qid : bool
        Whether the caller named the query of each row.
    """

    X: Any
    queries: Queries
    has_qid: bool

    def take(self, rows: IntArray) -> Items:
        """Return some rows, in ascending order."""
        # Rows are distinct: n_items of them are all rows, and X need not be copied.
        if rows.size == self.queries.n_items:
            return self
        queries = group_queries(self.queries.codes[rows], rows.size)
        return Items(_safe_indexing(self.X, rows), queries, self.has_qid)

    def without(self, rows: IntArray) -> Any:
        """Return X without some rows; None if nothing is left."""
        others = np.setdiff1d(np.arange(self.queries.n_items), rows)
        return _safe_indexing(self.X, others) if others.size else None


def take_items(
    estimator: Any, X: Any, qid: Any, qid_col: str | int | None, *, reset: bool
) -> Items:
    """Check X against the columns of ``fit`` and group its rows by query.

    ``reset`` says whether this is ``fit``: ``estimator`` then stores
    ``n_features_in_`` and ``feature_names_in_``.
    """
    check_row_order(X, qid=qid)
    X = check_columns(estimator, X, reset=reset)
    n_items = _num_samples(X)
    # Here and below messages begin with the words that scikit-learn's estimator checks
    # look for.
    if n_items == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}."
        )
    if qid_col is not None:
        if qid is not None:
            raise ValueError(
                f"qid must not be given when qid_col={qid_col!r} names a column of X; "
                "use one of the two."
            )
        X, qid = take_column(X, qid_col)
    return Items(X, group_queries(qid, n_items), has_qid=qid is not None)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check shape and names of X; put named columns into the order of ``fit``."""
    if not hasattr(X, "shape"):
        refuse_lazy(X, "X")
        X = np.asarray(X)
    if issparse(X) and getattr(X, "format", "") not in ("csr", "csc"):
        sparse: Any = X
        X = sparse.asformat("csr")  # rows of the other formats cannot be selected
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: X must be of shape "
            f"(n_items, n_features), got {X.shape}. Reshape your data."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}."
        )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}.")
    names = list(getattr(estimator, "feature_names_in_", []))
    columns = names_of_columns(X) or []
    if not reset and columns != names and Counter(columns) == Counter(names):
        # scikit-learn's models refuse columns in another order, LightGBM scores them
        # wrongly without a word. `validate_data` reports missing and unknown names.
        X = _select_columns(X, names)
    # Names and counts only: the wrapped model accepts or refuses missing values and
    # categories.
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _select_columns(X: Any, names: list[Any]) -> Any:
    # The columns of a pyarrow Table are the data.
    return X.select(names) if hasattr(X, "column_names") else X[names]


def take_column(X: Any, qid_col: str | int) -> tuple[Any, NDArray[Any]]:
    """Take the query column out of X."""
    columns = names_of_columns(X)
    position = _position(qid_col, columns, X)
    rest = np.delete(np.arange(X.shape[1]), position)
    if rest.size == 0:
        raise ValueError(
            f"X must have a column besides qid_col={qid_col!r}, got 1 column."
        )
    if columns is None:
        # A list of one position: with a single integer sparse matrices return a matrix,
        # sparse arrays a vector.
        column = X[:, [position]]
        qid = np.asarray(column.toarray() if issparse(X) else column)[:, 0]
        X = X[:, rest]
    else:
        qid = np.asarray(X[columns[position]])
        X = _select_columns(X, [columns[i] for i in rest])
    if qid.dtype.kind == "f" and (np.abs(qid) > _LARGEST_EXACT_FLOAT).any():
        largest = qid[np.nanargmax(np.abs(qid))]
        raise ValueError(
            f"qid_col={qid_col!r} must hold identifiers that are exact as floats (up "
            f"to 2**53), got {largest!r}. Use strings or integers in a data frame."
        )
    return X, qid


def _position(qid_col: Any, columns: list[Any] | None, X: Any) -> int:
    """Return the position of the query column."""
    if isinstance(qid_col, str):
        if columns is None:
            raise ValueError(
                "qid_col must be an integer position when X has no column names, "
                f"got {qid_col!r} and X of type {type(X).__name__}."
            )
        if qid_col not in columns:
            raise ValueError(
                f"qid_col must name a column of X, got {qid_col!r}; X has "
                f"{listed(columns)}."
            )
        return columns.index(qid_col)
    # True is an integer to Python, and would name the second column.
    if isinstance(qid_col, bool) or not isinstance(qid_col, int | np.integer):
        raise TypeError(
            f"qid_col must be a column name or position, got {shown(qid_col)}."
        )
    n_columns = X.shape[1]
    if not -n_columns <= qid_col < n_columns:
        raise ValueError(
            f"qid_col must be a position below {n_columns}, the number of columns of "
            f"X, got {qid_col}."
        )
    return int(qid_col) % int(n_columns)


def groups_of_queries(groups: Any, queries: Queries) -> Groups | None:
    """Return the group of each query; None without groups.

    Groups are any hashable values, of shape (n_items,) and the same within a query;
    they are numbered in order of first appearance.
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        raise TypeError(
            f"groups must be None or one value per row, got {groups!r}: pass the "
            "column, as in groups=frame[...]."
        )
    codes, names = encode_qid(groups, queries.n_items, name="groups")
    of_query = codes[queries.first_rows]
    differs = of_query[queries.codes] != codes
    if differs.any():
        row = int(np.argmax(differs))
        query = queries.codes[row]
        one, other = (names.item(int(code)) for code in (of_query[query], codes[row]))
        raise ValueError(
            f"groups must be the same for all items of a query, got {one!r} and "
            f"{other!r} for query {queries.values.item(int(query))!r}."
        )
    return Groups(of_query, names.tolist())
