"""DistanceAbstainer: abstention on items that are near each other."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import FloatArray, check_choice, check_fraction
from skrank_abstain.distance._near import AbstentionCurve, NearCurve, NearDecision
from skrank_abstain.distance._pairs import (
    check_features,
    check_gamma,
    check_norm,
    distances,
)
from skrank_abstain.estimators import PairDecider, score_new_items
from skrank_abstain.intake import take_labelled_rows, train_and_score
from skrank_abstain.pairs import Scores


class DistanceAbstainer(PairDecider):
    """Ranker that decides pairs of items that are far apart in feature space.

    A pair is abstained on when the distance of its two items is at most ``gamma``, at a
    price of ``cost`` (Mao, Mohri and Zhong, 2023); else the order of the scores is the
    answer. No tie model, no probabilities: what near items share is that scorers of
    bounded slope (more generally, an equicontinuous hypothesis set) give them nearly
    equal scores, so that a small surrogate loss does not promise their order (Theorems
    4.1 and 4.3).

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`~skrank_abstain.BALToR`.
    gamma : float or "auto", default="auto"
        Items at most so far apart are not compared; at least 0, which is for equal
        items alone, and infinity for all. "auto" takes the smallest one of the least
        abstention loss on the calibration pairs.
    norm : float, default=np.inf
        The p of the l_p norm of the distance, in [1, inf].
    cost : float, default=0.1
        Price of one abstention, in [0, 1], where a misranked pair costs 1. Only
        ``gamma="auto"`` and ``loss_curve_`` look at it.
    scale : {"unit_ball", None} or transformer, default="unit_ball"
        Features that distances are taken of. "unit_ball" divides by ``radius_``, so
        that the calibration items fit into a ball of radius 1 and no distance between
        them exceeds 2. None takes the features as they are. A scikit-learn
        transformer such as ``StandardScaler()`` is cloned and fitted on the
        calibration items; what it returns has to be numbers. Either way the wrapped
        ranker gets X as it came.
    prefit : {"auto", True, False}, default="auto"
        Whether ``estimator`` is used as it is: see :class:`~skrank_abstain.BALToR`.
    calibration_size : float, default=0.25
        Share of the queries set aside to calibrate on.
    relevance_bins : int, default=None
        Quantile bins of ``y`` for training a booster.
    qid_col : str or int, default=None
        Column of X that holds the query, instead of ``qid=``.
    random_state : int, RandomState instance or None, default=None
        Splits the queries.
    verbose : int, default=0
        1 prints a line per fit.

    Attributes
    ----------
    gamma_ : float
        Pairs at most so far apart are abstained on.
    loss_curve_ : AbstentionCurve
        Arrays ``gamma``, ``loss`` at this ``cost``, and ``coverage``, of the
        calibration pairs.
    coverage_ : float
        Share of calibration pairs accepted.
    radius_ : float
        Half-width of the calibration items: the largest distance of one from the
        middle of the smallest box that holds them all. 1 unless
        ``scale="unit_ball"``, and where all items are equal.
    scaler_ : object
        The fitted transformer, or None.
    estimator_ : object
        The fitted ranker.
    prefit_ : bool
        Whether the ranker was used as it was.
    n_queries_, n_pairs_ : int
        Queries and pairs calibrated on.

    See Also
    --------
    skrank_abstain.CostAbstainer : Abstains where scores are unsure, not items near.
    skrank_abstain.distance.misranking_loss : The loss, with ``setting="bipartite"``.
    skrank_abstain.distance.consistency_bound : What abstaining on near items promises
        to scorers of such a set.

    Notes
    -----
    The loss is the bipartite misranking loss of accepted pairs plus ``cost`` times the
    share of the others. A pair of different relevance is misranked in the wrong
    order, and half with equal scores; a pair of equal relevance has no wrong order, and
    costs something only where it is abstained on. So a shell of distances is worth
    giving up if its share of misranked pairs, among all of its pairs, is above
    ``cost``. For two labels this is ``misranking_loss(..., setting="bipartite")``
    of X with ``gamma=gamma_ * radius_``; for graded relevance, with
    ``t = ranker.evaluate(X, y, qid)``, the sum of
    ``t.accepted - t.accepted_tied - t.ordered + cost * (t.pairs - t.accepted)``
    divided by that of ``t.pairs``. ``score`` is another thing: there an order that is
    predicted for a pair of equal relevance is wrong.

    Equal scores predict a tie. Distances that exceed ``gamma_`` by rounding alone
    count as equal to it. One factor for all features leaves a feature of large
    numbers large: give a transformer where their units differ, and where X has missing
    values or categories. The orders that are accepted never form a cycle, but they
    are no semiorder, not even transitive: a over b and b over c may be accepted and a
    and c be too near. So there are no rank intervals here.

    ``gamma="auto"``: O(m log m) for m calibration pairs, and their distances; of more
    than four million, that many spread over all. ``evaluate`` and ``score`` look at
    the distances of all pairs, in bounded memory, O(n^2 d) for a query of n items;
    from 128 items on, where few pairs are near, they search for those with k-d trees
    and count the others from sorted scores.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain.distance import DistanceAbstainer
    >>> from skrank_abstain.datasets import make_ranking
    >>> train = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = DistanceAbstainer(Ridge(), cost=0.15, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> 0 < ranker.coverage_ < 1
    True
    >>> ranker.at_gamma(0.0).coverage_  # all items differ
    1.0
    >>> bool(ranker.at_cost(0.1).gamma_ > ranker.gamma_)  # cheaper to ask
    True
    """

    _fitted_state: tuple[str, ...] = (
        "scaler_",
        "radius_",
        "gamma_",
        "coverage_",
        "_norm",
        "_curve",
    )

    def __init__(
        self,
        estimator: Any,
        *,
        gamma: float | str = "auto",
        norm: float = np.inf,
        cost: float = 0.1,
        scale: Any = "unit_ball",
        prefit: bool | str = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.gamma = gamma
        self.norm = norm
        self.cost = cost
        self.scale = scale
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.relevance_bins = relevance_bins
        self.qid_col = qid_col
        self.random_state = random_state
        self.verbose = verbose

    def at_gamma(self, gamma: float) -> Self:
        """Return a fitted copy with another distance.

        Parameters
        ----------
        gamma : float
            Items at most so far apart are not compared; at least 0.

        Returns
        -------
        ranker : DistanceAbstainer
            Shares the fitted model and scaling; nothing is rescored. Of more than
            65,536 different calibration distances, ``coverage_`` is within 0.00002.
        """
        return self._with(gamma=gamma)

    def at_cost(self, cost: float) -> Self:
        """Return a fitted copy with the best distance at another price.

        Parameters
        ----------
        cost : float
            Price of one abstention, in [0, 1].

        Returns
        -------
        ranker : DistanceAbstainer
            With ``gamma="auto"``. Shares the fitted model and scaling; nothing is
            rescored, and the distance is that of a new ``fit``.
        """
        return self._with(gamma="auto", cost=cost)

    def at_coverage(self, coverage: float) -> Self:
        """Return a fitted copy that decides a chosen share of the pairs.

        Parameters
        ----------
        coverage : float
            Share of the calibration pairs to accept at least, in (0, 1].

        Returns
        -------
        ranker : DistanceAbstainer
            With the largest ``gamma`` that leaves so many pairs. Shares the fitted
            model and scaling; nothing is rescored. Pairs equally far apart are accepted
            together; of more than 65,536 different calibration distances, ``coverage_``
            is within 0.00002 of the best.

        Raises
        ------
        ValueError
            If too many calibration pairs are of equal items.
        """
        check_is_fitted(self, "gamma_")
        share = check_fraction(coverage, "coverage", include_one=True)
        return self._with(gamma=self._curve.at_coverage(share))

    def _with(self, **params: Any) -> Self:
        """Return a fitted copy with another distance; nothing is rescored."""
        check_is_fitted(self, "gamma_")
        other = copy.copy(self)
        for name, value in params.items():
            setattr(other, name, value)
        other._check_rule()
        other._set_threshold()
        return other

    def _check_rule(self) -> None:
        if not isinstance(self.gamma, str) or self.gamma != "auto":
            check_gamma(self.gamma)
        check_norm(self.norm)
        check_fraction(self.cost, "cost", include_zero=True, include_one=True)
        if isinstance(self.scale, str):
            check_choice(self.scale, "scale", ("unit_ball",))

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:
        """Train the ranker unless it is fitted, then choose the distance.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            One row per item; goes to the wrapped model untouched.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item: any hashable values, in any order. None or a scalar:
            all items are one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or an input breaks its rule, no calibration query has two
            items, or the model's scores are not finite.
        sklearn.exceptions.NotFittedError
            If ``prefit=True`` and the estimator is not fitted.

        Warns
        -----
        OneQueryWarning
            If all rows are one query and a scalar ``qid`` does not say that it is
            meant.
        """
        self._check_rule()
        rows = take_labelled_rows(self, X, y, qid)
        if self.scale is None or isinstance(self.scale, str):
            _numbers(rows.X, "X")  # before anything is trained
        data = train_and_score(self, rows)
        self._take_over(data)
        self._learn(data.rest)
        self._set_threshold()
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] calibrated on {self.n_pairs_} pairs of "
                f"{self.n_queries_} queries: gamma {self.gamma_:.6g}, coverage "
                f"{self.coverage_:.4f}"
            )
        return self

    def _learn(self, data: Scores) -> None:
        by_radius = isinstance(self.scale, str)
        self.scaler_ = None
        if self.scale is not None and not by_radius:
            self.scaler_ = clone(self.scale).fit(data.X)
        self._norm = float(self.norm)  # one that is set after fit has no effect
        X = self._features(data.X)
        self.radius_ = _half_width(X, self._norm) if by_radius else 1.0
        # Distances are divided, not features: dividing features would make equal
        # distances differ by rounding.
        curve = NearCurve.of(X, self._norm, data.ascending)
        self._curve = replace(curve, gamma=curve.gamma / self.radius_)
        self.n_queries_ = data.queries.n_queries
        self.n_pairs_ = data.queries.n_pairs

    def _set_threshold(self) -> None:
        cost = float(self.cost)
        best = isinstance(self.gamma, str)
        # gamma is in units of the scaled features, the region in units of X.
        self.gamma_ = self._curve.best(cost) if best else float(self.gamma)
        self._region = self.gamma_ * self.radius_
        self.loss_curve_: AbstentionCurve = self._curve.at_cost(cost)
        self.coverage_ = self._curve.coverage(self.gamma_)

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[NearDecision, Scores]:
        items, scores = score_new_items(self, X, qid, needs_qid=needs_qid)
        features = self._features(items.X)
        decision = NearDecision(features, self._norm, self.radius_)
        return decision, Scores(scores, items.queries)

    def _features(self, X: Any) -> FloatArray:
        """Return the features that distances are taken of."""
        if self.scaler_ is None:
            return _numbers(X, "X")
        return _numbers(self.scaler_.transform(X), "scale.transform(X)")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Distances need dense numbers; a transformer may or may not make them.
        tags.input_tags.sparse = tags.input_tags.allow_nan = False
        return tags


def _numbers(X: Any, name: str) -> FloatArray:
    """Return a matrix of finite numbers, or say why distances need one."""
    try:
        return check_features(X)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a dense matrix of finite numbers for distances between "
            f"items: {error} Give scale= a transformer that makes one."
        ) from error


def _half_width(X: FloatArray, norm: float) -> float:
    """Return the largest distance of an item from the middle of all."""
    # Halved before adding, since a sum may overflow. The middle of the box is
    # not the centre of the smallest ball, but its radius is at most twice as large.
    middle = X.min(axis=0) / 2 + X.max(axis=0) / 2
    n_items = X.shape[0]
    last = np.full(n_items, n_items)
    radius = distances(np.vstack([X, middle]), np.arange(n_items), last, norm).max()
    return float(radius) if radius > 0 else 1.0
