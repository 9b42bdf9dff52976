"""Abstention on pairs of items that are near each other in feature space.

The one number of the rule is the distance gamma: pairs at most so far apart are
abstained on, the others are decided by the order of their scores.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression
from scipy.spatial import cKDTree
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import all_or_nothing, identify
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    check_loss,
    rounded_share,
)
from skrank_abstain.distance import _pairs
from skrank_abstain.estimators import PairDecider, score_new_items
from skrank_abstain.intake import take_labelled_rows, train_and_score
from skrank_abstain.pairs import NumberedPairs, Scores, count_outcomes
from skrank_abstain.selection import DecisionArrays, RowPairs, Tally

#: Largest number of pairs to choose gamma from.
_MOST_PAIRS = 1 << 22
#: Values of gamma to keep besides the best one at each cost.
_KEPT = 1 << 16
#: Smallest query to search for neighbours in ...
_SEARCHED = 128
#: ... and the largest share of near pairs, estimated from _SOME_PAIRS pairs.
_NEAR_SHARE = 0.25
_SOME_PAIRS = 1 << 12
#: Largest number of pairs of one query to look at: about a minute.
_MOST_LOOKED_AT = 1 << 30
#: Items of one tree: two trees have at most four million pairs.
_TREE = 2048
#: Relative extension of the search radius, so that rounding loses no pair.
_SLACK = 1e-9
#: Twice the misranking of each outcome: right, tied, wrong, equal scores of an order.
_HALVES = np.array([0, 0, 2, 1])
#: Differences of losses up to this count as rounding.
_ROUNDING = 8 * np.finfo(np.float64).eps


class AbstentionCurve(NamedTuple):
    """What each distance would do on the calibration pairs.

    Attributes
    ----------
    gamma : ndarray of shape (n_gammas,), float64
        Ascending from 0.
    loss : ndarray of shape (n_gammas,), float64
        Mean bipartite misranking loss of the accepted pairs, plus the cost of the
        others. Lower is better.
    coverage : ndarray of shape (n_gammas,), float64
        Share of pairs accepted.
    """

    gamma: FloatArray
    loss: FloatArray
    coverage: FloatArray


@dataclass(frozen=True, eq=False)
class NearCurve:
    """Abstentions and errors left at each distance.

    Attributes
    ----------
    gamma : ndarray of shape (n_gammas,), float64
        0 and distances of calibration pairs, ascending.
    abstained : ndarray of shape (n_gammas,), int64
        Pairs at most so far apart.
    halves : ndarray of shape (n_gammas,), int64
        Pairs further apart that are misranked: of different relevance and in the
        wrong order, which count two, or with equal scores, which count one.
    n_pairs : int
        All pairs.
    """

    gamma: FloatArray
    abstained: IntArray
    halves: IntArray
    n_pairs: int

    @classmethod
    def of(cls, X: FloatArray, norm: float, items: Scores) -> Self:
        """Look at labelled pairs.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_features), float64
        norm : float
        items : Scores
            With relevance; at least one pair.

        Returns
        -------
        curve : NearCurve

        Notes
        -----
        O(m log m) for m pairs, and their distances. Uses at most four million pairs,
        spread over all. Keeps at most 65,536 distances, at evenly spaced ranks, and
        the best one at each cost: the ends of the pools of the isotonic regression of
        the error rate on the distance, falling. Giving up a pool pays if its error
        rate is above the cost.
        """
        # A sample of four million pairs puts a share off by 0.00025 (one standard
        # error) at most.
        high, low = NumberedPairs.every(items.offsets).sample(_MOST_PAIRS)
        distance = _pairs.distances(X, items.rows[low], items.rows[high], norm)
        order = np.argsort(distance)
        distance = distance[order]
        wrong = np.append(0, np.cumsum(_HALVES[_outcome(items, low, high)][order]))
        gamma = np.unique(np.append(0.0, distance))
        reached = np.searchsorted(distance, _pairs.farthest_near(gamma), side="right")
        # Distances within rounding of each other are given up together.
        reached, first = np.unique(reached, return_index=True)
        gamma, wrong_near = gamma[first], wrong[reached]
        kept = np.arange(0, reached.size, max(1, -(-reached.size // _KEPT)))
        pairs = np.diff(reached)
        if pairs.size:
            # The corners of the convex hull of abstentions and errors left are the best
            # at some cost: isotonic regression finds them, where the slopes fall.
            rate = np.diff(wrong_near) / pairs
            hull = isotonic_regression(rate, weights=pairs, increasing=False)
            kept = np.union1d(kept, hull.blocks)
        halves_left = wrong[-1] - wrong_near[kept]
        return cls(gamma[kept], reached[kept], halves_left, distance.size)

    def at_cost(self, cost: float) -> AbstentionCurve:
        """Return loss and coverage at each distance."""
        loss = (self.halves / 2 + cost * self.abstained) / self.n_pairs
        coverage = (self.n_pairs - self.abstained) / self.n_pairs
        return AbstentionCurve(self.gamma, loss, coverage)

    def at_coverage(self, coverage: float) -> float:
        """Return the largest distance beyond which so large a share of pairs lies."""
        left = self.n_pairs - self.abstained
        enough = np.flatnonzero(left >= rounded_share(coverage, self.n_pairs))
        if not enough.size:
            raise ValueError(
                f"coverage must be at most {left[0] / self.n_pairs:.6g}, got "
                f"{coverage:g}: the other calibration pairs are of equal items, which "
                "no distance tells apart."
            )
        return float(self.gamma[enough[-1]])

    def best(self, cost: float) -> float:
        """Return the smallest distance of the least loss."""
        # argmax of a condition finds the first, that is the smallest distance.
        loss = self.at_cost(cost).loss
        return float(self.gamma[np.argmax(loss <= loss.min() + _ROUNDING)])

    def coverage(self, gamma: float) -> float:
        """Return the share of pairs further apart than ``gamma``."""
        below = np.searchsorted(self.gamma, _pairs.farthest_near(gamma), side="right")
        return float(self.n_pairs - self.abstained[below - 1]) / self.n_pairs


@dataclass(frozen=True, eq=False)
class NearDecision:
    """Decides the pairs that are further apart than gamma; a region is a gamma.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features), float64
    norm : float
        The p of the l_p norm.
    unit : float, default=1.0
        What distances are divided by where they are shown.

    Notes
    -----
    ``tally`` searches for neighbours in large queries where few pairs are near, and
    looks at every pair elsewhere. Both give the same: it counts all pairs from sorted
    scores and subtracts the near ones.
    """

    X: FloatArray
    norm: float
    unit: float = 1.0

    def decide(
        self, region: float, values: FloatArray, pairs: RowPairs
    ) -> DecisionArrays:
        """Decide pairs of rows by their distance, in the order of their scores."""
        distance = _pairs.distances(self.X, pairs.left, pairs.right, self.norm)
        label = np.sign(pairs.difference).astype(np.int64)
        accepted = distance > _pairs.farthest_near(region)
        threshold = np.broadcast_to(region / self.unit, label.size)
        shown = distance / self.unit
        return DecisionArrays(label, accepted, distance=shown, threshold=threshold)

    def tally(
        self, scores: Scores, regions: Any, *, weight: FloatArray | None = None
    ) -> Tally:
        """Count the pairs of each query, near ones and others, by outcome."""
        items, region = scores.ascending, float(regions[0])
        X = self.X[items.rows]
        # The share of near pairs, estimated.
        some = NumberedPairs.every(items.offsets).sample(_SOME_PAIRS)
        distance = _pairs.distances(X, *some, self.norm)
        near = (distance <= _pairs.farthest_near(region)).sum() / max(distance.size, 1)
        searched = (np.diff(items.offsets) >= _SEARCHED) & (near <= _NEAR_SHARE)
        looked_at = np.where(searched, near, 1.0) * items.pair_counts
        if looked_at.max(initial=0.0) > _MOST_LOOKED_AT:
            raise ValueError(
                "X must have queries of fewer items where many are near each other: "
                f"for one, {looked_at.max():.1e} pairs would be looked at one by one. "
                "Evaluate a random part of its items, whose shares are about the same."
            )
        # Outcomes by query: pairs of different scores, then those of equal ones.
        cuts = np.array([0.0, np.nextafter(0.0, 1.0)])
        beyond = count_outcomes(items, cuts, 0.0, weight)
        every = np.stack([beyond[:, 1], beyond[:, 0] - beyond[:, 1]], axis=1)
        near_cells = np.zeros(every.shape)
        for low, high in self._near_pairs(X, items.offsets, searched, region):
            mass = items.weight_of(low, high, weight)
            equal = 1 * (items.value[low] == items.value[high])
            cell = items.query_of(low), equal, _outcome(items, low, high)
            np.add.at(near_cells, cell, mass)
        # Weighted sums differ in the last digits, so differences may be just below 0.
        counts = np.concatenate([near_cells, np.maximum(every - near_cells, 0)], axis=1)
        accepted = np.array([[0.0, 0.0, 1.0, 1.0]])
        costs = check_loss("misranking")
        return Tally(counts, accepted, np.array([False, True] * 2), costs)

    def _near_pairs(
        self, X: FloatArray, offsets: IntArray, searched: BoolArray, gamma: float
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield blocks of positions of near pairs, low before high."""
        sizes = np.diff(offsets)
        positions = np.flatnonzero(np.repeat(~searched, sizes))
        pairs = NumberedPairs.every(np.append(0, np.cumsum(sizes[~searched])))
        limit = _pairs.farthest_near(gamma)
        for numbers in pairs.in_blocks(pairs.n_pairs):
            high, low = (positions[side] for side in pairs.decode(numbers))
            near = _pairs.distances(X, low, high, self.norm) <= limit
            yield low[near], high[near]
        for query in np.flatnonzero(searched).tolist():
            start, stop = int(offsets[query]), int(offsets[query + 1])
            yield from near_pairs(X, start, stop, gamma, self.norm)


def _outcome(items: Scores, low: IntArray, high: IntArray) -> IntArray:
    """Return the outcome of each pair of positions: its column in `count_outcomes`."""
    order = np.sign(items.grades[high] - items.grades[low])
    equal = items.value[low] == items.value[high]
    return np.where(equal & (order != 0), 3, 1 - order)


def near_pairs(
    X: FloatArray, start: int, stop: int, gamma: float, norm: float
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield blocks of the pairs of items of one query that are at most gamma apart.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features), float64
    start, stop : int
        The query is the items from ``start`` to ``stop`` (exclusive).
    gamma : float
    norm : float

    Yields
    ------
    low, high : ndarray of int64
        Positions, ``low < high``. Each pair once; up to four million at a time.

    Notes
    -----
    k-d trees of some two thousand neighbouring items each find candidates, whose
    distances are computed by the same function: the pairs are exactly those of
    ``distances(...) <= farthest_near(gamma)``.
    """
    for first, second in _candidates(X[start:stop], gamma * (1 + _SLACK), norm):
        low, high = start + np.minimum(first, second), start + np.maximum(first, second)
        near = _pairs.distances(X, low, high, norm) <= _pairs.farthest_near(gamma)
        yield low[near], high[near]


def _candidates(
    points: FloatArray, radius: float, norm: float
) -> Iterator[tuple[IntArray, IntArray]]:
    # The leaves of a tree are neighbours, so most pairs of parts are far apart.
    order = cKDTree(points, leafsize=_TREE).indices
    parts = [order[first : first + _TREE] for first in range(0, order.size, _TREE)]
    trees = [cKDTree(points[part]) for part in parts]
    how: dict[str, Any] = {"p": norm, "output_type": "ndarray"}
    for k, tree in enumerate(trees):
        inside = tree.query_pairs(radius, **how)
        yield parts[k][inside[:, 0]], parts[k][inside[:, 1]]
        for other in range(k):
            found = tree.sparse_distance_matrix(trees[other], radius, **how)
            yield parts[k][found["i"]], parts[other][found["j"]]


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
        Features in which distances are measured. "unit_ball" divides by ``radius_``, so
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
        Column of X that holds the query, instead of ``qid=``. It is taken out first:
        positions of columns in a pipeline inside count without it.
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
    ``t = ranker.evaluate(X, y, qid=qid)``, the sum of
    ``t.accepted - t.accepted_tied - t.ordered + cost * (t.pairs - t.accepted)``
    divided by that of ``t.pairs``. ``score`` is another thing: it leaves out
    pairs of equal relevance, and an abstention counts one half there.

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
            Shares the fitted model and scaling; nothing is rescored. With more
            than 65,536 different calibration distances, ``coverage_`` is within
            0.00002.
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
            together; with more than 65,536 different calibration distances,
            ``coverage_`` is within 0.00002 of the best.

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
        other.__dict__.update(params)
        other._check_rule()
        other._set_threshold()
        return other

    def _check_rule(self) -> None:
        if not isinstance(self.gamma, str) or self.gamma != "auto":
            _pairs.check_gamma(self.gamma)
        _pairs.check_norm(self.norm)
        check_fraction(self.cost, "cost", include_zero=True, include_one=True)
        if isinstance(self.scale, str):
            check_choice(self.scale, "scale", ("unit_ball",))

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, *, qid: Any = None) -> Self:
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
        self._id_of_fit = identify(self.estimator_, self.scaler_, self._norm)
        self._set_threshold()
        found = f"gamma {self.gamma_:.6g}, coverage {self.coverage_:.4f}"
        self._tell(f"{self.n_pairs_} pairs of {self.n_queries_} queries", found)
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
        self._id = identify(self._id_of_fit, self._region)

    def _decision(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[NearDecision, Scores]:
        items, scores = score_new_items(self, X, qid, needs_qid=needs_qid)
        decision = NearDecision(self._features(items.X), self._norm, self.radius_)
        return decision, Scores(scores, items.queries)

    def _features(self, X: Any) -> FloatArray:
        """Return the features in which distances are measured."""
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
        return _pairs.check_features(X)
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
    n, points = len(X), np.vstack([X, middle])
    radius = _pairs.distances(points, np.arange(n), np.full(n, n), norm).max()
    return float(radius) if radius > 0 else 1.0
