"""Grades in steps: a curve of its own for each step from one grade to the next.

    P(grade >= k | grade >= k - 1) = expit(f_k(value) + spread * u),  u ~ N(0, 1),

with rising curves f_k, straight or in straight pieces. Proportional odds have one
slope for all grades; where many queries say that grades differ in more than a cut,
this model can follow. All that is known of a value is its bin, so that a step of the
fit takes the same time for many items as for few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logit

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.tie_models._ordinal import (
    OrdinalFit,
    is_worth_it,
    item_weights,
    one_blas_thread,
    shift_nodes,
)

#: Straight pieces of the curves that are tried, one after the other.
_PIECES = 1, 3
#: So many widths of a piece beyond it nothing changes any more.
_FAR = 1e6


@dataclass(frozen=True)
class BentFit:
    """A fitted model of steps between grades.

    Attributes
    ----------
    knots : ndarray of shape (n_knots,), float64
        Ascending values between which curves are straight; the first and the last
        piece go on beyond.
    logits : ndarray of shape (n_grades - 1, n_knots), float64
        Of P(grade >= k | grade >= k - 1) at the knots, for u = 0; they do not fall.
    spread : float
        Standard deviation of the shift of a query, on the scale of the logits.
    log_likelihood : ndarray of shape (n_queries,), float64
        As in `OrdinalFit`.
    """

    knots: FloatArray
    logits: FloatArray
    spread: float
    log_likelihood: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def n_parameters(self) -> int:
        """Number of parameters that were fitted."""
        return self.logits.size + 1

    def grade_proba(self, value: FloatArray) -> FloatArray:
        """Return P(grade) by node of the shift, shape (n_nodes, n, n_grades)."""
        parts = _parts(value, self.knots)
        curves = self.logits[:, :1] + (
            (np.diff(self.logits, axis=1)[:, None, :] * parts).sum(axis=2)
        )
        step = expit(curves + self.spread * shift_nodes()[0][:, None, None])
        ends = (step.shape[0], 1, value.size)
        at_least = np.concatenate(
            [np.ones(ends), np.cumprod(step, axis=1), np.zeros(ends)], axis=1
        )
        return np.asarray(np.swapaxes(at_least[:, :-1] - at_least[:, 1:], 1, 2))


def bend(
    straight: OrdinalFit,
    edges: FloatArray,
    centres: FloatArray,
    values: FloatArray,
    grades: IntArray,
    offsets: IntArray,
) -> OrdinalFit | BentFit:
    """Return a bent model where it is worth its parameters, else the straight one.

    Parameters
    ----------
    straight : OrdinalFit
        Of one input, fitted on the same items.
    edges : ndarray of shape (n_bins - 1,), float64
        Between the bins; a value on an edge belongs above it.
    centres : ndarray of shape (n_bins,), float64
        Ascending values that bins stand for.
    values : ndarray of shape (n_items,), float64
        By query.
    grades : ndarray of shape (n_items,), int64
        From 0 without gaps, at least two of them.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin.

    Returns
    -------
    fit : OrdinalFit or BentFit
    """
    best: OrdinalFit | BentFit = straight
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    bins = np.searchsorted(edges, values, side="right")
    values = centres[bins]
    for pieces in _PIECES:
        knots = np.unique(np.quantile(values, np.linspace(0, 1, pieces + 1)))
        if knots.size > 1:
            bent = _Likelihood(centres, knots, bins, grades, query).maximise()
            gain = bent.log_likelihood - best.log_likelihood
            if is_worth_it(gain, bent.n_parameters - best.n_parameters):
                best = bent
    return best


class _Likelihood:
    """Penalised marginal log-likelihood.

    Parameters are, by step, the logit at the mean of the values and the slopes of the
    pieces, per standard deviation of the values; and the spread.
    """

    def __init__(
        self,
        centres: FloatArray,
        knots: FloatArray,
        bins: IntArray,
        grades: IntArray,
        query: IntArray,
    ) -> None:
        self.knots = knots
        # All in units of the range: its square neither overflows nor vanishes.
        unit = (centres[bins] / (knots[-1] - knots[0])).std()
        self.width = np.diff(knots / (knots[-1] - knots[0])) / unit
        inputs = _parts(centres, knots) * self.width
        self.mean = inputs[bins].mean(axis=0)
        self.inputs = inputs - self.mean
        self.n_steps = int(grades.max())
        # What a fit has to know: how much the items of each bin and grade weigh, by
        # query.
        n_cells = centres.size * (self.n_steps + 1)
        cell = bins * (self.n_steps + 1) + grades
        weights = item_weights(query)
        shape = int(query.max()) + 1, n_cells
        self.weight = csr_array((weights, (query, cell)), shape=shape)
        self.weight_of_cell = csr_array(self.weight.T)
        self.points, self.mass = shift_nodes()
        total = np.bincount(grades, weights, self.n_steps + 1)
        beyond = np.cumsum(total[::-1])[::-1]
        # Half an item more on both sides: a share of 0 or 1 has no finite logit.
        self.start = logit((beyond[1:] + 0.5) / (beyond[:-1] + 1))

    def maximise(self) -> BentFit:
        slopes = np.ones((self.n_steps, self.width.size))
        start = np.append(np.column_stack([self.start, slopes]).reshape(-1), 0.7)
        of_step = [(None, None)] + [(0.0, None)] * self.width.size
        with one_blas_thread():
            found = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[*of_step * self.n_steps, (0.0, None)],
                options={"maxiter": 200, "ftol": 1e-12, "gtol": 1e-7},
            )
        middle, slopes, spread = self.unpack(found.x)
        rises = slopes * self.width
        logits = np.column_stack([middle - (slopes * self.mean).sum(axis=1), rises])
        return BentFit(
            self.knots,
            np.cumsum(logits, axis=1),
            spread,
            self._by_node(found.x)[0],
        )

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        by_step = theta[:-1].reshape(self.n_steps, -1)
        return by_step[:, 0], by_step[:, 1:], float(theta[-1])

    def _by_node(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is maximised, and what its gradient needs.

        Returns
        -------
        log_likelihood : ndarray of shape (n_queries,)
        posterior : ndarray of shape (n_queries, n_nodes)
            Of the shift.
        logits : ndarray of shape (n_bins, n_steps, n_nodes)
        """
        middle, slopes, spread = self.unpack(theta)
        curves = middle + (self.inputs[:, None, :] * slopes).sum(axis=2)
        logits = curves[:, :, None] + spread * self.points
        taken = np.cumsum(log_expit(logits), axis=1)
        log_proba = np.zeros((logits.shape[0], self.n_steps + 1, self.points.size))
        log_proba[:, 1:] += taken
        log_proba[:, :-1] += log_expit(-logits)
        by_node = self.weight @ log_proba.reshape(-1, self.points.size)
        by_node = by_node + np.log(self.mass)
        highest = by_node.max(axis=1, keepdims=True)
        relative = np.exp(by_node - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total, logits

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood with its penalty, and its gradient."""
        _, slopes, spread = self.unpack(theta)
        log_likelihood, posterior, logits = self._by_node(theta)
        weight = (self.weight_of_cell @ posterior).reshape(
            logits.shape[0], self.n_steps + 1, -1
        )
        reached = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
        pull = reached[:, 1:] - reached[:, :-1] * expit(logits)
        by_bin = pull.sum(axis=2)
        by_slope = (by_bin[:, :, None] * self.inputs[:, None, :]).sum(axis=0)
        # A standard normal prior on the slopes, on what neighbours differ by, and on
        # the spread.
        n_pieces = self.width.size
        bends = np.diff(slopes, axis=1, prepend=slopes[:, :1], append=slopes[:, -1:])
        prior = (slopes**2).sum() / n_pieces + (bends**2).sum() + spread**2
        by_slope -= slopes / n_pieces - np.diff(bends, axis=1)
        gradient = np.append(
            np.column_stack([by_bin.sum(axis=0), by_slope]).reshape(-1),
            (pull.sum(axis=(0, 1)) * self.points).sum() - spread,
        )
        n_queries = log_likelihood.size
        value = log_likelihood.sum() - prior / 2
        return -float(value) / n_queries, -gradient / n_queries


def _parts(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Return how much of each piece lies below a value, shape (n, n_knots - 1).

    From 0 to 1, but for the first piece, which goes on below, and the last one.
    """
    low, high = knots[:-1].copy(), knots[1:].copy()
    low[0], high[-1] = -np.inf, np.inf
    inside = np.clip(values[:, None], low, high)
    with np.errstate(over="ignore"):
        parts = (inside - knots[:-1]) / np.diff(knots)
    return np.asarray(np.clip(parts, -_FAR, _FAR))
