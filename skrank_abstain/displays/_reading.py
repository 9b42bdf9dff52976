"""Reading a fitted ranker: totals per query at many thresholds, pairs of some rows."""

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
)
from skrank_abstain.estimators import take_column
from skrank_abstain.pairs import PairDecisions, Queries, group_queries, pair_labels
from skrank_abstain.selection import PairTotals, RiskProfile


def check_coverages(coverages: ArrayLike, name: str = "coverages") -> FloatArray:
    """Return target coverages as float64: in (0, 1], each larger than the last."""
    values = np.asarray(coverages)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"{name} must be a 1d array of at least one value, got shape "
            f"{values.shape}."
        )
    for value in values.tolist():
        check_fraction(value, name, include_one=True)
    numbers: FloatArray = values.astype(np.float64)
    if (np.diff(numbers) <= 0).any():
        raise ValueError(f"{name} must ascend, got {numbers.tolist()}.")
    return numbers


def totals_at(
    ranker: Any, X: Any, y: Any, qid: Any, coverages: FloatArray
) -> list[PairTotals]:
    """Return what happens to the pairs of each query at each target coverage.

    O(n log n) and one run of the wrapped model per coverage.
    """
    if not hasattr(ranker, "at_coverage"):
        raise TypeError(
            "estimator must have at_coverage, as BALToR has, got "
            f"{type(ranker).__name__}; use from_predictions."
        )
    return [
        ranker.at_coverage(coverage).evaluate(X, y, qid=qid)
        for coverage in coverages.tolist()
    ]


def ladder(ranker: Any, profile: RiskProfile, coverages: FloatArray) -> list[Any]:
    """Return copies of the ranker, ever more lenient.

    Raises
    ------
    TypeError
        If the ranker can be moved neither to a coverage nor to a price.
    """
    if hasattr(ranker, "at_coverage"):
        return [ranker.at_coverage(coverage) for coverage in coverages.tolist()]
    if hasattr(ranker, "at_cost"):
        # Chow's rule: a price is a threshold on the risk.
        reached = np.searchsorted(profile.coverage, coverages)
        risks = profile.risk[np.unique(reached.clip(max=profile.risk.size - 1))]
        return [ranker.at_cost(risk) for risk in risks.tolist()]
    raise TypeError(
        "n_resamples must be None for a ranker without at_coverage and at_cost, got a "
        f"{type(ranker).__name__}; pass its pairs to from_predictions for a band."
    )


def rows_by_query(ranker: Any, X: Any, qid: Any) -> Queries:
    """Return the query of each row, from ``qid`` or from the ranker's column of X."""
    column = getattr(ranker, "qid_col", None)
    if qid is None and column is not None:
        _, qid = take_column(X if hasattr(X, "shape") else np.asarray(X), column)
    return group_queries(qid, _num_samples(X))


def labelled_pairs(
    ranker: Any, X: Any, y: ArrayLike, qid: Any, *, max_pairs: int, random_state: Any
) -> tuple[PairDecisions, IntArray, FloatArray]:
    """Form the pairs of all queries, or of queries drawn at random up to a number.

    Parameters
    ----------
    ranker, X, y, qid
        As in ``ranker.evaluate``.
    max_pairs : int
        Whole queries are drawn until the next would make more pairs; at least one.
    random_state : int, RandomState instance or None

    Returns
    -------
    decisions : PairDecisions
        Of the rows that were kept; ``left`` and ``right`` count among these.
    label : ndarray of shape (n_pairs,), int64
        True label of each pair.
    difference : ndarray of shape (n_pairs,), float64
        Score of the left item minus score of the right one.
    """
    # Checks that a ranker fitted with queries is told them, too.
    n_pairs = ranker.evaluate(X, y, qid=qid).pairs
    relevance = check_relevance(y)
    if n_pairs.sum() > max_pairs:
        queries = rows_by_query(ranker, X, qid)
        rows = np.flatnonzero(
            _draw_queries(n_pairs, max_pairs, random_state)[queries.codes]
        )
        X, relevance = _safe_indexing(X, rows), relevance[rows]
        qid = None if qid is None else queries.codes[rows]
    decisions = ranker.predict_pairs(X, qid=qid)
    scores = ranker.predict(X)
    label = pair_labels(relevance, decisions.left, decisions.right)
    return decisions, label, scores[decisions.left] - scores[decisions.right]


def _draw_queries(
    n_pairs: FloatArray, max_pairs: int, random_state: Any
) -> NDArray[np.bool_]:
    """Mark queries drawn at random whose pairs are at most ``max_pairs`` in all."""
    order = check_random_state(random_state).permutation(n_pairs.size)
    order = order[n_pairs[order] > 0]
    n_drawn = int(np.searchsorted(np.cumsum(n_pairs[order]), max_pairs, side="right"))
    drawn = np.zeros(n_pairs.size, dtype=bool)
    drawn[order[: max(n_drawn, 1)]] = True
    return drawn
