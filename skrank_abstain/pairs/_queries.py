"""Queries and the canonical order of their pairs.

Items are the rows of X; the items that share a query identifier form a query.
Pairs come in one order everywhere: queries in order of first appearance, and
within a query all (i, j) with i before j in row order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import check_relevance, encode_qid, refuse_lazy

#: NumPy sorts up to this many items: starting the parallel sort takes 50 us, a good
#: part of one request.
_FEW_ITEMS = 1000
#: Numbered pairs held at a time.
_AT_A_TIME = 1 << 18


@dataclass(frozen=True, eq=False)
class Queries:
    """Items grouped by query.

    Attributes
    ----------
    codes : ndarray of shape (n_items,), int64
        Number of each item's query, in order of first appearance.
    values : ndarray of shape (n_queries,)
        The query identifiers in that order.
    order : ndarray of shape (n_items,), int64
        Rows sorted by query, in row order within a query.
    offsets : ndarray of shape (n_queries + 1,), int64
        ``order[offsets[q]:offsets[q + 1]]`` are the rows of query ``q``.

    Examples
    --------
    >>> from skrank_abstain.pairs import group_queries
    >>> queries = group_queries(["b", "a", "b"], 3)
    >>> queries.n_queries, queries.n_pairs, queries.rows(0)
    (2, 1, array([0, 2]))
    """

    values: NDArray[Any]
    order: IntArray
    offsets: IntArray

    @classmethod
    def of_sizes(cls, sizes: IntArray, values: Any = None) -> Self:
        """Return queries of so many items, one after the other."""
        offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
        named = np.arange(sizes.size) if values is None else values
        return cls(named, np.arange(offsets[-1]), offsets)

    @cached_property
    def codes(self) -> IntArray:
        codes = np.empty(self.order.size, dtype=np.int64)
        codes[self.order] = np.repeat(np.arange(self.n_queries), self.sizes)
        return codes

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.order.shape[0])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.offsets.shape[0] - 1)

    @property
    def sizes(self) -> IntArray:
        """Items per query, shape (n_queries,)."""
        return np.diff(self.offsets)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        sizes = self.sizes
        return sizes * (sizes - 1) // 2

    @property
    def n_pairs(self) -> int:
        """Number of within-query pairs."""
        return int(self.pair_counts.sum())

    @property
    def first_rows(self) -> IntArray:
        """The first row of each query, shape (n_queries,)."""
        return self.order[self.offsets[:-1]]

    def rows(self, query: int) -> IntArray:
        """Rows of one query, in row order."""
        return self.order[self.offsets[query] : self.offsets[query + 1]]


def group_queries(qid: Any, n_items: int) -> Queries:
    """Group items by query identifier.

    Parameters
    ----------
    qid : None, scalar or array-like of shape (n_items,)
        Any hashable values in any order; None or a scalar means one query.
    n_items : int

    Returns
    -------
    queries : Queries

    Raises
    ------
    TypeError
        If ``qid`` is a set, a mapping or an iterator, or holds unhashable values.
    ValueError
        If ``qid`` has another length than ``n_items`` or misses a value.

    Examples
    --------
    >>> from skrank_abstain.pairs import group_queries
    >>> group_queries(["b", "a", "b"], 3).sizes
    array([2, 1])
    """
    codes, values = encode_qid(qid, n_items)
    # Stable: within a query the canonical order of pairs is the order of the rows.
    order = np.argsort(codes, kind="stable").astype(np.int64)
    counts = np.bincount(codes, minlength=values.shape[0])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Queries(values, order, offsets)


@dataclass(frozen=True)
class NumberedPairs:
    """Pairs of a better and a worse item, numbered from 0; none is stored.

    Attributes
    ----------
    rows : ndarray of shape (n_items,), int64
        Rows of X.
    first : ndarray of shape (n_items,), int64
        First of the positions in ``rows`` whose items are worse than that at a
        position.
    ends : ndarray of shape (n_items,), int64
        Number of pairs up to each position.
    """

    rows: IntArray
    first: IntArray
    ends: IntArray

    @classmethod
    def of(cls, y: FloatArray, queries: Queries) -> Self:
        """Sort items, O(n log n).

        Raises
        ------
        ValueError
            If there is no pair.
        """
        # Within a query relevance ascends: the items worse than an item are those
        # before its grade, a range, so pairs have numbers and need no list.
        rows = np.lexsort((y, queries.codes))
        code, grade = queries.codes[rows], y[rows]
        new_query = np.diff(code, prepend=-1) != 0
        new_grade = new_query | (np.diff(grade, prepend=np.nan) != 0)
        first = _start_of_run(new_query)
        pairs = cls(rows, first, np.cumsum(_start_of_run(new_grade) - first))
        if pairs.n_pairs == 0:
            raise ValueError(
                "y must have different relevance for two items of one query, got no "
                f"such pair (n_samples={y.size}, {queries.n_queries} queries)."
            )
        return pairs

    @classmethod
    def given(cls, better: IntArray, worse: IntArray) -> Self:
        """Take pairs of rows; they may repeat and contradict each other."""
        rows = np.stack([worse, better], axis=1).ravel()
        return replace(cls.every(np.arange(0, rows.size + 1, 2)), rows=rows)

    @classmethod
    def every(cls, offsets: IntArray) -> Self:
        """Take all pairs of positions, a later one as the better of an earlier one."""
        first = np.repeat(offsets[:-1], np.diff(offsets))
        position = np.arange(first.size)
        return cls(position, first, np.cumsum(position - first))

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.ends[-1]) if self.ends.size else 0

    def decode(self, number: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of the better and the worse item, O(log n) for each pair."""
        better = np.searchsorted(self.ends, number, side="right")
        below = number - np.where(better > 0, self.ends[better - 1], 0)
        return self.rows[better], self.rows[self.first[better] + below]

    @staticmethod
    def in_blocks(n_pairs: int) -> Iterator[IntArray]:
        """Yield the numbers of pairs, so many at a time that memory is bounded."""
        for start in range(0, n_pairs, _AT_A_TIME):
            yield np.arange(start, min(start + _AT_A_TIME, n_pairs))

    def spread(self, size: int, draws: FloatArray | float) -> IntArray:
        """Return one number from each of ``size`` stretches of equal length.

        The draws are from [0, 1), one for each stretch.
        """
        # Stratified: no stretch of pairs goes unseen, at the cost of independence.
        width = self.n_pairs / max(size, 1)
        numbers = ((np.arange(size) + draws) * width).astype(np.int64)
        return np.minimum(numbers, self.n_pairs - 1)

    def sample(self, size: int) -> tuple[IntArray, IntArray]:
        """Return pairs that stand for all, the same each time; all, if so few."""
        size = min(size, self.n_pairs)
        # At random within its stretch, so as not to follow a pattern in the rows.
        draws = np.random.RandomState(0).random_sample(size)
        return self.decode(self.spread(size, draws))


def _start_of_run(starts_here: BoolArray) -> IntArray:
    """Return for each position where the run that it belongs to begins."""
    return np.maximum.accumulate(np.where(starts_here, np.arange(starts_here.size), 0))


def enumerate_pairs(
    queries: Queries, start: int = 0, stop: int | None = None
) -> tuple[IntArray, IntArray]:
    """Return all pairs of the queries ``start`` to ``stop`` (exclusive).

    Parameters
    ----------
    queries : Queries
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), int64
        Row positions in canonical order.

    Notes
    -----
    O(n_pairs) time and memory.

    Examples
    --------
    >>> from skrank_abstain.pairs import enumerate_pairs, group_queries
    >>> enumerate_pairs(group_queries([7, 7, 5, 7], 4))
    (array([0, 0, 1]), array([1, 3, 3]))
    """
    # Kernels are imported where they are used, numba with them: importing the package
    # takes 1.1 to 1.3 times as long as importing scikit-learn.
    from skrank_abstain._kernels.filling import fill_pairs

    # The kernel also writes score differences, which are not needed here. One kernel
    # for both keeps one canonical order.
    scores = np.zeros(queries.n_items)
    return fill_pairs(scores, queries.order, queries.offsets, start, stop)[:2]


def pair_labels(
    y: ArrayLike, left: NDArray[np.integer], right: NDArray[np.integer]
) -> IntArray:
    """Return the true label of each pair from item relevance.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Relevance, higher is better.
    left, right : ndarray of shape (n_pairs,), int
        Row positions.

    Returns
    -------
    label : ndarray of shape (n_pairs,), int64
        ``+1`` left preferred, ``0`` tie, ``-1`` right preferred.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.pairs import pair_labels
    >>> pair_labels([2, 0, 2], np.array([0, 0, 1]), np.array([1, 2, 2]))
    array([ 1,  0, -1])
    """
    relevance = check_relevance(y)
    # From the raw relevance: the bins that train a booster would turn orders into ties.
    return np.sign(relevance[left] - relevance[right]).astype(np.int64)


def check_pairs(pairs: ArrayLike, queries: Queries) -> tuple[IntArray, IntArray]:
    """Check row positions chosen by the user.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), int
        Row positions (left, right). An empty list stands for no pairs.
    queries : Queries

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), int64

    Raises
    ------
    TypeError
        If the positions are not integers.
    ValueError
        If the shape is wrong, a position is out of range, or the two rows of a pair
        are the same or of different queries.
    """
    refuse_lazy(pairs, "pairs")
    array = np.asarray(pairs)
    # An empty list is an array of floats to numpy, which the check below refuses.
    if array.shape in ((0,), (0, 2)):
        array = np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"pairs must be of shape (n_pairs, 2), row positions, got {array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise TypeError(
            "pairs must hold integers, the positions of two rows of X, got dtype "
            f"{array.dtype}."
        )
    # Unsigned positions beyond int64 turn negative here. Negative ones are refused:
    # counting from the end would give wrong pairs unnoticed.
    rows = np.array(array.T, dtype=np.int64, order="C")
    left, right = rows
    outside: Any = ((rows < 0) | (rows >= queries.n_items)).any(axis=0)
    _refuse_pair(outside, array, f"rows from 0 to {queries.n_items - 1}")
    _refuse_pair(left == right, array, "two different rows")
    other = queries.codes[left] != queries.codes[right]
    _refuse_pair(other, array, "two rows of the same query")
    return left, right


def check_item_id(item_id: Any, queries: Queries, X: Any = None) -> NDArray[Any] | None:
    """Check the names of the items, or take those of the rows.

    Parameters
    ----------
    item_id : None or array-like of shape (n_items,)
        Any hashable values, one per row. None: the index of X if it is a pandas frame
        whose labels differ within each query.
    queries : Queries
    X : object, default=None

    Returns
    -------
    ids : ndarray of shape (n_items,), or None
        In their own type; None if the items are named by their positions.

    Raises
    ------
    TypeError
        If it is a set, a mapping or an iterator, or holds unhashable values.
    ValueError
        If its length is wrong, a value is missing, or a query has a value twice.
    """
    named: Any = item_id
    if item_id is None:
        if not hasattr(X, "iloc") or X.index.nlevels > 1 or X.index.hasnans:
            return None
        named = X.index
        if np.array_equal(named, np.arange(len(named))):
            return None
    if isinstance(named, str | bytes) or not isinstance(named, Iterable):
        raise ValueError(f"item_id must have one value per row, got {item_id!r}.")
    codes, values = encode_qid(named, queries.n_items, name="item_id")
    key = codes * queries.n_queries + queries.codes
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    if again.size and item_id is None:
        return None
    if again.size:
        row, other = order[again[0] : again[0] + 2].tolist()
        name, query = values.item(codes[row]), queries.values.item(queries.codes[row])
        of_query = f" of query {query!r}"
        if query is None:
            of_query = ": pass qid= if there are several queries"
        raise ValueError(
            f"item_id must be unique within a query, got {name!r} at rows {row} and "
            f"{other}{of_query}."
        )
    return values[codes]


def rows_by_place(values: FloatArray, queries: Queries) -> tuple[IntArray, IntArray]:
    """Return the items of each query from the top down.

    Parameters
    ----------
    values : ndarray of shape (n_items,), float64
        Higher is better; equal ones keep the order of their rows.
    queries : Queries

    Returns
    -------
    rows : ndarray of shape (n_items,), int64
        Queries in order of first appearance, the best item first.
    place : ndarray of shape (n_items,), int64
        Place of each of them in its query, from 1.
    """
    if values.size <= _FEW_ITEMS:
        rows: IntArray = np.lexsort((-values, queries.codes))
    else:
        from skrank_abstain._kernels.outcomes import sort_within_queries

        _, rows = sort_within_queries(-values, queries.order, queries.offsets)
    place = np.arange(1, rows.size + 1) - np.repeat(queries.offsets[:-1], queries.sizes)
    return rows, place


def _refuse_pair(bad: BoolArray, array: NDArray[Any], rule: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"pairs must name {rule}, got {tuple(array[row].tolist())} at position "
            f"{row} and {int(bad.sum())} such pairs in all."
        )
