"""Rank intervals and the graph of accepted orders."""

import itertools

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models import BradleyTerry


@pytest.fixture(scope="module", params=["accept", "randomize"])
def ranker(request):
    data = make_ranking(n_queries=60, random_state=0)
    scores = np.round(data.data[:, :1], 1)
    return BALToR(
        FirstColumn().fit(None, None),
        coverage=0.6,
        boundary=request.param,
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


def test_predicted_ties_are_never_merged():
    # Accepted: 0 ~ 1, 1 ~ 2 and 2 over 0. The ties open and close no rank.
    ranker = BALToR(
        FirstColumn().fit(None, None), tie_model=BradleyTerry(calibration="counts")
    ).fit([[0.0], [1.55], [3.1]], [0, 1, 2])
    ranker._region = type(ranker._region)(0.35, 1.5949, 2.9216, 1e-12, crossing=2.2824)
    X = np.array([[0.0], [1.55], [3.1]])
    decisions = ranker.predict_pairs(X)
    assert decisions.accepted.all()
    assert decisions.label.tolist() == [0, -1, 0]
    assert ranker.rank_intervals(X).tolist() == [[2, 3], [1, 3], [1, 2]]
