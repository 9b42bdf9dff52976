"""Tasks on the partitions of a Spark frame."""

import functools

import numpy as np
import pandas as pd
import pytest
from partitions import engine_tasks as tasks
from partitions.engine_tasks import ITEMS, PIECES, STARTS, expected

from skrank_abstain.partitions._spark import SparkPartitions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def frame(spark):
    """The items in five partitions; Spark hands on seven rows at a time."""
    rows = [list(piece.itertuples(index=False, name=None)) for piece in PIECES]
    parts = spark.sparkContext.parallelize(rows, len(rows)).flatMap(list)
    return spark.createDataFrame(parts, "q bigint, x double, name string")


def test_tasks_get_whole_partitions_as_pandas_frames_in_order(frame):
    found = SparkPartitions(frame).map(tasks.describe, "a", (len, 1))
    assert found == expected(tasks.describe, "a", (len, 1))
    assert found[2][2] == {name: [] for name in ITEMS}
    assert found[2][1] == found[0][1]


def test_tasks_may_be_partial_and_results_anything(frame):
    partitions = SparkPartitions(frame)
    task = functools.partial(tasks.total, column="x", factor=2)
    assert partitions.map(task) == expected(tasks.total, "x", 2)
    kept = partitions.keep(tasks.total, "x").keep(tasks.add, 1)
    sums = expected(tasks.total, "x")
    assert kept.map(tasks.add, 2) == [(n + 3, x + 3) for n, x in sums]


def test_what_is_kept_is_computed_once_and_let_go(spark, frame, tmp_path):
    stored = spark.sparkContext._jsc.getPersistentRDDs
    before = len(stored())
    kept = SparkPartitions(frame).keep(tasks.noted, tmp_path)
    for _ in range(3):
        assert kept.map(tasks.total, "x") == expected(tasks.total, "x")
    assert len(list(tmp_path.iterdir())) == len(PIECES)
    assert len(stored()) == before + 1
    del kept
    assert len(stored()) == before


def test_processes_are_used_again(frame):
    partitions = SparkPartitions(frame)
    kept = partitions.keep(tasks.total, "x")
    used = [each.map(tasks.process) for each in (partitions, kept, kept, kept)]
    # Two tasks run at a time; a process imports the package, which takes seconds.
    assert len({number for numbers in used for number in numbers}) <= 4


def test_what_was_lost_is_computed_again(frame, tmp_path):
    kept = SparkPartitions(frame).keep(tasks.noted, tmp_path)
    assert kept.map(tasks.total, "x") == expected(tasks.total, "x")
    kept._frame.unpersist(blocking=True)
    assert kept.map(tasks.total, "x") == expected(tasks.total, "x")
    assert len(list(tmp_path.iterdir())) == 2 * len(PIECES)


def test_vectors_arrive_as_arrays(spark):
    from pyspark.ml.linalg import Vectors

    rows = [(Vectors.dense([1.0, 2.0]), 1), (Vectors.sparse(2, [1], [5.0]), 1)]
    frame = spark.createDataFrame(rows, ["features", "q"]).coalesce(1)
    [cells] = SparkPartitions(frame).map(tasks.cells, "features")
    np.testing.assert_array_equal(cells, [[1.0, 2.0], [0.0, 5.0]])
    assert {cell.dtype for cell in cells} == {np.dtype(np.float64)}


def test_any_name_and_type_of_column(spark):
    frame = spark.sql(
        "SELECT 1 AS `a.b`, 2L AS `c``d`, 'x' AS `e f`, true AS g, 0.5f AS h,"
        " CAST(NULL AS int) AS i, DATE '2020-01-31' AS j"
    )
    [(_, kinds, rows, _)] = SparkPartitions(frame).map(tasks.describe)
    assert list(rows) == ["a.b", "c`d", "e f", "g", "h", "i", "j"]
    assert list(kinds.values())[:2] == ["int32", "int64"]
    assert list(kinds.values())[3:6] == ["bool", "float32", "float64"]
    assert np.isnan(rows.pop("i")[0])
    assert [value for [value] in rows.values()][:5] == [1, 2, "x", True, 0.5]


def test_frames_are_lazy(frame, tmp_path):
    partitions = SparkPartitions(frame)
    made = partitions.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    found = made.toPandas()
    wanted = pd.concat(expected(tasks.frame_of, 2.0), ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False)
    kinds = ["bigint", "double", "boolean", "string"]
    assert made.dtypes == list(zip(tasks.LIKE.columns, kinds, strict=True))
    lazy = partitions.frame(tasks.noted, tmp_path, like=ITEMS.iloc[:0])
    assert not list(tmp_path.iterdir())
    assert lazy.count() == len(ITEMS)


def test_a_frame_may_have_any_names_and_times(spark):
    like = pd.DataFrame({"a.b`": pd.Series([], dtype="datetime64[ns]")})
    partitions = SparkPartitions(spark.range(0, 3, 1, 1))
    made = partitions.frame(tasks.days, like=like)
    assert made.dtypes == [("a.b`", "timestamp_ntz")]
    assert made.toPandas()["a.b`"].dt.day.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("y is bad"), ValueError, "^partition 3: y is bad$"),
        (TypeError("no frame"), TypeError, "^partition 3: no frame$"),
        (ZeroDivisionError("oh"), RuntimeError, "^partition 3: ZeroDivisionError: oh$"),
    ],
)
def test_an_error_names_its_partition(frame, error, kind, text):
    with pytest.raises(kind, match=text):
        SparkPartitions(frame).map(tasks.fail_at, STARTS[3], error)
    with pytest.raises(ValueError, match=r"^partition 0: x must be even$"):
        SparkPartitions(frame).map(tasks.fail_oddly)


def test_an_error_goes_through_what_is_kept_and_lazy_frames(frame):
    partitions = SparkPartitions(frame)
    fails = tasks.fail_at, STARTS[3], ValueError("y is bad")
    with pytest.raises(ValueError, match=r"^partition 3: y is bad$"):
        partitions.keep(*fails).keep(tasks.total, "x").map(tasks.add, 1)
    made = partitions.frame(*fails, like=ITEMS.iloc[:0])
    with pytest.raises(Exception, match="partition 3: y is bad"):  # with Spark's trace
        made.count()


def test_a_worker_that_dies_changes_nothing(spark, tmp_path):
    rows = tasks.items(60)
    frame = spark.createDataFrame(rows.to_dict("records")).repartitionByRange(6, "q")
    kept = SparkPartitions(frame).keep(tasks.noted, tmp_path)
    whole = kept.map(tasks.total, "x")
    found = kept.map(tasks.end_once, tmp_path, 31)
    assert (tmp_path / "ended").exists()
    assert found == whole
