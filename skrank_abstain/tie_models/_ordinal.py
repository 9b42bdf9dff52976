"""The model behind `GradedRelevance`: grades of items, given a value of each.

A proportional-odds model in which the items of a query share a random shift:

    P(grade >= k | query) = expit(slope * value + spread * u - cut_k),  u ~ N(0, 1).

The shift stands for what makes a query easy or hard to please and does not show in the
values. Because of it two items of one query are tied more often than independent items
would be.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from scipy.special import expit, logit
from threadpoolctl import ThreadpoolController

from skrank_abstain._validation import FloatArray, IntArray

#: Points of the quadrature over the shift of a query.
_N_NODES = 7
#: A larger query weighs as one of this many items, since they share so much.
_CAP = 20.0
#: A fit uses at most about this many items; more would not change it noticeably.
MOST_ITEMS = 30_000
#: Bound on the logarithm of the distance between two cuts.
_LONGEST_STEP = 20.0
#: With a spread below this the search may be stuck at 0.
_NO_SPREAD = 1e-3


class OrdinalFit(NamedTuple):
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
        Of each query, with the item weights of the fit.
    """

    slopes: FloatArray
    cuts: FloatArray
    spread: float
    log_likelihood: FloatArray


def fit_grades(
    inputs: FloatArray, level: IntArray, grades: IntArray, offsets: IntArray
) -> OrdinalFit:
    """Fit slopes, cuts and spread by marginal maximum likelihood.

    Parameters
    ----------
    inputs : ndarray of shape (n_levels, n_inputs), float64
        The value, or several numbers whose weighted sum is the value, at each level.
    level : ndarray of shape (n_items,), int64
        Row of ``inputs`` that holds for an item; the fewer levels, the faster the fit.
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
    centre, unit = _centre_and_unit(inputs[level])
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    n_grades = int(grades.max()) + 1
    cells, cell = np.unique(level * n_grades + grades, return_inverse=True)
    standardised = (inputs[cells // n_grades] - centre) / unit
    weight = _cell_weights(query, cell.reshape(-1))
    likelihood = _Likelihood(standardised, cells % n_grades, weight)
    theta = likelihood.maximise()
    slopes, cuts, spread = likelihood.unpack(theta)
    slopes = slopes / unit
    cuts = cuts + (slopes * centre).sum()
    return OrdinalFit(slopes, cuts, spread, likelihood.by_query(theta)[0])


def _centre_and_unit(inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation, 1 for inputs that are all equal."""
    # In units of powers of two, which round nothing: a sum of huge inputs overflows.
    size = np.ldexp(1.0, np.frexp(np.abs(inputs).max(axis=0))[1] - 1)
    centre = (inputs / size).mean(axis=0) * size
    # Divided twice: squares of huge or tiny inputs neither overflow nor vanish.
    unit = np.abs(inputs - centre).max(axis=0)
    unit[unit == 0] = 1.0
    unit = unit * ((inputs - centre) / unit).std(axis=0)
    unit[unit == 0] = 1.0
    return centre, unit


def _cell_weights(query: IntArray, cell: IntArray) -> csr_array:
    """Return the weight of each cell in each query, shape (n_queries, n_cells).

    Items of one level and one grade are one cell.
    """
    weights = np.minimum(1.0, _CAP / np.bincount(query))[query]
    return csr_array((weights, (query, cell)))


@cache
def _loaded_libraries() -> ThreadpoolController:
    """Return the libraries of this process; looking for them takes 2 ms."""
    return ThreadpoolController()


def shift_nodes() -> tuple[FloatArray, FloatArray]:
    """Return the points of the quadrature over the shift, and their weights."""
    points, weights = hermegauss(_N_NODES)
    return points, weights / weights.sum()


class _Likelihood:
    """Penalised marginal log-likelihood of standardised inputs.

    Its parameters are the slopes, the first cut, the logarithms of the steps between
    cuts, and the spread.

    Parameters
    ----------
    inputs : ndarray of shape (n_cells, n_inputs), float64
    grades : ndarray of shape (n_cells,), int64
    weight : sparse array of shape (n_queries, n_cells), float64
        As ``_cell_weights`` returns it.
    """

    def __init__(self, inputs: FloatArray, grades: IntArray, weight: csr_array) -> None:
        self.inputs, self.grades, self.weight = inputs, grades, weight
        self.n_grades = int(grades.max()) + 1
        self.n_inputs = inputs.shape[1]
        self.points, self.mass = shift_nodes()

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return slopes, cuts and spread."""
        slopes, first, steps = np.split(theta[:-1], [self.n_inputs, self.n_inputs + 1])
        # Cuts ascend whatever the optimiser tries, without a constraint.
        cuts = first + np.append(0.0, np.cumsum(np.exp(steps)))
        return slopes, cuts, float(theta[-1])

    def maximise(self) -> FloatArray:
        """Return the best parameters."""
        counts = np.bincount(self.grades, self.weight.sum(axis=0), self.n_grades)
        above = np.cumsum(counts[::-1])[::-1][1:]
        # Half an item more on both sides: a share of 0 or 1 has no finite logit.
        cuts = -logit((above + 0.5) / (counts.sum() + 1))
        steps = np.log(np.maximum(np.diff(cuts), 1e-3))
        slopes = np.full(self.n_inputs, 1 / self.n_inputs)
        start = np.concatenate([slopes, cuts[:1], steps, [0.7]])
        found = self._search(start)
        if found[-1] < _NO_SPREAD:
            # The likelihood is even in the spread: its slope there is 0.
            other = self._search(np.append(found[:-1], 0.1))
            found = min(found, other, key=lambda theta: self(theta)[0])
        return found

    def _search(self, start: FloatArray) -> FloatArray:
        # The line search may try anything, and exp overflows: steps between cuts have
        # a bound that no data come near.
        lowest = np.full(start.size, -np.inf)
        lowest[: self.n_inputs] = lowest[-1] = 0.0
        highest = np.full(start.size, np.inf)
        highest[self.n_inputs + 1 : -1] = _LONGEST_STEP
        options = {"maxiter": 200, "ftol": 1e-12, "gtol": 1e-7}
        # For so few parameters the threads of BLAS would only wait for each other.
        with _loaded_libraries().limit(limits=1, user_api="blas"):
            found = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(lowest, highest),
                options=options,
            )
        return np.asarray(found.x)

    def by_query(self, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return the log-likelihood of each query, and what its gradient needs.

        Returns
        -------
        log_likelihood : ndarray of shape (n_queries,)
            Without the penalty.
        posterior : ndarray of shape (n_queries, n_nodes)
            Probabilities of the nodes of the shift.
        up, down : ndarray of shape (n_cells, n_nodes)
            Derivatives of ln P(grade) in the lower cut's and the upper cut's logit.
        """
        slopes, cuts, spread = self.unpack(theta)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        # No matrix product: its last bits depend on the number of threads.
        logits = (self.inputs * slopes).sum(axis=1)[:, None] + spread * self.points
        at_least = expit(logits - edges[self.grades][:, None])
        beyond = expit(logits - edges[self.grades + 1][:, None])
        proba = np.maximum(at_least - beyond, 1e-300)
        up = at_least * (1 - at_least) / proba
        down = beyond * (1 - beyond) / proba
        by_node = self.weight @ np.log(proba) + np.log(self.mass)
        # The likelihood of a query is tiny: nodes are added relative to the largest.
        highest = by_node.max(axis=1, keepdims=True)
        relative = np.exp(by_node - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total, up, down

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood with its penalty, and its gradient."""
        slopes, cuts, spread = self.unpack(theta)
        log_likelihood, posterior, up, down = self.by_query(theta)
        mass = self.weight.T @ posterior
        up, down = mass * up, mass * down
        pull = up - down
        by_slope = (self.inputs * pull.sum(axis=1)[:, None]).sum(axis=0) - slopes
        lower = np.bincount(self.grades, up.sum(axis=1), self.n_grades + 1)
        upper = np.bincount(self.grades + 1, down.sum(axis=1), self.n_grades + 1)
        by_cut = (upper - lower)[1 : self.n_grades]
        # A step between two cuts moves all cuts above it.
        tail = np.cumsum(by_cut[::-1])[::-1]
        by_step = np.diff(cuts) * tail[1:]
        by_spread = (pull.sum(axis=0) * self.points).sum() - spread
        gradient = np.concatenate([by_slope, tail[:1], by_step, [by_spread]])
        value = log_likelihood.sum() - ((slopes**2).sum() + spread**2) / 2
        n_queries = log_likelihood.size
        return -float(value) / n_queries, -gradient / n_queries


def grade_proba(value: FloatArray, cuts: FloatArray, spread: float) -> FloatArray:
    """Return P(grade) by node of the shift, shape (n_nodes, n, n_grades).

    Parameters
    ----------
    value : ndarray of shape (n,), float64
        On the scale of the logits: slope times value.
    cuts : ndarray of shape (n_grades - 1,), float64
    spread : float
    """
    shift = spread * shift_nodes()[0][:, None]
    beyond = expit((value + shift)[:, :, None] - cuts)
    ends = (*beyond.shape[:2], 1)
    at_least = np.concatenate([np.ones(ends), beyond, np.zeros(ends)], axis=2)
    return np.asarray(-np.diff(at_least, axis=2))


def pair_table(grade: FloatArray, tied_share: FloatArray) -> FloatArray:
    """Return the probabilities of the labels of pairs of one query.

    Parameters
    ----------
    grade : ndarray of shape (n_nodes, n, n_grades), float64
        P(grade) by node of the shift, given which items are independent.
    tied_share : ndarray of shape (n_grades,), float64
        Share of the pairs of one grade that are truly tied: 1, unless grades are bins
        of finer relevance.

    Returns
    -------
    table : ndarray of shape (n, n, 3), float64
        Labels -1, 0, +1 by the value of the left and of the right item. Turning a pair
        around mirrors it to the last bit.
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
