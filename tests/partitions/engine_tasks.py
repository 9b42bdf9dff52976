"""Tasks for partitions, in a module that the workers of an engine can import."""

import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

QUERY = "q"


def describe(partition, *args):
    """What a task is given: its kind, the rows in their order, the arguments."""
    kinds = {name: str(dtype) for name, dtype in partition.dtypes.items()}
    return type(partition).__name__, kinds, partition.to_dict("list"), args


def total(partition, column, factor=1):
    return len(partition), float(partition[column].sum()) * factor


def described(partition, given, own):
    return len(partition), given, own


def frame_of(partition, factor):
    return pd.DataFrame(
        {
            "query": partition[QUERY].astype(np.int64),
            "value": partition["x"] * factor,
            "high": partition["x"] > 1,
            "name": [f"item {x:g}" for x in partition["x"]],
        }
    ).astype({"name": "str"})


LIKE = pd.DataFrame(
    {
        "query": np.empty(0, np.int64),
        "value": np.empty(0, np.float64),
        "high": np.empty(0, bool),
        "name": pd.Series([], dtype="str"),
    }
)


def fail_at(partition, query, error):
    """Raise ``error`` where the partition holds a query."""
    if (partition[QUERY] == query).any():
        raise error
    return partition


class OddError(ValueError):
    """An error that comes out of a pickle as another one."""

    def __init__(self, column, rule):
        super().__init__(f"{column} must be {rule}")


def fail_oddly(partition):
    raise OddError("x", "even")


def noted(partition, folder):
    """Leave a file for each time that a partition is worked on."""
    note(folder)
    return partition


def note(folder):
    Path(folder, str(time.perf_counter_ns())).touch()


def end_once(partition, folder, query):
    """End the worker that holds a query, the first time that it is asked."""
    mark = Path(folder, "ended")
    if (partition[QUERY] == query).any() and not mark.exists():
        mark.touch()
        os._exit(1)
    time.sleep(0.05)
    return total(partition, "x")


@dataclass(frozen=True)
class Counted:
    """An argument that leaves a file each time that it arrives somewhere."""

    folder: str

    def __reduce__(self):
        return _arrived, (self.folder, bytes(20_000_000))


def _arrived(folder, load):
    note(folder)
    return Counted(folder)


def items(n_queries, n_items=4, seed=0):
    """Items of queries that lie together; the queries count from 0."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_items
    return pd.DataFrame(
        {
            QUERY: np.repeat(np.arange(n_queries), n_items),
            "x": rng.normal(size=n).round(3),
            "name": [f"n{i}" for i in range(n)],
        }
    )


def itself(partition):
    return partition


def ignore(partition, *args):
    return len(partition)


def types_of(partition, *args):
    return [type(arg).__name__ for arg in args]


def cells(partition, column):
    return list(partition[column])


def days(partition):
    return pd.DataFrame({"a.b`": pd.date_range("2020-01-01", periods=len(partition))})


ITEMS = items(24)
#: The first query of each partition: they are uneven, one is empty.
STARTS = [0, 5, 6, 6, 15, 24]
PIECES = [
    ITEMS[ITEMS[QUERY].between(start, stop - 1)].reset_index(drop=True)
    for start, stop in itertools.pairwise(STARTS)
]


def piece(number):
    return PIECES[number]


def expected(task, *args):
    """What a task returns for each piece."""
    return [task(part, *args) for part in PIECES]
