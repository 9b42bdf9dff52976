"""Scored items: the one container of items after the model.

Engines and tie models read the items sorted by value. From these, functions count all
pairs of a query by gap, bins and outcome without forming one, in O(n log n).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import _safe_indexing

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.pairs._memory import check_graph_size
from skrank_abstain.pairs._queries import Queries, group_queries

#: Largest range of whole numbers that a table ranks.
_MOST_RANKED = 1 << 16
#: Up to this many pairs are enumerated where that makes a result exact.
FEW_PAIRS = 1 << 18
#: Gaps that agree without these last bits differ by less than 0.2 %.
_SHIFT = 43
#: Bounds on the sample from one query.
_FEWEST_PER_QUERY, _MOST_PER_QUERY = 40, 400


@dataclass(frozen=True, eq=False)
class Scores(Value):
    """Items with their scores; all arrays are aligned.

    Attributes
    ----------
    score : ndarray of shape (n_items,), float64
        What the model said.
    queries : Queries
        The query of each item.
    value : ndarray of shape (n_items,), float64, default=score
        What the tie model compares. One number per item, whatever it looks at: pairs
        can then be counted from sorted numbers.
    y : ndarray of shape (n_items,), default=None
        Relevance, higher is better; in the sorted view dense ranks, int64.
    X : array or frame of shape (n_items, n_features), default=None
        Features, where something is still learned from them.
    novel : ndarray of shape (n_items,), bool, default=None
        Items whose pairs are always abstained on.
    key : ndarray of shape (n_items,), uint64, default=None
        Hashes of the rows, for draws on a boundary.
    group : ndarray of shape (n_items,), int64, default=None
        Number of the group of each item.
    rows : ndarray of shape (n_items,), int64, default=None
        In the sorted view the row of each item in X.
    unit : ndarray of shape (n_queries,), int64, default=None
        For pairs that were given one by one, as queries of two items each: number of
        the real query that each pair belongs to, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.pairs import Scores, group_queries
    >>> score, y = np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0])
    >>> ascending = Scores(score, group_queries(None, 3), y=y).ascending
    >>> ascending.rows, ascending.value, ascending.grades
    (array([1, 2, 0]), array([1., 2., 3.]), array([0, 1, 1]))
    """

    score: FloatArray
    queries: Queries
    value: Any = None
    y: Any = None
    X: Any = None
    novel: BoolArray | None = None
    key: NDArray[np.uint64] | None = None
    group: Any = None
    rows: Any = None
    unit: IntArray | None = None

    def __post_init__(self) -> None:
        if self.value is None:
            object.__setattr__(self, "value", self.score)

    @classmethod
    def of_pairs(
        cls,
        left: FloatArray,
        right: FloatArray,
        label: IntArray,
        unit: IntArray | None = None,
        key: NDArray[np.uint64] | None = None,
    ) -> Self:
        """Take labelled pairs as queries of two items.

        Parameters
        ----------
        left, right : ndarray of shape (n_pairs,), float64
            Scores of the two items.
        label : ndarray of shape (n_pairs,), int64
        unit : ndarray of shape (n_pairs,), int64, default=None
            Query of each pair. None: each pair is a query of its own.
        key : ndarray of shape (n_pairs, 2), uint64, default=None
        """
        n_pairs = label.size
        codes = np.arange(n_pairs)
        if unit is not None:
            codes = np.unique(unit, return_inverse=True)[1].reshape(-1)
        order = np.argsort(codes, kind="stable")
        score = np.stack([left, right], axis=1)[order]
        y = np.stack([label + 1, np.ones_like(label)], axis=1)[order]
        swapped = left[order] > right[order]
        score[swapped], y[swapped] = score[swapped, ::-1], y[swapped, ::-1]
        keys = None if key is None else key[order].reshape(-1)
        score, y, rows = score.reshape(-1), y.reshape(-1), np.repeat(order, 2)
        queries = Queries.of_sizes(np.full(n_pairs, 2))
        return cls(score, queries, y=y, key=keys, rows=rows, unit=codes[order])

    def take(self, rows: IntArray) -> Self:
        """Return the items at some positions, which ascend."""
        X = None if self.X is None else _safe_indexing(self.X, rows)
        return self._at(rows, group_queries(self.queries.codes[rows], rows.size), X=X)

    def take_queries(self, numbers: IntArray) -> Self:
        """Return the items of some queries, given by number."""
        return self.take(np.flatnonzero(np.isin(self.queries.codes, numbers)))

    def divided(self, items: IntArray, *keys: IntArray) -> tuple[Self, IntArray]:
        """Return some sorted items, those of equal keys as a query of their own.

        Parameters
        ----------
        items : ndarray of shape (n_some,), int64
            Positions, ascending where the keys are equal; a position may come again.
        *keys : ndarray of shape (n_some,), int64
            Not negative; items of different queries differ in one of them.

        Returns
        -------
        some : Scores
        first : ndarray of shape (n_new_queries,), int64
            Position of the first item of each new query.
        """
        order = np.lexsort(keys)
        changes = np.diff(np.stack(keys)[:, order], prepend=-1).any(axis=0)
        starts, taken = np.flatnonzero(changes), items[order]
        queries = Queries.of_sizes(np.diff(starts, append=taken.size))
        return self._at(taken, queries), taken[starts]

    def _at(self, items: Any, queries: Queries, **given: Any) -> Self:
        for name in _ALIGNED:
            array = vars(self)[name]
            if name not in given:
                given[name] = None if array is None else array[items]
        return type(self)(queries=queries, **given)

    @cached_property
    def ascending(self) -> Self:
        """The items sorted by value within each query, queries one after the other.

        O(n log n), once. The score is left behind: pairs are decided by the value.
        """
        from skrank_abstain._kernels.outcomes import sort_within_queries

        if self.rows is not None:
            return self
        queries = self.queries
        value, rows = sort_within_queries(self.value, queries.order, queries.offsets)
        y = None if self.y is None else dense_ranks(self.y)[rows]
        blocks = Queries.of_sizes(queries.sizes, queries.values)
        return self._at(rows, blocks, score=value, value=value, y=y, rows=rows)

    def to_plain(self) -> dict[str, Any]:
        # Sorted, without what belongs to the rows of an X that is not saved.
        names = ("value", "y", "novel", "group", "unit")
        plain = {name: vars(self.ascending)[name] for name in names}
        return {**plain, "sizes": self.ascending.queries.sizes}

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        value, queries = plain["value"], Queries.of_sizes(plain.pop("sizes"))
        return cls(value, queries, rows=np.arange(value.size), **plain)

    @property
    def offsets(self) -> IntArray:
        """Where the queries of the sorted view begin."""
        return self.queries.offsets

    @property
    def grades(self) -> IntArray:
        """Dense ranks of the relevance, of items that have one."""
        if self.y is None:
            raise ValueError("outcomes need relevance, got items without y.")
        return dense_ranks(self.y) if self.rows is None else self.y

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.pair_counts.size)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        return self.queries.pair_counts if self.unit is None else np.bincount(self.unit)

    @property
    def n_pairs(self) -> int:
        """Number of within-query pairs."""
        return int(self.pair_counts.sum())

    @property
    def largest_value(self) -> float:
        """Largest absolute value; 0 for no item."""
        return float(max(self.value.max(initial=0.0), -self.value.min(initial=0.0)))

    @property
    def largest_gap(self) -> float:
        """Largest gap within a query; 0 for no pair."""
        here = self.ascending
        with np.errstate(over="ignore"):
            spread = here.value[here.offsets[1:] - 1] - here.value[here.offsets[:-1]]
        return float(spread.max(initial=0.0))

    @property
    def gap_outcomes(self) -> "GapOutcomes":
        """Gaps and outcomes; pairs of one outcome and gaps within 0.2 % are joined.

        O(n_pairs), of at most 100 million pairs a query. Pairs that were given stay
        apart.
        """
        from skrank_abstain._kernels.histogram import outcome_histogram

        here = self.ascending
        if here.unit is not None:
            return every_outcome(here)
        # Tie model, threshold and profile ask for the same.
        if "outcomes" not in here.known:
            data = here.value, here.grades, here.offsets, here.largest_gap
            here.known["outcomes"] = GapOutcomes(*outcome_histogram(*data))
        return here.known["outcomes"]

    def query_of(self, items: IntArray) -> IntArray:
        """Return the number of the query of items, given by position."""
        block = np.searchsorted(self.offsets, items, side="right") - 1
        return block if self.unit is None else self.unit[block]

    def weight_of(
        self, low: IntArray, high: IntArray, weight: FloatArray | None
    ) -> FloatArray:
        """Return the weights of pairs of positions; ``weight`` is by row.

        The weight of a pair that was given is that of its row.
        """
        if weight is None:
            return np.ones(low.size)
        found: FloatArray = weight[self.rows[low]]
        return found if self.unit is not None else found * weight[self.rows[high]]

    def stretch(self, start: int, stop: int) -> Self:
        """Return the queries ``start`` to ``stop`` (exclusive) of the sorted view."""
        unit, offsets = None, self.offsets
        if self.unit is not None:
            first, last = np.searchsorted(self.unit, [start, stop]).tolist()
            unit = self.unit[first:last] - start
            start, stop = first, last
        queries = Queries.of_sizes(np.diff(offsets[start : stop + 1]))
        return self._at(slice(offsets[start], offsets[stop]), queries, unit=unit)

    @cached_property
    def sound(self) -> Self:
        """The sorted items, each novel one in a query of its own after all others.

        Only pairs with a novel item are lost. A query of novel items keeps one of them,
        so that no query is empty.
        """
        return self if self.novel is None else self.apart(self.novel, novel=None)

    def of_groups(self, *groups: int) -> Self:
        """Return the sorted items, those of other groups at the end, each alone."""
        # Thresholds and totals ask for the same groups again and again.
        if groups not in self.known:
            self.known[groups] = self.apart(~np.isin(self.group, groups))
        return self.known[groups]

    @cached_property
    def known(self) -> dict[Any, Any]:
        """What was computed from these items, by name."""
        return {}

    def apart(self, marked: BoolArray, **given: Any) -> Self:
        """Put each marked item into a query of its own, after all others.

        A query of marked items alone keeps one of them, so that none is empty.
        """
        sizes, starts = self.queries.sizes, self.offsets[:-1]
        all_marked = np.logical_and.reduceat(marked, starts)
        alone = marked.copy()
        alone[starts[all_marked]] = False
        query = np.repeat(np.arange(sizes.size), sizes)
        kept = np.bincount(query[~alone], minlength=sizes.size)
        blocks = Queries.of_sizes(np.append(kept, np.ones(alone.sum(), np.int64)))
        return self._at(np.argsort(alone, kind="stable"), blocks, **given)

    def thinned(self, most: int, merged: IntArray) -> Self:
        """Return a sample of the sorted items, with merged grades.

        Parameters
        ----------
        most : int
            Approximate size, evenly spaced in the order of the values.
        merged : ndarray of shape (n_grades,), int64
            New grade of each grade; the sample has at least one item of each.
        """
        here = self.ascending
        items, grades = thin(here.offsets, most), merged[here.grades]
        lost = np.bincount(grades[items], minlength=merged.max() + 1) == 0
        first = [np.argmax(grades == each) for each in np.flatnonzero(lost)]
        items = np.union1d(items, np.array(first, dtype=np.int64))
        query = np.searchsorted(here.offsets, items, side="right") - 1
        queries = Queries.of_sizes(np.unique(query, return_counts=True)[1])
        return here._at(items, queries, y=grades[items])

    def pairs_by_grade(self, merged: IntArray) -> FloatArray:
        """Count the pairs within each merged grade: those of equal grades, and all.

        ``merged`` as in ``thinned``; shape (2, n_merged).
        """
        here = self.ascending
        n_merged = int(merged.max()) + 1
        query = here.queries.codes
        key, sizes = np.unique(query * merged.size + here.grades, return_counts=True)
        query, kind = key // merged.size, merged[key % merged.size]
        tied = np.bincount(kind, sizes * (sizes - 1.0) / 2, n_merged)
        joint, place = np.unique(query * n_merged + kind, return_inverse=True)
        sizes = np.bincount(place.reshape(-1), sizes)
        every = np.bincount(joint % n_merged, sizes * (sizes - 1.0) / 2, n_merged)
        return np.stack([tied, every])


#: Arrays with an entry for each item.
_ALIGNED = ("score", "value", "y", "novel", "key", "group", "rows")


def dense_ranks(values: FloatArray) -> IntArray:
    """Return ranks from 0, equal ones for equal values, shape (n,)."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    # Relevance is nearly always a few small integers: a table ranks them in O(n),
    # np.unique would sort all items.
    if 0 <= high - low < _MOST_RANKED:
        shifted = values - low
        place = shifted.astype(np.int32)
        # In place: new memory costs more than the arithmetic.
        if (np.add(place, low, out=shifted) == values).all():
            present = np.zeros(int(high - low) + 1, dtype=np.int64)
            present[place] = 1
            return (np.cumsum(present) - 1)[place]
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def by_query(
    scores: Scores, task: Callable[[Scores], tuple[FloatArray, ...]], most: int
) -> tuple[FloatArray, ...]:
    """Call ``task`` for ``most`` queries at a time, and join the results.

    The task takes sorted items and returns arrays of shape (n_queries, ...).
    """
    n_queries = scores.n_queries
    found = [
        task(scores.stretch(first, min(first + most, n_queries)))
        for first in range(0, max(n_queries, 1), most)
    ]
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))


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


class GapOutcomes(NamedTuple):
    """Weighted gaps with their outcomes: all that a difference model is fitted on.

    Attributes
    ----------
    gap : ndarray of shape (n,), float64
        Absolute score differences.
    outcome : ndarray of shape (n,), int64
        +1 the higher-scored item is preferred (or the scores are equal and one of
        the two is), 0 tie, -1 the lower-scored item is preferred.
    weight : ndarray of shape (n,), float64
        How many pairs the entry stands for.

    Examples
    --------
    >>> from skrank_abstain.pairs import GapOutcomes
    >>> GapOutcomes([0.5, 2.0], [0, 1], [3.0, 1.0]).gap
    [0.5, 2.0]
    """

    gap: FloatArray
    outcome: IntArray
    weight: FloatArray


def count_within(scores: Scores, cuts: ArrayLike) -> IntArray:
    """Count the pairs with gap at most each cut, O(n) each."""
    from skrank_abstain._kernels.gaps import count_within as count

    here = scores.ascending
    return count(here.value, here.offsets, np.asarray(cuts, dtype=np.float64))


def every_outcome(scores: Scores) -> GapOutcomes:
    """Return one entry for each pair."""
    from skrank_abstain._kernels.filling import fill_pairs

    here = scores.ascending
    rows = np.arange(here.value.size)  # positions: the items are sorted by value
    low, high, difference = fill_pairs(here.value, rows, here.offsets)
    label = np.sign(here.grades[high] - here.grades[low])
    # The higher-scored item is the later one. Between equal ones an order is an order.
    outcome = np.where(difference == 0, np.abs(label), label)
    return GapOutcomes(np.abs(difference), outcome, np.ones(low.size))


def counts_by_gap(scores: Scores) -> tuple[FloatArray, FloatArray]:
    """Return gaps, and how many pairs of each outcome have them.

    Returns
    -------
    gap : ndarray of shape (n_gaps,), float64
        Distinct and ascending. Above 262,144 pairs, gaps within 0.2 % are replaced by
        their mean.
    counts : ndarray of shape (n_gaps, 3), float64
        Lower-scored item preferred, tied, higher-scored item preferred.
    """
    # Exact where affordable: metrics that enumerate the same pairs should give the
    # same numbers.
    exact = scores.n_pairs <= FEW_PAIRS
    found = every_outcome(scores) if exact else scores.gap_outcomes
    # Non-negative floats have the order of their bit patterns.
    pattern = (found.gap + 0.0).view(np.int64)
    key, entry = np.unique(pattern if exact else pattern >> _SHIFT, return_inverse=True)
    bins = 3 * entry + found.outcome + 1
    counts: Any = np.bincount(bins, found.weight, 3 * key.size).reshape(-1, 3)
    if exact:
        return key.view(np.float64), counts
    sums = np.bincount(entry, found.weight * found.gap, key.size)
    return sums / counts.sum(axis=1), counts


def count_outcomes(
    scores: Scores, cuts: FloatArray, tolerance: float, weight: FloatArray | None = None
) -> FloatArray:
    """Count the pairs of each query with gap at least each cut, by outcome.

    Parameters
    ----------
    scores : Scores
    cuts : ndarray of shape (n_cuts,), float64
        Ascending.
    tolerance : float
        Closer values count as equal.
    weight : ndarray of shape (n_rows,), default=None
        By row of X. A pair weighs the product of its two; a pair that was given, its
        own weight.

    Returns
    -------
    counts : ndarray of shape (n_queries, n_cuts, 4), float64
        Concordant, tied, discordant, and untied pairs of equal values.
    """
    from skrank_abstain._kernels.outcomes import count_outcomes as count

    here = scores.ascending
    if here.unit is None:
        weight = None if weight is None else weight[here.rows]
        found = count(here.value, here.grades, here.offsets, cuts, tolerance, weight)
        return found.astype(np.float64)
    # Pairs that were given one by one.
    gap, outcome, _ = every_outcome(here)
    shape = here.n_queries, cuts.size, 4
    column = np.where((gap <= tolerance) & (outcome != 0), 3, 1 - outcome)
    # A pair with a gap below all cuts is beyond none of them.
    last = np.searchsorted(cuts, gap, side="right") - 1
    beyond_one = last >= 0
    entry = ((here.unit * cuts.size + last) * 4 + column)[beyond_one]
    low = 2 * np.flatnonzero(beyond_one)
    mass = here.weight_of(low, low + 1, weight)
    sums = np.bincount(entry, mass, 4 * shape[0] * shape[1]).reshape(shape)
    return np.asarray(np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])


def semiorder_ranks(scores: Scores, order_from: float) -> IntArray:
    """Return the best and worst rank of each item, in the order of the rows of X.

    Parameters
    ----------
    scores : Scores
    order_from : float
        Items at least this far apart are ordered; positive.

    Returns
    -------
    bounds : ndarray of shape (n_items, 2), int64
    """
    from skrank_abstain._kernels.gaps import rank_bounds

    here = scores.ascending
    bounds = np.empty((here.value.size, 2), dtype=np.int64)
    bounds[here.rows] = rank_bounds(here.value, here.offsets, order_from)
    return bounds


def semiorder_graph(scores: Scores, bounds: IntArray) -> csr_array:
    """Return the transitive reduction of orders that leave these ranks open.

    Parameters
    ----------
    scores : Scores
    bounds : ndarray of shape (n_items, 2), int64
        Best and worst rank of each row of X, which a semiorder along the values leaves
        open.

    Returns
    -------
    graph : csr_array of shape (n_items, n_items), bool
        Rows and columns are those of X.

    Notes
    -----
    In ascending order an item is over the ``below`` lowest items of its query. The
    highest of these is over more of them than any other: over its own ``below`` lowest
    items. Orders to those follow from the order to this highest item; orders to the
    others follow from nothing else, and are the entries.
    """
    here = scores.ascending
    rows: Any = here.rows
    sizes = here.queries.sizes
    start = np.repeat(here.offsets[:-1], sizes)
    below = np.repeat(sizes, sizes) - bounds[rows, 1]
    through = np.where(below > 0, below[start + below - 1], 0)
    counts = below - through
    check_graph_size(int(counts.sum()))
    first = np.cumsum(counts) - counts
    lower = np.arange(counts.sum()) - np.repeat(first - through - start, counts)
    entries = (np.repeat(rows, counts), rows[lower])
    ones, n_items = np.ones(lower.size, dtype=bool), rows.size
    return csr_array((ones, entries), shape=(n_items, n_items))
