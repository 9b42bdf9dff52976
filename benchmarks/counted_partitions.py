"""A simulated log in partitions that another process holds, and what it is asked.

Used by ``benchmarks/partitions.py``.
"""

import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

#: Items of a query, about.
SIZE = 150


class Rows(NamedTuple):
    """Queries ``start`` to ``stop`` (exclusive) of a log without end."""

    start: int
    stop: int

    def simulate(self, n_features: int = 1) -> tuple[np.ndarray, ...]:
        """Return X, whose first column are the scores, y and qid."""
        rng = np.random.default_rng(self.start)
        sizes = rng.integers(SIZE * 5 // 6, SIZE * 7 // 6 + 1, self.stop - self.start)
        qid = np.repeat(np.arange(self.start, self.stop), sizes)
        utility = rng.normal(size=qid.size)
        X = rng.normal(size=(qid.size, n_features)).astype(np.float32)
        X[:, 0] = utility + 0.5 * X[:, 0]
        noisy = utility + rng.logistic(size=qid.size)
        return X, np.searchsorted([0.2, 1.0, 2.0, 3.0], noisy).astype(float), qid

    def frame(self, n_features: int = 1) -> Any:
        """Return a pandas frame."""
        import pandas as pd

        X, y, qid = self.simulate(n_features)
        frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_features)])
        return frame.assign(y=y, q=qid)


def uneven(n_queries: int, n_parts: int) -> list[Rows]:
    """Cut queries anywhere."""
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.choice(np.arange(1, n_queries), n_parts - 1, replace=False))
    return [Rows(a, b) for a, b in pairwise([0, *cuts.tolist(), n_queries])]


def even(n_queries: int, n_parts: int) -> list[Rows]:
    """Cut queries into parts of as many."""
    step = n_queries // n_parts
    return [Rows(k * step, (k + 1) * step) for k in range(n_parts)]


def joined(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Put partitions one after the other."""
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


class Round(NamedTuple):
    """What was asked of all partitions: ``map`` or ``keep``."""

    what: str
    task: str
    bytes_back: int
    cpu_seconds: float


class Elsewhere:
    """Partitions of a list in another process, which is told what to do.

    Parameters
    ----------
    pipe : Connection
    rounds : list of Round
        Grows.
    number : int
        What the other process calls them.
    """

    def __init__(self, pipe: Any, rounds: list[Round], number: int = 0) -> None:
        self._pipe, self._rounds, self._number = pipe, rounds, number

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition."""
        return [pickle.loads(each) for each in self._ask("map", task, args)]

    def keep(self, task: Callable[..., Any], *args: Any) -> "Elsewhere":
        """Return partitions that hold ``task(partition, *args)``, there."""
        return Elsewhere(self._pipe, self._rounds, self._ask("keep", task, args))

    def _ask(self, what: str, task: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self._pipe.send((what, self._number, task, args))
        answer, cpu_seconds = self._pipe.recv()
        size = sum(map(len, answer)) if what == "map" else 0
        self._rounds.append(Round(what, _name(task, *args), size, cpu_seconds))
        return answer


def _name(*call: Any) -> str:
    """Return the name of the innermost function, or method, of a call."""
    tasks = [getattr(each, "func", each) for each in call if callable(each)]
    names = [task.__name__ for task in tasks]
    wrappers = ("_packed", "_on_part")
    return next(name for name in names if name not in wrappers).strip("_")


def _serve(pipe: Any, parts: list[Rows]) -> None:
    """Do what `Elsewhere` asks, until it is None."""
    from skrank_abstain.partitions._list import ListPartitions

    held = [ListPartitions([part.simulate() for part in parts])]
    while (message := pipe.recv()) is not None:
        what, number, task, args = message
        if number == 0:  # a new calibration
            del held[1:]
        start = time.process_time()
        found = getattr(held[number], what)(task, *args)
        cpu_seconds = time.process_time() - start
        if what == "keep":
            held.append(found)
            pipe.send((len(held) - 1, cpu_seconds))
        else:
            pipe.send(([pickle.dumps(each) for each in found], cpu_seconds))


@contextmanager
def elsewhere(parts: list[Rows]) -> Iterator[list[Round]]:
    """Let `calibrate` find these partitions; yield the list of its rounds."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there, parts), daemon=True)
    server.start()
    rounds: list[Round] = []
    adapter = "skrank_abstain.partitions._calibrate.as_partitions"
    with mock.patch(adapter, return_value=Elsewhere(here, rounds)):
        yield rounds
    here.send(None)
    server.join()
