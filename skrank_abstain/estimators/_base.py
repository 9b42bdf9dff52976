"""What the selective rankers share: everything but the rule for the threshold."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_loss,
    check_relevance,
    check_sample_weight,
)
from skrank_abstain.estimators._items import check_groups, take_items
from skrank_abstain.estimators._report import write_report
from skrank_abstain.estimators._wrapping import RankerWrapper
from skrank_abstain.pairs import PairDecisions, Queries, ScoredItems, check_pairs
from skrank_abstain.scorers import score_items
from skrank_abstain.selection import (
    PairRisk,
    PairTotals,
    RiskProfile,
    calibrate,
    decide_pairs,
    decide_queries,
)
from skrank_abstain.tie_models import LabelledScores, TieModel, tie_model_candidates


class SelectiveRanker(RankerWrapper):
    """Base of the rankers that abstain on pairs of risk above a threshold.

    Data flows one way: items are scored, scores become pair probabilities, these
    become a conditional risk, calibration risks become a threshold, and the threshold
    decides pairs. A subclass supplies the step from calibration risks to threshold.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        tie_model: Any,
        loss: Any,
        prefit: Any,
        calibration_size: float,
        relevance_bins: int | None,
        qid_col: str | int | None,
        random_state: Any,
        verbose: int,
    ) -> None:
        self.estimator = estimator
        self.tie_model = tie_model
        self.loss = loss
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _select(self, risk: PairRisk, items: ScoredItems) -> Any:
        """Return the accepted region from the calibration items."""

    @abstractmethod
    def _check_rule(self) -> None:
        """Check the parameters of the rule."""

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
        self._check_rule()
        self._loss = check_loss(self.loss)
        candidates = tie_model_candidates(self.tie_model)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        items = take_items(self, X, qid, self.qid_col, reset=True)
        relevance = check_relevance(y, items.queries.n_items)
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
        self._calibrate(candidates, data, groups[rows])
        self._set_threshold()
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] calibrated on {self.n_pairs_} pairs of "
                f"{self.n_queries_} queries: threshold {self.threshold_:.6g}, coverage "
                f"{self.coverage_:.4f}"
            )
        return self

    def _calibrate(
        self, candidates: list[TieModel], data: LabelledScores, groups: IntArray
    ) -> None:
        """Fit the tie model, and keep the pairs that the threshold comes from."""
        self.tie_model_, self._risk, self._items = calibrate(
            candidates, self._loss, data
        )
        self.n_queries_ = data.queries.n_queries
        self.n_pairs_ = data.queries.n_pairs

    def _set_threshold(self) -> None:
        """Set the threshold from what calibration stored; nothing is rescored."""
        self._region = self._select(self._risk, self._items)
        self.threshold_ = self._region.risk
        accepted = self._risk.accepted_mass(self._region, self._items)
        self.coverage_ = accepted / self._items.n_pairs

    def _with(self, **rule: Any) -> Self:
        """Return a fitted copy with another rule."""
        check_is_fitted(self, "threshold_")
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
            Label, acceptance, risk and probabilities of each pair.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or ``pairs`` names rows that are equal,
            out of range, or of different queries.

        Notes
        -----
        O(n_pairs) beyond the wrapped model's own prediction.
        """
        values, queries = self._values(X, qid)
        if pairs is None:
            return decide_queries(self._risk, self._region, values, queries)
        left, right = check_pairs(pairs, queries)
        return decide_pairs(self._risk, self._region, values, queries, left, right)

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

    def pair_proba(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1 of each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
        """
        return self.predict_pairs(X, qid, pairs=pairs).proba

    def conditional_risk(
        self, X: Any, qid: Any = None, *, pairs: ArrayLike | None = None
    ) -> FloatArray:
        """Return the expected loss of the best prediction for each pair.

        Parameters
        ----------
        X, qid, pairs
            As in ``predict_pairs``.

        Returns
        -------
        risk : ndarray of shape (n_pairs,), float64
            Lower is better. For the zero-one loss one minus the largest probability.
        """
        return self.predict_pairs(X, qid, pairs=pairs).risk

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
        values, queries = self._values(X, qid)
        return self._iter_decisions(values, queries)

    def rank_intervals(self, X: Any, qid: Any = None) -> IntArray:
        """Return the best and the worst rank that the accepted orders leave open.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.

        Returns
        -------
        intervals : ndarray of shape (n_items, 2), int64
            Best and worst rank within the query, 1 = top. An item whose worst rank
            is at most k is in the top k for certain, as far as the accepted pairs
            are right.

        Raises
        ------
        ValueError
            If the accepted orders are no semiorder. They always are one for models of
            the score difference, and for the zero-one loss at thresholds of at most
            1/2 for `GradedRelevance` and `FeatureAwareRelevance`.

        Notes
        -----
        The best rank is one plus the number of items accepted over this one, the
        worst the size of the query minus the number of items that this one is
        accepted over. A semiorder [1]_ is transitive; accepted ties say that
        two items are indifferent and open or close no rank. Pairs on a randomised
        boundary count as abstained. O(n log n), no pair is formed.

        References
        ----------
        .. [1] Luce (1956). "Semiorders and a Theory of Utility Discrimination".
           Econometrica 24.
        """
        values, queries = self._values(X, qid)
        items = ScoredItems.build(values, queries)
        return self._risk.rank_bounds(self._region, items)

    def preference_graph(self, X: Any) -> csr_array:
        """Return the accepted orders of one query without those that follow.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            The items of one query.

        Returns
        -------
        graph : csr_array of shape (n_items, n_items), bool
            The transitive reduction (Hasse diagram): entry [i, j] where i is accepted
            over j and over no item that is accepted over j. Its transitive closure
            are all accepted orders. ``networkx.from_scipy_sparse_array(graph,
            create_using=networkx.DiGraph)`` draws it.

        Notes
        -----
        O(n log n) plus the number of entries.
        """
        values, queries = self._values(X, None)
        items = ScoredItems.build(values, queries)
        bounds = self._risk.rank_bounds(self._region, items)
        return items.preference_graph(bounds)

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
        O(n log n), no pair is formed.
        """
        items = self._labelled_items(X, y, qid)
        weight = check_sample_weight(sample_weight, items.rows.size)
        return self._risk.totals(self._region, items, weight)

    def risk_profile(self, X: Any, y: ArrayLike, qid: Any = None) -> RiskProfile:
        """Return pairs and correct predictions at each risk, whatever the threshold.

        Parameters
        ----------
        X, y, qid
            As in ``score``.

        Returns
        -------
        profile : RiskProfile
            ``profile.risk``, ``profile.n_pairs`` and ``profile.n_correct``;
            ``profile.coverage`` and ``profile.selective_risk`` are the risk-coverage
            curve.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is evaluated without one.

        Notes
        -----
        Beyond four million pairs differences that agree to 0.2 % count as one. Pairs
        are looked at (2 ns) up to 10,000 items a query; O(n log n) for few grades.
        """
        items = self._labelled_items(X, y, qid)
        return self._risk.profile(items)

    def _values(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[FloatArray, Queries]:
        """Return what the tie model compares, one value per item, and the queries."""
        items, scores = self._score_items(X, qid, needs_qid=needs_qid)
        values = self.tie_model_.item_values(scores, items.queries, items.X)
        return values, items.queries

    def _labelled_items(self, X: Any, y: ArrayLike, qid: Any) -> ScoredItems:
        values, queries = self._values(X, qid, needs_qid=True)
        return ScoredItems.build(values, queries, check_relevance(y, queries.n_items))

    def report(self, X: Any, y: ArrayLike, qid: Any = None) -> str:
        """Return a page about data, model, threshold and results, for an audit.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.

        Returns
        -------
        report : str
            Markdown. Intervals are over queries, since the pairs of one query are
            dependent.
        """
        return write_report(self, self._labelled_items(X, y, qid))

    @abstractmethod
    def _rule_in_words(self) -> str:
        """Say how the threshold came about."""

    def _promise_in_words(self) -> str:
        """Say what the threshold promises."""
        return (
            "The threshold is an estimate. It targets the coverage or the cost; it "
            "does not guarantee an accuracy."
        )

    def _iter_decisions(
        self, values: FloatArray, queries: Queries
    ) -> Iterator[PairDecisions]:
        for query in range(queries.n_queries):
            yield decide_queries(
                self._risk, self._region, values, queries, query, query + 1
            )
