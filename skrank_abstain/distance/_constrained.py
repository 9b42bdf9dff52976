"""What the rankers of bounded weights share: items in, pairs, a score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank_abstain._saving import Saved
from skrank_abstain._validation import (
    FloatArray,
    check_choice,
    check_positive_int,
    check_relevance,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.distance._pairs import check_pairs_of_labels
from skrank_abstain.distance._strict import (
    LabelledPairs,
    NumberedPairs,
    PairBatches,
    StrictPairs,
)
from skrank_abstain.pairs import ScoredItems, group_queries

#: With batch_size="auto": up to so many pairs are used in each step, or so many drawn.
_FEW_PAIRS = 1 << 16
_BATCH = 1 << 12


class ConstrainedRanker(Saved, BaseEstimator):
    """A ranker trained on pairs of items of one query, of which one is to win."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    norm: float
    batch_size: Any
    random_state: Any

    def _take(
        self,
        X: Any,
        y: ArrayLike | None,
        qid: Any,
        pairs: ArrayLike | None,
        pair_labels: ArrayLike | None,
    ) -> PairBatches:
        """Check the training data; set what is known before training."""
        check_row_order(X, y=y, qid=qid)
        taken: NumberedPairs
        if pair_labels is None:
            if pairs is not None:
                raise ValueError("pair_labels must be given with pairs: who is to win.")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            queries = group_queries(qid, X.shape[0])
            taken = StrictPairs.of(check_relevance(y), queries)
        else:
            pairs = check_pairs_of_labels(y, pairs)
            X = validate_data(self, X, dtype=np.float64)
            queries = group_queries(qid, X.shape[0])
            taken = LabelledPairs.of(pairs, pair_labels, queries)
        self._fitted_with_qid = qid is not None
        self.n_pairs_ = taken.n_pairs
        self.max_feature_norm_ = float(np.linalg.norm(X, self.norm, axis=1).max())
        # The theory is about the unit ball; features are left as they are, and how far
        # they are from it is reported.
        size = self._batch_size(taken.n_pairs)
        return PairBatches(X, taken, size, check_random_state(self.random_state))

    def _batch_size(self, n_pairs: int) -> int:
        if isinstance(self.batch_size, str):
            check_choice(self.batch_size, "batch_size", ("auto",))
            return n_pairs if n_pairs <= _FEW_PAIRS else _BATCH
        return check_positive_int(self.batch_size, "batch_size")

    def _check_items(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        items: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return items

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
        raise NotImplementedError

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
        # Without this check a search that forgets to route qid would compare rows of
        # different queries, and report it as a score.
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        scores = self.predict(X)
        if self._fitted_with_qid and qid is None:
            raise ValueError(
                "qid= must be given to score, since fit got one: without it rows of "
                "different queries would be compared."
            )
        relevance = check_relevance(y, scores.size)
        items = ScoredItems.build(scores, group_queries(qid, scores.size), relevance)
        weight = check_sample_weight(sample_weight, scores.size)
        totals = (
            items.count_outcomes([0.0], 0.0)
            if weight is None
            else items.weigh_outcomes([0.0], 0.0, weight)
        ).sum(axis=0)[0]
        right, _, wrong, undecided = (float(total) for total in totals)
        strict = right + wrong + undecided
        if strict == 0:
            warn_user(
                "The score is undefined and set to NaN: no pair of items of one query "
                "has different relevance.",
                UndefinedMetricWarning,
            )
            return float("nan")
        return (right + undecided / 2) / strict

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
