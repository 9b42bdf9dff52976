import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.partitions._queries import find_split_query, runs_of


def objects(*values):
    return np.fromiter(values, dtype=object, count=len(values))


def first_again(partitions):
    """Go through the ids in order: the definition."""
    places = {}
    for number, ids in enumerate(partitions):
        for value in ids.tolist():
            if value in places:
                return value, places[value], number
            places[value] = number
    return None


@pytest.mark.parametrize(
    "ids",
    [
        [np.array([1, 2]), np.array([3, 1])],
        [np.array([1.5, 2]), np.array([3, 1.5])],
        [np.array([1, 2], np.uint64), np.array([3, 1], np.uint64)],
        [np.array([1, 2], np.int8), np.array([300, 1])],
        [objects("a", "b"), objects("c", "a")],
        [objects("a", ("b", 1)), objects(("b", 1), "c")],
        [np.array([1, 2]), objects("1", 2)],
        [np.array([1, 2]), np.array([2.0])],
        [np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[ns]")],
        [np.array([True]), np.array([True])],
    ],
    ids=lambda ids: "-".join(str(part.dtype) for part in ids),
)
def test_an_id_in_two_partitions_is_found_whatever_its_type(ids):
    value, first, second = find_split_query(ids)
    assert (first, second) == (0, 1)
    assert any(value == own for own in list(ids[0]))
    assert any(value == own for own in list(ids[1]))


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [np.zeros(0)],
        [np.array([1, 2]), np.zeros(0), np.array([3])],
        [np.array([1]), objects("1")],
        # As floats, or as bits of the other kind, these would be equal.
        [np.array([2**53]), np.array([2**53 + 1], np.uint64)],
        [np.array([2**53 + 1]), np.array([2.0**53])],
        [np.array([-1]), np.array([2**64 - 1], np.uint64)],
        [np.array(["2020-01-01"], "M8[ns]"), np.array([1577836800000000000])],
    ],
)
def test_what_differs_is_not_found(ids):
    assert find_split_query(ids) is None


def test_the_first_that_comes_again_is_named_and_where_it_came_first():
    ids = [np.array([5, 4]), np.zeros(0), np.array([3, 9]), np.array([4, 3, 5])]
    assert find_split_query(ids) == (4, 0, 3)
    assert find_split_query([part.astype(object) for part in ids]) == (4, 0, 3)


def test_an_id_twice_in_one_partition_is_found():
    assert find_split_query([np.array([7]), np.array([1, 2, 1])]) == (1, 1, 1)
    assert find_split_query([objects("a"), objects("b", "c", "c")]) == ("c", 1, 1)


@given(st.lists(st.lists(st.integers(0, 30), max_size=6), max_size=6))
def test_sorting_and_hashing_find_what_the_definition_finds(partitions):
    ids = [np.array(part, dtype=np.int64) for part in partitions]
    expected = first_again(ids)
    assert find_split_query(ids) == expected
    assert find_split_query([part.astype(object) for part in ids]) == expected


@pytest.mark.parametrize("kind", [np.int64, np.float64, object, str])
def test_runs_start_where_the_query_changes(kind):
    qid = np.array([3, 3, 1, 3, 3, 2]).astype(kind)
    ids, starts = runs_of(qid, 6)
    assert starts.tolist() == [0, 2, 3, 5]
    assert ids.tolist() == qid[starts].tolist()


def test_no_rows_have_no_runs_and_a_scalar_is_one():
    assert [part.size for part in runs_of([], 0)] == [0, 0]
    ids, starts = runs_of("a", 3)
    assert (ids.tolist(), starts.tolist()) == (["a"], [0])
