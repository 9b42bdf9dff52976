"""Reading votes: every kind of table gives the same, and every mistake has a name."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

from skrank_abstain.leaderboard._votes import read_votes, split_votes
from skrank_abstain.review import read_answers

ROWS = [
    {"left": "Ann", "right": "Bo", "label": "left"},
    {"left": "Cy", "right": "Ann", "label": "right"},
    {"left": "Bo", "right": "Cy", "label": "same"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


def with_column(name, values):
    return COLUMNS | {name: values}


def assert_is_the_example(votes):
    assert votes.items.tolist() == ["Ann", "Bo", "Cy"]
    assert votes.left.tolist() == [0, 2, 1]
    assert votes.right.tolist() == [1, 0, 2]
    assert votes.label.tolist() == [1, -1, 0]
    assert votes.weight.tolist() == [1, 1, 1]
    assert votes.covariates.shape == (3, 0)
    assert votes.cluster is None


def test_lists_and_mappings_are_read():
    assert_is_the_example(read_votes(ROWS))
    assert_is_the_example(read_votes(COLUMNS))
    arrays = {name: np.array(column) for name, column in COLUMNS.items()}
    assert_is_the_example(read_votes(arrays))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read(library):
    frame = pytest.importorskip(library).DataFrame(COLUMNS)
    assert_is_the_example(read_votes(frame))


def test_categories_are_read():
    pd = pytest.importorskip("pandas")
    assert_is_the_example(read_votes(pd.DataFrame(COLUMNS).astype("category")))


def test_answers_of_a_review_are_read(tmp_path):
    path = tmp_path / "answers.csv"
    lines = [",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]
    path.write_text("\n".join(lines))
    assert_is_the_example(read_votes(read_answers(path)))


def test_files_of_arenas_are_read():
    lines = [
        '{"model_a": "Ann", "model_b": "Bo", "winner": "model_a", "turn": 1}',
        '{"model_a": "Cy", "model_b": "Ann", "winner": "model_b", "turn": 1}',
        '{"model_a": "Bo", "model_b": "Cy", "winner": "tie (bothbad)", "turn": 2}',
    ]
    votes = [json.loads(line) for line in lines]
    assert_is_the_example(read_votes(votes))
    votes[2]["winner"] = "tie"
    assert_is_the_example(read_votes(votes))


@pytest.mark.parametrize("sides", [("left", "right"), ("model_a", "model_b")])
@pytest.mark.parametrize("label", ["label", "winner"])
def test_columns_may_be_named_in_any_of_the_usual_ways(sides, label):
    votes = dict(zip((*sides, label), COLUMNS.values(), strict=True))
    assert_is_the_example(read_votes(votes))
    ids = {"left_id": COLUMNS["left"], "right_id": COLUMNS["right"]}
    # Beside names, left and right are rows, as in questions.
    assert_is_the_example(read_votes(ids | {"left": [0, 1, 2], label: votes[label]}))
    with pytest.raises(
        ValueError, match=r"one of label and winner .*two names for one"
    ):
        read_votes(votes | {"label": ["left"] * 3, "winner": ["right"] * 3})


@pytest.mark.parametrize(
    "tie", ["Tie", "both bad", "Both_Good", "tie (bothbad)", "Equally good", "neither"]
)
def test_the_winner_may_be_the_name_of_an_item_and_ties_have_many_words(tie):
    assert_is_the_example(read_votes(with_column("label", ["Ann", "Ann", tie])))
    assert_is_the_example(read_votes(with_column("label", ["left", "right", tie])))
    with pytest.raises(ValueError, match=r"labels that are known.*'Di'"):
        read_votes(with_column("label", ["Di", "Ann", tie]))


def test_names_that_are_sides_too_must_agree():
    votes = {"left": ["A", "A", "C"], "right": ["B", "B", "A"], "winner": ["A", "B"]}
    agree = {name: column[:2] for name, column in votes.items()}
    assert read_votes(agree).label.tolist() == [1, -1]
    votes["winner"] = ["A", "B", "A"]  # in the last row A stands on the right
    with pytest.raises(ValueError, match=r"meaning is clear.*got \['A', 'B'\]"):
        read_votes(votes)
    assert read_votes(votes, labels={"B": "right", "A": "left"}).label.tolist() == [
        1,
        -1,
        1,
    ]
    votes["winner"] = ["A", "B", "C"]  # no sides are called so
    assert read_votes(votes).label.tolist() == [1, -1, 1]


def test_a_count_of_votes_is_as_many_votes():
    votes = read_votes(with_column("count", [3, 0, 2]) | {"who": ["x", "y", "z"]})
    assert votes.left.tolist() == [0, 0, 0, 1, 1]
    assert votes.weight.tolist() == [1] * 5
    with pytest.raises(TypeError, match=r"count must be an integer, got 0\.5"):
        read_votes(with_column("count", [3, 0.5, 2]))
    with pytest.raises(ValueError, match="count must be at least 0, got -1"):
        read_votes(with_column("count", [3, -1, 2]))


@pytest.mark.parametrize("other", ["ann", " Ann", "ANN "])
def test_two_spellings_of_a_name_are_refused(other):
    with pytest.raises(ValueError, match=r"in one way, .*Ann.* case, spaces or"):
        read_votes(with_column("left", ["Ann", other, "Bo"]))
    one, two = "Zo\u00eb", "Zoe\u0308"
    with pytest.raises(ValueError, match="Unicode form"):
        read_votes(with_column("left", [one, two, "Bo"]))


@pytest.mark.parametrize(
    "time",
    [
        1_700_000_000 + 3600 * np.arange(200),  # seconds
        [*np.linspace(0, 30, 199), 20_000],  # one vote in the future
    ],
)
def test_a_half_life_that_leaves_no_votes_is_refused(time):
    votes = {
        "left": ["a"] * 200,
        "right": ["b"] * 200,
        "label": ["left", "right"] * 100,
    }
    with pytest.raises(ValueError, match=r"half_life must leave at least ten votes'"):
        read_votes(votes | {"time": time}, half_life=30)
    days = np.minimum(np.asarray(time, float) - min(time), 30)
    assert read_votes(votes | {"time": days}, half_life=30).weight.sum() > 10


def test_a_half_life_in_seconds_for_dates_is_said():
    dates = np.datetime64("2026-01-01") + np.arange(200)
    votes = {
        "left": ["a"] * 200,
        "right": ["b"] * 200,
        "label": ["left", "right"] * 100,
    }
    week = 7 * 86_400  # days, where dates are counted
    oldest = f"{0.5 ** (199 / week):.2%}"
    with pytest.warns(UserWarning, match=f"half_life=604800 .* counts {oldest}"):
        read_votes(votes | {"time": dates}, half_life=week)
    read_votes(votes | {"time": dates}, half_life=30)


def test_items_are_sorted_whatever_the_order_of_the_votes():
    numbers = [
        {"left": 10, "right": 9, "label": 1},
        {"left": 9, "right": 2, "label": -1},
    ]
    votes = read_votes(numbers)
    assert votes.items.dtype == np.int64
    assert votes.items.tolist() == [2, 9, 10]
    mixed = [{"left": ("a", 1), "right": 9, "label": 1}, {**ROWS[0], "label": -1}]
    assert read_votes(mixed).items.tolist() == read_votes(mixed[::-1]).items.tolist()


def test_weights_covariates_and_clusters_are_read():
    table = COLUMNS | {
        "weight": [1, 0.5, 0],
        "long": [True, False, True],
        "home": [1, 1, 1],
        "reviewer": ["x", "y", "x"],
    }
    votes = read_votes(table, covariates=["long", "home"], cluster="reviewer")
    assert votes.weight.tolist() == [1, 0.5, 0]
    assert votes.covariates.tolist() == [[1, 1], [0, 1], [1, 1]]
    assert votes.cluster.tolist() == [0, 1, 0]


DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 11), dt.date(2024, 1, 21)]
MIDNIGHTS = [dt.datetime(day.year, day.month, day.day) for day in DAYS]


@pytest.mark.parametrize(
    "time",
    [
        [0, 10, 20],
        DAYS,
        MIDNIGHTS,
        [day.replace(tzinfo=dt.UTC) for day in MIDNIGHTS],
        [day.isoformat() for day in DAYS],
        [f"{day.isoformat()}T00:00:00Z" for day in DAYS],
        np.array(DAYS, dtype="datetime64[ns]"),
    ],
)
def test_old_votes_fade(time):
    votes = read_votes(with_column("time", time), half_life=10)
    np.testing.assert_allclose(votes.weight, [0.25, 0.5, 1])
    assert read_votes(with_column("time", time)).weight.tolist() == [1, 1, 1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_old_votes_in_frames_fade(library):
    frame = pytest.importorskip(library).DataFrame(with_column("time", MIDNIGHTS))
    np.testing.assert_allclose(read_votes(frame, half_life=10).weight, [0.25, 0.5, 1])


def test_items_that_never_met_are_in_different_components():
    more = [*ROWS, {"left": "Di", "right": "Ed", "label": "left"}]
    assert read_votes(more).component.tolist() == [0, 0, 0, 1, 1]


def test_items_that_are_known_keep_their_numbers():
    items = np.array(["Cy", "Bo", "Ann", "Di"])
    votes = read_votes(ROWS, items=items)
    assert votes.left.tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="items of the board, got 'Ann'; it has"):
        read_votes(ROWS, items=items[:2])


@pytest.mark.parametrize(
    ("votes", "options", "error", "message"),
    [
        ("votes.csv", {}, TypeError, "a frame, a mapping of columns or a list of map"),
        ([ROWS[0], 3], {}, TypeError, "got 3 in row 1"),
        ([], {}, ValueError, "votes must have columns left, right, label"),
        ({n: [] for n in COLUMNS}, {}, ValueError, "at least one row"),
        ({"left": ["a"], "label": [1]}, {}, ValueError, r"got \['left', 'label'\]"),
        (with_column("weight", [1]), {}, ValueError, "columns of one length"),
        (with_column("right", ["Ann", "Ann", "Cy"]), {}, ValueError, "'Ann' against i"),
        (with_column("left", ["Ann", None, "Bo"]), {}, ValueError, "got None in row 1"),
        (with_column("left", ["Ann", np.nan, "B"]), {}, ValueError, "got nan in row 1"),
        (with_column("left", ["Ann", " ", "Bo"]), {}, ValueError, "got ' ' in row 1"),
        (with_column("left", [["Ann"], "C", "B"]), {}, TypeError, "can be compared"),
        (with_column("left", [1, "1", "Bo"]), {}, ValueError, "in one way, got '?1"),
        (with_column("label", ["yes", "no", "no"]), {}, ValueError, "labels that are"),
        (with_column("label", [0, 1, 1]), {}, ValueError, "meaning is clear"),
        (
            with_column("label", ["left", None, "left"]),
            {},
            ValueError,
            "label in every",
        ),
        (with_column("weight", [1, -1, 1]), {}, ValueError, "not negative.*got -1"),
        (with_column("weight", [0, 0, 0]), {}, ValueError, "some of them positive"),
        (with_column("weight", [1, np.nan, 1]), {}, ValueError, "finite, got NaN"),
        (with_column("weight", ["a", 1, 1]), {}, TypeError, "must hold numbers"),
        (with_column("vote_id", [7, 8, 7]), {}, ValueError, "got 7 in 2 rows"),
        (COLUMNS, {"half_life": 3}, ValueError, "half_life needs time"),
        (
            with_column("time", [0, 1, None]),
            {"half_life": 3},
            ValueError,
            "time in e",
        ),
        (with_column("time", ["now"] * 3), {"half_life": 3}, ValueError, "all dates"),
        (COLUMNS, {"covariates": "long"}, TypeError, r"write covariates=\['long'\]"),
        (COLUMNS, {"covariates": ["long"]}, ValueError, "covariates must name a col"),
        (with_column("z", [0] * 3), {"covariates": ["z"]}, ValueError, "0 in every v"),
        (
            with_column("z", [0, 1, np.nan]),
            {"covariates": ["z"]},
            ValueError,
            "finite, got NaN .* at row 2",
        ),
        (COLUMNS, {"cluster": "who"}, ValueError, "cluster must name a column"),
        (with_column("who", [1] * 3), {"cluster": "who"}, ValueError, "two values"),
        (with_column("who", [1, None, 2]), {"cluster": "who"}, ValueError, "who in ev"),
    ],
)
def test_mistakes_are_named(votes, options, error, message):
    with pytest.raises(error, match=message):
        read_votes(votes, **options)


def test_missing_values_of_frames_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COLUMNS, dtype=object)
    frame.loc[1, "left"] = pd.NA
    with pytest.raises(ValueError, match="left in every row, got <NA> in row 1"):
        read_votes(frame)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("winner", ["model_a", "left", "tie"], r"votes\['winner'\] must hold labels"),
        ("winner", ["model_a", None, "tie"], "must have winner in every row"),
        ("model_a", ["x", None, "y"], "must have model_a in every row"),
    ],
)
def test_errors_name_the_columns_of_arenas(column, values, message):
    votes = {"model_a": list("xyx"), "model_b": list("zzz"), "winner": ["tie"] * 3}
    with pytest.raises(ValueError, match=message):
        read_votes(votes | {column: values})


@pytest.mark.parametrize(
    ("name", "near"), [("weights", "weight"), ("counts", "count"), ("Winner", "winner")]
)
def test_columns_that_nearly_have_a_known_name_are_named(name, near):
    with pytest.warns(UserWarning, match=f"Is '{name}' '{near}'"):
        read_votes(with_column(name, [1, 2, 3]))
    # Columns of another name, or that a parameter names, are nobody's mistake, nor are
    # voters who vote once.
    read_votes(with_column("voter", [1, 2, 3]) | {"prompt": ["x"] * 3, "turn": [1] * 3})
    read_votes(with_column(name, [1, 2, 3]), covariates=[name])


def test_winners_are_names_however_they_are_written():
    assert_is_the_example(read_votes(with_column("label", ["ann", "ANN ", "tie"])))


@pytest.mark.parametrize("column", ["value", "pvalue", "accepted", "p_left", "risk"])
def test_what_the_board_says_is_no_vote(column):
    with pytest.raises(ValueError, match="whose label is the board's"):
        read_votes(with_column(column, [0.1, 0.2, 0.3]))


MOMENT = "2026-11-25T10:00:00.125Z"


def weights_of(rows, **options):
    return read_votes(rows, **options).weight.tolist()


#: Seconds since 1970.
CLOCK = 1_790_000_000


def vote(left="Ann", right="Bo", label="left", time=CLOCK, who="Eve", **more):
    row = {"left": left, "right": right, "label": label, "time": time, "reviewer": who}
    return row | more


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (vote(), vote()),
        (vote(), vote("Bo", "Ann", "right")),
        (vote(label="same"), vote("Bo", "Ann", "tie")),
        (vote(label="Ann"), vote("Bo", "Ann", "Ann")),
        (vote(vote_id=7), vote(vote_id=7)),
        # A moment tells votes apart, whoever the file was called after.
        (vote(time=MOMENT, who="a"), vote(time=MOMENT, who="a (1)")),
        (vote(time=MOMENT, who=None), vote(time=MOMENT, who=None)),
        (vote(time="10:30:15"), vote(time="10:30:15")),
        *(
            ({who: "Eve", when: CLOCK} | vote(time=None, who=None),) * 2
            for who, when in [("voter", "tstamp"), ("user_id", "created_at")]
        ),
    ],
)
def test_equal_votes_at_one_time_are_one(one, other):
    between = vote(label=one["label"], time=CLOCK + 9, vote_id=1)
    with pytest.warns(UserWarning, match="votes repeat 1 votes with their voter"):
        assert weights_of([one, between, other]) == [0, 1, 1]


@pytest.mark.parametrize(
    "day",
    [
        "2026-11-27",
        "27.11.26",
        "2026-11-27 00:00:00",
        np.datetime64("2026-11-27", "ns"),
        20784,
        3.5,
    ],
)
def test_votes_of_one_day_are_no_copies(day):
    twice = [vote(time=day), vote(time=day)]
    assert weights_of(twice) == [1, 1]


def test_midnight_is_a_day_beside_moments_too():
    # A log of days, and answers of a page: none of the old votes is a copy.
    log, answer = [vote(time="2026-11-27 00:00:00")] * 3, vote(time=CLOCK)
    assert weights_of([*log, answer]) == [1, 1, 1, 1]
    with pytest.warns(UserWarning, match="votes repeat 1 votes with their voter"):
        assert weights_of([*log, answer, answer]) == [1, 1, 1, 0, 1]


@pytest.mark.parametrize(
    "other",
    [
        vote(label="right"),
        vote("Bo", "Ann"),
        vote(time=CLOCK + 1),
        vote(who="Dan"),
        vote(prompt="x"),  # a batch
        vote(right="Cy"),
        vote(vote_id=2),
    ],
)
def test_other_votes_are_no_copies(other):
    assert weights_of([vote(vote_id=1), other]) == [1, 1]


def test_without_a_reviewer_or_a_time_equal_votes_are_several():
    assert weights_of([vote(who=None)] * 2) == [1, 1]
    assert weights_of([vote(time=None)] * 2) == [1, 1]
    # A point in a date is no fraction of a second.
    for day in ("2026-11-25", "25.11.2026", "2026.11.25 14:30"):
        assert weights_of([vote(time=day, who=" ")] * 2) == [1, 1]
    assert weights_of([vote(count=2)]) == [1, 1]


def test_a_log_and_the_answers_of_people_are_read_together():
    pd = pytest.importorskip("pandas")
    log = {"model_a": ["Ann", "Cy"], "model_b": ["Bo", "Ann"]}
    log |= {"winner": ["model_a", "model_b"]}
    frames = pd.DataFrame(log), pd.DataFrame(ROWS[2:])
    assert_is_the_example(read_votes(pd.concat(frames)))
    assert_is_the_example(read_votes(pd.concat(frames, ignore_index=True)))
    # Where both names are in a row, they must say the same.
    read_votes(COLUMNS | {"model_a": COLUMNS["left"]})
    with pytest.raises(ValueError, match="two names for one column: drop or rename"):
        read_votes(COLUMNS | {"model_a": ["Ann", "Di", "Bo"]})


def test_voters_who_are_not_known_are_several():
    rule = "give each unknown one an id of its own: one id for all makes them one"
    with pytest.raises(ValueError, match=rf"who in every row, got nan .*{rule}"):
        read_votes(with_column("who", ["x", np.nan, "y"]), cluster="who")


@pytest.mark.parametrize(
    "name", ["voter", "Reviewer", "user_id", "userId", "judge", "evaluation_session_id"]
)
def test_voters_who_are_no_clusters_are_said(name):
    twice = ["x", "y", "x"]
    message = rf"2 voters of 3 votes in '{name}', .* look sure: pass cluster='{name}'"
    with pytest.warns(UserWarning, match=message):
        votes = read_votes(with_column(name, twice))
    assert_is_the_example(votes)
    read_votes(with_column(name, twice), cluster=name)
    read_votes(with_column("who", twice) | {name: list("xyz")}, cluster="who")
    for known in (list("xyz"), ["x"] * 3, ["x", None, ""]):  # as often as voters; one
        read_votes(with_column(name, known))
    # A board is scored on single votes.
    read_votes(with_column(name, twice), items=np.array(["Ann", "Bo", "Cy"]))
    for other in ("user_agent", "judged", "abuser"):
        read_votes(with_column(other, twice))


def test_the_column_that_names_most_voters_is_said_and_reviewer_fills_it():
    pd = pytest.importorskip("pandas")
    log = pd.DataFrame(ROWS * 3).assign(voter=list("xyzxyzxyz"))
    answers = pd.DataFrame(ROWS).assign(reviewer=["Kim", "Kim", "Lee"])
    both = pd.concat([log, answers])
    with pytest.warns(UserWarning, match="3 voters of 9 votes in 'voter'"):
        read_votes(both)
    found = read_votes(both, cluster="voter").cluster_names.tolist()
    assert found == sorted({*"xyz", "Kim", "Lee"})
    both.loc[both["reviewer"] == "Lee", "reviewer"] = None
    rule = "row 11 and 1 such rows in all: give each unknown one an id of its own"
    both = both.reset_index(drop=True)
    with pytest.raises(ValueError, match=rule):
        read_votes(both, cluster="voter")


def test_columns_are_listed_as_the_user_calls_them():
    votes = {"model_a": ["x"], "model_b": ["y"], "winner": ["tie"], "tstamp": [3]}
    with pytest.raises(ValueError, match="rename yours, such as tstamp, to time") as e:
        read_votes(votes, half_life=3)
    assert str(e.value).endswith(f"there are {[*votes]}.")
    with pytest.raises(ValueError, match="by must name a column") as e:
        split_votes(votes, "kind", np.ones(1))
    assert str(e.value).endswith(f"there are {[*votes]}.")


def test_one_vote_in_the_future_that_makes_others_old_warns():
    n, half_life = 1000, 60
    votes = {"left": ["a"] * n, "right": ["b"] * n, "label": ["left", "right"] * 500}
    days = np.linspace(0, 100, n)
    read_votes(votes | {"time": days}, half_life=half_life)
    days[-1] = 400
    worth = np.sum(0.5 ** ((400 - days) / half_life))
    message = rf"got {worth:.3g} and 1 of 1000 with 60 for times up to 400: .* in the f"
    with pytest.warns(UserWarning, match=message):
        read_votes(votes | {"time": days}, half_life=half_life)


def test_a_vote_that_a_page_saved_again_or_took_back_does_not_count():
    """Rows stay where they are, so that others keep their numbers."""
    first = [(0, "a", "b", "left"), (1, "b", "c", "left"), (2, "a", "c", "same")]
    again = [(0, "a", "b", "right"), (1, "b", "c", "skip")]
    rows = [
        {"left": left, "right": right, "label": label, "reviewer": "Ann"}
        | {"time": f"2026-11-25T10:00:0{n}Z", "answer_id": f"page Ann {number}"}
        for n, (number, left, right, label) in enumerate([*first, *again])
    ]
    for table in (rows, pd.DataFrame(rows)):
        votes = read_votes(table)
        assert votes.weight.tolist() == [0, 0, 1, 1, 0]
        assert votes.label[[2, 3]].tolist() == [0, -1]
    turned = read_votes(rows[3:] + rows[:3])  # by time, not by row
    assert turned.weight.tolist() == [1, 0, 0, 0, 1]


def test_a_voter_or_a_category_has_one_spelling():
    twice = ["V1", "v1", "v2"]
    with pytest.raises(ValueError, match="each voter in one way, got 'V1' and 'v1'"):
        read_votes(with_column("voter", twice), cluster="voter")
    with pytest.raises(ValueError, match="each category in one way, got "):
        split_votes(with_column("kind", twice), "kind", np.ones(3))
    read_votes(with_column("prompt", twice), cluster="prompt")
