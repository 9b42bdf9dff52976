"""Dask: a task for each partition of a frame, on threads or on a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from skrank_abstain._kernels.threads import one_thread
from skrank_abstain.partitions._protocol import attempt, checked, own, result_of


class DaskPartitions:
    """The partitions of a Dask DataFrame, in its order.

    Tasks run where ``frame.compute()`` would: on the cluster of the newest
    ``distributed.Client``, otherwise on threads of this process. Kept results lie in
    the memory of the workers, and are computed again if one dies.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        It must give the same rows in the same order each time; ``persist`` it if that
        is in doubt.
    """

    def __init__(self, frame: Any) -> None:
        self._parts: list[Any] = frame.to_delayed()

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order."""
        from dask import compute

        with _without_size_warning():
            return checked(compute(*self._apply(_attempt, _Call(task, args))))

    def keep(self, task: Callable[..., Any], *args: Any) -> Self:
        """Return partitions that hold ``task(partition, *args)``, computed once."""
        from dask import persist

        kept = type(self).__new__(type(self))
        with _without_size_warning():
            kept._parts = list(persist(*self._apply(_attempt, _Call(task, args))))
        return kept

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        """Return the frames ``task(partition, *args)`` as one lazy Dask DataFrame."""
        from dask.dataframe import from_delayed

        parts = self._apply(_attempt_or_raise, _Call(task, args))
        # No column is compared: tasks return the right ones.
        return from_delayed(parts, meta=like, verify_meta=False)

    def _apply(self, run: Callable[..., Any], call: _Call) -> list[Any]:
        from dask import delayed

        # All tasks share one node of the graph: a worker gets it once, whatever its
        # size. `traverse=False`: Dask does not search it for its own frames.
        # `pure=False`: no result of another call is reused.
        shared = delayed(call, pure=False, traverse=False)
        lazy = delayed(run, pure=False)
        return [lazy(shared, part, number) for number, part in enumerate(self._parts)]


@dataclass(frozen=True)
class _Call:
    """A task and its arguments: opaque to Dask, which would take tuples apart."""

    task: Callable[..., Any]
    args: tuple[Any, ...]


def _attempt(call: _Call, partition: Any, number: int) -> Any:
    with one_thread():
        return attempt(call.task, partition, *own(call.args, number))


def _attempt_or_raise(call: _Call, partition: Any, number: int) -> Any:
    return result_of(number, _attempt(call, partition, number))


@contextmanager
def _without_size_warning() -> Iterator[None]:
    """Silence Dask's warning of large graphs: the model is shared, as it advises."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield
