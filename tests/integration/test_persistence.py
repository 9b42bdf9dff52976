"""What is stored decides alike when it is back; set_params changes nothing fitted."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from scorers.boosters import make_ranker, raw
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import skrank_abstain
from skrank_abstain import BALToR, CostAbstainer, PairwiseRankerClassifier

SUFFIX = {"xgboost": "ubj", "lightgbm": "txt", "catboost": "cbm"}
FORMS = ["ranker", "frozen", "raw", "file", "trained here"]


@pytest.fixture(params=FORMS)
def model(request, library, trained, tmp_path):
    """A ranker in each form that it is handed over in."""
    fitted = trained(library)
    if request.param == "frozen":
        return FrozenEstimator(fitted)
    if request.param == "raw":
        return raw(fitted, library)
    if request.param == "trained here":
        return make_ranker(library)
    if request.param == "file":
        path = str(tmp_path / f"served.{SUFFIX[library]}")
        raw(fitted, library).save_model(path)
        return path
    return fitted


def through_pickle(fitted, tmp_path):
    return pickle.loads(pickle.dumps(fitted))


def through_joblib(fitted, tmp_path):
    joblib = pytest.importorskip("joblib")
    joblib.dump(fitted, tmp_path / "fitted.joblib", compress=3)
    return joblib.load(tmp_path / "fitted.joblib")


def through_skops(fitted, tmp_path):
    """Store without pickle; what is trusted is listed, and none of it is a function."""
    skops = pytest.importorskip("skops.io")
    skops.dump(fitted, tmp_path / "fitted.skops")
    kinds = skops.get_untrusted_types(file=tmp_path / "fitted.skops")
    roots = {kind.partition(".")[0] for kind in kinds}
    assert roots <= {
        "skrank_abstain",
        "xgboost",
        "lightgbm",
        "catboost",
        "collections",
    }, kinds
    return skops.load(tmp_path / "fitted.skops", trusted=kinds)


SAVED = sorted(Path(__file__).parents[1].joinpath("data").glob("saved_*.pickle"))


@pytest.mark.filterwarnings("ignore:Parameters were set after fit")
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_what_every_minor_version_saved_decides_as_it_did(path):
    for saved in pickle.loads(path.read_bytes()):
        ranker, X = saved["ranker"], saved["X"]
        pairs = ranker.predict_pairs(X)
        np.testing.assert_array_equal(pairs.label, saved["label"])
        np.testing.assert_array_equal(pairs.accepted, saved["accepted"])
        np.testing.assert_allclose(pairs.risk, saved["risk"], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(ranker.rank_intervals(X), saved["intervals"])


def test_this_minor_version_is_among_them():
    major, minor, *_ = skrank_abstain.__version__.split(".")
    assert f"saved_{major}_{minor}" in {path.stem for path in SAVED}


STORES = {"pickle": through_pickle, "joblib": through_joblib, "skops": through_skops}
EACH_STORE = pytest.mark.parametrize("store", STORES.values(), ids=STORES)


@EACH_STORE
def test_a_fitted_ranker_comes_back(store, model, items, tmp_path):
    ranker = BALToR(model, coverage=0.6, random_state=0)
    ranker.fit(items.frame, items.y, qid=items.qid)
    again = store(ranker, tmp_path)
    before = ranker.predict_pairs(items.frame, qid=items.qid)
    after = again.predict_pairs(items.frame, qid=items.qid)
    for name in ("left", "right", "qid", "label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    np.testing.assert_array_equal(
        again.predict(items.frame), ranker.predict(items.frame)
    )
    assert again.threshold_ == ranker.threshold_
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.at_coverage(0.3).threshold_ == ranker.at_coverage(0.3).threshold_
    assert again.score(items.frame, items.y, qid=items.qid) == ranker.score(
        items.frame, items.y, qid=items.qid
    )
    # It can be calibrated again.
    refitted = clone(again).fit(items.frame, items.y, qid=items.qid)
    assert refitted.prefit_ == ranker.prefit_
    assert refitted.threshold_ == ranker.threshold_


@EACH_STORE
def test_the_others_come_back(store, library, trained, items, comparisons, tmp_path):
    model = trained(library)
    priced = CostAbstainer(model, cost=0.4).fit(items.frame, items.y, qid=items.qid)
    again = store(priced, tmp_path)
    np.testing.assert_array_equal(
        again.abstain(items.frame, qid=items.qid),
        priced.abstain(items.frame, qid=items.qid),
    )
    assert again.at_cost(0.2).coverage_ == priced.at_cost(0.2).coverage_
    X, y = comparisons
    classifier = PairwiseRankerClassifier(model, coverage=0.7).fit(X, y)
    again = store(classifier, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(again.abstain(X), classifier.abstain(X))


def test_a_stored_ranker_needs_its_file_no_more(library, trained, items, tmp_path):
    path = tmp_path / f"served.{SUFFIX[library]}"
    raw(trained(library), library).save_model(str(path))
    ranker = BALToR(path).fit(items.frame, items.y, qid=items.qid)
    stored = pickle.dumps(ranker)
    path.unlink()
    np.testing.assert_array_equal(
        pickle.loads(stored).predict(items.frame),
        trained(library).predict(items.frame),
    )
    with pytest.raises(FileNotFoundError, match="No such file"):
        clone(ranker).fit(items.frame, items.y, qid=items.qid)


@pytest.mark.filterwarnings("ignore:Parameters were set after fit")
def test_set_params_after_fit_changes_no_fitted_state(library, model, items):
    ranker = BALToR(model, coverage=0.6, random_state=0)
    ranker.fit(items.frame, items.y, qid=items.qid)
    before = ranker.predict_pairs(items.frame, qid=items.qid)
    state = {name: value for name, value in vars(ranker).items() if name.endswith("_")}
    score = ranker.score(items.frame, items.y, qid=items.qid)
    other = make_ranker(library)
    ranker.set_params(
        estimator=other,
        coverage=0.1,
        tie_model="thurstone_mosteller",
        loss=5 * (1 - np.eye(3)),
        boundary="randomize",
        prefit=False,
        calibration_size=0.5,
        random_state=9,
    )
    after = ranker.predict_pairs(items.frame, qid=items.qid)
    for name in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert ranker.score(items.frame, items.y, qid=items.qid) == score
    for name, value in state.items():
        assert getattr(ranker, name) is value, name
    # Nor is a fitted state left over where the next fit says otherwise.
    ranker.fit(items.frame, items.y, qid=items.qid)
    assert not ranker.prefit_
    assert ranker.n_queries_ == 10
    assert ranker.coverage_ == pytest.approx(0.1, abs=0.01)


def test_parameters_of_the_model_reach_no_fitted_ranker(library, items):
    name = "iterations" if library == "catboost" else "n_estimators"
    ranker = BALToR(make_ranker(library), random_state=0)
    ranker.fit(items.frame, items.y, qid=items.qid)
    scores = ranker.predict(items.frame)
    ranker.set_params(**{f"estimator__{name}": 1})
    np.testing.assert_array_equal(ranker.predict(items.frame), scores)


@pytest.mark.filterwarnings("ignore:Parameters were set after fit")
def test_set_params_changes_no_fitted_classifier(library, trained, comparisons):
    X, y = comparisons
    classifier = PairwiseRankerClassifier(trained(library), coverage=0.6).fit(X, y)
    proba, abstained = classifier.predict_proba(X), classifier.abstain(X)
    risk, threshold = classifier.conditional_risk(X), classifier.threshold_
    classifier.set_params(
        coverage=1.0,
        tie_model="davidson",
        loss=3 * (1 - np.eye(3)),
        estimator=make_ranker(library),
        prefit=False,
    )
    np.testing.assert_array_equal(classifier.predict_proba(X), proba)
    np.testing.assert_array_equal(classifier.abstain(X), abstained)
    np.testing.assert_array_equal(classifier.conditional_risk(X), risk)
    assert classifier.threshold_ == threshold
