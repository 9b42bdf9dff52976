"""Scorers: metrics of a fitted ranker, for wherever scikit-learn takes ``scoring=``.

Each is called as ``scorer(ranker, X, y, qid=None)`` and returns a float, higher is
better. It requests ``qid`` itself: with metadata routing enabled, ``qid`` reaches it
in ``cross_validate`` and ``GridSearchCV`` without further ado. With routing off, use
a ranker that takes the query from a column of X (``qid_col=``).

Which scorer for which question:

- how to choose ``coverage`` or another threshold: `selective_utility`. The others
  cannot: accuracy and AUC of the accepted pairs are best where next to nothing is
  accepted, and the three below do not depend on the threshold;
- which ranker or tie model: `neg_aurc_scorer`, `accuracy_at_coverage`,
  `coverage_at_risk`;
- what to report: `selective_accuracy_scorer`, `selective_auc_scorer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from skrank_abstain._validation import check_fraction, check_real
from skrank_abstain.metrics._curves import area_of_prefixes
from skrank_abstain.metrics._inside import find_ranker
from skrank_abstain.metrics._pair_arrays import undefined


class RankerScorer(ABC):
    """A scorer of a selective ranker, higher is better.

    The ranker may also be the last step of a Pipeline, or inside a fitted search. One
    of your own defines ``score_ranker``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import RankerScorer
    >>> class Decided(RankerScorer):
    ...     def score_ranker(self, ranker, X, y, qid):
    ...         return ranker.evaluate(X, y, qid=qid).coverage
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, data.qid)
    >>> round(Decided()(ranker, data.data, data.target, qid=data.qid), 1)
    0.5
    """

    #: What the ranker must offer.
    needs: ClassVar[str] = "evaluate"

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, qid: Any = None) -> float:
        """Return the score of a fitted ranker.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker, or a Pipeline or search that ends in one.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.

        Returns
        -------
        score : float

        Raises
        ------
        TypeError
            If there is no selective ranker in ``estimator``.
        ValueError
            If the ranker was fitted with a ``qid`` and is scored without one.
        """
        ranker, X = find_ranker(estimator, X, self.needs)
        return self.score_ranker(ranker, X, y, qid)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        """Return the score of the ranker inside the estimator."""

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for ``qid``; scikit-learn asks for it.

        Returns
        -------
        request : MetadataRequest
        """
        # Only the scorer knows that it takes a qid; a user need not set_score_request.
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


class _SelectiveAccuracy(RankerScorer):
    """Scorer: accuracy on the accepted pairs, what ``score`` of the ranker returns.

    Higher is better, in [0, 1]; NaN, with a warning, where no pair is accepted. A
    search that may lower the coverage with it always does: the fewer pairs are
    accepted, the surer they are. Choose a coverage by `selective_utility`.

    Notes
    -----
    `selective_accuracy_score` of all pairs of the evaluated data; O(n log n) for n
    items, since no pair is formed.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import selective_accuracy_scorer
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target, data.qid)
    >>> selective_accuracy_scorer(ranker, data.data, data.target, qid=data.qid) > 0.5
    True
    """

    def __repr__(self) -> str:
        return "selective_accuracy_scorer"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        return float(ranker.score(X, y, qid=qid))


class _SelectiveAUC(RankerScorer):
    """Scorer: `selective_auc_score` of the accepted pairs.

    Higher is better, in [0, 1]; NaN, with a warning, where no accepted pair has
    different relevance. Like selective accuracy it prefers the lowest coverage.

    Notes
    -----
    Accepted pairs of different relevance in the right order, plus half of those called
    a tie, over all accepted pairs of different relevance. O(n log n) for n items.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import selective_auc_scorer
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target, data.qid)
    >>> selective_auc_scorer(ranker, data.data, data.target, qid=data.qid) > 0.5
    True
    """

    def __repr__(self) -> str:
        return "selective_auc_scorer"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        # evaluate is silent about what is undefined; a scorer must not be.
        auc = float(ranker.evaluate(X, y, qid=qid).auc)
        return undefined("selective AUC") if np.isnan(auc) else auc


class _NegativeAURC(RankerScorer):
    """Scorer: minus `aurc_loss` of all pairs, whatever the threshold.

    Higher is better, at most 0; NaN, with a warning, without any pair. Judges the
    order in which a ranker would give pairs up, together with its accuracy. The same
    for every coverage, so of no use to choose one. Exact for up to four million pairs;
    of more, those of nearly the same risk count as equal.

    Notes
    -----
    Minus the mean over k of the risk of the k surest pairs; see `aurc_loss` for ties.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import neg_aurc_scorer
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target, data.qid)
    >>> -0.5 < neg_aurc_scorer(ranker, data.data, data.target, data.qid) < 0
    True
    """

    needs = "risk_profile"

    def __repr__(self) -> str:
        return "neg_aurc_scorer"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            return undefined("AURC")
        # The profile holds blocks of equal risk, so that the area needs no single pair.
        count = np.cumsum(profile.n_pairs)
        return -area_of_prefixes(count, np.cumsum(profile.n_pairs - profile.n_correct))


selective_accuracy_scorer = _SelectiveAccuracy()
selective_auc_scorer = _SelectiveAUC()
neg_aurc_scorer = _NegativeAURC()


@dataclass(frozen=True, eq=False, repr=False)
class _ParametrizedScorer(RankerScorer):
    """A scorer with one number to choose; named like the function that makes it."""

    value: float
    zero_division: float

    name: ClassVar[str]

    def __repr__(self) -> str:
        default = np.isnan(self.zero_division)
        rest = "" if default else f", zero_division={self.zero_division}"
        return f"{self.name}({self.value}{rest})"

    def score_ranker(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float:
        value = self._measure(ranker, X, y, qid)
        if value is None:
            return undefined(self.name, self.zero_division)
        return value

    @abstractmethod
    def _measure(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float | None:
        """Return the score, or None where there is no pair."""


class _AccuracyAtCoverage(_ParametrizedScorer):
    """Scorer: accuracy of the surest share of the pairs."""

    name = "accuracy_at_coverage"
    needs = "risk_profile"

    def _measure(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float | None:
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            return None
        # Straight lines between the points: pairs of equal risk in random order.
        coverage = np.append(0, profile.coverage)
        lost = np.append(0, profile.coverage * profile.selective_risk)
        return float(1 - np.interp(self.value, coverage, lost) / self.value)


class _CoverageAtRisk(_ParametrizedScorer):
    """Scorer: largest coverage whose empirical risk keeps a bound."""

    name = "coverage_at_risk"
    needs = "risk_profile"

    def _measure(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float | None:
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            return None
        # The risk may rise and fall: the last point that keeps the bound, not the first
        # that breaks it.
        kept = profile.selective_risk <= self.value
        return float(profile.coverage[kept].max(initial=0.0))


class _SelectiveUtility(_ParametrizedScorer):
    """Scorer: one minus the mean cost of errors and abstentions."""

    name = "selective_utility"

    def _measure(self, ranker: Any, X: Any, y: ArrayLike, qid: Any) -> float | None:
        totals = ranker.evaluate(X, y, qid=qid)
        n_pairs = totals.pairs.sum()
        if n_pairs == 0:
            return None
        abstained = n_pairs - totals.accepted.sum()
        # A decision that is right is worth 1, an abstention 1 - cost, an error 0.
        won = totals.correct.sum() + (1 - self.value) * abstained
        return float(won / n_pairs)


def accuracy_at_coverage(
    coverage: float, *, zero_division: float = np.nan
) -> RankerScorer:
    """Return a scorer: the accuracy of the surest pairs of the evaluation set.

    Higher is better, in [0, 1].

    Parameters
    ----------
    coverage : float
        Share of the evaluated pairs, in (0, 1].
    zero_division : float, default=np.nan
        Value without any pair; NaN warns, a number is returned in silence.

    Returns
    -------
    scorer : callable
        ``scorer(ranker, X, y, qid=None)``.

    See Also
    --------
    coverage_at_risk : The other way round.

    Notes
    -----
    1 - R(c), with R(c) the mean error of the share c of lowest risk, c = ``coverage``.
    Takes these pairs from the evaluated data itself, so that rankers are
    compared at exactly the same coverage; their own thresholds play no part, and it
    cannot choose one. Where the last pairs taken are of equal risk, a random choice
    among them is expected. Beyond four million pairs those of nearly the same risk
    count as equal, and no pair is stored; pairs are looked at one by one in queries of
    up to 10,000 items.

    Examples
    --------
    >>> from skrank_abstain.metrics import accuracy_at_coverage
    >>> accuracy_at_coverage(0.8)
    accuracy_at_coverage(0.8)
    """
    return _AccuracyAtCoverage(
        check_fraction(coverage, "coverage", include_one=True),
        check_real(zero_division, "zero_division"),
    )


def coverage_at_risk(max_risk: float, *, zero_division: float = np.nan) -> RankerScorer:
    """Return a scorer: the largest coverage at which the error rate keeps a bound.

    Higher is better, in [0, 1]; 0 if no coverage does.

    Parameters
    ----------
    max_risk : float
        Largest share of errors among the accepted pairs, in [0, 1].
    zero_division : float, default=np.nan
        Value without any pair; NaN warns, a number is returned in silence.

    Returns
    -------
    scorer : callable
        ``scorer(ranker, X, y, qid=None)``.

    See Also
    --------
    accuracy_at_coverage : The other way round.

    Notes
    -----
    The largest c with R(c) <= ``max_risk``, R(c) being the mean error of the share c of
    lowest risk. A point of `risk_coverage_curve` of the evaluated data itself: a
    comparison of rankers, not a promise for new queries. The ranker's own threshold
    plays no part. Beyond four million pairs those of nearly the same risk count as
    equal, and no pair is stored; pairs are looked at one by one in queries of up to
    10,000 items.

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_at_risk
    >>> coverage_at_risk(0.1)
    coverage_at_risk(0.1)
    """
    return _CoverageAtRisk(
        check_fraction(max_risk, "max_risk", include_zero=True, include_one=True),
        check_real(zero_division, "zero_division"),
    )


def selective_utility(cost: float, *, zero_division: float = np.nan) -> RankerScorer:
    """Return a scorer: one minus the mean cost of errors and abstentions.

    Higher is better, in [0, 1]. An error costs 1, an abstention ``cost``; the
    decisions are those of the ranker's own threshold.

    Parameters
    ----------
    cost : float
        Price of one abstention, in [0, 1]: the share of errors at which it is no
        longer worth deciding a pair.
    zero_division : float, default=np.nan
        Value without any pair; NaN warns, a number is returned in silence.

    Returns
    -------
    scorer : callable
        ``scorer(ranker, X, y, qid=None)``.

    Notes
    -----
    With selective accuracy ``a`` and coverage ``c`` this is
    ``a * c + (1 - cost) * (1 - c)``. Its expected value is largest when the accepted
    pairs are those with a conditional risk of at most ``cost`` [1]_, so that a search
    over ``coverage`` with it has an optimum inside. Any weight of abstentions below
    zero, as in ``a * c - cost * (1 - c)``, would always favour deciding everything:
    a decision is never worth less than 0. O(n log n) for n items.

    References
    ----------
    .. [1] Chow (1970). "On optimum recognition error and reject tradeoff". IEEE
       Transactions on Information Theory 16(1). doi:10.1109/TIT.1970.1054406.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_utility
    >>> selective_utility(cost=0.3)
    selective_utility(0.3)
    """
    return _SelectiveUtility(
        check_fraction(cost, "cost", include_zero=True, include_one=True),
        check_real(zero_division, "zero_division"),
    )
