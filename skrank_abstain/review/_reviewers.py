"""How often reviewers err, and what their answers are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray, check_real, shown
from skrank_abstain.review._answers import Answers

#: Before any answer a reviewer errs so often, and is believed to as after so many.
TYPICAL_ERROR = 0.1
_ERROR_ANSWERS = 10.0
#: The same of the errors that turn an order around.
_TYPICAL_REVERSAL = 0.5
_REVERSAL_ANSWERS = 4.0
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
    reversal : ndarray of shape (n_reviewers,), float64
        Share of the wrong answers about two items that are not tied that turn their
        order around; the others say a tie.
    """

    error: FloatArray
    reversal: FloatArray

    def likelihood(self, answers: Answers) -> FloatArray:
        """Return what all answers about each pair are worth, (n_answered, 3).

        By the true label of the pair, -1, 0, +1, over the largest of the three.
        """
        heard = answer_proba(self.error, self.reversal)
        logs = np.log(heard[answers.reviewer, answers.label + 1])
        if not len(answers):
            return logs
        total = np.add.reduceat(logs, answers.pair_start[:-1])
        highest = total.max(axis=1, keepdims=True)
        likelihood: FloatArray = np.exp(np.maximum(total - highest, -600.0))
        return likelihood


def answer_proba(error: Any, reversal: Any = _TYPICAL_REVERSAL) -> FloatArray:
    """Return the probability of each answer, given the true label.

    Parameters
    ----------
    error, reversal : float or ndarray of shape (n_reviewers,)

    Returns
    -------
    proba : ndarray of shape (..., 3, 3), float64
        Answers by true labels, both -1, 0, +1. A wrong answer about a tie says either
        order.
    """
    error = np.clip(error, _INSIDE, 1 - _INSIDE)
    turned = np.clip(error * reversal, _INSIDE, None)
    tied = np.clip(error * (1 - np.asarray(reversal)), _INSIDE, None)
    right, half = 1 - error, error / 2
    rows = [[right, half, turned], [tied, right, tied], [turned, half, right]]
    proba: FloatArray = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    return proba


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
    judged = Reviewers(
        np.where(free, TYPICAL_ERROR, known), np.full(n, _TYPICAL_REVERSAL)
    )
    if not free.any():
        return judged
    pair = np.repeat(
        np.arange(answers.pair_start.size - 1), np.diff(answers.pair_start)
    )
    said = np.bincount(answers.reviewer, minlength=n)
    for _ in range(_ROUNDS):
        proba = label_proba(judged.likelihood(answers))[pair]
        at = np.arange(pair.size)
        wrong = 1 - proba[at, answers.label + 1]
        turned = np.where(answers.label == 0, 0.0, proba[at, 1 - answers.label])
        tied = np.where(answers.label == 0, wrong, 0.0)
        error = _rate(_add(answers, wrong), said, TYPICAL_ERROR, _ERROR_ANSWERS)
        turns = _add(answers, turned)
        reversal = _rate(
            turns, turns + _add(answers, tied), _TYPICAL_REVERSAL, _REVERSAL_ANSWERS
        )
        last = judged
        judged = Reviewers(
            np.where(free, error, known), np.where(free, reversal, _TYPICAL_REVERSAL)
        )
        if np.abs(judged.error - last.error).max() < _STILL:
            break
    return judged


def _add(answers: Answers, amount: FloatArray) -> FloatArray:
    """Add up over the answers of each reviewer."""
    added = np.bincount(answers.reviewer, amount, len(answers.reviewers))
    return added.astype(np.float64)


def _rate(count: Any, of: Any, typical: float, weight: float) -> FloatArray:
    rate: FloatArray = (count + typical * weight) / (of + weight)
    return rate
