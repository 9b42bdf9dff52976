"""Rank intervals and the graph of accepted orders."""

import itertools

import numpy as np
import pandas as pd
import pytest
import reference
from doubles import FirstColumn, OwnTable
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.tie_models import BradleyTerry, FeatureAwareRelevance


@pytest.fixture(scope="module", params=["accept", "randomize"])
def ranker(request):
    data = make_ranking(n_queries=60, random_state=0)
    scores = np.round(data.data[:, :1], 1)
    return BALToR(
        FirstColumn().fit(None, None),
        coverage=0.6,
        boundary=request.param,
        tie_model="bradley_terry",
        random_state=0,
    ).fit(scores, data.target, qid=data.qid)


SCORES = st.lists(st.integers(-40, 40), min_size=1, max_size=9).map(
    lambda values: np.array(values)[:, None] / 10
)


def certain_orders(ranker, X):
    """Pairs (winner, loser) that are accepted as orders off the boundary."""
    decisions = ranker.predict_pairs(X)
    distance = np.abs(X[decisions.left, 0] - X[decisions.right, 0])
    certain = (ranker._region.weight(distance) == 1) & (decisions.label != 0)
    return {
        (int(i), int(j)) if label > 0 else (int(j), int(i))
        for i, j, label in zip(
            decisions.left[certain],
            decisions.right[certain],
            decisions.label[certain],
            strict=True,
        )
    }


@settings(max_examples=60, deadline=None)
@given(X=SCORES)
def test_rank_intervals_count_accepted_orders(ranker, X):
    orders = certain_orders(ranker, X)
    for item, (best, worst) in enumerate(ranker.rank_intervals(X).tolist()):
        assert best == 1 + sum(loser == item for _, loser in orders)
        assert worst == len(X) - sum(winner == item for winner, _ in orders)


@settings(max_examples=25, deadline=None)
@given(X=SCORES.filter(lambda X: len(X) <= 6))
def test_rank_intervals_are_attained_by_linear_extensions(ranker, X):
    orders = certain_orders(ranker, X)
    ranks = [
        [order.index(item) + 1 for item in range(len(X))]
        for order in itertools.permutations(range(len(X)))
        if all(order.index(a) < order.index(b) for a, b in orders)
    ]
    expected = np.stack([np.min(ranks, axis=0), np.max(ranks, axis=0)], axis=1)
    np.testing.assert_array_equal(ranker.rank_intervals(X), expected)


def test_rank_intervals_of_many_queries(ranker):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 1)), rng.integers(0, 30, 200)
    together = ranker.rank_intervals(X, qid=qid)
    assert together.dtype == np.int64
    for query in np.unique(qid):
        rows = qid == query
        np.testing.assert_array_equal(together[rows], ranker.rank_intervals(X[rows]))


def test_one_item_is_first_and_last(ranker):
    np.testing.assert_array_equal(ranker.rank_intervals([[0.3]]), [[1, 1]])


@settings(max_examples=60, deadline=None)
@given(X=SCORES)
def test_the_graph_is_the_transitive_reduction(ranker, X):
    orders = certain_orders(ranker, X)
    expected = {
        (a, b)
        for a, b in orders
        if not any((a, c) in orders and (c, b) in orders for c in range(len(X)))
    }
    graph = ranker.preference_graph(X)
    assert graph.shape == (len(X), len(X))
    assert graph.dtype == bool
    assert set(zip(*map(np.ndarray.tolist, graph.nonzero()), strict=True)) == expected


@settings(max_examples=60, deadline=None)
@given(X=SCORES)
def test_accepted_orders_are_a_semiorder(ranker, X):
    orders = certain_orders(ranker, X)
    items = range(len(X))
    for a, b in orders:
        assert (b, a) not in orders
        for c, d in orders:
            # Ferrers: a over b and c over d imply a over d or c over b.
            assert (a, d) in orders or (c, b) in orders
        for c in items:
            if (b, c) in orders:
                # Semitransitive: a over b over c, any d: a over d or d over c.
                assert all((a, d) in orders or (d, c) in orders for d in items)


@settings(max_examples=25, deadline=None)
@given(first=SCORES, second=SCORES)
def test_the_graph_of_many_queries_has_a_block_for_each(ranker, first, second):
    qid = np.random.default_rng(len(first)).permutation(
        np.repeat(["a", "b"], [len(first), len(second)])
    )
    X = np.empty((qid.size, 1))
    X[qid == "a"], X[qid == "b"] = first, second
    graph = ranker.preference_graph(X, qid=qid).toarray()
    for query, rows in (("a", first), ("b", second)):
        block = graph[np.ix_(qid == query, qid == query)]
        np.testing.assert_array_equal(block, ranker.preference_graph(rows).toarray())
    assert not graph[np.ix_(qid == "a", qid == "b")].any()
    assert not graph[np.ix_(qid == "b", qid == "a")].any()


TIE_MODELS = {
    "own_table": OwnTable(),
    "bradley_terry": "bradley_terry",
    "thurstone_mosteller": "thurstone_mosteller",
    "isotonic_difference": "isotonic_difference",
    "graded_relevance": "graded_relevance",
    "feature_aware": FeatureAwareRelevance(Ridge()),
}


@pytest.fixture(
    scope="module",
    params=itertools.product(TIE_MODELS, ["zero_one", "ties_are_dear"]),
    ids="-".join,
)
def priced(request):
    """A ranker whose threshold can be anything, and new items with many equal scores"""
    name, loss = request.param
    losses = {
        "zero_one": "zero_one",
        "ties_are_dear": [[0, 1, 1], [2, 0, 2], [1, 1, 0]],
    }
    data, new = (make_ranking(n, (1, 15), random_state=n) for n in (40, 12))
    model = FirstColumn().fit(None, None)
    ranker = CostAbstainer(model, tie_model=TIE_MODELS[name], loss=losses[loss])
    ranker = ranker.fit(np.round(data.data, 1), data.target, qid=data.qid)
    order = np.random.default_rng(0).permutation(new.qid.size)
    return ranker, np.round(new.data, 1)[order], new.qid[order]


def test_ranks_are_those_of_the_closure_at_every_threshold(priced):
    ranker, X, qid = priced
    risks = np.unique(ranker.predict_pairs(X, qid=qid).risk)
    chain = 0
    for risk in [0.0, *risks[:: 1 + risks.size // 40], risks[-1]]:
        at = ranker.at_cost(min(float(risk), 1.0))
        decisions = at.predict_pairs(X, qid=qid)
        ahead = decisions.label[decisions.decided_order] > 0
        some = decisions.take(decisions.decided_order)
        winner = np.where(ahead, some.left, some.right)
        loser = np.where(ahead, some.right, some.left)
        orders = set(zip(winner.tolist(), loser.tolist(), strict=True))
        expected = reference.rank_bounds(orders, qid)
        np.testing.assert_array_equal(at.rank_intervals(X, qid=qid), expected)
        chain += len(orders) < reference.closure(qid.size, orders).sum()
        graph = at.preference_graph(X, qid=qid)
        found = zip(*map(np.ndarray.tolist, graph.nonzero()), strict=True)
        assert set(found) == reference.reduction(qid.size, orders)
        ranking = at.ranking(X, qid=qid)
        assert (ranking.best <= ranking.place).all()
        assert (ranking.place <= ranking.worst).all()
        assert (ranking.open == (ranking.best < ranking.worst)).all()
    # It was not about semiorders alone.
    assert chain or not isinstance(ranker.tie_model, OwnTable)


def test_a_ranking_reads_from_top_to_bottom(priced):
    ranker, X, qid = priced
    names = [f"item {row}" for row in range(qid.size)]
    plain, ranking = (
        ranker.ranking(X, qid=qid),
        ranker.ranking(X, qid=qid, item_id=names),
    )
    rows = plain.item_id
    assert sorted(rows.tolist()) == list(range(qid.size))
    assert ranking.item_id.tolist() == [names[row] for row in rows]
    np.testing.assert_array_equal(ranking.qid, qid[rows])
    np.testing.assert_array_equal(ranking.score, ranker.predict(X)[rows])
    intervals = ranker.rank_intervals(X, qid=qid)[rows]
    np.testing.assert_array_equal([ranking.best, ranking.worst], intervals.T)
    # Queries in order of first appearance, by place within each.
    first = list(dict.fromkeys(qid.tolist()))
    sizes = [int(np.sum(qid == query)) for query in first]
    assert ranking.qid.tolist() == np.repeat(first, sizes).tolist()
    assert ranking.place.tolist() == [k + 1 for size in sizes for k in range(size)]
    values = ranker._scored(X, qid).value[rows]
    same = ranking.qid[1:] == ranking.qid[:-1]
    down, later = np.diff(values)[same], np.diff(rows)[same]
    assert ((down < 0) | ((down == 0) & (later > 0))).all()
    assert repr(ranking).startswith(
        f"Ranking(n_items={qid.size}, n_queries={len(first)}"
    )


def test_entries_of_the_graph_are_counted_before_they_are_made(priced, monkeypatch):
    ranker, X, qid = priced
    counted = []
    for room in ("selection._engine", "pairs._scores"):
        name = f"skrank_abstain.{room}.check_graph_size"
        monkeypatch.setattr(name, counted.append)
    for cost in (0.2, 0.4, 0.55):
        counted.clear()
        graph = ranker.at_cost(cost).preference_graph(X, qid=qid)
        # Between bins and inside them.
        assert sum(counted) == graph.nnz > 0


def test_one_item_has_a_settled_rank(priced):
    ranker, X, _ = priced
    one = ranker.ranking(X[:1])
    assert (one.item_id.tolist(), one.place.tolist()) == ([0], [1])
    assert not one.open.any()


def test_places_in_decisions_are_those_of_the_ranking(priced):
    ranker, X, qid = priced
    decisions, ranking = ranker.predict_pairs(X, qid=qid), ranker.ranking(X, qid=qid)
    np.testing.assert_array_equal(decisions.place[ranking.item_id], ranking.place)
    top = decisions.deferred(within_top=3)
    among = {row for row, place in enumerate(decisions.place) if place <= 3}
    assert {*top.left.tolist(), *top.right.tolist()} <= among
    np.testing.assert_array_equal(
        np.sort(top.risk),
        np.sort(
            [
                pair.risk
                for pair in decisions
                if not pair.accepted and {pair.left, pair.right} <= among
            ]
        ),
    )


def test_deciding_top_agrees_with_the_ranks(priced):
    ranker, X, qid = priced
    for cost in (0.2, 0.4, 0.55):
        at = ranker.at_cost(cost)
        decisions = at.predict_pairs(X, qid=qid)
        best, worst = at.rank_intervals(X, qid=qid).T
        undecided = (best <= 3) & (worst > 3)
        expected = [
            (pair.left, pair.right)
            for pair in decisions
            if not pair.accepted and (undecided[pair.left] or undecided[pair.right])
        ]
        found = [pair[1:3] for pair in decisions.deferred(deciding_top=3)]
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("kind", ["ranks", "distance"])
def test_names_come_back_with_the_pairs(kind):
    data = make_ranking(30, (2, 6), random_state=0)
    model = FirstColumn().fit(None, None)
    ranker = {"ranks": BALToR(model), "distance": DistanceAbstainer(model)}[kind]
    ranker = ranker.fit(data.data, data.target, qid=data.qid)
    names = pd.Series([f"n{k}" for k in range(data.qid.size)], index=data.qid)
    every = ranker.predict_pairs(data.data, qid=data.qid, item_id=names)
    np.testing.assert_array_equal(every.left_id, names.to_numpy()[every.left])
    np.testing.assert_array_equal(every.right_id, names.to_numpy()[every.right])
    assert ranker.predict_pairs(data.data, qid=data.qid).left_id is None
    parts = list(ranker.iter_pairs(data.data, qid=data.qid, item_id=names))
    for name in ("left_id", "right_id"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(every, name))
    assert all(part.place is parts[0].place for part in parts)
    chosen = np.array([[every.right[0], every.left[0]]])
    turned = ranker.predict_pairs(data.data, qid=data.qid, pairs=chosen, item_id=names)
    assert (turned.left_id[0], turned.right_id[0]) == (
        every.right_id[0],
        every.left_id[0],
    )
    # Refused at once, not at the first query.
    for method in (ranker.predict_pairs, ranker.iter_pairs):
        with pytest.raises(ValueError, match="item_id must be unique within a query"):
            method(data.data, qid=data.qid, item_id=["x"] * data.qid.size)


def test_predicted_ties_are_never_merged():
    # Accepted: 0 ~ 1, 1 ~ 2 and 2 over 0. The ties open and close no rank.
    ranker = BALToR(
        FirstColumn().fit(None, None), tie_model=BradleyTerry(calibration="counts")
    ).fit([[0.0], [1.55], [3.1]], [0, 1, 2])
    ranker._region = type(ranker._region)(0.35, 1.5949, 2.9216, 1e-12, crossing=2.2824)
    ranker.threshold_ = 0.35
    X = np.array([[0.0], [1.55], [3.1]])
    decisions = ranker.predict_pairs(X)
    assert decisions.accepted.all()
    assert decisions.label.tolist() == [0, -1, 0]
    assert ranker.rank_intervals(X).tolist() == [[2, 3], [1, 3], [1, 2]]
