"""What an engine has to do: run one function on each partition, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol


class Partitions(Protocol):
    """Data in parts, each of which fits into the memory of one process.

    A task is a function of a module, or a `functools.partial` of one, and what it is
    given and returns can be pickled. It is called through `attempt`, with its `own`
    arguments.
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
    """An argument of which each partition is given its own."""

    values: list[Any]


def own(args: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """Return the arguments of one partition."""
    return tuple(a.values[number] if isinstance(a, Each) else a for a in args)


@dataclass(frozen=True)
class Failed:
    """What a task raised, instead of its result.

    An engine would try again what fails the same way each time, and bury the reason
    under a trace of its own.
    """

    error: Exception

    def __reduce__(self) -> tuple[Any, ...]:
        # Between processes its kind and text are left: not all errors can be pickled.
        return Failed, (_plain(self.error),)


def attempt(task: Callable[..., Any], partition: Any, *args: Any) -> Any:
    """Return ``task(partition, *args)``, or why there is none."""
    if isinstance(partition, Failed):
        return partition
    try:
        return task(partition, *args)
    except Exception as error:
        return Failed(error)


def checked(results: Iterable[Any]) -> list[Any]:
    """Return the results of all partitions, or raise what the first one raised.

    Raises
    ------
    ValueError, TypeError
        If it raised one, with the number of the partition.
    RuntimeError
        If it raised anything else.
    """
    return [result_of(number, result) for number, result in enumerate(results)]


def result_of(number: int, result: Any) -> Any:
    """Return the result of the partition of this number, or raise what it raised."""
    if not isinstance(result, Failed):
        return result
    error = _plain(result.error)
    raise type(error)(f"partition {number}: {error}") from result.error


def _plain(error: Exception) -> Exception:
    for kind in (ValueError, TypeError, RuntimeError):
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")
