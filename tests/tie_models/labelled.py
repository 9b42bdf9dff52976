"""Queries whose features say more than their score, and the log loss of a model."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain.metrics import pairwise_log_loss
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


def log_loss(model, items):
    """Mean log loss of all pairs of items by their values."""
    sides = [
        start + np.stack(np.triu_indices(size, 1))
        for start, size in zip(items.offsets, np.diff(items.offsets), strict=False)
    ]
    low, high = np.concatenate(sides, axis=1)
    proba = model._proba(items.value[high], items.value[low])
    return pairwise_log_loss(np.sign(items.grades[high] - items.grades[low]), proba)
