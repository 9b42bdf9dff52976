"""What a small surrogate loss says about misranking, for a given class of scorers.

For a class H of scoring functions, a loss L and a surrogate Phi of it, all with the
same abstention from pairs at most gamma apart,

    R_L(h) - R_L(H) + M_L  <=  Gamma(R_Phi(h) - R_Phi(H) + M_Phi)   for every h in H,

R(H) the smallest risk of the class and M = R(H) - E[smallest conditional risk] its
minimizability gap. Both sides are what h loses, pair by pair, on the best difference of
scores that the class can give that pair alone. A class is described by its reach: the
largest difference of scores that it can give two items at a distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_choice, check_positive
from skrank_abstain.distance._conditional_risk import (
    LinearScorers,
    OneHiddenLayerScorers,
    check_scorers,
    minimal_conditional_risk,
    non_negative,
)
from skrank_abstain.distance.surrogates._margins import (
    Exponential,
    Hinge,
    MarginLoss,
    Sigmoid,
    check_surrogate,
)
from skrank_abstain.distance.surrogates._pairs import check_gamma


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

    Lower is tighter. Both excesses include their minimizability gaps.

    Parameters
    ----------
    excess : array-like
        Excess of the surrogate risk over the best of the class, plus its
        minimizability gap; at least 0.
    surrogate : {"hinge", "exponential", "sigmoid"} or MarginLoss
        What was minimised.
    scorers : LinearScorers or OneHiddenLayerScorers
        The class.
    gamma : float
        Pairs at most so far apart are abstained from, at least 0. At 0 there is no
        finite bound for the hinge and the sigmoid loss.
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
        If ``excess`` or ``gamma`` is negative, or ``surrogate`` or ``setting`` unknown.

    See Also
    --------
    minimal_conditional_risk, minimizability_gap : What the excesses are made of.
    negative_example : Why there is no bound without abstention.

    Notes
    -----
    With u = ``scorers.reach(gamma)`` and s the excess [1]_:

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
      0, scores all but equal in the wrong order, u = 0.5. The misranking excess is 0.5,
      the printed bound 0.44.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

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
    s = non_negative(excess, "excess")
    u = float(check_scorers(scorers).reach(check_gamma(gamma)))
    check_choice(setting, "setting", ("pairwise", "bipartite"))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Theorem 2.1 (pairwise) and 3.1 (bipartite) of [1]_, which agree here.
        if isinstance(loss, Hinge):
            bound = s / np.float64(min(u, 1.0))
        elif isinstance(loss, Sigmoid):
            bound = s / np.tanh(loss.k * u)
        elif not isinstance(loss, Exponential):
            raise ValueError(
                "surrogate must be the hinge, the exponential or the sigmoid loss, for "
                f"which a bound is known, got {surrogate!r}."
            )
        # As printed: the pairwise one is valid and loose, the bipartite one fails for
        # u below about 0.69.
        elif as_printed:
            twice = 2.0 if setting == "pairwise" else 1.0
            bound = np.maximum(np.sqrt(twice * s), twice * s / np.tanh(u))
        elif setting == "pairwise":
            bound = _exponential_pairwise(s, u)
        else:
            bound = _exponential_bipartite(s, u)
        # Without surrogate excess there is no misranking excess; at a reach of 0 the
        # formulas would give 0 / 0.
        result: FloatArray = np.where(s == 0, 0.0, bound)
        return result


def _exponential_pairwise(s: FloatArray, u: float) -> FloatArray:
    knee = np.tanh(u) * np.tanh(u / 2)  # 1 - 1 / cosh(u), without cancellation
    # Inverse of 1 - sqrt(1 - t^2); beyond the knee the minimiser is out of reach.
    curve = np.sqrt(s * (2 - np.minimum(s, 1.0)))
    result: FloatArray = np.where(s <= knee, curve, s / np.sinh(u) + np.tanh(u / 2))
    return result


def _exponential_bipartite(s: FloatArray, u: float) -> FloatArray:
    # The calibration function is concave beyond tanh(u / 2): its convex hull leaves
    # t^2 along a tangent at t = a.
    a = -np.expm1(-u / 2)
    result: FloatArray = np.where(s <= a * a, np.sqrt(s), (s / a + a) / 2)
    return result


class NegativeExample(NamedTuple):
    """Two items on which a small surrogate risk says nothing about misranking.

    Attributes
    ----------
    better, worse : ndarray of shape (1,), float64
        Features of the two items, in the unit ball: the better always wins.
    distance : float
        Distance between the two items.
    surrogate_excess : float
        Surrogate risk of the scorer that is 0 everywhere, less the smallest of the
        class.
    misranking_excess : float
        Misranking risk of that scorer, less the smallest of the class.

    Notes
    -----
    Section 4 of [1]_. O(1).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import LinearScorers, negative_example
    >>> negative_example(0.1, LinearScorers(1.0), "hinge").distance
    0.05
    """

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
        The class can give the items scores that differ by less than this; positive.
    scorers : LinearScorers or OneHiddenLayerScorers
        The class.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss
        What would be minimised.
    setting : {"pairwise", "bipartite"}, default="pairwise"
        Whether the pair carries the label, or the items do.
    gamma : float, default=0.0
        Abstain from pairs at most so far apart.

    Returns
    -------
    example : NegativeExample

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
    Section 4 of [1]_. The better item always wins, at most epsilon / 2 of scores apart.
    The scorer that is 0 everywhere has the surrogate risk Phi(0), the best of the class
    Phi of the reach: the excess goes to 0 with epsilon. Its misranking excess stays 1
    (pairwise: a tie counts as +1, and the label is -1) or 1/2 (bipartite: a tie is half
    wrong). So any Gamma of a bound is at least that at every positive excess, and no
    class of continuous scorers has one that is worth anything. With abstention from
    items that close both losses are the price, and both excesses 0.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

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
    slope = float(check_scorers(scorers).reach(1.0))
    # Half, so that the scores differ by strictly less; items stay in the unit ball.
    distance = min(check_positive(epsilon, "epsilon") / slope, 1.0) / 2
    items = np.array([distance]), np.zeros(1)
    # Abstained from: both losses are the price, whatever the scorer.
    if distance <= check_gamma(gamma):
        return NegativeExample(*items, distance, 0.0, 0.0)
    best = minimal_conditional_risk(1.0, 0.0, scorers.reach(distance), loss)
    excess = float(loss.value(0.0) - best)
    return NegativeExample(
        *items, distance, excess, 1.0 if setting == "pairwise" else 0.5
    )
