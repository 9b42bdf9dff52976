"""Answers of partitions, on their way and back."""

import pickle

import numpy as np
import pytest

from skrank_abstain.partitions._list import ListPartitions
from skrank_abstain.partitions._packed import ask

ARRAYS = {
    "counts": np.arange(12).reshape(3, 4),
    "by_column": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "every_other": np.arange(12)[::2],
    "one": np.array([0.1]),
    "scalar": np.array(3.0),
    "empty": np.empty((0, 3)),
    "text": np.array(["q1", "q234"]),
    "dates": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    "objects": np.array(["a", (1, 2)], dtype=object),
    "bool": np.array([True, False, True]),
}


def numbered(partition, name):
    """Return the number of a partition and an array, among other things."""
    return {"number": partition, "array": ARRAYS[name], "nothing": None}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_answer_comes_as_it_was(name):
    found = list(ask(ListPartitions([0, 1, 2]), numbered, name))
    assert [each["number"] for each in found] == [0, 1, 2]
    for each in found:
        array = each["array"]
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])
        array[...] = array  # writable


def small_counts(partition):
    return np.random.default_rng(partition).poisson(50, 10_000)


def test_small_counts_travel_as_a_byte_or_so_each():
    class Sent(ListPartitions):
        def map(self, task, *args):
            self.sent = super().map(task, *args)
            return self.sent

    parts = Sent([0, 1])
    found = list(ask(parts, small_counts))
    assert len(pickle.dumps(parts.sent)) < 1.1 * sum(each.size for each in found)
