"""``loss="misranking"``, the default: only a wrong order costs."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.multilabel import SelectiveMultilabelRanker
from skrank_abstain.pairs import pair_labels
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, IsotonicDifference

MISRANKING = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0]])
TIE_MODELS = [BradleyTerry(), GradedRelevance(), IsotonicDifference()]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=120, n_grades=3, random_state=0)


def fit(data, **options):
    ranker = BALToR(FirstColumn().fit(None, None), random_state=0, **options)
    return ranker.fit(data.data, data.target, qid=data.qid)


def test_it_is_the_default_of_what_ranks_items():
    rankers = BALToR, CostAbstainer, RiskControlledRanker, SelectiveMultilabelRanker
    for ranker in rankers:
        assert ranker(None).loss == "misranking"
    assert SelectiveRanker(None, rule=None).loss == "misranking"
    assert PairwiseRankerClassifier(None).loss == "zero_one"


@pytest.mark.parametrize("tie_model", TIE_MODELS, ids=lambda m: type(m).__name__)
def test_the_name_is_the_matrix(tie_model, data):
    named = fit(data, loss="misranking", coverage=0.6, tie_model=tie_model)
    matrix = fit(data, loss=MISRANKING, coverage=0.6, tie_model=tie_model)
    assert named.threshold_ == matrix.threshold_
    decisions = named.predict_pairs(data.data, qid=data.qid)
    # The risk of an order is the probability of the other one.
    order = decisions.label != 0
    wrong = np.where(decisions.label > 0, decisions.proba[:, 0], decisions.proba[:, 2])
    np.testing.assert_allclose(decisions.risk[order], wrong[order], atol=1e-12)
    # A tie is the answer to equal values alone.
    values = named._scored(data.data, data.qid).value
    np.testing.assert_array_equal(
        order, values[decisions.left] != values[decisions.right]
    )


@pytest.mark.parametrize(
    "loss", ["zero_one", "misranking", [[0, 2, 3], [1, 0, 1], [3, 2, 0]]]
)
@pytest.mark.parametrize("tie_model", TIE_MODELS, ids=lambda m: type(m).__name__)
def test_the_selective_risk_is_the_mean_loss_of_decided_pairs(tie_model, loss, data):
    ranker = fit(data, loss=loss, coverage=0.6, tie_model=tie_model)
    matrix = {"zero_one": 1 - np.eye(3), "misranking": MISRANKING}.get(
        loss if isinstance(loss, str) else None, np.array(loss, dtype=object)
    )
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    truth = pair_labels(data.target, decisions.left, decisions.right)
    spent = np.asarray(matrix, dtype=float)[decisions.label + 1, truth + 1]
    totals = ranker.evaluate(data.data, data.target, qid=data.qid)
    expected = spent[decisions.accepted].mean()
    assert totals.selective_risk == pytest.approx(expected, abs=1e-12)
    wrong = decisions.accepted & (decisions.label * truth == -1)
    assert totals.misranked.sum() == wrong.sum()
    strict = decisions.decided_order.sum()
    assert totals.misranking_rate == pytest.approx(wrong.sum() / strict)


def test_nearly_all_ties_are_said(data):
    rng = np.random.default_rng(0)
    # Next to nothing is relevant, so that nearly all surest pairs are ties.
    y = (rng.random(data.target.size) < 0.02).astype(float)
    X = y[:, None] + rng.normal(size=(y.size, 1))
    message = (
        r"Nearly all accepted pairs are ties: .* are decided by order.*'misranking'"
    )
    ranker = BALToR(
        FirstColumn().fit(None, None), coverage=0.5, loss="zero_one", random_state=0
    )
    with pytest.warns(UserWarning, match=message):
        ranker.fit(X, y, qid=data.qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.set_params(loss="misranking").fit(X, y, qid=data.qid)
    decisions = ranker.predict_pairs(X, qid=data.qid)
    assert decisions.decided_order.sum() > 100 * decisions.decided_tie.sum()


def test_a_bound_on_the_misranking_risk(data):
    big = make_ranking(n_queries=400, n_grades=3, random_state=1)
    ranker = RiskControlledRanker(
        FirstColumn().fit(None, None), loss="misranking", max_risk=0.2, random_state=0
    ).fit(big.data, big.target, qid=big.qid)
    assert ranker.certified_
    totals = ranker.evaluate(data.data, data.target, qid=data.qid)
    assert totals.selective_risk < 0.25


@pytest.mark.parametrize("loss", ["misranking", [[0, 1, 3], [1, 0, 1], [3, 1, 0]]])
def test_the_report_says_what_a_decided_pair_loses(loss, data):
    new = make_ranking(n_queries=40, n_grades=3, random_state=1)
    ranker = fit(data, loss=loss, coverage=0.6)
    page = ranker.report(new.data, new.target, qid=new.qid)
    (line,) = (
        one
        for one in page.splitlines()
        if "| selective risk: loss per decided pair |" in one
    )
    totals = ranker.evaluate(new.data, new.target, qid=new.qid)
    assert f"| {totals.selective_risk:.4f} |" in line
    plain = fit(data, coverage=0.6, loss="zero_one")
    plain = plain.report(new.data, new.target, qid=new.qid)
    assert (
        "| selective risk: loss per decided pair |" not in plain
    )  # there it is the share of wrong answers
