"""Read a metric of systems on queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, check_finite, listed, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.leaderboard._votes import array_of_names

#: With fewer queries the covariance of the means says too little.
_FEW = 20


def read_scores(frame: Any) -> tuple[NDArray[Any], FloatArray]:
    """Return the names of the systems, and the metric of each on each query.

    Parameters
    ----------
    frame : frame or mapping of columns
        A column for each system.

    Returns
    -------
    items : ndarray of shape (n_items,)
    scores : ndarray of shape (n_queries, n_items), float64

    Raises
    ------
    TypeError
        If ``frame`` is no table with names.
    ValueError
        If there are fewer than two systems or queries, or values are no finite numbers.
    """
    if not (isinstance(frame, Mapping) or hasattr(frame, "columns")):
        raise TypeError(
            "frame must be a frame or a mapping with a column for each system, got "
            f"{shown(frame)}."
        )
    names = list(frame if isinstance(frame, Mapping) else frame.columns)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(
            "frame must have a column of its own name for each of at least two "
            f"systems, got {listed(names)}."
        )
    columns = [
        check_finite(
            np.asarray(frame[name]),
            f"frame[{name!r}]",
            ("n_queries",),
            remedy=" Compare systems on the queries that all of them have.",
        )
        for name in names
    ]
    sizes = {column.size for column in columns}
    if len(sizes) > 1 or min(sizes) < 2:
        raise ValueError(
            "frame must have the same rows, at least two queries, in every column, got "
            f"columns of {listed(sorted(sizes))} values."
        )
    n_queries = sizes.pop()
    if n_queries < _FEW:
        warn_user(
            f"{n_queries} queries are fewer than {_FEW}: how much the means vary is "
            "known badly, few orders can be sure, and the promise is a rough one."
        )
    return array_of_names(names), np.stack(columns, axis=1)
