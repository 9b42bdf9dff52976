"""Numbers of concordant, tied and discordant pairs beyond given differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.counting import as_cuts, just_above
from skrank_abstain._kernels.sorting import dense_grades_within
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Queries with more different grades than this are counted with a Fenwick tree.
_FEW_GRADES = 32
# The table that finds the cut of a difference: 128 cells per octave, 32 octaves.
_SHIFT = 45
_CELLS = 4096

# Ways to count one query.
_BY_GRADE, _FENWICK, _ENUMERATE = 0, 1, 2


def count_outcomes(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    tol: float = 0.0,
    *,
    n_threads: int | None = None,
) -> IntArray:
    """Count the pairs with ``|d| >= cut`` by outcome.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0, over all queries; any number of them.
    offsets : ndarray of shape (n_queries + 1,), int64
    cuts : ndarray of shape (n_cuts,), float64
        In any order; infinite values are allowed.
    tol : float, default=0.0
        Scores at most this far apart carry no order.
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    counts : ndarray of shape (n_cuts, 4), int64
        Concordant, tied, discordant, and untied pairs of equal scores
        (``|d| <= tol``). Tied pairs of equal scores count as tied.

    Notes
    -----
    Per cut O(n K) for K grades or O(n log n) for many. Where a query has few items
    for the number of cuts its pairs are enumerated once, whatever the number of cuts:
    100 cuts cost far less than 100 times one.
    """
    counts: IntArray = _count(scores, grades, offsets, cuts, tol, False, n_threads)[0]
    return counts


def count_outcomes_by_query(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    tol: float = 0.0,
    *,
    n_threads: int | None = None,
) -> IntArray:
    """Count outcomes of each query, shape (n_queries, n_cuts, 4)."""
    return _count(scores, grades, offsets, cuts, tol, True, n_threads)


def _count(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    tol: float,
    by_query: bool,
    n_threads: int | None,
) -> IntArray:
    cuts = as_cuts(cuts)
    # Beyond the tolerance the order of the scores counts, within it only whether
    # the grades differ: for the cuts within, raw counts at its end are needed too.
    end = just_above(tol)
    near = np.flatnonzero(cuts < end)
    wanted = np.append(cuts, end) if near.size else cuts
    raw_cuts, where = np.unique(wanted, return_inverse=True)
    out = _count_raw(scores, grades, offsets, raw_cuts, by_query, n_threads)
    if not np.array_equal(where, np.arange(cuts.size)):
        beyond = out[:, where[-1:]]
        out = out[:, where[: cuts.size]]
        for order in (0, 2) if near.size else ():
            out[:, near, 3] += out[:, near, order] - beyond[..., order]
            out[:, near, order] = beyond[..., order]
    return out


def _count_raw(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    by_query: bool,
    n_threads: int | None,
) -> IntArray:
    """Return outcomes by position (rows, n_cuts, 4) for ascending cuts, the last 0."""
    n_queries = offsets.shape[0] - 1
    n_grades = np.full(n_queries, int(grades.max(initial=0)) + 1)
    if grades.size and n_grades[0] > _FEW_GRADES:
        grades, n_grades = dense_grades_within(grades, offsets, n_threads)
    method, cost = _choose(np.diff(offsets), n_grades, cuts.size)
    table, origin = _cut_table(cuts)

    rows = n_queries if by_query else 1
    found = np.zeros((rows, cuts.size, 4), dtype=np.int64)

    def task(q0: int, q1: int) -> IntArray:
        out = found[q0:q1] if by_query else np.zeros_like(found)
        # Queries of one range may be counted in different ways: each kernel takes its
        # own and passes over the others.
        chosen = np.unique(method[q0:q1])
        data = scores, grades, offsets, q0, q1, cuts, by_query, method
        if _BY_GRADE in chosen:
            _count_by_grade(*data, n_grades, out)
        if _FENWICK in chosen:
            _count_fenwick(*data, n_grades, out)
        if _ENUMERATE in chosen:
            _enumerate(*data, table, origin, out)
        return out

    parts = map_ranges(task, cost, n_threads)
    return found if by_query else sum(parts, found)


def _choose(
    sizes: IntArray, n_grades: IntArray, n_cuts: int
) -> tuple[IntArray, FloatArray]:
    """Return the cheapest way to count each query and its nanoseconds, (n_queries,)."""
    costs = np.empty((3, sizes.size))
    costs[_BY_GRADE] = n_cuts * sizes * (20.0 + n_grades)
    costs[_BY_GRADE, n_grades > _FEW_GRADES] = np.inf
    costs[_FENWICK] = n_cuts * sizes * (20.0 + 8.0 * np.log2(n_grades))
    costs[_ENUMERATE] = 1.7 * sizes * (sizes - 1.0) + 6.0 * n_cuts
    method = costs.argmin(axis=0)
    return method, costs.min(axis=0)


def _cut_table(cuts: FloatArray) -> tuple[NDArray[np.uint64], int]:
    """Return for each cell of |d| the number of cuts in cells before it, and an origin.

    The cell of a difference is its float64 pattern without the last bits, counted
    from the origin and clipped: monotone, so that only cuts in the same cell remain
    to be compared, and of equal relative width, so that an outlying cut costs nothing.
    """
    pattern = np.maximum(cuts, 0.0).view(np.int64) >> _SHIFT
    last = int(pattern.max(initial=0)) + 1
    origin = max(last - _CELLS, 0)
    cells = np.maximum(pattern - origin, 0)
    table = np.searchsorted(cells, np.arange(last - origin + 2)).astype(np.uint64)
    return table, origin


@jit
def _count_by_grade(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    cuts: FloatArray,
    by_query: bool,
    method: IntArray,
    n_grades: IntArray,
    out: IntArray,
) -> None:
    """Add to ``out`` (rows, n_cuts, 4) with running counts of lower grades."""
    for q in range(q0, q1):
        if method[q] != _BY_GRADE:
            continue
        lo, hi = offsets[q], offsets[q + 1]
        row = q - q0 if by_query else 0
        below = np.empty(n_grades[q] + 1, dtype=np.int64)
        for c in range(cuts.shape[0]):
            cut = cuts[c]
            below[:] = 0  # of the items before ``far``, those below each grade
            far = lo
            concordant = tied = 0
            total = 0
            for i in range(lo, hi):
                while far < i and scores[i] - scores[far] >= cut:
                    # All grades, without a branch: a few vector instructions for up to
                    # 32 grades.
                    for grade in range(n_grades[q] + 1):
                        below[grade] += np.int64(grades[far] < grade)
                    far += 1
                concordant += below[grades[i]]
                tied += below[grades[i] + 1] - below[grades[i]]
                total += far - lo
            out[row, c, 0] += concordant
            out[row, c, 1] += tied
            out[row, c, 2] += total - concordant - tied


@jit
def _count_fenwick(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    cuts: FloatArray,
    by_query: bool,
    method: IntArray,
    n_grades: IntArray,
    out: IntArray,
) -> None:
    """Add to ``out`` (rows, n_cuts, 4) with a Fenwick tree over the grades."""
    for q in range(q0, q1):
        if method[q] != _FENWICK:
            continue
        lo, hi = offsets[q], offsets[q + 1]
        row = q - q0 if by_query else 0
        size = n_grades[q]
        tree = np.empty(size + 1, dtype=np.int64)
        same = np.empty(size, dtype=np.int64)
        for c in range(cuts.shape[0]):
            cut = cuts[c]
            tree[:] = 0
            same[:] = 0
            far = lo
            concordant = tied = 0
            total = 0
            for i in range(lo, hi):
                while far < i and scores[i] - scores[far] >= cut:
                    same[grades[far]] += 1
                    node = grades[far] + 1
                    while node <= size:
                        tree[node] += 1
                        node += node & -node
                    far += 1
                node = grades[i]
                while node > 0:
                    concordant += tree[node]
                    node &= node - 1
                tied += same[grades[i]]
                total += far - lo
            out[row, c, 0] += concordant
            out[row, c, 1] += tied
            out[row, c, 2] += total - concordant - tied


def _enumerate(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    cuts: FloatArray,
    by_query: bool,
    method: IntArray,
    table: NDArray[np.uint64],
    origin: int,
    out: IntArray,
) -> None:
    """Add to ``out`` (rows, n_cuts, 4) pair by pair; ``cuts`` ascend."""
    # bins[3 * b + o]: pairs of outcome o with exactly b cuts at or below their |d|.
    bins = np.zeros(3 * cuts.size + 3, dtype=np.int64)
    # No difference reaches NaN: beyond the last cut the search stops by itself.
    padded = np.append(cuts, np.nan)
    differences = np.empty(int(np.diff(offsets[q0 : q1 + 1]).max()))
    # Unsigned: numba need not look whether an index counts from the end.
    places = np.empty((2, differences.size), dtype=np.uint64)
    room = differences, differences.view(np.int64), places[0], places[1], bins
    data = scores, grades, offsets, q0, q1, padded, by_query, method, table, origin
    _count_enumerating(*data, *room, out)


@jit
def _count_enumerating(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    padded: FloatArray,
    by_query: bool,
    method: IntArray,
    table: NDArray[np.uint64],
    origin: int,
    differences: FloatArray,
    patterns: IntArray,
    cells: NDArray[np.uint64],
    outcomes: NDArray[np.uint64],
    bins: IntArray,
    out: IntArray,
) -> None:
    """Add to ``out`` (rows, n_cuts, 4) pair by pair.

    ``differences``, the same bits as ``patterns``, ``cells`` and ``outcomes`` (longest
    query,) are room, ``bins`` (3 * n_cuts + 3,) zero.
    """
    last = table.shape[0] - 2
    for q in range(q0, q1):
        if method[q] != _ENUMERATE:
            continue
        lo = offsets[q]
        for i in range(lo, offsets[q + 1]):
            score, grade = scores[i], grades[i]
            earlier, their_grades = scores[lo:i], grades[lo:i]
            for j in range(earlier.shape[0]):
                differences[j] = score - earlier[j]
            for j in range(earlier.shape[0]):
                cells[j] = min(max((patterns[j] >> _SHIFT) - origin, 0), last)
                order = np.int64(grade < their_grades[j])
                outcomes[j] = 1 + order - np.int64(grade > their_grades[j])
            for j in range(earlier.shape[0]):
                cell = cells[j]
                b = table[cell]
                # A cell seldom holds more than one cut: the first is compared without a
                # branch, the loop is for the others.
                b += np.uint64(padded[b] <= differences[j])
                while b < table[cell + np.uint64(1)] and padded[b] <= differences[j]:
                    b += np.uint64(1)
                bins[np.uint64(3) * b + outcomes[j]] += 1
        if by_query:
            _add_cumulated(bins, out[q - q0])
    if not by_query:
        _add_cumulated(bins, out[0])


@jit
def _add_cumulated(bins: IntArray, out: IntArray) -> None:
    """Add sums from the end of ``bins`` (3 * n_cuts + 3,) to ``out``, and empty it."""
    for outcome in range(3):
        total = 0
        for b in range(out.shape[0], 0, -1):
            total += bins[3 * b + outcome]
            out[b - 1, outcome] += total
    bins[:] = 0
