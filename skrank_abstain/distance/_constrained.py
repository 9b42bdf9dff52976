"""Base class of the rankers of bounded weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank_abstain._saving import Saved
from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    FloatArray,
    check_choice,
    check_positive_int,
    check_relevance,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain.distance._pairs import check_pair_labels, check_pairs_of_labels
from skrank_abstain.distance._strict import (
    LabelledPairs,
    NumberedPairs,
    PairBatches,
    StrictPairs,
)
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import ScoredItems, check_pairs, group_queries

#: With batch_size="auto", up to _FEW_PAIRS pairs are all used in each step; of more,
#: _BATCH are drawn.
_FEW_PAIRS = 1 << 16
_BATCH = 1 << 12


class ConstrainedRanker(Saved, BaseEstimator, ABC):
    """A ranker trained on pairs of items of one query, of which one is to win.

    A subclass checks its parameters, trains and scores; ``fit`` calls the first before
    it looks at the data, which may be large.
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    norm: float
    batch_size: Any
    random_state: Any

    @abstractmethod
    def _check_parameters(self) -> Any:
        """Return what ``_train`` needs to know besides the pairs."""

    @abstractmethod
    def _train(self, problem: Any, batches: PairBatches) -> list[float]:
        """Set the weights, and return the mean surrogate of each step."""

    @abstractmethod
    def _scores(self, items: FloatArray) -> FloatArray:
        """Return the score of each row of checked features."""

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: Any = None,
        *,
        pairs: ArrayLike | None = None,
        pair_labels: ArrayLike | None = None,
    ) -> Self:
        """Train on pairs.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Features, taken as they are.
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. Items of equal relevance are not compared. None
            with ``pair_labels``.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item, in any order; None for one query.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Pairs (left, right) of row positions, instead of those of ``y``.
        pair_labels : array-like of shape (n_pairs,), default=None
            Label of each of ``pairs``: +1 if the left item is preferred, -1 if the
            right one is (the opposite of the paper's y). Pairs may repeat, be wrong and
            form cycles.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If a numeric parameter is not a number.
        ValueError
            If a parameter or an input breaks its rule, no two items of a query differ
            in relevance, ``pairs`` or ``pair_labels`` come alone or with ``y``, or the
            surrogate of the features exceeds float64.
        """
        problem = self._check_parameters()
        check_row_order(X, y=y, qid=qid)
        taken: NumberedPairs
        if pair_labels is None:
            if pairs is not None:
                raise ValueError("pair_labels must be given with pairs: who is to win.")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            taken = StrictPairs.of(check_relevance(y), group_queries(qid, X.shape[0]))
        else:
            pairs = check_pairs_of_labels(y, pairs)
            X = validate_data(self, X, dtype=np.float64)
            left, right = check_pairs(pairs, group_queries(qid, X.shape[0]))
            if left.size == 0:
                raise ValueError("pairs must hold at least one pair, got 0.")
            left_wins = check_pair_labels(pair_labels, left.size) > 0
            better = np.where(left_wins, left, right)
            taken = LabelledPairs(better, np.where(left_wins, right, left))
        self._fitted_with_qid = qid is not None
        self.n_pairs_ = taken.n_pairs
        # The theory is about the unit ball. Features are left as they are, but their
        # distance from it is reported.
        self.max_feature_norm_ = float(np.linalg.norm(X, self.norm, axis=1).max())
        size = self._batch_size(taken.n_pairs)
        batches = PairBatches(X, taken, size, check_random_state(self.random_state))
        # Losses and gradients that are not finite raise where they occur.
        with np.errstate(over="ignore", invalid="ignore"):
            losses = self._train(problem, batches)
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = len(losses)
        return self

    def _batch_size(self, n_pairs: int) -> int:
        if isinstance(self.batch_size, str):
            check_choice(self.batch_size, "batch_size", ("auto",))
            return n_pairs if n_pairs <= _FEW_PAIRS else _BATCH
        return check_positive_int(self.batch_size, "batch_size")

    def predict(self, X: Any) -> FloatArray:
        """Return the score of each item.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        check_is_fitted(self)
        return self._scores(validate_data(self, X, dtype=np.float64, reset=False))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of pairs of different relevance that are ordered right.

        Higher is better, in [0, 1]: the pooled within-query AUC.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; needed where ``fit`` got one.
        sample_weight : array-like of shape (n_items,), default=None
            Weights of items; a pair weighs the product of its two.

        Returns
        -------
        accuracy : float
            Equal scores count one half. NaN where no pair has different relevance.

        Raises
        ------
        ValueError
            If ``fit`` got a ``qid`` and this does not.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no pair has different relevance.

        Notes
        -----
        O(n log n); no pair is formed.
        """
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        scores = self.predict(X)
        # A search that forgets to route qid would compare rows of different queries.
        if self._fitted_with_qid and qid is None:
            raise ValueError(
                "qid= must be given to score, since fit got one: without it rows of "
                "different queries would be compared."
            )
        relevance = check_relevance(y, scores.size)
        items = ScoredItems.build(scores, group_queries(qid, scores.size), relevance)
        weight = check_sample_weight(sample_weight, scores.size)
        if weight is None:
            weight = np.ones(scores.size)
        totals = items.weigh_outcomes([0.0], 0.0, weight).sum(axis=0)[0]
        right, _, wrong, undecided = totals.tolist()
        strict = right + wrong + undecided
        if strict == 0:
            return undefined("The score of pairs of different relevance")
        return float((right + undecided / 2) / strict)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
