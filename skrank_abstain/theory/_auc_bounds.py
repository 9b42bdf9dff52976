"""Finite-sample bounds on the difference of the empirical and the expected AUC.

m positives and n negatives are drawn independently. The empirical AUC of a ranking
function is the share of positive-negative pairs that it orders right, ties counting one
half; its expectation is the expected AUC.

The bounds hold for all functions of a class at once, so also for one that was trained
on the same sample. They depend on how many rankings the class has on a sample: the
logarithm of its shatter coefficient.
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
from skrank_abstain.theory._auc_intervals import auc_test_set_bound


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
        bound: a function of the numbers of positives and negatives, called with
        ``2 * m`` and ``2 * n``, or a number that holds for every sample, such as the
        logarithm of the number of functions.
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
        If a number is out of range, or the logarithm negative or not finite.

    See Also
    --------
    log_rank_shatter_linear : The coefficient of linear functions.
    auc_uniform_probability : The same, solved for delta.
    auc_sample_size : The same, solved for the numbers of items.
    auc_test_set_bound : Far narrower for rankers that were fixed
        before the sample was drawn.

    Notes
    -----
    Corollary 1 of Agarwal, Har-Peled and Roth (2005):
    sqrt(8 (m + n) (ln r(2m, 2n) + ln(4 / delta)) / (m n)). It holds given m and n,
    whatever the order of the labels. O(1), plus the cost of ``log_shatter``.

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
    log_term += _log_coefficient(log_shatter, 2 * m, 2 * n)
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

    Lower is tighter; 1 or more says nothing. The bound of :func:`auc_uniform_bound` for
    items drawn together with their labels.

    Parameters
    ----------
    n_items : int
        Number of items M, at least 2.
    positive_share : float
        Share of positives that the sample happens to have, in (0, 1).
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
        If a number is out of range, or the logarithm negative or not finite.

    Notes
    -----
    Theorem 3 of Agarwal, Har-Peled and Roth (2005), with rho the share of positives:
    sqrt(8 (ln r(2 rho M, 2 (1 - rho) M) + ln(4 / delta)) / (rho (1 - rho) M)).
    Numbers of items are rounded up for ``log_shatter``, which must not fall with them.
    O(1), plus the cost of ``log_shatter``.

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
    # 0.3 * 20 is 6.000000000000001, which must count as 6 items.
    sizes = (math.ceil(round(2 * size, 6)) for size in (m, n))
    log_term += _log_coefficient(log_shatter, *sizes)
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
        If a number is out of range, or the logarithm negative or not finite.

    Notes
    -----
    Theorem 2 of Agarwal, Har-Peled and Roth (2005): 4 r(2m, 2n) exp(-m n epsilon^2 / (8
    (m + n))), at most 1. O(1), plus the cost of ``log_shatter``.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import auc_uniform_probability
    >>> round(auc_uniform_probability(0.2, 5000, 5000, math.log(3)), 6)
    4.5e-05
    """
    number = check_positive(epsilon, "epsilon")
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    log_coefficient = _log_coefficient(log_shatter, 2 * m, 2 * n)
    exponent = math.log(4) + log_coefficient - number**2 / (8 * (1 / m + 1 / n))
    # exp would overflow where the bound exceeds 1.
    return math.exp(min(exponent, 0.0))


def auc_uniform_bound_freund(
    m: int, n: int, log_shatter: Callable[[int], float], *, delta: float
) -> float:
    """Bound the deviation of the AUC for a class by the older, classification bound.

    Lower is tighter; 1 or more says nothing. :func:`auc_uniform_bound` is narrower for
    linear functions of one or two features and similar numbers of positives and
    negatives; otherwise this one can be. Neither looks at the data, so the smaller of
    the two is a bound as well.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.
    log_shatter : callable
        Logarithm of the shatter coefficient of the functions x -> sign(f(x) - f(z)) in
        {-1, 0, +1}, f in the class and z any item, or an upper bound: a function of the
        number of items, called with ``2 * m`` and ``2 * n``. A plain number is refused:
        since z is any item, the coefficient grows with the items even for one f. For K
        functions it is at most K (2 N + 1) on N items.
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
        If a number is out of range, or a logarithm negative or not finite.

    See Also
    --------
    log_threshold_shatter_linear : The coefficient of linear functions.

    Notes
    -----
    Theorem 6 of [1]_, after [2]_, with A(k) = (ln s(2k) + ln(12 / delta)) / k:
    2 sqrt(A(m)) + 2 sqrt(A(n)). O(1), plus the cost of ``log_shatter``.

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
        2 * math.sqrt((_log_coefficient(log_shatter, 2 * k) + log_term) / k)
        for k in (m, n)
    )


def auc_sample_size(
    half_width: float,
    bound: Callable[..., float] = auc_test_set_bound,
    *,
    delta: float,
    positive_share: float = 0.5,
) -> tuple[int, int]:
    """Return the numbers of positives and negatives that make a bound narrow enough.

    Parameters
    ----------
    half_width : float
        Largest deviation of the empirical from the expected AUC, in (0, 1).
    bound : callable, default=auc_test_set_bound
        Called with the numbers of positives and negatives, and with ``delta=``:
        `auc_test_set_bound`, `auc_uniform_bound`,
        `auc_uniform_bound_freund` (other arguments filled in by `functools.partial`) or
        a function of your own. It must fall as both numbers grow.
    delta : float
        Probability that the bound fails, in (0, 1].
    positive_share : float, default=0.5
        Share of positives among the items, in (0, 1).

    Returns
    -------
    m, n : int
        The smaller class has as few items as possible; the larger one follows from
        ``positive_share``, rounded up.

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
    Doubling, then bisection: O(log m) calls of ``bound``.

    Examples
    --------
    One ranker; the best of 20; a linear one of five features, trained on the sample.

    >>> from functools import partial
    >>> from skrank_abstain.theory import auc_test_set_bound
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
        # 0.9 / 0.1 is 9.000000000000002, which must count as 9.
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


def _log_coefficient(log_shatter: Any, *sizes: int) -> float:
    return check_real(
        log_shatter(*sizes) if callable(log_shatter) else log_shatter,
        "log_shatter",
        0,
        math.inf,
        include_high=False,
        remedy=" It is the logarithm of a count of at least 1.",
    )
