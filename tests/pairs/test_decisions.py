import json
import re
import sys
from dataclasses import FrozenInstanceError, replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import items, scores

from skrank_abstain import PairDecisions
from skrank_abstain.pairs import enumerate_pairs, group_queries, rows_by_place

FIELDS = ("left", "right", "qid", "label", "accepted", "risk", "proba")


def decisions(scores, qid=None, *, outer=0.0, inner=-1.0):
    """Decisions by two cuts; the risk is largest where the scores are closest."""
    scores = np.asarray(scores, dtype=float)
    queries = group_queries(qid, scores.size)
    left, right = enumerate_pairs(queries)
    d = scores[left] - scores[right]
    tie = abs(d) <= inner
    return PairDecisions(
        left=left,
        right=right,
        qid=queries.values[queries.codes[left]],
        label=np.where(tie, 0, np.sign(d)).astype(np.int64),
        accepted=tie | ((abs(d) >= outer) & (d != 0)),
        risk=1 / (2 + abs(d)),
        proba=np.tile([0.25, 0.25, 0.5], (d.size, 1)),
    )


def pairs_of(decisions):
    return list(zip(decisions.left.tolist(), decisions.right.tolist(), strict=True))


def test_length_coverage_and_repr():
    some = decisions([3, 1, 0, 0.5], outer=1)
    # |d| = 2, 3, 2.5, 1, 0.5, 0.5
    assert len(some) == 6
    assert some.accepted.tolist() == [True] * 4 + [False] * 2
    assert some.abstained.tolist() == [False] * 4 + [True] * 2
    assert some.coverage == 4 / 6
    assert repr(some) == (
        "PairDecisions(n_pairs=6, decided_order=4, decided_tie=0, coverage=0.667)"
    )


def test_decided_orders_and_decided_ties_are_told_apart():
    some = decisions([3, 1, 0, 0.5], outer=2.5, inner=0.5)
    # |d| = 2, 3, 2.5, 1, 0.5, 0.5
    assert some.decided_order.tolist() == [False, True, True, False, False, False]
    assert some.decided_tie.tolist() == [False] * 4 + [True] * 2
    assert "decided_order=2, decided_tie=2, coverage=0.667" in repr(some)
    ties = decisions([3, 1, 0], inner=9)
    assert ties.coverage == 1
    assert "decided_order=0, decided_tie=3" in repr(ties)


def without_risk(**columns):
    some = decisions([3, 1, 0, 0.5], outer=9)
    names = ("left", "right", "qid", "label", "accepted")
    return PairDecisions(**{name: getattr(some, name) for name in names}, **columns)


def test_what_a_rule_does_not_know_is_left_out():
    bare = without_risk()
    assert bare.risk is bare.proba is bare.distance is None
    frame = bare.to_frame()
    assert list(frame) == ["qid", "left", "right", "label", "accepted", "reason"]
    assert pairs_of(bare.deferred()) == pairs_of(bare)
    assert pairs_of(bare.deferred(2)) == pairs_of(bare)[:2]
    assert bare.take([3]).risk is None


def test_pairs_accepted_by_another_rule_say_nothing_of_the_ranker():
    own = decisions([3.0, 1.0, 2.0])
    own = replace(own, id_="3f", threshold=np.ones(3), margin=np.zeros(3))
    other = own.accepting([0.9, 0.6, 0.1], threshold=0.9)
    assert other.reason.tolist() == ["decided", *["risk above the threshold"] * 2]
    assert not {"id_", "threshold", "margin"} & other.to_dicts()[0].keys()
    assert other.risk.tolist() == [-0.9, -0.6, -0.1]
    np.testing.assert_array_equal(other.label, own.label)
    assert own.accepting([0.9, 0.6, 0.1], 0.5).accepted.tolist() == [True, True, False]
    assert own.accepting([0.1 + 0.2, 0, 0], 0.3).accepted.sum() == 1
    with pytest.raises(ValueError, match="one value per pair"):
        own.accepting([0.9], 0.5)
    with pytest.raises(ValueError, match="confidence must"):
        own.accepting([0.1, np.nan, 0.2], 0.5)


def test_a_confidence_that_was_sorted_is_no_column_of_the_pairs():
    pandas = pytest.importorskip("pandas")
    own = decisions([3.0, 1.0, 2.0])
    confidence = pandas.Series([0.9, 0.1, 0.6])
    assert own.accepting(confidence, 0.5).accepted.tolist() == [True, False, True]
    with pytest.raises(ValueError, match=r"order of the pairs.*sort_index"):
        own.accepting(confidence.sort_values(), 0.5)


def test_near_pairs_are_deferred_first_where_there_is_no_risk():
    distance = np.array([3.0, 1.0, 2.0, 1.0, 0.5, 4.0])
    near = without_risk(distance=distance)
    assert near.deferred().distance.tolist() == [0.5, 1, 1, 2, 3, 4]
    assert pairs_of(near.deferred(3)) == [pairs_of(near)[k] for k in (4, 1, 3)]
    assert near.take([5]).distance.tolist() == [4]
    assert near.to_frame("polars")["distance"].to_list() == distance.tolist()
    # A risk, where there is one, says more.
    risky = without_risk(distance=distance, risk=distance)
    assert risky.deferred().risk.tolist() == [4, 3, 2, 1, 1, 0.5]
    assert list(risky.to_frame())[5:] == ["reason", "risk", "distance"]


def test_comparing_is_by_identity():
    one, other = decisions([3, 1, 0]), decisions([3, 1, 0])
    assert one != other
    assert len({one, other, one}) == 2


def test_no_pairs():
    none = decisions([1.0])
    assert len(none) == 0
    assert np.isnan(none.coverage)
    assert len(none.deferred()) == len(none.deferred(deciding_top=1)) == 0
    assert list(none) == none.to_dicts() == []
    assert none.to_frame().shape == (0, 10)
    assert repr(none) == (
        "PairDecisions(n_pairs=0, decided_order=0, decided_tie=0, coverage=nan)"
    )


@pytest.mark.parametrize("name", [*FIELDS, "coverage"])
def test_frozen(name):
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(decisions([1, 0]), name, 0)


@pytest.mark.parametrize(
    "index", [np.array([2, 0]), np.array([True, False, True]), slice(1, 3)]
)
def test_take_selects_every_field(index):
    some = decisions([3, 1, 0], ["a", "a", "a"], outer=2)
    taken = some.take(index)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(taken, name), getattr(some, name)[index])


def test_deferred_is_riskiest_first_and_stable():
    some = decisions([0, 1, 3, 3, 2.5], outer=10)
    deferred = some.deferred()
    assert len(deferred) == 10
    assert (np.diff(deferred.risk) <= 0).all()
    by_hand = sorted(range(10), key=lambda row: -some.risk[row])  # sorted() is stable
    assert pairs_of(deferred) == [pairs_of(some)[row] for row in by_hand]
    for name in FIELDS:
        np.testing.assert_array_equal(
            getattr(deferred, name), getattr(some, name)[by_hand]
        )


def test_each_pair_has_the_first_reason_that_applies():
    n = 8
    at = np.eye(n, dtype=bool)
    even = np.tile([0.3, 0.3, 0.4], (n, 1))
    even[4] = [0.3, 0.4, 0.3]
    columns = {
        "label": np.ones(n, dtype=int),
        "accepted": at[0] | at[1] | at[7],
        "risk": np.full(n, 0.3),
        "proba": even,
        "threshold": np.where(at[5], 0.3, 0.2),
        "novel": at[2] | at[1],
        "equal": at[3] | at[2],
        "answered": at[1],
    }
    left, right = np.arange(n), np.arange(n) + 1
    some = PairDecisions(left, right, np.zeros(n), **columns)
    assert some.reason.tolist() == [
        "decided",
        "answered by a person",
        "unlike the calibration items",
        "equal scores",
        "same bin",
        "on the threshold",
        "risk above the threshold",
        "decided",
    ]
    # Nothing speaks for either item of one bin.
    words = [pair.in_words() for pair in some]
    assert "A person decides (same bin). Prob" in words[4]
    assert "threshold); the best guess: row 6 first. Prob" in words[6]
    # A bound on the discordance is about the margin, a distance about no risk.
    certified = replace(some, margin=np.full(n, 0.25)).take([6, 5, 0])
    above, on = "margin above the threshold", "on the threshold"
    assert certified.reason.tolist() == [above, on, "decided by its margin"]
    near = without_risk(distance=np.ones(6)).reason
    assert set(near) == {"distance within the threshold"}


def test_deferred_holds_only_abstained_pairs():
    some = decisions([3, 1, 0, 0.5], outer=1)
    assert pairs_of(some.deferred()) == [(1, 3), (2, 3)]


@pytest.mark.parametrize("limit", [0, 1, 3, 10, 99])
def test_limit_cuts_the_list(limit):
    some = decisions([0, 1, 3, 3, 2.5], outer=10)
    assert pairs_of(some.deferred(limit)) == pairs_of(some.deferred())[:limit]


@pytest.mark.parametrize(
    ("options", "exception", "message"),
    [
        ({"limit": -1}, ValueError, "limit must be at least 0, got -1"),
        ({"limit": 1.0}, TypeError, "limit must be an integer, got 1.0"),
        ({"within_top": 0}, ValueError, "within_top must be at least 1, got 0"),
        ({"within_top": 1}, ValueError, "within_top needs place="),
        ({"deciding_top": 0}, ValueError, "deciding_top must be at least 1, got 0"),
        ({"deciding_top": "1"}, TypeError, "deciding_top must be an integer, got '1'"),
    ],
)
def test_deferred_refuses(options, exception, message):
    with pytest.raises(exception, match=message):
        decisions([1, 0]).deferred(**options)


@given(
    scores(min_size=1, max_size=5),
    scores(min_size=1, max_size=4),
    st.integers(1, 6),
    st.sampled_from([0.25, 0.5, 1.0, 1.5, 5.0]),
    st.sampled_from([-1.0, 0.0, 0.125]),
)
def test_deciding_top_keeps_what_can_change_some_linear_extension(
    first, second, k, outer, inner
):
    everything = np.concatenate([first, second])
    qid = np.repeat(["a", "b"], [first.size, second.size])
    some = decisions(everything, qid, outer=outer, inner=inner)
    expected = set()
    for query, start in ((first, 0), (second, first.size)):
        n = query.size
        above = [
            (i, j) for i in range(n) for j in range(n) if query[i] - query[j] >= outer
        ]
        undecided = reference.open_for_top(n, above, k)
        expected |= {
            (start + i, start + j)
            for i in range(n)
            for j in range(i + 1, n)
            if not inner >= abs(query[i] - query[j])
            and (i, j) not in above
            and (j, i) not in above
            and (i in undecided or j in undecided)
        }
    assert set(pairs_of(some.deferred(deciding_top=k))) == expected


def test_linear_extensions_of_a_known_semiorder(oracles):
    case = oracles["semiorder_example"]
    orders = reference.linear_extensions(5, case["accepted_strict"])
    assert len(orders) == case["linear_extensions"]
    ranks = [[order.index(item) + 1 for order in orders] for item in range(5)]
    assert [min(rank) for rank in ranks] == case["best_rank"]
    assert [max(rank) for rank in ranks] == case["worst_rank"]


def test_deciding_top_and_limit_together():
    some = decisions([0, 1, 3, 3, 2.5], outer=1.5)
    assert (
        pairs_of(some.deferred(1, deciding_top=2))
        == pairs_of(some.deferred(deciding_top=2))[:1]
    )


def test_deciding_top_does_not_depend_on_the_order_or_side_of_pairs():
    some = decisions([0, 1, 3, 3, 2.5, 1.5], [0, 1, 0, 1, 0, 1], outer=1.5)
    shuffled = some.take(np.array([5, 1, 3, 0, 2, 4]))
    turned = PairDecisions(
        shuffled.right,
        shuffled.left,
        shuffled.qid,
        -shuffled.label,
        shuffled.accepted,
        shuffled.risk,
        shuffled.proba[:, ::-1],
    )
    assert {frozenset(pair) for pair in pairs_of(turned.deferred(deciding_top=1))} == {
        frozenset(pair) for pair in pairs_of(some.deferred(deciding_top=1))
    }


def test_deciding_top_needs_all_pairs():
    some = decisions([0, 1, 3, 3])
    with pytest.raises(ValueError, match="deciding_top needs all pairs of every query"):
        some.take(np.arange(5)).deferred(deciding_top=1)


@pytest.mark.parametrize(
    ("kept", "few", "repeated"),
    [
        ([0, 1, 2, 3, 4, 5, 5], 0, 1),
        ([0, 1, 2, 3, 4, 4], 1, 1),  # as many as there should be
        ([1, 2, 5], 3, 0),  # none of the second item's
    ],
)
def test_deciding_top_refuses_pairs_that_are_missing_or_repeated(kept, few, repeated):
    whole = decisions([0, 1, 3, 2])
    whole = replace(
        whole, place=places(np.array([0.0, 1, 3, 2]), group_queries(None, 4))
    )
    whole.deferred(deciding_top=1)
    said = f"got {few} pairs too few and {repeated} repeated"
    with pytest.raises(ValueError, match=said):
        whole.take(np.array(kept)).deferred(deciding_top=1)


def test_deciding_top_goes_through_orders_in_a_row():
    # 0 over 1 and 1 over 2 are decided, 0 and 2 are not: all the same 0 is on top.
    left, right = np.array([0, 0, 1]), np.array([1, 2, 2])
    chain = PairDecisions(
        left, right, np.zeros(3), np.ones(3, int), np.array([True, False, True])
    )
    assert len(chain.deferred()) == 1
    assert len(chain.deferred(deciding_top=1)) == 0


def places(scores, queries):
    rows, place = rows_by_place(scores, queries)
    by_row = np.empty_like(place)
    by_row[rows] = place
    return by_row


@given(items(max_size=10), st.integers(1, 6))
def test_within_top_keeps_pairs_of_two_of_the_first(case, k):
    queries = group_queries(case.qid, case.scores.size)
    some = decisions(case.scores, case.qid, outer=1)
    some = replace(some, place=places(case.scores, queries))

    def is_first(row):
        # Higher scores and, of equal ones, earlier rows come first.
        key = [(-case.scores[other], other) for other in queries.rows(codes[row])]
        return (-case.scores[row], row) in sorted(key)[:k]

    codes = queries.codes
    expected = [
        (i, j) for i, j in pairs_of(some.deferred()) if is_first(i) and is_first(j)
    ]
    assert pairs_of(some.deferred(within_top=k)) == expected
    # What is known of the places survives taking pairs.
    some = some.take(some.abstained)
    assert pairs_of(some.deferred(within_top=k)) == expected
    assert pairs_of(some.deferred(1, within_top=k)) == expected[:1]


COLUMNS = [
    "qid",
    "left",
    "right",
    "label",
    "accepted",
    "reason",
    "risk",
    "p_right",
    "p_tie",
    "p_left",
]


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_frames_hold_one_row_per_pair(backend, kind):
    some = decisions([3, 1, 0], ["a", "a", "a"], outer=2)
    frame = some.to_frame(backend)
    assert type(frame) is kind
    assert list(frame.columns) == COLUMNS
    for name in FIELDS[:-1]:
        np.testing.assert_array_equal(frame[name].to_numpy(), getattr(some, name))
    for column, name in enumerate(("p_right", "p_tie", "p_left")):
        np.testing.assert_array_equal(frame[name].to_numpy(), some.proba[:, column])


MIXED = [("Ann", 1), "Bo", 3, "Dé", np.datetime64("2026-01-02", "ns"), 1.5]


def named(ids, qid=None):
    some = decisions(np.arange(len(ids)), qid, outer=2)
    ids = np.fromiter(ids, dtype=object, count=len(ids))
    return replace(some, left_id=ids[some.left], right_id=ids[some.right])


def test_names_stand_beside_the_rows():
    some = named(MIXED)
    taken = some.take(np.array([3]))
    assert (taken.left_id.tolist(), taken.right_id.tolist()) == (
        [MIXED[taken.left[0]]],
        [MIXED[taken.right[0]]],
    )
    for backend in ("pandas", "polars"):
        frame = some.to_frame(backend)
        names = [*COLUMNS[:3], "left_id", "right_id", *COLUMNS[3:]]
        assert list(frame.columns) == names
        assert frame["left_id"].to_list() == some.left_id.tolist()
    texts = named(["Ann", "Bo"]).to_frame("polars")
    assert texts["left_id"].dtype == pl.String


def test_iterating_yields_python_values_pair_by_pair():
    some = named(MIXED)
    rows = list(some)
    assert len(rows) == len(some) == 15
    expected = (None, 0, 2, ("Ann", 1), 3, -1, True, "decided")
    assert rows[1][:8] == expected
    known = {"risk": 0.25, "p_right": 0.25, "p_tie": 0.25, "p_left": 0.5}
    rest = dict.fromkeys(rows[1]._fields[8:]) | known
    assert (
        rows[1]._asdict() == dict(zip(rows[1]._fields, expected, strict=False)) | rest
    )
    assert type(rows[1].accepted) is bool
    assert [type(rows[1][k]) for k in (1, 5, 8)] == [int, int, float]
    assert rows[0].left_id == ("Ann", 1)
    bare = next(iter(without_risk()))
    assert bare.risk is bare.left_id is bare.p_tie is None
    # More than are turned at a time.
    many = decisions(np.arange(200))
    assert [(pair.left, pair.right) for pair in many] == pairs_of(many)


def test_dicts_are_ready_for_json():
    some = named(MIXED, [(np.int64(7), "é")] * 6)
    some = replace(some, risk=np.where(some.left == 0, np.nan, some.risk))
    dicts = some.to_dicts()
    assert list(dicts[0]) == list(some.to_frame().columns)
    assert json.loads(json.dumps(dicts, allow_nan=False)) == dicts
    assert dicts[0]["qid"] == [7, "é"]
    assert dicts[0]["left_id"] == ["Ann", 1]
    assert dicts[0]["risk"] is None
    assert dicts[3]["right_id"] == "2026-01-02"
    assert dicts[-1]["risk"] == some.risk[-1]
    assert dicts[0]["accepted"] is False


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (np.array(["2026-01-01", "2026-01-02"], "M8[ns]"), "2026-01-01"),
        (np.array(["2026-01-01T14:30", "2026-01-02"], "M8[m]"), "2026-01-01T14:30"),
        (np.array([b"a", b"b"]), "a"),
        (np.array([1, 2], dtype=np.uint8), 1),
        (np.array([date(2026, 1, 1), date(2026, 1, 2)]), "2026-01-01"),
    ],
)
def test_identifiers_of_any_kind_are_ready_for_json(ids, expected):
    some = decisions([1, 0])
    some = replace(some, left_id=ids[some.left], right_id=ids[some.right])
    assert some.to_dicts()[0]["left_id"] == expected


def test_pandas_is_the_default_frame():
    pd.testing.assert_frame_equal(
        decisions([1, 0]).to_frame(), decisions([1, 0]).to_frame("pandas")
    )


def test_unknown_frame():
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars'"):
        decisions([1, 0]).to_frame("arrow")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_missing_library_is_named_with_its_extra(backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    message = rf"requires {backend}; install skrank-abstain\[{backend}\]"
    with pytest.raises(ImportError, match=message):
        decisions([1, 0]).to_frame(backend)


def test_notebooks_show_the_first_pairs_by_names_to_be_read():
    some = decisions([3, 1, 0, 0.5, 7, 7], outer=1, inner=0)
    page = some._repr_html_()
    assert page.startswith(f"<p>{some!r}</p>")
    rows = re.findall("<tr>(.*)</tr>", page)
    assert len(rows) == 1 + 10
    assert "... 5 more" in page
    cells = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    assert cells[0] == COLUMNS
    # Scores 3 and 1; 3 and 7; 1 and 0.5, too close.
    proba = ["0.25", "0.25", "0.5"]
    decided = ["True", "decided"]
    assert cells[1] == ["None", "0", "1", "1", *decided, "0.25", *proba]
    assert cells[4] == ["None", "0", "4", "-1", *decided, f"{1 / 6:.4g}", *proba]
    given = ["1", "False", "risk above the threshold", "0.4"]
    assert cells[7] == ["None", "1", "3", *given, *proba]


def test_notebooks_show_what_there_is_and_escape_it():
    some = decisions([3, 1, 0, 4], qid=["<i>", "<i>", "b", "b"])
    novel = np.array([True, False])
    ids = np.array(["<b>Ann</b>", 20261122.5], dtype=object)
    named = replace(some, left_id=ids, right_id=ids[::-1], novel=novel, risk=None)
    page = named._repr_html_()
    assert "&lt;i&gt;" in page
    assert "&lt;b&gt;Ann" in page
    assert "20261122.5" in page
    assert not re.search("<[bi]>", page)
    assert page.count("<td>0.5</td><td>True</td>") == 1
    assert "risk" not in page
    unknown = replace(some, risk=np.array([np.nan, 0.5]))
    assert "nan" not in unknown._repr_html_()


def test_notebooks_show_no_table_of_no_pairs():
    assert "<table" not in decisions([1.0])._repr_html_()


def test_a_risk_or_a_signed_difference_is_no_confidence():
    gap = np.random.default_rng(0).normal(size=20)
    pairs = PairDecisions(
        *np.array([[0] * 20, range(1, 21)]),
        qid=np.zeros(20),
        label=np.sign(gap).astype(np.int64),
        accepted=gap > 0,
        risk=-np.abs(gap),
    )
    for turned in (gap, pairs.risk):
        with pytest.raises(ValueError, match="confidence must be higher where a pair"):
            pairs.accepting(turned, 0.5)
    assert pairs.accepting(-pairs.risk, 0.5).coverage == (np.abs(gap) >= 0.5).mean()
    # Logarithms of probabilities have one sign, and few pairs any.
    assert pairs.accepting(np.log(np.abs(gap) / 9), -3).coverage < 1
    assert len(pairs.take(slice(5)).accepting(gap[:5], 0.5)) == 5
