"""Error rates of reviewers: what answers are worth, and rates from answers alone."""

import numpy as np
import pytest

from skrank_abstain.pairs import group_queries
from skrank_abstain.review._answers import take_answers
from skrank_abstain.review._reviewers import (
    Reviewers,
    answer_proba,
    check_reviewer_error,
    judge_reviewers,
)


def test_what_a_reviewer_says():
    np.testing.assert_allclose(
        answer_proba(0.2, 0.25),
        [[0.8, 0.1, 0.05], [0.15, 0.8, 0.15], [0.05, 0.1, 0.8]],
        rtol=0,
        atol=1e-15,
    )
    many = answer_proba(np.array([0.0, 0.3]), np.array([0.5, 1.0]))
    assert many.shape == (2, 3, 3)
    np.testing.assert_allclose(many.sum(axis=1), 1, rtol=0, atol=1e-8)
    assert (many > 0).all()


def test_answers_about_one_pair_multiply():
    table = {
        "left": [0, 0, 1],
        "right": [1, 1, 2],
        "label": ["left", "same", "right"],
        "reviewer": ["a", "b", "b"],
    }
    answers = take_answers(table, group_queries(None, 3), None)
    found = Reviewers(np.array([0.2, 0.4]), np.full(2, 0.5)).likelihood(answers)
    # Columns: right, tie, left is the better one.
    both = np.array([0.1 * 0.2, 0.1 * 0.6, 0.8 * 0.2])
    alone = np.array([0.6, 0.2, 0.2])
    np.testing.assert_allclose(
        found, [both / both.max(), alone / 0.6], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("rates", [None, 0.0, 0.2, {"a": 0, "b": 0.5}])
def test_rates(rates):
    assert check_reviewer_error(rates) == rates


@pytest.mark.parametrize(
    ("rates", "error"),
    [(1.0, ValueError), (-0.1, ValueError), ({"a": 2}, ValueError), ("a", TypeError),
     ([0.1], TypeError), (True, TypeError)],
)  # fmt: skip
def test_what_is_no_rate_is_refused(rates, error):
    with pytest.raises(error, match="reviewer_error must be"):
        check_reviewer_error(rates)


WORDS = ["right", "same", "left"]


def simulate(n_pairs, rates, reversal, seed=0):
    """Return answers of all reviewers about pairs of known labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(-1, 2, n_pairs)
    table = {"left": [], "right": [], "label": [], "reviewer": []}
    for name, rate in rates.items():
        heard = answer_proba(rate, reversal)
        for pair, label in enumerate(truth):
            table["left"].append(2 * pair)
            table["right"].append(2 * pair + 1)
            table["label"].append(rng.choice(WORDS, p=heard[:, label + 1]))
            table["reviewer"].append(name)
    queries = group_queries(np.repeat(np.arange(n_pairs), 2), 2 * n_pairs)
    return take_answers(table, queries, None)


def flat(likelihood):
    """Return what answers say where nothing else is known."""
    return likelihood / likelihood.sum(axis=1, keepdims=True)


def test_rates_are_found_from_answers_alone():
    rates = {"a": 0.05, "b": 0.3, "c": 0.15}
    found = judge_reviewers(simulate(2000, rates, 0.2), None, flat)
    np.testing.assert_allclose(found.error, [*rates.values()], rtol=0, atol=0.03)
    np.testing.assert_allclose(found.reversal, 0.2, rtol=0, atol=0.12)


def test_known_rates_are_kept():
    answers = simulate(300, {"a": 0.05, "b": 0.3}, 0.5)
    all_known = judge_reviewers(answers, 0.2, flat)
    np.testing.assert_array_equal(all_known.error, [0.2, 0.2])
    gold = judge_reviewers(answers, {"a": 0.0}, flat)
    assert gold.error[0] == 0
    assert gold.error[1] == pytest.approx(0.32, abs=0.05)


def test_who_says_little_is_typical():
    answers = simulate(1, {"a": 0.3}, 0.5)
    found = judge_reviewers(answers, None, flat)
    assert found.error[0] == pytest.approx(0.1, abs=0.02)
    none = take_answers(None, group_queries(None, 2), None)
    assert judge_reviewers(none, None, flat).error.size == 0
