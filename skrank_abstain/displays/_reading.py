"""Reads totals, queries and labelled pairs through the public methods of a ranker."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_fraction,
    check_relevance,
    listed,
    shown,
)
from skrank_abstain.intake import take_columns
from skrank_abstain.pairs import PairDecisions, Queries, group_queries, pair_labels
from skrank_abstain.selection import PairTotals


def check_coverages(
    coverages: ArrayLike, name: str = "coverages", *, asked: bool = False
) -> FloatArray:
    """Return rising shares of pairs in (0, 1] as float64.

    Shares that were ``asked`` may be 0, and repeat once there is nothing left to ask.
    """
    values = np.asarray(coverages)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"{name} must be a 1d array of at least one value, got shape "
            f"{values.shape}."
        )
    # Python's numbers make the message read 1.2, not np.float64(1.2).
    for value in values.tolist():
        check_fraction(value, name, include_zero=asked, include_one=True)
    numbers: FloatArray = values.astype(np.float64)
    step = np.diff(numbers)
    if ((step < 0) | ((step == 0) & (not asked))).any():
        raise ValueError(f"{name} must ascend, got {listed(numbers.tolist())}.")
    return numbers


def reachable(ranker: Any, coverages: FloatArray) -> FloatArray:
    """Return the coverages up to the highest one of the ranker."""
    most = getattr(ranker, "highest_coverage_", 1.0)
    return np.unique(np.minimum(coverages, most))


def totals_at(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    qid: Any,
    coverages: FloatArray,
    groups: tuple[Any, Any] | None = None,
) -> tuple[list[PairTotals], FloatArray]:
    """Return the totals at each coverage, at least one, and the pairs of each query."""
    options = {} if groups is None else {"groups": groups}
    points = ranker.operating_points(X, y, qid, coverages=coverages.tolist(), **options)
    totals = [point.totals for point in points]
    # The pairs are the same at each coverage.
    if totals[0].pairs.sum() == 0:
        raise no_pairs()
    return totals, totals[0].pairs


def no_pairs() -> ValueError:
    """Return the error of a display without pairs."""
    return ValueError(
        "qid must leave a query with two items: there are no pairs to draw."
    )


def rows_by_query(ranker: Any, X: Any, qid: Any) -> Queries:
    """Return the query of each row, from ``qid`` or from the ranker's column of X."""
    column = getattr(ranker, "qid_col", None)
    if qid is None and column is not None:
        # X still holds the column of queries.
        rows = X if hasattr(X, "shape") else np.asarray(X)
        _, (qid,) = take_columns(rows, qid_col=column)
    return group_queries(qid, _num_samples(X))


def rows_of_query(ranker: Any, X: Any, qid: Any, query: Any) -> IntArray:
    """Return the rows of ``query``; None stands for the only query.

    Raises
    ------
    ValueError
        If ``qid`` is missing, or ``query`` is missing or unknown.
    """
    column = getattr(ranker, "qid_col", None)
    if qid is None and column is None and getattr(ranker, "n_queries_", 1) > 1:
        # One ranking of the items of several queries would be wrong.
        raise ValueError(
            "qid must be given, since the ranker was calibrated on "
            f"{ranker.n_queries_} queries: qid=0 (any scalar) says that all rows are "
            "items of one query; with one value per row, query= picks one."
        )
    queries = rows_by_query(ranker, X, qid)
    values = queries.values.tolist()
    if query is None:
        if len(values) > 1:
            source = "qid" if column is None else f"qid_col={column!r}"
            raise ValueError(
                f"X must hold the items of one query, got {len(values)} by {source}: "
                f"pass query= to draw one of them, such as query={values[0]!r}."
            )
        return np.arange(queries.n_items)
    if query not in values:
        raise ValueError(
            f"query must be one of the {len(values)} queries of qid, such as "
            f"{values[0]!r}, got {shown(query)}."
        )
    return np.flatnonzero(queries.codes == values.index(query))


def labelled_pairs(
    ranker: Any, X: Any, y: ArrayLike, qid: Any, *, max_pairs: int, random_state: Any
) -> tuple[PairDecisions, IntArray, FloatArray]:
    """Form the pairs of all queries, or of random queries up to ``max_pairs`` pairs.

    Returns
    -------
    decisions : PairDecisions
        ``left`` and ``right`` number the rows of the drawn queries.
    label : ndarray of shape (n_pairs,), int64
        True label of each pair.
    difference : ndarray of shape (n_pairs,), float64
        Score of the left item minus score of the right one.
    """
    # `evaluate` raises if `fit` had a qid and there is none now.
    n_pairs = ranker.evaluate(X, y, qid=qid).pairs
    relevance = check_relevance(y)
    if n_pairs.sum() > max_pairs:
        # Whole queries, since they are the sample of the intervals.
        queries = rows_by_query(ranker, X, qid)
        rows = np.flatnonzero(
            _draw_queries(n_pairs, max_pairs, random_state)[queries.codes]
        )
        X, relevance = _safe_indexing(X, rows), relevance[rows]
        qid = None if qid is None else queries.codes[rows]
    decisions = ranker.predict_pairs(X, qid=qid)
    scores = ranker.predict(X, qid)
    label = pair_labels(relevance, decisions.left, decisions.right)
    return decisions, label, scores[decisions.left] - scores[decisions.right]


def _draw_queries(
    n_pairs: FloatArray, max_pairs: int, random_state: Any
) -> NDArray[np.bool_]:
    """Mark queries drawn at random whose pairs are at most ``max_pairs`` in all."""
    order = check_random_state(random_state).permutation(n_pairs.size)
    # At least one query is drawn, so all of them must have pairs.
    order = order[n_pairs[order] > 0]
    n_drawn = int(np.searchsorted(np.cumsum(n_pairs[order]), max_pairs, side="right"))
    drawn = np.zeros(n_pairs.size, dtype=bool)
    drawn[order[: max(n_drawn, 1)]] = True
    return drawn
