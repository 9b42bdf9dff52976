"""How uncertain strengths are: the sandwich of clustered votes, and the model's word.

With H minus the second derivative of the penalised log likelihood and M the second
moments of the scores, the covariance is ``H^-1 M H^-1``. The sandwich takes M from what
happened, cluster by cluster. An item that won every time has next to no spread in its
votes, and the sandwich would call its strength certain. The model knows better: its M
is what it expects, and the prior's share. An order has to hold by both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array

from skrank_abstain._validation import FloatArray
from skrank_abstain.leaderboard._fit import Counts, Strengths
from skrank_abstain.leaderboard._ties import VoteModel
from skrank_abstain.leaderboard._votes import Votes


@dataclass(frozen=True, eq=False)
class Spread:
    """Covariances of what was fitted.

    Attributes
    ----------
    sandwich, expected : ndarray of shape (n_items, n_items), float64
        Covariance of the strengths, less their mean, by the votes and by the model.
    others : ndarray of shape (n_others,), float64
        Standard errors of the effects and the tie parameter: the larger of both.
    """

    sandwich: FloatArray
    expected: FloatArray
    others: FloatArray


def spread_of(
    counts: Counts,
    fitted: Strengths,
    model: VoteModel,
    prior: float,
    clusters: Votes | None = None,
) -> Spread:
    """Return the covariances of fitted parameters.

    Parameters
    ----------
    counts : Counts
    fitted : Strengths
    model : VoteModel
    prior : float
    clusters : Votes, default=None
        Votes with their clusters. None: each vote is its own cluster.

    Returns
    -------
    spread : Spread
    """
    n = counts.n_items
    eta = counts.eta(fitted.theta, fitted.beta)
    inverse = inverse_information(counts, fitted, model, prior)
    in_eta, in_tau = model.scores(eta, fitted.tau)

    def moments(weight: FloatArray) -> FloatArray:
        parts = [in_eta * in_eta, in_eta * in_tau, in_tau * in_tau]
        squares, cross, of_tau = ((weight * part).sum(axis=1) for part in parts)
        return _assembled(counts, squares, cross, float(of_tau.sum()))

    chance = model.proba(eta, fitted.tau)
    by_chance = moments(counts.square.sum(axis=1)[:, None] * chance)
    # What the prior pulls towards 0 is not known any better for it.
    by_chance[np.diag_indices(n)] += prior
    expected = inverse @ by_chance @ inverse
    happened = (
        moments(counts.square)
        if clusters is None
        else _moments_of_clusters(clusters, counts, fitted, model)
    )
    sandwich = inverse @ happened @ inverse
    others = np.sqrt(np.maximum(np.diag(sandwich), np.diag(expected))[n:])
    return Spread(centred(sandwich[:n, :n]), centred(expected[:n, :n]), others)


def inverse_information(
    counts: Counts, fitted: Strengths, model: VoteModel, prior: float
) -> FloatArray:
    """Return H^-1 of all parameters, the strengths first."""
    eta = counts.eta(fitted.theta, fitted.beta)
    found = model.expand(eta, fitted.tau, counts.weight)
    hessian = _assembled(counts, found.curvature, found.cross, found.tau_curvature)
    hessian[np.diag_indices(counts.n_items)] += prior
    identity = np.eye(len(hessian))
    factor = cho_factor(hessian, overwrite_a=True)
    return np.asarray(cho_solve(factor, identity, overwrite_b=True))


def _assembled(
    counts: Counts, of_eta: FloatArray, cross: FloatArray, of_tau: float
) -> FloatArray:
    """Return the dense matrix of second moments of all parameters."""
    beside, corner = counts.border(of_eta, cross, of_tau)
    strengths = counts.laplacian(of_eta).toarray()
    return np.block([[strengths, beside], [beside.T, corner]])


def _moments_of_clusters(
    votes: Votes, counts: Counts, fitted: Strengths, model: VoteModel
) -> FloatArray:
    """Return C / (C - 1) times the sum over clusters of the squared summed scores."""
    cluster = votes.cluster
    assert cluster is not None
    difference = fitted.theta[votes.left] - fitted.theta[votes.right]
    eta = difference + votes.covariates @ fitted.beta
    each = np.arange(eta.size), votes.label + 1
    in_eta, in_tau = (
        part[each] * votes.weight for part in model.scores(eta, fitted.tau)
    )
    n_clusters = int(cluster.max()) + 1
    entries = np.concatenate([in_eta, -in_eta])
    columns = np.concatenate([votes.left, votes.right])
    shape = (n_clusters, counts.n_items)
    items = csr_array(coo_array((entries, (np.tile(cluster, 2), columns)), shape))
    parts = [in_eta * column for column in votes.covariates.T]
    parts += [in_tau] if counts.has_ties else []
    others = np.zeros((n_clusters, len(parts)))
    for number, part in enumerate(parts):
        others[:, number] = np.bincount(cluster, part, n_clusters)
    beside = items.T @ others
    strengths = (items.T @ items).toarray()
    moments = np.block([[strengths, beside], [beside.T, others.T @ others]])
    return np.asarray(moments * (n_clusters / (n_clusters - 1)))


def centred(covariance: FloatArray) -> FloatArray:
    """Return the covariance of the parameters less their mean."""
    rows = covariance.mean(axis=0)
    return np.asarray(covariance - rows - rows[:, None] + rows.mean())
