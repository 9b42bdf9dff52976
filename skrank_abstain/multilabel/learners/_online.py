"""Online learners of the learnability theorems for multilabel ranking.

They take all sequences of rankings as experts: demonstrations for tiny examples.
`OnlineMultilabelRanker` is for real experts.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skrank_abstain._validation import IntArray, shown
from skrank_abstain.multilabel._losses import check_between
from skrank_abstain.multilabel.learners._classes import (
    Learner,
    check_binary,
    check_class,
    check_label_relevance,
    check_learner,
    check_points,
    in_top,
    learned_row,
    least_loss_learner,
)
from skrank_abstain.multilabel.learners._experts import (
    OnlineExpertRun,
    TaughtLearner,
    class_regret,
    draw_updates,
    majority_answers,
    play_rounds,
    run_of_experts,
    threshold_answers,
)
from skrank_abstain.multilabel.learners._families import (
    TOLERANCE,
    RankingLoss,
    all_rankings,
    check_family,
    check_grades,
    check_loss,
    check_member,
    loss_table,
)


def online_expert_run(
    class_ranks: ArrayLike,
    points: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
    max_grade: int = 1,
    learner: Learner | None = None,
    beta: float = 0.5,
    random_state: Any = None,
) -> OnlineExpertRun:
    """Simulate the agnostic online learner of multilabel rankings.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    points : array-like of shape (n_rounds,), int
        The point of each round.
    y : array-like of shape (n_rounds, n_labels), int
        Relevance of its labels, 0 to ``max_grade``.
    loss : callable
        ``loss(y_true, y_score) -> float``, such as
        ``functools.partial(multilabel_loss, loss="auc")``.
    family : {"sum", "precision"}
        The family that the loss belongs to; this is checked.
    p : int, default=None
        Number of top positions of the family; None for all labels in the sum family.
        The precision family needs one: the top n_labels miss nothing.
    max_grade : int, default=1
        Largest relevance that could come. The largest and the smallest loss are those
        over all relevances from 0 to this, not over those that came.
    learner : callable, default=None
        What each expert learns each threshold class with: ``learner(class_ranks,
        points, relevance)`` returns the number of a row of ``class_ranks`` for the
        points of shape (q,) seen so far, at first none, and their relevance of shape
        (q, 2). To it threshold classes are classes of rankings of two labels, "in the
        top j" and "not". None for the majority vote of the hypotheses that are left,
        see below.
    beta : float, default=0.5
        Experts learn in a round with probability ``n_rounds ** (beta - 1)``; in (0, 1).
    random_state : int, RandomState instance or None, default=None
        For the choice of these rounds, and of the expert that is followed.

    Returns
    -------
    run : OnlineExpertRun
        What was expected to be lost and what was predicted in one draw, the losses of
        the experts and of the best hypothesis, and what the regret cannot exceed.

    Raises
    ------
    TypeError
        If ``p``, ``max_grade`` or ``beta`` is not a number, or ``loss`` or ``learner``
        no such function.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range, ``y`` has
        other grades, ``family`` is unknown, ``p`` or ``beta`` out of range, or ``p``
        missing for the precision family, the loss is not in the family, the learner
        returns no number of a row, or if there would be more than 50,000 experts or
        250,000 losses.

    See Also
    --------
    online_threshold_run : The way back, to the threshold classes.
    OnlineMultilabelRanker : The same weights for experts of one's own.

    Notes
    -----
    ``family="precision"`` is Algorithm 7 of Raman, Subedi and Tewari (2023) inside its
    Algorithm 3. Algorithm 3 is printed in the main text, which was not at hand; the
    appendix says what it does. ``family="sum"`` is our reconstruction of Algorithm 2,
    also of the main text.

    For each sequence of rankings of the rounds drawn there is an expert that takes
    these rankings for the truth, and one more that never learns: with u rounds drawn,
    ``N = 1 + (n_labels!)**u`` experts (1 for u = 0). An expert runs one binary online
    learner for each label i and each j up to p (j = p only in the precision family),
    which predicts whether i is in the top j; it ranks labels by their votes, equal
    votes by label index. REWA follows an expert drawn by the weights ``exp(-eta * total
    loss)`` with ``eta = sqrt(8 ln N / T) / M``, where T is the number of rounds and M
    the largest loss, so that the expected regret against the best expert is at most ``M
    sqrt(T ln N / 2)``.

    Against the class, Theorems 5.1 and 5.2 say, with K labels and the smallest loss a
    that is not 0,

        ``E sum_t loss <= min_h sum_t loss(h) + (M**2 / a) sum_ij T**(1 - beta) R_ij +
        M sqrt(2 T**(1 + beta) K ln K)``

    in expectation over the rounds drawn, for any sequence that was fixed before them.
    The sum runs over the binary learners, and R is what they can get wrong on
    noise-free data. The default learner is the majority vote of the hypotheses that are
    consistent with all updates so far, the halving algorithm (an update that none is
    consistent with is skipped); it has R = log2(n_hypotheses). The first row of least
    loss, to be passed as ``learner``, would have n_hypotheses - 1.
    ``class_regret_bound`` is the excess alone. For short runs it is more than ``M T``
    and says nothing.

    Time and memory grow with ``(n_labels!)**u``: three labels and six learning rounds
    are 46,657 experts. ``n_labels! (max_grade + 1)**n_labels`` losses are computed.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_loss, online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]],
    ...     points=[0, 1, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0]],
    ...     loss=multilabel_loss,
    ...     family="sum",
    ...     random_state=2,
    ... )
    >>> run.n_experts, run.updated.tolist()
    (217, [True, True, False, True])
    >>> bool(run.expected_loss.sum() <= run.best_expert_loss + run.regret_bound)
    True
    >>> run.best_hypothesis_loss
    0.0
    """
    ranks = check_class(class_ranks)
    n_hypotheses, _, n_labels = ranks.shape
    p = check_family(family, p, n_labels)
    check_loss(loss)
    check_learner(learner)
    stream = check_points(points, "points", ranks.shape[1])
    relevance = check_label_relevance(y, stream.size, n_labels, "round")
    n_grades = check_grades(n_labels, max_grade)
    unknown = ~np.isin(relevance, range(n_grades))
    if unknown.any():
        raise ValueError(
            f"y must hold grades 0 to max_grade = {max_grade}, got "
            f"{shown(relevance[unknown].tolist()[0])}. Say by max_grade which could "
            "come."
        )
    rng = check_random_state(random_state)
    updated = draw_updates(beta, stream.size, n_labels, rng)
    rankings = all_rankings(n_labels)
    # Losses of all rankings at all relevances, for experts and hypotheses to look up.
    rows = loss_table(loss, n_labels, n_grades)
    check_member(loss, rows, n_labels, family, p)
    table = np.stack([losses for _, losses in rows])
    positive = table[table > TOLERANCE]
    smallest, largest = positive.min(initial=np.inf), positive.max(initial=0.0)
    at_round = table[(relevance @ _place_values(n_grades, n_labels)).astype(np.int64)]
    tops = range(1, p + 1) if family == "sum" else [p]
    learners = []
    for label, j in product(range(n_labels), tops):
        members = in_top(ranks, j)[:, :, label]
        answers = (
            threshold_answers(learner, members)
            if learner
            else majority_answers(members)
        )
        learners.append(TaughtLearner(answers, in_top(rankings, j)[:, label]))

    def ranked_by_votes(says: IntArray) -> IntArray:
        votes = says.reshape(n_labels, len(tops), -1).sum(axis=1)
        order = np.argsort(-votes.T, axis=1, kind="stable")
        return _number_of(rankings, np.argsort(order, axis=1) + 1)

    choices = play_rounds(learners, ranked_by_votes, stream, updated)
    hypotheses = _number_of(rankings, ranks[:, stream])
    in_rounds = np.arange(stream.size)
    mistakes = math.nan if learner else len(learners) * math.log2(n_hypotheses)
    return run_of_experts(
        rankings,
        choices,
        at_round[in_rounds[:, np.newaxis], choices],
        updated,
        rng,
        largest=largest,
        best_hypothesis_loss=float(at_round[in_rounds, hypotheses].sum(axis=1).min()),
        class_regret_bound=class_regret(
            largest**2 / smallest * mistakes, largest, beta, stream.size, n_labels
        ),
    )


def online_threshold_run(
    class_ranks: ArrayLike,
    points: ArrayLike,
    y: ArrayLike,
    *,
    label: int,
    j: int,
    learner: Learner | None = None,
    beta: float = 0.5,
    random_state: Any = None,
) -> OnlineExpertRun:
    """Simulate the agnostic online learner of whether a label is in the top j.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    points : array-like of shape (n_rounds,), int
        The point of each round.
    y : array-like of shape (n_rounds,), int
        1 where the label is said to be in the top j, else 0.
    label : int
        The label, 0 to n_labels - 1.
    j : int
        Number of top positions, 1 to n_labels.
    learner : callable, default=None
        The online learner of rankings that each expert owns: ``learner(class_ranks,
        points, relevance)`` returns the number of a row of ``class_ranks`` for the
        points of shape (q,) seen so far, at first none, and their relevance of shape
        (q, n_labels). None for the first row of least precision loss at j.
    beta : float, default=0.5
        Experts learn in a round with probability ``n_rounds ** (beta - 1)``; in (0, 1).
    random_state : int, RandomState instance or None, default=None
        For the choice of these rounds, and of the expert that is followed.

    Returns
    -------
    run : OnlineExpertRun
        What was expected to be lost and what was predicted in one draw, the losses of
        the experts and of the best hypothesis, and what the regret cannot exceed.

    Raises
    ------
    TypeError
        If ``label``, ``j`` or ``beta`` is not a number, or ``learner`` no such
        function.
    ValueError
        If shapes differ, ranks are not permutations, points, ``label``, ``j`` or
        ``beta`` are out of range, ``y`` is not binary, the learner returns no number of
        a row, or if there would be more than 50,000 experts.

    See Also
    --------
    online_expert_run : The way from the threshold classes to rankings.
    threshold_relabelling_learner : The same from one sample.

    Notes
    -----
    Algorithm 6 of Raman, Subedi and Tewari (2023) with REWA over its experts. For each
    sequence of rankings of the rounds drawn there is an expert that takes these
    rankings for the truth, and one more that never learns. Each has an online learner
    of rankings of its own, predicts ``1[rank of the label <= j]`` of the ranking that
    this learner predicts, and where the round was drawn teaches it ``bin_rel(ranking
    taken for the truth, j)``. Weights are those of `online_expert_run`, with the
    zero-one loss: M = 1.

    Against the threshold class of the label and j, with K labels and T rounds,

        ``E sum_t loss <= min_h sum_t loss(h) + T**(1 - beta) R + sqrt(2 T**(1 + beta) K
        ln K)``

    in expectation over the rounds drawn. R is in how many rounds the learner can have a
    wrong set of top j labels on noise-free data (the loss of the learner over its least
    non-zero value, in the paper). Each time the default learner has, it leaves a row
    for ever: R = n_hypotheses - 1.

    Time and memory grow with ``(n_labels!)**u`` for u rounds drawn.

    Examples
    --------
    >>> from skrank_abstain.multilabel import online_threshold_run
    >>> run = online_threshold_run(
    ...     [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]],
    ...     points=[0, 1, 0, 1],
    ...     y=[0, 1, 0, 1],
    ...     label=0,
    ...     j=1,
    ...     random_state=2,
    ... )
    >>> run.n_experts, run.best_hypothesis_loss, run.best_expert_loss
    (217, 0.0, 1.0)
    >>> run.prediction.shape
    (4,)
    """
    ranks = check_class(class_ranks)
    n_hypotheses, _, n_labels = ranks.shape
    stream = check_points(points, "points", ranks.shape[1])
    truth = check_binary(y, stream.size, "round")
    label = check_between(label, "label", 0, n_labels - 1)
    j = check_between(j, "j", 1, n_labels)
    check_learner(learner)
    rng = check_random_state(random_state)
    updated = draw_updates(beta, stream.size, n_labels, rng)
    inner = learner or least_loss_learner("precision", j)
    members = in_top(ranks, j)[:, :, label]

    def answers(seen: IntArray, relevance: IntArray) -> IntArray:
        answer: IntArray = members[learned_row(inner, ranks, seen, relevance)]
        return answer

    taught = TaughtLearner(answers, in_top(all_rankings(n_labels), j))
    choices = play_rounds([taught], lambda says: says[0], stream, updated)
    mistakes = math.nan if learner else float(n_hypotheses - 1)
    return run_of_experts(
        np.arange(2),
        choices,
        (choices != truth[:, np.newaxis]).astype(np.float64),
        updated,
        rng,
        largest=1.0,
        best_hypothesis_loss=float((members[:, stream] != truth).sum(axis=1).min()),
        class_regret_bound=class_regret(mistakes, 1.0, beta, stream.size, n_labels),
    )


def _place_values(base: int, n_digits: int) -> IntArray:
    """Return the values of the digits of a number, the first digit the largest."""
    values: IntArray = base ** np.arange(n_digits)[::-1]
    return values


def _number_of(rankings: IntArray, ranks: IntArray) -> IntArray:
    """Return the numbers of ranks, (..., n_labels), in the list of all rankings."""
    # The list is sorted, and so are its rows when read as numbers.
    values = _place_values(rankings.shape[1] + 1, rankings.shape[1])
    found: IntArray = np.searchsorted(rankings @ values, ranks @ values)
    return found
