"""Correctness and completeness of a partial order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain.metrics._checks import check_accepted, check_labels, undefined


def correctness_completeness_score(
    y_true: ArrayLike, y_pred: ArrayLike, accepted: ArrayLike
) -> tuple[float, float]:
    """Return how right the accepted orders are, and how many there are.

    Higher is better in both. Correctness is in [-1, 1]: 1 if every order given is
    right, -1 if every one is wrong, 0 for guessing. Completeness is in [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}. True ties stand aside.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}. A predicted tie gives no order.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.

    Returns
    -------
    correctness : float
        ``(C - D) / (C + D)`` of ``C`` concordant and ``D`` discordant pairs; NaN
        without any.
    completeness : float
        ``(C + D)`` over the number of pairs of different relevance; NaN without any.

    Raises
    ------
    ValueError
        If lengths differ or labels are others than -1, 0, +1.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        For each value that is NaN.

    See Also
    --------
    selective_auc_score : ``(correctness + 1) / 2`` where no tie is predicted.

    Notes
    -----
    As in [1]_; correctness is the gamma rank correlation of Goodman and Kruskal over
    the accepted pairs. O(n_pairs).

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
    agreement = (truth * predicted)[check_accepted(accepted, truth.size)]
    given, strict = int(np.abs(agreement).sum()), int(np.abs(truth).sum())
    correctness = _ratio(int(agreement.sum()), given, "correctness")
    return correctness, _ratio(given, strict, "completeness")


def _ratio(part: int, whole: int, name: str) -> float:
    return float(part / whole) if whole else undefined(name, stacklevel=4)
