"""What is believed about the items of one query after answers about some pairs.

Given a node of the shift that the items share their grades are independent; an answer
about two of them multiplies in its likelihood. Sum-product adds up over all grades.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray

if TYPE_CHECKING:
    from skrank_abstain._kernels.beliefs import Beliefs
    from skrank_abstain._kernels.linking import Answered

#: No grade is impossible: the logarithm of its probability is finite.
_LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class GradePrior:
    """What is believed about the items of a query before any answer.

    Attributes
    ----------
    grade : ndarray of shape (n_nodes, n_items, n_grades), float64
        P(grade | node).
    weight : ndarray of shape (n_nodes,), float64
        Probabilities of the nodes.
    tied : ndarray of shape (n_grades,), float64
        Share of the pairs of one grade that are truly tied.
    """

    grade: FloatArray
    weight: FloatArray
    tied: FloatArray

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.grade.shape[1])


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is believed about the items of a query.

    Exact where the answered pairs have no loop. In a loop the messages of sum-product
    are repeated until they stand still, the weights of the nodes follow Bethe's
    formula, and pairs that were not asked depend on each other along a spanning tree.

    Attributes
    ----------
    answered : Answered
    beliefs : Beliefs
    """

    answered: Answered
    beliefs: Beliefs

    @classmethod
    def of(
        cls, prior: GradePrior, left: IntArray, right: IntArray, likelihood: FloatArray
    ) -> Posterior:
        """Take in the answers about the pairs of one query.

        Parameters
        ----------
        prior : GradePrior
        left, right : ndarray of shape (n_answered,), int64
            Items of the answered pairs, ``left < right``, sorted, each pair once.
        likelihood : ndarray of shape (n_answered, 3), float64
            Probability of all answers about the pair if the right item is better, if
            both are tied, if the left one is; positive.
        """
        from skrank_abstain._kernels.beliefs import believe
        from skrank_abstain._kernels.linking import link_items

        answered = link_items(prior.n_items, left, right, likelihood)
        grade = np.log(np.maximum(prior.grade, _LEAST)).transpose(1, 0, 2)
        beliefs = believe(
            np.ascontiguousarray(grade), np.log(prior.weight), prior.tied, answered
        )
        return cls(answered, beliefs)

    def pair_proba(self) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1 of all pairs.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            In canonical order.
        """
        from skrank_abstain._kernels.beliefs import pair_probabilities

        return pair_probabilities(self.answered, self.beliefs)

    def answered_proba(self) -> FloatArray:
        """Return the same for the answered pairs, shape (n_answered, 3)."""
        from skrank_abstain._kernels.beliefs import answered_signs

        return answered_signs(self.answered, self.beliefs)

    def grade_proba(self) -> FloatArray:
        """Return P(grade) of each item, shape (n_items, n_grades)."""
        proba: FloatArray = self.beliefs.mass.sum(axis=1)
        return proba

    def draw_grades(self, rng: np.random.Generator) -> IntArray:
        """Draw the grades of all items at once, shape (n_items,).

        Along the trees of answered pairs from the roots down; exact without loops.
        """
        answered, beliefs = self.answered, self.beliefs
        node = rng.choice(beliefs.weight.size, p=beliefs.weight)
        uniform = rng.random(answered.tree.size)
        at_most = beliefs.belief[:, node].cumsum(axis=1)
        grades: IntArray = (uniform[:, None] > at_most[:, :-1]).sum(axis=1)
        for i in answered.order:
            pair = answered.parent[i]
            if pair >= 0:
                over = answered.left[pair] + answered.right[pair] - i
                given = beliefs.down[i, node, grades[over]].cumsum()
                grades[i] = (uniform[i] > given[:-1]).sum()
        return grades

    def expected_gain(self) -> FloatArray:
        """Return the mean of 2^grade - 1 of each item, shape (n_items,)."""
        gain: FloatArray = (self.grade_proba() * self._gains()).sum(axis=1)
        return gain

    def hoped_gain(self) -> FloatArray:
        """Return mean and standard deviation of it together, shape (n_items,)."""
        grade, gains = self.grade_proba(), self._gains()
        mean = (grade * gains).sum(axis=1)
        square = (grade * gains**2).sum(axis=1)
        hope: FloatArray = mean + np.sqrt(np.maximum(square - mean**2, 0.0))
        return hope

    def _gains(self) -> FloatArray:
        return grade_gains(self.beliefs.tied.size)


def grade_gains(n_grades: int) -> FloatArray:
    """Return 2^grade - 1, shape (n_grades,): what boosters take an item to be worth."""
    gains: FloatArray = np.exp2(np.arange(n_grades)) - 1.0
    return gains
