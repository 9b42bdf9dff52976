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


def _neg_set_size(ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
    return -float(ranker.set_sizes(X, qid=qid).mean())


def _neg_query_aurc(ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
    metric = ranker.query_metric(X, y, qid=qid)
    count, lost = query_blocks(metric, ranker.query_risk(X, qid=qid))
    if count.size == 0:
        return undefined("AURC over queries")
    return -area_of_prefixes(count, lost)


#: Minus the mean size of the sets of a `TopSetRanker`; higher is better, at most -1.
#: Sets of every ranker keep the promise of ``alpha``, so rankers, tie models and splits
#: compare by their size.
neg_set_size_scorer = RankerScorer(_neg_set_size, "neg_set_size_scorer", "set_sizes")

#: Minus the area under the risk-coverage curve of a `QueryRiskRanker`; higher is
#: better, in [-1, 0]; NaN, with a warning, without a query that holds a relevant item.
#: The mean over k of the mean loss, one minus the metric, of the k queries of lowest
#: risk; equal risks in random order. Thresholds do not matter.
neg_query_aurc_scorer = RankerScorer(
    _neg_query_aurc, "neg_query_aurc_scorer", "query_risk"
)
