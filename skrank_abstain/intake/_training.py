"""From labelled items to the data that a rule calibrates on: split, train, score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold, check_cv, train_test_split
from sklearn.utils import check_random_state

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import (
    MOST_GRADES,
    check_row_order,
    rounded_share,
    shown,
)
from skrank_abstain.intake import _repeats
from skrank_abstain.intake._rows import Rows, encode_groups_of_items, groups_of_queries
from skrank_abstain.pairs import Queries, Scores
from skrank_abstain.scorers import check_queries, fit_ranker, score_items
from skrank_abstain.selection import Groups


class Trained(NamedTuple):
    """A fitted model, and scores of rows by models that did not see them.

    Attributes
    ----------
    model : object
    prefit : bool
        Whether it came fitted.
    rows : ndarray of int64
        Rows to calibrate on, ascending.
    scores : ndarray of shape (n_rows, ...), float64
        Of these rows; out of fold, in the units of the model, where there are folds.
    folds : list of ndarray of int64
        Rows of each fold, if the model was trained on all rows.
    """

    model: Any
    prefit: bool
    rows: IntArray
    scores: FloatArray
    folds: Sequence[IntArray] = ()


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """A fitted model, and the scored items that did not train it.

    Attributes
    ----------
    trained : Trained
    several_queries : bool
        Whether X has more than one query.
    largest_query : int
        Items of the largest calibration query.
    repeats : HashedRows or None
        None if rows were not compared.
    rest : Scores
        Of the queries that set the threshold.
    tuning : Scores or None
        Of other queries, which fit the tie model alone.
    groups : Groups
        Of the queries in ``rest``.
    seed : int
        For rules that draw.
    item_groups : list or None
        Names of the groups of the items.
    """

    trained: Trained
    several_queries: bool
    largest_query: int
    repeats: _repeats.HashedRows | None
    rest: Scores
    tuning: Scores | None
    groups: Groups
    seed: int
    item_groups: list[Any] | None = None

    @classmethod
    def of(
        cls,
        data: Scores,
        tuning_size: float,
        seed: int,
        *,
        groups: Groups,
        **known: Any,
    ) -> Self:
        """Divide scored items, wherever they were scored, if some queries must tune.

        Parameters
        ----------
        data : Scores
            All calibration items.
        tuning_size : float
            Share of the queries that fit the tie model alone.
        seed : int
        groups : Groups
            Of the queries of ``data``.
        **known
            The other fields.

        Raises
        ------
        ValueError
            If no query has a pair.
        """
        sizes = data.queries.sizes
        if not (sizes > 1).any():
            raise ValueError(
                "qid must give at least one calibration query with two items, got "
                f"{sizes.size} queries with n_samples={sizes.sum()} items: pass the "
                "day or the list as qid, not times or names of items."
            )
        rest, tuning, group = data, None, groups.code
        # A rule that promises something about new queries needs queries that did not
        # fit the tie model; the other rules use all of them for both.
        if tuning_size:
            parts = divide_queries(sizes, group, tuning_size, seed)
            tuning, rest = map(data.take_queries, parts)
            group = group[parts[1]]
        return cls(
            rest=rest,
            tuning=tuning,
            groups=Groups(group, groups.names),
            largest_query=int(sizes.max()),
            seed=seed,
            **known,
        )


def train_and_score(
    ranker: Any,
    rows: Rows,
    *,
    groups: ArrayLike | None = None,
    tuning_size: float = 0.0,
) -> CalibrationData:
    """Train the ranker's model unless it is fitted, and score rows new to it.

    Parameters
    ----------
    ranker : ModelWrapper
        Not changed; the result is for its ``_take_over``.
    rows : Rows
        With their relevance.
    groups : array-like of shape (n_items,), default=None
        Kind of query of each item; each group is split by itself.
    tuning_size : float, default=0.0
        Share of the calibration queries that fit the tie model alone.
    """
    queries = rows.queries
    check_queries(ranker.estimator, rows.named_queries)  # before it is trained
    codes = names = None
    if rows.group is not None:
        codes, names = encode_groups_of_items(rows.group, fewest=2)
    split_seed, seed = draw_seeds(ranker.random_state)
    check_row_order(rows.X, groups=groups)
    kinds = groups_of_queries(groups, queries) or Groups.one(queries.n_queries)

    def split(size: float) -> tuple[IntArray, IntArray]:
        return split_for_calibration(queries, size, split_seed, kinds.code)

    def train(model: Any, chosen: IntArray) -> Any:
        # Bins only serve the training of boosters. Pairs are labelled by the raw
        # relevance; by bins, items of one bin would count as tied.
        part, bins = rows.take(chosen), ranker.relevance_bins
        return fit_ranker(model, part.X, part.y, part.queries, relevance_bins=bins)

    def score(model: Any, chosen: IntArray) -> FloatArray:
        part = rows.take(chosen)
        return score_items(model, part.X, part.named_queries)

    trained = ranker._train_or_take(queries, split, train, score, split_seed)
    chosen = trained.rows
    left = rows.take(chosen)
    refuse_scores(trained.scores, left.y)
    repeats = None
    if ranker._rows_are_items:
        hashes, folds = _repeats.hash_rows(rows.X), trained.folds
        how: Any = {"ids": _repeats.hash_ids(rows.named_queries), "copies": True}
        repeats = _repeats.find_repeats(
            *(hashes, queries, chosen, rows.y, folds), **how, n_columns=rows.X.shape[1]
        )
        _repeats.warn_of_repeats(repeats)
        if trained.prefit:
            known = hashes if repeats.comparable else None
            _repeats.warn_of_trained(trained.model, (rows.X, rows.y, queries), known)
    in_group = None if codes is None else codes[chosen]
    group = kinds.code[queries.codes[chosen[left.queries.first_rows]]]
    return CalibrationData.of(
        Scores(trained.scores, left.queries, y=left.y, X=left.X, group=in_group),
        tuning_size,
        seed,
        groups=Groups(group, kinds.names),
        trained=trained,
        several_queries=queries.n_queries > 1,
        repeats=repeats,
        item_groups=names,
    )


def refuse_scores(scores: FloatArray, y: FloatArray) -> None:
    """Refuse a model's own scores as labels."""
    if np.array_equal(scores, y) and np.unique(y).size > MOST_GRADES:
        raise ValueError(
            "y must be labels of the items, by people or outcomes, got the model's own "
            "scores. Scores alone go in as X, with scorers.ScoreColumn()."
        )


def cross_fit(
    model: Any,
    queries: Queries,
    cv: Any,
    train: Callable[[Any, IntArray], Any],
    score: Callable[[Any, IntArray], FloatArray],
    seed: int,
) -> Trained:
    """Train a model on all rows; score each row by a model that has not seen its query.

    Parameters
    ----------
    model : estimator
    queries : Queries
    cv : int, splitter by groups, or iterable of (train, test)
    train : callable
        Takes the model and the rows to train on, and returns a fitted clone.
    score : callable
        Takes a fitted model and rows, and returns an array of shape (n_rows, ...).
    seed : int
        Shuffles the queries, if ``cv`` is a number.

    Notes
    -----
    A model of fewer rows spreads its scores in another way. The scores s of fold k are
    put into the units of the final model: m + (s - m_k) sd / sd_k, mean and deviation
    of each model's scores on the rows that trained it.
    """
    folds = folds_of_queries(cv, queries, seed)
    every = np.arange(queries.n_items)
    final = train(model, every)
    own = score(final, every)
    # A power of two: it rounds nothing, and squares of huge scores do not overflow.
    scale = np.exp2(np.frexp(np.abs(own).max())[1] - 1)
    own, found = own / scale, np.empty_like(own)
    for training, held_out in folds:
        part = train(model, training)
        known = score(part, training) / scale
        # A model that learned nothing scores all rows alike.
        unit = own.std() / (known.std() or np.inf)
        new = score(part, held_out) / scale
        found[held_out] = scale * (own.mean() + unit * (new - known.mean()))
    return Trained(final, False, every, found, [held_out for _, held_out in folds])


def folds_of_queries(
    cv: Any, queries: Queries, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Return the rows that train and the held-out ones, ascending, by fold."""
    is_number = isinstance(cv, Integral)
    codes, n_rows = queries.codes, queries.n_items
    try:
        by_query = GroupKFold(cv, shuffle=True, random_state=seed) if is_number else cv
        splits = check_cv(by_query).split(np.zeros((n_rows, 1)), None, codes)
        folds = [(np.sort(train), np.sort(test)) for train, test in splits]
        held_out = np.sort(np.concatenate([test for _, test in folds]))
        cut = any(np.isin(codes[train], codes[test]).any() for train, test in folds)
        if cut or not np.array_equal(held_out, np.arange(n_rows)):
            raise ValueError("each query must be held out once, as a whole")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "cv must be a number of folds or a splitter by groups, such as GroupKFold, "
            f"for {queries.n_queries} queries, got {shown(cv)}: {error}"
        ) from error
    return folds


def draw_seeds(random_state: Any) -> list[int]:
    """Draw a seed for the split of the rows and one for the rule.

    The split then does not depend on what the rule draws.
    """
    return check_random_state(random_state).randint(2**31 - 1, size=2).tolist()


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
    if groups is not None and np.unique(groups[pairs]).size > 1:
        # Queries of one item calibrate nothing.
        held_out[pairs] = hold_out_of_each(
            groups[pairs], calibration_size, random_state
        )
    elif units > 1:
        held_out = hold_out(units, calibration_size, random_state)
    return two_parts(held_out if one else held_out[queries.codes], queries.n_queries)


def two_parts(held_out: BoolArray, n_queries: int) -> tuple[IntArray, IntArray]:
    """Return the training and the calibration rows, at least two each."""
    train, calibration = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if min(train.size, calibration.size) < 2:
        raise ValueError(
            "X must leave at least 2 rows to train on and 2 to calibrate on, got "
            f"{train.size} and {calibration.size} from n_samples={held_out.size} in "
            f"{n_queries} queries. Pass more rows, another calibration_size, or a "
            "fitted ranker."
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
    units = np.arange(n_units)
    drawn = train_test_split(
        units, test_size=size, random_state=random_state, stratify=strata
    )[1]
    return np.isin(units, drawn)


def hold_out_of_each(strata: IntArray, share: float, random_state: Any) -> BoolArray:
    """Draw a share in (0, 1) of the units of each stratum, rounded up, (n_units,)."""
    random = check_random_state(random_state)
    # One permutation, sorted into the strata, puts each stratum in random order.
    order = np.lexsort((random.permutation(strata.size), strata))
    _, first, counts = np.unique(strata[order], return_index=True, return_counts=True)
    place = np.arange(strata.size) - np.repeat(first, counts)
    held_out = np.empty(strata.size, dtype=bool)
    held_out[order] = place < np.repeat(rounded_share(share, counts), counts)
    return held_out
