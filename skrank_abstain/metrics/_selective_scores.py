"""Accuracy, coverage and class fractions of accepted pairs (Q1, Q2, Q3 of the paper).

One value per pair in every array. ``average="pooled"`` counts every pair alike;
``average="query"`` is the mean over queries, so that a long list of candidates weighs
no more than a short one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import check_labels, check_real
from skrank_abstain.metrics._intervals import Estimate, MetricValue, check_averaging
from skrank_abstain.metrics._pair_arrays import (
    check_accepted,
    pair_weight,
    undefined,
)


def selective_accuracy_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    zero_division: float = np.nan,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of correct predictions among accepted pairs.

    Higher is better, in [0, 1]; ``zero_division`` where no pair is accepted.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        Over all pairs that count (here the accepted ones), or the mean of the queries'
        values; queries without such a pair are left out.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.
    zero_division : float, default=np.nan
        Value where no pair counts; NaN comes with an UndefinedMetricWarning.
    interval : {None, "delta", "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, n_resamples, random_state : float, int, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    accuracy : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, a label is not -1, 0 or +1, or ``qid`` is missing.

    See Also
    --------
    coverage_score : How many pairs were accepted.

    Notes
    -----
    With weights w_p, a_p = 1 for accepted pairs and 0 for others: sum over pairs of
    w_p a_p [y_pred = y_true], over the sum of w_p a_p. Q1 of [1]_. O(n_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_accuracy_score
    >>> selective_accuracy_score([1, 0, -1], [1, 1, -1], [True, False, True])
    1.0
    """
    fallback = check_real(zero_division, "zero_division")
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    mask = check_accepted(accepted, truth.size)
    weight = pair_weight(sample_weight, truth.size)
    over = check_averaging(
        truth.size, qid, average, interval, confidence, n_resamples, random_state
    )
    decided = weight * mask
    correct = decided * (truth == predicted)
    return over.ratio(correct, decided, weight, "accuracy", fallback)


def coverage_score(
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of pairs that were accepted.

    In [0, 1]; NaN, with a warning, for no pairs. Of two rankers that are equally
    accurate, the one with the higher coverage is better.

    Parameters
    ----------
    accepted, qid, average, sample_weight
        As in `selective_accuracy_score`.
    interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    coverage : float, or Estimate with an interval

    Notes
    -----
    With weights w_p, a_p = 1 for accepted pairs and 0 for others: sum(w_p a_p) /
    sum(w_p). Q2 of Ferrara et al. (2025), as `selective_accuracy_score`. O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_score
    >>> coverage_score([True, True, False, True])
    0.75
    """
    # No zero_division: 0 and 1 would both be claims about the coverage of no pairs.
    mask = check_accepted(accepted)
    weight = pair_weight(sample_weight, mask.size)
    over = check_averaging(
        mask.size, qid, average, interval, confidence, n_resamples, random_state
    )
    return over.ratio(weight * mask, weight, weight, "coverage")


def class_acceptance(
    y_true: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    sample_weight: ArrayLike | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> MetricValue:
    """Return the share of each true label among accepted pairs.

    In [0, 1]. Neither high nor low is better: a share far from that among all pairs
    says that abstention spares one outcome at the expense of the others.

    Parameters
    ----------
    y_true, accepted, qid, sample_weight
        As in `selective_accuracy_score`.
    interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    fraction : ndarray of shape (3,), float64, or Estimate of three such arrays
        For the labels -1, 0, +1; sums to one, or NaN, with a warning, where no pair is
        accepted. Each share has an interval of its own.

    Notes
    -----
    For the label l, with weights w_p and a_p = 1 for accepted pairs and 0 for others:
    sum over pairs of w_p a_p [y_true = l], over the sum of w_p a_p. Q3 of Ferrara et
    al. (2025), as `selective_accuracy_score`. The shares of -1 and +1 depend on which
    item of a pair stands left; their sum, the share of strict pairs, does not.
    O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.metrics import class_acceptance
    >>> class_acceptance([1, 0, -1, 1], [True, True, False, True])
    array([0.        , 0.33333333, 0.66666667])
    """
    truth = check_labels(y_true, "y_true")
    weight = pair_weight(sample_weight, truth.size)
    decided = weight * check_accepted(accepted, truth.size)
    over = check_averaging(
        truth.size, qid, "pooled", interval, confidence, n_resamples, random_state
    )
    # Labels -1, 0, +1 are the bins 0, 1, 2.
    totals = np.bincount(truth + 1, weights=decided, minlength=3)
    if totals.sum() == 0:
        fraction = np.full(3, undefined("class_acceptance"))
    else:
        fraction = totals / totals.sum()
    if over.interval is None:
        return fraction
    # Three intervals of their own, not a region: a reader compares one share at a time.
    each = [
        over.estimate(fraction[label + 1], decided * (truth == label), decided, weight)
        for label in (-1, 0, 1)
    ]
    return Estimate(*map(np.array, zip(*each, strict=True)))
