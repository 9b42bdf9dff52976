"""A threshold that covers a new query, on average over the calibration."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    check_array,
    check_fraction,
    check_positive,
    check_range,
    check_table,
)

#: Rounding of the sum over queries that must not ask for one level more.
_SLACK = 1e-12
#: Thresholds that the search tries at a time.
_TRIED = 15


def hierarchical_quantile(
    shares: Callable[[FloatArray], ArrayLike],
    coverage: float,
    *,
    highest: float = 1.0,
    weights: ArrayLike | None = None,
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
    weights : array-like of shape (n_queries,), default=None
        Weight of each query, in [0, 1], where a new one weighs at most 1; None: 1 each.
        Pairs over those of the largest query allowed make each pair count alike.

    Returns
    -------
    threshold : float
        The smallest float in [0, highest] at which the shares sum to at least
        ``coverage * (n_queries + 1)``, less 1e-12; +inf if there is none. With
        weights, their weighted sum at least ``coverage * (sum(weights) + 1)``.

    Raises
    ------
    ValueError
        If ``highest`` is not positive and finite, ``coverage`` is outside (0, 1), or
        ``shares`` returns values or ``weights`` holds values outside [0, 1].

    Notes
    -----
    If the queries and a new query are exchangeable, a pair drawn uniformly from the
    new query is accepted with probability at least ``coverage``, for any number of
    queries [1]_, [2]_: on average over the calibration and the new query. A single new
    query may be covered less. The function that computes the risk must not have been
    fitted on these queries. The price is about coverage / n_queries more coverage than
    asked for.

    With weights w the promise is E[w a] >= ``coverage`` E[w], a the accepted share of
    the new query: conformal risk control [3]_ of w (coverage - a), which is at most
    ``coverage``.

    The floats, in their order, are cut into sixteen parts at a time: exact, with at
    most 16 calls of ``shares``.

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
    check_fraction(coverage, "coverage")
    top = check_positive(highest, "highest")
    weight = (
        None
        if weights is None
        else check_range(check_array(weights, "weights", "n_queries"), "weights")
    )

    def is_enough(bits: list[int]) -> list[bool]:
        thresholds = np.array(bits, dtype=np.int64).view(np.float64)
        table = check_table(shares(thresholds), "the result of shares")
        if weight is not None:
            table = table * weight[:, None]
        total = table.shape[0] if weight is None else weight.sum()
        # Plus one: the new query has no pair that is known to be accepted.
        # Contiguous rows add up in one order, whatever the number of thresholds.
        sums = np.ascontiguousarray(table.T).sum(axis=1)
        return list(sums / (total + 1) >= coverage - _SLACK)

    # The bit patterns of non-negative floats are ordered as the floats are.
    first, end = 0, int(np.float64(top).view(np.int64)) + 1
    n_patterns = end
    while first < end:
        width = end - first
        ends = (first + width * k // (_TRIED + 1) for k in range(1, _TRIED + 1))
        tried = sorted(set(ends))
        place = bisect_left(is_enough(tried), True)
        first, end = [first, *(k + 1 for k in tried)][place], [*tried, end][place]
    return float(np.int64(first).view(np.float64)) if first < n_patterns else np.inf
