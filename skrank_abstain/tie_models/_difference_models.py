"""Tie models of the score difference: with a formula, or with monotone curves.

A link gives the likelihood of one pair under a classical model. ``x = scale * |d|`` is
the scaled score difference, at least 0, and ``m`` the tie parameter: ``ln theta`` for
Rao-Kupper, ``nu`` for Davidson, ``epsilon`` for Thurstone-Mosteller. Outcomes are seen
from the higher-scored item: +1 it is preferred, 0 tie, -1 the other item is. Logarithms
and products of small factors are used throughout, so that nothing cancels in the tails.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, log_expit, log_ndtr, ndtr, ndtri

from skrank_abstain._kernels import FloatArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import check_choice
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import GapOutcomes
from skrank_abstain.tie_models._tie_model import DifferenceModel, warn_of_disagreement

#: Beyond this, theta squared overflows; a tie has long been all but certain.
_LARGEST_MARGIN = 300.0
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
#: A scale this small keeps the risk strictly decreasing over the observed range.
_FLATTEST = 1e-3


class Derivatives(NamedTuple):
    """Log-likelihood of one outcome and its derivatives in ``x`` and ``m``."""

    value: FloatArray
    x: FloatArray
    m: FloatArray
    xx: FloatArray
    xm: FloatArray
    mm: FloatArray


class Link(ABC):
    """Turns a scaled difference into three probabilities."""

    @abstractmethod
    def proba(self, x: FloatArray, m: float) -> FloatArray:
        """Return probabilities of -1, 0, +1 at ``x >= 0``, shape (n, 3)."""

    @abstractmethod
    def derivatives(self, outcome: int, x: FloatArray, m: float) -> Derivatives:
        """Return the log-likelihood of ``outcome`` at ``x`` with derivatives."""

    @abstractmethod
    def from_counts(self, n_pairs: float, n_untied: float) -> float:
        """Return ``m`` from the numbers of all pairs and of untied pairs."""

    def from_tie_rate(self, n_pairs: float, n_untied: float) -> float:
        """Return the ``m`` at which equally strong items tie at the counted rate."""
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
        # One exponential for all three. The tie is a product, which does not cancel.
        theta = np.exp(min(m, _LARGEST_MARGIN))
        small = np.exp(-x)
        lose, win = small / (theta + small), 1 / (theta * small + 1)
        tie = lose * win * (-np.expm1(-2 * m) * theta * theta)
        return np.stack([lose, tie, win], axis=1)

    def log_cdf(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return log_expit(u), expit(-u), -expit(u) * expit(-u)

    def log_tie(self, x: FloatArray, m: float) -> Derivatives:
        # P(0) = F(m + x) F(m - x) (1 - exp(-2 m)) for the logistic F: a product, since
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
        # 2 Phi(m) - 1 = (N - n) / N for equally strong items: TrueSkill's draw margin,
        # in another unit.
        return float(ndtri(1 - n_untied / (2 * n_pairs)))

    def proba(self, x: FloatArray, m: float) -> FloatArray:
        # Both terms of the difference lie in the same tail, where ndtr is precise.
        return np.stack([ndtr(-x - m), ndtr(m - x) - ndtr(-m - x), ndtr(x - m)], axis=1)

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
        # nu / (2 + nu) = (N - n) / N for equally strong items. R's PlackettLuce starts
        # its Davidson fits there.
        return 2 * (n_pairs - n_untied) / n_untied

    def proba(self, x: FloatArray, m: float) -> FloatArray:
        small, root = np.exp(-x), np.exp(-x / 2)
        total = 1 + small + m * root
        return np.stack([small / total, m * root / total, 1 / total], axis=1)

    def derivatives(self, outcome: int, x: FloatArray, m: float) -> Derivatives:
        lose, _, win = self.proba(x, m).T
        per_m = np.exp(-x / 2) * win  # P(tie) / m, defined for m = 0, too
        slope = (win - lose) / 2
        value = outcome * x / 2 - (x / 2 - np.log(win))
        tie, tie2 = (1 / m, -1 / m**2) if outcome == 0 else (0.0, 0.0)
        return Derivatives(
            value=value + (np.log(m) if outcome == 0 else 0.0),
            x=outcome / 2 - slope,
            m=tie - per_m,
            xx=slope**2 - (win + lose) / 4,
            xm=slope * per_m,
            mm=tie2 + per_m**2,
        )


def n_pairs_of(pairs: GapOutcomes, *outcomes: int) -> float:
    """Return the number of pairs with one of the outcomes."""
    return float(pairs.weight[np.isin(pairs.outcome, outcomes)].sum())


def fit_maximum_likelihood(link: Link, pairs: GapOutcomes) -> tuple[float, float]:
    """Return the scale and the tie parameter of highest likelihood.

    Parameters
    ----------
    link : Link
    pairs : GapOutcomes

    Returns
    -------
    scale : float
        Multiplies the score difference; positive.
    margin : float
        The link's tie parameter; 0 when no pair is tied.

    Warns
    -----
    UserWarning
        If the scores do not agree with relevance, or no finite optimum exists: all
        pairs are tied, or the gap separates the outcomes perfectly. Half a pair of each
        outcome is then added at the median gap.

    Notes
    -----
    Newton steps in the logarithms of both parameters (trust region), with exact
    derivatives; a handful of passes over the pairs.
    """
    largest = float(pairs.gap.max())
    if largest == 0:
        n_pairs, n_unlike = float(pairs.weight.sum()), n_pairs_of(pairs, -1, 1)
        if not n_unlike:
            _warn_no_optimum()
        return 1.0, link.from_tie_rate(n_pairs, n_unlike or 0.5)
    # The root mean square, relative to the largest: the squares must not overflow.
    squares = np.average((pairs.gap / largest) ** 2, weights=pairs.weight)
    unit = largest * float(np.sqrt(squares))
    pairs = GapOutcomes(pairs.gap / unit, pairs.outcome, pairs.weight)
    if _has_no_optimum(pairs):
        _warn_no_optimum()
        pairs = _with_half_pairs(pairs)
    elif _agreement(pairs) <= 0:
        warn_of_disagreement(largest)
    if _agreement(pairs) > 0:
        scale, margin = _fit(link, pairs, None)
    else:
        # The best scale is not positive: take one that barely orders the pairs.
        scale = _FLATTEST / float(pairs.gap.max())
        margin = _fit(link, pairs, np.log(scale))[1]
    return scale / unit, margin


def _warn_no_optimum() -> None:
    warn_user(
        "The maximum-likelihood tie model does not exist on these pairs (all are "
        "tied, or their gaps separate the outcomes perfectly): half a pair "
        "of each outcome was added."
    )


def _agreement(pairs: GapOutcomes) -> float:
    """Return the slope of the likelihood at scale 0, up to a positive factor."""
    return float(np.sum(pairs.weight * pairs.outcome * pairs.gap))


def _fit(
    link: Link, pairs: GapOutcomes, fixed_log_scale: float | None
) -> tuple[float, float]:
    """Maximise over the scale, unless it is fixed, and the margin, if pairs tie."""
    groups = [
        (o, pairs.gap[rows], pairs.weight[rows])
        for o in (-1, 0, 1)
        if (rows := np.flatnonzero((pairs.outcome == o) & (pairs.weight != 0))).size
    ]
    n_pairs, n_tied = float(pairs.weight.sum()), n_pairs_of(pairs, 0)
    # Logarithms: without ties the margin is 0 and stays there.
    start = np.array([fixed_log_scale or 0.0, -np.inf])
    free = np.array([fixed_log_scale is None, n_tied > 0])
    if n_tied > 0:
        # Only a start: too low unless all items are equally strong.
        start[1] = np.log(link.from_tie_rate(n_pairs, n_pairs_of(pairs, -1, 1)))

    @lru_cache  # the optimiser asks for the slope and for the curvature at each point
    def evaluate(*theta: float) -> tuple[float, FloatArray, FloatArray]:
        full = start.copy()
        full[free] = theta
        value, slope, hessian = _negative_log_likelihood(link, groups, *np.exp(full))
        return value / n_pairs, slope[free] / n_pairs, hessian[free][:, free] / n_pairs

    if free.any():
        found = minimize(
            lambda theta: evaluate(*theta)[:2],
            start[free],
            jac=True,
            hess=lambda theta: evaluate(*theta)[2],
            method="trust-exact",
            # Both parameters are logarithms: a step of 4 is a factor of 55.
            options={"gtol": 1e-11, "maxiter": 500, "max_trust_radius": 4.0},
        ).x
        # Within 1e-8 of the optimum the value no longer changes, but its slope does.
        _, slope, hessian = evaluate(*found)
        polished = found - np.linalg.solve(hessian, slope)
        better = np.abs(evaluate(*polished)[1]).max() < np.abs(slope).max()
        start[free] = polished if better else found
    scale, margin = np.exp(start).tolist()
    return scale, margin


def _negative_log_likelihood(
    link: Link,
    groups: list[tuple[int, FloatArray, FloatArray]],
    scale: float,
    margin: float,
) -> tuple[float, FloatArray, FloatArray]:
    """Return value, gradient and Hessian in (ln scale, ln margin)."""
    value = 0.0
    gradient, hessian = np.zeros(2), np.zeros((2, 2))
    for outcome, gap, weight in groups:
        x = scale * gap
        log = link.derivatives(outcome, x, margin)
        # Sums by numpy are pairwise and serial; a dot product would wake BLAS threads.
        value -= float(np.sum(weight * log.value))
        dx, dm = np.sum(weight * log.x * x), np.sum(weight * log.m) * margin
        gradient -= [dx, dm]
        mixed = np.sum(weight * log.xm * x) * margin
        hessian -= [
            [np.sum(weight * log.xx * x * x) + dx, mixed],
            [mixed, np.sum(weight * log.mm) * margin**2 + dm],
        ]
    return value, gradient, hessian


def _has_no_optimum(pairs: GapOutcomes) -> bool:
    """Return whether the likelihood grows without bound in some direction."""
    kept = pairs.weight > 0
    gap, outcome = pairs.gap[kept], pairs.outcome[kept]
    untied = gap[outcome != 0]
    if untied.size == 0:
        return True
    if ((outcome == -1) & (gap > 0)).any():
        return False
    tied = gap[outcome == 0]
    return bool(tied.size == 0 or tied.max() <= untied.min())


def _with_half_pairs(pairs: GapOutcomes) -> GapOutcomes:
    """Add half a pair of each outcome at the median positive gap.

    If no pair is tied, no tie is added: its probability stays zero.
    """
    order = np.argsort(pairs.gap)
    total = np.cumsum(np.where(pairs.gap > 0, pairs.weight, 0.0)[order])
    typical = pairs.gap[order[np.searchsorted(total, total[-1] / 2)]]
    added = np.array([-1, 0, 1] if (pairs.outcome == 0).any() else [-1, 1])
    half = GapOutcomes(np.full(added.size, typical), added, np.full(added.size, 0.5))
    return GapOutcomes._make(map(np.concatenate, zip(pairs, half, strict=True)))


class _ParametricModel(DifferenceModel):
    """A link whose scale and tie parameter are counted or fitted."""

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        check_choice(self.calibration, "calibration", ("ml", "counts"))
        link = self._link()
        if self.calibration == "ml":
            self.scale_, self._margin = fit_maximum_likelihood(link, outcomes)
        else:
            # Unbiased for equally strong items only: with a true theta of 4 and normal
            # scores of standard deviation 2, counting gives 1.94 and maximum likelihood
            # 3.96. Ties can be predicted from 2 on.
            n_untied = n_pairs_of(outcomes, -1, 1)
            if not n_untied:
                warn_user(
                    "All pairs are tied: half a pair was counted as not tied, so that "
                    "the tie parameter stays finite."
                )
            n_pairs = float(outcomes.weight.sum())
            self.scale_ = 1.0
            self._margin = self._counted(link, n_pairs, n_untied or 0.5)

    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # at a gap that overflows the order is certain
            x = self.scale_ * gap
        return self._link().proba(x, self._margin)

    def _counted(self, link: Link, n_pairs: float, n_untied: float) -> float:
        return link.from_counts(n_pairs, n_untied)

    @abstractmethod
    def _link(self) -> Link:
        """Return the link that gives the likelihood of a pair."""


class BradleyTerry(_ParametricModel):
    """Bradley-Terry model of a pair, with ties.

    The probabilities depend on ``d = scale * (s_left - s_right)``. With
    ``ties="rao_kupper"`` [1]_ P(left) = 1 / (1 + theta exp(-d)) and P(right) =
    1 / (1 + theta exp(d)); the rest is the tie. With ``ties="davidson"`` [2]_
    P(left) : P(tie) : P(right) = exp(d / 2) : nu : exp(-d / 2).

    Parameters
    ----------
    ties : {"rao_kupper", "davidson"}, default="rao_kupper"
        Model of a tie.
    calibration : {"ml", "counts"}, default="ml"
        ``"ml"`` fits the scale and the tie parameter by maximum likelihood on the
        calibration pairs. ``"counts"`` is our reading of [3]_: scale 1, and
        theta = (2N - n) / n from n untied pairs out of N. The paper does not say which
        part of the data is counted. Theta is too low unless all items are equally
        strong.

    Attributes
    ----------
    scale_ : float
        Factor on the score difference.
    theta_ : float
        Tie parameter, at least 1; only for ``ties="rao_kupper"``. Above 2 a tie can
        be the most probable outcome.
    epsilon_ : float
        ln(theta); only for ``ties="rao_kupper"``.
    nu_ : float
        Tie parameter, at least 0; only for ``ties="davidson"``. Above 1 a tie can be
        the most probable outcome.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    ThurstoneMosteller : The same with normal instead of logistic noise.

    Notes
    -----
    Without a tied pair theta = 1 (nu = 0) and P(tie) = 0. If the likelihood has no
    finite optimum (all pairs are tied, or the gap separates the outcomes perfectly),
    half a pair of each order is added at the median gap, and half a tied pair if any
    pair is tied, with a warning. In ``"counts"`` mode, if all pairs are tied, half a
    pair counts as untied.

    References
    ----------
    .. [1] Rao and Kupper (1967). "Ties in Paired-Comparison Experiments". JASA 62.
    .. [2] Davidson (1970). "On Extending the Bradley-Terry Model to Accommodate Ties
       in Paired Comparison Experiments". JASA 65.
    .. [3] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.tie_models import BradleyTerry
    >>> model = BradleyTerry(calibration="counts").fit([2.0, 1.0, 0.0], [1, 1, 0])
    >>> model.theta_
    2.0
    >>> model.proba([2.0], [0.0]).round(3)
    array([[0.063, 0.15 , 0.787]])
    """

    def __init__(self, *, ties: str = "rao_kupper", calibration: str = "ml") -> None:
        self.ties = ties
        self.calibration = calibration

    def _link(self) -> Link:
        check_choice(self.ties, "ties", ("rao_kupper", "davidson"))
        return RaoKupper() if self.ties == "rao_kupper" else Davidson()

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        super().fit_outcomes(outcomes)
        if self.ties == "davidson":
            self.nu_ = self._margin
        else:
            self.epsilon_, self.theta_ = self._margin, float(np.exp(self._margin))


class ThurstoneMosteller(_ParametricModel):
    """Thurstone-Mosteller model of a pair, with ties.

    P(left) = Phi(d - epsilon) and P(right) = Phi(-d - epsilon); the rest is the tie.
    ``d = scale * (s_left - s_right)``, and Phi is the standard normal cdf.

    Parameters
    ----------
    calibration : {"ml", "counts"}, default="ml"
        ``"ml"`` fits scale and margin by maximum likelihood. ``"counts"`` is our
        reading of [1]_: scale 1 and epsilon from n untied pairs out of N, by
        ``margin``.
    margin : {"log_theta", "tie_rate"}, default="log_theta"
        How ``calibration="counts"`` computes epsilon. ``"log_theta"``:
        ln((2N - n) / n), as for Bradley-Terry. ``"tie_rate"``: the epsilon at which
        equally strong items tie as often as counted, 2 Phi(epsilon) - 1 = (N - n) / N.

    Attributes
    ----------
    scale_ : float
        Factor on the score difference.
    epsilon_ : float
        Margin, at least 0. Above 0.4307 a tie can be the most probable outcome.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    BradleyTerry : The same with logistic instead of normal noise.

    Notes
    -----
    [1]_ states neither how the counts give epsilon nor the unit of the difference
    (Thurstone's case V divides it by the square root of 2). The entropies that it
    reports fit ``"log_theta"``: with 5 of 7 pairs tied (theta = 6) the entropy at equal
    scores is 0.45 of the largest possible, and 0.995 under ``"tie_rate"``.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.tie_models import ThurstoneMosteller
    >>> model = ThurstoneMosteller(calibration="counts")
    >>> model.fit([2.0, 1.0, 0.0], [1, 1, 0]).epsilon_ # ln 2
    0.693...
    >>> model.set_params(margin="tie_rate").fit([2.0, 1.0, 0.0], [1, 1, 0]).epsilon_
    0.430...
    """

    def __init__(self, *, calibration: str = "ml", margin: str = "log_theta") -> None:
        self.calibration = calibration
        self.margin = margin

    def _link(self) -> Link:
        check_choice(self.margin, "margin", ("log_theta", "tie_rate"))
        return Thurstone()

    def _counted(self, link: Link, n_pairs: float, n_untied: float) -> float:
        by_rate = self.margin == "tie_rate"
        return (link.from_tie_rate if by_rate else link.from_counts)(n_pairs, n_untied)

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        super().fit_outcomes(outcomes)
        self.epsilon_ = self._margin


@dataclass(frozen=True)
class MonotoneCurve(Value):
    """Straight lines between points, level beyond the first and the last.

    Attributes
    ----------
    x, y : ndarray of shape (n_knots,), float64
        ``x`` ascending, ``y`` monotone.
    """

    x: FloatArray
    y: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the value at each ``x``."""
        # np.interp multiplies by the slope, which overflows between knots a subnormal
        # number apart. A share of the way never does.
        inside = np.clip(x, self.x[0], self.x[-1])
        low = np.searchsorted(self.x, inside, side="right") - 1
        high = np.minimum(low + 1, self.x.size - 1)
        width = np.where(high > low, self.x[high] - self.x[low], 1.0)
        way = (inside - self.x[low]) / width
        return np.asarray(self.y[low] + way * (self.y[high] - self.y[low]))


def fit_monotone(
    x: FloatArray, share: FloatArray, weight: FloatArray, *, increasing: bool
) -> MonotoneCurve:
    """Fit a monotone curve to shares by centred isotonic regression.

    Parameters
    ----------
    x : ndarray of shape (n,), float64
    share : ndarray of shape (n,), float64
        Observed shares, in [0, 1].
    weight : ndarray of shape (n,), float64
        Number of observations behind each share.
    increasing : bool

    Returns
    -------
    curve : MonotoneCurve
        Strictly between 0 and 1.

    Notes
    -----
    Isotonic regression gives blocks. Each stands at its mean ``x``, and a straight line
    joins it to the next [1]_, so that the curve is nowhere level. One observation of
    each kind is added at the smallest and at the largest ``x``. O(n log n).

    References
    ----------
    .. [1] Oron and Flournoy (2017). "Centered Isotonic Regression: Point and Interval
       Estimation for Dose-Response Studies". Statistics in Biopharmaceutical Research
       9(3).
    """
    at, entry = np.unique(x, return_inverse=True)
    mass = np.bincount(entry.reshape(-1), weight)
    seen = np.bincount(entry.reshape(-1), weight * share)
    ends = np.unique([0, at.size - 1])
    mass[ends] += 4.0 / ends.size
    seen[ends] += 2.0 / ends.size
    # scikit-learn's IsotonicRegression merges x within some 1e-7 of its range, and then
    # gives NaN at the largest of them.
    found = isotonic_regression(seen / mass, weights=mass, increasing=increasing)
    block = np.repeat(np.arange(found.weights.size), np.diff(found.blocks))
    # Shares first: a sum of the x themselves could overflow.
    centre = np.bincount(block, mass / found.weights[block] * at)
    level = np.asarray(found.x[found.blocks[:-1]], dtype=np.float64)
    return MonotoneCurve(np.asarray(centre, dtype=np.float64), level)


class IsotonicDifference(DifferenceModel):
    """A tie model of the score difference without a formula.

    As ``|d|`` grows, ties and wrong orders become less probable and the order of the
    scores more probable. Fitted by centred isotonic regression.

    Attributes
    ----------
    tie_curve_ : MonotoneCurve
        P(tie) by ``|d|``: knots ``x`` and ``y``.
    wrong_curve_ : MonotoneCurve
        P(lower-scored item preferred) by ``|d|`` above 0.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    BradleyTerry : Two parameters; better on few pairs.
    GradedRelevance : Uses both scores, not only their difference.

    Notes
    -----
    P(tie) is fitted to all pairs, P(order of the scores) to the untied ones. As ties
    become rare, the product of the two could make a wrong order more probable at a
    larger gap: another isotonic regression levels it, and P(tie) is lowered wherever
    the three would not sum to 1. The risk of any loss then has one peak. One pair of
    each kind is added at either end, so that no probability is 0 or 1; without a tied
    pair P(tie) = 0. Pairs whose gaps agree within 0.2 % are fitted as one entry.

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.tie_models import IsotonicDifference
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> scores = data.data.sum(axis=1)
    >>> model = IsotonicDifference().fit(scores, data.target, qid=data.qid)
    >>> near, far = model.proba([0.0, 3.0], [0.0, 0.0])
    >>> bool(near[1] > far[1]), bool(near[2] < far[2])
    (True, True)
    """

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        tied = (outcomes.outcome == 0).astype(np.float64)
        tie = MonotoneCurve(np.zeros(1), np.zeros(1))
        if tied.any():
            tie = fit_monotone(outcomes.gap, tied, outcomes.weight, increasing=False)
        # Equal scores carry no order.
        ordered = (outcomes.outcome != 0) & (outcomes.gap > 0)
        right = MonotoneCurve(np.zeros(1), np.full(1, 0.5))
        if ordered.any():
            gap, outcome, weight = (each[ordered] for each in outcomes)
            right = fit_monotone(gap, 1.0 * (outcome > 0), weight, increasing=True)
        knots = np.union1d(tie.x, right.x)
        # The order of the scores is never less probable than the opposite.
        wrong = (1 - tie(knots)) * (1 - np.maximum(right(knots), 0.5))
        nearest = np.searchsorted((knots[1:] + knots[:-1]) / 2, outcomes.gap)
        mass = 1 + np.bincount(nearest, outcomes.weight, knots.size)
        level = isotonic_regression(wrong, weights=mass, increasing=False).x
        self.wrong_curve_ = MonotoneCurve(knots, level)
        # At the end of a levelled stretch the level is at most the curve before it, so
        # that P(tie) falls, too.
        self.tie_curve_ = MonotoneCurve(knots, np.minimum(tie(knots), 1 - 2 * level))

    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        tie = self.tie_curve_(gap)
        coin = (1 - tie) / 2
        # Equal scores carry no order, whatever the curve says near a gap of 0.
        wrong = np.where(gap == 0, coin, np.minimum(self.wrong_curve_(gap), coin))
        return np.stack([wrong, tie, 1 - tie - wrong], axis=1)
