"""What an engine offers: regions of pairs, decisions about pairs, sums over them.

How the pairs below a risk are found depends on the structure of the tie model: two
cuts in the gap for models of the score difference, a table for models that are constant
on bins. What is asked of an engine does not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skrank_abstain._kernels.mixing import mix
from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_quantile,
    rounded_share,
)
from skrank_abstain.pairs import (
    ALL_PAIRS,
    BYTES_PER_PAIR,
    PAIRS_OF_ONE_QUERY,
    PairDecisions,
    Queries,
    ScoredItems,
    check_output_size,
)
from skrank_abstain.selection._totals import PairTotals, RiskProfile

#: Pairs that are formed at a time where some are drawn.
_PAIRS_DRAWN = 1 << 20
#: Hashes of rows, which draws on a boundary go by.
Keys: TypeAlias = NDArray[np.uint64] | None
#: Accepted pairs, in the terms of one engine.
RegionT = TypeVar("RegionT")


class Region(Protocol):
    """The pairs that a rule accepts, in the terms of one engine."""

    @property
    def risk(self) -> float:
        """Threshold on the conditional risk."""


class RowPairs(NamedTuple):
    """Pairs of rows.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
    difference : ndarray of shape (n_pairs,), float64
        By how much the left value exceeds the right one.
    keys : ndarray of shape (n_rows,), uint64, or None
        Hashes of the rows, for draws on a boundary.
    group : ndarray of shape (n_rows,), int64, or None
        Number of the group of each row.
    """

    left: IntArray
    right: IntArray
    difference: FloatArray
    keys: Keys = None
    group: IntArray | None = None

    @classmethod
    def of(
        cls,
        values: FloatArray,
        left: IntArray,
        right: IntArray,
        keys: Keys = None,
        group: IntArray | None = None,
    ) -> Self:
        """Compare the values of the rows."""
        # An infinite difference of huge scores still has the right sign.
        with np.errstate(over="ignore"):
            return cls(left, right, values[left] - values[right], keys, group)


@dataclass(frozen=True)
class DecisionArrays:
    """Decisions about pairs; see ``PairDecisions`` for the arrays."""

    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None


class DecisionEngine(ABC, Generic[RegionT]):
    """Decide pairs and add up what happens to them; each engine has its own regions."""

    @abstractmethod
    def decide(
        self, region: RegionT, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        """Decide pairs of rows, whose values the tie model compares."""

    @abstractmethod
    def totals(
        self, region: RegionT, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        """Add up what happens to the pairs of each query."""


class RiskEngine(DecisionEngine[RegionT]):
    """Conditional risk of pairs under a fitted tie model and a loss.

    Attributes
    ----------
    highest : float
        The largest conditional risk that a pair can have.
    """

    highest: float

    @abstractmethod
    def select_risk(self, risk: float) -> RegionT:
        """Return the region of the pairs whose risk is at most ``risk``."""

    @abstractmethod
    def up_to_rank(self, items: ScoredItems, rank: int) -> Callable[..., RegionT]:
        """Find the region of the ``rank`` surest of the calibration pairs.

        The result takes the probability ``kappa`` of accepting a pair as sure as the
        last one, by default 1, and the ``seed`` of these draws, and returns the region.
        Pairs of equal risk are ordered by gap, the surer side first.
        """

    def select_coverage(
        self,
        items: ScoredItems,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> RegionT:
        """Return the region of the pairs up to the coverage quantile of the risk.

        Parameters
        ----------
        items : ScoredItems
            The calibration pairs.
        coverage : float
            Target share of accepted pairs, in (0, 1]. 1 accepts every pair, also those
            riskier than any calibration pair.
        quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
            The order statistic of rank ``ceil(coverage * n_pairs)``, or numpy's linear
            interpolation between two.
        boundary : {"accept", "randomize"}, default="accept"
            Whether pairs on the threshold are all accepted, or each with the
            probability that makes the calibration coverage exact.
        seed : int, default=0
            For ``boundary="randomize"``.

        Raises
        ------
        ValueError
            If the coverage is outside (0, 1] or cannot be reached, or an option is
            unknown.

        Notes
        -----
        Theorem 3.2 and Algorithm 1 of the paper on bounded abstention
        (arXiv:2505.23437).
        """
        check_quantile(coverage, quantile, boundary)
        # Not the quantile: new pairs may be riskier than all calibration pairs.
        if coverage == 1:
            return self.select_risk(self.highest)
        if quantile == "linear":
            place = coverage * (items.n_pairs - 1)
            ranks = math.floor(place) + 1, math.ceil(place) + 1
            regions: list[Any] = [self.up_to_rank(items, rank)() for rank in ranks]
            risks = [region.risk for region in regions]
            return self.select_risk(float(np.quantile(risks, place % 1)))
        region = self.up_to_rank(items, int(rounded_share(coverage, items.n_pairs)))
        if boundary == "accept":
            return region()
        n_accepted = self.accepted_mass(region(), items)
        n_below = self.accepted_mass(region(kappa=0.0), items)
        # kappa = (c - rho(r < tau)) / rho(r = tau) of Theorem 3.2, in numbers of pairs.
        kappa = (coverage * items.n_pairs - n_below) / (n_accepted - n_below)
        return region(kappa=float(np.clip(kappa, 0, 1)), seed=seed)

    def largest_coverage(self, items: ScoredItems) -> float:
        """Return the largest share of the calibration pairs that can be accepted."""
        return 1.0

    @abstractmethod
    def accepted_mass(
        self, region: RegionT, items: ScoredItems, *, ties_only: bool = False
    ) -> float:
        """Return the expected number of accepted pairs, or of those called a tie."""

    @abstractmethod
    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Add up accepted pairs and their loss, by query and threshold on the risk.

        Returns
        -------
        accepted : ndarray of shape (n_queries, n_thresholds), float64
            Pairs with at most each risk.
        cost : ndarray of shape (n_queries, n_thresholds), float64
            Sum of the losses of their predictions; for the zero-one loss the errors.
        """

    @abstractmethod
    def profile(self, items: ScoredItems) -> RiskProfile:
        """Return how many pairs have which risk, and the loss of their predictions."""

    @abstractmethod
    def rank_bounds(self, region: RegionT, items: ScoredItems) -> IntArray:
        """Return the best and the worst rank of each item that accepted orders leave.

        Pairs on a randomised boundary do not count as accepted; what follows from the
        orders by transitivity counts.

        Returns
        -------
        bounds : ndarray of shape (n_items, 2), int64
            In the order of the rows of X.
        """

    @abstractmethod
    def preference_graph(self, region: RegionT, items: ScoredItems) -> csr_array:
        """Return the accepted orders that do not follow from others.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            Rows and columns are those of X; accepted as in ``rank_bounds``.
        """


def decide_queries(
    engine: DecisionEngine[RegionT],
    region: RegionT,
    values: FloatArray,
    queries: Queries,
    start: int = 0,
    stop: int | None = None,
    *,
    keys: Keys = None,
    group: IntArray | None = None,
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
    keys : ndarray of shape (n_items,), uint64, default=None
        Hashes of the rows; needed for a region on whose boundary is drawn.
    group : ndarray of shape (n_items,), int64, default=None
        Groups of the rows; needed for a region by groups.

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
    # Before anything is allocated: a refusal must cost nothing.
    check_output_size(
        int(counts.sum()),
        BYTES_PER_PAIR + queries.values.itemsize,
        remedy=ALL_PAIRS if np.count_nonzero(counts) > 1 else PAIRS_OF_ONE_QUERY,
    )
    filled = fill_pairs(values, queries.order, queries.offsets, start, stop)
    pairs = RowPairs(*filled, keys, group)
    qid = np.repeat(queries.values[start:stop], counts)
    made = engine.decide(region, values, pairs)
    return PairDecisions(pairs.left, pairs.right, qid, **vars(made))


def decide_pairs(
    engine: DecisionEngine[RegionT],
    region: RegionT,
    values: FloatArray,
    queries: Queries,
    left: IntArray,
    right: IntArray,
    *,
    keys: Keys = None,
    group: IntArray | None = None,
) -> PairDecisions:
    """Decide the given pairs of rows; parameters as in ``decide_queries``."""
    qid = queries.values[queries.codes[left]]
    pairs = RowPairs.of(values, left, right, keys, group)
    made = engine.decide(region, values, pairs)
    return PairDecisions(left, right, qid, **vars(made))


def draw_boundary(weight: FloatArray, seed: int, pairs: RowPairs) -> BoolArray:
    """Accept pairs with their probabilities.

    Parameters
    ----------
    weight : ndarray of shape (n_pairs,), float64
        Probability of acceptance; most are 0 or 1.
    seed : int
    pairs : RowPairs

    Returns
    -------
    accepted : ndarray of shape (n_pairs,), bool
        The fate of a pair depends on the seed and on its two rows alone, not on order,
        batch or orientation: the draws are hashes, not a stream of numbers.
    """
    accepted: BoolArray = weight == 1
    drawn = np.flatnonzero((weight > 0) & (weight < 1))
    if drawn.size:
        if pairs.keys is None:
            raise ValueError("keys must be given where pairs are drawn, got None.")
        left, right = pairs.keys[pairs.left[drawn]], pairs.keys[pairs.right[drawn]]
        accepted[drawn] = unordered_uniform(seed, left, right) < weight[drawn]
    return accepted


def settle_draws(
    judge: Callable[[FloatArray, RowPairs], tuple[FloatArray, BoolArray]],
    seed: int,
    items: ScoredItems,
    weight: FloatArray | None,
) -> FloatArray | None:
    """Add up the pairs that are drawn and accepted, by query, label and outcome.

    Parameters
    ----------
    judge : callable
        Takes values and pairs; returns the probability of accepting each pair, and
        whether it is called a tie.
    seed : int
    items : ScoredItems
    weight : ndarray of shape (n_rows,), float64, or None

    Returns
    -------
    drawn : ndarray of shape (n_queries, 2, 4), float64, or None
        Called an order, or a tie; by outcome as in ``PairTotals.of_pieces``. None for
        items without keys, about which nothing can be drawn.

    Notes
    -----
    O(n_pairs) time; forms about a million pairs at a time, large queries in pieces.
    """
    if items.keys is None:
        return None

    def settle(some: ScoredItems) -> tuple[FloatArray]:
        size = np.diff(some.offsets)
        first = np.repeat(some.offsets[:-1], size)
        count = np.arange(first.size) - first
        sums = np.zeros(8 * some.n_queries)
        piece = np.cumsum(count) // _PAIRS_DRAWN
        starts = np.flatnonzero(np.append(True, piece[1:] != piece[:-1]))
        for start, stop in pairwise([*starts, count.size]):
            high = np.repeat(np.arange(start, stop), count[start:stop])
            of_first = np.cumsum(count[start:stop]) - count[start:stop]
            low = first[high] + np.arange(high.size) - of_first[high - start]
            pairs = RowPairs.of(some.values, high, low, some.keys)
            chance, tie = judge(some.values, pairs)
            # Pairs that are accepted for certain are counted elsewhere.
            kept = draw_boundary(np.where(chance < 1, chance, 0.0), seed, pairs)
            low, high = low[kept], high[kept]
            outcome = 1 - np.sign(some.known_grades[high] - some.known_grades[low])
            entry = (some.query_of(low) * 2 + tie[kept]) * 4 + outcome
            # One by one: the pieces of a query must not change the last bit.
            np.add.at(sums, entry, some.weight_of(low, high, weight))
        return (sums.reshape(-1, 2, 4),)

    largest = int(items.pair_counts.max(initial=1))
    return items.by_query(settle, max(1, _PAIRS_DRAWN // largest))[0]


def unordered_uniform(
    seed: int, left: NDArray[np.uint64], right: NDArray[np.uint64]
) -> FloatArray:
    """Return one number in [0, 1) per pair, the same for both orientations.

    Uniform over pairs of distinct keys, of shape (n_pairs,): the seed, the smaller and
    the larger key are mixed one after the other.
    """
    # One draw for both orientations: a symmetric loss makes the optimal rule decide (x,
    # x') and (x', x) alike, and two draws would not.
    state = mix(np.full(left.shape, seed, dtype=np.uint64))
    state = mix(state ^ np.minimum(left, right))
    state = mix(state ^ np.maximum(left, right))
    # 53 bits, which a float64 in [0, 1) holds exactly.
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
