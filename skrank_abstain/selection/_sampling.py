"""How the coverage varies from sample to sample of queries."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from skrank_abstain._validation import FloatArray

_CONFIDENCE = 0.95
_N_RESAMPLES = 1000
#: Queries drawn at a time; they fit into the processor's cache.
_MOST_DRAWN = 1 << 16


def coverage_interval(
    accepted: FloatArray, pairs: FloatArray, *, seed: int
) -> FloatArray:
    """Return a 95 % interval for the coverage of as many new queries.

    Parameters
    ----------
    accepted, pairs : ndarray of shape (n_queries,), float64
        Accepted pairs and pairs of each query that set the threshold.
    seed : int

    Returns
    -------
    interval : ndarray of shape (2,), float64
        In [0, 1], and all of it where fewer than two queries have pairs.

    Notes
    -----
    Queries are resampled, not pairs, which are dependent within a query [1]_. The
    coverage of new queries differs from that of the calibration queries as two samples
    differ, so that the ends are quantiles of the differences of two resamples.
    O(n_queries) a thousand times.

    Resamples of few queries vary too little. The differences are stretched by
    ``sqrt(m / (m - 1))`` and by the ratio of the quantiles of Student's t with m - 1
    degrees of freedom and of the normal distribution. ``m = sum(N)**2 / sum(N**2)``
    is the effective number of queries of N pairs [2]_: a few large queries say less
    than as many equal ones.

    References
    ----------
    .. [1] Davison and Hinkley (1997). "Bootstrap Methods and their Application",
       section 3.8. Cambridge University Press.
    .. [2] Kish (1965). "Survey Sampling", section 11.7. Wiley.
    """
    has_pairs = pairs > 0
    accepted, pairs = accepted[has_pairs], pairs[has_pairs]
    n = pairs.size
    if n < 2:
        return np.array([0.0, 1.0])
    rng = np.random.default_rng(seed)
    coverage = np.empty(2 * _N_RESAMPLES)
    at_a_time = max(_MOST_DRAWN // n, 1)
    for first in range(0, coverage.size, at_a_time):
        part = coverage[first : first + at_a_time]
        drawn = rng.integers(0, n, (part.size, n))
        part[:] = accepted[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    tail = (1 - _CONFIDENCE) / 2
    one, other = coverage.reshape(2, -1)
    differs = np.quantile(one - other, [tail, 1 - tail])
    m = pairs.sum() ** 2 / (pairs**2).sum()
    # One dominating query leaves no degree of freedom.
    free = max(m - 1, 1e-3)
    stretch = np.sqrt(m / free) * stdtrit(free, tail) / ndtri(tail)
    return np.asarray(np.clip(accepted.sum() / pairs.sum() + stretch * differs, 0, 1))
