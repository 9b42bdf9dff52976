"""Scored items that lie in partitions, asked as if they lay in one place.

What a calibration asks of items are numbers of pairs, some pairs, or what happened in
each query. Of partitions these are added up, put together, or put one after the other:
the answers are those of `ScoredItems`, to the last bit.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._saving import Value
from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import (
    FEW_PAIRS,
    GapOutcomes,
    ScoredItems,
    counts_by_gap,
    thin,
)
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._protocol import Each, Partitions


class Part(NamedTuple):
    """The items of one partition.

    Attributes
    ----------
    items : ScoredItems
        Their grades are ranks among ``relevance``.
    relevance : ndarray of shape (n_grades,), float64
        Distinct values of the partition, ascending.
    """

    items: ScoredItems
    relevance: FloatArray


class Summary(NamedTuple):
    """What is known of all items.

    Attributes
    ----------
    sizes : ndarray of shape (n_queries,), int64
        Items of each query, in the order of the partitions.
    starts : ndarray of shape (n_partitions + 1,), int64
        Number of the first query of each partition.
    largest, largest_value : float
        As in `ScoredItems`.
    relevance : ndarray of shape (n_grades,), float64
        Distinct values, ascending.
    grade_counts : ndarray of shape (n_grades,), int64
    """

    sizes: IntArray
    starts: IntArray
    largest: float
    largest_value: float
    relevance: FloatArray
    grade_counts: IntArray


@dataclass(frozen=True, eq=False)
class PartitionedItems(Value):
    """Items of labelled queries in partitions, as a calibration asks for them.

    Attributes
    ----------
    parts : Partitions or None
        Of `Part`. None in a copy that was saved: what was asked before is still
        answered.
    summary : Summary
    answers : dict
        To questions that were asked before.
    novel : ndarray or None
        Whether anybody looks for novel items: not where partitions calibrate.
    """

    parts: Partitions | None
    summary: Summary
    answers: dict[str, Any] = field(default_factory=dict)
    novel: BoolArray | None = None

    @classmethod
    def of(cls, parts: Partitions) -> Self:
        """Take partitions that hold `Part`."""
        return cls(parts, summary_of(ask(parts, describe_part)))

    def to_plain(self) -> dict[str, Any]:
        return {
            "summary": self.summary._asdict(),
            "answers": dict(self.answers),
        }

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        return cls(None, Summary(**plain["summary"]), plain["answers"])

    # What is known without asking.

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.summary.sizes.size)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.summary.sizes.sum())

    @property
    def pair_counts(self) -> IntArray:
        """Pairs per query, shape (n_queries,)."""
        sizes = self.summary.sizes
        counts: IntArray = sizes * (sizes - 1) // 2
        return counts

    @property
    def n_pairs(self) -> int:
        """Number of within-query pairs."""
        return int(self.pair_counts.sum())

    @property
    def largest(self) -> float:
        """Largest gap within a query."""
        return self.summary.largest

    @property
    def largest_value(self) -> float:
        """Largest absolute score."""
        return self.summary.largest_value

    @property
    def n_grades(self) -> int:
        """Number of distinct values of relevance."""
        return int(self.summary.relevance.size)

    @property
    def grade_counts(self) -> IntArray:
        """Items of each grade, shape (n_grades,)."""
        return self.summary.grade_counts

    # Numbers of pairs: added up.

    def count_within(self, cuts: ArrayLike) -> IntArray:
        """As `ScoredItems.count_within`."""
        counts: IntArray = self._remembered(
            lambda *args: sum(self._ask("count_within", *args)),
            "count_within",
            np.asarray(cuts, dtype=np.float64),
        )
        return counts

    def weigh_bins(
        self,
        edges: FloatArray,
        group: IntArray,
        n_groups: int,
        *,
        by_query: bool = False,
        weight: None = None,
    ) -> FloatArray:
        """As `ScoredItems.weigh_bins`, without weights."""

        def weighed(*args: Any) -> FloatArray:
            found = self._of_parts(_weigh_bins, *args)
            numbers = (each.astype(np.float64) for each in found)
            return np.concatenate([*numbers]) if by_query else np.asarray(sum(numbers))

        group = group.astype(np.int32)
        asked = edges, group, n_groups, by_query
        if by_query:  # too much to be remembered
            return weighed(*asked)
        totals: FloatArray = self._remembered(weighed, "weigh_bins", *asked)
        return totals

    def pairs_by_grade(self, merged: IntArray) -> FloatArray:
        """As `ScoredItems.pairs_by_grade`."""
        total = np.zeros((2, int(merged.max()) + 1))
        relevance = self.summary.relevance
        for found in self._of_parts(_pairs_by_grade, relevance, merged):
            total[:, : found.shape[1]] += found
        return total

    @cached_property
    def outcomes(self) -> GapOutcomes:
        """As `ScoredItems.outcomes`."""
        histogram = reduce(operator.add, self._ask("histogram", self.largest))
        return GapOutcomes(*histogram.points())

    def counts_by_gap(self) -> tuple[FloatArray, FloatArray]:
        """As `ScoredItems.counts_by_gap`."""
        if self.n_pairs > FEW_PAIRS:
            return counts_by_gap(self.outcomes, exact=False)
        found = zip(*self._of_parts(_gaps_by_outcome), strict=True)
        gaps = [np.concatenate(each) for each in found]
        gap, sizes = np.concatenate(gaps), [each.size for each in gaps]
        outcome = np.repeat([-1, 0, 1], sizes)
        every = GapOutcomes(gap, outcome, np.ones(gap.size))
        return counts_by_gap(every, exact=True)

    def outline(self) -> tuple[FloatArray, FloatArray]:
        """As `ScoredItems.outline`."""
        return self.outcomes.gap, self.outcomes.weight

    # Some pairs: put together.

    def collect(self, *windows: tuple[float, float]) -> list[tuple[int, FloatArray]]:
        """As `ScoredItems.collect`."""
        collected = []
        for found in zip(*self._ask("collect", *windows), strict=True):
            counts, gaps = zip(*found, strict=True)
            collected.append((sum(counts), np.concatenate(gaps)))
        return collected

    def thinned(self, most: int, merged: IntArray) -> ScoredItems:
        """As `ScoredItems.thinned`; ``rows`` are places among all items."""
        offsets = np.append(0, np.cumsum(self.summary.sizes))
        starts = offsets[self.summary.starts]
        wanted = thin(offsets, most)
        rows = [
            each - start
            for each, start in zip(
                np.split(wanted, np.searchsorted(wanted, starts[1:-1])),
                starts[:-1],
                strict=True,
            )
        ]
        relevance = self.summary.relevance
        found = self._of_parts(
            _take_items, Each(rows), Each(starts[:-1].tolist()), relevance, merged
        )
        place, score, kind = (np.concatenate(each) for each in zip(*found, strict=True))
        # Each partition sends its first item of each grade, too. Where a grade is
        # nowhere in the sample, the first of all is wanted.
        chosen = np.isin(place, wanted)
        for lost in np.setdiff1d(kind, kind[chosen]):
            chosen[np.argmax(kind == lost)] = True
        place = place[chosen]
        query = np.searchsorted(offsets, place, side="right") - 1
        sizes = np.unique(query, return_counts=True)[1]
        return ScoredItems(
            score[chosen], place, np.append(0, np.cumsum(sizes)), kind[chosen]
        )

    # What happened in each query: one after the other.

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        """As `ScoredItems.count_outcomes`."""
        asked = np.asarray(cuts, dtype=np.float64), tolerance
        return np.concatenate([*self._ask("count_outcomes", *asked)])

    def by_query(
        self, task: Callable[[Any], tuple[FloatArray, ...]], most: int
    ) -> tuple[FloatArray, ...]:
        """As `ScoredItems.by_query`."""
        found = self._ask("by_query", task, most)
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))

    # How partitions are asked.

    def _ask(self, method: str, *args: Any) -> Iterator[Any]:
        """Return what a method of the items says in each partition with queries."""
        return self._of_parts(_method, method, *args)

    def _of_parts(self, task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        if self.parts is None:
            raise RuntimeError(
                "The partitions of the calibration data are no longer at hand: this "
                "ranker was saved, and what is asked was not asked before. Ask "
                "at_coverage, at_cost or at_risk for each level that is wanted later "
                "before it is saved (calibrate(..., coverages=[...]) does), or "
                "calibrate again."
            )
        found = ask(self.parts, _on_part, task, *args)
        return (each for each in found if each is not None)

    def _remembered(self, compute: Callable[..., Any], name: str, *args: Any) -> Any:
        """Return the answer to a question, which is asked once."""
        digest = hashlib.sha256(name.encode())
        for arg in args:
            array = np.asarray(arg)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        key = digest.hexdigest()
        if key not in self.answers:
            answer = np.asarray(compute(*args))
            # Whole numbers, most of them small.
            small = np.min_scalar_type(int(answer.max(initial=0)))
            self.answers[key] = answer.dtype.str, answer.astype(small)
        dtype, answer = self.answers[key]
        return answer.astype(dtype)


def describe_part(part: Part) -> tuple[Any, ...]:
    """Return what `summary_of` wants to know of a partition."""
    items = part.items
    return (
        np.diff(items.offsets).astype(np.int32),
        items.largest,
        items.largest_value,
        part.relevance,
        np.bincount(items.known_grades, minlength=part.relevance.size),
    )


def summary_of(described: Iterable[tuple[Any, ...]]) -> Summary:
    """Put together what partitions said of themselves."""
    sizes, largest, largest_value, relevance, counts = zip(*described, strict=True)
    values = np.unique(np.concatenate(relevance))
    total = np.zeros(values.size, dtype=np.int64)
    for own, count in zip(relevance, counts, strict=True):
        total[np.searchsorted(values, own)] += count
    return Summary(
        np.concatenate(sizes).astype(np.int64),
        np.append(0, np.cumsum([each.size for each in sizes])),
        max(largest),
        max(largest_value),
        values,
        total,
    )


def _on_part(part: Part, task: Callable[..., Any], *args: Any) -> Any:
    """Run a task where there are queries."""
    return task(part, *args) if part.items.n_queries else None


def _method(part: Part, name: str, *args: Any) -> Any:
    return getattr(part.items, name)(*args)


def _weigh_bins(
    part: Part, edges: FloatArray, group: IntArray, n_groups: int, by_query: bool
) -> Any:
    found = part.items.weigh_bins(edges, group, n_groups, by_query=by_query)
    # Without weights they are whole, and most of them small.
    return found.astype(np.min_scalar_type(int(found.max(initial=0))))


def _gaps_by_outcome(part: Part) -> list[FloatArray]:
    """Return the gaps of the pairs of each outcome: sorted ones are packed tighter."""
    gap, outcome, *_ = part.items.every_outcome()
    return [np.sort(gap[outcome == kind]) for kind in (-1, 0, 1)]


def _pairs_by_grade(part: Part, relevance: FloatArray, merged: IntArray) -> FloatArray:
    return part.items.pairs_by_grade(_merged_here(part, relevance, merged))


def _take_items(
    part: Part, rows: IntArray, start: int, relevance: FloatArray, merged: IntArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return place, score and merged grade of items, and of the first of each grade."""
    kind = _merged_here(part, relevance, merged)[part.items.known_grades]
    rows = np.union1d(rows, np.unique(kind, return_index=True)[1])
    return rows + start, part.items.values[rows], kind[rows]


def _merged_here(part: Part, relevance: FloatArray, merged: IntArray) -> IntArray:
    """Return what the grades of a partition become."""
    return merged[np.searchsorted(relevance, part.relevance)]
