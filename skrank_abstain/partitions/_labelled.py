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
from skrank_abstain.selection import LabelledScores
from skrank_abstain.tie_models import TieModel, check_spread


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
        return type(self).of(
            self.parts.keep(LabelledScores.take_queries, Each(self._split(queries)))
        )

    def fit(self, model: TieModel) -> PartitionedItems:
        """As `LabelledScores.fit`.

        Raises
        ------
        TypeError
            If the model learns values from all items at once.
        """
        check_spread(self.ends)
        items = self.transformed_by(model)
        model.fit_items(cast("ScoredItems", items))  # which it stands for
        return items

    def transformed_by(self, model: TieModel) -> PartitionedItems:
        """As `LabelledScores.transformed_by`; a model compares scores here."""
        _refuse_learned_values(model)
        return PartitionedItems(self.parts.keep(sort_by_score), self.summary)

    def _split(self, queries: IntArray) -> list[IntArray]:
        """Return the numbers of some queries within their partitions."""
        starts = self.summary.starts
        parts = np.split(queries, np.searchsorted(queries, starts[1:-1]))
        return [part - start for part, start in zip(parts, starts[:-1], strict=True)]


def describe_labelled(data: LabelledScores) -> tuple[FloatArray, tuple[Any, ...]]:
    """Return what `LabelledPartitions` wants to know of a partition."""
    ends = np.array([data.scores.min(), data.scores.max()]) if data.y.size else data.y
    return ends, describe_part(sort_by_score(data))


def _refuse_learned_values(model: TieModel) -> None:
    """Refuse a model whose values are more than scores.

    Raises
    ------
    TypeError
        If the model learns values from all items at once.
    """
    kind = type(model)
    hooks = kind.fit_transform, kind.transform
    if hooks != (TieModel.fit_transform, TieModel.transform):
        raise TypeError(
            f"tie_model={kind.__name__} learns what it compares from all items at "
            "once, with their features, and cannot be fitted over partitions. Take "
            "'graded_relevance', or fit the ranker itself on some whole queries that "
            "one machine can hold."
        )


def sort_by_score(data: LabelledScores) -> Part:
    """Return the items sorted by score within each query."""
    items = ScoredItems.build(data.scores, data.queries, data.y)
    return Part(items, np.unique(data.y))
