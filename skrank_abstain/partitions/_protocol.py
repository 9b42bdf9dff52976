"""The interface of an engine: run one function on each partition, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol


class Partitions(Protocol):
    """Data in parts, each of which fits into the memory of one process.

    A task is a function of a module, or a `functools.partial` of one; its arguments and
    its result can be pickled. It is called through `attempt`, with its `own` arguments.
    """

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order."""

    def keep(self, task: Callable[..., Any], *args: Any) -> Partitions:
        """Return partitions that hold ``task(partition, *args)``, where they lie."""

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        """Return the frames ``task(partition, *args)`` as a frame of the engine.

        ``like`` is an empty pandas frame with the columns and dtypes of each.
        """


@dataclass(frozen=True)
class Each:
    """An argument with a value of its own for each partition."""

    values: list[Any]


def own(args: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """Return the arguments of one partition."""
    return tuple(a.values[number] if isinstance(a, Each) else a for a in args)


@dataclass(frozen=True)
class Failed:
    """The error that a task raised, in place of its result.

    An engine would retry a task that fails the same way each time, and bury the reason
    under a trace of its own.
    """

    error: Exception

    def __reduce__(self) -> tuple[Any, ...]:
        # Not all errors can be pickled: the kind and the text go between processes.
        return Failed, (_plain(self.error),)


def attempt(task: Callable[..., Any], partition: Any, *args: Any) -> Any:
    """Return ``task(partition, *args)``, or the error that it raised."""
    if isinstance(partition, Failed):
        return partition
    try:
        return task(partition, *args)
    except Exception as error:
        return Failed(error)


def checked(results: Iterable[Any]) -> list[Any]:
    """Return the results of all partitions, or raise the first error among them."""
    return [result_of(number, result) for number, result in enumerate(results)]


def result_of(number: int, result: Any) -> Any:
    """Return a result, or raise the error with the number of the partition.

    A ValueError or a TypeError stays one; any other becomes a RuntimeError.
    """
    if not isinstance(result, Failed):
        return result
    error = _plain(result.error)
    raise type(error)(f"partition {number}: {error}") from result.error


def _plain(error: Exception) -> Exception:
    for kind in (ValueError, TypeError, RuntimeError):
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")
