"""Grades of items given a value each, and what that says about pairs.

A proportional-odds model in which the items of a query share a random shift:

    P(grade >= k | query) = expit(slope * value + spread * u - cut_k),  u ~ N(0, 1).

The shift stands for what makes a query easy or hard to please and is not seen in the
values. It is why two items of one query are tied more often than independent items
would be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import expit, logit
from threadpoolctl import ThreadpoolController

from skrank_abstain._validation import FloatArray, IntArray

#: Points of the quadrature over the shift of a query.
_N_NODES = 7
#: The items of a query count no more than this many, since they share so much.
_CAP = 20.0
#: Items that are fitted; of many queries more than twice the cap each say no more.
MOST_ITEMS = 30_000
#: Logarithm of a distance between cuts beyond that of any grades.
_LONGEST_STEP = 20.0
#: A spread below this may be a search that came to rest at 0.
_NO_SPREAD = 1e-3


@dataclass(frozen=True)
class OrdinalFit:
    """A fitted model of grades.

    Attributes
    ----------
    slopes : ndarray of shape (n_inputs,), float64
        Non-negative.
    cuts : ndarray of shape (n_grades - 1,), float64
        Ascending.
    spread : float
        Standard deviation of the shift of a query, on the scale of the logits.
    log_likelihood : ndarray of shape (n_queries,), float64
        Of the queries that were fitted, by the weights they were fitted with; empty
        where nothing was fitted.
    """

    slopes: FloatArray
    cuts: FloatArray
    spread: float
    log_likelihood: FloatArray = field(default_factory=lambda: np.empty(0))

    def value(self, inputs: FloatArray) -> FloatArray:
        """Return the systematic part of the logits, shape (n_items,)."""
        # No matrix product: its last bits depend on the number of threads.
        value: FloatArray = (inputs * self.slopes).sum(axis=1)
        return value

    def grade_proba(self, value: FloatArray) -> FloatArray:
        """Return P(grade) by node of the shift, shape (n_nodes, n, n_grades)."""
        shift = self.spread * shift_nodes()[0][:, None]
        logits = (value + shift)[:, :, None] - self.cuts
        at_least = np.concatenate(
            [np.ones((*logits.shape[:2], 1)), expit(logits)], axis=2
        )
        beyond = np.concatenate(
            [expit(logits), np.zeros((*logits.shape[:2], 1))], axis=2
        )
        return np.asarray(at_least - beyond)


def fit_grades(inputs: FloatArray, grades: IntArray, offsets: IntArray) -> OrdinalFit:
    """Fit slopes, cuts and spread by marginal maximum likelihood.

    Parameters
    ----------
    inputs : ndarray of shape (n_items, n_inputs), float64
    grades : ndarray of shape (n_items,), int64
        From 0 without gaps, at least two of them.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin; none is empty.

    Returns
    -------
    fit : OrdinalFit

    Notes
    -----
    The shift is integrated out by Gauss-Hermite quadrature [1]_. Penalties that amount
    to a standard normal prior on the standardised slopes and on the spread keep the
    optimum finite. A query of more than 20 items weighs as one of 20.

    References
    ----------
    .. [1] Hedeker and Gibbons (1994). "A Random-Effects Ordinal Regression Model for
       Multilevel Analysis". Biometrics 50(4).
    """
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    # In units of powers of two, which round nothing: a sum of huge inputs overflows.
    size = np.ldexp(1.0, np.frexp(np.abs(inputs).max(axis=0))[1] - 1)
    centre = (inputs / size).mean(axis=0) * size
    # Divided twice: squares of huge or tiny inputs neither overflow nor vanish.
    unit = np.abs(inputs - centre).max(axis=0)
    unit[unit == 0] = 1.0
    unit = unit * ((inputs - centre) / unit).std(axis=0)
    unit[unit == 0] = 1.0
    likelihood = _Likelihood((inputs - centre) / unit, grades, query)
    theta = likelihood.maximise()
    slopes, cuts, spread = likelihood.unpack(theta)
    slopes = slopes / unit
    return OrdinalFit(
        slopes,
        cuts + (slopes * centre).sum(),
        spread,
        likelihood.of_queries(theta),
    )


def item_weights(query: IntArray) -> FloatArray:
    """Return weights by which a query has those of 20 items at most."""
    weights: FloatArray = np.minimum(1.0, _CAP / np.bincount(query))[query]
    return weights


def one_blas_thread() -> Any:
    """Keep BLAS's threads from waiting for each other over so few parameters."""
    return _loaded_libraries().limit(limits=1, user_api="blas")


@cache
def _loaded_libraries() -> ThreadpoolController:
    """Return the libraries of this process; to look for them takes 2 ms."""
    return ThreadpoolController()


def shift_nodes() -> tuple[FloatArray, FloatArray]:
    """Return the points of the quadrature over the shift, and their weights."""
    points, weights = hermegauss(_N_NODES)
    return points, weights / weights.sum()


class _Likelihood:
    """Penalised marginal log-likelihood of standardised inputs.

    Parameters are the slopes, the first cut, the logarithms of the steps between cuts,
    and the spread.
    """

    def __init__(self, inputs: FloatArray, grades: IntArray, query: IntArray) -> None:
        self.inputs, self.grades, self.query = inputs, grades, query
        self.n_grades = int(grades.max()) + 1
        sizes = np.bincount(query)
        self.weight = item_weights(query)
        self.points, self.mass = shift_nodes()
        self.slot = (
            np.arange(_N_NODES)[:, None] * sizes.size + query[None, :]
        ).reshape(-1)
        self.shape = (_N_NODES, sizes.size)

    def start(self) -> FloatArray:
        """Return equal slopes, the cuts of the shares, and a middling spread."""
        counts = np.bincount(self.grades, self.weight, self.n_grades)
        above = np.cumsum(counts[::-1])[::-1][1:]
        # Half an item more on both sides: a share of 0 or 1 has no finite logit.
        cuts = -logit((above + 0.5) / (counts.sum() + 1))
        n_inputs = self.inputs.shape[1]
        steps = np.log(np.maximum(np.diff(cuts), 1e-3))
        return np.concatenate([np.full(n_inputs, 1 / n_inputs), cuts[:1], steps, [0.7]])

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        n_inputs = self.inputs.shape[1]
        # Cuts ascend whatever the optimiser tries: no constraint has to say so.
        steps = np.exp(theta[n_inputs + 1 : -1])
        cuts = theta[n_inputs] + np.append(0.0, np.cumsum(steps))
        return theta[:n_inputs], cuts, float(theta[-1])

    def maximise(self) -> FloatArray:
        start = self.start()
        n_inputs = self.inputs.shape[1]
        # The line search may try anything, and exp overflows: no step between cuts is
        # nearly as long as its bound.
        steps = [(None, _LONGEST_STEP)] * (self.n_grades - 2)
        bounds = [(0.0, None)] * n_inputs + [(None, None), *steps]
        bounds += [(0.0, None)]
        with one_blas_thread():
            found = self._minimise(start, bounds)
            if found[-1] < _NO_SPREAD:
                # The likelihood is even in the spread: no slope leads away from 0.
                other = self._minimise(np.append(found[:-1], 0.1), bounds)
                found = min(found, other, key=lambda theta: self(theta)[0])
        return found

    def _minimise(self, start: FloatArray, bounds: list[Any]) -> FloatArray:
        options = {"maxiter": 200, "ftol": 1e-12, "gtol": 1e-7}
        found = minimize(
            self, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return np.asarray(found.x)

    def of_queries(self, theta: FloatArray) -> FloatArray:
        """Return the log-likelihood of each query, without the penalty."""
        highest, relative, _, _ = self._by_node(theta)
        return np.asarray(highest + np.log(relative.sum(axis=0)))

    def _by_node(self, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return what both need, by node of the shift.

        Returns
        -------
        highest : ndarray of shape (n_queries,)
            Log-likelihood at the largest node of each query.
        relative : ndarray of shape (n_nodes, n_queries)
            The likelihood of a query is tiny: it is divided by its largest node before
            nodes are added.
        up, down : ndarray of shape (n_nodes, n_items)
            Derivatives of ln P(grade) in the lower cut's and the upper cut's logit.
        """
        slopes, cuts, spread = self.unpack(theta)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        shift = spread * self.points[:, None]
        logit_value = (self.inputs * slopes).sum(axis=1) + shift
        at_least = expit(logit_value - edges[self.grades])
        beyond = expit(logit_value - edges[self.grades + 1])
        proba = np.maximum(at_least - beyond, 1e-300)
        up = at_least * (1 - at_least) / proba
        down = beyond * (1 - beyond) / proba
        log = np.bincount(self.slot, (self.weight * np.log(proba)).reshape(-1))
        log = log.reshape(self.shape) + np.log(self.mass)[:, None]
        highest = log.max(axis=0)
        return highest, np.exp(log - highest), up, down

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood with its penalty, and its gradient."""
        slopes, _, spread = self.unpack(theta)
        n_inputs = slopes.size
        highest, relative, up, down = self._by_node(theta)
        total = relative.sum(axis=0)
        posterior = (relative / total)[:, self.query] * self.weight
        pull = posterior * (up - down)
        gradient = np.zeros_like(theta)
        by_item = pull.sum(axis=0)
        gradient[:n_inputs] = (self.inputs * by_item[:, None]).sum(axis=0)
        lower = np.bincount(
            self.grades, (posterior * up).sum(axis=0), self.n_grades + 1
        )
        upper = np.bincount(
            self.grades + 1, (posterior * down).sum(axis=0), self.n_grades + 1
        )
        by_cut = (upper - lower)[1 : self.n_grades]
        # A step between two cuts moves all cuts above it.
        tail = np.cumsum(by_cut[::-1])[::-1]
        gradient[n_inputs] = tail[0]
        gradient[n_inputs + 1 : -1] = np.exp(theta[n_inputs + 1 : -1]) * tail[1:]
        gradient[-1] = (pull.sum(axis=1) * self.points).sum()
        value = (highest + np.log(total)).sum()
        value -= ((slopes**2).sum() + spread**2) / 2
        gradient[:n_inputs] -= slopes
        gradient[-1] -= spread
        n_queries = self.shape[1]
        return -float(value) / n_queries, -gradient / n_queries


def pair_table(grade: FloatArray, tied_share: FloatArray) -> FloatArray:
    """Return the probabilities of the labels of pairs of one query.

    Parameters
    ----------
    grade : ndarray of shape (n_nodes, n, n_grades), float64
        P(grade) by node of the shift.
    tied_share : ndarray of shape (n_grades,), float64
        How many pairs of one grade are truly tied: 1, unless grades are bins of finer
        relevance.

    Returns
    -------
    table : ndarray of shape (n, n, 3), float64
        Labels -1, 0, +1 by the value of the left and of the right item. Turning a pair
        around mirrors it to the last bit.

    Notes
    -----
    Given the shift the items are independent; its distribution is averaged over.
    """
    weighted = grade * shift_nodes()[1][:, None, None]
    below = np.cumsum(grade, axis=2) - grade
    left = np.einsum("hik,hjk->ij", weighted, below)
    tie = np.einsum("hik,hjk->ij", weighted * tied_share, grade)
    open_ = np.einsum("hik,hjk->ij", weighted * (1 - tied_share), grade)
    # Rounding must not tell the two sides of a pair apart.
    left = left + (open_ + open_.T) / 4
    table = np.stack([left.T, (tie + tie.T) / 2, left], axis=2)
    total = (table[:, :, 0] + table[:, :, 2]) + table[:, :, 1]
    return np.asarray(table / total[:, :, None])
