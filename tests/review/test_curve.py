"""Simulated reviewers, and what their answers make of a ranking."""

import numpy as np
import pytest
from doubles import FirstColumn, named
from sklearn.metrics import ndcg_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.review import _curve, review_curve

DATA = make_ranking(n_queries=60, random_state=0)
MODEL = FirstColumn().fit(None, None)
RANKER = BALToR(MODEL, loss="zero_one", random_state=0).fit(
    DATA.utility[:, None] + 0.5 * DATA.data[:, :1], DATA.target, qid=DATA.qid
)
NEW = make_ranking(n_queries=10, random_state=1)
ITEMS = (NEW.utility[:, None] + 0.5 * NEW.data[:, :1], NEW.target, NEW.qid)
N_PAIRS = sum(n * (n - 1) // 2 for n in np.bincount(NEW.qid))


def test_without_questions_it_is_the_ranker_itself():
    curve = review_curve(RANKER, **named(*ITEMS), budgets=[0.0], random_state=0)
    review = RANKER.review(ITEMS[0], qid=NEW.qid)
    pairs = review.decisions
    truth = np.sign(NEW.target[pairs.left] - NEW.target[pairs.right])
    assert curve["accuracy"][0] == np.mean(pairs.label == truth)
    assert curve["expected_accuracy"][0] == review.expected_accuracy
    assert curve["asked"][0] == 0
    assert curve["reviewer_error"][0] == {}
    rows = review.ranking().item_id
    scores = [
        ndcg_score(
            [2.0 ** NEW.target[of] - 1], [-np.arange(of.size)], k=10, ignore_ties=True
        )
        for of in (rows[NEW.qid[rows] == q] for q in np.unique(NEW.qid))
        if NEW.target[of].any()
    ]
    assert curve["ndcg"][0] == pytest.approx(np.mean(scores), abs=1e-12)


@pytest.mark.parametrize("objective", ["pairs", "top", "riskiest", "random"])
def test_answers_make_it_better_and_all_of_them_make_it_right(objective):
    curve = review_curve(
        RANKER,
        **named(*ITEMS),
        budgets=[0, 0.1, 1],
        error=0.0,
        reviewer_error=0.0,
        objective=objective,
        rounds=3,
        random_state=0,
    )
    assert curve["asked"][1] == round(0.1 * N_PAIRS)
    assert (np.diff(curve["accuracy"]) > 0).all()
    assert curve["accuracy"][2] == curve["ndcg"][2] == 1


def test_chosen_questions_are_worth_more_than_any():
    accuracy = {
        objective: review_curve(
            RANKER,
            **named(*ITEMS),
            budgets=[0.1],
            objective=objective,
            error=0.0,
            reviewer_error=0.0,
            random_state=0,
        )["accuracy"][0]
        for objective in ("pairs", "random")
    }
    assert accuracy["pairs"] > accuracy["random"] + 0.08


def test_same_seed_same_curve():
    def made(seed):
        curve = review_curve(
            RANKER, **named(*ITEMS), budgets=[0, 0.05], random_state=seed
        )
        return [column.tolist() for column in curve.values()]

    assert made(0) == made(0)
    assert made(0) != made(1)


def test_progress_is_printed_after_each_round(capsys):
    options = {**named(*ITEMS), "budgets": [0.05], "rounds": 2}
    silent = review_curve(RANKER, **options, random_state=0)
    assert capsys.readouterr().out == ""
    loud = review_curve(RANKER, **options, random_state=0, verbose=1)
    assert np.array_equal(loud["accuracy"], silent["accuracy"])
    *_, last = capsys.readouterr().out.splitlines()
    n = round(0.05 * N_PAIRS)
    assert last == f"[review_curve] {n} of {n}"


@pytest.mark.slow
def test_more_reviewers_are_told_apart():
    error = {"careful": 0.02, "careless": 0.4}
    curve = review_curve(
        RANKER,
        **named(*ITEMS),
        budgets=[0.4],
        error=error,
        objective="random",
        random_state=0,
    )
    rates = curve["reviewer_error"][0]
    assert rates.keys() == error.keys()
    assert rates["careful"] < 0.05 < 0.15 < rates["careless"]


def test_gold_answers_tell_who_errs():
    error = {"careful": 0.02, "careless": 0.4}
    half = {name: rate / 2 for name, rate in error.items()}  # of the orders
    options = {"budgets": [0.15], "error": error, "objective": "random"}
    alone, helped = (
        review_curve(RANKER, **named(*ITEMS), **options, gold=gold, random_state=0)
        for gold in (0.0, 0.5)
    )
    assert helped["reviewer_error"][0]["gold="] == 0
    assert helped["accuracy"][0] > alone["accuracy"][0]

    def off(curve):
        return max(
            abs(curve["reviewer_error"][0][name] - error[name] / 2) for name in error
        )

    assert off(helped) < off(alone)
    known = review_curve(
        RANKER,
        **named(*ITEMS),
        **options,
        reviewer_error=half,
        rounds=40,
        random_state=0,
    )
    assert known["reviewer_error"][0] == half
    with pytest.raises(ValueError, match=r"gold must be in \[0, 1\], got 1.5"):
        review_curve(RANKER, **named(*ITEMS), **options, gold=1.5)


def test_who_notices_nothing_calls_everything_the_same():
    curve = review_curve(
        RANKER,
        **named(*ITEMS),
        budgets=[1.0],
        error=0.0,
        noticeable=10,
        objective="random",
        reviewer_error=0.0,
        random_state=0,
    )
    pairs = RANKER.review(ITEMS[0], qid=NEW.qid).decisions
    tied = NEW.target[pairs.left] == NEW.target[pairs.right]
    assert curve["accuracy"][0] == pytest.approx(tied.mean())


def test_who_calls_everything_the_same_is_not_believed():
    curve = review_curve(
        RANKER,
        **named(*ITEMS),
        budgets=[0, 0.2],
        error=0.0,
        noticeable=10,
        random_state=0,
    )
    assert curve["reviewer_error"][1]["reviewer"] < 0.1  # no order is reversed
    assert curve["accuracy"][1] > curve["accuracy"][0] - 0.03
    assert curve["expected_accuracy"][1] == pytest.approx(
        curve["accuracy"][1], abs=0.06
    )


def test_what_is_expected_and_what_is_right_are_the_same_thing_under_any_loss():
    ranker = BALToR(MODEL, loss="misranking", random_state=0)
    ranker.fit(DATA.utility[:, None], DATA.target, qid=DATA.qid)
    curve = review_curve(
        ranker,
        **named(*ITEMS),
        budgets=[0, 0.3],
        error=0.0,
        reviewer_error=0.0,
        random_state=0,
    )
    assert curve["accuracy"] == pytest.approx(curve["expected_accuracy"], abs=0.05)
    assert curve["accuracy"][1] > 0.95


def test_shares_are_of_what_was_asked():
    curve = review_curve(
        RANKER,
        **named(*ITEMS),
        budgets=[0.9, 1.0],
        error=0.0,
        reviewer_error=0.0,
        random_state=0,
    )
    assert (curve["asked"] < 0.9 * N_PAIRS).all()  # nothing was left to ask
    np.testing.assert_array_equal(curve["share"], curve["asked"] / N_PAIRS)


@pytest.mark.filterwarnings("ignore:y has .* items of grade -1")
def test_relevance_of_any_scale_has_no_ndcg():
    X, y, qid = ITEMS
    curve = review_curve(RANKER, X, y - 1.0, qid=qid, budgets=[0.0])
    assert np.isnan(curve["ndcg"]).all()


def test_pipelines_and_other_rules_are_taken():
    X, y, qid = ITEMS
    halved = FunctionTransformer(lambda X: X / 2).fit(X)
    inside = review_curve(
        make_pipeline(halved, RANKER), 2 * X, y, qid=qid, budgets=[0.05], random_state=0
    )
    plain = review_curve(RANKER, X, y, qid=qid, budgets=[0.05], random_state=0)
    assert inside["accuracy"] == plain["accuracy"]
    price = CostAbstainer(MODEL, cost=0.3, random_state=0)
    price.fit(DATA.utility[:, None], DATA.target, qid=DATA.qid)
    curve = review_curve(price, X, y, qid=qid, budgets=[0, 0.1], random_state=0)
    assert curve["accuracy"][1] > curve["accuracy"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgets": [0.5, 0.1]}, "budgets must ascend from at least one value, got"),
        ({"budgets": []}, "budgets must ascend from at least one value"),
        ({"budgets": 0.1}, "budgets must be a 1d array"),
        (
            {"budgets": [200]},
            "got 200.0. They are shares of all pairs: n quest",
        ),
        ({"error": 1.0}, "error must be in"),
        ({"error": {}}, "error must name at least one reviewer"),
        ({"error": {"Ann": -1}}, "error must be in"),
        ({"noticeable": -1}, "noticeable must be"),
        ({"objective": "best"}, "objective must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"reviewer_error": 2}, "reviewer_error must be in"),
        ({"reviewer_error": {"Eve": 0}}, "must name reviewers of error, .*'Eve'"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        review_curve(RANKER, **named(*ITEMS), **options)


def test_items_without_pairs_and_no_ranker_are_refused():
    X, y, _ = ITEMS
    with pytest.raises(ValueError, match="there are no pairs"):
        review_curve(RANKER, X[:3], y[:3], qid=[0, 1, 2])
    with pytest.raises(TypeError, match="estimator must be a selective ranker"):
        review_curve(MODEL, **named(*ITEMS))
    with pytest.raises(ValueError, match="y"):
        review_curve(RANKER, X, y[1:], qid=NEW.qid)


@pytest.mark.parametrize(
    ("objective", "by_risk"), [("riskiest", True), ("random", False)]
)
def test_comparisons_ask_by_risk_or_at_random(objective, by_risk, monkeypatch):
    asked, answer = [], _curve._answer

    def recorded(pairs, *args):
        asked.append(pairs)
        return answer(pairs, *args)

    monkeypatch.setattr(_curve, "_answer", recorded)
    review_curve(RANKER, **named(*ITEMS), budgets=[0.1], objective=objective, rounds=1)
    risk = np.sort(RANKER.review(ITEMS[0], qid=NEW.qid).decisions.risk)
    (found,) = (np.sort(pairs.risk) for pairs in asked)
    assert np.array_equal(found, risk[-found.size :]) == by_risk
