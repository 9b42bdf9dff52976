"""Tasks on the partitions of a Dask frame: on threads, and on clusters."""

import functools
import time

import pandas as pd
import pytest
from clusters import local_cluster
from partitions import engine_tasks as tasks
from partitions.engine_tasks import ITEMS, PIECES, STARTS, expected

from skrank_abstain.partitions._dask import DaskPartitions

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _usual_strings():
    """Dask would make strings of Arrow of those that a frame holds."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


@pytest.fixture
def frame():
    """The items in five partitions, made anew so that no two tests share results."""
    return dd.from_map(tasks.piece, list(range(len(PIECES))), meta=ITEMS.iloc[:0])


@pytest.fixture(params=["sync", "threads"])
def scheduler(request):
    """Each scheduler that works in this process."""
    with dask.config.set(scheduler=request.param):
        yield


def test_tasks_get_pandas_frames_in_order(frame, scheduler):
    found = DaskPartitions(frame).map(tasks.describe)
    assert found == expected(tasks.describe)
    assert found[2][2] == {name: [] for name in ITEMS}
    assert found[2][1] == found[0][1]


def test_arguments_arrive_as_they_are(frame, scheduler):
    # What Dask itself would take for tasks, for names of tasks or for collections.
    part = frame.to_delayed()[0]
    args = ((len, "abc"), part.key, [1, {"a": (2,)}], None, {3: PIECES[0]["x"]})
    [found, *_] = DaskPartitions(frame).map(tasks.types_of, args, *args)
    assert found == [type(arg).__name__ for arg in (args, *args)]


def test_tasks_may_be_partial_and_results_anything(frame, scheduler):
    partitions = DaskPartitions(frame)
    task = functools.partial(tasks.total, column="x", factor=2)
    assert partitions.map(task) == expected(tasks.total, "x", 2)
    kept = partitions.keep(tasks.total, "x").keep(tasks.add, 1)
    assert kept.map(tasks.add, 2) == [
        (n + 3, x + 3) for n, x in expected(tasks.total, "x")
    ]


def test_results_are_never_those_of_another_call(frame, tmp_path):
    partitions = DaskPartitions(frame)
    with dask.config.set(scheduler="sync", delayed_pure=True):
        for _ in range(2):
            partitions.map(tasks.noted, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2 * len(PIECES)


def test_what_is_kept_is_computed_once(frame, scheduler, tmp_path):
    kept = DaskPartitions(frame).keep(tasks.noted, tmp_path)
    for _ in range(3):
        assert kept.map(tasks.total, "x") == expected(tasks.total, "x")
    assert len(list(tmp_path.iterdir())) == len(PIECES)


def test_a_thousand_partitions():
    rows = tasks.items(1000, n_items=1)
    parts = DaskPartitions(dd.from_pandas(rows, npartitions=1000, sort=False))
    found = parts.keep(tasks.total, "x").map(tasks.add, 0)
    assert [x for _, x in found] == rows["x"].tolist()


def test_frames_are_lazy(frame, scheduler, tmp_path):
    partitions = DaskPartitions(frame)
    made = partitions.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    assert isinstance(made, dd.DataFrame)
    assert made.npartitions == len(PIECES)
    pd.testing.assert_frame_equal(
        made.compute(), pd.concat(expected(tasks.frame_of, 2.0))
    )
    pd.testing.assert_series_equal(made.dtypes, tasks.LIKE.dtypes)
    lazy = partitions.frame(tasks.noted, tmp_path, like=ITEMS.iloc[:0])
    assert not list(tmp_path.iterdir())
    assert len(lazy) == len(ITEMS)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("y is bad"), ValueError, "^partition 3: y is bad$"),
        (TypeError("no frame"), TypeError, "^partition 3: no frame$"),
        (ZeroDivisionError("oh"), RuntimeError, "^partition 3: ZeroDivisionError: oh$"),
    ],
)
def test_an_error_names_its_partition(frame, scheduler, error, kind, text):
    partitions = DaskPartitions(frame)
    query = STARTS[3]
    with pytest.raises(kind, match=text):
        partitions.map(tasks.fail_at, query, error)
    kept = partitions.keep(tasks.fail_at, query, error)
    with pytest.raises(kind, match=text):
        kept.keep(tasks.total, "x").map(tasks.add, 1)
    made = partitions.frame(tasks.fail_at, query, error, like=ITEMS.iloc[:0])
    with pytest.raises(kind, match=text):
        made.compute()


@pytest.fixture
def client():
    """A cluster of two workers in this process."""
    with local_cluster() as one, distributed.Client(one) as client:
        yield client


def test_a_cluster(frame, client, tmp_path):
    partitions = DaskPartitions(frame)
    assert partitions.map(tasks.describe) == expected(tasks.describe)
    kept = partitions.keep(tasks.noted, tmp_path)
    for _ in range(3):
        assert kept.map(tasks.total, "x") == expected(tasks.total, "x")
    assert len(list(tmp_path.iterdir())) == len(PIECES)
    made = partitions.frame(tasks.frame_of, 2.0, like=tasks.LIKE)
    pd.testing.assert_frame_equal(
        made.compute(), pd.concat(expected(tasks.frame_of, 2.0))
    )
    with pytest.raises(ValueError, match=r"^partition 3: y is bad$"):
        partitions.map(tasks.fail_at, STARTS[3], ValueError("y is bad"))


def test_what_is_kept_is_let_go(frame, client):
    kept = DaskPartitions(frame).keep(tasks.total, "x")
    kept.map(tasks.add, 1)
    assert sum(len(keys) for keys in client.has_what().values()) >= len(PIECES)
    del kept
    deadline = time.monotonic() + 10
    while any(client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(client.has_what().values())


@pytest.mark.slow
def test_between_processes(tmp_path):
    rows = tasks.items(40, n_items=1)
    partitions = DaskPartitions(dd.from_pandas(rows, npartitions=40, sort=False))
    with local_cluster(processes=True) as one, distributed.Client(one):
        sizes = partitions.map(tasks.ignore, tasks.Counted(str(tmp_path)))
        with pytest.raises(ValueError, match=r"^partition 0: x must be even$"):
            partitions.map(tasks.fail_oddly)
    assert sizes == [1] * 40
    # The large argument: to two workers, and the scheduler on its way.
    assert len(list(tmp_path.iterdir())) <= 3


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(tmp_path):
    rows = tasks.items(60)
    frame = dd.from_pandas(rows, npartitions=30, sort=False)
    with local_cluster(processes=True) as one, distributed.Client(one):
        kept = DaskPartitions(frame).keep(tasks.noted, tmp_path)
        whole = kept.map(tasks.total, "x")
        before = len(list(tmp_path.iterdir()))
        found = kept.map(tasks.end_once, tmp_path, 31)
        assert (tmp_path / "ended").exists()
        assert found == whole == kept.map(tasks.total, "x")
    assert before == 30
    # What the dead worker had kept was computed again.
    assert len(list(tmp_path.iterdir())) > before + 1
