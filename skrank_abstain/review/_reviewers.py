"""How often reviewers err, and what their answers are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skrank_abstain._validation import FloatArray, check_real, shown
from skrank_abstain.pairs import html_of_rows
from skrank_abstain.review._answers import GOLD, Answers, check_spelling

#: Before any answer a reviewer errs so often, about ties and about orders, half of the
#: time by turning an order around, and is believed to as after so many answers of each.
TYPICAL_ERROR = 0.1
_PRIOR_ANSWERS = 10.0
#: Rates are kept this far from 0 and 1: nobody is taken for infallible to the last bit.
_INSIDE = 1e-9
_ROUNDS = 100
_STILL = 1e-5


@dataclass(frozen=True, eq=False)
class Reviewers:
    """Error rates.

    Attributes
    ----------
    error : ndarray of shape (n_reviewers,), float64
        Share of the answers of each reviewer that are wrong.
    turned, missed : ndarray of shape (n_reviewers,), float64
        Of the answers about two items that are not tied: shares that turn their order
        around, and that say a tie.
    split : ndarray of shape (n_reviewers,), float64
        Of the answers about tied items: share that says an order.
    """

    error: FloatArray
    turned: FloatArray
    missed: FloatArray
    split: FloatArray

    @classmethod
    def of_error(cls, error: Any) -> Self:
        """Return reviewers of whom no more is known than how often they err."""
        rate = np.asarray(error, dtype=np.float64)
        return cls(rate, rate / 2, rate / 2, rate)

    def heard(self) -> FloatArray:
        """Return the probability of each answer, given the true label.

        Returns
        -------
        proba : ndarray of shape (..., 3, 3), float64
            Answers by true labels, both -1, 0, +1. A wrong answer about a tie says
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
        """Return what all answers about each pair are worth, (n_answered, 3).

        By the true label of the pair, -1, 0, +1, over the largest of the three.
        """
        logs = np.log(self.heard()[answers.reviewer, answers.label + 1])
        if not len(answers):
            return logs
        total = np.add.reduceat(logs, answers.pair_start[:-1])
        highest = total.max(axis=1, keepdims=True)
        likelihood: FloatArray = np.exp(np.maximum(total - highest, -600.0))
        return likelihood

    def to_html(self, heading: str, answers: Answers) -> str:
        """Return what a notebook shows: how much each said, and how often in error."""
        names = answers.reviewers
        counts = np.bincount(answers.reviewer, minlength=len(names))
        texts = {"reviewer": names, "answers": counts}
        rates = {
            "wrong": self.error,
            "untied pair, order reversed": self.turned,
            "untied pair, called a tie": self.missed,
            "tie, called an order": self.split,
        }
        return html_of_rows(heading, texts, rates, 0)


def check_reviewer_error(reviewer_error: Any) -> Any:
    """Return None, a rate, or {reviewer: rate}, if these are rates."""

    def check(rate: Any) -> float:
        return check_real(rate, "reviewer_error", 0, 1, include_high=False)

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
) -> tuple[Any, float]:
    """Return the rates that are known, and the typical one of those who will answer.

    Parameters
    ----------
    reviewer_error : object
        What the user passed.
    reviewers : tuple of str
        Who answered.
    gold : bool
        Whether `GOLD` is one of them.

    Returns
    -------
    known : None, float or dict of str to float
    typical : float
        NaN where that depends on the answers.
    """
    known = check_reviewer_error(reviewer_error)
    if isinstance(known, dict):
        known = {name.strip(): rate for name, rate in known.items()}
        check_spelling((*reviewers, *known), "reviewer_error")
    typical = np.nan
    if isinstance(known, float):
        typical = known
    elif not reviewers:
        typical = np.mean([*known.values()]) if known else TYPICAL_ERROR
    if gold:
        of_each = dict.fromkeys(reviewers, known) if isinstance(known, float) else known
        known = {**(of_each or {}), GOLD: 0.0}
    return known, float(typical)


def judge_reviewers(
    answers: Answers,
    reviewer_error: Any,
    label_proba: Callable[[FloatArray], FloatArray],
) -> Reviewers:
    """Estimate how often each reviewer errs, where that is not known.

    Parameters
    ----------
    answers : Answers
    reviewer_error : None, float or dict of str to float
        As ``check_reviewer_error`` returns it.
    label_proba : callable
        From likelihoods of the answered pairs, (n_answered, 3), to probabilities of
        their labels given all answers, of the same shape.

    Returns
    -------
    reviewers : Reviewers

    Notes
    -----
    Expectation-maximisation, as of Dawid and Skene [1]_: given the rates, how probable
    is it that each answer is wrong; given that, the rates. A prior of ten answers with
    one error keeps those who answered little near the typical.

    References
    ----------
    .. [1] Dawid and Skene (1979). "Maximum Likelihood Estimation of Observer
       Error-Rates Using the EM Algorithm". JRSS C 28(1).
    """
    n = len(answers.reviewers)
    known = np.full(n, np.nan)
    if isinstance(reviewer_error, dict):
        known[:] = [reviewer_error.get(name, np.nan) for name in answers.reviewers]
    elif reviewer_error is not None:
        known[:] = reviewer_error
    free = np.isnan(known)
    start = judged = Reviewers.of_error(np.where(free, TYPICAL_ERROR, known))
    if not free.any():
        return judged
    pair = np.repeat(
        np.arange(answers.pair_start.size - 1), np.diff(answers.pair_start)
    )
    said = answers.label + 1
    for _ in range(_ROUNDS):
        proba = label_proba(judged.likelihood(answers))[pair]
        # How often each said each answer, by what was true.
        counts = np.zeros((n, 3, 3))
        np.add.at(counts, (answers.reviewer, said), proba)
        tied = counts[:, :, 1].sum(axis=1)
        untied = counts.sum(axis=(1, 2)) - tied
        turned = _rate(counts[:, 0, 2] + counts[:, 2, 0], untied, TYPICAL_ERROR / 2)
        missed = _rate(counts[:, 1, 0] + counts[:, 1, 2], untied, TYPICAL_ERROR / 2)
        split = _rate(counts[:, 0, 1] + counts[:, 2, 1], tied, TYPICAL_ERROR)
        right = counts[:, [0, 1, 2], [0, 1, 2]].sum(axis=1)
        error = _rate(tied + untied - right, tied + untied, TYPICAL_ERROR)
        # Nobody is taken to be wrong about orders more often than right: who is so
        # would be believed the opposite of what they said.
        turned = np.minimum(turned, (1 - missed) / 2)
        rates = zip((error, turned, missed, split), vars(start).values(), strict=True)
        last = judged
        judged = Reviewers(*(np.where(free, new, first) for new, first in rates))
        moved = [
            np.abs(new - old).max()
            for new, old in zip(vars(judged).values(), vars(last).values(), strict=True)
        ]
        if max(moved) < _STILL:
            break
    return judged


def _rate(count: FloatArray, of: FloatArray, typical: float) -> FloatArray:
    rate: FloatArray = (count + typical * _PRIOR_ANSWERS) / (of + _PRIOR_ANSWERS)
    return rate
