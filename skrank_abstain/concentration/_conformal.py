"""Conformal guarantees, on average over calibration and a new query."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_positive,
    check_real,
    check_vector,
    encode_qid,
)
from skrank_abstain.concentration._query_arrays import (
    check_array,
    check_table,
)

#: Rounding of the sum over queries that must not ask for one level more.
_SLACK = 1e-12
#: Thresholds that a search tries at a time.
_TRIED = 15


def hierarchical_quantile(risks: ArrayLike, qid: Any, coverage: float) -> float:
    """Return the threshold that accepts a share of the pairs of a new query.

    Parameters
    ----------
    risks : array-like of shape (n_pairs,)
        Risk of each calibration pair; lower is accepted first. The function that
        computes it must not have been fitted on these queries.
    qid : array-like of shape (n_pairs,)
        Query of each pair, in any order.
    coverage : float
        Target, in (0, 1).

    Returns
    -------
    threshold : float
        Smallest risk t with sum_q sum_{pairs of q} 1[r <= t] / ((Q + 1) N_q) >=
        coverage, where query q has N_q of the pairs and there are Q queries; +inf,
        which accepts every pair, if there is none.

    Raises
    ------
    TypeError
        If ``risks`` is not numeric.
    ValueError
        If a risk is not finite, ``qid`` does not have one value per pair, or
        ``coverage`` is outside (0, 1).

    Notes
    -----
    If the queries and a new query are exchangeable, a pair drawn uniformly from the
    new query is accepted (its risk is at most the threshold) with probability at
    least ``coverage``, for any number of queries [1]_, [2]_. That is on average over
    the calibration and the new query; a single new query may be covered less. It
    concerns queries that have a pair, weighs each query alike, and says nothing about
    errors. The price is small: about coverage / Q more than asked for; with
    coverage > Q / (Q + 1) the threshold is +inf. Sums are compared with a slack of
    1e-12. O(n_pairs log n_pairs).

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342
    .. [2] Dunn, Wasserman and Ramdas (2023). "Distribution-free prediction sets for
       two-layer hierarchical models". Journal of the American Statistical Association
       118(544). doi:10.1080/01621459.2022.2060112

    Examples
    --------
    >>> from skrank_abstain.concentration import hierarchical_quantile
    >>> risks = [0.1, 0.4, 0.2, 0.3, 0.05, 0.6, 0.6, 0.2]
    >>> qid = [0, 0, 0, 1, 2, 2, 2, 2]
    >>> hierarchical_quantile(risks, qid, 0.5), hierarchical_quantile(risks, qid, 0.8)
    (0.3, inf)
    """
    check_fraction(coverage, "coverage")
    risk = check_array(check_vector(risks, "risks", unit="pair"), "risks")
    codes, queries = encode_qid(qid, risk.size, unit="pair")
    sizes = np.bincount(codes, minlength=queries.size)
    levels = np.unique(risk)

    # The mean coverage only grows with the threshold: log2(n_levels) counts suffice.
    def is_enough(k: int) -> bool:
        accepted = np.bincount(codes[risk <= levels[k]], minlength=sizes.size)
        return _covers(accepted / sizes, coverage)

    first = bisect_left(range(levels.size), True, key=is_enough)
    return float(levels[first]) if first < levels.size else float("inf")


def hierarchical_quantile_search(
    shares: Callable[[FloatArray], ArrayLike], coverage: float, *, highest: float = 1.0
) -> float:
    """Return the threshold of `hierarchical_quantile` from a function that counts.

    Parameters
    ----------
    shares : callable
        Takes ascending thresholds t >= 0 and returns the share of pairs with risk at
        most t in each query that has pairs, an array of shape (n_queries,
        n_thresholds). No share may fall as t grows.
    coverage : float
        Target, in (0, 1).
    highest : float, default=1.0
        Largest risk there can be, positive and finite; risks are non-negative.

    Returns
    -------
    threshold : float
        The smallest floating-point number in [0, highest] that covers enough, which
        is the risk of a calibration pair (or 0); +inf if there is none.

    Raises
    ------
    ValueError
        If ``highest`` is not positive and finite, ``coverage`` is outside (0, 1) or
        the function returns something else than shares.

    Notes
    -----
    The floating-point numbers, in their order, are cut into sixteen parts at a time:
    exact, with at most 16 calls of ``shares``, and no pair is ever listed. Guarantee
    and sources as for `hierarchical_quantile`.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import hierarchical_quantile_search
    >>> queries = [np.array([0.1, 0.4, 0.2]), np.array([0.3])]
    >>> def shares(t):
    ...     return [np.mean(risks[:, None] <= t, axis=0) for risks in queries]
    >>> hierarchical_quantile_search(shares, 0.5)
    0.3
    """
    check_fraction(coverage, "coverage")
    top = check_positive(highest, "highest")

    def is_enough(bits: list[int]) -> list[bool]:
        thresholds = np.array(bits, dtype=np.int64).view(np.float64)
        table = check_table(shares(thresholds), "the result of shares")
        return [_covers(share, coverage) for share in np.ascontiguousarray(table.T)]

    # The bit patterns of non-negative floats are ordered as the floats are.
    first, end = 0, int(np.float64(top).view(np.int64)) + 1
    n_patterns = end
    while first < end:
        width = end - first
        ends = (first + width * k // (_TRIED + 1) for k in range(1, _TRIED + 1))
        tried = sorted(set(ends))
        place = bisect_left(is_enough(tried), True)
        first, end = [first, *(k + 1 for k in tried)][place], [*tried, end][place]
    return _float_of(first) if first < n_patterns else float("inf")


def conformal_risk_control(
    losses: ArrayLike, alpha: float, *, bound: float = 1.0
) -> int | None:
    """Return the most permissive candidate whose expected loss is bounded.

    With the share of a query's pairs that is accepted and decided wrongly as the
    loss, e_q, this bounds the joint error E[e_q]; it does not bound the error among
    accepted pairs, which is larger by the factor 1 / coverage.

    Parameters
    ----------
    losses : array-like of shape (n_queries, n_candidates)
        Loss of each query, in [0, bound], from the most conservative candidate to the
        most permissive.
    alpha : float
        Bound on the expected loss, in (0, bound).
    bound : float, default=1.0
        Largest loss there can be.

    Returns
    -------
    index : int or None
        Last candidate with (sum_q loss + bound) / (n_queries + 1) <= alpha; None if
        there is none. Then only to accept nothing, at no loss, is safe.

    Raises
    ------
    TypeError
        If ``losses`` is not numeric.
    ValueError
        If a loss is outside [0, bound], or ``alpha`` or ``bound`` out of range.

    Notes
    -----
    If the queries and a new query are exchangeable, the expected loss of the new
    query is at most ``alpha``, for any number of queries [1]_. The expectation is over
    the calibration too: nothing is said of how often one calibration exceeds alpha,
    for which see `certify_risk`. The guarantee needs losses that never fall from one
    candidate to the next, as e_q does where acceptance is nested; any others are
    replaced by the largest loss up to that candidate, which bounds them.
    O(n_queries * n_candidates).

    References
    ----------
    .. [1] Angelopoulos, Bates, Fisch, Lei and Schuster (2024). "Conformal risk
       control". International Conference on Learning Representations.
       arXiv:2208.02814

    Examples
    --------
    >>> from skrank_abstain.concentration import conformal_risk_control
    >>> losses = [[0.0, 0.1, 0.2], [0.0, 0.0, 0.3], [0.1, 0.1, 0.1], [0.0, 0.0, 0.2]]
    >>> conformal_risk_control(losses, 0.25)
    1
    """
    top = check_positive(bound, "bound")
    level = check_real(alpha, "alpha", 0, top, include_low=False, include_high=False)
    table = check_table(losses, "losses", top)
    # The theorem needs losses that never fall; their running maximum bounds them.
    worst: FloatArray = np.maximum.accumulate(table, axis=1)
    # The new query is counted with the largest loss there can be.
    adjusted = (worst.sum(axis=0) + top) / (table.shape[0] + 1)
    allowed = np.flatnonzero(adjusted <= level)
    return int(allowed[-1]) if allowed.size else None


def _covers(shares: FloatArray, coverage: float) -> bool:
    # Q + 1: the new query has no pair that is known to be accepted.
    return bool(shares.sum() / (shares.size + 1) >= coverage - _SLACK)


def _float_of(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))
