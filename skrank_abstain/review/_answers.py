"""The table of answers in one canonical order, its names, and the text of its file."""

import csv
import json
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import sha256
from io import BytesIO, StringIO
from itertools import chain, combinations, islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import id_as_text, is_blank, is_missing, listed, shown
from skrank_abstain._warnings import require, warn_user
from skrank_abstain.pairs import (
    Queries,
    as_number,
    check_spelling,
    read_columns,
    read_times,
    read_winners,
    warn_of_unread,
)

_FLOAT = re.compile(r"-?\d+\.0")
_DATE = re.compile(r"\d{4}-[01]\d-[0-3]\d([ T][0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?)?")
#: What `as_text` adds to a day.
_MIDNIGHT = re.compile(r"(T00:00)?:00\.000000$")
#: A letter first: spreadsheets take some hexadecimal texts for numbers.
_PAIR_ID = re.compile("p[0-9a-f]{15}")
#: Pairs whose ids are looked through for one whose items are not recognised.
_MOST_PAIRS = 1_000_000
#: A coin gives as many answers on one side once in 2,000 times.
_FEWEST_ON_A_SIDE = 12
#: Name of the reviewer where the table has no column for it.
_ANYONE = "reviewer"
#: Name of the reviewer whose answers are known to be right.
GOLD = "gold="
_NEEDED = ("left", "right", "label")
#: Columns of a task; items have their names, or their rows of X.
TASK = ("pair_id", "qid", "left_id", "right_id")
#: Columns that are read from a table.
READ = (*TASK, "left", "right", "label", "reviewer", "time")
#: Columns of decisions and questions, whose label is the model's.
OF_THE_MODEL = ("risk", "accepted", "p_left", "value")
#: Columns of answers.
BESIDE = ("reviewer", "time", "probability", "pair_id", "answer_id")
ANSWER_COLUMNS = ("qid", *_NEEDED, *BESIDE, "left_id", "right_id")


#: What a spreadsheet takes for the start of a formula; a ' in front prevents it.
_FORMULA = re.compile("[-=+@\t\r']")
#: What starts so and is a number all the same; +inf and -1_0 are none.
_SIGNED = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Said(str):
    """A label in a file, and where it stands there, for who does not know it."""

    where: str


def as_text(value: Any) -> str:
    """Return an identifier as text; files and frames write the same one differently."""
    text = value.isoformat() if isinstance(value, date) else id_as_text(value)
    if _DATE.fullmatch(text):
        try:
            return str(np.datetime64(text, "us"))
        except ValueError:
            return text  # no day of the calendar, as 2024-13-01
    # An integer that a frame held as a float before it was written to a file.
    return text.removesuffix(".0") if _FLOAT.fullmatch(text) else text


def pair_id(qid: str, one: str, other: str) -> tuple[str, str, str]:
    """Return the id of a pair in a file, and the names of its left and right item.

    Neither the model's order nor that of the rows, in whatever order the names are
    given: people who answer many questions favour a side.
    """
    names = sorted((one, other))
    digest = sha256(json.dumps([as_text(each) for each in (qid, *names)]).encode())
    last = digest.hexdigest()[:15]
    if int(last[-1], 16) % 2:
        names.reverse()
    return f"p{last}", names[0], names[1]


def is_pair_id(value: Any) -> bool:
    """Return whether a cell holds an id of ours, and not somebody's own number."""
    return isinstance(value, str) and _PAIR_ID.fullmatch(value) is not None


def pairs_by_id(queries: dict[str, dict[str, int]]) -> dict[str, tuple[int, int]]:
    """Return the rows of X of the left and right item of each pair, by its id.

    ``queries`` holds the rows of the items by name, by name of the query. Empty for too
    many pairs: each takes some microseconds.
    """
    n_pairs = sum(len(items) * (len(items) - 1) // 2 for items in queries.values())
    found: dict[str, tuple[int, int]] = {}
    for qid, items in queries.items() if n_pairs <= _MOST_PAIRS else ():
        for one, other in combinations(items, 2):
            name, left, right = pair_id(qid, one, other)
            found[name] = items[left], items[right]
    return found


def settle_pages(table: dict[str, list[Any]]) -> BoolArray:
    """Give the answers of one opened page one reviewer, and say which are the last.

    A page saves all its answers every time, and each keeps its ``answer_id``: that of
    the page and of who answers, and the number of the question. The reviewer is the
    first who is named. Rows without an id stay as they are.

    Returns
    -------
    last : ndarray of shape (n_answers,), bool
        False where a later row has the same id.
    """
    n = len(table["label"])
    ids, times = (table.get(name, [None] * n) for name in ("answer_id", "time"))
    ours = [row for row in range(n) if not is_blank(ids[row])]
    who: dict[str, Any] = {}
    for row in ours if "reviewer" in table else ():
        page = str(ids[row]).rpartition(" ")[0]
        table["reviewer"][row] = who.setdefault(page, table["reviewer"][row])
    newest = {ids[row]: row for row in sorted(ours, key=lambda row: str(times[row]))}
    return np.array([newest.get(ids[row], row) == row for row in range(n)], dtype=bool)


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
    stated : ndarray of shape (n_answers,), float64
        Probability that the label is right, as its reviewer says; NaN where they do
        not.
    reviewers : tuple of str
        Sorted.
    changed : sequence of (int, ndarray)
        Queries, and the rows in which one reviewer answers differently about one pair.
    said : dict of str to list
        Columns reviewer, left, right and label of the table, as they were written.
    """

    query: IntArray
    left: IntArray
    right: IntArray
    label: IntArray
    reviewer: IntArray
    row: IntArray
    stated: FloatArray
    reviewers: tuple[str, ...] = ()
    changed: Sequence[tuple[int, IntArray]] = ()
    said: Mapping[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.query.size)

    def said_in(self, row: int) -> dict[str, Any]:
        """Return what a row of the table says, as it is written."""
        return {name: column[row] for name, column in self.said.items()}

    @cached_property
    def pair(self) -> IntArray:
        """Number of the answered pair of each answer, shape (n_answers,)."""
        pairs = np.stack([self.query, self.left, self.right])
        return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)

    @cached_property
    def pair_start(self) -> IntArray:
        """Where the answers about each pair start, shape (n_answered + 1,)."""
        return np.searchsorted(self.pair, np.arange(self.pair.max(initial=-1) + 2))

    @cached_property
    def labels(self) -> BoolArray:
        """Which labels -1, 0, +1 somebody gave each pair, shape (n_answered, 3)."""
        given = np.zeros((self.pair_start.size - 1, 3), dtype=np.bool_)
        given[self.pair, self.label + 1] = True
        return given


def _join_gold(
    table: dict[str, list[Any]], right: dict[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return one table of answers, the rows of gold last, with `GOLD` as reviewer."""
    n, n_gold = len(table["label"]), len(right["label"])
    table.setdefault("reviewer", [_ANYONE] * n)
    right["reviewer"] = [GOLD] * n_gold
    right.pop("time", None)
    ids = right.pop("answer_id", [None] * n_gold)
    # A page that gave answers, too, has two reviewers.
    right["answer_id"] = [each if is_blank(each) else f"{GOLD} {each}" for each in ids]
    return {
        name: table.get(name, [None] * n) + right.get(name, [None] * n_gold)
        for name in dict.fromkeys([*table, *right])
    }


def _warn_of_one_side(label: IntArray, code: IntArray, reviewers: Any) -> None:
    """Warn of reviewers who gave one side each time, of questions that mix sides."""
    n = len(reviewers)
    left, right = (np.bincount(code[label == side], minlength=n) for side in (1, -1))
    for k in np.flatnonzero((left + right >= _FEWEST_ON_A_SIDE) & (left * right == 0)):
        warn_user(
            f"{reviewers[k]} answered {'left' if left[k] else 'right'} each of "
            f"{left[k] + right[k]} times, though questions mix the sides: are they "
            "meant?"
        )


def take_answers(
    answers: Any,
    queries: Queries,
    item_id: NDArray[Any] | None,
    labels: Any = None,
    gold: Any = None,
    audits: bool = False,
) -> Answers:
    """Check a table of answers and sort it.

    Parameters
    ----------
    answers : None, frame, mapping of columns or sequence of mappings
        Columns ``left``, ``right``, ``label``; ``qid`` unless there is one query or
        items are row positions; optionally ``reviewer``, ``time``, ``probability`` and
        the ``pair_id`` of a file of tasks. ``left_id`` and ``right_id`` stand for the
        first two, with ``item_id`` or where these are absent. One warning names all
        others.
    queries : Queries
    item_id : ndarray of shape (n_items,), or None
        None: the table names items by their row positions.
    labels : mapping, default=None
        What labels mean, as in `read_pair_labels`, or "skip": one that does not count.
    gold : None or table, default=None
        Answers that are known to be right, as ``answers``, whoever gave them.
    audits : bool, default=False
        Whether the items are those of open questions of audits, for the warning.

    Returns
    -------
    answers : Answers
        The same whatever the order of the rows. Equal answers of one reviewer about a
        pair count once; of different ones the last counts, if each has a time, and all
        of them otherwise. Answers about queries, or items by name, that are not in X
        are left out, with one warning.

    Warns
    -----
    UserWarning
        Of columns that are not read, equal answers without reviewers, which count once,
        and answers that name no query, from files or about a query that has a name.

    Raises
    ------
    TypeError
        If the table is of another kind.
    ValueError
        If a column or a value is missing, a row position is in another query or none of
        X, both items are the same, a label or a time is not understood, a reviewer has
        two spellings, or the table holds decisions, whose labels are the machine's own.
    """
    by_name = item_id is not None
    table = _columns(answers, "answers", by_name)
    if gold is not None:
        table = _join_gold(table, _columns(gold, "gold", by_name))
    last = settle_pages(table)
    left, right = _rows(table, queries, item_id, audits)
    sides: Any = [[*map(as_text, table[side])] for side in ("left", "right")]
    if item_id is None:  # row positions are numbers, and so are labels
        sides = [[None] * left.size] * 2
    label, counts = _labels(table["label"], labels, sides)
    n = label.size
    names = _known(table.get("reviewer", [_ANYONE] * n), "reviewer")
    moments = read_times(table.get("time", [None] * n), "answers", blank=True)
    stated = _stated(table.get("probability", [None] * n))
    about = np.flatnonzero((left >= 0) & last & counts)  # about X
    left, right, label = left[about], right[about], label[about]
    texts = np.array([names[k].strip() for k in about], dtype=np.str_)
    reviewers, code = np.unique(texts, return_inverse=True)
    if "pair_id" in table:
        _warn_of_one_side(label, code, reviewers)
    position = np.argsort(queries.order) - queries.offsets[queries.codes]
    query, left, right = queries.codes[left], position[left], position[right]
    swapped = left > right
    left, right = np.where(swapped, (right, left), (left, right))
    label = np.where(swapped, -label, label)
    check_spelling(reviewers.tolist(), "answers", "reviewer")
    as_sure = np.unique(stated[about], return_inverse=True)[1]
    keys = np.stack([query, left, right, label, code.reshape(-1), as_sure])
    kept, row, number = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    if row.size < about.size and "reviewer" not in table:
        warn_user(
            f"{about.size - row.size} answers that repeat another one count once: add "
            "a column reviewer if several people answered, qid if about several days."
        )
    # Without a query they may be yesterday's; if today has no name, names are for good.
    named = item_id is not None and [as_text(q) for q in queries.values] != ["None"]
    unnamed = about.size and all(map(is_blank, table.get("qid", ())))
    if unnamed and ("pair_id" in table or named):
        warn_user(
            "answers name no query: any answer about these names counts. If "
            "names come back on other days, as those of beds do, ask and read with the "
            'day as query: review(X, qid="monday").'
        )
    # A reviewer answers differently about a pair: the last answer counts, or each of
    # them if one has no time: NaN is the maximum of itself and any number.
    pairs = np.unique(kept[[0, 1, 2, 4]], axis=1, return_inverse=True)[1].reshape(-1)
    several, row = np.flatnonzero(np.bincount(pairs) > 1), about[row]
    changed = [(kept[0, pairs == pair][0], row[pairs == pair]) for pair in several]
    last, latest = np.full((2, row.size), -np.inf)
    with np.errstate(invalid="ignore"):
        np.maximum.at(last, number.reshape(-1), moments[about])
        np.maximum.at(latest, pairs, last)
    counts = ~(last < latest[pairs])
    query, left, right, label, reviewer = kept[:5, counts]
    row = row[counts]
    of_rows = row, stated[row], tuple(reviewers.tolist()), changed
    said = {"reviewer": names} | {name: table[name] for name in _NEEDED}
    return Answers(query, left, right, label, reviewer, *of_rows, said)


def _columns(answers: Any, name: str, by_name: bool) -> dict[str, list[Any]]:
    """Return the columns of the table as lists of one length."""
    found: dict[str, list[Any]] = {}
    if answers is not None:
        remedy = "; read a file by review.read_answers"
        found = read_columns(answers, name, remedy=remedy)
    guessed = [name for name in OF_THE_MODEL if name in found]
    if guessed:
        raise ValueError(
            "answers must come from people, got the columns of decisions or questions "
            f"({', '.join(guessed)}), whose label is the model's: keep qid, the items "
            "and, as label, the answer."
        )
    ids = {"left_id", "right_id"} <= found.keys()
    if ids and (by_name or not {"left", "right"} & found.keys()):
        # In decisions left and right are row positions, which ids may look like.
        found |= {"left": found["left_id"], "right": found["right_id"]}
    if found and not found.keys() >= {*_NEEDED}:
        raise ValueError(
            "answers must have columns qid, left, right, label, and optionally "
            f"reviewer and time, got {listed(found)}."
        )
    # Those that begin with a side are what people saw of an item.
    unread = [name for name in found if not name.startswith(("left_", "right_"))]
    warn_of_unread(unread, ANSWER_COLUMNS, "answers")
    if all(map(is_blank, found.get("reviewer", []))):
        found.pop("reviewer", None)  # a column left empty
    return found or {name: [] for name in _NEEDED}


def _refuse(bad: Any, rule: str, got: Sequence[Any], remedy: str = "") -> None:
    """Raise an error that names the first bad row, and counts them, if there is one."""
    if len(bad):
        raise ValueError(
            f"answers must {rule}, got {shown(got[bad[0]])} in row {bad[0]} and "
            f"{len(bad)} such rows in all.{remedy}"
        )


def _known(column: list[Any], name: str, remedy: str = "") -> list[str]:
    """Return identifiers as texts; none may be missing."""
    missing = [k for k, value in enumerate(column) if is_missing(value)]
    _refuse(missing, f"name {name} in every row", column, remedy)
    return [as_text(value) for value in column]


def _rows(
    table: dict[str, list[Any]], queries: Queries, item_id: Any, audits: bool
) -> tuple[IntArray, IntArray]:
    """Return the rows of X of the two items of each answer; -1 for other queries."""
    query_names = [as_text(value) for value in queries.values]
    qid = _queries_named(table, query_names, by_row=item_id is None)
    given = np.arange(queries.n_items) if item_id is None else item_id
    names = [as_text(name) for name in (given if qid else ())]
    items: dict[str, dict[str, int]] = {query: {} for query in query_names}
    for row, name in enumerate(names):
        query = query_names[queries.codes[row]]
        if items[query].setdefault(name, row) != row:
            raise ValueError(
                "item_id and qid must differ as texts, since answers name them so, got "
                f"{name!r} of query {query!r} twice."
            )
    remedy = " Without item_id= the items are row positions, pair.left and pair.right."
    sides = [_known(table[side], side, remedy) for side in ("left", "right")]
    every = {name: row for row, name in enumerate(names)}

    def row_of(query: str | None, name: str) -> int:
        return (every if query is None else items.get(query, {})).get(name, -1)

    rows = np.array([[*map(row_of, qid, side)] for side in sides], dtype=np.int64)
    if "pair_id" in table:
        # Whoever leaves out qid means the same items on another day, under other ids.
        known = "qid" in table or len(query_names) > 1
        _follow_pair_ids(rows, qid, sides, table["pair_id"], items, check=known)
    away = np.array([q is not None and q not in items for q in qid], dtype=bool)
    away &= (rows < 0).all(axis=0)
    if item_id is not None:
        away |= (rows < 0).any(axis=0)
    if away.any():
        asked, *both = np.array([qid, *sides], dtype=object)[:, away].tolist()
        ours = names, () if queries.values.tolist() == [None] else query_names
        alone = item_id is not None and len(query_names) == 1
        moved = int((away & alone & np.isin(sides, names).all(axis=0)).sum())
        _warn_of_others(away, (chain(*both), asked), ours, audits, moved)
    rows[:, away] = -1
    remedy = " Pass item_id= as when the questions were asked."
    rule = "name items of X by row positions of X, and the query that they are in"
    for side, own, written in zip(("left", "right"), rows, sides, strict=True):
        got = [{"qid": q, side: name} for q, name in zip(qid, written, strict=True)]
        _refuse(np.flatnonzero((own < 0) & ~away), rule, got, remedy)
    left, right = rows
    pairs = [*zip(*sides, strict=True)]
    alike = np.flatnonzero((left == right) & ~away)
    _refuse(alike, "be about two different items", pairs)
    codes = np.append(queries.codes, -1)
    other = np.flatnonzero(codes[left] != codes[right])
    _refuse(other, "be about two items of one query", pairs)
    return left, right


def _sample(kind: str, names: Iterable[Any], known: Collection[Any] = ()) -> str:
    """Return up to three names, of unknown ones if there are any, without 0:00."""
    every = {*names} - {None}
    some = sorted(every - {*known} or every)
    few = ", ".join(repr(_MIDNIGHT.sub("", name)) for name in some[:3])
    return f"{kind} {few}{' and more' * (len(some) > 3)}" if some else f"no {kind}"


def _warn_of_others(
    away: Any, theirs: Any, ours: Any, audits: bool, moved: int
) -> None:
    """Say which answers are set aside, with samples of their queries and items.

    ``moved`` of them name items of X in another query.
    """
    about, source = "about queries or items that are not in X", "X names"
    left = " No answer is left: if some are about X, write qid and names as X does."
    if audits:
        about = "already judged or to no question of an audit"
        source, left = "open questions name", " Nothing new."
    left *= bool(away.all())
    if moved:
        left = f" {moved} name two items of X, under another qid: if these are the same"
        left += " items, as patients are the next day, pass answers without qid."
    both = "items", "queries"
    got = " and ".join(map(_sample, both, theirs, map(set, ours)))
    known = " and ".join(map(_sample, both, ours))
    warn_user(
        f"{away.sum()} of {away.size} answers, {about}, are set aside: they name "
        f"{got}; {source} {known}.{left}"
    )


def _follow_pair_ids(
    rows: IntArray,
    qid: Sequence[str | None],
    sides: list[list[str]],
    ids: list[Any],
    items: dict[str, dict[str, int]],
    *,
    check: bool,
) -> None:
    """Find items whose names a spreadsheet changed, such as 007, by the id of the pair.

    Parameters
    ----------
    rows : ndarray of shape (2, n_answers), int64
        Rows of X of the left and of the right items, -1 where unknown; filled in.
    qid : sequence of str or None, of length n_answers
    sides : list of two lists of str
        Items on the left and on the right of each answer, as written.
    ids : list of object
        Of the pairs, one for each answer.
    items : dict
        Rows of X by query and item.
    check : bool
        Whether to refuse all ids of other pairs, or only those of X: not those of
        another day.

    Raises
    ------
    ValueError
        If an id is that of another pair.
    """
    of_row = {row: (q, name) for q in items for name, row in items[q].items()}
    ours = [k for k, value in enumerate(ids) if is_pair_id(value)]
    lost = {qid[k] for k in ours if (rows[:, k] < 0).any()}
    # A changed qid names no query: look through all.
    pairs = pairs_by_id(
        {q: own for q, own in items.items() if q in lost or lost - items.keys()}
    )
    known = set().union(*items.values())
    wrong = []
    for k in ours:
        left, right = rows[:, k].tolist()
        found = pairs.get(ids[k], ())
        if min(left, right) >= 0:
            (query, one), (_, other) = of_row[left], of_row[right]
            # Asked without a query, which was named later.
            if ids[k] not in {pair_id(q, one, other)[0] for q in (query, "None")}:
                wrong.append(k)
        elif found:
            # A name that is still known, or still the same number, tells the sides.
            written = [as_number(side[k]) for side in sides]
            names = [as_number(of_row[row][1]) for row in found]
            turned = left == found[1] or right == found[0]
            turned |= left == right and written == names[::-1]
            rows[:, k] = found[::-1] if turned else found
            # No spreadsheet makes the name of another item, of whatever query.
            ours_too = known.intersection(side[k] for side in sides)
            if not ours_too <= {of_row[row][1] for row in found}:
                wrong.append(k)
    if wrong and not check:
        today = pairs_by_id(items)
        wrong = [k for k in wrong if ids[k] in today]
    remedy = " It tells which pair was asked about (qid and items) if a spreadsheet "
    remedy += "changes names: undo what was sorted or renamed, or drop the column."
    _refuse(wrong, "have the pair_id of their items", ids, remedy)


def _queries_named(
    table: dict[str, list[Any]], query_names: list[str], *, by_row: bool
) -> Sequence[str | None]:
    """Return the query that each answer names; None where none is needed."""
    n, several = len(table["label"]), len(query_names) > 1
    if "qid" in table and (several or not all(map(is_blank, table["qid"]))):
        return _known(table["qid"], "qid")
    if several and not by_row and n:
        raise ValueError(
            "answers must have a column qid, since an item_id may be in several queries"
            f", got {listed(table)}."
        )
    return [None] * n


def _stated(column: list[Any]) -> FloatArray:
    """Return how probable each label is, as its reviewer says; NaN if not said."""
    said = [np.nan if is_blank(each) else as_number(each) for each in column]
    bad = [k for k, p in enumerate(said) if isinstance(p, str) or p < 1 / 3 or p > 1]
    rule = "say by probability, 1/3 (a guess) to 1, that the label is right"
    _refuse(bad, rule, column)
    return np.array(said, dtype=np.float64)


def _labels(column: list[Any], labels: Any, sides: Any) -> tuple[IntArray, BoolArray]:
    """Return the labels, and which of them count."""
    if not column:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    kinds = (list, tuple, dict, set, np.ndarray)
    no_label = [isinstance(each, kinds) or is_blank(each) for each in column]
    remedy = " Drop the rows without an answer, as review.read_answers does."
    _refuse(np.flatnonzero(no_label), "have one label in every row", column, remedy)
    return read_winners(column, labels, sides, "answers")


def as_cell(value: Any) -> Any:
    """Return a value that a spreadsheet does not take for a formula."""
    taken = isinstance(value, str) and _FORMULA.match(value)
    return f"'{value}" if taken and not _SIGNED.fullmatch(value) else value


def of_cell(value: str) -> str:
    """Return what ``as_cell`` was given."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value, 1) else value


def text_of(path: str | os.PathLike[str]) -> str:
    """Return the content of a file of answers; a workbook as a table of commas."""
    data = Path(path).read_bytes()
    if data.startswith(b"PK\x03\x04"):
        data = _csv_of_workbook(data, path)
    utf16 = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    # Raised outside the handler, since the error holds the file: no data in logs.
    # Workbooks, and UTF-16 without its mark, are full of zeros.
    if "\0" in text:
        raise ValueError(
            f"{os.fspath(path)!r} must be a text in UTF-8, or a workbook .xlsx, got "
            "another encoding or kind: save it as UTF-8, in a spreadsheet as CSV UTF-8."
        )
    if not text.strip():
        raise ValueError(f"{os.fspath(path)!r} must hold answers, got an empty file.")
    return text


def openpyxl_for(path: str | os.PathLike[str]) -> Any:
    """Return the library of workbooks."""
    what = f"The workbook {os.fspath(path)!r}"
    return require("openpyxl", what, "openpyxl, or use a .csv, which needs nothing")


def _csv_of_workbook(data: bytes, path: str | os.PathLike[str]) -> bytes:
    """Return the sheet with answers as text; zeros for another kind of file."""
    try:
        book = openpyxl_for(path).load_workbook(BytesIO(data), data_only=True)
    except (BadZipFile, KeyError, ValueError):
        return b"\0"
    filled = [s for s in book if s.max_row > 1 and "label" in [c.value for c in s[1]]]
    if len(filled) > 1:
        raise ValueError(
            f"{os.fspath(path)!r} must hold answers on one sheet, got "
            f"{listed([sheet.title for sheet in filled])}: save each as its own file."
        )
    text = StringIO(newline="")
    for row in [*filled, book.worksheets[0]][0].iter_rows(values_only=True):
        cells = ("" if cell is None else cell for cell in row)
        texts = (cell if isinstance(cell, str) else as_text(cell) for cell in cells)
        csv.writer(text).writerow(texts)
    return text.getvalue().encode()


def rows_of_table(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table of tasks with their answers."""
    headers = {
        delimiter: next(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
        for delimiter in ",;\t"
    }
    # The first one that splits the header into the most columns.
    delimiter = max(headers, key=lambda each: len(headers[each]))
    names = [name.strip().lower() for name in headers[delimiter]]
    if "label" not in names:
        raise csv.Error(
            "no column is called label. A table must have columns left_id, right_id, "
            f"label, and qid if there are several queries, got {listed(names)}"
        )
    if twice := [name for name in READ if names.count(name) > 1]:
        raise csv.Error(f"two columns are called {twice[0]}")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    seen: list[str] = []
    for row in islice(reader, 1, None):
        if len(row) not in (0, len(names)):
            raise csv.Error(f"line {reader.line_num} has another length")
        seen += row[-1:]
        cells = map(of_cell, row) if "pair_id" in names else row
        yield dict(zip(names, cells, strict=False))  # a blank one keeps its number
    # Some programs end no last row; what a cut one ends in stands nowhere else.
    cut = not text.endswith(("\n", "\r")) and seen.count(seen[-1]) == 1 if seen else 0
    if cut and names[-1] in {*READ} - {"label"}:
        raise csv.Error(
            f"the last row may be cut at {seen[-1]!r}; end it with a line break if it "
            "is whole"
        )
