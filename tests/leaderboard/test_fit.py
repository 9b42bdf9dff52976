"""Strengths against a general optimiser, on a likelihood written vote by vote."""

import numpy as np
import pytest
from leaderboard.boards import draw, log_probability
from scipy.optimize import minimize

from skrank_abstain.leaderboard import _fit
from skrank_abstain.leaderboard._fit import count_votes, fit_strengths
from skrank_abstain.leaderboard._ties import VOTE_MODELS


def counted(left, right, label, n_items, *, weight=None, z=None):
    n = len(left)
    weight = np.ones(n) if weight is None else weight
    z = np.zeros((n, 0)) if z is None else z
    return count_votes(left, right, label, weight, z, n_items)


def slow_fit(ties, left, right, label, n_items, *, weight, z, prior):
    """Minimise the definition by a method that knows no structure."""
    k, tied = z.shape[1], bool((label == 0).any())
    none = VOTE_MODELS[ties].no_ties

    def loss(x):
        theta, beta = x[:n_items], x[n_items : n_items + k]
        tau = none
        if tied:
            # Rao and Kupper's parameter is positive.
            tau = np.exp(x[-1]) if ties == "rao_kupper" else x[-1]
        total = -prior / 2 * theta @ theta
        for i, j, o, w, row in zip(left, right, label, weight, z, strict=True):
            eta = theta[i] - theta[j] + row @ beta
            total += w * log_probability(ties, eta, tau, o)
        if tied:
            total += log_probability(ties, 0.0, tau, 1)
        return -total

    x = minimize(loss, np.zeros(n_items + k + tied), options={"gtol": 1e-6}).x
    tau = none
    if tied:
        tau = np.exp(x[-1]) if ties == "rao_kupper" else x[-1]
    return x[:n_items], x[n_items : n_items + k], tau


@pytest.mark.parametrize("ties", VOTE_MODELS)
@pytest.mark.parametrize("half_width", [0.0, 0.4])
@pytest.mark.parametrize("n_covariates", [0, 1])
def test_strengths_are_those_of_a_general_optimiser(ties, half_width, n_covariates):
    left, right, label, z = draw([0, 1, -1, 0.5], 60, ties=half_width, effect=0.7)
    z = z[:, None][:, :n_covariates]
    weight = np.random.default_rng(1).uniform(0.2, 2, size=60)
    counts = counted(left, right, label, 4, weight=weight, z=z)
    found = fit_strengths(counts, VOTE_MODELS[ties], 0.1)
    theta, beta, tau = slow_fit(
        ties, left, right, label, 4, weight=weight, z=z, prior=0.1
    )
    np.testing.assert_allclose(found.theta, theta, atol=1e-4)
    np.testing.assert_allclose(found.beta, beta, atol=1e-4)
    if label.size and (label == 0).any():
        assert found.tau == pytest.approx(tau, abs=1e-4)
    assert found.theta.sum() == pytest.approx(0, abs=1e-9)


def test_votes_count_alike_whichever_side_an_item_is_on():
    left, right, label, _ = draw([0, 1, -1], 200)
    turned = np.arange(200) % 2 == 0
    mirrored = counted(
        np.where(turned, right, left),
        np.where(turned, left, right),
        np.where(turned, -label, label),
        3,
    )
    model = VOTE_MODELS["rao_kupper"]
    plain = fit_strengths(counted(left, right, label, 3), model, 0.1)
    np.testing.assert_array_equal(
        plain.theta, fit_strengths(mirrored, model, 0.1).theta
    )


def test_a_covariate_may_have_any_unit():
    left, right, label, z = draw([0, 1, -1], 200, effect=0.5)
    model = VOTE_MODELS["davidson"]
    metres = fit_strengths(counted(left, right, label, 3, z=z[:, None]), model, 0.1)
    microns = z[:, None] * 1e6
    found = fit_strengths(counted(left, right, label, 3, z=microns), model, 0.1)
    np.testing.assert_allclose(found.theta, metres.theta, atol=1e-9)
    np.testing.assert_allclose(found.beta * 1e6, metres.beta)


@pytest.mark.parametrize("ties", VOTE_MODELS)
@pytest.mark.parametrize("outcome", [-1, 0, 1])
def test_one_outcome_alone_gives_finite_parameters(ties, outcome):
    left, right = np.array([0, 0, 0, 1]), np.array([1, 1, 2, 2])
    label = np.full(4, outcome)
    found = fit_strengths(counted(left, right, label, 3), VOTE_MODELS[ties], 0.1)
    assert np.isfinite(found.theta).all()
    assert abs(found.theta).max() < 20
    if outcome == 0:
        np.testing.assert_allclose(found.theta, 0, atol=1e-9)
        proba = VOTE_MODELS[ties].proba(np.zeros(1), found.tau)
        # Four ties, and half a win of each of two equals.
        assert proba[0, 1] == pytest.approx(0.8)
    else:
        assert (np.sign(np.diff(found.theta)) == -outcome).all()


def test_items_apart_have_strengths_of_their_own():
    one = draw([0, 1], 40)[:3]
    left, right, label = one
    both = np.append(left, left + 2), np.append(right, right + 2), np.tile(label, 2)
    model = VOTE_MODELS["rao_kupper"]
    found = fit_strengths(counted(*both, 4), model, 0.1).theta
    np.testing.assert_allclose(found[:2], found[2:], atol=1e-9)
    assert found[:2].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ties", VOTE_MODELS)
def test_conjugate_gradients_find_what_cholesky_finds(ties, monkeypatch):
    rng = np.random.default_rng(0)
    left, right, label, z = draw(rng.normal(size=40), 900, effect=0.5)
    counts = counted(left, right, label, 40, z=z[:, None])
    model = VOTE_MODELS[ties]
    dense = fit_strengths(counts, model, 0.1)
    monkeypatch.setattr(_fit, "DENSE", 0)
    found = fit_strengths(counts, model, 0.1)
    np.testing.assert_allclose(found.theta, dense.theta, atol=1e-6)
    np.testing.assert_allclose(found.beta, dense.beta, atol=1e-6)


def test_many_items_with_few_votes_converge():
    rng = np.random.default_rng(0)
    left, right, label, _ = draw(rng.normal(scale=2, size=2000), 3000)
    found = fit_strengths(
        counted(left, right, label, 2000), VOTE_MODELS["rao_kupper"], 0.1
    )
    assert np.isfinite(found.theta).all()
    assert found.tau > 0
