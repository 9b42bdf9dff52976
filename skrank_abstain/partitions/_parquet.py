"""Parquet as partitions of whole queries, one of them in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import IntArray, shown
from skrank_abstain.partitions._list import ListPartitions
from skrank_abstain.partitions._parquet_files import ParquetFiles
from skrank_abstain.partitions._protocol import result_of
from skrank_abstain.partitions._queries import find_split_query, runs_of

#: Largest number of rows of a partition, unless one query has more.
ROWS = 262_144


class ParquetPartitions(ListPartitions):
    """Parquet files, cut between queries.

    The queries are read once, to see where to cut; each task reads the other columns.

    Parameters
    ----------
    source : str, PathLike or pyarrow.dataset.Dataset
    qid : str
        Column of the queries; the rows of each must follow each other.
    columns : iterable of str, default=None
        Columns to read besides; None: all but the index of pandas.
    """

    def __init__(
        self, source: Any, qid: str | None, columns: Iterable[str] | None = None
    ) -> None:
        if qid is None:
            raise ValueError("qid must name the column to cut files by, got None.")
        self._files = ParquetFiles(source, qid, columns)
        self._sizes = _sizes(_starts_of_queries(self._files, qid))

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Iterator[Any]:
        """Yield the frames ``task(partition, *args)``."""
        for number, result in enumerate(self._results(task, *args)):
            yield result_of(number, result)

    def _read(self) -> Iterator[Any]:
        batches = self._files.batches()
        held: list[Any] = []
        for size in self._sizes:
            while sum(batch.num_rows for batch in held) < size:
                _, batch = next(batches, (None, None))
                if batch is None:
                    raise ValueError(
                        "frame must not change while it is read, got fewer rows than "
                        "when its queries were counted."
                    )
                held.append(batch)
            yield self._files.take(held, size)


def _starts_of_queries(files: ParquetFiles, qid: str) -> IntArray:
    """Return the first row of each query, and the number of rows at the end."""
    ids: list[NDArray[Any]] = []
    starts, paths, n_rows = [], [], 0
    for path, batch in files.batches([qid]):
        try:
            runs, firsts = runs_of(np.asarray(batch[qid].to_pandas()), batch.num_rows)
        except ValueError as error:
            where = f"{path!r}, from row {n_rows} of all files on"
            raise ValueError(f"{where}: {error}") from error
        if ids and runs.size and runs[0] == ids[-1][-1]:  # goes on
            runs, firsts = runs[1:], firsts[1:]
        if runs.size:
            ids.append(runs)
            starts.append(firsts + n_rows)
            paths.append(path)
        n_rows += batch.num_rows
    if split := find_split_query(ids):
        value, first, second = split
        raise ValueError(
            "frame must have the rows of each query one after another, got query "
            f"{shown(value)} in {paths[first]!r} and, behind other queries, in "
            f"{paths[second]!r}; sort the rows by {qid!r}."
        )
    return np.concatenate([*starts, [n_rows]])


def _sizes(starts: IntArray) -> list[int]:
    """Return the rows of each partition: up to `ROWS`, or one longer query."""
    cuts, n_rows = [0], int(starts[-1])
    while cuts[-1] < n_rows:
        end_of_query, too_far = np.searchsorted(
            starts, [cuts[-1], cuts[-1] + ROWS], side="right"
        )
        cuts.append(int(starts[max(end_of_query, too_far - 1)]))
    return np.diff(cuts).tolist() or [0]
