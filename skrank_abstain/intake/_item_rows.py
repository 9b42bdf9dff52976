"""Taking items in: columns, lengths, and the query of each row.

X goes to the wrapped model as it came, so that missing values, categories and column
names survive. Only its length, column names and column count are looked at.
"""

from __future__ import annotations

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
        What the wrapped model gets: the query column, where there is one, is gone.
    queries : Queries
    has_qid : bool
        Whether the caller said which query each row belongs to.
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
        """Return X without some rows; None where nothing is left."""
        others = np.setdiff1d(np.arange(self.queries.n_items), rows)
        return _safe_indexing(self.X, others) if others.size else None


def take_items(
    estimator: Any, X: Any, qid: Any, qid_col: str | int | None, *, reset: bool
) -> Items:
    """Check X against what ``fit`` saw and group its rows by query.

    Parameters
    ----------
    estimator : BaseEstimator
        Stores ``n_features_in_`` and ``feature_names_in_``, and is named in messages.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
    qid : None, scalar or array-like of shape (n_items,)
    qid_col : str, int or None
        Column of X that holds the query.
    reset : bool
        Whether this is ``fit``.

    Returns
    -------
    items : Items
    """
    check_row_order(X, qid=qid)
    X = check_columns(estimator, X, reset=reset)
    n_items = _num_samples(X)
    # Here and below the messages begin in scikit-learn's words, which its estimator
    # checks look for.
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
        X = sparse.asformat("csr")  # the other formats have no rows to select
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
    if not reset:
        X = _in_order_of_fit(X, getattr(estimator, "feature_names_in_", None))
    # Names and counts only: missing values and categories are for the wrapped model to
    # accept or refuse.
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _in_order_of_fit(X: Any, names: NDArray[Any] | None) -> Any:
    columns = names_of_columns(X)
    if columns is None or names is None or columns == list(names):
        return X
    if sorted(map(str, columns)) != sorted(map(str, names)):
        return X  # validate_data says which names are missing or unexpected
    # Whatever the model: scikit-learn's refuse columns in another order, LightGBM
    # scores them wrong without a word.
    return _some_columns(X, list(names))


def _some_columns(X: Any, names: list[Any]) -> Any:
    return X.select(names) if hasattr(X, "column_names") else X[names]


def take_column(X: Any, qid_col: str | int) -> tuple[Any, NDArray[Any]]:
    """Take the query column out of X."""
    columns = names_of_columns(X)
    if isinstance(qid_col, str):
        if columns is None:
            raise ValueError(
                f"qid_col must be an integer position when X has no column names, "
                f"got {qid_col!r} and X of type {type(X).__name__}."
            )
        if qid_col not in columns:
            raise ValueError(
                f"qid_col must name a column of X, got {qid_col!r}; X has "
                f"{listed(columns)}."
            )
        position = columns.index(qid_col)
    else:
        position = _check_position(qid_col, X.shape[1])
    rest = np.delete(np.arange(X.shape[1]), position)
    if rest.size == 0:
        raise ValueError(
            f"X must have a column besides qid_col={qid_col!r}, got 1 column."
        )
    if columns is None:
        # A list of one position: with a single integer sparse matrices return a matrix,
        # sparse arrays a vector.
        column = X[:, [position]]
        column = np.asarray(column.toarray() if hasattr(column, "toarray") else column)
        return X[:, rest], _check_exact(column[:, 0], qid_col)
    name, names = columns[position], [columns[i] for i in rest]
    return _some_columns(X, names), _check_exact(np.asarray(X[name]), qid_col)


def _check_position(qid_col: Any, n_columns: int) -> int:
    # True is an integer to Python, and would name the second column.
    if isinstance(qid_col, bool) or not isinstance(qid_col, int | np.integer):
        raise TypeError(
            f"qid_col must be a column name or position, got {shown(qid_col)}."
        )
    if not -n_columns <= qid_col < n_columns:
        raise ValueError(
            f"qid_col must be a position below {n_columns}, the number of columns of "
            f"X, got {qid_col}."
        )
    return int(qid_col) % n_columns


def _check_exact(qid: NDArray[Any], qid_col: str | int) -> NDArray[Any]:
    if qid.dtype.kind == "f" and (np.abs(qid) > _LARGEST_EXACT_FLOAT).any():
        largest = qid[np.nanargmax(np.abs(qid))]
        raise ValueError(
            f"qid_col={qid_col!r} must hold identifiers that are exact as floats (up "
            f"to 2**53), got {largest!r}. Use strings or integers in a data frame."
        )
    return qid


def check_groups(groups: Any, queries: Queries) -> tuple[IntArray, list[Any]]:
    """Return the number of each row's group, and their names; None is one group.

    Parameters
    ----------
    groups : None or array-like of shape (n_items,)
        Any hashable values, the same within a query.
    queries : Queries

    Returns
    -------
    codes : ndarray of shape (n_items,), int64
    names : list
        By code, in order of first appearance.

    Raises
    ------
    TypeError
        If it is a text, such as the name of a column.
    ValueError
        If lengths differ, a value is missing, or a query is in two groups.
    """
    if isinstance(groups, str):
        raise TypeError(
            f"groups must be None or one value per row, got {groups!r}: pass the "
            "column, as in groups=frame[...]."
        )
    codes, values = encode_qid(groups, queries.n_items, name="groups")
    first = codes[queries.first_rows][queries.codes]
    if not np.array_equal(first, codes):
        row = int(np.flatnonzero(first != codes)[0])
        query = queries.values.item(int(queries.codes[row]))
        one, other = (values.item(int(group[row])) for group in (first, codes))
        raise ValueError(
            f"groups must be the same for all items of a query, got {one!r} and "
            f"{other!r} for query {query!r}."
        )
    names: list[Any] = values.tolist()
    return codes, names


def groups_of_queries(groups: Any, queries: Queries) -> Groups | None:
    """Return the group of each query; parameters and errors as in `check_groups`."""
    if groups is None:
        return None
    codes, names = check_groups(groups, queries)
    return Groups(codes[queries.first_rows], names)
