"""Which queries a partition has, and whether each is in one place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import IntArray, encode_qid


def runs_of(qid: Any, n_items: int) -> tuple[NDArray[Any], IntArray]:
    """Return the runs of consecutive rows of one query.

    Parameters
    ----------
    qid : scalar or array-like of shape (n_items,)
    n_items : int

    Returns
    -------
    ids : ndarray of shape (n_runs,)
        The query of each; a query whose rows lie apart has several.
    starts : ndarray of shape (n_runs,), int64
        The first row of each.
    """
    codes, values = encode_qid(qid, n_items)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[:n_items])
    return values[codes[starts]], starts


def find_split_query(
    ids_by_partition: Sequence[NDArray[Any]],
) -> tuple[Any, int, int] | None:
    """Return the first query that comes again, and the partitions it lies in.

    Parameters
    ----------
    ids_by_partition : sequence of ndarray of shape (n_queries,)
        The queries of each partition, none of them missing. Types may differ: ids are
        told apart as Python does.

    Returns
    -------
    split : None or tuple (id, first, second)
        The id that is met again before any other is, in the order of the partitions,
        and the positions of its first two. They are the same if one partition names
        it twice. None: no id comes again.

    Notes
    -----
    O(n log n) by sorting where all ids are numbers of one kind, else O(n) by hashing.
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
    # As Python values, dates of some units are numbers, equal to true ones.
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()
