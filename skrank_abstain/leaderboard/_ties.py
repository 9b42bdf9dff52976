"""Models of the next vote: left wins, tie, right wins, given a difference of strengths.

Both have one tie parameter ``tau``, and a log likelihood that is concave in the
difference ``eta`` and ``tau`` together. Arrays of three columns are in the order right
wins, tie, left wins.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax

from skrank_abstain._validation import FloatArray


class Expansion(NamedTuple):
    """Log likelihood of counted votes, and its derivatives, to second order.

    Attributes
    ----------
    value : float
    score, curvature : ndarray of shape (n_rows,)
        First derivative in ``eta``, and minus the second.
    tau_score, tau_curvature : float
        The same in ``tau``.
    cross : ndarray of shape (n_rows,)
        Minus the mixed second derivative.
    """

    value: float
    score: FloatArray
    curvature: FloatArray
    tau_score: float
    tau_curvature: float
    cross: FloatArray


class VoteModel(Protocol):
    """Probabilities of the three outcomes, and derivatives of their logarithms."""

    #: ``tau`` of a model without ties.
    no_ties: float

    def start(self, share: float) -> float:
        """Return ``tau`` at which equals tie with this probability."""

    def proba(self, eta: FloatArray, tau: float) -> FloatArray:
        """Return the probabilities, shape (n_rows, 3)."""

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of log P in eta and tau, each (n_rows, 3)."""

    def log_likelihood(self, eta: FloatArray, tau: float, counts: FloatArray) -> float:
        """Return the log likelihood of ``counts``, shape (n_rows, 3)."""

    def expand(self, eta: FloatArray, tau: float, counts: FloatArray) -> Expansion:
        """Return it with its derivatives."""


class RaoKupper:
    """P(left wins) = sigma(eta - tau), P(right wins) = sigma(-eta - tau).

    A tie is one win for each side, and a factor: P(tie) is the product of both
    probabilities and ``exp(2 tau) - 1``.
    """

    no_ties = 0.0

    def start(self, share: float) -> float:
        return float(2 * np.arctanh(share))

    def proba(self, eta: FloatArray, tau: float) -> FloatArray:
        left, right = expit(eta - tau), expit(-eta - tau)
        tie = np.expm1(2 * tau) * left * right
        return np.stack([right, tie, left], axis=-1)

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        lost, won = expit(tau - eta), expit(eta + tau)
        # Without ties the middle column has no meaning: nothing is ever counted there.
        slope = -2 / np.expm1(-2 * tau) if tau else 0.0
        return (
            np.stack([-won, lost - won, lost], axis=-1),
            np.stack([-won, slope - lost - won, -lost], axis=-1),
        )

    def log_likelihood(self, eta: FloatArray, tau: float, counts: FloatArray) -> float:
        if tau < 0:
            return -np.inf
        right, tie, left = counts.T
        ties = tie.sum()
        with np.errstate(divide="ignore"):
            # log(exp(2 tau) - 1) without overflow.
            factor = 2 * tau + np.log(-np.expm1(-2 * tau)) if ties else 0.0
        value = (left + tie) @ log_expit(eta - tau) + (right + tie) @ log_expit(
            -eta - tau
        )
        return float(value + ties * factor)

    def expand(self, eta: FloatArray, tau: float, counts: FloatArray) -> Expansion:
        right, tie, left = counts.T
        up, down = left + tie, right + tie
        lost, won = expit(tau - eta), expit(eta + tau)
        ties = tie.sum()
        of_lost, of_won = up * lost * (1 - lost), down * won * (1 - won)
        curvature = of_lost + of_won
        return Expansion(
            value=self.log_likelihood(eta, tau, counts),
            score=up * lost - down * won,
            curvature=curvature,
            tau_score=-(up @ lost) - down @ won - (ties * _over(tau) if ties else 0),
            tau_curvature=curvature.sum()
            + (ties / np.sinh(min(tau, 300.0)) ** 2 if ties else 0),
            cross=of_won - of_lost,
        )


def _over(tau: float) -> float:
    """Return minus the derivative of log(exp(2 tau) - 1)."""
    return float(2 / np.expm1(-2 * tau))


class Davidson:
    """P(left) : P(tie) : P(right) = exp(eta / 2) : exp(tau) : exp(-eta / 2)."""

    no_ties = -np.inf

    def start(self, share: float) -> float:
        return float(np.log(2 * share / (1 - share)))

    def proba(self, eta: FloatArray, tau: float) -> FloatArray:
        return np.asarray(softmax(self._logits(eta, tau), axis=-1))

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        right, tie, left = self.proba(eta, tau).T
        mean = (left - right) / 2
        return (
            np.stack([-0.5 - mean, -mean, 0.5 - mean], axis=-1),
            np.stack([-tie, 1 - tie, -tie], axis=-1),
        )

    def log_likelihood(self, eta: FloatArray, tau: float, counts: FloatArray) -> float:
        logits = self._logits(eta, tau)
        ties = counts[:, 1].sum()
        value = (counts[:, 2] - counts[:, 0]) @ (eta / 2)
        value -= counts.sum(axis=1) @ logsumexp(logits, axis=-1)
        return float(value + (ties * tau if ties else 0))

    def expand(self, eta: FloatArray, tau: float, counts: FloatArray) -> Expansion:
        right, tie, left = self.proba(eta, tau).T
        total = counts.sum(axis=1)
        mean = (left - right) / 2
        return Expansion(
            value=self.log_likelihood(eta, tau, counts),
            score=(counts[:, 2] - counts[:, 0]) / 2 - total * mean,
            curvature=total * ((left + right) / 4 - mean**2),
            tau_score=float(counts[:, 1].sum() - total @ tie),
            tau_curvature=float(total @ (tie * (1 - tie))),
            cross=-total * tie * mean,
        )

    @staticmethod
    def _logits(eta: FloatArray, tau: float) -> FloatArray:
        half = np.asarray(eta) / 2
        return np.stack([-half, np.full_like(half, tau), half], axis=-1)


#: What ``Leaderboard(ties=...)`` understands.
VOTE_MODELS: dict[str, VoteModel] = {
    "rao_kupper": RaoKupper(),
    "davidson": Davidson(),
}
