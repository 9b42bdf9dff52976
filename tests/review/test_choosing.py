"""Questions: their values from the definition, and the order they are asked in."""

import itertools

import numpy as np
import pytest
from review.enumerated import enumerate_posterior, random_answers, random_prior
from review.simulated import INPUT, NEW, RANKER

from skrank_abstain._validation import ZERO_ONE_LOSS
from skrank_abstain.review import QuestionObjective
from skrank_abstain.review._choosing import (
    OBJECTIVES,
    Question,
    check_objective,
    choose_questions,
    questions_of_query,
)
from skrank_abstain.review._judging import Reviewers
from skrank_abstain.review._posterior import GradePrior, Posterior

PAIRS = list(itertools.combinations(range(5), 2))
ANSWER_PROBA = Reviewers.of_error(0.05).answer_proba()
PAIRS_RIGHT, TOP_RIGHT = OBJECTIVES["pairs"], OBJECTIVES["top"]
NONE = (), (), np.empty((0, 3))


def answered(prior, answers, pair, answer):
    """Return the posterior after one answer more."""
    left, right, likelihood = answers
    likelihood = np.concatenate([likelihood, ANSWER_PROBA[[answer]]])
    return Posterior.of(prior, [*left, pair[0]], [*right, pair[1]], likelihood)


def least(proba, losses):
    swap, order_for_tie, tie_for_order = losses
    left = swap * proba[:, 0] + order_for_tie * proba[:, 1]
    right = swap * proba[:, 2] + order_for_tie * proba[:, 1]
    tie = tie_for_order * (proba[:, 0] + proba[:, 2])
    return np.min([left, right, tie], axis=0)


def dcg(posterior, depth=10):
    gain = np.sort(posterior.expected_gain)[::-1][:depth]
    return (gain / np.log2(np.arange(2, gain.size + 2))).sum()


@pytest.mark.parametrize("losses", [(1.0, 1.0, 1.0), (1.0, 0.0, 1.0), (2.0, 0.5, 1.0)])
@pytest.mark.parametrize("merged", [False, True])
def test_the_value_is_the_expected_fall_of_the_loss_of_the_pairs_of_both(
    losses, merged
):
    prior = random_prior(np.random.default_rng(0), 5, merged=merged)
    before = Posterior.of(prior)
    proba = before.pair_proba
    for number, (i, j) in enumerate(PAIRS):
        touched = [k for k, pair in enumerate(PAIRS) if {i, j} & {*pair}]
        expected = least(proba, losses)[touched].sum()
        for answer, chance in enumerate(ANSWER_PROBA @ proba[number]):
            after = answered(prior, NONE, (i, j), answer).pair_proba
            expected -= chance * least(after, losses)[touched].sum()
        swap, order_for_tie, tie_for_order = losses
        loss = np.array(
            [
                [0, order_for_tie, swap],
                [tie_for_order, 0, tie_for_order],
                [swap, order_for_tie, 0],
            ]
        )
        pair = np.array([i]), np.array([j])
        value = PAIRS_RIGHT.values(before, *pair, ANSWER_PROBA, loss)
        assert value[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pairs", [[], [(0, 1)], [(0, 2), (3, 4)]], ids=str)
def test_the_value_is_the_expected_rise_of_the_dcg(pairs):
    rng = np.random.default_rng(1)
    prior = random_prior(rng, 5)
    answers = random_answers(rng, pairs)
    before = Posterior.of(prior, *answers)
    proba = before.pair_proba
    trees = before.answered.tree
    for number, (i, j) in enumerate(PAIRS):
        if trees[i] == trees[j]:
            continue  # a loop, or an answered pair
        expected = -dcg(before)
        for answer, chance in enumerate(ANSWER_PROBA @ proba[number]):
            expected += chance * dcg(answered(prior, answers, (i, j), answer))
        pair = np.array([i]), np.array([j])
        value = TOP_RIGHT.values(before, *pair, ANSWER_PROBA, ZERO_ONE_LOSS)
        assert value[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("depth", [1, 3, 10])
def test_the_top_is_as_deep_as_is_said(depth):
    prior = random_prior(np.random.default_rng(3), 5)
    objective, before = check_objective(f"top@{depth}"), Posterior.of(prior)
    for number, (i, j) in enumerate(PAIRS):
        expected = -dcg(before, depth)
        for answer, chance in enumerate(ANSWER_PROBA @ before.pair_proba[number]):
            after = answered(prior, NONE, (i, j), answer)
            expected += chance * dcg(after, depth)
        pair = np.array([i]), np.array([j])
        value = objective.values(before, *pair, ANSWER_PROBA, ZERO_ONE_LOSS)
        assert value[0] == pytest.approx(expected, abs=1e-12)


def test_the_top_of_a_review_may_be_short():
    review = RANKER.review(**INPUT)
    ten, again = review.ask(6, objective="top"), review.ask(6, objective="top@10")
    np.testing.assert_array_equal(ten.value, again.value)
    first = review.ask(6, objective="top@1")
    assert sorted(first.qid.tolist()) == sorted(set(INPUT["qid"].tolist()))
    for wrong in ("top@0", "top@", "top@-1", "best@3"):
        with pytest.raises(ValueError, match="objective must be one of"):
            review.ask(2, objective=wrong)


def test_questions_are_chosen_as_if_the_most_probable_answer_had_come():
    prior = random_prior(np.random.default_rng(2), 5)
    aim = PAIRS_RIGHT, ANSWER_PROBA, ZERO_ONE_LOSS
    left, right = np.array(PAIRS).T
    asked, answers = [], NONE
    start = Posterior.of(prior)
    for question in itertools.islice(questions_of_query(start, *aim), 4):
        posterior = Posterior.of(prior, *answers)
        values = PAIRS_RIGHT.values(posterior, left, right, *aim[1:])
        values[[PAIRS.index(pair) for pair in asked]] = -1
        best = int(np.argmax(values))
        likely = int(np.argmax(ANSWER_PROBA @ posterior.pair_proba[best]))
        assert question == Question(values[best], *PAIRS[best], likely - 1)
        after = answered(prior, answers, PAIRS[best], likely).answered
        answers = after.left, after.right, after.likelihood
        asked.append(PAIRS[best])


def test_answers_are_drawn_from_one_truth():
    prior = random_prior(np.random.default_rng(4), 5)
    start = Posterior.of(prior)
    aim = PAIRS_RIGHT, Reviewers.of_error(0.0).answer_proba(), ZERO_ONE_LOSS
    for seed in range(20):
        rng = np.random.default_rng(seed)
        over = np.zeros((5, 5), dtype=int)
        for _, left, right, answer in questions_of_query(start, *aim, rng):
            over[left, right], over[right, left] = answer, -answer
        # Nobody errs: no order leads back to where it started.
        reach = over > 0
        for k in range(5):
            reach |= reach[:, [k]] & reach[[k], :]
        assert not (reach & reach.T).any()


def test_answers_are_drawn_as_those_to_one_truth_are_distributed():
    """Each has the probability that it has after the answers before it."""
    prior = random_prior(np.random.default_rng(4), 5)
    aim = PAIRS_RIGHT, ANSWER_PROBA, ZERO_ONE_LOSS
    drawn = {}
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        stream = questions_of_query(Posterior.of(prior), *aim, rng)
        before = ()
        for _, *question in itertools.islice(stream, 2):
            left, right, answer = question
            drawn.setdefault((before, left, right), []).append(answer)
            before += ((left, right, answer),)
    assert len(drawn) == 4  # the first question, and one after each of its answers
    for (before, left, right), answers in drawn.items():
        said = [ANSWER_PROBA[answer + 1] for *_, answer in before]
        known = [row[0] for row in before], [row[1] for row in before], said
        proba = enumerate_posterior(prior, *known)[0][PAIRS.index((left, right))]
        found = np.bincount(np.add(answers, 1), minlength=3) / len(answers)
        # Four standard errors of a share at most.
        close = 2 / np.sqrt(len(answers))
        np.testing.assert_allclose(found, ANSWER_PROBA @ proba, rtol=0, atol=close)


def test_what_was_answered_or_is_sure_is_not_asked():
    prior = random_prior(np.random.default_rng(3), 4)
    exact = Reviewers.of_error(0.0).answer_proba()
    left, right = np.array([0, 1]), np.array([1, 2])
    aim = PAIRS_RIGHT, exact, ZERO_ONE_LOSS
    # 0 over 1 over 2: what follows is sure, and three grades leave nothing open.
    posterior = Posterior.of(prior, left, right, exact[[2, 2]])
    asked = [q[1:3] for q in questions_of_query(posterior, *aim)]
    assert set(asked) <= {(0, 3), (1, 3), (2, 3)}


def streams(values):
    return [
        iter([Question(value, k, k + 1, 0) for k, value in enumerate(row)])
        for row in values
    ]


@pytest.mark.parametrize(
    ("n", "per_query", "expected"),
    [
        (3, None, [9, 8, 7]),
        (3, 1, [9, 3]),
        (3, "equal", [9, 8, 3]),
        (4, "equal", [9, 8, 3, 2]),
        (9, None, [9, 8, 7, 3, 2]),
        (0, None, []),
    ],
)
def test_the_best_of_all_queries(n, per_query, expected):
    chosen = choose_questions(streams([[9, 8, 7], [], [3, 2]]), n, per_query)
    assert [question.value for _, question in chosen] == expected


class FirstPairs(QuestionObjective):
    """The pairs in canonical order, each worth less than the one before."""

    def candidates(self, posterior):
        return -np.arange(posterior.pair_proba.shape[0])

    def values(self, posterior, left, right, answer_proba, loss):
        return 1.0 / (1 + left * posterior.n_items + right)


def test_an_objective_of_ones_own():
    prior = random_prior(np.random.default_rng(0), 14)
    start = Posterior.of(prior)
    aim = FirstPairs(), ANSWER_PROBA, ZERO_ONE_LOSS
    asked = [q[1:3] for q in itertools.islice(questions_of_query(start, *aim), 3)]
    assert asked[0] == (0, 1)
    assert asked == sorted(asked)


@pytest.mark.parametrize("values", [np.nan, [1.0, 2.0, 3.0]])
def test_values_that_are_not_one_number_per_pair_are_refused(values):
    class Wrong(FirstPairs):
        def values(self, posterior, left, right, answer_proba, loss):
            return values

    posterior = Posterior.of(random_prior(np.random.default_rng(0), 5))
    questions = questions_of_query(posterior, Wrong(), ANSWER_PROBA, ZERO_ONE_LOSS)
    with pytest.raises(ValueError, match="Wrong must return one number per pair"):
        next(questions)


def test_progress_is_printed_on_request(capsys):
    review = RANKER.review(**INPUT)
    asked = review.ask(5, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[Review] questions about query 1 of 6"
    assert len(lines) == 6
    again = review.ask(5)
    assert not capsys.readouterr().out
    np.testing.assert_array_equal(again.value, asked.value)


def test_beliefs_about_unanswered_queries_are_formed_once(monkeypatch):
    review, formed = RANKER.review(**INPUT), []
    form = GradePrior.take

    def counted(prior, rows):
        formed.append(int(NEW.qid[rows[0]]))
        return form(prior, rows)

    monkeypatch.setattr(GradePrior, "take", counted)
    review.ask(5)
    review.ranking()
    review.ask(5)
    assert formed == list(range(6))
