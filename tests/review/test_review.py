"""The review loop: answers in, decisions, questions and a ranking out."""

import copy
import pickle

import numpy as np
import pytest
from doubles import FirstColumn
from review.enumerated import enumerate_posterior
from review.simulated import DATA, INPUT, NEW, RANKER, X, fit, loop, right, say
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import _memory, pair_labels
from skrank_abstain.review._choosing import UNTOLD
from skrank_abstain.review._judging import Reviewers


def test_without_answers_it_is_the_ranker():
    review, decisions = RANKER.review(**INPUT), RANKER.predict_pairs(**INPUT)
    for name in ("left", "right", "qid", "label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(
            getattr(review.decisions, name), getattr(decisions, name)
        )
    ranking, expected = review.ranking(), RANKER.ranking(**INPUT)
    for name in ("qid", "item_id", "place", "best", "worst"):
        np.testing.assert_array_equal(getattr(ranking, name), getattr(expected, name))
    assert review.reviewer_error_ == {}
    assert review.contradictions == ()
    assert review.expected_accuracy == review._pair_proba.max(axis=1).mean()


def test_decisions_say_after_how_many_answers_they_are_the_rankers_own_no_more():
    (pair,) = RANKER.review(**INPUT).ask(1)
    said = [{"qid": pair.qid, "left": pair.left, "right": pair.right, "label": "left"}]
    for answers, end in ((None, ""), ([], ""), (said, ", answers: 1")):
        log = RANKER.review(**INPUT, answers=answers).decisions
        assert log.id_ == f"{RANKER.id_}{end}"


def test_equal_items_are_tied_until_an_answer_tells_them_apart():
    same = np.zeros((3, 1))
    decisions = RANKER.review(same).decisions
    np.testing.assert_array_equal(decisions.label, 0)
    np.testing.assert_allclose(decisions.risk, 1 - decisions.proba[:, 1], rtol=1e-15)
    said = [{"left": 1, "right": 0, "label": "left"}]
    review = RANKER.review(same, answers=said, reviewer_error=0.0)
    assert review.decisions.label[0] == -1
    lead = review.decisions.proba[:, 2] - review.decisions.proba[:, 0]
    assert (np.sign(lead) == [-1, -1, 1]).all()
    np.testing.assert_array_equal(review.ranking().item_id, [1, 2, 0])


# With answers


def test_probabilities_are_those_of_the_definition():
    said = [
        {"left": 1, "right": 0, "label": "same", "reviewer": "a"},
        {"left": 1, "right": 4, "label": "left", "reviewer": "a"},
        {"left": 4, "right": 1, "label": "same", "reviewer": "b"},
        {"left": 2, "right": 3, "label": "right", "reviewer": "b"},
    ]
    rates = {"a": 0.05, "b": 0.125}
    review = RANKER.review(X[:5], answers=said, reviewer_error=rates)
    assert review.reviewer_error_ == rates
    a, b = (
        Reviewers.of_error(0.05).answer_proba(),
        Reviewers.of_error(0.125).answer_proba(),
    )
    likelihood = np.array([a[1], a[2] * b[1], b[0]])
    expected, _, _ = enumerate_posterior(review.prior, [0, 1, 2], [1, 4, 3], likelihood)
    np.testing.assert_allclose(review.decisions.proba, expected, rtol=0, atol=1e-8)


def turn(answer):
    words = {"left": "right", "right": "left", "same": "same"}
    sides = {"left": answer["right"], "right": answer["left"]}
    return answer | sides | {"label": words[answer["label"]]}


def test_the_order_of_arrival_changes_no_bit():
    answers, review = loop(4, error=0.2)
    rng = np.random.default_rng(5)
    for _ in range(3):
        shuffled = [answers[k] for k in rng.permutation(len(answers))]
        turned = [
            {
                **answer,
                "left": answer["right"],
                "right": answer["left"],
                "label": {"left": "right", "right": "left"}.get(
                    answer["label"], "same"
                ),
            }
            if rng.random() < 0.5
            else answer
            for answer in shuffled
        ]
        other = RANKER.review(**INPUT, answers=turned)
        np.testing.assert_array_equal(other.decisions.proba, review.decisions.proba)
        assert other.reviewer_error_ == review.reviewer_error_
        assert other.expected_accuracy == review.expected_accuracy
        np.testing.assert_array_equal(other.ask(7).left, review.ask(7).left)
        np.testing.assert_array_equal(other.ask(7).value, review.ask(7).value)


def test_answers_about_few_pairs_put_many_right():
    answers, review = loop(6, reviewer_error=0.0)
    share = len(answers) / len(review.decisions)
    assert share == pytest.approx(60 / 396)
    assert right(review) > right(RANKER.review(**INPUT)) + 2 * share
    assert review.expected_accuracy == pytest.approx(right(review), abs=0.05)


def test_more_right_answers_do_not_make_it_worse():
    course = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pairs = RANKER.review(**INPUT).decisions
        order = rng.permutation(len(pairs))
        answers = say(pairs.take(order))
        course.append(
            [
                right(RANKER.review(**INPUT, answers=answers[:n], reviewer_error=0.0))
                for n in (0, 20, 40, 80, 160)
            ]
        )
    assert (np.diff(np.mean(course, axis=0)) > 0).all()


def test_ranks_are_those_of_the_decided_orders():
    answers, review = loop(5, error=0.1)
    asked = [row[side] for row in answers for side in ("left", "right")]
    decisions, ranking = review.decisions, review.ranking()
    assert ((ranking.best <= ranking.place) & (ranking.place <= ranking.worst)).all()
    n = NEW.qid.size
    reach = np.zeros((n, n), dtype=bool)
    # Items that people call the same count as one: an order with one holds for all.
    told = review._people[0]
    same = np.eye(n, dtype=bool)
    for i, j in zip(decisions.left[told == 0], decisions.right[told == 0], strict=True):
        same[i, j] = same[j, i] = True
    assert same.sum() > n

    def reach_by(orders):
        ahead = decisions.label[orders] > 0
        left, right_ = decisions.left[orders], decisions.right[orders]
        reach = np.zeros((n, n), dtype=bool)
        reach[np.where(ahead, left, right_), np.where(ahead, right_, left)] = True
        reach = (same.astype(int) @ reach @ same) > 0
        for k in range(n):
            reach |= reach[:, [k]] & reach[[k], :]
        return reach

    # Where the orders form circles, those stay that people gave, and the ranker's own.
    made = review._decide(decisions.left, decisions.right, slice(None))
    reach = reach_by(made.decided_order)
    circle = made.decided_order & (reach & reach.T)[made.left, made.right]
    own = ~np.isin([made.left, made.right], asked).any(axis=0)
    np.testing.assert_array_equal(
        decisions.decided_order, made.decided_order & (~circle | (told != UNTOLD) | own)
    )
    assert (circle & ~decisions.decided_order).any()
    reasons = {*decisions.reason[circle & ~decisions.accepted]}
    assert reasons == {"in a circle with answers"}
    reach = reach_by(decisions.decided_order)
    assert not (reach & reach.T).any()
    reach &= ~same
    sizes = np.bincount(NEW.qid)[NEW.qid]
    bounds = np.stack([1 + reach.sum(axis=0), sizes - reach.sum(axis=1)], axis=1)
    np.testing.assert_array_equal(review.rank_intervals(), bounds)
    np.testing.assert_array_equal(ranking.best, bounds[ranking.item_id, 0])


@pytest.mark.parametrize(
    "labels", [["left", "right"] * 30, ["left", "same", "right"] * 20]
)
def test_contradictory_answers_are_finite_and_reported(labels):
    said = [
        {"left": 0, "right": 1, "label": label, "reviewer": str(k)}
        for k, label in enumerate(labels)
    ]
    said += [
        {"left": i, "right": j, "label": "left", "reviewer": "x"}
        for i, j in [(2, 3), (3, 4), (4, 2)]
    ]
    for rate in (None, 0.0, 0.3):
        review = RANKER.review(X[:6], answers=said, reviewer_error=rate)
        assert np.isfinite(review.decisions.proba).all()
        kinds = [one.kind for one in review.contradictions]
        assert kinds[0] == "conflict"
        assert (60, 61, 62) in [one.answers for one in review.contradictions]


@pytest.mark.parametrize("loss", ["misranking", "zero_one", "clear_order"])
def test_two_who_contradict_each_other_leave_an_open_pair_open(loss):
    ranker = fit(loss=loss, coverage=0.5)
    before = ranker.review(X[:12]).decisions
    for k in np.flatnonzero(~before.accepted):
        i, j = before.left[k], before.right[k]
        said = answers_of((i, "left", j)) + answers_of((i, "right", j), reviewer="y")
        after = ranker.review(X[:12], answers=said).decisions
        assert not after.accepted[k]
        assert not after.answered[k]


def test_what_people_disagree_about_is_not_decided_by_the_model():
    ranker = fit(loss="misranking", coverage=0.9)
    before = ranker.review(X[:12]).decisions
    for k in np.flatnonzero(before.accepted):
        i, j = before.left[k], before.right[k]
        said = answers_of((i, "left", j)) + answers_of((i, "right", j), reviewer="y")
        after = ranker.review(X[:12], answers=said).decisions
        assert not after.accepted[k]
        assert after.reason[k] == "answers disagree"
        assert after.disputed.sum() == 1


def test_rates_are_estimated_and_the_accuracy_is_as_expected():
    asked = RANKER.review(**INPUT).ask(120)
    answers = say(asked, 0.05, seed=0, reviewer="good")
    answers += say(asked, 0.4, seed=100, reviewer="bad")
    review = RANKER.review(**INPUT, answers=answers)
    assert review.reviewer_error_["good"] == pytest.approx(0.025, abs=0.03)
    assert review.reviewer_error_["bad"] == pytest.approx(0.2, abs=0.06)
    assert review.same_error_["bad"] == pytest.approx(0.2, abs=0.1)
    # Of six seeds the worst is .037 too low.
    assert review.expected_accuracy == pytest.approx(right(review), abs=0.06)


def test_who_sees_finer_differences_than_the_grades_is_not_taken_for_wrong():
    # A reviewer who orders items of one grade, too, and never says "same".
    finer = NEW.target + np.random.default_rng(1).uniform(0, 0.9, NEW.qid.size)
    answers = []
    for _ in range(9):
        review = RANKER.review(**INPUT, answers=answers)
        for pair in review.ask(15):
            better = finer[pair.left] > finer[pair.right]
            label = "left" if better else "right"
            answers.append({"left": pair.left, "right": pair.right, "label": label})
    # The pairs of different grades are in order, and stay so.
    place = np.empty(NEW.qid.size)
    ranking = review.ranking()
    place[ranking.item_id] = ranking.place
    left, right = review.decisions.left, review.decisions.right
    ahead = NEW.target[left] - NEW.target[right]
    in_order = (place[left] < place[right]) == (ahead > 0)
    assert in_order[ahead != 0].mean() > 0.97
    assert review.tie_error_["reviewer"] > 0.5
    assert review.reviewer_error_["reviewer"] < 0.05
    assert review.same_error_["reviewer"] < 0.05


def test_gold_answers_are_right_and_measure_the_others():
    asked = RANKER.review(**INPUT).ask(60, per_query="equal")
    said = say(asked, 0.4, reviewer="Bo")
    gold = [
        {name: row[name] for name in ("qid", "left", "right", "label")}
        for row in say(asked)
    ]
    alone = RANKER.review(**INPUT, answers=said)
    review = RANKER.review(**INPUT, answers=said, gold=gold)
    assert review.reviewer_error_["gold="] == 0
    truth = {(row["left"], row["right"]): row["label"] for row in gold}
    orders = [row for row in said if truth[row["left"], row["right"]] != "same"]
    turned = np.mean(
        [
            {"left", "right"} == {row["label"], truth[row["left"], row["right"]]}
            for row in orders
        ]
    )
    assert review.reviewer_error_["Bo"] == pytest.approx(turned, abs=0.07)
    assert right(review) > right(alone) + 0.1
    assert review.typical.reviewer_error == review.reviewer_error_["Bo"]
    by_name = [row | {"reviewer": "gold"} for row in gold]
    same = RANKER.review(**INPUT, answers=said + by_name, reviewer_error={"gold": 0.0})
    np.testing.assert_array_equal(same.decisions.proba, review.decisions.proba)
    known = RANKER.review(**INPUT, answers=said, gold=gold, reviewer_error=0.3)
    assert known.reviewer_error_ == {"Bo": 0.3, "gold=": 0.0}
    only = RANKER.review(**INPUT, gold=gold)
    assert (only.typical.reviewer_error, only.reviewer_error_) == (0.05, {"gold=": 0.0})
    # A rate may be known before its reviewer answers, as in the first round.
    first = RANKER.review(**INPUT, gold=gold, reviewer_error={"Bo": 0.3})
    assert first.typical.reviewer_error == 0.3
    assert first.reviewer_error_ == {"gold=": 0.0, "Bo": 0.3}
    with_cy = RANKER.review(
        **INPUT, answers=said, gold=gold, reviewer_error={"Cy": 0.3}
    )
    np.testing.assert_array_equal(with_cy.decisions.proba, review.decisions.proba)
    assert with_cy.reviewer_error_ == review.reviewer_error_ | {"Cy": 0.3}
    timed = [row | {"time": k} for k, row in enumerate(said)]
    np.testing.assert_array_equal(
        RANKER.review(**INPUT, answers=timed, gold=gold).decisions.proba,
        review.decisions.proba,
    )
    # Whoever gave them, as in a file that is read.
    named = RANKER.review(**INPUT, answers=said, gold=by_name)
    np.testing.assert_array_equal(named.decisions.proba, review.decisions.proba)


def test_a_page_of_the_one_who_is_right_may_be_gold_and_answers():
    page = [
        row | {"answer_id": f"page Bo {k}"}
        for k, row in enumerate(say(RANKER.review(**INPUT).ask(5), reviewer="Bo"))
    ]
    review = RANKER.review(**INPUT, answers=page, gold=page)
    assert review.answers.reviewers == ("Bo", "gold=")
    assert len(review.answers) == 10


def test_a_reviewer_called_gold_is_one_like_any_other():
    asked = RANKER.review(**INPUT).ask(30)
    said = say(asked, 0.4, reviewer="gold")
    gold = [
        {k: row[k] for k in ("qid", "left", "right", "label")} for row in say(asked)
    ]
    rates = RANKER.review(**INPUT, answers=said, gold=gold).reviewer_error_
    assert rates.keys() == {"gold", "gold="}
    assert rates["gold"] > 0.1
    assert rates["gold="] == 0


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (0.34, r"reviewer_error must be .*0\.33"),
        ({"Ann": 0.1, "ann": 0.2}, r"in one way, got 'Ann' and 'ann'"),
    ],
)
def test_rates_that_nobody_has_are_refused(rate, message):
    answers = say(RANKER.review(**INPUT).ask(3), reviewer="Ann")
    with pytest.raises(ValueError, match=message):
        RANKER.review(**INPUT, answers=answers, reviewer_error=rate)


# What people say holds if nobody contradicts it


def by_pair(review):
    d = review.decisions
    pairs = zip(d.left.tolist(), d.right.tolist(), strict=True)
    return {pair: k for k, pair in enumerate(pairs)}


def answers_of(*rows, reviewer="x", **qid):
    return [
        {**qid, "left": i, "right": j, "label": label, "reviewer": reviewer}
        for i, label, j in rows
    ]


@pytest.mark.parametrize("loss", ["misranking", "zero_one", "clear_order"])
@pytest.mark.parametrize("word", ["left", "same", "right"])
def test_an_answered_pair_is_decided_as_people_say(loss, word):
    ranker = fit(loss=loss, coverage=0.3)
    pairs = ranker.predict_pairs(**INPUT)
    for k in range(0, len(pairs), 29):
        pair = int(pairs.left[k]), int(pairs.right[k])
        said = answers_of((pair[0], word, pair[1]), qid=pairs.qid[k])
        decisions = ranker.review(**INPUT, answers=said).decisions
        assert decisions.accepted[k]
        assert decisions.label[k] == {"left": 1, "same": 0, "right": -1}[word]


def test_items_called_the_same_share_their_ranks():
    ranker = fit(loss="misranking")
    first, second, third = ranker.ranking(X[:12]).item_id[:3].tolist()
    said = answers_of((first, "same", second), (second, "same", third))
    review = ranker.review(X[:12], answers=said)
    at = by_pair(review)
    d = review.decisions
    for pair in ((first, second), (second, third), (first, third)):
        k = at[min(pair), max(pair)]
        assert d.decided_tie[k]  # what follows, too
    ranking = review.ranking()
    bounds = review.rank_intervals()[[first, second, third]]
    assert (bounds == bounds[0]).all()
    # They are open if more than the three may stand there.
    rows = [ranking.item_id.tolist().index(i) for i in (first, second, third)]
    assert (ranking.open[rows] == (np.ptp(bounds[0]) > 2)).all()


def test_ranks_follow_what_was_said_through_the_same():
    ranker = fit(loss="misranking")
    order = ranker.ranking(X[:12]).item_id.tolist()
    a, b, c, d = order[1], order[4], order[6], order[9]
    # So d is above b, through c, though the ranker has it far below.
    said = answers_of((a, "left", b), (d, "same", a), (c, "left", d))
    review = ranker.review(X[:12], answers=said)
    bounds = review.rank_intervals()
    for over, under in ((a, b), (d, b), (c, d), (c, a), (c, b)):
        assert (bounds[over] < bounds[under]).all()
    places = dict(
        zip(review.ranking().item_id, review.ranking().place.tolist(), strict=True)
    )
    assert max(places[a], places[d]) < places[b]
    assert places[c] < min(places[a], places[d])


def test_places_follow_all_answers_that_nobody_contradicts():
    # Also where the model's orders lead from the worse item back to the better one.
    circles = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.permutation(12)  # not the model's
        drawn = {frozenset(rng.choice(12, 2, replace=False).tolist()) for _ in range(4)}
        said = [sorted(pair, key=lambda item: -truth[item]) for pair in drawn]
        answers = answers_of(*((better, "left", worse) for better, worse in said))
        review = RANKER.review(rng.normal(0, 1.5, (12, 1)), answers=answers)
        best, worst = review.rank_intervals().T
        place = np.argsort(review.ranking().item_id)
        decided = review.decisions
        over = np.zeros((12, 12), dtype=bool)
        for i, j, sign in zip(decided.left, decided.right, decided.label, strict=True):
            over[i, j], over[j, i] = sign > 0, sign < 0
        for better, worse in said:
            for ranks in (place, best, worst):
                assert ranks[better] < ranks[worse]
            circles += bool((over[worse] & over[:, better]).any())
    assert circles > 5


def test_a_tie_alone_leaves_nothing_open():
    said = answers_of((0, "left", 2), (1, "left", 2), (0, "same", 1), (3, "right", 2))
    ranking = fit(loss="misranking").review(X[:4], answers=said).ranking()
    assert ranking.best.tolist() == [1, 1, 3, 4]
    assert ranking.worst.tolist() == [2, 2, 3, 4]
    assert not ranking.open.any()
    assert "True" not in ranking._repr_html_()


@pytest.mark.parametrize(
    "said",
    [
        answers_of((0, "left", 1)) + answers_of((0, "right", 1), reviewer="y"),
        answers_of((0, "left", 1)) + answers_of((0, "same", 1), reviewer="y"),
        answers_of((0, "left", 1), (1, "left", 2), (2, "left", 0)),
        answers_of((0, "left", 1), (1, "same", 2), (0, "same", 2)),
    ],
)
@pytest.mark.parametrize("error", [0.1, None])
def test_equally_credible_contradictions_decide_nothing(said, error):
    ranker = fit(loss="misranking", coverage=0.1)
    review = ranker.review(X[:12], answers=said, reviewer_error=error)
    assert review.contradictions
    d, at = review.decisions, by_pair(review)
    for i, j in {(a["left"], a["right"]) for a in said}:
        k = at[min(i, j), max(i, j)]
        assert d.accepted[k] == (d.risk[k] <= ranker.threshold_)
    assert (review._people[0] == 2).all()


def test_the_more_credible_answer_decides():
    said = answers_of((0, "left", 1)) + answers_of((0, "right", 1), reviewer="y")
    # Both answer about five more pairs, which gold answers are about; one is wrong.
    more = [(i, "left", i + 5) for i in range(2, 7)]
    turned = [(i, "right", j) for i, _, j in more]
    for x, y, label in ((more, turned, 1), (turned, more, -1)):
        both = said + answers_of(*x) + answers_of(*y, reviewer="y")
        gold = [{"left": i, "right": j, "label": word} for i, word, j in more]
        d = RANKER.review(X[:12], answers=both, gold=gold).decisions
        assert d.answered[0]
        assert d.label[0] == label
    (third,) = answers_of((0, "right", 1), reviewer="z")
    d = RANKER.review(X[:12], answers=[*said, third]).decisions
    assert d.answered[0]
    assert d.label[0] == -1
    for rates, label in (({"x": 0.3, "y": 0.05}, -1), ({"x": 0.05, "y": 0.3}, 1)):
        d = RANKER.review(X[:12], answers=said, reviewer_error=rates).decisions
        assert d.accepted[0]
        assert d.label[0] == label


@pytest.mark.parametrize("loss", ["misranking", "zero_one"])
@pytest.mark.parametrize("boundary", ["accept", "randomize"])
def test_pairs_that_no_answer_concerns_keep_the_decision_of_the_ranker(loss, boundary):
    ranker = fit(loss=loss, coverage=0.5, boundary=boundary)
    own = ranker.predict_pairs(**INPUT)
    answers = say(ranker.review(**INPUT).ask(25, objective="top"), error=0.2)
    d = ranker.review(**INPUT, answers=answers).decisions
    asked = np.unique([[a["left"], a["right"]] for a in answers])
    neither = ~(np.isin(own.left, asked) | np.isin(own.right, asked))
    assert 0.05 < neither.mean() < 0.9
    for name in ("label", "accepted", "risk", "proba"):
        expected = getattr(own, name)
        np.testing.assert_array_equal(getattr(d, name)[neither], expected[neither])


def test_beliefs_start_from_the_bins_of_the_ranker():
    proba = RANKER.predict_pairs(**INPUT).proba
    n = RANKER.tie_model_.n_pairs_
    # One pair of unknown outcome is added to the table.
    review = RANKER.review(**INPUT)
    expected = ((n + 1) * proba - 1 / 3) / n
    np.testing.assert_allclose(review._pair_proba, expected, rtol=0, atol=1e-12)


def test_equal_beliefs_are_ordered_by_score():
    ranker = fit(loss="misranking")
    edges = ranker.tie_model_.edges_
    one_bin = np.linspace(*edges[100:102], 6)[1:5, None]
    other = np.array([[edges[150]]])
    said = answers_of(*((i, "right", 4) for i in range(4)))
    items = np.concatenate([one_bin, other])
    review = ranker.review(items, answers=said)
    d = review.decisions
    both = d.right < 4
    np.testing.assert_allclose(d.proba[both, 0], d.proba[both, 2], rtol=1e-9)
    assert (d.label[both] == -1).all()  # the higher score
    np.testing.assert_allclose(d.risk[both], d.proba[both, 2], rtol=1e-9)
    np.testing.assert_array_equal(review.ranking().item_id, [4, 3, 2, 1, 0])


def test_the_score_of_the_ranking_is_the_expected_gain():
    said = answers_of((0, "left", 1), (2, "right", 3))
    review = RANKER.review(X[:12], answers=said)
    ranking, posterior = review.ranking(), review._posterior(0)
    gain = (posterior.grade_proba * (2.0 ** np.arange(3) - 1)).sum(axis=1)
    np.testing.assert_allclose(ranking.score, gain[ranking.item_id], rtol=1e-12)


# Questions


def test_questions_are_pairs_with_a_value():
    review = RANKER.review(**INPUT)
    asked = review.ask(12)
    assert (np.diff(asked.value) <= 0).all()
    assert "value" in asked.to_frame()
    decisions = review.decisions
    number = {
        pair: k
        for k, pair in enumerate(
            zip(decisions.left.tolist(), decisions.right.tolist(), strict=True)
        )
    }
    for k, (left, right_) in enumerate(
        zip(asked.left.tolist(), asked.right.tolist(), strict=True)
    ):
        at = number[left, right_]
        np.testing.assert_array_equal(asked.proba[k], decisions.proba[at])
        assert asked.accepted[k] == decisions.accepted[at]
    assert len(set(zip(asked.left, asked.right, strict=True))) == 12
    assert repr(asked).startswith("Questions(n_pairs=12, n_queries=")


def test_notebooks_show_questions_and_reviewers():
    questions = RANKER.review(**INPUT).ask(3)
    page = questions._repr_html_()
    assert '<th scope="col">value</th>' in page
    assert f"<td>{questions.value[0]:.4g}</td>" in page
    assert "<table" not in RANKER.review(**INPUT)._repr_html_()
    answers = say(questions, reviewer="<b>Ann")
    review = RANKER.review(**INPUT, answers=answers, reviewer_error=0.125)
    page = review._repr_html_()
    assert "&lt;b&gt;Ann</th><td>3</td><td>0.125</td><td>0.125</td>" in page
    # One word for each rate, wherever it is shown.
    for name, rate in review.reviewers._asdict().items():
        assert f'<th scope="col">{name}_</th>' in page
        assert [*getattr(review, f"{name}_").values()] == rate.tolist()


def test_questions_of_queries_in_turns_of_rows():
    rows = np.random.default_rng(0).permutation(NEW.qid.size)
    review = RANKER.review(X[rows], qid=NEW.qid[rows])
    asked, expected = review.ask(5), RANKER.review(**INPUT).ask(5)
    np.testing.assert_allclose(asked.value, expected.value, rtol=0, atol=1e-9)
    found = {frozenset((rows[p.left], rows[p.right])) for p in asked}
    assert found == {frozenset((p.left, p.right)) for p in expected}


def test_questions_are_about_the_top_unless_asked_otherwise():
    review = RANKER.review(**INPUT)
    asked = {
        name: review.ask(12, **({"objective": name} if name else {}))
        for name in ("", "top", "pairs")
    }
    for name in ("left", "right", "value"):
        np.testing.assert_array_equal(
            getattr(asked[""], name), getattr(asked["top"], name)
        )
    best = {
        name: np.minimum(each.place[each.left], each.place[each.right]).mean()
        for name, each in asked.items()
    }
    assert best["top"] < best["pairs"]
    assert review.worth_asking(0.99 * asked[""].value[0])
    assert not review.worth_asking(1.01 * asked[""].value[0])


def test_shares_of_queries():
    review = RANKER.review(**INPUT)
    assert np.bincount(review.ask(9, per_query=2).qid).max() <= 2
    assert len(review.ask(99, per_query=1)) == 6
    counts = np.bincount(review.ask(8, per_query="equal").qid)
    assert set(counts.tolist()) == {1, 2}
    top = review.ask(8, objective="top")
    assert set(np.bincount(top.qid).tolist()) == {1, 2}
    assert len(review.ask(0)) == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n": -1}, "n must be at least 0"),
        ({"n": 1, "objective": "all"}, "objective must be one of"),
        (
            {"n": 1, "per_query": "all"},
            "per_query, .* must be one of 'equal'",
        ),
        ({"n": 1, "per_query": -1}, "per_query must be at least 0"),
    ],
)
def test_bad_questions_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        RANKER.review(**INPUT).ask(**options)


def test_asking_ends_where_it_is_not_worth_its_price():
    review = RANKER.review(**INPUT)
    best = review.ask(1).value[0]
    assert review.worth_asking(0.99 * best)
    assert not review.worth_asking(1.01 * best)
    with pytest.raises(ValueError, match="cost must be"):
        review.worth_asking(-1)
    # Two items, one answer, nothing left.
    said = [{"left": 0, "right": 1, "label": "left"}]
    done = RANKER.review(X[:2], answers=said)
    assert not done.worth_asking(0)
    assert len(done.ask(3)) == 0


def test_names_that_differ_by_case_are_refused():
    rates = {"good": 0.0, "bad": 0.3}
    said = [
        {"left": 0, "right": 1, "label": "same", "reviewer": name} for name in rates
    ]
    with pytest.raises(ValueError, match=r"reviewer_error must .* 'good' and 'GOOD'"):
        RANKER.review(**INPUT, answers=said, reviewer_error={" GOOD": 0.1})
    known = RANKER.review(**INPUT, answers=said, reviewer_error={" good ": 0.1})
    assert known.reviewer_error_["good"] == 0.1


def test_what_follows_from_answers_is_not_asked():
    said = [
        {"left": 0, "right": 1, "label": "left"},
        {"left": 2, "right": 1, "label": "same"},
        {"left": 2, "right": 3, "label": "left"},
    ]
    review = RANKER.review(X[:6], answers=said)
    asked = {(p.left, p.right) for p in review.ask(15)}
    assert asked
    assert not asked & {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_a_disputed_pair_is_asked_again_until_people_agree():
    def pairs(answers, n=66):
        asked = RANKER.review(X[:12], answers=answers).ask(n, objective="pairs")
        return [(p.left, p.right) for p in asked]

    (first,) = pairs([], 1)
    i, j = first
    said = answers_of((i, "left", j)) + answers_of((i, "right", j), reviewer="y")
    # What contradicting answers leave is what nobody said: the same is worth asking.
    assert pairs(said, 1) == [first]
    assert pairs(said).count(first) == 1
    third = answers_of((i, "left", j), reviewer="z")
    assert first not in pairs(said + third)
    # Other answers may decide it meanwhile: people still disagree.
    k = next(k for k in range(12) if k not in first)
    others = answers_of((i, "left", k), (k, "left", j), reviewer="z")
    assert RANKER.review(X[:12], answers=said + others).decisions.answered[
        by_pair(RANKER.review(X[:12]))[first]
    ]
    assert first in pairs(said + others)
    assert first not in pairs(others)


def test_a_disputed_pair_implies_nothing_about_what_to_ask():
    said = answers_of((0, "right", 1), (1, "right", 2))
    assert (0, 2) not in {
        (p.left, p.right) for p in RANKER.review(X[:6], answers=said).ask(15)
    }
    said += answers_of((0, "left", 1), reviewer="y")
    assert (0, 2) in {
        (p.left, p.right) for p in RANKER.review(X[:6], answers=said).ask(15)
    }


def test_what_questions_will_bring():
    review = RANKER.review(**INPUT)
    course = [review.expected_accuracy_after(n) for n in (0, 5, 20)]
    assert course[0] == pytest.approx(review.expected_accuracy)
    assert course[0] < course[1] < course[2] <= 1
    _, after = loop(2, n=10, reviewer_error=0.1, error=0.1)
    forecast = RANKER.review(**INPUT, reviewer_error=0.1).expected_accuracy_after(20)
    assert forecast == pytest.approx(after.expected_accuracy, abs=0.06)


def test_only_orders_matter_where_only_a_wrong_order_costs():
    ranker = fit(loss="misranking")
    review = ranker.review(**INPUT)
    decisions = review.decisions
    # Only equal scores are called a tie; no such pair is decided.
    ordered = decisions.label != 0
    assert ordered.mean() > 0.98
    assert not decisions.decided_tie.any()
    expected = 1 - decisions.proba.max(axis=1)
    assert (decisions.risk <= expected + 1e-12)[ordered].all()
    of_orders, of_labels = (
        each.ask(1, objective="pairs").value[0]
        for each in (review, RANKER.review(**INPUT))
    )
    assert of_orders < of_labels


# Rankers


@pytest.mark.parametrize("tie_model", ["bradley_terry", "isotonic_difference"])
def test_other_tie_models_are_reviewed_by_grades(tie_model):
    ranker = fit(tie_model=tie_model)
    with pytest.warns(UserWarning, match=r"A review rests on grades: .* accepts 80%"):
        review = ranker.review(**INPUT)
    name = type(ranker.tie_model_).__name__
    assert f"GradedRelevance in place of {name}, coverage=0.80" in repr(review)
    with pytest.warns(UserWarning, match="rests on grades"):
        again = ranker.review(**INPUT)
    assert again.calibration.model is review.calibration.model  # fitted once
    own, other = review.region, RANKER.review(**INPUT).region
    assert own.risk == other.risk
    np.testing.assert_array_equal(
        review.decisions.proba, RANKER.review(**INPUT).decisions.proba
    )


def test_values_of_features_are_reviewed():
    ranker = BALToR(
        FirstColumn().fit(None, None),
        tie_model="feature_aware_relevance",
        random_state=0,
    ).fit(DATA.data, DATA.target, qid=DATA.qid)
    review = ranker.review(NEW.data, qid=NEW.qid)
    expected = ranker.predict_pairs(NEW.data, qid=NEW.qid)
    assert np.abs(review.decisions.proba - expected.proba).max() < 0.1
    np.testing.assert_array_equal(
        review.ranking().item_id, ranker.ranking(NEW.data, qid=NEW.qid).item_id
    )


def test_a_price_is_the_threshold():
    ranker = fit(CostAbstainer, cost=0.2)
    decisions = ranker.review(**INPUT).decisions
    np.testing.assert_array_equal(decisions.accepted, decisions.risk <= 0.2)


def test_nothing_is_certified_any_more():
    ranker = fit(RiskControlledRanker, max_risk=0.45)
    review = ranker.review(**INPUT)
    assert review.region.risk == ranker.threshold_
    assert repr(review).endswith("certified=nothing)")


@pytest.mark.filterwarnings("ignore:No threshold could be certified")
@pytest.mark.filterwarnings("ignore:A review rests on grades")
@pytest.mark.parametrize("tie_model", ["graded_relevance", "bradley_terry"])
def test_gold_answers_decide_where_nothing_was_certified(tie_model):
    """What is known for certain needs no certificate."""
    ranker = fit(RiskControlledRanker, max_risk=1e-6, tie_model=tie_model)
    items, y = X[NEW.qid == 0], NEW.target[NEW.qid == 0]
    assert not ranker.review(items).decisions.accepted.any()
    left, right = np.triu_indices(len(items), 1)
    words = np.array(["right", "same", "left"])[pair_labels(y, left, right) + 1]
    gold = [
        {"left": i, "right": j, "label": word}
        for i, j, word in zip(left.tolist(), right.tolist(), words, strict=True)
    ]
    decisions = ranker.review(items, gold=gold).decisions
    assert decisions.accepted.all()
    np.testing.assert_array_equal(decisions.label, pair_labels(y, left, right))
    # An order that follows from gold answers is as certain.
    best, middle, worst = (int(np.flatnonzero(y == g)[0]) for g in np.unique(y)[:-4:-1])
    chain = [
        {"left": best, "right": middle, "label": "left"},
        {"left": middle, "right": worst, "label": "left"},
    ]
    implied = ranker.review(items, gold=chain).decisions
    sure = {frozenset(p) for p in ((best, middle), (middle, worst), (best, worst))}
    found = np.flatnonzero(implied.accepted)
    pairs = zip(
        implied.left[found].tolist(), implied.right[found].tolist(), strict=True
    )
    assert {frozenset(pair) for pair in pairs} >= sure


def test_a_randomised_boundary_is_drawn_as_the_ranker_draws_it():
    ranker = fit(boundary="randomize", coverage=0.5)
    np.testing.assert_array_equal(
        ranker.review(**INPUT).decisions.accepted,
        ranker.predict_pairs(**INPUT).accepted,
    )


def test_names_of_items_and_queries():
    ids = np.array([f"item {k % 12}" for k in range(NEW.qid.size)])
    days = np.array([f"day {k}" for k in NEW.qid])
    asked = RANKER.review(X, qid=days, item_id=ids).ask(4)
    answers = [
        {"qid": p.qid, "left": p.left_id, "right": p.right_id, "label": "same"}
        for p in asked
    ]
    review = RANKER.review(X, qid=days, answers=answers, item_id=ids)
    assert set(review.ranking().item_id) == set(ids)
    by_row = [{"left": p.left, "right": p.right, "label": "same"} for p in asked]
    np.testing.assert_array_equal(
        RANKER.review(X, qid=days, answers=by_row).decisions.proba,
        review.decisions.proba,
    )


def test_small_queries():
    review = RANKER.review(X[:3], qid=[0, 1, 2])
    assert len(review.decisions) == len(review.ask(5)) == 0
    assert np.isnan(review.expected_accuracy)
    assert np.isnan(review.expected_accuracy_after(2))
    np.testing.assert_array_equal(review.rank_intervals(), np.ones((3, 2)))
    np.testing.assert_array_equal(review.ranking().item_id, [0, 1, 2])


def test_items_of_one_grade_have_nothing_to_ask():
    with pytest.warns(UserWarning, match="same relevance"):
        ranker = BALToR(
            FirstColumn().fit(None, None), tie_model="graded_relevance"
        ).fit(X[:12], np.ones(12), qid=0)
    assert len(ranker.review(**INPUT).ask(3)) == 0


def test_a_review_is_pickled():
    review = loop(1)[1]
    copy = pickle.loads(pickle.dumps(review))
    np.testing.assert_array_equal(copy.decisions.proba, review.decisions.proba)


def test_a_ranker_must_be_fitted():
    with pytest.raises(NotFittedError):
        BALToR(FirstColumn()).review(X)


@pytest.mark.filterwarnings("ignore:A review rests on grades")
@pytest.mark.parametrize("model", ["davidson", "isotonic_difference"])
def test_a_review_of_a_difference_model_comes_back(model):
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=model, random_state=0)
    ranker.fit(DATA.utility[:, None], DATA.target, qid=DATA.qid)
    review = ranker.review(np.arange(6.0)[:, None])
    for back in (pickle.loads(pickle.dumps(review)), copy.deepcopy(review)):
        assert repr(back) == repr(review)
        for name in ("label", "accepted", "risk", "proba"):
            np.testing.assert_array_equal(
                getattr(back.decisions, name), getattr(review.decisions, name)
            )
        np.testing.assert_array_equal(back.ask(2).left, review.ask(2).left)


def test_the_score_of_a_novel_item_says_nothing():
    data = make_ranking(n_queries=60, random_state=0)
    ranker = BALToR(
        FirstColumn().fit(None, None), novelty=lambda X: np.abs(X[:, 0]), random_state=0
    ).fit(data.utility[:, None], data.target, qid=data.qid)
    high, low = (
        ranker.review(
            np.array([[0.0], [0.5], [strange]]),
            qid=0,
            answers=[{"left": 1, "right": 0, "label": "left"}],
        ).decisions
        for strange in (50.0, -50.0)
    )
    with_it = (high.left == 2) | (high.right == 2)
    assert with_it.sum() == 2
    sides = [
        np.where((each.left == 2)[:, None], each.proba, each.proba[:, ::-1])[with_it]
        for each in (high, low)
    ]
    np.testing.assert_allclose(*sides)
    assert not high.accepted[with_it].any()


def test_pairs_that_do_not_fit_are_refused_before_they_are_formed(monkeypatch):
    review = RANKER.review(np.linspace(0, 1, 3000)[:, None], qid=0)
    # Enough for the rows of the pairs, not for all that is said of them.
    monkeypatch.setattr(_memory, "available_memory", lambda: 2 * 10**8)
    with pytest.raises(ValueError, match=r"4498500 pairs take"):
        review.decisions  # noqa: B018 - a property


def test_a_pair_is_explained_by_what_people_said():
    names = np.array([f"bed {k}" for k in range(6)])
    said = answers_of(("bed 4", "left", "bed 1"), reviewer="Ann")
    said += answers_of(("bed 1", "left", "bed 4"), reviewer="Bo")
    for answers, start in (
        (said[:1], "bed 1 and bed 4: Decided: bed 4 first (answered by a person). "),
        (said, "bed 1 and bed 4: A person decides (answers disagree); "),
    ):
        review = RANKER.review(X[:6], item_id=names, answers=answers)
        told = review.explain("bed 4", "bed 1")
        assert told.startswith(start)
        assert "; Ann: bed 4 or bed 1? left (row 0)" in told
        assert ("; Bo: bed 1 or bed 4? left (row 1)" in told) == (len(answers) > 1)
    # What was said of either of the two counts.
    assert "; Ann: bed 4 or bed 1? left" in review.explain("bed 0", "bed 1")
    silent = review.explain("bed 0", "bed 2")
    assert silent.startswith("bed 0 and bed 2: ")
    assert "row" not in silent
    with pytest.raises(ValueError, match="that one query has, got 'Ann' and 'bed"):
        review.explain("Ann", "bed 1")
    with pytest.raises(ValueError, match="two items of one query, got 0 and 12"):
        RANKER.review(**INPUT).explain(0, 12)
    # A name of two queries is that of the one that the other item is in.
    twice = np.array([*names, "bed 0", *names[:5] + "'"])
    both = RANKER.review(X[:12], qid=np.repeat([0, 1], 6), item_id=twice)
    assert both.explain("bed 0", "bed 1").startswith("bed 0 and bed 1: ")
    told = both.explain("bed 1'", "bed 0")
    assert told.startswith("bed 0 and bed 1': ")
    by_row = RANKER.review(**INPUT, answers=answers_of((13, "same", 15)))
    assert by_row.explain(15, 13).startswith("row 13 and row 15: Decided: equal (answ")


def test_exactly_the_open_pairs_can_be_asked():
    known, new = (make_ranking(n, random_state=n) for n in (60, 3))
    ranker = BALToR(Ridge(), coverage=0.7, random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    review = ranker.review(new.data, qid=new.qid)
    deferred = ranker.predict_pairs(new.data, qid=new.qid).deferred()
    asked = review.ask(10**6, objective="deferred")
    pairs = {(pair.left, pair.right) for pair in deferred}
    assert {(pair.left, pair.right) for pair in asked} == pairs
    assert (np.diff(asked.value) <= 0).all()
    assert len(review.ask(5, objective="deferred")) == 5
    with pytest.raises(ValueError, match="per_query must be None, got 1"):
        review.ask(5, objective="deferred", per_query=1)
    answers = [
        {"qid": pair.qid, "left": pair.left, "right": pair.right, "label": "left"}
        for pair in asked.take([0])
    ]
    again = ranker.review(new.data, qid=new.qid, answers=answers)
    left = {(q.left, q.right) for q in again.ask(10**6, objective="deferred")}
    assert (asked.left[0], asked.right[0]) not in left
