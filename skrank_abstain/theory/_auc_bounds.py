"""Finite-sample bounds on the difference of the empirical and the expected AUC.

m positives and n negatives are drawn independently. The empirical AUC of a ranking
function f is the share of pairs of a positive and a negative that f orders right, ties
one half; its expectation is the expected AUC of f, given the labels.

The uniform bounds hold for all functions of a class at once, so also for the one that
learning chose on the same sample. They need to know how many rankings the class can
tell apart: its shatter coefficient, as a logarithm.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from skrank_abstain._validation import (
    check_fraction,
    check_positive,
    check_positive_int,
    check_real,
    shown,
)
from skrank_abstain.metrics import auc_test_set_bound


def auc_uniform_bound(
    m: int, n: int, log_shatter: float | Callable[[int, int], float], *, delta: float
) -> float:
    """Bound the deviation of the AUC for all ranking functions of a class at once.

    Lower is tighter; 1 or more says nothing.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.
    log_shatter : float or callable
        Logarithm of the bipartite rank-shatter coefficient of the class, or an upper
        bound. A callable is called with the numbers of positives and negatives, and is
        asked for twice ``m`` and twice ``n``. A number must hold for every sample, such
        as the logarithm of the number of functions.
    delta : float
        Probability that the bound fails, in (0, 1].

    Returns
    -------
    epsilon : float
        With probability at least 1 - delta, the empirical and the expected AUC of every
        function of the class differ by less than epsilon.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If ``m`` or ``n`` is less than 1, ``delta`` is outside (0, 1], or the
        logarithm is negative or not finite.

    See Also
    --------
    log_rank_shatter_linear : The coefficient of linear functions.
    auc_uniform_probability : The same, solved for delta.
    auc_sample_size : The same, solved for the numbers of items.
    skrank_abstain.metrics.auc_test_set_bound : Far narrower for a list of rankers that
        were fixed before, with ``n_rankers``.

    Notes
    -----
    Corollary 1 of [1]_:
    sqrt(8 (m + n) (ln r(2m, 2n) + ln(4 / delta)) / (m n)). The labels enter by their
    numbers alone: it holds given m and n, in whatever order the labels come. O(1), and
    the cost of ``log_shatter``.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.

    Examples
    --------
    Linear functions of five features.

    >>> from functools import partial
    >>> from skrank_abstain.theory import auc_uniform_bound, log_rank_shatter_linear
    >>> linear = partial(log_rank_shatter_linear, n_features=5)
    >>> round(auc_uniform_bound(5000, 5000, linear, delta=0.05), 3)
    0.501
    """
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    log_term = math.log(4 / check_fraction(delta, "delta", include_one=True))
    # Twice the items: the proof compares the sample with a second one of its size.
    log_term += _log_coefficient(log_shatter, "log_shatter", 2 * m, 2 * n)
    # Logarithms throughout: r(2m, 2n) itself is beyond float64 for most samples.
    return math.sqrt(8 * (1 / m + 1 / n) * log_term)


def auc_uniform_bound_by_share(
    n_items: int,
    positive_share: float,
    log_shatter: float | Callable[[int, int], float],
    *,
    delta: float,
) -> float:
    """Bound the deviation of the AUC for a class, from the share of positives.

    Lower is tighter; 1 or more says nothing. The same bound as that of
    :func:`auc_uniform_bound`, for items drawn with their labels: it holds for the share
    of positives that the sample happens to have.

    Parameters
    ----------
    n_items : int
        Number of items M, at least 2.
    positive_share : float
        Share of positives in the sample, in (0, 1).
    log_shatter : float or callable
        As for :func:`auc_uniform_bound`.
    delta : float
        Probability that the bound fails, in (0, 1].

    Returns
    -------
    epsilon : float
        With probability at least 1 - delta, the empirical and the expected AUC of every
        function of the class differ by less than epsilon.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If ``n_items`` is less than 2, ``positive_share`` is outside (0, 1), ``delta``
        is outside (0, 1], or the logarithm is negative or not finite.

    Notes
    -----
    Theorem 3 of [1]_, with rho the share of positives:
    sqrt(8 (ln r(2 rho M, 2 (1 - rho) M) + ln(4 / delta)) / (rho (1 - rho) M)).
    Numbers of items are rounded up for ``log_shatter``, which does not fall with them.
    O(1), and the cost of ``log_shatter``.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import auc_uniform_bound_by_share
    >>> round(auc_uniform_bound_by_share(20_000, 0.3, math.log(3), delta=0.05), 3)
    0.102
    """
    total = check_positive_int(n_items, "n_items", minimum=2)
    share = check_fraction(positive_share, "positive_share")
    log_term = math.log(4 / check_fraction(delta, "delta", include_one=True))
    m, n = share * total, (1 - share) * total
    # 0.3 * 20 is 6.000000000000001 and is to stand for 6 items.
    sizes = (math.ceil(round(2 * size, 6)) for size in (m, n))
    log_term += _log_coefficient(log_shatter, "log_shatter", *sizes)
    return math.sqrt(8 * (1 / m + 1 / n) * log_term)


def auc_uniform_probability(
    epsilon: float, m: int, n: int, log_shatter: float | Callable[[int, int], float]
) -> float:
    """Bound the probability that some function's AUC deviates by epsilon or more.

    Lower is tighter; in [0, 1], where 1 says nothing.

    Parameters
    ----------
    epsilon : float
        Deviation, greater than 0.
    m, n : int
        Numbers of positives and negatives, at least 1.
    log_shatter : float or callable
        As for :func:`auc_uniform_bound`.

    Returns
    -------
    probability : float

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If ``epsilon`` is not greater than 0, ``m`` or ``n`` is less than 1, or the
        logarithm is negative or not finite.

    Notes
    -----
    Theorem 2 of [1]_: 4 r(2m, 2n) exp(-m n epsilon^2 / (8 (m + n))), at most 1. O(1),
    and the cost of ``log_shatter``.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import auc_uniform_probability
    >>> round(auc_uniform_probability(0.2, 5000, 5000, math.log(3)), 6)
    4.5e-05
    """
    number = check_positive(epsilon, "epsilon")
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    log_coefficient = _log_coefficient(log_shatter, "log_shatter", 2 * m, 2 * n)
    exponent = math.log(4) + log_coefficient - number**2 / (8 * (1 / m + 1 / n))
    # Cut off before exp, which would overflow where the bound says nothing.
    return math.exp(min(exponent, 0.0))


def auc_uniform_bound_freund(
    m: int, n: int, log_shatter: Callable[[int], float], *, delta: float
) -> float:
    """Bound the deviation of the AUC for a class by the older, classification bound.

    Lower is tighter; 1 or more says nothing. For linear functions of one or two
    features and similar numbers of positives and negatives, :func:`auc_uniform_bound`
    is narrower; for more features, or one class much the larger, this one can be.
    Neither looks at the data, so that the smaller of the two is a bound, too.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.
    log_shatter : callable
        Logarithm of the shatter coefficient of the functions x -> sign(f(x) - f(z)) in
        {-1, 0, +1}, f in the class and z an item, or an upper bound. Called with the
        number of items, it is asked for twice ``m`` and for twice ``n``. No number is
        taken: z being any item, the count grows with the items even for one f. For a
        list of K functions it is at most K (2 N + 1) on N items.
    delta : float
        Probability that the bound fails, in (0, 1].

    Returns
    -------
    epsilon : float
        With probability at least 1 - delta, the empirical and the expected AUC of every
        function of the class differ by less than epsilon.

    Raises
    ------
    TypeError
        If a number has the wrong type, or ``log_shatter`` is not callable.
    ValueError
        If ``m`` or ``n`` is less than 1, ``delta`` is outside (0, 1], or a logarithm
        is negative or not finite.

    See Also
    --------
    log_threshold_shatter_linear : The coefficient of linear functions.

    Notes
    -----
    Theorem 6 of [1]_, after [2]_, with A(k) = (ln s(2k) + ln(12 / delta)) / k:
    2 sqrt(A(m)) + 2 sqrt(A(n)). O(1), and the cost of ``log_shatter``.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.
    .. [2] Freund, Iyer, Schapire and Singer (2003). "An Efficient Boosting Algorithm
       for Combining Preferences". Journal of Machine Learning Research 4.

    Examples
    --------
    >>> from functools import partial
    >>> from skrank_abstain.theory import (
    ...     auc_uniform_bound_freund,
    ...     log_threshold_shatter_linear,
    ... )
    >>> linear = partial(log_threshold_shatter_linear, n_features=1)
    >>> round(auc_uniform_bound_freund(500, 500, linear, delta=0.01), 4)
    0.7016
    """
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    if not callable(log_shatter):
        raise TypeError(
            "log_shatter must be a callable of the number of items, got "
            f"{shown(log_shatter)}. The count grows with the items: for 20 rankers "
            "pass lambda k: math.log(20 * (2 * k + 1))."
        )
    log_term = math.log(12 / check_fraction(delta, "delta", include_one=True))
    return sum(
        2
        * math.sqrt(
            (_log_coefficient(log_shatter, "log_shatter", 2 * k) + log_term) / k
        )
        for k in (m, n)
    )


def auc_sample_size(
    half_width: float,
    bound: Callable[..., float] = auc_test_set_bound,
    *,
    delta: float,
    positive_share: float = 0.5,
) -> tuple[int, int]:
    """Return how many positives and negatives bring a bound down to a half-width.

    Parameters
    ----------
    half_width : float
        Largest deviation of the empirical from the expected AUC, in (0, 1).
    bound : callable, default=auc_test_set_bound
        :func:`skrank_abstain.metrics.auc_test_set_bound`, `auc_uniform_bound`,
        `auc_uniform_bound_freund` or a function of your own, with its other arguments
        filled in: called with the numbers of positives and of negatives, and with
        ``delta``. It must fall as both numbers grow.
    delta : float
        Probability that the bound fails, in (0, 1].
    positive_share : float, default=0.5
        Share of positives among the items, in (0, 1).

    Returns
    -------
    m, n : int
        The smaller class has as few items as will do, the other one as many as go with
        them, rounded up.

    Raises
    ------
    TypeError
        If a number has the wrong type, or ``bound`` is no function.
    ValueError
        If a number is out of range, ``bound`` has a ``delta`` already or returns NaN or
        a negative number, or is still above ``half_width`` with 10^15 items of the
        smaller class.

    Notes
    -----
    Doubling, then bisection: O(log(m)) calls of ``bound``.

    Examples
    --------
    One ranker; the best of 20; a linear one of five features, trained on the sample.

    >>> from functools import partial
    >>> from skrank_abstain.metrics import auc_test_set_bound
    >>> from skrank_abstain.theory import (
    ...     auc_sample_size,
    ...     auc_uniform_bound,
    ...     log_rank_shatter_linear,
    ... )
    >>> auc_sample_size(0.05, delta=0.05, positive_share=0.25)
    (738, 2214)
    >>> best = partial(auc_test_set_bound, n_rankers=20)
    >>> auc_sample_size(0.05, best, delta=0.05, positive_share=0.25)
    (1337, 4011)
    >>> linear = partial(log_rank_shatter_linear, n_features=5)
    >>> trained = partial(auc_uniform_bound, log_shatter=linear)
    >>> auc_sample_size(0.05, trained, delta=0.05)
    (758583, 758583)
    """
    width = check_fraction(half_width, "half_width")
    share = check_fraction(positive_share, "positive_share")
    ratio = max(share, 1 - share) / min(share, 1 - share)

    def sizes(smaller: int) -> tuple[int, int]:
        # 0.9 / 0.1 is 9.000000000000002 and is to stand for 9 items.
        larger = math.ceil(round(smaller * ratio, 6))
        return (smaller, larger) if share <= 0.5 else (larger, smaller)

    if not callable(bound):
        raise TypeError(f"bound must be a function, got {shown(bound)}.")
    if "delta" in getattr(bound, "keywords", {}):
        raise ValueError("bound must leave delta open: it is given as delta= here.")

    def is_enough(smaller: int) -> bool:
        found = bound(*sizes(smaller), delta=delta)
        return check_real(found, "what bound returns", 0, math.inf) <= width

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > 10**15:
            raise ValueError(
                f"half_width must be reachable, got {shown(half_width)}: with 10^15 "
                "items the bound is still above it."
            )
    between = range(enough // 2 + 1, enough)
    return sizes(between.start + bisect_left(between, True, key=is_enough))


def _log_coefficient(given: Any, name: str, *sizes: int) -> float:
    return check_real(
        given(*sizes) if callable(given) else given,
        name,
        0,
        math.inf,
        include_high=False,
        remedy=" It is the logarithm of a count of at least 1.",
    )
