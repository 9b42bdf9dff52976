"""Read tables of labelled pairs: their columns, and right, tie or left preferred."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from difflib import get_close_matches
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import is_blank, listed, shown
from skrank_abstain._warnings import warn_user

_TIES = dict.fromkeys(("tie", "draw", "same", "equal"), 0)
#: What ``labels=`` may say that a label means, and an example.
_SIDES = {"right": -1, "left": 1} | _TIES
#: Label of a person who gives none.
_SKIP = "skip"
_AS_MAPPED = "{'L': 'left', '=': 'tie', 'R': 'right'}"
#: Words for right and for left preferred.
_WORDS = (
    ("right", "left"),
    ("model_b", "model_a"),
    ("b", "a"),
    ("second", "first"),
    ("loss", "win"),
)
#: Labels that are understood without ``labels=``.
_VOCABULARIES: tuple[dict[Any, int], ...] = (
    {-1: -1, 0: 0, 1: 1},
    {0: -1, 0.5: 0, 1: 1},
    {0: -1, 1: 1},
    {-1: -1, 1: 1},
    *({right: -1, left: 1} | _TIES for right, left in _WORDS),
)
#: A date without marks, such as 20260414.
_DIGITS = re.compile(r"(19|20)\d{6}(\.0)?")
#: A tie in words, in small letters alone.
_TIE = re.compile("tie|draw|same|equal|both|neither|(tie|equally)?(both)?(good|bad)")
_KNOWN = (
    "(-1, 0, 1), (0, 0.5, 1), (0, 1), (-1, 1) or, in any case, right / tie / left, "
    "model_b / tie / model_a, B / tie / A, second / tie / first, loss / tie / win (of "
    "the left one), a tie being tie, draw, same or equal"
)


def read_columns(table: Any, name: str, *, remedy: str = "") -> dict[str, list[Any]]:
    """Return the columns of a table as lists of one length.

    Parameters
    ----------
    table : frame, mapping of columns or sequence of mappings
        A value that a mapping lacks is None.
    name : str
        Name of the parameter, for messages.
    remedy : str, default=""
        What to do about an object that is no table.

    Returns
    -------
    columns : dict of str to list
        Python values, except dates and short floats, which Python writes differently.

    Raises
    ------
    TypeError
        If ``table`` is not a table.
    ValueError
        If columns differ in length.
    """
    if hasattr(table, "to_pylist"):  # of pyarrow
        table = table.to_pylist()
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        for number, row in enumerate(table):
            if not isinstance(row, Mapping):
                raise TypeError(
                    f"{name} must hold mappings, got {shown(row)} in row "
                    f"{number}{remedy}."
                )
        every = dict.fromkeys(key for row in table for key in row)
        return {str(key): [row.get(key) for row in table] for key in every}
    names = table if isinstance(table, Mapping) else getattr(table, "columns", None)
    if names is None or (names is table and any(map(np.isscalar, table.values()))):
        raise TypeError(
            f"{name} must be a frame, a mapping of columns or a list of mappings, got "
            f"{shown(table)}{remedy}."
        )
    columns = {str(each): _python_values(table[each]) for each in names}
    lengths = {each: len(column) for each, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name} must have columns of one length, got {lengths}.")
    return columns


def warn_of_unread(
    names: Iterable[str], known: Sequence[str], table: str, *, every: bool = True
) -> None:
    """Name the columns that are not read, and the known name that each is near to.

    ``every=False`` names only those that are near to one.
    """
    near: dict[str, list[str]] = {name: [] for name in names if name not in known}
    for name in near:
        text = name.strip().lower()
        # A weight is not a misspelt right.
        alike = [each for each in known if each[:1] == text[:1]]
        near[name] = get_close_matches(text, alike, 1, 0.6 if every else 0.7)
    if near and (every or any(near.values())):
        meant = [f" Is {name!r} {of[0]!r}?" for name, of in near.items() if of]
        warn_user(
            f"{table} have columns that are not read: {listed(near)}.{''.join(meant)} "
            f"Those that are read: {', '.join(known)}."
        )


def _python_values(column: Any) -> list[Any]:
    dtype: Any = getattr(column, "dtype", None)
    kind = getattr(dtype, "kind", "")
    # tolist() turns nanosecond dates into integers, and float32 0.1 into 0.10000000149.
    kept = kind in ("m", "M") or (kind == "f" and dtype.itemsize < 8)
    return list(column if kept or not hasattr(column, "tolist") else column.tolist())


def read_times(column: Sequence[Any], name: str, *, blank: bool = False) -> FloatArray:
    """Return times as numbers, dates as days; texts are numbers or ISO dates.

    ``blank`` says whether rows may lack a time, which is then NaN.
    """
    times, kinds = np.full(len(column), np.nan), set()
    for row, value in enumerate(column):
        if blank and is_blank(value):
            continue
        times[row], is_date = _days(value)
        kinds.add(is_date)
        if np.isnan(times[row]) or len(kinds) > 1:
            every = "times" if blank else "a time in every row,"
            raise ValueError(
                f"{name} must have {every} all numbers, or all dates with the year "
                f"first, as 2026-11-25 14:30, got {shown(value)} in row {row}."
            )
    return times


def _days(value: Any) -> tuple[float, bool]:
    """Return a date as days, or a number, and whether it is a date; NaN for others."""
    text = str(value).strip()
    with suppress(TypeError, ValueError):
        # Not 20260414, a date whose digits do not count days.
        if not (isinstance(value, date | np.datetime64) or _DIGITS.fullmatch(text)):
            return float(value), False
    with suppress(ValueError):
        time = datetime.fromisoformat(text.removesuffix(".0"))
        return time.replace(tzinfo=time.tzinfo or UTC).timestamp() / 86_400, True
    return np.nan, False


def as_number(value: Any) -> Any:
    """Return the number that a text writes, such as 7 for 007, or else the value."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def read_winners(
    column: list[Any], labels: Any, sides: Any, name: str
) -> tuple[IntArray, BoolArray]:
    """Return labels as -1, 0 and +1: a row may name the item that wins, or its side.

    And which of them count: those that are not "skip" (unless an item is called so).

    Parameters
    ----------
    column : list of length n_pairs, n_pairs >= 1
        Numbers may be written as texts, as in files.
    labels : None or mapping
        As in `read_pair_labels`; a word may also mean "skip".
    sides : two sequences of length n_pairs
        Names of the left and of the right items; None for items without names.
    name : str
        Name of the column, for messages.

    Raises
    ------
    ValueError
        If a label is not understood, or means one thing as a side and another one as
        the name of an item, or an item is called as a tie is and winners are named.
    """
    if labels is not None:
        known = _mapping(labels, *_SIDES, _SKIP).items()
        meant = {_as_label(word): side for word, side in known}
        column = [meant.get(_as_label(each), each) for each in column]
    named = {_SKIP} & {_in_letters(each) for side in sides for each in side}
    counts = np.array([_in_letters(each) != _SKIP or bool(named) for each in column])
    column, *sides = ([*compress(each, counts)] for each in (column, *sides))
    label = np.zeros(counts.size, dtype=np.int64)
    if counts.any():
        label[counts] = _winners(column, sides, name)
    return label, counts


def _winners(column: list[Any], sides: Any, name: str) -> IntArray:
    plain = {each: as_number(each) for each in {*column, *sides[0], *sides[1]}}
    values = np.array([*map(plain.get, column), None], dtype=object)[:-1]
    kinds: dict[Any, int] = {}
    for each, value in plain.items():
        plain[each] = kinds.setdefault(_in_letters(value), len(kinds))
    said, left, right = (np.array([*map(plain.get, x)]) for x in (column, *sides))
    by_name: IntArray = (said == left).astype(np.int64) - (said == right)
    ties = [kinds[k] for k in kinds if _TIE.fullmatch(re.sub(r"[\W_]", "", str(k)))]
    values[(by_name == 0) & np.isin(said, ties)] = "tie"
    odd = np.flatnonzero((by_name == 0) & (values != "tie"))
    named = bool(by_name.any())
    try:
        label = read_pair_labels(values, name=name)
        named &= not odd.size
    except ValueError:
        said_as = [_in_letters(value) for value in values]
        known = _VOCABULARIES
        if named and odd.size:
            # Some people write the winner, others the side, in words of one kind.
            words = _VOCABULARIES[-len(_WORDS) :]
            known = tuple(each for each in words if said_as[odd[0]] in each)
        unknown = [k for k in odd if not any(said_as[k] in each for each in known)]
        for row in unknown[:1]:
            where = getattr(column[row], "where", f"row {row}")  # of a file
            others = {column[k]: None for k in unknown if column[k] != column[row]}
            also = f" (and {listed(others)})" * bool(others)
            raise ValueError(
                f"{name} must hold labels that are known, got {shown(column[row])} in "
                f"{where}{also}, which names neither item: write the winner, left, "
                f"tie, right or skip, or pass to review or fit labels={_AS_MAPPED}."
            ) from None
        if not named:
            raise  # words of several kinds
        label = by_name
        if odd.size:
            label = np.array([*map(known[0].get, said_as, by_name)])
    # In tables of results 1 and 0 are left and right, in -1, 0, 1 left and tie.
    unclear = (label != by_name)[by_name != 0].any()
    unclear |= np.isin([left, right], ties).any()
    if {*values.tolist()} == {0, 1} or (named and unclear):
        raise ValueError(
            f"{name} must hold labels whose meaning is clear, as left, same and right, "
            f"got {listed(dict.fromkeys(column))}, where 0 may be a tie or the right "
            "one, or a name that of a side or of an item. Rename items that are called "
            "as a tie is, or say what yours mean, as labels={-1: 'right', 0: 'tie', "
            "1: 'left'} where 0 is a tie."
        )
    return label


def check_spelling(names: Iterable[Any], parameter: str, kind: str) -> None:
    """Refuse names that are written in several ways, as 1 and "1", or Bo and bo."""
    known: dict[Any, Any] = {}
    for name in names:
        other = known.setdefault(_in_letters(str(name)), name)
        if other != name:
            raise ValueError(
                f"{parameter} must write the name of each {kind} in one way, got "
                f"{other!r} and {name!r}, which differ by type, case, spaces or the "
                "Unicode form alone: use one of them everywhere."
            )


def _in_letters(name: Any) -> Any:
    """Return a text as it is compared, without its case, and other values as such."""
    if not isinstance(name, str):
        return name
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def _as_label(word: Any) -> Any:
    """Return a word or number as it is compared: both_bad is "tie (bothbad)"."""
    word = _in_letters(as_number(word))
    letters = re.sub(r"[\W_]", "", word) if isinstance(word, str) else ""
    tie = _TIE.fullmatch(letters)
    return re.sub("^(tie|equally)(?=both|good|bad)", "", letters) if tie else word


def read_pair_labels(
    values: ArrayLike, labels: Any = None, *, name: str = "y"
) -> IntArray:
    """Return labels as -1 (right preferred), 0 (tie) and +1 (left preferred).

    Labels are read by their meaning, never by their sort order; ambiguous ones are
    refused.

    Parameters
    ----------
    values : array-like of shape (n_pairs,)
    labels : mapping, default=None
        What labels mean: "left", "tie" or "right" preferred, also several for one, in
        any case; these three words are known beside them. None: one of (-1, 0, 1),
        (0, 0.5, 1), (0, 1), (-1, 1), or, in any case and with blanks around, of right /
        tie / left, model_b / tie / model_a, B / tie / A, second / tie / first, loss /
        tie / win (of the left one); draw, same and equal also mean tie. ``values`` may
        lack some of them if the others have one meaning only; 0 and 1 alone are (right,
        left).
    name : str, default="y"
        Name of the parameter, for the message.

    Returns
    -------
    label : ndarray of shape (n_pairs,), int64

    Raises
    ------
    ValueError
        If a value is not understood, or ``labels`` is no such mapping.

    Notes
    -----
    True and False are 1 and 0. Text that looks like a number is text, and unknown.

    Examples
    --------
    >>> from skrank_abstain.pairs import read_pair_labels
    >>> read_pair_labels(["model_a", "tie", "model_b"])
    array([ 1,  0, -1])
    >>> read_pair_labels([0, 1, 2], {0: "left", 1: "tie", 2: "right"})
    array([ 1,  0, -1])
    """
    written = np.asarray(values).tolist()
    kinds = list(dict.fromkeys(written))
    meaning = _meaning(kinds, name) if labels is None else _named(kinds, labels, name)
    return np.array([meaning[value] for value in written], dtype=np.int64)


def _meaning(kinds: list[Any], name: str) -> dict[Any, int]:
    keys = [*map(_in_letters, kinds)]
    found = set(keys)
    fitting = [known for known in _VOCABULARIES if found <= known.keys()]
    complete = [known for known in fitting if len(known) == len(found)]
    readings = {tuple(known[key] for key in keys) for known in complete or fitting}
    if len(readings) == 1:
        return dict(zip(kinds, readings.pop(), strict=True))
    unclear = "labels whose meaning is clear" if fitting else "labels that are known"
    raise ValueError(
        f"{name} must hold {unclear}, as (right, tie, left) preferred: {_KNOWN}; got "
        f"{listed(kinds)}. Say what yours mean, as labels={_AS_MAPPED}."
    )


def _named(kinds: list[Any], labels: Any, name: str) -> dict[Any, int]:
    """Read labels by a mapping; left, tie and right mean what they say."""
    meant = _mapping(labels, *_SIDES)
    known = _SIDES | {word: _SIDES[side] for word, side in meant.items()}
    unknown = [kind for kind in kinds if _in_letters(kind) not in known]
    if unknown:
        raise ValueError(
            f"{name} must hold labels that are known, got {listed(unknown)} and "
            f"labels={labels!r}: add what these mean, or leave their rows out."
        )
    return {kind: known[_in_letters(kind)] for kind in kinds}


def _mapping(labels: Any, *known: str) -> dict[Any, str]:
    """Return what labels mean, one of the words ``known``, as they are compared."""
    given = labels if isinstance(labels, Mapping) else {}
    if not given or not {*map(str, given.values())} <= {*known}:
        skip = ", or to 'skip', which does not count" * (_SKIP in known)
        raise ValueError(
            f"labels must map labels to 'left', 'tie' or 'right' preferred{skip}, as "
            f"labels={_AS_MAPPED}, got {labels!r}."
        )
    return {_in_letters(word): side for word, side in given.items()}
