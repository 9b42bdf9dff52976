"""Proper scores of pair probabilities: they reward saying what is so.

Selective accuracy judges which pairs are decided; these judge the probabilities the
decisions come from, all pairs alike, whatever the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, IntArray, check_labels, check_proba
from skrank_abstain.metrics._intervals import MetricValue, check_interval
from skrank_abstain.metrics._pair_arrays import (
    mean_ratio,
    pair_weight,
    query_codes,
)


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

    Lower is better, from 0 to 36.04 nats; NaN for no pairs.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1, in this order.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        Over all pairs, or the mean of the queries' losses.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights. Queries of no weight stand aside.
    interval : {None, "delta", "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, n_resamples, random_state : float, int, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    loss : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, labels are others than -1, 0, +1, ``qid`` is missing, or
        a row of ``proba`` is negative or does not sum to one within 1e-6.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there are no pairs, or none of positive weight.

    See Also
    --------
    pairwise_brier_loss : Bounded, so that no single pair dominates.
    sklearn.metrics.log_loss : The same, without queries.

    Notes
    -----
    With weights w_p, minus the sum of w_p ln P(y_true), over the sum of the w_p.
    A probability of zero for what happened would cost infinitely much. As in
    scikit-learn, probabilities are clipped to ``[eps, 1 - eps]`` with the ``eps`` of
    float64, so that such a pair costs ``-ln(eps) = 36.04``: a tie model without ties
    pays that for each tied pair. Strictly proper [1]_. O(n_pairs).

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
    codes = query_codes(qid, average, truth.size)
    over = check_interval(
        interval, confidence, n_resamples, random_state, qid, truth.size
    )
    # scikit-learn's clipping, so that the two agree to the last digit.
    eps = np.finfo(np.float64).eps
    # Column 0, 1, 2 for the label -1, 0, +1.
    likelihood = rows[np.arange(truth.size), truth + 1]
    costs = -weight * np.log(np.clip(likelihood, eps, 1 - eps))
    value = mean_ratio(costs, weight, codes, "pairwise log loss")
    return over.ratio(value, costs, weight, weight, average) if over else value


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

    Lower is better, in [0, 2]; NaN for no pairs.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    proba : array-like of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1, in this order.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        Over all pairs, or the mean of the queries' losses.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights. Queries of no weight stand aside.
    interval : {None, "delta", "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, n_resamples, random_state : float, int, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    loss : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, labels are others than -1, 0, +1, ``qid`` is missing, or
        a row of ``proba`` is negative or does not sum to one within 1e-6.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there are no pairs, or none of positive weight.

    See Also
    --------
    pairwise_log_loss : Punishes a certain error without bound.

    Notes
    -----
    With weights w_p, the sum over pairs of w_p times the sum over the labels k of
    (P(k) - [y_true = k])^2, over the sum of the w_p. The original definition [1]_, over
    all three labels; where there are no ties it is
    twice the score over the positive class alone. Strictly proper. O(n_pairs).

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
    codes = query_codes(qid, average, truth.size)
    over = check_interval(
        interval, confidence, n_resamples, random_state, qid, truth.size
    )
    # Over all three labels, as Brier has it; scikit-learn's binary score takes one.
    costs = weight * ((rows - np.eye(3)[truth + 1]) ** 2).sum(axis=1)
    value = mean_ratio(costs, weight, codes, "pairwise Brier loss")
    return over.ratio(value, costs, weight, weight, average) if over else value


def _check_inputs(y_true: ArrayLike, proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return labels and probabilities, the latter scaled to sum to exactly one."""
    truth = check_labels(y_true, "y_true")
    rows = check_proba(proba, truth.size)
    # The check allows 1e-6; unscaled, that slack would count as skill in a log loss.
    return truth, rows / rows.sum(axis=1, keepdims=True)
