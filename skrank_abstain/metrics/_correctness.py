"""Correctness and completeness of a partial order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import check_labels
from skrank_abstain.metrics._intervals import MetricValue, check_averaging
from skrank_abstain.metrics._pair_arrays import check_accepted


def correctness_completeness_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> tuple[MetricValue, MetricValue]:
    """Return how right the accepted orders are, and how many there are.

    Higher is better in both. Correctness is in [-1, 1]: 1 if every order given is
    right, -1 if every one is wrong, 0 for guessing. Completeness is in [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}. True ties do not count.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}. A predicted tie gives no order.
    accepted, qid, interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    correctness : float, or Estimate with an interval
        ``(C - D) / (C + D)`` of ``C`` concordant and ``D`` discordant pairs; NaN, with
        a warning, without any.
    completeness : float, or Estimate with an interval
        ``(C + D)`` over the number of pairs of different relevance; NaN, with a
        warning, without any.

    See Also
    --------
    selective_auc_score : ``(correctness + 1) / 2`` where no tie is predicted.

    Notes
    -----
    C and D count accepted pairs of different relevance for which an order is
    predicted. Correctness is the gamma rank correlation of Goodman and Kruskal over
    these pairs [1]_. O(n_pairs).

    References
    ----------
    .. [1] Cheng, Rademaker, De Baets and Hüllermeier (2010). "Predicting Partial
       Orders: Ranking with Abstention". ECML PKDD.
       doi:10.1007/978-3-642-15880-3_20.

    Examples
    --------
    >>> from skrank_abstain.metrics import correctness_completeness_score
    >>> correctness_completeness_score([1, 1, -1, 0], [1, 1, 1, 1], [True] * 4)
    (0.3333333333333333, 1.0)
    """
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    over = check_averaging(
        truth.size, qid, "pooled", interval, confidence, n_resamples, random_state
    )
    mask = check_accepted(accepted, truth.size)
    # +1 for a concordant pair, -1 for a discordant one, 0 where there is no order to
    # judge: so the absolute value counts C + D.
    agreement = (truth * predicted * mask).astype(np.float64)
    given, strict = np.abs(agreement), np.abs(truth).astype(np.float64)
    # No pair weights: the published measures count pairs.
    one = np.ones(truth.size)
    return (
        over.ratio(agreement, given, one, "correctness", limits=(-1.0, 1.0)),
        over.ratio(given, strict, one, "completeness"),
    )
