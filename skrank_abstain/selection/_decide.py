"""Decisions about pairs: the last step, from scores to ``PairDecisions``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import PairDecisions, Queries, check_output_size
from skrank_abstain.selection._base import Decided, PairJudge

#: Bytes of a pair without its qid: positions, difference, label, decision, risk, three
#: probabilities.
_BYTES_PER_PAIR = 8 + 8 + 8 + 8 + 1 + 8 + 24


def decide_queries(
    judge: PairJudge,
    region: Any,
    scores: FloatArray,
    queries: Queries,
    start: int = 0,
    stop: int | None = None,
) -> PairDecisions:
    """Decide all pairs of the queries ``start`` to ``stop`` (exclusive).

    Parameters
    ----------
    judge : PairJudge
        A `PairRisk`, or `NearJudge`.
    region : object
        What this judge accepts.
    scores : ndarray of shape (n_items,), float64
        What the tie model compares: one value per item.
    queries : Queries
    start, stop : int, default=0 and the number of queries

    Returns
    -------
    decisions : PairDecisions
        In canonical order.

    Raises
    ------
    ValueError
        If the result would need more than half of the memory that is available.

    Notes
    -----
    Serial, O(n_pairs); every pair is written once, straight into the result.
    """
    from skrank_abstain._kernels.filling import fill_pairs

    stop = queries.n_queries if stop is None else stop
    counts = queries.pair_counts[start:stop]
    n_pairs = int(counts.sum())
    check_output_size(n_pairs, _BYTES_PER_PAIR + queries.values.itemsize)
    left = np.empty(n_pairs, dtype=np.int64)
    right = np.empty(n_pairs, dtype=np.int64)
    difference = np.empty(n_pairs, dtype=np.float64)
    fill_pairs(
        scores, queries.order, queries.offsets, left, right, difference, start, stop
    )
    qid = np.repeat(queries.values[start:stop], counts)
    made = judge.decide(region, scores, left, right, difference)
    return _decisions(left, right, qid, made)


def decide_pairs(
    judge: PairJudge,
    region: Any,
    scores: FloatArray,
    queries: Queries,
    left: IntArray,
    right: IntArray,
) -> PairDecisions:
    """Decide the given pairs of rows; parameters as in ``decide_queries``."""
    qid = queries.values[queries.codes[left]]
    with np.errstate(over="ignore"):
        difference = scores[left] - scores[right]
    made = judge.decide(region, scores, left, right, difference)
    return _decisions(left, right, qid, made)


def _decisions(
    left: IntArray, right: IntArray, qid: NDArray[Any], made: Decided
) -> PairDecisions:
    return PairDecisions(
        left,
        right,
        qid,
        made.label,
        made.accepted,
        made.risk,
        made.proba,
        made.distance,
    )
