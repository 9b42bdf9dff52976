"""Strengths by name: penalised maximum likelihood by Newton's method.

The penalised log likelihood is concave in all parameters: the strengths of the items,
the effects of covariates, and the tie parameter, if there are ties. The strengths of
items that met, directly or over others, sum to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, cg

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.leaderboard._ties import Expansion, VoteModel

#: Beyond this many items systems are solved by conjugate gradients.
DENSE = 1500
_STEPS = 100
#: Newton's method converges quadratically: a step that promises so little is the last.
_SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class Counts:
    """Votes by outcome, one row for each pair or for each vote with its covariates.

    Attributes
    ----------
    left, right : ndarray of shape (n_rows,), int64
        Items.
    weight : ndarray of shape (n_rows, 3), float64
        Sum of the weights of the votes: right wins, tie, left wins.
    square : ndarray of shape (n_rows, 3), float64
        Sum of the squared weights.
    covariates : ndarray of shape (n_rows, n_covariates), float64
    n_items : int
    """

    left: IntArray
    right: IntArray
    weight: FloatArray
    square: FloatArray
    covariates: FloatArray
    n_items: int

    @cached_property
    def has_ties(self) -> bool:
        """Whether there is a tie parameter."""
        return bool(self.weight[:, 1].any())

    @property
    def n_others(self) -> int:
        """Number of parameters beside the strengths."""
        return int(self.covariates.shape[1]) + self.has_ties

    def eta(self, theta: FloatArray, beta: FloatArray) -> FloatArray:
        """Return the difference of strengths of each row, covariates included."""
        difference: FloatArray = theta[self.left] - theta[self.right]
        return difference + self.covariates @ beta if beta.size else difference

    def by_item(self, values: FloatArray) -> FloatArray:
        """Add values of rows to their left items and take them from the right ones."""
        total = np.bincount(self.left, values, self.n_items)
        total -= np.bincount(self.right, values, self.n_items)
        return np.asarray(total, np.float64)

    def laplacian(self, values: FloatArray) -> csr_array:
        """Return the sum of ``values (e_left - e_right)(e_left - e_right)'``."""
        rows = np.concatenate([self.left, self.right, self.left, self.right])
        columns = np.concatenate([self.left, self.right, self.right, self.left])
        entries = np.concatenate([values, values, -values, -values])
        shape = (self.n_items, self.n_items)
        return csr_array(coo_array((entries, (rows, columns)), shape))

    def border(
        self, of_eta: FloatArray, cross: FloatArray, of_tau: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the part of a matrix of second moments beside the strengths.

        Parameters
        ----------
        of_eta, cross : ndarray of shape (n_rows,)
            Moments in ``eta``, and in ``eta`` and ``tau``.
        of_tau : float

        Returns
        -------
        beside : ndarray of shape (n_items, n_others)
        corner : ndarray of shape (n_others, n_others)
        """
        columns = [of_eta * column for column in self.covariates.T]
        columns += [cross] if self.has_ties else []
        beside = np.zeros((self.n_items, len(columns)))
        for number, column in enumerate(columns):
            beside[:, number] = self.by_item(column)
        corner = np.zeros((len(columns), len(columns)))
        k = self.covariates.shape[1]
        corner[:, :k] = [column @ self.covariates for column in columns]
        if self.has_ties:
            corner[:k, k] = corner[k, :k]
            corner[k, k] = of_tau
        return beside, corner


@dataclass(frozen=True, eq=False)
class Strengths(Value):
    """Fitted parameters.

    Attributes
    ----------
    theta : ndarray of shape (n_items,), float64
        Strengths.
    beta : ndarray of shape (n_covariates,), float64
        Effects of the covariates on the strength of the left item.
    tau : float
        Tie parameter.
    """

    theta: FloatArray
    beta: FloatArray
    tau: float


def count_votes(
    left: IntArray,
    right: IntArray,
    label: IntArray,
    weight: FloatArray,
    covariates: FloatArray,
    n_items: int,
) -> Counts:
    """Count votes by pair and outcome; with covariates each vote keeps its row.

    Parameters
    ----------
    left, right : ndarray of shape (n_votes,), int64
    label : ndarray of shape (n_votes,), int64
        +1 left wins, 0 tie, -1 right wins.
    weight : ndarray of shape (n_votes,), float64
    covariates : ndarray of shape (n_votes, n_covariates), float64
    n_items : int

    Returns
    -------
    counts : Counts
        If there are ties, the last row is no vote: half a win of each of two equals,
        which keeps the tie parameter finite where all votes are ties.
    """
    if covariates.shape[1]:
        pair = np.arange(left.size)
        first, second, outcome = left, right, label
    else:
        swapped = left > right
        outcome = np.where(swapped, -label, label)
        first, second = np.where(swapped, right, left), np.where(swapped, left, right)
        key, pair = np.unique(first * n_items + second, return_inverse=True)
        first, second = np.divmod(key, n_items)
        covariates = np.zeros((key.size, 0))
    cell = 3 * pair.reshape(-1) + outcome + 1
    n_rows = first.size

    def summed(values: FloatArray) -> FloatArray:
        total = np.bincount(cell, values, 3 * n_rows)
        return np.asarray(total, np.float64).reshape(n_rows, 3)

    total, square = summed(weight), summed(weight**2)
    if total[:, 1].any():
        first, second = np.append(first, 0), np.append(second, 0)
        total = np.vstack([total, [0.5, 0.0, 0.5]])
        square = np.vstack([square, [0.0, 0.0, 0.0]])
        covariates = np.vstack([covariates, np.zeros((1, covariates.shape[1]))])
    return Counts(first, second, total, square, covariates, n_items)


def fit_strengths(counts: Counts, model: VoteModel, prior: float) -> Strengths:
    """Maximise the log likelihood less ``prior / 2`` times the squared strengths.

    Parameters
    ----------
    counts : Counts
    model : VoteModel
    prior : float
        Positive.

    Returns
    -------
    strengths : Strengths

    Notes
    -----
    Newton's method with backtracking. The system of a step has the strengths in one
    block, solved by Cholesky's method or, beyond 1,500 items, conjugate gradients, and
    few other parameters beside it.
    """
    n, k = counts.n_items, counts.covariates.shape[1]
    x = np.zeros(n + counts.n_others)
    share = counts.weight[:, 1].sum() / max(counts.weight.sum(), 1e-300)
    if counts.has_ties:
        x[n + k] = model.start(share)

    def parts(x: FloatArray) -> Strengths:
        tau = float(x[n + k]) if counts.has_ties else model.no_ties
        return Strengths(x[:n], x[n : n + k], tau)

    def objective(x: FloatArray) -> float:
        at = parts(x)
        eta = counts.eta(at.theta, at.beta)
        value = model.log_likelihood(eta, at.tau, counts.weight)
        return value - prior / 2 * float(at.theta @ at.theta)

    for _ in range(_STEPS):
        at = parts(x)
        found = model.expand(counts.eta(at.theta, at.beta), at.tau, counts.weight)
        gradient = _gradient(counts, found)
        gradient[:n] -= prior * at.theta
        step = _newton_step(counts, found, gradient, prior)
        promise = float(gradient @ step)
        if promise < _SMALL:
            return parts(x + step)
        value = found.value - prior / 2 * float(at.theta @ at.theta)
        size = 1.0
        while objective(x + size * step) < value + 1e-4 * size * promise:
            size /= 2
            if size < 1e-9:  # no better in this arithmetic
                return at
        x = x + size * step
    return parts(x)


def share_of_its_own(counts: Counts) -> float:
    """Return the least share of a covariate that items and other covariates leave open.

    0 if an effect cannot be told from strengths: as where one item is always on the
    left, and the covariate is the advantage of that side. 1 without covariates.
    """
    k = counts.covariates.shape[1]
    if not k:
        return 1.0
    votes = counts.weight.sum(axis=1)
    beside, corner = counts.border(votes, np.zeros_like(votes), 0.0)
    beside, corner = beside[:, :k], corner[:k, :k]
    laplacian = counts.laplacian(votes)
    tiny = 1e-10 * float(laplacian.diagonal().max())
    unit = np.sqrt(np.diag(corner))
    rest = (corner - beside.T @ _solve(laplacian, tiny, beside)) / np.outer(unit, unit)
    return float(np.linalg.eigvalsh(rest)[0])


def _gradient(counts: Counts, found: Expansion) -> FloatArray:
    others = found.score @ counts.covariates
    if counts.has_ties:
        others = np.append(others, found.tau_score)
    return np.concatenate([counts.by_item(found.score), others])


def _newton_step(
    counts: Counts, found: Expansion, gradient: FloatArray, prior: float
) -> FloatArray:
    """Solve for the step: strengths first, then the few parameters beside them."""
    n = counts.n_items
    beside, corner = counts.border(found.curvature, found.cross, found.tau_curvature)
    laplacian = counts.laplacian(found.curvature)
    solved = _solve(laplacian, prior, np.column_stack([gradient[:n], beside]))
    straight, bent = solved[:, 0], solved[:, 1:]
    if not counts.n_others:
        return straight
    # Covariates may have any unit.
    unit = np.sqrt(np.diag(corner))
    schur = (corner - beside.T @ bent) / np.outer(unit, unit)
    remainder = (gradient[n:] - beside.T @ straight) / unit
    others = solve(schur, remainder, assume_a="pos") / unit
    return np.concatenate([straight - bent @ others, others])


def _solve(laplacian: csr_array, prior: float, right: FloatArray) -> FloatArray:
    """Solve ``(laplacian + prior I) x = right`` for each column."""
    n = laplacian.shape[0]
    if n <= DENSE:
        dense = laplacian.toarray()
        dense[np.diag_indices(n)] += prior
        return np.asarray(cho_solve(cho_factor(dense, overwrite_a=True), right))
    scale = 1 / (laplacian.diagonal() + prior)
    matrix = LinearOperator((n, n), lambda x: laplacian @ x + prior * x)
    preconditioner = LinearOperator((n, n), lambda x: scale * x)
    columns = [cg(matrix, b, rtol=1e-8, M=preconditioner)[0] for b in right.T]
    return np.stack(columns, axis=-1)
