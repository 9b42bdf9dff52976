"""Projected descent on the mean surrogate of pairs, for linear scorers and networks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_real
from skrank_abstain.distance._losses import MarginLoss
from skrank_abstain.distance._pairs import NumberedPairs

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
        nearest = _shrink(vectors, radius)
    projected: FloatArray = np.where(outside, nearest, vectors)
    return _round_inwards(projected, radius, q)


def _shrink(vectors: FloatArray, radius: float) -> FloatArray:
    """Return the rows with sizes less the amount that leaves ``radius`` in all."""
    sizes = np.abs(vectors)
    descending = -np.sort(-sizes, axis=-1)
    # The amount to subtract if the largest 1, 2, ... coordinates stay.
    counts = np.arange(1, vectors.shape[-1] + 1)
    amounts = (np.cumsum(descending, axis=-1) - radius) / counts
    staying = np.maximum((descending > amounts).sum(axis=-1, keepdims=True), 1)
    amount = np.take_along_axis(amounts, staying - 1, axis=-1)
    return np.copysign(np.maximum(sizes - amount, 0.0), vectors)


def _round_inwards(vectors: FloatArray, radius: float, q: float) -> FloatArray:
    """Shrink rows that rounding left outside of the ball."""
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
        gradient: FloatArray = batch.items.T @ slope
        return loss, gradient

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
    n_features = batch.items.shape[1]
    diameter = problem.diameter(n_features)
    start = np.zeros(n_features)
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
        return self.project(
            Network(weights, biases, signs * self.output_norm / n_hidden)
        )


def _squares(gradient: Network) -> Network:
    """Return squared lengths: of each w_j, each b_j, and u."""
    return Network(
        (gradient.weights**2).sum(axis=1, keepdims=True),
        gradient.biases**2,
        np.sum(gradient.output**2, keepdims=True),
    )


def _step(
    network: Network,
    gradient: Network,
    squares: Network,
    bounds: NetworkBounds,
    rate: float,
) -> Network:
    """Return the network after a step within the bounds, from sums of squares."""
    moved = []
    radii = (bounds.weight_norm, bounds.bias, bounds.output_norm)
    for part, slope, square, radius in zip(
        network, gradient, squares, radii, strict=True
    ):
        # A block without a gradient so far does not move.
        size = rate * radius / np.sqrt(np.where(square > 0, square, np.inf))
        moved.append(part - size * slope)
    return bounds.project(Network(*moved))


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
    rate = _first_rate(start, bounds, surrogate, batches.draw())
    squares = Network(*map(np.zeros_like, _squares(start)))
    network = average = start
    losses = []
    for t in range(1, max_iter + 1):
        loss, gradient = _slope(network, surrogate, batches.draw())
        losses.append(loss)
        squares = Network(*map(np.add, squares, _squares(gradient)))
        network = _step(network, gradient, squares, bounds, rate)
        # Weights of the average grow as t^3, as for the linear ranker.
        share = 4 / (t + 3)
        average = Network(
            *(a + share * (n - a) for a, n in zip(average, network, strict=True))
        )
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


def _first_rate(
    start: Network, bounds: NetworkBounds, surrogate: MarginLoss, batch: Batch
) -> float:
    """Return the largest rate whose first step does not raise the loss of a batch."""
    loss, gradient = _slope(start, surrogate, batch)
    for rate in _FIRST_STEP * 0.25 ** np.arange(20):
        moved = _step(start, gradient, _squares(gradient), bounds, rate)
        if batch.loss(moved.scores(batch.items), surrogate)[0] <= loss:
            break
    return float(rate)
