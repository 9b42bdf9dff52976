"""The queries of partitions, and whether each is in one place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import IntArray, encode_qid


def runs_of(qid: Any, n_items: int) -> tuple[NDArray[Any], IntArray]:
    """Return the runs of consecutive rows of one query.

    Returns
    -------
    ids : ndarray of shape (n_runs,)
        The query of each run; a query whose rows lie apart has several.
    starts : ndarray of shape (n_runs,), int64
        The first row of each run.
    """
    codes, values = encode_qid(qid, n_items)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[:n_items])
    return values[codes[starts]], starts


def find_split_query(
    ids_by_partition: Sequence[NDArray[Any]],
) -> tuple[Any, int, int] | None:
    """Return the first id that repeats, and the partitions it lies in; None if unique.

    Both partitions are the same if one has the id twice. Ids of several types are told
    apart as Python does. O(n log n) by sorting if all are numbers of one kind, O(n) by
    hashing otherwise.
    """
    kinds = {ids.dtype.kind for ids in ids_by_partition if ids.size}
    # Integers beside floats, or signed beside unsigned ones, would be rounded.
    if len(kinds) == 1 and kinds <= set("iufmM"):
        return _find_by_sorting(ids_by_partition)
    seen: dict[Hashable, int] = {}
    for number, ids in enumerate(ids_by_partition):
        for value in _python_values(ids):
            if value in seen:
                return value, seen[value], number
            seen[value] = number
    return None


def _find_by_sorting(
    ids_by_partition: Sequence[NDArray[Any]],
) -> tuple[Any, int, int] | None:
    ids = np.concatenate([ids for ids in ids_by_partition if ids.size])
    order = np.argsort(ids, kind="stable")
    again = order[1:][ids[order[1:]] == ids[order[:-1]]]
    if again.size == 0:
        return None
    row = again.min()
    ends = np.cumsum([ids.size for ids in ids_by_partition])
    both = [int(np.argmax(ids == ids[row])), int(row)]
    first, second = np.searchsorted(ends, both, side="right").tolist()
    return _python_values(ids[row : row + 1])[0], first, second


def _python_values(ids: NDArray[Any]) -> list[Any]:
    # `tolist()` turns dates of some units into bare integers.
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()
