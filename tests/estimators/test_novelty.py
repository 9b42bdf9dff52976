"""Rankers that leave pairs with a novel item to a person."""

import json
import pickle

import numpy as np
import pytest
from doubles import FirstColumn, named
from numpy.testing import assert_allclose, assert_array_equal
from reference import concordance
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker, SelectiveRanker
from skrank_abstain.concentration import novelty_pvalues, novelty_pvalues_of_known
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.partitions import calibrate, evaluate, predict_pairs
from skrank_abstain.selection import Price


def envelope():
    return EllipticEnvelope(support_fraction=1.0)


@pytest.fixture(scope="module")
def past():
    return make_ranking(n_queries=200, random_state=0)


@pytest.fixture(scope="module")
def model(past):
    train = make_ranking(n_queries=60, random_state=5)
    return Ridge().fit(train.data, train.target)


@pytest.fixture(scope="module")
def new():
    """Queries of which some rows are like none."""
    data = make_ranking(n_queries=40, random_state=1)
    strange = np.random.default_rng(0).random(data.qid.size) < 0.1
    data.data[strange] += 8 * (-1.0) ** np.arange(10)
    return data, strange


@pytest.fixture(scope="module")
def ranker(model, past):
    ranker = BALToR(model, coverage=0.6, novelty=envelope(), random_state=0)
    return ranker.fit(past.data, past.target, qid=past.qid)


def test_strange_rows_are_found_and_left_to_a_person(ranker, new):
    data, strange = new
    novel = ranker.novelty_pvalues(data.data) <= 0.05
    assert novel[strange].mean() > 0.95
    assert novel[~strange].mean() < 0.07
    made = ranker.predict_pairs(data.data, qid=data.qid)
    assert_array_equal(made.novel, novel[made.left] | novel[made.right])
    assert not made.accepted[made.novel].any()
    assert made.label[made.novel].any()  # what the model would have said


def test_everything_else_is_decided_by_the_threshold(ranker, new):
    data, _ = new
    made = ranker.predict_pairs(data.data, qid=data.qid)
    assert_array_equal(made.accepted, ~made.novel & (made.risk <= ranker.threshold_))
    totals = ranker.evaluate(data.data, data.target, qid=data.qid)
    truth = np.sign(data.target[made.left] - data.target[made.right])
    assert totals.pairs.sum() == len(made)
    assert totals.accepted.sum() == made.accepted.sum()
    assert totals.correct.sum() == (made.accepted & (made.label == truth)).sum()
    assert ranker.score(data.data, data.target, qid=data.qid) == pytest.approx(
        concordance(made.label, made.accepted, truth)
    )
    queries = [*ranker.iter_pairs(data.data, qid=data.qid)]
    assert_array_equal(np.concatenate([q.novel for q in queries]), made.novel)
    assert_array_equal(np.concatenate([q.accepted for q in queries]), made.accepted)
    some = ranker.predict_pairs(data.data, qid=data.qid, pairs=[[1, 0], [0, 1]])
    first = made.novel[(made.left == 0) & (made.right == 1)]
    assert_array_equal(some.novel, np.repeat(first, 2))
    first = made.deferred(int(made.novel.sum()) + 1)
    assert first.novel[:-1].all()
    assert not first.novel[-1]
    assert (np.diff(first.risk[:-1]) <= 0).all()


def test_ranks_of_novel_items(ranker, new):
    data, _ = new
    novel = ranker.novelty_pvalues(data.data) <= 0.05
    bounds = ranker.rank_intervals(data.data, qid=data.qid)
    sizes = np.bincount(data.qid)[data.qid]
    assert_array_equal(bounds[novel], np.column_stack([1 + 0 * sizes, sizes])[novel])
    ranking = ranker.ranking(data.data, qid=data.qid)
    rows = ranking.item_id
    assert_array_equal(np.column_stack([ranking.best, ranking.worst]), bounds[rows])
    graph = ranker.preference_graph(data.data, qid=data.qid).toarray()
    assert not graph[novel].any()
    assert not graph[:, novel].any()


class Witness(BaseEstimator):
    """Remembers what it has seen."""

    def fit(self, X, y=None):
        self.seen_ = X[:, 0]
        return self

    def score_samples(self, X):
        return -np.abs(X).max(axis=1)


def test_reference_is_what_the_detector_has_not_seen(past):
    """The detector learns from what trains the ranker."""
    ranker = BALToR(Ridge(), coverage=0.6, novelty=Witness(), random_state=0)
    ranker.fit(past.data, past.target, qid=past.qid)
    test = ranker._novelty
    assert np.unique(test.queries).size == ranker.n_queries_ == 50
    seen = np.unique(past.qid[np.isin(past.data[:, 0], test.detector.seen_)])
    assert seen.size == 150
    known = ~np.isin(past.qid, seen)
    strangeness = np.abs(past.data[known]).max(axis=1)
    assert_array_equal(test.strangeness, strangeness)
    _, queries = np.unique(past.qid[known], return_inverse=True)
    novel = novelty_pvalues_of_known(strangeness, queries) <= 0.05
    items = ranker._calibration.items
    assert 0 < novel.sum() == items.novel.sum()


def test_with_a_fitted_ranker_half_of_the_queries_train_it(ranker, past):
    assert np.unique(ranker._novelty.queries).size == 100
    # Of all calibration queries as many items are novel as of new ones.
    share = ranker._calibration.items.novel.mean()
    assert 0.02 < share < 0.06
    assert ranker.n_queries_ == 200
    assert_allclose(ranker.coverage_, 0.6, atol=1e-3)


def test_a_fitted_detector_is_used_as_it_is(model, past, new):
    detector = envelope().fit(past.data[:500])
    known = past.qid >= past.qid[500] + 1
    X, y, qid = past.data[known], past.target[known], past.qid[known]
    for novelty in (detector, lambda X: -detector.score_samples(X)):
        ranker = BALToR(model, coverage=0.5, novelty=novelty, random_state=0)
        ranker.fit(X, y, qid=qid)
        found = ranker.novelty_pvalues(new[0].data)
        strangeness = -detector.score_samples(X)
        _, queries = np.unique(qid, return_inverse=True)
        expected = novelty_pvalues(
            -detector.score_samples(new[0].data), strangeness, queries
        )
        assert_allclose(found, expected, rtol=1e-12)
    frozen = clone(BALToR(model, novelty=detector))
    assert frozen.novelty.estimator is detector


@pytest.mark.parametrize(
    "detector",
    [
        LocalOutlierFactor(novelty=True),
        IsolationForest(random_state=0),
        make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)),
        FrozenEstimator(envelope()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_detectors_of_scikit_learn(detector, model, past, new):
    if isinstance(detector, FrozenEstimator):
        detector.estimator.fit(past.data)
    ranker = CostAbstainer(model, cost=0.3, novelty=detector, random_state=0)
    ranker.fit(past.data, past.target, qid=past.qid)
    data, strange = new
    pvalues = ranker.novelty_pvalues(data.data)
    assert ((pvalues > 0) & (pvalues <= 1)).all()
    assert np.median(pvalues[strange]) < 0.06 < np.median(pvalues[~strange])


def test_a_price_and_a_bound_are_about_what_is_decided(model, past, new):
    data, _ = new
    plain = CostAbstainer(model, cost=0.3, random_state=0)
    plain.fit(past.data, past.target, qid=past.qid)
    ranker = CostAbstainer(model, cost=0.3, novelty=envelope(), random_state=0)
    ranker.fit(past.data, past.target, qid=past.qid)
    made = ranker.predict_pairs(data.data, qid=data.qid)
    expected = plain.predict_pairs(data.data, qid=data.qid).accepted & ~made.novel
    assert_array_equal(made.accepted, expected)
    bound = RiskControlledRanker(
        model, tuning_size=0.3, novelty=envelope(), random_state=0
    ).fit(past.data, past.target, qid=past.qid)
    assert bound.certified_
    # Queries that certify have no part in what is novel.
    assert np.unique(bound._novelty.queries).size == bound.n_tuning_queries_ // 2
    accepted, _ = bound._calibration.loss_tables().rest
    assert (accepted[:, -1] < 1).any()


def test_a_coverage_that_cannot_be_reached_is_refused(ranker, model, past):
    with pytest.raises(ValueError, match="coverage must be lower, got 1: it"):
        ranker.at_coverage(1.0)
    with pytest.raises(ValueError, match=r"coverage must be lower, got 0\.99: it"):
        BALToR(model, coverage=0.99, novelty=envelope()).fit(
            past.data, past.target, qid=past.qid
        )


def test_too_few_queries_for_the_level(model, past):
    few = past.qid < 30
    X, y, qid = past.data[few], past.target[few], past.qid[few]
    ranker = BALToR(model, coverage=0.5, novelty=envelope(), random_state=0)
    with pytest.raises(ValueError, match=r"novelty_level=0.05 .* takes 19 .* got 15"):
        ranker.fit(X, y, qid=qid)
    ranker.set_params(novelty_level=1 / 16).fit(X, y, qid=qid)
    fitted = envelope().fit(past.data[~few])
    ranker.set_params(novelty=fitted, novelty_level=0.05).fit(X, y, qid=qid)
    certified = RiskControlledRanker(model, tuning_size=0.3, novelty=fitted)
    with pytest.raises(ValueError, match="got 9"):
        certified.fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("novelty", "message"),
    [
        (LocalOutlierFactor(), r"LocalOutlierFactor\(novelty=True\)"),
        (Ridge(), "a function of X that returns more for stranger items, got Ridge"),
        (EllipticEnvelope, "must be an instance"),
        (make_pipeline(LocalOutlierFactor()), r"LocalOutlierFactor\(novelty=True\)"),
        (IsolationForest().score_samples, "Pass the IsolationForest itself"),
        (3, "got int|got 3"),
    ],
    ids=["LOF", "Ridge", "class", "pipeline", "method", "number"],
)
def test_what_is_no_detector(novelty, message, model, past):
    ranker = BALToR(model, novelty=novelty)
    with pytest.raises(TypeError, match=f"novelty.*{message}"):
        ranker.fit(past.data, past.target, qid=past.qid)


def test_what_a_callable_returns_is_checked(model, past):
    for wrong in (lambda X: X, lambda X: np.full(X.shape[0], np.nan)):
        ranker = BALToR(model, coverage=0.5, novelty=wrong)
        with pytest.raises(ValueError, match="what novelty returns"):
            ranker.fit(past.data, past.target, qid=past.qid)


def test_a_detector_refuses_in_its_own_words(model, past):
    X = past.data.copy()
    X[0, 0] = np.nan
    ranker = BALToR(FirstColumn(), coverage=0.5, novelty=envelope(), prefit=False)
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(X, past.target, qid=past.qid)


@pytest.mark.parametrize("level", [0, 1, -0.1, np.nan, "5 %"])
def test_what_is_no_level(level, model, past):
    ranker = BALToR(model, novelty=envelope(), novelty_level=level)
    with pytest.raises((TypeError, ValueError), match="novelty_level"):
        ranker.fit(past.data, past.target, qid=past.qid)


def test_p_values_without_a_detector(model, past):
    ranker = BALToR(model).fit(past.data, past.target, qid=past.qid)
    assert ranker.predict_pairs(past.data[:3]).novel is None
    with pytest.raises(ValueError, match="novelty must be given"):
        ranker.novelty_pvalues(past.data)


def test_a_column_of_queries_is_not_looked_at(past, new):
    X = np.column_stack([past.data, past.qid])
    ranker = BALToR(
        Ridge(), coverage=0.6, novelty=envelope(), qid_col=10, random_state=0
    ).fit(X, past.target)
    data, _ = new
    later = np.column_stack([data.data, data.qid + 10_000])
    assert ranker._novelty.detector.n_features_in_ == 10
    share = (ranker.novelty_pvalues(later)[~new[1]] <= 0.05).mean()
    assert share < 0.1
    assert ranker.predict_pairs(later).novel.any()


@pytest.mark.filterwarnings("ignore:novelty_level=0.1 has no effect")
def test_clone_search_and_saving(model, past, new, routing):
    data, _ = new
    pipe = make_pipeline(StandardScaler(), BALToR(Ridge(), coverage=0.5))
    search = GridSearchCV(
        BALToR(Ridge(), coverage=0.5, novelty=envelope(), random_state=0),
        {"novelty": [None, envelope()], "novelty_level": [0.05, 0.1]},
        cv=GroupKFold(2),
    )
    search.fit(past.data, past.target, groups=past.qid, qid=past.qid)
    assert len(search.cv_results_["mean_test_score"]) == 4
    assert pipe.set_params(baltor__novelty=envelope())
    ranker = BALToR(model, coverage=0.5, novelty=envelope(), random_state=0)
    ranker.fit(past.data, past.target, qid=past.qid)
    again = pickle.loads(pickle.dumps(ranker))
    one, other = (
        each.at_coverage(0.3).predict_pairs(data.data, qid=data.qid)
        for each in (ranker, again)
    )
    assert_array_equal(one.novel, other.novel)
    assert_array_equal(one.accepted, other.accepted)
    assert_array_equal(ranker.coverage_interval_, again.coverage_interval_)


def test_frames_reports_and_curves(ranker, new):
    data, _ = new
    made = ranker.predict_pairs(data.data, qid=data.qid)
    assert "novel" in made.to_frame()
    assert made.take([0]).novel.shape == (1,)
    assert json.dumps(made.to_dicts()[:2])
    assert next(iter(made)).novel in (True, False)
    report = str(ranker.report(data.data, data.target, qid=data.qid))
    assert "at most 0.05 have one (EllipticEnvelope, against 100 queries)" in report
    assert "novel items, unlike those" in report
    assert "left to a person" in str(ranker.report(data.data, qid=data.qid))
    profile = ranker.risk_profile(data.data, data.target, qid=data.qid)
    assert profile.n_pairs[-1] == made.novel.sum()
    assert profile.n_pairs.sum() == len(made)
    for display in (CoverageDisplay, ClassFractionDisplay, RiskCoverageDisplay):
        display.from_estimator(ranker, **_labelled(data))
    reached = CoverageDisplay.from_estimator(ranker, **_labelled(data)).target
    assert reached[-1] == ranker.highest_coverage_ < 1
    assert ranker.at_coverage(ranker.highest_coverage_).coverage_ == reached[-1]
    points = ranker.operating_points(
        data.data, data.target, qid=data.qid, coverages=[0.3, 0.6]
    )
    assert points[1].totals.coverage == ranker.evaluate(**_labelled(data)).coverage


def _labelled(data):
    return named(data.data, data.target, data.qid)


def test_a_query_of_novel_items_alone(ranker, new):
    data, strange = new
    X = data.data[strange][:6]
    made = ranker.predict_pairs(X)
    assert made.novel.all()
    assert made.coverage == 0
    assert ranker.evaluate(X, np.arange(6.0), qid=np.zeros(6)).accepted.sum() == 0
    assert (ranker.rank_intervals(X) == [1, 6]).all()
    assert "no pair is decided" in str(ranker.report(X, np.arange(6.0), qid="one"))


def test_items_without_any_feature_are_left_to_a_person(past, new):
    def without_features(X):
        return np.isnan(X).all(axis=1)

    model = HistGradientBoostingRegressor(max_iter=5)
    model.fit(past.data[::2], past.target[::2])
    model = FrozenEstimator(model)
    ranker = BALToR(model, coverage=0.6, novelty=without_features)
    ranker.fit(past.data, past.target, qid=past.qid)
    (data, strange), X = new, new[0].data.copy()
    X[strange] = np.nan
    made = ranker.predict_pairs(X, qid=data.qid)
    assert_array_equal(made.novel, strange[made.left] | strange[made.right])
    assert not made.accepted[made.novel].any()
    assert made.accepted[~made.novel].mean() > 0.4


def test_people_decide_about_novel_items(ranker, new):
    data, _ = new
    before = ranker.predict_pairs(data.data, qid=data.qid)
    review = ranker.review(data.data, qid=data.qid)
    assert not review.decisions.accepted[review.decisions.novel].any()
    assert_array_equal(review.decisions.novel, before.novel)
    # Whatever their scores say, nothing is known of them.
    assert review.ask(50).novel.mean() > before.novel.mean()
    pair = np.flatnonzero(before.novel)[0]
    row = {
        "qid": int(before.qid[pair]),
        "left": int(before.left[pair]),
        "right": int(before.right[pair]),
    }
    answers = [{**row, "label": "left", "reviewer": name} for name in ("Ann", "Bo")]
    review = ranker.review(
        data.data, qid=data.qid, answers=answers, reviewer_error=0.001
    )
    after = review.decisions
    assert after.accepted[pair]
    assert after.label[pair] == 1
    named = {row["left"], row["right"]}
    novel = ranker.novelty_pvalues(data.data) <= 0.05
    for number in np.flatnonzero(after.accepted & after.novel):
        strange = {k for k in (after.left[number], after.right[number]) if novel[k]}
        assert strange <= named


def test_all_pairs_of_novel_items_can_be_settled(ranker, new):
    data, _ = new
    rows = data.qid < 4
    X, y, qid = data.data[rows], data.target[rows], data.qid[rows]
    answers = []
    for _ in range(40):
        review = ranker.review(
            X, qid=qid, answers=answers or None, reviewer_error=0.001
        )
        asked = review.ask(10)
        if not len(asked):
            break
        for pair in asked:
            label = ["right", "same", "left"][
                int(np.sign(y[pair.left] - y[pair.right])) + 1
            ]
            answers.append(
                {
                    "qid": pair.qid,
                    "left": pair.left,
                    "right": pair.right,
                    "label": label,
                }
            )
    made = review.decisions
    assert made.novel.sum() > 10
    assert made.accepted[made.novel].mean() > 0.9


def test_partitions_ask_but_do_not_fit(ranker, model, past, new):
    data, _ = new
    parts = [
        (data.data[data.qid < 20], data.target[data.qid < 20], data.qid[data.qid < 20]),
        (
            data.data[data.qid >= 20],
            data.target[data.qid >= 20],
            data.qid[data.qid >= 20],
        ),
    ]
    totals = evaluate(ranker, parts)
    expected = ranker.evaluate(**_labelled(data))
    assert_array_equal(totals.accepted, expected.accepted)
    assert_array_equal(totals.pairs, expected.pairs)
    made = ranker.predict_pairs(data.data, qid=data.qid)
    frames = predict_pairs(ranker, [(X, None, qid) for X, _, qid in parts])
    assert_array_equal(np.concatenate([f["novel"] for f in frames]), made.novel)
    with pytest.raises(ValueError, match="novelty must be None over partitions"):
        calibrate(BALToR(model, novelty=envelope()), parts)


def test_a_rule_of_ones_own(model, past):
    ranker = SelectiveRanker(model, rule=Price(0.3), novelty=envelope(), random_state=0)
    ranker.fit(past.data, past.target, qid=past.qid)
    assert (
        ranker.coverage_
        < SelectiveRanker(model, rule=Price(0.3))
        .fit(past.data, past.target, qid=past.qid)
        .coverage_
    )


def test_scores_may_be_all_there_is(past):
    """The model looks at one column, the detector at all."""
    ranker = BALToR(
        FirstColumn().fit(None, None), coverage=0.5, novelty=envelope(), random_state=0
    ).fit(past.data, past.target, qid=past.qid)
    X = past.data[:5].copy()
    X[2, 1:] = 30.0
    made = ranker.predict_pairs(X)
    assert_array_equal(made.novel, (made.left == 2) | (made.right == 2))
