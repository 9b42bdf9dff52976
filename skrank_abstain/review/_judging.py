"""Which answers to believe: error rates of reviewers, and contradictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_real,
    listed,
    shown,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, html_of_rows
from skrank_abstain.review._answers import GOLD, Answers, check_spelling

#: Prior error rate, about ties and about orders, worth `_PRIOR_ANSWERS` answers of each
#: kind. Half of the errors about orders turn them around.
TYPICAL_ERROR = 0.1
_PRIOR_ANSWERS = 10.0
#: Rates are kept this far from 0 and 1: nobody is taken for infallible to the last bit.
_INSIDE = 1e-9
_ROUNDS = 100
#: With fewer answers nobody expects to know who errs.
_FEWEST_ANSWERS = 20
_STILL = 1e-5
#: An answer of lower probability, given all answers, is reported.
_IMPROBABLE = 0.05


@dataclass(frozen=True, eq=False)
class Reviewers:
    """Error rates of reviewers, each of shape (n_reviewers,), float64.

    Attributes
    ----------
    error : ndarray
        Share of all answers that are wrong.
    turned, missed : ndarray
        Among the answers about items that are not tied: shares that turn their order
        around, and that call them tied.
    split : ndarray
        Among the answers about tied items: share that names an order.
    """

    error: FloatArray
    turned: FloatArray
    missed: FloatArray
    split: FloatArray

    @classmethod
    def of_error(cls, error: Any) -> Self:
        """Return reviewers of whom only the share of wrong answers is known."""
        rate = np.asarray(error, dtype=np.float64)
        return cls(rate, rate / 2, rate / 2, rate)

    def answer_proba(self) -> FloatArray:
        """Return P(answer | true label) of each reviewer.

        Returns
        -------
        proba : ndarray of shape (..., 3, 3), float64
            Answers by true labels, both -1, 0, +1. A wrong answer about a tie names
            either order.
        """
        turned, missed, split = (
            np.clip(rate, _INSIDE, 1 - _INSIDE)
            for rate in (self.turned, self.missed, self.split)
        )
        right, half = 1 - turned - missed, split / 2
        rows = [
            [right, half, turned],
            [missed, 1 - split, missed],
            [turned, half, right],
        ]
        proba: FloatArray = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
        return proba

    def likelihood(self, answers: Answers) -> FloatArray:
        """Return P(all answers about a pair | true label), over the largest of them.

        Shape (n_answered, 3), for the labels -1, 0, +1.
        """
        logs = np.log(self.answer_proba()[answers.reviewer, answers.label + 1])
        if not len(answers):
            return logs
        total = np.add.reduceat(logs, answers.pair_start[:-1])
        highest = total.max(axis=1, keepdims=True)
        likelihood: FloatArray = np.exp(np.maximum(total - highest, -600.0))
        return likelihood

    def to_html(self, heading: str, answers: Answers, error_se: FloatArray) -> str:
        """Return a table for notebooks: answers and error rates by reviewer."""
        names = answers.reviewers
        counts = np.bincount(answers.reviewer, minlength=len(names))
        texts = {"reviewer": names, "answers": counts}
        rates = {
            "wrong": self.error,
            "standard error": error_se,
            "untied pair, order reversed": self.turned,
            "untied pair, called a tie": self.missed,
            "tie, called an order": self.split,
        }
        return html_of_rows(heading, texts, rates, 0)


def check_reviewer_error(reviewer_error: Any) -> float | dict[str, float] | None:
    """Check None, a rate or {reviewer: rate}."""

    def check(rate: Any) -> float:
        # Who guesses is wrong in two thirds of the cases.
        return check_real(rate, "reviewer_error", 0, 2 / 3)

    if reviewer_error is None:
        return None
    if isinstance(reviewer_error, Mapping):
        return {str(name): check(rate) for name, rate in reviewer_error.items()}
    if isinstance(reviewer_error, str | bytes) or np.ndim(reviewer_error):
        raise TypeError(
            "reviewer_error must be None, a rate or {reviewer: rate}, got "
            f"{shown(reviewer_error)}."
        )
    return check(reviewer_error)


def known_rates(
    reviewer_error: Any, reviewers: tuple[str, ...], *, gold: bool
) -> tuple[FloatArray, float]:
    """Return the known rates, and the typical one of future reviewers.

    Parameters
    ----------
    reviewer_error : None, float or mapping
    reviewers : tuple of str
        Names of those who answered.
    gold : bool
        Whether `GOLD` is one of them.

    Returns
    -------
    known : ndarray of shape (n_reviewers,), float64
        NaN for rates to estimate.
    typical : float
        NaN if it depends on the answers.
    """
    given = check_reviewer_error(reviewer_error)
    typical = given if isinstance(given, float) else np.nan
    answered = [name for name in reviewers if not (gold and name == GOLD)]
    known = dict.fromkeys(answered, typical)
    if isinstance(given, dict):
        known |= {name.strip(): rate for name, rate in given.items()}
        check_spelling(known, "reviewer_error")
        nobody = [name for name in known if name not in answered]
        if answered and nobody:
            raise ValueError(
                "reviewer_error must name reviewers who answered, "
                f"{listed(answered)}, got {nobody[0]!r}: leave a name out until its "
                "answers are there."
            )
    if not answered and np.isnan(typical):
        typical = float(np.mean([*known.values()])) if known else TYPICAL_ERROR
    if gold:
        known[GOLD] = 0.0
    return np.array([known[name] for name in reviewers], dtype=np.float64), typical


def judge_reviewers(
    answers: Answers, known: FloatArray, label_proba: Callable[[FloatArray], FloatArray]
) -> Reviewers:
    """Estimate the error rates that are not known.

    Parameters
    ----------
    answers : Answers
    known : ndarray of shape (n_reviewers,), float64
        Known rates; NaN for the others.
    label_proba : callable
        Maps likelihoods of the answered pairs, (n_answered, 3), to probabilities of
        their labels given all answers, of the same shape.

    Returns
    -------
    reviewers : Reviewers

    Notes
    -----
    Expectation-maximisation, as of Dawid and Skene [1]_: from the rates the probability
    that each answer is wrong, and from that the rates. A prior of ten answers with one
    error keeps the rates of those who answered little near the typical one.

    References
    ----------
    .. [1] Dawid and Skene (1979). "Maximum Likelihood Estimation of Observer
       Error-Rates Using the EM Algorithm". JRSS C 28(1).
    """
    free = np.isnan(known)
    start = judged = Reviewers.of_error(np.where(free, TYPICAL_ERROR, known))
    if not free.any():
        return judged
    for _ in range(_ROUNDS):
        proba = label_proba(judged.likelihood(answers))[answers.pair]
        # Expected number of answers of each reviewer, by answer and true label.
        counts = np.zeros((known.size, 3, 3))
        np.add.at(counts, (answers.reviewer, answers.label + 1), proba)
        last, new = judged, _rates(counts)
        fields = zip(vars(new).values(), vars(start).values(), strict=True)
        judged = Reviewers(*(np.where(free, rate, first) for rate, first in fields))
        moved = zip(vars(judged).values(), vars(last).values(), strict=True)
        if max(np.abs(after - before).max() for after, before in moved) < _STILL:
            break
    return judged


def error_covariance(
    answers: Answers, proba: FloatArray, error: FloatArray, free: BoolArray
) -> FloatArray:
    """Return the covariance of the estimated error rates.

    Parameters
    ----------
    answers : Answers
    proba : ndarray of shape (n_answered, 3), float64
        Probabilities of the labels of the answered pairs, given all answers.
    error : ndarray of shape (n_reviewers,), float64
    free : ndarray of shape (n_reviewers,), bool
        Whose rate was estimated; that of the others is known.

    Returns
    -------
    covariance : ndarray of shape (n_reviewers, n_reviewers), float64

    Notes
    -----
    The inverse of the observed information of Louis [1]_: that of the rates if all
    labels were known, less what is lost since they are not. The second part is the
    covariance of how many errors the reviewers made, pair by pair. Where answers tell
    hardly anything about who errs, the prior of ten answers is left.

    References
    ----------
    .. [1] Louis (1982). "Finding the Observed Information Matrix when Using the EM
       Algorithm". JRSS B 44(2).
    """
    n = error.size
    rate = np.clip(error, _INSIDE, 1 - _INSIDE)
    spread = rate * (1 - rate)
    # wrong[p, r, t]: wrong answers of reviewer r about pair p, if its label is t.
    wrong = np.zeros((len(proba), n, 3))
    labels = np.array([-1, 0, 1])
    np.add.at(wrong, (answers.pair, answers.reviewer), answers.label[:, None] != labels)
    mean = np.einsum("prt,pt->pr", wrong, proba)
    lost = np.einsum("prt,pst,pt->rs", wrong, wrong, proba) - mean.T @ mean
    count = np.bincount(answers.reviewer, minlength=n)
    scaled = lost / np.outer(spread, spread)
    # The prior alone bounds what can be lost.
    information = np.diag(count / spread) - scaled
    values, vectors = np.linalg.eigh(information)
    information = (vectors * np.maximum(values, 0.0)) @ vectors.T
    information += np.eye(n) * _PRIOR_ANSWERS / (TYPICAL_ERROR * (1 - TYPICAL_ERROR))
    covariance = np.zeros((n, n))
    some = np.ix_(free, free)
    covariance[some] = np.linalg.inv(information[some])
    return covariance


def warn_of_alike(
    answers: Answers, error: FloatArray, covariance: FloatArray, free: BoolArray
) -> None:
    """Warn of two reviewers whose rates may be in the wrong order.

    Parameters as `error_covariance` takes and returns them.
    """
    counts = np.bincount(answers.reviewer, minlength=free.size)
    judged = np.flatnonzero(free & (counts >= _FEWEST_ANSWERS))
    judged = judged[np.argsort(error[judged])]
    for one, other in pairwise(judged.tolist()):
        ends = covariance[[one, other, one], [one, other, other]] * [1, 1, -2]
        if error[other] - error[one] < 2 * np.sqrt(ends.sum()):
            names = answers.reviewers
            warn_user(
                f"{names[one]!r} and {names[other]!r} cannot be told apart by their "
                f"answers: they err in {error[one]:.2f} and {error[other]:.2f} of "
                "them, and the difference is less than two standard errors "
                "(reviewer_error_se_). Add gold= answers, or a known rate as "
                "reviewer_error={name: rate}."
            )
            return


def _rates(counts: FloatArray) -> Reviewers:
    """Return rates from numbers of answers, (n, answers, true labels)."""

    def rate(count: FloatArray, total: FloatArray, typical: float) -> FloatArray:
        shrunk: FloatArray = (count + typical * _PRIOR_ANSWERS) / (
            total + _PRIOR_ANSWERS
        )
        return shrunk

    tied = counts[:, :, 1].sum(axis=1)
    untied = counts.sum(axis=(1, 2)) - tied
    turned = rate(counts[:, 0, 2] + counts[:, 2, 0], untied, TYPICAL_ERROR / 2)
    missed = rate(counts[:, 1, 0] + counts[:, 1, 2], untied, TYPICAL_ERROR / 2)
    split = rate(counts[:, 0, 1] + counts[:, 2, 1], tied, TYPICAL_ERROR)
    right = counts[:, [0, 1, 2], [0, 1, 2]].sum(axis=1)
    error = rate(tied + untied - right, tied + untied, TYPICAL_ERROR)
    # Nobody counts as wrong about orders more often than right: the opposite of their
    # answers would be believed.
    return Reviewers(error, np.minimum(turned, (1 - missed) / 2), missed, split)


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right, or one that is probably wrong.

    Attributes
    ----------
    kind : {"changed", "conflict", "cycle", "levels", "improbable"}
        "changed": one reviewer gave different answers about a pair; "conflict": several
        reviewers did; "cycle": orders and ties lead back to where they started;
        "levels": a chain of orders needs more levels than relevance has grades;
        "improbable": an answer has a probability below .05, given all answers.
    qid : object
    answers : tuple of int
        Rows of the table of answers.

    Examples
    --------
    >>> from skrank_abstain.review import Contradiction
    >>> Contradiction("conflict", qid="monday", answers=(0, 3)).kind
    'conflict'
    """

    kind: str
    qid: Any
    answers: tuple[int, ...]


def find_contradictions(
    answers: Answers, queries: Queries, label_proba: FloatArray, n_levels: float
) -> tuple[Contradiction, ...]:
    """Find contradictions between answers.

    Parameters
    ----------
    answers : Answers
    queries : Queries
    label_proba : ndarray of shape (n_answered, 3), float64
        Label probabilities of the answered pairs, given all answers.
    n_levels : float
        Length of the longest possible chain of items, each over the next; may be
        infinite.
    """
    found: list[tuple[str, int, list[int]]] = []
    query_of = dict(zip(answers.row.tolist(), answers.query.tolist(), strict=True))
    for rows in answers.changed:
        query = next(query_of[row] for row in rows if row in query_of)
        found.append(("changed", query, list(rows)))
    for start, stop in pairwise(answers.pair_start):
        label, who = answers.label[start:stop], answers.reviewer[start:stop]
        if np.unique(label).size > 1 and np.unique(who).size > 1:
            found.append(
                ("conflict", answers.query[start], answers.row[start:stop].tolist())
            )
    bounds = np.flatnonzero(np.diff(answers.query, prepend=-1))
    for start, stop in pairwise([*bounds.tolist(), len(answers)]):
        graph = _AnswerGraph.of(answers, slice(start, stop))
        on_cycle = graph.on_cycle()
        for part in np.unique(on_cycle[on_cycle >= 0]):
            rows = answers.row[start:stop][on_cycle == part].tolist()
            found.append(("cycle", answers.query[start], rows))
        chain = graph.long_chain(n_levels)
        if chain:
            rows = answers.row[start:stop][chain].tolist()
            found.append(("levels", answers.query[start], rows))
    proba = label_proba[answers.pair, answers.label + 1]
    found.extend(
        ("improbable", answers.query[at], [int(answers.row[at])])
        for at in np.flatnonzero(proba < _IMPROBABLE)
    )
    return tuple(
        Contradiction(kind, queries.values.item(int(query)), tuple(sorted(rows)))
        for kind, query, rows in found
    )


@dataclass(frozen=True)
class _AnswerGraph:
    """The answers about one query as edges between groups of items.

    Attributes
    ----------
    better, worse : ndarray of shape (n_answers,), int64
        Groups of tied items, or of items on a cycle.
    order : ndarray of shape (n_answers,), bool
        Whether the answer is an order, not a tie.
    """

    better: IntArray
    worse: IntArray
    order: BoolArray

    @classmethod
    def of(cls, answers: Answers, part: slice) -> Self:
        left, right = answers.left[part], answers.right[part]
        label = answers.label[part]
        n = int(max(left.max(), right.max())) + 1
        tied = label == 0
        of_ties = _components(left[tied], right[tied], n, strong=False)
        better = of_ties[np.where(label < 0, right, left)]
        worse = of_ties[np.where(label < 0, left, right)]
        strong = _components(better[~tied], worse[~tied], n, strong=True)
        return cls(strong[better], strong[worse], ~tied)

    def on_cycle(self) -> IntArray:
        """Return the number of the cycle that each answer is on, -1 for none.

        A group with an order inside is a cycle, the ties that connect it included.
        """
        within = self.better == self.worse
        cyclic = np.unique(self.better[within & self.order])
        return np.where(within & np.isin(self.better, cyclic), self.better, -1)

    def long_chain(self, n_levels: float) -> list[int]:
        """Return the longest chain of answers if it needs too many levels."""
        over = np.flatnonzero(self.better != self.worse)
        better, worse = self.better[over], self.worse[over]
        level = np.zeros(int(max(self.better.max(), self.worse.max())) + 1, dtype=int)
        # Ends, since there is no cycle of groups; a level is the longest way there.
        while (level[worse] <= level[better]).any():
            np.maximum.at(level, worse, level[better] + 1)
        at = int(np.argmax(level))
        if level[at] < n_levels:
            return []
        chain: list[int] = []
        while level[at] > 0:
            into = np.flatnonzero((worse == at) & (level[better] == level[at] - 1))
            chain.append(int(over[into[0]]))
            at = int(better[into[0]])
        return chain


def _components(start: Any, stop: Any, n: int, *, strong: bool) -> Any:
    links = coo_array((np.ones(start.size), (start, stop)), (n, n))
    connection = "strong" if strong else "weak"
    return connected_components(links, directed=strong, connection=connection)[1]
