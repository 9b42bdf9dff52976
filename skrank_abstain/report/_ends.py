"""Features of the first and of the last items: a list upside down is seen here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from skrank_abstain._validation import FloatArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.report._page import Section, Table
from skrank_abstain.scorers import numeric_columns

_HEAD = ("column", "first items", "last items")
#: Features that are shown: those that differ most.
_N_FEATURES = 8


def section_of_ends(
    X: Any, items: ScoredItems, relevance: FloatArray | None
) -> Section | None:
    """Return the means of features over the first and the last item of each query.

    Parameters
    ----------
    X : array or frame of shape (n_items, n_features)
    items : ScoredItems
        Its items, sorted.
    relevance : ndarray of shape (n_items,), float64, or None

    Returns
    -------
    section : Section or None
        None without queries of two items, or without a column of numbers.

    Notes
    -----
    Of numeric columns those whose means differ most, in units of their standard
    deviation. Missing values are left out.
    """
    several = np.diff(items.offsets) > 1
    if issparse(X) or not several.any():
        return None
    ends = np.append(items.offsets[1:][several] - 1, items.offsets[:-1][several])
    rows = items.rows[ends]
    try:
        names, values = numeric_columns(_safe_indexing(X, rows))
    except (TypeError, ValueError):  # texts in an array
        return None
    # Columns without a finite value at either end have no means.
    halves = np.stack(np.split(values, 2))
    known = np.all(np.isfinite(halves).any(axis=1), axis=0).tolist()
    names = [name for name, is_known in zip(names, known, strict=True) if is_known]
    found = np.ma.masked_invalid(halves[:, :, known])
    first, last = found.mean(axis=1).data
    spread = found.std(axis=(0, 1)).data
    apart = np.abs(first - last) / np.where(spread > 0, spread, np.inf)
    table = [
        [str(names[k]), f"{first[k]:.4g}", f"{last[k]:.4g}"]
        for k in np.argsort(-apart, kind="stable")[:_N_FEATURES]
    ]
    if relevance is not None:
        top, bottom = np.split(relevance[rows], 2)
        table.insert(0, ["y", f"{top.mean():.4g}", f"{bottom.mean():.4g}"])
    if not table:
        return None
    lead = (
        "Means over the first and over the last item of each query. Higher is better, "
        "in y as in scores: if the last items look like those that should come first, "
        "fit again with -y."
    )
    return Section("First and last items", [lead, Table(_HEAD, table)])
