"""Rankers with bounded weights: what they learn, from which pairs; what they refuse."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from distance.named import pairwise_surrogate_loss
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
    Hinge,
    Sigmoid,
)
from skrank_abstain.estimators import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.pairs import enumerate_pairs, group_queries


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, random_state=0)


RANKERS = [ConstrainedLinearRanker, ConstrainedMLPRanker]


def strict_differences(X, y, qid):
    """Return features of the better item less those of the worse, pair by pair."""
    left, right = enumerate_pairs(group_queries(qid, len(y)))
    sign = np.sign(y[left] - y[right])
    return (sign[:, None] * (X[left] - X[right]))[sign != 0]


def optimum(differences, norm, bound, surrogate):
    """Return the smallest mean surrogate within the bound, as SLSQP finds it."""
    n_pairs, n = differences.shape
    # w = positive part - negative part; for the hinge, slacks above 1 - margin and 0.
    n_slacks = n_pairs if surrogate == "hinge" else 0

    def split(z):
        return z[:n] - z[n : 2 * n], z[2 * n :]

    def objective(z):
        w, slacks = split(z)
        if surrogate == "hinge":
            return slacks.mean()
        margin = differences @ w
        if surrogate == "logistic":
            return np.logaddexp(0, -margin).mean()
        return np.exp(-margin).mean()

    constraints = {
        1: [],
        2: [{"type": "ineq", "fun": lambda z: bound**2 - split(z)[0] @ split(z)[0]}],
        np.inf: [{"type": "ineq", "fun": lambda z: bound - z[: 2 * n].sum()}],
    }[norm]
    if surrogate == "hinge":
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda z: split(z)[1] + differences @ split(z)[0] - 1,
            }
        )
    found = minimize(
        objective,
        np.concatenate([np.zeros(2 * n), np.ones(n_slacks)]),
        bounds=[(0, bound)] * (2 * n) + [(0, None)] * n_slacks,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert found.success
    return found.fun


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
    assert ranker.score(X, y, qid=qid, sample_weight=weight) == (2 + 3 + 1 + 6 / 2) / (
        2 + 3 + 1 + 6 + 2
    )
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


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("surrogate", ["logistic", "exponential", "hinge"])
def test_noisy_repeated_and_cyclic_labels_reach_the_optimum(norm, surrogate):
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((24, 3)), np.repeat([0, 1, 2], 8)
    left, right = enumerate_pairs(group_queries(qid, 24))
    pairs = np.stack([left, right], axis=1)[rng.integers(0, left.size, 60)]
    noise = rng.standard_normal(60)
    d = X[pairs[:, 0]] - X[pairs[:, 1]]
    labels = np.where(d @ [1.0, -1.0, 0.2] + 2 * noise > 0, 1, -1)
    # A cycle, 0 over 1 over 2 over 0, and a pair that contradicts itself.
    pairs = np.concatenate([pairs, [[0, 1], [1, 2], [2, 0], [8, 9], [8, 9]]])
    labels = np.append(labels, [1, 1, 1, 1, -1])
    better = np.where(labels > 0, pairs[:, 0], pairs[:, 1])
    worse = np.where(labels > 0, pairs[:, 1], pairs[:, 0])
    best = optimum(X[better] - X[worse], norm, 1.0, surrogate)
    ranker = ConstrainedLinearRanker(
        surrogate=surrogate, norm=norm, tol=1e-6, max_iter=5000
    ).fit(X, qid=qid, pairs=pairs, pair_labels=labels)
    assert ranker.n_pairs_ == 65
    # Scores on the side of the labels: the loss of these pairs, as it is published.
    loss, _ = pairwise_surrogate_loss(
        None, ranker.predict(X), qid=qid, surrogate=surrogate, pairs=pairs,
        pair_labels=labels,
    )  # fmt: skip
    assert loss == pytest.approx(ranker.loss_curve_.min(), rel=1e-12)
    assert best - 1e-7 <= loss <= best + (2e-4 if surrogate == "hinge" else 2e-6)


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize("turned", [False, True])
def test_labels_that_relevance_would_give_teach_the_same(data, make, turned):
    X, y, qid = data.data[:90], data.target[:90], data.qid[:90]
    left, right = enumerate_pairs(group_queries(qid, 90))
    strict = y[left] != y[right]
    pairs = np.stack([left, right], axis=1)[strict]
    labels = np.where(y[left] > y[right], 1, -1)[strict]
    if turned:
        pairs, labels = pairs[:, ::-1], -labels
    ranker = make(max_iter=20, batch_size="auto", random_state=0)
    ranker.fit(X, y, qid=qid)
    expected, losses = ranker.predict(X), ranker.loss_curve_
    ranker.fit(X, qid=qid, pairs=pairs, pair_labels=labels)
    assert ranker.n_pairs_ == strict_differences(X, y, qid).shape[0]
    np.testing.assert_allclose(ranker.loss_curve_, losses, rtol=1e-9)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("make", RANKERS)
def test_the_left_item_wins_where_the_label_is_plus_one(make):
    X = np.array([[1.0], [0.0]])
    for label, sign in ((1, 1), (-1, -1)):
        ranker = make(max_iter=20, random_state=0)
        first, second = ranker.fit(
            X, pairs=[(0, 1)] * 30, pair_labels=[label] * 30
        ).predict(X)
        assert np.sign(first - second) == sign


@pytest.mark.parametrize("make", RANKERS)
def test_labels_are_drawn_in_batches(make):
    rng = np.random.default_rng(1)
    X, pairs = rng.standard_normal((300, 2)), rng.integers(0, 299, (5000, 2))
    pairs[:, 1] += pairs[:, 1] >= pairs[:, 0]
    labels = np.where(X[pairs[:, 0], 0] > X[pairs[:, 1], 0], 1, -1)
    ranker = make(batch_size=64, max_iter=200, random_state=0)
    ranker.fit(X, pairs=pairs, pair_labels=labels)
    assert ranker.score(X, X[:, 0]) > 0.9


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [(0, 1)]}, "pair_labels must be given with pairs"),
        ({"pair_labels": [1]}, "pairs must be given with pair_labels"),
        (
            {"y": [1, 0, 0], "pairs": [(0, 1)], "pair_labels": [1]},
            "y must be None where pair_labels are given",
        ),
        (
            {"pairs": [(0, 1)], "pair_labels": [0]},
            r"pair_labels must be -1 \(right preferred\) or 1 \(left .*, got 0. Leave",
        ),
        (
            {"pairs": [(0, 1)], "pair_labels": [1, 1]},
            "pair_labels must have one value per pair",
        ),
        ({"pairs": [], "pair_labels": []}, "pairs must hold at least one pair, got 0"),
        ({"pairs": [(0, 3)], "pair_labels": [1]}, "pairs must name rows from 0 to 2"),
        (
            {"pairs": [(0, 2)], "pair_labels": [1], "qid": [0, 0, 1]},
            "pairs must name two rows of the same query",
        ),
        ({}, "requires y to be passed, but the target y is None"),
    ],
)
def test_checks(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make().fit([[1.0], [2.0], [3.0]], **arguments)


@parametrize_with_checks(
    [
        ConstrainedLinearRanker(),
        ConstrainedLinearRanker(
            surrogate="logistic", norm=2, batch_size=8, max_iter=30, random_state=0
        ),
        ConstrainedMLPRanker(n_hidden=4, max_iter=30, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"surrogate": "log"}, ValueError, "surrogate must be one of 'hinge'"),
        ({"weight_norm": 0}, ValueError, r"weight_norm must be in .* got 0"),
        ({"weight_norm": "1"}, TypeError, "weight_norm must be a real number"),
        ({"norm": 3}, ValueError, r"norm must be 1, 2 or inf .*got 3"),
        ({"norm": "l2"}, TypeError, "norm must be a real number, got"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
        ({"batch_size": "all"}, TypeError, "batch_size must be an integer, got 'all'"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    ],
)
@pytest.mark.parametrize("make", RANKERS)
def test_parameters_are_checked(make, params, error, message):
    with pytest.raises(error, match=message):
        make(**params).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("make", "params", "error", "message"),
    [
        (ConstrainedLinearRanker, {"tol": -1}, ValueError, r"tol must be in \[0"),
        (ConstrainedLinearRanker, {"tol": "0"}, TypeError, "tol must be a real number"),
        (ConstrainedMLPRanker, {"n_hidden": 0}, ValueError, "n_hidden must be at"),
        (ConstrainedMLPRanker, {"output_norm": -1}, ValueError, "output_norm must be"),
        (ConstrainedMLPRanker, {"bias": 0}, ValueError, "bias must be in"),
    ],
)
def test_parameters_of_one_of_them(make, params, error, message):
    with pytest.raises(error, match=message):
        make(**params).fit([[0.0], [1.0]], [0, 1])


def test_features_without_scale():
    X = np.array([[0.0], [1e5], [-3e5]])
    with pytest.raises(ValueError, match=r"X must have features so small .*300000"):
        ConstrainedMLPRanker(surrogate="exponential", random_state=0).fit(X, [0, 1, 2])
    # From weights of zero small steps lead to the optimum: no order pays for itself.
    linear = ConstrainedLinearRanker(surrogate="exponential", tol=1e-5, max_iter=5000)
    linear.fit(X, [0, 1, 2])
    assert linear.loss_curve_[0] < 1.0
    assert linear.optimality_gap_ < 1.0


def test_a_surrogate_that_explodes_within_the_bound(data):
    # At the corners of the ball margins are hundreds, and so are exponents.
    options = {"surrogate": "exponential", "norm": 1, "weight_norm": 100.0}
    near = ConstrainedLinearRanker(**(options | {"weight_norm": 1.0}))
    near.fit(data.data, data.target, qid=data.qid)
    assert np.abs(near.coef_).max() < 0.9  # the optimum lies within either bound
    far = ConstrainedLinearRanker(**options).fit(data.data, data.target, qid=data.qid)
    assert far.optimality_gap_ <= 1e-4
    assert far.loss_curve_[-1] == pytest.approx(near.loss_curve_[-1], abs=1e-4)
    drawn = ConstrainedLinearRanker(**options, batch_size=200, random_state=0)
    network = ConstrainedMLPRanker(
        surrogate="exponential", output_norm=50.0, random_state=0
    )
    for ranker in (drawn, network):
        ranker.fit(data.data, data.target, qid=data.qid)
        assert ranker.score(data.data, data.target, qid=data.qid) > 0.8


def test_a_surrogate_that_explodes_on_pairs_that_were_not_drawn():
    # One query of a hundred holds a margin of 800, which exp does not survive.
    X = np.tile([[0.0], [1.0]], (100, 1))
    X[0] = 800.0
    y, qid = np.tile([0, 1], 100), np.repeat(np.arange(100), 2)
    ranker = ConstrainedLinearRanker(
        surrogate="exponential", batch_size=1, max_iter=5, random_state=0
    )
    with pytest.raises(ValueError, match=r"X must have features so small .*800"):
        ranker.fit(X, y, qid=qid)


def test_a_feature_that_says_nothing_gets_no_weight():
    # Better and worse items are the same on average: zero is optimal at once.
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    ranker = ConstrainedLinearRanker().fit(X, [0, 1, 1, 0], qid=[0, 0, 1, 1])
    assert ranker.coef_.tolist() == [0.0]
    assert (ranker.n_iter_, ranker.optimality_gap_) == (1, 0.0)
    assert ranker.loss_curve_.tolist() == [1.0]


@pytest.mark.parametrize("make", RANKERS)
def test_clone_and_pickle(data, make):
    ranker = make(max_iter=10, random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    again = clone(ranker).fit(data.data, data.target, qid=data.qid)
    restored = pickle.loads(pickle.dumps(ranker))
    expected = ranker.predict(data.data)
    np.testing.assert_array_equal(again.predict(data.data), expected)
    np.testing.assert_array_equal(restored.predict(data.data), expected)


def small(make, **options):
    return make(max_iter=20, random_state=0, **options)


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.parametrize("wrapper", [BALToR, CostAbstainer, RiskControlledRanker])
@pytest.mark.filterwarnings("ignore:No threshold could be certified:UserWarning")
def test_inside_the_wrappers(data, make, piped, prefit, wrapper):
    X, y, qid = data.data, data.target, data.qid
    inner = small(make)
    if piped:
        inner = make_pipeline(StandardScaler(), inner)
    if prefit:
        options = {f"{make.__name__.lower()}__qid": qid} if piped else {"qid": qid}
        inner.fit(X, y, **options)
    ranker = wrapper(inner, random_state=0).fit(X, y, qid=qid)
    assert ranker.prefit_ is prefit
    last = ranker.estimator_[-1] if piped else ranker.estimator_
    assert last._fitted_with_qid
    n_all = strict_differences(X, y, qid).shape[0]
    # Only pairs of one query: of all queries, unless a promise set some aside.
    whole = prefit or ranker.n_folds_
    assert last.n_pairs_ == n_all if whole else last.n_pairs_ < n_all
    totals = ranker.evaluate(X, y, qid=qid)
    assert totals.pairs.sum() == group_queries(qid, len(y)).n_pairs
    np.testing.assert_array_equal(ranker.predict(X), ranker.estimator_.predict(X))


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize("prefit", [False, True])
def test_inside_the_classifier_of_pairs(make, prefit):
    answers = make_ranking(300, n_items=2, n_grades=None, random_state=0)
    X = answers.data.reshape(300, -1)
    y = np.where(answers.target[::2] > answers.target[1::2], 1, -1)
    inner = make(max_iter=100, random_state=0)
    if prefit:
        inner.fit(answers.data, answers.target, qid=answers.qid)
        assert inner.n_pairs_ == 300
    model = PairwiseRankerClassifier(inner, random_state=0).fit(X[:200], y[:200])
    if not prefit:
        assert model.estimator_.n_pairs_ == 150  # each pair is a query
    assert model.score(X[200:], y[200:]) > 0.6


def test_grid_search_with_queries(data):
    X, y, qid = data.data, data.target, data.qid
    grid = {"weight_norm": [1e-3, 1.0]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ConstrainedLinearRanker(max_iter=50),
            grid,
            cv=GroupKFold(3).set_split_request(groups="qid"),
            error_score="raise",
        ).fit(X, y, qid=qid)
        scores = cross_val_score(
            ConstrainedLinearRanker(max_iter=50),
            X,
            y,
            cv=GroupKFold(3).set_split_request(groups="qid"),
            params={"qid": qid},
            error_score="raise",
        )
    fitted = search.best_estimator_
    assert fitted._fitted_with_qid
    assert fitted.n_pairs_ == strict_differences(X, y, qid).shape[0]
    assert (search.cv_results_["mean_test_score"] > 0.6).all()
    assert (scores > 0.6).all()


def test_frames_keep_their_names(data):
    frame = pd.DataFrame(data.data).rename(columns="f{}".format)
    ranker = ConstrainedLinearRanker(max_iter=5)
    ranker.fit(frame, data.target, qid=data.qid)
    assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame.rename(columns={"f0": "other"}))
