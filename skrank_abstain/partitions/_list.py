"""A list of frames or arrays, in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from skrank_abstain._validation import names_of_columns, refuse_lazy
from skrank_abstain.partitions._protocol import attempt, checked, own


class ListPartitions:
    """Partitions in this process: the entries of a list, or results of a task."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order."""
        return checked(self._results(task, *args))

    def keep(self, task: Callable[..., Any], *args: Any) -> ListPartitions:
        """Return partitions that hold ``task(partition, *args)``, in this process."""
        return ListPartitions(self.map(task, *args))

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        """Return the frames ``task(partition, *args)`` as a list."""
        return self.map(task, *args)

    def _results(self, task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        def result(number: int, part: Any) -> Any:
            return attempt(task, part, *own(args, number))

        # The variable of a loop would hold a partition while the next one is read.
        return map(result, count(), self._read())

    def _read(self) -> Iterable[Any]:
        """Return the partitions."""
        return self._parts


def check_list(parts: list[Any]) -> list[Any]:
    """Return the list if it holds frames or tuples ``(X, y, qid)``, or raise."""
    if not parts:
        raise ValueError(
            "frame must hold at least one partition, got an empty list; one without "
            "rows may be among them."
        )
    for number, part in enumerate(parts):
        if isinstance(part, tuple) and len(part) == 3:
            continue
        n_rows, *_ = getattr(part, "shape", (None,))
        # A Dask frame has columns, too, but no number of rows.
        if isinstance(n_rows, int) and names_of_columns(part) is not None:
            continue
        refuse_lazy(part, f"frame[{number}]")
        raise TypeError(
            f"frame must be a list of data frames or of tuples (X, y, qid), got a "
            f"{type(part).__name__} as frame[{number}]."
        )
    return parts
