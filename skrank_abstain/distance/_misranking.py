"""Misranking over ordered pairs of items, and the same with a price of abstention.

A pair (i, j) is to be ordered j before i where y_j >= y_i, and i before j elsewhere; so
is the prediction, by the scores. Pairs may have labels of their own instead, +1 for i
before j. The *bipartite* losses count only pairs of different labels, and
equal scores as half an error. A loss with abstention gives up the pairs of items that
are close to each other in feature space, at a price each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_fraction,
    check_scores,
)
from skrank_abstain.distance.surrogates._pairs import (
    DistanceRule,
    OrderedPairs,
    check_binary,
    take_pairs,
)
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import ScoredItems

#: Errors of pairs, from their labels and the scores of their two items.
_Errors = Callable[[IntArray, FloatArray, FloatArray], FloatArray]


def pairwise_misranking_loss(
    y: ArrayLike | None,
    scores: ArrayLike,
    qid: Any = None,
    *,
    pairs: ArrayLike | None = None,
    pair_labels: ArrayLike | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
) -> float:
    """Return the share of ordered pairs that scores put in the wrong order.

    Lower is better, in [0, 1]; NaN for no pair.

    Parameters
    ----------
    y : array-like of shape (n_items,), or None
        Relevance, higher is better; None with ``pair_labels``.
    scores : array-like of shape (n_items,)
        Higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    pair_labels : array-like of shape (n_pairs,), default=None
        Of each of ``pairs``: +1 where the left item is preferred, -1 where the right
        one is. Noise and cycles are fine. ``y`` is None then.
    n_pairs : int, default=None
        Draw so many ordered pairs, with replacement, in place of all.
    random_state : int, RandomState instance or None, default=None
        For drawing.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If ``n_pairs`` or a row position is not an integer.
    ValueError
        If lengths differ, values are not finite, or a pair names one item twice, items
        of two queries or rows that do not exist.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there is no pair.

    See Also
    --------
    bipartite_misranking_loss : Pairs of equal relevance cost nothing.
    pairwise_abstention_loss : With abstention.

    Notes
    -----
    The mean over ordered pairs (i, j) of 1[sgn(y_j - y_i) != sgn(s_j - s_i)], with
    sgn(0) = +1 [1]_. Two items make two ordered pairs, (i, j) and (j, i): where one of
    relevance and scores is tied and the other is not, exactly one of the two is wrong.
    All pairs: O(n log n), without the pairs. Given or drawn pairs: O(n_pairs).

    ``pair_labels`` are those of this package, +1 for the left item. The label of [1]_
    is the opposite: y = +1 says that the second item, x', is preferred. Its sgn(0) = +1
    lets equal scores predict the second one, here the label -1.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import pairwise_misranking_loss
    >>> pairwise_misranking_loss([2, 1, 0], [0.3, 0.5, 0.1])  # 2 orders of 6
    0.3333333333333333
    >>> pairwise_misranking_loss([1, 1], [0.3, 0.5])
    0.5
    >>> cycle = [(0, 1), (1, 2), (2, 0)]  # the first of each is preferred
    >>> pairwise_misranking_loss(None, [3, 2, 1], pairs=cycle, pair_labels=[1, 1, 1])
    0.3333333333333333
    """
    relevance, values, chosen = take_pairs(
        y, scores, qid, pairs, pair_labels, n_pairs, random_state
    )
    return _misranking(relevance, values, chosen, _pairwise, 1.0)


def bipartite_misranking_loss(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    pairs: ArrayLike | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
) -> float:
    """Return the share of ordered pairs of two labels that are in the wrong order.

    Lower is better, in [0, 1]; NaN for no pair. Pairs of equal labels count in the
    denominator and are never wrong.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Labels of at most two different values; the higher is better.
    scores : array-like of shape (n_items,)
        Higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    n_pairs : int, default=None
        Draw so many ordered pairs, with replacement, in place of all.
    random_state : int, RandomState instance or None, default=None
        For drawing.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If ``n_pairs`` or a row position is not an integer.
    ValueError
        If ``y`` is not binary, lengths differ, values are not finite, or a pair names
        one item twice, items of two queries or rows that do not exist.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there is no pair.

    See Also
    --------
    pairwise_misranking_loss : For graded relevance.
    sklearn.metrics.roc_auc_score : For one query, 1 - loss / share, with the share of
        all ordered pairs that have different labels.

    Notes
    -----
    The mean over ordered pairs of 1[(y - y')(s - s') < 0] + 1[s = s', y != y'] / 2
    [1]_. All pairs: O(n log n), without forming them. Given or drawn pairs: O(n_pairs).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import bipartite_misranking_loss
    >>> bipartite_misranking_loss([1, 0, 0], [0.3, 0.5, 0.3])  # (2 + 1) / 6
    0.5
    """
    labels = check_binary(y)
    values = check_scores(scores, labels.size)
    chosen = OrderedPairs.of(labels.size, qid, pairs, n_pairs, random_state)
    return _misranking(labels, values, chosen, _bipartite, 0.0)


def pairwise_abstention_loss(
    y: ArrayLike | None,
    scores: ArrayLike,
    X: ArrayLike,
    qid: Any = None,
    *,
    gamma: float,
    cost: float,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
    pair_labels: ArrayLike | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
) -> float:
    """Return the mean loss of deciding far pairs and paying for near ones.

    Lower is better, in [0, 1]; NaN for no pair.

    Parameters
    ----------
    y : array-like of shape (n_items,), or None
        Relevance, higher is better; None with ``pair_labels``.
    scores : array-like of shape (n_items,)
        Higher is better.
    X : array-like of shape (n_items, n_features)
        Finite features, on scales that can be compared.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    gamma : float
        Items at most so far apart are not compared; at least 0, and 0 for equal items
        alone.
    cost : float
        Cost of an abstention, in [0, 1].
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    pair_labels : array-like of shape (n_pairs,), default=None
        Of each of ``pairs``: +1 where the left item is preferred, -1 where the right
        one is. Noise and cycles are fine. ``y`` is None then.
    n_pairs : int, default=None
        Draw so many ordered pairs, with replacement, in place of all.
    random_state : int, RandomState instance or None, default=None
        For drawing.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If ``gamma``, ``cost`` or ``norm`` is not a number, or ``n_pairs`` or a row
        position not an integer.
    ValueError
        If ``gamma`` is negative, ``cost`` outside [0, 1], ``norm`` less than 1, lengths
        differ, values are not finite, or a pair names one item twice, items of two
        queries or rows that do not exist.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there is no pair.

    See Also
    --------
    pairwise_misranking_loss : Without abstention.
    skrank_abstain.distance.pairwise_surrogate_loss : To train on.

    Notes
    -----
    The mean over ordered pairs of ``L 1[|x - x'| > gamma] + c 1[|x - x'| <= gamma]``,
    with c = ``cost`` and L the loss of the pair in :func:`pairwise_misranking_loss`
    [1]_.
    Linear in ``cost``: the value at 0 is the mass of errors on decided pairs, and
    the slope is the share of pairs that are not decided. Distances that exceed gamma by
    rounding alone (relatively 8 units in the last place) count as equal to it.

    O(n_pairs * n_features) time, all pairs of n items being n (n - 1) / 2 distances;
    memory is bounded.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import pairwise_abstention_loss
    >>> X = [[0.0], [0.1], [1.0]]
    >>> y, scores = [2, 1, 0], [0.3, 0.5, 0.1]
    >>> pairwise_abstention_loss(y, scores, X, gamma=0.0, cost=0.1)  # 2 wrong of 6
    0.3333333333333333
    >>> pairwise_abstention_loss(y, scores, X, gamma=0.2, cost=0.1)  # 2 given up
    0.03333333333333333
    """
    relevance, values, chosen = take_pairs(
        y, scores, qid, pairs, pair_labels, n_pairs, random_state
    )
    rule = DistanceRule.of(X, values.size, gamma, norm)
    price = check_fraction(cost, "cost", include_zero=True, include_one=True)
    return _mean_loss(relevance, values, chosen, _pairwise, rule, price)


def bipartite_abstention_loss(
    y: ArrayLike,
    scores: ArrayLike,
    X: ArrayLike,
    qid: Any = None,
    *,
    gamma: float,
    cost: float,
    norm: float = np.inf,
    pairs: ArrayLike | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
) -> float:
    """Return the mean bipartite loss of deciding far pairs and paying for near ones.

    Lower is better, in [0, 1]; NaN for no pair. Pairs of equal labels cost something
    only where they are near.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Labels of at most two different values; the higher is better.
    scores : array-like of shape (n_items,)
        Higher is better.
    X : array-like of shape (n_items, n_features)
        Finite features, on scales that can be compared.
    qid : array-like of shape (n_items,), default=None
        Query of each item; None for one query.
    gamma : float
        Items at most so far apart are not compared; at least 0, and 0 for equal items
        alone.
    cost : float
        Cost of an abstention, in [0, 1].
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    pairs : array-like of shape (n_pairs, 2), int, default=None
        Ordered pairs (left, right) of row positions; None for all within queries.
    n_pairs : int, default=None
        Draw so many ordered pairs, with replacement, in place of all.
    random_state : int, RandomState instance or None, default=None
        For drawing.

    Returns
    -------
    loss : float

    Raises
    ------
    TypeError
        If ``gamma``, ``cost`` or ``norm`` is not a number, or ``n_pairs`` or a row
        position not an integer.
    ValueError
        If ``y`` is not binary, ``gamma`` is negative, ``cost`` outside [0, 1], ``norm``
        less than 1, lengths differ, values are not finite, or a pair names one item
        twice, items of two queries or rows that do not exist.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If there is no pair.

    See Also
    --------
    pairwise_abstention_loss : For graded relevance.
    skrank_abstain.distance.bipartite_surrogate_loss : To train on.

    Notes
    -----
    The mean over ordered pairs of ``L 1[|x - x'| > gamma] + c 1[|x - x'| <= gamma]``,
    with c = ``cost`` and L the loss of the pair in :func:`bipartite_misranking_loss`
    [1]_.
    Time and memory as for :func:`pairwise_abstention_loss`: O(n_pairs * n_features).

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.

    Examples
    --------
    >>> from skrank_abstain.distance import bipartite_abstention_loss
    >>> X = [[0.0], [0.1], [1.0]]
    >>> bipartite_abstention_loss([1, 0, 0], [3, 5, 1], X, gamma=0.2, cost=0.3)
    0.09999999999999999
    """
    labels = check_binary(y)
    values = check_scores(scores, labels.size)
    rule = DistanceRule.of(X, labels.size, gamma, norm)
    price = check_fraction(cost, "cost", include_zero=True, include_one=True)
    chosen = OrderedPairs.of(labels.size, qid, pairs, n_pairs, random_state)
    return _mean_loss(labels, values, chosen, _bipartite, rule, price)


def _pairwise(label: IntArray, left: FloatArray, right: FloatArray) -> FloatArray:
    # The paper's sign of 0 is +1, so that a tie counts as "right is no worse".
    return np.where((label <= 0) != (right >= left), 1.0, 0.0)


def _bipartite(label: IntArray, left: FloatArray, right: FloatArray) -> FloatArray:
    # Half an error in each order, as the AUC counts equal scores.
    share = np.where(left == right, 0.5, (label < 0) != (right > left))
    return np.where(label == 0, 0.0, share)


def _misranking(
    y: FloatArray,
    scores: FloatArray,
    chosen: OrderedPairs,
    errors: _Errors,
    tied: float,
) -> float:
    """Return the mean error.

    ``tied`` is what two items of equal relevance and different scores cost: the sum
    over their two orders.
    """
    if chosen.chosen is not None or chosen.n_pairs == 0:
        return _mean_loss(y, scores, chosen, errors, None, 0.0)
    items = ScoredItems.build(scores, chosen.queries, y)
    # Cut at 0 and just above: the first counts all pairs, the second those of different
    # scores. Sorting counts them all in O(n log n).
    counts = items.count_outcomes([0.0, np.nextafter(0.0, 1.0)], 0.0).sum(axis=0)
    equal_scores, (_, tied_labels, discordant, _) = counts[0, 3], counts[1]
    # Both orders of a discordant pair are wrong, and one of two equal scores.
    total = 2 * discordant + equal_scores + tied * tied_labels
    return float(total / chosen.n_pairs)


def _mean_loss(
    y: FloatArray,
    scores: FloatArray,
    chosen: OrderedPairs,
    errors: _Errors,
    rule: DistanceRule | None,
    cost: float,
) -> float:
    """Return the mean over ordered pairs, block by block."""
    # The warning is to point at the caller of the public function.
    if chosen.n_pairs == 0:
        return undefined("misranking loss")
    # Blocks of pairs: a quarter of a million at a time, however many there are.
    wrong, n_decided = 0.0, 0
    for left, right, label in chosen.blocks(y, rule):
        wrong += float(errors(label, scores[left], scores[right]).sum())
        n_decided += left.size
    return (wrong + cost * (chosen.n_pairs - n_decided)) / chosen.n_pairs
