"""What every way of turning tie models into decisions offers.

How the pairs below a risk are found depends on the structure of the tie model: two
cuts in ``|d|`` for models of the score difference, bins for piecewise constant ones.
What is asked of them does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import ScoredItems


class Region(Protocol):
    """The pairs that are accepted; what else it holds is the affair of its engine."""

    @property
    def risk(self) -> float:
        """The threshold on the conditional risk."""


@dataclass(frozen=True)
class Decided:
    """Decisions about pairs; see ``PairDecisions`` for the arrays."""

    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None


class PairJudge(Protocol):
    """What decides pairs and adds up what happens to them."""

    def decide(
        self,
        region: Any,
        scores: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> Decided:
        """Decide pairs of rows; ``difference`` is ``scores[left] - scores[right]``."""

    def totals(
        self, region: Any, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        """Add up what happens to the pairs of each query."""


@dataclass(frozen=True, eq=False)
class PairTotals:
    """What happened to the pairs of each query.

    Sums over pairs, each of shape (n_queries,), queries in order of first appearance.
    A pair counts 1, or the product of its items' weights; on a randomised boundary it
    counts as accepted with its probability.

    Attributes
    ----------
    pairs : ndarray, float64
        All pairs.
    accepted : ndarray, float64
        Accepted pairs.
    correct : ndarray, float64
        Accepted pairs with a correct label.
    correct_all : ndarray, float64
        Pairs whose label is or, had they been accepted, would have been correct.
    tied : ndarray, float64
        Truly tied pairs.
    accepted_tied : ndarray, float64
        Accepted pairs that are truly tied.
    answered_tie : ndarray, float64
        Accepted pairs that are predicted to be ties.
    ordered : ndarray, float64
        Accepted pairs of different relevance in the right order, and half of those
        predicted to be ties.
    """

    pairs: FloatArray
    accepted: FloatArray
    correct: FloatArray
    correct_all: FloatArray
    tied: FloatArray
    accepted_tied: FloatArray
    answered_tie: FloatArray
    ordered: FloatArray

    @classmethod
    def of_pieces(
        cls, pieces: FloatArray, accepted: FloatArray, tie: BoolArray
    ) -> PairTotals:
        """Add up pieces of pairs that are decided alike.

        Parameters
        ----------
        pieces : ndarray of shape (n_queries, n_pieces, 4)
            Pairs of each piece by outcome: concordant, tied, discordant, untied pairs
            of items that carry no order.
        accepted : ndarray of shape (n_pieces,), float64
            Probability of acceptance.
        tie : ndarray of shape (n_pieces,), bool
            Whether a tie is predicted.
        """
        mass = pieces.sum(axis=2)
        tied = pieces[:, :, 1]
        right = np.where(tie, tied, pieces[:, :, 0])
        ordered = np.where(tie, (mass - tied) / 2, pieces[:, :, 0])
        return cls(
            pairs=mass.sum(axis=1),
            accepted=mass @ accepted,
            correct=right @ accepted,
            correct_all=right.sum(axis=1),
            tied=tied.sum(axis=1),
            accepted_tied=tied @ accepted,
            answered_tie=mass @ (accepted * tie),
            ordered=ordered @ accepted,
        )

    def __repr__(self) -> str:
        return (
            f"PairTotals(n_queries={self.pairs.size}, pairs={self.pairs.sum():g}, "
            f"accepted={self.accepted.sum():g}, correct={self.correct.sum():g}, ...)"
        )

    @property
    def coverage(self) -> float:
        """Share of pairs accepted; NaN for no pairs."""
        return _ratio(self.accepted, self.pairs)

    @property
    def accuracy(self) -> float:
        """Share of correct labels among accepted pairs; NaN where none is."""
        return _ratio(self.correct, self.accepted)

    @property
    def auc(self) -> float:
        """AUC over accepted pairs of different relevance; NaN without any."""
        return _ratio(self.ordered, self.accepted - self.accepted_tied)


def _ratio(part: FloatArray, whole: FloatArray) -> float:
    total = float(whole.sum())
    return float(part.sum()) / total if total > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class RiskProfile:
    """Pairs and correct predictions at each conditional risk.

    Attributes
    ----------
    risk : ndarray of shape (n_risks,), float64
        Distinct risks, ascending.
    n_pairs : ndarray of shape (n_risks,), float64
        Pairs of this risk.
    n_correct : ndarray of shape (n_risks,), float64
        Those of them whose label is correct.
    """

    risk: FloatArray
    n_pairs: FloatArray
    n_correct: FloatArray

    @classmethod
    def of(
        cls, risk: FloatArray, pairs: FloatArray, correct: FloatArray
    ) -> RiskProfile:
        """Bring entries into the order of risk, and equal risks together."""
        levels, entry = np.unique(risk, return_inverse=True)
        n_pairs, n_correct = (
            np.bincount(entry.reshape(-1), values, levels.size).astype(np.float64)
            for values in (pairs, correct)
        )
        return cls(levels, n_pairs, n_correct)

    @property
    def coverage(self) -> FloatArray:
        """Share of the pairs with at most each risk, shape (n_risks,)."""
        accepted = np.cumsum(self.n_pairs)
        return accepted / accepted[-1:]

    @property
    def selective_risk(self) -> FloatArray:
        """Share of errors among the pairs with at most each risk, (n_risks,)."""
        errors: FloatArray = np.cumsum(self.n_pairs - self.n_correct)
        return errors / np.cumsum(self.n_pairs)


class PairRisk(ABC):
    """Conditional risk of pairs under a fitted tie model and a loss.

    Attributes
    ----------
    highest : float
        The largest conditional risk that a pair can have.
    """

    highest: float

    @abstractmethod
    def select_risk(self, risk: float) -> Any:
        """Return the region of the pairs whose risk is at most ``risk``."""

    @abstractmethod
    def select_coverage(
        self,
        items: Any,
        coverage: float,
        *,
        quantile: str = "inverted_cdf",
        boundary: str = "accept",
        seed: int = 0,
    ) -> Any:
        """Return the region of the pairs up to the coverage quantile of the risk.

        Parameters
        ----------
        items : ScoredItems or GapArray
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
        """

    @abstractmethod
    def accepted_mass(self, region: Any, items: Any) -> float:
        """Return the expected number of accepted pairs."""

    @abstractmethod
    def decide(
        self,
        region: Any,
        scores: FloatArray,
        left: IntArray,
        right: IntArray,
        difference: FloatArray,
    ) -> Decided:
        """Decide pairs of rows; ``difference`` is ``scores[left] - scores[right]``."""

    @abstractmethod
    def totals(
        self, region: Any, items: ScoredItems, weight: FloatArray | None
    ) -> PairTotals:
        """Add up what happens to the pairs of each query."""

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
    def rank_bounds(self, region: Any, items: ScoredItems) -> IntArray:
        """Return best and worst rank of each item, in the order of the rows of X."""


def loss_of_orders(counts: FloatArray, loss: FloatArray) -> FloatArray:
    """Return what predicting the order costs pairs with counts (..., 4) by outcome."""
    spent: FloatArray = loss[0, 1] * counts[..., 1] + loss[0, 2] * counts[..., 2]
    return spent


def loss_of_ties(counts: FloatArray, loss: FloatArray) -> FloatArray:
    """Return what predicting a tie costs pairs with counts (..., 4) by outcome."""
    untied = counts[..., 0] + counts[..., 2] + counts[..., 3]
    spent: FloatArray = loss[1, 0] * untied
    return spent
