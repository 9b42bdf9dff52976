"""How many rankings a class of functions can tell apart on a sample, as logarithms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import check_choice, check_finite, check_positive_int
from skrank_abstain.theory._rank_matrices import count_rank_matrices

#: Up to as many items all rank matrices are counted within hundredths of a second.
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
        How sign patterns of N = m n differences x - x' are counted: as those of
        hyperplanes through the origin, and never more than there are rank matrices; or
        as those of any hyperplanes, as published.

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

    See Also
    --------
    count_distinct_rank_matrices : The same for functions that can be listed.

    Notes
    -----
    A rank matrix is the pattern of signs -1, 0, +1 of w . (x - x') over the m n pairs.

    ``"central"``: the hyperplanes w . (x - x') = 0 in the space of w pass through the
    origin. Through the origin, N hyperplanes cut d dimensions into at most
    R(N, d) = 2 sum_{j < d} C(N - 1, j) parts [2]_. They meet in at most C(N, i) flats
    of dimension d - i, each of which the others cut into at most R(N - i, d - i) parts
    [3]_: in all 1 + sum_{i < d} C(N, i) R(N - i, d - i) patterns. That is 3 for d = 1,
    4N + 1 for d = 2, and 3^N for N <= d. Not every pattern of differences is one of
    scores: up to 200 items the result is at most the logarithm of
    :func:`count_rank_matrices`, psi(m, n) of [1]_. Beyond that the count alone is
    taken: psi is at least 3^max(m, n), with which no bound of the AUC says anything.

    ``"lemma2"``: sum_{i <= min(d, N)} 2^i C(N, i), the step before the closed form
    (2 e N / d)^d that Theorem 5 of [1]_ states. The closed form is larger for N >= d,
    and no bound for N < d, where it can be less than 1.

    O(min(d, m n)) time, and that of ``count_rank_matrices`` up to 200 items; nothing
    overflows.

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
        # psi is at least 3^max(m, n): below that there is nothing to cap.
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
    w and z: what :func:`auc_uniform_bound_freund` asks for.

    Parameters
    ----------
    n_points : int
        Number of points, at least 1.
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
    The sign patterns of hyperplanes through the origin in one dimension more, counted
    as in :func:`log_rank_shatter_linear`. In one dimension 4N + 1 for N > 1 points,
    which is attained, and 3 for one. Theorem 6 of [1]_ needs this coefficient.
    O(n_features) time.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.

    Examples
    --------
    >>> import math
    >>> from skrank_abstain.theory import log_threshold_shatter_linear
    >>> [round(math.exp(log_threshold_shatter_linear(n, 1))) for n in (1, 2, 3, 8)]
    [3, 9, 13, 33]
    """
    # w . x - w . z is a linear function of (x, 1): one dimension more, and central.
    n_points = check_positive_int(n_points, "n_points")
    dim = check_positive_int(n_features, "n_features") + 1
    return _log_central_patterns(n_points, dim)


def _log_central_patterns(n: int, dim: int) -> float:
    """Return the log number of faces of n hyperplanes through the origin.

    In general position, where there are most.
    """
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
    # Flats of dimension dim - i, times the parts that the other hyperplanes cut each
    # into; the last logaddexp adds the origin, where all signs are 0.
    flats = np.append(0.0, np.cumsum(np.log((n - steps + 1) / steps)))
    return float(np.logaddexp(0, np.logaddexp.reduce(flats + parts[::-1])))


def count_distinct_rank_matrices(
    positive_scores: ArrayLike, negative_scores: ArrayLike
) -> int:
    """Return how many rank matrices a list of ranking functions has on a sample.

    Parameters
    ----------
    positive_scores : array-like of shape (n_functions, m)
        Scores of the positives, one row per function; higher is better.
    negative_scores : array-like of shape (n_functions, n)
        Scores of the negatives.

    Returns
    -------
    count : int
        From 1 to ``n_functions``. The bipartite rank-shatter coefficient of a class is
        the largest such count over all samples, so this is a lower bound of it, and
        for a class of ``n_functions`` functions ``n_functions`` is an upper one.

    Raises
    ------
    ValueError
        If an array is empty, not two-dimensional or not finite, or if the numbers of
        functions differ.

    Notes
    -----
    By enumeration [1]_. O(n_functions m n) memory in bytes.

    References
    ----------
    .. [1] Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
       Under the ROC Curve". AISTATS 2005.

    Examples
    --------
    The three rankings of a feature: upwards, downwards, all equal.

    >>> import numpy as np
    >>> from skrank_abstain.theory import count_distinct_rank_matrices
    >>> slopes = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    >>> count_distinct_rank_matrices(slopes * [3, 1], slopes * [2, 0, 1])
    3
    """
    positive = check_finite(
        positive_scores, "positive_scores", ("n_functions", "n_positives")
    )
    negative = check_finite(
        negative_scores, "negative_scores", ("n_functions", "n_negatives")
    )
    if len(positive) != len(negative):
        raise ValueError(
            "negative_scores must have one row per function: positive_scores has "
            f"{len(positive)} rows, negative_scores {len(negative)}."
        )
    # Signs as int8: the tables of all functions are held at once, 8 times smaller.
    above = positive[:, :, None] > negative[:, None, :]
    below = positive[:, :, None] < negative[:, None, :]
    signs = above.view(np.int8) - below.view(np.int8)
    return len(np.unique(signs.reshape(len(signs), -1), axis=0))
