"""Votes of automatic judges beside people's: prediction-powered strengths.

A judge that votes on the people's battles too shows how it errs there. Its votes on
many other battles then make the strengths more certain, and its bias cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array

from skrank_abstain._saving import Value
from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.leaderboard._covariance import centred
from skrank_abstain.leaderboard._fit import Counts, Strengths, count_votes
from skrank_abstain.leaderboard._ties import VoteModel
from skrank_abstain.leaderboard._votes import Votes, read_votes, vote_ids

_STEPS = 200
#: A step that promises so little of the log likelihood is the last.
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class JudgeVotes(Value):
    """Votes of judges, by battle.

    Attributes
    ----------
    left, right, label : ndarray of shape (n_votes,), int64
    weight : ndarray of shape (n_votes,), float64
        One over the number of judges of the battle.
    vote : ndarray of shape (n_votes,), int64
        Row of the person's vote on the battle; -1 if no person voted.
    battle : ndarray of shape (n_votes,), int64
        Number of the battle, from 0.
    """

    left: IntArray
    right: IntArray
    label: IntArray
    weight: FloatArray
    vote: IntArray
    battle: IntArray


@dataclass(frozen=True, eq=False)
class Judged:
    """Strengths by people and judges.

    Attributes
    ----------
    fitted : Strengths
    sandwich, expected : ndarray of shape (n_items, n_items), float64
        Covariances of the strengths less their mean.
    reliance : float
        How much the judges count, from 0 to 1.
    worth : float
        Votes of people alone that one vote of a person is worth beside the judges.
    """

    fitted: Strengths
    sandwich: FloatArray
    expected: FloatArray
    reliance: float
    worth: float


def read_judges(
    judges: Any, votes: Any, items: NDArray[Any], labels: Any = None
) -> JudgeVotes:
    """Check a table of judges' votes and find the battles that people voted on.

    Parameters
    ----------
    judges, votes : frame, mapping of columns or sequence of mappings
        Tables as for `read_votes`, with a column ``vote_id`` that names the battle.
    items : ndarray of shape (n_items,)
        Names on the board.
    labels : sequence, default=None
        As in `read_votes`.

    Returns
    -------
    judges : JudgeVotes

    Raises
    ------
    ValueError
        If a table is invalid or lacks ``vote_id``, a battle is not between the same
        items, or judges have not voted on both kinds of battles.
    """
    try:
        table = read_votes(judges, items=items, labels=labels, repeated=True)
        ids = vote_ids(judges)
    except (TypeError, ValueError) as error:
        raise type(error)(f"judges: {error}") from None
    people = read_votes(votes, items=items, labels=labels)
    rows = {name: row for row, name in enumerate(vote_ids(votes))}
    vote = np.fromiter((rows.get(name, -1) for name in ids), np.int64, len(ids))
    number = {name: k for k, name in enumerate(dict.fromkeys(ids))}
    battle = np.fromiter(map(number.__getitem__, ids), np.int64, len(ids))
    seen = vote >= 0
    ours = np.stack([table.left, table.right])[:, seen]
    theirs = np.stack([people.left, people.right])[:, vote[seen]]
    other = np.flatnonzero((np.sort(ours, axis=0) != np.sort(theirs, axis=0)).any(0))
    if other.size:
        name = np.array(ids, dtype=object)[seen][other[0]]
        raise ValueError(
            f"judges must vote on the same two items as people, got vote_id {name!r} "
            f"with others, and {other.size} such votes in all."
        )
    if not seen.any() or seen.all():
        kinds = "battles that people voted on" if seen.all() else "other battles"
        raise ValueError(
            "judges must have voted on battles that people voted on, which shows how "
            "they err, and on others, which is what they add; the column vote_id tells "
            f"them apart. Got {kinds} alone."
        )
    weight = 1 / np.bincount(battle)[battle]
    return JudgeVotes(table.left, table.right, table.label, weight, vote, battle)


def fit_with_judges(
    votes: Votes,
    judges: JudgeVotes,
    people: Counts,
    alone: Strengths,
    model: VoteModel,
    prior: float,
    expected: FloatArray,
) -> Judged:
    """Fit strengths to people's votes and what judges add to them.

    Parameters
    ----------
    votes : Votes
        Of people, without covariates.
    judges : JudgeVotes
    people : Counts
        The votes of people.
    alone : Strengths
        Fitted to them.
    model : VoteModel
    prior : float
    expected : ndarray of shape (n_items, n_items)
        Covariance of the strengths by people alone, as the model expects it.

    Returns
    -------
    judged : Judged

    Notes
    -----
    The score of people's votes has added to it the reliance times the mean score of
    judges on battles of their own less that on the people's battles: zero on average,
    whatever the judges' bias, if both kinds of battles are of one source. The reliance
    makes the trace of the covariance smallest.
    """
    parts = _Parts(votes, judges)
    first = _covariances(parts, people, alone, model, prior)
    reliance = float(np.clip(first.cross / max(first.square, 1e-300), 0, 1))
    fitted = _solve(parts.counts(reliance, people), people, alone, model, prior)
    before = _covariances(parts, people, fitted, model, prior)
    sandwich = before.at(reliance)
    worth = float(np.trace(before.at(0.0)) / np.trace(sandwich))
    return Judged(fitted, sandwich, expected / worth, reliance, worth)


class _Parts:
    """Votes of three kinds: people's, judges' on the same battles, judges' alone."""

    def __init__(self, votes: Votes, judges: JudgeVotes) -> None:
        self.votes, self.judges = votes, judges
        seen = judges.vote >= 0
        self.seen, self.unseen = np.flatnonzero(seen), np.flatnonzero(~seen)
        total = votes.weight.sum()
        # Each kind weighs as much as all votes of people.
        self.beside = judges.weight[seen] * votes.weight[judges.vote[seen]]
        self.beside *= total / self.beside.sum()
        self.alone = judges.weight[~seen] * total / judges.weight[~seen].sum()
        people = votes.cluster
        self.cluster = np.arange(votes.left.size) if people is None else people
        self.battle = np.unique(judges.battle[~seen], return_inverse=True)[1]

    def counts(self, reliance: float, people: Counts) -> Counts:
        """Return the counts of all three, those of the second kind negative."""
        rows = np.concatenate([self.seen, self.unseen])
        weight = np.concatenate([-reliance * self.beside, reliance * self.alone])
        judges = self.judges
        more = count_votes(
            judges.left[rows],
            judges.right[rows],
            judges.label[rows],
            weight,
            np.zeros((rows.size, 0)),
            people.n_items,
        )
        # No row for the tie parameter, which people's votes alone have set.
        kept = more.left != more.right
        return Counts(
            np.concatenate([people.left, more.left[kept]]),
            np.concatenate([people.right, more.right[kept]]),
            np.concatenate([people.weight, more.weight[kept]]),
            np.concatenate([people.square, more.square[kept]]),
            np.zeros((people.left.size + int(kept.sum()), 0)),
            people.n_items,
        )

    def scores(
        self, fitted: Strengths, model: VoteModel
    ) -> tuple[csr_array, csr_array, csr_array]:
        """Return the summed scores of clusters, twice, and of battles, by item."""
        votes, judges, n = self.votes, self.judges, fitted.theta.size

        def summed(rows: Any, weight: FloatArray, group: IntArray, size: int) -> Any:
            table = votes if rows is None else judges
            kept = slice(None) if rows is None else rows
            left, right, label = (
                column[kept] for column in (table.left, table.right, table.label)
            )
            eta = fitted.theta[left] - fitted.theta[right]
            score = model.scores(eta, fitted.tau)[0][np.arange(eta.size), label + 1]
            score = score * weight
            entries = np.concatenate([score, -score])
            columns = np.concatenate([left, right])
            return csr_array(
                coo_array((entries, (np.tile(group, 2), columns)), (size, n))
            )

        size = int(self.cluster.max()) + 1
        with_people = self.cluster[judges.vote[self.seen]]
        return (
            summed(None, votes.weight, self.cluster, size),
            summed(self.seen, self.beside, with_people, size),
            summed(self.unseen, self.alone, self.battle, int(self.battle.max()) + 1),
        )


@dataclass(frozen=True, eq=False)
class _Covariances:
    """The covariance as a polynomial in the reliance: of people, cross, of judges."""

    people: FloatArray
    mixed: FloatArray
    judges: FloatArray

    @property
    def cross(self) -> float:
        return float(np.trace(self.mixed))

    @property
    def square(self) -> float:
        return float(np.trace(self.judges))

    def at(self, reliance: float) -> FloatArray:
        """Return the covariance."""
        mixed = self.mixed + self.mixed.T
        return np.asarray(self.people - reliance * mixed + reliance**2 * self.judges)


def _covariances(
    parts: _Parts, people: Counts, fitted: Strengths, model: VoteModel, prior: float
) -> _Covariances:
    eta = people.eta(fitted.theta, fitted.beta)
    curvature = model.expand(eta, fitted.tau, people.weight).curvature
    hessian = people.laplacian(curvature).toarray()
    hessian[np.diag_indices(people.n_items)] += prior
    factor = cho_factor(hessian)

    def spread(moments: FloatArray) -> FloatArray:
        half = cho_solve(factor, moments)
        return centred(cho_solve(factor, half.T).T)

    of_people, beside, alone = parts.scores(fitted, model)
    share = np.asarray(np.bincount(parts.cluster, parts.votes.weight), np.float64)
    own = np.asarray(np.bincount(parts.battle, parts.alone), np.float64)
    return _Covariances(
        spread(_moments(of_people, of_people, share)),
        spread(_moments(of_people, beside, share)),
        spread(np.add(_moments(beside, beside, share), _moments(alone, alone, own))),
    )


def _moments(first: csr_array, second: csr_array, weight: FloatArray) -> FloatArray:
    """Return the second moments of summed scores around their means, of a sample."""
    share = weight / weight.sum()
    n = share.size
    one, two = np.asarray(first.sum(axis=0)), np.asarray(second.sum(axis=0))
    moments = (first.T @ second).toarray()
    moments -= np.outer(first.T @ share, two) + np.outer(one, second.T @ share)
    moments += (share @ share) * np.outer(one, two)
    return np.asarray(moments * n / (n - 1))


def _solve(
    counts: Counts, people: Counts, start: Strengths, model: VoteModel, prior: float
) -> Strengths:
    """Solve the equations of the strengths, from those of people alone."""
    theta, beta, tau = start.theta, start.beta, start.tau
    diagonal = np.diag_indices(people.n_items)
    for _ in range(_STEPS):
        found = model.expand(counts.eta(theta, beta), tau, counts.weight)
        gradient = counts.by_item(found.score) - prior * theta
        hessian = counts.laplacian(found.curvature).toarray()
        hessian[diagonal] += prior
        try:
            step = cho_solve(cho_factor(hessian), gradient)
        except LinAlgError:
            # Too few votes of judges alone about some items: a safe, shorter step.
            hessian = counts.laplacian(np.abs(found.curvature)).toarray()
            hessian[diagonal] += prior
            step = cho_solve(cho_factor(hessian), gradient)
        theta = theta + step
        if abs(float(gradient @ step)) < _SMALL:
            break
    return Strengths(theta, beta, tau)
