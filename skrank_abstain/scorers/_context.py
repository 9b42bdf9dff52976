"""Features of an item relative to the other items of its query."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from skrank_abstain._validation import FloatArray
from skrank_abstain.pairs import Queries, ScoredItems

#: Added to standard deviations, so that equal features become 0.
_TINY = 1e-9


def with_context(X: Any, queries: Queries) -> Any:
    """Return X with columns that describe each item's place in its query.

    Parameters
    ----------
    X : array or data frame of shape (n_items, n_features)
    queries : Queries

    Returns
    -------
    wide : array or frame of the kind of X
        The columns of X, then those of `query_context`, of the numeric columns alone.
    """
    if issparse(X):
        raise TypeError(
            f"X must be dense where context=True, got a {type(X).__name__}: sparse "
            "data is not supported, as few values stay zero relative to their query. "
            "Pass X.toarray(), or context=False."
        )
    try:
        names, numbers = numeric_columns(X)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "X must hold numbers where context=True, or be a data frame, of which "
            f"only numeric columns are compared, got {np.asarray(X).dtype}: {error}"
        ) from error
    added = query_context(numbers, queries)
    if hasattr(X, "iloc"):
        # Texts alone: scikit-learn refuses names of several types.
        columns = {str(name): X.iloc[:, at] for at, name in enumerate(X.columns)}
        columns |= dict(zip(_names(names), added.T, strict=True))
        return type(X)(columns, index=X.index)
    if hasattr(X, "hstack"):
        return X.hstack(type(X)(added, schema=_names(names)))
    return np.hstack([numbers, added])


def numeric_columns(X: Any) -> tuple[list[Any], FloatArray]:
    """Return the names and the values of the columns of numbers.

    Parameters
    ----------
    X : array or data frame of shape (n_items, n_features)

    Returns
    -------
    names : list of length n_numeric
        Positions for an array, all of which must be numbers.
    values : ndarray of shape (n_items, n_numeric), float64
        Missing values are NaN.
    """
    if hasattr(X, "select_dtypes"):
        numbers = X.select_dtypes(["number", "bool"])
        return [*numbers.columns], numbers.to_numpy(np.float64, na_value=np.nan)
    if hasattr(X, "hstack"):
        kinds = X.schema.items()
        names = [n for n, kind in kinds if kind.is_numeric() or str(kind) == "Boolean"]
        return names, X[names].to_numpy().astype(np.float64)
    values = np.asarray(X).astype(np.float64)
    return [*range(values.shape[1])], values


def _names(columns: Any) -> list[str]:
    own = [f"{name}_{what}" for what in ("in_query", "rank") for name in columns]
    return [*own, "items_in_query"]


def query_context(X: FloatArray, queries: Queries) -> FloatArray:
    """Return features relative to those of the other items of the query.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features), float64
        NaN is left out of means, standard deviations and ranks.
    queries : Queries

    Returns
    -------
    context : ndarray of shape (n_items, 2 * n_features + 1), float64
        (x - mean) / (standard deviation + 1e-9) of each feature; its rank, as a share
        from -1/2 to 1/2, where equal values have their mean rank; and the number of
        items of the query. All but the last are 0 in a query of one item. NaN stays
        NaN.

    Notes
    -----
    O(n log n). An item's numbers depend neither on the order of the rows nor on other
    queries, not even in their last bits: sums are taken of sorted values.
    """
    n_items, n_features = X.shape
    context = np.empty((n_items, 2 * n_features + 1))
    context[:, -1] = queries.sizes[queries.codes]
    with np.errstate(invalid="ignore", over="ignore"):  # members may refuse infinity
        for column in range(n_features):
            two = _within(X[:, column], queries)
            context[:, column], context[:, n_features + column] = two
    return context


def _within(values: FloatArray, queries: Queries) -> tuple[FloatArray, FloatArray]:
    """Return one feature in units of its spread within the query, and its ranks."""
    codes, starts = queries.codes, queries.offsets[:-1]
    # Sorted by query, then by value; NaN comes last in its query.
    order = ScoredItems.build(np.where(np.isnan(values), np.inf, values), queries).rows
    ordered = values[order]
    known = ~np.isnan(ordered)
    count = np.maximum(np.add.reduceat(known, starts, dtype=np.float64), 1)
    mean = np.add.reduceat(np.where(known, ordered, 0.0), starts) / count
    off = np.where(known, ordered - np.repeat(mean, queries.sizes), 0.0)
    spread = np.sqrt(np.add.reduceat(off**2, starts) / count)
    relative = (values - mean[codes]) / (spread[codes] + _TINY)
    begins = np.append(True, ordered[1:] != ordered[:-1])
    begins[starts] = True
    first = np.flatnonzero(begins)
    middle = (first + np.append(first[1:], values.size)) / 2
    rank = np.empty_like(values)
    rank[order] = np.where(known, middle[np.cumsum(begins) - 1], np.nan)
    return relative, (rank - starts[codes]) / count[codes] - 0.5
