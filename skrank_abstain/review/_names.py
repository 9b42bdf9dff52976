"""Names of queries, items and pairs, as files and tables of answers write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from hashlib import sha256
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

_FLOAT = re.compile(r"-?\d+\.0")
_DATE = re.compile(r"\d{4}-[01]\d-[0-3]\d([ T][0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?)?")
#: A letter first: spreadsheets take some hexadecimal texts for numbers.
_PAIR_ID = re.compile("p[0-9a-f]{15}")
#: Pairs whose ids are looked through for one whose items are not recognised.
_MOST_PAIRS = 1_000_000


def as_text(value: Any) -> str:
    """Return an identifier as text; files and frames write the same one differently."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    text = value.isoformat() if isinstance(value, date) else str(value)
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


class NamedPair(NamedTuple):
    """Rows of X of the left and of the right item, as shown."""

    left: int
    right: int


def pairs_by_id(
    queries: Iterable[tuple[str, dict[str, int]]],
) -> dict[str, NamedPair]:
    """Return the pairs of queries by their ids; none where there are too many.

    Parameters
    ----------
    queries : iterable of (str, dict)
        Name of each query, and the rows of its items by name.

    Notes
    -----
    O(n_pairs), some microseconds each.
    """
    given = list(queries)
    if sum(len(items) * (len(items) - 1) // 2 for _, items in given) > _MOST_PAIRS:
        return {}
    return dict(_pairs(given))


def _pairs(
    queries: list[tuple[str, dict[str, int]]],
) -> Iterator[tuple[str, NamedPair]]:
    for qid, items in queries:
        for one, other in combinations(items, 2):
            name, left, right = pair_id(qid, one, other)
            yield name, NamedPair(items[left], items[right])
