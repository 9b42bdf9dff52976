"""Bands around a risk-coverage curve by resampling whole queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, check_positive_int, encode_qid
from skrank_abstain.concentration import cluster_bootstrap


def band_of_totals(
    loss: FloatArray,
    accepted: FloatArray,
    pairs: FloatArray,
    *,
    n_resamples: int,
    confidence: float,
    random_state: Any,
) -> FloatArray:
    """Return a pointwise percentile interval of the selective risk at a coverage.

    Each resample of queries has a curve of its own, read off at the coverages of the
    data by linear interpolation; the band holds the central share of these at each
    coverage. O(n_resamples * n_queries * n_thresholds).

    Parameters
    ----------
    loss, accepted : ndarray of shape (n_queries, n_thresholds), float64
        Loss and number of the accepted pairs of each query, at ever more lenient
        thresholds; the last one accepts some pair.
    pairs : ndarray of shape (n_queries,), float64
        All pairs of each query.
    n_resamples, confidence, random_state
        As in ``cluster_bootstrap``.

    Returns
    -------
    band : ndarray of shape (n_points, 3), float64
        Coverage, lower and upper end; as many points as distinct coverages above 0.
    """
    check_positive_int(n_resamples, "n_resamples", minimum=2)
    # A query of one item has no pair: to draw it would only make resamples smaller.
    with_pairs = pairs > 0
    loss, accepted, pairs = (table[with_pairs] for table in (loss, accepted, pairs))
    if pairs.size < 2:
        raise ValueError(
            "qid must name at least two queries with pairs for a band "
            f"(n_resamples={n_resamples}), got {pairs.size}."
        )
    grid = np.unique(accepted.sum(axis=0) / pairs.sum())
    # Where nothing is accepted there is no risk to have a band of.
    grid = grid[grid > 0]

    def curve(times: FloatArray) -> FloatArray:
        count, lost = times @ accepted, times @ loss
        # Before the first accepted pair of a resample its risk is undefined; the
        # curve stays level there.
        filled = count > 0
        coverage = count[filled] / (times @ pairs)
        risk: FloatArray = np.interp(grid, coverage, lost[filled] / count[filled])
        return risk

    low, high = cluster_bootstrap(
        # Vector by matrix: the tables of all resamples of a block need not fit.
        lambda block: [curve(times) for times in block],
        pairs.size,
        n_resamples=n_resamples,
        confidence=confidence,
        random_state=random_state,
    )
    return np.column_stack([grid, low, high])


def tables_of_pairs(
    lost: FloatArray, risk: NDArray[Any], qid: Any, coverages: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up pairs by query and threshold, for ``band_of_totals``.

    The thresholds are the risks that accept the shares ``coverages`` of the pairs.
    """
    if qid is None:
        raise ValueError("qid must be given for a band (n_resamples), got None.")
    codes, values = encode_qid(qid, risk.size, unit="pair")
    # Thresholds at the coverages of the curve, not at all risks: the table has a column
    # for each, and a million pairs may have a million risks.
    thresholds = np.unique(np.quantile(risk, coverages, method="inverted_cdf"))
    shape = (values.size, thresholds.size)
    # One cell per query and threshold; cumulated along thresholds, since acceptance is
    # nested.
    cell = codes * thresholds.size + np.searchsorted(thresholds, risk)
    loss, accepted = (
        np.bincount(cell, weights, values.size * thresholds.size)
        .reshape(shape)
        .cumsum(axis=1)
        for weights in (lost, np.ones(risk.size))
    )
    return loss, accepted, accepted[:, -1]
