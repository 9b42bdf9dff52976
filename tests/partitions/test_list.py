import numpy as np
import pytest

from skrank_abstain.partitions._list import ListPartitions, check_list


def scaled(part, factor, shift=0):
    return [factor * value + shift for value in part]


def fails_at_two(part):
    if part == [2]:
        raise KeyError("two")
    return part


def test_results_come_in_the_order_of_the_partitions():
    parts = ListPartitions([[1, 2], [], [3]])
    assert parts.map(scaled, 10, 1) == [[11, 21], [], [31]]
    assert parts.frame(scaled, 2, like=None) == [[2, 4], [], [6]]


def test_kept_results_are_computed_once():
    calls = []

    def counted(part):
        calls.append(part)
        return len(part)

    kept = ListPartitions([[1, 2], []]).keep(counted)
    assert kept.map(np.sqrt) == [np.sqrt(2), 0]
    assert kept.map(np.negative) == [-2, 0]
    assert calls == [[1, 2], []]


def test_what_a_task_raised_comes_with_the_number_of_the_partition():
    parts = ListPartitions([[1], [2], [3]])
    for ask in (parts.map, parts.keep, lambda task: parts.frame(task, like=None)):
        with pytest.raises(RuntimeError, match="partition 1: KeyError: 'two'") as info:
            ask(fails_at_two)
        assert isinstance(info.value.__cause__, KeyError)


def test_nothing_is_done_behind_the_partition_that_failed():
    seen = []

    def fails(part):
        seen.append(part)
        raise ValueError("no")

    with pytest.raises(ValueError, match="partition 0: no"):
        ListPartitions([[1], [2]]).map(fails)
    assert seen == [[1]]


def test_a_list_of_frames_and_tuples_passes():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    parts = [pandas.DataFrame({"a": []}), polars.DataFrame({"a": [1]}), ([[1]], [0], 7)]
    assert check_list(parts) is parts


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="at least one partition, got an empty list"):
        check_list([])


@pytest.mark.parametrize(
    "part", [1, "path", (1, 2), [[1], [2], [3]], np.zeros((2, 2)), None]
)
def test_anything_else_in_a_list_is_named_with_its_place(part):
    good = ([[1]], [0], [7])
    with pytest.raises(TypeError, match=rf"{type(part).__name__} as frame\[1\]"):
        check_list([good, part])


def test_frames_that_are_queries_for_rows_are_refused():
    polars, dask = (
        pytest.importorskip("polars"),
        pytest.importorskip("dask.dataframe"),
    )
    frame = polars.DataFrame({"a": [1]})
    with pytest.raises(TypeError, match=r"pass frame\[0\]\.collect\(\)"):
        check_list([frame.lazy()])
    with pytest.raises(TypeError, match=r"got a DataFrame as frame\[0\]"):
        check_list([dask.from_pandas(frame.to_pandas(), npartitions=1)])
