"""Name the column of text or dates that a model could not read, and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from skrank_abstain._validation import names_of_columns, shown

#: What scikit-learn and the boosters say about values that are no numbers.
_NO_NUMBERS = re.compile(
    "convert|dtype|num_feature|category|categorical|string|not supported|promote",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def explain_columns(error: Exception, X: Any) -> str:
    """Return what is wrong with a column of X and the remedy; empty if unknown.

    Parameters
    ----------
    error : Exception
        What the model raised. Looking only after a failure refuses no column that a
        model can read.
    X : array, sparse matrix or frame
        What it was given.
    """
    # Our own messages begin with "X must", and know more.
    if str(error).startswith("X must") or not _NO_NUMBERS.search(str(error)):
        return ""
    for name, column in _columns(X):
        if column.dtype.kind in "Mm":
            return (
                f"X must hold numbers, got dates in column {name!r}. Turn them into "
                "numbers, as (column - column.min()).dt.days does, or leave them out."
            )
        if column.dtype.kind not in "OUST":
            continue
        texts = [each for each in column.tolist() if isinstance(each, str)]
        comma = next((t for t in texts if _DECIMAL_COMMA.fullmatch(t.strip())), None)
        if comma is not None:
            return (
                f"X must hold numbers, got {comma!r} with a decimal comma in column "
                f"{name!r}. Read the file with pandas.read_csv(..., decimal=',')."
            )
        if texts:
            return (
                f"X must hold numbers, got text in column {name!r}, such as "
                f"{shown(texts[0])}. Leave it out, name it with qid_col= if it is the "
                "query, or encode it, as OrdinalEncoder in a Pipeline does."
            )
    return ""


def _columns(X: Any) -> list[tuple[Any, Any]]:
    """Return names or positions of the columns, with their values."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "tocsr"):
        return []
    names = names_of_columns(X)
    if names is not None:
        return [(name, np.asarray(X[name])) for name in names]
    values = np.asarray(X)
    return [(k, values[:, k]) for k in range(values.shape[1])]
