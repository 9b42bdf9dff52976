"""What labels of pairs mean."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import pytest

from skrank_abstain.pairs import read_pair_labels, read_times
from skrank_abstain.pairs import read_winners as read_labels


def read_winners(*given):
    """Read labels all of which count."""
    label, counts = read_labels(*given)
    assert counts.all()
    return label


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
    np.testing.assert_array_equal(read_pair_labels([0, 0], {0: "tie"}), [0, 0])
    np.testing.assert_array_equal(read_pair_labels([0, 0], {0: "right"}), [-1, -1])


def test_named_labels():
    means = {"no": "right", "?": "tie", "Yes": "left", "yep": "left"}
    # In any case, several for one, and the plain words beside them.
    said = ["no", "yes", "?", "YEP", "Left", "same", "right"]
    np.testing.assert_array_equal(
        read_pair_labels(said, means), [-1, 1, 0, 1, 1, 0, -1]
    )
    turned = {1: "right", 0: "tie", -1: "left"}
    assert read_pair_labels([1, 0, -1], turned).tolist() == [-1, 0, 1]
    match = (
        r"labels that are known, got \['maybe'\] and labels={'no': .*: add what these"
    )
    with pytest.raises(ValueError, match=match):
        read_pair_labels(["maybe", "no"], means)


def test_messages_show_a_few_values():
    with pytest.raises(ValueError, match=r"got \[0, 1, 2, .*, 9, \.\.\.\], 100 in all"):
        read_pair_labels(np.arange(100))


A, B = ["A", "B", "B"], ["B", "A", "C"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["A", "A", "C"], [1, -1, -1]),
        (["B", "both bad", "Tie"], [-1, 0, 0]),
        (["left", "right", "tie"], [1, -1, 0]),
        (["1", "-1", "0.0"], [1, -1, 0]),  # as in a file
        (["b", "b", "a"], [-1, -1, 1]),  # in the last row no item is called a: sides
    ],
)
def test_the_winner_is_a_side_or_a_name(column, expected):
    np.testing.assert_array_equal(read_winners(column, None, (A, B), "y"), expected)


def test_a_winner_that_may_be_a_side_or_a_name_is_refused():
    # As sides the right one wins in the second row, and by name the left one.
    for column in (["A", "B", "B"], ["a", "b", "b"]):
        with pytest.raises(ValueError, match="a name that of a side or of an item"):
            read_winners(column, None, (A, B), "y")
    assert read_winners(
        ["A", "B"], {"B": "right", "A": "left"}, (A[:2], B[:2]), "y"
    ).tolist() == [1, -1]


@pytest.mark.parametrize("column", [["A", "B", "Bo"], ["Bo", "x", "x"]])
def test_an_unknown_winner_is_named_first_and_briefly(column):
    row = column.index("Bo")
    others = " (and ['x'])" if "x" in column else ""
    rule = re.escape(f"got 'Bo' in row {row}{others}, which names neither item: write")
    with pytest.raises(ValueError, match=rule) as error:
        read_winners(column, None, (A, B), "y")
    assert len(str(error.value)) < 210


@pytest.mark.parametrize("name", ["tie", "Both bad", "Equal", "neither"])
def test_no_item_is_called_as_a_tie_is_where_winners_are_named(name):
    sides = ["A", "A", name], ["B", name, "B"]
    for said in (name, "B"):
        with pytest.raises(
            ValueError, match="Rename items that are called as a tie is"
        ):
            read_winners(["A", "A", said], None, sides, "y")
    by_side = read_winners(["left", "right", "left"], None, sides, "y")
    assert by_side.tolist() == [1, -1, 1]


def test_names_are_compared_however_they_are_written():
    assert read_winners(
        [" ann", "BO"], None, (["Ann"] * 2, ["Bo"] * 2), "y"
    ).tolist() == [1, -1]
    one, two = np.array([7, 8, 9]), ["8", "7.0", 7]
    assert read_winners(["007", 7.0, 9], None, (one, two), "y").tolist() == [1, -1, 1]


DAYS = [dt.date(2026, 11, 25), dt.date(2026, 12, 3)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([999, "1000"], [999, 1000]),
        (DAYS, [20_782, 20_790]),
        ([*map(str, DAYS)], [20_782, 20_790]),
        ([20261125, "20261203"], [20_782, 20_790]),
        ([20261125.0, 20261203.0], [20_782, 20_790]),
        (pd.Series(DAYS).astype("datetime64[ns]"), [20_782, 20_790]),
        (["2026-11-25T12:00", "2026-12-03 12:00:00Z"], [20_782.5, 20_790.5]),
        (["2026-11-25T19:00:00-05:00", np.datetime64("2026-12-03")], [20_783, 20_790]),
    ],
)
def test_times_are_compared_as_numbers_or_dates(times, expected):
    np.testing.assert_allclose(read_times([*times], "votes"), expected)


@pytest.mark.parametrize(
    "times",
    [["2026-11-25", "03.12.2026"], ["2026-11-25", "11/12/2026"], [5, DAYS[0]], [5, []]],
)
def test_times_that_nothing_tells_are_refused(times):
    with pytest.raises(
        ValueError, match=r"votes must have a time in every row, .* in row 1"
    ):
        read_times(times, "votes")


def test_words_of_ones_own_stand_beside_names_and_sides():
    means = {"besser": "left", "Gleich": "tie", 2: "right"}
    column = ["besser", " gleich\u00a0", "C", "left", "2"]
    sides = ["A", "A", "B", "B", "A"], ["B", "C", "C", "C", "C"]
    assert read_winners(column, means, sides, "y").tolist() == [1, 0, -1, 1, -1]
    with pytest.raises(ValueError, match="got 'schlechter' in row 0"):
        read_winners(["schlechter"], means, (["A"], ["B"]), "y")
    with pytest.raises(ValueError, match="labels must map labels"):
        read_winners(["left"], ("right", "left"), (["A"], ["B"]), "y")


def test_who_says_skip_says_nothing():
    sides = ["A", "A", "B"], ["B", "C", "C"]
    for column, means in (
        (["A", "SKIP", "C"], None),
        (["left", "?", "right"], {"?": "skip"}),
    ):
        label, counts = read_labels(column, means, sides, "y")
        np.testing.assert_array_equal(label, [1, 0, -1])
        np.testing.assert_array_equal(counts, [True, False, True])
    label, counts = read_labels(["skip", " Skip"], None, (["A", "B"], ["B", "A"]), "y")
    assert not counts.any()
    # An item of that name wins.
    label, counts = read_labels(["Skip", "B"], None, (["skip"] * 2, ["B"] * 2), "y")
    np.testing.assert_array_equal(label, [1, -1])
    assert counts.all()
    with pytest.raises(
        ValueError, match=r"labels must map .* or to 'skip', which does"
    ):
        read_labels(["x"], {"x": "none"}, (["A"], ["B"]), "y")
    with pytest.raises(ValueError, match="'left', 'tie' or 'right' preferred, as"):
        read_pair_labels(["x"], {"x": "skip"})


@pytest.mark.parametrize("key", ["both_bad", "Both bad", "bothbad", "tie (bothbad)"])
def test_a_tie_in_a_mapping_may_be_spelled_in_any_of_its_ways(key):
    column = ["A", "both bad", "tie (bothbad)", "both_bad", "tie"]
    label, counts = read_labels(column, {key: "skip"}, (["A"] * 5, ["B"] * 5), "y")
    np.testing.assert_array_equal(label, [1, 0, 0, 0, 0])
    np.testing.assert_array_equal(counts, [True, False, False, False, True])
