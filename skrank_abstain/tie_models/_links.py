"""Likelihoods of one pair under the three classical tie models.

``x = scale * |d|`` is the scaled, non-negative score difference and ``m`` the tie
parameter: ``ln theta`` for Rao-Kupper, ``nu`` for Davidson, ``epsilon`` for
Thurstone-Mosteller. Outcomes are seen from the higher-scored item: +1 it is
preferred, 0 tie, -1 the other one is. Everything is computed in logarithms or as
products of small factors, so that nothing cancels in the tails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr, ndtri

from skrank_abstain._validation import FloatArray

#: Beyond this theta squared overflows; the tie has long been all but certain.
_LARGEST_MARGIN = 300.0
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Derivatives:
    """Log-likelihood of one outcome and its derivatives in ``x`` and ``m``."""

    value: FloatArray
    x: FloatArray
    m: FloatArray
    xx: FloatArray
    xm: FloatArray
    mm: FloatArray


class Link(ABC):
    """One way of turning a scaled difference into three probabilities."""

    @abstractmethod
    def proba(self, x: FloatArray, m: float) -> FloatArray:
        """Return probabilities of -1, 0, +1 at ``x >= 0``, shape (n, 3)."""

    @abstractmethod
    def derivatives(self, outcome: int, x: FloatArray, m: float) -> Derivatives:
        """Return the log-likelihood of ``outcome`` at ``x`` with derivatives."""

    @abstractmethod
    def from_counts(self, n_pairs: float, n_untied: float) -> float:
        """Return ``m`` from the numbers of all pairs and of those that are not tied."""

    def from_tie_rate(self, n_pairs: float, n_untied: float) -> float:
        """Return the ``m`` at which equally strong items tie as often as counted."""
        return self.from_counts(n_pairs, n_untied)


class _Cumulative(Link):
    """P(+1) = F(x - m), P(-1) = F(-x - m) with a symmetric cdf F."""

    def from_counts(self, n_pairs: float, n_untied: float) -> float:
        # theta = (2N - n) / n solves (theta - 1) / (theta + 1) = (N - n) / N: Rao and
        # Kupper (1967), for equally strong items. The Thurstone margin follows as
        # ln(theta).
        return float(np.log((2 * n_pairs - n_untied) / n_untied))

    @abstractmethod
    def log_cdf(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ln F and its first two derivatives."""

    @abstractmethod
    def log_tie(self, x: FloatArray, m: float) -> Derivatives:
        """Return ln(F(x + m) - F(x - m)) with derivatives."""

    def derivatives(self, outcome: int, x: FloatArray, m: float) -> Derivatives:
        if outcome == 0:
            return self.log_tie(x, m)
        value, first, second = self.log_cdf(outcome * x - m)
        return Derivatives(
            value, outcome * first, -first, second, -outcome * second, second
        )


class RaoKupper(_Cumulative):
    """Bradley-Terry with ties: logistic F, theta = exp(m)."""

    def proba(self, x: FloatArray, m: float) -> FloatArray:
        # One exponential for all three; the tie as a product, which does not cancel.
        theta = np.exp(min(m, _LARGEST_MARGIN))
        small = np.exp(-x)
        low, high = theta + small, theta * small
        high += 1
        out = np.empty((x.shape[0], 3))
        np.divide(small, low, out=out[:, 0])
        np.divide(1, high, out=out[:, 2])
        np.multiply(out[:, 0], out[:, 2], out=out[:, 1])
        out[:, 1] *= -np.expm1(-2 * m) * theta * theta
        return out

    def log_cdf(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return log_expit(u), expit(-u), -expit(u) * expit(-u)

    def log_tie(self, x: FloatArray, m: float) -> Derivatives:
        # P(0) = F(m + x) F(m - x) (1 - exp(-2 m)) for the logistic F: a product, where
        # the difference of two cdfs would cancel.
        high, high1, high2 = self.log_cdf(m + x)
        low, low1, low2 = self.log_cdf(m - x)
        return Derivatives(
            value=high + low + np.log(-np.expm1(-2 * m)),
            x=high1 - low1,
            m=high1 + low1 + 2 / np.expm1(2 * m),
            xx=high2 + low2,
            xm=high2 - low2,
            mm=high2 + low2 - 1 / np.sinh(m) ** 2,
        )


class Thurstone(_Cumulative):
    """Thurstone-Mosteller with ties: normal F, margin m."""

    def from_tie_rate(self, n_pairs: float, n_untied: float) -> float:
        # 2 Phi(m) - 1 = (N - n) / N for equally strong items: up to its unit the draw
        # margin of TrueSkill.
        return float(ndtri(1 - n_untied / (2 * n_pairs)))

    def proba(self, x: FloatArray, m: float) -> FloatArray:
        # Both terms of the difference lie in the same tail, where ndtr is precise.
        tie = ndtr(m - x) - ndtr(-m - x)
        return np.stack([ndtr(-x - m), tie, ndtr(x - m)], axis=1)

    def log_cdf(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        value = log_ndtr(u)
        ratio = np.exp(-0.5 * u * u - _LOG_SQRT_2PI - value)
        return value, ratio, -ratio * (u + ratio)

    def log_tie(self, x: FloatArray, m: float) -> Derivatives:
        upper = log_ndtr(m - x)
        value = upper + np.log(-np.expm1(log_ndtr(-m - x) - upper))
        far = np.exp(-0.5 * (x + m) ** 2 - _LOG_SQRT_2PI - value)
        near = np.exp(-0.5 * (x - m) ** 2 - _LOG_SQRT_2PI - value)
        dx, dm = far - near, far + near
        far1, near1 = -(x + m) * far, -(x - m) * near
        return Derivatives(
            value=value,
            x=dx,
            m=dm,
            xx=far1 - near1 - dx * dx,
            xm=far1 + near1 - dx * dm,
            mm=far1 - near1 - dm * dm,
        )


class Davidson(Link):
    """Bradley-Terry with ties: P(0) = nu * sqrt(P(+1) P(-1)), nu = m."""

    def from_counts(self, n_pairs: float, n_untied: float) -> float:
        # nu / (2 + nu) = (N - n) / N for equally strong items; PlackettLuce, in R,
        # starts its Davidson fits from it.
        return 2 * (n_pairs - n_untied) / n_untied

    def proba(self, x: FloatArray, m: float) -> FloatArray:
        small, root = np.exp(-x), np.exp(-x / 2)
        total = 1 + small + m * root
        return np.stack([small / total, m * root / total, 1 / total], axis=1)

    def derivatives(self, outcome: int, x: FloatArray, m: float) -> Derivatives:
        lose, _, win = self.proba(x, m).T
        per_m = np.exp(-x / 2) * win  # P(tie) / m, also for m = 0
        slope = (win - lose) / 2
        value = outcome * x / 2 - (x / 2 - np.log(win))
        zero = np.zeros_like(x)
        tie, tie2 = (1 / m, -1 / m**2) if outcome == 0 else (0.0, 0.0)
        return Derivatives(
            value=value + (np.log(m) if outcome == 0 else zero),
            x=outcome / 2 - slope,
            m=tie - per_m,
            xx=slope**2 - (win + lose) / 4,
            xm=slope * per_m,
            mm=tie2 + per_m**2,
        )
