"""Which answers to believe: error rates of reviewers, and contradictions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse.csgraph import shortest_path

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_real
from skrank_abstain.pairs import Queries, check_spelling, plain
from skrank_abstain.review._answers import GOLD, Answers

#: Prior share of reversed orders, worth `_PRIOR_ANSWERS` answers. As many orders are
#: called ties, and twice as many ties orders.
TYPICAL_ERROR = 0.05
_PRIOR_ANSWERS = 10.0
#: Rates are kept this far from 0 and 1: no reviewer is infallible to the last bit.
_INSIDE = 1e-9
_ROUNDS = 100
_STILL = 1e-5
#: An answer of lower probability, given all answers, is reported.
_IMPROBABLE = 0.05
#: How an answer is told.
TOLD = "{reviewer}: {left} or {right}? {label} (row {row})"


class Reviewers(NamedTuple):
    """Error rates of reviewers, each of shape (n_reviewers,), float64.

    Attributes
    ----------
    reviewer_error, same_error : ndarray
        Among the answers about items that are not tied: shares that reverse their
        order, and that say "same".
    tie_error : ndarray
        Among the answers about tied items: share that names an order.
    """

    reviewer_error: FloatArray
    same_error: FloatArray
    tie_error: FloatArray

    @classmethod
    def of_error(cls, error: Any) -> Self:
        """Return reviewers of whom only the share of reversed orders is known."""
        rate = np.asarray(error, dtype=np.float64)
        return cls(rate, rate, 2 * rate)

    def answer_proba(self) -> FloatArray:
        """Return P(answer | true label) of each reviewer.

        Returns
        -------
        proba : ndarray of shape (..., 3, 3), float64
            Answers by true labels, both -1, 0, +1. A wrong answer about a tie names
            either order.
        """
        turned, missed, split = np.clip(self, _INSIDE, 1 - _INSIDE)
        right, half = 1 - turned - missed, split / 2
        rows = [
            [right, half, turned],
            [missed, 1 - split, missed],
            [turned, half, right],
        ]
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    def likelihood(self, answers: Answers) -> FloatArray:
        """Return P(all answers about a pair | true label), over the largest of them.

        Shape (n_answered, 3), for the labels -1, 0, +1.
        """
        proba, stated = self.answer_proba()[answers.reviewer], answers.stated
        said = ~np.isnan(stated)
        proba[said] = Reviewers.of_error((1 - stated[said]) / 2).answer_proba()
        logs = np.log(proba[np.arange(said.size), answers.label + 1])
        total = np.add.reduceat(logs, answers.pair_start[:-1])
        return np.exp(np.maximum(total - total.max(axis=1, keepdims=True), -600.0))


def check_reviewer_error(reviewer_error: Any) -> float | dict[str, float] | None:
    """Check None, a rate or {reviewer: rate}."""
    if reviewer_error is None:
        return None
    named = isinstance(reviewer_error, Mapping)
    rates = reviewer_error if named else {"": reviewer_error}
    # Who guesses reverses a third of the orders, and calls a third of them ties.
    checked = {
        str(name).strip(): check_real(rate, "reviewer_error", 0, 1 / 3)
        for name, rate in rates.items()
    }
    return checked if named else checked[""]


def known_rates(
    reviewer_error: Any, reviewers: tuple[str, ...]
) -> tuple[tuple[str, ...], FloatArray, float]:
    """Return the names of all reviewers, their known rates, and that of future ones.

    Parameters
    ----------
    reviewer_error : None, float or mapping
    reviewers : tuple of str
        Names of those who answered; `GOLD` never errs.

    Returns
    -------
    names : tuple of str
        Those who answered, then the others that ``reviewer_error`` names.
    known : ndarray of shape (n_names,), float64
        NaN for rates to estimate.
    typical : float
        NaN if it depends on the reviewers.
    """
    given = check_reviewer_error(reviewer_error)
    typical = given if isinstance(given, float) else np.nan
    rates = given if isinstance(given, dict) else {}
    check_spelling((*reviewers, *rates), "reviewer_error", "reviewer")
    names = tuple(dict.fromkeys((*reviewers, *rates)))
    rates = rates | {GOLD: 0.0}
    return names, np.array([rates.get(name, typical) for name in names]), typical


def judge_reviewers(
    answers: Answers, known: FloatArray, label_proba: Callable[[FloatArray], FloatArray]
) -> tuple[Reviewers, FloatArray]:
    """Estimate the error rates that are not known, and how credible each label is.

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
    likelihood : ndarray of shape (n_answered, 3), float64
        As of ``reviewers.likelihood``; where answers about a pair differ, by the rates
        that answers about other pairs show: nobody is less credible for contradicting
        the model, or somebody else, about this one. Where people give both orders, a
        tie, which lies between, is no less likely than the less likely order.

    Notes
    -----
    Expectation-maximisation, as of Dawid and Skene [1]_: from the rates the probability
    that each answer is wrong, and from that the rates. A prior of ten answers, one of
    them wrong, keeps the rates of those who answered little near the typical ones.

    References
    ----------
    .. [1] Dawid and Skene (1979). "Maximum Likelihood Estimation of Observer
       Error-Rates Using the EM Algorithm". JRSS C 28(1).
    """
    free, own = np.isnan(known), answers.reviewer
    start = judged = Reviewers.of_error(np.where(free, TYPICAL_ERROR, known))
    if not free.any() or not len(answers):
        return judged, _between_orders(judged.likelihood(answers), answers)
    for _ in range(_ROUNDS):
        proba = label_proba(judged.likelihood(answers))[answers.pair]
        # Expected number of answers of each reviewer, by answer and true label; those
        # with a probability of their own do not show a rate.
        proba *= np.isnan(answers.stated)[:, None]
        counts = np.zeros((known.size, 3, 3))
        np.add.at(counts, (own, answers.label + 1), proba)
        last, judged = judged, Reviewers(*np.where(free, _rates(counts), start))
        if np.abs(np.subtract(judged, last)).max() < _STILL:
            break
    # What the answers of each answer's reviewer about other pairs show.
    at = np.unique(answers.pair * known.size + own, return_inverse=True)[1]
    here = np.zeros((len(answers), 3, 3))
    np.add.at(here, (at, answers.label + 1), proba)
    rates = np.where(free[own], _rates(counts[own] - here[at]), np.take(start, own, 1))
    apart = replace(answers, reviewer=np.arange(at.size))
    elsewhere = Reviewers(*rates).likelihood(apart)
    differ = answers.labels.sum(axis=1, keepdims=True) > 1
    likelihood = np.where(differ, elsewhere, judged.likelihood(answers))
    return judged, _between_orders(likelihood, answers)


def _between_orders(likelihood: FloatArray, answers: Answers) -> FloatArray:
    """Let no tie be less likely than both orders, if people gave both.

    Their errors are not independent of the truth: people who contradict each other see
    a small difference, though each of them orders few ties.
    """
    both, (right, tie, left) = answers.labels[:, ::2].all(axis=1), likelihood.T
    likelihood[both, 1] = np.maximum(tie, np.minimum(right, left))[both]
    return likelihood


def _rates(counts: FloatArray) -> FloatArray:
    """Return the rates of `Reviewers` from numbers of answers, (n, answers, truths)."""
    tied = counts[:, :, 1].sum(axis=1)
    untied = counts.sum(axis=(1, 2)) - tied
    wrong = [
        counts[:, 0, 2] + counts[:, 2, 0],
        counts[:, 1, 0] + counts[:, 1, 2],
        counts[:, 0, 1] + counts[:, 2, 1],
    ]
    total = np.array([untied, untied, tied])
    typical = np.array([[1.0], [1.0], [2.0]]) * TYPICAL_ERROR
    rates: FloatArray = (wrong + typical * _PRIOR_ANSWERS) / (total + _PRIOR_ANSWERS)
    # No reviewer reverses more orders than not: the opposite of their answers would be
    # believed.
    rates[0] = np.minimum(rates[0], (1 - rates[1]) / 2)
    return rates


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right, or one that is probably wrong.

    Attributes
    ----------
    kind : {"changed", "conflict", "cycle", "improbable"}
        "changed": one reviewer gave different answers about a pair; "conflict": several
        reviewers did; "cycle": orders and ties between at least three items lead back
        to where they started, by the fewest answers that do, in the order of the way;
        "improbable": an answer has a probability below .05, given all answers.
    qid : object
    answers : tuple of int
        Rows of the table of answers.
    said : tuple of dict
        What these rows say: reviewer, left, right and label, as they were written.

    Examples
    --------
    >>> from skrank_abstain.review import Contradiction
    >>> said = {"reviewer": "Bo", "left": "bed 1", "right": "bed 2", "label": "left"}
    >>> print(Contradiction("improbable", qid="monday", answers=(3,), said=(said,)))
    monday, improbable: Bo: bed 1 or bed 2? left (row 3)
    """

    kind: str
    qid: Any
    answers: tuple[int, ...]
    said: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        rows = zip(self.said, self.answers, strict=False)
        texts = "; ".join(TOLD.format(row=row, **each) for each, row in rows)
        of = "" if self.qid is None else f"{plain(self.qid)}, "
        return f"{of}{self.kind}: {texts}"


def find_contradictions(
    answers: Answers, queries: Queries, label_proba: FloatArray
) -> tuple[Contradiction, ...]:
    """Find contradictions between answers.

    Parameters
    ----------
    answers : Answers
    queries : Queries
    label_proba : ndarray of shape (n_answered, 3), float64
        Label probabilities of the answered pairs, given all answers.
    """
    found = [("changed", query, np.sort(rows)) for query, rows in answers.changed]
    for part in map(slice, answers.pair_start, answers.pair_start[1:]):
        label, who = answers.label[part], answers.reviewer[part]
        if np.unique(label).size > 1 and np.unique(who).size > 1:
            rows = np.sort(answers.row[part])
            found.append(("conflict", answers.query[part.start], rows))
    bounds = np.flatnonzero(np.diff(answers.query, prepend=-1, append=-1))
    signs = np.stack([answers.left, answers.right, answers.label])
    cycles = [
        ("cycle", answers.query[part.start], answers.row[part][cycle])
        for part in map(slice, bounds, bounds[1:])
        for cycle in _cycles(*signs[:, part])
    ]
    found += sorted(cycles, key=lambda each: len(each[2]))
    proba = label_proba[answers.pair, answers.label + 1]
    improbable = np.flatnonzero(proba < _IMPROBABLE)
    found += [("improbable", answers.query[k], answers.row[[k]]) for k in improbable]
    made = []
    for kind, query, some in found:
        numbers, qid = some.tolist(), queries.values.item(query)
        said = tuple(map(answers.said_in, numbers))
        made.append(Contradiction(kind, qid, tuple(numbers), said))
    return tuple(made)


def _cycles(left: IntArray, right: IntArray, label: IntArray) -> Iterator[list[int]]:
    """Yield answers that lead from an item over others back to it, the fewest first.

    With an order among them, in the order of the way, and each answer once.
    """
    items, numbers = np.unique([left, right], return_inverse=True)
    left, right = numbers.reshape(2, -1)
    # The answer by which an item is not worse than another one.
    ahead, behind, by = label >= 0, label <= 0, np.full((items.size, items.size), -1)
    by[left[ahead], right[ahead]] = np.flatnonzero(ahead)
    by[right[behind], left[behind]] = np.flatnonzero(behind)
    far, last = shortest_path(by >= 0, unweighted=True, return_predecessors=True)
    top, low = np.where(label > 0, (left, right), (right, left))
    back, used = far[low, top], set[int]()
    # Back by one answer is a conflict, or changed.
    orders = np.flatnonzero((label != 0) & (back > 1) & (back < np.inf))
    for k in orders[np.argsort(back[orders], kind="stable")].tolist():
        cycle, item = [k], top[k]
        while item != low[k]:
            item, before = last[low[k], item], item
            cycle.insert(1, int(by[item, before]))
        if used.isdisjoint(cycle):
            used.update(cycle)
            yield cycle
