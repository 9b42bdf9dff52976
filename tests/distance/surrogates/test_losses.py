"""Surrogate losses of scores: brute force, gradients, abstention."""

from itertools import permutations
from math import exp

import numpy as np
import pytest
from distance.named import (
    bipartite_abstention_loss,
    bipartite_surrogate_loss,
    pairwise_abstention_loss,
    pairwise_surrogate_loss,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import grades, qids, scores

from skrank_abstain.distance import (
    Exponential,
    Hinge,
    Logistic,
    Sigmoid,
    _pairs,
    pair_feature_distances,
)

NAMES = {
    "hinge": Hinge(),
    "exponential": Exponential(),
    "sigmoid": Sigmoid(),
    "logistic": Logistic(),
}
FUNCTIONS = {True: pairwise_surrogate_loss, False: bipartite_surrogate_loss}


@st.composite
def problems(draw):
    """Relevance, scores, query identifiers with a pair, features, and a setting."""
    s = draw(scores(min_size=3))
    general = draw(st.booleans())
    y = draw(grades(s.size))
    qid = draw(qids(s.size).filter(lambda q: len(set(q)) < s.size))
    X = np.stack([draw(scores(s.size)), draw(scores(s.size))], axis=1)
    return (y if general else y % 2), s, qid, X, general


def by_hand(phi, y, s, qid, general, ordered=None, far=None, cost=0.0):
    total, n = 0.0, 0
    if ordered is None:
        ordered = [p for p in permutations(range(len(s)), 2) if qid[p[0]] == qid[p[1]]]
    for i, j in ordered:
        n += 1
        if far is not None and not far(i, j):
            total += cost
        elif general or y[i] != y[j]:
            label = 1 if y[j] >= y[i] else -1
            total += float(phi.value(label * (s[j] - s[i])))
    return total / n


@pytest.mark.parametrize("name", NAMES)
@given(problem=problems())
def test_mean_over_ordered_pairs(name, problem):
    y, s, qid, _, general = problem
    loss, gradient = FUNCTIONS[general](y, s, qid, surrogate=name)
    assert loss == pytest.approx(by_hand(NAMES[name], y, s, qid, general), rel=1e-9)
    assert gradient.shape == s.shape
    # Adding a constant to all scores of a query changes nothing.
    assert gradient.sum() == pytest.approx(0, abs=1e-9 * (1 + abs(gradient).max()))


@pytest.mark.parametrize("name", ["exponential", "sigmoid", "logistic"])
@given(problem=problems(), gamma=st.sampled_from([None, 0.5, 1.0]))
def test_gradients_are_slopes(name, problem, gamma):
    y, s, qid, X, general = problem
    options = {"surrogate": name}
    if gamma is not None:
        options |= {"X": X, "gamma": gamma, "cost": 0.2}
    _, gradient = FUNCTIONS[general](y, s, qid, **options)
    for item in range(s.size):
        step = np.zeros(s.size)
        step[item] = 1e-5
        up, _ = FUNCTIONS[general](y, s + step, qid, **options)
        down, _ = FUNCTIONS[general](y, s - step, qid, **options)
        slope = (up - down) / 2e-5
        assert gradient[item] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@given(problem=problems())
def test_hinge_gradient_away_from_kinks(problem):
    y, s, qid, _, general = problem
    s = s + np.arange(s.size) / 97  # no difference is 1, nor can steps make it so
    _, gradient = FUNCTIONS[general](y, s, qid, surrogate="hinge")
    direction = np.cos(np.arange(s.size))
    up, _ = FUNCTIONS[general](y, s + 1e-6 * direction, qid, surrogate="hinge")
    down, _ = FUNCTIONS[general](y, s - 1e-6 * direction, qid, surrogate="hinge")
    assert gradient @ direction == pytest.approx((up - down) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
@given(problem=problems(), data=st.data())
def test_chosen_pairs_and_abstention(name, problem, data):
    y, s, qid, X, general = problem
    ordered = [p for p in permutations(range(s.size), 2) if qid[p[0]] == qid[p[1]]]
    some = data.draw(st.lists(st.sampled_from(ordered), min_size=1, max_size=9))
    for pairs in (None, some):
        loss, _ = FUNCTIONS[general](
            y, s, qid, surrogate=name, X=X, gamma=1, cost=0.3, norm=1, pairs=pairs
        )
        expected = by_hand(
            NAMES[name],
            y,
            s,
            qid,
            general,
            pairs,
            lambda i, j: abs(X[i] - X[j]).sum() > 1,
            0.3,
        )
        assert loss == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(problem=problems(), data=st.data(), gamma=st.sampled_from([None, 1]))
def test_pairs_with_labels(name, problem, data, gamma):
    y, s, qid, X, _ = problem
    s = s + np.arange(s.size) / 97  # away from the kinks of the hinge loss
    ordered = [p for p in permutations(range(s.size), 2) if qid[p[0]] == qid[p[1]]]
    some = data.draw(st.lists(st.sampled_from(ordered), min_size=1, max_size=9))
    sign = st.sampled_from([-1, 1])
    labels = data.draw(st.lists(sign, min_size=len(some), max_size=len(some)))
    options = {"surrogate": name, "pairs": some}
    if gamma is not None:
        options |= {"X": X, "gamma": gamma, "cost": 0.3, "norm": 1}
    total, slope = 0.0, np.zeros(s.size)
    for (i, j), label in zip(some, labels, strict=True):
        if gamma is not None and abs(X[i] - X[j]).sum() <= gamma:
            total += 0.3
            continue
        # +1 where the left item is to score higher.
        margin = label * (s[i] - s[j])
        total += float(NAMES[name].value(margin))
        change = label * float(NAMES[name].derivative(margin))
        slope[[i, j]] += change, -change
    found, gradient = pairwise_surrogate_loss(
        None, s, qid, pair_labels=labels, **options
    )
    assert found == pytest.approx(total / len(some), rel=1e-9)
    np.testing.assert_allclose(gradient, slope / len(some), rtol=1e-9, atol=1e-12)
    of_relevance = [1 if y[i] > y[j] else -1 for i, j in some]
    found = pairwise_surrogate_loss(None, s, qid, pair_labels=of_relevance, **options)
    expected = pairwise_surrogate_loss(y, s, qid, **options)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@given(problem=problems(), cost=st.floats(0, 1))
def test_hinge_and_exponential_are_above_misranking(problem, cost):
    y, s, qid, X, general = problem
    target = pairwise_abstention_loss if general else bipartite_abstention_loss
    misranking = target(y, s, X, qid, gamma=0.5, cost=cost)
    for name in ("hinge", "exponential"):
        loss, _ = FUNCTIONS[general](
            y, s, qid, surrogate=name, X=X, gamma=0.5, cost=cost
        )
        assert loss >= misranking - 1e-12


def test_large_scores_do_not_overflow():
    s = np.array([1e5, 0.0, -1e5])
    assert bipartite_surrogate_loss([1, 0, 0], s, surrogate="exponential")[0] == 0
    far = bipartite_surrogate_loss([1, 0], [1e5, 1e5 - 2], surrogate="exponential")
    assert far[0] == pytest.approx(exp(-2), rel=1e-9)
    wrong = bipartite_surrogate_loss([1, 0], [0.0, 1e5], surrogate="exponential")
    assert wrong[0] == np.inf
    for name in ("hinge", "sigmoid", "logistic"):
        loss, gradient = pairwise_surrogate_loss(
            [0, 1, 1], [1e300, 0, -1e300], surrogate=name
        )
        assert np.isfinite(loss)
        assert np.isfinite(gradient).all()


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    s, y, X = rng.normal(size=40), rng.integers(0, 3, 40), rng.normal(size=(40, 3))
    qid = rng.integers(0, 4, 40)
    options = {"X": X, "gamma": 0.7, "norm": 3, "cost": 0.1}
    pairs = [p for p in permutations(range(40), 2) if qid[p[0]] == qid[p[1]]]
    labels = rng.choice([-1, 1], len(pairs))

    def losses():
        yield pairwise_surrogate_loss(y, s, qid, **options)
        labelled = {"pairs": pairs, "pair_labels": labels}
        yield pairwise_surrogate_loss(None, s, qid, **options, **labelled)

    whole = list(losses())
    monkeypatch.setattr(_pairs, "_PAIRS", 7)
    monkeypatch.setattr(_pairs, "_CACHED", 5)
    for (loss, gradient), expected in zip(losses(), whole, strict=True):
        assert loss == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-14)


def test_distances():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 4))
    left, right = rng.integers(0, 20, (2, 30))
    for norm in (1, 1.5, 2, 3, 7, np.inf):
        expected = np.linalg.norm(X[left] - X[right], ord=norm, axis=1)
        found = pair_feature_distances(X, left, right, norm=norm)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    # High powers of small numbers, and squares of large ones.
    assert pair_feature_distances([[0, 0], [0.1, 0.05]], [0], [1], norm=900) == 0.1
    far = pair_feature_distances([[0, 0], [3e200, 4e200]], [0], [1], norm=2)
    assert far[0] == pytest.approx(5e200, rel=1e-12)
    assert pair_feature_distances(X, [], []).shape == (0,)


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_checks(function):
    with pytest.raises(ValueError, match="scores must have one value per item"):
        function([1, 0], [1.0])
    with pytest.raises(ValueError, match="y must have at least one pair"):
        function([1, 0], [1.0, 2.0], ["a", "b"])
    with pytest.raises(ValueError, match="gamma must be 0 where X is not given, got 1"):
        function([1, 0], [1.0, 2.0], gamma=1)
    with pytest.raises(ValueError, match=r"gamma must be in \[0, inf\]"):
        function([1, 0], [1.0, 2.0], gamma=-1, X=[[1], [2]], cost=0.1)
    with pytest.raises(ValueError, match="cost must be given with X"):
        function([1, 0], [1.0, 2.0], gamma=1, X=[[1], [2]])
    with pytest.raises(ValueError, match=r"cost must be in \[0, 1\], got 2"):
        function([1, 0], [1.0, 2.0], gamma=1, X=[[1], [2]], cost=2)
    with pytest.raises(ValueError, match="pairs must name two different rows"):
        function([1, 0], [1.0, 2.0], pairs=[(1, 1)])


def test_labels_of_pairs_are_checked():
    with pytest.raises(ValueError, match="y must be given where pair_labels are not"):
        pairwise_surrogate_loss(None, [1.0, 2.0], pairs=[(0, 1)])
    with pytest.raises(ValueError, match=r"pair_labels must be -1 .* got 0"):
        pairwise_surrogate_loss(None, [1.0, 2.0], pairs=[(0, 1)], pair_labels=[0])


def test_bipartite_labels_are_binary():
    with pytest.raises(ValueError, match=r"y must be binary, .* got 3: \[0.0, 1.0, 2"):
        bipartite_surrogate_loss([0, 1, 2], [1.0, 2.0, 3.0])
