"""Models of votes, strengths and covariances, against likelihoods vote by vote."""

import numpy as np
import pytest
from leaderboard.boards import draw, log_probability
from scipy.optimize import minimize

from skrank_abstain.leaderboard import _fit
from skrank_abstain.leaderboard._evidence import VoteEvidence
from skrank_abstain.leaderboard._fit import (
    LAPSES,
    VOTE_MODELS,
    choose_lapses,
    count_votes,
    fit_strengths,
    with_lapses,
)
from skrank_abstain.leaderboard._votes import Votes

ETA = np.array([-3.0, -0.4, 0.0, 0.7, 5.0])
TAUS = [("rao_kupper", 0.3), ("davidson", -0.5), ("davidson", 0.8)]
H = 1e-5
N_ITEMS, STEP, PRIOR = 4, 1e-4, 0.1


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
        return (np.log(up) - np.log(down)) / (2 * H)

    in_eta, in_tau = model.scores(ETA, tau)
    proba = model.proba
    expected = slope(proba(ETA + H, tau), proba(ETA - H, tau))
    np.testing.assert_allclose(in_eta, expected, atol=1e-7)
    expected = slope(proba(ETA, tau + H), proba(ETA, tau - H))
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
    assert model.log_likelihood(ETA, tau, counts) == pytest.approx(value)
    in_eta, in_tau = model.scores(ETA, tau)
    np.testing.assert_allclose(found.score, (counts * in_eta).sum(axis=1))
    assert found.tau_score == pytest.approx((counts * in_tau).sum())
    up, down = (
        model.expand(ETA + H, tau, counts),
        model.expand(ETA - H, tau, counts),
    )
    np.testing.assert_allclose(
        found.curvature, (down.score - up.score) / (2 * H), atol=1e-6
    )
    up, down = (model.expand(ETA, tau + s, counts) for s in (H, -H))
    np.testing.assert_allclose(
        found.cross, (down.score - up.score) / (2 * H), atol=1e-6
    )
    assert found.tau_curvature == pytest.approx(
        (down.tau_score - up.tau_score) / (2 * H), rel=1e-6
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


LAPSING = [*TAUS, ("rao_kupper", 0.0), ("davidson", -np.inf)]


@pytest.mark.parametrize(("ties", "tau"), LAPSING)
def test_random_votes_are_for_either_side_and_never_ties(ties, tau):
    proba = with_lapses(VOTE_MODELS[ties], 0.1).proba(ETA, tau)
    meant = VOTE_MODELS[ties].proba(ETA, tau)
    np.testing.assert_allclose(proba, 0.1 * np.array([0.5, 0, 0.5]) + 0.9 * meant)
    assert with_lapses(VOTE_MODELS[ties], 0.0) is VOTE_MODELS[ties]


@pytest.mark.parametrize(("ties", "tau"), TAUS)
def test_derivatives_with_random_votes_are_those_of_the_mixture(ties, tau):
    def log_proba(eta, tau):
        meant = [
            [np.exp(log_probability(ties, x, tau, label)) for label in (-1, 0, 1)]
            for x in eta
        ]
        return np.log(0.1 * np.array([0.5, 0, 0.5]) + 0.9 * np.array(meant))

    model = with_lapses(VOTE_MODELS[ties], 0.1)
    np.testing.assert_allclose(model.log_proba(ETA, tau), log_proba(ETA, tau))
    in_eta = (log_proba(ETA + H, tau) - log_proba(ETA - H, tau)) / (2 * H)
    in_tau = (log_proba(ETA, tau + H) - log_proba(ETA, tau - H)) / (2 * H)
    found = model.scores(ETA, tau)
    np.testing.assert_allclose(found, [in_eta, in_tau], atol=1e-7)
    # Minus the expected second derivatives.
    up, down = model.scores(ETA + H, tau), model.scores(ETA - H, tau)
    of_eta, cross = (np.array(down) - up) / (2 * H)
    of_tau = (model.scores(ETA, tau - H)[1] - model.scores(ETA, tau + H)[1]) / (2 * H)
    proba = np.exp(log_proba(ETA, tau))
    for second, curvature in zip(
        (of_eta, cross, of_tau), model.curvatures(ETA, tau), strict=True
    ):
        expected = (proba * second).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(curvature, expected, atol=1e-6)


def votes_with_lapses(rate, *, ties=0.4, n_votes=20_000, weight=1.0):
    left, right, label, _ = draw(np.arange(6) * 1.0, n_votes, ties=ties, seed=1)
    rng = np.random.default_rng(2)
    coin = rng.choice([-1, 1], size=n_votes)
    label = np.where(rng.random(n_votes) < rate, coin, label)
    return counted(left, right, label, 6, weight=np.full(n_votes, weight))


@pytest.mark.parametrize("ties", VOTE_MODELS)
@pytest.mark.parametrize("half_width", [0.0, 0.4])
def test_strengths_beside_random_votes_are_where_the_likelihood_is_largest(
    ties, half_width
):
    counts = votes_with_lapses(0.1, ties=half_width, n_votes=2000)
    model = with_lapses(VOTE_MODELS[ties], 0.1)
    found = fit_strengths(counts, model, PRIOR)

    def loss(x):
        eta = x[counts.left] - x[counts.right]
        value = model.log_likelihood(eta, found.tau, counts.weight)
        return PRIOR / 2 * x @ x - value

    best = minimize(loss, np.zeros(6), tol=1e-8).x
    np.testing.assert_allclose(found.theta, best, atol=1e-3)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_the_votes_say_how_many_of_them_may_be_random(rate):
    found = [
        choose_lapses(
            votes_with_lapses(rate, weight=w), VOTE_MODELS["rao_kupper"], p, x
        )
        for w, p, x in [(1.0, 0.1, 0.99), (7.0, 0.7, 0.99), (1.0, 0.1, 1.0)]
    ]
    best, others = found[0]
    assert best == pytest.approx(rate, abs=0.026)
    every = np.sort(np.append(others, best))
    assert every[0] <= rate <= every[-1]
    assert every.size <= 5
    # Weights may have any unit.
    assert found[1][0] == best
    np.testing.assert_array_equal(found[1][1], others)
    np.testing.assert_array_equal(np.sort(np.append(found[2][1], best)), LAPSES)


def votes_of(left, right, label, n_items, *, weight=None, z=None, cluster=None):
    n = len(left)
    weight = np.ones(n) if weight is None else weight
    z = np.zeros((n, 0)) if z is None else z
    return Votes(np.arange(n_items), left, right, label, weight, z, cluster)


def counted(*args, **options):
    return count_votes(votes_of(*args, **options))


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
        ties, left, right, label, 4, weight=weight, z=z, prior=PRIOR
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


class Slow:
    """Log likelihood of each vote as a function of all parameters."""

    def __init__(self, ties, votes, weight, z, tied):
        self.ties, self.votes, self.weight, self.z = ties, votes, weight, z
        self.tied = tied

    def values(self, x, labels=None):
        """Return the log likelihood of each vote, shape (n_votes,)."""
        left, right, label = self.votes
        label = label if labels is None else labels
        beta = x[N_ITEMS : N_ITEMS + self.z.shape[1]]
        tau = x[-1] if self.tied else VOTE_MODELS[self.ties].no_ties
        return np.array(
            [
                log_probability(self.ties, x[i] - x[j] + row @ beta, tau, o)
                for i, j, o, row in zip(left, right, label, self.z, strict=True)
            ]
        )

    def scores(self, x, labels=None):
        """Return the derivative of each vote, shape (n_votes, n_parameters)."""
        return np.stack(
            [
                (self.values(x + e, labels) - self.values(x - e, labels)) / (2 * STEP)
                for e in STEP * np.eye(x.size)
            ],
            axis=1,
        )

    def hessian(self, x):
        def gradient(x):
            total = self.weight @ self.scores(x)
            total[:N_ITEMS] -= PRIOR * x[:N_ITEMS]
            if self.tied:
                up, down = (
                    log_probability(self.ties, 0.0, x[-1] + s, 1) for s in (STEP, -STEP)
                )
                total[-1] += (up - down) / (2 * STEP)
            return total

        return -np.stack(
            [
                (gradient(x + e) - gradient(x - e)) / (2 * STEP)
                for e in STEP * np.eye(x.size)
            ]
        )


def evidence_of(votes, ties, fitted):
    options = 0.95, "familywise", "once", 0, fitted.theta
    return VoteEvidence(*options, votes, ties, PRIOR, fitted)


def centred(covariance):
    mean = np.eye(N_ITEMS) - 1 / N_ITEMS
    return mean @ covariance[:N_ITEMS, :N_ITEMS] @ mean


@pytest.mark.parametrize("ties", VOTE_MODELS)
@pytest.mark.parametrize("half_width", [0.0, 0.4])
@pytest.mark.parametrize("n_covariates", [0, 1])
@pytest.mark.parametrize("clustered", [False, True])
def test_covariances_are_those_of_the_definition(
    ties, half_width, n_covariates, clustered
):
    left, right, label, z = draw([0, 1, -1, 0.5], 80, ties=half_width, effect=0.7)
    z = z[:, None][:, :n_covariates]
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 2, size=80)
    code = rng.integers(7, size=80) if clustered else np.arange(80)
    model = VOTE_MODELS[ties]
    cluster = code if clustered else None
    votes = votes_of(left, right, label, N_ITEMS, weight=weight, z=z, cluster=cluster)
    counts = count_votes(votes)
    fitted = fit_strengths(counts, model, PRIOR)
    found = evidence_of(votes, ties, fitted).spread

    tied = bool((label == 0).any())
    x = np.concatenate([fitted.theta, fitted.beta, [fitted.tau] if tied else []])
    slow = Slow(ties, (left, right, label), weight, z, tied)
    inverse = np.linalg.inv(slow.hessian(x))
    scores = weight[:, None] * slow.scores(x)
    summed = np.stack([scores[code == c].sum(axis=0) for c in np.unique(code)])
    factor = len(summed) / (len(summed) - 1) if clustered else 1
    sandwich = inverse @ (factor * summed.T @ summed) @ inverse
    np.testing.assert_allclose(found.sandwich, centred(sandwich), atol=1e-4)

    moments = 0
    for outcome in (-1, 0, 1) if tied else (-1, 1):
        same = np.full(80, outcome)
        each = weight[:, None] * slow.scores(x, same)
        chance = np.exp(slow.values(x, same))
        moments = moments + each.T @ (chance[:, None] * each)
    # Strengths as the prior has them: of variance 1 / prior, of which it keeps a part.
    moments[np.arange(N_ITEMS), np.arange(N_ITEMS)] += PRIOR
    expected = inverse @ moments @ inverse
    np.testing.assert_allclose(found.expected, centred(expected), atol=1e-4)
    larger = np.sqrt(np.maximum(np.diag(sandwich), np.diag(expected)))
    np.testing.assert_allclose(found.others, larger[N_ITEMS:], atol=1e-3)


def test_the_sandwich_calls_an_item_that_won_every_time_certain_and_the_model_not():
    left, right = np.zeros(5, dtype=int), np.ones(5, dtype=int)
    votes = votes_of(left, right, np.ones(5, dtype=int), 2)
    counts = count_votes(votes)
    model = VOTE_MODELS["rao_kupper"]
    fitted = fit_strengths(counts, model, PRIOR)
    found = evidence_of(votes, "rao_kupper", fitted).spread
    difference = fitted.theta[0] - fitted.theta[1]
    side = np.array([1, -1])
    assert difference > 4 * np.sqrt(side @ found.sandwich @ side)
    assert difference < 2 * np.sqrt(side @ found.expected @ side)
