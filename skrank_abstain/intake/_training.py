"""From labelled items to the data that a rule calibrates on: split, train, score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state

from skrank_abstain._validation import (
    MOST_GRADES,
    BoolArray,
    FloatArray,
    IntArray,
    check_relevance,
    check_row_order,
    encode_qid,
    rounded_share,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.intake._item_rows import (
    Items,
    OneQueryWarning,
    doubt_about_queries,
    groups_of_queries,
    take_items,
)
from skrank_abstain.intake._repeats import (
    HashedRows,
    find_repeats,
    hash_rows,
    warn_of_repeats,
)
from skrank_abstain.pairs import Queries
from skrank_abstain.scorers import (
    check_queries,
    fit_ranker,
    numeric_columns,
    score_items,
)
from skrank_abstain.selection import Groups, LabelledScores

#: With fewer values y may well be grades in ascending order.
_FEWEST_BLOCKS = 10
_FEWEST_LABELS = 10
#: Rows that tell nearly every feature from the relevance.
_FIRST_ROWS = 64


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
    repeats : HashedRows or None
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
    repeats: HashedRows | None
    rest: LabelledScores
    tuning: LabelledScores | None
    groups: Groups
    seed: int
    rows: IntArray


def take_labelled_items(
    ranker: Any, X: Any, y: Any, qid: Any, groups: str | int | None = None
) -> tuple[Items, FloatArray]:
    """As `check_labelled_items`, but warn of doubts about the queries."""
    items, relevance, doubt = check_labelled_items(ranker, X, y, qid, groups)
    if doubt is not None:
        warn_user(doubt)
    _warn_of_negative_grades(relevance)
    warn_of_exchange(relevance, items.queries, "fit")
    _warn_of_labels_in(items.X, relevance)
    return items, relevance


def warn_of_exchange(y: FloatArray, queries: Queries, method: str) -> None:
    """Warn where y looks like the queries, and qid like the grades."""
    n_runs = 1 + np.count_nonzero(queries.codes[1:] != queries.codes[:-1])
    in_blocks = n_runs == queries.n_queries
    if in_blocks or (y[1:] < y[:-1]).any():
        return
    n_grades = np.unique(y).size
    if n_grades >= max(_FEWEST_BLOCKS, 2 * queries.n_queries):
        warn_user(
            f"y never falls from row to row and has {n_grades} values, qid goes up and "
            f"down and has {queries.n_queries}: if they were exchanged, the order is "
            f"{method}(X, y, qid)."
        )


def _warn_of_labels_in(X: Any, y: FloatArray) -> None:
    """Warn of a feature that is the relevance itself."""
    # Few grades may equal a feature by chance.
    if y.size < _FEWEST_LABELS or issparse(X) or X.shape[1] < 2 or (y == y[0]).all():
        return
    # The first rows rule out nearly all columns.
    few = slice(0, _FIRST_ROWS)
    try:
        names, values = numeric_columns(_safe_indexing(X, few))
    except (TypeError, ValueError):
        return
    for at in np.flatnonzero((values == y[few, None]).all(axis=0)):
        part = X[[names[at]]] if hasattr(X, "columns") else X[:, [at]]
        _, column = numeric_columns(part)
        if np.array_equal(column[:, 0], y):
            warn_user(
                f"column {names[at]!r} of X equals y: the model learns the labels by "
                "heart, and new items have none. Leave the column out of X."
            )


def _warn_of_negative_grades(y: FloatArray) -> None:
    """Warn of one negative grade beside several others: it may say "not judged"."""
    # Where 1 is best, people pass -y, which has at most one grade that is not negative.
    if y.min(initial=0) >= 0 or (y % 1).any():
        return
    grades, counts = np.unique(y, return_counts=True)
    if grades[1] < 0 or not 3 <= grades.size <= MOST_GRADES:
        return
    warn_user(
        f"y has {counts[0]} items of grade {grades[0]:g} beside {grades.size - 1} "
        "grades that are not negative, and counts them as the least relevant. If they "
        "were not judged, leave their rows out."
    )


def check_labelled_items(
    ranker: Any, X: Any, y: Any, qid: Any, groups: str | int | None = None
) -> tuple[Items, FloatArray, OneQueryWarning | None]:
    """Check the data of ``fit``; return items, relevance and doubts about the queries.

    ``ranker`` stores the columns of X, and is named in messages; ``groups`` is the
    column of X with the groups of the items.
    """
    if y is None:
        raise ValueError(
            f"{type(ranker).__name__} requires y to be passed, but the target y is None"
        )
    check_row_order(X, y=y, qid=qid)
    items = take_items(ranker, X, qid, ranker.qid_col, reset=True, groups=groups)
    relevance = check_relevance(y, items.queries.n_items)
    ranker._fitted_sparse = issparse(X)
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
    check_queries(ranker.estimator, items.named_queries)  # before it is trained
    split_seed, seed = draw_seeds(ranker.random_state)
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
    left = items.take(rows)
    repeats = None
    if ranker._rows_are_items:
        hashes = hash_rows(items.X)
        repeats = find_repeats(hashes, items.queries, rows, relevance, copies=True)
        warn_of_repeats(repeats)
    check_pairs_to_calibrate(left.queries.sizes)
    scores = score_items(model, left.X, left.named_queries)
    data = LabelledScores(scores, relevance[rows], left.queries, left.X)
    if items.group is not None:
        codes, names = encode_qid(items.group, items.group.size, name="groups")
        data = replace(data, item_groups=Groups(codes[rows], names.tolist()))
    group = kinds.code[items.queries.codes[rows[left.queries.first_rows]]]
    return record_of(
        data,
        tuning_size,
        seed,
        groups=Groups(group, kinds.names),
        model=model,
        prefit=prefit,
        columns=columns_of_fit(ranker),
        several_queries=items.queries.n_queries > 1,
        repeats=repeats,
        rows=rows,
    )


def draw_seeds(random_state: Any) -> list[int]:
    """Draw a seed for the split of the rows and one for the rule.

    The split then does not depend on what the rule draws.
    """
    random = check_random_state(random_state)
    seeds: list[int] = random.randint(2**31 - 1, size=2).tolist()
    return seeds


def record_of(
    data: LabelledScores, tuning_size: float, seed: int, *, groups: Groups, **known: Any
) -> TrainingRecord:
    """Return the record of scored calibration items, wherever they were scored.

    Parameters
    ----------
    data : LabelledScores
        All calibration items.
    tuning_size : float
        Share of the queries that fit the tie model alone.
    seed : int
    groups : Groups
        Of the queries of ``data``.
    **known
        The other fields of the record.
    """
    sizes = data.queries.sizes
    rest, tuning, group = data, None, groups.code
    # A rule that promises something about new queries needs queries that did not fit
    # the tie model; the other rules use all of them for both.
    if tuning_size:
        parts = divide_queries(sizes, group, tuning_size, seed)
        tuning, rest = map(data.take_queries, parts)
        group = group[parts[1]]
    return TrainingRecord(
        rest=rest,
        tuning=tuning,
        groups=Groups(group, groups.names),
        largest_query=int(sizes.max()),
        seed=seed,
        **known,
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
    names = ("n_features_in_", "feature_names_in_", "_fitted_sparse")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def split_for_calibration(
    queries: Queries,
    calibration_size: float,
    random_state: Any,
    groups: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Split rows into a training and a calibration part.

    Parameters
    ----------
    queries : Queries
    calibration_size : float
        Share of the queries (of the items, if there is one query) to calibrate on.
    groups : ndarray of shape (n_queries,), int64, default=None
        If several groups have pairs, each is split by itself and has calibration
        queries.

    Returns
    -------
    train, calibration : ndarray of int64
        Rows, ascending, at least two each. No query is in both, unless there is only
        one.
    """
    # Whole queries, since their pairs depend on each other; the items of a single one.
    one = queries.n_queries == 1
    units = queries.n_items if one else queries.n_queries
    held_out = np.zeros(units, dtype=bool)
    pairs = queries.sizes > 1
    several = groups is not None and np.unique(groups[pairs]).size > 1
    if several and groups is not None:
        # Queries of one item calibrate nothing.
        held_out[pairs] = hold_out_of_each(
            groups[pairs], calibration_size, random_state
        )
    elif units > 1:
        held_out = hold_out(units, calibration_size, random_state)
    row_held_out = held_out if one else held_out[queries.codes]
    train, calibration = np.flatnonzero(~row_held_out), np.flatnonzero(row_held_out)
    if min(train.size, calibration.size) < 2:
        raise ValueError(
            "X must leave at least 2 items to train on and 2 to calibrate on, got "
            f"{train.size} and {calibration.size} from n_samples={queries.n_items} in "
            f"{queries.n_queries} queries with calibration_size={calibration_size}. "
            + ("Of each group one query or more calibrates. " if several else "")
            + "Pass more queries, or a fitted ranker."
        )
    return train, calibration


def divide_queries(
    sizes: IntArray, groups: IntArray, tuning_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Divide the calibration queries with pairs: some tune, the others certify.

    Parameters
    ----------
    sizes, groups : ndarray of shape (n_queries,), int64
        Each group is divided by itself, and has queries that certify.
    tuning_size : float
        Share of the queries that fit the tie model, in (0, 1).

    Returns
    -------
    tuning, rest : ndarray of int64
        Numbers of the queries, ascending, at least one each.
    """
    # A query of one item has no pairs: it would make a part look larger than it is.
    usable = np.flatnonzero(sizes > 1)
    if usable.size < 2:
        raise ValueError(
            "qid must give at least two calibration queries with pairs, one to fit the "
            f"tie model and one for the guarantee, got {usable.size}."
        )
    group = groups[usable]
    if np.unique(group).size > 1:
        held_out = hold_out_of_each(group, 1 - tuning_size, random_state)
    else:
        # At least one query tunes: with a tie model fitted on the queries that certify,
        # the risk would not be fixed beforehand, as the tests need it.
        n_rest = min(int(rounded_share(1 - tuning_size, usable.size)), usable.size - 1)
        held_out = hold_out(usable.size, n_rest, random_state)
    if held_out.all():
        raise ValueError(
            "groups must leave a query with two items to fit the tie model, got one "
            f"calibration query for each of {usable.size} groups. Pass more queries."
        )
    return usable[~held_out], usable[held_out]


def hold_out(
    n_units: int, size: float, random_state: Any, strata: IntArray | None = None
) -> BoolArray:
    """Draw a share or a number of units, shape (n_units,)."""
    held_out = np.zeros(n_units, dtype=bool)
    drawn = train_test_split(
        np.arange(n_units), test_size=size, random_state=random_state, stratify=strata
    )[1]
    held_out[drawn] = True
    return held_out


def hold_out_of_each(strata: IntArray, share: float, random_state: Any) -> BoolArray:
    """Draw a share in (0, 1) of the units of each stratum, rounded up, (n_units,)."""
    random = check_random_state(random_state)
    # One permutation, sorted into the strata, puts each stratum in random order.
    order = np.lexsort((random.permutation(strata.size), strata))
    _, first, counts = np.unique(strata[order], return_index=True, return_counts=True)
    place = np.arange(strata.size) - np.repeat(first, counts)
    wanted = rounded_share(share, counts)
    held_out = np.empty(strata.size, dtype=bool)
    held_out[order] = place < np.repeat(wanted, counts)
    return held_out
