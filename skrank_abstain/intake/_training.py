"""From labelled items to what a rule calibrates on: split, train, score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_relevance,
    check_row_order,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.intake._item_rows import Items, check_groups, take_items
from skrank_abstain.intake._query_checks import OneQueryWarning, doubt_about_queries
from skrank_abstain.intake._repeats import find_repeats, warn_of_repeats
from skrank_abstain.intake._row_hashes import hash_rows
from skrank_abstain.intake._splitting import divide_queries, split_for_calibration
from skrank_abstain.scorers import fit_ranker, score_items
from skrank_abstain.selection import Groups
from skrank_abstain.tie_models import LabelledScores


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Scored items that did not train the ranker.

    Attributes
    ----------
    rest : LabelledScores
        Of the queries that set the threshold.
    tuning : LabelledScores or None
        Of other queries, for the tie model alone.
    groups : Groups
        Of the queries in ``rest``.
    seed : int
        For what is random about the rule.
    rows : ndarray of int64
        Those of X that did not train the ranker.
    """

    rest: LabelledScores
    tuning: LabelledScores | None
    groups: Groups
    seed: int
    rows: IntArray


def take_labelled_items(ranker: Any, X: Any, y: Any, qid: Any) -> tuple[Items, Any]:
    """Check what ``fit`` was given, and warn of it.

    Parameters and returns as in ``check_labelled_items``, but for the doubt.
    """
    items, relevance, doubt = check_labelled_items(ranker, X, y, qid)
    if doubt is not None:
        warn_user(doubt)
    return items, relevance


def check_labelled_items(
    ranker: Any, X: Any, y: Any, qid: Any
) -> tuple[Items, FloatArray, OneQueryWarning | None]:
    """Check what ``fit`` was given.

    Parameters
    ----------
    ranker : estimator
        Stores the columns of X, and is named in messages.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
    y : array-like of shape (n_items,)
    qid : None, scalar or array-like of shape (n_items,)

    Returns
    -------
    items : Items
    relevance : ndarray of shape (n_items,), float64
    doubt : OneQueryWarning or None
        Of the queries.
    """
    if y is None:
        raise ValueError(
            f"{type(ranker).__name__} requires y to be passed, but the target y is None"
        )
    check_row_order(X, y=y)
    items = take_items(ranker, X, qid, ranker.qid_col, reset=True)
    # One query needs no qid to be scored; of several each row must be told.
    ranker._fitted_with_qid = items.queries.n_queries > 1
    relevance = check_relevance(y, items.queries.n_items)
    return items, relevance, doubt_about_queries(ranker, X, qid, items)


def train_and_score(
    ranker: Any,
    items: Items,
    relevance: FloatArray,
    *,
    groups: ArrayLike | None = None,
    tuning_size: float = 0.0,
) -> CalibrationData:
    """Train the ranker's model unless it is fitted, and score what is left.

    Parameters
    ----------
    ranker : ModelWrapper
        ``estimator_`` and ``prefit_`` are set, and what was found twice.
    items : Items
    relevance : ndarray of shape (n_items,), float64
    groups : array-like of shape (n_items,), default=None
        Kind of query of each item; each group is split by itself.
    tuning_size : float, default=0.0
        Share of the calibration queries that fit the tie model alone.

    Returns
    -------
    data : CalibrationData
    """
    # One draw per use, so that the split does not depend on the boundary mode.
    random = check_random_state(ranker.random_state)
    split_seed, seed = random.randint(2**31 - 1, size=2).tolist()
    check_row_order(items.X, groups=groups)
    codes, names = check_groups(groups, items.queries)

    def split(size: float) -> tuple[IntArray, IntArray]:
        return split_for_calibration(items.queries, size, split_seed, codes)

    def train(model: Any, rows: IntArray) -> Any:
        # Bins only serve the training of boosters. Pairs are labelled by the raw
        # relevance; by bins, items of one bin would count as tied.
        part, bins = items.take(rows), ranker.relevance_bins
        return fit_ranker(
            model, part.X, relevance[rows], part.queries, relevance_bins=bins
        )

    rows = ranker._train_or_take(relevance.size, split, train)
    ranker._fit_rows = None
    if ranker._rows_are_items:
        hashes = hash_rows(items.X)
        ranker._fit_rows = find_repeats(
            hashes, items.queries, rows, relevance, copies=True
        )
        warn_of_repeats(ranker._fit_rows)
    left = items.take(rows)
    if left.queries.n_pairs == 0:
        raise ValueError(
            "qid must give at least one calibration query with two items, got "
            f"{left.queries.n_queries} queries with "
            f"n_samples={left.queries.n_items} items."
        )
    ranker._largest_query = int(left.queries.sizes.max())
    parts = [np.arange(rows.size)]
    # A rule that promises something about new queries wants queries that did not fit
    # the tie model; the plug-in rules use all of them for both.
    if tuning_size:
        parts = divide_queries(left.queries, codes[rows], tuning_size, seed)
    taken = [left.take(part) for part in parts]
    rest = taken[-1].queries
    # The group of each query is that of its first row; `rows` and `parts` lead from
    # there back to the rows of X.
    group = codes[rows[parts[-1][rest.first_rows]]]
    # Everything is cut to size before the model runs: it runs once.
    scores = score_items(ranker.estimator_, left.X)
    data = [
        LabelledScores(scores[part], relevance[rows[part]], some.queries, some.X)
        for part, some in zip(parts, taken, strict=True)
    ]
    tuning = data[0] if tuning_size else None
    return CalibrationData(data[-1], tuning, Groups(group, names), seed, rows)
