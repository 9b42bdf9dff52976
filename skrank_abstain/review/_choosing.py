"""Choose the questions whose answers are expected to be worth most."""

import heapq
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import check_choice, shown
from skrank_abstain.pairs import BYTES_PER_PAIR, check_output_size
from skrank_abstain.review._posterior import Posterior

#: Advice where the pairs do not fit into memory.
FEWER = (
    "Review fewer queries at a time, which tell nothing about each other, or the "
    "highest items of a query alone."
)
#: Pairs of a query that get a value.
_N_CANDIDATES = 64
#: In the place of a label: answers tell none.
UNTOLD = 2
#: A pair of lower risk is not asked.
_SURE = 1e-6


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
    >>> review = ranker.review(new.data, qid=new.qid)
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

        slot, worse, tied, _, joint = posterior.given_grades(left, right)
        # Costs of confusing the orders, an order for a tie, a tie for an order.
        losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
        return pair_values(
            *(left, right, slot, worse, tied, joint),
            *(posterior.prior.tied, answer_proba, losses),
        )


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
        return np.minimum(hope[first], hope[second])

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

        slot, _, _, gain, joint = posterior.given_grades(left, right)
        return top_values(
            *(left, right, slot, posterior.answered.tree, gain, joint),
            *(posterior.prior.tied, answer_proba, posterior.expected_gain, self.depth),
        )


#: Objectives by the names that ``Review.ask`` takes.
OBJECTIVES = {"pairs": PairObjective(), "top": TopObjective()}


class Question(NamedTuple):
    """One pair of a query, by the positions of its items, and its worth.

    ``answer``, -1, 0 or 1, is the one that later questions assume.
    """

    value: float
    left: int
    right: int
    answer: int


def check_objective(objective: str | QuestionObjective) -> QuestionObjective:
    """Return an objective given by name or as an instance."""
    if isinstance(objective, QuestionObjective):
        return objective
    if found := re.fullmatch(r"top@([1-9]\d{0,8})", str(objective)):
        return TopObjective(int(found[1]))
    return OBJECTIVES[check_choice(objective, "objective", (*OBJECTIVES, "top@3"))]


def pair_number(left: IntArray, right: IntArray, n: IntArray | int) -> IntArray:
    """Return the position of pairs of ``n`` items in canonical order."""
    return left * (2 * n - left - 1) // 2 + right - left - 1


def questions_of_query(
    posterior: Posterior,
    objective: QuestionObjective,
    answer_proba: FloatArray,
    loss: FloatArray,
    rng: np.random.Generator | None = None,
    disputed: ArrayLike = (),
) -> Iterator[Question]:
    """Yield the questions of one query, one after the other.

    Parameters
    ----------
    posterior : Posterior
        After the answers so far.
    objective, answer_proba, loss
        As in ``QuestionObjective.values``.
    rng : Generator, default=None
        Draws each answer from the beliefs after those before it, as answers to one
        truth are distributed. None: each question gets its most probable answer.
    disputed : array-like of shape (n_disputed,), int, default=()
        Answered pairs, in canonical order, to ask about once more.

    Yields
    ------
    question : Question
        The most useful one, as if those before it had got their answers. Other pairs
        that were answered, whose answer follows from others, or whose label is sure,
        are left out.

    Notes
    -----
    O(n n_nodes n_grades) for each of up to 64 candidates.
    """
    n = posterior.n_items
    check_output_size(n * (n - 1) // 2, BYTES_PER_PAIR, remedy=FEWER)
    first, second = np.triu_indices(n, 1)
    posterior = posterior.roughly()
    while True:
        proba = posterior.pair_proba
        is_open = _open_pairs(posterior, disputed)
        pairs = np.flatnonzero(is_open & (1 - proba.max(axis=1) > _SURE))
        if pairs.size > _N_CANDIDATES:
            promise = _numbers(objective.candidates(posterior), objective, first.size)
            most = np.argpartition(-promise[pairs], _N_CANDIDATES)[:_N_CANDIDATES]
            pairs = np.sort(pairs[most])
        if not pairs.size:
            return
        ends = first[pairs], second[pairs]
        values = objective.values(posterior, *ends, answer_proba, loss)
        values = _numbers(values, objective, pairs.size)
        best = int(np.argmax(values))
        if values[best] <= 0:
            return
        pair = pairs[best]
        chances = answer_proba @ proba[pair]
        answer = int(np.argmax(chances))
        if rng is not None:
            answer = int(rng.choice(3, p=chances / chances.sum()))
        i, j = int(first[pair]), int(second[pair])
        yield Question(float(values[best]), i, j, answer - 1)
        posterior = posterior.with_answers(i, j, answer_proba[[answer]])
        disputed = np.setdiff1d(disputed, pair)


def choose_questions(
    streams: Iterable[Iterator[Question]], n: int, per_query: int | str | None
) -> list[tuple[int, Question]]:
    """Choose the most useful questions of all queries.

    Parameters
    ----------
    streams : iterable of iterator of Question
        One for each query.
    n : int
    per_query : int, "equal" or None
        At most this many of each query; or all have their turn before one has another.

    Returns
    -------
    chosen : list of (query, Question)
        By falling value.
    """
    limit = None if isinstance(per_query, str) else per_query

    def turns(query: int, stream: Iterator[Question]) -> Iterator[tuple[Any, ...]]:
        for turn, question in enumerate(islice(stream, limit)):
            yield turn * (per_query == "equal"), -question.value, query, question

    # A question may be worth more than the one before it in its query: `merge` compares
    # only the next question of each query, and forms no other.
    best = islice(heapq.merge(*map(turns, count(), streams)), n)
    chosen = [(query, question) for _, _, query, question in best]
    return sorted(chosen, key=lambda one: -one[1].value)


def _numbers(found: Any, objective: QuestionObjective, n: int) -> FloatArray:
    """Check what a method of an objective returned."""
    numbers = np.asarray(found, dtype=np.float64)
    if numbers.shape != (n,) or np.isnan(numbers).any():
        raise ValueError(
            f"{type(objective).__name__} must return one number per pair, got "
            f"{shown(found)} for {n} pairs."
        )
    return numbers


def _open_pairs(posterior: Posterior, disputed: ArrayLike) -> BoolArray:
    """Return which pairs have no answer, given or implied, and the disputed ones."""
    left, right, likelihood, *_ = posterior.answered
    label, n = likelihood.argmax(axis=1) - 1, posterior.n_items
    pair = pair_number(left, right, n)
    told = ~np.isin(pair, disputed)
    is_open = labels_told(left[told], right[told], label[told], n) == UNTOLD
    is_open[pair] = ~told
    return is_open


def labels_told(left: IntArray, right: IntArray, label: IntArray, n: int) -> IntArray:
    """Return the labels of all pairs of ``n`` items that some labels say, or imply.

    Parameters
    ----------
    left, right, label : ndarray of shape (n_labels,), int64
        Positions of the items of some pairs, and their labels.
    n : int

    Returns
    -------
    told : ndarray of shape (n_pairs,), int64
        In canonical order; `UNTOLD` for the others. Labels on a way of ties and orders
        that leads back to where it started, with an order on it, count for nothing.
    """
    from skrank_abstain._kernels.closing import close_orders

    # Which item is not worse than which, (n, n): a tie goes both ways.
    ahead, behind = label >= 0, label <= 0
    better = np.concatenate([left[ahead], right[behind]])
    over = close_orders(better, np.concatenate([right[ahead], left[behind]]), n)
    both = over & over.T
    on_cycle = both[left, right]
    broken = both[left[on_cycle & (label != 0)]].any(axis=0)
    if broken.any():
        sound = ~(on_cycle & broken[left])
        return labels_told(left[sound], right[sound], label[sound], n)
    first, second = np.triu_indices(n, 1)
    ahead, behind = over[first, second], over[second, first]
    return np.where(ahead | behind, ahead.astype(int) - behind, UNTOLD)
