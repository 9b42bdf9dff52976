"""What is believed after answers, against the sum over all grades of all items."""

import itertools

import numpy as np
import pytest
from review.enumerated import enumerate_posterior, random_answers, random_prior

from skrank_abstain.review._posterior import GradePrior, Posterior

FORESTS = [
    [],
    [(1, 3)],
    [(0, 1), (1, 2), (1, 4)],
    [(0, 3), (1, 2), (3, 4)],
    [(0, 4), (1, 4), (2, 4), (3, 4)],
    [(0, 1), (1, 2), (2, 3), (3, 4)],
]
LOOPS = [
    [(0, 1), (0, 2), (1, 2)],
    [(0, 1), (0, 3), (1, 2), (2, 3)],
    [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 4)],
    list(itertools.combinations(range(5), 2)),
]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("n_grades", [1, 2, 4])
@pytest.mark.parametrize("pairs", FORESTS, ids=str)
def test_forests_are_exact(pairs, n_grades, merged):
    rng = np.random.default_rng(len(pairs))
    prior = random_prior(rng, 5, n_grades=n_grades, merged=merged)
    answers = random_answers(rng, pairs)
    posterior = Posterior.of(prior, *answers)
    proba, grade, weight = enumerate_posterior(prior, *answers)
    np.testing.assert_allclose(posterior.pair_proba, proba, rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.grade_proba, grade, rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.beliefs.weight, weight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pairs", FORESTS + LOOPS, ids=str)
def test_answered_pairs_are_among_all_pairs(pairs):
    rng = np.random.default_rng(7)
    prior = random_prior(rng, 5, merged=True)
    left, right, likelihood = random_answers(rng, pairs)
    posterior = Posterior.of(prior, left, right, likelihood)
    place = {pair: k for k, pair in enumerate(itertools.combinations(range(5), 2))}
    at = [place[pair] for pair in zip(left.tolist(), right.tolist(), strict=True)]
    np.testing.assert_allclose(
        posterior.answered_proba, posterior.pair_proba[at], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("least", [0.05, 1e-9])
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("pairs", LOOPS, ids=str)
def test_loops_that_can_be_cut_are_exact(pairs, merged, least):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        prior = random_prior(rng, 5, merged=merged)
        answers = random_answers(rng, pairs, least)
        posterior = Posterior.of(prior, *answers)
        proba, grade, weight = enumerate_posterior(prior, *answers)
        np.testing.assert_allclose(posterior.pair_proba, proba, rtol=0, atol=1e-12)
        np.testing.assert_allclose(posterior.grade_proba, grade, rtol=0, atol=1e-12)
        found = posterior.beliefs.weight.reshape(prior.weight.size, -1).sum(axis=1)
        np.testing.assert_allclose(found, weight, rtol=0, atol=1e-12)


def test_contradictions_in_a_small_component_are_exact():
    # Six items, five grades, an answer about every pair, drawn at random.
    pairs = list(itertools.combinations(range(6), 2))
    rng = np.random.default_rng(0)
    prior = random_prior(rng, 6, n_grades=5, n_nodes=7)
    left, right, _ = random_answers(rng, pairs)
    likelihood = np.full((left.size, 3), 0.01)
    likelihood[np.arange(left.size), rng.integers(0, 3, left.size)] = 0.98
    proba = enumerate_posterior(prior, left, right, likelihood)[0]
    found = Posterior.of(prior, left, right, likelihood).pair_proba
    np.testing.assert_allclose(found, proba, rtol=0, atol=1e-12)


def test_more_loops_than_can_be_cut_are_close(monkeypatch):
    monkeypatch.setattr("skrank_abstain.review._posterior._MOST_NODES", 20)
    monkeypatch.setattr("skrank_abstain.review._posterior._MOST_NODES_IN_LOOPS", 10)
    far, wrong = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prior = random_prior(rng, 5)
        answers = random_answers(rng, LOOPS[-1])
        proba, grade, _ = enumerate_posterior(prior, *answers)
        posterior = Posterior.of(prior, *answers)
        found = posterior.pair_proba
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
        far.append(np.abs(found - proba).mean())
        wrong.append(np.abs(posterior.grade_proba - grade).mean())
    assert 0 < np.mean(far) < 0.02
    assert np.mean(wrong) < 0.01


def test_a_query_without_answers_is_as_independent_given_the_node():
    prior = random_prior(np.random.default_rng(0), 4)
    posterior = Posterior.of(prior)
    grade = np.einsum("h,hik->ik", prior.weight, prior.grade)
    np.testing.assert_allclose(posterior.grade_proba, grade, rtol=0, atol=1e-15)
    tie = np.einsum("h,hk,hk->", prior.weight, prior.grade[:, 0], prior.grade[:, 1])
    assert posterior.pair_proba[0, 1] == pytest.approx(tie, abs=1e-15)


def test_an_answer_about_one_pair_tells_about_the_others():
    # Two grades: to be over an item is to be of the higher one.
    prior = GradePrior(np.full((1, 3, 2), 0.5), np.ones(1), np.ones(2))
    pair = np.array([0]), np.array([1])
    posterior = Posterior.of(prior, *pair, np.array([[1e-9, 1e-9, 1.0]]))
    expected = [[0, 0, 1], [0, 0.5, 0.5], [0.5, 0.5, 0]]
    np.testing.assert_allclose(posterior.pair_proba, expected, rtol=0, atol=1e-8)


def test_hundreds_of_contradictory_answers_stay_finite():
    rng = np.random.default_rng(3)
    n = 25  # 300 answers: no float is as small as their chance
    prior = random_prior(rng, n)
    left, right = np.triu_indices(n, 1)
    likelihood = 1e-12 ** rng.integers(0, 20, (left.size, 3))
    proba = Posterior.of(prior, left, right, likelihood).pair_proba
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1])
def test_queries_without_pairs(n):
    prior = GradePrior(np.full((2, n, 3), 1 / 3), np.full(2, 0.5), np.ones(3))
    posterior = Posterior.of(prior)
    assert posterior.pair_proba.shape == (0, 3)
    assert posterior.grade_proba.shape == (n, 3)
