"""Confidence intervals of the AUC of a given ranker."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri
from scipy.stats import bootstrap, rankdata
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_fraction,
    check_positive_int,
    check_relevance,
    check_scores,
    shown,
)
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import Estimate
from skrank_abstain.pairs import Scores, count_outcomes, group_queries

_ITEM_METHODS = ("delong", "bootstrap", "hoeffding", "mcdiarmid")
_QUERY_METHODS = ("cluster", "bootstrap")


def auc_confidence_interval(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
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
    queries. O(n_resamples n_items), or O(n_resamples n_queries).

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
    alpha = 1 - check_fraction(confidence, "confidence")
    n_resamples = check_positive_int(n_resamples, "n_resamples", minimum=100)
    positive, values = _check_items(y, scores)
    allowed = _ITEM_METHODS if qid is None else _QUERY_METHODS
    which = "without" if qid is None else "with"
    check_choice(method, f"method {which} qid", ("auto", *allowed))
    method = allowed[0] if method == "auto" else method
    random = check_random_state(random_state)
    if qid is None:
        return _item_interval(positive, values, alpha, method, n_resamples, random)
    won, pairs = _pairs_of_queries(positive, values, qid)
    if method == "cluster":
        low, high = ratio_interval(won, pairs, confidence=confidence)
    else:
        low, high = cluster_bootstrap(
            lambda times: times @ won / (times @ pairs),
            won.size,
            n_resamples=n_resamples,
            confidence=confidence,
            random_state=random,
        )
    return _result(float(won.sum() / pairs.sum()), low, high, won.size, alpha)


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
        low, high = _resample_items(positive, scores, alpha, n_resamples, random)
    return _result(auc, low, high, min(m, n), alpha)


def _check_items(y: ArrayLike, scores: ArrayLike) -> tuple[BoolArray, FloatArray]:
    relevance = check_relevance(y)
    classes = np.unique(relevance)
    if classes.size != 2:
        raise ValueError(
            "y must have two different values, the higher one being positive, got "
            f"{shown(classes.tolist())}. Turn grades into two classes first, such as "
            "y >= 2."
        )
    positive: BoolArray = relevance == classes[1]
    return positive, check_scores(scores, positive.size)


def _result(auc: float, low: float, high: float, n: int, alpha: float) -> Estimate:
    """Return a result, widened where n observations show no spread at all."""
    # p of the Notes, after Clopper and Pearson.
    if high - low < 1e-12:
        missed = 1 - (alpha / 2) ** (1 / n)
        low, high = (1 - missed) * auc, auc + missed * (1 - auc)
    # Percentiles of few resamples need not enclose the estimate.
    return Estimate(auc, float(np.clip(low, 0.0, auc)), float(np.clip(high, auc, 1.0)))


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
    # The ends have no logit; `_result` widens what has no width.
    if not 0 < auc < 1 or variance == 0:
        return auc, auc
    half = float(ndtri(1 - alpha / 2)) * np.sqrt(variance) / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def _resample_items(
    positive: BoolArray,
    scores: FloatArray,
    alpha: float,
    n_resamples: int,
    random: np.random.RandomState,
) -> tuple[float, float]:
    """Return the percentile interval of resampled positives and negatives."""
    # Counts by distinct score: a resample costs O(n), where sorting each would cost
    # O(n log n).
    level = rankdata(scores, method="dense").astype(np.int64) - 1
    n_levels = int(level.max()) + 1

    def auc(positives: IntArray, negatives: IntArray) -> float:
        above = np.bincount(positives, minlength=n_levels)
        below = np.bincount(negatives, minlength=n_levels)
        # Twice the pairs won, in integers.
        won = above @ (2 * np.cumsum(below) - below)
        return float(won / (2 * positives.size * negatives.size))

    low, high = bootstrap(
        (level[positive], level[~positive]),
        auc,
        vectorized=False,
        # One resample in memory at a time.
        batch=1,
        n_resamples=n_resamples,
        confidence_level=1 - alpha,
        method="percentile",
        random_state=random,
    ).confidence_interval
    return float(low), float(high)


def _pairs_of_queries(
    positive: BoolArray, scores: FloatArray, qid: Any
) -> tuple[FloatArray, FloatArray]:
    """Return pairs won, ties one half, and pairs of queries that have any."""
    items = Scores(scores, group_queries(qid, scores.size), y=1.0 * positive)
    right, _, wrong, undecided = count_outcomes(items, np.zeros(1), 0.0)[:, 0].T
    won, pairs = right + undecided / 2, right + wrong + undecided
    mixed = pairs > 0
    if mixed.sum() < 2:
        raise ValueError(
            "qid must name at least two queries with items of both classes, got "
            f"{int(mixed.sum())} such queries of {mixed.size}."
        )
    return won[mixed], pairs[mixed]


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
    log_term = math.log(2 / check_fraction(delta, "delta", include_one=True))
    log_term += math.log(check_positive_int(n_rankers, "n_rankers"))
    check_choice(method, "method", ("hoeffding", "mcdiarmid"))
    # Hoeffding averages over min(m, n) disjoint pairs; McDiarmid adds up the squares of
    # what one item can change, 1/m for m positives and 1/n for n negatives.
    size = min(m, n) if method == "hoeffding" else m * n / (m + n)
    return math.sqrt(log_term / (2 * size))
