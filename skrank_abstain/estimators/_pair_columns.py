"""Names of the columns of rows that hold two items: do the halves match.

Names of one feature differ by what marks the side, at the front or at the end: ``age,
bmi, age_right, bmi_right``. Halves in turns, ``age, age_right, bmi, bmi_right``, are
the usual mistake, and nothing but the names tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, NamedTuple

#: Words for the two sides that leave no doubt, and such that may be features too. Of
#: some only one is marked.
_CLEAR = {("left", "right"), ("l", "r"), ("", "right"), ("", "r")}
_LIKELY = {
    ("first", "second"),
    ("one", "two"),
    *(("", word) for word in ("second", "two", "other", "b", "y", "1", "2")),
}
#: Words for the two items that do not say which of them stands left.
_NO_ORDER = {("home", "away"), ("winner", "loser"), ("chosen", "rejected")}
_SHOWN = 12


class _Marks(NamedTuple):
    """What marks the names of either side."""

    left: str
    right: str

    @property
    def clarity(self) -> int:
        """3: sides for certain; 2: probably; 1: one is marked; 0: or features."""
        left, right = self._words()
        both = {(left, right), (right, left)}
        if both & _CLEAR:
            return 3
        if both & (_LIKELY | _NO_ORDER) or abs(_step(left, right)) == 1:
            return 2
        return int(left.startswith(right) or right.startswith(left))

    @property
    def turned(self) -> bool:
        """Whether the marks say that the right one comes first."""
        left, right = self._words()
        return (right, left) in _CLEAR | _LIKELY or _step(left, right) == -1

    def _words(self) -> tuple[str, str]:
        """Return the words that only one side has."""
        words = [re.findall(r"[^\W_]+", mark.lower()) for mark in self]
        while all(words) and words[0][0] == words[1][0]:
            words = [some[1:] for some in words]
        while all(words) and words[0][-1] == words[1][-1]:
            words = [some[:-1] for some in words]
        left, right = ("_".join(some) for some in words)
        return left, right


def check_halves(names: list[str]) -> None:
    """Refuse names that do not fit a left half followed by the same right half.

    Nothing is swapped: ``a`` may be the left item, and the labels mean the halves as
    they stand.

    Parameters
    ----------
    names : list of str
        Of all columns, an even number.

    Raises
    ------
    ValueError
        If the names of the halves do not match, match only in another order, or say
        that the right half comes first.

    Notes
    -----
    Names that are counted, such as 0, 1, 2 or x0, x1, x2, say nothing and pass, in any
    order, and so does one column a side. Some names can be read both ways, as in
    ``a_left, a_right, b_left, b_right``: the reading whose marks are clearer words for
    sides is taken, that of halves if both are equally clear. A single column a side is
    a mark and nothing else: only left and right are taken at their word.
    """
    half = len(names) // 2
    if _counted(names):
        return
    left, right = names[:half], names[half:]
    halves = _marks_of(left, right)
    turns = _marks_of(names[::2], names[1::2]) if half > 1 else None
    if turns is not None and (halves is None or halves.clarity < max(turns.clarity, 1)):
        if halves is not None and turns.clarity < 2:
            raise ValueError(
                "X must have column names that say which item they are of, got "
                f"{_shown(names)}, which may be the halves one after the other or in "
                "turns. Mark the sides, as in age_left, bmi_left, age_right, bmi_right."
            )
        raise ValueError(_in_turns(names, turns.turned))
    if halves is None:
        raise ValueError(_mismatch(left, right))
    if halves.turned and (half > 1 or halves.clarity == 3):
        raise ValueError(
            "X must have all columns of the left item and then all of the right one, "
            f"got the right one first: {_shown(names)}. Reorder them with "
            f"X[[*X.columns[{half}:], *X.columns[:{half}]]], or pass X.to_numpy() "
            "where the labels mean the halves as they stand."
        )


def names_for(left: list[Any], known: list[str] | None) -> list[Any]:
    """Return the names of the left half as a model knows them.

    Parameters
    ----------
    left : list
        As they are in X.
    known : list of str or None
        Names that the model was fitted on, where it knows any.

    Returns
    -------
    names : list
        Without what marks the side, where the rest are the names that are known; as
        they are, where they are known or nothing helps.
    """
    if not known or not left or not all(isinstance(name, str) for name in left):
        return left
    # The mark is as long in every name; it may stand in front, at the end, or both.
    length = (len("".join(left)) - len("".join(known))) // len(left)
    for front in range(length + 1):
        bare = [name[front : len(name) - length + front] for name in left]
        if sorted(bare) == sorted(known):
            return bare
    return left


def _in_turns(names: list[str], turned: bool) -> str:
    # Where each right one stands before its left one, the remedy turns them, too.
    first, second = (1, 0) if turned else (0, 1)
    starts = ["1" if start else "" for start in (first, second)]
    return (
        "X must have all columns of the left item and then all of the right one, got "
        f"them in turns: {_shown(names)}. Reorder them with "
        f"X[[*X.columns[{starts[0]}::2], *X.columns[{starts[1]}::2]]]: "
        f"{_shown(names[first::2] + names[second::2])}."
    )


def _counted(names: list[str]) -> bool:
    """Tell names that differ by nothing but a number at the end."""
    parts = [re.fullmatch(r"(.*?)\d+", name, re.DOTALL) for name in names]
    return all(parts) and len({part[1] for part in parts if part}) == 1


def _marks_of(left: list[str], right: list[str]) -> _Marks | None:
    """Return the clearest marks but for which the names of two sides are the same.

    None if there are none. A mark is a front, an end, or one side's front and the
    other's end.
    """
    # The shortest fronts that make the first two names equal; longer ones do no better.
    end = _shared(reversed(left[0]), reversed(right[0]))
    fronts = [(0, 0), (len(left[0]) - end, len(right[0]) - end)]
    fronts += [(length, 0) for length in range(1, _shared(*left) + 1)]
    fronts += [(0, length) for length in range(1, _shared(*right) + 1)]
    for front in fronts:
        marks = _marks(left, right, front)
        if marks is not None:
            # Left and right end alike: a front may go on to the end of its word.
            rest = re.match(r"[^\W_]*", left[0][front[0] :])
            word = rest[0] if rest and all(front) else ""
            whole = _Marks(*(mark + word for mark in marks))
            return max(marks, whole, key=lambda some: some.clarity)
    return None


def _step(left: str, right: str) -> int:
    """Return by how much the right's one own letter or digit comes after the left's."""
    same = _shared(left, right)
    one, other = left[same:], right[same:]
    return ord(other) - ord(one) if len(one) == len(other) == 1 else 0


def _marks(left: list[str], right: list[str], front: tuple[int, int]) -> _Marks | None:
    """Return what is left over of the first names if fronts of some lengths go."""
    if any(
        len({name[:length] for name in names}) > 1
        for names, length in zip((left, right), front, strict=True)
    ):
        return None
    same = _shared(left[0][front[0] :], right[0][front[1] :])
    ends = left[0][front[0] + same :], right[0][front[1] + same :]
    for one, other in zip(left, right, strict=True):
        if not (one.endswith(ends[0]) and other.endswith(ends[1])):
            return None
        if (
            one[front[0] : len(one) - len(ends[0])]
            != (other[front[1] : len(other) - len(ends[1])])
        ):
            return None
    return _Marks(
        *(
            f"{end} {name[:length]}"
            for name, length, end in zip((left[0], right[0]), front, ends, strict=True)
        )
    )


def _mismatch(left: list[str], right: list[str]) -> str:
    for one in _bare(left):
        for other in _bare(right):
            if sorted(one) == sorted(other):
                order = [right[other.index(name)] for name in one]
                return (
                    "X must have the features of both halves in the same order, got "
                    f"{_shown(left)} on the left and {_shown(right)} on the right. "
                    f"Reorder the columns of the right half: {_shown(order)}."
                )
    return (
        "X must have the names of the left half again in the right half, but for what "
        "marks the side, as in age, bmi, age_right, bmi_right, got "
        f"{_shown(left)} and {_shown(right)}. Rename the columns, or pass an array, "
        "whose columns count by their positions."
    )


def _bare(names: list[str]) -> list[list[str]]:
    """Return names as they are, without their common front, and without their end."""
    front = _shared(*names)
    end = _shared(*(reversed(name) for name in names))
    return [
        names,
        [name[front:] for name in names],
        [name[: len(name) - end] for name in names],
    ]


def _shared(*letters: Iterable[str]) -> int:
    """Return how many letters all begin with."""
    same = takewhile(lambda some: len(set(some)) == 1, zip(*letters, strict=False))
    return sum(1 for _ in same)


def _shown(names: list[str]) -> str:
    return f"{names[:_SHOWN]}" + " and so on" * (len(names) > _SHOWN)
