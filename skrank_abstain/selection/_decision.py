"""The last step, from values to ``PairDecisions``: what any way of deciding offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import (
    ALL_PAIRS,
    BYTES_PER_PAIR,
    PAIRS_OF_ONE_QUERY,
    PairDecisions,
    Queries,
    ScoredItems,
    check_output_size,
)
from skrank_abstain.selection._totals import PairTotals

#: Of pairs that are accepted.
RegionT = TypeVar("RegionT")


@dataclass(frozen=True)
class DecisionArrays:
    """Decisions about pairs; see ``PairDecisions`` for the arrays."""

    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None


class DecisionEngine(ABC, Generic[RegionT]):
    """What decides pairs and adds up what happens to them.

    Each engine has a type of region, the pairs that are accepted, of its own.
    """

    @abstractmethod
    def decide(
        self,
        region: RegionT,
        values: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> DecisionArrays:
        """Decide pairs of rows; ``difference`` is ``values[left] - values[right]``."""

    @abstractmethod
    def totals(
        self, region: RegionT, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        """Add up what happens to the pairs of each query."""


def decide_queries(
    engine: DecisionEngine[RegionT],
    region: RegionT,
    values: FloatArray,
    queries: Queries,
    start: int = 0,
    stop: int | None = None,
) -> PairDecisions:
    """Decide all pairs of the queries ``start`` to ``stop`` (exclusive).

    Parameters
    ----------
    engine : DecisionEngine
    region : object
        What it accepts.
    values : ndarray of shape (n_items,), float64
        What the tie model compares: one value per item.
    queries : Queries
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    decisions : PairDecisions
        In canonical order.

    Raises
    ------
    ValueError
        If the result would need more than half of the memory that is available.

    Notes
    -----
    Serial, O(n_pairs); every pair is written once, straight into the result.
    """
    from skrank_abstain._kernels.filling import fill_pairs

    stop = queries.n_queries if stop is None else stop
    counts = queries.pair_counts[start:stop]
    # Looked at before anything is allocated: a refusal must cost nothing.
    check_output_size(
        int(counts.sum()),
        BYTES_PER_PAIR + queries.values.itemsize,
        remedy=ALL_PAIRS if np.count_nonzero(counts) > 1 else PAIRS_OF_ONE_QUERY,
    )
    left, right, difference = fill_pairs(
        values, queries.order, queries.offsets, start, stop
    )
    qid = np.repeat(queries.values[start:stop], counts)
    made = engine.decide(region, values, left, right, difference)
    return PairDecisions(left, right, qid, **vars(made))


def decide_pairs(
    engine: DecisionEngine[RegionT],
    region: RegionT,
    values: FloatArray,
    queries: Queries,
    left: IntArray,
    right: IntArray,
) -> PairDecisions:
    """Decide the given pairs of rows; parameters as in ``decide_queries``."""
    qid = queries.values[queries.codes[left]]
    # An infinite difference of huge scores still has the right sign.
    with np.errstate(over="ignore"):
        difference = values[left] - values[right]
    made = engine.decide(region, values, left, right, difference)
    return PairDecisions(left, right, qid, **vars(made))
