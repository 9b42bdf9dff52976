"""Parquet files, read by pyarrow a few rows at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from skrank_abstain.partitions._rows import require_columns

#: Rows that are decoded at a time.
_ROWS = 65_536
#: Bytes of each column that are read at a time.
_BUFFER = 1 << 18


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
        try:
            import pandas as pd  # noqa: F401  # pyarrow makes its frames
            import pyarrow as pa
            import pyarrow.dataset as pds
        except ImportError as error:
            raise ImportError(
                "Parquet requires pandas and pyarrow; install skrank-abstain[parquet]."
            ) from error
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

    keys: dict[str, Any] = pds.get_partition_keys(file.partition_expression)
    return keys


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
        for batch in reader.iter_batches(
            _ROWS,
            row_groups=[group.id for group in file.row_groups],
            columns=[name for name in schema.names if name in own],
        ):
            n_rows = batch.num_rows
            columns = [
                batch[name] if name in own else pa.repeat(keys[name], n_rows)
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
