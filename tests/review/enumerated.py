"""The posterior of a query from its definition: a sum over the grades of all items."""

import itertools

import numpy as np

from skrank_abstain.review._posterior import GradePrior


def enumerate_posterior(prior, left, right, likelihood):
    """Return P(label) of all pairs (n_pairs, 3), P(grade) (n, K) and P(node) (H,)."""
    _, n, n_grades = prior.grade.shape
    grades = np.array(list(itertools.product(range(n_grades), repeat=n)))
    mass = np.repeat(prior.weight[:, None], grades.shape[0], axis=1)
    for i in range(n):
        mass = mass * prior.grade[:, i, grades[:, i]]
    answers = {(i, j): row for i, j, row in zip(left, right, likelihood, strict=True)}
    signs = {}
    for i, j in itertools.combinations(range(n), 2):
        # Of two items of one grade, either may be truly better.
        tied = prior.tied[grades[:, i]]
        within = np.stack([(1 - tied) / 2, tied, (1 - tied) / 2], axis=1)
        order = np.sign(grades[:, i] - grades[:, j])
        sign = np.where((order == 0)[:, None], within, np.eye(3)[order + 1])
        sign = sign * answers.get((i, j), np.ones(3))
        total = sign.sum(axis=1)
        signs[i, j] = sign / total[:, None]
        mass = mass * total
    mass /= mass.sum()
    of_grades = mass.sum(axis=0)
    pairs = np.array([of_grades @ sign for sign in signs.values()])
    marginal = np.array(
        [np.bincount(grades[:, i], of_grades, n_grades) for i in range(n)]
    )
    return pairs, marginal, mass.sum(axis=1)


def random_prior(rng, n, *, n_nodes=3, n_grades=3, merged=False):
    """Return any beliefs; ``merged``: grades are bins of finer relevance."""
    grade = rng.dirichlet(np.ones(n_grades), size=(n_nodes, n))
    tied = rng.uniform(size=n_grades) if merged else np.ones(n_grades)
    return GradePrior(grade, rng.dirichlet(np.ones(n_nodes)), tied)


def random_answers(rng, pairs, least=0.05):
    """Return sorted pairs with likelihoods that may say anything."""
    left, right = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    return left, right, rng.uniform(least, 1, (left.size, 3))
