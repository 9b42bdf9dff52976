"""Exponential weights over experts, on a matrix of losses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from skrank_abstain._validation import FloatArray


class WeightedRounds(NamedTuple):
    """What exponential weights did in some rounds.

    Attributes
    ----------
    weights : ndarray of shape (n_rounds + 1, n_experts), float64
        Before each round, and after the last; rows sum to one.
    expected_losses : ndarray of shape (n_rounds,), float64
        Of drawing an expert by the weights before the round.
    """

    weights: FloatArray
    expected_losses: FloatArray


def exponential_weights(
    losses: NDArray[np.float64],
    cumulative: NDArray[np.float64],
    n_before: int,
    eta: float | None,
    bound: float,
) -> WeightedRounds:
    """Weigh experts by the exponential of their losses so far.

    Parameters
    ----------
    losses : ndarray of shape (n_rounds, n_experts), float64
        In [0, bound], lower is better.
    cumulative : ndarray of shape (n_experts,), float64
        Losses of the rounds before.
    n_before : int
        Number of these rounds.
    eta : float or None
        Learning rate; None: ``sqrt(8 ln(n_experts) / t) / bound`` in round t.
    bound : float
        Largest possible loss.

    Returns
    -------
    rounds : WeightedRounds
    """
    n_rounds, n_experts = losses.shape
    so_far = cumulative + np.vstack([np.zeros(n_experts), np.cumsum(losses, axis=0)])
    if eta is None:
        # The weights of round t have seen the t - 1 rounds before; one row more are
        # those after the last.
        t = np.arange(n_before + 1, n_before + n_rounds + 2)
        rate = np.sqrt(8 * np.log(n_experts) / t) / bound
    else:
        rate = np.full(n_rounds + 1, eta)
    # softmax takes off the largest exponent: after many rounds weights would all
    # underflow.
    weights: FloatArray = softmax(-rate[:, None] * so_far, axis=1)
    expected: FloatArray = (weights[:-1] * losses).sum(axis=1)
    return WeightedRounds(weights, expected)


def regret_bound(
    n_experts: int, n_rounds: int, eta: float | None, bound: float
) -> float:
    """Return how far the expected loss can exceed that of the best expert.

    Parameters
    ----------
    n_experts, n_rounds : int
    eta : float or None
        Learning rate, None: the decreasing one of `exponential_weights`.
    bound : float
        Largest possible loss.

    Returns
    -------
    regret : float
        For any sequence of losses: ``bound * (sqrt(2 T ln N) + sqrt(ln(N) / 8))`` for
        the decreasing rate (Theorem 2.3 of [1]_), ``ln(N) / eta + eta * T * bound**2 /
        8`` for a fixed one (Theorem 2.2).

    References
    ----------
    .. [1] Cesa-Bianchi and Lugosi (2006). "Prediction, Learning, and Games". Cambridge
       University Press.
    """
    log_n = float(np.log(n_experts))
    if eta is None:
        return bound * float(np.sqrt(2 * n_rounds * log_n) + np.sqrt(log_n / 8))
    # Least at eta = sqrt(8 ln(N) / T) / bound. Raman, Subedi and Tewari (2023) use
    # sqrt(2 ln(N) / T), whose printed bound is twice as large.
    return log_n / eta + eta * n_rounds * bound**2 / 8
