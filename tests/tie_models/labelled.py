"""Queries whose features say more than their score."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain.pairs import group_queries

SMALL_TREE = DecisionTreeRegressor(max_depth=3, random_state=0)


def queried(n_queries=30, size=8, seed=0, n_features=3):
    """A weak score, and features that say more."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.normal(size=(n, n_features))
    latent = X[:, 0] + 2 * X[:, 1] + rng.logistic(size=n)
    y = np.digitize(latent, [0.5, 2.5]).astype(float)
    return X[:, 0].copy(), y, np.repeat(np.arange(n_queries), size), X


def values_of(model, scores, qid, X):
    return model.transform(scores, group_queries(qid, len(scores)), X)
