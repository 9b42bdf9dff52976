"""Data to try rankers on: simulated queries, and a list of patients.

An item of a simulated query, with features x, has the utility u(x). Utility plus noise
is its latent relevance, and the target is that, or a grade cut from it. Given the
features, items are independent, so the distribution of every pair follows from two
utilities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import ndtri
from sklearn.datasets import load_diabetes
from sklearn.utils import Bunch, check_random_state

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_positive_int,
    check_real,
    check_vector,
)
from skrank_abstain.pairs import Queries, check_pairs, group_queries

#: Share of the variance of the utility that is linear in the features.
LINEAR_SHARE = 0.9


def _logistic_difference_cdf(d: FloatArray) -> FloatArray:
    """P(L1 - L2 <= d) of two standard logistic variables, for d <= 0.

    Integrating expit(logit(p) + d) over p in (0, 1) gives
    e^d (e^d - 1 - d) / (e^d - 1)^2, where the numerator cancels near d = 0; there,
    1/2 + d/6 - d^3/180 + d^5/5040, with an error below 1e-15.
    """
    # Both branches are computed: -1 is a harmless number for the other one.
    near = d > -0.03
    safe = np.where(near, -1.0, d)
    away = np.exp(safe) * (np.expm1(safe) - safe) / np.expm1(safe) ** 2
    small = np.where(near, d, 0.0)
    series = 0.5 + small / 6 - small**3 / 180 + small**5 / 5040
    return np.where(near, series, away)


#: Noise distributions by the method of RandomState that draws from them, each with the
#: cdf, for arguments <= 0, of the difference of two independent draws.
NOISES: dict[str, tuple[Any, Callable[[FloatArray], FloatArray]]] = {
    "logistic": (stats.logistic, _logistic_difference_cdf),
    # The variance of a difference is the sum of the two.
    "normal": (stats.norm, stats.norm(scale=np.sqrt(2.0)).cdf),
    # The difference is logistic, which gives Bradley-Terry.
    "gumbel": (stats.gumbel_r, stats.logistic.cdf),
}


@dataclass(frozen=True, eq=False, repr=False)
class _PairProbability:
    """Pair probabilities of simulated items; see `make_ranking`."""

    utility: FloatArray
    grade_proba: FloatArray | None
    noise: str
    queries: Queries

    def __call__(self, left: ArrayLike, right: ArrayLike) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1, shape (n_pairs, 3)."""
        first = check_vector(left, "left")
        second = check_vector(right, "right", first.size, unit="pair")
        i, j = check_pairs(np.column_stack([first, second]), self.queries)
        if self.grade_proba is None:
            difference = self.utility[i] - self.utility[j]
            # From the smaller tail: 1 - p loses the digits of a p near 1. A pair and
            # its mirror image get the same two numbers.
            worse = NOISES[self.noise][1](-np.abs(difference))
            left_wins = np.where(difference > 0, 1 - worse, worse)
            right_wins = np.where(difference > 0, worse, 1 - worse)
            return np.column_stack([right_wins, np.zeros_like(worse), left_wins])
        one, other = self.grade_proba[i], self.grade_proba[j]
        tied = (one * other).sum(axis=1)
        lost, won = _probability_greater(other, one), _probability_greater(one, other)
        return np.column_stack([lost, tied, won])


def _probability_greater(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Sum over grades k of P(upper = k) P(lower < k)."""
    return np.asarray((upper[:, 1:] * np.cumsum(lower, axis=1)[:, :-1]).sum(axis=1))


def make_ranking(
    n_queries: int = 100,
    n_items: int | tuple[int, int] = (5, 20),
    n_features: int = 10,
    *,
    n_informative: int = 5,
    n_grades: int | None = 3,
    noise: str = "logistic",
    signal: float = 2.0,
    random_state: Any = None,
) -> Bunch:
    r"""Simulate queries with known pair probabilities.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_items : int or (int, int), default=(5, 20)
        Items per query, or the smallest and the largest number, inclusive.
    n_features : int, default=10
        Number of features, independent and standard normal.
    n_informative : int, default=5
        Number of features that matter: the first ones, the earlier ones more.
    n_grades : int or None, default=3
        Number of relevance grades, at least 2. None: the target is the real-valued
        latent relevance, without ties.
    noise : {"logistic", "normal", "gumbel"}, default="logistic"
        Standard distribution (location 0, scale 1) of the noise.
    signal : float, default=2.0
        Standard deviation of the utility, at least 0; larger means a more predictable
        order.
    random_state : int, RandomState instance or None, default=None
        Seed. Two seeds give training and test data of one problem: the utility as a
        function of the features does not depend on it.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (n_items_total, n_features), float64
            Features.
        target : ndarray of shape (n_items_total,), int64 or float64
            Grade from 0 to ``n_grades - 1``, or latent relevance. Higher is better.
        qid : ndarray of shape (n_items_total,), int64
            Number of the query, from 0; contiguous.
        utility : ndarray of shape (n_items_total,), float64
            The best possible score.
        grade_proba : ndarray of shape (n_items_total, n_grades), float64, or None
            Probability of each grade given the features.
        pair_proba : callable
            ``pair_proba(left, right)`` takes row positions, each of shape
            (n_pairs,), of two different items of one query and returns the
            probabilities of the labels -1, 0, +1 (right preferred, tie, left
            preferred) given the features, shape (n_pairs, 3). It can be pickled.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    With s = ``signal``, m = ``n_informative`` and weights
    :math:`w_k \propto 1 / \sqrt{k}`, :math:`\sum_k w_k^2 = 1`, the utility is

    .. math::
        u(x) = s \sum_{k=1}^{m} w_k
               \left( \sqrt{0.9}\, x_k + \sqrt{0.1}\, (x_k^2 - 1) / \sqrt{2} \right),

    nine tenths of its variance being linear. Its mean is 0 and its standard
    deviation is s, because the terms are uncorrelated. The latent relevance is
    :math:`z = u(x) + e`, with e independent of everything and of cdf F.

    *Grades*: y is the number of thresholds :math:`t_1 < \dots < t_{K-1}` that z
    reaches. They depend on K, the noise and s, not on the data, and are the
    quantiles of a normal distribution with the mean and variance of z such that
    grade k would have a share proportional to K - k: about 1/2, 1/3 and 1/6 for
    K = 3, low grades being common as in web search. Hence
    :math:`P(y = k \mid x) = F(t_{k+1} - u) - F(t_k - u)` and
    :math:`P(y_i > y_j) = \sum_k P(y_i = k) P(y_j < k)`.

    *No grades*: :math:`P(y_i > y_j)` is a function of :math:`d = u_i - u_j`,

    - Gumbel noise: :math:`1 / (1 + e^{-d})`, the Bradley-Terry model [1]_;
    - normal noise: :math:`\Phi(d / \sqrt{2})`, the model of Thurstone [2]_;
    - logistic noise: :math:`(1 - e^{-d} - d e^{-d}) / (1 - e^{-d})^2`, and 1/2 at
      d = 0.

    Bradley-Terry models *with ties*, such as those of Rao and Kupper or of
    Davidson, describe comparisons, not items: their tie probability depends on
    :math:`u_i - u_j` alone, and their ties are not transitive. Grades cannot
    produce them (two items far below the lowest threshold are almost surely tied,
    however different), so that with grades those models are never exactly right;
    ``pair_proba`` shows how close they come.

    References
    ----------
    .. [1] R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block
       designs: I. The method of paired comparisons", Biometrika 39, 1952,
       doi:10.2307/2334029.
    .. [2] L. L. Thurstone, "A law of comparative judgment", Psychological Review
       34, 1927, doi:10.1037/h0070288.

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> queries = make_ranking(n_queries=2, n_items=3, random_state=3)
    >>> queries.data.shape, queries.target, queries.qid
    ((6, 10), array([0, 1, 1, 1, 0, 2]), array([0, 0, 0, 1, 1, 1]))
    >>> queries.pair_proba([0, 4], [1, 5]).round(2)
    array([[0.2 , 0.4 , 0.4 ],
           [0.98, 0.02, 0.  ]])
    """
    n_queries = check_positive_int(n_queries, "n_queries")
    low, high = _check_n_items(n_items)
    n_features = check_positive_int(n_features, "n_features")
    if check_positive_int(n_informative, "n_informative") > n_features:
        raise ValueError(
            f"n_informative must be at most n_features={n_features}, "
            f"got {n_informative}."
        )
    if n_grades is not None:
        n_grades = check_positive_int(n_grades, "n_grades", minimum=2)
    check_choice(noise, "noise", tuple(NOISES))
    signal = check_real(signal, "signal", 0, np.inf, include_high=False)

    # Do not change the order of the draws: a seed gives the same data in every release.
    random = check_random_state(random_state)
    sizes = random.randint(low, high + 1, size=n_queries)
    qid = np.repeat(np.arange(n_queries, dtype=np.int64), sizes)
    X = random.standard_normal((qid.size, n_features))
    utility = signal * _unit_utility(X[:, :n_informative])
    target = utility + getattr(random, noise)(size=qid.size)
    grade_proba = None
    if n_grades is not None:
        thresholds = _thresholds(n_grades, noise, signal)
        with np.errstate(over="ignore"):  # far below Gumbel's cdf is 0
            below = NOISES[noise][0].cdf(thresholds - utility[:, np.newaxis])
        grade_proba = np.diff(below, axis=1, prepend=0.0, append=1.0)
        target = np.searchsorted(thresholds, target, side="right").astype(np.int64)
    queries = group_queries(qid, qid.size)
    return Bunch(
        data=X,
        target=target,
        qid=qid,
        utility=utility,
        grade_proba=grade_proba,
        pair_proba=_PairProbability(utility, grade_proba, noise, queries),
    )


def _unit_utility(X: FloatArray) -> FloatArray:
    """Return the utility, of mean 0 and variance 1, from normal features."""
    # Without a seed: two seeds give training and test data of one problem. The small
    # curved part keeps a linear ranker from being exactly right.
    weight = 1 / np.sqrt(np.arange(1, X.shape[1] + 1))
    weight /= np.linalg.norm(weight)
    linear = np.sqrt(LINEAR_SHARE) * X
    curved = np.sqrt(1 - LINEAR_SHARE) * (X**2 - 1) / np.sqrt(2)
    return np.asarray((linear + curved) @ weight)


def _thresholds(n_grades: int, noise: str, signal: float) -> FloatArray:
    """Cuts of the latent relevance, shape (n_grades - 1,), increasing."""
    # Quantiles of a normal stand-in for z, not of the sample, which would make the
    # grades of two items dependent.
    share = np.arange(n_grades, 0, -1) / (n_grades * (n_grades + 1) / 2)
    mean, variance = NOISES[noise][0].stats()
    scale = np.sqrt(signal**2 + variance)
    return np.asarray(mean + scale * ndtri(np.cumsum(share)[:-1]))


def _check_n_items(n_items: Any) -> tuple[int, int]:
    sizes = n_items if isinstance(n_items, tuple | list) else (n_items, n_items)
    bounds = tuple(check_positive_int(size, "n_items") for size in sizes)
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        raise ValueError(
            f"n_items must be an integer or (smallest, largest), got {n_items!r}."
        )
    return bounds


#: 442 patients make 34 days of 13.
PATIENTS_PER_DAY = 13

FEATURE_NAMES = [
    "age",
    "sex",
    "bmi",
    "blood_pressure",
    "total_cholesterol",
    "ldl",
    "hdl",
    "cholesterol_hdl_ratio",
    "log_triglycerides",
    "glucose",
]


def load_triage(*, n_grades: int = 5, random_state: Any = 0) -> Bunch:
    """Load diabetes patients grouped into synthetic clinic days.

    Which patients of a day are the most urgent? The 442 patients are real [1]_, as
    bundled with scikit-learn, unscaled; the days are a synthetic grouping, drawn at
    random. This is a teaching dataset, small and decades old: it does not show how well
    triage would work in a clinic, and must not be used for decisions about patients.

    Parameters
    ----------
    n_grades : int, default=5
        Number of grades of urgency, at least 2; each needs a patient.
    random_state : int, RandomState instance or None, default=0
        Seed of the assignment of patients to days, which alone is random.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (442, 10), float64
            Measurements in their own units, one patient per row.
        target : ndarray of shape (442,), int64
            Grade from 0 to ``n_grades - 1``; higher means faster progression and
            more urgent.
        qid : ndarray of shape (442,), int64
            Clinic day, 0 to 33, each with 13 patients; synthetic. The rows of a day
            are not contiguous.
        feature_names : list of str
            Names of the columns of ``data``.
        progression : ndarray of shape (442,), float64
            Progression of the disease after one year, from which the grades are made.
        DESCR : str
            Where the data come from.

    Raises
    ------
    ValueError
        If ``n_grades`` is below 2, or so large that a grade has no patient.

    Notes
    -----
    Grade k holds the patients whose progression lies from its k / K quantile up to
    (excluding) its (k + 1) / K quantile, K being ``n_grades``; the last grade
    includes the maximum. Grades have about equal sizes.

    Column names spell out the abbreviations of the original; that its "ltg" is the
    logarithm of triglycerides is likely but not documented. Sex is coded 1 and 2, and
    the cholesterol ratio is rounded to a whole number for most patients.

    References
    ----------
    .. [1] B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle
       regression", Annals of Statistics 32, 2004, doi:10.1214/009053604000000067.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.datasets import load_triage
    >>> triage = load_triage()
    >>> triage.data.shape
    (442, 10)
    >>> np.bincount(triage.target)
    array([87, 89, 88, 88, 90])
    >>> int((triage.qid == 0).sum())
    13
    """
    n_grades = check_positive_int(n_grades, "n_grades", minimum=2)
    # Unscaled, so that readers recognise an age and a blood pressure.
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    days = np.arange(progression.size, dtype=np.int64) // PATIENTS_PER_DAY
    # More quantiles than patients would only take memory.
    inner = np.arange(1, min(n_grades, progression.size + 1)) / n_grades
    # A value at a quantile gets the higher grade, so that grade 0 is no larger.
    grades = np.searchsorted(np.quantile(progression, inner), progression, side="right")
    if np.unique(grades).size < n_grades:
        raise ValueError(f"n_grades must leave each grade a patient, got {n_grades}.")
    return Bunch(
        data=np.ascontiguousarray(X, dtype=np.float64),
        target=grades.astype(np.int64),
        qid=check_random_state(random_state).permutation(days),
        feature_names=list(FEATURE_NAMES),
        progression=np.asarray(progression, dtype=np.float64),
        DESCR=getdoc(load_triage),
    )
