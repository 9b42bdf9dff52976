"""PairDecider: base of the rankers of items that abstain on some of their pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    BoolArray,
    FloatArray,
    IntArray,
    check_columns,
    check_relevance,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.estimators._model_wrapper import ModelWrapper
from skrank_abstain.intake import (
    Items,
    take_columns,
    take_items,
    warn_of_batch,
    warn_of_exchange,
)
from skrank_abstain.pairs import (
    PairDecisions,
    Queries,
    ScoredItems,
    check_item_id,
    check_output_size,
    check_pairs,
    rows_by_place,
)
from skrank_abstain.scorers import last_step, library_of, score_items
from skrank_abstain.selection import (
    DecisionEngine,
    PairTotals,
    decide_pairs,
    decide_queries,
)


class ItemValues(NamedTuple):
    """Items with their scores and with what the tie model compares.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
        Of the wrapped model.
    values : ndarray of shape (n_items,), float64
        What the tie model compares. One number per item, whatever it looks at: pairs
        can then be counted from sorted numbers, in O(n log n), without being formed.
    queries : Queries
        The query of each item.
    novel : ndarray of shape (n_items,), bool, or None
        Items whose pairs are abstained on.
    keys : ndarray of shape (n_items,), uint64, or None
        Hashes of the rows, where a boundary is randomised.
    group : ndarray of shape (n_items,), int64, or None
        Numbers of the groups, where the rule goes by groups of items.
    """

    scores: FloatArray
    values: FloatArray
    queries: Queries
    novel: BoolArray | None = None
    keys: NDArray[np.uint64] | None = None
    group: IntArray | None = None

    def sorted(self, y: FloatArray | None = None) -> ScoredItems:
        """Return the items in the order of their values, with their relevance."""
        others = self.novel, self.keys, self.group
        return ScoredItems.build(self.values, self.queries, y, *others)


def predict_items(ranker: Any, X: Any, qid: Any) -> FloatArray:
    """Return the score of each item by a fitted ranker; most models need no qid.

    GridSearchCV.predict cannot pass on a qid, even under metadata routing.
    """
    check_is_fitted(ranker, "estimator_")
    _check_sparsity(ranker, X)
    if qid is None and ranker._fitted_qid_col is None:
        return score_items(ranker.estimator_, model_columns(ranker, X))
    return score_new_items(ranker, X, qid)[1]


def model_columns(ranker: Any, X: Any) -> Any:
    """Return X as the model sees it, without the columns of queries and of groups."""
    X = check_columns(ranker, X, reset=False)
    column, groups = ranker._fitted_qid_col, _groups_of_fit(ranker)
    return take_columns(X, qid_col=column, groups=groups)[0]


def _groups_of_fit(ranker: Any) -> str | int | None:
    """Return the column of X with the groups of the items, if there is one."""
    return getattr(getattr(ranker, "_fitted_rule", None), "groups", None)


def score_new_items(
    ranker: Any, X: Any, qid: Any, *, needs_qid: bool = False
) -> tuple[Items, FloatArray]:
    """Return new items, grouped by query, and their scores by a fitted ranker.

    With ``needs_qid`` a missing qid is refused after a fit on several queries. That is
    for labelled rows, since items of different queries must not be compared;
    unlabelled rows may well be one new query.
    """
    check_is_fitted(ranker, "estimator_")
    _check_sparsity(ranker, X)
    column, groups = ranker._fitted_qid_col, _groups_of_fit(ranker)
    items = take_items(ranker, X, qid, column, reset=False, groups=groups)
    if needs_qid and ranker._fitted_with_qid and not items.has_qid:
        raise ValueError(
            "qid= must be given to score labelled rows, since fit got one: rows of "
            "different queries would be compared without it. Pass qid= (a Pipeline "
            "hands it on only with enable_metadata_routing=True and "
            "set_score_request(qid=True)), or name a column of X with qid_col=."
        )
    warn_of_batch(ranker, items)
    return items, score_items(ranker.estimator_, items.X, items.named_queries)


def _check_sparsity(ranker: Any, X: Any) -> None:
    """Refuse sparse rows for a booster that got dense ones in fit, and the reverse."""
    fitted = ranker._fitted_sparse
    if fitted == issparse(X):
        return
    library = library_of(last_step(ranker.estimator_))
    if library is not None:
        then, now = ("sparse", "dense") if fitted else ("dense", "sparse")
        raise ValueError(
            f"X must be {then} as in fit, got a {now} X: {library} may read the zeros "
            f"that a sparse matrix leaves out as missing values. Pass {then} rows, or "
            f"fit on {now} ones."
        )


def warn_if_undefined(accuracy: float) -> float:
    """Return a selective accuracy; warn if no pair is accepted.

    It is NaN then, not 1 for "no error", so that a search ranks it last.
    """
    if np.isnan(accuracy):
        warn_user(
            "The selective accuracy is undefined and set to NaN: no pair is accepted.",
            UndefinedMetricWarning,
        )
    return accuracy


@dataclass(frozen=True)
class _ItemNames:
    """Place, name and novelty of each item, to add to decisions about pairs."""

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


class PairDecider(ModelWrapper):
    """Base of the rankers of items that abstain on some of their pairs.

    ``fit`` sets ``_region``, what is accepted, and what ``take_labelled_items`` and
    ``train_and_score`` set. ``_decision`` decides pairs of new items.
    """

    _fitted_state: tuple[str, ...] = (
        *("_region", "_largest_query", "_fitted_with_qid", "_fitted_qid_col"),
        "_fitted_sparse",
    )

    # What the wrapped model requests, if it does, can pass through a Pipeline.
    __metadata_request__predict = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__decision_function = {"qid": True}  # noqa: RUF012

    _region: Any  # each engine has a type of its own
    _loss: FloatArray = ZERO_ONE_LOSS

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[DecisionEngine[Any], ItemValues]:
        """Return what decides pairs, and the items with their values."""
        raise NotImplementedError

    def predict(self, X: Any, qid: Any = None) -> FloatArray:
        """Return the wrapped ranker's score of each item.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; only models that request ``qid`` need it.

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better. One value per *item*: decisions come from other methods.
        """
        return predict_items(self, X, qid)

    def decision_function(self, X: Any, qid: Any = None) -> FloatArray:
        """Return the item scores of ``predict``; scikit-learn's scorers ask for it.

        Parameters
        ----------
        X, qid
            As in ``predict``.

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        return predict_items(self, X, qid)

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
            One row per item.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Row positions of the pairs to decide. All within-query pairs by default:
            queries in order of first appearance, within a query all (i, j) with i
            before j in row order.
        item_id : array-like of shape (n_items,), default=None
            Names of the items: any hashable values, each once in a query. The
            decisions return them as ``left_id`` and ``right_id``.

        Returns
        -------
        decisions : PairDecisions
            Label, acceptance, risk and probabilities of each pair.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, ``pairs`` names rows that are equal, out of
            range, or of different queries, or an ``item_id`` is twice in a query.
        """
        check_row_order(X, qid=qid, item_id=item_id)
        decision, items = self._decision(X, qid)
        return self._decided(decision, items, pairs, item_id)

    def _decided(
        self,
        decision: DecisionEngine[Any],
        items: ItemValues,
        pairs: ArrayLike | None,
        item_id: Any = None,
    ) -> PairDecisions:
        names = _ItemNames.of(items, item_id)
        given = decision, self._region, items.values, items.queries
        if pairs is None:
            made = decide_queries(*given, keys=items.keys, group=items.group)
        else:
            rows = check_pairs(pairs, items.queries)
            made = decide_pairs(*given, *rows, keys=items.keys, group=items.group)
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
        check_row_order(X, qid=qid, item_id=item_id)
        # Score the items now, so that bad input raises here, not at the first query.
        decision, items = self._decision(X, qid)
        names = _ItemNames.of(items, item_id)
        given = decision, self._region, items.values, items.queries
        # Some logs have many queries of one item: they share one empty result.
        by_row: dict[str, Any] = {"keys": items.keys, "group": items.group}
        none = names.added_to(decide_queries(*given, 0, 0, **by_row))
        return (
            names.added_to(decide_queries(*given, query, query + 1, **by_row))
            if n_pairs
            else none
            for query, n_pairs in enumerate(items.queries.pair_counts.tolist())
        )

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        pairs: ArrayLike | None = None,
    ) -> float:
        """Return one minus the selective risk under the ranker's own loss.

        Higher is better. For the zero-one loss it is the selective accuracy, the share
        of accepted pairs whose label is correct, in [0, 1]; for ``"misranking"`` the
        share of accepted pairs that are not in the wrong order.

        Do not choose a threshold by it: a search over ``coverage`` would take the
        lowest one. Search with ``scoring=selective_utility(cost)`` of
        `skrank_abstain.metrics`, where ``cost`` is the price of an abstention in units
        of an error.

        Parameters
        ----------
        X, qid
            As in ``predict_pairs``.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        sample_weight : array-like of shape (n_items,), default=None
            Item weights; a pair weighs the product of its two.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            The pairs to score, as in ``predict_pairs``; all of them by default.

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
        # Under metadata routing a search over a Pipeline refuses a score method that
        # has no sample_weight.
        totals = self.evaluate(X, y, qid, sample_weight, pairs=pairs)
        return warn_if_undefined(1 - totals.selective_risk)

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        pairs: ArrayLike | None = None,
    ) -> PairTotals:
        """Add up, query by query, what happens to labelled pairs.

        Parameters
        ----------
        X, y, qid, sample_weight, pairs
            As in ``score``.

        Returns
        -------
        totals : PairTotals
            Pairs, accepted pairs, correct ones and more, each of shape (n_queries,);
            ``totals.coverage``, ``selective_risk``, its ``yardstick``, ``accuracy`` and
            ``concordance`` pool them.

        Notes
        -----
        Without ``pairs`` O(n log n): none is formed where acceptance depends on the
        scores, but for a randomised boundary: O(n_pairs) then.
        """
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        decision, items = self._decision(X, qid, needs_qid=True)
        relevance = check_relevance(y, items.values.size)
        weight = check_sample_weight(sample_weight, items.values.size)
        warn_of_exchange(relevance, items.queries, "evaluate")
        if pairs is None:
            return decision.totals(self._region, items.sorted(relevance), weight)
        made = self._decided(decision, items, pairs)
        return PairTotals.of_decisions(
            made, relevance, items.queries, weight, self._loss
        )
