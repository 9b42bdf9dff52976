"""Misranking with and without abstention: the definitions, pair by pair."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from distance.named import (
    bipartite_abstention_loss,
    bipartite_misranking_loss,
    pairwise_abstention_loss,
    pairwise_misranking_loss,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from strategies import grades, qids, scores

from skrank_abstain.distance import (
    pair_feature_distances,
)
from skrank_abstain.distance._pairs import OrderedPairs

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
        assert function(labels, s, qid) == pytest.approx(expected, abs=1e-12)
        assert function(labels, s, qid, pairs=every) == pytest.approx(expected)
        expected = by_hand(loss, labels, s, some)
        assert function(labels, s, qid, pairs=some) == pytest.approx(expected)


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
            return pairwise_misranking_loss(arguments, s, qid, **options)
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


def test_drawn_pairs():
    rng = np.random.default_rng(3)
    y, s, X = rng.integers(0, 3, 60), rng.normal(size=60), rng.normal(size=(60, 2))
    qid = rng.integers(0, 5, 60)
    options = {"gamma": 0.5, "cost": 0.2}
    exact = pairwise_abstention_loss(y, s, X, qid, **options)
    drawn = [
        pairwise_abstention_loss(
            y, s, X, qid, **options, n_pairs=40_000, random_state=seed
        )
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == pytest.approx(exact, abs=4 * 0.5 / 200)
    exact = pairwise_misranking_loss(y, s, qid)
    found = pairwise_misranking_loss(y, s, qid, n_pairs=40_000, random_state=0)
    assert found == pytest.approx(exact, abs=4 * 0.5 / 200)


def test_every_ordered_pair_is_drawn_equally_often():
    qid = ["a", "b", "a", "b", "b", "c", "a", "a"]
    drawn = OrderedPairs.of(8, qid, None, n_pairs=18_000, random_state=0)
    rows, counts = np.unique(np.array(drawn.chosen).T, axis=0, return_counts=True)
    assert sorted(map(tuple, rows.tolist())) == sorted(ordered_pairs(qid))
    assert chisquare(counts).pvalue > 0.001


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
    with pytest.warns(UndefinedMetricWarning, match="misranking loss is undef") as log:
        assert np.isnan(function([1, 0], [1, 2], ["a", "b"]))
    assert log[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(function([1, 0], [1, 2], pairs=[]))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(function([1], [1], n_pairs=3, random_state=0))


@pytest.mark.parametrize("function", MISRANKING)
def test_no_pair_is_undefined_with_abstention_too(function):
    with pytest.warns(UndefinedMetricWarning, match="misranking loss is undef") as log:
        assert np.isnan(function([1], [1], X=[[1]], gamma=1, cost=0.1))
    assert log[0].filename == __file__
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
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 1, got 0"),
        ({"n_pairs": 2, "pairs": [(0, 1)]}, ValueError, "n_pairs must be None where"),
        ({"pairs": [(0, 3)]}, ValueError, "pairs must name rows from 0 to 1"),
        ({"X": [[1.0], [np.nan]]}, ValueError, "Input X contains NaN"),
        ({"X": [[1.0]]}, ValueError, "X must have one row per item: y has 2 values, X"),
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
            {"pairs": [(0, 1)], "pair_labels": [1], "n_pairs": 2},
            "n_pairs must be None where pairs are given",
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
    with pytest.raises(ValueError, match=r"got 5: \[0.0, 1.0, 2.0, 3.0\] \.\.\."):
        bipartite_abstention_loss(range(5), range(5), np.eye(5), gamma=0, cost=0)
