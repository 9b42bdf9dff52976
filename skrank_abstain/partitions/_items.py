"""Scored items in partitions, used by a calibration as if they lay in one place.

A calibration asks for numbers of pairs, for some pairs, and for counts of each query.
The answers of partitions are added, put together or concatenated, and equal those of
`ScoredItems` to the last bit.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, ClassVar, NamedTuple, Self, cast

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
from skrank_abstain.tie_models import TieModel, check_spread


class Part(NamedTuple):
    """The labelled items of one partition.

    Attributes
    ----------
    items : ScoredItems
        Their grades are ranks among ``relevance``.
    relevance : ndarray of shape (n_grades,), float64
        Distinct values of the partition, ascending.
    notes : object
        About its rows, for `calibrate`.
    """

    items: ScoredItems
    relevance: FloatArray
    notes: Any = None


class Summary(NamedTuple):
    """Numbers about all items.

    Attributes
    ----------
    sizes : ndarray of shape (n_queries,), int64
        Items of each query, in the order of the partitions.
    starts : ndarray of shape (n_partitions + 1,), int64
        Number of the first query of each partition.
    largest : float
        Largest gap within a query.
    ends : ndarray of shape (2,), float64
        Smallest and largest score.
    grade_counts : ndarray of shape (n_grades,), int64
        Items of each grade.
    grades : list of ndarray, int64
        For each partition, what its grades are among all.
    """

    sizes: IntArray
    starts: IntArray
    largest: float
    ends: FloatArray
    grade_counts: IntArray
    grades: list[IntArray]


@dataclass(frozen=True, eq=False)
class PartitionedItems(Value):
    """Labelled items in partitions.

    Stands where `LabelledScores` and `ScoredItems` stand on one machine; methods
    without a docstring of their own do the same.

    Attributes
    ----------
    parts : Partitions or None
        Of `Part`. None after loading: only questions asked before saving are answered.
    summary : Summary
    answers : dict
        Totals by the digest of the question.
    novel : ndarray or None
        As in `ScoredItems`; None in a calibration over partitions.
    """

    parts: Partitions | None
    summary: Summary
    answers: dict[str, Any] = field(default_factory=dict)
    novel: BoolArray | None = None
    #: Calibration items have none, on one machine either.
    keys: ClassVar[None] = None

    @classmethod
    def of(cls, parts: Partitions, described: Iterable[tuple[Any, ...]]) -> Self:
        """Take partitions of `Part`, and what `describe` returns for each."""
        return cls(parts, summary_of(described))

    def to_plain(self) -> dict[str, Any]:
        return self.summary._asdict() | self.answers

    @classmethod
    def of_plain(cls, **plain: Any) -> Self:
        summary = Summary(*(plain.pop(name) for name in Summary._fields))
        return cls(None, summary, plain)

    # As `LabelledScores`.

    def take(self, queries: IntArray) -> Self:
        """Return some queries, by their numbers, ascending."""
        parts = cast("Partitions", self.parts)
        parts = parts.keep(_take_queries, _split(queries, self.summary.starts))
        return self.of(parts, ask(parts, describe))

    def fit(self, model: TieModel) -> Self:
        check_spread(self.summary.ends)
        items = self.transformed_by(model)
        model.fit_items(cast("ScoredItems", items))
        return items

    def transformed_by(self, model: TieModel) -> Self:
        hooks = type(model).fit_transform, type(model).transform
        if hooks != (TieModel.fit_transform, TieModel.transform):
            raise TypeError(
                f"tie_model={type(model).__name__} learns what it compares from all "
                "items at once, with their features, and cannot be fitted over "
                "partitions. Take 'graded_relevance', or fit the ranker itself on some "
                "whole queries that one machine can hold."
            )
        return self  # values are scores

    # As `ScoredItems`: known from the summary.

    @property
    def n_queries(self) -> int:
        return int(self.summary.sizes.size)

    @property
    def pair_counts(self) -> IntArray:
        sizes = self.summary.sizes
        counts: IntArray = sizes * (sizes - 1) // 2
        return counts

    @property
    def n_pairs(self) -> int:
        return int(self.pair_counts.sum())

    @property
    def largest(self) -> float:
        return self.summary.largest

    @property
    def largest_value(self) -> float:
        return float(np.abs(self.summary.ends).max())

    @property
    def grade_counts(self) -> IntArray:
        return self.summary.grade_counts

    # As `ScoredItems`: added up.

    def count_within(self, cuts: ArrayLike) -> IntArray:
        cuts = np.asarray(cuts, dtype=np.float64)
        return cast("IntArray", self._total("count_within", cuts))

    def weigh_bins(
        self,
        edges: FloatArray,
        group: IntArray,
        n_groups: int,
        *,
        by_query: bool = False,
        weight: None = None,
    ) -> FloatArray:
        group = group.astype(np.int32)
        if not by_query:
            return cast("FloatArray", self._total("weigh_bins", edges, group, n_groups))
        task = partial(ScoredItems.weigh_bins, by_query=True)
        return np.concatenate([*self._ask(task, edges, group, n_groups)])

    def pairs_by_grade(self, merged: IntArray) -> FloatArray:
        total = np.zeros((2, int(merged.max()) + 1))
        for found in self._ask(ScoredItems.pairs_by_grade, self._merged(merged)):
            total[:, : found.shape[1]] += found
        return total

    @cached_property
    def outcomes(self) -> GapOutcomes:
        histograms = self._ask(ScoredItems.histogram, self.largest)
        return GapOutcomes(*reduce(operator.add, histograms).points())

    def counts_by_gap(self) -> tuple[FloatArray, FloatArray]:
        if self.n_pairs > FEW_PAIRS:
            return counts_by_gap(self.outcomes, exact=False)
        found = zip(*self._ask(_gaps_by_outcome), strict=True)
        gaps = [np.concatenate(each) for each in found]
        outcome = np.repeat([-1, 0, 1], [each.size for each in gaps])
        gap = np.concatenate(gaps)
        return counts_by_gap(GapOutcomes(gap, outcome, np.ones(gap.size)), exact=True)

    def outline(self) -> tuple[FloatArray, FloatArray]:
        return self.outcomes.gap, self.outcomes.weight

    # As `ScoredItems`: some pairs or items, put together.

    def collect(self, *windows: tuple[float, float]) -> list[tuple[int, FloatArray]]:
        collected = []
        for found in zip(*self._ask(ScoredItems.collect, *windows), strict=True):
            counts, gaps = zip(*found, strict=True)
            collected.append((sum(counts), np.concatenate(gaps)))
        return collected

    def thinned(self, most: int, merged: IntArray) -> ScoredItems:
        """As `ScoredItems.thinned`; ``rows`` are places among all items."""
        offsets = np.append(0, np.cumsum(self.summary.sizes))
        starts = offsets[self.summary.starts]
        wanted = thin(offsets, most)
        own = _split(wanted, starts), Each(starts[:-1].tolist()), self._merged(merged)
        found = zip(*self._ask(_take_items, *own), strict=True)
        place, score, kind = (np.concatenate(each) for each in found)
        # Each partition also sends its first item of each grade. If the sample lacks a
        # grade, the first of these belongs to it.
        chosen = np.isin(place, wanted)
        for lost in np.setdiff1d(kind, kind[chosen]):
            chosen[np.argmax(kind == lost)] = True
        query = np.searchsorted(offsets, place[chosen], side="right") - 1
        sizes = np.unique(query, return_counts=True)[1]
        ends = np.append(0, np.cumsum(sizes))
        return ScoredItems(score[chosen], place[chosen], ends, kind[chosen])

    # As `ScoredItems`: one query after another.

    def count_outcomes(self, cuts: ArrayLike, tolerance: float) -> IntArray:
        return np.concatenate([*self._ask(ScoredItems.count_outcomes, cuts, tolerance)])

    def by_query(
        self, task: Callable[[Any], tuple[FloatArray, ...]], most: int
    ) -> tuple[FloatArray, ...]:
        found = self._ask(ScoredItems.by_query, task, most)
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))

    # How partitions are asked.

    def _ask(self, task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Return ``task(items, *args)`` of each partition that has queries."""
        if self.parts is None:
            raise RuntimeError(
                "The partitions of the calibration data are no longer at hand: this "
                "ranker was saved, and what is asked was not asked before. Ask "
                "at_coverage, at_cost or at_risk for each level that is wanted later "
                "before it is saved (calibrate(..., coverages=[...]) does), or "
                "calibrate again."
            )
        found = ask(self.parts, _on_items, task, *args)
        return (each for each in found if each is not None)

    def _total(self, method: str, *args: Any) -> Any:
        """Return the sum over the partitions, which are asked once."""
        digest = hashlib.sha256(method.encode())
        for arg in map(np.ascontiguousarray, args):
            digest.update(f"{arg.dtype.str}{arg.shape}".encode() + arg.tobytes())
        key = digest.hexdigest()
        if key not in self.answers:
            self.answers[key] = sum(self._ask(getattr(ScoredItems, method), *args))
        return self.answers[key].copy()

    def _merged(self, merged: IntArray) -> Each:
        """Return what the grades of each partition become."""
        return Each([merged[grades] for grades in self.summary.grades])


def _split(numbers: IntArray, starts: IntArray) -> Each:
    """Return ascending numbers as numbers within their partitions."""
    parts = np.split(numbers, np.searchsorted(numbers, starts[1:-1]))
    return Each([part - start for part, start in zip(parts, starts[:-1], strict=True)])


def describe(part: Part) -> tuple[Any, ...]:
    """Return the numbers about one partition that `summary_of` combines."""
    items = part.items
    # Infinite without items, which changes no minimum and no maximum.
    ends = items.values.min(initial=np.inf), items.values.max(initial=-np.inf)
    counts = np.bincount(items.known_grades, minlength=part.relevance.size)
    return np.diff(items.offsets), items.largest, ends, part.relevance, counts


def summary_of(described: Iterable[tuple[Any, ...]]) -> Summary:
    """Combine what `describe` returns for each partition."""
    sizes, largest, ends, relevance, counts = zip(*described, strict=True)
    values = np.unique(np.concatenate(relevance))
    grades = [np.searchsorted(values, own) for own in relevance]
    total = np.zeros(values.size, dtype=np.int64)
    for own, count in zip(grades, counts, strict=True):
        total[own] += count
    lowest, highest = zip(*ends, strict=True)
    return Summary(
        np.concatenate(sizes),
        np.append(0, np.cumsum([each.size for each in sizes])),
        max(largest),
        np.array([min(lowest), max(highest)]),
        total,
        grades,
    )


def _on_items(part: Part, task: Callable[..., Any], *args: Any) -> Any:
    return task(part.items, *args) if part.items.n_queries else None


def _take_queries(part: Part, queries: IntArray) -> Part:
    """Return some queries of a partition."""
    items = part.items
    sizes = np.diff(items.offsets)
    kept = np.isin(np.repeat(np.arange(sizes.size), sizes), queries)
    offsets = np.append(0, np.cumsum(sizes[queries]))
    grades, own = np.unique(items.known_grades[kept], return_inverse=True)
    taken = ScoredItems(items.values[kept], items.rows[kept], offsets, own)
    return Part(taken, part.relevance[grades])


def _gaps_by_outcome(items: ScoredItems) -> list[FloatArray]:
    """Return the gaps of the pairs of each outcome, sorted: they pack tighter."""
    gap, outcome, *_ = items.every_outcome()
    return [np.sort(gap[outcome == kind]) for kind in (-1, 0, 1)]


def _take_items(
    items: ScoredItems, rows: IntArray, start: int, merged: IntArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return place, score and merged grade of items, and of the first of each grade."""
    kind = merged[items.known_grades]
    rows = np.union1d(rows, np.unique(kind, return_index=True)[1])
    return rows + start, items.values[rows], kind[rows]
