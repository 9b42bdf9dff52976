"""Which comparison to ask for, against the definition pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from skrank_abstain.leaderboard._asking import (
    choose_pairs,
    information_of,
    variance_of_differences,
)
from skrank_abstain.leaderboard._ties import VOTE_MODELS

N = 5
THETA = np.array([1.0, 0.9, 0.2, 0, -0.5])


def some_covariance(seed=0):
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
    posterior = some_covariance()
    variance = variance_of_differences(posterior, some_covariance(1))
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
    posterior = some_covariance()
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
    one, two = some_covariance(0), some_covariance(1)
    found = variance_of_differences(one, two)
    for i, j in combinations(range(N), 2):
        d = side(i, j)
        assert found[i, j] == pytest.approx(max(d @ one @ d, d @ two @ d))
