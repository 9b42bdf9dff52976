"""Wing: intervals and bounds of the area under the ROC curve.

For one given ranker use `auc_confidence_interval` or `auc_test_set_bound`. The others
bound how far the AUC on a sample is from the expected AUC, for all ranking functions of
a class at once.

m positives and n negatives are drawn independently. The empirical AUC of a ranking
function is the share of positive-negative pairs that it orders right, ties counting one
half; its expectation is the expected AUC.

The bounds hold for all functions of a class at once, so also for one that was trained
on the same sample. They depend on how many rankings the class has on a sample: the
logarithm of its shatter coefficient, bounded here for linear functions. All that the
AUC depends on is the bipartite rank matrix: rows are positives, columns negatives, and
an entry is 1 where the positive has the higher score, 1/2 where the scores are equal
and 0 otherwise. The AUC is its mean.

Source: Agarwal, Har-Peled and Roth (2005). "A Uniform Convergence Bound for the Area
Under the ROC Curve". AISTATS 2005.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri, stirling2
from scipy.stats import bootstrap, rankdata
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from skrank_abstain import concentration
from skrank_abstain._kernels import BoolArray, FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    check_positive_int,
    check_real,
    check_relevance,
    check_scores,
    shown,
)
from skrank_abstain.concentration import check_chance
from skrank_abstain.metrics import Estimate
from skrank_abstain.pairs import Scores, count_outcomes, group_queries

__all__ = [
    "auc_confidence_interval",
    "auc_test_set_bound",
    "auc_uniform_bound",
    "auc_uniform_bound_freund",
    "auc_sample_size",
    "log_rank_shatter_linear",
    "log_threshold_shatter_linear",
    "count_rank_matrices",
]

_ITEM_METHODS = ("delong", "bootstrap", "hoeffding", "mcdiarmid")
_QUERY_METHODS = ("cluster", "bootstrap")


def auc_confidence_interval(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Any = None,
    confidence: float = 0.95,
    method: str = "auto",
    n_resamples: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> Estimate:
    """Return the AUC of a ranker with a confidence interval.

    A higher AUC is better, in [0, 1]; 0.5 is guessing. Score ties count one half.

    Without ``qid`` the items are independent, and the interval is about new items. With
    ``qid`` the AUC is that of pairs within a query, the queries are independent, and
    the interval is about new queries.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        Relevance with two different values; the higher one is the positive class.
    scores : array-like of shape (n_items,)
        Scores by a ranker that has not seen these items; higher is better.
    qid : array-like of shape (n_items,), default=None
        Query of each item. The AUC is pooled over the pairs of different relevance of
        all queries; a query of one class has no AUC and is left out.
    confidence : float, default=0.95
        In (0, 1).
    method : {"auto", "delong", "bootstrap", "hoeffding", "mcdiarmid", "cluster"}, \
default="auto"
        Without ``qid``: ``"delong"`` (the meaning of ``"auto"``), ``"bootstrap"``, or
        one of the bounds ``"hoeffding"`` and ``"mcdiarmid"``, which hold for any number
        of items and are much wider. With ``qid``: ``"cluster"`` (the meaning of
        ``"auto"``) or ``"bootstrap"``.
    n_resamples : int, default=1000
        Number of samples of ``"bootstrap"``, at least 100.
    random_state : int, RandomState instance or None, default=None
        Draws the samples of ``"bootstrap"``.

    Returns
    -------
    result : Estimate
        Named tuple ``(value, low, high)``, within [0, 1].

    Raises
    ------
    TypeError
        If ``confidence`` is not a number or ``n_resamples`` not an integer.
    ValueError
        If ``y`` does not have two different values, lengths differ, a value is not
        finite, a number is out of range, the method does not go with ``qid``, a class
        has fewer than two items ("delong", "bootstrap"), or fewer than two queries have
        items of both classes.

    See Also
    --------
    auc_test_set_bound : Half the width of "hoeffding" and "mcdiarmid".
    sklearn.metrics.roc_auc_score : The AUC without ``qid``.
    skrank_abstain.concentration.ratio_interval : The interval of "cluster".

    Notes
    -----
    ``"delong"``: the variance of [1]_ from average ranks [2]_, on the logit scale [3]_:
    logit(auc) plus or minus z se / (auc (1 - auc)). The logit keeps the interval inside
    (0, 1) and improves its coverage near the ends. O(n_items log n_items).

    ``"bootstrap"``: percentiles; positives and negatives are drawn separately, or whole
    queries. O(n_resamples n_items log n_items), or O(n_resamples n_queries).

    ``"cluster"``: the AUC is a ratio of totals over queries, right pairs to all pairs;
    linearised variance and t quantile. O(n_items log n_items).

    Where these three see no spread at all (a perfect ranker, equal scores, or the same
    AUC in each query), the interval would have no width. Instead: at least k
    independent observations were all alike, k being the number of items of the smaller
    class, or of queries. They may have missed a share p = 1 - (alpha / 2)^(1 / k) of
    others, alpha = 1 - confidence, as in [4]_, and the interval goes from
    (1 - p) auc to auc + p (1 - auc). For queries this assumes that the AUC of a query
    is unrelated to its number of pairs.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson (1988). "Comparing the areas under two or
       more correlated receiver operating characteristic curves: a nonparametric
       approach". Biometrics 44(3). doi:10.2307/2531595.
    .. [2] Sun and Xu (2014). "Fast implementation of DeLong's algorithm for comparing
       the areas under correlated receiver operating characteristic curves". IEEE Signal
       Processing Letters 21(11). doi:10.1109/LSP.2014.2337313.
    .. [3] Pepe (2003). "The Statistical Evaluation of Medical Tests for Classification
       and Prediction". Oxford University Press.
    .. [4] Clopper and Pearson (1934). "The use of confidence or fiducial limits
       illustrated in the case of the binomial". Biometrika 26(4). doi:10.2307/2331986.

    Examples
    --------
    >>> from skrank_abstain.theory import auc_confidence_interval
    >>> y = [1, 0, 1, 1, 0, 0, 1, 0]
    >>> scores = [0.9, 0.8, 0.8, 0.4, 0.4, 0.1, 0.7, 0.7]
    >>> auc, low, high = auc_confidence_interval(y, scores)
    >>> round(auc, 3), round(low, 3), round(high, 3)
    (0.719, 0.276, 0.945)
    """
    alpha = 1 - check_chance(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples", minimum=100)
    relevance = check_relevance(y)
    classes = np.unique(relevance)
    if classes.size != 2:
        raise ValueError(
            "y must have two different values, the higher one being positive, got "
            f"{shown(classes.tolist())}. Turn grades into two classes first, such as "
            "y >= 2."
        )
    positive, values = relevance == classes[1], check_scores(scores, relevance.size)
    allowed = _ITEM_METHODS if qid is None else _QUERY_METHODS
    which = "without" if qid is None else "with"
    check_choice(method, f"method {which} qid", ("auto", *allowed))
    method = allowed[0] if method == "auto" else method
    random = check_random_state(random_state)
    if qid is None:
        return _item_interval(positive, values, alpha, method, n_resamples, random)
    items = Scores(values, group_queries(qid, values.size), y=1.0 * positive)
    right, _, wrong, undecided = count_outcomes(items, np.zeros(1), 0.0)[:, 0].T
    # Pairs won, ties one half, and pairs of the queries that have any.
    won, pairs = right + undecided / 2, right + wrong + undecided
    mixed = pairs > 0
    if mixed.sum() < 2:
        raise ValueError(
            "qid must name at least two queries with items of both classes, got "
            f"{int(mixed.sum())} such queries of {mixed.size}."
        )
    won, pairs = won[mixed], pairs[mixed]
    if method == "cluster":
        low, high = concentration.ratio_interval(won, pairs, confidence=confidence)
    else:
        low, high = concentration.cluster_bootstrap(
            lambda times: times @ won / (times @ pairs),
            won.size,
            n_resamples=n_resamples,
            confidence=confidence,
            random_state=random,
        )
    auc = float(won.sum() / pairs.sum())
    return Estimate(auc, *concentration.widened(auc, low, high, won.size, confidence))


def _item_interval(
    positive: BoolArray,
    scores: FloatArray,
    alpha: float,
    method: str,
    n_resamples: int,
    random: np.random.RandomState,
) -> Estimate:
    auc = float(roc_auc_score(positive, scores))
    m = int(positive.sum())
    n = positive.size - m
    if method in ("hoeffding", "mcdiarmid"):
        # These hold for any number of items, so also for a class of one.
        half = auc_test_set_bound(m, n, delta=alpha, method=method)
        return Estimate(auc, max(auc - half, 0.0), min(auc + half, 1.0))
    if min(m, n) < 2:
        raise ValueError(
            f"y must have at least two items of each class for method={method!r}, got "
            f"{m} of the higher and {n} of the lower one. Use method='hoeffding'."
        )
    if method == "delong":
        low, high = _delong(auc, positive, scores, alpha)
    else:
        low, high = bootstrap(
            (scores[positive], scores[~positive]),
            _auc,
            vectorized=False,
            batch=1,  # one resample in memory at a time
            n_resamples=n_resamples,
            confidence_level=1 - alpha,
            method="percentile",
            random_state=random,
        ).confidence_interval
    return Estimate(auc, *concentration.widened(auc, low, high, min(m, n), 1 - alpha))


def _delong(
    auc: float, positive: BoolArray, scores: FloatArray, alpha: float
) -> tuple[float, float]:
    """Return DeLong's interval on the logit scale, or (auc, auc) without variance."""
    rank = rankdata(scores)
    # The classes are independent samples, so that their variances add up.
    variance = 0.0
    for group in (positive, ~positive):
        # Items of the other class below each item of this one, ties one half.
        below = rank[group] - rankdata(scores[group])
        share = below / (positive.size - below.size)
        variance += float(share.var(ddof=1)) / below.size
    # The ends have no logit; `widened` widens intervals of width 0.
    if not 0 < auc < 1 or variance == 0:
        return auc, auc
    half = float(ndtri(1 - alpha / 2)) * np.sqrt(variance) / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def auc_test_set_bound(
    m: int, n: int, *, delta: float, method: str = "hoeffding", n_rankers: int = 1
) -> float:
    """Bound the deviation of the AUC of given rankers on items they have not seen.

    Lower is tighter; 1 or more says nothing.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.
    delta : float
        Probability that the bound fails, in (0, 1].
    method : {"hoeffding", "mcdiarmid"}, default="hoeffding"
        The inequality. Hoeffding's is never wider; at m = n it is narrower by the
        square root of 2.
    n_rankers : int, default=1
        Number of rankers to judge on the same items, so that the bound holds for the
        best of them too. All must be fixed before the items are looked at.

    Returns
    -------
    epsilon : float
        With probability at least 1 - delta, the empirical and the expected AUC of every
        ranker differ by less than epsilon.

    Raises
    ------
    TypeError, ValueError
        If a number has the wrong type or is out of range, or ``method`` is unknown.

    See Also
    --------
    auc_confidence_interval : Intervals that use the data, and are shorter.
    auc_sample_size : The items that a half-width takes.

    Notes
    -----
    With K rankers, each of which may fail with probability delta / K: Hoeffding, for
    two-sample U-statistics [1]_: sqrt(ln(2 K / delta) / (2 min(m, n))). McDiarmid, as
    in [2]_: sqrt((m + n) ln(2 K / delta) / (2 m n)). O(1).

    References
    ----------
    .. [1] Hoeffding (1963). "Probability inequalities for sums of bounded random
       variables". Journal of the American Statistical Association 58(301), section 5.
       doi:10.1080/01621459.1963.10500830.
    .. [2] Agarwal, Graepel, Herbrich, Har-Peled and Roth (2005). "Generalization Bounds
       for the Area Under the ROC Curve". Journal of Machine Learning Research 6.

    Examples
    --------
    >>> from skrank_abstain.theory import auc_test_set_bound
    >>> round(auc_test_set_bound(500, 500, delta=0.01), 4)
    0.0728
    >>> round(auc_test_set_bound(500, 500, delta=0.01, method="mcdiarmid"), 4)
    0.1029

    The best of 20 rankers, chosen on these items:

    >>> round(auc_test_set_bound(500, 500, delta=0.05, n_rankers=20), 3)
    0.082
    """
    m, n = check_positive_int(m, "m"), check_positive_int(n, "n")
    log_term = math.log(2 / check_chance(delta, "delta", include_one=True))
    log_term += math.log(check_positive_int(n_rankers, "n_rankers"))
    check_choice(method, "method", ("hoeffding", "mcdiarmid"))
    # Hoeffding averages over min(m, n) disjoint pairs; McDiarmid adds up the squares of
    # what one item can change, 1/m for m positives and 1/n for n negatives.
    size = min(m, n) if method == "hoeffding" else m * n / (m + n)
    return math.sqrt(log_term / (2 * size))


def _auc(positive: FloatArray, negative: FloatArray) -> float:
    """Return the share of pairs won by the positive, ties one half."""
    m, n = positive.size, negative.size
    rank = rankdata(np.concatenate([positive, negative]))[:m]
    return float((rank.sum() - m * (m + 1) / 2) / (m * n))


def count_rank_matrices(m: int, n: int) -> int:
    """Return the number of realizable bipartite rank matrices of a shape.

    Parameters
    ----------
    m, n : int
        Numbers of positives and negatives, at least 1.

    Returns
    -------
    count : int
        Exact, however large.

    Raises
    ------
    TypeError
        If ``m`` or ``n`` is not an integer.
    ValueError
        If one is less than 1.

    Notes
    -----
    No class of ranking functions can have a larger bipartite rank-shatter coefficient
    (Agarwal, Har-Peled and Roth, 2005). A matrix is a sequence of score levels. A level
    holds positives, negatives or both; neighbouring levels that hold positives alone,
    or negatives alone, count as one. The number of sequences with k levels of positives
    and l of negatives is the coefficient of a^k b^l in (1 + a) (1 + b) / (1 - 2ab - a^2
    b - a b^2 - a^2 b^2). Each can be filled in k! S(m, k) l! S(n, l) ways, where S are
    Stirling numbers of the second kind. O(m n + m^2 + n^2) operations on integers.

    Examples
    --------
    >>> from skrank_abstain.theory import count_rank_matrices
    >>> [count_rank_matrices(m, n) for m, n in [(1, 1), (2, 2), (3, 3), (6, 6)]]
    [3, 51, 2067, 3279778851]
    """
    rows = _surjections(check_positive_int(m, "m"))
    columns = _surjections(check_positive_int(n, "n"))
    # base[k + 2][l + 2] is the coefficient of a^k b^l in 1 / denominator of the
    # generating function in the Notes. Two rows and columns of zeros stand for negative
    # powers. Python's integers never overflow.
    base = [[0] * (len(columns) + 2) for _ in range(len(rows) + 2)]
    base[2][2] = 1
    total = 0
    for k, fillings in enumerate(rows, start=2):
        one, two, now = base[k - 1], base[k - 2], base[k]
        for i, others in enumerate(columns, start=2):
            now[i] += 2 * one[i - 1] + two[i - 1] + one[i - 2] + two[i - 2]
            total += (now[i] + one[i] + now[i - 1] + one[i - 1]) * fillings * others
    return total


def _surjections(n: int) -> list[int]:
    """Return the number of maps of n elements onto k, k! S(n, k), for k from 0 to n."""
    partitions = stirling2(n, range(n + 1), exact=True)
    return [math.factorial(k) * count for k, count in enumerate(partitions)]


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
    auc_sample_size : The same, solved for the numbers of items.
    auc_test_set_bound : Far narrower for rankers that were fixed
        before the sample was drawn.

    Notes
    -----
    Corollary 1 of Agarwal, Har-Peled and Roth (2005):
    sqrt(8 (m + n) (ln r(2m, 2n) + ln(4 / delta)) / (m n)). It holds given m and n,
    whatever the order of the labels, and for the m and n that a sample happens to have
    where the labels are drawn, too: Theorem 3. Solved for delta it is Theorem 2,
    4 r(2m, 2n) exp(-m n epsilon^2 / (8 (m + n))). O(1), plus the cost of
    ``log_shatter``.

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
    log_term = math.log(4 / check_chance(delta, "delta", include_one=True))
    # Twice the items: the proof compares the sample with a second one of its size.
    # Logarithms throughout: r(2m, 2n) itself is beyond float64 for most samples.
    log_term += _log_coefficient(log_shatter, 2 * m, 2 * n)
    return math.sqrt(8 * (1 / m + 1 / n) * log_term)


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
            "log_shatter must be a callable of the number of items, with which the "
            f"count grows, got {shown(log_shatter)}."
        )
    log_term = math.log(12 / check_chance(delta, "delta", include_one=True))
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
        If a number has the wrong type, or ``bound`` cannot be called so.
    ValueError
        If a number is out of range, or ``bound`` returns NaN or a negative number, or
        is still above ``half_width`` with 10^15 items of the smaller class.

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
    value = log_shatter(*sizes) if callable(log_shatter) else log_shatter
    remedy = " It is the logarithm of a count of at least 1."
    return check_real(
        value, "log_shatter", 0, math.inf, include_high=False, remedy=remedy
    )
