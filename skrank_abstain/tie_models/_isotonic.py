"""Monotone functions from data, without a formula."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray
from skrank_abstain.pairs import GapOutcomes
from skrank_abstain.tie_models._tie_model import DifferenceModel


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
        # The slope, by which np.interp multiplies, overflows between knots that are a
        # subnormal number apart. A share of the way never does.
        inside = np.clip(x, self.x[0], self.x[-1])
        low = np.searchsorted(self.x, inside, side="right") - 1
        high = np.minimum(low + 1, self.x.size - 1)
        width = np.where(high > low, self.x[high] - self.x[low], 1.0)
        way = (inside - self.x[low]) / width
        value: FloatArray = self.y[low] + way * (self.y[high] - self.y[low])
        return value


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
    Isotonic regression gives blocks. Each is put at its mean ``x`` and joined to the
    next by a straight line [1]_, so that the curve is level nowhere. One observation of
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
    # scikit-learn's IsotonicRegression merges x that agree to some 1e-7 of its range
    # and then calls the largest of them out of bounds, which is NaN.
    found = isotonic_regression(seen / mass, weights=mass, increasing=increasing)
    block = np.repeat(np.arange(found.weights.size), np.diff(found.blocks))
    # Shares first: sums of the x themselves can overflow.
    centre = np.bincount(block, mass / found.weights[block] * at)
    level = np.asarray(found.x[found.blocks[:-1]], dtype=np.float64)
    return MonotoneCurve(np.asarray(centre, dtype=np.float64), level)


class IsotonicDifference(DifferenceModel):
    """A tie model of the score difference without a formula.

    As ``|d|`` grows, a tie and a wrong order become less probable and the order of the
    scores more probable; fitted by centred isotonic regression.

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
    P(tie), and P(order of the scores) among pairs that are not tied, are fitted
    separately. Where ties become rare, their product could make a wrong order more
    probable at a larger gap, so another isotonic regression levels it, and P(tie) is
    lowered where the three would not sum to 1. The risk of any loss then has one peak.
    One pair of each kind is added at either end, so that no probability is 0 or 1; if
    no pair is tied, P(tie) = 0. Fitted on pairs whose gaps agree within 0.2 %.

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.tie_models import IsotonicDifference
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> scores = data.data.sum(axis=1)
    >>> model = IsotonicDifference().fit(scores, data.target, data.qid)
    >>> near, far = model.proba([0.0, 3.0], [0.0, 0.0])
    >>> bool(near[1] > far[1]), bool(near[2] < far[2])
    (True, True)
    """

    _fitted_state: tuple[str, ...] = ("tie_curve_", "wrong_curve_", "n_pairs_")

    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        tied = (outcomes.outcome == 0).astype(np.float64)
        tie = (
            fit_monotone(outcomes.gap, tied, outcomes.weight, increasing=False)
            if tied.any()
            else MonotoneCurve(np.zeros(1), np.zeros(1))
        )
        # Equal scores carry no order.
        ordered = (outcomes.outcome != 0) & (outcomes.gap > 0)
        right = MonotoneCurve(np.zeros(1), np.full(1, 0.5))
        if ordered.any():
            share = (outcomes.outcome[ordered] > 0).astype(np.float64)
            right = fit_monotone(
                outcomes.gap[ordered], share, outcomes.weight[ordered], increasing=True
            )
        knots = np.union1d(tie.x, right.x)
        # The order of the scores is never less probable than the opposite.
        wrong = (1 - tie(knots)) * (1 - np.maximum(right(knots), 0.5))
        nearest = np.searchsorted((knots[1:] + knots[:-1]) / 2, outcomes.gap)
        mass = 1 + np.bincount(nearest, outcomes.weight, knots.size)
        level = isotonic_regression(wrong, weights=mass, increasing=False).x
        self.wrong_curve_ = MonotoneCurve(knots, level)
        # At the end of a levelled stretch the level is at most what was there before:
        # this falls, too.
        self.tie_curve_ = MonotoneCurve(knots, np.minimum(tie(knots), 1 - 2 * level))

    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        tie = self.tie_curve_(gap)
        coin = (1 - tie) / 2
        # Equal scores carry no order, whatever the curve says near a gap of 0.
        wrong = np.where(gap == 0, coin, np.minimum(self.wrong_curve_(gap), coin))
        return np.stack([wrong, tie, 1 - tie - wrong], axis=1)
