"""Area under the ROC curve of what a ranker decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import check_labels, check_real
from skrank_abstain.metrics._intervals import MetricValue, check_averaging
from skrank_abstain.metrics._pair_arrays import check_accepted, pair_weight


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
        True labels in {-1, 0, +1}. Pairs with label 0 do not count.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}; equal scores are a tie.
    accepted, qid, average, sample_weight, zero_division
        As in `selective_accuracy_score`.
    interval, confidence, n_resamples, random_state
        As in `selective_accuracy_score`.

    Returns
    -------
    auc : float, or Estimate with an interval

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
    over = check_averaging(
        truth.size, qid, average, interval, confidence, n_resamples, random_state
    )
    strict = weight * mask
    # truth * predicted is +1 in the right order, -1 in the wrong one, 0 for a tie.
    ordered = strict * (1 + truth * predicted) / 2
    return over.ratio(ordered, strict, weight, "selective AUC", fallback)
