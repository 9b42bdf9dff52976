"""Hypothesis sets, and the smallest risk of one pair within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    check_choice,
    check_finite,
    check_not_negative,
    check_positive,
    check_sample_weight,
    shown,
)
from skrank_abstain.distance._margins import (
    MarginLoss,
    check_surrogate,
)


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
    x', and some w attains it: that is the reach [1]_. O(1).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

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
    fail: the paper [1]_ needs ``bias >= weight_norm`` without saying so. O(1).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

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
        return (
            self.output_norm * self.weight_norm * np.asarray(distance, dtype=np.float64)
        )


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
        difference of scores is right with ``weight``. For pairs, eta of [1]_ is that of
        the second item, the pair label -1 of this package.
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
    exponential, ln(a / b) for the logistic and infinity for the sigmoid loss. So with
    a + b = 1 and a - b = e >= 0: 1 - e min(u, 1) for the hinge, 1 - e tanh(k u) for the
    sigmoid, 2 sqrt(a b) for the exponential loss where its minimiser is in reach [1]_,
    and b for misranking (Lemma C.1), where sgn(0) = +1 decides at a reach of 0. A pair
    that is abstained from costs the price instead. O(1) for each number.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

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
    a = non_negative(weight, "weight")
    b = non_negative(opposite, "opposite")
    u = non_negative(reach, "reach")
    a, b, u = np.broadcast_arrays(a, b, u)
    if surrogate is None:
        # Any difference of scores at all gives the likelier order.
        of_equal_scores = b if setting == "pairwise" else (a + b) / 2
        least: FloatArray = np.where(u > 0, np.minimum(a, b), of_equal_scores)
        return least
    loss = check_surrogate(surrogate)
    # Convex losses have no second minimum in the interval; the sigmoid loss falls all
    # the way to its infinite best margin.
    margin = np.clip(loss.best_margin(a, b), -u, u)
    with np.errstate(invalid="ignore"):  # no weight times an infinite loss
        risk: FloatArray = np.where(a > 0, a * loss.value(margin), 0.0)
        return risk + np.where(b > 0, b * loss.value(-margin), 0.0)


def minimizability_gap(
    best_risk: float,
    minimal_risks: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return how far the best scorer of a set is from the best for each pair alone.

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
    M = R(H) - E[smallest conditional risk] [1]_. O(n_pairs).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import minimizability_gap
    >>> minimizability_gap(0.5, [0.0, 0.5])
    0.25
    """
    risks = check_finite(minimal_risks, "minimal_risks", ("n_pairs",))
    weight = check_sample_weight(sample_weight, risks.size, unit="pair")
    if weight is not None and not weight.any():
        raise ValueError("sample_weight must have a positive sum, got 0.")
    mean = float(np.average(risks, weights=weight))
    best = float(check_finite(best_risk, "best_risk", ()))
    # No scorer beats the best for each pair alone: else the arguments are of different
    # data, and a gap of 0 would hide it.
    if best < mean - 1e-9 * (1 + abs(mean)):
        raise ValueError(
            f"best_risk must be at least the mean of minimal_risks = {mean}, "
            f"got {best_risk!r}."
        )
    return max(best - mean, 0.0)


def non_negative(values: ArrayLike, name: str) -> FloatArray:
    """Return finite numbers of any shape that are at least 0."""
    return check_not_negative(check_finite(values, name), name)


def check_scorers(scorers: Any) -> LinearScorers | OneHiddenLayerScorers:
    if not isinstance(scorers, LinearScorers | OneHiddenLayerScorers):
        raise TypeError(
            f"scorers must be LinearScorers or OneHiddenLayerScorers, got "
            f"{shown(scorers)}."
        )
    return scorers
