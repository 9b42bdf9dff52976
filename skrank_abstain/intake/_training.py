"""From labelled items to the data that a rule calibrates on: split, train, score."""

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
from skrank_abstain.intake._item_rows import Items, groups_of_queries, take_items
from skrank_abstain.intake._query_checks import OneQueryWarning, doubt_about_queries
from skrank_abstain.intake._repeats import FitRows, find_repeats, warn_of_repeats
from skrank_abstain.intake._row_hashes import hash_rows
from skrank_abstain.intake._splitting import divide_queries, split_for_calibration
from skrank_abstain.scorers import fit_ranker, score_items
from skrank_abstain.selection import Groups, LabelledScores


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """A fitted model, and the scored items that did not train it.

    Attributes
    ----------
    model : object
    prefit : bool
        Whether it came fitted.
    columns : dict
        ``n_features_in_`` and, if X has names, ``feature_names_in_``.
    several_queries : bool
        Whether X has more than one query.
    largest_query : int
        Items of the largest calibration query.
    repeats : FitRows or None
        None if rows were not compared.
    rest : LabelledScores
        Of the queries that set the threshold.
    tuning : LabelledScores or None
        Of other queries, which fit the tie model alone.
    groups : Groups
        Of the queries in ``rest``.
    seed : int
        For rules that draw.
    rows : ndarray of int64
        Rows of X that did not train the model.
    """

    model: Any
    prefit: bool
    columns: dict[str, Any]
    several_queries: bool
    largest_query: int
    repeats: FitRows | None
    rest: LabelledScores
    tuning: LabelledScores | None
    groups: Groups
    seed: int
    rows: IntArray


def take_labelled_items(
    ranker: Any, X: Any, y: Any, qid: Any
) -> tuple[Items, FloatArray]:
    """As `check_labelled_items`, but warn of doubts about the queries."""
    items, relevance, doubt = check_labelled_items(ranker, X, y, qid)
    if doubt is not None:
        warn_user(doubt)
    return items, relevance


def check_labelled_items(
    ranker: Any, X: Any, y: Any, qid: Any
) -> tuple[Items, FloatArray, OneQueryWarning | None]:
    """Check the data of ``fit``; return items, relevance and doubts about the queries.

    ``ranker`` stores the columns of X, and is named in messages.
    """
    if y is None:
        raise ValueError(
            f"{type(ranker).__name__} requires y to be passed, but the target y is None"
        )
    check_row_order(X, y=y)
    items = take_items(ranker, X, qid, ranker.qid_col, reset=True)
    relevance = check_relevance(y, items.queries.n_items)
    return items, relevance, doubt_about_queries(ranker, X, qid, items)


def train_and_score(
    ranker: Any,
    items: Items,
    relevance: FloatArray,
    *,
    groups: ArrayLike | None = None,
    tuning_size: float = 0.0,
) -> TrainingRecord:
    """Train the ranker's model unless it is fitted, and score the other items.

    Parameters
    ----------
    ranker : ModelWrapper
        Not changed; the record is for its ``_take_over``.
    groups : array-like of shape (n_items,), default=None
        Kind of query of each item; each group is split by itself.
    tuning_size : float, default=0.0
        Share of the calibration queries that fit the tie model alone.
    """
    # One draw per use, so that the split does not depend on the boundary mode.
    random = check_random_state(ranker.random_state)
    split_seed, seed = random.randint(2**31 - 1, size=2).tolist()
    check_row_order(items.X, groups=groups)
    kinds = groups_of_queries(groups, items.queries)
    if kinds is None:
        kinds = Groups(np.zeros(items.queries.n_queries, dtype=np.int64), [None])

    def split(size: float) -> tuple[IntArray, IntArray]:
        return split_for_calibration(items.queries, size, split_seed, kinds.code)

    def train(model: Any, rows: IntArray) -> Any:
        # Bins only serve the training of boosters. Pairs are labelled by the raw
        # relevance; by bins, items of one bin would count as tied.
        part, bins = items.take(rows), ranker.relevance_bins
        return fit_ranker(
            model, part.X, relevance[rows], part.queries, relevance_bins=bins
        )

    model, prefit, rows = ranker._train_or_take(relevance.size, split, train)
    repeats = None
    if ranker._rows_are_items:
        hashes = hash_rows(items.X)
        repeats = find_repeats(hashes, items.queries, rows, relevance, copies=True)
        warn_of_repeats(repeats)
    left = items.take(rows)
    sizes = left.queries.sizes
    check_pairs_to_calibrate(sizes)
    group = kinds.code[items.queries.codes[rows[left.queries.first_rows]]]
    # A rule that promises something about new queries needs queries that did not fit
    # the tie model; the other rules use all of them for both.
    parts = divide_queries(sizes, group, tuning_size, seed) if tuning_size else None
    columns = columns_of_fit(ranker)
    scores = score_items(model, left.X)
    rest, tuning = LabelledScores(scores, relevance[rows], left.queries, left.X), None
    if parts is not None:
        tuning, rest = map(rest.take_queries, parts)
        group = group[parts[1]]
    return TrainingRecord(
        model,
        prefit,
        columns=columns,
        several_queries=items.queries.n_queries > 1,
        largest_query=int(sizes.max()),
        repeats=repeats,
        rest=rest,
        tuning=tuning,
        groups=Groups(group, kinds.names),
        seed=seed,
        rows=rows,
    )


def check_pairs_to_calibrate(sizes: IntArray) -> None:
    """Refuse queries, of so many items each, that have no pair."""
    if not (sizes > 1).any():
        raise ValueError(
            "qid must give at least one calibration query with two items, got "
            f"{sizes.size} queries with n_samples={sizes.sum()} items."
        )


def columns_of_fit(estimator: Any) -> dict[str, Any]:
    """Return the attributes that say which columns ``fit`` saw."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}
