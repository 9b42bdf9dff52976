"""Which comparison to ask for next."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.leaderboard._ties import VoteModel

#: An order of two equals is worth something too.
_LEAST = 0.3


def choose_pairs(
    theta: FloatArray,
    posterior: FloatArray,
    variance: FloatArray,
    information: FloatArray,
    *,
    n: int,
    per_pair: int,
    leader: int | None,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Choose pairs of items one by one, each given those before.

    Parameters
    ----------
    theta : ndarray of shape (n_items,)
        Strengths.
    posterior : ndarray of shape (n_items, n_items)
        Their covariance given the votes and the prior.
    variance : ndarray of shape (n_items, n_items)
        Of the differences of strengths, by which orders are decided.
    information : ndarray of shape (n_items, n_items)
        Of one vote about each pair.
    n, per_pair : int
        Most pairs, and most times that one of them is chosen.
    leader : int or None
        None: all orders matter; otherwise those of this item.

    Returns
    -------
    left, right : ndarray of shape (n_chosen,), int64
        ``left < right``.
    value : ndarray of shape (n_chosen,), float64
        By how much the vote lowers the expected number of false orders.

    Notes
    -----
    A vote about i and j lowers the variance of every difference k - l, by
    ``((e_k - e_l)' V d)^2 w / (1 + w d' V d)`` with ``d = e_i - e_j`` and the
    information ``w``. A difference of t standard errors has the wrong sign with
    probability ``Phi(-t)``, whose derivative in the variance weighs it. All pairs are
    valued at once, by one product of matrices: O(n_items^3), and O(n_items^2) for each
    pair chosen.
    """
    weight = _worth_of_variance(theta, variance)
    if leader is not None:
        others = np.arange(theta.size) != leader
        weight[np.ix_(others, others)] = 0.0
    laplacian = np.diag(weight.sum(axis=1)) - weight
    moved = posterior @ laplacian @ posterior
    times = np.zeros(posterior.shape, dtype=np.int64)
    times[np.tril_indices(theta.size)] = per_pair
    chosen: list[tuple[float, float, float]] = []
    while len(chosen) < n and (times < per_pair).any():
        gain = _between(moved) * information
        gain /= 1 + information * _between(posterior)
        gain[times >= per_pair] = -np.inf
        left, right = np.unravel_index(int(gain.argmax()), gain.shape)
        times[left, right] += 1
        chosen.append((float(left), float(right), float(gain[left, right])))
        # The vote as if it had come: a change of rank one, in both matrices.
        shift = posterior[:, left] - posterior[:, right]
        w = information[left, right]
        factor = w / (1 + w * (shift[left] - shift[right]))
        pull = laplacian @ shift
        both = np.outer(shift, posterior @ pull)
        square = factor**2 * (shift @ pull)
        moved += square * np.outer(shift, shift) - factor * (both + both.T)
        posterior = posterior - factor * np.outer(shift, shift)
    columns = np.array(chosen).reshape(-1, 3).T
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]


def information_of(theta: FloatArray, model: VoteModel, tau: float) -> FloatArray:
    """Return the information of one vote about each pair, shape (n_items, n_items)."""
    eta = np.subtract.outer(theta, theta).ravel()
    in_eta, _ = model.scores(eta, tau)
    found = (model.proba(eta, tau) * in_eta**2).sum(axis=1)
    return np.asarray(found.reshape(theta.size, theta.size))


def variance_of_differences(*covariances: FloatArray) -> FloatArray:
    """Return the largest variance of each difference, shape (n_items, n_items)."""
    return np.asarray(np.max([_between(each) for each in covariances], axis=0))


def _worth_of_variance(theta: FloatArray, variance: FloatArray) -> FloatArray:
    """Return how fast P(wrong sign) of each difference rises with its variance."""
    variance = variance + np.eye(theta.size)  # no difference of an item with itself
    t = np.abs(np.subtract.outer(theta, theta)) / np.sqrt(variance)
    worth = norm.pdf(t) * np.maximum(t, _LEAST) / (2 * variance)
    np.fill_diagonal(worth, 0.0)
    return np.asarray(worth)


def _between(matrix: FloatArray) -> FloatArray:
    """Return ``(e_i - e_j)' M (e_i - e_j)`` for all i and j."""
    diagonal = np.diag(matrix)
    return np.asarray(np.maximum(np.add.outer(diagonal, diagonal) - 2 * matrix, 0.0))
