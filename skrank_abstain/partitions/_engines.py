"""Engines: run one function on each partition of a frame, in their order.

No engine is imported before a frame of it is passed.
"""

from __future__ import annotations

import os
import pickle
import re
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from glob import glob
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.threads import one_thread
from skrank_abstain._validation import (
    encode_qid,
    listed,
    names_of_columns,
    refuse_lazy,
    select_columns,
    shown,
)
from skrank_abstain._warnings import require

_ENGINES = {
    ("dask.dataframe", "DataFrame"): "dask",
    ("pyspark.sql", "DataFrame"): "spark",
    ("pyarrow._dataset", "Dataset"): "parquet",
}
#: Arrow's and Spark's types of a column, by the kind of its dtype; others are text.
_SPARK_TYPES = {
    "b": ("bool", "boolean"),
    "i": ("int64", "bigint"),
    "f": ("float64", "double"),
    "M": ("timestamp[us]", "timestamp_ntz"),
}
#: Largest number of rows of a partition, unless one query has more.
ROWS = 262_144
#: Rows that are decoded at a time.
_ROWS = 65_536
#: Bytes of each column that are read at a time.
_BUFFER = 1 << 18


class Partitions(ABC):
    """Data in parts, each of which fits into the memory of one process.

    A task is a function of a module, or a `functools.partial` of one; its arguments and
    its result can be pickled.
    """

    #: Into how many frames files are cut; of other engines the user knows.
    n_frames = 1

    def map(
        self, task: Callable[..., Any], *args: Any, own: list[Any] | None = None
    ) -> list[Any]:
        """Return ``task(partition, *args)`` of each partition, in their order.

        ``own`` holds one more argument for each partition.
        """
        return [*map(result_of, self._attempts(Call(task, args, own)))]

    @abstractmethod
    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        """Return the frames ``task(partition, *args)`` as a frame of the engine.

        ``like`` is an empty pandas frame with the columns and dtypes of each.
        """

    @abstractmethod
    def _attempts(self, call: Call) -> Iterable[Any]:
        """Return what the attempts of a call return, for each partition."""


def engine_of(frame: Any) -> str:
    """Return "list", "parquet", "dask" or "spark"; raise a TypeError otherwise."""
    if isinstance(frame, list):
        return "list"
    if isinstance(frame, str | os.PathLike):
        return "parquet"
    for kind in type(frame).__mro__:
        for (module, name), engine in _ENGINES.items():
            if kind.__name__ == name and kind.__module__.startswith(module):
                return engine
    raise TypeError(
        "frame must be a Dask or Spark DataFrame, the path or a pattern of Parquet "
        "files, a pyarrow Dataset of them, or a list of data frames or of tuples, "
        f"[(X, y, qid), ...], got a {type(frame).__name__}."
    )


def as_partitions(
    frame: Any, qid: str | None = None, columns: Iterable[Any] | None = None
) -> Partitions:
    """Return the partitions of a frame.

    Parameters
    ----------
    frame : Dask or Spark DataFrame, str, PathLike, pyarrow.dataset.Dataset or list
    qid : str, default=None
        Column of the queries; Parquet files are cut between them.
    columns : iterable, default=None
        The others that tasks need, where engines can skip the rest; None: all.
    """
    engine = engine_of(frame)
    if engine == "list":
        return ListPartitions(check_list(frame))
    if engine == "parquet":
        return ParquetPartitions(frame, qid, columns)
    if columns is not None and qid is not None:
        names = [*dict.fromkeys([*columns, qid])]
        require_columns(names, frame.columns)
        if engine == "spark":  # where a dot leads into a column
            names = ["`" + name.replace("`", "``") + "`" for name in names]
        frame = frame[names]
    return DaskPartitions(frame) if engine == "dask" else SparkPartitions(frame)


def check_partitions(frame: Any, *, qid: str | None = None) -> None:
    """Check that every query lies in one partition, in consecutive rows.

    Call it before a booster is trained on partitions: those that take the sizes of
    queries, such as LightGBM's DaskLGBMRanker, accept parts of queries and rows in
    another order without a word. `calibrate` does not need consecutive rows.

    Parameters
    ----------
    frame, qid
        As in `calibrate`. Each partition sends its distinct ids.

    Raises
    ------
    ValueError
        If a query lies in two partitions or in rows that do not follow each other, an
        id or the column is missing, or a Parquet file is damaged. Partitions count
        from 0.
    TypeError
        If ``frame`` is of an unknown kind, or ids are not hashable.

    Examples
    --------
    >>> from skrank_abstain.partitions import check_partitions
    >>> first = [[0.1], [0.7]], [0, 1], ["a", "a"]
    >>> second = [[0.4], [0.2], [0.3]], [1, 0, 2], ["b", "c", "c"]
    >>> check_partitions([first, second])
    >>> check_partitions([first, first])
    Traceback (most recent call last):
    ...
    ValueError: frame must have each query in one partition, got query 'a' in ...
    """
    found = as_partitions(frame, qid, ()).map(_queries_of, qid)
    refuse_split_queries([ids for ids, _ in found])
    for number, (_, apart) in enumerate(found):
        if apart is not None:
            raise ValueError(
                "frame must have the rows of each query one after another, got query "
                f"{shown(apart)} in partition {number} with others between. Sort each "
                "partition by query, as part.sort_values(qid) does."
            )


def refuse_split_queries(ids_by_partition: Sequence[NDArray[Any]]) -> None:
    """Raise a ValueError for the first query that lies in two partitions.

    Ids are the distinct ones of each partition.
    """
    if len({ids.dtype.kind for ids in ids_by_partition if ids.size}) > 1:
        every = [value for ids in ids_by_partition for value in _python_values(ids)]
        encode_qid(every, len(every))  # refuses 1 beside "1"
    split = find_split_query(ids_by_partition)
    if split is not None:
        value, first, second = split
        raise ValueError(
            f"frame must have each query in one partition, got query {shown(value)} in "
            f"partitions {first} and {second}. Call frame.shuffle(on=qid) in Dask, "
            "frame.repartition(n, qid) in Spark, or split the rows between queries; "
            "without qid all rows are one query. A tuple is (X, y, qid), in this order."
        )


def _queries_of(partition: Any, qid: str | None) -> tuple[NDArray[Any], Any]:
    """Return the distinct queries, and one whose rows lie apart or None."""
    X, _, ids = rows_of(partition, label=None, qid=qid, features=[])
    if ids is None:
        raise ValueError(
            "qid must name the column of the queries, or be the third of each tuple "
            "(X, y, qid), got None."
        )
    # A polars frame without columns has no rows.
    n_items = _num_samples(X) if isinstance(partition, tuple) else ids.size
    runs, _ = runs_of(ids, n_items)
    apart = find_split_query([runs])
    return (runs, None) if apart is None else (encode_qid(runs, runs.size)[1], apart[0])


def check_list(parts: list[Any]) -> list[Any]:
    """Return the list if it holds frames or tuples ``(X, y, qid)``, or raise."""
    if not parts:
        raise ValueError("frame must hold at least one partition, got an empty list.")
    for number, part in enumerate(parts):
        refuse_lazy(part, f"frame[{number}]")
        n_rows, *_ = getattr(part, "shape", (None,))
        # A Dask frame has columns, too, but no number of rows.
        is_frame = isinstance(n_rows, int) and names_of_columns(part) is not None
        if not is_frame and not (isinstance(part, tuple) and len(part) == 3):
            raise TypeError(
                "frame must be a list of data frames or of tuples (X, y, qid), got a "
                f"{type(part).__name__} as frame[{number}]. Of files: a pattern, or "
                "pyarrow.dataset.dataset(files)."
            )
    return parts


class ListPartitions(Partitions):
    """The entries of a list, in the memory of this process."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        return self.map(task, *args)

    def _attempts(self, call: Call) -> Iterable[Any]:
        # The variable of a loop would hold a partition while the next one is read.
        return map(call.attempt, count(), self._read())

    def _read(self) -> Iterable[Any]:
        """Return the partitions."""
        return self._parts


class ParquetPartitions(ListPartitions):
    """Parquet files, cut between queries.

    The queries are read once, to see where to cut; each task reads the other columns.

    Parameters
    ----------
    source : str, PathLike or pyarrow.dataset.Dataset
    qid : str
        Column of the queries; the rows of each must follow each other.
    columns : iterable of str, default=None
        Columns to read besides; None: all but the index of pandas.
    """

    def __init__(
        self, source: Any, qid: str | None, columns: Iterable[str] | None = None
    ) -> None:
        if qid is None:
            raise ValueError("qid must name the column to cut files by, got None.")
        self._files = ParquetFiles(source, qid, columns)
        self._sizes = _sizes(_starts_of_queries(self._files, qid))
        self.n_frames = len(self._sizes)

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Iterator[Any]:
        """Yield the frames ``task(partition, *args)``."""
        yield from map(result_of, self._attempts(Call(task, args)))

    def _read(self) -> Iterator[Any]:
        batches = self._files.batches()
        held: list[Any] = []
        for size in self._sizes:
            while sum(batch.num_rows for batch in held) < size:
                held.append(next(batches)[1])
            yield self._files.take(held, size)


def _starts_of_queries(files: ParquetFiles, qid: str) -> IntArray:
    """Return the first row of each query, and the number of rows at the end."""
    ids: list[NDArray[Any]] = []
    starts, paths, n_rows = [], [], 0
    for path, batch in files.batches([qid]):
        try:
            runs, firsts = runs_of(np.asarray(batch[qid].to_pandas()), batch.num_rows)
        except ValueError as error:
            where = f"{path!r}, from row {n_rows} of all files on"
            raise ValueError(f"{where}: {error}") from error
        if ids and runs.size and runs[0] == ids[-1][-1]:  # goes on
            runs, firsts = runs[1:], firsts[1:]
        if runs.size:
            ids.append(runs)
            starts.append(firsts + n_rows)
            paths.append(path)
        n_rows += batch.num_rows
    if split := find_split_query(ids):
        value, first, second = split
        raise ValueError(
            "frame must have the rows of each query one after another, got query "
            f"{shown(value)} in {paths[first]!r} and, behind other queries, in "
            f"{paths[second]!r}; sort the rows by {qid!r}, whose ids must not begin "
            "anew in another file."
        )
    return np.concatenate([*starts, [n_rows]])


def _sizes(starts: IntArray) -> list[int]:
    """Return the rows of each partition: up to `ROWS`, or one longer query."""
    cuts, n_rows = [0], int(starts[-1])
    while cuts[-1] < n_rows:
        reach = [cuts[-1], cuts[-1] + ROWS]
        end_of_query, too_far = np.searchsorted(starts, reach, side="right")
        cuts.append(int(starts[max(end_of_query, too_far - 1)]))
    return np.diff(cuts).tolist() or [0]


class ParquetFiles:
    """Some columns of Parquet files, one file after another.

    Parameters
    ----------
    source : str, PathLike or pyarrow.dataset.Dataset
        The files of a folder are read in the order of their names, with ``part.10``
        after ``part.9``; those of a dataset in its own order.
    qid : str
    columns : iterable of str or None
        Columns besides ``qid``; None: all but the index of a pandas frame.
    """

    def __init__(self, source: Any, qid: str, columns: Iterable[str] | None) -> None:
        for library in ("pandas", "pyarrow"):  # pyarrow makes the frames of pandas
            require(library, "Parquet", "skrank-abstain[parquet]")
        import pyarrow as pa
        import pyarrow.dataset as pds

        dataset = source
        if isinstance(source, str | os.PathLike):
            with _named(os.fspath(source)):
                dataset = _open(source)
        self._files = list(dataset.get_fragments())
        if not self._files:
            raise ValueError(f"frame must have Parquet files, got none in {source!r}.")
        if not all(isinstance(file, pds.ParquetFileFragment) for file in self._files):
            raise TypeError("frame must be a dataset of Parquet files, got others.")
        every = dataset.schema
        if dataset is not source:
            self._files.sort(key=_by_name)
        index: list[Any] = []
        for file in self._files:
            with _named(file.path):
                own = file.physical_schema
                index += (own.pandas_metadata or {}).get("index_columns", [])
                if dataset is not source:  # integers here may be floats there
                    every = pa.unify_schemas([every, own], promote_options="permissive")
        if columns is None:
            columns = [name for name in every.names if name not in index]
        names = list(dict.fromkeys([*columns, qid]))
        for file in self._files:
            given = file.physical_schema.names
            folders = _keys(file).keys() - given
            require_columns(names, [*given, *folders], where=repr(file.path))
        self._schema = pa.schema([every.field(name) for name in names])

    def batches(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, Any]]:
        """Yield the path and the next rows of a file, with all columns or some."""
        import pyarrow as pa

        fields = [self._schema.field(name) for name in names or self._schema.names]
        for file in self._files:
            with _named(file.path):
                for batch in _batches_of(file, pa.schema(fields)):
                    yield file.path, batch

    def take(self, held: list[Any], n_rows: int) -> Any:
        """Take the first rows out of a list of batches, as a pandas frame."""
        import pyarrow as pa

        table = pa.Table.from_batches(held, schema=self._schema)
        held[:] = table.slice(n_rows).to_batches()
        return table.slice(0, n_rows).to_pandas()


def _open(path: str | os.PathLike[str]) -> Any:
    import pyarrow.dataset as pds

    if not os.path.exists(path) and (files := glob(os.fspath(path))):
        # Columns in the names of folders begin where the pattern does.
        base = os.path.dirname(re.split(r"[*?[]", os.fspath(path))[0])
        return pds.dataset(
            files, format="parquet", partitioning="hive", partition_base_dir=base
        )
    dataset = pds.dataset(path, format="parquet", partitioning="hive")
    names = [os.path.basename(file) for file in dataset.files]
    # The folders above a single file are no columns; pyarrow reads its whole path.
    alone = names == [os.path.basename(path)]
    return pds.dataset(path, format="parquet") if alone else dataset


def _by_name(file: Any) -> list[Any]:
    parts = re.split(r"(\d+)", file.path)  # every other one is a number
    return [int(part) if part.isdecimal() else part for part in parts]


def _keys(file: Any) -> dict[str, Any]:
    """Return the columns in the names of folders, as in ``day=2``."""
    import pyarrow.dataset as pds

    return dict(pds.get_partition_keys(file.partition_expression))


def _batches_of(file: Any, schema: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A buffer per column; the file's own scanner keeps whole row groups in memory, and
    # by default all of the file.
    with file.open() as source:
        reader = pq.ParquetFile(
            source,
            pre_buffer=False,
            buffer_size=_BUFFER,
            page_checksum_verification=True,
        )
        keys, own = _keys(file), set(reader.schema_arrow.names)
        groups = [group.id for group in file.row_groups]
        read = [name for name in schema.names if name in own]
        for batch in reader.iter_batches(_ROWS, row_groups=groups, columns=read):
            columns = [
                batch[name] if name in own else pa.repeat(keys[name], batch.num_rows)
                for name in schema.names
            ]
            whole = pa.RecordBatch.from_arrays(columns, schema=schema)  # casts, safely
            whole.validate(full=True)  # texts, where damage has no checksum to meet
            yield whole


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Add the path to the errors of pyarrow."""
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise
    except (ArrowException, ValueError, OSError) as error:
        raise ValueError(
            f"frame must be Parquet files that can be read, got {path!r}: {error}"
        ) from error


class DaskPartitions(Partitions):
    """The partitions of a Dask DataFrame, in its order.

    Tasks run where ``frame.compute()`` would: on the cluster of the newest
    ``distributed.Client``, otherwise on threads of this process.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        It must give the same rows in the same order each time; ``persist`` it if that
        is in doubt.
    """

    def __init__(self, frame: Any) -> None:
        self._parts: list[Any] = frame.to_delayed()

    def _attempts(self, call: Call) -> Iterable[Any]:
        from dask import compute

        with warnings.catch_warnings():
            # The model is shared, as Dask advises.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return compute(*self._apply(_attempt_alone, call))

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        from dask.dataframe import from_delayed

        parts = self._apply(_attempt_or_raise, Call(task, args))
        # No column is compared: tasks return the right ones.
        return from_delayed(parts, meta=like, verify_meta=False)

    def _apply(self, run: Callable[..., Any], call: Call) -> list[Any]:
        from dask import delayed

        # All tasks share one node of the graph: a worker gets it once, whatever its
        # size. `traverse=False`: Dask does not search it for its own frames.
        # `pure=False`: no result of another call is reused.
        shared = delayed(call, pure=False, traverse=False)
        lazy = delayed(run, pure=False)
        return [lazy(shared, part, number) for number, part in enumerate(self._parts)]


class SparkPartitions(Partitions):
    """The partitions of a Spark DataFrame, in its order.

    Spark itself broadcasts a task of more than 1 MB.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        It must give the same rows in the same order each time; after a shuffle
        ``persist`` it, or write it and read it again.
    """

    def __init__(self, frame: Any) -> None:
        from pyspark.ml.functions import vector_to_array

        # Numbered: Spark would take a dot in a name for a field.
        plain = frame.toDF(*[f"c{number}" for number in range(len(frame.columns))])
        kinds = {field.name: type(field.dataType).__name__ for field in plain.schema}
        # Arrow knows no vectors.
        vectors = [name for name, kind in kinds.items() if kind == "VectorUDT"]
        arrays = {name: vector_to_array(plain[name]) for name in vectors}
        self._frame = plain.withColumns(arrays)
        # Spark passes nothing of an empty partition, not even the columns.
        self._read = partial(_to_pandas, frame.columns, self._frame.limit(0).toArrow())

    def _attempts(self, call: Call) -> Iterable[Any]:
        read = self._read

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            import pyarrow as pa

            result = pickle.dumps(_attempt_alone(call, read(batches), _number()))
            yield pa.record_batch({"pickled": pa.array([result], pa.binary())})

        rows = self._frame.mapInArrow(run, "pickled binary").collect()
        return (pickle.loads(row[0]) for row in rows)

    def frame(self, task: Callable[..., Any], *args: Any, like: Any) -> Any:
        import pyarrow as pa

        kinds = [dtype.kind for dtype in like.dtypes]
        types = [_SPARK_TYPES.get(kind, ("string", "string")) for kind in kinds]
        schema = pa.schema([(f"c{n}", arrow) for n, (arrow, _) in enumerate(types)])
        sql = ", ".join(f"c{n} {spark}" for n, (_, spark) in enumerate(types))
        read, call = self._read, Call(task, args)

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            found = _attempt_or_raise(call, read(batches), _number())
            table = pa.Table.from_pandas(found.set_axis(schema.names, axis=1), schema)
            yield from table.to_batches(max_chunksize=65_536)

        return self._frame.mapInArrow(run, sql).toDF(*like.columns)


def _to_pandas(names: list[str], empty: Any, batches: Iterable[Any]) -> Any:
    found = list(batches)
    table = empty.from_batches(found) if found else empty
    return table.rename_columns(names).to_pandas()


def _number() -> int:
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())


@dataclass(frozen=True)
class Call:
    """A task and its arguments: opaque to Dask, which would take tuples apart."""

    task: Callable[..., Any]
    args: tuple[Any, ...]
    own: list[Any] | None = None

    def attempt(self, number: int, partition: Any) -> Any:
        """Return the result for a partition, or an error that names the partition.

        It is returned: an engine would retry a task that fails the same way each time,
        and bury the reason under a trace of its own. A ValueError or a TypeError stays
        one; any other becomes a RuntimeError.
        """
        args = self.args if self.own is None else (*self.args, self.own[number])
        try:
            return self.task(partition, *args)
        except Exception as error:
            kinds = (ValueError, TypeError, RuntimeError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), None)
            text = f"{error}" if kind else f"{type(error).__name__}: {error}"
            found = (kind or RuntimeError)(f"partition {number}: {text}")
            found.__cause__ = error
            return found


def _attempt_alone(call: Call, partition: Any, number: int) -> Any:
    with one_thread():
        result = call.attempt(number, partition)
    if isinstance(result, Exception):
        # Not all errors can be pickled: the kind and the text go between processes.
        result.__cause__ = None
    return result


def _attempt_or_raise(call: Call, partition: Any, number: int) -> Any:
    return result_of(_attempt_alone(call, partition, number))


def result_of(result: Any) -> Any:
    """Return what an attempt returned, or raise it if it is an error."""
    if isinstance(result, Exception):
        raise result
    return result


def rows_of(
    partition: Any, *, label: Any, qid: Any, features: list[Any] | None
) -> tuple[Any, Any, Any]:
    """Take the columns of a partition apart.

    Parameters
    ----------
    partition : data frame or tuple (X, y, qid)
        A tuple is returned as it is.
    label, qid : str or None
        Names of columns of a frame; None for tuples, and for columns not wanted.
    features : list of str or None
        None: all columns but label and qid.

    Returns
    -------
    X : frame, or ndarray of shape (n_items, n_features), float64
        An array where the only feature is a column of vectors.
    y : None or ndarray of shape (n_items,)
    qid : None or ndarray of shape (n_items,)

    Raises
    ------
    ValueError
        If a column is missing or there twice, a tuple comes with names of columns, or
        vectors differ in length.
    """
    if isinstance(partition, tuple):
        if label is not None or qid is not None:
            raise ValueError(
                "frame must hold frames, not tuples (X, y, qid), to have columns by "
                f"name, got {label!r} and {qid!r}."
            )
        return partition
    columns = names_of_columns(partition) or []
    others = [name for name in (label, qid) if name is not None]
    if features is None:
        features = [name for name in columns if name not in others]
    require_columns([*others, *features], columns)
    y, ids = (None if k is None else np.asarray(partition[k]) for k in (label, qid))
    X = select_columns(partition, features)
    if len(features) == 1 and X.shape[0]:
        cells = np.asarray(partition[features[0]])
        if np.ndim(cells[0]):
            X = _stacked(cells, features[0])
    return X, y, ids


def require_columns(
    names: Iterable[Any], columns: Iterable[Any], where: str = "every partition"
) -> None:
    """Refuse names of columns that a frame lacks or has more than once."""
    times = Counter(columns)
    for name in names:
        if times[name] != 1:
            raise ValueError(
                f"frame must have one column {name!r} in {where}, got "
                f"{times[name]} of that name; its columns are {listed(times)}."
            )


def _stacked(cells: NDArray[Any], name: Any) -> FloatArray:
    """Return the vectors in the cells of a column as rows."""
    shapes = {np.shape(cell) for cell in cells}
    if len(shapes) > 1:
        raise ValueError(
            f"frame must have vectors of one length in the column {name!r}, got cells "
            f"of the shapes {listed(sorted(shapes))}."
        )
    return np.array([np.asarray(cell, dtype=np.float64) for cell in cells])


def runs_of(qid: Any, n_items: int) -> tuple[NDArray[Any], IntArray]:
    """Return the runs of consecutive rows of one query.

    Returns
    -------
    ids : ndarray of shape (n_runs,)
        The query of each run; a query whose rows lie apart has several.
    starts : ndarray of shape (n_runs,), int64
        The first row of each run.
    """
    codes, values = encode_qid(qid, n_items)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[:n_items])
    return values[codes[starts]], starts


def find_split_query(
    ids_by_partition: Sequence[NDArray[Any]],
) -> tuple[Any, int, int] | None:
    """Return the first id that repeats, and the partitions it lies in; None if unique.

    Both partitions are the same if one has the id twice. Ids of several types are told
    apart as Python does. O(n log n) by sorting if all are numbers of one kind, O(n) by
    hashing otherwise.
    """
    some = [ids for ids in ids_by_partition if ids.size]
    kinds = {ids.dtype.kind for ids in some}
    # Integers beside floats, or signed beside unsigned ones, would be rounded.
    if len(kinds) == 1 and kinds <= set("iufmM"):
        codes = np.unique(np.concatenate(some), return_inverse=True)[1]
    else:
        seen: dict[Hashable, int] = {}
        values = (value for ids in some for value in _python_values(ids))
        codes = np.array([seen.setdefault(value, len(seen)) for value in values], int)
    order = np.argsort(codes, kind="stable")
    again = order[1:][codes[order[1:]] == codes[order[:-1]]]
    if again.size == 0:
        return None
    second = again.min()
    both = int(np.argmax(codes == codes[second])), int(second)
    ends = np.cumsum([ids.size for ids in ids_by_partition])
    one, other = np.searchsorted(ends, both, side="right").tolist()
    place = second - (ends[other] - ids_by_partition[other].size)
    return _python_values(ids_by_partition[other][place : place + 1])[0], one, other


def _python_values(ids: NDArray[Any]) -> list[Any]:
    # `tolist()` turns dates of some units into bare integers.
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()
