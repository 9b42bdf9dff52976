"""Networks of one hidden layer with bounded weights, trained on strict pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.distance._balls import dual_norm, project_rows
from skrank_abstain.distance._margins import MarginLoss
from skrank_abstain.distance._strict import Batch, PairBatches

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
        active: FloatArray = np.maximum(items @ self.weights.T + self.biases, 0.0)
        return active

    def scores(self, items: FloatArray) -> FloatArray:
        """Return the score of each item."""
        scores: FloatArray = self.activations(items) @ self.output
        return scores

    def gradient(
        self, items: FloatArray, active: FloatArray, slope: FloatArray
    ) -> Network:
        """Return the gradient of a loss from the one in the scores.

        The derivative of max(0, t) at 0 is set to 0.
        """
        # Back-propagation through both factors of u_j max(0, .).
        inner = np.where(active > 0, np.outer(slope, self.output), 0.0)
        return Network(inner.T @ items, inner.sum(axis=0), active.T @ slope)


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
            project_rows(network.weights, self.weight_norm, dual_norm(self.norm)),
            np.clip(network.biases, -self.bias, self.bias),
            project_rows(network.output, self.output_norm, 1),
        )

    def start(
        self, n_hidden: int, n_features: int, generator: np.random.RandomState
    ) -> Network:
        """Return units in random directions, half of them counted negatively."""
        q = dual_norm(self.norm)
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
    squares = Network(*(0.0 * part for part in _squares(start)))
    network = average = start
    losses = []
    for t in range(1, max_iter + 1):
        loss, gradient = _slope(network, surrogate, batches.draw())
        losses.append(loss)
        squares = Network(
            *(a + b for a, b in zip(squares, _squares(gradient), strict=True))
        )
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
    gradient = network.gradient(batch.items, active, slope)
    batch.check_finite(loss, *gradient)
    return loss, gradient


def _first_rate(
    start: Network, bounds: NetworkBounds, surrogate: MarginLoss, batch: Batch
) -> float:
    """Return the largest rate whose first step does not raise the loss of a batch."""
    loss, gradient = _slope(start, surrogate, batch)
    for rate in _FIRST_STEP * 0.25 ** np.arange(20):
        moved = _step(start, gradient, _squares(gradient), bounds, rate)
        margin = batch.margins(moved.scores(batch.items))
        if surrogate.value(margin).mean() <= loss:
            break
    return float(rate)
