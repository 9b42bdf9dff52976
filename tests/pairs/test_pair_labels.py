"""What labels of pairs mean."""

import numpy as np
import pandas as pd
import pytest

from skrank_abstain.pairs import read_pair_labels


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-1, 0, 1, 1], [-1, 0, 1, 1]),
        ([0, 0.5, 1], [-1, 0, 1]),
        ([0, 1], [-1, 1]),
        ([1, -1], [1, -1]),
        ([-1, 0], [-1, 0]),
        ([0.5], [0]),
        ([1], [1]),
        ([-1], [-1]),
        ([True, False], [1, -1]),
        (["left", " Tie", "RIGHT ", "equal"], [1, 0, -1, 0]),
        (["model_a", "draw", "model_b"], [1, 0, -1]),
        (["a", "b"], [1, -1]),
        (["first"], [1]),
        (["same"], [0]),
        (["win", "loss"], [1, -1]),
        ([], []),
    ],
    ids=str,
)
def test_known_labels(values, expected):
    read = read_pair_labels(values)
    assert read.dtype == np.int64
    np.testing.assert_array_equal(read, expected)
    for container in (pd.Series(values), np.array(values, dtype=object)):
        np.testing.assert_array_equal(read_pair_labels(container), expected)


@pytest.mark.parametrize(
    "values",
    [[0], [0, 2], [np.nan, 1], [None, "left"], ["1"], ["left", 1], ["first", "b"]],
)
def test_unknown_and_unclear_labels(values):
    with pytest.raises(ValueError, match=r"label must hold labels (that|whose)"):
        read_pair_labels(np.array(values, dtype=object), name="label")


def test_zero_alone_may_be_a_tie_or_right():
    with pytest.raises(ValueError, match=r"whose meaning is clear, .*got \[0\]\. Say"):
        read_pair_labels([0, 0])
    np.testing.assert_array_equal(read_pair_labels([0, 0], (-1, 0, 1)), [0, 0])
    np.testing.assert_array_equal(read_pair_labels([0, 0], (0, 1)), [-1, -1])


def test_named_labels():
    np.testing.assert_array_equal(
        read_pair_labels(["no", "yes", "?"], ("no", "?", "yes")), [-1, 1, 0]
    )
    np.testing.assert_array_equal(read_pair_labels([2, 1], np.array([1, 2])), [1, -1])
    with pytest.raises(ValueError, match=r"nothing but the labels=.*got \['Yes'\] too"):
        read_pair_labels(["Yes", "no"], ("no", "yes"))


def test_messages_show_a_few_values():
    with pytest.raises(ValueError, match=r"got \[0, 1, 2, .*, 9, \.\.\.\], 100 in all"):
        read_pair_labels(np.arange(100))


@pytest.mark.parametrize(
    "labels",
    [("model_a", "tie", "model_b"), ("Left", "right"), ("win", "draw", "loss")],
)
def test_words_that_mean_their_opposite_warn(labels):
    with pytest.warns(UserWarning, match="means that the right one is preferred"):
        told = read_pair_labels(list(labels), labels)
    expected = [-1, 0, 1] if len(labels) == 3 else [-1, 1]
    assert told.tolist() == expected
    turned = read_pair_labels(list(labels), labels[::-1])
    assert turned.tolist() == [-sign for sign in expected]


def test_numbers_may_be_turned_around():
    assert read_pair_labels([1, 0, -1], (1, 0, -1)).tolist() == [-1, 0, 1]
