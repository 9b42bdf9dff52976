"""Covariances against derivatives of the likelihood, taken vote by vote."""

import numpy as np
import pytest
from leaderboard.boards import draw, log_probability

from skrank_abstain.leaderboard._covariance import spread_of
from skrank_abstain.leaderboard._fit import count_votes, fit_strengths
from skrank_abstain.leaderboard._ties import VOTE_MODELS
from skrank_abstain.leaderboard._votes import Votes

N_ITEMS, STEP, PRIOR = 4, 1e-4, 0.1


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
    counts = count_votes(left, right, label, weight, z, N_ITEMS)
    fitted = fit_strengths(counts, model, PRIOR)
    votes = Votes(np.arange(N_ITEMS), left, right, label, weight, z, code)
    found = spread_of(counts, fitted, model, PRIOR, votes if clustered else None)

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
    counts = count_votes(
        left, right, np.ones(5, dtype=int), np.ones(5), np.zeros((5, 0)), 2
    )
    model = VOTE_MODELS["rao_kupper"]
    fitted = fit_strengths(counts, model, PRIOR)
    found = spread_of(counts, fitted, model, PRIOR)
    difference = fitted.theta[0] - fitted.theta[1]
    side = np.array([1, -1])
    assert difference > 4 * np.sqrt(side @ found.sandwich @ side)
    assert difference < 2 * np.sqrt(side @ found.expected @ side)
