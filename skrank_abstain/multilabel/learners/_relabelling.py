"""Learners of the learnability theorems for multilabel ranking, from one sample.

They relabel a sample by every hypothesis of a finite class: demonstrations for tiny
examples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, IntArray
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
from skrank_abstain.multilabel.learners._families import (
    RankingLoss,
    check_family,
    check_loss,
    check_member,
    loss_table,
    number_of_losses,
)

#: Largest number of losses to compute for the check of the family.
MAX_CHECKED = 5_000


class RelabellingResult(NamedTuple):
    """What `agnostic_relabelling_learner` found."""

    ranks: IntArray
    loss: float
    n_candidates: int
    candidate_losses: FloatArray


class ThresholdRelabellingResult(NamedTuple):
    """What `threshold_relabelling_learner` found."""

    member: IntArray
    loss: float
    candidate_losses: FloatArray


def agnostic_relabelling_learner(
    class_ranks: ArrayLike,
    unlabelled: ArrayLike,
    labelled: ArrayLike,
    y: ArrayLike,
    *,
    loss: RankingLoss,
    family: str,
    p: int | None = None,
    learner: Learner | None = None,
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
        ``functools.partial(multilabel_loss, loss="auc")``.
    family : {"sum", "precision"}
        The family that the loss belongs to. This is checked, with the largest grade in
        ``y``, where at most 5,000 losses have to be computed: up to five labels of
        grades 0 and 1, four of grades 0 to 2. With six labels it is not checked.
    p : int, default=None
        Number of top positions of the family; None for all labels in the sum family.
        The precision family needs one: the top n_labels miss nothing.
    learner : callable, default=None
        The learner that is relied on: ``learner(class_ranks, points, relevance)``
        returns the number of a row of ``class_ranks`` for points of shape (q,) and
        their relevance of shape (q, n_labels). None for the first row of least sum
        (precision) loss at p.

    Returns
    -------
    result : RelabellingResult
        ``ranks``, of shape (n_points, n_labels): the ranking of each point of the
        domain. ``loss``: its mean loss on the labelled sample. ``n_candidates``: number
        of different relabellings. ``candidate_losses``, of shape (n_candidates,): mean
        loss of what was learned from each, in the order of the first hypotheses that
        relabel so.

    Raises
    ------
    TypeError
        If ``p`` is not an integer, or ``loss`` or ``learner`` no such function.
    ValueError
        If shapes differ, ranks are not permutations, points are out of range,
        ``family`` is unknown, ``p`` out of range, or missing for the precision family,
        the loss is not in the family, or the learner returns no number of a row.

    See Also
    --------
    loss_family_membership : Whether a loss belongs to a family.
    threshold_relabelling_learner : The way back, to the threshold classes.

    Notes
    -----
    ``family="precision"`` is Algorithm 5 of Raman, Subedi and Tewari (2023).
    ``family="sum"`` is our reconstruction of Algorithm 1, from the proofs in the
    appendix: the main text, which prints it, was not at hand. Both turn a learner that
    needs noise-free data into an agnostic learner for all losses of the family.

    1. Each hypothesis h relabels the sample without labels, a point x by
       ``bin_rel(h(x), j)``: j = p in the precision family; in the sum family each point
       is there p times, once for each j up to p. These data are noise-free for h.
    2. The learner is trained on each of these data sets: one candidate each.
    3. The candidate of smallest mean loss on the labelled sample is returned.

    That it works rests on ``loss(r, y) <= loss(h, y) + c * sum_j loss(r, bin_rel(h,
    j))`` (Lemmas E.1 and E.2). Where the unlabelled sample has all points and the
    learner makes no mistake on noise-free data, as the default one, the loss of the
    result is the smallest of the class; for a loss outside of the family, which is
    refused where it is found out, it might not be.

    O(n_hypotheses**2 m p n_labels) with the default learner.

    Examples
    --------
    >>> from functools import partial
    >>> from skrank_abstain.multilabel import (
    ...     agnostic_relabelling_learner, multilabel_loss
    ... )
    >>> class_ranks = [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]]  # 2 points
    >>> found = agnostic_relabelling_learner(
    ...     class_ranks,
    ...     unlabelled=[0, 1],
    ...     labelled=[0, 0, 1],
    ...     y=[[0, 0, 1], [1, 0, 0], [1, 0, 0]],
    ...     loss=partial(multilabel_loss, loss="auc"),
    ...     family="sum",
    ... )
    >>> found.ranks
    array([[3, 2, 1],
           [1, 2, 3]])
    >>> round(found.loss, 3), found.n_candidates
    (0.333, 2)
    """
    ranks = check_class(class_ranks)
    n_labels = ranks.shape[2]
    p = check_family(family, p, n_labels)
    check_loss(loss)
    check_learner(learner)
    points = check_points(unlabelled, "unlabelled", ranks.shape[1])
    known = check_points(labelled, "labelled", ranks.shape[1])
    relevance = check_label_relevance(y, known.size, n_labels, "labelled point")
    # The loss checks the grades themselves.
    n_grades = max(1, math.ceil(relevance.max())) + 1
    if number_of_losses(n_labels, n_grades) <= MAX_CHECKED:
        table = loss_table(loss, n_labels, n_grades)
        check_member(loss, table, n_labels, family, p)
    tops = range(1, p + 1) if family == "sum" else [p]
    learner = learner or least_loss_learner(family, p)
    rows = _candidates(ranks, points, [*tops], learner)
    losses = np.array([loss(relevance, -1.0 * ranks[h, known]) for h in rows])
    best = int(np.argmin(losses))
    return RelabellingResult(
        ranks[rows[best]].copy(), float(losses[best]), len(rows), losses
    )


def threshold_relabelling_learner(
    class_ranks: ArrayLike,
    unlabelled: ArrayLike,
    labelled: ArrayLike,
    y: ArrayLike,
    *,
    label: int,
    j: int,
    learner: Learner | None = None,
) -> ThresholdRelabellingResult:
    """Learn whether a label is in the top j with a learner of rankings.

    Parameters
    ----------
    class_ranks : array-like of shape (n_hypotheses, n_points, n_labels), int
        Ranks 1 (best) to n_labels that each hypothesis gives to the labels of each
        point of the domain.
    unlabelled : array-like of shape (m,), int
        Sample of points without labels.
    labelled : array-like of shape (n,), int
        Sample of points with labels.
    y : array-like of shape (n,), int
        For each labelled point 1 where the label is said to be in the top j, else 0; it
        may contradict itself and all hypotheses.
    label : int
        The label, 0 to n_labels - 1.
    j : int
        Number of top positions, 1 to n_labels.
    learner : callable, default=None
        The learner of rankings: ``learner(class_ranks, points, relevance)`` returns the
        number of a row of ``class_ranks`` for points of shape (m,) and their relevance
        of shape (m, n_labels). None for the first row of least precision loss at j.

    Returns
    -------
    result : ThresholdRelabellingResult
        ``member``, of shape (n_points,): 1 where the label is in the top j, else 0.
        ``loss``: the share of the labelled sample that it gets wrong.
        ``candidate_losses``: this share for what was learned from each different
        relabelling, in the order of the first hypotheses that relabel so.

    Raises
    ------
    TypeError
        If ``label`` or ``j`` is not an integer, or ``learner`` no such function.
    ValueError
        If shapes differ, ranks are not permutations, points, ``label`` or ``j`` are out
        of range, ``y`` is not binary, or the learner returns no number of a row.

    See Also
    --------
    agnostic_relabelling_learner : The way from rankings to rankings.
    bin_rel : The relabelling.

    Notes
    -----
    Algorithm 4 of Raman, Subedi and Tewari (2023): who can learn the rankings for one
    loss of a family can learn each of its threshold classes for the zero-one loss,
    whatever the data.

    1. Each hypothesis h relabels the sample without labels: a point x by
       ``bin_rel(h(x), j)``, for this j alone. These data are noise-free for h.
    2. The learner is trained on each of these data sets: one candidate g each.
    3. Of ``1[rank that g gives to the label <= j]``, the one with fewest mistakes on
       the labelled sample is returned.

    On these data all losses of the sum families at p >= j, and of the precision family
    at j, are 0 at the same rankings, so that the default stands for learners of each.
    A member is right wherever its g has loss 0 (Lemmas E.3 and E.4). Where the
    unlabelled sample has all points and the learner makes no mistake on noise-free
    data, as the default one, the loss of the result is the smallest of the class.

    O(n_hypotheses**2 m n_labels) with the default learner.

    Examples
    --------
    >>> from skrank_abstain.multilabel import threshold_relabelling_learner
    >>> class_ranks = [[[1, 2, 3], [3, 1, 2]], [[3, 2, 1], [1, 2, 3]]]  # 2 points
    >>> found = threshold_relabelling_learner(
    ...     class_ranks,
    ...     unlabelled=[0, 1],
    ...     labelled=[0, 0, 0, 1],
    ...     y=[1, 1, 0, 0],
    ...     label=0,
    ...     j=2,
    ... )
    >>> found.member.tolist(), found.loss
    ([1, 0], 0.25)
    """
    ranks = check_class(class_ranks)
    points = check_points(unlabelled, "unlabelled", ranks.shape[1])
    known = check_points(labelled, "labelled", ranks.shape[1])
    truth = check_binary(y, known.size, "labelled point")
    label = check_between(label, "label", 0, ranks.shape[2] - 1)
    j = check_between(j, "j", 1, ranks.shape[2])
    check_learner(learner)
    rows = _candidates(
        ranks, points, [j], learner or least_loss_learner("precision", j)
    )
    members = in_top(ranks[rows], j)[:, :, label]
    losses = (members[:, known] != truth).mean(axis=1)
    best = int(np.argmin(losses))
    return ThresholdRelabellingResult(members[best], float(losses[best]), losses)


def _candidates(
    ranks: IntArray, points: IntArray, tops: list[int], learner: Learner
) -> list[int]:
    """Return the row learned from each different relabelling, in order of rows."""
    # Every point appears once for each j, relabelled by every hypothesis.
    relabelled = np.concatenate([in_top(ranks[:, points], j) for j in tops], axis=1)
    first = np.sort(np.unique(relabelled, axis=0, return_index=True)[1])
    repeated = np.tile(points, len(tops))
    return [learned_row(learner, ranks, repeated, relabelled[h]) for h in first]
