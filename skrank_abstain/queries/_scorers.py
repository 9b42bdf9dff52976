"""Scorers of the rankers of whole queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray
from skrank_abstain.metrics import RankerScorer, area_of_prefixes, undefined


def query_blocks(metric: FloatArray, risk: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the number of accepted queries and their loss at each threshold.

    Parameters
    ----------
    metric : ndarray of shape (n_queries,), float64
        NaN for queries without a relevant item, which do not count.
    risk : ndarray of shape (n_queries,), float64

    Returns
    -------
    count, lost : ndarray of shape (n_thresholds,), float64
        Queries of at most each distinct risk, and the sum of one minus their metric.
    """
    known = ~np.isnan(metric)
    levels, which = np.unique(risk[known], return_inverse=True)
    n_levels = levels.size
    count = np.cumsum(np.bincount(which, minlength=n_levels)).astype(np.float64)
    lost = np.cumsum(np.bincount(which, 1 - metric[known], minlength=n_levels) * 1.0)
    return count, lost


class _NegativeSetSize(RankerScorer):
    """Scorer: minus the mean size of the sets of a `TopSetRanker`.

    Higher is better, at most -1. Sets of every ranker keep the promise of ``alpha``, so
    that rankers, tie models and splits compare by their size.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import TopSetRanker, neg_set_size_scorer
    >>> data = make_ranking(n_queries=200, random_state=0)
    >>> ranker = TopSetRanker(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, data.qid)
    >>> -8 < neg_set_size_scorer(ranker, data.data, data.target, qid=data.qid) < -1
    True
    """

    needs = "set_sizes"

    def __repr__(self) -> str:
        return "neg_set_size_scorer"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        return -float(ranker.set_sizes(X, qid=qid).mean())


class _NegativeQueryAURC(RankerScorer):
    """Scorer: minus the area under the risk-coverage curve of a `QueryRiskRanker`.

    Higher is better, in [-1, 0]; NaN, with a warning, without a query that holds a
    relevant item. The mean over k of the mean loss, one minus the metric, of the k
    queries of lowest risk; equal risks in random order. Thresholds do not matter.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.queries import QueryRiskRanker, neg_query_aurc_scorer
    >>> data = make_ranking(n_queries=200, random_state=0)
    >>> ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, data.qid)
    >>> -0.2 < neg_query_aurc_scorer(ranker, data.data, data.target, data.qid) < 0
    True
    """

    needs = "query_risk"

    def __repr__(self) -> str:
        return "neg_query_aurc_scorer"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        metric = ranker.query_metric(X, y, qid=qid)
        count, lost = query_blocks(metric, ranker.query_risk(X, qid=qid))
        if count.size == 0:
            return undefined("AURC over queries")
        return -area_of_prefixes(count, lost)


neg_set_size_scorer = _NegativeSetSize()
neg_query_aurc_scorer = _NegativeQueryAURC()
