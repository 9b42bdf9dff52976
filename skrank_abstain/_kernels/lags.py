"""All pairs of many queries, as weights on equally spaced signed differences.

A smooth function of a difference needs few values: interpolation through six
neighbouring points of a grid is exact for polynomials up to the fifth degree. So each
item is spread over the six grid points around its score with Lagrange's weights, and
correlating two such densities, a few dozen numbers each, gives weights of the lags of
the grid with which any smooth function of the difference is summed over all pairs.
The lags are those of all queries: one array holds the sums.

What is summed is a function of a difference of two scores. For a pair of different
grades it is the score of the item of higher grade minus that of the other: positive
where scores and grades agree, negative where they disagree, so that one function which
is smooth across zero serves both. For a pair of equal grades neither item comes first,
and only the size of the difference counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.sorting import dense_grades_within
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: What weights are rounded to: parameters of a fit to 250,000 pairs move by 2e-9 of
#: themselves.
#: Of 8e12 pairs of one lag the sum would overflow.
UNIT = 2.0**-20
# Points that an item is spread over.
_ORDER = 6
# Zeros before and, with these, around the densities.
_LEFT = 3
_PAD = 40
# Items of a grade from which on it does not matter that interpolation is not exact
# where an item meets itself.
_RARE = 16
# Items whose weights are computed at a time.
_CHUNK = 512
# More grades than this are ranked anew within each query.
_FEW_GRADES = 64


@dataclass(frozen=True)
class LagWeights:
    """Weights of signed differences, multiples of one step.

    Weights are whole numbers of ``UNIT``, rounded query by query: sums over parts of
    the queries add up to the sum over all, in any order, to the last bit.

    Attributes
    ----------
    tied : ndarray of shape (n_lags,), int64
        Of the differences ``step * k``, for functions that know no sign. Some are
        negative.
    untied : ndarray of shape (2 * n_lags - 1,), int64
        Of the differences ``step * (k - n_lags + 1)``. Some are negative.
    n_tied, n_untied : int
        Number of pairs.
    """

    tied: IntArray
    untied: IntArray
    n_tied: int
    n_untied: int

    def __add__(self, other: LagWeights) -> LagWeights:
        """Return the weights of two parts; one may have more lags."""
        more = other.tied.size - self.tied.size
        if more < 0:
            return other + self
        return LagWeights(
            np.pad(self.tied, (0, more)) + other.tied,
            np.pad(self.untied, more) + other.untied,
            self.n_tied + other.n_tied,
            self.n_untied + other.n_untied,
        )


def cheaper_on_grid(
    scores: FloatArray, offsets: IntArray, n_grades: int, step: float
) -> NDArray[np.bool_]:
    """Tell which queries cost less on a grid of this step than pair by pair.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    n_grades : int
        Number of grades over all queries.
    step : float
        Positive.

    Returns
    -------
    cheaper : ndarray of shape (n_queries,), bool
    """
    return _costs(scores, offsets, n_grades, step)[1]


def lag_points(
    found: LagWeights, step: float
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return weights of lags as gaps, outcomes and weights, each of shape (m,).

    The outcome is ``+1`` for an untied pair and a positive difference, ``-1`` for a
    negative one, ``0`` for a tied pair. A kind without pairs gives no points.
    """
    tied, untied = UNIT * found.tied, UNIT * found.untied
    n_lags = tied.size
    lags = np.arange(n_lags)
    half = untied[n_lags - 1] / 2
    kinds = []
    if found.n_tied:
        kinds.append((0, tied))
    if found.n_untied:
        kinds.append((1, np.append(half, untied[n_lags:])))
        kinds.append((-1, np.append(half, untied[: n_lags - 1][::-1])))
    return (
        np.tile(lags * step, len(kinds)),
        np.repeat(np.array([kind for kind, _ in kinds], dtype=np.int64), n_lags),
        np.concatenate([np.empty(0), *(weight for _, weight in kinds)]),
    )


def lag_weights(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    step: float,
    n_grades: int,
    *,
    n_threads: int | None = None,
) -> LagWeights:
    """Sum the pairs of all queries on a grid of differences.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query; those of a query span finitely many steps, for
        speed and memory few: see ``cheaper_on_grid``.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0; any number of them.
    offsets : ndarray of shape (n_queries + 1,), int64
    step : float
        Positive.
    n_grades : int
        Number of grades over all queries, also those that are summed elsewhere.
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    weights : LagWeights

    Notes
    -----
    For a function f the error of a sum is at most about ``3.5 / 720 * step**6`` times
    the largest sixth derivative of f, per pair and item. A query of n items of K
    grades in m cells of the grid costs O(n + K m**2).
    """
    cost = _costs(scores, offsets, n_grades, step)[0]
    # Each grade costs a pass over the grid: numbered within its query, a query pays
    # only for the grades that it has.
    if n_grades > _FEW_GRADES:
        grades, _ = dense_grades_within(grades, offsets, n_threads)
    n_lags = int(_cells(scores, offsets, step).max(initial=1))
    parts = map_ranges(
        lambda q0, q1: _lags_range(scores, grades, offsets, q0, q1, step, n_lags),
        cost,
        n_threads,
    )
    tied = np.zeros(n_lags, dtype=np.int64)
    untied = np.zeros(2 * n_lags - 1, dtype=np.int64)
    n_tied = 0
    for part in parts:
        tied += part[0]
        untied += part[1]
        n_tied += part[2]
    sizes = np.diff(offsets)
    n_untied = int((sizes * (sizes - 1) // 2).sum()) - n_tied
    return LagWeights(tied, untied, n_tied, n_untied)


def _cells(scores: FloatArray, offsets: IntArray, step: float) -> FloatArray:
    """Return the number of grid points of each query, (n_queries,)."""
    full = np.flatnonzero(np.diff(offsets))
    cells = np.zeros(offsets.shape[0] - 1)
    with np.errstate(over="ignore"):
        spread = scores[offsets[full + 1] - 1] - scores[offsets[full]]
        cells[full] = np.floor(spread / step) + _ORDER
    return cells


def _costs(
    scores: FloatArray, offsets: IntArray, n_grades: int, step: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return nanoseconds of each query on the grid, and whether its pairs cost more."""
    sizes = np.diff(offsets).astype(np.float64)
    cells = _cells(scores, offsets, step)
    groups = np.minimum(sizes, n_grades)
    rows = np.minimum(groups * cells, _ORDER * sizes)
    cost = 15.0 * sizes + 20.0 * groups + (rows + groups) * (3.0 + 0.15 * cells)
    # Many grades are ranked anew within each query, which sorts it once more.
    if n_grades > _FEW_GRADES:
        cost *= 2.0
    # Large queries are not enumerated but transformed.
    pairs = np.minimum(sizes * (sizes + 30.0), 5e7 + 500.0 * sizes)
    return cost, cost < pairs


@jit
def _lags_range(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    step: float,
    n_lags: int,
) -> tuple[IntArray, IntArray, int]:
    """Return weights of tied and of untied pairs and the number of tied ones."""
    all_tied = np.zeros(n_lags, dtype=np.int64)
    all_untied = np.zeros(2 * n_lags - 1, dtype=np.int64)
    # Of one query.
    tied = np.zeros(n_lags + _PAD)
    untied = np.zeros(2 * n_lags + _PAD)
    n_tied = longest = n_grades = 0
    for q in range(q0, q1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    for i in range(offsets[q0], offsets[q1]):
        n_grades = max(n_grades, grades[i] + 1)
    ends = np.empty(n_grades + 1, dtype=np.int64)
    ordered = np.empty(longest)
    # Densities of the items of one grade, and of those of lower grades, reversed;
    # zeros around them let the inner loops run in blocks.
    same = np.zeros(n_lags + _PAD)
    lower = np.zeros(n_lags + _PAD)
    cells = np.empty(_CHUNK, dtype=np.int64)
    shares = np.empty((_ORDER, _CHUNK))
    for q in range(q0, q1):
        lo, hi = offsets[q], offsets[q + 1]
        if hi - lo < 2:
            continue
        first = scores[lo]
        width = int((scores[hi - 1] - first) / step) + _ORDER
        tied[: width + _PAD] = 0.0
        untied[: 2 * width + _PAD] = 0.0
        n_grades = _sort_by_grade(scores[lo:hi], grades[lo:hi], ends, ordered)
        lower[: width + _PAD] = 0.0
        start = 0
        for grade in range(n_grades):
            end = ends[grade]
            n_tied += (end - start) * (end - start - 1) // 2
            same[: width + _PAD] = 0.0
            low, high = _add_items(
                ordered[start:end], first, step, cells, shares, same, tied
            )
            if start > 0:
                _correlate(same, low, high, lower, width, untied)
            if end - start > 1:
                _correlate_alone(same, low, high, tied)
            for k in range(low, high):
                # Reversed: a correlation then multiplies stretches that run the same
                # way.
                lower[_LEFT + width - 1 - k] += same[k]
            start = end
        tied[0] /= 2  # both orders of two items were summed
        _add_rounded(tied[:width], all_tied)
        # Lag 0 of this query falls on lag 0 of the sum, at n_lags - 1.
        _add_rounded(untied[: 2 * width - 1], all_untied[n_lags - width :])
    return all_tied, all_untied, n_tied


@jit
def _add_rounded(weights: FloatArray, total: IntArray) -> None:
    """Add weights (m,) to ``total`` (at least m,), in units of ``UNIT``."""
    for k in range(weights.shape[0]):
        total[k] += np.int64(np.rint(weights[k] / UNIT))


@jit
def _add_items(
    scores: FloatArray,
    first: float,
    step: float,
    cells: IntArray,
    shares: FloatArray,
    same: FloatArray,
    tied: FloatArray,
) -> tuple[int, int]:
    """Add the items (m,) of one grade to the density ``same``; return its ends.

    What each item gives with itself is taken from ``tied``: it is no pair.
    """
    m = scores.shape[0]
    low, high = same.shape[0], 0
    for begin in range(0, m, _CHUNK):
        piece = scores[begin : min(begin + _CHUNK, m)]
        _share(piece, first, step, cells, shares)
        for i in range(piece.shape[0]):
            cell = cells[i]
            low, high = min(low, cell), max(high, cell + _ORDER)
            for point in range(_ORDER):
                same[cell + point] += shares[point, i]
    # The density also holds the product of each item with itself, which is no pair and
    # adds about f(0) to a sum. Among many pairs it does not matter that this is not
    # exact; for few items the products themselves are subtracted.
    if m >= _RARE:
        tied[0] -= m
    elif m > 1:
        for i in range(m):
            for lag in range(_ORDER):
                for point in range(_ORDER - lag):
                    tied[lag] -= shares[point, i] * shares[point + lag, i]
    return low, high


@jit
def _sort_by_grade(
    scores: FloatArray, grades: IntArray, ends: IntArray, ordered: FloatArray
) -> int:
    """Fill the scores (n,) in order of grade and where grades end; count the grades."""
    n = grades.shape[0]
    n_grades = 0
    for i in range(n):
        n_grades = max(n_grades, grades[i] + 1)
    ends[: n_grades + 1] = 0
    for i in range(n):
        ends[grades[i] + 1] += 1
    for grade in range(n_grades):
        ends[grade + 1] += ends[grade]
    for i in range(n):
        ordered[ends[grades[i]]] = scores[i]
        ends[grades[i]] += 1
    return n_grades


@jit
def _share(
    scores: FloatArray, first: float, step: float, cells: IntArray, shares: FloatArray
) -> None:
    """Fill the first of six points of each item and Lagrange's weights of all six.

    ``scores`` (m,), ``cells`` (at least m,), ``shares`` (6, at least m). The points
    are at -2, -1, 0, 1, 2 and 3, the position among them at ``c`` in [0, 1).
    """
    p0, p1, p2 = shares[0], shares[1], shares[2]
    p3, p4, p5 = shares[3], shares[4], shares[5]
    for i in range(scores.shape[0]):
        position = (scores[i] - first) / step
        cells[i] = np.int64(position)
        c = position - cells[i]
        a, b, d, e, f = c + 2.0, c + 1.0, c - 1.0, c - 2.0, c - 3.0
        ab, ef = a * b, e * f
        p0[i] = b * c * d * ef * (-1 / 120)
        p1[i] = a * c * d * ef * (1 / 24)
        p2[i] = ab * d * ef * (-1 / 12)
        p3[i] = ab * c * ef * (1 / 12)
        p4[i] = ab * c * d * f * (-1 / 24)
        p5[i] = ab * c * d * e * (1 / 120)


@jit
def _correlate(
    same: FloatArray,
    low: int,
    high: int,
    lower: FloatArray,
    width: int,
    out: FloatArray,
) -> None:
    """Add ``same`` from ``low`` to ``high`` times the reversed ``lower`` to ``out``.

    Four points at a time, in loops of sixteens: those the compiler vectorises.
    """
    trip = (width + 18) // 16 * 16
    for k in range(low, high, 4):
        a, b, c, d = same[k], same[k + 1], same[k + 2], same[k + 3]
        row = out[k : k + trip]
        for j in range(trip):
            row[j] += (a * lower[j + 3] + b * lower[j + 2]) + (
                c * lower[j + 1] + d * lower[j]
            )


@jit
def _correlate_alone(same: FloatArray, low: int, high: int, out: FloatArray) -> None:
    """Add the products of ``same`` with itself to ``out``, lags of both signs.

    Two different points add their product once, at the size of their lag: as if each
    two items came in one order. The square of a point, at lag zero, holds both orders
    of its items, and is halved in the end by ``_lags_range``.
    """
    for k in range(low, high, 4):
        a, b, c, d = same[k], same[k + 1], same[k + 2], same[k + 3]
        trip = (high - k + 15) // 16 * 16
        for j in range(trip):
            out[j] += (a * same[k + j] + b * same[k + j + 1]) + (
                c * same[k + j + 2] + d * same[k + j + 3]
            )
