"""What happened to labelled queries, one value per query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SetResults:
    """What ``TopSetRanker.evaluate`` returns: the sets of labelled queries.

    Attributes
    ----------
    size : ndarray of shape (n_queries,), int64
        Items in the set of each query, in order of first appearance.
    n_items : ndarray of shape (n_queries,), int64
        Items of each query.
    holds_best : ndarray of shape (n_queries,), float64
        1 if the set holds a best item, 0 if not; NaN where all items of the query are
        equally relevant, so that any set would hold one.
    weight : ndarray of shape (n_queries,), float64
        Mean sample weight of the items; 1 without weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> ranker = TopSetRanker(Ridge(), random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> results = ranker.evaluate(new.data, new.target, qid=new.qid)
    >>> results.share > 0.85, results.mean_size < 8
    (True, True)
    """

    size: IntArray
    n_items: IntArray
    holds_best: FloatArray
    weight: FloatArray

    @property
    def share(self) -> float:
        """Share of the sets that hold a best item; NaN if the items of no query differ.

        Queries whose items are all equally relevant do not count.
        """
        return mean_of_known(self.holds_best, self.weight)

    @property
    def mean_size(self) -> float:
        """Mean size of the sets; NaN without queries."""
        return mean_of_known(self.size.astype(np.float64), self.weight)


@dataclass(frozen=True, eq=False)
class QueryResults:
    """What ``QueryRiskRanker.evaluate`` returns: the lists of labelled queries.

    Attributes
    ----------
    accepted : ndarray of shape (n_queries,), bool
        Queries in order of first appearance; the others go to a person.
    metric : ndarray of shape (n_queries,), float64
        Metric of the list; NaN for a query without a relevant item.
    risk : ndarray of shape (n_queries,), float64
        One minus the expected metric.
    weight : ndarray of shape (n_queries,), float64
        Mean sample weight of the items; 1 without weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import QueryRiskRanker
    >>> train = make_ranking(n_queries=200, random_state=0)
    >>> new = make_ranking(n_queries=100, random_state=1)
    >>> ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> results = ranker.evaluate(new.data, new.target, qid=new.qid)
    >>> results.selective_risk < results.full_risk
    True
    """

    accepted: BoolArray
    metric: FloatArray
    risk: FloatArray
    weight: FloatArray

    @property
    def coverage(self) -> float:
        """Share of the queries that are accepted; NaN without queries."""
        return mean_of_known(self.accepted.astype(np.float64), self.weight)

    @property
    def selective_risk(self) -> float:
        """Mean of one minus the metric of the accepted queries; NaN if none counts.

        Queries without a relevant item do not count.
        """
        metric = np.where(self.accepted, self.metric, np.nan)
        return 1 - mean_of_known(metric, self.weight)

    @property
    def full_risk(self) -> float:
        """The same if every query were accepted."""
        return 1 - mean_of_known(self.metric, self.weight)


def mean_of_known(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean of the values that are not NaN; NaN for none."""
    known = ~np.isnan(values)
    if not weight[known].sum():
        return float("nan")
    return float(np.average(values[known], weights=weight[known]))
