"""The engines that work elsewhere against fit on one machine."""

import os
import shutil
import sys

import numpy as np
import pytest
from doubles import FirstColumn
from partitions.test_calibrate import (
    RANKERS,
    assert_same,
    fitted_numbers,
    framed,
    joined,
    labelled,
    split,
)
from sklearn.base import clone

from skrank_abstain.partitions import calibrate, deferred, evaluate, ranking

pd = pytest.importorskip("pandas")
MODEL = FirstColumn().fit(np.zeros((2, 2)), [0, 1])
SOME = ["graded", "bradley_terry", "isotonic", "certified", "hierarchical"]


def columns(parts):
    return [frame[["one", "two", "y", "q"]] for frame in framed(parts)]


def assert_same_as_fit(name, parts, frame):
    ranker = clone(RANKERS[name]).set_params(estimator=MODEL, random_state=0)
    X, y, qid = joined(parts)
    expected = ranker.fit(pd.DataFrame(X, columns=["one", "two"]), y, qid)
    found = calibrate(ranker, frame, label="y", qid="q")
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    np.testing.assert_array_equal(found.coverage_interval_, expected.coverage_interval_)
    totals = evaluate(found, frame, label="y", qid="q")
    wanted = expected.evaluate(pd.DataFrame(X, columns=["one", "two"]), y, qid)
    assert_same(vars(totals), vars(wanted))
    return found


def assert_frames_are(ranker, frame, parts, computed):
    frames = columns(parts)
    for what in (deferred, ranking):
        made = computed(what(ranker, frame, qid="q"))
        expected = pd.concat(what(ranker, frames, qid="q"), ignore_index=True)
        pd.testing.assert_frame_equal(
            made.reset_index(drop=True), expected, check_dtype=False
        )


# Dask


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_can_import, sys.path)
        yield client


def _can_import(paths):
    sys.path[:] = paths


def dask_frame(parts):
    dd = pytest.importorskip("dask.dataframe")
    frames = columns(parts)
    return dd.from_map(take, frames, meta=frames[0][:0])


def take(frame):
    return frame


@pytest.mark.parametrize("name", ["graded", "bradley_terry"])
def test_dask_on_threads(name):
    parts = split(labelled(80, seed=7), 5, seed=7)
    frame = dask_frame(parts)
    ranker = assert_same_as_fit(name, parts, frame)
    assert_frames_are(ranker, frame, parts, lambda made: made.compute())


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("name", SOME)
def test_dask_in_two_processes(name, n_parts):
    parts = split(labelled(80, seed=n_parts), n_parts, seed=n_parts)
    assert_same_as_fit(name, parts, dask_frame(parts))


# Spark


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        session = (
            sql.SparkSession.builder.master("local[2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", ["graded", "isotonic", "certified"])
def test_spark(name, spark):
    parts = split(labelled(80, seed=4), 4, seed=4)
    frames = columns(parts)
    whole = pd.concat(
        [frame.assign(part=k) for k, frame in enumerate(frames)], ignore_index=True
    )
    whole["row"] = np.arange(len(whole))
    frame = (
        spark.createDataFrame(whole)
        .repartitionByRange(4, "part")
        .sortWithinPartitions("row")
        .drop("part", "row")
        .persist()
    )
    ranker = assert_same_as_fit(name, parts, frame)
    assert_frames_are(ranker, frame, parts, lambda made: made.toPandas())
