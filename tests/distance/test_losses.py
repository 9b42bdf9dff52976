"""Margin losses, surrogates, misranking, with and without abstention: definitions."""

import warnings
from itertools import permutations
from math import exp, log, tanh

import numpy as np
import pytest
from distance.named import (
    bipartite_abstention_loss,
    bipartite_misranking_loss,
    bipartite_surrogate_loss,
    pairwise_abstention_loss,
    pairwise_misranking_loss,
    pairwise_surrogate_loss,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from strategies import grades, qids, scores

from skrank_abstain.distance import (
    Exponential,
    Hinge,
    Logistic,
    MarginLoss,
    Sigmoid,
    _pairs,
    pair_feature_distances,
)
from skrank_abstain.pairs import _queries

LOSSES = [Hinge(), Exponential(), Sigmoid(), Sigmoid(2.5), Logistic()]
MARGINS = st.floats(-20, 20)
WEIGHTS = st.floats(0.01, 1)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Hinge(), lambda t: max(0, 1 - t)),
        (Exponential(), lambda t: exp(-t)),
        (Sigmoid(), lambda t: 1 - tanh(t)),
        (Sigmoid(0.3), lambda t: 1 - tanh(0.3 * t)),
        (Logistic(), lambda t: log(1 + exp(-t))),
    ],
    ids=["hinge", "exponential", "sigmoid", "sigmoid of 0.3", "logistic"],
)
def test_values(loss, expected):
    margins = [-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0]
    values = [expected(t) for t in margins]
    np.testing.assert_allclose(loss.value(margins), values, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(t=MARGINS)
def test_derivatives_are_slopes(loss, t):
    step = 1e-5
    if isinstance(loss, Hinge) and abs(t - 1) < 2 * step:
        return
    slope = (loss.value(t + step) - loss.value(t - step)) / (2 * step)
    assert loss.derivative(t) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert loss.derivative(t) <= 0


def test_the_kink_of_the_hinge_is_flat():
    np.testing.assert_array_equal(Hinge().derivative([0.99, 1.0, 1.01]), [-1, 0, 0])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(a=WEIGHTS, b=WEIGHTS, reach=st.floats(0.01, 6))
def test_best_margin_in_an_interval_is_the_nearest_point(loss, a, b, reach):
    def risk(t):
        return float(a * loss.value(t) + b * loss.value(-t))

    found = minimize_scalar(risk, bounds=(-reach, reach), method="bounded")
    smallest = min(found.fun, risk(reach), risk(-reach), risk(0.0))
    best = float(np.clip(loss.best_margin(a, b), -reach, reach))
    assert risk(best) <= smallest + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_equal_weights_prefer_no_order(loss):
    np.testing.assert_array_equal(loss.best_margin([0, 0.5], [0, 0.5]), [0, 0])
    assert loss.best_margin(1, 0) > 0
    assert loss.best_margin(0, 1) < 0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_extreme_margins(loss):
    margins = np.array([-np.inf, -1e308, -800, 800, 1e308, np.inf])
    value, derivative = loss.value(margins), loss.derivative(margins)
    assert not np.isnan(value).any()
    assert not np.isnan(derivative).any()
    assert (np.diff(value[np.isfinite(value)]) <= 0).all()
    np.testing.assert_allclose(value[3:], 0, atol=1e-300)
    np.testing.assert_allclose(derivative[3:], 0, atol=1e-300)


def test_tails_do_not_cancel():
    assert Sigmoid().value(30.0) == pytest.approx(2 * exp(-60), rel=1e-12)
    assert Logistic().value(40.0) == pytest.approx(exp(-40), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_any_shape(loss):
    margins = np.linspace(-2, 2, 6).reshape(2, 3)
    assert loss.value(margins).shape == loss.derivative(margins).shape == (2, 3)
    assert loss.value(margins.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("k", [0, -1.0, np.inf, np.nan])
def test_steepness_must_be_positive(k):
    with pytest.raises(ValueError, match=r"k must be in \(0, inf\), got"):
        Sigmoid(k)


def test_steepness_must_be_a_number():
    with pytest.raises(TypeError, match=r"k must be a real number .* got 'steep'"):
        Sigmoid("steep")


class Squared(MarginLoss):
    """Anybody's loss."""

    def value(self, margin):
        return (1 - np.asarray(margin)) ** 2

    def derivative(self, margin):
        return -2 * (1 - np.asarray(margin))

    def best_margin(self, weight, opposite):
        raise NotImplementedError


def test_own_losses_and_unknown_names():
    loss, _ = bipartite_surrogate_loss([1, 0], [3.0, 0.0], surrogate=Squared())
    assert loss == 4
    with pytest.raises(ValueError, match="surrogate must be one of 'hinge', 'expon"):
        bipartite_surrogate_loss([1, 0], [3.0, 0.0], surrogate="squared")


NORMS = {"l1": 1, "l2": 2, "linf": np.inf}
MISRANKING = [pairwise_misranking_loss, bipartite_misranking_loss]
ABSTENTION = [pairwise_abstention_loss, bipartite_abstention_loss]


def pairwise(y, s, i, j):
    label = 1 if y[j] >= y[i] else -1
    return float(label != (1 if s[j] >= s[i] else -1))


def bipartite(y, s, i, j):
    if y[i] == y[j]:
        return 0.0
    return 0.5 if s[i] == s[j] else float((y[i] - y[j]) * (s[i] - s[j]) < 0)


def by_hand(loss, y, s, ordered, distance=None, gamma=0.0, cost=0.0):
    total = 0.0
    for i, j in ordered:
        near = distance is not None and distance(i, j) <= gamma
        total += cost if near else loss(y, s, i, j)
    return total / len(ordered)


def ordered_pairs(qid):
    every = permutations(range(len(qid)), 2)
    return [(i, j) for i, j in every if qid[i] == qid[j]]


@st.composite
def problems(draw):
    s = draw(scores())
    qid = draw(qids(s.size).filter(lambda q: len(set(q)) < s.size))
    X = np.stack([draw(scores(s.size)), draw(scores(s.size))], axis=1)
    return draw(grades(s.size)), s, qid, X


@given(problems(), st.data())
def test_misranking_by_definition(problem, data):
    y, s, qid, _ = problem
    every = ordered_pairs(qid)
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=9))
    for function, loss, labels in (
        (pairwise_misranking_loss, pairwise, y),
        (bipartite_misranking_loss, bipartite, y > 1),
    ):
        labels = labels.astype(float)
        expected = by_hand(loss, labels, s, every)
        assert function(labels, s, qid=qid) == pytest.approx(expected, abs=1e-12)
        assert function(labels, s, qid=qid, pairs=every) == pytest.approx(expected)
        expected = by_hand(loss, labels, s, some)
        assert function(labels, s, qid=qid, pairs=some) == pytest.approx(expected)


@given(
    problems(),
    st.data(),
    st.sampled_from([0, 0.5, 1, 2.25]),
    st.floats(0, 1),
    st.sampled_from([1, 2, 3.5, np.inf]),
)
def test_abstention_by_definition(problem, data, gamma, cost, norm):
    y, s, qid, X = problem
    every = ordered_pairs(qid)
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=9))

    def distance(i, j):
        # Differences are quarters: the rounding of powers is all there is.
        return np.linalg.norm(X[i] - X[j], ord=norm) - 1e-12

    for function, loss, labels in (
        (pairwise_abstention_loss, pairwise, y),
        (bipartite_abstention_loss, bipartite, y % 2),
    ):
        for pairs in (None, some):
            found = function(
                labels, s, X, qid, gamma=gamma, cost=cost, norm=norm, pairs=pairs
            )
            chosen = every if pairs is None else pairs
            expected = by_hand(loss, labels, s, chosen, distance, gamma, cost)
            assert found == pytest.approx(expected, abs=1e-12)


@given(problems(), st.data(), st.sampled_from([None, 0.5, 1]))
def test_pairs_with_labels_by_definition(problem, data, gamma):
    y, s, qid, X = problem
    every = ordered_pairs(qid)
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=9))
    sign = st.sampled_from([-1, 1])
    labels = data.draw(st.lists(sign, min_size=len(some), max_size=len(some)))

    def loss(arguments, pair_labels):
        options = {"pairs": some, "pair_labels": pair_labels}
        if gamma is None:
            return pairwise_misranking_loss(arguments, s, qid=qid, **options)
        options |= {"gamma": gamma, "cost": 0.3, "norm": 1}
        return pairwise_abstention_loss(arguments, s, X, qid, **options)

    total = 0.0
    for (i, j), label in zip(some, labels, strict=True):
        # Published: y = +1 prefers the second item, and the sign of zero is +1.
        wrong = -label != (1 if s[j] - s[i] >= 0 else -1)
        near = gamma is not None and abs(X[i] - X[j]).sum() <= gamma
        total += 0.3 if near else wrong
    assert loss(None, labels) == pytest.approx(total / len(some), abs=1e-12)
    # Those that relevance gives; two items of equal relevance prefer the right one.
    of_relevance = [1 if y[i] > y[j] else -1 for i, j in some]
    assert loss(None, of_relevance) == loss(y, None)


def test_equal_scores_prefer_the_right_item():
    for label, wrong in ((1, 1), (-1, 0)):
        found = pairwise_misranking_loss(
            None, [5, 5], pairs=[(0, 1)], pair_labels=[label]
        )
        assert found == wrong


def test_oracle(oracles):
    case = oracles["mao_abstention_loss"]
    for row in case["rows"]:
        for function, name in zip(
            ABSTENTION, ("mean_general", "mean_bipartite"), strict=True
        ):
            found = function(
                case["y_item"],
                case["h"],
                case["X"],
                gamma=row["gamma"],
                cost=row["c"],
                norm=NORMS[row["norm"]],
            )
            assert found == pytest.approx(row[name], rel=1e-9)


@given(problems(), st.floats(0, 1), st.sampled_from([0.25, 1, 3]))
def test_linear_in_the_cost_and_the_slope_is_the_share_given_up(problem, cost, gamma):
    y, s, qid, X = problem
    left, right = np.array(ordered_pairs(qid)).T
    rejected = np.mean(pair_feature_distances(X, left, right, norm=1) <= gamma)
    for function, labels in zip(ABSTENTION, (y, y % 2), strict=True):
        at = [
            function(labels, s, X, qid, gamma=gamma, cost=c, norm=1)
            for c in (0, cost, 1)
        ]
        assert at[2] - at[0] == pytest.approx(rejected, abs=1e-12)
        assert at[1] == pytest.approx(at[0] + cost * rejected, abs=1e-12)


def test_published_table_is_linear_in_the_cost(oracles):
    # Errors of ranking CIFAR-10 with a ResNet, in per cent; rounded to 0.01.
    table = oracles["mao_table1_percent"]
    low, middle, high = (np.array(table["mean"][c]) for c in ("0.1", "0.3", "0.5"))
    np.testing.assert_allclose(middle - low, high - middle, atol=0.021)


def test_published_table_from_pairs_of_its_shares(oracles):
    table = oracles["mao_table1_percent"]
    gammas = np.array(table["gamma"])
    rejected = [
        (row["rejected_pct_from_c_0p1_0p3"] + row["rejected_pct_from_c_0p3_0p5"]) / 2
        for row in table["implied"]
    ]
    wrong = [row["accepted_error_mass_pct"] for row in table["implied"]]
    # Ten thousand pairs, shell by shell: at most each gamma, and beyond the last.
    size = np.diff(np.rint(100 * np.array([*rejected, 100])).astype(int), prepend=0)
    errors = -np.diff(np.rint(100 * np.array([wrong[0], *wrong, 0])).astype(int))
    distance = np.repeat([*gammas, 1.0], size)
    is_wrong = np.concatenate(
        [np.arange(n) < e for n, e in zip(size, errors, strict=True)]
    )
    pairs = np.arange(2 * distance.size).reshape(-1, 2)
    X = np.stack([np.zeros_like(distance), distance], axis=1).reshape(-1, 1)
    y = np.tile([0, 1], distance.size)
    s = np.stack([is_wrong, ~is_wrong], axis=1).reshape(-1).astype(float)
    for cost, means in table["mean"].items():
        for gamma, mean in zip(gammas, means, strict=True):
            for function in ABSTENTION:
                found = function(y, s, X, gamma=gamma, cost=float(cost), pairs=pairs)
                assert 100 * found == pytest.approx(mean, abs=0.021)


@given(problems())
def test_bipartite_loss_and_auc(problem):
    y, s, _, _ = problem
    labels = y % 2
    if labels.min() == labels.max():
        assert bipartite_misranking_loss(labels, s) == 0
        return
    n, positives = labels.size, labels.sum()
    share = 2 * positives * (n - positives) / (n * (n - 1))
    expected = share * (1 - roc_auc_score(labels, s))
    assert bipartite_misranking_loss(labels, s) == pytest.approx(expected, abs=1e-12)


@given(problems())
def test_without_equal_values_there_is_one_loss(problem):
    _, s, _, _ = problem
    s = s + np.arange(s.size) / 97
    y = np.arange(s.size) >= s.size // 2
    strict = [(i, j) for i, j in permutations(range(s.size), 2) if y[i] != y[j]]
    a, b = (function(y, s, pairs=strict) for function in MISRANKING)
    assert a == b
    mirrored = pairwise_misranking_loss(y, -s, pairs=strict)
    assert mirrored == pytest.approx(1 - a, abs=1e-12)


def test_many_items_are_counted_without_their_pairs():
    rng = np.random.default_rng(0)
    n = 100_000  # ten thousand million ordered pairs
    y, s = rng.integers(0, 5, n), rng.normal(size=n)
    tied = sum(m * (m - 1) for m in np.bincount(y)) / (n * (n - 1))
    loss = pairwise_misranking_loss(y, s)
    assert loss == pytest.approx(0.5, abs=0.01)
    assert pairwise_misranking_loss(y, y) == 0
    assert pairwise_misranking_loss(y, -y) == pytest.approx(1 - tied, rel=1e-12)


def test_drawn_pairs_stand_for_all():
    rng = np.random.default_rng(3)
    y, s, X = rng.integers(0, 3, 60), rng.normal(size=60), rng.normal(size=(60, 2))
    qid = rng.integers(0, 5, 60)
    options = {"qid": qid, "gamma": 0.5, "cost": 0.2}
    exact = pairwise_abstention_loss(y, s, X, **options)
    every = ordered_pairs(qid)
    drawn = np.array(every)[rng.integers(len(every), size=40_000)]
    found = pairwise_abstention_loss(y, s, X, **options, pairs=drawn)
    assert found == pytest.approx(exact, abs=4 * 0.5 / 200)


def test_equality_up_to_rounding_is_near():
    X = [[0.1], [0.3], [0.1 + 0.2]]  # the last two are not the same number
    near = pairwise_abstention_loss(
        [0, 1], [0, 0], [[0], X[2]], gamma=0.3, cost=1, pairs=[(0, 1)]
    )
    assert near == 1
    beyond = np.nextafter(np.nextafter(0.3, 1), 1) * (1 + 1e-14)
    far = pairwise_abstention_loss(
        [0, 1], [0, 0], [[0], [beyond]], gamma=0.3, cost=1, pairs=[(0, 1)]
    )
    assert far == 0


@pytest.mark.parametrize("function", MISRANKING)
def test_no_pair_is_undefined(function):
    with pytest.warns(UndefinedMetricWarning, match="misranking loss is undef"):
        assert np.isnan(function([1, 0], [1, 2], qid=["a", "b"]))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(function([1, 0], [1, 2], pairs=[]))


@pytest.mark.parametrize("function", MISRANKING)
def test_no_pair_is_undefined_with_abstention_too(function):
    with pytest.warns(UndefinedMetricWarning, match="misranking loss is undef"):
        assert np.isnan(function([1], [1], X=[[1]], gamma=1, cost=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # All pairs given up is not undefined.
        assert function([1, 0], [1, 2], X=[[1], [2]], gamma=1, cost=0.1) == 0.1


@pytest.mark.parametrize("function", ABSTENTION)
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"gamma": -0.1}, ValueError, r"gamma must be in \[0, inf\], got -0"),
        ({"gamma": np.nan}, ValueError, r"gamma must be in \[0, inf\], got nan"),
        ({"gamma": r"far"}, TypeError, "gamma must be a real number .* got 'far'"),
        ({"cost": 1.1}, ValueError, r"cost must be in \[0, 1\], got 1.1"),
        ({"cost": -0.1}, ValueError, r"cost must be in \[0, 1\], got -0.1"),
        ({"norm": 0.5}, ValueError, r"norm must be in \[1, inf\], got 0.5"),
        ({"norm": r"l2"}, TypeError, r"norm must be a real number .* got 'l2'"),
        ({"pairs": [(0, 3)]}, ValueError, "pairs must name rows from 0 to 1"),
        ({"X": [[1.0], [np.nan]]}, ValueError, "Input X contains NaN"),
        ({"X": [[1.0]]}, ValueError, "inconsistent numbers of samples"),
        ({"qid": [1]}, ValueError, "qid must have one value per item"),
        ({"scores": [1]}, ValueError, "scores must have one value per item"),
    ],
)
def test_checks(function, options, kind, message):
    arguments = {"scores": [1, 2], "X": [[1.0], [2.0]], "gamma": 0.5, "cost": 0.1}
    with pytest.raises(kind, match=message):
        function([1, 0], **(arguments | options))


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (None, {}, "y must be given where pair_labels are not, got None"),
        (None, {"pair_labels": [1]}, "pairs must be given with pair_labels"),
        (
            [1, 0],
            {"pairs": [(0, 1)], "pair_labels": [1]},
            "y must be None where pair_labels are given",
        ),
        (
            None,
            {"pairs": [(0, 1)], "pair_labels": [1, -1]},
            "pair_labels must have one value per pair: 1 pairs, pair_labels has 2",
        ),
        *(
            (
                None,
                {"pairs": [(0, 1)], "pair_labels": [label]},
                rf"pair_labels must be -1 .* or 1 .*, got {label!r}\. Leave tied pairs",
            )
            for label in (0, 2, 0.5, float("nan"), True, "left", None)
        ),
    ],
)
def test_labels_of_pairs_are_checked(y, options, message):
    with pytest.raises(ValueError, match=message):
        pairwise_misranking_loss(y, [1, 2], **options)
    with pytest.raises(ValueError, match=message):
        pairwise_abstention_loss(y, [1, 2], [[1], [2]], gamma=0, cost=0, **options)


def test_bipartite_labels_are_binary():
    y, s = [0, 1, 2], [1, 2, 3]
    with pytest.raises(ValueError, match="y must be binary, at most two different"):
        bipartite_misranking_loss(y, s)
    with pytest.raises(
        ValueError, match=r"different values, got \[0.0, 1.0, 2.0, 3.0, 4.0\]"
    ):
        bipartite_abstention_loss(range(5), range(5), np.eye(5), gamma=0, cost=0)


NAMES = {
    "hinge": Hinge(),
    "exponential": Exponential(),
    "sigmoid": Sigmoid(),
    "logistic": Logistic(),
}
FUNCTIONS = {True: pairwise_surrogate_loss, False: bipartite_surrogate_loss}


@st.composite
def scored_problems(draw):
    """Relevance, scores, query identifiers with a pair, features, and a setting."""
    s = draw(scores(min_size=3))
    general = draw(st.booleans())
    y = draw(grades(s.size))
    qid = draw(qids(s.size).filter(lambda q: len(set(q)) < s.size))
    X = np.stack([draw(scores(s.size)), draw(scores(s.size))], axis=1)
    return (y if general else y % 2), s, qid, X, general


def surrogate_by_hand(phi, y, s, qid, general, ordered=None, far=None, cost=0.0):
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
@given(problem=scored_problems())
def test_mean_over_ordered_pairs(name, problem):
    y, s, qid, _, general = problem
    loss, gradient = FUNCTIONS[general](y, s, qid=qid, surrogate=name)
    assert loss == pytest.approx(
        surrogate_by_hand(NAMES[name], y, s, qid, general), rel=1e-9
    )
    assert gradient.shape == s.shape
    # Adding a constant to all scores of a query changes nothing.
    assert gradient.sum() == pytest.approx(0, abs=1e-9 * (1 + abs(gradient).max()))


@pytest.mark.parametrize("name", ["exponential", "sigmoid", "logistic"])
@given(problem=scored_problems(), gamma=st.sampled_from([None, 0.5, 1.0]))
def test_gradients_are_slopes(name, problem, gamma):
    y, s, qid, X, general = problem
    options = {"surrogate": name}
    if gamma is not None:
        options |= {"X": X, "gamma": gamma, "cost": 0.2}
    _, gradient = FUNCTIONS[general](y, s, qid=qid, **options)
    for item in range(s.size):
        step = np.zeros(s.size)
        step[item] = 1e-5
        up, _ = FUNCTIONS[general](y, s + step, qid=qid, **options)
        down, _ = FUNCTIONS[general](y, s - step, qid=qid, **options)
        slope = (up - down) / 2e-5
        assert gradient[item] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@given(problem=scored_problems())
def test_hinge_gradient_away_from_kinks(problem):
    y, s, qid, _, general = problem
    s = s + np.arange(s.size) / 97  # no difference is 1, nor can steps make it so
    _, gradient = FUNCTIONS[general](y, s, qid=qid, surrogate="hinge")
    direction = np.cos(np.arange(s.size))
    up, _ = FUNCTIONS[general](y, s + 1e-6 * direction, qid=qid, surrogate="hinge")
    down, _ = FUNCTIONS[general](y, s - 1e-6 * direction, qid=qid, surrogate="hinge")
    assert gradient @ direction == pytest.approx((up - down) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
@given(problem=scored_problems(), data=st.data())
def test_chosen_pairs_and_abstention(name, problem, data):
    y, s, qid, X, general = problem
    ordered = [p for p in permutations(range(s.size), 2) if qid[p[0]] == qid[p[1]]]
    some = data.draw(st.lists(st.sampled_from(ordered), min_size=1, max_size=9))
    for pairs in (None, some):
        loss, _ = FUNCTIONS[general](
            y, s, qid=qid, surrogate=name, X=X, gamma=1, cost=0.3, norm=1, pairs=pairs
        )
        expected = surrogate_by_hand(
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
@given(problem=scored_problems(), data=st.data(), gamma=st.sampled_from([None, 1]))
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
        None, s, qid=qid, pair_labels=labels, **options
    )
    assert found == pytest.approx(total / len(some), rel=1e-9)
    np.testing.assert_allclose(gradient, slope / len(some), rtol=1e-9, atol=1e-12)
    of_relevance = [1 if y[i] > y[j] else -1 for i, j in some]
    found = pairwise_surrogate_loss(
        None, s, qid=qid, pair_labels=of_relevance, **options
    )
    expected = pairwise_surrogate_loss(y, s, qid=qid, **options)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@given(problem=scored_problems(), cost=st.floats(0, 1))
def test_hinge_and_exponential_are_above_misranking(problem, cost):
    y, s, qid, X, general = problem
    target = pairwise_abstention_loss if general else bipartite_abstention_loss
    misranking = target(y, s, X, qid, gamma=0.5, cost=cost)
    for name in ("hinge", "exponential"):
        loss, _ = FUNCTIONS[general](
            y, s, qid=qid, surrogate=name, X=X, gamma=0.5, cost=cost
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
        yield pairwise_surrogate_loss(y, s, qid=qid, **options)
        labelled = {"pairs": pairs, "pair_labels": labels}
        yield pairwise_surrogate_loss(None, s, qid=qid, **options, **labelled)

    whole = list(losses())
    monkeypatch.setattr(_queries, "_AT_A_TIME", 7)
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
def test_checks_of_surrogates(function):
    with pytest.raises(ValueError, match="scores must have one value per item"):
        function([1, 0], [1.0])
    with pytest.raises(ValueError, match="y must have at least one pair"):
        function([1, 0], [1.0, 2.0], qid=["a", "b"])
    with pytest.raises(ValueError, match=r"must be given together, .* got gamma=1, co"):
        function([1, 0], [1.0, 2.0], gamma=1)
    with pytest.raises(ValueError, match=r"gamma must be in \[0, inf\]"):
        function([1, 0], [1.0, 2.0], gamma=-1, X=[[1], [2]], cost=0.1)
    with pytest.raises(ValueError, match=r"together, .* gamma=1, cost=None and X"):
        function([1, 0], [1.0, 2.0], gamma=1, X=[[1], [2]])
    with pytest.raises(ValueError, match=r"cost must be in \[0, 1\], got 2"):
        function([1, 0], [1.0, 2.0], gamma=1, X=[[1], [2]], cost=2)
    with pytest.raises(ValueError, match="pairs must name two different rows"):
        function([1, 0], [1.0, 2.0], pairs=[(1, 1)])


def test_labels_of_pairs_of_surrogates_are_checked():
    with pytest.raises(ValueError, match="y must be given where pair_labels are not"):
        pairwise_surrogate_loss(None, [1.0, 2.0], pairs=[(0, 1)])
    with pytest.raises(ValueError, match=r"pair_labels must be -1 .* got 0"):
        pairwise_surrogate_loss(None, [1.0, 2.0], pairs=[(0, 1)], pair_labels=[0])


def test_bipartite_labels_of_surrogates_are_binary():
    with pytest.raises(ValueError, match=r"y must be binary, .* got \[0.0, 1.0, 2"):
        bipartite_surrogate_loss([0, 1, 2], [1.0, 2.0, 3.0])
