"""Questions and fragility, against definitions pair by pair."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from leaderboard.boards import draw
from scipy.stats import norm

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.leaderboard._evidence import (
    _in_turn,
    _influence,
    _successor,
    choose_pairs,
    information_of,
    variance_of_differences,
)
from skrank_abstain.leaderboard._fit import VOTE_MODELS

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


@pytest.mark.parametrize("leader", [None, 0])
def test_pairs_are_those_of_the_definition_each_given_those_before(leader):
    posterior = posterior_covariance()
    variance = variance_of_differences(posterior, posterior_covariance(1))
    information = information_of(THETA, VOTE_MODELS["rao_kupper"], 0.3)
    left, right, value = choose_pairs(
        THETA, posterior, variance, information, n=6, per_pair=2, leader=leader
    )
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
    variance = variance_of_differences(posterior)
    information = information_of(THETA, VOTE_MODELS["davidson"], 0.3)
    options = {"per_pair": 3, "leader": None}
    left, right, _ = choose_pairs(
        THETA, posterior, variance, information, n=100, **options
    )
    assert left.size == 3 * N * (N - 1) // 2
    assert (left < right).all()


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
