"""Questions and fragility, against definitions pair by pair."""

import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from leaderboard.boards import draw
from scipy.stats import norm
from scipy.stats import t as student

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.leaderboard._evidence import (
    ScoreEvidence,
    _in_turn,
    _influence,
    _successor,
    choose_pairs,
    information_of,
    variance_of_differences,
)
from skrank_abstain.leaderboard._fit import VOTE_MODELS
from skrank_abstain.leaderboard._orders import Alone, Comparisons, Mixture

N = 5
THETA = np.array([1.0, 0.9, 0.2, 0, -0.5])
LETTERS = np.array(list("ABCDE"))


def posterior_covariance(seed=0):
    root = np.random.default_rng(seed).normal(size=(N, N))
    centre = np.eye(N) - 1 / N
    return centre @ root @ root.T @ centre / 9


def side(i, j):
    return np.eye(N)[i] - np.eye(N)[j]


def after(covariance, i, j, information):
    """Return the covariance after one more vote, by its inverse."""
    d = side(i, j)
    # The centred covariance has no inverse; what is added cancels in differences.
    full = covariance + 1.0
    return np.linalg.inv(np.linalg.inv(full) + information[i, j] * np.outer(d, d))


def slow_gain(posterior, variance, information, i, j, leader=None):
    """Return by how much a vote lowers the variances, by their worth."""
    later, total = after(posterior, i, j, information), 0.0
    for k, m in combinations(range(N), 2):
        if leader is not None and leader not in (k, m):
            continue
        e, now = side(k, m), variance[k, m]
        t = abs(THETA[k] - THETA[m]) / np.sqrt(now)
        worth = norm.pdf(t) * max(t, 0.3) / (2 * now)
        total += worth * (e @ (posterior - later) @ e)
    return total


def evidence_of(posterior, *covariances, ties="rao_kupper", decided=()):
    """Return what the choice of pairs reads; item 0 leads."""
    left, right = np.triu_indices(N, 1)
    accepted = np.isin(left, decided) | np.isin(right, decided)
    difference, pvalue = THETA[left] - THETA[right], 1.0 - accepted
    return SimpleNamespace(
        theta=THETA,
        place=1 + np.arange(N),
        posterior=lambda: posterior,
        covariances=covariances or (posterior,),
        model=VOTE_MODELS[ties],
        fitted=SimpleNamespace(tau=0.3),
        comparisons=Comparisons(left, right, difference, pvalue, accepted),
    )


@pytest.mark.parametrize("top", [False, True])
def test_pairs_are_those_of_the_definition_each_given_those_before(top):
    posterior, other = posterior_covariance(), posterior_covariance(1)
    variance = variance_of_differences(posterior, other)
    information = information_of(THETA, VOTE_MODELS["rao_kupper"], 0.3)
    evidence = evidence_of(posterior, other)
    left, right, value = choose_pairs(evidence, 6, 2, top=top)
    leader = 0 if top else None
    times = dict.fromkeys(combinations(range(N), 2), 0)
    for chosen, found in zip(zip(left, right, strict=True), value, strict=True):
        gains = {
            pair: slow_gain(posterior, variance, information, *pair, leader)
            for pair, asked in times.items()
            if asked < 2
        }
        best = max(gains, key=gains.get)
        assert chosen == best
        assert found == pytest.approx(gains[best])
        times[best] += 1
        posterior = after(posterior, *best, information) - 1.0


def test_no_pair_is_asked_for_more_often_than_said():
    posterior = posterior_covariance()
    evidence = evidence_of(posterior, ties="davidson")
    left, right, _ = choose_pairs(evidence, 100, 3, top=False)
    assert left.size == 3 * N * (N - 1) // 2
    assert (left < right).all()
    evidence = evidence_of(posterior, ties="davidson", decided=[0])  # whoever leads
    left, right, _ = choose_pairs(evidence, 100, 3, top=False)
    assert left.size == 3 * (N - 1) * (N - 2) // 2
    assert left.min() == 1
    left, right, _ = choose_pairs(evidence, 100, 3, top=True)
    assert left.size == 0


@pytest.mark.parametrize("ties", VOTE_MODELS)
def test_information_is_the_expected_curvature(ties):
    model = VOTE_MODELS[ties]
    found = information_of(THETA, model, 0.4)
    eta = THETA[0] - THETA[2]
    proba = model.proba(np.array([eta]), 0.4)
    curvature = model.expand(np.array([eta]), 0.4, proba).curvature[0]
    assert found[0, 2] == pytest.approx(curvature)
    np.testing.assert_allclose(found, found.T)


def test_the_larger_variance_of_a_difference_counts():
    one, two = posterior_covariance(0), posterior_covariance(1)
    found = variance_of_differences(one, two)
    for i, j in combinations(range(N), 2):
        d = side(i, j)
        assert found[i, j] == pytest.approx(max(d @ one @ d, d @ two @ d))


def board_of(strengths, n_votes, *, ties="rao_kupper", covariates=(), **options):
    left, right, label, z = draw(strengths, n_votes, **options)
    votes = {"left": LETTERS[left], "right": LETTERS[right], "z": z}
    votes["label"] = np.array(["right", "tie", "left"])[label + 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # items that won every time
        return Leaderboard(ties=ties).fit(votes, covariates=covariates), votes


@pytest.mark.parametrize("ties", ["rao_kupper", "davidson"])
@pytest.mark.parametrize("covariates", [(), ("z",)])
def test_influence_is_what_a_lead_loses_with_a_bit_of_a_vote(ties, covariates):
    board, votes = board_of(
        [0.5, 0, -1], 40, ties=ties, covariates=covariates, effect=0.5
    )
    evidence = board._evidence
    found = _influence(evidence, evidence.inverse_information(), 0, 1)
    step = 1e-4
    for row in (0, 7, 23):
        leads = []
        for change in (-step, step):
            weight = np.ones(40)
            weight[row] += change
            other = Leaderboard(ties=ties).fit(
                votes | {"weight": weight}, covariates=covariates
            )
            leads.append(other.strengths_[0] - other.strengths_[1])
        assert found[row] == pytest.approx((leads[1] - leads[0]) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_lead_is_lost_with_the_last_of_the_votes_and_not_before(seed):
    # Leads so large that the first order is far from the truth.
    board, _ = board_of([2.5, 1.5, 0, -1], 60, seed=seed)
    evidence, found = board._evidence, board.fragility()
    leader = int(evidence.theta.argmax())
    inverse = evidence.inverse_information()
    for other in np.argsort(-evidence.theta)[1:]:
        influence = _influence(evidence, inverse, leader, other)
        lead = evidence.theta[leader] - evidence.theta[other]
        order, _ = _in_turn(influence, lead)
        if np.array_equal(np.sort(order[: found.rows.size]), found.rows):
            break
    else:
        raise AssertionError("the votes are not the first of any order")
    assert _successor(evidence, leader, order[: found.rows.size]) is not None
    assert _successor(evidence, leader, order[: found.rows.size - 1]) is None
    assert found.leader == board.items_[leader]


def test_votes_go_by_their_influence_until_they_make_up_the_lead():
    influence = np.array([0.1, 0.5, -0.2, 0.3, 0.0])
    order, enough = _in_turn(influence, 0.7)
    assert order.tolist() == [1, 3, 0]
    assert enough == 2
    assert _in_turn(influence, 9.0)[1] == 3  # all there are


def of_scores(scores, *, confidence=0.95, looks="once"):
    theta = np.nanmean(scores, axis=0)
    options = (confidence, "familywise", looks, 0)
    return ScoreEvidence(*options, theta=theta, scores=scores)


SCORES = np.random.default_rng(0).normal(size=(12, 4)) + np.arange(4) / 3


def test_scores_at_every_look_are_held_against_the_mixture_too():
    once, every = of_scores(SCORES), of_scores(SCORES, looks="any")
    assert [type(test) for test in once.tests] == [type(t) for t in every.tests[:3]]
    mixture = every.tests[3]
    assert isinstance(mixture, Mixture)
    left, right = np.triu_indices(4, 1)
    apart = SCORES[:, left] - SCORES[:, right]
    ratio = np.sqrt(12) * np.abs(apart.mean(axis=0)) / apart.std(axis=0)
    np.testing.assert_allclose(mixture.size, ratio)
    np.testing.assert_allclose(mixture.information, 0.03 * 12)
    pvalue = np.maximum(once.comparisons.pvalue, mixture.pvalues("familywise"))
    np.testing.assert_allclose(every.comparisons.pvalue, pvalue)
    # The means of the metric decide the sign, where every query agrees with them.
    turned = of_scores(SCORES)
    object.__setattr__(turned, "theta", -once.theta)
    assert (turned.comparisons.pvalue == 1).all()
    assert (once.comparisons.pvalue < 1).any()


def test_an_order_is_sure_by_all_tests_up_to_the_level():
    evidence = of_scores(SCORES)
    one, two = np.array([3.0, 1.0, 2.0, 3, 3, 3]), np.array([1.96, 3.0, 2.0, 3, 3, 9])
    vars(evidence)["tests"] = [Alone(one), Alone(two)]
    found = evidence.comparisons
    smaller = np.minimum(one, two)
    np.testing.assert_allclose(found.pvalue, 2 * norm.sf(smaller))
    np.testing.assert_array_equal(found.accepted, smaller > norm.isf(0.025))
    left, right = np.triu_indices(4, 1)
    theta = evidence.theta
    np.testing.assert_allclose(found.difference, theta[left] - theta[right])


def test_growth_is_that_of_the_test_that_needs_most_and_never_below_one():
    evidence = of_scores(SCORES)
    pvalue = np.array([0.01, 0.2, 0.2, 0.2, 0.01, 0.2])
    left, right = np.triu_indices(4, 1)
    vars(evidence)["comparisons"] = Comparisons(
        left, right, np.ones(6), pvalue, pvalue < 0.05
    )

    class Fixed:
        def __init__(self, values):
            self.values = np.array(values)

        def growth(self, rows, still_open, alpha):
            assert still_open.tolist() == [1, 2, 3, 5]
            assert alpha == pytest.approx(0.05)
            return self.values[rows]

    vars(evidence)["tests"] = [
        Fixed([9, 2, 0.5, 7, 9, 0.2]),
        Fixed([9, 4, 0.7, 3, 9, 0.1]),
    ]
    assert evidence.growth(np.arange(6)).tolist() == [1, 4, 1, 7, 1, 1]
    assert evidence.growth(np.array([3, 0])).tolist() == [7, 1]
    assert evidence.growth(np.array([0, 4])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("n_items", "n_queries", "confidence", "n"),
    [
        (3, 10, 0.95, 50_000),  # the most
        (40, 201, 0.95, int(2e7 / (780 + 4 * 200))),
        (200, 30, 0.95, 2000),  # the least
        (200, 30, 0.999, 5000),  # five in the tail
    ],
)
def test_draws_are_as_many_as_are_cheap(n_items, n_queries, confidence, n):
    assert of_scores(np.zeros((n_queries, n_items)), confidence=confidence).n_draws == n


@pytest.mark.parametrize(
    ("votes", "provisional"),
    [
        ([9, 30, 40, 50], [True, False, False, False]),
        ([10, 30, 40, 50], [False] * 4),
        # Of few votes half the median.
        ([3, 8, 8, 9], [True, False, False, False]),
        ([4, 8, 8, 9], [False] * 4),
    ],
)
def test_items_with_fewer_votes_than_ten_or_half_the_median_are_provisional(
    votes, provisional
):
    scores = np.full((50, 4), np.nan)
    for k, n in enumerate(votes):
        scores[:n, k] = 0.0
    assert of_scores(scores).provisional.tolist() == provisional


def test_provisional_items_stand_behind_all_that_they_do_not_surely_beat():
    theta = np.array([5.0, 3.0, 2.0, 1.0])
    left, right = np.triu_indices(4, 1)
    late = np.array([True, False, False, False])

    class Late(ScoreEvidence):
        provisional = late

    evidence = Late(*("", "", "", 0), theta=theta, scores=np.zeros((3, 4)))
    for sure in ([], [(0, 3)], [(0, 2)], [(0, 1), (0, 2), (0, 3)], [(1, 2), (2, 3)]):
        accepted = np.array([pair in sure for pair in zip(left, right, strict=True)])
        vars(evidence).pop("place", None)
        vars(evidence)["comparisons"] = Comparisons(
            left, right, theta[left] - theta[right], np.ones(6), accepted
        )
        assert evidence.place.tolist() == slow_places(theta, late, sure)


def slow_places(theta, late, sure):
    """Take the strongest of those that none left surely beats, late ones last."""
    left_over, place = [*range(theta.size)], [0] * theta.size
    for number in range(1, theta.size + 1):
        free = [
            k for k in left_over if not any((j, k) in sure for j in left_over if j != k)
        ]
        item = min(free, key=lambda k: (late[k], -theta[k]))
        place[item] = number
        left_over.remove(item)
    return place


def test_words_of_a_promise():
    options = (0.9, "familywise", "once", 0)
    rest = {"theta": np.zeros(2), "scores": np.zeros((3, 2))}
    text = "all places hold at once with probability 0.9, at one look"
    assert ScoreEvidence(*options, **rest).promise == text
    every = ScoreEvidence(0.9, "familywise", "any", 0, **rest).promise
    assert every == text.replace("one look", "every look")
    assert ScoreEvidence(0.9, "fdr", "once", 0, **rest).promise == (
        "of the orders called sure a share of 0.1 at most is expected to be false"
    )


@pytest.mark.parametrize("missing", [False, True])
def test_covariances_of_scores_are_those_of_means_on_common_queries(missing):
    scores = SCORES.copy()
    if missing:
        scores[:5, 0] = scores[9:, 1] = np.nan
    evidence = of_scores(scores)
    found, same = evidence.covariances
    assert found is same
    rest = scores - evidence.theta
    for i in range(4):
        for j in range(4):
            both = np.isfinite(rest[:, i]) & np.isfinite(rest[:, j])
            n, number = both.sum(), np.isfinite(rest).sum(axis=0)
            product = rest[both, i] @ rest[both, j] * n / (n - 1)
            assert found[i, j] == pytest.approx(product / number[i] / number[j])
    number = np.isfinite(scores).sum(axis=0)
    np.testing.assert_array_equal(evidence.n_votes, number)
    half = student.ppf(0.975, number - 1) * np.sqrt(np.diag(found))
    low, high = evidence.intervals.T
    np.testing.assert_allclose(low, evidence.theta - half)
    np.testing.assert_allclose(high, evidence.theta + half)
