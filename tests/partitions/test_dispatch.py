import os
import subprocess
import sys

import numpy as np
import pytest

from skrank_abstain.partitions._dispatch import as_partitions, engine_of

pd = pytest.importorskip("pandas")


def columns_of(part):
    return [str(name) for name in part.columns]


def test_a_list_is_taken_as_it_is():
    parts = as_partitions([pd.DataFrame({"a": [1], "q": [2]})], "q", columns=["a"])
    assert parts.map(columns_of) == [["a", "q"]]


def test_a_path_or_a_dataset_is_of_parquet(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset").dataset
    path = tmp_path / "one.parquet"
    pd.DataFrame({"a": [1], "q": [2], "b": [3]}).to_parquet(path)
    for source in (path, os.fspath(path), dataset(path)):
        assert engine_of(source) == "parquet"
        assert as_partitions(source, "q").map(columns_of) == [["a", "q", "b"]]
        assert as_partitions(source, "q", ["b"]).map(columns_of) == [["b", "q"]]


def test_dask_frames_are_told_by_their_class():
    dask = pytest.importorskip("dask.dataframe")
    pytest.importorskip("skrank_abstain.partitions._dask")
    frame = dask.from_pandas(pd.DataFrame({"a": [1, 2], "q": [3, 4], "b": 0}), 2)
    assert engine_of(frame) == "dask"
    assert as_partitions(frame).map(columns_of) == [["a", "q", "b"]] * 2
    assert as_partitions(frame, "q", ["b"]).map(columns_of) == [["b", "q"]] * 2
    assert as_partitions(frame, None, ["b", "q"]).map(columns_of) == [["b", "q"]] * 2
    with pytest.raises(ValueError, match=r"one column 'z' .* \['a', 'q', 'b'\]"):
        as_partitions(frame, "q", ["z"])


def test_spark_frames_are_told_by_their_class(monkeypatch):
    spark = pytest.importorskip("pyspark.sql")
    adapter = pytest.importorskip("skrank_abstain.partitions._spark")

    class Frame(spark.DataFrame):
        """Enough of a frame to see what is asked of it, without a session."""

        columns = ("a.b", "q", "c`d")

        def __new__(cls):
            return object.__new__(cls)

        def __init__(self):
            pass

        def __getitem__(self, names):
            return names

    monkeypatch.setattr(adapter, "SparkPartitions", lambda frame: frame)
    frame = Frame()
    assert engine_of(frame) == "spark"
    assert as_partitions(frame, "q") is frame
    assert as_partitions(frame, "q", ["c`d", "a.b"]) == ["`c``d`", "`a.b`", "`q`"]


@pytest.mark.parametrize(
    "frame",
    [
        None,
        7,
        np.zeros((2, 2)),
        pd.DataFrame({"q": [1]}),
        (np.zeros((1, 1)), [0], [1]),
        {"q": [1]},
        iter([]),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_anything_else_is_refused_with_what_is_taken(frame):
    message = f"Dask or Spark DataFrame, the path .* got a {type(frame).__name__}"
    with pytest.raises(TypeError, match=message):
        as_partitions(frame, "q")


def test_parts_of_a_dask_frame_are_no_frame():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"q": [3, 4]}), npartitions=2)
    with pytest.raises(TypeError, match="got a Series"):
        as_partitions(frame["q"])


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="at least one partition"):
        as_partitions([])


def test_no_engine_is_imported_for_a_list():
    code = (
        "import sys\n"
        "from skrank_abstain.partitions import check_partitions\n"
        "check_partitions([([[1.0]], [0], ['a'])])\n"
        "names = ['dask', 'distributed', 'pyspark', 'polars']\n"
        "print([name for name in names if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"
