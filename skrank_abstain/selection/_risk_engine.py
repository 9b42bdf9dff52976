"""The conditional risk of pairs: what every engine offers.

How the pairs below a risk are found depends on the structure of the tie model: two
cuts in the gap for models of the score difference, a table for models that are constant
on bins. What is asked of them does not.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection._decision import DecisionEngine, RegionT
from skrank_abstain.selection._totals import RiskProfile


class Region(Protocol):
    """The pairs that a rule accepts, in the terms of one engine."""

    @property
    def risk(self) -> float:
        """Threshold on the conditional risk."""


class RiskEngine(DecisionEngine[RegionT]):
    """Conditional risk of pairs under a fitted tie model and a loss.

    Attributes
    ----------
    highest : float
        The largest conditional risk that a pair can have.
    """

    # Coverage 1 accepts up to this risk: up to the largest calibration risk, it would
    # leave out new pairs that are riskier than any of these.
    highest: float

    @abstractmethod
    def select_risk(self, risk: float) -> RegionT:
        """Return the region of the pairs whose risk is at most ``risk``."""

    @abstractmethod
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
        """

    def largest_coverage(self, items: ScoredItems) -> float:
        """Return the largest share of the calibration pairs that can be accepted."""
        return 1.0

    @abstractmethod
    def accepted_mass(self, region: RegionT, items: ScoredItems) -> float:
        """Return the expected number of accepted pairs."""

    @abstractmethod
    def accepted_tie_mass(self, region: RegionT, items: ScoredItems) -> float:
        """Return the expected number of accepted pairs that are called a tie."""

    @abstractmethod
    def at_thresholds(
        self, items: ScoredItems, thresholds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Add up accepted pairs and their loss, by query and threshold.

        Parameters
        ----------
        items : ScoredItems
            With relevance.
        thresholds : ndarray of shape (n_thresholds,), float64
            On the conditional risk.

        Returns
        -------
        accepted : ndarray of shape (n_queries, n_thresholds), float64
            Pairs with at most each risk.
        cost : ndarray of shape (n_queries, n_thresholds), float64
            Sum of the losses of their predictions; for the zero-one loss the errors.
        """

    @abstractmethod
    def profile(self, items: ScoredItems) -> RiskProfile:
        """Return how many pairs have which risk, and how many of them are correct."""

    @abstractmethod
    def rank_bounds(self, region: RegionT, items: ScoredItems) -> IntArray:
        """Return the best and the worst rank of each item that accepted orders leave.

        Parameters
        ----------
        region : object
            What is accepted; pairs on a randomised boundary are not.
        items : ScoredItems

        Returns
        -------
        bounds : ndarray of shape (n_items, 2), int64
            In the order of the rows of X. What follows by transitivity counts.
        """

    @abstractmethod
    def preference_graph(self, region: RegionT, items: ScoredItems) -> csr_array:
        """Return the accepted orders that do not follow from others.

        Parameters
        ----------
        region, items
            As in ``rank_bounds``.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            Rows and columns are those of X.
        """


def linear_quantile(
    risk_at: Callable[[int], float], coverage: float, n_pairs: int
) -> float:
    """Interpolate between two order statistics, as numpy does by default.

    Parameters
    ----------
    risk_at : callable
        Takes a rank, from 1, and returns the risk of the pair of this rank.
    coverage : float
    n_pairs : int
    """
    place = coverage * (n_pairs - 1)
    low = math.floor(place)
    ends = [risk_at(low + 1), risk_at(math.ceil(place) + 1)]
    return float(np.quantile(ends, place - low))
