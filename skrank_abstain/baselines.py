"""Abstention rules to compare with, on plain arrays: entropy and chance."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr
from sklearn.utils import check_random_state

from skrank_abstain._kernels import BoolArray, FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    check_positive_int,
    check_proba,
    rounded_share,
)

__all__ = ["entropy", "entropy_abstention", "random_abstention"]


def entropy(proba: ArrayLike) -> FloatArray:
    """Return the entropy of each pair's probabilities, in nats.

    Parameters
    ----------
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1.

    Returns
    -------
    entropy : ndarray of shape (n_pairs,), float64
        From 0 for a certain label to ln 3 for three equally likely ones.

    Raises
    ------
    ValueError
        If a row of ``proba`` is negative or does not sum to one within 1e-6.

    Notes
    -----
    Minus the sum of p ln p over the three labels, 0 ln 0 being 0. O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.baselines import entropy
    >>> entropy([[0.5, 0.0, 0.5]])
    array([0.69314718])
    """
    return _entropy(check_proba(proba))


def _entropy(proba: FloatArray) -> FloatArray:
    # Add the outer two first, so that a mirrored pair has the same entropy.
    terms = entr(proba)
    return np.asarray((terms[:, 0] + terms[:, 2]) + terms[:, 1])


def entropy_abstention(
    calibration_proba: ArrayLike,
    proba: ArrayLike,
    *,
    coverage: float,
    quantile: str = "inverted_cdf",
) -> BoolArray:
    """Accept the pairs whose entropy is at most the coverage quantile.

    Parameters
    ----------
    calibration_proba : array-like of shape (n_calibration_pairs, 3)
        Probabilities of the calibration pairs, which set the threshold.
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the pairs to decide.
    coverage : float
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
        The order statistic, or numpy's linear interpolation.

    Returns
    -------
    accepted : ndarray of shape (n_pairs,), bool

    Raises
    ------
    ValueError
        If there is no calibration pair, or a row of probabilities is negative or does
        not sum to one within 1e-6.

    Notes
    -----
    The entropy baseline of [1]_. Under a Rao-Kupper model with theta between 2 and
    4.59, a tie is the most probable label at equal scores and yet the entropy is
    largest there: the rule gives up the surest ties first, a defect of the rule, not of
    the probabilities. Beyond 4.59 it is hardly better: at theta = 6 the entropy at
    equal scores is 0.97 of its largest value, while with Thurstone-Mosteller and the
    same epsilon it is 0.45. Entropies above the threshold by at most 1e-12 times its
    value count as equal to it. O(n_pairs + n_calibration_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.baselines import entropy_abstention
    >>> calibration = [[0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    >>> entropy_abstention(calibration, [[0.0, 0.1, 0.9]], coverage=0.5)
    array([ True])
    """
    check_fraction(coverage, "coverage", include_one=True)
    check_choice(quantile, "quantile", ("inverted_cdf", "linear"))
    calibration = _entropy(check_proba(calibration_proba, name="calibration_proba"))
    entropies = _entropy(check_proba(proba))
    if calibration.size == 0:
        raise ValueError("calibration_proba must have at least one pair, got none.")
    # The largest calibration entropy would still refuse some new pairs.
    if coverage == 1:
        return np.ones(entropies.shape[0], dtype=bool)
    if quantile == "linear":
        threshold = np.quantile(calibration, coverage)
    else:
        rank = int(rounded_share(coverage, calibration.size))
        threshold = np.partition(calibration, rank - 1)[rank - 1]
    # Pairs of one gap may differ in the last digit and must be decided alike.
    return np.asarray(entropies <= threshold * (1 + 1e-12))


def random_abstention(
    n_pairs: int, *, coverage: float, random_state: Any = None
) -> BoolArray:
    """Accept each pair with probability ``coverage``, independently.

    Parameters
    ----------
    n_pairs : int
        Number of pairs, at least 0.
    coverage : float
        Expected share of accepted pairs, in (0, 1].
    random_state : int, RandomState instance or None, default=None
        Draws the accepted pairs.

    Returns
    -------
    accepted : ndarray of shape (n_pairs,), bool

    Notes
    -----
    The random baseline of Ferrara et al. (2025), as `entropy_abstention`. At every
    coverage its expected selective accuracy is the accuracy of the ranker on all pairs,
    the least that a rule must beat. O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.baselines import random_abstention
    >>> random_abstention(4, coverage=0.6, random_state=0)
    array([ True, False, False,  True])
    """
    check_positive_int(n_pairs, "n_pairs", minimum=0)
    check_fraction(coverage, "coverage", include_one=True)
    # Independent draws, not a random subset: as with a threshold, the coverage holds on
    # average only.
    return np.asarray(
        check_random_state(random_state).random_sample(n_pairs) < coverage
    )
