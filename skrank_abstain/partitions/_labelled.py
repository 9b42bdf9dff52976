"""Labelled scores that lie in partitions, as a calibration fits tie models to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.partitions._items import (
    Part,
    PartitionedItems,
    Summary,
    describe_part,
    summary_of,
)
from skrank_abstain.partitions._packed import ask
from skrank_abstain.partitions._protocol import Each, Partitions
from skrank_abstain.tie_models import (
    GradedInputs,
    GradedRelevance,
    LabelledScores,
    TieModel,
    add_context,
    check_spread,
    sample_context,
)


@dataclass(frozen=True, eq=False)
class LabelledPartitions:
    """Scored items of labelled queries in partitions.

    It stands where `LabelledScores` stands on one machine.

    Attributes
    ----------
    parts : Partitions
        Of `LabelledScores`.
    summary : Summary
        Of the scores.
    ends : ndarray of shape (2,), float64
        Smallest and largest score.
    """

    parts: Partitions
    summary: Summary
    ends: FloatArray

    @classmethod
    def of(cls, parts: Partitions) -> Self:
        """Take partitions that hold `LabelledScores`."""
        return cls.described(parts, [*ask(parts, describe_labelled)])

    @classmethod
    def described(cls, parts: Partitions, described: list[Any]) -> Self:
        """Take partitions with what ``describe_labelled`` says of each."""
        ends = np.concatenate([own for own, _ in described])
        return cls(
            parts,
            summary_of([about for _, about in described]),
            np.array([ends.min(initial=np.inf), ends.max(initial=-np.inf)]),
        )

    def take(self, queries: IntArray) -> LabelledPartitions:
        """Return some queries, by their numbers, ascending."""
        return type(self).of(self.parts.keep(take_queries, Each(self._split(queries))))

    def fit(self, model: TieModel) -> PartitionedItems:
        """As `LabelledScores.fit`.

        Raises
        ------
        TypeError
            If the model learns values from all items at once.
        """
        check_spread(self.ends)
        self._learn_values(model)
        items = self.transformed_by(model)
        model.fit_items(cast("ScoredItems", items))  # which it stands for
        return items

    def transformed_by(self, model: TieModel) -> PartitionedItems:
        """As `LabelledScores.transformed_by`."""
        if not _looks_at_context(model):
            parts = self.parts.keep(sort_by_value, None)
            return PartitionedItems(parts, self.summary)
        weights = cast("GradedRelevance", model).weights_
        return PartitionedItems.of(self.parts.keep(sort_by_value, weights))

    def _learn_values(self, model: TieModel) -> None:
        """Do what ``fit_transform`` does, but for the values themselves."""
        if not _looks_at_context(model):
            return
        graded = cast("GradedRelevance", model)
        used, n_items = graded.context_queries(self.summary.sizes)
        merged = graded.merged_grades(self.summary.grade_counts)
        places = np.searchsorted(used, self.summary.starts[1:-1])
        samples = ask(
            self.parts,
            send_context,
            Each(self._split(used)),
            Each(np.split(n_items, places)),
            self.summary.relevance,
            merged,
        )
        inputs, grades, sizes = (
            np.concatenate(each) for each in zip(*samples, strict=True)
        )
        graded.learn_context(GradedInputs(inputs, grades, sizes))

    def _split(self, queries: IntArray) -> list[IntArray]:
        """Return the numbers of some queries within their partitions."""
        starts = self.summary.starts
        parts = np.split(queries, np.searchsorted(queries, starts[1:-1]))
        return [part - start for part, start in zip(parts, starts[:-1], strict=True)]


def describe_labelled(data: LabelledScores) -> tuple[FloatArray, tuple[Any, ...]]:
    """Return what `LabelledPartitions` wants to know of a partition."""
    ends = np.array([data.scores.min(), data.scores.max()]) if data.y.size else data.y
    return ends, describe_part(_sorted(data.scores, data))


def _looks_at_context(model: TieModel) -> bool:
    """Return whether values are more than scores; refuse what cannot be learned here.

    Raises
    ------
    TypeError
        If the model learns values from all items at once.
    """
    kind = type(model)
    hooks = kind.fit_transform, kind.transform
    if hooks == (TieModel.fit_transform, TieModel.transform):
        return False
    if hooks == (GradedRelevance.fit_transform, GradedRelevance.transform):
        return True
    raise TypeError(
        f"tie_model={kind.__name__} learns what it compares from all items at once, "
        "with their features, and cannot be fitted over partitions. Take "
        "'graded_relevance', or fit the ranker itself on some whole queries that one "
        "machine can hold."
    )


def sort_by_value(data: LabelledScores, weights: FloatArray | None) -> Part:
    """Return the items by what a model compares: scores, or scores with context."""
    values = data.scores
    if weights is not None:
        values = add_context(values, data.queries, weights)
    return _sorted(values, data)


def _sorted(values: FloatArray, data: LabelledScores) -> Part:
    return Part(ScoredItems.build(values, data.queries, data.y), np.unique(data.y))


def take_queries(data: LabelledScores, queries: IntArray) -> LabelledScores:
    """Return some queries of a partition."""
    return data.take(np.flatnonzero(np.isin(data.queries.codes, queries)))


def send_context(
    data: LabelledScores,
    used: IntArray,
    n_items: IntArray,
    relevance: FloatArray,
    merged: IntArray,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return what a model learns the context of a query from."""
    grades = merged[np.searchsorted(relevance, data.y)]
    sample = sample_context(data.scores, grades, data.queries, used, n_items)
    return sample.inputs, sample.grades, sample.sizes
