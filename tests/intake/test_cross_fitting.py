"""Calibration by folds: all queries train, and all calibrate."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn, Recorder
from sklearn.covariance import EllipticEnvelope
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.intake import cross_fit, find_repeats
from skrank_abstain.multilabel import (
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.pairs import group_queries
from skrank_abstain.selection import (
    CertifiedRisk,
    Coverage,
    GuaranteedCoverage,
    Price,
)


def fitted(data, model=None, **options):
    options = {"random_state": 0, **options}
    ranker = BALToR(Ridge() if model is None else model, **options)
    return ranker.fit(data.data, data.target, qid=data.qid)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_items=(2, 9), random_state=0)


def crossed(model, data, cv):
    """Return `cross_fit` of a scikit-learn model."""
    queries = group_queries(data.qid, data.target.size)
    X, y = data.data, data.target
    return cross_fit(
        model,
        queries,
        cv,
        lambda model, rows: type(model)(**model.get_params()).fit(X[rows], y[rows]),
        lambda model, rows: model.predict(X[rows]),
        0,
    )


@pytest.mark.parametrize("cv", [GroupKFold(4), LeaveOneGroupOut(), 3])
def test_scores_are_out_of_fold_in_the_units_of_the_final_model(cv, data):
    X, y, qid = data.data, data.target, data.qid
    found = crossed(Ridge(), data, cv)
    final = Ridge().fit(X, y).predict(X)
    assert len(found.folds) == {3: 3}.get(cv, 4 if isinstance(cv, GroupKFold) else 30)
    for held_out in found.folds:
        others = ~np.isin(qid, qid[held_out])  # whole queries
        assert others.sum() + held_out.size == qid.size
        part = Ridge().fit(X[others], y[others])
        known = part.predict(X[others])
        z = (part.predict(X[held_out]) - known.mean()) / known.std()
        expected = final.mean() + final.std() * z
        np.testing.assert_allclose(found.scores[held_out], expected, rtol=1e-9)
    np.testing.assert_allclose(found.model.predict(X), final)


def test_a_model_that_learned_nothing_scores_the_mean(data):
    found = crossed(DummyRegressor(), data, 3)
    np.testing.assert_allclose(found.scores, data.target.mean())


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_scores_may_have_any_unit(unit, data):
    # Squares of such numbers are infinite, or 0.
    queries = group_queries(data.qid, data.target.size)
    values = data.utility - data.utility[0]

    def scores(unit):
        return cross_fit(
            None,
            queries,
            3,
            lambda _, rows: unit * (1 + rows.size % 7),
            lambda model, rows: model * values[rows],
            0,
        ).scores

    np.testing.assert_allclose(scores(unit) / unit, scores(1.0), atol=1e-12)


def test_all_queries_train_and_all_calibrate(data):
    ranker = fitted(data, Recorder(), cv=3)
    assert ranker.estimator_.seen_[1].size == data.target.size
    assert (ranker.n_queries_, ranker.n_folds_, ranker.prefit_) == (30, 3, False)
    assert ranker.n_pairs_ == group_queries(data.qid, data.qid.size).n_pairs
    # Recorder scores by the first column, whatever it learned: units alone differ.
    prefit = fitted(data, Recorder().fit(None, None))
    assert ranker.coverage_ == pytest.approx(prefit.coverage_, abs=0.02)
    page = ranker.report(data.data + 1, data.target, qid=data.qid)
    assert "of 30 queries, scored out of 3 folds" in page
    assert "places at 90% confidence" not in page  # which takes a split
    assert "places at 90% confidence" in prefit.report(
        data.data + 1, data.target, qid=data.qid
    )


def test_a_saved_ranker_holds_one_model_and_decides_alike(data):
    ranker = fitted(data, cv=5)
    loaded = pickle.loads(pickle.dumps(ranker))
    assert loaded.n_folds_ == 5
    X, qid = data.data, data.qid
    np.testing.assert_array_equal(
        ranker.abstain(X, qid=qid), loaded.abstain(X, qid=qid)
    )
    alone = Ridge().fit(X, data.target).predict(X)
    np.testing.assert_allclose(ranker.predict(X), alone)


@pytest.mark.parametrize(
    ("n_queries", "n_folds"), [(4, 0), (5, 5), (199, 5), (200, 0), (1, 0)]
)
def test_the_default_folds_few_queries(n_queries, n_folds):
    data = make_ranking(n_queries, n_items=12, random_state=0)
    options = {"cv": None, "calibration_size": None}
    found = [fitted(data, FirstColumn(), **options) for _ in range(2)]
    assert [each.n_folds_ for each in found] == [n_folds] * 2
    assert found[0].threshold_ == found[1].threshold_
    assert fitted(data, FirstColumn(), calibration_size=0.5).n_folds_ == 0
    with pytest.raises(ValueError, match="cv must be None with a fitted model, got 2"):
        fitted(data, FirstColumn().fit(None, None), cv=2)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize(
    "cv", [KFold(3), GroupShuffleSplit(3), [([0, 1], [2, 3])], 31, 1, "five"]
)
def test_folds_are_whole_queries_each_once(cv, data):
    with pytest.raises(ValueError, match=r"^cv must"):
        fitted(data, cv=cv)


@pytest.mark.parametrize(
    "options",
    [
        {"coverage_guarantee": "hierarchical"},
        {
            "novelty": EllipticEnvelope(support_fraction=1.0),
            "novelty_level": 0.2,
            "coverage": 0.5,
        },
        {"calibration_size": 0.25},
    ],
)
def test_a_promise_takes_a_split(options):
    data = make_ranking(n_queries=90, n_items=4, random_state=0)
    with pytest.raises(ValueError, match=r"^cv must be None"):
        fitted(data, cv=5, **options)
    assert fitted(data, **options).n_folds_ == 0


@pytest.mark.parametrize(
    ("rule", "folds"),
    [
        (Coverage(0.8), 5),
        (Price(0.3), 5),
        (GuaranteedCoverage(0.5), 0),
        (CertifiedRisk(0.45), 0),
    ],
)
@pytest.mark.filterwarnings("ignore")  # too few queries to promise anything
def test_rules_that_promise_nothing_use_folds(rule, folds):
    data = make_ranking(n_queries=90, n_items=4, random_state=0)
    X, y, qid = data.data, data.target, data.qid
    ranker = SelectiveRanker(Ridge(), rule=rule, random_state=0)
    assert ranker.fit(X, y, qid=qid).n_folds_ == folds
    if not folds:
        with pytest.raises(ValueError, match=f"with {type(rule).__name__}"):
            ranker.set_params(cv=3).fit(X, y, qid=qid)


def test_places_with_a_confidence_are_refused(data):
    for method in ("ranking", "rank_intervals"):
        with pytest.raises(
            ValueError, match=r"^confidence must be None after .* 5 folds"
        ):
            getattr(fitted(data), method)(data.data, qid=data.qid, confidence=0.7)
    ranker = fitted(data, calibration_size=0.5)
    assert ranker.rank_intervals(data.data, qid=data.qid, confidence=0.7).size


@pytest.mark.parametrize(("n", "confidence"), [(18, 0.9), (21, 0.9), (60, 0.7)])
def test_the_calibration_size_that_the_message_names_suffices(n, confidence):
    data = make_ranking(n, random_state=0)
    with pytest.raises(ValueError, match=r"promise takes \d+ queries") as caught:
        fitted(data).ranking(data.data, qid=data.qid, confidence=confidence)
    size = float(re.search(r"calibration_size=([\d.]+)", str(caught.value))[1])
    needed = confidence / (1 - confidence)
    assert size == pytest.approx(max(0.25, needed / n), abs=0.01)
    ranker = fitted(data, calibration_size=size)
    assert len(ranker.ranking(data.data, qid=data.qid, confidence=confidence))


@pytest.mark.parametrize("n", [9, 17])
def test_half_of_few_queries_is_the_most_that_the_message_sets_aside(n):
    data = make_ranking(n, random_state=0)
    with pytest.raises(
        ValueError, match=f"takes 9 queries .* Half of {n} are too few.* fit with 18,"
    ):
        fitted(data).ranking(data.data, qid=data.qid, confidence=0.9)
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\), got 1"):
        fitted(data).ranking(data.data, qid=data.qid, confidence=1.0)


def test_a_price_uses_folds_too(data):
    ranker = CostAbstainer(Ridge(), cv=4, random_state=0)
    assert ranker.fit(data.data, data.target, qid=data.qid).n_folds_ == 4


@pytest.mark.parametrize("model", [Ridge(), LogisticRegression()])
def test_pairs_of_rows(model):
    items = make_ranking(150, n_items=2, n_grades=None, random_state=0)
    X = items.data.reshape(150, -1)
    y = np.sign(items.target[::2] - items.target[1::2]).astype(int)
    found = PairwiseRankerClassifier(model, cv=4, random_state=0).fit(X, y)
    assert (found.n_folds_, found.n_pairs_, found.n_queries_) == (4, 150, 150)
    turned = np.hstack(np.split(X, 2, axis=1)[::-1])
    np.testing.assert_allclose(found.pair_proba(X), found.pair_proba(turned)[:, ::-1])
    # Nobody's scores on rows that trained them: less sure than on such rows.
    prefit = PairwiseRankerClassifier(found.estimator_, random_state=0).fit(X, y)
    assert found.conditional_risk(X).mean() > prefit.conditional_risk(X).mean()
    default = PairwiseRankerClassifier(model, random_state=0).fit(X, y)
    assert default.n_folds_ == 5
    with pytest.raises(ValueError, match="cv must be None with GuaranteedCoverage"):
        found.set_params(rule=GuaranteedCoverage(0.5)).fit(X, y)


def test_labels_of_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4)) > 0).astype(int)
    model = ThresholdDecompositionRanker(LogisticRegression())
    ranker = SelectiveMultilabelRanker(model, random_state=0).fit(X, y)
    assert (ranker.n_folds_, ranker.selective_ranker_.n_queries_) == (5, 60)
    assert "of 60 queries, scored out of 5 folds" in ranker.report(X + 1)
    with pytest.raises(ValueError, match="cv must be None with coverage_guarantee"):
        ranker.set_params(cv=3, coverage_guarantee="hierarchical").fit(X, y)


def test_items_in_two_folds_are_counted():
    qid = np.repeat(np.arange(6), 4)
    hashes = np.arange(24, dtype=np.uint64) * 7919
    hashes[20] = hashes[0]  # one item of the last query is one of the first
    folds = [np.flatnonzero(qid % 3 == k) for k in range(3)]
    queries, rows = group_queries(qid, 24), np.arange(24)
    found = find_repeats(hashes, queries, rows, np.zeros(24), folds, copies=True)
    assert (found.n_shared, found.n_calibration, found.trained) == (2, 24, True)
    together = [np.flatnonzero(np.isin(qid, [0, 5])), np.arange(4, 20)]
    found = find_repeats(hashes, queries, rows, np.zeros(24), together)
    assert found.n_shared == 0


@pytest.mark.slow
def test_the_coverage_of_twelve_queries_is_closer_than_by_a_split():
    new = make_ranking(n_queries=400, n_items=8, random_state=1000)
    off = {"cv": [], "calibration_size": []}
    for seed in range(40):
        data = make_ranking(n_queries=12, n_items=8, random_state=seed)
        for name, value in {"cv": 5, "calibration_size": 0.25}.items():
            ranker = fitted(data, coverage=0.6, random_state=seed, **{name: value})
            totals = ranker.evaluate(new.data, new.target, qid=new.qid)
            off[name].append(totals.coverage - 0.6)
    folds, split = (np.abs(each).mean() for each in off.values())
    assert folds < 0.8 * split
    # Three standard errors of 40 draws.
    assert abs(np.mean(off["cv"])) < 3 * np.std(off["cv"]) / np.sqrt(40)


# Warnings


@pytest.mark.parametrize(
    ("n_queries", "options", "said"),
    [
        (9, {}, "queries)."),
        (9, {"random_state": None}, "Without random_state"),
        (
            9,
            {"model": FirstColumn().fit(None, None), "random_state": None},
            "queries).",
        ),
        (10, {}, ""),
        (30, {"calibration_size": 0.2}, "Only 6 queries"),
    ],
)
def test_few_queries_warn_with_an_interval(n_queries, options, said):
    data = make_ranking(n_queries, n_items=6, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker = fitted(data, **options)
    told = " ".join(str(each.message) for each in caught)
    assert said in told
    low, high = ranker.coverage_interval_
    assert (f"anything from {low:.0%} to {high:.0%}" in told) == bool(said)
    assert ("Without" in told) == (said == "Without random_state")


@pytest.mark.parametrize(
    "make", [Ridge, lambda: make_pipeline(StandardScaler(), Ridge())]
)
def test_a_model_that_was_fitted_again_is_noticed(make, data):
    X, y, qid = data.data, data.target, data.qid
    model = make().fit(X[::2], y[::2])
    ranker = fitted(data, model)
    model.set_params(**model.get_params()).get_metadata_routing()
    ranker.predict_pairs(X, qid=qid)  # nothing to say
    model.fit(X, y)
    for noticed in (ranker, ranker.at_coverage(0.5)):
        with pytest.warns(UserWarning, match="Ridge|Pipeline") as caught:
            noticed.predict_pairs(X, qid=qid)
        assert "was fitted or set after the calibration" in str(caught[0].message)
    loaded = pickle.loads(pickle.dumps(ranker))
    with pytest.warns(UserWarning, match="was fitted or set after the calibration"):
        loaded.predict_pairs(X, qid=qid)
    model.fit(X[1::2], y[1::2])
    fitted(data, model).predict_pairs(X, qid=qid)


# Requests without rows


@pytest.mark.parametrize("tie_model", ["graded_relevance", "feature_aware_relevance"])
@pytest.mark.parametrize("with_qid", [True, False])
def test_an_empty_request_has_an_empty_answer(tie_model, with_qid, data):
    ranker = fitted(data, tie_model=tie_model)
    X, asked = data.data[:0], {"qid": data.qid[:0]} if with_qid else {}
    assert ranker.predict(X, **asked).shape == (0,)
    assert len(ranker.predict_pairs(X, **asked)) == 0
    assert ranker.abstain(X, **asked).shape == (0,)
    assert ranker.rank_intervals(X, **asked).shape == (0, 2)
    assert ranker.ranking(X, **asked).item_id.shape == (0,)
    review = ranker.review(X, **asked)
    assert (len(review.decisions), len(review.ask(3))) == (0, 0)
    assert review.ranking().place.size == 0


def test_calibration_totals_are_those_of_models_that_had_not_seen_the_queries(data):
    ranker = fitted(data, cv=LeaveOneGroupOut())
    wrong, differ = [], []
    for query in np.unique(data.qid):
        here = data.qid == query
        model = Ridge().fit(data.data[~here], data.target[~here])
        score, y = model.predict(data.data[here]), data.target[here]
        better = y[:, None] > y
        wrong.append((better & (score[:, None] < score)).sum())
        differ.append(better.sum())
    totals = ranker.at_coverage(1.0).calibration_totals_
    np.testing.assert_array_equal(totals.discordant, wrong)
    np.testing.assert_array_equal(totals.unlike, differ)
    found = totals.discordance_interval("pairs")[0]
    assert found == pytest.approx(sum(wrong) / sum(differ))
    # They belong to the threshold.
    assert ranker.calibration_totals_.coverage == pytest.approx(ranker.coverage_)
    with pytest.raises(NotFittedError):
        BALToR(Ridge()).calibration_totals_  # noqa: B018


def test_calibration_totals_of_a_fitted_model_are_those_of_its_rows(data):
    ranker = fitted(data, FirstColumn().fit(None, None))
    X, y, qid = data.data, data.target, data.qid
    expected = ranker.evaluate(X, y, qid=qid).to_frame()
    pd.testing.assert_frame_equal(ranker.calibration_totals_.to_frame(), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("n_queries", "held"), [(12, 0.87), (50, 0.89)])
def test_calibration_totals_tell_the_wrong_orders_of_new_queries(n_queries, held):
    found = []
    for draw in range(200):
        known, new = (
            make_ranking(n, 8, random_state=10_000 + 2 * draw + k)
            for k, n in enumerate((n_queries, 1000))
        )
        ranker = fitted(known)
        truth = ranker.evaluate(new.data, new.target, qid=new.qid)
        interval = ranker.calibration_totals_.discordance_interval("pairs")
        found.append([*interval, truth.discordance_interval("pairs")[0]])
    said, low, high, true = np.array(found).T
    assert abs(np.mean(said - true)) < 0.012
    # Of 200 shares of .91, one in twenty is below .875.
    assert held < np.mean((low <= true) & (true <= high)) < 0.98
