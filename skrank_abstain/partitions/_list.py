"""A list of frames or arrays, in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skrank_abstain._validation import names_of_columns, refuse_lazy
from skrank_abstain.partitions._protocol import attempt, checked, own


class ListPartitions:
    """Partitions in this process: what a list holds, or what a task made of others.

    Parameters
    ----------
    parts : list
    """

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order."""
        return checked(
            attempt(task, part, *own(args, number))
            for number, part in enumerate(self._parts)
        )

    def keep(self, task: Callable[..., Any], *args: Any) -> ListPartitions:
        """Return partitions that hold ``task(partition, *args)``, in this process."""
        return ListPartitions(self.map(task, *args))

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> list[Any]:
        """Return the frames ``task(partition, *args)`` as a list."""
        return self.map(task, *args)


def check_list(parts: list[Any]) -> list[Any]:
    """Return a list of frames or of ``(X, y, qid)``, or say what else is in it.

    Raises
    ------
    ValueError
        If the list is empty.
    TypeError
        If it holds anything else.
    """
    if not parts:
        raise ValueError(
            "frame must hold at least one partition, got an empty list; one without "
            "rows may be among them."
        )
    for number, part in enumerate(parts):
        if isinstance(part, tuple) and len(part) == 3:
            continue
        n_rows, *_ = getattr(part, "shape", (None,))
        # Dask, too, has columns, but does not know how many rows.
        if isinstance(n_rows, int) and names_of_columns(part) is not None:
            continue
        refuse_lazy(part, f"frame[{number}]")
        raise TypeError(
            f"frame must be a list of data frames or of tuples (X, y, qid), got a "
            f"{type(part).__name__} as frame[{number}]."
        )
    return parts
