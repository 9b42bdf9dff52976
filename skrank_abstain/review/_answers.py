"""The table of answers: who said what about which pair, in one canonical order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import IntArray, listed, shown
from skrank_abstain.pairs import Queries, read_pair_labels

_FLOAT = re.compile(r"-?\d+\.0")
_DATE = re.compile(r"\d{4}-[01]\d-[0-3]\d([ T][0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?)?")
#: Who answers where nobody is named.
_ANYONE = "reviewer"
#: Who gives answers that are known to be right.
GOLD = "gold"
_NEEDED = ("left", "right", "label")
#: Columns of decisions and questions, whose label is the model's.
_OF_THE_MODEL = ("risk", "accepted", "p_left", "value")


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers that count, sorted by query, pair, label and reviewer.

    Attributes
    ----------
    query : ndarray of shape (n_answers,), int64
        Number of the query.
    left, right : ndarray of shape (n_answers,), int64
        Positions of the items in their query, ``left < right``.
    label : ndarray of shape (n_answers,), int64
        ``+1`` left preferred, ``0`` tie, ``-1`` right preferred.
    reviewer : ndarray of shape (n_answers,), int64
        Position in ``reviewers``.
    row : ndarray of shape (n_answers,), int64
        Position in the table that was given.
    reviewers : tuple of str
        Sorted.
    changed : tuple of tuple of int
        Rows of the table in which one reviewer says different things about one pair.
    """

    query: IntArray
    left: IntArray
    right: IntArray
    label: IntArray
    reviewer: IntArray
    row: IntArray
    reviewers: tuple[str, ...] = ()
    changed: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return int(self.query.size)

    @property
    def pair_start(self) -> IntArray:
        """Where the answers about each pair start, shape (n_answered + 1,)."""
        keys = np.stack([self.query, self.left, self.right])
        new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        return np.append(np.flatnonzero(new[: len(self)]), len(self))


def join_gold(answers: Any, gold: Any, *, by_name: bool) -> dict[str, list[Any]]:
    """Return one table of answers: the rows of gold last, as said by `GOLD`."""
    said, known = (_columns(table, by_name=by_name) for table in (answers, gold))
    if "reviewer" in known:
        raise ValueError("gold must have no column reviewer: its answers are right.")
    n, m = len(said["label"]), len(known["label"])
    joined = {name: said[name] + known[name] for name in _NEEDED}
    joined["reviewer"] = said.get("reviewer", [_ANYONE] * n) + [GOLD] * m
    if "qid" in said or "qid" in known:
        joined["qid"] = said.get("qid", [None] * n) + known.get("qid", [None] * m)
    if "time" in said:
        joined["time"] = said["time"] + [0] * m  # compared with each other alone
    return joined


def take_answers(
    answers: Any, queries: Queries, item_id: NDArray[Any] | None
) -> Answers:
    """Check a table of answers, and bring it into canonical order.

    Parameters
    ----------
    answers : None, frame, mapping of columns or sequence of mappings
        Columns ``left``, ``right``, ``label``; ``qid`` unless there is one query or
        items are row positions; and as wished ``reviewer`` and ``time``. Columns
        ``left_id`` and ``right_id`` stand for the first two, with ``item_id`` or where
        these are absent. Others are not looked at.
    queries : Queries
    item_id : ndarray of shape (n_items,), or None
        None: items are called by their row positions.

    Returns
    -------
    answers : Answers
        Whatever the order of the rows: the same. Rows that say the same of one pair
        by one reviewer count once; of different ones by one reviewer the last counts,
        where there is a time, else all.

    Raises
    ------
    TypeError
        If the table is of another kind.
    ValueError
        If a column or a value is missing, an item is unknown or in another query, the
        two are the same, a label is not understood, two reviewers differ by case alone,
        or the table is one of decisions, whose labels nobody said.
    """
    table = _columns(answers, by_name=item_id is not None)
    n = len(table["label"])
    left, right = _rows(table, queries, item_id)
    bad = np.flatnonzero(left == right)
    if bad.size:
        raise ValueError(
            "answers must be about two different items, got the same one twice in row "
            f"{bad[0]} and {bad.size} such rows in all."
        )
    label = _labels(table["label"])
    named = _check_known(table.get("reviewer", [_ANYONE] * n), "reviewer")
    position = np.empty(queries.n_items, dtype=np.int64)
    starts = np.repeat(queries.offsets[:-1], queries.sizes)
    position[queries.order] = np.arange(queries.n_items) - starts
    swapped = position[left] > position[right]
    query = queries.codes[left]
    left, right = np.where(swapped, (right, left), (left, right))
    label = np.where(swapped, -label, label)
    named = [name.strip() for name in named]
    reviewers, code = np.unique(np.array(named, dtype=np.str_), return_inverse=True)
    check_spelling(reviewers.tolist(), "answers")
    keys = np.stack([query, position[left], position[right], label, code.reshape(-1)])
    kept, row = np.unique(keys, axis=1, return_index=True)
    changed, dropped = _changed(keys, kept, row, table.get("time"))
    kept, row = kept[:, ~dropped], row[~dropped]
    query, left, right, label, reviewer = kept
    names = tuple(reviewers.tolist())
    return Answers(query, left, right, label, reviewer, row, names, changed)


def check_spelling(names: Iterable[str], parameter: str) -> None:
    """Refuse names of reviewers that differ by case alone."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"{parameter} must write the name of each reviewer in one way, got "
                f"{other!r} and {name!r}: use one of them everywhere."
            )


def _columns(answers: Any, *, by_name: bool) -> dict[str, list[Any]]:
    """Return the columns of the table as lists of one length."""
    if answers is None:
        return {name: [] for name in _NEEDED}
    if isinstance(answers, str | bytes):
        raise TypeError(
            f"answers must be a table, got {shown(answers)}: read a file first."
        )
    if isinstance(answers, Sequence):
        found = _columns_of_rows(answers)
    elif isinstance(answers, Mapping):
        found = {str(name): list(column) for name, column in answers.items()}
    elif hasattr(answers, "columns"):
        found = {str(name): list(answers[name]) for name in answers.columns}
    else:
        raise TypeError(
            "answers must be a frame, a mapping of columns or a list of mappings, got "
            f"{shown(answers)}."
        )
    guessed = [name for name in _OF_THE_MODEL if name in found]
    if guessed:
        raise ValueError(
            "answers must hold what people said, got the columns of decisions or "
            f"questions ({', '.join(guessed)}), whose label is the model's: keep qid, "
            "the items and, as label, the answer."
        )
    ids = {"left_id", "right_id"} <= found.keys()
    if ids and (by_name or not {"left", "right"} & found.keys()):
        # Tasks have them alone; beside them left and right are row positions, which
        # ids may look like.
        found |= {"left": found["left_id"], "right": found["right_id"]}
    missing = [name for name in _NEEDED if name not in found]
    if missing and found:
        raise ValueError(
            "answers must have columns qid, left, right, label, and as wished reviewer "
            f"and time, got {listed(found)}."
        )
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"answers must have columns of one length, got {lengths}.")
    return found or {name: [] for name in _NEEDED}


def _columns_of_rows(rows: Sequence[Any]) -> dict[str, list[Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"answers must hold mappings, got {shown(row)} in row {number}."
            )
    every = list(dict.fromkeys(name for row in rows for name in row))
    for number, row in enumerate(rows):
        lacking = [name for name in every if name not in row]
        if lacking:
            raise ValueError(
                "answers must have the same columns in all rows, got none called "
                f"{lacking[0]!r} in row {number}: add it there, or take it out of all."
            )
    return {str(name): [row[name] for row in rows] for name in every}


def _text(value: Any) -> str:
    """Return an identifier as text, which files and frames write in several ways."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    text = value.isoformat() if isinstance(value, date) else str(value)
    if _DATE.fullmatch(text):
        return str(np.datetime64(text, "us"))
    # An integer that was a float in a frame before it came into a file.
    return text.removesuffix(".0") if _FLOAT.fullmatch(text) else text


def _missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _check_known(column: list[Any], name: str, remedy: str = "") -> list[str]:
    for number, value in enumerate(column):
        if _missing(value):
            raise ValueError(
                f"answers must say {name} in every row, got {value!r} in row {number}."
                f"{remedy}"
            )
    return [_text(value) for value in column]


def _rows(
    table: dict[str, list[Any]], queries: Queries, item_id: NDArray[Any] | None
) -> tuple[IntArray, IntArray]:
    """Return the rows of X of the two items of each answer."""
    of_query = [_text(value) for value in queries.values]
    qid = _queries_named(table, of_query, by_row=item_id is None)
    names = np.arange(queries.n_items) if item_id is None else item_id
    known: dict[tuple[str | None, str], int] = {}
    for row, name in enumerate(names if qid else []):
        query = None if qid[0] is None else of_query[queries.codes[row]]
        if known.setdefault((query, _text(name)), row) != row:
            raise ValueError(
                "item_id and qid must differ as texts, as answers name them, got "
                f"{_text(name)!r} of query {query!r} twice."
            )
    kind, hint = "an item_id", ""
    if item_id is None:
        kind = "row positions of X"
        hint = " Pass item_id= as when the questions were asked."
    remedy = " Without item_id= the items are row positions, pair.left and pair.right."
    sides = []
    for side in ("left", "right"):
        keys = list(zip(qid, _check_known(table[side], side, remedy), strict=True))
        rows = np.array([known.get(key, -1) for key in keys], dtype=np.int64)
        bad = np.flatnonzero(rows < 0)
        if bad.size:
            query, name = keys[bad[0]]
            raise ValueError(
                f"answers must name items of X by {kind}, and the query that they are "
                f"in, got {side}={name!r}{'' if query is None else f', qid={query!r}'} "
                f"in row {bad[0]}, and {bad.size} such rows in all.{hint}"
            )
        sides.append(rows)
    left, right = sides
    other = np.flatnonzero(queries.codes[left] != queries.codes[right])
    if other.size:
        raise ValueError(
            "answers must be about two items of one query, got items of different ones "
            f"in row {other[0]} and {other.size} such rows in all."
        )
    return left, right


def _queries_named(
    table: dict[str, list[Any]], of_query: list[str], *, by_row: bool
) -> list[str | None]:
    """Return the query that each answer names; None where it need not name any."""
    one_query = len(of_query) == 1 and all(map(_missing, table.get("qid", [])))
    if "qid" in table and not one_query:
        return [*_check_known(table["qid"], "qid")]
    n = len(table["label"])
    if len(of_query) > 1 and not by_row and n:
        raise ValueError(
            "answers must have a column qid, since an item_id may be in several queries"
            f", got {listed(table)}."
        )
    return [None] * n


def _labels(column: list[Any]) -> IntArray:
    if not column:
        return np.empty(0, dtype=np.int64)
    values = np.empty(len(column), dtype=object)
    values[:] = column
    blank = [k for k, value in enumerate(column) if _missing(value) or value == ""]
    if blank:
        raise ValueError(
            "answers must have a label in every row, got none in row "
            f"{blank[0]} and {len(blank)} such rows in all: leave out what nobody "
            "answered, as review.read_answers does with a file of tasks."
        )
    try:
        label = read_pair_labels(values)
        # Elsewhere 0 and 1 are right and left; here they may as well be what is left
        # of -1, 0, 1 on a day without the first.
        unclear = {*column} == {0, 1}
    except ValueError:
        unclear = True
    if unclear:
        raise ValueError(
            "answers must have a label whose meaning is clear, as left, same or right, "
            f"got {listed(dict.fromkeys(column))}."
        )
    return label


def _changed(
    keys: IntArray, kept: IntArray, row: IntArray, time: list[Any] | None
) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.bool_]]:
    """Return rows in which a reviewer changed their mind, and what counts no more."""
    dropped = np.zeros(row.size, dtype=bool)
    said = kept[[0, 1, 2, 4]]
    order = np.lexsort(said[::-1])
    said = said[:, order]
    new = np.append(True, (said[:, 1:] != said[:, :-1]).any(axis=0))[: row.size]
    starts = np.append(np.flatnonzero(new), row.size)
    changed = []
    for start, stop in pairwise(starts):
        if stop - start == 1:
            continue
        members = order[start:stop]
        changed.append(tuple(sorted(row[members].tolist())))
        if time is not None:
            last = [_last(keys, kept[:, member], time) for member in members]
            dropped[members] = [moment < max(last) for moment in last]
    return tuple(changed), dropped


def _last(keys: IntArray, said: IntArray, time: list[Any]) -> Any:
    """Return when a reviewer last said so."""
    rows = np.flatnonzero((keys == said[:, None]).all(axis=0))
    return max(time[row] for row in rows.tolist())
