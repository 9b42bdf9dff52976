"""Votes of automatic judges beside people's: prediction-powered strengths.

A judge that also votes on the people's battles shows its errors there. Its votes on
many other battles then make the strengths more precise, and its bias cancels.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.leaderboard import _fit
from skrank_abstain.leaderboard._evidence import Judged, VoteEvidence
from skrank_abstain.leaderboard._votes import Votes

_STEPS = 200
#: A step that promises so little of the log likelihood is the last.
_SMALL = 1e-9


def fit_with_judges(alone: VoteEvidence, judges: Votes, vote: IntArray) -> VoteEvidence:
    """Fit strengths to the votes of people and of judges.

    Parameters
    ----------
    alone : VoteEvidence
        Fitted to the votes of people, without covariates.
    judges : Votes
    vote : ndarray of shape (n_judges_votes,), int64
        Row of the person's vote on the battle; -1 if no person voted.

    Returns
    -------
    evidence : VoteEvidence
        The same votes of people, with strengths by both.

    Notes
    -----
    To the score of people's votes the fit adds the reliance times the mean score of
    judges on battles of their own less that on the people's battles: zero on average,
    whatever the judges' bias, if both kinds of battles are of one source. The reliance
    makes the trace of the covariance smallest.
    """
    people, counts, model, prior = alone.votes, alone.counts, alone.model, alone.prior
    beside, others = _kinds_of(people, judges, vote)

    def covariances(fitted: _fit.Strengths) -> list[FloatArray]:
        """Return those of people, of people and judges, and of judges."""
        found = model.expand(_fit.eta_of(counts, fitted), fitted.tau, counts.weight)
        hessian = counts.gram(found.curvature).toarray()
        inverse = np.linalg.inv(hessian + prior * np.eye(counts.n_items))

        def summed(votes: Votes, n_clusters: int) -> csr_array:
            in_eta, _ = _fit.scores_of_votes(votes, fitted, model)
            return _fit.sum_by_cluster(in_eta * votes.weight, votes, n_clusters)

        share = np.bincount(people.clusters, people.weight)
        own = np.bincount(others.clusters, others.weight)
        one, two = summed(people, share.size), summed(beside, share.size)
        three = summed(others, own.size)
        of_judges = _moments(two, two, share) + _moments(three, three, own)
        moments = _moments(one, one, share), _moments(one, two, share), of_judges
        return [_fit.centred(inverse @ each @ inverse) for each in moments]

    cross, square = map(np.trace, covariances(alone.fitted)[1:])
    reliance = float(np.clip(cross / max(square, 1e-300), 0, 1))
    weight = people.weight, -reliance * beside.weight, reliance * others.weight
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in (people, beside, others)])
        for name in ("left", "right", "label", "covariates")
    }
    every = replace(people, **columns, weight=np.concatenate(weight))
    fitted = _solve(_fit.count_votes(every), alone.fitted, model, prior)
    of_people, mixed, of_judges = covariances(fitted)
    sandwich = of_people - reliance * (mixed + mixed.T) + reliance**2 * of_judges
    worth = float(np.trace(of_people) / np.trace(sandwich))
    judged = Judged(sandwich, alone.spread.expected / worth, reliance, worth)
    return replace(alone, theta=fitted.theta, fitted=fitted, judged=judged)


def _kinds_of(people: Votes, judges: Votes, vote: IntArray) -> tuple[Votes, Votes]:
    """Return judges' votes on people's battles and on others.

    The first have the clusters of people, the second have battles. Each kind weighs as
    much as all votes of people.
    """
    total = people.weight.sum()
    beside, others = judges.take(vote >= 0), judges.take(vote < 0)
    vote = vote[vote >= 0]
    weight = beside.weight * people.weight[vote]
    weight *= total / weight.sum()
    beside = replace(beside, weight=weight, cluster=people.clusters[vote])
    weight = others.weight * total / others.weight.sum()
    battle = np.unique(others.clusters, return_inverse=True)[1]
    return beside, replace(others, weight=weight, cluster=battle)


def _moments(first: csr_array, second: csr_array, weight: Any) -> FloatArray:
    """Return the second moments of summed scores around their means, of a sample."""
    share = weight / weight.sum()
    one, two = np.asarray(first.sum(axis=0)), np.asarray(second.sum(axis=0))
    moments = (first.T @ second).toarray()
    moments -= np.outer(first.T @ share, two) + np.outer(one, second.T @ share)
    moments += (share @ share) * np.outer(one, two)
    return np.asarray(moments * share.size / (share.size - 1))


def _solve(
    counts: _fit.Counts, start: _fit.Strengths, model: _fit.VoteModel, prior: float
) -> _fit.Strengths:
    """Solve the equations of the strengths, from those of people alone."""
    fitted, diagonal = start, np.diag_indices(counts.n_items)

    def step_of(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
        hessian = counts.gram(curvature).toarray()
        hessian[diagonal] += prior
        return np.asarray(cho_solve(cho_factor(hessian), gradient))

    for _ in range(_STEPS):
        found = model.expand(_fit.eta_of(counts, fitted), fitted.tau, counts.weight)
        gradient = counts.design.T @ found.score - prior * fitted.theta
        try:
            step = step_of(found.curvature, gradient)
        except LinAlgError:
            # Too few votes of judges alone about some items: a safe, shorter step.
            step = step_of(np.abs(found.curvature), gradient)
        fitted = replace(fitted, theta=fitted.theta + step)
        if abs(float(gradient @ step)) < _SMALL:
            break
    return fitted
