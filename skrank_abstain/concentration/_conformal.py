"""Conformal promises for a new query: a threshold to cover it, p-values of its items.

Queries are exchangeable, not their items.
"""

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import FloatArray, IntArray

#: Rounding of a sum over queries must not demand a higher threshold.
_SLACK = 1e-12
#: Thresholds tried at a time.
_TRIED = 15


def hierarchical_quantile(
    shares: Callable[[FloatArray], ArrayLike],
    coverage: float,
    *,
    highest: float = 1.0,
    weights: FloatArray | None = None,
) -> float:
    """Return the threshold that accepts a share of the pairs of a new query.

    Parameters
    ----------
    shares : callable
        Takes ascending thresholds t >= 0 and returns the share of pairs with risk at
        most t in each query that has pairs, an array of shape (n_queries,
        n_thresholds). No share may fall as t grows.
    coverage : float
        Target, in (0, 1).
    highest : float, default=1.0
        Largest possible risk, positive and finite; risks are non-negative.
    weights : ndarray of shape (n_queries,), default=None
        Weight of each query, in [0, 1]; a new query weighs at most 1. None: 1 each.
        With the number of pairs over that of the largest query allowed, each pair
        counts alike.

    Returns
    -------
    threshold : float
        The smallest float in [0, highest] at which the shares sum to at least
        ``coverage * (n_queries + 1)``, less 1e-12; with weights the weighted shares, to
        ``coverage * (sum(weights) + 1)``. +inf if there is no such float.

    Notes
    -----
    If the queries and a new query are exchangeable, a pair drawn uniformly from the
    new query is accepted with probability at least ``coverage``, for any number of
    queries [1]_, [2]_: on average over the calibration and the new query. A single new
    query may be covered less. The risk function must not have been fitted on these
    queries. The price is about coverage / n_queries more coverage than asked for.

    With weights w the promise is E[w a] >= ``coverage`` E[w], a the accepted share of
    the new query: conformal risk control [3]_ of w (coverage - a), which is at most
    ``coverage``.

    The search divides the ordered floats by sixteen at a time: exact, with at most 16
    calls of ``shares``.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342
    .. [2] Dunn, Wasserman and Ramdas (2023). "Distribution-free prediction sets for
       two-layer hierarchical models". Journal of the American Statistical Association
       118(544). doi:10.1080/01621459.2022.2060112
    .. [3] Angelopoulos, Bates, Fisch, Lei and Schuster (2024). "Conformal risk
       control". ICLR. arXiv:2208.02814

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import hierarchical_quantile
    >>> queries = [np.array([0.1, 0.4, 0.2]), np.array([0.3])]
    >>> def shares(t):
    ...     return [np.mean(risks[:, None] <= t, axis=0) for risks in queries]
    >>> hierarchical_quantile(shares, 0.5)
    0.3
    """

    def is_enough(bits: list[int]) -> list[bool]:
        thresholds = np.array(bits, dtype=np.int64).view(np.float64)
        table = np.asarray(shares(thresholds), dtype=np.float64)
        weight = np.ones(len(table)) if weights is None else weights
        # Plus one for the new query: it counts as if all its pairs were abstained on.
        # Contiguous rows add up in one order, whatever the number of thresholds.
        sums = np.ascontiguousarray((table * weight[:, None]).T).sum(axis=1)
        return list(sums / (weight.sum() + 1) >= coverage - _SLACK)

    # The bit patterns of non-negative floats are ordered like the floats.
    first, end = 0, int(np.float64(highest).view(np.int64)) + 1
    n_patterns = end
    while first < end:
        width = end - first
        ends = (first + width * k // (_TRIED + 1) for k in range(1, _TRIED + 1))
        tried = sorted(set(ends))
        place = bisect_left(is_enough(tried), True)
        first, end = [first, *(k + 1 for k in tried)][place], [*tried, end][place]
    return float(np.int64(first).view(np.float64)) if first < n_patterns else np.inf


def novelty_pvalues(
    strangeness: FloatArray, reference: FloatArray, queries: IntArray
) -> FloatArray:
    """Return conformal p-values of items of new queries.

    Parameters
    ----------
    strangeness : ndarray of shape (n_items,), float64
        Higher is stranger.
    reference : ndarray of shape (n_reference,), float64
        Strangeness of the items of known queries; the detector was not fitted on them.
    queries : ndarray of shape (n_reference,), int64
        Numbers of their queries, from 0, without gaps.

    Returns
    -------
    pvalues : ndarray of shape (n_items,), float64
        (1 + sum over queries of the share of items at least as strange) /
        (n_queries + 1), in (0, 1]. Low for items unlike the known ones.

    Notes
    -----
    If the known queries and a new one are exchangeable, a random item of the new query
    has a p-value of at most alpha with probability at most alpha, for any number of
    queries [1]_. Treating the similar items of a query as independent would break this.
    The least value is 1 / (n_queries + 1). O(n log n) for n items in all.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import novelty_pvalues
    >>> known, query = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    >>> novelty_pvalues(np.array([0.5, 2.5, 9.0]), known, query) * 3
    array([2.5, 1.5, 1. ])
    """
    share, n_queries = _shares(queries)
    found = 1 + _at_least(strangeness, reference, share)
    pvalues: FloatArray = np.minimum(found / (n_queries + 1), 1.0)
    return pvalues


def novelty_pvalues_of_known(reference: FloatArray, queries: IntArray) -> FloatArray:
    """Return the p-value of each known item against all other queries.

    Parameters as in ``novelty_pvalues``; shape (n_reference,).
    """
    share, n_queries = _shares(queries)
    order = np.lexsort((reference, queries))
    sizes = np.bincount(queries)
    ends = np.repeat(np.cumsum(sizes), sizes)
    # Equal items of a query count together, from the beginning of their block.
    ordered, query = reference[order], queries[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]) | (query[1:] != query[:-1]))
    begins = np.flatnonzero(new)[np.cumsum(new) - 1]
    own = np.empty(reference.size)
    own[order] = (ends - begins) * share[order]
    others = np.maximum(_at_least(reference, reference, share) - own, 0.0)
    pvalues: FloatArray = np.minimum((1 + others) / n_queries, 1.0)
    return pvalues


def _shares(queries: IntArray) -> tuple[FloatArray, int]:
    sizes = np.bincount(queries)
    return 1 / sizes[queries], sizes.size


def _at_least(
    values: FloatArray, reference: FloatArray, share: FloatArray
) -> FloatArray:
    """Return the summed shares of the reference items at or above each value."""
    order = np.argsort(reference, kind="stable")
    above = np.append(np.cumsum(share[order][::-1])[::-1], 0.0)
    found: FloatArray = above[np.searchsorted(reference[order], values, side="left")]
    return found
