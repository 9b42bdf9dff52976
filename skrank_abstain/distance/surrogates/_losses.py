"""Surrogate losses of the scores of items, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_fraction,
    check_scores,
)
from skrank_abstain.distance.surrogates._margins import (
    Exponential,
    MarginLoss,
    check_surrogate,
)
from skrank_abstain.distance.surrogates._pairs import (
    DistanceRule,
    OrderedPairs,
    check_binary,
    check_gamma,
    take_pairs,
)


def pairwise_surrogate_loss(
    y: ArrayLike | None,
    scores: ArrayLike,
    qid: Any = None,
    *,
    surrogate: str | MarginLoss = "logistic",
    X: ArrayLike | None = None,
    gamma: float = 0.0,
    cost: float | None = None,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
    pair_labels: ArrayLike | None = None,
) -> tuple[float, FloatArray]:
    """Return the mean surrogate of misranking over ordered pairs, and its gradient.

    Lower is better.

    Parameters
    ----------
    y : array-like of shape (n_items,), or None
        Relevance, higher is better; None with ``pair_labels``.
    scores : array-like of shape (n_items,)
        Higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="logistic"
        What a margin costs.
    X : array-like of shape (n_items, n_features), default=None
        Features; with them, pairs at most ``gamma`` apart cost ``cost``.
    gamma : float, default=0.0
        Distance up to which a pair is abstained from, at least 0.
    cost : float, default=None
        Cost of an abstention, in [0, 1]; needed with ``X``.
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    pair_labels : array-like of shape (n_pairs,), default=None
        Of each of ``pairs``: +1 where the left item is preferred, -1 where the right
        one is. Noise and cycles are fine. ``y`` is None then.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_items,), float64
        Derivatives in the scores.

    Raises
    ------
    TypeError
        If ``gamma``, ``cost`` or ``norm`` is not a number.
    ValueError
        If a parameter is out of range, lengths differ, there is no pair, or ``gamma``
        comes without ``X``.

    See Also
    --------
    bipartite_surrogate_loss : Pairs of equal relevance cost nothing.
    skrank_abstain.distance.pairwise_abstention_loss : What this stands for.

    Notes
    -----
    The mean over ordered pairs (i, j) of Phi(l (s_j - s_i)), with l = +1 where y_j >=
    y_i and -1 elsewhere: the label of [1]_, where +1 prefers the second item. Two items
    of equal relevance have l = +1 in both orders: they ask for equal scores.
    ``pair_labels`` are the opposite, +1 for the left item, as everywhere in this
    package: l = -``pair_labels``.

    With ``X``, pairs at most ``gamma`` apart cost ``cost``, whatever their scores. That
    is a convention of this package; equation (3) of [1]_ has no abstention in the
    surrogate, and is this without ``X``. :func:`consistency_bound` holds for either, if
    the risk of the scorer and the smallest conditional risks go by the same one.

    O(n_pairs) time in blocks of bounded memory. The exponential loss of all pairs
    without abstention factorises: O(n log n), with sums of logarithms. What exceeds
    float64 is infinite, and the gradient then not finite.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import pairwise_surrogate_loss
    >>> pairwise_surrogate_loss([1, 0], [0.5, 0.0], surrogate="hinge")
    (0.5, array([-1.,  1.]))
    >>> pairwise_surrogate_loss(
    ...     None, [0.5, 0.0], surrogate="hinge", pairs=[(0, 1)], pair_labels=[1]
    ... )
    (0.5, array([-1.,  1.]))
    """
    taken = take_pairs(y, scores, qid, pairs, pair_labels)
    return _surrogate_loss(*taken, surrogate, X, gamma, cost, norm, True)


def bipartite_surrogate_loss(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    surrogate: str | MarginLoss = "logistic",
    X: ArrayLike | None = None,
    gamma: float = 0.0,
    cost: float | None = None,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
) -> tuple[float, FloatArray]:
    """Return the mean bipartite surrogate over ordered pairs, and its gradient.

    Lower is better. Pairs of equal labels count in the mean and cost nothing.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Labels of at most two different values; the higher is better.
    scores : array-like of shape (n_items,)
        Higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="logistic"
        What a margin costs.
    X : array-like of shape (n_items, n_features), default=None
        Features; with them, pairs at most ``gamma`` apart cost ``cost``.
    gamma : float, default=0.0
        Distance up to which a pair is abstained from, at least 0.
    cost : float, default=None
        Cost of an abstention, in [0, 1]; needed with ``X``.
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_items,), float64
        Derivatives in the scores.

    Raises
    ------
    TypeError
        If ``gamma``, ``cost`` or ``norm`` is not a number.
    ValueError
        If ``y`` is not binary, a parameter is out of range, lengths differ, there is
        no pair, or ``gamma`` comes without ``X``.

    See Also
    --------
    pairwise_surrogate_loss : For graded relevance.
    skrank_abstain.distance.bipartite_abstention_loss : What this stands for.

    Notes
    -----
    The mean over ordered pairs of Phi(s - s') where labels differ, s being the score of
    the item of the higher label, of 0 where they are equal, and of ``cost`` for pairs
    at most ``gamma`` apart [1]_. O(n_pairs) time in blocks of bounded memory; the
    exponential loss of all pairs without abstention O(n log n).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import bipartite_surrogate_loss
    >>> loss, gradient = bipartite_surrogate_loss(
    ...     [1, 0, 0], [0.5, 0.0, 1.0], surrogate="hinge"
    ... )
    >>> round(loss, 3)  # 2 (0.5 + 1.5) / 6
    0.667
    >>> gradient.round(3)
    array([-0.667,  0.333,  0.333])
    """
    labels = check_binary(y)
    values = check_scores(scores, labels.size)
    chosen = OrderedPairs.of(labels.size, qid, pairs)
    return _surrogate_loss(
        labels, values, chosen, surrogate, X, gamma, cost, norm, False
    )


def _surrogate_loss(
    y: FloatArray,
    values: FloatArray,
    chosen: OrderedPairs,
    surrogate: str | MarginLoss,
    X: ArrayLike | None,
    gamma: float,
    cost: float | None,
    norm: float,
    ties: bool,
) -> tuple[float, FloatArray]:
    """Return mean and gradient; ``ties`` tells whether equal labels cost anything."""
    phi = check_surrogate(surrogate)
    if X is not None and cost is None:
        raise ValueError("cost must be given with X: the price of an abstention.")
    price = 0.0
    if cost is not None:
        price = check_fraction(cost, "cost", include_zero=True, include_one=True)
    if X is None and check_gamma(gamma) > 0:
        raise ValueError(f"gamma must be 0 where X is not given, got {gamma!r}.")
    if X is None and cost is not None:
        raise ValueError(f"cost must come with X, the features, got {cost!r} alone.")
    rule = None if X is None else DistanceRule.of(X, y.size, gamma, norm)
    if chosen.n_pairs == 0:
        raise ValueError("y must have at least one pair of items of one query, got 0.")
    with np.errstate(over="ignore", invalid="ignore"):
        # exp(-(s - s')) is a product of a factor for each item: sums over all pairs of
        # a query are products of two sums. Other losses, and parts of the pairs, do
        # not factor.
        if isinstance(phi, Exponential) and chosen.chosen is None and rule is None:
            total, slope = _exponential_sums(y, values, chosen, ties)
        else:
            total, slope = _sums(y, values, chosen, rule, phi, price, ties)
        return total / chosen.n_pairs, slope / chosen.n_pairs


def _sums(
    y: FloatArray,
    scores: FloatArray,
    chosen: OrderedPairs,
    rule: DistanceRule | None,
    phi: MarginLoss,
    cost: float,
    ties: bool,
) -> tuple[float, FloatArray]:
    """Return the loss summed over ordered pairs, block by block, and its gradient."""
    total, n_decided, gradient = 0.0, 0, np.zeros(y.size)
    for left, right, label in chosen.blocks(y, rule):
        n_decided += left.size
        if not ties:
            untied = label != 0
            left, right, label = left[untied], right[untied], label[untied]
        # Of two items of equal relevance the right one is to win, in both orders, as in
        # the misranking loss.
        sign = np.where(label <= 0, 1.0, -1.0)
        margin = sign * (scores[right] - scores[left])
        total += float(phi.value(margin).sum())
        slope = sign * phi.derivative(margin)
        # The margin rises with the right score where that is to win, and falls with
        # the left one by as much.
        gradient += np.bincount(right, slope, y.size)
        gradient -= np.bincount(left, slope, y.size)
    return total + cost * (chosen.n_pairs - n_decided), gradient


def _exponential_sums(
    y: FloatArray, scores: FloatArray, chosen: OrderedPairs, ties: bool
) -> tuple[float, FloatArray]:
    """Return the same for exp(-t) and all pairs, as products of two sums."""
    total, gradient = 0.0, np.zeros(y.size)
    for query in range(chosen.queries.n_queries):
        rows = chosen.queries.rows(query)
        rows = rows[np.argsort(y[rows], kind="stable")]
        query_total, query_gradient = _exponential_query(y[rows], scores[rows], ties)
        total += query_total
        gradient[rows] = query_gradient
    return total, gradient


def _exponential_query(
    y: FloatArray, s: FloatArray, ties: bool
) -> tuple[float, FloatArray]:
    """Return the sum over pairs of one query, relevance ascending, and its gradient."""
    # Grades are runs of equal relevance; what lies before a run is lower, what lies
    # after it higher.
    starts = np.flatnonzero(np.diff(y, prepend=-np.inf))
    counts: IntArray = np.diff(starts, append=y.size)
    # Logarithms of the sums of exp(s) over lower, and of exp(-s) over higher grades.
    up = np.concatenate([[-np.inf], np.logaddexp.accumulate(s)])
    down = np.concatenate([np.logaddexp.accumulate(-s[::-1])[::-1], [-np.inf]])
    as_better = np.exp(np.repeat(up[starts], counts) - s)
    as_worse = np.exp(np.repeat(down[starts + counts], counts) + s)
    # Twice: both orders of a pair have the same margin.
    total, gradient = 2 * as_better.sum(), 2 * (as_worse - as_better)
    if ties:
        grade_up = np.logaddexp.reduceat(s, starts)
        grade_down = np.logaddexp.reduceat(-s, starts)
        several = counts > 1  # each item's pair with itself, exp(0), is no pair
        total += (np.exp(grade_up + grade_down) - counts)[several].sum()
        with_higher = np.exp(s + np.repeat(grade_down, counts))
        with_lower = np.exp(np.repeat(grade_up, counts) - s)
        gradient += np.where(np.repeat(several, counts), with_higher - with_lower, 0.0)
    return float(total), gradient
