"""Minimising the mean surrogate of strict pairs over a ball of linear scorers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.distance._balls import dual_norm, project_rows
from skrank_abstain.distance._margins import MarginLoss
from skrank_abstain.distance._strict import Batch, PairBatches

#: Number of pairs for the gap after training on batches.
_CHECKED_PAIRS = 1 << 20
#: Shares of the longest first step to try.
_SHARES = 0.25 ** np.arange(100)


class Descent(NamedTuple):
    """Where a descent ended.

    Attributes
    ----------
    weights : ndarray of shape (n_features,), float64
    losses : list of float
        Mean surrogate of the batch of each step.
    gap : float
        Bound on the mean surrogate minus its minimum, if it is convex.
    """

    weights: FloatArray
    losses: list[float]
    gap: float


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

    def value(self, weights: FloatArray, batch: Batch) -> float:
        """Return the mean surrogate of a batch, infinite where it overflows."""
        margin = batch.margins(batch.items @ weights)
        return float(self.surrogate.value(margin).mean())

    def project(self, weights: FloatArray) -> FloatArray:
        """Return the nearest weights of the ball."""
        return project_rows(weights, self.radius, dual_norm(self.norm))

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
    ) -> tuple[float, FloatArray]:
        """Return a step size that does not raise the loss of a batch, and its gradient.

        It is the one that moves the weights by ``length`` before projection, or a share
        of it: a surrogate that explodes far away would spoil all later step sizes. 0
        where no step helps.
        """
        loss, gradient = self.slope(weights, batch)
        batch.check_finite(loss, gradient)
        size = float(np.linalg.norm(gradient))
        for step in length / size * _SHARES if size > 0 else ():
            if self.value(self.project(weights - step * gradient), batch) <= loss:
                return float(step), gradient
        return 0.0, gradient


def descend(problem: LinearProblem, batch: Batch, max_iter: int, tol: float) -> Descent:
    """Minimise with all pairs in each step; stop at a gap of ``tol``.

    UniXGrad of Kavis, Levy, Bach and Cevher (2019), "A Universal Algorithm with Optimal
    Guarantees for Constrained Optimization": two gradients a step, at averages that
    weigh step t by t. It accelerates where the surrogate is smooth and needs no step
    size and no constant of the problem. Their 1 in the step size is replaced by what
    makes the first step a good one.
    """
    n_features = batch.items.shape[1]
    diameter = problem.diameter(n_features)
    start = np.zeros(n_features)
    step, gradient = problem.first_step(start, batch, 30 * diameter)
    highest, gap = problem.value(start, batch), problem.gap(start, gradient)
    if step == 0 or gap == 0:
        return Descent(start, [highest], gap)
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
    return Descent(problem.project(best), losses, gap)


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
) -> Descent:
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
    checked = batches.evenly(_CHECKED_PAIRS)
    loss, gradient = problem.slope(average, checked)
    checked.check_finite(loss, gradient)
    return Descent(average, losses, problem.gap(average, gradient))
