"""Learners of the learnability theorems for multilabel ranking, for finite classes.

A class is an array of ranks, (n_hypotheses, n_points, n_labels): what each hypothesis
says of each point of a finite domain. The learners show what the theorems do; they try
all hypotheses, or all sequences of rankings, and are meant for tiny examples only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_finite,
    check_fraction,
)
from skrank_abstain.multilabel.learners._families import (
    FAMILIES,
    RankingLoss,
    all_rankings,
    family_loss,
    losses_of,
    top_positions,
)
from skrank_abstain.multilabel.losses._label_arrays import check_top

#: Most experts that are simulated.
MAX_EXPERTS = 50_000


class RelabellingResult(NamedTuple):
    """What the agnostic learner found.

    Attributes
    ----------
    ranks : ndarray of shape (n_points, n_labels), int64
        The ranking of each point of the domain.
    loss : float
        Mean loss over the labelled sample.
    n_candidates : int
        Number of different relabellings of the sample without labels.

    Examples
    --------
    >>> from skrank_abstain.multilabel import (
    ...     agnostic_relabelling_learner, multilabel_auc_loss
    ... )
    >>> class_ranks = [[[1, 2]], [[2, 1]]]  # two hypotheses, one point, two labels
    >>> found = agnostic_relabelling_learner(
    ...     class_ranks, [0], [0], [[0, 1]], loss=multilabel_auc_loss, family="sum"
    ... )
    >>> found.ranks.tolist(), found.loss
    ([[2, 1]], 0.0)
    """

    ranks: IntArray
    loss: float
    n_candidates: int


class OnlineExpertRun(NamedTuple):
    """What happened in one run of the online construction.

    Attributes
    ----------
    expected_loss : ndarray of shape (n_rounds,), float64
        Mean loss of the experts in each round, weighted as they were before it.
    best_expert_loss : float
        Smallest total loss of an expert.
    regret_bound : float
        The sum of ``expected_loss`` exceeds ``best_expert_loss`` by at most this.
    n_experts : int
        Number of experts.
    updated : ndarray of shape (n_rounds,), bool
        In which rounds the experts learned.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_sum_loss, online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2]], [[2, 1]]], points=[0, 0, 0], y=[[0, 1]] * 3,
    ...     loss=multilabel_sum_loss, family="sum", random_state=0,
    ... )
    >>> bool(run.expected_loss.sum() <= run.best_expert_loss + run.regret_bound)
    True
    """

    expected_loss: FloatArray
    best_expert_loss: float
    regret_bound: float
    n_experts: int
    updated: BoolArray


def agnostic_relabelling_learner(
    class_ranks: ArrayLike,
    unlabelled: ArrayLike,
    labelled: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
) -> RelabellingResult:
    """Learn a ranking for any loss of a family with a learner for one loss of it.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    unlabelled : array-like of shape (m,), int
        Sample of points without labels.
    labelled : array-like of shape (n,), int
        Sample of points with labels.
    y : array-like of shape (n, n_labels), int
        Relevance of the labels of the labelled points.
    loss : callable
        The loss to be small: ``loss(y_true, y_score) -> float``, such as
        `multilabel_auc_loss`.
    family : {"sum", "precision"}
        The family that the loss belongs to.
    p : int, default=None
        Number of top positions of the family; None for all labels.

    Returns
    -------
    result : RelabellingResult
        With the attributes ``ranks``, ``loss`` and ``n_candidates``.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range,
        ``family`` is unknown or ``p`` out of range.

    See Also
    --------
    loss_family_membership : Whether a loss belongs to a family.

    Notes
    -----
    After Algorithms 4 (sum) and 5 (precision) of [1]_, which turn a learner that needs
    noise-free data and one loss into an agnostic learner for all losses of the family.

    1. Each hypothesis labels the sample without labels: the labels in its top j are
       relevant, for each j up to p (for j = p only in the precision family). These data
       are noise-free for it.
    2. The learner is trained on each of these data sets: one candidate each.
    3. The candidate of smallest mean loss on the labelled sample is returned.

    The learner of step 2 is, here, the first hypothesis of smallest sum (precision)
    loss at p; the paper allows any. Steps 1 to 3 follow the proofs, by the inequality
    ``loss(r, y) <= loss(h, y) + c * sum_j loss(r, top_j(h))``, and are our reading of
    them. Where the unlabelled sample has all points, the loss of the result is the
    smallest of the class; for a loss outside of the family it may not be.

    O(n_hypotheses**2 m p n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_auc_loss
    >>> from skrank_abstain.multilabel import agnostic_relabelling_learner
    >>> class_ranks = [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]]  # 2 points
    >>> found = agnostic_relabelling_learner(
    ...     class_ranks,
    ...     unlabelled=[0, 1],
    ...     labelled=[0, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [1, 0, 0]],
    ...     loss=multilabel_auc_loss,
    ...     family="sum",
    ... )
    >>> found.ranks
    array([[3, 2, 1],
           [1, 2, 3]])
    >>> round(found.loss, 3), found.n_candidates
    (0.333, 2)
    """
    ranks, p = _check_class(class_ranks, family, p)
    points = _check_points(unlabelled, "unlabelled", ranks.shape[1])
    known = _check_points(labelled, "labelled", ranks.shape[1])
    relevance = _check_relevance(y, known.size, ranks.shape[2])
    seen = top_positions(ranks[:, points], family, p)
    # Hypotheses that the family cannot tell apart on the sample make one candidate.
    relabellings = np.unique(seen, axis=0, return_index=True)[1]
    candidates = [
        _learn(ranks, points, ranks[h, points], family, p) for h in relabellings
    ]
    losses = [loss(relevance, -1.0 * ranks[h, known]) for h in candidates]
    best = int(np.argmin(losses))
    return RelabellingResult(
        ranks[candidates[best]].copy(), float(losses[best]), len(candidates)
    )


def online_expert_run(
    class_ranks: ArrayLike,
    points: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
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
        Relevance of its labels.
    loss : callable
        ``loss(y_true, y_score) -> float``, such as `multilabel_sum_loss`.
    family : {"sum", "precision"}
        The family that the loss belongs to.
    p : int, default=None
        Number of top positions of the family; None for all labels.
    beta : float, default=0.5
        Experts learn in a round with probability ``n_rounds ** (beta - 1)``; in
        (0, 1].
    random_state : int, RandomState instance or None, default=None
        For the choice of these rounds.

    Returns
    -------
    run : OnlineExpertRun
        With the attributes ``expected_loss``, ``best_expert_loss``, ``regret_bound``,
        ``n_experts`` and ``updated``.

    Raises
    ------
    TypeError
        If ``p`` or ``beta`` is not a number.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range,
        ``family`` is unknown, ``p`` or ``beta`` out of range, or if there would be more
        than 50,000 experts.

    Notes
    -----
    After Algorithms 6 (sum) and 7 (precision) of [1]_. For each sequence of rankings of
    the rounds drawn there is an expert that takes these rankings for the truth, and one
    more that never learns: with u rounds drawn, ``1 + (n_labels!)**u`` experts (1 for
    u = 0). An expert runs one binary online learner for each label i and each j up to p
    (j = p only in the precision family), which predicts whether i is in the top j; it
    ranks labels by their votes, equal votes by label index. Experts are weighted by
    ``exp(-eta * total loss)`` with ``eta = sqrt(8 ln N / T) / M`` for N experts, T
    rounds and losses up to M, so that the expected regret against the best expert is at
    most ``M sqrt(T ln N / 2)``.

    Our choices, which the paper leaves open: the binary learner is the majority vote of
    the hypotheses that are consistent with all updates so far (an update that none is
    consistent with is skipped), which makes at most log2(n_hypotheses) mistakes on
    noise-free data; and the expected loss stands for a draw among the experts. The
    shape of the construction itself is read from the proofs.

    Time and memory grow with ``(n_labels!)**u``: three labels and six learning rounds
    are 46,657 experts.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_sum_loss
    >>> from skrank_abstain.multilabel import online_expert_run
    >>> run = online_expert_run(
    ...     [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]],
    ...     points=[0, 1, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0]],
    ...     loss=multilabel_sum_loss,
    ...     family="sum",
    ...     random_state=2,
    ... )
    >>> run.n_experts, run.updated.tolist()
    (217, [True, True, False, True])
    >>> bool(run.expected_loss.sum() <= run.best_expert_loss + run.regret_bound)
    True
    """
    ranks, p = _check_class(class_ranks, family, p)
    stream = _check_points(points, "points", ranks.shape[1])
    relevance = _check_relevance(y, stream.size, ranks.shape[2])
    share = stream.size ** (check_fraction(beta, "beta", include_one=True) - 1)
    updated: BoolArray = (
        check_random_state(random_state).random_sample(stream.size) < share
    )
    n_followers = math.factorial(ranks.shape[2]) ** int(updated.sum())
    if n_followers >= MAX_EXPERTS:
        raise ValueError(
            f"there must be at most {MAX_EXPERTS} experts, got {n_followers + 1} for "
            f"{ranks.shape[2]} labels and {int(updated.sum())} learning rounds. Take "
            "fewer rounds or a smaller beta."
        )
    # Losses of all rankings in all rounds: experts then only look theirs up.
    rankings = all_rankings(ranks.shape[2])
    table = np.stack([losses_of(loss, rankings, row) for row in relevance])
    experts = _Experts(ranks, rankings, np.arange(1, p + 1) if family == "sum" else [p])
    losses = np.stack(
        [
            _spread(experts.play(point, row, learn=learn), n_followers)
            for point, row, learn in zip(stream, table, updated, strict=True)
        ]
    )
    # Without a learning round all experts are the one that never learns.
    if not updated.any():
        losses = losses[:, :1]
    largest = float(table.max())
    expected = (expert_weights(losses, largest) * losses).sum(axis=1)
    bound = largest * math.sqrt(stream.size * math.log(losses.shape[1]) / 2)
    best = float(losses.sum(axis=0).min())
    return OnlineExpertRun(expected, best, bound, losses.shape[1], updated)


def expert_weights(losses: FloatArray, largest: float) -> FloatArray:
    """Return the weights of experts before each round, from their losses in it.

    Parameters
    ----------
    losses : ndarray of shape (n_rounds, n_experts), float64
    largest : float
        Upper bound of the losses.

    Returns
    -------
    weights : ndarray of shape (n_rounds, n_experts), float64
        Rows sum to 1; the first is uniform.
    """
    n_rounds, n_experts = losses.shape
    rate = math.sqrt(8 * math.log(n_experts) / n_rounds) / (largest or 1.0)
    # Exclusive: the weights of a round must not know its losses. The smallest total is
    # taken off, which the scaling undoes, so that exp does not vanish for all experts.
    total = np.cumsum(losses, axis=0) - losses
    weights = np.exp(-rate * (total - total.min(axis=1, keepdims=True)))
    scaled: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return scaled


class _Experts:
    """All experts, with those that have learned the same so far held as one.

    An expert is the sequence of rankings that it takes for the truth in the learning
    rounds; the first expert never learns.
    """

    def __init__(self, ranks: IntArray, rankings: IntArray, tops: Any) -> None:
        self.rankings = rankings
        # Whether a label is in the top j: (hypothesis, point, label, j).
        self.above = ranks[..., np.newaxis] <= np.asarray(tops)
        self.teachings = rankings[..., np.newaxis] <= np.asarray(tops)
        shape = (2, *self.above.shape[2:], ranks.shape[0])
        self.alive = np.ones(shape, dtype=bool)
        # Rankings as numbers, to look them up.
        self.base = ranks.shape[2] ** np.arange(ranks.shape[2])
        self.codes = np.argsort(rankings @ self.base)

    def play(self, point: int, losses: FloatArray, *, learn: bool) -> FloatArray:
        """Return the loss of each group of experts, and let them learn afterwards."""
        says = np.moveaxis(self.above[:, point], 0, -1)
        # The halving algorithm: a strict majority of the hypotheses that are still
        # alive.
        votes = 2 * (self.alive & says).sum(axis=-1) > self.alive.sum(axis=-1)
        order = np.argsort(-votes.sum(axis=-1), axis=1, kind="stable")
        ranks = np.argsort(order, axis=1) + 1
        code = np.searchsorted(
            (self.rankings @ self.base)[self.codes], ranks @ self.base
        )
        if learn:
            self._learn(says)
        result: FloatArray = losses[self.codes[code]]
        return result

    def _learn(self, says: BoolArray) -> None:
        consistent = says == self.teachings[..., np.newaxis]
        left = self.alive[1:, np.newaxis] & consistent
        # No hypothesis agrees with this teaching: it is skipped, as the docstring of
        # online_expert_run says.
        left = np.where(
            left.any(axis=-1, keepdims=True), left, self.alive[1:, np.newaxis]
        )
        followers = left.reshape(-1, *self.alive.shape[1:])
        self.alive = np.concatenate([self.alive[:1], followers])


def _spread(losses: FloatArray, n_followers: int) -> FloatArray:
    """Return one loss per expert from the one that never learns and the groups."""
    groups = losses[1:]
    return np.append(losses[:1], np.repeat(groups, n_followers // groups.size))


def _learn(
    ranks: IntArray, points: IntArray, truth: IntArray, family: str, p: int
) -> int:
    """Return the first hypothesis of smallest family loss on relabelled points."""
    tops = range(1, p + 1) if family == "sum" else [p]
    loss = sum(
        family_loss(ranks[:, points], 1 * (truth <= j), family, p).sum(axis=1)
        for j in tops
    )
    return int(np.argmin(loss))


def _check_class(class_ranks: ArrayLike, family: str, p: Any) -> tuple[IntArray, int]:
    check_choice(family, "family", FAMILIES)
    ranks = np.asarray(class_ranks)
    if ranks.ndim != 3 or ranks.size == 0:
        raise ValueError(
            "class_ranks must be of shape (n_hypotheses, n_points, n_labels), at least "
            f"one of each, got shape {ranks.shape}."
        )
    expected = np.arange(1, ranks.shape[2] + 1)
    wrong = (np.sort(ranks, axis=2) != expected).any(axis=2)
    if wrong.any():
        raise ValueError(
            f"class_ranks must hold permutations of 1 to {ranks.shape[2]}, got "
            f"{ranks[wrong][0].tolist()}."
        )
    return ranks.astype(np.int64), check_top(p, ranks.shape[2])


def _check_points(points: ArrayLike, name: str, n_points: int) -> IntArray:
    array = np.asarray(points)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a non-empty 1d array of integers, got shape {array.shape} "
            f"of {array.dtype}."
        )
    outside = (array < 0) | (array >= n_points)
    if outside.any():
        raise ValueError(
            f"{name} must be points from 0 to {n_points - 1}, got {array[outside][0]}."
        )
    return array.astype(np.int64)


def _check_relevance(y: ArrayLike, n_samples: int, n_labels: int) -> FloatArray:
    array = check_finite(y, "y", ("n_rows", "n_labels"))
    if array.shape != (n_samples, n_labels):
        raise ValueError(
            f"y must have one row per labelled point and one column per label, shape "
            f"{(n_samples, n_labels)}, got {array.shape}."
        )
    return array
