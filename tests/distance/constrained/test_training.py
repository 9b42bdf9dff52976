"""Rankers with bounded weights: what is learned, from which pairs, and how well."""

import tracemalloc

import numpy as np
import pytest
from distance.constrained.bounded import RANKERS, optimum, strict_differences
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
    Hinge,
    Sigmoid,
)

NORMS = [1, 2, np.inf]
DUAL = {1: np.inf, 2: 2, np.inf: 1}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bound", [0.3, 3.0])
@pytest.mark.parametrize("surrogate", ["logistic", "exponential", "hinge"])
def test_all_pairs_reach_the_optimum_that_scipy_finds(norm, bound, surrogate):
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((24, 3)), np.repeat([0, 1, 2], 8)
    y = np.digitize(X @ [1.0, -1.0, 0.2] + rng.standard_normal(24), [-1, 0, 1])
    differences = strict_differences(X, y, qid)
    best = optimum(differences, norm, bound, surrogate)
    ranker = ConstrainedLinearRanker(
        surrogate=surrogate, weight_norm=bound, norm=norm, tol=1e-6, max_iter=5000
    ).fit(X, y, qid=qid)
    loss = ranker.loss_curve_.min()  # the best of the way is kept
    smooth = surrogate != "hinge"
    assert best - 1e-7 <= loss <= best + (2e-6 if smooth else 2e-4)
    assert loss - best <= ranker.optimality_gap_ + 1e-7
    if smooth:
        assert ranker.optimality_gap_ <= 1e-6
    margin = differences @ ranker.coef_
    value = {
        "logistic": np.logaddexp(0, -margin),
        "exponential": np.exp(-margin),
        "hinge": np.maximum(0, 1 - margin),
    }[surrogate]
    assert value.mean() == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("surrogate", ["logistic", "exponential", "hinge"])
def test_batches_come_near_the_optimum(data, norm, surrogate):
    options = {"surrogate": surrogate, "norm": norm, "weight_norm": 1.0}
    exact = ConstrainedLinearRanker(**options, tol=1e-5, max_iter=5000)
    exact.fit(data.data, data.target, qid=data.qid)
    drawn = ConstrainedLinearRanker(
        **options, batch_size=200, max_iter=3000, random_state=0
    ).fit(data.data, data.target, qid=data.qid)
    assert drawn.n_pairs_ > 10 * 200
    differences = strict_differences(data.data, data.target, data.qid)
    loss = {
        "logistic": lambda t: np.logaddexp(0, -t),
        "exponential": lambda t: np.exp(-t),
        "hinge": lambda t: np.maximum(0, 1 - t),
    }[surrogate]
    excess = (
        loss(differences @ drawn.coef_).mean() - loss(differences @ exact.coef_).mean()
    )
    assert -1e-5 <= excess <= 1e-3
    assert excess <= drawn.optimality_gap_
    assert drawn.n_iter_ == drawn.loss_curve_.size == 3000


def test_a_larger_bound_lets_the_loss_fall(data):
    losses = [
        ConstrainedLinearRanker(weight_norm=bound)
        .fit(data.data, data.target, qid=data.qid)
        .loss_curve_[-1]
        for bound in (0.01, 0.1, 1.0)
    ]
    assert losses[0] > losses[1] + 0.05 > losses[2] + 0.1


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("batch_size", ["auto", 64])
def test_linear_weights_are_within_the_bound(data, norm, batch_size):
    ranker = ConstrainedLinearRanker(
        weight_norm=0.1, norm=norm, batch_size=batch_size, max_iter=100, random_state=0
    ).fit(data.data, data.target, qid=data.qid)
    size = np.linalg.norm(ranker.coef_, DUAL[norm])
    assert size <= 0.1
    assert size == pytest.approx(0.1, rel=1e-2)  # the bound matters


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bias", [None, 0.05])
def test_networks_are_within_the_bounds(data, norm, bias):
    ranker = ConstrainedMLPRanker(
        n_hidden=7,
        weight_norm=0.5,
        output_norm=0.7,
        bias=bias,
        norm=norm,
        max_iter=60,
        random_state=0,
    ).fit(data.data, data.target, qid=data.qid)
    weights, output = ranker.coefs_
    biases, zero = ranker.intercepts_
    assert weights.shape == (data.data.shape[1], 7)
    assert output.shape == (7, 1)
    assert np.linalg.norm(weights, DUAL[norm], axis=0).max() <= 0.5
    assert np.abs(output).sum() <= 0.7
    assert np.abs(biases).max() <= (0.5 if bias is None else bias)
    assert zero.tolist() == [0.0]
    hidden = np.maximum(data.data @ weights + biases, 0)
    np.testing.assert_allclose(ranker.predict(data.data), (hidden @ output)[:, 0])


def test_a_network_learns_what_no_linear_ranker_does():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    y = (np.abs(X[:, 0]) > 0.5).astype(int)
    linear = ConstrainedLinearRanker(weight_norm=5.0).fit(X[:200], y[:200])
    network = ConstrainedMLPRanker(output_norm=5.0, random_state=0)
    network.fit(X[:200], y[:200])
    assert linear.score(X[200:], y[200:]) < 0.65
    assert network.score(X[200:], y[200:]) > 0.9
    curve = network.loss_curve_
    assert curve[-50:].mean() < curve[:5].mean() / 2


@pytest.mark.parametrize("surrogate", ["sigmoid", Sigmoid(0.5), Hinge()])
def test_losses_by_name_and_as_objects(data, surrogate):
    ranker = ConstrainedLinearRanker(surrogate=surrogate)
    ranker.fit(data.data, data.target, qid=data.qid)
    assert ranker.score(data.data, data.target, qid=data.qid) > 0.7
    assert ranker.optimality_gap_ <= 1e-3


@pytest.mark.parametrize("make", RANKERS)
def test_the_seed_decides(data, make):
    def fit(seed):
        ranker = make(batch_size=32, max_iter=20, random_state=seed)
        return ranker.fit(data.data, data.target, qid=data.qid).predict(data.data)

    np.testing.assert_array_equal(fit(3), fit(3))
    assert (fit(3) != fit(4)).any()


def test_with_all_pairs_neither_seed_nor_row_order_matters(data):
    rows = np.random.default_rng(0).permutation(len(data.target))
    one = ConstrainedLinearRanker(norm=2, random_state=0)
    one.fit(data.data, data.target, qid=data.qid)
    other = ConstrainedLinearRanker(norm=2, random_state=1)
    names = np.array([f"query {q}" for q in data.qid])
    other.fit(data.data[rows], data.target[rows], qid=names[rows])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("make", RANKERS)
def test_pairs_never_cross_queries(make):
    # Within each query the feature says one thing, between them the contrary.
    X = np.array([[0.0], [0.1], [0.2], [-1.0], [-0.9], [-0.8]])
    y = np.array([0, 1, 2, 10, 11, 12])
    inside = make(random_state=0, max_iter=200).fit(X, y, qid=[0, 0, 0, 1, 1, 1])
    assert inside.n_pairs_ == 3 + 3
    assert inside.score(X, y, qid=[0, 0, 0, 1, 1, 1]) == 1.0
    across = make(random_state=0, max_iter=200).fit(X, y)
    assert across.n_pairs_ == 15
    assert across.score(X, y) == 9 / 15


def test_ties_teach_nothing():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, -3.0], [5.0, 7.0]])
    y = np.array([0, 1, 1, 1])
    alone = ConstrainedLinearRanker().fit(X[:2], y[:2])
    # Tied with each other, and alone in their query.
    tied = ConstrainedLinearRanker().fit(X, y, qid=[0, 0, 1, 1])
    assert tied.n_pairs_ == 1
    np.testing.assert_array_equal(alone.coef_, tied.coef_)


@pytest.mark.parametrize("make", RANKERS)
def test_no_two_items_to_compare(make):
    with pytest.raises(
        ValueError, match=r"y must have different relevance .*n_samples=4, 2 queries"
    ):
        make().fit(np.eye(4), [1, 1, 2, 2], qid=[0, 0, 1, 1])


@pytest.mark.parametrize("make", RANKERS)
def test_a_query_of_20_000_items(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = np.digitize(X @ [1.0, 0.5, 0.0] + rng.standard_normal(20_000), [-1, 0, 1, 2])
    ranker = make(max_iter=50, random_state=0)
    tracemalloc.start()
    ranker.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ranker.n_pairs_ > 10**8
    # One byte a pair would be more.
    assert peak < ranker.n_pairs_
    assert ranker.score(X, y) > 0.75


def test_the_score_is_the_share_of_strict_pairs_ordered_right():
    ranker = ConstrainedLinearRanker().fit([[0.0], [1.0]], [0, 1])
    X = np.array([[0.0], [1.0], [1.0], [2.0], [7.0]])
    y = [0, 2, 1, 1, 0]
    qid = [0, 0, 0, 0, 1]
    # Strict pairs 01 02 03 12 13: right, right, right, half, wrong.
    assert ranker.score(X, y, qid=qid) == (3 + 1 / 2) / 5
    weight = [1, 2, 3, 1, 1]  # of 01 02 03 12 13: 2, 3, 1, 6, 2
    assert ranker.score(X, y, qid, weight) == (2 + 3 + 1 + 6 / 2) / (2 + 3 + 1 + 6 + 2)
    with pytest.warns(UndefinedMetricWarning, match="no pair"):
        assert np.isnan(ranker.score(X, [1] * 5))


def test_score_needs_the_queries_that_fit_had(data):
    ranker = ConstrainedLinearRanker().fit(data.data, data.target, qid=data.qid)
    with pytest.raises(ValueError, match="qid= must be given to score"):
        ranker.score(data.data, data.target)


@pytest.mark.parametrize("norm", NORMS)
def test_the_largest_norm_is_told(data, norm):
    ranker = ConstrainedLinearRanker(norm=norm, max_iter=5)
    ranker.fit(data.data, data.target, qid=data.qid)
    expected = max(np.linalg.norm(row, norm) for row in data.data)
    assert ranker.max_feature_norm_ == pytest.approx(expected)
    scaled = ranker.fit(data.data / expected, data.target, qid=data.qid)
    assert scaled.max_feature_norm_ == pytest.approx(1.0)


@pytest.mark.parametrize(("scale", "weight_norm"), [(1e-5, 1.0), (1.0, 1e-5)])
def test_short_weights_order_items_too(scale, weight_norm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X.sum(axis=1) + rng.normal(size=60) > 0).astype(int)
    ranker = ConstrainedLinearRanker(weight_norm=weight_norm).fit(X * scale, y)
    assert ranker.coef_.any()
    assert ranker.score(X * scale, y) > 0.75


def test_the_gap_of_the_hinge_loss_closes_at_its_kinks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=40), [-0.5, 0.5])
    ranker = ConstrainedLinearRanker(weight_norm=5.0).fit(X, y)
    assert ranker.optimality_gap_ < 0.01


def test_the_gap_on_batches_is_not_fooled_by_a_pattern_of_rows():
    X = np.r_[np.zeros(1024), np.tile([1.0, -1.0], 1024)][:, None]
    y = np.r_[np.ones(1024), np.zeros(2048)]
    ranker = ConstrainedLinearRanker(
        surrogate="logistic", batch_size=4096, max_iter=50, random_state=0
    ).fit(X, y)
    assert ranker.optimality_gap_ < 0.02
