"""Decisions about pairs: the last step, from scores to ``PairDecisions``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import PairDecisions, Queries, check_output_size
from skrank_abstain.selection._regions import DistanceRegion
from skrank_abstain.tie_models import DifferenceModel

#: Pairs whose probabilities are computed at a time: they stay in the cache.
_BLOCK = 1 << 14
#: Bytes of a pair without its qid: positions, difference, label, decision, risk, three
#: probabilities.
_BYTES_PER_PAIR = 8 + 8 + 8 + 8 + 1 + 8 + 24


def decide_queries(
    model: DifferenceModel,
    loss: FloatArray,
    region: DistanceRegion,
    scores: FloatArray,
    queries: Queries,
    start: int = 0,
    stop: int | None = None,
) -> PairDecisions:
    """Decide all pairs of the queries ``start`` to ``stop`` (exclusive).

    Parameters
    ----------
    model : DifferenceModel
        Fitted.
    loss : ndarray of shape (3, 3)
    region : DistanceRegion
    scores : ndarray of shape (n_items,), float64
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
    return _settle(model, loss, region, scores, left, right, qid, difference)


def decide_pairs(
    model: DifferenceModel,
    loss: FloatArray,
    region: DistanceRegion,
    scores: FloatArray,
    queries: Queries,
    left: IntArray,
    right: IntArray,
) -> PairDecisions:
    """Decide the given pairs of rows; parameters as in ``decide_queries``."""
    qid = queries.values[queries.codes[left]]
    with np.errstate(over="ignore"):
        difference = scores[left] - scores[right]
    return _settle(model, loss, region, scores, left, right, qid, difference)


def _settle(
    model: DifferenceModel,
    loss: FloatArray,
    region: DistanceRegion,
    scores: FloatArray,
    left: IntArray,
    right: IntArray,
    qid: NDArray[np.generic],
    difference: FloatArray,
) -> PairDecisions:
    from skrank_abstain._kernels.deciding import settle_pairs

    n_pairs = difference.size
    proba = np.empty((n_pairs, 3))
    for first in range(0, n_pairs, _BLOCK):
        block = slice(first, first + _BLOCK)
        proba[block] = model.proba_at_distance(np.abs(difference[block]))
    label = np.empty(n_pairs, dtype=np.int64)
    risk = np.empty(n_pairs)
    accepted = np.empty(n_pairs, dtype=bool)
    losses = np.array([loss[0, 2], loss[0, 1], loss[1, 0]])
    settle_pairs(difference, proba, losses, region.cuts(), label, risk, accepted)
    if region.kappa < 1:
        accepted = region.accept(scores[left], scores[right])
    return PairDecisions(left, right, qid, label, accepted, risk, proba)
