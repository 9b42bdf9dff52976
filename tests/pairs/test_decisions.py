import builtins
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import scores

from skrank_abstain import PairDecisions
from skrank_abstain.pairs import enumerate_pairs, group_queries

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
    assert repr(some) == "PairDecisions(n_pairs=6, accepted=4, coverage=0.667)"


def without_risk(**columns):
    some = decisions([3, 1, 0, 0.5], outer=9)
    names = ("left", "right", "qid", "label", "accepted")
    return PairDecisions(**{name: getattr(some, name) for name in names}, **columns)


def test_what_a_rule_does_not_know_is_left_out():
    bare = without_risk()
    assert bare.risk is bare.proba is bare.distance is None
    frame = bare.to_frame()
    assert list(frame) == ["qid", "left", "right", "label", "accepted"]
    assert pairs_of(bare.deferred()) == pairs_of(bare)
    assert pairs_of(bare.deferred(2)) == pairs_of(bare)[:2]
    assert bare.take([3]).risk is None


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
    assert list(risky.to_frame())[5:] == ["risk", "distance"]


def test_comparing_is_by_identity():
    one, other = decisions([3, 1, 0]), decisions([3, 1, 0])
    assert one != other
    assert len({one, other, one}) == 2


def test_no_pairs():
    none = decisions([1.0])
    assert len(none) == 0
    assert np.isnan(none.coverage)
    assert len(none.deferred()) == len(none.deferred(top_k=1)) == 0
    assert none.to_frame().shape == (0, 9)
    assert repr(none) == "PairDecisions(n_pairs=0, accepted=0, coverage=nan)"


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
        ({"top_k": 0}, ValueError, "top_k must be at least 1, got 0"),
        ({"top_k": "1"}, TypeError, "top_k must be an integer, got '1'"),
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
def test_top_k_keeps_what_can_change_some_linear_extension(
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
    assert set(pairs_of(some.deferred(top_k=k))) == expected


def test_linear_extensions_of_a_known_semiorder(oracles):
    case = oracles["semiorder_example"]
    orders = reference.linear_extensions(5, case["accepted_strict"])
    assert len(orders) == case["linear_extensions"]
    ranks = [[order.index(item) + 1 for order in orders] for item in range(5)]
    assert [min(rank) for rank in ranks] == case["best_rank"]
    assert [max(rank) for rank in ranks] == case["worst_rank"]


def test_top_k_and_limit_together():
    some = decisions([0, 1, 3, 3, 2.5], outer=1.5)
    assert pairs_of(some.deferred(1, top_k=2)) == pairs_of(some.deferred(top_k=2))[:1]


def test_top_k_does_not_depend_on_the_order_or_side_of_pairs():
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
    assert {frozenset(pair) for pair in pairs_of(turned.deferred(top_k=1))} == {
        frozenset(pair) for pair in pairs_of(some.deferred(top_k=1))
    }


def test_top_k_needs_all_pairs():
    some = decisions([0, 1, 3, 3])
    with pytest.raises(ValueError, match="top_k needs all pairs of every query"):
        some.take(np.arange(5)).deferred(top_k=1)


COLUMNS = [
    "qid",
    "left",
    "right",
    "label",
    "accepted",
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


def test_pandas_is_the_default_frame():
    pd.testing.assert_frame_equal(
        decisions([1, 0]).to_frame(), decisions([1, 0]).to_frame("pandas")
    )


def test_unknown_frame():
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars'"):
        decisions([1, 0]).to_frame("arrow")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_missing_library_is_named_with_its_extra(backend, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == backend:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    message = rf"requires {backend}; install skrank-abstain\[{backend}\]"
    with pytest.raises(ImportError, match=message):
        decisions([1, 0]).to_frame(backend)
