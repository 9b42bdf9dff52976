"""From pair probabilities to the best prediction and its conditional risk.

A mirror-symmetric loss with a zero diagonal has three free entries: confusing one
strict order with the other (``swap``), predicting an order for a tie
(``order_for_tie``) and predicting a tie for an order (``tie_for_order``). The
expected losses below are written in these, so that turning a pair around mirrors
them to the last bit, and as sums of the improbable outcomes, so that risks near
zero keep their relative precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, IntArray


def expected_losses(proba: FloatArray, loss: FloatArray) -> FloatArray:
    """Return the expected loss of each prediction.

    Parameters
    ----------
    proba : ndarray of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss, rows predicted, columns true.

    Returns
    -------
    losses : ndarray of shape (n_pairs, 3)
        Expected loss of predicting -1, 0, +1. Lower is better.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.tie_models import expected_losses
    >>> expected_losses(np.array([[0.5, 0.25, 0.25]]), 1 - np.eye(3))
    array([[0.5 , 0.75, 0.75]])
    """
    right, tie, left = proba[:, 0], proba[:, 1], proba[:, 2]
    swap, order_for_tie, tie_for_order = loss[0, 2], loss[0, 1], loss[1, 0]
    out = np.empty_like(proba)
    out[:, 0] = swap * left + order_for_tie * tie
    out[:, 1] = tie_for_order * (left + right)
    out[:, 2] = swap * right + order_for_tie * tie
    return out


def bayes_decision(
    proba: FloatArray, loss: FloatArray, equal: NDArray[np.bool_]
) -> tuple[IntArray, FloatArray]:
    """Return the prediction of least expected loss, and that loss.

    Parameters
    ----------
    proba : ndarray of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss, rows predicted, columns true.
    equal : ndarray of shape (n_pairs,), bool
        Pairs whose two scores are equal. Equal scores carry no order: their label
        is 0 even where a strict label would have the least expected loss; the risk
        stays that of the best prediction, so that both mirror.

    Returns
    -------
    label : ndarray of shape (n_pairs,), int64
        In {-1, 0, +1}. A tie is predicted only where it is strictly better.
    risk : ndarray of shape (n_pairs,), float64
        Conditional risk; for the zero-one loss one minus the largest probability.

    Notes
    -----
    Proposition 3.3 of [1]_ for the zero-one loss. O(n_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention
       Pairwise Learning to Rank". arXiv:2505.23437.
    """
    losses = expected_losses(proba, loss)
    strict = np.minimum(losses[:, 0], losses[:, 2])
    # The more probable order is never the dearer one; if neither is, there is none.
    label = np.sign(proba[:, 2] - proba[:, 0]).astype(np.int64)
    label[(losses[:, 1] < strict) | equal] = 0
    return label, np.minimum(strict, losses[:, 1])
