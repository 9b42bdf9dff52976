"""Metrics of lists, against their definitions over all orders and all grades."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from skrank_abstain.pairs import group_queries
from skrank_abstain.queries._expected_metrics import ListMetric, gains_of

NAMES = ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "precision@1", "precision@4"]


def metric_of_order(name, gains):
    """Return the metric of one list without equal scores, from its definition."""
    kind, _, k = name.partition("@")
    k = int(k or 0)
    if not any(gains):
        return np.nan
    if kind == "mrr":
        return 1 / (1 + next(i for i, gain in enumerate(gains) if gain > 0))
    if kind == "precision":
        return sum(gain > 0 for gain in gains[:k]) / k
    dcg = [
        sum(gain / np.log2(i + 2) for i, gain in enumerate(each[:k]))
        for each in (gains, sorted(gains, reverse=True))
    ]
    return dcg[0] / dcg[1]


def metric_of_scores(name, scores, gains):
    """Return the mean over all orders of equal scores."""
    found = [
        metric_of_order(name, gains[list(order)])
        for order in permutations(range(scores.size))
        if (np.diff(scores[list(order)]) <= 0).all()
    ]
    return np.mean(found)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), n_items=st.integers(1, 5))
@settings(max_examples=30)
def test_metrics_are_means_over_the_orders_of_equal_scores(name, seed, n_items):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, n_items).astype(float)
    gains = rng.integers(0, 3, n_items) * rng.integers(0, 2, n_items) * 1.0
    queries = group_queries(None, n_items)
    found = ListMetric.parse(name).by_query(scores, gains, queries)
    expected = metric_of_scores(name, scores, gains)
    np.testing.assert_allclose(found, [expected], rtol=1e-10)


def test_linear_gains_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(8, 12)).round(1), rng.integers(0, 3, (8, 12))
    queries = group_queries(np.repeat(np.arange(8), 12), 96)
    gains = gains_of(y.ravel().astype(float), "linear")
    found = ListMetric.parse("ndcg@5").by_query(scores.ravel(), gains, queries)
    each = [ndcg_score([a], [b], k=5) for a, b in zip(y, scores, strict=True)]
    np.testing.assert_allclose(found, each, rtol=1e-12)


def test_values_by_hand():
    scores, gains = np.array([4.0, 3, 2, 1]), np.array([0.0, 3, 0, 1])
    queries = group_queries(None, 4)

    def of(name):
        return ListMetric.parse(name).by_query(scores, gains, queries)[0]

    ideal = 3 / np.log2(2) + 1 / np.log2(3)
    assert of("ndcg@3") == pytest.approx(3 / np.log2(3) / ideal)
    assert of("mrr") == 1 / 2
    assert of("precision@2") == 1 / 2
    # Places that the list does not have are no hits.
    assert of("precision@10") == pytest.approx(2 / 10)


@pytest.mark.parametrize("name", NAMES)
def test_expected_metrics_are_those_of_all_grades(name):
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([0.8, 0.5, 0.4], (2, 4))
    weights, gains = np.array([0.3, 0.7]), np.array([0.0, 1.0, 3.0])
    scores = np.array([3.0, 2, 2, 1])
    total = known = 0.0
    for grades in product(range(3), repeat=4):
        chance = sum(
            weights[h] * np.prod([proba[h, i, g] for i, g in enumerate(grades)])
            for h in range(2)
        )
        value = metric_of_scores(name, scores, gains[list(grades)])
        if not np.isnan(value):
            total, known = total + chance * value, known + chance
    metric = ListMetric.parse(name)
    found = metric.expected(proba, weights, gains, scores, seed=0, n_draws=40_000)
    # Standard deviation of a metric in [0, 1] is at most 1/2.
    assert found == pytest.approx(total / known, abs=4 * 0.5 / np.sqrt(40_000))


def test_draws_in_pieces_are_the_same_draws(monkeypatch):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), (2, 5))
    metric, scores = ListMetric.parse("ndcg@10"), -np.arange(5.0)
    args = proba, np.array([0.5, 0.5]), np.array([0.0, 1, 3]), scores
    whole = metric.expected(*args, seed=7)
    monkeypatch.setattr("skrank_abstain.queries._expected_metrics._AT_ONCE", 35)
    assert metric.expected(*args, seed=7) == pytest.approx(whole, rel=1e-12)
    assert metric.expected(*args, seed=8) != whole


def test_nothing_is_expected_of_a_list_without_a_relevant_item():
    proba = np.zeros((1, 3, 2))
    proba[:, :, 0] = 1.0
    metric, gains = ListMetric.parse("ndcg@10"), np.array([0.0, 1.0])
    found = metric.expected(proba, np.ones(1), gains, -np.arange(3.0), seed=0)
    assert found == 0.0


def test_gains():
    y = np.array([0.0, 1, 2, 4])
    np.testing.assert_array_equal(gains_of(y, "exponential"), [0, 1, 3, 15])
    np.testing.assert_array_equal(gains_of(y, "linear"), y)
    np.testing.assert_array_equal(gains_of(y, np.sqrt), [0, 1, np.sqrt(2), 2])


@pytest.mark.parametrize(
    ("y", "gain", "message"),
    [
        ([0.5], "exponential", "whole grades from 0 to 31 .* got 0.5. .*gain='linear'"),
        ([32.0], "exponential", "whole grades from 0 to 31 .* got 32"),
        ([-1.0], "exponential", "got -1"),
        ([-0.5], "linear", "y with gain='linear' must be non-negative, got -0.5"),
        ([1.0], np.negative, "what gain returns must be non-negative, got -1"),
        ([1.0, 2.0], np.sum, "what gain returns must be"),
    ],
)
def test_gains_that_mean_nothing_are_refused(y, gain, message):
    with pytest.raises(ValueError, match=message):
        gains_of(np.array(y), gain)


@pytest.mark.parametrize("name", ["ndcg", "ndcg@0", "map", "precision", "mrr@5", 10])
def test_unknown_metrics_are_refused(name):
    with pytest.raises(ValueError, match=r"metric must be 'ndcg@k' or .* got "):
        ListMetric.parse(name)
