"""Check that the column names of the two halves of X match."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from skrank_abstain._validation import listed

#: Words for the left and the right side, the clearest first; the left may have none.
_SIDES = [("left", "right"), ("l", "r"), ("first", "second"), ("1", "2")]
_SIDES += [("a", "b"), ("x", "y")]


def check_halves(names: list[str]) -> None:
    """Refuse column names that are not a left half followed by the same right half.

    The names of a half may share one prefix or one suffix, which tells the sides
    apart. Nothing is reordered: labels refer to the halves as they stand.

    Parameters
    ----------
    names : list of str
        Of all columns, an even number.

    Raises
    ------
    ValueError
        If the halves do not match, alternate column by column, or are swapped.

    Notes
    -----
    Numbered names, such as 0, 1, 2 or x0, x1, x2, say nothing and pass. Four columns
    can be read both ways, as ``a_left, a_right, b_left, b_right``: the reading with the
    clearer words for sides counts, and without such words the names are refused.
    """
    half = len(names) // 2
    if len({name.rstrip("0123456789") for name in names}) == 1 and all(
        name[-1:].isdecimal() for name in names
    ):
        return
    unclear = len(_SIDES), False
    rank, swapped = alternating, turned = unclear
    matching = half == 1 or _match(names[:half], names[half:])
    if matching:
        rank, swapped = _sides(names[0], names[half])
    if half > 1 and _match(names[::2], names[1::2]):
        alternating, turned = _sides(names[0], names[1])
        if matching and rank == alternating:
            raise ValueError(
                "X must have column names that say which item they are of, got "
                f"{listed(names)}, which may be two halves or alternate. Mark the "
                "sides, as in age_left, bmi_left, age_right, bmi_right."
            )
        if not matching or alternating < rank:
            # Where each right one stands before its left one, the remedy turns them.
            first, second = ("1", "") if turned else ("", "1")
            ordered = names[int(first or 0) :: 2] + names[int(second or 0) :: 2]
            raise ValueError(
                "X must have all columns of the left item and then all of the right "
                f"one, got columns that alternate: {listed(names)}. Reorder them with "
                f"X[[*X.columns[{first}::2], *X.columns[{second}::2]]]: "
                f"{listed(ordered)}."
            )
    if not matching:
        raise ValueError(
            "X must have the same names in both halves, in the same order, but for one "
            "prefix or suffix a side, as in age, bmi, age_right, bmi_right, got "
            f"{listed(names[:half])} and {listed(names[half:])}. Rename or reorder the "
            "columns, or pass X.to_numpy(), whose columns count by their positions."
        )
    if swapped:
        raise ValueError(
            "X must have all columns of the left item and then all of the right one, "
            f"got the right one first: {listed(names)}. Reorder them with "
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
        Without the prefix or suffix of the side, if the model knows the names that
        remain; unchanged otherwise.
    """
    if known and left and all(isinstance(name, str) for name in left):
        for bare in sorted(_stripped(left)):
            if sorted(bare) == sorted(known):
                return list(bare)
    return left


def _match(left: list[str], right: list[str]) -> bool:
    """Return whether names are equal but for one prefix or suffix of each side."""
    return not _stripped(left).isdisjoint(_stripped(right))


def _stripped(names: list[str]) -> set[tuple[str, ...]]:
    """Return names without any prefix, or any suffix, that all of them share."""
    ways = {tuple(names)}
    for length in range(1, len(names[0])):
        prefix, suffix = names[0][:length], names[0][-length:]
        if all(name.startswith(prefix) for name in names):
            ways.add(tuple(name[length:] for name in names))
        if all(name.endswith(suffix) for name in names):
            ways.add(tuple(name[:-length] for name in names))
    return {way for way in ways if all(way)}


def _sides(one: str, other: str) -> tuple[int, bool]:
    """Return how clear the words are that tell two names apart, and if they swap.

    0 for left and right, `len(_SIDES)` for words that name no side.
    """
    words = [Counter(re.findall(r"[a-z]+|\d+", name.lower())) for name in (one, other)]
    found = tuple(" ".join(words[k] - words[1 - k]) for k in (0, 1))
    for rank, (left, right) in enumerate(_SIDES):
        if found in ((left, right), ("", right)):
            return rank, False
        if found in ((right, left), (right, "")):
            return rank, True
    return len(_SIDES), False
