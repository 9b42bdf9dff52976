"""Beliefs about the items of one query, given answers about some of its pairs.

Given a node of the shift that all items share, their grades are independent. An answer
about two items multiplies in its likelihood, and sum-product sums over all grades.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.pairs import Scores
from skrank_abstain.tie_models import GradedRelevance

if TYPE_CHECKING:
    from skrank_abstain.review._sum_product import Answered, Beliefs

#: No grade is impossible, so that the logarithm of its probability is finite.
_LEAST = 1e-30
#: Most nodes where all loops are cut, and where some are left; most numbers in the
#: conditionals of all items.
_MOST_NODES, _MOST_NODES_IN_LOOPS = 5000, 500
#: What a question is worth takes the product of nodes and candidates.
_MOST_NODES_OF_QUESTIONS = 150
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class GradePrior:
    """Beliefs about items before any answer.

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

    @classmethod
    def of(cls, model: GradedRelevance, items: Scores) -> Self:
        """Return what a model says of the bins of items, as its table does."""
        grade = model.grade_proba(model.centres(items.value))
        if items.novel is not None:
            # The score of a novel item says nothing about its grade; answers do.
            grade[:, items.novel] = 1 / grade.shape[2]
        return cls(grade, model.node_weights_, model.tied_shares_)

    def take(self, rows: IntArray) -> Self:
        """Return the beliefs about some items, as those of a query."""
        return replace(self, grade=self.grade[:, rows])


@dataclass(frozen=True, eq=False)
class Posterior:
    """A query under review: its prior, its answered pairs and what follows from both.

    Exact where the answered pairs have no loop, or where few items cut all loops: each
    node is then divided by the grades of these items [1]_. With too many loops for that
    some are cut; in the others messages are repeated until they stand still, the
    weights of the nodes follow Bethe's formula, and pairs without an answer depend on
    each other along a spanning tree.

    Attributes
    ----------
    prior : GradePrior
    answered : Answered
        The answered pairs, and the likelihood of their answers.
    beliefs : Beliefs
    most_nodes : int
        As in ``of``.

    References
    ----------
    .. [1] Pearl (1986). "A constraint-propagation approach to probabilistic reasoning".
       Uncertainty in Artificial Intelligence. (Cutset conditioning.)
    """

    prior: GradePrior
    answered: Answered
    beliefs: Beliefs
    most_nodes: int = _MOST_NODES

    @classmethod
    def of(
        cls,
        prior: GradePrior,
        left: ArrayLike = (),
        right: ArrayLike = (),
        likelihood: ArrayLike = (),
        most_nodes: int = _MOST_NODES,
    ) -> Self:
        """Combine a prior with answers; there may be none.

        Parameters
        ----------
        prior : GradePrior
        left, right : array-like of shape (n_answered,), int
            Positions of the items of each answered pair, ``left < right``.
        likelihood : array-like of shape (n_answered, 3), float
            P(answers about the pair | true label), up to a factor, for the labels -1,
            0, +1; positive. Those of a repeated pair are multiplied.
        most_nodes : int
            Nodes at most, if all loops are cut.
        """
        from skrank_abstain.review._sum_product import believe, link_items

        both = np.array([left, right], dtype=np.int64)
        pairs, at = np.unique(both, axis=1, return_inverse=True)
        product = np.ones((pairs.shape[1], 3))
        np.multiply.at(product, at.reshape(-1), np.reshape(likelihood, (-1, 3)))
        n_nodes, n, n_grades = prior.grade.shape
        # Cutting all loops is exact; if that takes too many nodes, cut some of them and
        # repeat messages in the others.
        for limit in (most_nodes, min(most_nodes, _MOST_NODES_IN_LOOPS)):
            most = _most_cut(n_nodes, n, n_grades, limit)
            answered, cut = link_items(n, pairs[0], pairs[1], product, most)
            if not answered.has_loops:
                break
        logs = _condition(prior, answered, cut)
        beliefs = believe(*logs, prior.tied, answered, answered.has_loops)
        return cls(prior, answered, beliefs, most_nodes)

    @property
    def n_items(self) -> int:
        """Number of items in the query."""
        return int(self.answered.tree.size)

    def with_answers(
        self, left: ArrayLike, right: ArrayLike, likelihood: FloatArray
    ) -> Self:
        """Return the posterior after more answers.

        Parameters
        ----------
        left, right : array-like of shape (n_new,), int
            Positions of the items, ``left < right``.
        likelihood : ndarray of shape (n_new, 3), float64
            P(answer | true label), for the labels -1, 0, +1.
        """
        before = self.answered
        left, right = np.append(before.left, left), np.append(before.right, right)
        likelihood = np.concatenate([before.likelihood, likelihood])
        return self.of(self.prior, left, right, likelihood, self.most_nodes)

    def roughly(self) -> Self:
        """Return a posterior that cuts fewer loops, to choose questions by."""
        if self.beliefs.weight.size <= _MOST_NODES_OF_QUESTIONS:
            return replace(self, most_nodes=_MOST_NODES_OF_QUESTIONS)
        return self.of(self.prior, *self.answered[:3], _MOST_NODES_OF_QUESTIONS)

    @cached_property
    def pair_proba(self) -> FloatArray:
        """P(label) for -1, 0, +1, shape (n_pairs, 3), pairs in canonical order."""
        from skrank_abstain.review._sum_product import pair_probabilities

        return pair_probabilities(self.answered, self.beliefs)

    @cached_property
    def answered_proba(self) -> FloatArray:
        """The same for the answered pairs, shape (n_answered, 3)."""
        from skrank_abstain.review._sum_product import answered_signs

        return answered_signs(self.answered, self.beliefs)

    @cached_property
    def grade_proba(self) -> FloatArray:
        """P(grade) of each item, shape (n_items, n_grades)."""
        return self.beliefs.mass.sum(axis=1)

    @cached_property
    def expected_gain(self) -> FloatArray:
        """Mean of 2^grade - 1 of each item, shape (n_items,)."""
        return (self.grade_proba * self.gains).sum(axis=1)

    @property
    def gains(self) -> FloatArray:
        """2^grade - 1 for each grade, shape (n_grades,): the gain that boosters use."""
        return np.exp2(np.arange(self.prior.tied.size)) - 1.0

    def given_grades(self, left: IntArray, right: IntArray) -> tuple[Any, ...]:
        """Condition on the grades of either item of each pair in question.

        Returns
        -------
        slot : ndarray of shape (n_items,), int64
            Where each item in question is in the next three arrays; -1 for other items.
        worse, tied : ndarray of shape (n_asked, n_nodes, n_grades, n_items), float64
            P(the other item is worse), P(tied), given the node and the grade.
        gain : ndarray of shape (n_asked, n_nodes, n_grades, n_items), float64
            Expected gain of the other item.
        joint : ndarray of shape (n_questions, n_nodes, n_grades, n_grades), float64
            P(node, both grades) of each pair in question.
        """
        from skrank_abstain.review._sum_product import rows_of_items

        asked = np.unique([left, right])
        slot = np.full(self.n_items, -1)
        slot[asked] = np.arange(asked.size)
        pairs = asked, left, right, self.answered
        return slot, *rows_of_items(*pairs, self.beliefs, self.gains)


def _most_cut(n_nodes: int, n_items: int, n_grades: int, most_nodes: int) -> int:
    """Return how many items may be cut without exceeding ``most_nodes`` nodes."""
    most = min(most_nodes, _MOST_NUMBERS // max(n_items * n_grades**2, 1))
    n_cut = 0
    while n_cut < n_items and n_nodes * n_grades ** (n_cut + 1) <= most:
        n_cut += 1
    return n_cut


def _condition(
    prior: GradePrior, answered: Answered, cut: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Divide each node into one for each grade of the items that cut loops.

    Returns the logarithms of P(grade | node) (n, H, K), and of P(node) (H,), after what
    was said about pairs with such an item.
    """
    grade = np.log(np.maximum(prior.grade, _LEAST)).transpose(1, 0, 2)
    weight, number = np.log(prior.weight), np.arange(prior.tied.size)
    known = np.where(np.eye(number.size, dtype=bool), 0.0, -np.inf)
    for item in cut:
        nodes = weight.size
        weight = np.repeat(weight, number.size) + grade[item].ravel()
        grade = np.repeat(grade, number.size, axis=1)
        grade[item] = np.tile(known, (nodes, 1))
    above = number[:, None] > number
    for pair in np.flatnonzero(answered.cut):
        one, other = answered.left[pair], answered.right[pair]
        worse, even, better = answered.likelihood[pair]
        same = np.diag(prior.tied * even + (1 - prior.tied) * (worse + better) / 2)
        heard = np.log(np.where(above, better, np.where(above.T, worse, same)))
        if one not in cut:
            one, other, heard = other, one, heard.T
        given = heard[grade[one].argmax(axis=1)]
        if other in cut:
            weight += given[np.arange(weight.size), grade[other].argmax(axis=1)]
        else:
            grade[other] += given
    return np.ascontiguousarray(grade), weight
