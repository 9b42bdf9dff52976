"""Questions that put as many pairs right as possible."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.review._objective import QuestionObjective
from skrank_abstain.review._posterior import Posterior


class PairObjective(QuestionObjective):
    """The expected fall of the loss, summed over the pairs of either item."""

    def candidates(self, posterior: Posterior) -> FloatArray:
        """Prefer items whose pairs are riskiest in sum: an answer can tell most."""
        n = posterior.n_items
        first, second = np.triu_indices(n, 1)
        risk = 1 - posterior.pair_proba.max(axis=1)
        of_item = np.bincount(first, risk, n) + np.bincount(second, risk, n)
        return of_item[first] + of_item[second]

    def values(
        self,
        posterior: Posterior,
        left: IntArray,
        right: IntArray,
        answer_proba: FloatArray,
        loss: FloatArray,
    ) -> FloatArray:
        """Return by how much each answer is expected to lower the expected loss."""
        from skrank_abstain.review._worth import pair_values

        given = posterior.given_grades(left, right)
        # Of confusing the orders, an order for a tie, a tie for an order.
        losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
        return pair_values(
            *(left, right, given.slot, given.worse, given.tied, given.joint),
            *(posterior.prior.tied, answer_proba, losses),
        )
