"""Sets of items that hold a best item of their query.

Items are sorted by their values, the best first. Given the shift of a query its items
are independent, so that probabilities are products of distribution functions.
"""

from __future__ import annotations

import math

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import Queries, rows_by_place

#: Rounding of alpha (n + 1) must not cost a rank.
_SLACK = 1e-12


def first_best_proba(grade_proba: FloatArray, node_weights: FloatArray) -> FloatArray:
    """Return the probability that each item is the first best one.

    Parameters
    ----------
    grade_proba : ndarray of shape (n_nodes, n_items, n_grades), float64
        P(grade) of the items of one query by node of its shift, the best item first.
    node_weights : ndarray of shape (n_nodes,), float64

    Returns
    -------
    proba : ndarray of shape (n_items,), float64
        Sums to 1; the sum of the first m is the probability that the first m items hold
        one of the highest grade present.

    Notes
    -----
    Item m is the first best one if it has a grade g, the items before it are below g
    and the items after it are not above g. O(n_nodes n_items n_grades).
    """
    at_most = np.minimum(np.cumsum(grade_proba, axis=2), 1.0)
    below = np.zeros_like(at_most)
    below[:, :, 1:] = at_most[:, :, :-1]
    before, after = np.ones_like(at_most), np.ones_like(at_most)
    np.cumprod(below[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumprod(at_most[:, :0:-1], axis=1)[:, ::-1]
    proba = (before * grade_proba * after).sum(axis=2)
    # No matrix product: its last bits depend on the number of threads.
    weighted: FloatArray = (node_weights[:, None] * proba).sum(axis=0)
    return weighted


def all_equal_proba(grade_proba: FloatArray, node_weights: FloatArray) -> float:
    """Return the probability that all items of one query have the same grade.

    Parameters are those of ``first_best_proba``.
    """
    of_each = grade_proba.prod(axis=1).sum(axis=1)
    return float((node_weights * of_each).sum())


def levels_of_list(
    grade_proba: FloatArray, node_weights: FloatArray, values: FloatArray
) -> FloatArray:
    """Return the largest threshold at which each item of one query is in its set.

    Parameters
    ----------
    grade_proba, node_weights
        As in ``first_best_proba``.
    values : ndarray of shape (n_items,), float64
        The sort key, descending; items of equal value enter together.

    Returns
    -------
    levels : ndarray of shape (n_items,), float64
        Descending; infinity for the first item and its equals, which are in every set.

    Notes
    -----
    In a query whose items differ, an item adds the probability that it is the first
    best one. The level of an item is the smallest such probability down to it, so that
    every set consists of the first items.
    """
    added = first_best_proba(grade_proba, node_weights)
    # The guarantee is about queries whose items differ. Rounding must not make "a later
    # item is the best" more probable than "items differ".
    differ = max(1 - all_equal_proba(grade_proba, node_weights), float(added[1:].sum()))
    added[0] = np.inf
    added[1:] /= differ or 1.0
    levels: FloatArray = np.minimum.accumulate(added)
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return levels[first].repeat(np.diff(first, append=values.size))


def best_levels(levels: FloatArray, y: FloatArray, queries: Queries) -> FloatArray:
    """Return the largest threshold at which the set of each query holds a best item.

    Parameters
    ----------
    levels : ndarray of shape (n_items,), float64
    y : ndarray of shape (n_items,), float64
        Relevance, higher is better.
    queries : Queries

    Returns
    -------
    level : ndarray of shape (n_queries,), float64
        NaN where all items have the same relevance.
    """
    starts, order = queries.offsets[:-1], queries.order
    best = np.maximum.reduceat(y[order], starts)
    is_best = y[order] == best.repeat(queries.sizes)
    found = np.maximum.reduceat(np.where(is_best, levels[order], -np.inf), starts)
    return np.where(items_differ(y, queries), found, np.nan)


def items_differ(y: FloatArray, queries: Queries) -> BoolArray:
    """Return whether the items of each query differ in relevance."""
    starts, ordered = queries.offsets[:-1], y[queries.order]
    differ: BoolArray = np.maximum.reduceat(ordered, starts) > np.minimum.reduceat(
        ordered, starts
    )
    return differ


def conformal_level(levels: FloatArray, alpha: float) -> float | None:
    """Return the conformal threshold of the calibration queries.

    Parameters
    ----------
    levels : ndarray of shape (n_queries,), float64
        Returned by ``best_levels``, for queries that did not fit the tie model.
    alpha : float
        In (0, 1).

    Returns
    -------
    threshold : float or None
        The k-th smallest level, k = floor(alpha (n_queries + 1)); None if k is 0.

    Notes
    -----
    The score of least ambiguous sets [1]_. If these queries and a new one are
    exchangeable, the level of the new one is below the threshold with probability at
    most k / (n_queries + 1) <= alpha.

    References
    ----------
    .. [1] Sadinle, Lei and Wasserman (2019). "Least Ambiguous Set-Valued Classifiers
       with Bounded Error Levels". JASA 114(525). arXiv:1609.00451
    """
    k = math.floor(alpha * (levels.size + 1) + _SLACK)
    return float(np.partition(levels, k - 1)[k - 1]) if k else None


def first_best_places(values: FloatArray, y: FloatArray, queries: Queries) -> IntArray:
    """Return how many items from the top hold a best one, shape (n_queries,).

    Items of equal value enter together, as in the sets.
    """
    rows, place = rows_by_place(values, queries)
    # The last place of each block of equal values.
    ordered, codes = values[rows], queries.codes[rows]
    last = np.append(
        (ordered[1:] != ordered[:-1]) | (codes[1:] != codes[:-1]), rows.size > 0
    )
    ends = np.flatnonzero(last)
    of_block = place[ends].repeat(np.diff(ends, prepend=-1))
    best = np.maximum.reduceat(y[rows], queries.offsets[:-1]).repeat(queries.sizes)
    size = queries.sizes.repeat(queries.sizes)
    found = np.where(y[rows] == best, of_block, size)
    places: IntArray = np.minimum.reduceat(found, queries.offsets[:-1])
    return places
