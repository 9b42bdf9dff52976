"""Questions: their values from the definition, and the order they are asked in."""

import itertools

import numpy as np
import pytest
from review.enumerated import random_answers, random_prior

from skrank_abstain.review._posterior import Posterior
from skrank_abstain.review._questions import (
    Aim,
    Question,
    choose_questions,
    question_values,
    questions_of_query,
)
from skrank_abstain.review._reviewers import Reviewers

PAIRS = list(itertools.combinations(range(5), 2))
HEARD = Reviewers.of_error(0.1).heard()
NONE = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 3))


def answered(prior, answers, pair, answer):
    """Return the posterior after one answer more."""
    left, right, likelihood = answers
    pairs = [*zip(left.tolist(), right.tolist(), strict=True), pair]
    order = sorted(range(len(pairs)), key=pairs.__getitem__)
    table = np.array([pairs[k] for k in order], dtype=np.int64)
    likelihood = np.concatenate([likelihood, HEARD[[answer]]])[order]
    return Posterior.of(prior, table[:, 0].copy(), table[:, 1].copy(), likelihood)


def least(proba, losses):
    swap, order_for_tie, tie_for_order = losses
    left = swap * proba[:, 0] + order_for_tie * proba[:, 1]
    right = swap * proba[:, 2] + order_for_tie * proba[:, 1]
    tie = tie_for_order * (proba[:, 0] + proba[:, 2])
    return np.min([left, right, tie], axis=0)


def dcg(posterior):
    gain = np.sort(posterior.expected_gain())[::-1][:10]
    return (gain / np.log2(np.arange(2, gain.size + 2))).sum()


@pytest.mark.parametrize("losses", [(1.0, 1.0, 1.0), (1.0, 0.0, 1.0), (2.0, 0.5, 1.0)])
@pytest.mark.parametrize("merged", [False, True])
def test_the_value_is_the_expected_fall_of_the_loss_of_the_pairs_of_both(
    losses, merged
):
    prior = random_prior(np.random.default_rng(0), 5, merged=merged)
    before = Posterior.of(prior, *NONE)
    proba = before.pair_proba()
    for number, (i, j) in enumerate(PAIRS):
        touched = [k for k, pair in enumerate(PAIRS) if {i, j} & {*pair}]
        expected = least(proba, losses)[touched].sum()
        for answer, chance in enumerate(HEARD @ proba[number]):
            after = answered(prior, NONE, (i, j), answer).pair_proba()
            expected -= chance * least(after, losses)[touched].sum()
        aim = Aim("pairs", HEARD, np.array(losses))
        value = question_values(before, np.array([i]), np.array([j]), aim)
        assert value[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pairs", [[], [(0, 1)], [(0, 2), (3, 4)]], ids=str)
def test_the_value_is_the_expected_rise_of_the_dcg(pairs):
    rng = np.random.default_rng(1)
    prior = random_prior(rng, 5)
    answers = random_answers(rng, pairs)
    before = Posterior.of(prior, *answers)
    proba = before.pair_proba()
    aim = Aim("top", HEARD, np.ones(3))
    trees = before.answered.tree
    for number, (i, j) in enumerate(PAIRS):
        if trees[i] == trees[j]:
            continue  # a loop, or an answered pair
        expected = -dcg(before)
        for answer, chance in enumerate(HEARD @ proba[number]):
            expected += chance * dcg(answered(prior, answers, (i, j), answer))
        value = question_values(before, np.array([i]), np.array([j]), aim)
        assert value[0] == pytest.approx(expected, abs=1e-12)


def test_questions_are_chosen_as_if_the_most_probable_answer_had_come():
    prior = random_prior(np.random.default_rng(2), 5)
    aim = Aim("pairs", HEARD, np.ones(3))
    every = np.array(PAIRS)
    asked, answers = [], NONE
    for question in itertools.islice(questions_of_query(prior, *NONE, aim), 4):
        posterior = Posterior.of(prior, *answers)
        values = question_values(posterior, every[:, 0], every[:, 1], aim)
        values[[PAIRS.index(pair) for pair in asked]] = -1
        best = int(np.argmax(values))
        likely = int(np.argmax(HEARD @ posterior.pair_proba()[best]))
        assert question == Question(values[best], *PAIRS[best], likely - 1)
        after = answered(prior, answers, PAIRS[best], likely).answered
        answers = after.left, after.right, after.likelihood
        asked.append(PAIRS[best])


def test_answers_are_drawn_from_one_truth():
    prior = random_prior(np.random.default_rng(4), 5)
    aim = Aim("pairs", Reviewers.of_error(0.0).heard(), np.ones(3))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        over = np.zeros((5, 5), dtype=int)
        for _, left, right, answer in questions_of_query(prior, *NONE, aim, rng):
            over[left, right], over[right, left] = answer, -answer
        # Nobody errs: no order leads back to where it started.
        reach = over > 0
        for k in range(5):
            reach |= reach[:, [k]] & reach[[k], :]
        assert not (reach & reach.T).any()


def test_what_was_answered_or_is_sure_is_not_asked():
    prior = random_prior(np.random.default_rng(3), 4)
    exact = Reviewers.of_error(0.0).heard()
    left, right = np.array([0, 1]), np.array([1, 2])
    aim = Aim("pairs", exact, np.ones(3))
    # 0 over 1 over 2: what follows is sure, and three grades leave nothing open.
    likelihood = exact[[2, 2]]
    asked = [q[1:3] for q in questions_of_query(prior, left, right, likelihood, aim)]
    assert set(asked) <= {(0, 3), (1, 3), (2, 3)}


def streams(values):
    return [
        iter([Question(value, k, k + 1, 0) for k, value in enumerate(row)])
        for row in values
    ]


@pytest.mark.parametrize(
    ("n", "most", "equal", "expected"),
    [
        (3, None, False, [9, 8, 7]),
        (3, 1, False, [9, 3]),
        (3, None, True, [9, 8, 3]),
        (4, None, True, [9, 8, 3, 2]),
        (9, None, False, [9, 8, 7, 3, 2]),
        (0, None, False, []),
    ],
)
def test_the_best_of_all_queries(n, most, equal, expected):
    chosen = choose_questions(streams([[9, 8, 7], [], [3, 2]]), n, most, equal=equal)
    assert [question.value for _, question in chosen] == expected
