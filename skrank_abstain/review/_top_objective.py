"""Questions that put the right items at the top."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.review._objective import QuestionObjective
from skrank_abstain.review._posterior import Posterior


class TopObjective(QuestionObjective):
    """The expected rise of the DCG of the first ``depth`` in the posterior order."""

    equal_shares = True

    def __init__(self, depth: int = 10) -> None:
        self.depth = depth

    def candidates(self, posterior: Posterior) -> FloatArray:
        """Prefer pairs both of whose items may be among the best."""
        gains, mean = posterior.gains, posterior.expected_gain
        square = (posterior.grade_proba * gains**2).sum(axis=1)
        # Mean and standard deviation together.
        hope = mean + np.sqrt(np.maximum(square - mean**2, 0.0))
        first, second = np.triu_indices(posterior.n_items, 1)
        promise: FloatArray = np.minimum(hope[first], hope[second])
        return promise

    def values(
        self,
        posterior: Posterior,
        left: IntArray,
        right: IntArray,
        answer_proba: FloatArray,
        loss: FloatArray,
    ) -> FloatArray:
        """Return by how much each answer is expected to raise the expected DCG."""
        from skrank_abstain.review._worth import top_values

        given = posterior.given_grades(left, right)
        return top_values(
            *(left, right, given.slot, posterior.answered.tree, given.gain),
            *(given.joint, posterior.prior.tied, answer_proba),
            *(posterior.expected_gain, self.depth),
        )
