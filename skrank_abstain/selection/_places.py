"""Places of items with a confidence: conformal, with the query as the sample."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.concentration import check_chance
from skrank_abstain.pairs import Queries, Scores, by_query, rows_by_place

#: Margins that are tried, as shares of the size of a query.
LEVELS = np.arange(257) / 256
#: Rounding of a sum of shares that must not ask for one level more.
_SLACK = 1e-9


def middle_places(items: Scores) -> FloatArray:
    """Return the place of each item by its value, 1 = top; ties share the middle one.

    Parameters
    ----------
    items : Scores

    Returns
    -------
    places : ndarray of shape (n_items,), float64
        In the order of the items. O(n log n) for n items.
    """
    return np.asarray(true_places(items.value, items.queries).mean(axis=1))


def own_places(items: Scores) -> IntArray:
    """Return the place of each item by its value; ties in the order of the rows of X.

    In the order of the items, as in `middle_places`.
    """
    by_place, place = rows_by_place(items.value, items.queries)
    return place[np.argsort(by_place)]


def place_shares(items: Scores) -> FloatArray:
    """Return how many queries' worth of items have a place that each margin holds.

    Parameters
    ----------
    items : Scores
        With relevance.

    Returns
    -------
    shares : ndarray of shape (257,), float64
        For each of `LEVELS` the sum over queries of the share of the items that
        `confident_places` with this margin holds: their places, rounded, touch those
        that their relevance leaves open. Novel items count as held.
    """
    return np.asarray(by_query(items, _shares_of, 4096)[0].sum(axis=0))


def _shares_of(items: Scores) -> tuple[FloatArray]:
    n = np.repeat(items.queries.sizes, items.queries.sizes)
    first, last = true_places(items.grades, items.queries).T
    middle, own = middle_places(items), own_places(items)
    # Bounds are rounded outwards, which holds whatever is less than one place away, and
    # never leave out the item's own place.
    above = np.where(own <= last, -1, middle - last - 1)
    away = np.maximum(above, np.where(own >= first, -1, first - middle - 1))
    if items.novel is not None:
        away[items.novel] = -1
    level = np.searchsorted(LEVELS, (away + _SLACK) / n, side="right")
    return (np.cumsum(np.bincount(level, 1 / n, 257), dtype=np.float64)[None, :],)


def place_results(places: IntArray, items: Scores) -> tuple[FloatArray, FloatArray]:
    """Return how places, (n_items, 2) by row, turned out for items with relevance.

    Returns
    -------
    held, width : ndarray of shape (n_queries,), float64
        Share of the items whose true place is held, and the mean number of places as a
        share of the query's size; NaN for a query of one item.
    """
    best, worst = places[items.rows].T
    first, last = true_places(items.grades, items.queries).T
    size, query = items.queries.sizes, items.queries.codes
    holds = (best <= last) & (worst >= first)
    width = (worst - best + 1) / size[query]
    total = np.where(size > 1, size, np.nan)
    held, wide = (np.bincount(query, each, size.size) for each in (holds, width))
    return held / total, wide / total


def first_place_results(worst: IntArray, items: Scores, k: int) -> tuple[Any, Any]:
    """Return how many items decided to be among the first k are, or are tied with one.

    Parameters
    ----------
    worst : ndarray of shape (n_items,), int64
        Worst ranks that decided pairs leave open, by row.
    items : Scores
    k : int

    Returns
    -------
    right, decided : ndarray of shape (n_queries,), float64
        Numbers of items; 0 for a query of at most k items.
    """
    first, size = true_places(items.grades, items.queries)[:, 0], items.queries.sizes
    query = items.queries.codes
    decided = 1.0 * ((worst[items.rows] <= k) & (size[query] > k))
    right = np.bincount(query, decided * (first <= k), size.size)
    return right, np.bincount(query, decided, size.size)


def true_places(values: NDArray[Any], queries: Queries) -> IntArray:
    """Return the first and the last place of the items as good as each one.

    Parameters
    ----------
    values : ndarray of shape (n_items,)
        Relevance or scores, higher is better.
    queries : Queries

    Returns
    -------
    places : ndarray of shape (n_items, 2), int64
        1 = top.
    """
    level = np.unique(values, return_inverse=True)[1]
    key = queries.codes * (level.max(initial=0) + 1) + level
    ordered, stop = np.sort(key), queries.offsets[1:][queries.codes]
    n_up_to = np.searchsorted(ordered, key, side="right")
    n_below = np.searchsorted(ordered, key, side="left")
    return np.stack([1 + stop - n_up_to, stop - n_below], axis=1)


def queries_for(confidence: float) -> int:
    """Return the fewest calibration queries for places with a confidence in (0, 1)."""
    check_chance(confidence, "confidence")
    return math.ceil(confidence / (1 - confidence) - _SLACK)


def confident_places(
    shares: FloatArray, n_queries: int, items: Scores, confidence: float
) -> IntArray:
    """Return places that touch the true ones of a random item of a new query.

    Parameters
    ----------
    shares : ndarray of shape (257,), float64
        Of the calibration queries, by `place_shares`.
    n_queries : int
        Number of them.
    items : Scores
        New items.
    confidence : float
        In (0, 1).

    Returns
    -------
    places : ndarray of shape (n_items, 2), int64
        Best and worst place, in the order of the rows of X.

    Raises
    ------
    ValueError
        If there are too few calibration queries.
    """
    needed = queries_for(confidence)
    enough = np.flatnonzero(shares >= confidence * (n_queries + 1) - _SLACK)
    if not enough.size:
        raise ValueError(
            f"confidence={confidence:g} needs at least {needed} calibration queries, "
            f"got {n_queries}: pass more labelled queries (a fitted ranker leaves all "
            "of them), a larger calibration_size, or a lower confidence."
        )
    size = np.repeat(items.queries.sizes, items.queries.sizes)
    middle, margin = middle_places(items), LEVELS[enough[0]] * size
    # Rounded outwards, but not for the rounding of a product.
    best = np.floor(middle - margin + _SLACK).clip(min=1)
    worst = np.minimum(np.ceil(middle + margin - _SLACK), size)
    # Among items of equal value each has a place of its own.
    own = own_places(items)
    best, worst = np.minimum(best, own), np.maximum(worst, own)
    if items.novel is not None:
        best[items.novel], worst[items.novel] = 1, size[items.novel]
    return np.stack([best, worst], axis=1)[np.argsort(items.rows)].astype(np.int64)
