"""Tasks on the partitions of lists, Dask frames and Spark frames."""

import functools
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from clusters import local_cluster
from partitions import engine_tasks as tasks
from partitions.engine_tasks import ITEMS, PIECES, STARTS, expected
from partitions.test_calibrate import (
    MODEL,
    RANKERS,
    assert_same,
    fitted_numbers,
    framed,
    joined,
    labelled,
    split,
)
from sklearn.base import clone

from skrank_abstain.partitions import _engines, calibrate, deferred, evaluate, ranking
from skrank_abstain.partitions._engines import (
    DaskPartitions,
    ListPartitions,
    SparkPartitions,
    as_partitions,
    check_list,
    engine_of,
)


@pytest.fixture(autouse=True)
def _usual_strings():
    """Dask would make strings of Arrow of those that a frame holds."""
    try:
        import dask
    except ImportError:
        yield
        return
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def dask_frame():
    """The items in five partitions, made anew so that no two tests share results."""
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_map(tasks.piece, list(range(len(PIECES))), meta=ITEMS.iloc[:0])


@pytest.fixture(
    params=[
        "list",
        "sync",
        "threads",
        "cluster",
        pytest.param("spark", marks=pytest.mark.slow),
    ]
)
def engine(request):
    """The items in five partitions of an engine."""
    if request.param == "list":
        yield ListPartitions(PIECES)
    elif request.param == "spark":
        spark = request.getfixturevalue("spark")  # hands on seven rows at a time
        rows = [list(piece.itertuples(index=False, name=None)) for piece in PIECES]
        parts = spark.sparkContext.parallelize(rows, len(rows)).flatMap(list)
        yield SparkPartitions(
            spark.createDataFrame(parts, "q bigint, x double, name string")
        )
    elif request.param == "cluster":
        distributed = pytest.importorskip("distributed")
        with local_cluster() as one, distributed.Client(one):
            yield DaskPartitions(dask_frame())
    else:
        dask = pytest.importorskip("dask")
        with dask.config.set(scheduler=request.param):
            yield DaskPartitions(dask_frame())


@pytest.fixture(scope="module")
def processes():
    """Two workers of Dask in processes of their own, started once for several tests."""
    dask = pytest.importorskip("dask")
    # Workers get the settings of the moment at which they start.
    settings = {"dataframe.convert-string": False}
    with dask.config.set(settings), local_cluster(processes=True) as both:
        yield both


@pytest.fixture
def two_processes(processes):
    """What is asked of Dask is done by the two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes) as client:
        client.wait_for_workers(2)
        yield client


def computed(made):
    """Return what an engine made of partitions as one pandas frame."""
    if isinstance(made, list):
        return pd.concat(made, ignore_index=True)
    found = made.toPandas() if hasattr(made, "toPandas") else made.compute()
    return found.reset_index(drop=True)


def test_tasks_get_pandas_frames_in_order(engine):
    found = engine.map(tasks.describe, "a", (len, 1))
    assert found == expected(tasks.describe, "a", (len, 1))
    assert found[2][2] == {name: [] for name in ITEMS}
    assert found[2][1] == found[0][1]


def test_each_partition_gets_its_own_argument(engine):
    found = engine.map(tasks.described, "all", own=[(k, k) for k in range(5)])
    assert found == [(len(part), "all", (k, k)) for k, part in enumerate(PIECES)]


def test_tasks_may_be_partial_and_results_anything(engine):
    task = functools.partial(tasks.total, column="x", factor=2)
    assert engine.map(task) == expected(tasks.total, "x", 2)


def test_frames_are_of_the_engine(engine):
    made = engine.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    wanted = pd.concat(expected(tasks.frame_of, 2.0), ignore_index=True)
    pd.testing.assert_frame_equal(computed(made), wanted, check_dtype=False)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("y is bad"), ValueError, "^partition 3: y is bad$"),
        (TypeError("no frame"), TypeError, "^partition 3: no frame$"),
        (ZeroDivisionError("oh"), RuntimeError, "^partition 3: ZeroDivisionError: oh$"),
    ],
)
def test_an_error_names_its_partition(engine, error, kind, text):
    with pytest.raises(kind, match=text):
        engine.map(tasks.fail_at, STARTS[3], error)
    with pytest.raises(Exception, match=text.strip("^$")):  # with Spark's own trace
        computed(engine.frame(tasks.fail_at, STARTS[3], error, like=ITEMS.iloc[:0]))


def test_an_error_that_no_pickle_keeps_names_its_partition(engine):
    with pytest.raises(ValueError, match=r"^partition 0: x must be even$"):
        engine.map(tasks.fail_oddly)


# Lists


def test_nothing_is_done_behind_the_partition_that_failed():
    seen = []

    def fails(part):
        seen.append(part)
        raise ValueError("no")

    with pytest.raises(ValueError, match="partition 0: no") as info:
        ListPartitions([[1], [2]]).map(fails)
    assert seen == [[1]]
    assert isinstance(info.value.__cause__, ValueError)


def test_a_list_of_frames_and_tuples_passes():
    polars = pytest.importorskip("polars")
    parts = [pd.DataFrame({"a": []}), polars.DataFrame({"a": [1]}), ([[1]], [0], 7)]
    assert check_list(parts) is parts


@pytest.mark.parametrize(
    "part", [1, "path", (1, 2), [[1], [2], [3]], np.zeros((2, 2)), None]
)
def test_anything_else_in_a_list_is_named_with_its_place(part):
    good = ([[1]], [0], [7])
    with pytest.raises(TypeError, match=rf"{type(part).__name__} as frame\[1\]"):
        check_list([good, part])


def test_frames_that_are_queries_for_rows_are_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"pass frame\[0\]\.collect\(\)"):
        check_list([polars.DataFrame({"a": [1]}).lazy()])
    with pytest.raises(TypeError, match=r"pass frame\[0\]\.compute\(\)"):
        check_list([dask_frame()])


# Dask


def test_arguments_arrive_as_they_are():
    # What Dask itself would take for tasks, for names of tasks or for collections.
    frame = dask_frame()
    args = ((len, "abc"), frame.to_delayed()[0].key, [1, {"a": (2,)}], None)
    [found, *_] = DaskPartitions(frame).map(tasks.types_of, args, *args)
    assert found == [type(arg).__name__ for arg in (args, *args)]


def test_results_are_never_those_of_another_call(tmp_path):
    dask, partitions = pytest.importorskip("dask"), DaskPartitions(dask_frame())
    with dask.config.set(scheduler="sync", delayed_pure=True):
        for _ in range(2):
            partitions.map(tasks.noted, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2 * len(PIECES)


def test_frames_of_dask_are_lazy(tmp_path):
    partitions = DaskPartitions(dask_frame())
    made = partitions.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    assert made.npartitions == len(PIECES)
    pd.testing.assert_series_equal(made.dtypes, tasks.LIKE.dtypes)
    lazy = partitions.frame(tasks.noted, tmp_path, like=ITEMS.iloc[:0])
    assert not list(tmp_path.iterdir())
    assert len(lazy) == len(ITEMS)


@pytest.mark.slow
@pytest.mark.usefixtures("two_processes")
def test_between_processes(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    rows = tasks.items(40, n_items=1)
    partitions = DaskPartitions(dd.from_pandas(rows, npartitions=40, sort=False))
    sizes = partitions.map(tasks.ignore, tasks.Counted(str(tmp_path)))
    with pytest.raises(ValueError, match=r"^partition 0: x must be even$"):
        partitions.map(tasks.fail_oddly)
    assert sizes == [1] * 40
    # The large argument: to two workers, and the scheduler on its way.
    assert len(list(tmp_path.iterdir())) <= 3


@pytest.mark.slow
@pytest.mark.usefixtures("two_processes")
def test_a_worker_of_dask_that_dies_changes_nothing(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    rows = tasks.items(60)
    partitions = DaskPartitions(dd.from_pandas(rows, npartitions=30, sort=False))
    whole = partitions.map(tasks.total, "x")
    assert partitions.map(tasks.end_once, tmp_path, 31) == whole
    assert (tmp_path / "ended").exists()


# Spark


@pytest.mark.slow
def test_vectors_arrive_as_arrays(spark):
    from pyspark.ml.linalg import Vectors

    rows = [(Vectors.dense([1.0, 2.0]), 1), (Vectors.sparse(2, [1], [5.0]), 1)]
    frame = spark.createDataFrame(rows, ["features", "q"]).coalesce(1)
    [cells] = SparkPartitions(frame).map(tasks.cells, "features")
    np.testing.assert_array_equal(cells, [[1.0, 2.0], [0.0, 5.0]])
    assert {cell.dtype for cell in cells} == {np.dtype(np.float64)}


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_frame_may_have_any_names_and_times(spark):
    like = pd.DataFrame({"a.b`": pd.Series([], dtype="datetime64[ns]")})
    partitions = SparkPartitions(spark.range(0, 3, 1, 1))
    made = partitions.frame(tasks.days, like=like)
    assert made.dtypes == [("a.b`", "timestamp_ntz")]
    assert made.toPandas()["a.b`"].dt.day.tolist() == [1, 2, 3]


@pytest.mark.slow
def test_frames_of_spark_are_lazy(spark, tmp_path):
    rows = tasks.items(60)
    frame = spark.createDataFrame(rows.to_dict("records")).repartitionByRange(6, "q")
    partitions = SparkPartitions(frame)
    like = rows[frame.columns].iloc[:0]
    lazy = partitions.frame(tasks.noted, tmp_path, like=like)
    assert not list(tmp_path.iterdir())
    assert lazy.count() == len(rows)
    kinds = ["bigint", "double", "boolean", "string"]
    made = partitions.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    assert made.dtypes == list(zip(tasks.LIKE.columns, kinds, strict=True))


@pytest.mark.slow
def test_a_worker_of_spark_that_dies_changes_nothing(spark, tmp_path):
    rows = tasks.items(60)
    frame = spark.createDataFrame(rows.to_dict("records")).repartitionByRange(6, "q")
    partitions = SparkPartitions(frame.persist())
    whole = partitions.map(tasks.total, "x")
    assert partitions.map(tasks.end_once, tmp_path, 31) == whole
    assert (tmp_path / "ended").exists()


# The engine of a frame


def columns_of(part):
    return [str(name) for name in part.columns]


def test_a_list_is_taken_as_it_is():
    parts = as_partitions([pd.DataFrame({"a": [1], "q": [2]})], "q", columns=())
    assert parts.map(columns_of) == [["a", "q"]]
    with pytest.raises(ValueError, match="at least one partition, got an empty list"):
        as_partitions([])


def test_a_path_or_a_dataset_is_of_parquet(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset").dataset
    path = tmp_path / "one.parquet"
    pd.DataFrame({"a": [1], "q": [2], "b": [3]}).to_parquet(path)
    for source in (path, os.fspath(path), dataset(path)):
        assert engine_of(source) == "parquet"
        assert as_partitions(source, "q").map(columns_of) == [["a", "q", "b"]]
        assert as_partitions(source, "q", columns=()).map(columns_of) == [["q"]]


def test_dask_frames_are_told_by_their_class():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"a": [1, 2], "q": [3, 4], "b": 0}), 2)
    assert engine_of(frame) == "dask"
    assert as_partitions(frame).map(columns_of) == [["a", "q", "b"]] * 2
    assert as_partitions(frame, "q", columns=()).map(columns_of) == [["q"]] * 2
    with pytest.raises(ValueError, match=r"one column 'z' .* \['a', 'q', 'b'\]"):
        as_partitions(frame, "z", columns=())


def test_spark_frames_are_told_by_their_class(monkeypatch):
    spark = pytest.importorskip("pyspark.sql")

    class Frame(spark.DataFrame):
        """Enough of a frame to see what is asked of it, without a session."""

        columns = ("a.b", "q", "c`d")

        def __new__(cls):
            return object.__new__(cls)

        def __init__(self):
            pass

        def __getitem__(self, names):
            return names

    monkeypatch.setattr(_engines, "SparkPartitions", lambda frame: frame)
    frame = Frame()
    assert engine_of(frame) == "spark"
    assert as_partitions(frame, "q") is frame
    assert as_partitions(frame, "c`d", columns=()) == ["`c``d`"]
    assert as_partitions(frame, "a.b", columns=()) == ["`a.b`"]


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
    with pytest.raises(TypeError, match="got a Series"):
        as_partitions(dask_frame()["q"])


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


# Calibration elsewhere


def columns(parts):
    return [frame[["one", "two", "y", "q"]] for frame in framed(parts)]


def assert_same_as_fit(name, parts, frame):
    ranker = clone(RANKERS[name]).set_params(estimator=MODEL, random_state=0)
    X, y, qid = joined(parts)
    X = pd.DataFrame(X, columns=["one", "two"])
    expected = ranker.fit(X, y, qid=qid)
    found = calibrate(ranker, frame, label="y", qid="q")
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    np.testing.assert_array_equal(found.coverage_interval_, expected.coverage_interval_)
    totals = evaluate(found, frame, label="y", qid="q")
    assert_same(vars(totals), vars(expected.evaluate(X, y, qid=qid)))
    for what in (deferred, ranking):
        made = computed(what(found, frame, qid="q"))
        wanted = pd.concat(what(found, columns(parts), qid="q"), ignore_index=True)
        pd.testing.assert_frame_equal(made, wanted, check_dtype=False)


def in_dask(parts):
    dd = pytest.importorskip("dask.dataframe")
    frames = columns(parts)
    return dd.from_map(tasks.itself, frames, meta=frames[0][:0])


@pytest.mark.parametrize("name", ["graded", "bradley_terry", "certified", "features"])
def test_dask_on_threads(name):
    parts = split(labelled(80, seed=7), 5, seed=7)
    assert_same_as_fit(name, parts, in_dask(parts))


@pytest.mark.slow
@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize("name", ["isotonic", "hierarchical", "certified_features"])
def test_dask_in_two_processes(name):
    parts = split(labelled(80, seed=7), 7, seed=7)
    assert_same_as_fit(name, parts, in_dask(parts))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["graded", "certified", "features"])
def test_spark(name, spark):
    parts = split(labelled(80, seed=4), 4, seed=4)
    whole = pd.concat(
        [frame.assign(part=k) for k, frame in enumerate(columns(parts))],
        ignore_index=True,
    )
    whole["row"] = np.arange(len(whole))
    frame = (
        spark.createDataFrame(whole)
        .repartitionByRange(4, "part")
        .sortWithinPartitions("row")
        .drop("part", "row")
        .persist()
    )
    assert_same_as_fit(name, parts, frame)
