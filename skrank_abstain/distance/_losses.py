"""Losses of the margin of a pair, and means of losses over ordered pairs.

A pair (i, j) is to be ordered j before i where y_j >= y_i, and i before j elsewhere; so
is the prediction, by the scores. With features, the pairs of items that are close to
each other cost a price instead.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import check_choice, check_positive
from skrank_abstain.distance._pairs import take_pairs
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import Scores, count_outcomes


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
    A loss of your own defines the three methods; every ``surrogate=`` accepts it.
    O(1) for each margin.

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
        return np.maximum(0.0, 1.0 - _numbers(margin))

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -1 below 1, and 0 from there on."""
        # At the kink any slope in [-1, 0] is a subgradient; 0 lets a pair with a margin
        # of exactly 1 rest.
        return np.where(_numbers(margin) < 1, -1.0, 0.0)

    def best_margin(self, weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
        """Return the sign of the difference of the weights."""
        return np.sign(_numbers(weight) - _numbers(opposite))


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
        return np.where(difference == 0, 0.0, np.copysign(np.inf, difference))


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
    return _BY_NAME[check_choice(surrogate, "surrogate", tuple(_BY_NAME))]


def _numbers(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _log_ratio(weight: ArrayLike, opposite: ArrayLike) -> FloatArray:
    """Return the logarithm of a ratio; 0 for two zeros."""
    # Logarithms first: the ratio of 1e-200 to 1e200 is no float, their difference is.
    first, second = np.broadcast_arrays(_numbers(weight), _numbers(opposite))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(first) - np.log(second)
    return np.where(first == second, 0.0, ratio)


_BY_NAME: dict[str, MarginLoss] = {
    "hinge": Hinge(),
    "exponential": Exponential(),
    "sigmoid": Sigmoid(),
    "logistic": Logistic(),
}


def misranking_loss(
    y: ArrayLike | None,
    scores: ArrayLike,
    *,
    qid: Any = None,
    setting: str = "pairwise",
    X: ArrayLike | None = None,
    gamma: float = 0.0,
    cost: float | None = None,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
    pair_labels: ArrayLike | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
) -> float:
    """Return the share of ordered pairs that scores put in the wrong order.

    Lower is better, in [0, 1]; NaN for no pair. With ``X`` it is the abstention loss:
    pairs of near items cost a price instead.

    Parameters
    ----------
    y : array-like of shape (n_items,), or None
        Relevance, higher is better; in the bipartite setting at most two different
        values. None with ``pair_labels``.
    scores : array-like of shape (n_items,)
        Higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    setting : {"pairwise", "bipartite"}, default="pairwise"
        "pairwise": equal values prefer the second item of an ordered pair. "bipartite":
        a pair of equal relevance costs nothing, and equal scores are half an error.
    X : array-like of shape (n_items, n_features), default=None
        Finite features, on scales that can be compared: pairs at most ``gamma`` apart
        cost ``cost``.
    gamma : float, default=0.0
        Distance up to which a pair is abstained from, at least 0: with 0, equal items.
    cost : float, default=None
        Cost of an abstention, in [0, 1]; needed with ``X``.
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    pair_labels : array-like of shape (n_pairs,), default=None
        Label of each of ``pairs``: +1 if the left item is preferred, -1 if the right
        one is. Labels may be noisy and form cycles.
    n_pairs : int, default=None
        Draw this many ordered pairs, with replacement, instead of taking all.
    random_state : int, RandomState instance or None, default=None
        For drawing.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If a number is not one, or ``n_pairs`` or a row position not an integer.
    ValueError
        If a parameter is out of range, ``gamma`` or ``cost`` comes without ``X``,
        lengths differ, values are not finite, or a pair names one item twice, items of
        two queries or rows that do not exist.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there is no pair.

    See Also
    --------
    surrogate_loss : To train on.
    sklearn.metrics.roc_auc_score : For one query, 1 - loss / share in the bipartite
        setting, with the share of ordered pairs that have different labels.

    Notes
    -----
    The losses of Mao, Mohri and Zhong (2023). Pairwise: the mean over ordered pairs (i,
    j) of 1[sgn(y_j - y_i) != sgn(s_j - s_i)], with sgn(0) = +1. Two items make two
    ordered pairs; exactly one of them is wrong if relevance is tied and scores are not,
    or the reverse. Bipartite: the mean of 1[(y - y')(s - s') < 0] + 1[s = s', y != y']
    / 2.

    With L the loss of a pair, c = ``cost`` and ``X``, the mean of
    ``L 1[|x - x'| > gamma] + c 1[|x - x'| <= gamma]``. It is linear in the cost: the
    value at 0 is the share of errors on decided pairs, and the slope is the share of
    pairs not decided. Distances that exceed gamma by rounding alone (relatively 8 units
    in the last place) count as equal to it.

    ``pair_labels`` are those of this package, +1 for the left item. The label of the
    paper is the opposite: y = +1 prefers the second item, x'. Its sgn(0) = +1 makes
    equal scores prefer the second item, here the label -1.

    All pairs without ``X``: O(n log n). Otherwise O(n_pairs n_features) time and
    bounded memory.

    Examples
    --------
    >>> from skrank_abstain.distance import misranking_loss
    >>> misranking_loss([2, 1, 0], [0.3, 0.5, 0.1])  # 2 orders of 6
    0.3333333333333333
    >>> cycle = [(0, 1), (1, 2), (2, 0)]  # the first of each is preferred
    >>> misranking_loss(None, [3, 2, 1], pairs=cycle, pair_labels=[1, 1, 1])
    0.3333333333333333
    >>> misranking_loss([1, 0, 0], [0.3, 0.5, 0.3], setting="bipartite")  # (2 + 1) / 6
    0.5
    >>> X = [[0.0], [0.1], [1.0]]  # the first two items are near
    >>> misranking_loss([2, 1, 0], [0.3, 0.5, 0.1], X=X, gamma=0.2, cost=0.1)
    0.03333333333333333
    """
    abstention = X, gamma, norm, cost
    taken = take_pairs(
        y, scores, qid, setting, pairs, pair_labels, abstention, n_pairs, random_state
    )
    if taken.n_pairs == 0:
        return undefined("misranking loss")
    pairwise = setting == "pairwise"
    if taken.chosen is None and taken.X is None:
        items = Scores(taken.scores, taken.queries, y=taken.relevance)
        # Cut at 0 and just above: all pairs, and those of different scores. Counted by
        # sorting, in O(n log n).
        counts = count_outcomes(
            items, np.array([0.0, np.nextafter(0.0, 1.0)]), 0.0
        ).sum(axis=0)
        equal_scores, (_, tied_labels, discordant, _) = counts[0, 3], counts[1]
        # Both orders of a discordant pair are wrong, and one of two equal scores; in
        # the pairwise setting also one of two equal relevances.
        total = 2 * discordant + equal_scores + pairwise * tied_labels
        return float(total / taken.n_pairs)
    wrong, n_decided = 0.0, 0
    for left, right, label in taken.blocks():
        n_decided += left.size
        first, second = taken.scores[left], taken.scores[right]
        if pairwise:
            wrong += float(((label <= 0) != (second >= first)).sum())
        else:
            misordered = (label < 0) != (second > first)
            share = np.where(first == second, 0.5, misordered)
            wrong += float(share[label != 0].sum())
    return (wrong + taken.cost * (taken.n_pairs - n_decided)) / taken.n_pairs


def surrogate_loss(
    y: ArrayLike | None,
    scores: ArrayLike,
    *,
    qid: Any = None,
    surrogate: str | MarginLoss = "logistic",
    setting: str = "pairwise",
    X: ArrayLike | None = None,
    gamma: float = 0.0,
    cost: float | None = None,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
    pair_labels: ArrayLike | None = None,
) -> tuple[float, FloatArray]:
    """Return the mean surrogate of misranking over ordered pairs, and its gradient.

    Lower is better.

    Parameters
    ----------
    y, scores, qid, setting, X, gamma, cost, norm, pairs, pair_labels
        As for `misranking_loss`.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="logistic"
        What a margin costs.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_items,), float64
        Derivatives in the scores.

    Raises
    ------
    TypeError, ValueError
        As `misranking_loss`; also if ``surrogate`` is unknown or there is no pair.

    See Also
    --------
    misranking_loss : What this stands for.

    Notes
    -----
    Pairwise: the mean over ordered pairs (i, j) of Phi(l (s_j - s_i)), with l = +1
    where y_j >= y_i and -1 elsewhere. This is the label of Mao, Mohri and Zhong (2023),
    where +1 prefers the second item; l = -``pair_labels``. Two items of equal relevance
    have l = +1 in both orders: they ask for equal scores. Bipartite: pairs of equal
    relevance count in the mean and cost nothing.

    With ``X``, pairs at most ``gamma`` apart cost ``cost``, whatever their scores. That
    is a convention of this package; equation (3) of the paper has no
    abstention in the surrogate, and is this without ``X``. `consistency_bound` holds
    for either, if the risk of the scorer and the smallest conditional risks follow the
    same convention.

    O(n_pairs) time in blocks of bounded memory. What exceeds float64 is infinite, and
    the gradient then not finite.

    Examples
    --------
    >>> from skrank_abstain.distance import surrogate_loss
    >>> surrogate_loss([1, 0], [0.5, 0.0], surrogate="hinge")
    (0.5, array([-1.,  1.]))
    """
    abstention = X, gamma, norm, cost
    taken = take_pairs(y, scores, qid, setting, pairs, pair_labels, abstention)
    phi, values = check_surrogate(surrogate), taken.scores
    if taken.n_pairs == 0:
        raise ValueError("y must have at least one pair of items of one query, got 0.")
    total, n_decided, gradient = 0.0, 0, np.zeros(values.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for left, right, label in taken.blocks():
            n_decided += left.size
            if setting == "bipartite":
                untied = label != 0
                left, right, label = left[untied], right[untied], label[untied]
            # With equal relevance the right item is to win, in both orders,
            # as in the misranking loss.
            sign = np.where(label <= 0, 1.0, -1.0)
            margin = sign * (values[right] - values[left])
            total += float(phi.value(margin).sum())
            slope = sign * phi.derivative(margin)
            # If the right item is to win, the margin rises with its score and falls
            # with that of the left one; otherwise the reverse.
            gradient += np.bincount(right, slope, values.size)
            gradient -= np.bincount(left, slope, values.size)
        total += taken.cost * (taken.n_pairs - n_decided)
        return total / taken.n_pairs, gradient / taken.n_pairs
