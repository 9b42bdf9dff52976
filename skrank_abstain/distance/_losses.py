"""Losses of the margin of a pair, their means, and what they say about misranking.

A pair (i, j) is to be ordered j before i where y_j >= y_i, and i before j elsewhere; so
is the prediction, by the scores. With features, the pairs of items that are close to
each other cost a price instead.

For a hypothesis set H, a class of scoring functions, a loss L and a surrogate Phi of
it, each with abstention from the pairs at most gamma apart, an H-consistency bound is

    R_L(h) - R_L(H) + M_L  <=  Gamma(R_Phi(h) - R_Phi(H) + M_Phi)   for every h in H,

R(H) the smallest risk in H and M = R(H) - E[smallest conditional risk] its
minimizability gap. Both sides are what h loses, pair by pair, on the best difference of
scores that H can give that pair alone. H is described by its reach: the largest
difference of scores that it can give two items at a distance.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_finite,
    check_not_negative,
    check_positive,
    check_sample_weight,
)
from skrank_abstain.distance._pairs import check_gamma, take_pairs
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
            return np.exp(-_numbers(margin))

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
            return 2 * expit(-2 * self.k * _numbers(margin))

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -k / cosh(k t)^2."""
        with np.errstate(over="ignore"):
            twice = 2 * self.k * _numbers(margin)
        # 1 / cosh^2 as a product of two sigmoids, of which neither overflows.
        return -4 * self.k * expit(twice) * expit(-twice)

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
        return -log_expit(_numbers(margin))

    def derivative(self, margin: ArrayLike) -> FloatArray:
        """Return -1 / (1 + exp(t))."""
        return -expit(-_numbers(margin))

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
        Ordered pairs (left, right) of row positions, as a sample drawn from them; None
        for all within queries.
    pair_labels : array-like of shape (n_pairs,), default=None
        Label of each of ``pairs``: +1 if the left item is preferred, -1 if the right
        one is. Labels may be noisy and form cycles.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If a number is not one, or a row position not an integer.
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
    taken = take_pairs(y, scores, qid, setting, pairs, pair_labels, abstention)
    if taken.n_pairs == 0:
        return undefined("misranking loss")
    pairwise = setting == "pairwise"
    if taken.chosen is None and taken.X is None:
        items = Scores(taken.scores, taken.queries, y=taken.relevance)
        # Cut at 0 and just above: all pairs, and those of different scores. Counted by
        # sorting, in O(n log n).
        cuts = np.array([0.0, np.nextafter(0.0, 1.0)])
        counts = count_outcomes(items, cuts, 0.0).sum(axis=0)
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
            share = np.where(first == second, 0.5, (label < 0) != (second > first))
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


#: Rounding of the difference of two risks.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class LinearScorers:
    """Linear scoring functions w . x + b with a bounded norm of w: a hypothesis set.

    Parameters
    ----------
    weight_norm : float
        Bound W on the l_q norm of w, positive; items are compared in the dual l_p norm,
        1 / p + 1 / q = 1. The intercept cancels.

    Raises
    ------
    TypeError
        If ``weight_norm`` is not a number.
    ValueError
        If it is not positive and finite.

    Notes
    -----
    By Hoelder's inequality w . (x - x') is at most W times the l_p distance of x and
    x', and some w attains it: that is the reach (Mao, Mohri and Zhong, 2023). O(1).

    Examples
    --------
    >>> from skrank_abstain.distance import LinearScorers
    >>> LinearScorers(2.0).reach([0.0, 0.5])
    array([0., 1.])
    """

    weight_norm: float

    def __post_init__(self) -> None:
        check_positive(self.weight_norm, "weight_norm")

    def reach(self, distance: ArrayLike) -> FloatArray:
        """Return the largest difference of scores of items so far apart."""
        return self.weight_norm * np.asarray(distance, dtype=np.float64)


@dataclass(frozen=True)
class OneHiddenLayerScorers:
    """Networks with one hidden layer of rectified linear units.

    They are sums of u_j max(0, w_j . x + b_j): a hypothesis set.

    Parameters
    ----------
    weight_norm : float
        Bound W on the l_q norm of each w_j, positive.
    output_norm : float
        Bound Lambda on the l_1 norm of u, positive.
    bias : float
        Bound B on the size of each b_j, at least ``weight_norm``.

    Raises
    ------
    TypeError
        If a parameter is not a number.
    ValueError
        If a number is not positive and finite, or ``bias`` less than ``weight_norm``.

    Notes
    -----
    Items lie in the unit ball of the l_p norm, 1 / p + 1 / q = 1. There a bias of W
    keeps a unit active at both items of a pair, whatever they are, so that the reach is
    Lambda W times the l_p distance. With smaller biases it can be less, and the bounds
    fail: the paper (Mao, Mohri and Zhong, 2023) needs ``bias >= weight_norm`` without
    saying so. O(1).

    Examples
    --------
    >>> from skrank_abstain.distance import OneHiddenLayerScorers
    >>> OneHiddenLayerScorers(2.0, 3.0, bias=2.0).reach(0.5).item()
    3.0
    """

    weight_norm: float
    output_norm: float
    bias: float

    def __post_init__(self) -> None:
        for name in ("weight_norm", "output_norm", "bias"):
            check_positive(getattr(self, name), name)
        if self.bias < self.weight_norm:
            raise ValueError(
                f"bias must be at least weight_norm = {self.weight_norm}, "
                f"got {self.bias!r}."
            )

    def reach(self, distance: ArrayLike) -> FloatArray:
        """Return the largest difference of scores of items so far apart."""
        return LinearScorers(self.output_norm * self.weight_norm).reach(distance)


def minimal_conditional_risk(
    weight: ArrayLike,
    opposite: ArrayLike,
    reach: ArrayLike,
    surrogate: str | MarginLoss | None = None,
    *,
    setting: str = "pairwise",
) -> FloatArray:
    """Return the smallest risk of one pair that a hypothesis set can reach.

    Lower is better. Minimised over differences of scores between -reach and reach.

    Parameters
    ----------
    weight, opposite : array-like
        Probabilities of the two orders, each at least 0: eta and 1 - eta for pairs that
        carry a label; eta (1 - eta') and eta' (1 - eta) for items that do. A positive
        difference of scores is right with ``weight``. For pairs, eta of Mao, Mohri and
        Zhong (2023) is that of the second item, the pair label -1 of this package.
    reach : array-like
        Largest difference of scores, at least 0 and finite, as ``scorers.reach`` of the
        distance.
    surrogate : str, MarginLoss or None, default=None
        The loss; None for misranking, where any reach but 0 is enough.
    setting : {"pairwise", "bipartite"}, default="pairwise"
        Whether pairs, or items, carry labels: what misranking costs at a reach of 0.
        Equal scores give a pair the order of ``weight``, so that the risk is
        ``opposite``; of items they get half right, so that it is the mean of the two.

    Returns
    -------
    risk : ndarray of the broadcast shape, float64

    Raises
    ------
    ValueError
        If a number is negative or not finite, or ``surrogate`` or ``setting`` is
        unknown.

    See Also
    --------
    consistency_bound : Compares what a scorer loses on these.

    Notes
    -----
    Of a Phi(d) + b Phi(-d) the minimiser in [-u, u] is the point nearest to the
    minimiser over all d: sign(a - b) for the hinge, half of ln(a / b) for the
    exponential, ln(a / b) for the logistic and infinity for the sigmoid loss. So with a
    + b = 1 and a - b = e >= 0: 1 - e min(u, 1) for the hinge, 1 - e tanh(k u) for the
    sigmoid, 2 sqrt(a b) for the exponential loss where its minimiser is in reach (Mao,
    Mohri and Zhong, 2023), and b for misranking (Lemma C.1), where sgn(0) = +1 decides
    at a reach of 0. A pair that is abstained from costs the price instead. O(1) for
    each number.

    Examples
    --------
    >>> from skrank_abstain.distance import minimal_conditional_risk
    >>> minimal_conditional_risk(0.9, 0.1, [0.5, 1, 2], "hinge").round(6)
    array([0.6, 0.2, 0.2])
    >>> minimal_conditional_risk(0.1, 0.9, [0.5, 0.0])
    array([0.1, 0.9])
    >>> minimal_conditional_risk(0.1, 0.9, [0.5, 0.0], setting="bipartite")
    array([0.1, 0.5])
    """
    check_choice(setting, "setting", ("pairwise", "bipartite"))
    given = {"weight": weight, "opposite": opposite, "reach": reach}
    a, b, u = np.broadcast_arrays(*(_non_negative(given[k], k) for k in given))
    if surrogate is None:
        # Any difference of scores at all gives the likelier order.
        of_equal_scores = b if setting == "pairwise" else (a + b) / 2
        return np.where(u > 0, np.minimum(a, b), of_equal_scores)
    loss = check_surrogate(surrogate)
    # Convex losses have no second minimum in the interval; the sigmoid loss falls all
    # the way to its infinite best margin.
    margin = np.clip(loss.best_margin(a, b), -u, u)
    with np.errstate(invalid="ignore"):  # no weight times an infinite loss
        risk: FloatArray = np.where(a > 0, a * loss.value(margin), 0.0)
        return risk + np.where(b > 0, b * loss.value(-margin), 0.0)


def minimizability_gap(
    best_risk: float, minimal_risks: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return how far the best scorer of a set is from the best scorer of each pair.

    Lower is better, at least 0.

    Parameters
    ----------
    best_risk : float
        The smallest risk that a scorer of the hypothesis set has.
    minimal_risks : array-like of shape (n_pairs,)
        What :func:`minimal_conditional_risk` gives for each pair, and the price of
        abstention for pairs that are abstained from.
    sample_weight : array-like of shape (n_pairs,), default=None
        Probabilities of the pairs, or weights in proportion to them.

    Returns
    -------
    gap : float

    Raises
    ------
    ValueError
        If ``best_risk`` is less than the mean of ``minimal_risks`` by more than
        rounding, or an argument is not finite.

    See Also
    --------
    consistency_bound : Takes an excess plus this gap. Their sum is the risk of the
        scorer less the mean of ``minimal_risks``, and needs no ``best_risk``.

    Notes
    -----
    M = R(H) - E[smallest conditional risk] (Mao, Mohri and Zhong, 2023). O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.distance import minimizability_gap
    >>> minimizability_gap(0.5, [0.0, 0.5])
    0.25
    """
    risks = check_finite(minimal_risks, "minimal_risks", ("n_pairs",))
    weight = check_sample_weight(sample_weight, risks.size, unit="pair")
    mean = float(np.average(risks, weights=weight))
    best = float(check_finite(best_risk, "best_risk", ()))
    # No scorer beats the best one of each pair. If one seems to, the arguments belong
    # to different data, which a gap of 0 would hide.
    if best < mean - 1e-9 * (1 + abs(mean)):
        raise ValueError(
            f"best_risk must be at least the mean of minimal_risks = {mean}, "
            f"got {best_risk!r}."
        )
    return max(best - mean, 0.0)


def _non_negative(values: ArrayLike, name: str) -> FloatArray:
    """Return finite numbers of any shape that are at least 0."""
    return check_not_negative(check_finite(values, name), name)


def consistency_bound(
    excess: ArrayLike,
    surrogate: str | MarginLoss,
    scorers: LinearScorers | OneHiddenLayerScorers,
    *,
    gamma: float,
    setting: str = "pairwise",
    as_printed: bool = False,
) -> FloatArray:
    """Bound the excess misranking risk by the excess surrogate risk: Gamma.

    Lower is tighter: the H-consistency bound of a hypothesis set H. Both excesses
    include their minimizability gaps.

    Parameters
    ----------
    excess : array-like
        Excess of the surrogate risk over the best of the hypothesis set, plus its
        minimizability gap; at least 0.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss
        What was minimised: one of these four losses.
    scorers : LinearScorers or OneHiddenLayerScorers
        The hypothesis set.
    gamma : float
        Pairs at most so far apart are abstained from, at least 0. At 0 no loss has a
        finite bound.
    setting : {"pairwise", "bipartite"}, default="pairwise"
        Whether pairs, or items, carry labels.
    as_printed : bool, default=False
        Give the exponential loss the Gamma of the paper. In the bipartite setting
        **that is not a valid bound**.

    Returns
    -------
    bound : ndarray of the shape of ``excess``, float64

    Raises
    ------
    TypeError
        If ``scorers`` is of another class, or ``gamma`` not a number.
    ValueError
        If ``excess`` (but for rounding) or ``gamma`` is negative, ``surrogate`` or
        ``setting`` unknown, or ``as_printed`` comes with the logistic loss.

    See Also
    --------
    minimal_conditional_risk, minimizability_gap : What the excesses are made of.
    negative_example : Why there is no bound without abstention.

    Notes
    -----
    With u = ``scorers.reach(gamma)`` and s the excess, by Theorem 2.1 (pairwise) and
    Theorem 3.1 (bipartite) of Mao, Mohri and Zhong (2023):

    - hinge: s / min(u, 1);
    - sigmoid: s / tanh(k u);
    - exponential, pairwise: the inverse of the calibration function
      1 - sqrt(1 - t^2) for t <= tanh(u), and its tangent beyond. That is
      sqrt(s (2 - s)) for s <= 1 - 1 / cosh(u), and s / sinh(u) + tanh(u / 2) beyond:
      less than max(sqrt(2 s), 2 s coth(u)) of Theorem 2.1;
    - exponential, bipartite: the calibration function is t^2 up to tanh(u / 2) and
      t sinh(u) - (1 + t^2) (cosh(u) - 1) / 2 beyond. The inverse of its convex hull is
      sqrt(s) for s <= a^2, a = 1 - exp(-u / 2), and (s + a^2) / (2 a) beyond.
      Theorem 3.1 prints max(sqrt(s), s coth(u)), which two items violate: eta = 1 and
      0, scores all but equal in the wrong order. Where pairs are of different items
      the misranking excess is 1, the surrogate excess 1 - exp(-u), and the printed
      bound less than 1 at every u. Where an item may be drawn twice both are halved,
      and the printed bound is less than 0.5 for u < ln 2;
    - logistic, not in the paper: the inverse of the calibration
      function psi(t) = ln 2 less the entropy of (1 + t) / 2, for t <= tanh(u / 2),
      and its tangent beyond. In the bipartite setting the weights of a pair,
      a = eta (1 - eta') and b = eta' (1 - eta), have a - b = t = eta - eta' and
      a + b <= (1 + t^2) / 2, with equality for eta + eta' = 1. The excess,
      (a + b) psi(t / (a + b)), falls as a + b grows, since psi is convex and psi(0)
      = 0: it is at least that at w = (1 + t^2) / 2. The bound is the inverse of the
      convex hull of w psi(t / w).

    The losses are those of the paper: sgn(0) = +1 in the pairwise setting, so that
    equal scores prefer the second item, and half an error for equal scores in the
    bipartite one. The surrogate risk may be with abstention (near pairs cost the price,
    as in `surrogate_loss` with ``X``) or without (all pairs cost the surrogate,
    equation (3) of the paper): near pairs add nothing to the left
    side and nothing negative to the right. But the risk of the scorer and the smallest
    one must go by the same convention; else ``excess`` is of no use.

    Examples
    --------
    >>> from skrank_abstain.distance import LinearScorers, consistency_bound
    >>> scorers = LinearScorers(weight_norm=1.0)
    >>> consistency_bound([0.1, 0.2], "hinge", scorers, gamma=0.5)
    array([0.2, 0.4])
    >>> for as_printed in (False, True):
    ...     bound = consistency_bound(
    ...         0.1967, "exponential", scorers, gamma=0.5, setting="bipartite",
    ...         as_printed=as_printed,
    ...     )
    ...     print(round(float(bound), 3))
    0.555
    0.444
    """
    loss = check_surrogate(surrogate)
    s = check_finite(excess, "excess")
    # The difference of two equal risks may be just below 0.
    s = _non_negative(np.where((s < 0) & (s > -_ROUNDING), 0.0, s), "excess")
    u = float(scorers.reach(check_gamma(gamma)))
    check_choice(setting, "setting", ("pairwise", "bipartite"))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Theorem 2.1 (pairwise) and 3.1 (bipartite), which agree here.
        if isinstance(loss, Hinge):
            bound = s / np.float64(min(u, 1.0))
        elif isinstance(loss, Sigmoid):
            bound = s / np.tanh(loss.k * u)
        elif isinstance(loss, Logistic) and not as_printed:
            bound = (_logistic if setting == "pairwise" else _logistic_bipartite)(s, u)
        elif not isinstance(loss, Exponential):
            raise ValueError(
                "surrogate must be the hinge, exponential, sigmoid or logistic loss, "
                f"of which the last has no printed bound, got {surrogate!r} with "
                f"as_printed={as_printed}."
            )
        # As printed, the pairwise bound is valid but loose, and the bipartite one
        # fails.
        elif as_printed:
            twice = 2.0 if setting == "pairwise" else 1.0
            bound = np.maximum(np.sqrt(twice * s), twice * s / np.tanh(u))
        elif setting == "pairwise":
            bound = _exponential_pairwise(s, u)
        else:
            bound = _exponential_bipartite(s, u)
        # Without surrogate excess there is no misranking excess; at a reach of 0 the
        # formulas would give 0 / 0.
        return np.where(s == 0, 0.0, bound)


def _exponential_pairwise(s: FloatArray, u: float) -> FloatArray:
    knee = np.tanh(u) * np.tanh(u / 2)  # 1 - 1 / cosh(u), without cancellation
    # Inverse of 1 - sqrt(1 - t^2); beyond the knee the minimiser is out of reach.
    curve = np.sqrt(s * (2 - np.minimum(s, 1.0)))
    return np.asarray(np.where(s <= knee, curve, s / np.sinh(u) + np.tanh(u / 2)))


def _exponential_bipartite(s: FloatArray, u: float) -> FloatArray:
    # The calibration function is concave beyond tanh(u / 2): its convex hull leaves
    # t^2 along a tangent at t = a.
    a = -np.expm1(-u / 2)
    return np.where(s <= a * a, np.sqrt(s), (s / a + a) / 2)


def _logistic(s: FloatArray, u: float) -> FloatArray:
    # ln 2 less the smallest risk for weights (1 + t) / 2 and (1 - t) / 2, at the t
    # whose minimiser is u; tanh is 1 long before the cut.
    cut = min(u, 700.0)
    knee = -np.log1p(np.expm1(-cut) / 2) - cut * expit(-cut)

    def entropy_lost(t: FloatArray) -> FloatArray:
        return t * np.arctanh(t) + np.log1p(-t * t) / 2

    lost = np.minimum(s, knee)
    # The function is more than t^2 / 2, so that tiny values keep all their digits.
    curve = _bisect(entropy_lost, lost, np.minimum(np.sqrt(2 * lost), 1 - 2.0**-53))
    return np.where(s <= knee, curve, np.tanh(u / 2) + 2 * (s - knee) / u)


def _logistic_bipartite(s: FloatArray, u: float) -> FloatArray:
    # Two items of eta = (1 + t) / 2 and (1 - t) / 2 have the largest weights of any two
    # whose difference is t, a + b = (1 + t^2) / 2, and the smallest excess, psi(t).
    # psi is convex up to t = .75, or to where the minimiser is u, and concave beyond:
    # its convex hull leaves it at t = a along the tangent that meets psi(1).
    highest = -np.log1p(np.expm1(-u) / 2)

    def log_ratio(t: FloatArray) -> FloatArray:
        return np.log1p(-t * t) - np.log1p(t * t)

    def psi(t: FloatArray) -> FloatArray:
        return 2 * t * np.arctanh(t) + (1 + t * t) / 2 * log_ratio(t)

    def tangent_at_one(t: FloatArray) -> FloatArray:
        slope = 2 * np.arctanh(t) + t * log_ratio(t)
        return psi(t) + slope * (1 - t)

    most = np.minimum(np.tanh(u / 4), 0.75)
    a = _bisect(tangent_at_one, np.asarray(highest), most)
    knee = psi(a)
    curve = _bisect(psi, np.minimum(s, knee), a)
    return np.where(s <= knee, curve, a + (s - knee) * (1 - a) / (highest - knee))


def _bisect(
    function: Callable[[FloatArray], FloatArray], target: FloatArray, most: FloatArray
) -> FloatArray:
    """Return where an increasing function on [0, most] takes each value."""
    low, high = np.zeros_like(target), np.full_like(target, most)
    for _ in range(100):
        middle = (low + high) / 2
        below = function(middle) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


class NegativeExample(NamedTuple):
    """Two items that no surrogate can tell apart: see `negative_example`."""

    better: FloatArray
    worse: FloatArray
    distance: float
    surrogate_excess: float
    misranking_excess: float


def negative_example(
    epsilon: float,
    scorers: LinearScorers | OneHiddenLayerScorers,
    surrogate: str | MarginLoss,
    *,
    setting: str = "pairwise",
    gamma: float = 0.0,
) -> NegativeExample:
    """Return two items so close that no surrogate can tell right order from wrong.

    Parameters
    ----------
    epsilon : float
        The scores of the items differ by less than this in the whole hypothesis set;
        positive.
    scorers : LinearScorers or OneHiddenLayerScorers
        The hypothesis set.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss
        What would be minimised.
    setting : {"pairwise", "bipartite"}, default="pairwise"
        Whether the pair carries the label, or the items do.
    gamma : float, default=0.0
        Abstain from pairs at most so far apart.

    Returns
    -------
    example : NegativeExample
        ``better`` and ``worse``, of shape (1,): features of the two items, in the unit
        ball; the better always wins. ``distance``: between the two. For the scorer
        that is 0 everywhere, ``surrogate_excess`` and ``misranking_excess``: its risk
        less the smallest of the hypothesis set.

    Raises
    ------
    TypeError
        If a parameter is not a number, or ``scorers`` is of another class.
    ValueError
        If ``epsilon`` is not positive and finite, ``gamma`` is negative, or a choice is
        unknown.

    See Also
    --------
    consistency_bound : Holds with abstention.

    Notes
    -----
    From the proofs of Theorem 4.1 (pairwise) and Theorem 4.3 (bipartite) of Mao, Mohri
    and Zhong (2023). The better item always wins, at most epsilon / 2 of scores apart.
    The scorer that is 0 everywhere has the surrogate risk Phi(0), the best of the
    hypothesis set Phi of the reach: the excess goes to 0 with epsilon. Its misranking
    excess stays 1 (pairwise) or 1/2 (bipartite: a tie is half wrong). The 1 is that of
    the ordered pair (better, worse) alone, of which equal scores prefer the second
    item, by sgn(0) = +1; of the pair (worse, better) the same scorer makes no error,
    and of both orders 1/2.

    What follows is a theorem about hypothesis sets that contain 0, are equicontinuous
    at an interior point of the space, and regular: some member orders any two different
    items one way, and some the other. For a Phi that is non-increasing and continuous
    at 0, every bound by a function f of the surrogate excess alone, non-decreasing and
    continuous at 0, has f >= 1 (or 1/2) everywhere: it says nothing. Weights of bounded
    norm make such sets. All continuous scorers together are not equicontinuous; the
    bound does not cover them. With abstention from items that close both losses are
    the price, and both excesses 0.

    Examples
    --------
    >>> from skrank_abstain.distance import LinearScorers, negative_example
    >>> example = negative_example(1e-3, LinearScorers(1.0), "hinge")
    >>> round(example.surrogate_excess, 9), example.misranking_excess
    (0.0005, 1.0)
    >>> abstains = negative_example(1e-3, LinearScorers(1.0), "hinge", gamma=0.01)
    >>> abstains.surrogate_excess, abstains.misranking_excess
    (0.0, 0.0)
    """
    loss = check_surrogate(surrogate)
    check_choice(setting, "setting", ("pairwise", "bipartite"))
    slope = float(scorers.reach(1.0))
    # Half, so that the scores differ by strictly less; items stay in the unit ball.
    distance = min(check_positive(epsilon, "epsilon") / slope, 1.0) / 2
    items = np.array([distance]), np.zeros(1)
    # Abstained from: both losses are the price, whatever the scorer.
    if distance <= check_gamma(gamma):
        return NegativeExample(*items, distance, 0.0, 0.0)
    best = minimal_conditional_risk(1.0, 0.0, scorers.reach(distance), loss)
    lost = 1.0 if setting == "pairwise" else 0.5
    return NegativeExample(*items, distance, float(loss.value(0.0) - best), lost)
