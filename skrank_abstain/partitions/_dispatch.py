"""The engine of a frame, found without importing any."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from skrank_abstain.partitions._list import ListPartitions, check_list
from skrank_abstain.partitions._protocol import Partitions
from skrank_abstain.partitions._rows import require_columns

_ENGINES = {
    ("dask.dataframe", "DataFrame"): "dask",
    ("pyspark.sql", "DataFrame"): "spark",
    ("pyarrow._dataset", "Dataset"): "parquet",
}


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
        "frame must be a Dask or Spark DataFrame, the path of Parquet files, a pyarrow "
        "Dataset of them, or a list of data frames or of tuples (X, y, qid), be it of "
        f"one, got a {type(frame).__name__}."
    )


def as_partitions(
    frame: Any, qid: str | None = None, columns: Iterable[str] | None = None
) -> Partitions:
    """Return the adapter of a frame's engine.

    Parameters
    ----------
    frame : Dask or Spark DataFrame, str, PathLike, pyarrow.dataset.Dataset or list
    qid : str, default=None
        Column of the queries; Parquet files are cut between them.
    columns : iterable of str, default=None
        Columns that tasks need besides ``qid``, for engines that can skip the others.
    """
    engine = engine_of(frame)
    if engine == "list":
        return ListPartitions(check_list(frame))
    if engine == "parquet":
        from skrank_abstain.partitions._parquet import ParquetPartitions

        return ParquetPartitions(frame, qid, columns)
    if columns is not None:
        names = list(dict.fromkeys([*columns, *([] if qid is None else [qid])]))
        require_columns(names, frame.columns)
        if engine == "spark":  # for which a dot leads into a column
            names = ["`" + name.replace("`", "``") + "`" for name in names]
        frame = frame[names]
    if engine == "dask":
        from skrank_abstain.partitions._dask import DaskPartitions

        return DaskPartitions(frame)
    from skrank_abstain.partitions._spark import SparkPartitions

    return SparkPartitions(frame)
