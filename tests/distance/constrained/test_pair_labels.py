"""Rankers with bounded weights on pairs that have labels of their own."""

import numpy as np
import pytest
from distance.constrained.bounded import RANKERS, optimum, strict_differences
from distance.named import (
    pairwise_surrogate_loss,
)

from skrank_abstain.distance import (
    ConstrainedLinearRanker,
)
from skrank_abstain.pairs import enumerate_pairs, group_queries


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
        None, ranker.predict(X), qid, surrogate=surrogate, pairs=pairs,
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
