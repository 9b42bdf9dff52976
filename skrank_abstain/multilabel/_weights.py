"""Exponential weights over experts (REWA), from a matrix of their losses.

The randomized exponentially weighted average follows an expert that is drawn by weights
which fall with the losses so far.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from skrank_abstain._validation import FloatArray


def exponential_weights(
    losses: FloatArray,
    eta: float | None,
    bound: float,
    *,
    cumulative: FloatArray | float = 0.0,
    n_before: int = 0,
) -> FloatArray:
    """Weigh experts by the exponential of their losses so far.

    Parameters
    ----------
    losses : ndarray of shape (n_rounds, n_experts), float64
        In [0, bound], lower is better.
    eta : float or None
        Learning rate; None: ``sqrt(8 ln(n_experts) / t) / bound`` in round t.
    bound : float
        Largest possible loss.
    cumulative : ndarray of shape (n_experts,), float64, or 0
        Losses of the rounds before these, added up.
    n_before : int, default=0
        Number of rounds before these.

    Returns
    -------
    weights : ndarray of shape (n_rounds + 1, n_experts), float64
        Before each round, and after the last; rows sum to one.
    """
    n_rounds, n_experts = losses.shape
    so_far = cumulative + np.vstack([np.zeros(n_experts), np.cumsum(losses, axis=0)])
    if eta is None:
        t = np.arange(n_before + 1, n_before + n_rounds + 2)
        rate = np.sqrt(8 * np.log(n_experts) / t) / bound
    else:
        rate = np.full(n_rounds + 1, eta)
    # softmax subtracts the largest exponent, so the weights do not all underflow.
    weights: FloatArray = softmax(-rate[:, None] * so_far, axis=1)
    return weights


def regret_bound(
    n_experts: int, n_rounds: int, eta: float | None, bound: float
) -> float:
    """Return how far the expected loss can exceed that of the best expert.

    For any sequence of losses: ``bound * (sqrt(2 T ln N) + sqrt(ln(N) / 8))`` for the
    decreasing rate of `exponential_weights`, and ``ln(N) / eta + eta * T * bound**2 /
    8`` for a fixed one: Theorems 2.3 and 2.2 of Cesa-Bianchi and Lugosi (2006),
    "Prediction, Learning, and Games".
    """
    log_n = float(np.log(n_experts))
    if eta is None:
        return bound * float(np.sqrt(2 * n_rounds * log_n) + np.sqrt(log_n / 8))
    # Least at eta = sqrt(8 ln(N) / T) / bound. Raman, Subedi and Tewari (2023) use
    # sqrt(2 ln(N) / T), whose printed bound is twice as large.
    return log_n / eta + eta * n_rounds * bound**2 / 8
