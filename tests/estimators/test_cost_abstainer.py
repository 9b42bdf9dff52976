"""CostAbstainer, and its equivalence with a budget."""

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import pair_labels


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=50, n_items=(1, 15), random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return Ridge().fit(data.data[::2], data.target[::2])


def fit(estimator, data):
    return estimator.fit(data.data, data.target, qid=data.qid)


def test_accepts_what_costs_less_than_asking(model, data):
    ranker = fit(CostAbstainer(model, cost=0.35), data)
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    clear = np.abs(decisions.risk - 0.35) > 1e-12
    np.testing.assert_array_equal(
        decisions.accepted[clear], (decisions.risk <= 0.35)[clear]
    )
    assert ranker.threshold_ == 0.35
    assert ranker.coverage_ == decisions.coverage


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_a_budget_is_the_price_at_its_threshold(coverage, model, data):
    budget = fit(BALToR(model, coverage=coverage), data)
    price = fit(CostAbstainer(model, cost=budget.threshold_), data)
    assert price.coverage_ == budget.coverage_
    np.testing.assert_array_equal(
        price.abstain(data.data, qid=data.qid), budget.abstain(data.data, qid=data.qid)
    )
    back = budget.at_coverage(price.coverage_)
    assert back.threshold_ == pytest.approx(budget.threshold_, rel=1e-12)


def test_the_plug_in_rule_minimises_estimated_loss_plus_cost(model, data):
    ranker = fit(CostAbstainer(model, cost=0.3), data)
    decisions = ranker.predict_pairs(data.data, qid=data.qid)

    def total(threshold):
        return np.where(decisions.risk <= threshold, decisions.risk, 0.3).mean()

    grid = np.quantile(decisions.risk, np.linspace(0, 1, 200))
    assert total(0.3) <= min(map(total, grid)) + 1e-12


def test_at_cost_is_monotone_and_leaves_the_original_alone(model, data):
    ranker = fit(CostAbstainer(model), data)
    coverages = [ranker.at_cost(c).coverage_ for c in np.linspace(0, 1, 30)]
    assert (np.diff(coverages) >= 0).all()
    assert coverages[0] < 0.05
    assert coverages[-1] == 1
    assert ranker.cost == 0.2


@pytest.mark.parametrize(
    ("cost", "error"),
    [(-0.1, ValueError), (np.inf, ValueError), (np.nan, ValueError), ("x", TypeError)],
)
def test_bad_cost(cost, error, data):
    with pytest.raises(error, match=r"cost must be .*got"):
        fit(CostAbstainer(Ridge(), cost=cost), data)


def test_report_reads_like_a_page(model, data):
    ranker = fit(CostAbstainer(model, cost=0.35, loss="zero_one"), data)
    page = ranker.report(data.data, data.target, qid=data.qid)
    totals = ranker.evaluate(data.data, data.target, qid=data.qid)
    assert page.startswith("# CostAbstainer: report\n")
    risk = "selective risk: share of decided pairs wrong"
    assert f"| {risk} | {totals.selective_risk:.4f} |" in page
    assert "used as it was given" in page
    assert "GradedRelevance(), slope_ = " in page
    assert "price of one abstention" in page
    assert "queries, not pairs, as the sample" in page


def test_report_needs_the_qid_that_fit_had(model, data):
    ranker = fit(BALToR(model), data)
    with pytest.raises(ValueError, match="qid= must be given"):
        ranker.report(data.data, data.target)


def test_report_of_one_query_has_no_intervals(model, data):
    rows = data.qid == np.argmax(np.bincount(data.qid))
    page = fit(BALToR(model), data).report(
        data.data[rows], data.target[rows], qid="today"
    )
    assert "| undefined |" in page


def test_report_names_the_model_inside_a_frozen_wrapper(model, data):
    ranker = fit(clone(CostAbstainer(model, cost=0.35)), data)
    page = ranker.report(data.data, data.target, qid=data.qid)
    assert "- ranker: Ridge, used as it was given" in page


def test_report_says_what_always_answering_a_tie_would_have_given(model, data):
    ranker = fit(CostAbstainer(model, cost=0.35, loss="zero_one"), data)
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    truth = pair_labels(data.target, decisions.left, decisions.right)
    page = ranker.report(data.data, data.target, qid=data.qid)
    yardstick = (truth == 0)[decisions.accepted].mean()
    assert f"had each been called a tie | {1 - yardstick:.4f} |" in page
    ties = (decisions.label == 0)[decisions.accepted].sum()
    assert f" by an order, {ties} by a tie; " in page


def test_report_warns_of_a_single_calibration_query(model, data):
    rows = data.qid == np.argmax(np.bincount(data.qid))
    ranker = BALToR(model).fit(data.data[rows], data.target[rows])
    assert "ONE query" in ranker.report(data.data[rows], data.target[rows])


def test_equal_scores_without_ties_are_the_riskiest_pairs():
    """Items of equal score are called a tie, which in data without ties is wrong."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 6)
    scores = rng.integers(0, 4, qid.size).astype(float)
    y = scores + rng.normal(size=qid.size)  # no two are tied
    model = FirstColumn().fit(None, None)
    ranker = CostAbstainer(model, cost=0.55, tie_model="bradley_terry")
    ranker.fit(scores[:, None], y, qid=qid)
    decisions = ranker.predict_pairs(np.array([[1.0], [1.0], [2.0]]))
    assert decisions.risk[0] == pytest.approx(1.0)
    assert decisions.accepted.tolist() == [False, True, True]
    assert decisions.label.tolist() == [0, -1, -1]


def test_equal_scores_above_the_price_are_left_to_a_person():
    """An order begins right beside equal scores, and is surer than they are."""
    scores, y = np.array([1.0, 0, 0, 1] * 2), np.array([2, 0, 1, 1] * 2)
    ranker = CostAbstainer(
        FirstColumn().fit(None, None),
        cost=0.5,
        tie_model="isotonic_difference",
        loss="zero_one",
    ).fit(scores[:, None], y, qid=0)
    decisions = ranker.predict_pairs(scores[:, None])
    equal = scores[decisions.left] == scores[decisions.right]
    assert decisions.risk[equal] == pytest.approx(9 / 14)
    assert not decisions.accepted[equal].any()
    assert decisions.accepted[~equal].all()
    assert ranker.evaluate(scores[:, None], y, qid=0).accepted.sum() == 16
