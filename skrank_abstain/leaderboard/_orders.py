"""Which orders are sure: differences beside those that chance alone would make.

A test has a size for each pair of items, and draws of the sizes that chance would give
if no two items differed. Sizes are ratios of a difference to its error, so that they
can be compared: the step-down of Westfall and Young asks how often chance gives this
pair, or any pair of smaller size, a size as large as this one. A pair is decided if all
tests of a board decide it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.special import logsumexp
from scipy.stats import false_discovery_control, norm

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import bounds_of_orders

#: Pairs that are drawn at a time.
_AT_A_TIME = 64
#: Draws are of single precision.
_ROUNDING = 1e-5
#: Variances of the mixtures: the wide one finds large differences by few votes.
_VARIANCES = (1.0, 10.0)
#: Least share of the variance that a resample has.
_FLOOR = 1e-3

Single = NDArray[np.float32]


class Resampled(ABC):
    """Sizes of differences beside draws of what chance makes of them.

    Attributes
    ----------
    size : ndarray of shape (n_pairs,)
        0 for pairs that cannot be compared.
    """

    size: Any

    @abstractmethod
    def by_chance(self, rows: IntArray) -> Single:
        """Return sizes of pairs without a difference, shape (n_rows, n_draws)."""

    def pvalues(self, control: str) -> FloatArray:
        """Return p-values of all pairs, adjusted for their number."""
        pvalue = np.ones(self.size.size)
        order = np.argsort(self.size, kind="stable")
        order = order[self.size[order] > 0]
        if not order.size:
            return pvalue
        limits = (self.size[order] * (1 - _ROUNDING)).astype(np.float32)
        if control == "familywise":
            share = self.step_down(order, limits)
        else:
            share = np.zeros(order.size)
            for part in in_parts(order):
                found = self.by_chance(part)
                # Sizes of all pairs have about the same distribution.
                below = np.searchsorted(np.sort(found, axis=None), limits)
                share += (found.size - below) / order.size
            share = (1 + share) / (1 + found.shape[1])
        share = np.maximum.accumulate(share[::-1])[::-1]
        pvalue[order] = (
            share if control == "familywise" else false_discovery_control(share)
        )
        return pvalue

    def step_down(self, order: IntArray, limits: Single) -> FloatArray:
        """Return the share of draws in which a pair, or one less sure, reaches a limit.

        ``order`` has the numbers of pairs, the least sure first. What was seen counts
        as a draw.
        """
        largest, share = np.float32(0), np.zeros(order.size)
        for part in in_parts(np.arange(order.size)):
            found = self.by_chance(order[part])
            found[0] = np.maximum(found[0], largest)
            np.maximum.accumulate(found, axis=0, out=found)
            largest = found[-1]
            reached = (found >= limits[part, None]).sum(axis=1)
            share[part] = (1 + reached) / (1 + found.shape[1])
        return share

    def growth(self, rows: IntArray, still_open: IntArray, alpha: float) -> FloatArray:
        """Return how many times as much data decide pairs, with probability one half.

        ``still_open`` are the numbers of all pairs that are not decided.
        """
        largest = [self.by_chance(part).max(axis=0) for part in in_parts(still_open)]
        return _times(np.quantile(np.max(largest, axis=0), 1 - alpha), self.size[rows])


@dataclass
class Ratio(Resampled):
    """Draws of the strengths of all items, (n_items, n_draws), over given errors."""

    size: FloatArray
    draws: Single
    error: FloatArray
    left: IntArray
    right: IntArray

    def by_chance(self, rows: IntArray) -> Single:
        found = self.draws[self.left[rows]] - self.draws[self.right[rows]]
        return np.asarray(np.abs(found) * self.scales[rows, None])

    @cached_property
    def scales(self) -> Single:
        """Precision of each difference."""
        return ratio(1.0, self.error).astype(np.float32)

    def step_down(self, order: IntArray, limits: Single) -> FloatArray:
        from skrank_abstain._kernels.stepping import count_larger

        draws, scales = np.ascontiguousarray(self.draws), self.scales[order]
        pairs = self.left[order], self.right[order]
        reached = count_larger(draws, *pairs, scales, limits)
        return np.asarray((1 + reached) / (1 + draws.shape[1]))


@dataclass
class Alone:
    """The normal distribution of each ratio, without regard to their number."""

    size: FloatArray

    def pvalues(self, control: str) -> FloatArray:
        return np.asarray(2 * norm.sf(self.size))

    def growth(self, rows: IntArray, still_open: IntArray, alpha: float) -> FloatArray:
        return _times(norm.isf(alpha / 2), self.size[rows])


@dataclass
class Mixture:
    """The mean of two normal mixtures of likelihood ratios: holds at every look [1]_.

    Attributes
    ----------
    size : ndarray of shape (n_pairs,)
        Ratio of a difference to its standard error.
    information : ndarray of shape (n_pairs,)
        Variance of the narrow mixture over that of the difference.

    References
    ----------
    .. [1] Robbins (1970). "Statistical Methods Related to the Law of the Iterated
       Logarithm". Annals of Mathematical Statistics 41.
    """

    size: FloatArray
    information: FloatArray

    def evidence(self, rows: Any, times: Any = 1.0) -> FloatArray:
        """Return logarithms of the ratios, with so many times as much data."""
        information = np.multiply.outer(_VARIANCES, self.information[rows] * times)
        share = information / (1 + information)
        square = self.size[rows] ** 2 * times
        each = (square * share - np.log1p(information)) / 2
        return np.asarray(logsumexp(each, axis=0) - np.log(len(_VARIANCES)))

    def pvalues(self, control: str) -> FloatArray:
        pvalue = np.ones(self.size.size)
        compared = np.flatnonzero(self.size > 0)
        evidence = self.evidence(compared)
        order = compared[np.argsort(-evidence, kind="stable")]
        single = np.exp(np.sort(-evidence))
        if control == "familywise":
            adjusted = single * np.arange(order.size, 0, -1)
            pvalue[order] = np.maximum.accumulate(np.minimum(adjusted, 1))
        elif order.size:
            pvalue[order] = false_discovery_control(np.minimum(single, 1))
        return pvalue

    def growth(self, rows: IntArray, still_open: IntArray, alpha: float) -> FloatArray:
        limit = np.log(still_open.size / alpha)
        low, high = np.ones(rows.size), np.full(rows.size, 1e9)
        for _ in range(60):
            middle = np.sqrt(low * high)
            enough = self.evidence(rows, middle) >= limit
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high


Test = Resampled | Alone | Mixture


def in_parts(rows: IntArray) -> list[IntArray]:
    """Return as many rows at a time as are drawn together."""
    return [rows[k : k + _AT_A_TIME] for k in range(0, rows.size, _AT_A_TIME)]


def ratio(difference: Any, error: FloatArray) -> FloatArray:
    """Return the ratio of the difference of each pair to its error; 0 without one."""
    return np.asarray(difference / np.where(error > 0, error, np.inf))


def _times(limit: Any, size: FloatArray) -> FloatArray:
    """Return with how many times as much data sizes reach a limit."""
    return np.where(size > 0, ratio(limit, size) ** 2, np.inf)


def normal_draws(
    covariance: FloatArray, n_draws: int, rng: np.random.Generator
) -> Single:
    """Return draws of the strengths, shape (n_items, n_draws)."""
    n = len(covariance)
    # A constant added to all strengths cancels in differences. The diagonal keeps
    # covariances of few clusters, which have a lower rank, positive definite.
    scale = max(float(np.diag(covariance).mean()), np.finfo(float).tiny)
    matrix = covariance + scale / n + 1e-8 * scale * np.eye(n)
    noise = rng.standard_normal((n, n_draws))
    return np.asarray(cholesky(matrix, lower=True) @ noise, dtype=np.float32)


def random_signs(n: int, n_draws: int, rng: np.random.Generator) -> Single:
    """Return +1 and -1, shape (n, n_draws): all ways to set them if these are fewer.

    What is found for the signs that were seen, and for the opposite ones, is known.
    """
    if 2 ** (n - 1) <= n_draws:
        bits = np.arange(1, 2 ** (n - 1)) >> np.arange(n)[:, None] & 1
    else:
        bits = rng.integers(2, size=(n, n_draws), dtype=np.int8)
    return 1 - 2 * bits.astype(np.float32)


class Systems:
    """Differences of systems on the queries that both have a metric on.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_items)
        NaN where a system has none.
    left, right : ndarray of shape (n_pairs,), int64
    alpha : float

    Attributes
    ----------
    number : ndarray of shape (n_pairs,)
        Queries of both.
    mean, ratio : ndarray of shape (n_pairs,)
        Mean difference over the deviation, and over its standard error, without sign.
        0 for pairs with so few queries that no flip of signs is rarer than ``alpha``.
    """

    def __init__(
        self, scores: FloatArray, left: IntArray, right: IntArray, alpha: float
    ) -> None:
        self.scores, self.left, self.right = scores.T, left, right
        found = [self.standardised(rows)[2:] for rows in in_parts(np.arange(left.size))]
        self.number, self.mean = np.hstack(found)
        self.mean[2.0 ** (1 - self.number) > alpha] = 0
        self.ratio = np.abs(self.mean) * np.sqrt(self.number)

    def standardised(self, rows: IntArray) -> tuple[FloatArray, ...]:
        """Return differences of mean 0 and variance 1, where there are any, and more.

        Returns
        -------
        differences, both : ndarray of shape (n_rows, n_queries)
        number, mean : ndarray of shape (n_rows,)
        """
        found = self.scores[self.left[rows]] - self.scores[self.right[rows]]
        both = ~np.isnan(found)
        found[~both] = 0
        number = np.maximum(both.sum(axis=1), 1)
        mean = found.sum(axis=1) / number
        found = (found - mean[:, None]) * both
        # Rounding apart all differences may be the same.
        least = 1e-6 * np.abs(mean)
        unit = np.maximum(np.sqrt((found**2).sum(axis=1) / number), least)
        unit[unit == 0] = 1
        return found / unit[:, None], both, number, mean / unit


@dataclass
class Flipped(Resampled):
    """Signs of the differences on queries are flipped.

    This is exact where differences are symmetric. Where they are skewed, it decides
    too many pairs.
    """

    systems: Systems
    signs: Single

    @property
    def size(self) -> FloatArray:
        return np.asarray(self.systems.ratio / np.sqrt(1 + self.systems.mean**2))

    def by_chance(self, rows: IntArray) -> Single:
        found, both, number, mean = self.systems.standardised(rows)
        found += mean[:, None] * both
        found /= np.sqrt(number * (1 + mean**2))[:, None]
        return np.asarray(np.abs(found.astype(np.float32) @ self.signs))


@dataclass
class Bootstrapped(Resampled):
    """Queries are drawn again, and differences go by the deviation in the draw.

    It errs where queries are few.
    """

    systems: Systems
    times: Single

    @property
    def size(self) -> FloatArray:
        return np.asarray(self.systems.ratio)

    def by_chance(self, rows: IntArray) -> Single:
        found, both, _, _ = self.systems.standardised(rows)
        found, both = found.astype(np.float32), both.astype(np.float32)
        number = np.maximum(both @ self.times, 1)
        mean = found @ self.times / number
        variance = found**2 @ self.times / number - mean**2
        size = np.abs(mean) * np.sqrt(number / np.maximum(variance, _FLOOR))
        return np.asarray(size, np.float32)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """All pairs of items, the first one before the second.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
    difference : ndarray of shape (n_pairs,), float64
        Of the strengths.
    pvalue : ndarray of shape (n_pairs,), float64
        Adjusted for all pairs.
    accepted : ndarray of shape (n_pairs,), bool
        Whether the order is sure.
    """

    left: IntArray
    right: IntArray
    difference: FloatArray
    pvalue: FloatArray
    accepted: BoolArray

    def places(self, preferred: IntArray) -> IntArray:
        """Return the best and the worst place of each item, and one of its own.

        Parameters
        ----------
        preferred : ndarray of shape (n_items,), int64
            Items, in an order that their own places follow as far as sure orders allow.

        Returns
        -------
        places : ndarray of shape (n_items, 3), int64
        """
        won = self.difference[self.accepted] > 0
        left, right = self.left[self.accepted], self.right[self.accepted]
        winner, loser = np.where(won, (left, right), (right, left))
        return bounds_of_orders(winner, loser, np.zeros_like(preferred), preferred)
