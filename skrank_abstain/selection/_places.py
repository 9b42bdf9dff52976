"""Places of items with a confidence: conformal, with the query as the sample."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import FloatArray, IntArray, check_fraction
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.tie_models import BinModel, TieModel

#: Margins that are tried, as shares of the size of a query.
LEVELS = np.arange(257) / 256
#: Rounding of a sum of shares that must not ask for one level more.
_SLACK = 1e-9
#: Pairs that are formed at a time, and items to which they are at most formed.
_PAIRS_AT_ONCE, _MOST_EXACT = 1 << 20, 2000


def expected_ranks(model: TieModel, items: ScoredItems) -> FloatArray:
    """Return the expected rank of each item in its query, 1 = top.

    Parameters
    ----------
    model : BinModel or DifferenceModel
        Fitted.
    items : ScoredItems

    Returns
    -------
    rank : ndarray of shape (n_items,), float64
        One plus the sum over the other items j of P(j above) + P(tie) / 2, by position.

    Notes
    -----
    Models of bins: O(n_items * n_bins). Models of the difference: O(n_pairs) for
    queries of up to 2,000 items; for larger ones linear between 2,000 values.
    """
    if isinstance(model, BinModel):
        return _of_bins(model, items)
    return _of_gaps(model, items)


def _of_bins(model: BinModel, items: ScoredItems) -> FloatArray:
    # By the bins of an item and of the other one.
    lost = model.table_[:, :, 0] + model.table_[:, :, 1] / 2
    bins, n_bins = model.bins(items.values), lost.shape[0]
    rank = np.empty(bins.size)
    most = max(1, _PAIRS_AT_ONCE // n_bins)
    for first in range(0, items.n_queries, most):
        offsets = items.offsets[first : first + most + 1]
        part = slice(offsets[0], offsets[-1])
        size = np.diff(offsets)
        query = np.repeat(np.arange(size.size), size)
        ones = np.ones(query.size)
        shape = (size.size, n_bins)
        count = csr_array((ones, (query, bins[part])), shape=shape)
        every = count @ lost.T
        rank[part] = 1 + every[query, bins[part]] - lost[bins[part], bins[part]]
    return rank


def _of_gaps(model: Any, items: ScoredItems) -> FloatArray:
    rank = np.ones(items.values.size)
    size = np.diff(items.offsets)
    for query in np.flatnonzero(size > _MOST_EXACT):
        part = slice(*items.offsets[query : query + 2])
        rank[part] = _of_large_query(model, items.values[part])
    small = np.flatnonzero((size > 1) & (size <= _MOST_EXACT))
    number = np.cumsum(size[small] ** 2) // _PAIRS_AT_ONCE
    starts = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    for start, stop in pairwise([*starts, small.size]):
        if start == stop:
            break  # no small query
        queries = small[start:stop]
        count = np.concatenate([np.arange(n) for n in size[queries]])
        first = np.repeat(items.offsets[queries], size[queries])
        high = np.repeat(first + count, count)
        low = np.repeat(first, count) + np.arange(high.size)
        low -= np.repeat(np.cumsum(count) - count, count)
        lost, won = _lost_and_won(model, items.values[high] - items.values[low])
        rank += np.bincount(high, lost, rank.size) + np.bincount(low, won, rank.size)
    return rank


def _of_large_query(model: Any, values: FloatArray) -> FloatArray:
    # Half of them by number, where items are dense; half by value, where they are not.
    half = _MOST_EXACT // 2
    dense = values[np.linspace(0, values.size - 1, half).astype(int)]
    points = np.union1d(dense, np.linspace(values[0], values[-1], half))
    at = np.empty(points.size)
    for k, point in enumerate(points):
        lost, won = _lost_and_won(model, np.abs(point - values))
        at[k] = np.where(values <= point, lost, won).sum() + 0.5  # but for itself
    found: FloatArray = np.interp(values, points, at)
    return found


def _lost_and_won(model: Any, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what the higher item of each pair loses, and what it wins; half of ties.

    What it loses and wins is probabilities; both sum to 1.
    """
    proba = model.checked_proba_at_gap(gap)
    return proba[:, 0] + proba[:, 1] / 2, proba[:, 2] + proba[:, 1] / 2


def place_shares(model: TieModel, items: ScoredItems) -> FloatArray:
    """Return how many queries' worth of items are within each margin of their place.

    Parameters
    ----------
    model : TieModel
        Fitted.
    items : ScoredItems
        With relevance.

    Returns
    -------
    shares : ndarray of shape (257,), float64
        For each of `LEVELS` the sum over queries of the share of the items whose
        expected rank is at most that share of the query's size from the places that
        their relevance leaves open. Novel items count as within.
    """
    task = partial(_shares_of, model)
    shares: FloatArray = items.by_query(task, 4096)[0].sum(axis=0)
    return shares


def _shares_of(model: TieModel, items: ScoredItems) -> tuple[FloatArray]:
    size = np.diff(items.offsets)
    n = np.repeat(size, size)
    best, worst = true_places(items.known_grades, items.offsets).T
    rank = expected_ranks(model, items)
    away = np.maximum(np.maximum(best - rank, rank - worst), 0) / n
    if items.novel is not None:
        away[items.novel] = 0
    # Rounded upwards, so that the promise holds for the levels.
    level = np.searchsorted(LEVELS, away - _SLACK)
    added = np.bincount(level.clip(max=256), 1 / n, 257)
    return (np.cumsum(added, dtype=np.float64)[None, :],)


def place_results(
    places: IntArray, items: ScoredItems
) -> tuple[FloatArray, FloatArray]:
    """Return how places, (n_items, 2) by row, turned out for items with relevance.

    Returns
    -------
    held, width : ndarray of shape (n_queries,), float64
        Share of the items whose true place is held, and the mean number of places as a
        share of the query's size; NaN for a query of one item.
    """
    best, worst = places[items.rows].T
    first, last = true_places(items.known_grades, items.offsets).T
    size = np.diff(items.offsets)
    query = np.repeat(np.arange(size.size), size)
    holds = (best <= last) & (worst >= first)
    width = (worst - best + 1) / size[query]
    total = np.where(size > 1, size, np.nan)
    return (
        np.bincount(query, holds, size.size) / total,
        np.bincount(query, width, size.size) / total,
    )


def true_places(grades: IntArray, offsets: IntArray) -> IntArray:
    """Return the best and the worst place that relevance leaves each item.

    Parameters
    ----------
    grades : ndarray of shape (n_items,), int64
        Higher is better.
    offsets : ndarray of shape (n_queries + 1,), int64

    Returns
    -------
    places : ndarray of shape (n_items, 2), int64
    """
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    key = query * (grades.max(initial=0) + 1) + grades
    ordered = np.sort(key)
    n_up_to = np.searchsorted(ordered, key, side="right")
    n_below = np.searchsorted(ordered, key, side="left")
    stop = offsets[1:][query]
    return np.stack([1 + stop - n_up_to, stop - n_below], axis=1)


def confident_places(
    model: TieModel,
    shares: FloatArray,
    n_queries: int,
    items: ScoredItems,
    confidence: float,
) -> IntArray:
    """Return places that hold the true place of a random item of a new query.

    Parameters
    ----------
    model : TieModel
        Fitted.
    shares : ndarray of shape (257,), float64
        Of the calibration queries, by `place_shares`.
    n_queries : int
        Number of them.
    items : ScoredItems
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
    check_fraction(confidence, "confidence")
    enough = np.flatnonzero(shares >= confidence * (n_queries + 1) - _SLACK)
    if not enough.size:
        needed = math.ceil(confidence / (1 - confidence) - _SLACK)
        raise ValueError(
            f"confidence={confidence:g} needs at least {needed} calibration queries, "
            f"got {n_queries}: pass more labelled queries (a fitted ranker leaves all "
            "of them), or a lower confidence."
        )
    size = np.repeat(np.diff(items.offsets), np.diff(items.offsets))
    rank, margin = expected_ranks(model, items), LEVELS[enough[0]] * size
    # Rounded outwards, but not for the rounding of a sum.
    best = np.floor(rank - margin + _SLACK).clip(min=1)
    worst = np.minimum(np.ceil(rank + margin - _SLACK), size)
    # An expected rank may be a little off the place that the item is given.
    query = np.repeat(np.arange(items.n_queries), np.diff(items.offsets))
    by_place = np.lexsort((items.rows, -items.values, query))
    own = np.empty(size.size)
    own[by_place] = 1 + np.arange(size.size) - items.offsets[query]
    best, worst = np.minimum(best, own), np.maximum(worst, own)
    if items.novel is not None:
        best[items.novel], worst[items.novel] = 1, size[items.novel]
    places = np.empty((size.size, 2), dtype=np.int64)
    places[items.rows] = np.stack([best, worst], axis=1)
    return places
