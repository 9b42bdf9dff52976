"""Scored items, sorted: they answer questions about all pairs without listing them.

Engines and tie models ask how many pairs have at most some gap, which gap has a given
rank, and which outcomes occur at which gap. Sorted values answer in O(n log n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from skrank_abstain._saving import Value
from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs._gaps import GapOutcomes
from skrank_abstain.pairs._memory import check_graph_size
from skrank_abstain.pairs._queries import Queries

#: Up to this many pairs are enumerated where that makes a result exact.
FEW_PAIRS = 1 << 18
#: Gaps that agree without these last bits differ by less than 0.2 %.
_SHIFT = 43
#: Bounds on the sample from one query.
_FEWEST_PER_QUERY, _MOST_PER_QUERY = 40, 400


@dataclass(frozen=True)
class ScoredItems(Value):
    """Items sorted by value within each query.

    Attributes
    ----------
    values : ndarray of shape (n_items,), float64
        Ascending within each query.
    rows : ndarray of shape (n_items,), int64
        Row of each item in X.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin.
    grades : ndarray of shape (n_items,), int64, or None
        Dense ranks of relevance, aligned with ``values``; None without labels.
    novel : ndarray of shape (n_items,), bool, or None
        Items whose pairs are always abstained on, aligned with ``values``; None without
        ``novelty=``.
    keys : ndarray of shape (n_items,), uint64, or None
        Hashes of the rows, aligned with ``values``, for draws on a boundary; None where
        none are made.
    group : ndarray of shape (n_items,), int64, or None
        Number of the group of each item, aligned with ``values``; None without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.pairs import ScoredItems, group_queries
    >>> scores, y = np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0])
    >>> items = ScoredItems.build(scores, group_queries(None, 3), y)
    >>> items.rows, items.grades, items.count_within([1.0, 2.0])
    (array([1, 2, 0]), array([0, 1, 1]), array([2, 3]))
    """

    values: FloatArray
    rows: IntArray
    offsets: IntArray
    grades: IntArray | None = None
    novel: BoolArray | None = None
    keys: NDArray[np.uint64] | None = None
    group: IntArray | None = None

    @classmethod
    def build(
        cls,
        values: FloatArray,
        queries: Queries,
        y: FloatArray | None = None,
        novel: BoolArray | None = None,
        keys: NDArray[np.uint64] | None = None,
        group: IntArray | None = None,
    ) -> Self:
        """Sort items within their queries, O(n log n)."""
        from skrank_abstain._kernels.sorting import rank_integers, sort_within_queries

        ascending, rows = sort_within_queries(values, queries.order, queries.offsets)
        others: list[Any] = [
            None if each is None else each[rows] for each in (novel, keys, group)
        ]
        if y is None:
            return cls(ascending, rows, queries.offsets, None, *others)
        # Relevance is nearly always a few small integers: a table ranks them in O(n),
        # np.unique would sort all items.
        grades = rank_integers(y, rows)
        if grades is None:
            grades = np.unique(y[rows], return_inverse=True)[1].reshape(-1)
        grades = grades.astype(np.int64, copy=False)
        return cls(ascending, rows, queries.offsets, grades, *others)

    def to_plain(self) -> dict[str, Any]:
        plain = super().to_plain()
        del plain["rows"], plain["keys"]  # of an X that is not saved
        return plain

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        return cls(rows=np.arange(plain["values"].size), **plain)

    def take(self, start: int, stop: int) -> Self:
        """Return the queries ``start`` to ``stop`` (exclusive)."""
        offsets = self.offsets[start : stop + 1] - self.offsets[start]
        return self._items_at(slice(self.offsets[start], self.offsets[stop]), offsets)

    def _items_at(self, items: Any, offsets: IntArray) -> Self:
        others = (
            None if each is None else each[items]
            for each in (self.grades, self.novel, self.keys, self.group)
        )
        return type(self)(self.values[items], self.rows[items], offsets, *others)

    @cached_property
    def without_novel_pairs(self) -> Self:
        """The same items, each novel one in a query of its own after all others.

        Only pairs with a novel item are lost. A query of novel items keeps one of them,
        so that no query is empty.
        """
        if self.novel is None:
            return self
        items, offsets = set_apart(self.novel, self.offsets)
        return replace(self._items_at(items, offsets), novel=None)

    def of_groups(self, *groups: int) -> Self:
        """Return the items, those of other groups at the end, each alone in a query."""
        # Thresholds and totals ask for the same groups again and again.
        if groups not in self._parts:
            others = ~np.isin(self.known_groups, groups)
            self._parts[groups] = self._items_at(*set_apart(others, self.offsets))
        return self._parts[groups]

    @cached_property
    def _parts(self) -> dict[tuple[int, ...], Self]:
        return {}

    def by_query(
        self, task: Callable[[Any], tuple[FloatArray, ...]], most: int
    ) -> tuple[FloatArray, ...]:
        """Call ``task`` for ``most`` queries at a time, and join the results.

        The task takes items and returns arrays of shape (n_queries, ...).
        """
        found = [
            task(self.take(first, min(first + most, self.n_queries)))
            for first in range(0, self.n_queries, most)
        ]
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))

    def query_of(self, items: IntArray) -> IntArray:
        """Return the number of the query of items, given by position."""
        return np.searchsorted(self.offsets, items, side="right") - 1

    def weight_of(
        self, low: IntArray, high: IntArray, weight: FloatArray | None
    ) -> FloatArray:
        """Return the weights of pairs, given by positions; ``weight`` is by row."""
        if weight is None:
            return np.ones(low.size)
        return weight[self.rows[low]] * weight[self.rows[high]]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.offsets.size - 1)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        sizes = np.diff(self.offsets)
        counts: IntArray = sizes * (sizes - 1) // 2
        return counts

    @property
    def n_pairs(self) -> int:
        """Number of within-query pairs."""
        return int(self.pair_counts.sum())

    @property
    def largest(self) -> float:
        """Largest gap within a query; 0 for no pair."""
        sizes = np.diff(self.offsets)
        first, last = self.offsets[:-1][sizes > 1], self.offsets[1:][sizes > 1] - 1
        with np.errstate(over="ignore"):
            spread = self.values[last] - self.values[first]
        return float(spread.max(initial=0.0))

    @property
    def largest_value(self) -> float:
        """Largest absolute value; 0 for no item."""
        return float(np.abs(self.values).max(initial=0.0))

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """Count the pairs with gap at most each cut, O(n) each."""
        from skrank_abstain._kernels.counting import count_within

        return count_within(
            self.values, self.offsets, np.asarray(cuts, dtype=np.float64)
        )

    @cached_property
    def outcomes(self) -> GapOutcomes:
        """Gaps and outcomes; pairs of one outcome and gaps within 0.2 % are joined.

        O(n_pairs), of at most 100 million pairs a query.
        """
        return GapOutcomes(*self.histogram(self.largest).points())

    @property
    def grade_counts(self) -> IntArray:
        """Items of each grade, shape (n_grades,)."""
        return np.bincount(self.known_grades)

    def thinned(self, most: int, merged: IntArray) -> Self:
        """Return a sample of the items, with merged grades.

        Parameters
        ----------
        most : int
            Approximate size, evenly spaced in the order of the values.
        merged : ndarray of shape (n_grades,), int64
            New grade of each grade; the sample has at least one item of each.
        """
        kind = merged[self.known_grades]
        rows = thin(self.offsets, most)
        lost = np.bincount(kind[rows], minlength=merged.max() + 1) == 0
        first = [int(np.argmax(kind == each)) for each in np.flatnonzero(lost)]
        rows = np.union1d(rows, np.array(first, dtype=np.int64))
        query = np.searchsorted(self.offsets, rows, side="right") - 1
        offsets = np.append(0, np.cumsum(np.unique(query, return_counts=True)[1]))
        return type(self)(self.values[rows], self.rows[rows], offsets, kind[rows])

    def pairs_by_grade(self, merged: IntArray) -> FloatArray:
        """Count the pairs within each merged grade: those of equal grades, and all.

        ``merged`` as in ``thinned``; shape (2, n_merged).
        """
        query = np.repeat(np.arange(self.n_queries), np.diff(self.offsets))
        n_merged = int(merged.max()) + 1
        key, sizes = np.unique(
            query * merged.size + self.known_grades, return_counts=True
        )
        query, kind = key // merged.size, merged[key % merged.size]
        tied = np.bincount(kind, sizes * (sizes - 1.0) / 2, n_merged)
        joint, place = np.unique(query * n_merged + kind, return_inverse=True)
        sizes = np.bincount(place.reshape(-1), sizes)
        every = np.bincount(joint % n_merged, sizes * (sizes - 1.0) / 2, n_merged)
        return np.stack([tied, every])

    def histogram(self, largest: float) -> Any:
        """Count all pairs in bins of their gap, by outcome.

        Histograms of several parts can be added if all were made with the largest gap
        of all parts.
        """
        from skrank_abstain._kernels.histogram import outcome_histogram

        return outcome_histogram(self.values, self.known_grades, self.offsets, largest)

    def counts_by_gap(self) -> tuple[FloatArray, FloatArray]:
        """Return gaps, and how many pairs of each outcome have them.

        Returns
        -------
        gap : ndarray of shape (n_gaps,), float64
            Distinct and ascending. Above 262,144 pairs, gaps within 0.2 % are
            replaced by their mean.
        counts : ndarray of shape (n_gaps, 3), float64
            Lower-scored item preferred, tied, higher-scored item preferred.
        """
        # Exact where affordable: metrics that enumerate the same pairs should give the
        # same numbers.
        few = self.n_pairs <= FEW_PAIRS
        found = self.every_outcome() if few else self.outcomes
        return counts_by_gap(found, exact=few)

    def every_outcome(self) -> GapOutcomes:
        """Return one entry for each pair."""
        from skrank_abstain._kernels.filling import fill_pairs

        # Positions serve as rows: items are sorted by value here.
        positions = np.arange(self.rows.size)
        low, high, difference = fill_pairs(self.values, positions, self.offsets)
        outcome = np.sign(self.known_grades[high] - self.known_grades[low])
        outcome[difference == 0] = abs(
            outcome[difference == 0]
        )  # as `GapOutcomes` says
        return GapOutcomes(np.abs(difference), outcome, np.ones(low.size))

    def outline(self) -> tuple[FloatArray, FloatArray]:
        """Return gaps that stand for all, and how many pairs each stands for."""
        return self.outcomes.gap, self.outcomes.weight

    def collect(self, *windows: tuple[float, float]) -> list[tuple[int, FloatArray]]:
        """Return how many gaps are at most each ``low``, and those in (low, high]."""
        from skrank_abstain._kernels.collecting import differences_between

        data = self.values, self.offsets
        return [differences_between(*data, *window) for window in windows]

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        """Count the pairs of each query with gap at least each cut, by outcome.

        Parameters
        ----------
        cuts : array-like of shape (n_cuts,)
        tolerance : float
            Closer values count as equal.

        Returns
        -------
        counts : ndarray of shape (n_queries, n_cuts, 4), int64
            Concordant, tied, discordant, and untied pairs of equal values.
        """
        from skrank_abstain._kernels.outcomes import count_outcomes

        return count_outcomes(
            self.values, self.known_grades, self.offsets, np.asarray(cuts), tolerance
        )

    def weigh_outcomes(
        self, cuts: ArrayLike, tolerance: float, weight: FloatArray
    ) -> FloatArray:
        """Like ``count_outcomes``; a pair weighs the product of its items' weights.

        ``weight`` has shape (n_items,), in the order of the rows of X.
        """
        from skrank_abstain._kernels.outcomes import weigh_outcomes

        return weigh_outcomes(
            self.values,
            self.known_grades,
            weight[self.rows],
            self.offsets,
            np.asarray(cuts, dtype=np.float64),
            tolerance,
        )

    def weigh_bins(
        self,
        edges: FloatArray,
        group: IntArray,
        n_groups: int,
        *,
        by_query: bool = False,
        weight: FloatArray | None = None,
    ) -> FloatArray:
        """Add up pairs by the group of their two bins and by outcome.

        Parameters
        ----------
        edges : ndarray of shape (n_bins - 1,), float64
            Between the bins; a value on an edge belongs to the upper bin.
        group : ndarray of shape (n_bins, n_bins), int
            Group of each pair of bins (lower, higher); negative for none.
        n_groups : int
        by_query : bool, default=False
        weight : ndarray of shape (n_items,), default=None
            As in ``weigh_outcomes``.

        Returns
        -------
        totals : ndarray of shape (n_queries or 1, n_groups, 4), float64
            Higher bin preferred, tied, lower bin preferred, and untied pairs of one
            bin.
        """
        from skrank_abstain._kernels.bin_pairs import weigh_groups

        ones = np.ones(self.rows.size)
        return weigh_groups(
            np.searchsorted(edges, self.values, side="right"),
            self.known_grades,
            ones if weight is None else weight[self.rows],
            self.offsets,
            group.astype(np.int64),
            n_groups,
            by_query=by_query,
        )

    def rank_bounds(self, order_from: float) -> IntArray:
        """Return the best and worst rank of each item, in the order of the rows of X.

        Parameters
        ----------
        order_from : float
            Items at least this far apart are ordered; positive.

        Returns
        -------
        bounds : ndarray of shape (n_items, 2), int64
        """
        from skrank_abstain._kernels.ranks import rank_bounds

        bounds = np.empty((self.rows.size, 2), dtype=np.int64)
        bounds[self.rows] = rank_bounds(self.values, self.offsets, order_from)
        return bounds

    def preference_graph(self, bounds: IntArray) -> csr_array:
        """Return the transitive reduction of orders that leave these ranks open.

        Parameters
        ----------
        bounds : ndarray of shape (n_items, 2), int64
            Best and worst rank of each row of X, which a semiorder along the values
            leaves open.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            Rows and columns are those of X.

        Notes
        -----
        In ascending order an item is over the ``below`` lowest items of its query. The
        highest of these is over more of them than any other: over its own ``below``
        lowest items. Orders to those follow from the order to this highest item; orders
        to the others follow from nothing else, and are the entries.
        """
        sizes = np.diff(self.offsets)
        start = np.repeat(self.offsets[:-1], sizes)
        below = np.repeat(sizes, sizes) - bounds[self.rows, 1]
        through = np.where(below > 0, below[start + below - 1], 0)
        counts = below - through
        check_graph_size(int(counts.sum()))
        first = np.cumsum(counts) - counts
        lower = np.arange(counts.sum()) - np.repeat(first - through - start, counts)
        entries = (np.repeat(self.rows, counts), self.rows[lower])
        ones, n_items = np.ones(lower.size, dtype=bool), self.rows.size
        return csr_array((ones, entries), shape=(n_items, n_items))

    @property
    def known_grades(self) -> IntArray:
        """The grades, of items that were built with relevance."""
        if self.grades is None:
            raise ValueError("outcomes need relevance: build these items with y.")
        return self.grades

    @property
    def known_groups(self) -> IntArray:
        """The groups, of items that were built with them."""
        if self.group is None:
            raise ValueError("cells need groups: build these items with group.")
        return self.group


def counts_by_gap(found: GapOutcomes, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """Return ascending gaps, and the pairs of each by outcome, shape (n_gaps, 3).

    Unless ``exact``, gaps that differ by less than 0.2 % count as equal.
    """
    # Non-negative floats have the order of their bit patterns.
    pattern = (found.gap + 0.0).view(np.int64)
    key, entry = np.unique(pattern if exact else pattern >> _SHIFT, return_inverse=True)
    entry = entry.reshape(-1)
    bins = 3 * entry + found.outcome + 1
    counts = np.bincount(bins, found.weight, 3 * key.size).astype(np.float64)
    counts = counts.reshape(-1, 3)
    if exact:
        return key.view(np.float64), counts
    sums = np.bincount(entry, found.weight * found.gap, key.size)
    return sums / counts.sum(axis=1), counts


def spread_queries(sizes: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """Choose evenly spaced queries, and how many items to sample from each.

    Parameters
    ----------
    sizes : ndarray of shape (n_queries,), int64
    most : int
        Approximate size of the sample.

    Returns
    -------
    used : ndarray of shape (n_used,), int64
        Numbers of queries.
    n_items : ndarray of shape (n_used,), int64
        At most 400, or 40 if there are many queries: items of one query share too much
        for more of them to help.
    """
    each = np.clip(most // max(sizes.size, 1), _FEWEST_PER_QUERY, _MOST_PER_QUERY)
    n_items = np.minimum(sizes, each)
    used = np.arange(sizes.size)
    if n_items.sum() > most:
        n_used = sizes.size * most // int(n_items.sum())
        used = np.linspace(0, sizes.size - 1, n_used).round().astype(int)
    return used, n_items[used]


def spread_rows(offsets: IntArray, used: IntArray, n_items: IntArray) -> IntArray:
    """Return ``n_items`` evenly spaced rows of each query in ``used``."""
    rows = [
        np.linspace(offsets[q], offsets[q + 1] - 1, n).round().astype(int)
        for q, n in zip(used.tolist(), n_items.tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def thin(offsets: IntArray, most: int) -> IntArray:
    """Return about ``most`` rows, evenly spaced within evenly spaced queries."""
    return spread_rows(offsets, *spread_queries(np.diff(offsets), most))


def set_apart(marked: BoolArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Put each marked item into a query of its own, after all others.

    Parameters
    ----------
    marked : ndarray of shape (n_items,), bool
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin; none is empty.

    Returns
    -------
    items : ndarray of shape (n_items,), int64
        Their new order.
    offsets : ndarray of int64
        A query of marked items alone keeps one of them, so that none is empty.
    """
    sizes = np.diff(offsets)
    all_marked = np.logical_and.reduceat(marked, offsets[:-1])
    alone = marked.copy()
    alone[offsets[:-1][all_marked]] = False
    query = np.repeat(np.arange(sizes.size), sizes)
    kept = np.bincount(query[~alone], minlength=sizes.size)
    ends = np.cumsum(np.append(kept, np.ones(alone.sum(), dtype=np.int64)))
    return np.argsort(alone, kind="stable"), np.append(0, ends)
