"""Bands around a risk-coverage curve by resampling whole queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_positive_int,
    encode_qid,
)
from skrank_abstain.concentration import cluster_bootstrap


@dataclass(frozen=True)
class BandOptions:
    """How a band is drawn: number of samples, confidence, random numbers."""

    n_resamples: int
    confidence: float
    random: np.random.RandomState

    @classmethod
    def check(cls, n_resamples: Any, confidence: Any, random_state: Any) -> Self:
        """Check what the user passed."""
        return cls(
            check_positive_int(n_resamples, "n_resamples", minimum=2),
            check_fraction(confidence, "confidence"),
            check_random_state(random_state),
        )


def band_of_totals(
    errors: FloatArray, accepted: FloatArray, pairs: FloatArray, options: BandOptions
) -> FloatArray:
    """Return a pointwise percentile interval of the selective risk at a coverage.

    Parameters
    ----------
    errors, accepted : ndarray of shape (n_queries, n_thresholds), float64
        Accepted pairs of each query, and the wrong ones among them, at ever more
        lenient thresholds; at the last one some pair is accepted.
    pairs : ndarray of shape (n_queries,), float64
        All pairs of each query.
    options : BandOptions

    Returns
    -------
    band : ndarray of shape (n_points, 3), float64
        Coverage, lower and upper end; as many points as distinct coverages above 0.

    Raises
    ------
    ValueError
        If fewer than two queries have pairs.

    Notes
    -----
    Queries are drawn with replacement, all pairs of a query together [1]_. Each
    sample has a curve of its own, read off at the coverages of the data by linear
    interpolation, and the band holds the central share of these at each coverage. It
    is pointwise: the whole curve leaves it more often. O(n_resamples * n_queries *
    n_thresholds).

    References
    ----------
    .. [1] Field and Welsh (2007). "Bootstrapping Clustered Data". Journal of the Royal
       Statistical Society B 69.
    """
    # A query of one item has no pair: to draw it would only make resamples smaller.
    with_pairs = pairs > 0
    errors, accepted, pairs = (
        errors[with_pairs],
        accepted[with_pairs],
        pairs[with_pairs],
    )
    n_queries = pairs.size
    if n_queries < 2:
        raise ValueError(
            "qid must name at least two queries with pairs for a band "
            f"(n_resamples={options.n_resamples}), got {n_queries}."
        )
    grid = np.unique(accepted.sum(axis=0) / pairs.sum())
    # Where nothing is accepted there is no risk to have a band of.
    grid = grid[grid > 0]

    def curve(times: FloatArray) -> FloatArray:
        count, wrong = times @ accepted, times @ errors
        # Before the first accepted pair of a resample its risk is undefined; the
        # curve stays level there.
        some = count > 0
        coverage = count[some] / (times @ pairs)
        risk: FloatArray = np.interp(grid, coverage, wrong[some] / count[some])
        return risk

    low, high = cluster_bootstrap(
        # Vector by matrix: the tables of all resamples of a block need not fit.
        lambda block: [curve(times) for times in block],
        n_queries,
        n_resamples=options.n_resamples,
        confidence=options.confidence,
        random_state=options.random,
    )
    return np.column_stack([grid, low, high])


def tables_of_pairs(
    wrong: NDArray[np.bool_], risk: NDArray[Any], qid: Any, coverages: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up pairs by query and threshold, for ``band_of_totals``.

    Parameters
    ----------
    wrong : ndarray of shape (n_pairs,), bool
    risk : ndarray of shape (n_pairs,)
    qid : array-like of shape (n_pairs,)
        Query of each pair.
    coverages : ndarray of shape (n_coverages,), float64
        The thresholds are the risks at which so large a share is accepted.

    Returns
    -------
    errors, accepted, pairs
        As ``band_of_totals`` takes them.
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
    errors, accepted = (
        np.bincount(cell, weights, values.size * thresholds.size)
        .reshape(shape)
        .cumsum(axis=1)
        for weights in (wrong.astype(np.float64), np.ones(risk.size))
    )
    return errors, accepted, accepted[:, -1]
