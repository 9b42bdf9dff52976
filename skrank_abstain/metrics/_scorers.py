"""Scorers: metrics of a fitted ranker, for wherever scikit-learn takes ``scoring=``.

Each is called as ``scorer(ranker, X, y, qid=None)`` and returns a float, higher is
better. It requests ``qid`` itself: with metadata routing enabled, ``cross_validate``
and ``GridSearchCV`` pass ``qid`` on to it. With routing off, use a ranker that takes
the query from a column of X (``qid_col=``).

Which scorer for which question:

- how to choose ``coverage`` or another threshold: `selective_utility`. The others
  cannot: accuracy and AUC of the accepted pairs are best where next to nothing is
  accepted, and the three below do not depend on the threshold;
- which ranker or tie model: ``neg_aurc_scorer``, minus `aurc_loss` of all pairs;
  `accuracy_at_coverage`; `coverage_at_risk`;
- what to report: ``selective_auc_scorer``, `selective_auc_score` of the accepted pairs,
  which is one minus the discordance; ``selective_accuracy_scorer``,
  `selective_accuracy_score` of them, where a tie may be called or few pairs are tied.

Losses and areas are in the ranker's own loss; accuracy and AUC do not depend on one. An
undefined value, such as the accuracy of no accepted pair, is NaN with a warning. No
scorer forms pairs: O(n log n) for n items. Scorers that do not depend on the threshold
are exact for up to 262,144 pairs; beyond, pairs of nearly the same risk count as equal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from skrank_abstain._validation import check_fraction, check_real, shown
from skrank_abstain._warnings import ending_search
from skrank_abstain.metrics._curves import area_of_prefixes
from skrank_abstain.metrics._scores import undefined
from skrank_abstain.selection import Price

Measure = Callable[..., float]


@dataclass(frozen=True, eq=False, repr=False)
class RankerScorer:
    """A scorer of a selective ranker, made from a function; higher is better.

    The ranker may also be the last step of a Pipeline, or inside a fitted search.

    Parameters
    ----------
    measure : callable
        ``measure(ranker, X, y, qid)`` returns the score. A function of a module, so
        that the scorer can be pickled.
    name : str, default=None
        What the scorer prints as; the name of the function by default.
    needs : str, default="evaluate"
        Method that tells a ranker from other estimators.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.metrics import RankerScorer
    >>> def decided(ranker, X, y, qid):
    ...     return ranker.evaluate(X, y, qid=qid).coverage
    >>> data, new = (make_ranking(n_queries=60, random_state=k) for k in (0, 1))
    >>> ranker = BALToR(Ridge(), coverage=0.5, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> score = RankerScorer(decided)(ranker, new.data, new.target, qid=new.qid)
    >>> round(score, 1)
    0.5
    """

    measure: Measure
    name: str | None = None
    needs: str = "evaluate"

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, *, qid: Any = None
    ) -> float:
        """Return the score; X, y and qid are as in the ranker's ``evaluate``.

        NaN, with an UndefinedMetricWarning, if the measure is.

        Raises TypeError if there is no selective ranker in ``estimator``, and
        ValueError if it was fitted with a ``qid`` and is scored without one.
        """
        value = self.measure(*find_ranker(estimator, X, y, qid, self.needs))
        # The methods of rankers do not warn of undefined values; a scorer must.
        reason = "no pair or query counts towards it"
        return undefined(repr(self), reason) if np.isnan(value) else value

    def __repr__(self) -> str:
        return self.name or str(getattr(self.measure, "__name__", self.measure))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for ``qid``, so that users need no set_score_request."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def _accuracy(ranker: Any, X: Any, y: Any, qid: Any) -> float:
    return float(ranker.evaluate(X, y, qid=qid).accuracy)


def _auc(ranker: Any, X: Any, y: Any, qid: Any) -> float:
    return float(ranker.evaluate(X, y, qid=qid).concordance)


def _neg_aurc(ranker: Any, X: Any, y: Any, qid: Any) -> float:
    profile = ranker.risk_profile(X, y, qid=qid)
    # The profile holds blocks of equal risk, so that the area needs no single pair.
    return -area_of_prefixes(np.cumsum(profile.n_pairs), np.cumsum(profile.loss))


def _accuracy_at(coverage: float, ranker: Any, X: Any, y: Any, qid: Any) -> float:
    profile = ranker.risk_profile(X, y, qid=qid)
    if profile.risk.size == 0:
        return np.nan
    # Straight lines between the points: pairs of equal risk in random order.
    covered = np.append(0, profile.coverage)
    right = np.append(0, profile.coverage * profile.accuracy)
    return float(np.interp(coverage, covered, right) / coverage)


def _coverage_at(max_risk: float, ranker: Any, X: Any, y: Any, qid: Any) -> float:
    largest = float(getattr(ranker, "_loss", np.ones(1)).max())
    if max_risk > largest:
        limit = f"at most {largest:g}, the largest loss, got {max_risk}"
        raise ending_search(f"max_risk must be {limit}. Is it in percent?")
    profile = ranker.risk_profile(X, y, qid=qid)
    if profile.risk.size == 0:
        return np.nan
    # The risk may rise and fall: take the last point that keeps the bound.
    return float(profile.coverage[profile.selective_risk <= max_risk].max(initial=0.0))


def _utility(cost: float, ranker: Any, X: Any, y: Any, qid: Any) -> float:
    Price(cost).check(getattr(ranker, "_loss", np.ones(1)))
    totals = ranker.evaluate(X, y, qid=qid)
    n_pairs = totals.pairs.sum() or np.nan
    abstained = n_pairs - totals.accepted.sum()
    return float(1 - (totals.loss.sum() + cost * abstained) / n_pairs)


def _scorer(measure: Measure, name: str, needs: str, number: float) -> RankerScorer:
    return RankerScorer(partial(measure, number), f"{name}({number})", needs)


selective_accuracy_scorer = RankerScorer(_accuracy, "selective_accuracy_scorer")
selective_auc_scorer = RankerScorer(_auc, "selective_auc_scorer")
neg_aurc_scorer = RankerScorer(_neg_aurc, "neg_aurc_scorer", "risk_profile")


def accuracy_at_coverage(coverage: float) -> RankerScorer:
    """Return a scorer: the share of right labels among the surest evaluated pairs.

    Higher is better, in [0, 1]. An order of two equal items is wrong, whatever the
    loss: where many pairs are tied and none may be called a tie, compare rankers by
    `compare` or `selective_utility`.

    Parameters
    ----------
    coverage : float
        Share of the evaluated pairs, in (0, 1].

    See Also
    --------
    coverage_at_risk : The other way round.

    Notes
    -----
    `selective_accuracy_score` of the share ``coverage`` of lowest risk among the
    evaluated pairs. So rankers are compared at exactly the same coverage, whatever
    their own thresholds; the scorer cannot choose a threshold. If the last accepted
    pairs have equal risk, the value is the mean over all choices of them.

    Examples
    --------
    >>> from skrank_abstain.metrics import accuracy_at_coverage
    >>> accuracy_at_coverage(0.8)
    accuracy_at_coverage(0.8)
    """
    checked = check_fraction(coverage, "coverage", include_one=True)
    return _scorer(_accuracy_at, "accuracy_at_coverage", "risk_profile", checked)


def coverage_at_risk(max_risk: float) -> RankerScorer:
    """Return a scorer: the largest coverage at which the mean loss keeps a bound.

    Higher is better, in [0, 1]; 0 if no coverage does.

    Parameters
    ----------
    max_risk : float
        Largest mean loss of the accepted pairs, from 0 to the largest loss. Above it
        scoring raises a ValueError, and a search ends with its text.

    See Also
    --------
    accuracy_at_coverage : The other way round.

    Notes
    -----
    The largest c with R(c) <= ``max_risk``, R(c) being the mean loss, under the
    ranker's own loss, of the share c of lowest risk. A point of `risk_coverage_curve`
    of the evaluated data itself: a comparison of rankers, not a promise for new
    queries. The ranker's own threshold plays no part.

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_at_risk
    >>> coverage_at_risk(0.1)
    coverage_at_risk(0.1)
    """
    checked = check_real(max_risk, "max_risk", 0, np.inf, include_high=False)
    return _scorer(_coverage_at, "coverage_at_risk", "risk_profile", checked)


def selective_utility(cost: float) -> RankerScorer:
    """Return a scorer: one minus the mean cost of mistakes and abstentions.

    Higher is better; at most 1. A mistake costs what the ranker's own loss says, an
    abstention ``cost``; the ranker's own threshold decides.

    Parameters
    ----------
    cost : float
        Price of one abstention in units of the ranker's loss, from 0 to the largest.
        Above it scoring raises a ValueError, and a search ends with its text. Deciding
        a pair pays if its expected loss is lower.

    Notes
    -----
    With coverage ``c`` and one minus the mean loss of accepted pairs ``s``, this is
    ``s * c + (1 - cost) * (1 - c)``. Its expected value is largest when exactly the
    pairs with a conditional risk of at most ``cost`` are accepted [1]_, so that a
    search over ``coverage`` has an optimum inside. A negative weight of abstentions, as
    in ``s * c - cost * (1 - c)``, would always favour deciding everything if no mistake
    costs more than 1: a decision is never worth less than 0.

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
    checked = check_real(cost, "cost", 0, np.inf, include_high=False)
    return _scorer(_utility, "selective_utility", "evaluate", checked)


def find_ranker(
    estimator: Any, X: Any, y: Any, qid: Any, needs: str, *, remedy: str = ""
) -> tuple[Any, Any, Any, Any]:
    """Return the ranker of items inside ``estimator``, and the data it gets to see.

    Parameters
    ----------
    estimator : object
        A fitted selective ranker, or a Pipeline or search that holds one. Inside a
        ranker of labels it is the one of its ``to_items``.
    X : array-like, sparse matrix or frame of shape (n_items, n_features)
    y, qid : array-like of shape (n_items,), or None
    needs : str
        Method that the ranker must have.
    remedy : str, default=""
        Advice that ends the message of the TypeError for any other estimator.
    """
    # The earlier steps of a Pipeline transform X.
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        return find_ranker(estimator[-1], X, y, qid, needs, remedy=remedy)
    if hasattr(estimator, "to_items"):
        X, y, qid, _ = estimator.to_items(X, y, qid=qid)
        estimator = estimator.selective_ranker_
    if hasattr(estimator, needs):
        return estimator, X, y, qid
    if hasattr(estimator, "best_estimator_"):
        return find_ranker(estimator.best_estimator_, X, y, qid, needs, remedy=remedy)
    message = (
        f"estimator must be a selective ranker, which has {needs}, or a Pipeline "
        f"or fitted search that ends in one, got {shown(estimator)}. BALToR(model) "
        "wraps any model or its file."
    )
    raise TypeError(f"{message} {remedy}".rstrip())
