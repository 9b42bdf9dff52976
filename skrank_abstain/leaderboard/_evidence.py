"""What a board knows: strengths, how uncertain they are, and which orders are sure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.leaderboard._covariance import (
    Spread,
    centred,
    inverse_information,
    spread_of,
)
from skrank_abstain.leaderboard._fit import Counts, Strengths, count_votes
from skrank_abstain.leaderboard._places import REMEDY, Comparisons, compare_items
from skrank_abstain.leaderboard._ties import VOTE_MODELS, VoteModel
from skrank_abstain.leaderboard._votes import Votes
from skrank_abstain.pairs import check_output_size

#: Matrices of items by items on the way to a covariance.
_MATRICES = 6


@dataclass(frozen=True, eq=False)
class Evidence(Value, ABC):
    """Strengths and the promise that the places of a board make.

    Attributes
    ----------
    confidence : float
    control : {"familywise", "fdr"}
    seed : int
        Of the draws of `compare_items`.
    """

    confidence: float
    control: str
    seed: int

    @property
    @abstractmethod
    def theta(self) -> FloatArray:
        """Strengths, shape (n_items,)."""

    @property
    @abstractmethod
    def component(self) -> IntArray:
        """Number of the group of items that met, shape (n_items,)."""

    @property
    @abstractmethod
    def n_votes(self) -> IntArray:
        """Votes, or queries, about each item, shape (n_items,)."""

    @property
    @abstractmethod
    def sandwich(self) -> FloatArray:
        """Covariance of the strengths, shape (n_items, n_items)."""

    @property
    @abstractmethod
    def degrees(self) -> float:
        """Degrees of freedom of the covariance."""

    @property
    def expected(self) -> FloatArray:
        """The covariance by a model; an order has to hold by both."""
        return self.sandwich

    @cached_property
    def comparisons(self) -> Comparisons:
        """All pairs of items."""
        return compare_items(
            self.theta,
            self.sandwich,
            self.expected,
            self.component,
            alpha=1 - self.confidence,
            control=self.control,
            degrees=self.degrees,
            rng=np.random.default_rng(self.seed),
        )

    @cached_property
    def places(self) -> IntArray:
        """Place, best and worst place, shape (n_items, 3)."""
        place = np.empty(self.theta.size, dtype=np.int64)
        order = np.argsort(-self.theta, kind="stable")
        place[order] = np.arange(1, place.size + 1)
        return np.column_stack([place, self.comparisons.places(place.size)])

    @property
    def intervals(self) -> FloatArray:
        """Interval of each strength by itself, shape (n_items, 2)."""
        both = np.maximum(np.diag(self.sandwich), np.diag(self.expected))
        half = self.half_width * np.sqrt(np.maximum(both, 0))
        return np.stack([self.theta - half, self.theta + half], axis=1)

    @property
    def half_width(self) -> float:
        """Half the width of an interval in standard errors."""
        return float(student.ppf((1 + self.confidence) / 2, self.degrees))


@dataclass(frozen=True, eq=False)
class VoteEvidence(Evidence):
    """What votes say.

    Attributes
    ----------
    votes : Votes
    ties : str
        Key of `VOTE_MODELS`.
    prior : float
    fitted : Strengths
    """

    votes: Votes
    ties: str
    prior: float
    fitted: Strengths

    @property
    def model(self) -> VoteModel:
        """Probabilities of the next vote."""
        return VOTE_MODELS[self.ties]

    @cached_property
    def counts(self) -> Counts:
        """Votes by outcome."""
        return counts_of(self.votes)

    @cached_property
    def spread(self) -> Spread:
        """Covariances of all that was fitted."""
        self._check_size()
        clusters = None if self.votes.cluster is None else self.votes
        return spread_of(self.counts, self.fitted, self.model, self.prior, clusters)

    def inverse_information(self) -> FloatArray:
        """Return the covariance of all parameters given the votes and the prior."""
        self._check_size()
        return inverse_information(self.counts, self.fitted, self.model, self.prior)

    @property
    def theta(self) -> FloatArray:
        return self.fitted.theta

    @property
    def degrees(self) -> float:
        cluster = self.votes.cluster
        return np.inf if cluster is None else float(cluster.max())

    @cached_property
    def component(self) -> IntArray:
        return self.votes.component

    @property
    def n_votes(self) -> IntArray:
        n = self.theta.size
        votes: IntArray = np.bincount(self.votes.left, minlength=n)
        return votes + np.bincount(self.votes.right, minlength=n)

    @property
    def sandwich(self) -> FloatArray:
        return self.spread.sandwich

    @property
    def expected(self) -> FloatArray:
        return self.spread.expected

    def _check_size(self) -> None:
        n = self.theta.size
        check_output_size(n * n, 8 * _MATRICES, remedy=REMEDY)


def counts_of(votes: Votes, kept: NDArray[Any] | slice = slice(None)) -> Counts:
    """Count the votes, or some of them, by outcome."""
    return count_votes(
        votes.left[kept],
        votes.right[kept],
        votes.label[kept],
        votes.weight[kept],
        votes.covariates[kept],
        votes.items.size,
    )


@dataclass(frozen=True, eq=False)
class JudgedEvidence(VoteEvidence):
    """What people's votes say with those of judges beside them.

    Attributes
    ----------
    by_votes, by_model : ndarray of shape (n_items, n_items), float64
        Covariances of the strengths.
    """

    by_votes: FloatArray
    by_model: FloatArray

    @property
    def sandwich(self) -> FloatArray:
        return self.by_votes

    @property
    def expected(self) -> FloatArray:
        return self.by_model


@dataclass(frozen=True, eq=False)
class ScoreEvidence(Evidence):
    """What a metric of each system on each query says.

    Attributes
    ----------
    scores : ndarray of shape (n_queries, n_items), float64
    """

    scores: FloatArray

    @cached_property
    def theta(self) -> FloatArray:
        return np.asarray(self.scores.mean(axis=0))

    @property
    def degrees(self) -> float:
        return len(self.scores) - 1.0

    @property
    def component(self) -> IntArray:
        return np.zeros(self.theta.size, dtype=np.int64)

    @property
    def n_votes(self) -> IntArray:
        return np.full(self.theta.size, len(self.scores))

    @cached_property
    def sandwich(self) -> FloatArray:
        n = self.theta.size
        check_output_size(n * n, 8 * _MATRICES, remedy="Compare fewer systems.")
        return np.asarray(np.cov(self.scores, rowvar=False) / len(self.scores))


def posterior_of_items(evidence: VoteEvidence) -> FloatArray:
    """Return the covariance of the strengths less their mean, given the votes."""
    n = evidence.theta.size
    return centred(evidence.inverse_information()[:n, :n])
