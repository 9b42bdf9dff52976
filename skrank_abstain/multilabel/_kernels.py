"""Pairs of labels of one sample, of which one is more relevant.

``scores`` and ``relevance`` are C-contiguous, (n_samples, n_labels), float64. No pair
is stored: O(n_samples * n_labels**2) time and O(n_samples * n_labels) memory.
"""

import math

from skrank_abstain._kernels import FloatArray
from skrank_abstain._kernels.compiling import jit


@jit
def logistic_over_label_pairs(
    scores: FloatArray, relevance: FloatArray, gradient: FloatArray
) -> float:
    """Return the sum over samples of the mean logistic loss of their label pairs.

    ``gradient``, of the shape of ``scores``, is overwritten with the derivatives.
    Samples whose labels are all tied add nothing.
    """
    n_samples, n_labels = scores.shape
    total = 0.0
    gradient[:] = 0.0
    for row in range(n_samples):
        loss, n_pairs = 0.0, 0
        for i in range(n_labels):
            for j in range(n_labels):
                if relevance[row, i] > relevance[row, j]:
                    n_pairs += 1
                    margin = scores[row, i] - scores[row, j]
                    small = math.exp(-abs(margin))
                    loss += math.log1p(small) + max(-margin, 0.0)
                    slope = (small if margin > 0 else 1.0) / (1.0 + small)
                    gradient[row, i] -= slope
                    gradient[row, j] += slope
        if n_pairs:
            total += loss / n_pairs
            for i in range(n_labels):
                gradient[row, i] /= n_pairs
    return total
