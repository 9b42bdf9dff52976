"""Features relative to the other items of the query."""

from typing import Any

import numpy as np

from skrank_abstain._kernels import FloatArray
from skrank_abstain.pairs import Queries

#: Values that are compared at a time.
_PIECE = 1_000_000


def with_context(X: Any, queries: Queries | None) -> Any:
    """Return X with columns that compare each item with others of its query.

    Parameters
    ----------
    X : array or data frame of shape (n_items, n_features)
    queries : Queries or None

    Returns
    -------
    wide : array or frame of the kind of X
        The columns of X, then `query_context` of the numeric ones if there are queries.
    """
    if queries is None:
        return X
    names, numbers = numeric_columns(X)
    added = query_context(numbers, queries)
    made = [f"{name}_{what}" for what in ("in_query", "rank") for name in names]
    made.append("items_in_query")
    if hasattr(X, "iloc"):
        # As texts: scikit-learn refuses names of several types.
        columns = {str(name): X.iloc[:, at] for at, name in enumerate(X.columns)}
        columns |= dict(zip(made, added.T, strict=True))
        return type(X)(columns, index=X.index)
    if hasattr(X, "hstack"):
        return X.hstack(type(X)(added, schema=made))
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
        return [*numbers.columns], as_numbers(numbers)
    if hasattr(X, "hstack"):
        kinds = X.schema.items()
        names = [n for n, kind in kinds if kind.is_numeric() or str(kind) == "Boolean"]
        return names, as_numbers(X[names])
    values = as_numbers(X)
    return [*range(values.shape[1])], values


def as_numbers(X: Any) -> FloatArray:
    """Return an array or a frame as float64; missing values become NaN."""
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(np.float64, na_value=np.nan))
    return np.asarray(X).astype(np.float64)


def query_context(X: FloatArray, queries: Queries) -> FloatArray:
    """Return features relative to the other items of the query.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features), float64
        Means, standard deviations and ranks ignore NaN.
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
    queries, not even in their last bits: sorted values are summed.
    """
    from skrank_abstain._kernels.features import compare_within
    from skrank_abstain._kernels.outcomes import sort_within_queries

    n_items, n_features = X.shape
    context = np.empty((n_items, 2 * n_features + 1))
    context[:, -1] = queries.sizes[queries.codes]
    # All at once would take four times the memory of X.
    step = max(1, _PIECE // max(n_items, 1))
    for columns in (slice(at, at + step) for at in range(0, n_features, step)):
        # Each query and feature is sorted like a query of its own, in one call.
        values = X.T[columns]
        shift = n_items * np.arange(len(values))[:, np.newaxis]
        order = (shift + queries.order).reshape(-1)
        offsets = np.append((shift + queries.offsets[:-1]).reshape(-1), values.size)
        missing = np.isnan(values)
        known = np.add.reduceat(~missing.reshape(-1)[order], offsets[:-1], dtype=int)
        filled = np.where(missing, np.inf, values).reshape(-1)
        two = np.empty((2, filled.size))
        ascending, rows = sort_within_queries(filled, order, offsets)
        compare_within(ascending, rows, known, offsets, *two)
        relative, ranks = two.reshape(2, *values.shape)
        context[:, :n_features][:, columns] = relative.T
        context[:, n_features:-1][:, columns] = ranks.T
    return context
