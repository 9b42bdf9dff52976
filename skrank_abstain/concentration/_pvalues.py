"""P-values of the mean of a bounded loss, one loss per query.

The hypothesis is always that the mean loss exceeds a bound, so a small p-value is
evidence that the bound holds. Queries are the sample; pairs inside a query may depend
on each other in any way.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    check_array,
    check_fraction,
    check_range,
)

#: Largest share of the capital that a loss of one may take.
_BOLDNESS = 0.99

#: Losses held in memory at a time.
_BLOCK = 1 << 18


def wsr_pvalue(losses: ArrayLike, alpha: float, *, level: float = 0.1) -> FloatArray:
    """Return the betting p-value of H0: the mean loss exceeds ``alpha``.

    Parameters
    ----------
    losses : array-like of shape (n_queries,) or (n_queries, n_candidates)
        Losses in [0, 1], one row per query, in an order that does not depend on the
        losses. Each column is tested by itself.
    alpha : float
        Bound on the mean loss, in (0, 1).
    level : float, default=0.1
        Level in (0, 1) at which the p-value will be compared; the bets are sized for
        it. The p-value is valid at every level.

    Returns
    -------
    pvalue : ndarray of shape ``losses.shape[1:]``, float64
        In [0, 1]; 1 for no queries.

    Raises
    ------
    TypeError
        If an argument is not numeric.
    ValueError
        If a loss is outside [0, 1], or ``alpha`` or ``level`` outside (0, 1).

    Notes
    -----
    A gambler bets against H0, query after query in the given order: the capital is
    K_t = prod_{s<=t} (1 + b_s (alpha - u_s)), and p = 1 / max_t K_t, at most 1 [1]_.
    The bet b_t = min(sqrt(2 log(1/level) / (n v_{t-1})), 0.99 / (1 - alpha)) is set
    before loss t is seen; v is the running variance. The running mean and variance
    start as if one loss of ``alpha`` with the variance alpha (1 - alpha) of a coin
    flip had been seen, and a loss of one leaves a hundredth of the capital: with few
    queries the largest bet decides what can be certified.

    Valid at every n for i.i.d. queries: P(p <= delta) <= delta under H0. The order of
    the queries changes the p-value but not its validity, as long as it was fixed
    without looking at the losses: shuffle once queries whose order means something. The
    smallest p-value of several orders is not valid. O(n_queries * n_candidates).

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024). "Estimating means of bounded random
       variables by betting". Journal of the Royal Statistical Society B 86(1).
       doi:10.1093/jrsssb/qkad009

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import wsr_pvalue
    >>> losses = np.tile([0.0, 0.1, 0.05], 30)
    >>> round(float(wsr_pvalue(losses, 0.1)), 3)
    0.009
    """
    check_fraction(alpha, "alpha")
    check_fraction(level, "level")
    loss = check_array(losses, "losses")
    if loss.ndim not in (1, 2):
        raise ValueError(
            "losses must be of shape (n_queries,) or (n_queries, n_candidates), got "
            f"{loss.shape}."
        )
    loss = check_range(loss, "losses")
    table = loss[:, None] if loss.ndim == 1 else loss
    pvalue = np.empty(table.shape[1])
    width = max(_BLOCK // max(table.shape[0], 1), 1)
    # Candidates are tested by themselves, so that blocks of columns bound the memory.
    for first in range(0, pvalue.size, width):
        block = slice(first, first + width)
        pvalue[block] = np.exp(-_log_capital(table[:, block], alpha, level))
    return pvalue.reshape(loss.shape[1:])


def _log_capital(losses: FloatArray, alpha: float, level: float) -> FloatArray:
    """Return the logarithm of the largest capital on the way, at least 0."""
    # Bets may use the past alone: mean and variance are those of the losses before,
    # with one pretended loss of alpha to begin with.
    n_queries = losses.shape[0]
    seen = np.arange(2, n_queries + 2)[:, None]
    mean = (alpha + np.cumsum(losses, axis=0)) / seen
    squares = np.cumsum((losses - mean) ** 2, axis=0)
    variance = np.empty_like(losses)
    variance[:1] = alpha * (1 - alpha)
    variance[1:] = (alpha * (1 - alpha) + squares[:-1]) / seen[:-1]
    bet = np.sqrt(-2 * math.log(level) / (max(n_queries, 1) * variance))
    # A loss of one multiplies the capital by 1 - bet (1 - alpha): that stays above 0.
    bet = np.minimum(bet, _BOLDNESS / (1 - alpha))
    # Logarithms: thousands of factors would overflow.
    capital = np.cumsum(np.log1p(bet * (alpha - losses)), axis=0)
    largest: FloatArray = np.max(capital, axis=0, initial=0.0)
    return largest


def least_queries(alpha: float, delta: float) -> int:
    """Return how many queries any test needs to certify a mean loss of ``alpha``.

    Parameters
    ----------
    alpha : float
        Bound on the mean loss, in (0, 1).
    delta : float
        Level of the test, in (0, 1).

    Returns
    -------
    n_queries : int
        Necessary even if no query loses anything; rarely sufficient.

    Notes
    -----
    The smallest n with (1 - alpha)^n <= delta: if each query loses everything with
    probability just above alpha, n queries without a loss are that likely, so no
    valid test rejects with fewer. O(1).

    Examples
    --------
    >>> from skrank_abstain.concentration import least_queries
    >>> least_queries(0.1, 0.1), least_queries(0.05, 0.1)
    (22, 45)
    """
    check_fraction(alpha, "alpha")
    check_fraction(delta, "delta")
    # The slack keeps a quotient that is a whole number but for rounding from the next.
    return math.ceil(math.log(delta) / math.log1p(-alpha) * (1 - 1e-12))
