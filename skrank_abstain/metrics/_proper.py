"""Proper scores of pair probabilities.

Selective accuracy judges which pairs are decided; these judge the probabilities that
the decisions come from, all pairs alike, whatever the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, IntArray, check_labels, check_proba
from skrank_abstain.metrics._intervals import MetricValue, check_averaging
from skrank_abstain.metrics._pair_arrays import pair_weight


def pairwise_log_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> MetricValue:
    """Return the mean negative log probability of the true label.

    Lower is better, from 0 to 36.04 nats; NaN, with a warning, without a pair of
    positive weight.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1, in this order.
    qid, average, sample_weight, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    loss : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If a row of ``proba`` is negative or does not sum to one within 1e-6, and as in
        `selective_accuracy_score`.

    See Also
    --------
    pairwise_brier_loss : Bounded, so that no single pair dominates.
    sklearn.metrics.log_loss : The same, without queries.

    Notes
    -----
    With weights w_p, minus the sum of w_p ln P(y_true), over the sum of the w_p.
    As in scikit-learn, probabilities are clipped to ``[eps, 1 - eps]`` with the ``eps``
    of float64, so that a label that was called impossible costs ``-ln(eps) = 36.04``:
    a tie model without ties pays that for each tied pair. Strictly proper [1]_.
    O(n_pairs).

    References
    ----------
    .. [1] Gneiting and Raftery (2007). "Strictly Proper Scoring Rules, Prediction,
       and Estimation". JASA 102. doi:10.1198/016214506000001437.

    Examples
    --------
    >>> from skrank_abstain.metrics import pairwise_log_loss
    >>> round(pairwise_log_loss([1, 0], [[0.25, 0.25, 0.5], [0.25, 0.5, 0.25]]), 4)
    0.6931
    """
    truth, rows = _check_inputs(y_true, proba)
    weight = pair_weight(sample_weight, truth.size)
    over = check_averaging(
        truth.size, qid, average, interval, confidence, n_resamples, random_state
    )
    # scikit-learn's clipping, so that the two agree to the last digit.
    eps = np.finfo(np.float64).eps
    # Column 0, 1, 2 for the label -1, 0, +1.
    likelihood = rows[np.arange(truth.size), truth + 1]
    costs = -weight * np.log(np.clip(likelihood, eps, 1 - eps))
    return over.ratio(costs, weight, weight, "pairwise log loss", limits=(0.0, np.inf))


def pairwise_brier_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> MetricValue:
    """Return the mean squared error of the probabilities, summed over the labels.

    Lower is better, in [0, 2]; NaN, with a warning, without a pair of positive weight.

    Parameters
    ----------
    y_true, proba
        As in `pairwise_log_loss`.
    qid, average, sample_weight, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    loss : float, or Estimate with an interval

    See Also
    --------
    pairwise_log_loss : Punishes a certain error far more.

    Notes
    -----
    With weights w_p, the sum over pairs of w_p times the sum over the labels k of
    (P(k) - [y_true = k])^2, over the sum of the w_p: the original definition [1]_, over
    all three labels. Without ties it is twice the score over the positive class alone.
    Strictly proper. O(n_pairs).

    References
    ----------
    .. [1] Brier (1950). "Verification of Forecasts Expressed in Terms of
       Probability". Monthly Weather Review 78(1).

    Examples
    --------
    >>> from skrank_abstain.metrics import pairwise_brier_loss
    >>> pairwise_brier_loss([1, 0], [[0.0, 0.0, 1.0], [0.25, 0.5, 0.25]])
    0.1875
    """
    truth, rows = _check_inputs(y_true, proba)
    weight = pair_weight(sample_weight, truth.size)
    over = check_averaging(
        truth.size, qid, average, interval, confidence, n_resamples, random_state
    )
    costs = weight * ((rows - np.eye(3)[truth + 1]) ** 2).sum(axis=1)
    return over.ratio(costs, weight, weight, "pairwise Brier loss", limits=(0.0, 2.0))


def _check_inputs(y_true: ArrayLike, proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return labels and probabilities, the latter scaled to sum to exactly one."""
    truth = check_labels(y_true, "y_true")
    rows = check_proba(proba, truth.size)
    # The check allows 1e-6; unscaled, that slack would count as skill in a log loss.
    return truth, rows / rows.sum(axis=1, keepdims=True)
