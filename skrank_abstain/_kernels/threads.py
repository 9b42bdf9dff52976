"""Ranges of queries of equal cost, worked on by a pool of threads."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

#: Ranges per call, whatever the number of threads. More even out their costs.
MAX_RANGES = 64
#: Nanoseconds of work below which a range costs more than it saves.
MIN_COST = 3_000_000.0

_ALONE = ContextVar("_ALONE", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep kernels called within from starting threads.

    For tasks of an engine that already runs one task per CPU.
    """
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def n_threads() -> int:
    """Return the number of usable CPUs.

    ``OMP_NUM_THREADS`` bounds it, as it bounds scikit-learn and the boosters; joblib
    sets it in the processes that it starts, so that they share the CPUs.
    """
    if _ALONE.get():
        return 1
    # Under a batch system or taskset a process may use fewer CPUs than there are.
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    # The first number of a list is that of the outermost level; other text is ignored.
    bound = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(count, int(bound)) if bound.isdecimal() else count)


def split_by_cost(cost: NDArray[Any]) -> list[tuple[int, int]]:
    """Split positions into contiguous ranges of about equal cost.

    Parameters
    ----------
    cost : ndarray of shape (n,)
        Estimated nanoseconds of each position.

    Returns
    -------
    ranges : list of (start, stop)
        In order, without gaps; they depend on ``cost`` alone.
    """
    total = np.cumsum(cost, dtype=np.float64)
    if total.size == 0:
        return []
    # The ranges do not depend on the number of threads, so that sums over them, added
    # in order, are the same to the last bit.
    pieces = int(min(MAX_RANGES, total.size, 1 + total[-1] // MIN_COST))
    inner = np.searchsorted(total, total[-1] * np.arange(1, pieces) / pieces)
    bounds = np.unique(np.concatenate([[0], inner, [total.size]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def map_ranges(task: Callable[[int, int], Result], cost: NDArray[Any]) -> list[Result]:
    """Return ``task(start, stop)`` for each range of ``split_by_cost``, in order.

    The pool lives as long as the call (0.1 ms): no thread outlives it, so a process
    that forks afterwards, or calls from many threads at once, meets no shared state.
    """
    ranges = split_by_cost(cost)
    workers = min(n_threads(), len(ranges))
    if workers <= 1:
        return [task(start, stop) for start, stop in ranges]
    # Instead of numba's prange, whose threads outlive the call: they kill servers that
    # fork afterwards, and one of its threading layers aborts when called from two
    # threads at once.
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda bounds: task(*bounds), ranges))
