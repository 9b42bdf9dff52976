"""What the rankers that abstain on pairs share, whatever makes them abstain."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_relevance,
    check_sample_weight,
)
from skrank_abstain.estimators._items import Items, check_groups, take_items
from skrank_abstain.estimators._wrapping import RankerWrapper
from skrank_abstain.pairs import PairDecisions, Queries, ScoredItems, check_pairs
from skrank_abstain.scorers import score_items
from skrank_abstain.selection import (
    PairJudge,
    PairTotals,
    decide_pairs,
    decide_queries,
)
from skrank_abstain.tie_models import LabelledScores


class AbstainingRanker(RankerWrapper):
    """Base of the rankers that decide some pairs and abstain on the others.

    ``fit`` trains the ranker and keeps of the calibration queries what the rule needs
    (``_learn``); the rule sets what is accepted (``_set_threshold``); for new items it
    names the judge of their pairs (``_judge``). Everything else follows from these.
    """

    random_state: Any
    verbose: int

    #: The fitted attribute that says which pairs are accepted.
    _threshold_name = "threshold_"
    #: The same, as the judge of pairs reads it.
    _region: Any

    @abstractmethod
    def _check_rule(self) -> None:
        """Check the parameters of the rule."""

    @abstractmethod
    def _learn(self, data: LabelledScores, groups: IntArray) -> None:
        """Keep what the rule needs; set ``n_queries_`` and ``n_pairs_``."""

    @abstractmethod
    def _set_threshold(self) -> None:
        """Set ``_region`` and ``coverage_`` from what was kept; nothing is rescored."""

    @abstractmethod
    def _judge(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[PairJudge, FloatArray, Queries]:
        """Return what judges pairs, one value per item, and the queries."""

    def _check_parameters(self) -> None:
        """Check what can be checked before any data are seen."""
        self._check_rule()

    def _check_items(self, items: Items) -> None:
        """Refuse items that the rule cannot judge, before anything is trained."""

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:
        """Train the ranker unless it is fitted, then calibrate.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order. None or a scalar:
            all items are one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, no calibration query has two
            items, or the model's scores are not finite.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.
        """
        return self._fit(X, y, qid, None)

    def _fit(self, X: Any, y: ArrayLike, qid: Any, groups: Any) -> Self:
        self._check_parameters()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        items = take_items(self, X, qid, self.qid_col, reset=True)
        relevance = check_relevance(y, items.queries.n_items)
        self._check_items(items)
        self._fitted_with_qid = items.has_qid
        # One draw per use, so that the split does not depend on the boundary mode.
        random = check_random_state(self.random_state)
        split_seed, self._boundary_seed = random.randint(2**31 - 1, size=2).tolist()
        groups = check_groups(groups, items.queries)
        rows = self._fit_estimator(items, relevance, split_seed, groups)
        rest = items.take(rows)
        data = LabelledScores(
            score_items(self.estimator_, rest.X), relevance[rows], rest.queries, rest.X
        )
        if rest.queries.n_pairs == 0:
            raise ValueError(
                "qid must give at least one calibration query with two items, got "
                f"{rest.queries.n_queries} queries with "
                f"n_samples={rest.queries.n_items} items."
            )
        self._learn(data, groups[rows])
        self._set_threshold()
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] calibrated on {self.n_pairs_} pairs of "
                f"{self.n_queries_} queries: {self._threshold_name.rstrip('_')} "
                f"{getattr(self, self._threshold_name):.6g}, coverage "
                f"{self.coverage_:.4f}"
            )
        return self

    def _with(self, **rule: Any) -> Self:
        """Return a fitted copy with another rule."""
        check_is_fitted(self, self._threshold_name)
        other = copy.copy(self)
        for name, value in rule.items():
            setattr(other, name, value)
        other._check_rule()
        other._set_threshold()
        return other

    def predict_pairs(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> PairDecisions:
        """Decide pairs of items of one query.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Row positions of the pairs to decide. All within-query pairs by default:
            queries in order of first appearance, within a query all (i, j) with i
            before j in row order.

        Returns
        -------
        decisions : PairDecisions
            Label and acceptance of each pair, and what they rest on.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or ``pairs`` names rows that are equal,
            out of range, or of different queries.

        Notes
        -----
        O(n_pairs) beyond the wrapped model's own prediction.
        """
        judge, values, queries = self._judge(X, qid)
        if pairs is None:
            return decide_queries(judge, self._region, values, queries)
        left, right = check_pairs(pairs, queries)
        return decide_pairs(judge, self._region, values, queries, left, right)

    def abstain(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> BoolArray:
        """Return which pairs go to a person: one value per *pair*.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        abstained : ndarray of shape (n_pairs,), bool
            Aligned with ``predict_pairs(X, qid, pairs=pairs)``.
        """
        return self.predict_pairs(X, qid, pairs=pairs).abstained

    def iter_pairs(self, X: Any, qid: Any = None) -> Iterator[PairDecisions]:
        """Yield the decisions of one query after the other.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.

        Yields
        ------
        decisions : PairDecisions
            All pairs of one query; none for a query of one item. Together they are
            ``predict_pairs(X, qid)`` in bounded memory.
        """
        judge, values, queries = self._judge(X, qid)
        return self._iter_decisions(judge, values, queries)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the selective accuracy: correct predictions among accepted pairs.

        Higher is better, in [0, 1].

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        sample_weight : array-like of shape (n_items,), default=None
            Item weights; a pair weighs the product of its two.

        Returns
        -------
        accuracy : float
            NaN where no pair is accepted.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is scored without one.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no pair is accepted.
        """
        accuracy = self.evaluate(X, y, qid, sample_weight).accuracy
        if np.isnan(accuracy):
            warnings.warn(
                "The selective accuracy is undefined and set to NaN: no pair is "
                "accepted.",
                UndefinedMetricWarning,
                stacklevel=2,
            )
        return accuracy

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> PairTotals:
        """Add up, query by query, what happens to labelled pairs.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in ``score``.

        Returns
        -------
        totals : PairTotals
            Pairs, accepted pairs, correct ones and more, of shape (n_queries,) each;
            ``totals.coverage``, ``totals.accuracy`` and ``totals.auc`` pool them.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is evaluated without one.

        Notes
        -----
        Pairs on a randomised boundary count with their probability of acceptance.
        O(n log n), no pair is formed where acceptance depends on the scores.
        """
        judge, values, queries = self._judge(X, qid, needs_qid=True)
        relevance = check_relevance(y, queries.n_items)
        weight = check_sample_weight(sample_weight, queries.n_items)
        items = ScoredItems.build(values, queries, relevance)
        return judge.totals(self._region, items, weight)

    def _iter_decisions(
        self, judge: PairJudge, values: FloatArray, queries: Queries
    ) -> Iterator[PairDecisions]:
        for query in range(queries.n_queries):
            yield decide_queries(judge, self._region, values, queries, query, query + 1)
