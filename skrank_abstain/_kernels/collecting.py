"""The differences of the pairs between two gaps: all of them, or a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def differences_between(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    *,
    n_threads: int | None = None,
) -> tuple[int, FloatArray]:
    """Return the differences of all pairs with low < |d| <= high.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    low, high : float
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    n_within : int
        Number of pairs with ``|d| <= low``.
    differences : ndarray of shape (n_pairs,), float64
        By the higher-scored item of the pair, in the order of ``scores``, for each
        item in ascending order.

    Notes
    -----
    One pointer walks along each query: O(n) plus the number of these pairs.
    """
    if high < 0:  # no difference is
        return 0, np.empty(0)

    def collect(q0: int, q1: int) -> tuple[int, FloatArray]:
        beyond = np.empty(8, dtype=np.int64)
        # Room for some of each item, and, where that was too little, for all.
        out = np.empty(4 * int(offsets[q1] - offsets[q0]))
        data = scores, offsets, q0, q1, low, high, beyond
        n_within, n = _collect_range(*data, out)
        if n > out.size:
            out = np.empty(n)
            _collect_range(*data, out)
        return n_within, out[:n]

    parts = map_ranges(
        collect,
        np.diff(offsets) * 8.0 + 5.0,
        n_threads,
    )
    n_within = sum(part[0] for part in parts)
    return n_within, np.concatenate([np.empty(0), *(part[1] for part in parts)])


def pairs_of_sample(
    offsets: IntArray, size: int, *, before: int = 0, n_pairs: int | None = None
) -> tuple[IntArray, IntArray]:
    """Return the items of pairs spread over all pairs of all queries.

    Parameters
    ----------
    offsets : ndarray of shape (n_queries + 1,), int64
    size : int
    before : int, default=0
        Pairs of queries that come before these, and are elsewhere.
    n_pairs : int, default=None
        Of all queries; None: there are no others.

    Returns
    -------
    later, earlier : ndarray of shape (min(size, n_pairs),), int64
        Positions of the items, the same at each call: all pairs if they are no more
        than ``size``, else a random one of each of ``size`` equal shares of the pairs
        in the order of the later item. Of several parts of the queries each returns
        those of its own.
    """
    sizes = np.diff(offsets)
    upto = np.cumsum(sizes * (sizes - 1) // 2)
    own = int(upto[-1]) if upto.size else 0
    n_pairs = own if n_pairs is None else n_pairs
    if n_pairs <= size:
        number = np.arange(own)
    else:
        # One pair from each of equal shares varies less than as many free draws. Those
        # of shares that others own are passed over.
        share = n_pairs / size
        start = max(int(before / share) - 1, 0)
        stop = min(int((before + own) / share) + 2, size)
        # Seeded: the sample is the same whoever asks.
        bits = np.random.PCG64(0)
        bits.advance(start)
        draws = np.random.Generator(bits).random(stop - start)
        number = ((np.arange(start, stop) + draws) * share).astype(np.int64)
        number = np.minimum(number, n_pairs - 1) - before
        number = number[(number >= 0) & (number < own)]
    query = np.searchsorted(upto, number, side="right")
    within = number - (upto[query] - (sizes * (sizes - 1) // 2)[query])
    # The item k comes after k (k - 1) / 2 pairs of earlier items; roots are rounded.
    item = ((1 + np.sqrt(1.0 + 8.0 * within)) / 2).astype(np.int64)
    item -= item * (item - 1) // 2 > within
    item += item * (item + 1) // 2 <= within
    first = offsets[:-1][query]
    return first + item, first + within - item * (item - 1) // 2


def sample_between(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    size: int,
    *,
    before: int = 0,
    n_pairs: int | None = None,
) -> FloatArray:
    """Return ``size`` differences of random pairs with low < |d| <= high.

    Drawn with replacement and always the same; none if there are no such pairs. Of
    ``n_pairs`` in several parts of the queries, ``before`` of them in parts that come
    first, each part returns those of its own, in the order of the draws.
    """
    first, count = _partners(scores, offsets, low, high, None)
    upto = np.cumsum(count)
    own = int(upto[-1]) if upto.size else 0
    if own == 0:
        return np.empty(0, dtype=np.float64)
    # Pairs are drawn by their number and never listed: O(n) whatever their number.
    rng = np.random.default_rng(0)
    draws = rng.integers(0, own if n_pairs is None else n_pairs, size=size) - before
    draws = draws[(draws >= 0) & (draws < own)]
    items = np.searchsorted(upto, draws, side="right")
    partners = first[items] + (draws - (upto[items] - count[items]))
    with np.errstate(over="ignore"):
        differences: FloatArray = scores[items] - scores[partners]
    return differences


def _partners(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    n_threads: int | None,
) -> tuple[IntArray, IntArray]:
    """Return each item's first lower partner of these pairs, and their number."""
    first = np.empty(scores.shape[0], dtype=np.int64)
    count = np.empty(scores.shape[0], dtype=np.int64)
    map_ranges(
        lambda q0, q1: _partners_range(
            scores, offsets, q0, q1, low, high, first, count
        ),
        np.diff(offsets) * 15.0,
        n_threads,
    )
    return first, count


@jit
def _partners_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    low: float,
    high: float,
    first: IntArray,
    count: IntArray,
) -> None:
    """Fill ``first`` and ``count`` (n,) with partners j of item i, low < d <= high."""
    for q in range(q0, q1):
        near = far = offsets[q]
        for i in range(offsets[q], offsets[q + 1]):
            while far < i and scores[i] - scores[far] > high:
                far += 1
            while near < i and scores[i] - scores[near] > low:
                near += 1
            first[i] = far
            count[i] = near - far


@jit
def _collect_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    low: float,
    high: float,
    beyond: IntArray,
    out: FloatArray,
) -> tuple[int, int]:
    """Return how many are within ``low``, and how many between; these fill ``out``.

    What is too much for it is only counted. ``beyond`` (8,) is room.
    """
    n = n_within = 0
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        far = lo  # items before this one are further than ``low`` from item i
        # Eight items share the scan of the stretch where their pointers lie, and count
        # by comparing, without branches.
        for start in range(lo, hi, 8):
            eight = scores[start : min(start + 8, hi)]
            last = eight[eight.shape[0] - 1]
            near = far
            while near < hi and last - scores[near] > low:
                near += 1
            beyond[:] = 0
            for j in range(far, near):
                score = scores[j]
                for k in range(eight.shape[0]):
                    beyond[k] += np.int64(eight[k] - score > low)
            for k in range(eight.shape[0]):
                # Of the items before this one those further than ``low``.
                first = min(far + beyond[k], start + k)
                n_within += start + k - first
                for j in range(first - 1, lo - 1, -1):
                    difference = eight[k] - scores[j]
                    if difference > high:
                        break
                    if n < out.shape[0]:
                        out[n] = difference
                    n += 1
            far = min(near, start + eight.shape[0] - 1)
    return n_within, n
