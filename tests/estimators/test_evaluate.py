"""What happens to labelled pairs: evaluate and risk_profile against every pair."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn
from reference import concordance

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain._validation import check_loss
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import (
    aurc_loss,
    neg_aurc_scorer,
    risk_coverage_curve,
    selective_auc_score,
)
from skrank_abstain.pairs import _scores, pair_labels
from skrank_abstain.tie_models import BradleyTerry


@pytest.fixture(scope="module", params=["distinct", "rounded"])
def data(request):
    data = make_ranking(n_queries=50, n_items=(1, 12), random_state=4)
    decimals = 12 if request.param == "distinct" else 0
    return data.data.round(decimals), data.target, data.qid


#: Other models are counted in test_tie_models_in_rankers.
TERRY = {"tie_model": "bradley_terry"}


@pytest.fixture(scope="module", params=["budget", "random boundary", "price", "counts"])
def ranker(request, data):
    model = FirstColumn().fit(None, None)
    made = {
        "budget": BALToR(model, coverage=0.6, **TERRY),
        "random boundary": BALToR(model, coverage=0.6, boundary="randomize", **TERRY),
        "price": CostAbstainer(
            model, cost=0.4, loss=[[0, 1, 3], [1, 0, 1], [3, 1, 0]], **TERRY
        ),
        "counts": BALToR(model, tie_model=BradleyTerry(calibration="counts")),
    }[request.param]
    X, y, qid = data
    with warnings.catch_warnings():
        # Rounded scores are few: many pairs have the same risk.
        warnings.filterwarnings("ignore", ".* of the calibration pairs are accepted")
        return made.fit(X, y, qid=qid)


def test_evaluate_adds_up_the_decisions_of_each_query(ranker, data):
    X, y, qid = data
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    weight = decisions.accepted.astype(float)
    values, first = np.unique(qid, return_index=True)
    order = values[np.argsort(first)]
    query = np.array([np.flatnonzero(order == q)[0] for q in decisions.qid])
    right = decisions.label == truth
    ordered = np.where(decisions.label == 0, 0.5 * (truth != 0), right)
    expected = {
        "pairs": np.ones(len(decisions)),
        "accepted": weight,
        "correct": weight * right,
        "correct_all": right,
        "tied": truth == 0,
        "accepted_tied": weight * (truth == 0),
        "answered_tie": weight * (decisions.label == 0),
        "ordered": weight * np.where(truth == 0, 0, ordered),
    }
    totals = ranker.evaluate(X, y, qid=qid)
    for name, values in expected.items():
        sums = np.bincount(query, weights=values, minlength=order.size)
        np.testing.assert_allclose(getattr(totals, name), sums, atol=1e-9, err_msg=name)
    assert ranker.score(X, y, qid=qid) == pytest.approx(
        concordance(decisions.label, decisions.accepted, truth), rel=1e-12
    )
    assert totals.coverage == pytest.approx(weight.mean())
    auc = selective_auc_score(truth, decisions.label, decisions.accepted)
    assert totals.concordance == pytest.approx(auc, rel=1e-12)


def test_the_profile_is_the_risk_coverage_curve_of_all_pairs(ranker, data):
    X, y, qid = data
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    coverage, selective, thresholds = risk_coverage_curve(
        truth, decisions.label, decisions.risk, loss=ranker._loss
    )
    profile = ranker.risk_profile(X, y, qid=qid)
    # Risks that differ in the last bit are separate entries of neither or of both.
    at = np.searchsorted(thresholds, profile.risk * (1 + 1e-12), side="right") - 1
    np.testing.assert_allclose(profile.coverage, coverage[at], rtol=1e-12)
    np.testing.assert_allclose(profile.selective_risk, selective[at], atol=1e-12)


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_many_pairs_are_summarised_and_give_the_same_areas(data, monkeypatch):
    X, y, qid = data
    ranker = BALToR(FirstColumn().fit(None, None)).fit(X, y, qid=qid)
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    exact = aurc_loss(truth, decisions.label, decisions.risk, loss="misranking")
    monkeypatch.setattr(_scores, "FEW_PAIRS", 0)
    profile = ranker.risk_profile(X, y, qid=qid)
    assert profile.n_pairs.sum() == pytest.approx(len(decisions))
    errors = (decisions.label != truth) & (truth != 0)
    assert profile.selective_risk[-1] == pytest.approx(errors.mean(), rel=1e-12)
    assert -neg_aurc_scorer(ranker, X, y, qid=qid) == pytest.approx(exact, rel=2e-3)


def test_no_pairs_give_nothing():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 2, 0, 1, 1])
    ranker = BALToR(FirstColumn().fit(None, None)).fit(X, y, qid=[0, 0, 0, 1, 1, 1])
    totals = ranker.evaluate(X[:2], y[:2], qid=[0, 1])
    assert totals.pairs.tolist() == [0, 0]
    assert np.isnan([totals.coverage, totals.accuracy, totals.concordance]).all()
    assert ranker.risk_profile(X[:2], y[:2], qid=[0, 1]).risk.size == 0


def test_a_missing_qid_is_refused(ranker, data):
    X, y, _ = data
    for method in (ranker.evaluate, ranker.risk_profile):
        with pytest.raises(ValueError, match="qid= must be given"):
            method(X, y)


def test_totals_say_what_they_hold(data):
    X, y, qid = data
    ranker = BALToR(FirstColumn().fit(None, None), coverage=1.0).fit(X, y, qid=qid)
    totals = ranker.evaluate(X, y, qid=qid)
    n_pairs = totals.pairs.sum()
    decisions = ranker.predict_pairs(X, qid=qid)
    orders, ties = decisions.decided_order.sum(), decisions.decided_tie.sum()
    assert (totals.answered_order.sum(), totals.answered_tie.sum()) == (orders, ties)
    some = ranker.at_coverage(0.5).evaluate(X, y, qid=qid)
    decided, n_wrong = some.accepted.sum(), some.misranked.sum()
    n_queries = sum(np.sum(qid == query) > 1 for query in np.unique(qid))
    assert 0 < n_queries < np.unique(qid).size
    assert repr(some) == (
        f"PairTotals({n_pairs:g} pairs of {n_queries} queries: "
        f"{decided:g} decided, {n_pairs - decided:g} open; of "
        f"{decided - some.accepted_tied.sum():g} decided pairs that differ {n_wrong:g} "
        "are in the wrong order and 0 called a tie)"
    )
    unlike = y[decisions.left] != y[decisions.right]
    ties = BALToR(
        FirstColumn().fit(None, None),
        coverage=1.0,
        tie_model="davidson",
        loss="zero_one",
    ).fit(X, y, qid=qid)
    called = (unlike & (ties.predict_pairs(X, qid=qid).label == 0)).sum()
    assert f" and {called} called a tie)" in repr(ties.evaluate(X, y, qid=qid))
    assert called > 0


# --- some pairs -------------------------------------------------------------------


def test_evaluating_all_pairs_by_name_is_evaluating_all(ranker, data):
    X, y, qid = data
    decisions = ranker.predict_pairs(X, qid=qid)
    every = np.column_stack([decisions.left, decisions.right])
    weight = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    for w in (None, weight):
        whole = ranker.evaluate(X, y, qid=qid, sample_weight=w)
        named = ranker.evaluate(X, y, qid=qid, sample_weight=w, pairs=every)
        for name, values in vars(whole).items():
            found = getattr(named, name)
            np.testing.assert_allclose(found, values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("loss", ["zero_one", "misranking", "clear_order"])
@pytest.mark.parametrize("boundary", ["accept", "randomize"])
@pytest.mark.filterwarnings("ignore:.*are accepted|.*are ties:UserWarning")
def test_given_pairs_alone_are_evaluated(data, loss, boundary):
    X, y, qid = data
    ranker = BALToR(FirstColumn(), coverage=0.6, boundary=boundary, loss=loss)
    ranker.fit(X, y, qid=qid)
    rng = np.random.default_rng(1)
    decisions = ranker.predict_pairs(X, qid=qid)
    chosen = rng.choice(len(decisions), 60, replace=False)
    pairs = np.column_stack([decisions.left, decisions.right])[chosen]
    turned = rng.random(60) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    made = ranker.predict_pairs(X, qid=qid, pairs=pairs)
    truth = pair_labels(y, *pairs.T)
    weight = rng.random(y.size)
    mass = weight[pairs[:, 0]] * weight[pairs[:, 1]] * made.accepted
    lost = check_loss(loss)[made.label + 1, truth + 1]
    totals = ranker.evaluate(X, y, qid=qid, sample_weight=weight, pairs=pairs)
    mean = np.average(lost, weights=mass)
    assert totals.pairs.size == np.unique(qid).size
    assert totals.selective_risk == pytest.approx(mean, abs=1e-12)
    score = ranker.score(X, y, qid=qid, sample_weight=weight, pairs=pairs)
    of_pairs = weight[pairs[:, 0]] * weight[pairs[:, 1]]
    expected = concordance(made.label, made.accepted, truth, of_pairs)
    assert score == pytest.approx(expected, rel=1e-12)
    ordered = np.where(made.label == 0, 0.5, made.label == truth)
    strict = mass * (truth != 0)
    assert totals.concordance == pytest.approx(np.average(ordered, weights=strict))
    wrong = (made.label * truth == -1) @ mass
    assert totals.misranked.sum() == pytest.approx(wrong, abs=1e-12)


def test_pairs_of_novel_items_count_as_abstained():
    data = make_ranking(n_queries=60, random_state=0)
    ranker = BALToR(
        FirstColumn().fit(0, 0), novelty=lambda X: abs(X[:, 1]), random_state=0
    )
    ranker.fit(data.data, data.target, qid=data.qid)
    strange = data.data.copy()
    strange[:5, 1] = 99
    totals = ranker.evaluate(strange, data.target, qid=data.qid, pairs=[[0, 1], [6, 7]])
    assert totals.accepted[0] <= 1
    assert totals.pairs[0] == 2


def test_evaluate_refuses_what_is_no_pair():
    data = make_ranking(n_queries=60, random_state=0)
    ranker = BALToR(FirstColumn(), random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    with pytest.raises(ValueError, match="pairs"):
        ranker.evaluate(data.data, data.target, qid=data.qid, pairs=[[0, 0]])
    with pytest.raises(ValueError, match="pairs"):
        ranker.score(data.data, data.target, qid=data.qid, pairs=[[0, 999]])


def test_totals_name_their_queries(ranker, data):
    X, y, qid = data
    names = np.array([f"day {q}" for q in qid])
    order = np.random.default_rng(0).permutation(qid.size)
    totals = ranker.evaluate(X[order], y[order], qid=names[order])
    assert totals.qid.tolist() == list(dict.fromkeys(names[order]))
    by_day = dict(zip(totals.qid, totals.pairs, strict=True))
    for day, rows in {name: np.sum(names == name) for name in names}.items():
        assert by_day[day] == rows * (rows - 1) / 2
    frame = totals.to_frame().set_index("qid")
    for name in ("pairs", "loss", "answered_order", "unlike", "discordant"):
        np.testing.assert_array_equal(frame[name], getattr(totals, name))
    some = totals.of_queries(slice(3))
    assert some.qid.tolist() == totals.qid[:3].tolist()


def test_numbers_of_curves_come_out_as_frames(ranker, data):
    X, y, qid = data
    profile = ranker.risk_profile(X, y, qid=qid)
    frame = profile.to_frame()
    curves = ("coverage", "selective_risk", "concordance", "accuracy")
    for name in ("risk", "n_pairs", *curves):
        np.testing.assert_array_equal(frame[name], getattr(profile, name))
    points = ranker.operating_points(X, y, qid=qid, coverages=[0.3, 0.8])
    frame = points.to_frame()
    assert frame["target"].tolist() == [0.3, 0.8]
    assert frame["threshold"].tolist() == [point.threshold for point in points]
    for name in ("coverage", "selective_risk", "discordance", "accuracy"):
        assert frame[name].tolist() == [getattr(p.totals, name) for p in points]
    assert ranker.operating_points(X, y, qid=qid, coverages=[]).to_frame().empty


@pytest.mark.parametrize("method", ["evaluate", "report", "risk_profile"])
def test_one_negative_grade_is_noticed_where_it_is_measured(method):
    model = FirstColumn().fit(None, None)
    known, new = (make_ranking(n_queries=50, random_state=seed) for seed in (4, 5))
    ranker = BALToR(model, **TERRY).fit(known.data, known.target, qid=known.qid)
    grade = np.digitize(new.target, [0.0, 1.0])
    measure = getattr(ranker, method)
    measure(new.data, grade, qid=new.qid)
    grade[::7] = -1
    with pytest.warns(UserWarning, match="items of grade -1.* leave their rows out"):
        measure(new.data, grade, qid=new.qid)


def test_labels_upside_down_are_noticed_where_they_are_measured(data):
    X, y, qid = data
    ranker = BALToR(FirstColumn(), random_state=0).fit(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* have the features of")
        ranker.evaluate(X, y, qid=qid)
    with pytest.warns(UserWarning, match="of the decided pairs that differ .*a coin"):
        ranker.evaluate(X, y.max() - y, qid=qid)


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
@pytest.mark.parametrize("change", [lambda x: x + 50, lambda x: 100 * x])
def test_scores_on_another_scale_are_noticed(data, change):
    X, y, qid = data
    graded = BALToR(FirstColumn(), random_state=0).fit(X, y, qid=qid)
    gaps = BALToR(FirstColumn(), tie_model="bradley_terry", random_state=0)
    gaps.fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match=r"scores lie far from those of calibration"):
        graded.ranking(change(X), qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graded.ranking(X, qid=qid)
        gaps.ranking(change(X), qid=qid)  # differences have no origin


def test_decisions_by_another_confidence_are_measured_as_they_are(data):
    X, y, qid = data
    ranker = BALToR(FirstColumn(), random_state=0).fit(X, y, qid=qid)
    new = make_ranking(n_queries=30, random_state=9)
    pairs = ranker.predict_pairs(new.data, qid=new.qid)
    gap = np.abs(new.data[pairs.left, 0] - new.data[pairs.right, 0])
    mine = pairs.accepting(gap, np.median(gap))
    totals = ranker.evaluate(new.data, new.target, qid=new.qid, pairs=mine)
    truth = pair_labels(new.target, pairs.left, pairs.right)
    counted = mine.accepted & (truth != 0)
    wrong = np.mean((truth != pairs.label)[counted] - (pairs.label == 0)[counted] / 2)
    assert totals.coverage == mine.coverage == pytest.approx(0.5, abs=0.01)
    assert totals.discordance == pytest.approx(wrong)
    own = ranker.evaluate(new.data, new.target, qid=new.qid)
    same = ranker.evaluate(new.data, new.target, qid=new.qid, pairs=pairs)
    assert same.discordance == pytest.approx(own.discordance)
