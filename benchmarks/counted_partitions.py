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

from skrank_abstain.partitions._engines import ListPartitions

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
    """What was asked of all partitions."""

    task: str
    bytes_back: int
    cpu_seconds: float


class Elsewhere:
    """Partitions in another process, which is told what to do; ``rounds`` grows."""

    def __init__(self, pipe: Any, rounds: list[Round]) -> None:
        self._pipe, self._rounds = pipe, rounds

    def map(self, task: Callable[..., Any], *args: Any, own: Any = None) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition."""
        self._pipe.send((task, args, own))
        answers, cpu_seconds = self._pipe.recv()
        size = sum(map(len, answers))
        name = getattr(task, "func", task).__name__.strip("_")
        self._rounds.append(Round(name, size, cpu_seconds))
        return [pickle.loads(each) for each in answers]


class Simulated(ListPartitions):
    """Partitions that are simulated when they are read, one at a time."""

    def _read(self) -> Iterator[Any]:
        return (part.simulate() for part in self._parts)


def _serve(pipe: Any, parts: list[Rows]) -> None:
    """Do what `Elsewhere` asks, until it is None."""
    held = ListPartitions([part.simulate() for part in parts])
    while (message := pipe.recv()) is not None:
        task, args, own = message
        start = time.process_time()
        found = held.map(task, *args, own=own)
        cpu_seconds = time.process_time() - start
        pipe.send(([pickle.dumps(each) for each in found], cpu_seconds))


def found_by_calibrate(partitions: Any) -> Any:
    """Let `calibrate` find these partitions, whatever frame it gets."""
    adapter = "skrank_abstain.partitions._engines.as_partitions"
    return mock.patch(adapter, return_value=partitions)


@contextmanager
def elsewhere(parts: list[Rows]) -> Iterator[list[Round]]:
    """Let `calibrate` ask another process; yield the list of its rounds."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there, parts), daemon=True)
    server.start()
    rounds: list[Round] = []
    with found_by_calibrate(Elsewhere(here, rounds)):
        yield rounds
    here.send(None)
    server.join()
