"""The bootstrap of whole queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_positive_int,
)

#: Draws of a query that are held in memory at a time.
_BLOCK = 1 << 20


def cluster_bootstrap(
    statistic: Callable[[FloatArray], ArrayLike],
    n_queries: int,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Return a percentile interval over resamples of whole queries.

    Parameters
    ----------
    statistic : callable
        Takes how often each query is drawn in some resamples, a float64 array of shape
        (n, n_queries), and returns one number per resample, or one row of numbers.
        A sum over queries is a matrix product of the counts.
    n_queries : int
    n_resamples : int, default=2000
    confidence : float, default=0.95
        In (0, 1).
    random_state : None, int or RandomState, default=None

    Returns
    -------
    low, high : float or ndarray
        NaN for fewer than two queries, and where every resample gives NaN.

    Raises
    ------
    ValueError
        If ``confidence`` or ``n_resamples`` is out of range.

    Notes
    -----
    Queries are drawn with replacement, each with all its pairs, so that pairs of a
    query may depend on each other [1]_. With fewer than about thirty queries the
    interval is too narrow. A resample whose statistic is NaN, such as the accuracy
    where nothing is accepted, is left out.

    `scipy.stats.bootstrap` does not serve: it gathers the rows of each resample where a
    matrix product of counts will do, and one NaN makes its interval NaN.

    References
    ----------
    .. [1] Davison and Hinkley (1997). "Bootstrap Methods and their Application",
       section 3.8. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import cluster_bootstrap
    >>> correct, accepted = np.tile([3, 1, 4, 2], 10), np.tile([4, 2, 4, 4], 10)
    >>> low, high = cluster_bootstrap(
    ...     lambda times: (times @ correct) / (times @ accepted), 40, random_state=0
    ... )
    >>> bool(low < 10 / 14 < high)
    True
    """
    check_fraction(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    if n_queries < 2:
        return float("nan"), float("nan")
    # 0 / 0 is how a statistic says that it is undefined.
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.concatenate(
            [
                np.asarray(statistic(times), dtype=np.float64)
                for times in _resample(n_queries, n_resamples, random_state)
            ]
        )
    if np.isnan(values).all():
        return float("nan"), float("nan")
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(values, tails, axis=0)
    return (low, high) if values.ndim > 1 else (float(low), float(high))


def _resample(
    n_queries: int, n_resamples: int, random_state: Any
) -> Iterator[FloatArray]:
    """Yield how often each query is in the next resamples, shape (n, n_queries)."""
    rng = check_random_state(random_state)
    # The draws are the same however they are cut into blocks.
    height = max(_BLOCK // n_queries, 1)
    for first in range(0, n_resamples, height):
        n_drawn = min(height, n_resamples - first)
        drawn = rng.randint(n_queries, size=(n_drawn, n_queries))
        # One count for a whole block: the resamples get ranges of numbers of their own.
        drawn += n_queries * np.arange(n_drawn)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield times.astype(np.float64)
