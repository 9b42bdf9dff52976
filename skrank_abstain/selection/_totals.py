"""Sums of decided pairs by query, and counts of pairs by risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import ZERO_ONE_LOSS, BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class PairTotals:
    """Sums over the pairs of each query, in order of first appearance.

    A pair counts 1, or the product of its items' weights; on a randomised boundary it
    counts as accepted with its probability. All arrays have shape (n_queries,).

    Attributes
    ----------
    pairs : ndarray, float64
        All pairs.
    accepted : ndarray, float64
        Accepted pairs.
    correct : ndarray, float64
        Accepted pairs with a correct label.
    correct_all : ndarray, float64
        Pairs with a correct label, accepted or not.
    tied : ndarray, float64
        Truly tied pairs.
    accepted_tied : ndarray, float64
        Accepted pairs that are truly tied.
    answered_tie : ndarray, float64
        Accepted pairs that are predicted to be ties.
    ordered : ndarray, float64
        Accepted pairs of different relevance in the right order, and half of those
        predicted to be ties.
    misranked : ndarray, float64
        Accepted pairs that are predicted in the wrong order, whatever the loss.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> totals = ranker.evaluate(data.data, data.target, qid=data.qid)
    >>> totals.accepted.shape, round(totals.coverage, 1)
    ((60,), 0.5)
    """

    pairs: FloatArray
    accepted: FloatArray
    correct: FloatArray
    correct_all: FloatArray
    tied: FloatArray
    accepted_tied: FloatArray
    answered_tie: FloatArray
    ordered: FloatArray
    misranked: FloatArray

    @classmethod
    def of_pieces(
        cls, pieces: FloatArray, accepted: FloatArray, tie: BoolArray
    ) -> PairTotals:
        """Add up groups of pairs that are decided alike.

        Parameters
        ----------
        pieces : ndarray of shape (n_queries, n_pieces, 4)
            Pairs of each piece by outcome: concordant, tied, discordant, and untied
            pairs of equal values.
        accepted : ndarray of shape (n_pieces,), float64
            Probability of acceptance.
        tie : ndarray of shape (n_pieces,), bool
            Whether a tie is predicted.
        """
        mass = pieces.sum(axis=2)
        tied = pieces[:, :, 1]
        # Neither label is right for the fourth column: such pairs are not tied, and
        # there is no order to predict.
        right = np.where(tie, tied, pieces[:, :, 0])
        # Half for a tie, as for equal scores in the AUC (equation 1 of Agarwal,
        # Har-Peled and Roth 2005, "A Uniform Convergence Bound for the Area Under the
        # ROC Curve").
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
            misranked=np.where(tie, 0.0, pieces[:, :, 2]) @ accepted,
        )

    def __repr__(self) -> str:
        return (
            f"PairTotals(n_queries={self.pairs.size}, pairs={self.pairs.sum():g}, "
            f"answered_order={self.answered_order.sum():g}, "
            f"answered_tie={self.answered_tie.sum():g}, "
            f"correct={self.correct.sum():g}, ...)"
        )

    @property
    def answered_order(self) -> FloatArray:
        """Accepted pairs of which one item is predicted to be preferred, by query."""
        return self.accepted - self.answered_tie

    @property
    def coverage(self) -> float:
        """Share of pairs accepted; NaN for no pairs."""
        return _ratio(self.accepted, self.pairs)

    @property
    def accuracy(self) -> float:
        """Share of correct labels among accepted pairs; NaN without any."""
        return _ratio(self.correct, self.accepted)

    @property
    def misranking_rate(self) -> float:
        """Share of wrong orders among the decided orders; NaN without any."""
        return _ratio(self.misranked, self.answered_order)

    def selective_score(self, loss: FloatArray) -> float:
        """Return one minus the mean loss of accepted pairs; NaN without any.

        For the zero-one loss this is the accuracy.
        """
        if np.array_equal(loss, ZERO_ONE_LOSS):
            return self.accuracy
        # `correct` = right orders + right ties; `ordered` = right orders + half of the
        # wrong ties: their difference gives the right ties.
        right_ties = (self.correct - self.ordered + self.answered_tie / 2) / 1.5
        right_orders = self.correct - right_ties
        tied_orders = self.answered_order - right_orders - self.misranked
        spent = (
            loss[0, 2] * self.misranked
            + loss[0, 1] * tied_orders
            + loss[1, 0] * (self.answered_tie - right_ties)
        )
        return 1 - _ratio(spent, self.accepted)

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

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.selection import RiskProfile
    >>> profile = RiskProfile(np.array([0.1, 0.4]), np.array([6, 4]), np.array([6, 2]))
    >>> profile.coverage, profile.selective_risk
    (array([0.6, 1. ]), array([0. , 0.2]))
    """

    risk: FloatArray
    n_pairs: FloatArray
    n_correct: FloatArray

    @classmethod
    def of(
        cls, risk: FloatArray, pairs: FloatArray, correct: FloatArray
    ) -> RiskProfile:
        """Sort entries by risk and merge equal risks."""
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
        # A slice, so that nothing is divided by zero without pairs.
        return accepted / accepted[-1:]

    @property
    def selective_risk(self) -> FloatArray:
        """Share of errors among the pairs with at most each risk, (n_risks,)."""
        errors: FloatArray = np.cumsum(self.n_pairs - self.n_correct)
        return errors / np.cumsum(self.n_pairs)


def loss_of_orders(counts: FloatArray, loss: FloatArray) -> FloatArray:
    """Return the loss of predicting orders, from counts (..., 4) by outcome."""
    # Without the fourth column: equal values are always predicted to be a tie.
    spent: FloatArray = loss[0, 1] * counts[..., 1] + loss[0, 2] * counts[..., 2]
    return spent


def loss_of_ties(counts: FloatArray, loss: FloatArray) -> FloatArray:
    """Return the loss of predicting ties, from counts (..., 4) by outcome."""
    untied = counts[..., 0] + counts[..., 2] + counts[..., 3]
    spent: FloatArray = loss[1, 0] * untied
    return spent
