"""Error rates of reviewers, the worth of their answers, and contradictions."""

import numpy as np
import pytest

from skrank_abstain.pairs import group_queries
from skrank_abstain.review._answers import take_answers
from skrank_abstain.review._judging import (
    Reviewers,
    check_reviewer_error,
    find_contradictions,
    judge_reviewers,
    known_rates,
)

QUERIES = group_queries(["a"] * 4 + ["b"] * 2, 6)


def test_what_a_reviewer_says():
    turned, missed, split = np.array([0.05]), np.array([0.15]), np.array([0.2])
    np.testing.assert_allclose(
        Reviewers(turned, missed, split).answer_proba()[0],
        [[0.8, 0.1, 0.05], [0.15, 0.8, 0.15], [0.05, 0.1, 0.8]],
        rtol=0,
        atol=1e-15,
    )
    many = Reviewers.of_error([0.0, 0.15]).answer_proba()
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
    found = Reviewers.of_error([0.1, 0.2]).likelihood(answers)
    # Columns: right, tie, left is the better one.
    both = np.array([0.1 * 0.2, 0.1 * 0.6, 0.8 * 0.2])
    alone = np.array([0.6, 0.2, 0.2])
    np.testing.assert_allclose(
        found, [both / both.max(), alone / 0.6], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("rates", [None, 0.0, 0.2, {"a": 0, "b": 1 / 3}])
def test_rates(rates):
    assert check_reviewer_error(rates) == rates


@pytest.mark.parametrize(
    ("rates", "error"),
    [(0.34, ValueError), (-0.1, ValueError), ({"a": 2}, ValueError), ("a", TypeError),
     ([0.1], TypeError), (True, TypeError)],
)  # fmt: skip
def test_what_is_no_rate_is_refused(rates, error):
    with pytest.raises(error, match="reviewer_error must be"):
        check_reviewer_error(rates)


WORDS = ["right", "same", "left"]


def simulate(n_pairs, rates, turned=0.5, seed=0):
    """Return answers of all reviewers about pairs of known labels.

    ``turned`` of the errors about an order turn it around.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(-1, 2, n_pairs)
    table = {"left": [], "right": [], "label": [], "reviewer": []}
    for name, (order, tie) in rates.items():
        about_orders = (order * turned, order * (1 - turned))
        heard = Reviewers(*about_orders, tie).answer_proba()
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
    rates = {"a": (0.05, 0.05), "b": (0.3, 0.3), "c": (0.1, 0.6), "d": (0.4, 0.05)}
    found, _ = judge_reviewers(simulate(3000, rates, 0.2), np.full(4, np.nan), flat)
    order, tie = np.array([*rates.values()]).T
    close = {"rtol": 0, "atol": 0.03}
    np.testing.assert_allclose(found.reviewer_error + found.same_error, order, **close)
    np.testing.assert_allclose(found.tie_error, tie, **close)
    np.testing.assert_allclose(found.reviewer_error, 0.2 * order, **close)


def independent(reviewers, answers):
    """Return what independent answers say; a tie lies between two orders."""
    expected = reviewers.likelihood(answers)
    for pair, row in enumerate(expected):
        if {-1, 1} <= {*answers.label[answers.pair == pair].tolist()}:
            row[1] = max(row[1], min(row[0], row[2]))
    return expected


def test_known_rates_are_kept():
    answers = simulate(300, {"a": (0.05, 0.05), "b": (0.3, 0.3)})
    all_known, likelihood = judge_reviewers(answers, np.full(2, 0.1), flat)
    np.testing.assert_array_equal(likelihood, independent(all_known, answers))
    assert (likelihood != all_known.likelihood(answers)).any()
    np.testing.assert_array_equal(all_known, [[0.1, 0.1], [0.1, 0.1], [0.2, 0.2]])
    gold, _ = judge_reviewers(answers, np.array([0.0, np.nan]), flat)
    assert gold.reviewer_error[0] == gold.tie_error[0] == 0
    assert gold.reviewer_error[1] == pytest.approx(0.15, abs=0.05)


def test_nobody_is_believed_the_opposite_of_what_they_said():
    # One who turns every order around, against one who is right.
    table = {"left": [], "right": [], "label": [], "reviewer": []}
    for pair in range(200):
        for name, label in (("right", "left"), ("wrong", "right")):
            table["left"].append(2 * pair)
            table["right"].append(2 * pair + 1)
            table["label"].append(label)
            table["reviewer"].append(name)
    queries = group_queries(np.repeat(np.arange(200), 2), 400)
    answers = take_answers(table, queries, None)
    lopsided = np.array([0.3, 0.1, 0.6])

    def proba(likelihood):
        return flat(likelihood * lopsided)

    found, _ = judge_reviewers(answers, np.full(2, np.nan), proba)
    assert found.reviewer_error[1] <= (1 - found.same_error[1]) / 2
    heard = found.answer_proba()
    assert (heard[:, 2, 2] >= heard[:, 0, 2] - 1e-12).all()


@pytest.mark.parametrize(
    ("given", "names", "rates", "typical"),
    [
        (None, ("bo", "gold="), [np.nan, 0.0], np.nan),
        (0.2, ("bo", "gold="), [0.2, 0.0], 0.2),
        ({"ann": 0.1}, ("bo", "gold=", "ann"), [np.nan, 0.0, 0.1], np.nan),
        ({"bo": 0.3}, ("bo", "gold="), [0.3, 0.0], np.nan),
    ],
)
def test_rates_of_people_who_answered_and_who_have_not(given, names, rates, typical):
    found = known_rates(given, ("bo", "gold="))
    assert found[0] == names
    np.testing.assert_array_equal(found[1], rates)
    np.testing.assert_array_equal(found[2], typical)


def test_who_says_little_is_typical():
    answers = simulate(1, {"a": (0.3, 0.3)})
    found, _ = judge_reviewers(answers, np.array([np.nan]), flat)
    assert found.reviewer_error[0] == pytest.approx(0.05, abs=0.02)
    none = take_answers(None, group_queries(None, 2), None)
    assert judge_reviewers(none, np.empty(0), flat)[0].reviewer_error.size == 0


def test_equal_people_who_contradict_each_other_say_nothing_about_a_pair():
    for rate in (np.nan, 0.0, 0.02, 0.2):
        _, likelihood = judge_reviewers(
            by_letters(["x0>1", "y0<1"]), np.full(2, rate), flat
        )
        np.testing.assert_allclose(likelihood, 1, rtol=0, atol=1e-12)


def by_letters(said):
    """Return answers such as "x0>1" of reviewers x and y about two queries."""
    table = {
        "left": [int(answer[1]) for answer in said],
        "right": [int(answer[3]) for answer in said],
        "label": [{">": "left", "=": "same", "<": "right"}[a[2]] for a in said],
        "reviewer": [answer[0] for answer in said],
    }
    return take_answers(table, QUERIES, None)


@pytest.mark.parametrize(
    "said", [["x0>1", "y0<1"], ["x0>1", "y0=1"], ["x0>1", "x0<1"], ["x0<1", "y0=1"]]
)
def test_nobody_is_less_credible_for_what_the_model_believes(said):
    answers = by_letters(said)
    for model in ([0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.01, 0.01, 0.98]):
        unknown = np.full(len(answers.reviewers), np.nan)
        found, likelihood = judge_reviewers(
            answers, unknown, lambda given, model=model: flat(given * np.array(model))
        )
        assert np.ptp(np.array(found)) > 0.01  # the estimates do follow the model
        typical = Reviewers.of_error(np.full(unknown.size, 0.05))
        expected = independent(typical, answers)
        np.testing.assert_allclose(likelihood, expected, rtol=0, atol=1e-12)


def test_answers_about_other_pairs_tell_who_is_credible():
    # y contradicts what is known about four other pairs; both agree about the last one.
    others = ["y0>2", "y0>3", "y1>2", "y1>3"]
    answers = by_letters(["x0>1", "y0<1", "x4>5", "y4>5", *others])
    told = np.full((answers.pair_start.size, 3), [0.2, 0.2, 0.6])[:-1]
    told[1:5] = [1.0, 0.0, 0.0]
    _, likelihood = judge_reviewers(answers, np.full(2, np.nan), lambda _: told)
    # x answered about one other pair, y about five; 4 orders of y are reversed.
    x = np.array([0.5 + 0.2, 0.5, 1 + 0.2]) / (10 + np.array([0.8, 0.8, 0.2]))
    y = np.array([0.5 + 4.2, 0.5, 1 + 0.2]) / (10 + np.array([4.8, 4.8, 0.2]))
    expected = [x[0] * (1 - y[0] - y[1]), x[2] * y[2] / 4, (1 - x[0] - x[1]) * y[0]]
    expected[1] = max(expected[1], expected[0])  # a tie lies between the orders
    np.testing.assert_allclose(
        likelihood[0], np.array(expected) / max(expected), rtol=0, atol=1e-12
    )


def found(said, reviewers=None, proba=None):
    table = {
        "left": [int(answer[0]) for answer in said],
        "right": [int(answer[2]) for answer in said],
        "label": [{">": "left", "=": "same", "<": "right"}[a[1]] for a in said],
        "reviewer": reviewers or ["x"] * len(said),
    }
    answers = take_answers(table, QUERIES, None)
    if proba is None:
        proba = np.full((answers.pair_start.size - 1, 3), 1 / 3)
    return [
        (one.kind, one.qid, one.answers)
        for one in find_contradictions(answers, QUERIES, proba)
    ]


@pytest.mark.parametrize(
    "said",
    [[], ["0>1", "1>2", "0>2"], ["0=1", "1=2"], ["0>1", "1=2", "0>2"], ["0>1", "4>5"]],
)
def test_answers_that_go_together(said):
    assert found(said) == []


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        (["0>1", "1>2", "2>0", "2>3"], (0, 1, 2)),
        (["0>1", "1=2", "2=0"], (0, 1, 2)),
        (["0>1", "2=1", "3=2", "3>0", "4>5"], (0, 1, 2, 3)),
    ],
)
def test_cycles_through_orders_and_ties(said, rows):
    assert found(said) == [("cycle", "a", rows)]


def test_two_reviewers_and_one_who_changed():
    assert found(["0>1", "1=0"], ["x", "y"]) == [("conflict", "a", (0, 1))]
    assert found(["4>5", "4=5"]) == [("changed", "b", (0, 1))]
    # A tie with a third item adds no cycle; a way through three items is one.
    assert found(["0>1", "1=0", "1=2"], ["x", "y", "y"]) == [("conflict", "a", (0, 1))]
    assert found(["0>1", "1>0", "1>2", "2>0"], ["x", "y", "y", "y"]) == [
        ("conflict", "a", (0, 1)),
        ("cycle", "a", (3, 0, 2)),
    ]


def test_the_shortest_cycles_come_first_and_share_no_answer():
    # On a ring of twelve a way back of three, and one of four in the other query.
    ring = [(k, (k + 1) % 12) for k in range(12)]
    pairs = [*ring, (6, 4), *((12 + k, 12 + (k + 1) % 4) for k in range(4))]
    pairs += [(16, 18), (18, 19), (19, 16)]
    labels = ["left"] * 18 + ["same", "same"]
    table = {
        "left": [one for one, _ in pairs],
        "right": [other for _, other in pairs],
        "label": labels,
    }
    queries = group_queries(["a"] * 12 + ["b"] * 8, 20)
    answers = take_answers(table, queries, None)
    proba = np.full((len(pairs), 3), 1 / 3)
    cycles = find_contradictions(answers, queries, proba)
    rows = [each.answers for each in cycles]
    # Who follows the answers comes back to the first item.
    assert rows == [(4, 5, 12), (17, 18, 19), (13, 14, 15, 16)]
    assert str(cycles[1]) == (
        "b, cycle: reviewer: 16 or 18? left (row 17); reviewer: 18 or 19? same (row "
        "18); reviewer: 19 or 16? same (row 19)"
    )


def test_a_contradiction_says_who_said_what():
    names = np.array(["Ann", "Bo", "Cy", "Di", "Eve", "Flo"])
    said = [("Ann", "Bo", "Ann", "x"), ("Bo", "Ann", "left", "y")]
    keys = "left", "right", "label", "reviewer"
    table = [dict(zip(keys, row, strict=True)) for row in said]
    answers = take_answers([row | {"qid": "a"} for row in table], QUERIES, names)
    proba = np.full((1, 3), 1 / 3)
    (conflict,) = find_contradictions(answers, QUERIES, proba)
    assert list(conflict.said) == table
    assert str(conflict) == (
        "a, conflict: x: Ann or Bo? Ann (row 0); y: Bo or Ann? left (row 1)"
    )


def test_improbable_answers():
    proba = np.array([[0.9, 0.06, 0.04], [0.1, 0.1, 0.8]])
    assert found(["0>1", "4>5"], proba=proba) == [("improbable", "a", (0,))]


def test_a_stated_probability_is_the_error_of_one_answer():
    table = {
        "left": [0, 1, 4],
        "right": [1, 2, 5],
        "label": ["left", "same", "right"],
        "probability": ["0.7", None, 1 / 3],
    }
    answers = take_answers(table, QUERIES, None)
    reviewers, likelihood = judge_reviewers(answers, np.array([0.1]), flat)
    np.testing.assert_array_equal(reviewers, [[0.1], [0.1], [0.2]])
    # Columns: right, tie, left is the better one. A third says nothing.
    expected = [[0.15 / 0.7, 0.15 / 0.7, 1], [0.1 / 0.8, 1, 0.1 / 0.8], [1, 1, 1]]
    np.testing.assert_allclose(likelihood, expected, rtol=0, atol=1e-8)


def test_answers_with_a_probability_show_no_rate():
    table = {"left": [0], "right": [1], "label": ["left"], "reviewer": ["a"]}
    for probability, close in ((0.5, True), (None, False)):
        one = take_answers(table | {"probability": [probability]}, QUERIES, None)
        found, _ = judge_reviewers(
            one, np.array([np.nan]), lambda given: np.tile([1.0, 0, 0], (len(given), 1))
        )
        assert bool(np.isclose(found.reviewer_error[0], 0.05)) is close


@pytest.mark.parametrize("probability", [0.3, 1.01, "80 %", -1])
def test_what_is_no_probability_of_the_label_is_refused(probability):
    table = {"left": [0], "right": [1], "label": ["left"], "probability": [probability]}
    with pytest.raises(ValueError, match=r"probability, 1/3 .*, got .* in row 0"):
        take_answers(table, QUERIES, None)
