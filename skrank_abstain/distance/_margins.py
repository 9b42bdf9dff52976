"""Losses of the margin of a pair, with derivatives and minimisers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from skrank_abstain._validation import FloatArray, check_positive, shown


class MarginLoss(ABC):
    """A decreasing function of the margin of a pair.

    Lower is better. The margin is positive where the pair is ordered right. All methods
    take arrays of any shape and return float64 of that shape, without warnings: what
    exceeds float64 is infinite.

    Attributes
    ----------
    convex : bool
        Whether the loss is a convex function of the margin. False unless a subclass
        says otherwise.

    Notes
    -----
    A loss of one's own defines the three methods, and is taken wherever ``surrogate=``
    is. O(1) for each margin.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.distance import MarginLoss
    >>> class SquaredHinge(MarginLoss):
    ...     convex = True
    ...     def value(self, margin):
    ...         return np.maximum(0.0, 1.0 - np.asarray(margin)) ** 2
    ...     def derivative(self, margin):
    ...         return -2 * np.maximum(0.0, 1.0 - np.asarray(margin))
    ...     def best_margin(self, weight, opposite):
    ...         total = np.add(weight, opposite)
    ...         return np.subtract(weight, opposite) / np.where(total > 0, total, 1)
    >>> SquaredHinge().value([-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    convex: ClassVar[bool] = False

    @abstractmethod
    def value(self, margin: ArrayLike) -> FloatArray:
        """Return the loss at each margin."""

    @abstractmethod
    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return the derivative at each margin, never positive."""

    @abstractmethod
    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return the t that minimises ``weight * loss(t) + opposite * loss(-t)``.

        Zero for equal weights. Within a bounded interval the minimiser is the point
        nearest to it.
        """


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The hinge loss, max(0, 1 - t).

    Lower is better, from 0 to infinity. O(1) for each margin.

    See Also
    --------
    Logistic : Smooth.

    Notes
    -----
    Where it has a kink, at 1, the derivative is set to 0.

    Examples
    --------
    >>> from skrank_abstain.distance import Hinge
    >>> Hinge().value([-1, 0.5, 2])
    array([2. , 0.5, 0. ])
    """

    convex: ClassVar[bool] = True

    def value(self, margin: ArrayLike) -> FloatArray:
        """Return max(0, 1 - t)."""
        result: FloatArray = np.maximum(0.0, 1.0 - _numbers(margin))
        return result

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -1 below 1, and 0 from there on."""
        # At the kink any slope in [-1, 0] is a subgradient; 0 lets a pair with a margin
        # of exactly 1 rest.
        result: FloatArray = np.where(_numbers(margin) < 1, -1.0, 0.0)
        return result

    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return the sign of the difference of the weights."""
        result: FloatArray = np.sign(_numbers(weight) - _numbers(opposite))
        return result


@dataclass(frozen=True)
class Exponential(MarginLoss):
    """The exponential loss of RankBoost, exp(-t).

    As in [1]_. Lower is better, from 0 to infinity. O(1) for each margin.

    References
    ----------
    .. [1] Freund, Iyer, Schapire and Singer (2003). "An Efficient Boosting Algorithm
       for Combining Preferences". Journal of Machine Learning Research 4.

    Examples
    --------
    >>> from skrank_abstain.distance import Exponential
    >>> Exponential().value([0, -1000])
    array([ 1., inf])
    """

    convex: ClassVar[bool] = True

    def value(self, margin: ArrayLike) -> FloatArray:
        """Return exp(-t)."""
        with np.errstate(over="ignore"):
            result: FloatArray = np.exp(-_numbers(margin))
        return result

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -exp(-t)."""
        return -self.value(margin)

    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return half the logarithm of the ratio of the weights."""
        # Where a e^-t = b e^t.
        return 0.5 * _log_ratio(weight, opposite)


@dataclass(frozen=True)
class Sigmoid(MarginLoss):
    """The sigmoid loss, 1 - tanh(k t): bounded, not convex.

    Lower is better, in (0, 2). O(1) for each margin.

    Parameters
    ----------
    k : float, default=1.0
        Steepness, positive.

    Raises
    ------
    TypeError
        If ``k`` is not a real number.
    ValueError
        If ``k`` is not positive and finite.

    Examples
    --------
    >>> from skrank_abstain.distance import Sigmoid
    >>> Sigmoid(k=2).value([0, -1000, 1000])
    array([1., 2., 0.])
    """

    k: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.k, "k")

    def value(self, margin: ArrayLike) -> FloatArray:
        """Return 1 - tanh(k t), as 2 / (1 + exp(2 k t)), where nothing cancels."""
        with np.errstate(over="ignore"):
            result: FloatArray = 2 * expit(-2 * self.k * _numbers(margin))
        return result

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -k / cosh(k t)^2."""
        with np.errstate(over="ignore"):
            twice = 2 * self.k * _numbers(margin)
        # 1 / cosh^2 as a product of two sigmoids, of which neither overflows.
        result: FloatArray = -4 * self.k * expit(twice) * expit(-twice)
        return result

    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return infinity with the sign of the difference of the weights."""
        # Larger margins are always better; equal weights cancel at every margin.
        difference = _numbers(weight) - _numbers(opposite)
        result: FloatArray = np.where(
            difference == 0, 0.0, np.copysign(np.inf, difference)
        )
        return result


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """The logistic loss, ln(1 + exp(-t)).

    Lower is better, from 0 to infinity. O(1) for each margin.

    Examples
    --------
    >>> from skrank_abstain.distance import Logistic
    >>> Logistic().value([0, -1000, 1000]).round(6)
    array([6.93147e-01, 1.00000e+03, 0.00000e+00])
    """

    convex: ClassVar[bool] = True

    def value(self, margin: ArrayLike) -> FloatArray:
        """Return ln(1 + exp(-t))."""
        # ln(1 + exp(1000)) overflows; log_expit does not.
        result: FloatArray = -log_expit(_numbers(margin))
        return result

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -1 / (1 + exp(t))."""
        result: FloatArray = -expit(-_numbers(margin))
        return result

    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return the logarithm of the ratio of the weights."""
        return _log_ratio(weight, opposite)


def check_surrogate(surrogate: Any) -> MarginLoss:
    """Return the margin loss that a name stands for, or the given one."""
    if isinstance(surrogate, MarginLoss):
        return surrogate
    if not isinstance(surrogate, str) or surrogate not in _BY_NAME:
        names = ", ".join(repr(name) for name in _BY_NAME)
        raise ValueError(
            f"surrogate must be one of {names}, or a MarginLoss, got "
            f"{shown(surrogate)}."
        )
    return _BY_NAME[surrogate]


def _numbers(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _log_ratio(weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
    """Return the logarithm of a ratio; 0 for two zeros."""
    # Logarithms first: the ratio of 1e-200 to 1e200 is no float, their difference is.
    first, second = np.broadcast_arrays(_numbers(weight), _numbers(opposite))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(first) - np.log(second)
    result: FloatArray = np.where(first == second, 0.0, ratio)
    return result


_BY_NAME: dict[str, MarginLoss] = {
    "hinge": Hinge(),
    "exponential": Exponential(),
    "sigmoid": Sigmoid(),
    "logistic": Logistic(),
}
