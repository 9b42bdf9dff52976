"""Tables of answers: every form, one order, and an error for what is wrong."""

import datetime as dt
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank_abstain.pairs import group_queries
from skrank_abstain.review._answers import pair_id, take_answers

# Rows of two queries in turns.
QUERIES = group_queries(["b", "a", "b", "a", "b"], 5)
IDS = np.array(["Ann", "Ann", "Bo", "Cy", "Di"])
COLUMNS = ("query", "left", "right", "label", "reviewer")
TABLE = {
    "qid": ["a", "b", "b", "b"],
    "left": ["Cy", "Ann", "Di", "Di"],
    "right": ["Ann", "Bo", "Bo", "Ann"],
    "label": ["left", "same", "right", "left"],
    "reviewer": ["x", "y", "x", "y"],
}
ROWS = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
# Query, positions in it, label, reviewer; an answer turns with its pair.
EXPECTED = [[0, 0, 1, 0, 1], [0, 0, 2, -1, 1], [0, 1, 2, 1, 0], [1, 0, 1, -1, 0]]


def columns(answers):
    return np.stack([getattr(answers, name) for name in COLUMNS], axis=1)


@pytest.mark.parametrize(
    "table",
    [TABLE, ROWS, tuple(ROWS), pd.DataFrame(TABLE), pl.DataFrame(TABLE)],
    ids=["mapping", "list", "tuple", "pandas", "polars"],
)
def test_every_kind_of_table_is_the_same(table):
    answers = take_answers(table, QUERIES, IDS)
    np.testing.assert_array_equal(columns(answers), EXPECTED)
    assert answers.reviewers == ("x", "y")
    np.testing.assert_array_equal(answers.row, [1, 3, 2, 0])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_the_order_of_the_rows_does_not_matter(order):
    answers = take_answers([ROWS[k] for k in order], QUERIES, IDS)
    np.testing.assert_array_equal(columns(answers), EXPECTED)
    assert [order[row] for row in answers.row] == [1, 3, 2, 0]


@pytest.mark.parametrize("kind", [int, str, float, np.int32])
@pytest.mark.parametrize("with_qid", [False, True])
def test_items_without_a_name_are_row_positions(kind, with_qid):
    table = {"left": [kind(3), kind(0)], "right": [kind(1), kind(4)], "label": [-1, 1]}
    if with_qid:
        table["qid"] = ["a", "b"]
    answers = take_answers(table, QUERIES, None)
    np.testing.assert_array_equal(columns(answers), [[0, 0, 2, 1, 0], [1, 0, 1, 1, 0]])


def test_identifiers_are_compared_as_text():
    queries = group_queries([7, 7, 8, 8], 4)
    table = [{"qid": "8", "left": "1.5", "right": 2.0, "label": "A"}]
    answers = take_answers(table, queries, np.array([1, 2, 1.5, 2.0]))
    np.testing.assert_array_equal(columns(answers), [[1, 0, 1, 1, 0]])


def test_identical_rows_count_once():
    assert len(take_answers([*ROWS, ROWS[0], ROWS[2]], QUERIES, IDS)) == 4
    turned = {**ROWS[0], "left": "Ann", "right": "Cy", "label": "right"}
    assert len(take_answers([*ROWS, turned], QUERIES, IDS)) == 4


def test_who_changed_their_mind_is_reported_and_counts_last_where_there_is_a_time():
    again = {**ROWS[0], "label": "right"}
    both = take_answers([*ROWS, again], QUERIES, IDS)
    assert len(both) == 5
    times = [
        {**row, "time": time}
        for time, row in zip([3, 1, 1, 1, 2], [*ROWS, again], strict=True)
    ]
    last = take_answers(times, QUERIES, IDS)
    np.testing.assert_array_equal(columns(last), EXPECTED)
    for answers in (both, last):
        ((query, rows),) = answers.changed
        assert (query, rows.tolist()) == (1, [0, 4])


def test_no_answers():
    for table in (None, [], {}, {"left": [], "right": [], "label": []}):
        answers = take_answers(table, QUERIES, None)
        assert len(answers) == 0
        np.testing.assert_array_equal(answers.pair_start, [0])


def test_pairs_start_where_another_pair_does():
    again = {**ROWS[1], "reviewer": "z", "label": "left"}
    answers = take_answers([*ROWS, again], QUERIES, IDS)
    np.testing.assert_array_equal(answers.pair_start, [0, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"right": "Cy"}, "two different items, .* row 0"),
        ({"label": np.nan}, "label in every row, got nan in row 0 and 1 such rows"),
        ({"label": ""}, "Drop the rows without an answer, as review.read_answers does"),
        ({"label": "perhaps"}, "must hold labels that are known, .*'perhaps'"),
        ({"reviewer": None}, "name reviewer in every row, got None in row 0"),
        ({"qid": np.nan}, "name qid in every row"),
        ({"left": None}, "name left .* Without item_id= .* row positions, pair.left"),
        ({"reviewer": "Y "}, "name of each reviewer in one way, got 'Y' and 'y'"),
    ],
)
def test_what_is_wrong_is_named(change, match):
    with pytest.raises(ValueError, match=match):
        take_answers([{**ROWS[0], **change}, *ROWS[1:]], QUERIES, IDS)


def test_answers_about_queries_that_are_not_there_are_set_aside():
    # As a table of all days is, beside the items of one of them.
    other = [{**ROWS[0], "qid": "c", "left": "Eve"}, {**ROWS[1], "qid": "d"}]
    message = (
        r"2 of 6 answers, .* queries 'c', 'd'; X names items .* and queries 'a', 'b'\.$"
    )
    with pytest.warns(UserWarning, match=message):
        answers = take_answers([other[0], *ROWS, other[1]], QUERIES, IDS)
    np.testing.assert_array_equal(columns(answers), EXPECTED)
    np.testing.assert_array_equal(answers.row, [2, 4, 3, 1])
    assert answers.reviewers == ("x", "y")


@pytest.mark.parametrize("as_date", [str, dt.date.fromisoformat, np.datetime64])
def test_answers_about_other_days_alone_are_set_aside(as_date):
    # They may also be about X, whose names somebody writes otherwise.
    day = as_date("2026-11-25")
    other = [{**row, "qid": day} for row in ROWS]
    with pytest.warns(UserWarning, match="set aside") as caught:
        answers = take_answers(other, QUERIES, IDS)
    assert len(answers) == 0
    message = str(caught[0].message)
    assert message.startswith("4 of 4 answers, about queries or items that are not in")
    assert "and queries '2026-11-25'; X" in message
    assert message.endswith(
        "No answer is left: if some are about X, write qid and names as X does."
    )
    assert "None" not in message


def test_answers_with_a_query_beside_items_without_one_are_set_aside():
    one, names = group_queries(None, 3), np.array(["A", "B", "C"])
    row = {"left": "A", "right": "B", "label": "left"}
    message = "'monday'; X names items 'A'.* and no queries. 1 name two items of X, und"
    with pytest.warns(UserWarning, match=message):
        assert len(take_answers([row | {"qid": "monday"}], one, names)) == 0
    with pytest.warns(UserWarning, match="name items .*'Eve' and no queries; X"):
        assert len(take_answers([row | {"left": "Eve"}], one, names)) == 0


def test_answers_about_items_that_left_are_set_aside_whoever_has_the_name_now():
    # Bo of query a is gone; another Bo is in query b.
    left = [{**ROWS[0], "left": "Bo"}, *ROWS[1:]]
    with pytest.warns(UserWarning, match="1 of 4 answers, .* are set aside: they name"):
        answers = take_answers(left, QUERIES, IDS)
    assert len(answers) == 3


def test_answers_without_qid_are_about_the_same_items_on_another_day():
    today = group_queries("2026-11-26", 3)
    said = {"left": ["A"], "right": ["B"], "label": ["left"], "qid": ["2026-11-25"]}
    said["pair_id"] = [pair_id("2026-11-25", "A", "B")[0]]
    with pytest.warns(UserWarning, match=r"1 name two items .* pass answers without q"):
        assert len(take_answers(said, today, np.array(["A", "B", "C"]))) == 0
    del said["qid"]
    with pytest.warns(UserWarning, match="name no query"):
        assert len(take_answers(said, today, np.array(["A", "B", "C"]))) == 1
    said["qid"] = ["2026-11-26"]
    with pytest.raises(ValueError, match="must have the pair_id of their items"):
        take_answers(said, today, np.array(["A", "B", "C"]))


@pytest.mark.parametrize("day", [None, "2026-11-26"])
def test_ids_of_other_pairs_of_today_are_refused_without_qid(day):
    today, names = group_queries(day, 3), np.array(["A", "B", "C"])
    said = {"left": ["A", "A"], "right": ["B", "C"], "label": ["left", "left"]}
    said["pair_id"] = [pair_id(str(day), "A", right)[0] for right in said["right"]]
    with pytest.warns(UserWarning, match="name no query"):
        assert len(take_answers(said, today, names)) == 2
    for column in ("right", "pair_id"):  # one column is sorted
        with pytest.raises(ValueError, match=r"have the pair_id .*2 such rows in all"):
            take_answers(said | {column: said[column][::-1]}, today, names)


def test_blanks_around_the_names_of_reviewers_do_not_count():
    table = TABLE | {"reviewer": ["x", " y", "x ", "y"]}
    answers = take_answers(table, QUERIES, IDS)
    assert answers.reviewers == ("x", "y")
    np.testing.assert_array_equal(columns(answers), EXPECTED)


def test_names_without_item_id_are_told_to_pass_it():
    with pytest.raises(ValueError, match=r"'left': 'Cy'.* Pass item_id= as when"):
        take_answers(TABLE, QUERIES, None)


def test_items_of_two_queries_are_refused():
    with pytest.raises(ValueError, match=r"two items of one query, .* row 0"):
        take_answers({"left": [0], "right": [1], "label": ["same"]}, QUERIES, None)


def test_an_item_without_its_query_is_refused():
    table = {name: TABLE[name] for name in ("left", "right", "label")}
    with pytest.raises(ValueError, match="must have a column qid"):
        take_answers(table, QUERIES, IDS)


def test_identifiers_that_look_alike_are_refused():
    table = [{"left": 1, "right": 2, "label": "same"}]
    with pytest.raises(ValueError, match="must differ as texts"):
        take_answers(table, group_queries(None, 3), np.array([1, "1", 2], dtype=object))


def test_zero_and_one_alone_are_refused():
    table = {"left": [0, 0], "right": [2, 4], "label": [0, 1]}
    with pytest.raises(ValueError, match=r"left, same and right, got .0, 1"):
        take_answers(table, QUERIES, None)
    table["label"] = [0, 0.5]
    np.testing.assert_array_equal(take_answers(table, QUERIES, None).label, [-1, 0])


@pytest.mark.parametrize(
    ("table", "error", "match"),
    [
        ("answers.csv", TypeError, "read a file by review.read_answers"),
        (["a.csv"], TypeError, "row 0; read a file by review.read_answers"),
        (3, TypeError, "frame, a mapping"),
        ([1], TypeError, "row 0"),
        ({"left": [0], "right": [2]}, ValueError, "columns qid, left"),
        ({"left": [0], "right": [2], "label": []}, ValueError, "one length"),
        (
            [ROWS[0], {"left": "Ann"}],
            ValueError,
            "name qid in every row, got None in row 1",
        ),
    ],
)
def test_what_is_no_table_is_refused(table, error, match):
    with pytest.raises(error, match=match):
        take_answers(table, QUERIES, IDS)


def test_ids_stand_beside_the_row_positions_of_a_frame_of_questions():
    # Integers that are row positions, too, and mean others there.
    ids = np.array([3, 2, 1, 4, 0])
    frame = pd.DataFrame({"qid": ["b"], "left": [0], "right": [2], "label": ["left"]})
    named = frame.assign(left_id=[3], right_id=[1])
    by_name = frame.assign(left=[3], right=[1])
    np.testing.assert_array_equal(
        columns(take_answers(named, QUERIES, ids)),
        columns(take_answers(by_name, QUERIES, ids)),
    )
    without = named.drop(columns=["left", "right"])
    assert len(take_answers(without, QUERIES, ids)) == 1


def test_a_file_of_tasks_about_rows_can_be_read_by_anything():
    frame = pd.DataFrame({"qid": ["a"], "left_id": [3], "right_id": [1]})
    table = frame.assign(label=["left"])
    by_row = table.rename(columns={"left_id": "left", "right_id": "right"})
    np.testing.assert_array_equal(
        columns(take_answers(table, QUERIES, None)),
        columns(take_answers(by_row, QUERIES, None)),
    )


@pytest.mark.parametrize("column", ["risk", "accepted", "p_left", "value"])
def test_what_the_model_says_is_no_answer(column):
    with pytest.raises(
        ValueError, match=f"come from people, got .*{column}.* the model"
    ):
        take_answers(TABLE | {column: [0.1] * 4}, QUERIES, IDS)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_one_query_need_not_be_named(missing):
    table = {"qid": [missing], "left": [0], "right": [2], "label": ["left"]}
    answers = take_answers(table, group_queries(None, 3), None)
    assert columns(answers).tolist() == [[0, 0, 2, 1, 0]]
    with pytest.raises(ValueError, match="must name qid in every row"):
        take_answers(table, QUERIES, None)


@pytest.mark.parametrize(
    "said",
    [
        "2024-01-02",
        "2024-01-02 00:00:00",
        "2024-01-02T00:00:00.000000000",
        pd.Timestamp("2024-01-02"),
        np.datetime64("2024-01-02", "ns"),
    ],
)
@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_days_are_days_however_they_are_written(said, unit):
    days = pd.Series(["2024-01-01", "2024-01-02"]).repeat(2).astype("datetime64[ns]")
    queries = group_queries(days.to_numpy().astype(f"datetime64[{unit}]"), 4)
    table = {"qid": [said], "left": ["Cy"], "right": ["Di"], "label": ["left"]}
    answers = take_answers(table, queries, np.array(["Ann", "Bo", "Cy", "Di"]))
    assert columns(answers).tolist() == [[1, 0, 1, 1, 0]]


def test_numbers_that_were_floats_in_a_file_are_integers():
    table = {"qid": ["7.0"], "left": ["1.0"], "right": [0], "label": ["left"]}
    answers = take_answers(table, group_queries([7.0, 7.0, 8.0], 3), np.arange(3))
    assert columns(answers).tolist() == [[0, 0, 1, -1, 0]]


@pytest.mark.parametrize("blank", ["", " ", None, np.nan, pd.NA])
def test_columns_that_nobody_filled_in_count_as_absent(blank):
    one = group_queries(None, 3)
    table = {"left": [0, 1], "right": [1, 2], "label": ["left", "same"]}
    filled = table | {"qid": [blank] * 2, "reviewer": [blank] * 2}
    answers = take_answers(filled, one, None)
    np.testing.assert_array_equal(
        columns(answers), columns(take_answers(table, one, None))
    )
    assert answers.reviewers == ("reviewer",)


def test_names_that_look_like_dates_are_texts():
    names = np.array(["2024-13-01", "2024-02-30"])
    table = {"left": names[:1], "right": names[1:], "label": ["left"]}
    assert len(take_answers(table, group_queries(None, 2), names)) == 1


@pytest.mark.parametrize(
    "time",
    [
        [1, "noon", 2, 3],
        [1, "2026-11-25", 3, 4],
        [None, "2026-11-25", 3, 4],
        ["2026-11-24", "25.11.2026", "2026-11-26", "2026-11-27"],
        ["2026-11-24", "11/25/2026", "2026-11-26", "2026-11-27"],
    ],
)
def test_times_that_cannot_be_compared_are_refused(time):
    row = 1 if time[0] is not None else 2
    with pytest.raises(ValueError, match=rf"must have times all numbers.*row {row}"):
        take_answers(TABLE | {"time": time}, QUERIES, IDS)


@pytest.mark.parametrize("blank", [None, np.nan, pd.NaT, ""])
def test_answers_without_a_time_leave_the_times_of_others(blank):
    again = [ROWS[0] | {"label": "right"}, ROWS[2] | {"label": "left"}]
    table = pd.DataFrame([*ROWS, *again]).assign(time=[3, blank, 1, blank, 4, blank])
    answers = take_answers(table, QUERIES, IDS)
    # The last of row 0 and 4 counts; which is that of 2 and 5 nobody knows.
    assert sorted(answers.row.tolist()) == [1, 2, 3, 4, 5]
    assert [sorted(rows) for _, rows in answers.changed] == [[2, 5], [0, 4]]


@pytest.mark.parametrize("label", [" ", ["left"], {"left"}, np.array(["left"])])
def test_a_label_is_one_value(label):
    with pytest.raises(ValueError, match=r"one label .*row 0"):
        take_answers(TABLE | {"label": [label, "same", "left", "left"]}, QUERIES, IDS)


@pytest.mark.parametrize("some", [[0], [0, 1], [-1, 0], [1], [-1, 0, 1], [0, 0]])
def test_numbers_mean_what_labels_say(some):
    n = len(some)
    table = {"left": [0, 0, 1][:n], "right": [2, 4, 3][:n], "label": some}
    means = {-1: "right", 0: "tie", 1: "left"}
    found = take_answers(table, QUERIES, None, labels=means)
    turned = {**table, "left": table["right"], "right": table["left"]}
    turned["label"] = [-each for each in some]
    same = take_answers(turned, QUERIES, None, labels=means)
    np.testing.assert_array_equal(found.label, same.label)
    assert sorted(abs(found.label)) == sorted(map(abs, some))
    with pytest.raises(ValueError, match=r"labels that are known, got 7 in row 0"):
        take_answers({**table, "label": [7] * n}, QUERIES, None, labels=means)


@pytest.mark.parametrize(
    ("some", "expected"),
    [(["1", "0"], [1, 0]), (["1.0", "0"], [1, 0]), (["-1.0", "0.0", 1], [-1, 0, 1])],
)
@pytest.mark.parametrize(
    "labels",
    [{-1: "right", 0: "tie", 1: "left"}, {"-1": "right", "0": "tie", "1.0": "left"}],
)
def test_numbers_written_as_texts_are_numbers(some, expected, labels):
    n = len(some)
    table = {"left": [0, 0, 1][:n], "right": [2, 4, 3][:n], "label": some}
    of_row = take_answers(table, QUERIES, None, labels=labels)
    assert of_row.label[np.argsort(of_row.row)].tolist() == expected
    if n == 3:  # clear without labels=
        same = take_answers(table, QUERIES, None)
        np.testing.assert_array_equal(same.label, of_row.label)


@pytest.mark.parametrize("some", [[0, 1], ["0", "1"], ["1.0", "0"]])
def test_numbers_that_may_mean_two_things_name_the_remedy(some):
    n = len(some)
    table = {"left": [0, 0][:n], "right": [2, 4][:n], "label": some}
    with pytest.raises(
        ValueError, match=r"labels=\{-1: 'right', 0: 'tie', 1: 'left'\} wh"
    ):
        take_answers(table, QUERIES, None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nurse", r"\['nurse'\]\. Those that are read: .* reviewer"),
        ("Reviewer", "Is 'Reviewer' 'reviewer'"),
        ("timestamp", "Is 'timestamp' 'time'"),
        *[
            (name, rf"\['{name}'\]\. Those")
            for name in ("weight", "p", "confidence", "sure")
        ],
    ],
)
def test_columns_that_are_not_read_are_named(name, said):
    with pytest.warns(UserWarning, match=f"answers have columns .*{said}"):
        take_answers(TABLE | {name: [1, 2, 3, 4]}, QUERIES, IDS)


def test_answers_about_items_that_are_not_there_are_set_aside():
    # A patient of day a who went home, and a name that nobody has.
    gone = [{**ROWS[0], "left": "Eve"}, {**ROWS[1], "right": "Ave"}]
    with pytest.warns(UserWarning, match=r"2 of 6 .* items that are not in X.*'Eve'"):
        answers = take_answers([gone[0], *ROWS, gone[1]], QUERIES, IDS)
    np.testing.assert_array_equal(columns(answers), EXPECTED)
    with pytest.warns(UserWarning, match=r"2 of 2 .*'Eve'.* No answer is left"):
        assert len(take_answers(gone, QUERIES, IDS)) == 0
    rows = {"left": [9, 0], "right": [0, 2], "label": [1, 1]}
    with pytest.raises(ValueError, match=r"name items .*'left': '9'.*Pass item_id="):
        take_answers(rows, QUERIES, None)


def test_the_winner_may_be_the_name_of_an_item():
    one, names = group_queries(None, 3), np.array(["A", "B", "C"])
    table = {"left": ["B", "C"], "right": ["A", "A"], "label": ["A", "both good"]}
    with pytest.raises(ValueError, match="a name that of a side or of an item"):
        take_answers({k: v[:1] for k, v in table.items()}, one, names)
    answers = take_answers(table | {"label": ["A", "C"]}, one, names)
    assert answers.label.tolist() == [1, -1]  # of A and B, and of A and C


def test_some_people_write_the_winner_and_others_the_side():
    one, names = group_queries(None, 3), np.array(["Ann", "Bo", "Cy"])
    table = {
        "left": ["Ann", "Bo", "Cy", "Cy"],
        "right": ["Bo", "Cy", "Ann", "Ann"],
        "label": ["Bo", "Right", "left", "same"],
        "reviewer": ["winner", "side", "side", "either"],
    }
    answers = take_answers(table, one, names)
    by_side = table | {"label": ["right", "right", "left", "same"]}
    expected = take_answers(by_side, one, names)
    np.testing.assert_array_equal(columns(answers), columns(expected))
    for label in ("Bob", "1", 1):  # names neither item, and no side
        wrong = table | {"label": ["Bo", "left", label, "same"]}
        with pytest.raises(ValueError, match=r"known, got .* row 2, which names neith"):
            take_answers(wrong, one, names)
    # An item called as the other side is.
    named = {side: ["left" if n == "Bo" else n for n in table[side]] for side in table}
    named |= {"label": ["left", "Cy", "right", "same"]}
    with pytest.raises(ValueError, match="a name that of a side or of an item"):
        take_answers(named, one, np.array(["Ann", "left", "Cy"]))
    named |= {"label": ["Ann", "Cy", "right", "same"]}
    assert len(take_answers(named, one, np.array(["Ann", "left", "Cy"]))) == 4


def test_row_positions_are_no_labels_beside_sides():
    one = group_queries(None, 3)
    # By row positions 1 is a label, and no item.
    rows = {"left": [0], "right": [1], "label": [1]}
    assert take_answers(rows, one, None).label.tolist() == [1]


def test_the_last_time_counts_whether_text_or_number():
    rows = [ROWS[0] | {"label": label} for label in ("right", "left")]
    for times in (
        ["1000", "999"],
        ["2026-11-26T01:00:00Z", "2026-11-25T19:30:00-05:00"],  # half an hour before
    ):
        table = [row | {"time": time} for row, time in zip(rows, times, strict=True)]
        assert take_answers(table, QUERIES, IDS).row.tolist() == [0]


def test_the_same_answer_of_nobody_counts_once_and_says_so():
    nobody = [{k: v for k, v in ROWS[0].items() if k != "reviewer"}] * 3
    with pytest.warns(
        UserWarning, match=r"2 answers that repeat .* add a column review"
    ):
        assert len(take_answers(nobody, QUERIES, IDS)) == 1
    named = [row | {"reviewer": name} for row, name in zip(nobody, "xyz", strict=True)]
    assert len(take_answers(named, QUERIES, IDS)) == 3


def test_files_that_name_no_query_may_be_of_another_day():
    table = {"left": ["A"], "right": ["B"], "label": ["left"], "pair_id": ["mine"]}
    with pytest.warns(UserWarning, match="name no query: any answer about these names"):
        take_answers(table, group_queries(None, 2), np.array(["A", "B"]))
    # Today has a name, but the file has none: it may be yesterday's.
    named = group_queries("2026-11-25", 2)
    with pytest.warns(UserWarning, match="name no query: any answer about these names"):
        take_answers(table, named, np.array(["A", "B"]))
    table["qid"] = ["2026-11-25"]
    assert len(take_answers(table, named, np.array(["A", "B"]))) == 1


def test_answers_typed_without_a_query_may_be_of_another_day_too():
    typed = [{"left": "A", "right": "B", "label": "left"}]
    names = np.array(["A", "B"])
    with pytest.warns(UserWarning, match="name no query: any answer about these names"):
        assert len(take_answers(typed, group_queries("2026-11-25", 2), names)) == 1
    # Where today has no name either, names are for good; rows are of today.
    assert len(take_answers(typed, group_queries(None, 2), names)) == 1
    rows = [{"left": 0, "right": 1, "label": "left"}]
    assert len(take_answers(rows, group_queries("2026-11-25", 2), None)) == 1


def test_of_answers_that_a_page_saved_again_the_last_counts():
    """However tables are joined, and under which name each file was read."""
    said = [(0, "left", 1), (1, "left", 1), (2, "same", 1)]
    again = [(0, "right", 2), (1, "skip", 2), (2, "same", 1)]
    tables = [
        pd.DataFrame(
            {
                **{side: TABLE[side][1:] for side in ("qid", "left", "right")},
                "label": [label for _, label, _ in rows],
                "time": [f"2026-11-25T10:00:0{second}Z" for *_, second in rows],
                "reviewer": name,
                "answer_id": [f"page x {number}" for number, *_ in rows],
            }
        )
        for name, rows in (("answers", said), ("answers (1)", again))
    ]
    for order in (tables, tables[::-1]):
        answers = take_answers(pd.concat(order), QUERIES, IDS)
        # That about Di and Bo was taken back.
        assert answers.reviewers == (order[0]["reviewer"][0],)
        assert len(answers.changed) == 0
        asked = columns(answers)[:, :4].tolist()
        alone = take_answers(tables[1], QUERIES, IDS)
        assert asked == columns(alone)[:, :4].tolist()
        assert len(asked) == 2


@pytest.mark.parametrize("of_page", [{}, {"answer_id": "page x 0"}])
def test_skipped_questions_have_no_answer(of_page):
    for labels in (None, {-1: "right", 0: "tie", 1: "left"}, {"links": "left"}):
        row = {**ROWS[0], "label": "Skip", **of_page}
        assert len(take_answers([row], QUERIES, IDS, labels)) == 0
    rows = [{**ROWS[0], "label": "weiß nicht"}, {**ROWS[1], "label": "same"}]
    answers = take_answers(rows, QUERIES, IDS, {"weiß nicht": "skip"})
    assert answers.row.tolist() == [1]
    assert answers.label.tolist() == [0]
