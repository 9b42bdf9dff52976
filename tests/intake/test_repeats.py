"""Items and queries that fit, or a report, gets twice are found and said."""

import pickle
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_validate
from sklearn.multioutput import MultiOutputClassifier

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import load_triage, make_ranking
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.intake import _repeats, hash_rows
from skrank_abstain.intake._repeats import describe_rows, find_repeats
from skrank_abstain.metrics import (
    compare,
    selective_accuracy_scorer,
    selective_utility,
)
from skrank_abstain.multilabel import SelectiveMultilabelRanker
from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.scorers import ScoreColumn
from skrank_abstain.selection import Coverage

SHARED = "calibration items trained the model too"
COPIES = "calibration queries repeat another one"
SEEN = "have the features of"
_OTHER = make_ranking(60, n_items=13, random_state=9)
OTHER, OTHER_QID = (_OTHER.data, _OTHER.target), _OTHER.qid


def copied(data, times):
    """Return days that are there several times, under new ids."""
    qid = np.concatenate([data.qid + 1000 * time for time in range(times)])
    return np.tile(data.data, (times, 1)), np.tile(data.target, times), qid


@pytest.fixture(scope="module")
def days():
    return make_ranking(60, n_items=13, random_state=0)


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught]


def test_days_copied_five_times(days):
    X, y, qid = copied(days, 5)
    model = Ridge().fit(days.data, days.target)
    ranker = RiskControlledRanker(model, max_risk=0.4, random_state=0)
    ranker, messages = warned(lambda: ranker.fit(X, y, qid=qid))
    assert messages == [
        "240 of 300 calibration queries repeat another one under another qid, all "
        "items and their relevance: copies count as evidence that is not there: "
        "promises and intervals need not hold. Drop the copies."
    ]
    new = make_ranking(20, n_items=13, random_state=5)
    lines = ranker.report(new.data, new.target, qid=new.qid).splitlines()
    assert (
        "- items with features that fit had in its calibration data: 0 of 260" in lines
    )
    assert "- calibration queries that repeat another one: 240 of 300" in lines


def test_days_of_a_report_copied_under_new_ids(days):
    ranker = BALToR(Ridge(), random_state=0).fit(days.data, days.target, qid=days.qid)
    new = make_ranking(20, n_items=13, random_state=5)
    page, messages = warned(lambda: ranker.report(new.data, new.target, qid=new.qid))
    assert messages == []
    assert "- queries of these data that repeat another one: 0 of 20" in page
    X, y, qid = copied(new, 4)
    page, [message] = warned(lambda: ranker.report(X, y, qid=qid + 100))
    assert message.startswith("60 of 80 queries repeat another one under another qid")
    assert f"- {message}" in page
    assert "- queries of these data that repeat another one: 60 of 80" in page
    # Where rows do not tell items apart, equal queries are nothing strange.
    few, _ = warned(lambda: ranker.report(np.round(0 * X), 0 * y, qid=qid))
    assert "queries of these data" not in few


@pytest.mark.parametrize("times", [2, 5])
def test_days_copied_into_both_parts(days, times):
    X, y, qid = copied(days, times)
    ranker = BALToR(Ridge(), calibration_size=0.25, random_state=0)
    ranker, messages = warned(lambda: ranker.fit(X, y, qid=qid))
    assert [COPIES in message for message in messages] == [False, True]
    n_shared, n_items = ranker._fit_rows.n_shared, 13 * 15 * times
    assert messages[0] == (
        f"{n_shared} of {n_items} calibration items trained the model too (equal "
        "features): the threshold is set on what it has learned by heart, and what it "
        "promises need not hold for new items. Drop the copies, or train the model on "
        "other items (split by what comes back, such as the patient) and pass it "
        "fitted."
    )


@pytest.mark.parametrize(
    "make",
    [
        BALToR,
        CostAbstainer,
        lambda model, **kw: SelectiveRanker(model, rule=Coverage(0.8), **kw),
        lambda model, **kw: RiskControlledRanker(model, max_risk=0.45, **kw),
        DistanceAbstainer,
    ],
)
def test_every_ranker_of_items_looks(make, days):
    X, y, qid = copied(days, 2)
    with pytest.warns(UserWarning, match=SHARED), pytest.warns(match=COPIES):
        make(Ridge(), random_state=0).fit(X, y, qid=qid)
    make(Ridge(), random_state=0).fit(days.data, days.target, qid=days.qid)


@pytest.mark.parametrize("hold", [pd.DataFrame, sparse.csr_array, np.asfortranarray])
def test_whatever_holds_the_rows(hold, days):
    X, y, qid = copied(days, 2)
    with pytest.warns(UserWarning, match=SHARED), pytest.warns(match=COPIES):
        BALToR(Ridge(), random_state=0).fit(hold(X), y, qid=qid)


def test_the_query_column_does_not_tell_copies_apart(days):
    X, y, qid = copied(days, 5)
    frame = pd.DataFrame(X).rename(columns=str).assign(day=qid)
    model = Ridge().fit(frame[:780].drop(columns="day"), y[:780])
    ranker = BALToR(model, qid_col="day")
    with pytest.warns(UserWarning, match=f"240 of 300 {COPIES}"):
        ranker.fit(frame, y)
    with pytest.warns(UserWarning, match=f"780 of 780 items {SEEN}"):
        ranker.report(frame[:780].assign(day=qid[:780] + 7), y[:780])


def test_a_copy_has_its_rows_in_any_order_and_the_same_relevance(days):
    X, y, qid = copied(days, 2)
    order = np.random.default_rng(0).permutation(qid.size)
    model = Ridge().fit(days.data, days.target)
    with pytest.warns(UserWarning, match=f"60 of 120 {COPIES}"):
        BALToR(model).fit(X[order], y[order], qid=qid[order])
    y[780:] = np.random.default_rng(0).permutation(y[780:])  # other labels
    BALToR(model).fit(X[order], y[order], qid=qid[order])


@pytest.mark.parametrize("load", [load_triage, lambda: make_ranking(random_state=0)])
def test_data_of_this_package_are_fine(load):
    data = load()
    ranker = BALToR(Ridge(), random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    assert ranker._fit_rows.comparable


# Fitted models that are calibrated on the rows of their own fit


@pytest.mark.parametrize(
    "wrap",
    [
        BALToR,
        lambda ranker: RiskControlledRanker(FrozenEstimator(ranker), max_risk=0.45),
        lambda ranker: TopSetRanker(ranker, alpha=0.2),
        lambda ranker: QueryRiskRanker(ranker, coverage=0.8),
        # What calibrated a model that came fitted did not train it.
        lambda ranker: BALToR(ranker.__class__(ranker).fit(*OTHER, qid=OTHER_QID)),
    ],
)
@pytest.mark.parametrize("options", [{"cv": 5}, {"calibration_size": 0.25}])
def test_a_ranker_of_ours_remembers_what_trained_it(wrap, options, days):
    X, y, qid = days.data, days.target, days.qid
    ranker = BALToR(Ridge(), random_state=0, **options).fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match=f"780 of 780 {SHARED}.*its own fit got"):
        wrap(ranker).fit(X, y, qid=qid)
    wrap(ranker).fit(*OTHER, qid=OTHER_QID)  # without a warning


def test_rows_that_only_calibrated_a_ranker_may_calibrate_another(days):
    model = BALToR(Ridge().fit(*OTHER)).fit(days.data, days.target, qid=days.qid)
    TopSetRanker(model, alpha=0.2).fit(days.data, days.target, qid=days.qid)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, ExtraTreesRegressor])
def test_trees_tell_the_rows_that_trained_them(kind, days):
    X, y, qid = days.data, days.target, days.qid
    model = kind(n_estimators=5, random_state=0).fit(X, y)
    order = np.random.default_rng(0).permutation(y.size)
    with pytest.warns(UserWarning, match=SHARED) as caught:
        BALToR(model).fit(X[order], y[order], qid=qid[order])
    assert str(caught[0].message) == (
        "All, or most, of 780 calibration items trained the model too (its first tree, "
        "or its coefficients, come from them): the threshold is set on what it has "
        "learned by heart, and what it promises need not hold for new items. Calibrate "
        "on other items, or pass the model unfitted."
    )
    fresh = BALToR(model).fit(*OTHER, qid=OTHER_QID)
    BALToR(kind(n_estimators=5), random_state=0).fit(X, y, qid=qid)
    seems = "THE MODEL SEEMS TO HAVE BEEN TRAINED ON ROWS THAT CALIBRATED IT"
    assert seems not in fresh.report(X, y, qid=qid)
    with pytest.warns(UserWarning, match=SHARED):
        known = RiskControlledRanker(model, max_risk=0.3).fit(X, y, qid=qid)
    verdict = known.report(*OTHER, qid=OTHER_QID).split("## Verdict\n\n")[1]
    assert verdict.startswith(seems)
    assert "as promised" not in verdict.split("##")[0]


def test_a_judge_of_pairs_tells_them_too():
    pairs = make_ranking(400, n_items=2, n_grades=None, random_state=0)
    X = pairs.data.reshape(400, -1)
    y = np.where(pairs.target[::2] > pairs.target[1::2], "left", "right")
    judge = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="most, of 400 calibration pairs trained"):
        PairwiseRankerClassifier(judge).fit(X, y)
    PairwiseRankerClassifier(judge).fit(X[:300], y[:300])


# Where nothing can be said


@pytest.mark.parametrize("n_kinds", [2, 30, 1000])
@pytest.mark.parametrize("n_items", [2, 13])
@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_coarse_features_tell_nothing(n_kinds, n_items):
    rng = np.random.default_rng(n_kinds)
    n_queries = 3000 // n_items
    X = rng.integers(n_kinds, size=(n_queries * n_items, 1)).astype(float)
    y = np.digitize(X[:, 0] / n_kinds + rng.logistic(size=len(X)), [0, 1])
    qid = np.arange(len(X)) // n_items
    ranker = BALToR(Ridge(), random_state=0).fit(X, y, qid=qid)
    page = ranker.report(X, y, qid=qid)
    assert (
        "- whether items were used twice cannot be said: too many have equal features"
        in page.splitlines()
    )
    # Equal fingerprints are a proof, which equal rows are not.
    said = f"THESE DATA MAY NOT BE NEW: these data are those that fit got, all {len(X)}"
    assert said in page
    assert "MAY NOT BE NEW" not in ranker.report(X[::-1], y[::-1], qid=qid)


def test_a_share_of_rows_without_content_is_no_leak(days):
    # As in collections for the web: pages of which nothing is known.
    rng = np.random.default_rng(0)
    X = days.data.copy()
    X[rng.random(len(X)) < 0.04] = 0.0
    ranker = BALToR(Ridge(), random_state=0).fit(X, days.target, qid=days.qid)
    assert ranker._fit_rows.comparable
    assert ranker._fit_rows.n_shared == 0


def find(X, qid, calibration):
    queries, labels = group_queries(qid, len(X)), np.zeros(len(X))
    return find_repeats(hash_rows(X), queries, np.asarray(calibration), labels)


def test_95_of_100_rows_that_differ_are_enough():
    X = np.arange(200.0)[:, None]
    qid = np.arange(200) // 10
    rows = np.arange(100, 200)
    for n_equal, comparable in [(5, True), (6, False)]:
        again = X.copy()
        # Each in another query than the row that it repeats.
        again[:n_equal] = again[50 : 50 + n_equal]
        assert find(again, qid, rows).comparable is comparable


def test_one_query_needs_rows_that_differ():
    X = np.arange(200.0)[:, None]
    found = find(np.append(X, X[:40], axis=0), np.zeros(240), np.arange(200, 240))
    assert (found.comparable, found.n_shared, found.n_calibration) == (True, 40, 40)
    assert not find(X // 2, np.zeros(200), np.arange(100, 200)).comparable


@pytest.mark.parametrize(("n_shared", "warns"), [(9, False), (10, True), (0, False)])
def test_ten_items_are_a_matter_for_a_warning(n_shared, warns, days):
    X = days.data.copy()
    ranker = BALToR(Ridge(), calibration_size=0.25, random_state=0)
    training = _training_rows(ranker.fit(X, days.target, qid=days.qid), days)
    calibration = np.setdiff1d(np.arange(780), training)
    X[calibration[:n_shared]] = X[training[::13][:n_shared]]
    ranker, messages = warned(lambda: ranker.fit(X, days.target, qid=days.qid))
    assert [SHARED in message for message in messages] == [True] * warns
    assert ranker._fit_rows.n_shared == n_shared


def _training_rows(ranker, days):
    scores = ranker.predict(days.data)
    return np.flatnonzero(~np.isin(scores, ranker._calibration.items.value))


# What was fitted on, in a report


def test_a_report_on_rows_that_were_fitted_on(days):
    X, y, qid = days.data, days.target, days.qid
    ranker = BALToR(Ridge(), calibration_size=0.25, random_state=0).fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match=SEEN) as caught:
        page = ranker.report(X[:130], y[:130], qid=qid[:130])
    assert [str(warning.message) for warning in caught] == [
        "130 of 130 items have the features of items that fit got: if they are the "
        "same, what is measured on them is too good for new data. Measure on items "
        "that fit did not get."
    ]
    lines = page.splitlines()
    assert (
        "- items with features that fit had in its training and calibration "
        "data: 130 of 130" in lines
    )
    assert "- calibration items that were in the training part too: 0 of 195" in lines
    assert "- calibration queries that repeat another one: 0 of 15" in lines


@pytest.mark.parametrize("kind", [BALToR, DistanceAbstainer])
def test_evaluate_warns_of_rows_that_were_fitted_on(kind, days):
    X, y, qid = days.data, days.target, days.qid
    ranker = kind(Ridge(), random_state=0).fit(X[:390], y[:390], qid=qid[:390])
    with pytest.warns(UserWarning, match=f"^26 of 130 items {SEEN} items") as caught:
        ranker.evaluate(X[364:494], y[364:494], qid=qid[364:494])
    assert [warning.filename for warning in caught] == [__file__]
    # Nine rows may be new items that look alike; so may the rows of another day.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for first in (381, 390):
            rows = slice(first, first + 130)
            ranker.evaluate(X[rows], y[rows], qid=qid[rows])


def test_only_the_user_is_warned_of_rows_that_were_fitted_on(days):
    X, y, qid = days.data, days.target, days.qid
    ranker = BALToR(Ridge(), random_state=0).fit(X, y, qid=qid)
    for measure in (
        ranker.score,
        ranker.risk_profile,
        partial(selective_accuracy_scorer, ranker),
        partial(compare, ranker, ranker),
        partial(RiskCoverageDisplay.from_estimator, ranker),
    ):
        _, said = warned(partial(measure, X, y, qid=qid))
        assert said
        assert all(text.startswith(f"780 of 780 items {SEEN}") for text in said)
    with warnings.catch_warnings(), config_context(enable_metadata_routing=True):
        warnings.simplefilter("error")
        found = cross_validate(
            ranker,
            X,
            y,
            params={"qid": qid},
            cv=GroupKFold(3).set_split_request(groups="qid"),
            scoring=selective_utility(cost=0.2),
            return_train_score=True,
        )
    assert found["train_score"].size == 3


@pytest.mark.parametrize("splitter", [KFold, GroupKFold])
@pytest.mark.parametrize("train_score", [False, True])
def test_folds_that_cut_queries_are_noticed(splitter, train_score, days):
    X, y, qid = days.data, days.target, days.qid
    cv = splitter(3, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        for params in ({}, {"scoring": selective_accuracy_scorer}):
            params |= {"params": {"qid": qid}, "return_train_score": train_score}
            if splitter is GroupKFold:
                params["cv"] = cv.set_split_request(groups="qid")
            else:
                params["cv"] = cv
            ranker = BALToR(Ridge(), random_state=0)
            _, said = warned(partial(cross_validate, ranker, X, y, **params))
            cut = [
                text
                for text in said
                if "if a split by rows has cut them in two" in text
            ]
            assert len(cut) == 3 * (splitter is KFold)
            assert cut == [text for text in said if "set the threshold" not in text]


def test_a_page_names_queries_that_were_cut(days):
    X, y, qid = days.data, days.target, np.char.add("q", days.qid.astype(str))
    first = np.random.default_rng(0).random(qid.size) < 0.7
    ranker = BALToR(Ridge(), random_state=0).fit(X[first], y[first], qid=qid[first])
    rest = X[~first], y[~first], qid[~first]
    n = np.unique(rest[2]).size
    seen = f"{n} of {n} queries have the ids of queries that fit got"
    for labels in (rest[1], None):
        with pytest.warns(UserWarning, match=seen):
            page = ranker.report(rest[0], labels, qid=rest[2])
        verdict, doubts = page.split("## ")[1:3]
        assert f"SOME OF THESE DATA MAY NOT BE NEW: {seen}. If they" in verdict
        assert f"- {seen}, with other items: if a split" in doubts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = ranker.report(rest[0], rest[1], qid=np.char.add("new", rest[2]))
    assert "MAY NOT BE NEW" not in page


def test_rows_that_a_user_split_are_noticed_by_names_of_queries(days):
    X, y, qid = days.data, days.target, days.qid
    rows = np.random.default_rng(0).permutation(qid.size)
    new, old = np.split(rows, [390])
    for ids, is_noticed in ((qid * 7, True), ([f"q{k}" for k in qid], True), (qid, 0)):
        ids = np.array(ids)
        ranker = BALToR(Ridge(), random_state=0).fit(X[old], y[old], qid=ids[old])
        _, said = warned(partial(ranker.evaluate, X[new], y[new], qid=ids[new]))
        assert len(said) == is_noticed
        # Other queries may have the same numbers.
        if not is_noticed:
            other = make_ranking(60, random_state=3)
            assert not warned(
                partial(ranker.evaluate, other.data, other.target, qid=other.qid)
            )[1]


def test_rows_of_one_score_are_different_items():
    # Of trees, say: a score with few values does not tell items apart.
    data = make_ranking(100, n_items=13, random_state=0)
    score = data.data[:, :1].round(3)
    first, rest = data.qid < 50, data.qid >= 50
    ranker = BALToR(ScoreColumn(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(score[first], data.target[first], qid=data.qid[first])
        ranker.evaluate(score[rest], data.target[rest], qid=data.qid[rest])


def test_a_saved_ranker_remembers(days):
    ranker = BALToR(Ridge(), random_state=0)
    ranker = ranker.fit(days.data, days.target, qid=days.qid).at_coverage(0.5)
    loaded = pickle.loads(pickle.dumps(ranker))
    with pytest.warns(UserWarning, match=f"780 of 780 items {SEEN}"):
        loaded.report(pd.DataFrame(days.data), days.target, qid=days.qid)
    loaded._fit_rows = None  # rows that are no items
    assert "that fit had" not in loaded.report(days.data, days.target, qid=days.qid)


def test_many_rows_are_remembered_by_a_sample(monkeypatch):
    monkeypatch.setattr(_repeats, "_REMEMBERED", 1000)
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    found = find(X, np.arange(20_000) // 10, np.arange(20_000))
    assert (found.hashes.size, found.complete) == (1000, False)
    assert np.all(np.diff(found.hashes.astype(object)) > 0)
    assert found.count_in(hash_rows(X)) == 20_000
    assert found.count_in(hash_rows(X + 1)) == 0
    half = np.append(X[:5000], X[:5000] + 1, axis=0)
    # 500 of 10,000 are looked up: a standard error of 220.
    assert abs(found.count_in(hash_rows(half)) - 5000) < 900


def test_rows_that_nothing_can_read(days):
    class Strange:
        shape = (20, 2)

        def __array__(self, dtype=None, copy=None):
            raise TypeError("on another device")

    hashes = hash_rows(Strange())
    found = find_repeats(hashes, group_queries(None, 20), np.arange(20), np.zeros(20))
    assert (found.comparable, found.fingerprint) == (False, "")
    rows = describe_rows(
        SimpleNamespace(_fit_rows=found), hashes, group_queries(None, 20)
    )
    assert rows.lines[:2] == [
        "fingerprint of these data: none",
        "fingerprint of what fit got: none",
    ]


# Labels of samples


def test_samples_of_several_labels():
    X, y = make_multilabel_classification(300, n_classes=4, random_state=0)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    labels = MultiOutputClassifier(LogisticRegression(max_iter=1000))
    ranker = SelectiveMultilabelRanker(labels, random_state=0).fit(X[:200], y[:200])
    page = ranker.report(X[200:], y[200:])
    assert (
        "- samples with features that fit had in its training and calibration "
        "data: 0 of 100" in page
    )
    assert "repeat another" not in page
    with pytest.warns(UserWarning, match=f"100 of 100 samples {SEEN}"):
        ranker.report(X[100:200], y[100:200])


@pytest.fixture
def calibrated(monkeypatch):
    """The rows that the last fit calibrated on."""
    rows, compare = [], _repeats._compare

    def note(hashes, queries, calibration, *more):
        rows[:] = calibration
        return compare(hashes, queries, calibration, *more)

    monkeypatch.setattr(_repeats, "_compare", note)
    return rows


def exchanged(rows, n_rows, n_copies):
    """Return rows of the other part in place of some."""
    found = np.arange(n_rows)
    found[rows[:n_copies]] = np.setdiff1d(found, rows)[:n_copies]
    return found


def test_samples_in_both_parts(calibrated):
    X, y = make_multilabel_classification(200, n_classes=4, random_state=0)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    labels = MultiOutputClassifier(LogisticRegression(max_iter=1000))
    ranker = SelectiveMultilabelRanker(labels, calibration_size=0.5, random_state=3)
    rows = exchanged(ranker.fit(X, y) and calibrated, 200, 12)
    with pytest.warns(UserWarning, match="12 of 100 calibration samples trained the"):
        ranker.fit(X[rows], y[rows])


def test_rows_that_are_coarse_are_alike_by_chance():
    rng = np.random.default_rng(0)

    def day(n):  # of patients: age, pain, and oxygen
        vitals = rng.integers(18, 95, n), rng.integers(0, 11, n), rng.normal(96, 2, n)
        return np.column_stack([*vitals[:2], vitals[2].round(1)])

    X, new, qid = day(1200), day(1000), np.arange(1200) // 12
    y = np.round(X[:, 1] / 4 + rng.normal(size=1200))
    ranker = BALToR(Ridge(), calibration_size=0.25, random_state=0)
    page = ranker.fit(X, y, qid=qid).report(new, qid=np.arange(1000) // 10)
    found = ranker._fit_rows
    expected = 1000 * found.chance
    assert found.count_in(hash_rows(new)) == pytest.approx(expected, abs=40)
    assert expected > 20
    assert "NOT BE NEW" not in page
    with pytest.warns(UserWarning, match=r"of 1000 items have the features"):
        ranker.report(np.append(new[:600], X[:400], axis=0), qid=np.arange(1000) // 10)


# Pairs of rows


def pairs_of(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = np.sign(X[:, 0] - X[:, 3] + rng.logistic(size=n)).astype(int)
    return X, y


def test_a_pair_is_the_same_in_either_order():
    X, y = pairs_of(300)
    turned = np.roll(X, 3, axis=1)
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    classifier.fit(X[:200], y[:200])
    page = classifier.report(X[200:], y[200:])
    assert (
        "- pairs with features that fit had in its training and calibration "
        "data: 0 of 100" in page
    )
    with pytest.warns(UserWarning, match=f"40 of 100 pairs {SEEN}"):
        page = classifier.report(
            np.append(turned[160:200], X[200:260], axis=0), y[:100]
        )
    assert f"## Warnings\n\n- 40 of 100 pairs {SEEN} pairs that fit got" in page
    with pytest.warns(UserWarning, match=f"^100 of 100 pairs {SEEN}"):
        classifier.evaluate(turned[:100], -y[:100])
    assert len(warned(lambda: classifier.score(X[:200], y[:200]))[1]) == 1


def test_pairs_in_both_parts(calibrated):
    X, y = pairs_of(1000)
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    known = np.array(classifier.fit(X, y) and calibrated)
    others, rows = np.setdiff1d(np.arange(1000), known), np.arange(1000)
    # The other way round, and with the labels by which the pairs are split.
    for label in (-1, 1):
        here, there = known[y[known] == label], others[y[others] == -label]
        rows[here[:20]] = there[:20]
        X[here[:20]] = np.roll(X[there[:20]], 3, axis=1)
    with pytest.warns(UserWarning, match="40 of 250 calibration pairs trained the"):
        classifier.fit(X, y)
    # Together by qid they are on one side.
    classifier.fit(X, y, qid=rows)
    assert classifier._fit_rows.n_shared == 0
