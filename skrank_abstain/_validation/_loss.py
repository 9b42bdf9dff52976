"""The loss of a prediction, as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation._arrays import FloatArray, as_numbers
from skrank_abstain._validation._numbers import check_choice
from skrank_abstain._validation._shown import shown

#: The zero-one loss, rows predicted and columns true, both in the order -1, 0, +1.
ZERO_ONE_LOSS: FloatArray = 1.0 - np.eye(3)
#: A wrong order costs, and so does a tie where there is an order; an order for a true
#: tie is free, so that a tie is predicted for equal scores alone.
MISRANKING_LOSS: FloatArray = np.array([[0.0, 0, 1], [1, 0, 1], [1, 0, 0]])
_NAMED = {"zero_one": ZERO_ONE_LOSS, "misranking": MISRANKING_LOSS}


def check_loss(loss: Any) -> FloatArray:
    """Return the 3x3 loss matrix that ``loss`` stands for.

    Parameters
    ----------
    loss : "zero_one", "misranking" or array-like of shape (3, 3)
        Rows are predictions, columns truths, both in the order -1, 0, +1. The
        diagonal is zero, entries are finite and non-negative, and turning a pair
        around changes nothing: ``loss[i, j] == loss[2 - i, 2 - j]``.

    Returns
    -------
    loss : ndarray of shape (3, 3), float64
    """
    if isinstance(loss, str):
        return _NAMED[check_choice(loss, "loss", tuple(_NAMED))].copy()
    try:
        matrix = as_numbers(loss).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            "loss must be 'zero_one', 'misranking' or a 3x3 matrix of numbers, got "
            f"{shown(loss)}."
        ) from error
    if matrix.shape != (3, 3):
        raise ValueError(
            "loss must be 'zero_one', 'misranking' or a 3x3 matrix (rows predicted, "
            f"columns true, order -1, 0, +1), got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError(
            f"loss must have finite, non-negative entries, got {matrix.tolist()}."
        )
    # The right prediction costs nothing; risks are what is lost against it.
    if np.diag(matrix).any():
        raise ValueError(
            f"loss must have a zero diagonal, got {np.diag(matrix).tolist()}."
        )
    # Left and right are an accident of row order: (i, j) and (j, i) must agree.
    if not np.array_equal(matrix, matrix[::-1, ::-1]):
        raise ValueError(
            "loss must be mirror-symmetric, loss[i, j] == loss[2 - i, 2 - j], so that "
            f"turning a pair around changes nothing; got {matrix.tolist()}."
        )
    return matrix
