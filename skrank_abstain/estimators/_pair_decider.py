"""What the rankers that abstain on pairs share, whatever makes them abstain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    BoolArray,
    FloatArray,
    IntArray,
    check_relevance,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators._item_scorer import ItemScorer, ItemValues
from skrank_abstain.pairs import (
    PairDecisions,
    check_item_id,
    check_output_size,
    check_pairs,
    rows_by_place,
)
from skrank_abstain.selection import (
    PairDecision,
    PairTotals,
    decide_pairs,
    decide_queries,
)


@dataclass(frozen=True)
class _ItemNames:
    """What decisions say about their items besides the rows."""

    place: IntArray
    novel: BoolArray | None
    item_id: NDArray[Any] | None

    @classmethod
    def of(cls, items: ItemValues, item_id: Any) -> Self:
        rows, place = rows_by_place(items.values, items.queries)
        by_row = np.empty_like(place)
        by_row[rows] = place
        return cls(by_row, items.novel, check_item_id(item_id, items.queries))

    def added_to(self, decisions: PairDecisions) -> PairDecisions:
        if self.novel is not None:
            decisions = decisions.leaving_out(self.novel)
        if self.item_id is None:
            return replace(decisions, place=self.place)
        check_output_size(len(decisions), 2 * self.item_id.itemsize)
        left_id, right_id = self.item_id[decisions.left], self.item_id[decisions.right]
        return replace(decisions, place=self.place, left_id=left_id, right_id=right_id)


class PairDecider(ItemScorer):
    """Mixin of the rankers of items that decide some pairs and abstain on the others.

    ``fit`` sets ``estimator_`` and ``_region``, what is accepted; for new items
    ``_decision`` names what decides their pairs. Everything else follows from these.
    """

    _fitted_state: tuple[str, ...] = ("_region",)

    _region: Any
    _loss: FloatArray = ZERO_ONE_LOSS

    @abstractmethod
    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[PairDecision, ItemValues]:
        """Return what decides pairs, and the items with their values."""

    def predict_pairs(
        self,
        X: Any,
        qid: Any = None,
        *,
        pairs: ArrayLike | None = None,
        item_id: Any = None,
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
        item_id : array-like of shape (n_items,), default=None
            What you call the items: any hashable values, each once in a query. They
            come back as ``left_id`` and ``right_id``.

        Returns
        -------
        decisions : PairDecisions
            Label and acceptance of each pair, and what they rest on.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, ``pairs`` names rows that are equal,
            out of range, or of different queries, or an ``item_id`` is twice in one.

        Notes
        -----
        O(n_pairs) beyond the wrapped model's own prediction.
        """
        check_row_order(X, item_id=item_id)
        decision, items = self._decision(X, qid)
        values, queries = items.values, items.queries
        names = _ItemNames.of(items, item_id)
        if pairs is None:
            made = decide_queries(decision, self._region, values, queries)
        else:
            left, right = check_pairs(pairs, queries)
            made = decide_pairs(decision, self._region, values, queries, left, right)
        return names.added_to(made)

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

    def iter_pairs(
        self, X: Any, qid: Any = None, *, item_id: Any = None
    ) -> Iterator[PairDecisions]:
        """Yield the decisions of one query after the other.

        Parameters
        ----------
        X, qid, item_id
            As in ``predict_pairs``.

        Yields
        ------
        decisions : PairDecisions
            All pairs of one query; none for a query of one item. Together they are
            ``predict_pairs(X, qid)`` in bounded memory.
        """
        check_row_order(X, item_id=item_id)
        # Items are scored now, so that bad input raises here, not at the first query.
        decision, items = self._decision(X, qid)
        values, queries = items.values, items.queries
        names, region = _ItemNames.of(items, item_id), self._region
        # Of the many queries that have one item in some logs each is as the other.
        none = names.added_to(decide_queries(decision, region, values, queries, 0, 0))
        return (
            names.added_to(
                decide_queries(decision, region, values, queries, query, query + 1)
            )
            if n_pairs
            else none
            for query, n_pairs in enumerate(queries.pair_counts.tolist())
        )

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return one minus the selective risk under the ranker's own loss.

        Not for the choice of a threshold: a search over ``coverage`` by this score, the
        default of every search, takes the lowest one. Pass it
        ``scoring=selective_utility(cost)`` of `skrank_abstain.metrics`, ``cost`` being
        the price of an abstention in units of an error.

        Higher is better. For the zero-one loss it is the selective accuracy, the share
        of accepted pairs whose label is correct, in [0, 1]; for ``"misranking"`` the
        share of accepted pairs that are not in the wrong order.

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
        # sample_weight is in the signature also for scikit-learn: under routing a
        # search over a Pipeline refuses a score method without it.
        accuracy = self.evaluate(X, y, qid, sample_weight).selective_score(self._loss)
        # NaN instead of 1 for "no error": a search then ranks a ranker that decides
        # nothing last.
        if np.isnan(accuracy):
            warn_user(
                "The selective accuracy is undefined and set to NaN: no pair is "
                "accepted.",
                UndefinedMetricWarning,
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
        check_row_order(X, y=y, sample_weight=sample_weight)
        decision, items = self._decision(X, qid, needs_qid=True)
        relevance = check_relevance(y, items.values.size)
        weight = check_sample_weight(sample_weight, items.values.size)
        return decision.totals(self._region, items.sorted(relevance), weight)
