"""What the selective rankers share: everything but the rule for the threshold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_loss,
    check_relevance,
)
from skrank_abstain.estimators._abstaining import AbstainingRanker
from skrank_abstain.estimators._report import write_report
from skrank_abstain.pairs import Queries, ScoredItems
from skrank_abstain.selection import PairRisk, RiskProfile, calibrate
from skrank_abstain.tie_models import LabelledScores, TieModel, tie_model_candidates


class SelectiveRanker(AbstainingRanker):
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._loss = check_loss(self.loss)
        tie_model_candidates(self.tie_model)

    def _learn(self, data: LabelledScores, groups: IntArray) -> None:
        self._calibrate(tie_model_candidates(self.tie_model), data, groups)

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
        self._region = self._select(self._risk, self._items)
        self.threshold_ = self._region.risk
        accepted = self._risk.accepted_mass(self._region, self._items)
        self.coverage_ = accepted / self._items.n_pairs

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
        return cast("FloatArray", self.predict_pairs(X, qid, pairs=pairs).proba)

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
        return cast("FloatArray", self.predict_pairs(X, qid, pairs=pairs).risk)

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

    def _judge(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[PairRisk, FloatArray, Queries]:
        values, queries = self._values(X, qid, needs_qid=needs_qid)
        return self._risk, values, queries

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
