"""P-values of a mean loss, and thresholds whose selective risk they certify.

Queries are the sample; pairs inside a query may depend on each other in any way. The
hypothesis is always that a mean loss exceeds a bound, so a small p-value is evidence
that the bound holds. Queries that certify have no other use.

Tables have a row for each query and a column for each threshold, from the most
conservative to the most permissive. For query q and one threshold, a_q is the share of
its pairs that is accepted, e_q the share that is accepted and decided wrongly.
"""

import math
from typing import Any

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_fraction
from skrank_abstain._warnings import warn_user

#: Largest share of the capital that a loss of one may take.
_BOLDNESS = 0.99
#: `fit` warns from this probability that the bound fails.
_MOST_DELTA = 0.5
#: A mean up to this may be a rounded mean of zeros.
_ROUNDING = 1e-12


def wsr_pvalue(losses: FloatArray, alpha: float, *, level: float = 0.1) -> FloatArray:
    """Return the betting p-value of H0: the mean loss exceeds ``alpha``.

    Parameters
    ----------
    losses : ndarray of shape (n_queries,) or (n_queries, n_candidates), float64
        Losses in [0, 1], one row per query, in an order that does not depend on the
        losses. Each column is a test of its own.
    alpha : float
        Bound on the mean loss, in (0, 1).
    level : float, default=0.1
        Level in (0, 1) at which the p-value will be compared; the bets are sized for
        it. The p-value is valid at every level.

    Returns
    -------
    pvalue : ndarray of shape ``losses.shape[1:]``, float64
        In [0, 1]; 1 for no queries.

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
    without looking at the losses: shuffle queries once if their order means something.
    The smallest p-value of several orders is not valid. O(n_queries * n_candidates).

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
    # A bet may only use the past: mean and variance of earlier losses, after one
    # pretended loss of alpha.
    n_queries = len(losses)
    seen = np.arange(2.0, n_queries + 2).reshape(-1, *[1] * (losses.ndim - 1))
    mean = (alpha + np.cumsum(losses, axis=0)) / seen
    squares = np.cumsum((losses - mean) ** 2, axis=0)
    before = np.concatenate([np.zeros_like(losses[:1]), squares[:-1]])
    variance = (alpha * (1 - alpha) + before) / (seen - 1)
    bet = np.sqrt(-2 * math.log(level) / (max(n_queries, 1) * variance))
    # A loss of one multiplies the capital by 1 - bet (1 - alpha), which stays above 0.
    bet = np.minimum(bet, _BOLDNESS / (1 - alpha))
    # Logarithms: thousands of factors would overflow.
    capital = np.cumsum(np.log1p(bet * (alpha - losses)), axis=0)
    return np.asarray(np.exp(-np.max(capital, axis=0, initial=0.0)))


def least_queries(alpha: float, delta: float) -> int:
    """Return the least number of queries that can certify a mean loss of ``alpha``.

    Parameters
    ----------
    alpha : float
        Bound on the mean loss, in (0, 1).
    delta : float
        Level of the test, in (0, 1).

    Returns
    -------
    n_queries : int
        Necessary for any test, even if no query loses anything; rarely sufficient.

    Notes
    -----
    The smallest n with (1 - alpha)^n <= delta. If each query loses everything with
    probability just above alpha, n queries without a loss have this probability, so no
    valid test rejects with fewer. O(1).

    Examples
    --------
    >>> from skrank_abstain.concentration import least_queries
    >>> least_queries(0.1, 0.1), least_queries(0.05, 0.1)
    (22, 45)
    """
    check_fraction(alpha, "alpha")
    check_fraction(delta, "delta")
    # The slack undoes rounding just above a whole number.
    return math.ceil(math.log(delta) / math.log1p(-alpha) * (1 - 1e-12))


def choose_start(accepted: FloatArray, errors: FloatArray, *, max_risk: float) -> int:
    """Return the threshold at which `certify_risk` should start.

    Parameters
    ----------
    accepted, errors : ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q on queries that do not certify, such as the queries to which
        the tie model was fitted.
    max_risk : float
        Bound on the selective risk, in (0, 1).

    Returns
    -------
    start : int
        First column with the largest mean of ``max_risk * a_q - e_q``.

    Notes
    -----
    The risk need not grow with coverage: few queries contribute to the smallest
    thresholds, often queries on which a ranker is wrongly sure of itself, and a
    sequence that starts there fails at its first step. Any start among the thresholds
    that pass leads to the same end, so take the one most likely to pass. In simulations
    of rankers that are confidently wrong on some queries, the smallest p-value, the
    fastest growth of capital and the largest t statistic gave no more coverage. A poor
    start costs coverage, never validity.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import choose_start
    >>> accepted = np.array([[0.1, 0.5, 0.9], [0.1, 0.4, 1.0]])
    >>> errors = np.array([[0.1, 0.0, 0.3], [0.0, 0.0, 0.2]])
    >>> choose_start(accepted, errors, max_risk=0.2)
    1
    """
    # argmax returns the first maximum, the most conservative one.
    return int(np.argmax((max_risk * accepted - errors).mean(axis=0)))


def fixed_sequence(pvalues: FloatArray, delta: float, *, start: int = 0) -> int | None:
    """Test hypotheses in order; return the last one before the first failure.

    Parameters
    ----------
    pvalues : ndarray of shape (n_candidates,), float64
        P-values in [0, 1], from the most conservative candidate to the most
        permissive.
    delta : float
        Level of the test, in (0, 1).
    start : int, default=0
        First hypothesis to test, chosen without the data of the p-values.

    Returns
    -------
    last : int or None
        Index before the first p-value above ``delta`` from ``start`` on; None if the
        p-value at ``start`` is above it.

    Notes
    -----
    All candidates from ``start`` to ``last`` are certified together, with probability
    at least ``1 - delta`` [1]_, however the p-values depend on each other: an error
    implies that the first true hypothesis was rejected. Small p-values after the first
    failure do not count.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then test:
       calibrating predictive algorithms to achieve risk control". arXiv:2110.01052

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import fixed_sequence
    >>> fixed_sequence(np.array([0.4, 0.02, 0.03, 0.2, 0.01]), 0.1, start=1)
    2
    """
    # delta is not divided by the number of candidates: testing stops at the first
    # failure, so that only the first true hypothesis can be rejected wrongly.
    failed = np.flatnonzero(pvalues[start:] > delta)
    n_rejected = int(failed[0]) if failed.size else pvalues.size - start
    return start + n_rejected - 1 if n_rejected else None


def certify_risk(
    accepted: FloatArray,
    errors: FloatArray,
    start: int,
    *,
    max_risk: float,
    delta: float,
    groups: IntArray | None = None,
) -> int | None:
    """Return the most permissive threshold whose selective risk is certified.

    Parameters
    ----------
    accepted, errors : ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q on queries that did not influence the ranker, its tie model,
        the list of thresholds or ``start``. Leave out queries without pairs.
    start : int
        Threshold to start from, such as that of `choose_start` on other queries.
    max_risk : float
        Bound on the selective risk, in (0, 1).
    delta : float
        Probability with which the certificate may be wrong, in (0, 1).
    groups : ndarray of shape (n_queries,), int64, default=None
        Group of each query; the bound is then certified in every group at once.

    Returns
    -------
    index : int or None
        Column of the threshold. None if not even ``start`` is certified: then accept
        nothing.

    Notes
    -----
    The bound is on the query-balanced selective risk, E[e_q] / E[a_q]: each query
    counts alike, however many pairs it has. Over the draw of the queries,
    P(E[e_q] / E[a_q] <= max_risk at the threshold returned, or None) >= 1 - delta, for
    any number of i.i.d. queries and any dependence of the pairs inside a query. It
    says nothing about the risk in one query, the mean of e_q / a_q, the risk pooled
    over pairs, or queries from another source.

    The ratio is at most ``max_risk`` exactly if u_q = e_q + max_risk (1 - a_q), which
    is in [0, 1], has a mean of at most ``max_risk``. `wsr_pvalue`, which depends on the
    order of the queries, tests that along a `fixed_sequence` of thresholds, as in learn
    then test [1]_; the risk need not be monotone, and the number of thresholds costs
    nothing. A threshold that accepts no pair at all is never certified.

    With groups a threshold passes only if it passes in each of them: the largest of
    their p-values is one for "the bound fails in some group", so that ``delta`` need
    not be divided among them (an intersection-union test).

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2021). "Learn then test:
       calibrating predictive algorithms to achieve risk control". arXiv:2110.01052

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.concentration import certify_risk
    >>> accepted = np.tile([0.2, 0.5, 0.8, 1.0], (100, 1))
    >>> errors = accepted * [0.01, 0.02, 0.05, 0.3]
    >>> certify_risk(accepted, errors, 1, max_risk=0.1, delta=0.1)
    2
    """
    if not len(accepted):
        return None  # without evidence nothing is certified
    # u_q of the Notes: defined for queries that accept nothing, unlike e_q / a_q, and
    # within [0, 1] but for rounding, since errors <= accepted <= 1.
    losses = errors[:, start:] + max_risk * (1 - accepted[:, start:])
    every = np.zeros(len(losses)) if groups is None else groups
    pvalues = [
        wsr_pvalue(losses[every == group], max_risk, level=delta)
        for group in np.unique(every)
    ]
    # Intersection-union: every group must reject for "fails in some group" to be.
    last = fixed_sequence(np.max(pvalues, axis=0), delta)
    return None if last is None else start + last


def warn_of_delta(delta: float, name: str = "delta") -> None:
    """Warn if the probability of failure, or 1 - confidence, looks like the other."""
    if delta >= _MOST_DELTA:
        value = delta if name == "delta" else 1 - delta
        warn_user(
            f"{name}={value:.3g} promises something with a probability of at least "
            f"{1 - delta:.3g} only. If it was meant the other way round, pass "
            f"{name}={1 - value:.3g}."
        )


def advise_on_certification(
    max_risk: float,
    delta: float,
    counts: dict[Any, int],
    tuned: tuple[FloatArray, FloatArray],
    *,
    besides: str = "",
) -> str:
    """Return advice for a user whose risk could not be certified.

    Parameters
    ----------
    max_risk, delta : float
        As in `certify_risk`.
    counts : dict of str to int
        Queries of each group; the only key is None where there are no groups.
    tuned : tuple of two ndarray of shape (n_queries, n_thresholds), float64
        Shares a_q and e_q that `choose_start` was given.
    besides : str, default=""
        Further advice, for a user with enough queries.

    Notes
    -----
    Let m be the largest mean of ``max_risk * a_q - e_q``, found at the start. The bound
    fails if a query has all its pairs accepted and wrong with probability just above
    p = m / (m + 1 - max_risk), and with probability (1 - p)^n no such query is among n.
    So no valid test is sure to certify with fewer than ``least_queries(p, delta)``
    queries.
    """
    name, count = min(counts.items(), key=lambda entry: entry[1])
    least = least_queries(max_risk, delta)
    more = "Pass more labelled queries (a larger calibration_size or a fitted ranker "
    more += "leaves more to certify), or "
    if count < least:
        where = "" if name is None else f" in each group, and {name!r} has {count}"
        few = f"Even without a single error this takes {least} certification queries"
        return f"{few}{where}. {more}allow a larger max_risk or delta."
    margin = (max_risk * tuned[0] - tuned[1]).mean(axis=0).max()
    if margin <= _ROUNDING:
        return (
            "No threshold kept the bound on the queries that tuned, either: pass a "
            f"better ranker or tie model, or allow a larger max_risk.{besides}"
        )
    sure = least_queries(margin / (margin + 1 - max_risk), delta)
    # The margin is one of all queries together; one group may fail for another reason.
    found = (
        "Going by the queries that tuned, this takes at least "
        f"{sure} certification queries with this ranker. "
        if name is None and count < sure
        else ""
    )
    more += "a better ranker or tie model, or allow a larger max_risk or delta."
    return f"{found}{more}{besides}"
