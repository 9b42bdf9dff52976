"""Read votes: two items by name, who won, and what else is known about the vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray, is_blank, listed, shown
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import read_pair_labels

_NEEDED = ("left", "right", "label")
#: The same columns as arenas of language models name them.
_OF_ARENAS = ("model_a", "model_b", "winner")
#: With fewer clusters the sandwich says too little of the spread between them.
FEW_CLUSTERS = 20
#: What arenas call a tie of two bad answers.
_BOTH_BAD = {"tie (bothbad)", "both_bad"}


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
    covariates : ndarray of shape (n_votes, n_covariates), float64
    cluster : ndarray of shape (n_votes,), int64, or None
        Number of the cluster, from 0.
    """

    items: NDArray[Any]
    left: IntArray
    right: IntArray
    label: IntArray
    weight: FloatArray
    covariates: FloatArray
    cluster: IntArray | None

    @property
    def component(self) -> IntArray:
        """Number of the group of items that met, directly or over others."""
        n, ones = self.items.size, np.ones(self.left.size)
        links = coo_array((ones, (self.left, self.right)), (n, n))
        group: IntArray = connected_components(links, directed=False)[1]
        return group


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
        Columns ``left``, ``right``, ``label``, or ``model_a``, ``model_b``,
        ``winner``; optionally ``weight``, ``time`` and ``vote_id``.
    covariates : sequence of str, default=()
        Columns of numbers.
    cluster : str, default=None
        Column that says which votes belong together.
    half_life : float, default=None
        Age at which a vote counts half, in units of ``time``, or days if that holds
        dates. None: ``time`` is ignored.
    items : ndarray of shape (n_items,), default=None
        Names that are known already; others are refused.
    labels : sequence, default=None
        What means (right, tie, left) or (right, left), as in `read_pair_labels`.
    repeated : bool, default=False
        Whether a ``vote_id`` may occur more than once.

    Returns
    -------
    votes : Votes

    Raises
    ------
    TypeError
        If the table is of another kind.
    ValueError
        If a column or a value is missing, an item is compared with itself or, as text,
        the same as another one, a label is not understood, or a column is of no use.
    """
    if isinstance(covariates, str):
        raise TypeError(
            "covariates must be a sequence of names of columns, got "
            f"{covariates!r}: write covariates=[{covariates!r}]."
        )
    table = _Table(votes)
    sides = [table.names("left"), table.names("right")]
    known = _sorted_names([*sides[0], *sides[1]]) if items is None else items
    left, right = number_names(sides, known)
    same = np.flatnonzero(left == right)
    if same.size:
        raise ValueError(
            "votes must be about two different items, got "
            f"{sides[0][same[0]]!r} against itself in row {same[0]} and {same.size} "
            "such rows in all: drop them."
        )
    if not repeated:
        table.check_ids()
    weight = table.weights()
    if half_life is not None:
        weight = weight * _fading(table.times(), half_life)
    columns = [table.covariate(name) for name in covariates]
    return Votes(
        items=known,
        left=left,
        right=right,
        label=table.labels(labels),
        weight=weight,
        covariates=np.array(columns, dtype=np.float64).reshape(-1, left.size).T,
        cluster=None if cluster is None else table.clusters(cluster),
    )


def vote_ids(votes: Any) -> list[Any]:
    """Return the column ``vote_id`` of a table that was read before."""
    table = _Table(votes)
    return _check_named(
        table.column("vote_id", "judges needs vote_id, which"), "vote_id"
    )


class _Table:
    """Columns of votes, as lists."""

    def __init__(self, votes: Any) -> None:
        columns = _columns(votes)
        if not {*_NEEDED} & columns.keys() and columns.keys() >= {*_OF_ARENAS}:
            renamed = dict(zip(_OF_ARENAS, _NEEDED, strict=True))
            columns = {renamed.get(name, name): c for name, c in columns.items()}
        if not columns.keys() >= {*_NEEDED}:
            raise ValueError(
                "votes must have columns left, right, label, or model_a, model_b, "
                f"winner, got {listed(columns)}."
            )
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"votes must have columns of one length, got {lengths}.")
        if not lengths["label"]:
            raise ValueError("votes must have at least one row, got none.")
        self._columns = columns

    def column(self, name: str, parameter: str) -> list[Any]:
        """Return a column that a parameter names."""
        if name not in self._columns:
            raise ValueError(
                f"{parameter} must name a column of votes, got {name!r}; there are "
                f"{listed(self._columns)}."
            )
        return self._columns[name]

    def names(self, side: str) -> list[Any]:
        """Return the names of the items on one side."""
        return _check_named(self._columns[side], side)

    def labels(self, labels: Any) -> IntArray:
        """Return +1, 0 and -1."""
        column = self._columns["label"]
        kinds = set(_check_named(column, "label"))
        values = np.empty(len(column), dtype=object)
        values[:] = column
        if labels is None:
            # In tables of results 1 and 0 are left and right, in -1, 0, 1 left and tie.
            if kinds == {0, 1}:
                raise ValueError(
                    "votes must have labels whose meaning is clear, as left, tie and "
                    "right, got [0, 1], where 0 may be a tie or the right one: say "
                    "labels=(-1, 0, 1) or labels=(0, 1) to fit."
                )
            values[:] = ["tie" if value in _BOTH_BAD else value for value in column]
        return read_pair_labels(values, labels, name="votes['label']")

    def weights(self) -> FloatArray:
        """Return the weights; 1 without a column for them."""
        n = len(self._columns["label"])
        if "weight" not in self._columns:
            return np.ones(n)
        weight = _numbers(self._columns["weight"], "votes['weight']")
        bad = np.flatnonzero(weight < 0)
        if bad.size or not weight.any():
            raise ValueError(
                "votes must have weights that are not negative, some of them positive, "
                f"got {weight[bad[0] if bad.size else 0]:g}."
            )
        return weight

    def times(self) -> FloatArray:
        """Return times as numbers, dates as days."""
        column = _check_named(self.column("time", "half_life needs time and"), "time")
        try:
            return np.array([_days(value) for value in column])
        except (TypeError, ValueError):
            raise ValueError(
                "votes must have times that are numbers or dates, got "
                f"{shown(column[0])}."
            ) from None

    def covariate(self, name: str) -> FloatArray:
        """Return a column of numbers that are not all 0."""
        column = _numbers(self.column(name, "covariates"), f"votes[{name!r}]")
        if not column.any():
            raise ValueError(
                f"covariates must differ from 0 somewhere, got {name!r}, which is 0 in "
                "every vote: leave it out."
            )
        return column

    def clusters(self, name: str) -> IntArray:
        """Return numbers for the values of a column."""
        column = _check_named(self.column(name, "cluster"), name)
        number = {value: k for k, value in enumerate(dict.fromkeys(column))}
        if len(number) < 2:
            raise ValueError(
                f"cluster must name a column with at least two values, got {name!r} "
                f"with {column[0]!r} alone: no spread between clusters can be seen."
            )
        if len(number) < FEW_CLUSTERS:
            warn_user(
                f"{name!r} has {len(number)} clusters; with fewer than {FEW_CLUSTERS} "
                "the spread between them is known badly: few orders can be sure, and "
                "the promise is a rough one."
            )
        return np.fromiter(map(number.__getitem__, column), np.int64, len(column))

    def check_ids(self) -> None:
        """Refuse the same vote twice."""
        column = self._columns.get("vote_id", [])
        if len(set(column)) < len(column):
            first: dict[Any, int] = {}
            for row, value in enumerate(column):
                if first.setdefault(value, row) != row:
                    raise ValueError(
                        "votes must have each vote_id once, got "
                        f"{value!r} in rows {first[value]} and {row}: drop repeated "
                        "votes, or the column."
                    )


def _columns(votes: Any) -> dict[str, list[Any]]:
    if isinstance(votes, Sequence) and not isinstance(votes, str | bytes):
        for row, vote in enumerate(votes):
            if not isinstance(vote, Mapping):
                raise TypeError(
                    f"votes must hold mappings, got {shown(vote)} in row {row}."
                )
        every = dict.fromkeys(name for vote in votes for name in vote)
        return {str(name): [vote.get(name) for vote in votes] for name in every}
    if isinstance(votes, Mapping) or hasattr(votes, "columns"):
        names = votes if isinstance(votes, Mapping) else votes.columns
        return {str(name): _listed_values(votes[name]) for name in names}
    raise TypeError(
        "votes must be a frame, a mapping of columns or a list of mappings, got "
        f"{shown(votes)}."
    )


def _listed_values(column: Any) -> list[Any]:
    """Return the values of a column, as Python's where that loses nothing."""
    dates = getattr(getattr(column, "dtype", None), "kind", "") == "M"
    values = column if dates or not hasattr(column, "tolist") else column.tolist()
    return list(values)


def _days(value: Any) -> float:
    """Return a date as days, a number as it is."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.timestamp() / 86_400
    return float(value.toordinal() if isinstance(value, date) else value)


def _check_named(column: list[Any], name: str) -> list[Any]:
    """Return a column without missing values that can be looked up."""
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
            f"{rows[0]} and {len(rows)} such rows in all: fill it in, or drop the rows."
        )
    return column


def _numbers(column: list[Any], name: str) -> FloatArray:
    try:
        values = np.array(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers, got {shown(column[0])}.") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"{name} must be finite, got {column[bad[0]]!r} in row {bad[0]} and "
            f"{bad.size} such rows in all."
        )
    return values


def _sorted_names(names: list[Any]) -> NDArray[Any]:
    """Return different names in an order that does not depend on that of the votes."""
    every = list(set(names))
    texts: dict[str, Any] = {}
    for name in every:
        other = texts.setdefault(str(name), name)
        if other is not name:
            raise ValueError(
                "votes must write the name of an item in one way, got "
                f"{other!r} and {name!r}: make both text, or both numbers."
            )
    try:
        every.sort()
    except TypeError:
        every.sort(key=str)
    return array_of_names(every)


def array_of_names(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of texts, of integers, or of what they are."""
    if all(isinstance(name, str) for name in names):
        return np.array(names)
    if all(type(name) is int for name in names):
        return np.array(names, dtype=np.int64)
    items = np.empty(len(names), dtype=object)
    items[:] = names
    return items


def number_names(sides: list[list[Any]], items: NDArray[Any]) -> list[IntArray]:
    """Return the positions of the names of both sides."""
    number = {name: k for k, name in enumerate(items.tolist())}
    try:
        return [
            np.fromiter(map(number.__getitem__, side), np.int64, len(side))
            for side in sides
        ]
    except KeyError as error:
        raise ValueError(
            f"votes must be about items of the board, got {error.args[0]!r}; it has "
            f"{listed(items.tolist())}."
        ) from None


def _fading(time: FloatArray, half_life: float) -> FloatArray:
    """Return the weights of votes by their age."""
    return np.asarray(np.exp2((time - time.max()) / half_life), np.float64)
