"""Probabilities and derivatives of the two models against their definitions."""

import numpy as np
import pytest
from leaderboard.boards import log_probability

from skrank_abstain.leaderboard._ties import VOTE_MODELS

ETA = np.array([-3.0, -0.4, 0.0, 0.7, 5.0])
TAUS = [("rao_kupper", 0.3), ("davidson", -0.5), ("davidson", 0.8)]
STEP = 1e-5


@pytest.mark.parametrize(("ties", "tau"), TAUS)
def test_probabilities_are_those_of_the_definition(ties, tau):
    proba = VOTE_MODELS[ties].proba(ETA, tau)
    expected = [
        [np.exp(log_probability(ties, eta, tau, label)) for label in (-1, 0, 1)]
        for eta in ETA
    ]
    np.testing.assert_allclose(proba, expected, rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize(("ties", "tau"), TAUS)
def test_scores_are_derivatives(ties, tau):
    model = VOTE_MODELS[ties]

    def slope(up, down):
        return (np.log(up) - np.log(down)) / (2 * STEP)

    in_eta, in_tau = model.scores(ETA, tau)
    proba = model.proba
    expected = slope(proba(ETA + STEP, tau), proba(ETA - STEP, tau))
    np.testing.assert_allclose(in_eta, expected, atol=1e-7)
    expected = slope(proba(ETA, tau + STEP), proba(ETA, tau - STEP))
    np.testing.assert_allclose(in_tau, expected, atol=1e-7)


@pytest.mark.parametrize(("ties", "tau"), TAUS)
def test_the_expansion_is_that_of_the_sum_over_votes(ties, tau):
    model = VOTE_MODELS[ties]
    counts = np.random.default_rng(0).integers(0, 9, size=(ETA.size, 3)).astype(float)
    found = model.expand(ETA, tau, counts)
    value = sum(
        count * log_probability(ties, eta, tau, label)
        for eta, row in zip(ETA, counts, strict=True)
        for label, count in zip((-1, 0, 1), row, strict=True)
    )
    assert found.value == pytest.approx(value)
    in_eta, in_tau = model.scores(ETA, tau)
    np.testing.assert_allclose(found.score, (counts * in_eta).sum(axis=1))
    assert found.tau_score == pytest.approx((counts * in_tau).sum())
    up, down = (
        model.expand(ETA + STEP, tau, counts),
        model.expand(ETA - STEP, tau, counts),
    )
    np.testing.assert_allclose(
        found.curvature, (down.score - up.score) / (2 * STEP), atol=1e-6
    )
    up, down = (model.expand(ETA, tau + s, counts) for s in (STEP, -STEP))
    np.testing.assert_allclose(
        found.cross, (down.score - up.score) / (2 * STEP), atol=1e-6
    )
    assert found.tau_curvature == pytest.approx(
        (down.tau_score - up.tau_score) / (2 * STEP), rel=1e-6
    )


@pytest.mark.parametrize("ties", VOTE_MODELS)
def test_equals_tie_with_the_probability_that_the_start_is_made_for(ties):
    model = VOTE_MODELS[ties]
    proba = model.proba(np.zeros(1), model.start(0.3))
    np.testing.assert_allclose(proba, [[0.35, 0.3, 0.35]])


@pytest.mark.parametrize("ties", VOTE_MODELS)
def test_without_ties_both_are_the_logistic_model(ties):
    model = VOTE_MODELS[ties]
    left = 1 / (1 + np.exp(-ETA))
    proba = model.proba(ETA, model.no_ties)
    np.testing.assert_allclose(proba, np.stack([1 - left, 0 * left, left], axis=1))
    counts = np.tile([2.0, 0.0, 1.0], (ETA.size, 1))
    found = model.expand(ETA, model.no_ties, counts)
    np.testing.assert_allclose(found.score, 1 - 3 * left)
    np.testing.assert_allclose(found.curvature, 3 * left * (1 - left))
