"""How many rankings a class of functions has on a sample, as logarithms."""

from __future__ import annotations

import math

import numpy as np

from skrank_abstain._validation import check_choice, check_positive_int
from skrank_abstain.theory._rank_matrices import count_rank_matrices

#: With this many items, counting all rank matrices takes hundredths of a second.
_COUNTED_ITEMS = 200


def log_rank_shatter_linear(
    m: int, n: int, n_features: int, *, count: str = "central"
) -> float:
    """Bound the log bipartite rank-shatter coefficient of linear ranking functions.

    Lower is tighter. The functions are x -> w . x + b with any w and b. Polynomials are
    linear in their monomials: see ``n_features``.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.
    n_features : int
        Dimension d of x, at least 1. For polynomials of degree q in p variables the
        number of monomials but the constant, C(p + q, q) - 1.
    count : {"central", "lemma2"}, default="central"
        How the sign patterns of N = m n differences x - x' are counted. "central": as
        those of hyperplanes through the origin, and at most the number of rank
        matrices. "lemma2": as those of any hyperplanes, as published.

    Returns
    -------
    log_coefficient : float
        Natural logarithm.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a number is less than 1, or ``count`` is unknown.

    Notes
    -----
    A rank matrix is the pattern of signs -1, 0, +1 of w . (x - x') over the m n pairs.

    ``"central"``: the hyperplanes w . (x - x') = 0 pass through the origin of the space
    of w. N such hyperplanes cut d dimensions into at most R(N, d) =
    2 sum_{j < d} C(N - 1, j) parts [2]_. They meet in at most C(N, i) flats of
    dimension d - i, and the others cut each flat into at most R(N - i, d - i) parts
    [3]_, which makes 1 + sum_{i < d} C(N, i) R(N - i, d - i) patterns: 3 for d = 1,
    4N + 1 for d = 2, and 3^N for N <= d. Not every such pattern comes from scores.
    With up to 200 items the result is therefore cut to the logarithm of
    :func:`count_rank_matrices`, psi(m, n) of [1]_; with more it is not, since psi is at
    least 3^max(m, n), which makes every bound of the AUC useless.

    ``"lemma2"``: sum_{i <= min(d, N)} 2^i C(N, i), the step before the closed form
    (2 e N / d)^d of Theorem 5 of [1]_. The closed form is larger for d <= 4.18 N. For
    more features it is less than 3^N, which is attained: no bound.

    O(min(d, m n)) time, plus that of ``count_rank_matrices`` up to 200 items.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.
    .. [2] Cover (1965). "Geometrical and statistical properties of systems of linear
       inequalities with applications in pattern recognition". IEEE Transactions on
       Electronic Computers EC-14(3). doi:10.1109/PGEC.1965.264137.
    .. [3] Zaslavsky (1975). "Facing up to arrangements: face-count formulas for
       partitions of space by hyperplanes". Memoirs of the AMS 154.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import log_rank_shatter_linear
    >>> round(math.exp(log_rank_shatter_linear(3, 2, 2)))
    25
    >>> round(math.exp(log_rank_shatter_linear(3, 2, 2, count="lemma2")))
    73

    Polynomials of degree 3 in 2 variables have 9 monomials:

    >>> round(math.exp(log_rank_shatter_linear(3, 2, math.comb(2 + 3, 3) - 1)))
    261
    """
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    dim = check_positive_int(n_features, "n_features")
    check_choice(count, "count", ("central", "lemma2"))
    n_pairs = m * n
    if count == "central":
        value = _log_central_patterns(n_pairs, dim)
        # psi is at least 3^max(m, n): smaller values need no cap.
        if m + n <= _COUNTED_ITEMS and value > max(m, n) * math.log(3):
            value = min(value, math.log(count_rank_matrices(m, n)))
        return value
    if n_pairs <= dim:  # the sum is 3^N there
        return n_pairs * math.log(3)
    steps = np.arange(1, dim + 1, dtype=np.float64)
    # Lemma 2 of [1]_: term i from term i - 1, 2^i C(N, i) = 2 (N - i + 1) / i times it.
    terms = np.append(0.0, np.cumsum(np.log(2 * (n_pairs - steps + 1) / steps)))
    return float(np.logaddexp.reduce(terms))


def log_threshold_shatter_linear(n_points: int, n_features: int) -> float:
    """Bound the log shatter coefficient of linear functions with a threshold item.

    Lower is tighter. The functions are x -> sign(w . (x - z)) in {-1, 0, +1} with any
    w and z. Meant for :func:`auc_uniform_bound_freund`.

    Parameters
    ----------
    n_points : int
        At least 1.
    n_features : int
        Dimension of x, at least 1; for polynomials their monomials but the constant.

    Returns
    -------
    log_coefficient : float
        Natural logarithm.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a number is less than 1.

    Notes
    -----
    Counts sign patterns of hyperplanes through the origin in one dimension more, as
    :func:`log_rank_shatter_linear` does. With one feature that gives 4N + 1 for N > 1
    points, which is attained, and 3 for one point. Theorem 6 of Agarwal, Har-Peled and
    Roth (2005) needs this coefficient. O(n_features) time.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import log_threshold_shatter_linear
    >>> [round(math.exp(log_threshold_shatter_linear(n, 1))) for n in (1, 2, 3, 8)]
    [3, 9, 13, 33]
    """
    # w . x - w . z is linear in (x, 1), so one dimension more.
    n_points = check_positive_int(n_points, "n_points")
    dim = check_positive_int(n_features, "n_features") + 1
    return _log_central_patterns(n_points, dim)


def _log_central_patterns(n: int, dim: int) -> float:
    """Return the log of the largest number of faces of n hyperplanes through 0."""
    if n <= dim:  # all signs
        return n * math.log(3)
    # Cover's R by its recursion, since sums of binomials of large N overflow:
    # parts[k - 1] = log R(n - dim + k, k): R(N + 1, k + 1) = 2 R(N, k) + 2 C(N - 1, k).
    parts = np.empty(dim)
    parts[0] = np.log(2)
    binomial = 0.0
    for k in range(1, dim):
        binomial += np.log((n - dim + k - 1) / k)
        parts[k] = np.log(2) + np.logaddexp(parts[k - 1], binomial)
    steps = np.arange(1, dim, dtype=np.float64)
    # Number of flats of dimension dim - i, times the parts that the other hyperplanes
    # cut each into. The last logaddexp adds the origin, where all signs are 0.
    flats = np.append(0.0, np.cumsum(np.log((n - steps + 1) / steps)))
    return float(np.logaddexp(0, np.logaddexp.reduce(flats + parts[::-1])))
