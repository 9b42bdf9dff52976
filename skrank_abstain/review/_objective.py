"""The objective of questions: which pairs to consider, and what an answer is worth."""

from __future__ import annotations

from abc import ABC, abstractmethod

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.review._posterior import Posterior


class QuestionObjective(ABC):
    """What questions are for; the base class of your own objectives.

    Both methods get a ``posterior``, the beliefs about one query: ``n_items``;
    ``pair_proba`` of shape (n_pairs, 3), with pairs in canonical order and labels -1,
    0, +1; ``grade_proba`` of shape (n_items, n_grades); ``expected_gain`` of shape
    (n_items,), the means of 2^grade - 1; and ``with_answers(left, right, likelihood)``,
    the posterior after more answers.

    Attributes
    ----------
    equal_shares : bool, default=False
        Whether all queries have their turn before one has another, unless the caller
        passes ``per_query=``.

    See Also
    --------
    skrank_abstain.review.Review.ask : Takes a name or an instance.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.review import QuestionObjective
    >>> class Riskiest(QuestionObjective):
    ...     def candidates(self, posterior):
    ...         return 1 - posterior.pair_proba.max(axis=1)
    ...
    ...     def values(self, posterior, left, right, answer_proba, loss):
    ...         n = posterior.n_items
    ...         pair = left * (2 * n - left - 1) // 2 + right - left - 1
    ...         return self.candidates(posterior)[pair]
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> new = make_ranking(n_queries=2, random_state=1)
    >>> review = ranker.review(new.data, new.qid)
    >>> len(review.ask(3, objective=Riskiest()))
    3
    """

    equal_shares = False

    @abstractmethod
    def candidates(self, posterior: Posterior) -> FloatArray:
        """Return how promising each pair is, (n_pairs,): the best 64 get a value."""

    @abstractmethod
    def values(
        self,
        posterior: Posterior,
        left: IntArray,
        right: IntArray,
        answer_proba: FloatArray,
        loss: FloatArray,
    ) -> FloatArray:
        """Return the expected worth of the answers to questions.

        Parameters
        ----------
        posterior : Posterior
        left, right : ndarray of shape (n_questions,), int64
            Positions of the items of each pair in question, ``left < right``.
        answer_proba : ndarray of shape (3, 3), float64
            P(answer | true label), answers by true labels, both -1, 0, +1.
        loss : ndarray of shape (3, 3), float64
            Predicted by true labels.

        Returns
        -------
        values : ndarray of shape (n_questions,), float64
            Higher is better. No question is asked whose value is not positive.
        """
