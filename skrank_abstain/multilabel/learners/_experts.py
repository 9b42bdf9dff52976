"""Experts that learn in some rounds, and the weighted draw among them.

For each sequence of rankings, one per learning round, an expert takes the sequence for
the truth; one more expert never learns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray, check_fraction
from skrank_abstain.multilabel._weights import exponential_weights
from skrank_abstain.multilabel.learners._classes import Learner, learned_row

#: Largest number of experts.
MAX_EXPERTS = 50_000

#: From lessons at some points to the answers at all points of the domain.
Answers = Callable[[IntArray, IntArray], IntArray]


class OnlineExpertRun(NamedTuple):
    """What happened in one run of an online construction.

    Attributes
    ----------
    expected_loss : ndarray of shape (n_rounds,), float64
        Mean loss of the experts in each round, weighted as they were before it: the
        expected loss of the prediction.
    best_expert_loss : float
        Smallest total loss of an expert.
    regret_bound : float
        The sum of ``expected_loss`` exceeds ``best_expert_loss`` by at most this.
    n_experts : int
        Number of experts.
    updated : ndarray of shape (n_rounds,), bool
        In which rounds the experts learned.
    prediction : ndarray of shape (n_rounds, n_labels) or (n_rounds,), int64
        One draw: the ranks that an expert drawn by these weights predicts, or the 0 or
        1 of `online_threshold_run`.
    expert_losses : ndarray of shape (n_experts,), float64
        Total loss of each expert. The first never learns; the others are in the order
        of the rankings that they are taught, as `itertools.product` and `permutations`
        count them.
    best_hypothesis_loss : float
        Smallest total loss of a member of the class.
    class_regret_bound : float
        The sum of ``expected_loss`` exceeds ``best_hypothesis_loss`` by at most this in
        expectation over ``updated``; NaN for a learner of one's own, whose number of
        mistakes is not known.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_loss, online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2]], [[2, 1]]], points=[0, 0, 0], y=[[0, 1]] * 3,
    ...     loss=multilabel_loss, family="sum", random_state=0,
    ... )
    >>> bool(run.expected_loss.sum() <= run.best_expert_loss + run.regret_bound)
    True
    >>> run.best_hypothesis_loss, run.prediction.shape
    (0.0, (3, 2))
    """

    expected_loss: FloatArray
    best_expert_loss: float
    regret_bound: float
    n_experts: int
    updated: BoolArray
    prediction: IntArray
    expert_losses: FloatArray
    best_hypothesis_loss: float
    class_regret_bound: float


class TaughtLearner:
    """One learner of all experts; experts with the same lessons so far share a group.

    Parameters
    ----------
    answers : callable
        The learner, as a function of points and their lessons.
    lessons : ndarray of shape (n_rankings, ...)
        The lesson of each ranking that an expert may take for the truth.
    """

    def __init__(self, answers: Answers, lessons: IntArray) -> None:
        self.answers = answers
        self.lessons, kind = np.unique(lessons, axis=0, return_inverse=True)
        self.kind = kind.reshape(-1)
        self.points: list[int] = []
        self.histories: list[tuple[int, ...]] = [()]
        self.history_of = np.zeros(1, dtype=np.int64)
        self.said = self._said()
        self.untaught = self.said[0]

    def says(self, point: int) -> IntArray:
        """Return the answers of the untaught expert and of each group."""
        groups = self.said[self.history_of, point]
        answers: IntArray = np.append(self.untaught[point], groups)
        return answers

    def update(self, point: int) -> None:
        """Teach at a point: each group splits into one group per ranking."""
        kinds = range(len(self.lessons))
        self.points.append(point)
        self.histories = [(*past, kind) for past in self.histories for kind in kinds]
        groups = len(kinds) * self.history_of[:, np.newaxis] + self.kind
        self.history_of = groups.reshape(-1)
        self.said = self._said()

    def _said(self) -> IntArray:
        points = np.array(self.points, dtype=np.int64)
        taught = np.array(self.histories, dtype=np.int64)
        return np.stack([self.answers(points, self.lessons[past]) for past in taught])


def majority_answers(members: IntArray) -> Answers:
    """Return the halving algorithm for a class of binary functions.

    The strict majority of the functions, 0 or 1 in the rows of ``members``, that are
    consistent with all lessons. A lesson that none is consistent with is skipped.
    """

    def answers(points: IntArray, bits: IntArray) -> IntArray:
        alive = np.ones(len(members), dtype=bool)
        for point, bit in zip(points, bits, strict=True):
            left = alive & (members[:, point] == bit)
            alive = left if left.any() else alive
        majority: IntArray = 1 * (2 * members[alive].sum(axis=0) > alive.sum())
        return majority

    return answers


def threshold_answers(learner: Learner, members: IntArray) -> Answers:
    """Return a learner of rankings as one of binary functions.

    To the learner the functions are rankings of two labels, "in" and "out".
    """
    ranks = np.stack([2 - members, 1 + members], axis=2)

    def answers(points: IntArray, bits: IntArray) -> IntArray:
        relevance = np.stack([bits, 1 - bits], axis=1)
        answer: IntArray = members[learned_row(learner, ranks, points, relevance)]
        return answer

    return answers


def draw_updates(
    beta: float, n_rounds: int, n_labels: int, rng: np.random.RandomState
) -> BoolArray:
    """Draw the learning rounds, or raise where there would be too many experts."""
    share = n_rounds ** (check_fraction(beta, "beta") - 1)
    updated: BoolArray = rng.random_sample(n_rounds) < share
    n_updates = int(updated.sum())
    n_followers = math.factorial(n_labels) ** n_updates
    if n_followers >= MAX_EXPERTS:
        raise ValueError(
            f"there must be at most {MAX_EXPERTS} experts, got {n_followers + 1} for "
            f"{n_labels} labels and {n_updates} learning rounds. Take fewer rounds or "
            "a smaller beta."
        )
    return updated


def play_rounds(
    learners: list[TaughtLearner],
    choose: Callable[[IntArray], IntArray],
    stream: IntArray,
    updated: BoolArray,
) -> IntArray:
    """Return the choice of each expert in each round, (n_rounds, n_experts).

    ``choose`` makes choices, one per group of experts, of what the learners say, an
    array of shape (n_learners, n_groups).
    """
    rounds = []
    for point, learn in zip(stream.tolist(), updated, strict=True):
        rounds.append(choose(np.stack([inner.says(point) for inner in learners])))
        for inner in learners if learn else []:
            inner.update(point)
    # Without a learning round, the only expert is the one that never learns.
    if not updated.any():
        return np.stack([groups[:1] for groups in rounds])
    n_followers = learners[0].history_of.size
    return np.stack(
        [
            np.append(
                groups[:1], np.repeat(groups[1:], n_followers // (len(groups) - 1))
            )
            for groups in rounds
        ]
    )


def run_of_experts(
    predictions: IntArray,
    choices: IntArray,
    losses: FloatArray,
    updated: BoolArray,
    rng: np.random.RandomState,
    *,
    largest: float,
    best_hypothesis_loss: float,
    class_regret_bound: float,
) -> OnlineExpertRun:
    """Run REWA over experts whose choices and losses are known.

    Parameters
    ----------
    predictions : ndarray of shape (n_choices, ...), int64
        What can be predicted.
    choices : ndarray of shape (n_rounds, n_experts), int64
        Which of these each expert predicts.
    losses : ndarray of shape (n_rounds, n_experts), float64
        What it loses.
    updated : ndarray of shape (n_rounds,), bool
    rng : RandomState
        For the draw.
    largest : float
        Upper bound of the losses.
    best_hypothesis_loss, class_regret_bound : float
        Passed on to the result.

    Returns
    -------
    run : OnlineExpertRun
    """
    n_rounds, n_experts = losses.shape
    log_n = math.log(n_experts)
    eta = math.sqrt(8 * log_n / n_rounds) / (largest or 1.0)
    weights = exponential_weights(losses, eta, largest)[:-1]
    cumulative = np.cumsum(weights, axis=1)
    below = rng.random_sample((n_rounds, 1)) * cumulative[:, -1:]
    drawn = (cumulative <= below).sum(axis=1)
    totals = losses.sum(axis=0)
    return OnlineExpertRun(
        expected_loss=(weights * losses).sum(axis=1),
        best_expert_loss=float(totals.min()),
        regret_bound=largest * math.sqrt(n_rounds * log_n / 2),
        n_experts=n_experts,
        updated=updated,
        prediction=predictions[choices[np.arange(n_rounds), drawn]],
        expert_losses=totals,
        best_hypothesis_loss=best_hypothesis_loss,
        class_regret_bound=class_regret_bound,
    )


def class_regret(
    cost_of_mistakes: float, largest: float, beta: float, n_rounds: int, n_labels: int
) -> float:
    """Return the regret of REWA against the class, in expectation over the updates.

    The first term is for what the expert that is taught the best hypothesis gets wrong:
    ``cost_of_mistakes`` in the learning rounds, and in all rounds ``n_rounds ** (1 -
    beta)`` times that. The second is for not knowing which expert that is, ``largest``
    the largest loss.
    """
    entropy = n_labels * math.log(n_labels)
    unknown = largest * math.sqrt(2 * math.pow(n_rounds, 1 + beta) * entropy)
    return math.pow(n_rounds, 1 - beta) * cost_of_mistakes + unknown
