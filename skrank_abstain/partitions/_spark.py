"""Spark: a task for each partition of a frame, read as one pandas frame."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Self

from skrank_abstain._kernels.threads import one_thread
from skrank_abstain.partitions._protocol import attempt, checked, own, result_of

#: Arrow's and Spark's types of a column, by the kind of its dtype; others are text.
_TYPES = {
    "b": ("bool", "boolean"),
    "i": ("int64", "bigint"),
    "f": ("float64", "double"),
    "M": ("timestamp[us]", "timestamp_ntz"),
}


class SparkPartitions:
    """The partitions of a Spark DataFrame, in its order.

    Kept results lie in the executors' memory and on their disks, and are computed again
    if one is lost. Spark itself broadcasts a task of more than 1 MB.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        It must give the same rows in the same order each time; after a shuffle
        ``persist`` it, or write it and read it again.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = _in_plain_columns(frame)
        # Spark passes nothing of an empty partition, not even the columns.
        empty = self._frame.limit(0).toArrow()
        self._read: Callable[..., Any] = partial(_to_pandas, frame.columns, empty)

    def map(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order."""
        rows = self._pickled(task, args).collect()
        return checked(pickle.loads(row[0]) for row in rows)

    def keep(self, task: Callable[..., Any], *args: Any) -> Self:
        """Return partitions that hold ``task(partition, *args)``, computed once."""
        from pyspark.storagelevel import StorageLevel

        kept = type(self).__new__(type(self))
        kept._frame = self._pickled(task, args).persist(StorageLevel.MEMORY_AND_DISK)
        kept._read = _unpickle
        # Spark would hold it for as long as the session lives.
        weakref.finalize(kept, _release, kept._frame).atexit = False
        return kept

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        """Return the frames ``task(partition, *args)`` as one lazy Spark DataFrame."""
        import pyarrow as pa

        types = [_TYPES.get(dtype.kind, ("string", "string")) for dtype in like.dtypes]
        schema = pa.schema([(f"c{n}", arrow) for n, (arrow, _) in enumerate(types)])
        sql = ", ".join(f"c{n} {spark}" for n, (_, spark) in enumerate(types))
        read = self._read

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            found = result_of(*_run(task, read(batches), args))
            table = pa.Table.from_pandas(found.set_axis(schema.names, axis=1), schema)
            yield from table.to_batches(max_chunksize=65_536)

        return self._frame.mapInArrow(run, sql).toDF(*like.columns)

    def _pickled(self, task: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        read = self._read

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            import pyarrow as pa

            result = pickle.dumps(_run(task, read(batches), args)[1])
            yield pa.record_batch({"pickled": pa.array([result], pa.binary())})

        return self._frame.mapInArrow(run, "pickled binary")


def _run(task: Callable[..., Any], part: Any, args: tuple[Any, ...]) -> tuple[int, Any]:
    """Return the number of the current partition, and the result."""
    from pyspark import TaskContext

    number = TaskContext.get().partitionId()
    with one_thread():
        return number, attempt(task, part, *own(args, number))


def _in_plain_columns(frame: Any) -> Any:
    """Return the frame with arrays instead of vectors, which Arrow does not know."""
    from pyspark.ml.functions import vector_to_array

    # Numbered: Spark would take a dot in a name for a field.
    plain = frame.toDF(*[f"c{number}" for number in range(len(frame.columns))])
    vectors = [f.name for f in plain.schema if type(f.dataType).__name__ == "VectorUDT"]
    return plain.withColumns({name: vector_to_array(plain[name]) for name in vectors})


def _to_pandas(names: list[str], empty: Any, batches: Iterable[Any]) -> Any:
    found = list(batches)
    table = empty.from_batches(found) if found else empty
    return table.rename_columns(names).to_pandas()


def _unpickle(batches: Iterable[Any]) -> Any:
    (batch,) = batches  # to the end: else Spark starts a new process for the next task
    return pickle.loads(batch.column(0)[0].as_buffer())


def _release(frame: Any) -> None:
    with suppress(Exception):  # the session may have ended
        frame.unpersist()
