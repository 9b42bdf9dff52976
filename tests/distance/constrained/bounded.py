"""Rankers with bounded weights, and what they are trained on."""

import numpy as np
from scipy.optimize import minimize

from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
)
from skrank_abstain.pairs import enumerate_pairs, group_queries

RANKERS = [ConstrainedLinearRanker, ConstrainedMLPRanker]


def strict_differences(X, y, qid):
    """Return features of the better item less those of the worse, pair by pair."""
    left, right = enumerate_pairs(group_queries(qid, len(y)))
    sign = np.sign(y[left] - y[right])
    return (sign[:, None] * (X[left] - X[right]))[sign != 0]


def optimum(differences, norm, bound, surrogate):
    """Return the smallest mean surrogate within the bound, as SLSQP finds it."""
    n_pairs, n = differences.shape
    # w = positive part - negative part; for the hinge, slacks above 1 - margin and 0.
    n_slacks = n_pairs if surrogate == "hinge" else 0

    def split(z):
        return z[:n] - z[n : 2 * n], z[2 * n :]

    def objective(z):
        w, slacks = split(z)
        if surrogate == "hinge":
            return slacks.mean()
        margin = differences @ w
        if surrogate == "logistic":
            return np.logaddexp(0, -margin).mean()
        return np.exp(-margin).mean()

    constraints = {
        1: [],
        2: [{"type": "ineq", "fun": lambda z: bound**2 - split(z)[0] @ split(z)[0]}],
        np.inf: [{"type": "ineq", "fun": lambda z: bound - z[: 2 * n].sum()}],
    }[norm]
    if surrogate == "hinge":
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda z: split(z)[1] + differences @ split(z)[0] - 1,
            }
        )
    found = minimize(
        objective,
        np.concatenate([np.zeros(2 * n), np.ones(n_slacks)]),
        bounds=[(0, bound)] * (2 * n) + [(0, None)] * n_slacks,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert found.success
    return found.fun
