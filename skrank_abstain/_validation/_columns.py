"""Checks of X: its shape, and its columns against those of ``fit``.

X goes to the wrapped model as it came, so that missing values, categories and column
names survive. Only its length, column names and column count are checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from skrank_abstain._validation._arrays import names_of_columns, refuse_lazy
from skrank_abstain._validation._values import listed, shown


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
        X = sparse.asformat("csr")  # rows of the other formats cannot be selected
    # Messages begin with the words that scikit-learn's estimator checks look for.
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
    if X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}."
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
        # scikit-learn's models refuse columns in another order, LightGBM scores them
        # wrongly without a word. `validate_data` reports missing and unknown names.
        X = select_columns(X, names)
    # Names and counts only: the wrapped model accepts or refuses missing values and
    # categories.
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def select_columns(X: Any, names: list[Any]) -> Any:
    """Return the named columns of a frame or table, in this order."""
    # A pyarrow Table is not indexed by names; in pandas, column_names is a column.
    is_table = hasattr(X, "column_names") and not hasattr(X, "iloc")
    return X.select(names) if is_table else X[names]
