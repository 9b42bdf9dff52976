"""Area under the ROC curve of what a ranker decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import check_labels, check_real
from skrank_abstain.metrics._intervals import MetricValue, check_interval
from skrank_abstain.metrics._pair_arrays import (
    check_accepted,
    mean_ratio,
    pair_weight,
    query_codes,
)


def selective_auc_score(
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
    """Return the AUC over accepted pairs of different relevance.

    Higher is better, in [0, 1]; ``zero_division`` where there is no such pair. The
    right order counts 1, the wrong order 0, a predicted tie 1/2.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}. Pairs with label 0 stand aside.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}; equal scores are a tie.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"`` and for intervals.
    average : {"pooled", "query"}, default="pooled"
        Over all accepted pairs, or the mean of the queries' values. Queries without
        an accepted pair of different relevance are left out.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.
    zero_division : float, default=np.nan
        Value where no accepted pair has different relevance; NaN warns, a number is
        returned in silence.
    interval : {None, "delta", "bootstrap"}, default=None
        How to make a confidence interval over queries, see `Estimate`.
    confidence, n_resamples, random_state : float, int, None or RandomState
        Of the interval, see `Estimate`.

    Returns
    -------
    auc : float, or Estimate with an interval

    Raises
    ------
    ValueError
        If lengths differ, labels are others than -1, 0, +1, or ``qid`` is missing.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If the value is undefined and ``zero_division`` is NaN.

    See Also
    --------
    selective_accuracy_score : Counts true ties too, and a predicted tie as an error.
    sklearn.metrics.roc_auc_score : The same for one query of binary relevance, all
        pairs accepted, and labels that are the signs of score differences.

    Notes
    -----
    With weights w_p, the sum over accepted pairs of different relevance of
    w_p (1 + y_true y_pred) / 2, over the sum of their w_p: the pairwise form of the AUC
    [1]_, restricted to accepted pairs. O(n_pairs).

    References
    ----------
    .. [1] Hanley and McNeil (1982). "The meaning and use of the area under a receiver
       operating characteristic (ROC) curve". Radiology 143(1).
       doi:10.1148/radiology.143.1.7063747.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_auc_score
    >>> selective_auc_score([1, 0, -1, 1], [1, 1, 0, -1], [True, True, True, False])
    0.75
    """
    fallback = check_real(zero_division, "zero_division")
    truth = check_labels(y_true, "y_true")
    predicted = check_labels(y_pred, "y_pred", truth.size)
    # Equal relevance has no right order: such pairs are in neither sum.
    mask = check_accepted(accepted, truth.size) & (truth != 0)
    weight = pair_weight(sample_weight, truth.size)
    codes = query_codes(qid, average, truth.size)
    over = check_interval(
        interval, confidence, n_resamples, random_state, qid, truth.size
    )
    strict = weight * mask
    # truth * predicted is +1 in the right order, -1 in the wrong one, 0 for a tie.
    ordered = strict * (1 + truth * predicted) / 2
    value = mean_ratio(ordered, strict, codes, "selective AUC", fallback)
    return over.ratio(value, ordered, strict, weight, average) if over else value
