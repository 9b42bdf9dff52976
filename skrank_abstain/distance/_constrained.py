"""Rankers of bounded weights: linear, and a network of one hidden layer.

They are trained by projected descent on the mean surrogate of pairs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Saved, all_or_nothing
from skrank_abstain._validation import (
    check_positive,
    check_positive_int,
    check_real,
    check_relevance,
    check_row_order,
    check_sample_weight,
)
from skrank_abstain._warnings import ending_search
from skrank_abstain.distance._losses import MarginLoss, check_surrogate
from skrank_abstain.distance._pairs import labelled_pairs
from skrank_abstain.metrics import undefined
from skrank_abstain.pairs import NumberedPairs, Scores, count_outcomes, group_queries

#: The q of the l_q ball of weights, by the p of the l_p norm of items: 1/p + 1/q = 1.
DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


def check_ball_norm(norm: Any) -> float:
    """Return the p of the norm of items, of which the dual ball can be projected on."""
    number = check_real(norm, "norm")
    if number not in DUAL:
        raise ValueError(
            "norm must be 1, 2 or inf (the p of the l_p norm of items; weights have a "
            f"bounded dual norm), got {norm!r}."
        )
    return number


def project_rows(vectors: FloatArray, radius: float, q: float) -> FloatArray:
    """Return the point of the l_q ball that is nearest to each row.

    Parameters
    ----------
    vectors : ndarray of shape (..., n_features), float64
    radius : float
        At least 0.
    q : {1, 2, inf}

    Returns
    -------
    projected : ndarray of the same shape, float64
        Distances are Euclidean. Norms, as ``np.linalg.norm`` computes them, are at most
        ``radius``, rounding included; rows within the ball stay as they are.

    Notes
    -----
    O(n_features) for each row, for l_1 O(n_features log n_features): the sizes shrink
    by one amount, found by sorting [1]_.

    References
    ----------
    .. [1] Duchi, Shalev-Shwartz, Singer and Chandra (2008). "Efficient Projections onto
       the l1-Ball for Learning in High Dimensions". ICML 2008.
    """
    # Each coordinate has its own bound.
    if q == np.inf:
        return np.clip(vectors, -radius, radius)
    norms = np.linalg.norm(vectors, q, axis=-1, keepdims=True)
    outside = norms > radius
    if not outside.any():
        return vectors
    if q == 2:
        nearest = vectors * (radius / np.where(outside, norms, 1.0))
    else:
        sizes = np.abs(vectors)
        descending = -np.sort(-sizes, axis=-1)
        # The amount to subtract if the largest 1, 2, ... coordinates stay.
        counts = np.arange(1, vectors.shape[-1] + 1)
        amounts = (np.cumsum(descending, axis=-1) - radius) / counts
        staying = np.maximum((descending > amounts).sum(axis=-1, keepdims=True), 1)
        amount = np.take_along_axis(amounts, staying - 1, axis=-1)
        nearest = np.copysign(np.maximum(sizes - amount, 0.0), vectors)
    vectors = np.where(outside, nearest, vectors)
    # The norm that a user computes must not exceed the radius in the last bit. Doubling
    # the cut ends after a few rounds.
    ulps = np.finfo(np.float64).eps
    while True:
        outside = np.linalg.norm(vectors, q, axis=-1, keepdims=True) > radius
        if not outside.any():
            return vectors
        vectors = np.where(outside, vectors * (1 - ulps), vectors)
        ulps *= 2


#: Number of pairs for the gap after training on batches.
_CHECKED_PAIRS = 1 << 20
#: Shares of the longest first step to try.
_SHARES = 0.25 ** np.arange(100)


class Batch(NamedTuple):
    """Some pairs, and the features that they take.

    Attributes
    ----------
    items : ndarray of shape (n_items, n_features), float64
    better, worse : ndarray of shape (n_pairs,), int64
        Rows of ``items``.
    """

    items: FloatArray
    better: IntArray
    worse: IntArray

    def loss(
        self, scores: FloatArray, surrogate: MarginLoss
    ) -> tuple[float, FloatArray]:
        """Return the mean surrogate of the margins, and its gradient in the scores."""
        margin = scores[self.better] - scores[self.worse]
        # An item is in many pairs, so slopes are summed by item.
        slope = surrogate.derivative(margin) / margin.size
        gradient: Any = np.bincount(self.better, slope, scores.size)
        gradient -= np.bincount(self.worse, slope, scores.size)
        return float(surrogate.value(margin).mean()), gradient

    def check_finite(self, loss: float, *gradients: FloatArray) -> None:
        """Raise where the surrogate of these features does not fit into float64."""
        if not (np.isfinite(loss) and all(np.isfinite(g).all() for g in gradients)):
            raise ValueError(
                "X must have features so small that the surrogate stays finite within "
                f"the bounds, got one of size {np.abs(self.items).max():g}. Put a "
                "scaler in front, or lower weight_norm."
            )


@dataclass(frozen=True)
class PairBatches:
    """Batches of pairs, drawn anew each time, or always all of them.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features), float64
    pairs : NumberedPairs
    size : int
        Pairs in a batch; from as many as there are, a batch holds each pair once.
    generator : RandomState
    """

    X: FloatArray
    pairs: NumberedPairs
    size: int
    generator: np.random.RandomState

    @property
    def complete(self) -> bool:
        """Whether a batch holds all pairs."""
        return self.size >= self.pairs.n_pairs

    def draw(self) -> Batch:
        """Return a batch, in O(size) memory."""
        if self.complete:
            return self._all
        draws = self.generator.random_sample(self.size)
        return self.gather(*self.pairs.decode(self.pairs.spread(self.size, draws)))

    @cached_property
    def _all(self) -> Batch:
        return self.gather(*self.pairs.decode(np.arange(self.pairs.n_pairs)))

    def gather(self, better: IntArray, worse: IntArray) -> Batch:
        """Return a batch of these pairs of rows."""
        # Small batches copy the rows that they need, to save a product with all of X.
        if 2 * better.size >= self.X.shape[0]:
            return Batch(self.X, better, worse)
        place = np.arange(better.size)
        items = self.X[np.concatenate([better, worse])]
        return Batch(items, place, place + better.size)


@dataclass(frozen=True)
class LinearProblem:
    """The mean surrogate of w . x over pairs, for w in a ball.

    Attributes
    ----------
    surrogate : MarginLoss
    radius : float
        Bound on the dual norm of w.
    norm : {1, 2, inf}
        The p of the norm of items.
    """

    surrogate: MarginLoss
    radius: float
    norm: float

    def slope(self, weights: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Return the mean surrogate of a batch, and its gradient."""
        loss, slope = batch.loss(batch.items @ weights, self.surrogate)
        return loss, batch.items.T @ slope

    def project(self, weights: FloatArray) -> FloatArray:
        """Return the nearest weights of the ball."""
        return project_rows(weights, self.radius, DUAL[self.norm])

    def diameter(self, n_features: int) -> float:
        """Return the largest distance of two weights."""
        # A cube has opposite corners; the other balls lie in the Euclidean one.
        return float(2 * self.radius * (np.sqrt(n_features) if self.norm == 1 else 1.0))

    def gap(self, weights: FloatArray, gradient: FloatArray) -> float:
        """Return how much the tangent at ``weights`` falls within the ball.

        A convex function lies above its tangent, so that its minimum is not less than
        its value here less this. Zero at a stationary point.
        """
        reach = self.radius * np.linalg.norm(gradient, self.norm)
        return max(float(gradient @ weights + reach), 0.0)

    def first_step(
        self, weights: FloatArray, batch: Batch, length: float
    ) -> tuple[float, float, FloatArray]:
        """Return a step size that does not raise the loss, that loss, and its gradient.

        It is the one that moves the weights by ``length`` before projection, or a share
        of it: a surrogate that explodes far away would spoil all later step sizes. 0
        where no step helps.
        """
        loss, gradient = self.slope(weights, batch)
        batch.check_finite(loss, gradient)
        size = float(np.linalg.norm(gradient))
        for step in length / size * _SHARES if size > 0 else ():
            if self.slope(self.project(weights - step * gradient), batch)[0] <= loss:
                return float(step), loss, gradient
        return 0.0, loss, gradient


def descend(
    problem: LinearProblem, batch: Batch, max_iter: int, tol: float
) -> tuple[FloatArray, list[float], float]:
    """Minimise with all pairs in each step; stop at a gap of ``tol``.

    Returns the weights, the mean surrogate of each step, and a bound of how far the
    loss is from the smallest one: the gap. For losses that are not convex the gap says
    how far the weights are from a stationary point.

    UniXGrad of Kavis, Levy, Bach and Cevher (2019), "A Universal Algorithm with Optimal
    Guarantees for Constrained Optimization": two gradients a step, at averages that
    weigh step t by t. It accelerates where the surrogate is smooth and needs no step
    size and no constant of the problem. Their 1 in the step size is replaced by what
    makes the first step a good one.
    """
    start = np.zeros(batch.items.shape[1])
    diameter = problem.diameter(start.size)
    step, highest, gradient = problem.first_step(start, batch, 30 * diameter)
    gap = problem.gap(start, gradient)
    if step == 0 or gap == 0:
        return start, [highest], gap
    anchor, total, mass, t = start, start, 0, 1
    losses: list[float] = []
    differences, average = (diameter / step) ** 2, start
    best, lowest = start, highest
    floor = _Floor(problem, highest - gap)
    # At least one step, since weights of zero order nothing.
    while len(losses) < max_iter and (not losses or gap > tol):
        mass += t
        step = t * diameter / np.sqrt(differences)
        hint = problem.slope((t * anchor + total) / mass, batch)[1]
        total = total + t * problem.project(anchor - step * hint)
        average = total / mass
        loss, gradient = problem.slope(average, batch)
        square = float((gradient - hint) @ (gradient - hint))
        if not (loss <= highest and np.isfinite(square)):
            # The averages came to where the surrogate explodes: restart, by less.
            anchor, total, mass, t, average = start, start, 0, 1, start
            differences *= 256
            loss, gradient = problem.slope(start, batch)
            floor.forget()
        else:
            floor.raise_by(average, loss, gradient, t)
            anchor = problem.project(anchor - step * gradient)
            differences += t**2 * square
            t += 1
        losses.append(loss)
        # Tangents bound convex functions only. Otherwise the result is the last point,
        # and its tangent tells how stationary it is.
        if not problem.surrogate.convex:
            best, gap = average, problem.gap(average, gradient)
            continue
        if loss < lowest:
            best, lowest = average, loss
        gap = max(lowest - floor.height, 0.0)
    return problem.project(best), losses, gap


class _Floor:
    """A lower bound of a convex mean surrogate within the ball.

    The surrogate lies above each of its tangents, and above every mean of them. Where
    it has kinks, the mean gives the better bound.
    """

    def __init__(self, problem: LinearProblem, height: float) -> None:
        self.problem, self.height = problem, height
        self.forget()

    def forget(self) -> None:
        """Restart the mean; the bound found so far remains valid."""
        self.constant, self.weight = 0.0, 0
        self.tangent: Any = 0.0

    def raise_by(
        self, weights: FloatArray, loss: float, gradient: FloatArray, times: int
    ) -> None:
        """Add a tangent to the mean, ``times`` times."""
        self.constant += times * (loss - float(gradient @ weights))
        self.tangent = self.tangent + times * gradient
        self.weight += times
        reach = self.problem.radius * np.linalg.norm(self.tangent, self.problem.norm)
        of_mean = (self.constant - float(reach)) / self.weight
        of_one = loss - self.problem.gap(weights, gradient)
        self.height = max(self.height, of_one, of_mean)


def descend_on_batches(
    problem: LinearProblem, batches: PairBatches, max_iter: int
) -> tuple[FloatArray, list[float], float]:
    """Minimise on batches, by ever smaller steps; average the later ones.

    The step size is that of Streeter and McMahan (2010), "Less Regret via Online
    Conditioning", for one size for all coordinates; weights of the average grow as t^3
    (Shamir and Zhang 2013, "Stochastic Gradient Descent for Non-smooth Optimization:
    Convergence Results and Optimal Averaging Schemes").
    """
    weights = np.zeros(batches.X.shape[1])
    diameter = problem.diameter(weights.size)
    first = problem.first_step(weights, batches.draw(), diameter)[0]
    squares = 0.0 if first == 0 else (diameter / first) ** 2
    average, losses = weights, []
    for t in range(1, max_iter + 1):
        batch = batches.draw()
        loss, gradient = problem.slope(weights, batch)
        batch.check_finite(loss, gradient)
        losses.append(loss)
        squares += float(gradient @ gradient)
        if squares > 0:
            step = diameter / np.sqrt(2 * squares)
            weights = problem.project(weights - step * gradient)
        # A running average with weights that grow as t^3 soon forgets the start.
        average = average + 4 / (t + 3) * (weights - average)
    average = problem.project(average)
    # The gradient of the last batch is noisy; this one stands for all pairs.
    checked = batches.gather(*batches.pairs.sample(_CHECKED_PAIRS))
    loss, gradient = problem.slope(average, checked)
    checked.check_finite(loss, gradient)
    return average, losses, problem.gap(average, gradient)


#: Length of the first step as a share of the bound; 0.1 to 1 give similar results.
_FIRST_STEP = 0.3


class Network(NamedTuple):
    """Parameters of x -> sum of u_j max(0, w_j . x + b_j), or a gradient in them.

    Attributes
    ----------
    weights : ndarray of shape (n_hidden, n_features), float64
        Row j is w_j.
    biases : ndarray of shape (n_hidden,), float64
    output : ndarray of shape (n_hidden,), float64
        The u_j.
    """

    weights: FloatArray
    biases: FloatArray
    output: FloatArray

    def activations(self, items: FloatArray) -> FloatArray:
        """Return what each unit makes of each item, shape (n_items, n_hidden)."""
        return np.maximum(items @ self.weights.T + self.biases, 0.0)

    def scores(self, items: FloatArray) -> FloatArray:
        """Return the score of each item."""
        return self.activations(items) @ self.output


@dataclass(frozen=True)
class NetworkBounds:
    """The set that the parameters are kept in.

    Attributes
    ----------
    weight_norm, bias, output_norm : float
        Bounds on the dual norm of each w_j, on each |b_j|, and on the l_1 norm of u.
    norm : {1, 2, inf}
        The p of the norm of items.
    """

    weight_norm: float
    bias: float
    output_norm: float
    norm: float

    def project(self, network: Network) -> Network:
        """Return the nearest network of the set."""
        return Network(
            project_rows(network.weights, self.weight_norm, DUAL[self.norm]),
            np.clip(network.biases, -self.bias, self.bias),
            project_rows(network.output, self.output_norm, 1),
        )

    def start(
        self, n_hidden: int, n_features: int, generator: np.random.RandomState
    ) -> Network:
        """Return units in random directions, half of them counted negatively."""
        q = DUAL[self.norm]
        weights = generator.standard_normal((n_hidden, n_features))
        weights *= self.weight_norm / np.linalg.norm(weights, q, axis=1, keepdims=True)
        biases = generator.uniform(-self.bias, self.bias, n_hidden)
        # Half of the units push scores up and half down: the first scores are near 0,
        # where no surrogate is saturated.
        signs = np.where(np.arange(n_hidden) % 2 == 0, 1.0, -1.0)
        output = signs * self.output_norm / n_hidden
        return self.project(Network(weights, biases, output))

    def step(
        self, network: Network, gradient: Network, squares: Network, rate: float
    ) -> Network:
        """Return the network after a step within the bounds, from sums of squares."""
        moved = []
        radii = (self.weight_norm, self.bias, self.output_norm)
        blocks = zip(network, gradient, squares, radii, strict=True)
        for part, slope, square, radius in blocks:
            # A block without a gradient so far does not move.
            size = rate * radius / np.sqrt(np.where(square > 0, square, np.inf))
            moved.append(part - size * slope)
        return self.project(Network(*moved))


def _squares(gradient: Network) -> Network:
    """Return squared lengths: of each w_j, each b_j, and u."""
    return Network(
        (gradient.weights**2).sum(axis=1, keepdims=True),
        gradient.biases**2,
        np.sum(gradient.output**2, keepdims=True),
    )


def train_network(
    start: Network,
    bounds: NetworkBounds,
    surrogate: MarginLoss,
    batches: PairBatches,
    max_iter: int,
) -> tuple[Network, list[float]]:
    """Take projected gradient steps from a start, and average the later networks.

    Steps shrink with the root of the sum of the squared gradients (AdaGrad of Duchi,
    Hazan and Singer 2011), each block of weights that is bounded by itself.
    Also returns the mean surrogate of the batch of each step.
    """
    batch = batches.draw()
    loss, gradient = _slope(start, surrogate, batch)
    # The largest rate whose first step does not raise the loss of a batch.
    for rate in _FIRST_STEP * 0.25 ** np.arange(20):
        moved = bounds.step(start, gradient, _squares(gradient), rate)
        if batch.loss(moved.scores(batch.items), surrogate)[0] <= loss:
            break
    squares = Network(*map(np.zeros_like, _squares(start)))
    network = average = start
    losses = []
    for t in range(1, max_iter + 1):
        loss, gradient = _slope(network, surrogate, batches.draw())
        losses.append(loss)
        squares = Network(*map(np.add, squares, _squares(gradient)))
        network = bounds.step(network, gradient, squares, rate)
        # Weights of the average grow as t^3, as for the linear ranker.
        both = zip(average, network, strict=True)
        average = Network(*(mean + 4 / (t + 3) * (new - mean) for mean, new in both))
    return bounds.project(average), losses


def _slope(
    network: Network, surrogate: MarginLoss, batch: Batch
) -> tuple[float, Network]:
    """Return the mean surrogate of a batch, and its gradient in the parameters."""
    active = network.activations(batch.items)
    loss, slope = batch.loss(active @ network.output, surrogate)
    # Back-propagation through both factors of u_j max(0, .).
    inner = np.where(active > 0, np.outer(slope, network.output), 0.0)
    gradient = Network(inner.T @ batch.items, inner.sum(axis=0), active.T @ slope)
    batch.check_finite(loss, *gradient)
    return loss, gradient


#: With batch_size="auto", up to _FEW_PAIRS pairs are all used in each step; of more,
#: _BATCH are drawn.
_FEW_PAIRS = 1 << 16
_BATCH = 1 << 12


class ConstrainedRanker(Saved, BaseEstimator, ABC):
    """A ranker trained on pairs of items of one query, of which one is to win.

    A subclass checks its parameters, trains and scores; ``fit`` calls the first before
    it looks at the data, which may be large.
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (read by scikit-learn)
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    @abstractmethod
    def _train(self, batches: PairBatches, norm: float) -> list[float]:
        """Set the weights, and return the mean surrogate of each step."""

    @abstractmethod
    def _scores(self, items: FloatArray) -> FloatArray:
        """Return the score of each row of checked features."""

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        pairs: ArrayLike | None = None,
        pair_labels: ArrayLike | None = None,
    ) -> Self:
        """Train on pairs.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Features, taken as they are.
        y : array-like of shape (n_items,), default=None
            Relevance, higher is better. Items of equal relevance are not compared. None
            with ``pair_labels``.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item, in any order; None for one query.
        pairs : array-like of shape (n_pairs, 2), int, default=None
            Pairs (left, right) of row positions, instead of those of ``y``.
        pair_labels : array-like of shape (n_pairs,), default=None
            Label of each of ``pairs``: +1 if the left item is preferred, -1 if the
            right one is (the opposite of the paper's y). Pairs may repeat, be wrong and
            form cycles.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If a numeric parameter is not a number.
        ValueError
            If a parameter or an input breaks its rule, no two items of a query differ
            in relevance, ``pairs`` or ``pair_labels`` come alone or with ``y``, or the
            surrogate of the features exceeds float64.
        """
        norm = check_ball_norm(self.norm)
        check_row_order(X, y=y, qid=qid)
        if pair_labels is None:
            if pairs is not None:
                raise ValueError("pair_labels must be given with pairs: who is to win.")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            taken = NumberedPairs.of(check_relevance(y), group_queries(qid, X.shape[0]))
        else:
            X = validate_data(self, X, dtype=np.float64)
            queries = group_queries(qid, X.shape[0])
            left, right, label = labelled_pairs(y, pairs, pair_labels, queries)
            if left.size == 0:
                raise ValueError("pairs must hold at least one pair, got 0.")
            better = np.where(label > 0, left, right)
            taken = NumberedPairs.given(better, left + right - better)
        self._fitted_with_qid = qid is not None
        self.n_pairs_ = taken.n_pairs
        # The theory is about the unit ball. Features are left as they are, but their
        # distance from it is reported.
        self.max_feature_norm_ = float(np.linalg.norm(X, norm, axis=1).max())
        size = self.batch_size
        if isinstance(size, str) and size == "auto":
            size = taken.n_pairs if taken.n_pairs <= _FEW_PAIRS else _BATCH
        size = check_positive_int(size, "batch_size")
        batches = PairBatches(X, taken, size, check_random_state(self.random_state))
        # Losses and gradients that are not finite raise where they occur.
        with np.errstate(over="ignore", invalid="ignore"):
            losses = self._train(batches, norm)
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = len(losses)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the score of each item.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
            Higher is better.
        """
        check_is_fitted(self)
        return self._scores(validate_data(self, X, dtype=np.float64, reset=False))

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of pairs of different relevance that are ordered right.

        Higher is better, in [0, 1]: the pooled within-query AUC.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; needed where ``fit`` got one.
        sample_weight : array-like of shape (n_items,), default=None
            Weights of items; a pair weighs the product of its two.

        Returns
        -------
        concordance : float
            Equal scores count one half. NaN where no pair has different relevance.

        Raises
        ------
        ValueError
            If ``fit`` got a ``qid`` and this does not.

        Warns
        -----
        sklearn.exceptions.UndefinedMetricWarning
            If no pair has different relevance.

        Notes
        -----
        O(n log n); no pair is formed.
        """
        check_row_order(X, y=y, qid=qid, sample_weight=sample_weight)
        scores = self.predict(X)
        # A search that forgets to route qid would compare rows of different queries.
        if self._fitted_with_qid and qid is None:
            raise ending_search(
                "qid= must be given to score, since fit got one: without it rows of "
                "different queries would be compared. A search hands it on only with "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        relevance = check_relevance(y, scores.size)
        items = Scores(scores, group_queries(qid, scores.size), y=relevance)
        weight = check_sample_weight(sample_weight, scores.size)
        totals = count_outcomes(items, np.zeros(1), 0.0, weight).sum(axis=0)[0]
        right, _, wrong, undecided = totals.tolist()
        strict = right + wrong + undecided
        if strict == 0:
            return undefined("The score of pairs of different relevance")
        return float((right + undecided / 2) / strict)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ConstrainedLinearRanker(ConstrainedRanker):
    """Linear ranker w . x of bounded weights, trained on pairs of items of one query.

    It minimises the mean surrogate of the margins w . x - w . x', x the item of higher
    relevance, over all w whose norm is at most ``weight_norm``.

    Parameters
    ----------
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="hinge"
        What a margin costs. All but the sigmoid loss are convex.
    weight_norm : float, default=1.0
        Bound W on the norm of w, positive. It is the largest difference of scores of
        two items at distance 1, and the strength of the regularisation: search over it.
    norm : {1, 2, inf}, default=inf
        The p of the l_p distance of items. w is bounded in the dual l_q norm, 1 / p +
        1 / q = 1: with inf the sum of sizes (few weights are not zero), with 2 the
        Euclidean norm, with 1 the largest size.
    batch_size : int or "auto", default="auto"
        Pairs drawn for a step. Where there are no more pairs than that, each step
        uses all of them and nothing is random. "auto": all up to 65,536 pairs; 4096
        beyond.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-4
        With all pairs in each step: stop where ``optimality_gap_`` is at most this.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        The weights w.
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,), float64
        Mean surrogate of the pairs of each step.
    optimality_gap_ : float
        Lower is better, at least 0. Where the surrogate is convex, the mean surrogate
        of ``coef_`` exceeds the smallest within the bound by at most this; estimated
        from 2**20 pairs, evenly spread, where there are more.
    n_pairs_ : int
        Number of training pairs: items of one query and different relevance, or the
        given ones.
    max_feature_norm_ : float
        Largest l_p norm of a row of X at ``fit``. The theory of [1]_ is about the unit
        ball, where it is at most 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    ConstrainedMLPRanker : A network in place of w . x.
    skrank_abstain.distance.LinearScorers : This hypothesis set in the bounds.
    skrank_abstain.distance.surrogate_loss : The loss, of given scores.

    Notes
    -----
    An intercept would cancel in every margin; there is none. Features are taken as they
    are: put a scaler in front, in a Pipeline.

    With all pairs in each step, the method is UniXGrad [2]_, begun again with shorter
    steps where the loss exceeds that of weights of zero: it needs no step size, and its
    error falls as 1 / t^2 for smooth surrogates and as 1 / sqrt(t) at worst. On
    batches it is projected gradient descent with steps that shrink with the gradients
    seen [3]_, and the average of the later steps [4]_; its error falls as 1 / sqrt(t)
    at worst. A step takes O((n_items + b) n_features) at most, b pairs in a batch. No
    list of all pairs is made unless they fit into one batch; memory is O(n_items + b
    n_features).

    ``optimality_gap_`` comes from tangents: a convex loss lies above each, and above
    their means, and a tangent of gradient g falls by w . g + W times the l_p norm of g
    within the ball. On batches, and for the sigmoid loss, it is that of the tangent at
    ``coef_`` alone.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.
    .. [2] Kavis, Levy, Bach and Cevher (2019). "UniXGrad: A Universal, Adaptive
       Algorithm with Optimal Guarantees for Constrained Optimization". NeurIPS 32.
    .. [3] Streeter and McMahan (2010). "Less Regret via Online Conditioning".
       arXiv:1002.4862.
    .. [4] Shamir and Zhang (2013). "Stochastic Gradient Descent for Non-smooth
       Optimization: Convergence Results and Optimal Averaging Schemes". ICML 2013.

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.distance import ConstrainedLinearRanker
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> ranker = ConstrainedLinearRanker(weight_norm=0.5, norm=2)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> round(float((ranker.coef_**2).sum()) ** 0.5, 3)
    0.5
    >>> ranker.optimality_gap_ <= 1e-4
    True
    """

    def __init__(
        self,
        *,
        surrogate: Any = "hinge",
        weight_norm: float = 1.0,
        norm: float = np.inf,
        batch_size: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.surrogate = surrogate
        self.weight_norm = weight_norm
        self.norm = norm
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _train(self, batches: PairBatches, norm: float) -> list[float]:
        # No intercept: it cancels in every margin.
        weight_norm = check_positive(self.weight_norm, "weight_norm")
        problem = LinearProblem(check_surrogate(self.surrogate), weight_norm, norm)
        max_iter = check_positive_int(self.max_iter, "max_iter")
        tol = check_real(self.tol, "tol", 0)
        # Acceleration needs exact gradients; those of batches would add up noise.
        self.coef_, losses, self.optimality_gap_ = (
            descend(problem, batches.draw(), max_iter, tol)
            if batches.complete
            else descend_on_batches(problem, batches, max_iter)
        )
        return losses

    def _scores(self, items: FloatArray) -> FloatArray:
        return items @ self.coef_


class ConstrainedMLPRanker(ConstrainedRanker):
    """Network of one hidden layer with bounded weights, trained on pairs of one query.

    It scores an item by the sum of u_j max(0, w_j . x + b_j). Training descends on the
    mean surrogate of the margins h(x) - h(x'), x the item of higher relevance, and
    keeps the parameters within their bounds.

    Parameters
    ----------
    n_hidden : int, default=32
        Number of units.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="hinge"
        What a margin costs.
    weight_norm : float, default=1.0
        Bound W on the norm of each w_j, positive.
    output_norm : float, default=1.0
        Bound Lambda on the sum of the sizes of the u_j, positive. Two items at distance
        1 differ in score by at most Lambda W.
    bias : float, default=None
        Bound B on the size of each b_j, positive. None: ``weight_norm``, the least for
        which the bounds of [1]_ hold.
    norm : {1, 2, inf}, default=inf
        The p of the l_p distance of items. Each w_j is bounded in the dual l_q norm,
        1 / p + 1 / q = 1.
    batch_size : int or "auto", default=1024
        Pairs drawn for a step. "auto": all up to 65,536 pairs; 4096 beyond.
    max_iter : int, default=1000
        Number of steps.
    random_state : int, RandomState instance or None, default=None
        Draws the first weights and the pairs.

    Attributes
    ----------
    coefs_ : list of two ndarrays, float64
        The w_j, of shape (n_features, n_hidden), and u, of shape (n_hidden, 1).
    intercepts_ : list of two ndarrays, float64
        The b_j, of shape (n_hidden,), and a zero of shape (1,).
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,), float64
        Mean surrogate of the pairs of each step.
    n_pairs_ : int
        Number of training pairs: items of one query and different relevance, or the
        given ones.
    max_feature_norm_ : float
        Largest l_p norm of a row of X at ``fit``. The theory of [1]_ is about the unit
        ball, where it is at most 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    ConstrainedLinearRanker : Linear, with a known distance to the optimum.
    skrank_abstain.distance.OneHiddenLayerScorers : This hypothesis set in the bounds.

    Notes
    -----
    The problem is not convex: another ``random_state`` gives another network. Features
    are taken as they are: put a scaler in front, in a Pipeline.

    Projected gradient descent; the steps of each w_j, each b_j and u start at 0.3 of
    their bound and shrink with the root of the sum of their squared gradients [2]_. The
    result is an average in which later steps weigh more. A step takes O(b n_features
    n_hidden) time for b pairs in a batch, and no more memory with more pairs.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.
    .. [2] Duchi, Hazan and Singer (2011). "Adaptive Subgradient Methods for Online
       Learning and Stochastic Optimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.distance import ConstrainedMLPRanker
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = (np.abs(X[:, 0]) > 0.5).astype(int)  # no linear ranker finds this
    >>> ranker = ConstrainedMLPRanker(output_norm=5.0, random_state=0).fit(X, y)
    >>> ranker.score(X, y) > 0.9
    True
    >>> bool(np.abs(ranker.coefs_[1]).sum() <= 5.0)
    True
    """

    def __init__(
        self,
        *,
        n_hidden: int = 32,
        surrogate: Any = "hinge",
        weight_norm: float = 1.0,
        output_norm: float = 1.0,
        bias: float | None = None,
        norm: float = np.inf,
        batch_size: Any = 1024,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.surrogate = surrogate
        self.weight_norm = weight_norm
        self.output_norm = output_norm
        self.bias = bias
        self.norm = norm
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state

    def _train(self, batches: PairBatches, norm: float) -> list[float]:
        surrogate = check_surrogate(self.surrogate)
        weight_norm = check_positive(self.weight_norm, "weight_norm")
        # The least bias for which the reach is Lambda W times the distance.
        bias = weight_norm if self.bias is None else check_positive(self.bias, "bias")
        output_norm = check_positive(self.output_norm, "output_norm")
        bounds = NetworkBounds(weight_norm, bias, output_norm, norm)
        n_hidden = check_positive_int(self.n_hidden, "n_hidden")
        max_iter = check_positive_int(self.max_iter, "max_iter")
        start = bounds.start(n_hidden, self.n_features_in_, batches.generator)
        network, losses = train_network(start, bounds, surrogate, batches, max_iter)
        # Names and shapes of scikit-learn's MLPRegressor.
        self.coefs_ = [network.weights.T, network.output[:, None]]
        self.intercepts_ = [network.biases, np.zeros(1)]
        return losses

    def _scores(self, items: FloatArray) -> FloatArray:
        weights, output = self.coefs_
        return Network(weights.T, self.intercepts_[0], output[:, 0]).scores(items)
