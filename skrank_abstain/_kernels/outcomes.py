"""Scores sorted within queries, and their pairs by outcome.

Pairs are counted beyond given differences, and by the bins of their items.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import BitArray, BoolArray, FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

# A query of up to so many items is sorted by comparing all with all, padded to a
# multiple of the block.
_FEW, _BLOCK = 256, 64


def sort_within_queries(
    scores: FloatArray, order: IntArray, offsets: IntArray
) -> tuple[FloatArray, IntArray]:
    """Sort the scores of each query in ascending order.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        One finite score per row, in any order.
    order : ndarray of shape (n,), int64
        Rows grouped by query.
    offsets : ndarray of shape (n_queries + 1,), int64
        ``order[offsets[q]:offsets[q + 1]]`` are the rows of query ``q``.

    Returns
    -------
    ascending : ndarray of shape (n,), float64
        Scores in ascending order within each query; negative zero becomes zero.
    rows : ndarray of shape (n,), int64
        ``scores[rows]`` equals ``ascending``. Rows of equal scores keep the order
        that they have in ``order``.

    Notes
    -----
    NumPy's stable sort, O(n log n). Small queries are sorted by counting, for each
    score, the smaller ones, which is faster.
    """
    ascending = np.empty(order.shape[0], dtype=np.float64)
    rows = np.empty(order.shape[0], dtype=np.int64)
    sizes = np.diff(offsets)
    for q in np.flatnonzero(sizes > _FEW):
        here = slice(offsets[q], offsets[q + 1])
        # Adding zero turns negative zero into zero.
        values = scores[order[here]] + 0.0
        places = np.argsort(values, kind="stable")
        ascending[here], rows[here] = values[places], order[here][places]

    def sort(q0: int, q1: int) -> None:
        _sort_range(scores, order, offsets[q0 : q1 + 1], ascending, rows)

    map_ranges(sort, np.where(sizes > _FEW, 0, sizes) * (20.0 + 0.3 * sizes))
    return ascending, rows


@jit
def _sort_range(
    scores: FloatArray,
    order: IntArray,
    offsets: IntArray,
    keys: FloatArray,
    rows: IntArray,
) -> None:
    """Fill ``keys`` and ``rows`` (n,) of small queries."""
    padded, equal = np.empty(_FEW), np.empty(_FEW, dtype=np.int64)
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        if hi - lo > _FEW:
            continue
        # Scores are finite: infinite padding is smaller than none of them.
        width = (hi - lo + _BLOCK - 1) // _BLOCK * _BLOCK
        padded[:width], equal[:width] = np.inf, 0
        for p in range(lo, hi):
            padded[p - lo] = scores[order[p]] + 0.0
        for p in range(lo, hi):
            smaller = np.int64(0)
            # Whole blocks, without branches: the compiler vectorises it.
            for k in range(width):
                smaller += np.int64(padded[k] < padded[p - lo])
            # Equal keys have as many smaller ones, and stand in the order in which they
            # come: the sort is stable.
            place = lo + smaller + equal[smaller]
            equal[smaller] += 1
            keys[place] = padded[p - lo]
            rows[place] = order[p]


@jit
def _rank(
    values: FloatArray, rows: IntArray, offsets: IntArray
) -> tuple[IntArray, IntArray]:
    """Return dense ranks (n,) of ascending values (n,), and how many a query has."""
    ranks = np.empty(rows.shape[0], dtype=np.int64)
    numbers = np.zeros(offsets.shape[0] - 1, dtype=np.int64)
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        rank = 0
        for p in range(lo, hi):
            if p > lo and values[p] > values[p - 1]:
                rank += 1
            ranks[rows[p]] = rank
        numbers[q] = rank + 1
    return ranks, numbers


# With more grades than this, those of each query are ranked anew.
_FEW_GRADES = 32
# The table that finds the cut of a difference: 128 cells per octave, 32 octaves.
_SHIFT = 45
_CELLS = 4096


def count_outcomes(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    tol: float = 0.0,
    weights: FloatArray | None = None,
) -> NDArray[Any]:
    """Count the pairs of each query with ``|d| >= cut``, by outcome.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    grades : ndarray of shape (n,), int64
        Dense ranks of relevance, from 0, over all queries.
    offsets : ndarray of shape (n_queries + 1,), int64
    cuts : ndarray of shape (n_cuts,), float64
        In any order, without NaN; infinite values are allowed.
    tol : float, default=0.0
        Scores at most this far apart carry no order.
    weights : ndarray of shape (n,), float64, default=None
        Non-negative. A pair weighs the product of its items' weights.

    Returns
    -------
    counts : ndarray of shape (n_queries, n_cuts, 4), int64, or float64 with weights
        Concordant, tied, discordant, and untied pairs of equal scores
        (``|d| <= tol``). Tied pairs of equal scores count as tied. Those of a query
        depend neither on the other queries nor on the number of threads.

    Notes
    -----
    O(n log n) per cut with a Fenwick tree over the grades. A query of few items for the
    number of cuts has its pairs enumerated once for all cuts: 100 cuts then cost far
    less than 100 times one.
    """
    # Within the tolerance only whether the grades differ counts: orders are counted
    # from just above it, ties from the cut itself, and untied pairs are the rest.
    wanted = np.concatenate([cuts, np.maximum(cuts, np.nextafter(tol, np.inf))])
    raw_cuts, where = np.unique(wanted, return_inverse=True)
    raw = _count_raw(scores, grades, offsets, raw_cuts, weights)
    every, ordered = where[: cuts.size], where[cuts.size :]
    out = np.zeros((raw.shape[0], cuts.size, 4), dtype=raw.dtype)
    out[..., :3] = raw[:, ordered]
    if not np.array_equal(every, ordered):
        out[..., 1] = raw[:, every, 1]
        for column in (0, 2):
            out[..., 3] += raw[:, every, column] - raw[:, ordered, column]
    return out


def _count_raw(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    cuts: FloatArray,
    weights: FloatArray | None,
) -> NDArray[Any]:
    """Return outcomes by position (n_queries, n_cuts, 3) for ascending cuts."""
    sizes = np.diff(offsets)
    n_grades = np.full(sizes.size, int(grades.max(initial=0)) + 1)
    if weights is not None or (grades.size and n_grades[0] > _FEW_GRADES):
        # As floats they are exact: grades are ranks, far below 2 ** 53.
        floats, rows = grades.astype(np.float64), np.arange(grades.size)
        grades, n_grades = _rank(*sort_within_queries(floats, rows, offsets), offsets)
    cost = cuts.size * sizes * (20.0 + 8.0 * np.log2(np.maximum(n_grades, 1))) + 5.0
    by_pair = (weights is None) & (_cost_of_pairs(sizes, cuts.size) < cost)
    cost[by_pair] = _cost_of_pairs(sizes[by_pair], cuts.size)
    found = np.zeros((sizes.size, cuts.size, 3), np.int64 if weights is None else float)
    weights = np.ones(scores.size) if weights is None else weights
    table, origin = _cut_table(cuts)
    # No difference reaches NaN: beyond the last cut the search stops by itself.
    padded = np.append(cuts, np.nan)

    def task(q0: int, q1: int) -> None:
        # Each of the two passes over the queries that the other counts.
        out, chosen = found[q0:q1], by_pair[q0:q1]
        if not chosen.all():
            here = scores, grades, offsets[q0 : q1 + 1], chosen
            _by_fenwick(*here, weights, cuts, n_grades[q0:q1], out)
        if chosen.any():
            data = scores, grades, offsets, q0, q1, by_pair, padded, table, origin
            _enumerate(*data, int(sizes[q0:q1].max()), out)

    map_ranges(task, cost)
    return found


def _cost_of_pairs(sizes: IntArray, n_cuts: int) -> FloatArray:
    """Return the nanoseconds that enumerating the pairs takes, (n_queries,)."""
    return 1.7 * sizes * (sizes - 1.0) + 6.0 * n_cuts


def _cut_table(cuts: FloatArray) -> tuple[BitArray, int]:
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
def _by_fenwick(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    skipped: BoolArray,
    weights: FloatArray,
    cuts: FloatArray,
    n_grades: IntArray,
    out: NDArray[Any],
) -> None:
    """Fill ``out`` (n_queries, n_cuts, 3) with a Fenwick tree over the grades."""
    for q in range(offsets.shape[0] - 1):
        if skipped[q]:
            continue
        size = n_grades[q]
        tree = np.empty(size + 1, dtype=np.float64)
        same = np.empty(size, dtype=np.float64)
        for c in range(cuts.shape[0]):
            tree[:] = 0.0
            same[:] = 0.0
            far = offsets[q]
            seen = concordant = tied = discordant = 0.0
            for i in range(offsets[q], offsets[q + 1]):
                while far < i and scores[i] - scores[far] >= cuts[c]:
                    seen += weights[far]
                    same[grades[far]] += weights[far]
                    node = grades[far] + 1
                    while node <= size:
                        tree[node] += weights[far]
                        # Node k holds the sum over the (k & -k) grades that end at k.
                        node += node & -node
                    far += 1
                lower = 0.0
                node = grades[i]
                while node > 0:
                    lower += tree[node]
                    node &= node - 1
                # From an array of its own: two sums from the tree would cost twice and
                # round.
                equal = same[grades[i]]
                concordant += weights[i] * lower
                tied += weights[i] * equal
                # Weights are floats: rounding must not leave less than nothing.
                discordant += weights[i] * max(seen - lower - equal, 0.0)
            # Without weights these are whole numbers, exact up to 2**53.
            out[q, c, 0] = concordant
            out[q, c, 1] = tied
            out[q, c, 2] = discordant


@jit
def _enumerate(
    scores: FloatArray,
    grades: IntArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    chosen: BoolArray,
    padded: FloatArray,
    table: BitArray,
    origin: int,
    largest: int,
    out: NDArray[Any],
) -> None:
    """Add to ``out`` (q1 - q0, n_cuts, 3) pair by pair.

    ``padded`` (n_cuts + 1,) holds the ascending cuts and NaN. No query is larger than
    ``largest``.
    """
    differences = np.empty(largest)
    patterns = differences.view(np.int64)
    # Unsigned: numba need not check whether an index counts from the end.
    cells = np.empty(largest, dtype=np.uint64)
    outcomes = np.empty(largest, dtype=np.uint64)
    # Pairs by the number of cuts at or below their difference, and by outcome.
    bins = np.zeros(3 * padded.shape[0], dtype=np.int64)
    last = table.shape[0] - 2
    # A slice of the offsets in place of q0 and q1 makes this a tenth slower.
    for q in range(q0, q1):
        if not chosen[q]:
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
        for outcome in range(3):
            total = 0
            for b in range(padded.shape[0] - 1, 0, -1):
                total += bins[3 * b + outcome]
                out[q - q0, b - 1, outcome] = total
        bins[:] = 0


def weigh_groups(
    values: FloatArray,
    edges: FloatArray,
    grades: IntArray,
    weights: FloatArray | None,
    offsets: IntArray,
    group: IntArray,
    n_groups: int,
    tolerance: float,
    *,
    by_query: bool,
) -> FloatArray:
    """Add up pairs by the group that their two bins belong to, and by outcome.

    A pair weighs the product of the weights of its items.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        Ascending within each query.
    edges : ndarray of shape (n_bins - 1,), float64
        Between the bins; a value on an edge belongs to the upper bin.
    grades : ndarray of shape (n,), int64
    weights : ndarray of shape (n,), float64, or None
    offsets : ndarray of shape (n_queries + 1,), int64
    group : ndarray of shape (n_bins + 1, n_bins + 1), int64
        Group of the pairs of bins (higher, lower), from 0; with the last one in place
        of the higher bin, that of the pairs of equal values of a bin.
    n_groups : int
    tolerance : float
        Values of one bin at most this far apart are equal.
    by_query : bool
        Whether to keep queries apart.

    Returns
    -------
    totals : ndarray of shape (n_queries or 1, n_groups, 4), float64
        Concordant, tied, discordant, and untied pairs of equal values.

    Notes
    -----
    A query of n items costs the smaller of n**2 / 2 and n * n_bins steps, and at most
    n log n for the pairs within bins. Whole weights give exact sums up to 2**53.
    """
    n_bins = group.shape[0] - 1
    sizes = np.diff(offsets).astype(np.float64)
    # By bin a query takes one step for each item and bin, by pair one for each pair,
    # which is cheaper with few items per bin.
    by_bin = sizes > 4 * n_bins
    cost = np.minimum(sizes * sizes, 8.0 * sizes * n_bins) + 20.0

    def weigh(q0: int, q1: int) -> FloatArray:
        out = np.zeros((q1 - q0 if by_query else 1, n_groups, 4))
        changes = q0 + 1 + np.flatnonzero(np.diff(by_bin[q0:q1]))
        for start, stop in pairwise([q0, *changes, q1]):
            # Arrays of a range are small enough to find memory that was used before.
            items = slice(offsets[start], offsets[stop])
            here = offsets[start : stop + 1]
            value, bins = values[items], np.searchsorted(edges, values[items], "right")
            mass = np.ones(value.size) if weights is None else weights[items]
            data = value, bins, grades[items], mass, here - here[0], group, tolerance
            rows = out[start - q0 : stop - q0] if by_query else out
            (_weigh_by_bin if by_bin[start] else _weigh_by_pair)(*data, by_query, rows)
        return out

    parts = map_ranges(weigh, cost)
    if by_query:
        return np.concatenate([np.zeros((0, n_groups, 4)), *parts])
    # Added in the order of the ranges, which depend on the queries alone: sums of
    # floats are the same for any number of threads.
    return sum(parts, np.zeros((1, n_groups, 4)))


def _weigh_by_bin(
    values: FloatArray,
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    tolerance: float,
    by_query: bool,
    totals: FloatArray,
) -> None:
    """Add the pairs of large queries: those of two bins, and those within bins."""
    n_bins, sizes = group.shape[0] - 1, np.diff(offsets)
    query = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((grades, query))
    data = bins[order], grades[order], weights[order], offsets, group
    _weigh_by_grade(*data, by_query, totals)
    block = query * n_bins + bins
    starts = np.append(np.flatnonzero(np.diff(block, prepend=-1)), block.size)
    cuts = np.array([0.0, np.nextafter(tolerance, np.inf)])
    counts = count_outcomes(values, grades, starts, cuts, tolerance, weights)
    query, number = np.divmod(block[starts[:-1]], n_bins)
    query *= totals.shape[1] * by_query
    # The pairs beyond the tolerance, and the others.
    entry = np.concatenate([query + group[number, number], query + group[-1, number]])
    found = np.concatenate([counts[:, 1], counts[:, 0] - counts[:, 1]])
    rows = totals.reshape(-1, 4)
    for column in range(4):
        rows[:, column] += np.bincount(entry, found[:, column], rows.shape[0])


@jit
def _weigh_by_pair(
    values: FloatArray,
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    tolerance: float,
    by_query: bool,
    out: FloatArray,
) -> None:
    """Add all pairs of each query, one by one."""
    last = group.shape[0] - 1
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        # Slices indexed from 0: numba need not check for negative indices.
        theirs, their_values = bins[lo:hi], values[lo:hi]
        their_grades, their_weights = grades[lo:hi], weights[lo:hi]
        totals = out[q if by_query else 0]
        first = 0  # of the bin
        for i in range(hi - lo):
            own, grade, weight = theirs[i], their_grades[i], their_weights[i]
            if theirs[first] != own:
                first = i
            places = group[own]
            for j in range(first):
                # Without a branch: which item has the higher grade is unpredictable.
                higher = np.int64(grade > their_grades[j])
                lower = np.int64(grade < their_grades[j])
                outcome = 1 + lower - higher
                totals[places[theirs[j]], outcome] += weight * their_weights[j]
            for j in range(first, i):
                order = np.sign(grade - their_grades[j])
                place, outcome = places[own], 1 - order
                if their_values[i] - their_values[j] <= tolerance:
                    place, outcome = group[last, own], 1 + 2 * np.abs(order)
                totals[place, outcome] += weight * their_weights[j]


@jit
def _weigh_by_grade(
    bins: IntArray,
    grades: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    group: IntArray,
    by_query: bool,
    out: FloatArray,
) -> None:
    """Add the pairs of different bins to ``out``; grades ascend in each query."""
    n_bins = group.shape[0] - 1
    # The weight in each bin of lower grades, of this one, and of higher ones.
    below, same, above = np.empty(n_bins), np.empty(n_bins), np.empty(n_bins)
    for q in range(offsets.shape[0] - 1):
        lo, hi = offsets[q], offsets[q + 1]
        totals = out[q if by_query else 0]
        below[:] = 0.0
        above[:] = 0.0
        for i in range(lo, hi):
            above[bins[i]] += weights[i]
        first = lo  # of the grade
        for stop in range(lo + 1, hi + 1):
            if stop < hi and grades[stop] == grades[first]:
                continue
            same[:] = 0.0
            for i in range(first, stop):
                same[bins[i]] += weights[i]
            # Weights are floats: rounding must not leave less than nothing.
            above[:] = np.maximum(above - same, 0.0)
            for high in range(n_bins):
                if same[high] > 0.0:
                    for low in range(high):
                        total = totals[group[high, low]]
                        total[0] += same[high] * below[low]
                        total[1] += same[high] * same[low]
                        total[2] += same[high] * above[low]
            below += same
            first = stop
