"""How few votes hold the leader in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.leaderboard._evidence import VoteEvidence, counts_of
from skrank_abstain.leaderboard._fit import fit_strengths

#: Items next to the leader that are tried in its place.
_CHALLENGERS = 5
#: Strengths this near are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Fragility:
    """The fewest votes found whose removal costs the leader its lead.

    Attributes
    ----------
    leader, successor : object
        Names of the items; without the votes the successor is at least as strong. None
        if nobody is, even without all votes in favour of the leader.
    rows : ndarray of shape (n_votes,), int64
        Rows of the votes in the table that was fitted.
    share : float
        Share of all votes.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> votes = {"left": ["A"] * 9, "right": ["B"] * 9, "label": [1] * 5 + [-1] * 4}
    >>> found = Leaderboard().fit(votes).fragility()
    >>> found
    Fragility(leader='A', successor='B', n_votes=1, share=0.111)
    >>> found.n_votes, found.rows
    (1, array([0]))
    """

    leader: Any
    successor: Any
    rows: IntArray
    share: float

    @property
    def n_votes(self) -> int:
        """How many votes these are."""
        return int(self.rows.size)

    def __repr__(self) -> str:
        return (
            f"Fragility(leader={self.leader!r}, successor={self.successor!r}, "
            f"n_votes={self.n_votes}, share={self.share:.3g})"
        )


def find_fragility(evidence: VoteEvidence) -> Fragility:
    """Find few votes whose removal costs the leader its lead.

    Parameters
    ----------
    evidence : VoteEvidence

    Returns
    -------
    fragility : Fragility

    Notes
    -----
    Votes are removed in the order of their first-order influence on the lead over the
    challenger that needs the fewest. The fit without them decides how many it takes:
    that many do, and one less in this order does not.
    """
    leader, *others = np.argsort(-evidence.theta, kind="stable")[: 1 + _CHALLENGERS]
    inverse = evidence.inverse_information()
    influences = [_influence(evidence, inverse, leader, other) for other in others]
    leads = [evidence.theta[leader] - evidence.theta[other] for other in others]
    order, enough = min(map(_in_turn, influences, leads), key=lambda found: found[1])
    kept, successor = 0, _successor(evidence, leader, order[:enough])
    while successor is None and enough < order.size:
        kept, enough = enough, min(enough + 1 + enough // 2, order.size)
        successor = _successor(evidence, leader, order[:enough])
    # Without `kept` of them the leader leads, without `enough` it does not.
    while enough - kept > 1:
        middle = (kept + enough) // 2
        found = _successor(evidence, leader, order[:middle])
        if found is None:
            kept = middle
        else:
            enough, successor = middle, found
    names = evidence.votes.items.tolist()
    return Fragility(
        leader=names[leader],
        successor=None if successor is None else names[successor],
        rows=np.sort(order[:enough]),
        share=enough / evidence.votes.left.size,
    )


def _influence(
    evidence: VoteEvidence, inverse: FloatArray, leader: int, other: int
) -> FloatArray:
    """Return, to first order, how much of a lead rests on each vote."""
    votes, fitted, n = evidence.votes, evidence.fitted, evidence.theta.size
    k = votes.covariates.shape[1]
    direction = inverse[:, leader] - inverse[:, other]
    eta = fitted.theta[votes.left] - fitted.theta[votes.right]
    eta += votes.covariates @ fitted.beta
    each = np.arange(eta.size), votes.label + 1
    in_eta, in_tau = (part[each] for part in evidence.model.scores(eta, fitted.tau))
    along = direction[votes.left] - direction[votes.right]
    along += votes.covariates @ direction[n : n + k]
    found = along * in_eta + (direction[n + k :] * in_tau[:, None]).sum(axis=1)
    return np.asarray(votes.weight * found)


def _in_turn(influence: FloatArray, lead: float) -> tuple[IntArray, int]:
    """Return the votes for a lead, most influence first, and how many may cost it."""
    order = np.argsort(-influence, kind="stable")
    order = order[: int((influence > 0).sum())]
    enough = int(np.searchsorted(np.cumsum(influence[order]), lead)) + 1
    return order, min(enough, order.size)


def _successor(evidence: VoteEvidence, leader: int, removed: IntArray) -> int | None:
    """Return who is as strong as the leader without some votes; None if nobody is."""
    kept = np.ones(evidence.votes.left.size, dtype=bool)
    kept[removed] = False
    counts = counts_of(evidence.votes, kept)
    theta = fit_strengths(counts, evidence.model, evidence.prior).theta.copy()
    own, theta[leader] = theta[leader], -np.inf
    best = int(theta.argmax())
    return best if theta[best] >= own - _EQUAL else None
