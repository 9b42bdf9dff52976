"""Any confidence of one's own as a rule of abstention: what to beat."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._kernels import BoolArray, FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    check_numbers,
    check_proba,
    rounded_share,
)
from skrank_abstain._warnings import warn_of_excess

__all__ = ["ConfidenceThreshold", "entropy"]


class ConfidenceThreshold(BaseEstimator):
    """Accept the pairs of highest confidence, so many that a coverage is kept.

    The threshold is a quantile on calibration pairs, as that of `BALToR`. The usual
    baselines are instances of it, each by its confidence:

    - gap: ``abs(score[left] - score[right])``, how far the scores are apart;
    - minus the entropy: ``-entropy(proba)``, that of [1]_;
    - random: ``numpy.random.default_rng(0).random(n_pairs)``, whose expected accuracy
      at any coverage is that on all pairs, the least that a rule must beat.

    Parameters
    ----------
    coverage : float, default=0.8
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
        The order statistic, or numpy's linear interpolation.

    Attributes
    ----------
    threshold_ : float
        Accepted pairs have at least this confidence; minus infinity at coverage 1.

    See Also
    --------
    skrank_abstain.metrics.compare : Such a rule against a ranker, by query.

    Notes
    -----
    Confidences that differ by at most 1e-12 of the threshold count as equal.
    O(n_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.baselines import ConfidenceThreshold
    >>> rule = ConfidenceThreshold(0.5).fit([0.1, 0.4, 0.2, 0.9])
    >>> rule.threshold_, rule.accept([0.3, 0.5])
    (0.4, array([False,  True]))
    """

    def __init__(
        self, coverage: float = 0.8, *, quantile: str = "inverted_cdf"
    ) -> None:
        self.coverage = coverage
        self.quantile = quantile

    def fit(self, confidence: ArrayLike, y: Any = None) -> Self:
        """Set the threshold.

        Parameters
        ----------
        confidence : array-like of shape (n_pairs,)
            Of calibration pairs, which did not train the model; higher is more
            confident.
        y : ignored

        Returns
        -------
        self : ConfidenceThreshold

        Raises
        ------
        ValueError
            If there is no pair, a confidence is not finite, or a parameter is out of
            range.

        Warns
        -----
        UserWarning
            If so many pairs have one confidence that many more than asked are accepted.
        """
        check_fraction(self.coverage, "coverage", include_one=True)
        check_choice(self.quantile, "quantile", ("inverted_cdf", "linear"))
        values = -check_numbers(confidence, "confidence", unit="pair")
        if values.size == 0:
            raise ValueError("confidence must hold at least one pair, got none.")
        # The lowest calibration confidence would still refuse some new pairs.
        if self.coverage == 1:
            self.threshold_ = -np.inf
        elif self.quantile == "linear":
            self.threshold_ = -float(np.quantile(values, self.coverage))
        else:
            rank = int(rounded_share(self.coverage, values.size))
            self.threshold_ = -float(np.partition(values, rank - 1)[rank - 1])
        reached, why = self.accept(confidence).mean(), "many have the same confidence."
        warn_of_excess("pairs", reached, self.coverage, values.size, why)
        return self

    def accept(self, confidence: ArrayLike) -> BoolArray:
        """Return the pairs that are confident enough.

        Parameters
        ----------
        confidence : array-like of shape (n_pairs,)

        Returns
        -------
        accepted : ndarray of shape (n_pairs,), bool
        """
        check_is_fitted(self, "threshold_")
        values = check_numbers(confidence, "confidence", unit="pair")
        # Equal pairs may differ in the last digit and must be decided alike.
        return np.asarray(values >= self.threshold_ - 1e-12 * abs(self.threshold_))


def entropy(proba: ArrayLike) -> FloatArray:
    """Return the entropy of each pair's probabilities, in nats; lower is clearer.

    Parameters
    ----------
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1.

    Returns
    -------
    entropy : ndarray of shape (n_pairs,), float64
        From 0 for a label of probability 1 to ln 3 for three equally likely ones.

    Raises
    ------
    ValueError
        If a row of ``proba`` is negative or does not sum to one within 1e-6.

    Notes
    -----
    Minus the sum of p ln p over the three labels, 0 ln 0 being 0. Minus the entropy, as
    a confidence, has a defect: under a Rao-Kupper model with theta between 2 and 4.59,
    a tie is the most probable label at equal scores and yet the entropy is largest
    there, so that the most probable ties are given up first. Beyond 4.59 it is hardly
    better: at theta = 6 the entropy at equal scores is 0.97 of its largest value, while
    with Thurstone-Mosteller and the same epsilon it is 0.45. O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.baselines import entropy
    >>> entropy([[0.5, 0.0, 0.5]])
    array([0.69314718])
    """
    # Add the outer two first, so that a mirrored pair has the same entropy.
    terms = entr(check_proba(proba))
    return np.asarray((terms[:, 0] + terms[:, 2]) + terms[:, 1])
