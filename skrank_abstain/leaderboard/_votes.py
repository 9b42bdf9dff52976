"""Read votes, judges' votes, and metrics of systems: tables in, numbers out."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain import pairs
from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import (
    check_finite,
    check_positive,
    check_positive_int,
    is_blank,
    is_missing,
    listed,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.review import OF_THE_MODEL, settle_pages

#: Needed columns, and their names in questions and in arenas.
_NEEDED = {
    "left": ("left_id", "left", "model_a"),
    "right": ("right_id", "right", "model_b"),
    "label": ("label", "winner"),
}
#: Names of columns of ids, and names of queries.
_IDS = {"qid", "query", "query_id", "topic", "system"}
#: Names of rows of means.
_MEANS = {"all", "mean", "average", "avg", "total"}
_WIDE = (
    " Make a long table wide with "
    'frame.pivot(index="query", columns="system", values="metric").'
)
_QUERY = re.compile(r"(q|qid|query|topic)[-_ .]?\d+", re.IGNORECASE)
#: Names of columns that say who voted.
_WHO = re.compile(
    r"(?i)(.*[-_ .])?(voter|reviewer|user|judge|annotator|rater|labell?er|assessor|"
    r"worker|participant|tester|session|conversation|ip)([-_ .]?(id|name|address))?"
)
#: If even the oldest vote counts more, half_life has probably another unit.
_UNFADED = 0.99
#: Names of columns that say when somebody voted; a response_time is none.
_WHEN = re.compile(r"(?i)time|ts|date(time)?|(.*_)?t(ime)?_?stamp|\w+ed_?at")
#: A moment with a fraction of a second, which two voters hardly share.
_FRACTION = re.compile(r"\d:\d\d:\d\d\.\d*[1-9]")
#: A date, or a number that is too small for seconds since 1970.
_DAY = re.compile(r"\d{1,8}(\.\d\d?)?|(\d+[-./] ?){2}\d+([ T]0?0:00(:00(\.0+)?)?)?")
#: Other columns that are read.
_OTHERS = ("count", "weight", "time", "vote_id")
#: Words of arenas for the winner, where other rows have answers of people.
_SIDES = {"model_a": "left", "model_b": "right"}


@dataclass(frozen=True, eq=False)
class Votes(Value):
    """Votes with numbers for names.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        Names, sorted.
    left, right, label : ndarray of shape (n_votes,), int64
        Positions in ``items``; +1 left wins, 0 tie, -1 right wins.
    weight : ndarray of shape (n_votes,), float64
        0 for a copy of another vote.
    covariates : ndarray of shape (n_votes, n_covariates), float64
    cluster : ndarray of shape (n_votes,), int64, or None
        Number of the cluster, from 0.
    cluster_names : ndarray of shape (n_clusters,), or None
    """

    items: NDArray[Any]
    left: IntArray
    right: IntArray
    label: IntArray
    weight: FloatArray
    covariates: FloatArray
    cluster: IntArray | None = None
    cluster_names: NDArray[Any] | None = None

    def take(self, rows: Any) -> Self:
        """Return some of the votes, about the same items."""
        names = ("left", "right", "label", "weight", "covariates")
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        cluster = None if self.cluster is None else self.cluster[rows]
        return replace(self, **columns, cluster=cluster)

    @property
    def clusters(self) -> IntArray:
        """Number of the cluster of each vote; its row where no column names one."""
        return np.arange(self.left.size) if self.cluster is None else self.cluster

    @property
    def per_item(self) -> IntArray:
        """Number of votes about each item, without those of weight 0."""
        both = np.concatenate([self.left, self.right])[np.tile(self.weight > 0, 2)]
        return np.bincount(both, minlength=self.items.size)

    @property
    def component(self) -> IntArray:
        """Number of the group of items that are linked by votes."""
        n, ones = self.items.size, np.ones(self.left.size)
        links = coo_array((ones, (self.left, self.right)), (n, n))
        return connected_components(links, directed=False)[1]


def read_votes(
    votes: Any,
    *,
    covariates: Sequence[str] = (),
    cluster: str | None = None,
    half_life: float | None = None,
    items: NDArray[Any] | None = None,
    labels: Any = None,
    repeated: bool = False,
) -> Votes:
    """Check a table of votes and number its items.

    Parameters
    ----------
    votes : frame, mapping of columns or sequence of mappings
        Columns ``left``, ``right``, ``label``, or ``left_id``, ``right_id``, or
        ``model_a``, ``model_b``, ``winner``; optionally ``count``, ``weight``, ``time``
        and ``vote_id``.
    covariates : sequence of str, default=()
        Columns of numbers.
    cluster : str, default=None
        Column that says which votes belong together.
    half_life : float, default=None
        Age at which a vote counts half, in units of ``time``, or days if that holds
        dates. None: ``time`` is ignored.
    items : ndarray of shape (n_items,), default=None
        Known names; others are refused.
    labels : mapping, default=None
        What labels mean, as in `read_pair_labels`, or "skip": one that does not count.
    repeated : bool, default=False
        Whether a ``vote_id`` may occur more than once.

    Returns
    -------
    votes : Votes

    Warns
    -----
    UserWarning
        If votes are there twice, if nearly all votes are old, or if a column that is
        not ``cluster`` says who voted.

    Raises
    ------
    TypeError
        If the table is of another kind.
    ValueError
        If a column or a value is missing, an item is compared with itself or, as text,
        the same as another one, a label is not understood or the board's own, a column
        is of no use, or fewer than ten votes' worth is left after ``half_life``.
    """
    if isinstance(covariates, str):
        raise TypeError(
            f"covariates must be a sequence, got {covariates!r}: write "
            f"covariates=[{covariates!r}]."
        )
    table = _open(votes)
    known = [*chain(*_NEEDED.values()), *_OTHERS, *covariates]
    groups = () if cluster is None else _clusters(table, cluster)
    known += [] if cluster is None else [cluster]
    pairs.warn_of_unread(table, known, "votes", every=False)
    if cluster is None and items is None:
        _warn_of_voters({name: table[name] for name in table if name not in known})
    sides = [_named(table[x], _users_name(table, x)) for x in ("left", "right")]
    names = _sorted_names([*sides[0], *sides[1]]) if items is None else items
    left, right = number_names(sides, names)
    same = np.flatnonzero(left == right)
    if same.size:
        raise ValueError(
            f"votes must be about two different items, got {sides[0][same[0]]!r} "
            f"against itself and {same.size} such rows in all: drop them."
        )
    name = _users_name(table, "label")
    column = _named(table["label"], name)
    label, counts = pairs.read_winners(column, labels, sides, f"votes[{name!r}]")
    weight = _weights(table, counts)
    if not repeated:
        pair, turned = np.sort([left, right], axis=0), np.where(left > right, -1, 1)
        weight[_copies(table, np.vstack([pair, turned * label]), weight)] = 0
        # Answers of a page have none.
        ids = [x for x in compress(table.get("vote_id", ()), weight) if not is_blank(x)]
        if len(set(ids)) < len(ids):
            name, times = Counter(ids).most_common(1)[0]
            raise ValueError(
                f"votes must have each vote_id once, got {name!r} in {times} rows: "
                "drop repeated votes, or the column."
            )
    if half_life is not None:
        check_positive(half_life, "half_life")
        needs = "half_life needs time: rename yours, such as tstamp, to time. It"
        time = pairs.read_times(_column(table, "time", needs), "votes")
        faded = np.exp2((time - time.max()) / half_life)
        n_young = int((faded > 0.5).sum())
        if min(faded.sum(), n_young) < 10 <= faded.size:
            text = (
                "half_life must leave at least ten votes' worth, and should leave ten "
                f"votes that count more than half, got {faded.sum():.3g} and {n_young} "
                f"of {faded.size} with {half_life} for times up to {time.max():g}: it "
                "has the unit of time, or days for dates, and one vote in the future "
                "makes all others old."
            )
            if faded.sum() < 10:
                raise ValueError(text)
            warn_user(text)
        elif faded.min() > _UNFADED:
            warn_user(
                f"half_life={half_life:g} fades no vote: the oldest counts "
                f"{faded.min():.2%}. It has the unit of time, or days for dates."
            )
        weight *= faded
    columns = [_covariate(table, each) for each in covariates]
    numbers = np.array(columns, dtype=np.float64).reshape(-1, left.size).T
    return Votes(names, left, right, label, weight, numbers, *groups)


def _warn_of_voters(columns: Mapping[str, list[Any]]) -> None:
    """Warn of columns that say who voted, if some voted more than once."""
    who = {}
    for name in filter(_WHO.fullmatch, columns):
        voters = [str(value) for value in columns[name] if not is_blank(value)]
        if 1 < len({*voters}) < len(voters):  # one voter alone is no cluster
            who[name] = len(voters), -len({*voters})
    if who:
        name = max(who, key=who.__getitem__)  # the column of most votes
        warn_user(
            f"votes name {-who[name][1]} voters of {who[name][0]} votes in {name!r}, "
            "and each vote counts by itself. One person's votes are alike, and false "
            f"orders then look sure: pass cluster={name!r}, or drop the column."
        )


def _copies(
    table: Mapping[str, list[Any]], votes: IntArray, weight: FloatArray
) -> list[int]:
    """Return the rows of votes that stand again in a later row, with one warning.

    A page for voters writes all answers each time that it saves, and a table may be
    joined with itself. Rows of one voter and one time that are equal are one vote. A
    moment with a fraction of a second needs no reviewer, who may be called as the file.
    """
    missing, copies = [None] * weight.size, []
    when = _filled(*map(table.get, filter(_WHEN.fullmatch, table)))
    who = _filled(missing, *map(table.get, filter(_WHO.fullmatch, table)))
    if not when or "count" in table:
        return []
    # Votes of one batch may have one time, and differ by their prompts.
    names = table.keys() - {*chain(*_NEEDED.values()), "reviewer", "answer_id"}
    beside = zip(*map(table.get, names), strict=True)
    last: dict[Any, int] = {}
    rows = zip(when, who, beside, *votes.tolist(), strict=True)
    for row, (time, voter, others, *vote) in enumerate(rows):
        exact = "time" in table and _FRACTION.search(str(time)) is not None
        dated = is_blank(voter) or _DAY.fullmatch(str(time))  # a day fits many votes
        if weight[row] and not is_blank(time) and (exact or not dated):
            key = exact or str(voter), *map(str, (*others, *vote))
            copies += [last[key]] if key in last else []
            last[key] = row
    if copies:
        warn_user(
            f"votes repeat {len(copies)} votes with their voter, time, items and "
            "winner, as two files do that one page saved: each counts once."
        )
    return copies


def split_votes(votes: Any, by: str, weight: FloatArray) -> dict[Any, Any]:
    """Return the columns of the votes of each value of a column, with these weights."""
    table = _open(votes)
    category = _named(_column(table, by, "by"), by)
    pairs.check_spelling(set(category), "votes", "category")
    for name in ("model_a", "model_b", "winner"):  # our names hold them all
        table.pop(name, None)
    table["weight"] = weight.tolist()
    rows: dict[Any, list[int]] = {name: [] for name in sorted(set(category), key=str)}
    for row, name in enumerate(category):
        rows[name].append(row)
    return {
        name: {x: [values[row] for row in some] for x, values in table.items()}
        for name, some in rows.items()
    }


def read_judges(
    judges: Any, votes: Any, people: Votes, labels: Any = None
) -> tuple[Votes, IntArray]:
    """Check a table of judges' votes and find the battles that people voted on.

    Parameters
    ----------
    judges, votes : frame, mapping of columns or sequence of mappings
        Tables as for `read_votes`, with a column ``vote_id`` that names the battle.
    people : Votes
        ``votes`` as they were read.
    labels : mapping, default=None
        As in `read_votes`.

    Returns
    -------
    judges : Votes
        The clusters are battles. The votes on a battle share a weight of 1.
    vote : ndarray of shape (n_votes,), int64
        Row of the person's vote on the battle; -1 if no person voted.

    Raises
    ------
    ValueError
        If a table is invalid or lacks ``vote_id``, a battle is not between the same
        items, or judges have not voted on two battles of either kind.
    """
    try:
        table = read_votes(judges, items=people.items, labels=labels, repeated=True)
        ids = np.array(_named(_vote_ids(judges), "vote_id"), dtype=object)
    except (TypeError, ValueError) as error:
        raise type(error)(f"judges must be a table of votes: {error}") from None
    if odd := {"weight", "count"} & _open(judges).keys():
        raise ValueError(
            "judges must vote once a row, and each battle counts alike, got columns "
            f"{listed(sorted(odd))}: drop them."
        )
    table, ids = table.take(table.weight > 0), ids[table.weight > 0]
    named = enumerate(_vote_ids(votes))
    rows = {name: row for row, name in named if not is_blank(name)}
    vote = np.fromiter((rows.get(name, -1) for name in ids), np.int64, len(ids))
    seen = vote >= 0
    ours = np.stack([table.left, table.right])[:, seen]
    theirs = np.stack([people.left, people.right])[:, vote[seen]]
    other = np.flatnonzero((np.sort(ours, axis=0) != np.sort(theirs, axis=0)).any(0))
    if other.size:
        raise ValueError(
            "judges must vote on the same two items as people, got vote_id "
            f"{ids[seen][other[0]]!r} "
            f"with others, and {other.size} such votes in all."
        )
    battle = _positions(ids.tolist(), dict.fromkeys(ids))
    both, alone = (np.unique(battle[some]).size for some in (seen, ~seen))
    if min(both, alone) < 2:
        raise ValueError(
            "judges must have voted on some battles that people voted on (the same "
            f"vote_id) and on others, at least two of each, got {both} and {alone}."
        )
    return replace(table, weight=1 / np.bincount(battle)[battle], cluster=battle), vote


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
    columns = [np.asarray(frame[name]) for name in names]
    _refuse_others(frame, names, columns)
    sizes = {column.size for column in columns}
    if len(sizes) > 1 or min(sizes) < 2:
        raise ValueError(
            "frame must have the same rows, at least two queries, in every column, got "
            f"columns of {listed(sorted(sizes))} values."
        )
    scores = np.stack([*map(_metric, names, columns)], axis=1)
    return _array_of_names(names), scores[np.isfinite(scores).any(axis=1)]


def _refuse_others(frame: Any, names: list[Any], columns: list[NDArray[Any]]) -> None:
    """Raise for systems as rows, columns of ids, and long tables."""
    rows = list(getattr(frame, "index", ()))
    like = [_like_an_id(column) for column in columns]
    turned = all(isinstance(name, int | np.integer) for name in names)
    turned &= any(isinstance(row, str) for row in rows)
    turned |= all(_QUERY.fullmatch(str(name)) for name in names)
    ids = [
        name
        for name, even in zip(names, like, strict=True)
        if str(name).strip().lower() in _IDS or (even and None in like)
    ]
    means = [row for row in rows if str(row).strip().lower() in _MEANS]
    if turned or ids or means:
        got = f"{ids[0]!r}, which looks like an id" if ids else "queries as columns"
        got = f"the row {means[0]!r}, a mean of the others" if means else got
        raise ValueError(
            "frame must have a column for each system, of its metric alone, and a row "
            f"for each query, got {got}. Turn it with frame.T, leave ids out with "
            f"frame.set_index.{_WIDE}"
        )


def _like_an_id(column: NDArray[Any]) -> bool | None:
    """Return whether all of many whole numbers occur equally often; None for others."""
    # Counts of which some are missing are floats, and so are ids after a merge.
    if column.dtype.kind not in "iuf" or (column[np.isfinite(column)] % 1).any():
        return None
    times = np.unique(column[np.isfinite(column)], return_counts=True)[1]
    return bool(times.size > 2 and times.sum() > 5 and np.ptp(times) == 0)


def _metric(name: Any, column: NDArray[Any]) -> FloatArray:
    """Return the metric of a system on each query; NaN where it has none."""
    missing = np.array([is_missing(value) for value in column.tolist()])
    values = np.full(column.size, np.nan)
    values[~missing] = check_finite(
        column[~missing], f"frame[{name!r}]", ("n_queries",), remedy=_WIDE
    )
    return values


def number_names(sides: list[list[Any]], items: NDArray[Any]) -> list[IntArray]:
    """Return the positions of the names of both sides."""
    try:
        return [_positions(side, items.tolist()) for side in sides]
    except KeyError as error:
        raise ValueError(
            f"votes must be about items of the board, got {error.args[0]!r}; it has "
            f"{listed(items.tolist())}."
        ) from None


def _positions(values: list[Any], among: Iterable[Any]) -> IntArray:
    number = {value: k for k, value in enumerate(among)}
    return np.fromiter(map(number.__getitem__, values), np.int64, len(values))


def _open(votes: Any) -> dict[str, list[Any]]:
    """Return the columns of a table of votes, under our names."""
    columns: dict[str, Any] = pairs.read_columns(votes, "votes")
    if "count" in columns:
        times = [check_positive_int(n, "count", minimum=0) for n in columns["count"]]
        rows = [row for row, n in enumerate(times) for _ in range(n)]
        columns = {name: [column[k] for k in rows] for name, column in columns.items()}
        columns["count"] = [1] * len(rows)  # as it is read again
    names = [*columns]
    if {"label", "winner"} <= columns.keys():
        columns["winner"] = [_SIDES.get(value, value) for value in columns["winner"]]
    clash = False
    for ours, theirs in _NEEDED.items():
        first, *others = [columns[n] for n in theirs if n in names] or [None]
        for column in others:
            first = _filled(first, column)
            # Beside left_id, left is a row, as in questions.
            clash |= "left_id" not in names and _filled(column, first) != first
        columns[ours] = first
    if clash or None in columns.values() or {*OF_THE_MODEL, "pvalue"} & {*names}:
        raise ValueError(
            "votes must have columns left, right, label, or model_a, model_b, winner, "
            "in each row one of label and winner (two names for one column: drop or "
            f"rename one where they differ), got {listed(names)}. Questions, whose "
            f"label is the board's, are no votes: they have {listed(OF_THE_MODEL)}."
        )
    if not columns["label"]:
        raise ValueError("votes must have at least one row, got none.")
    if "answer_id" in columns:
        last = settle_pages(columns)
        columns["weight"] = last * np.array(columns.get("weight", [1.0] * last.size))
    return columns


def _users_name(table: Mapping[str, list[Any]], ours: str) -> str:
    """Return what a needed column was called in the user's table."""
    names = (name for name in _NEEDED[ours] if table.get(name) is table[ours])
    return next((name for name in names if name != ours), ours)


def _column(table: Mapping[str, list[Any]], name: str, parameter: str) -> list[Any]:
    """Return a column that a parameter names."""
    if not isinstance(name, str) or name not in table:
        given = [x for x in table if x not in _NEEDED or _users_name(table, x) == x]
        raise ValueError(
            f"{parameter} must name a column of votes, got {shown(name)}; there are "
            f"{listed(given)}."
        )
    return table[name]


def _vote_ids(votes: Any) -> list[Any]:
    """Return the column ``vote_id`` of a table that was read before."""
    return _column(_open(votes), "vote_id", "judges needs vote_id, which")


def _weights(table: Mapping[str, list[Any]], counts: BoolArray) -> FloatArray:
    """Return the weights, 1 without a column for them; 0 of skipped votes."""
    given = table.get("weight", np.ones(counts.size))
    weight = counts * check_finite(given, "votes['weight']", error=TypeError)
    # Beyond that the weights of the votes outweigh the prior by more than rounding.
    if weight.min() < 0 or not weight.any() or weight.max() > 1e4:
        raise ValueError(
            "votes must have weights that are not negative, some of them positive, and "
            f"none above 10,000, got {weight.min():g} to {weight.max():g}; a column "
            "count is for equal votes."
        )
    return weight


def _covariate(table: Mapping[str, list[Any]], name: str) -> FloatArray:
    """Return a column of numbers that are not all 0."""
    column = _column(table, name, "covariates")
    numbers = check_finite(column, f"votes[{name!r}]", error=TypeError)
    if not numbers.any():
        raise ValueError(
            f"covariates must differ from 0 somewhere, got {name!r}, which is 0 in "
            "every vote: leave it out."
        )
    return numbers


def _clusters(table: Mapping[str, list[Any]], name: str) -> tuple[IntArray, Any]:
    """Return numbers for the values of a column, and these values."""
    column = _column(table, name, "cluster")
    # A log names voters in this column, the answers from a page in reviewer.
    column = _filled(column, table.get("reviewer", column))
    remedy = "give each unknown one an id of its own: one id for all makes them one"
    every = dict.fromkeys(_named(column, name, remedy))
    if _WHO.fullmatch(name):  # two prompts may differ by case alone
        pairs.check_spelling(every, "votes", "voter")
    if len(every) < 2:
        raise ValueError(
            f"cluster must name a column with at least two values, got {name!r} "
            f"with {column[0]!r} alone: no spread between clusters can be seen."
        )
    # Numbers do not depend on the order of the votes, nor do draws by cluster.
    names = sorted(every, key=str)
    return _positions(column, names), _array_of_names(names)


def _filled(*columns: Any) -> list[Any]:
    """Return the first value of each row that is not blank, or the last one."""
    rows = zip(*columns, strict=True)
    return [next((x for x in row if not is_blank(x)), row[-1]) for row in rows]


def _named(column: list[Any], name: str, remedy: str = "fill it in") -> list[Any]:
    """Return a column; raise for missing values or values without a hash."""
    try:
        kinds = set(column)
    except TypeError:
        raise TypeError(
            f"votes must have values in {name!r} that can be compared, such as text or "
            f"numbers, got {shown(column[0])}."
        ) from None
    # NaN is unlike itself, so that a set may hold it as often as it occurs.
    if any(map(is_blank, kinds)):
        rows = [row for row, value in enumerate(column) if is_blank(value)]
        raise ValueError(
            f"votes must have {name} in every row, got {column[rows[0]]!r} in row "
            f"{rows[0]} and {len(rows)} such rows in all: {remedy}, or drop the rows."
        )
    return column


def _sorted_names(names: list[Any]) -> NDArray[Any]:
    """Return each name once, in an order that does not depend on that of the votes."""
    every = list(set(names))
    pairs.check_spelling(every, "votes", "item")
    with suppress(TypeError):
        return _array_of_names(sorted(every))
    return _array_of_names(sorted(every, key=str))


def _array_of_names(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of texts, of integers, or else of objects."""
    if all(isinstance(name, str) for name in names):
        return np.array(names)
    if all(type(name) is int for name in names):
        return np.array(names, dtype=np.int64)
    return np.fromiter(names, dtype=object, count=len(names))
