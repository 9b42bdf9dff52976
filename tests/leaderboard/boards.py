"""Simulated votes, and the likelihood written out vote by vote."""

import numpy as np


def log_probability(ties, eta, tau, label):
    """Return log P(label) of one vote, from the definition."""
    if ties == "rao_kupper":
        left = 1 / (1 + np.exp(tau - eta))
        right = 1 / (1 + np.exp(tau + eta))
        return np.log({1: left, -1: right, 0: 1 - left - right}[label])
    tie = np.exp(tau) if np.isfinite(tau) else 0.0
    parts = {1: np.exp(eta / 2), 0: tie, -1: np.exp(-eta / 2)}
    return np.log(parts[label] / sum(parts.values()))


def draw(strengths, n_votes, *, ties=0.4, seed=0, effect=0.0):
    """Return left, right, label and a covariate of votes by Rao and Kupper's model."""
    rng = np.random.default_rng(seed)
    n = len(strengths)
    left = rng.integers(n, size=n_votes)
    right = (left + rng.integers(1, n, size=n_votes)) % n
    z = rng.normal(size=n_votes)
    eta = np.asarray(strengths)[left] - np.asarray(strengths)[right] + effect * z
    u = rng.random(n_votes)
    wins = 1 / (1 + np.exp(ties - eta))
    loses = 1 / (1 + np.exp(ties + eta))
    label = np.where(u < wins, 1, np.where(u < wins + loses, -1, 0))
    return left, right, label, z
