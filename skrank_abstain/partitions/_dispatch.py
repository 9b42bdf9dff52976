"""Which engine a frame comes from, without importing any."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from skrank_abstain.partitions._list import ListPartitions, check_list
from skrank_abstain.partitions._protocol import Partitions
from skrank_abstain.partitions._rows import check_columns

_ENGINES = {
    ("dask.dataframe", "DataFrame"): "dask",
    ("pyspark.sql", "DataFrame"): "spark",
    ("pyarrow._dataset", "Dataset"): "parquet",
}


def engine_of(frame: Any) -> str:
    """Return "list", "parquet", "dask" or "spark".

    Raises
    ------
    TypeError
        If it is anything else.
    """
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
        Name of the column of the queries, between which Parquet files are cut.
    columns : iterable of str, default=None
        Names of the columns that tasks need besides ``qid``, for engines that would
        read the others in vain; a list holds them all in any case.

    Raises
    ------
    TypeError
        If ``frame`` is anything else.
    ValueError
        If a list is empty, a column is missing, or Parquet files are not sound or not
        sorted by query.
    """
    engine = engine_of(frame)
    if engine == "list":
        return ListPartitions(check_list(frame))
    if engine == "parquet":
        from skrank_abstain.partitions._parquet import ParquetPartitions

        return ParquetPartitions(frame, qid, columns)
    if columns is not None:
        names = list(dict.fromkeys([*columns, *([] if qid is None else [qid])]))
        check_columns(names, frame.columns)
        if engine == "spark":  # for which a dot leads into a column
            names = ["`" + name.replace("`", "``") + "`" for name in names]
        frame = frame[names]
    if engine == "dask":
        from skrank_abstain.partitions._dask import DaskPartitions

        return DaskPartitions(frame)
    from skrank_abstain.partitions._spark import SparkPartitions

    return SparkPartitions(frame)
