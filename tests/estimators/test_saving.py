"""What is saved of a fitted estimator: all of its answers, few bytes, the version."""

import copy
import pickle
import re

import numpy as np
import pytest
from doubles import named
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression, Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
    __version__,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import ConstrainedLinearRanker, DistanceAbstainer
from skrank_abstain.multilabel import LinearMultilabelRanker, SelectiveMultilabelRanker
from skrank_abstain.selection import CertifiedRisk, Price
from skrank_abstain.tie_models import (
    BradleyTerry,
    FeatureAwareRelevance,
    GradedRelevance,
)

STAMP = "_skrank_abstain_version"
RISK = {"max_risk": 0.45, "random_state": 0}
RANKERS = {
    **{
        name: lambda model, name=name: BALToR(model, tie_model=name, random_state=0)
        for name in (
            "bradley_terry",
            "davidson",
            "thurstone_mosteller",
            "isotonic_difference",
            "graded_relevance",
        )
    },
    "feature_aware": lambda model: BALToR(
        model, tie_model=FeatureAwareRelevance(Ridge())
    ),
    "guaranteed": lambda model: BALToR(
        model, coverage_guarantee="hierarchical", random_state=0
    ),
    "randomised": lambda model: BALToR(model, boundary="randomize", random_state=0),
    "randomised bins": lambda model: BALToR(
        model, tie_model="graded_relevance", boundary="randomize", random_state=0
    ),
    "priced": lambda model: CostAbstainer(model, cost=0.4),
    "certified": lambda model: RiskControlledRanker(model, **RISK),
    "in groups": lambda model: RiskControlledRanker(
        model, tie_model="graded_relevance", **RISK
    ),
    "ruled": lambda model: SelectiveRanker(model, rule=CertifiedRisk(0.45)),
    "trained here": lambda model: BALToR(Ridge(), random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=120, n_items=(2, 12), random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return Ridge().fit(data.data[::2], data.target[::2])


@pytest.fixture(scope="module", params=RANKERS)
def ranker(request, data, model):
    groups = {"groups": data.qid % 2} if request.param == "in groups" else {}
    made = RANKERS[request.param](model)
    return made.fit(data.data, data.target, qid=data.qid, **groups)


@pytest.fixture(scope="module")
def pairs(data):
    X, y = data.data, data.target
    return np.hstack([X[::2], X[1::2]]), np.sign(y[::2] - y[1::2])


def through_pickle(fitted, tmp_path):
    return pickle.loads(pickle.dumps(fitted))


def through_joblib(fitted, tmp_path):
    joblib = pytest.importorskip("joblib")
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    return joblib.load(tmp_path / "fitted.joblib", mmap_mode="r")


def through_skops(fitted, tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(fitted, tmp_path / "fitted.skops")
    return skops.load(tmp_path / "fitted.skops", trusted=trusted(fitted))


def through_deepcopy(fitted, tmp_path):
    return copy.deepcopy(fitted)


def trusted(fitted):
    """Return the types of ours in a fitted estimator: it and its tie model."""
    types = {type(fitted), type(fitted.tie_model_)}
    return sorted(f"{kind.__module__}.{kind.__name__}" for kind in types)


STORES = [through_pickle, through_joblib, through_skops, through_deepcopy]


def assert_same(found, expected):
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


def undated(report):
    """Return a report without its date, which goes on."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "", report)


@pytest.mark.parametrize("store", STORES)
def test_a_ranker_that_is_back_answers_alike(store, ranker, data, tmp_path):
    again = store(ranker, tmp_path)
    X, y, qid = data.data, data.target, data.qid
    for name in ("threshold_", "coverage_", "n_queries_", "n_pairs_"):
        assert getattr(again, name) == getattr(ranker, name)
    assert_same(again.predict_pairs(X, qid=qid), ranker.predict_pairs(X, qid=qid))
    assert_same(again.evaluate(X, y, qid=qid), ranker.evaluate(X, y, qid=qid))
    np.testing.assert_array_equal(
        again.rank_intervals(X, qid=qid), ranker.rank_intervals(X, qid=qid)
    )
    few = named(X[qid < 9], y[qid < 9], qid[qid < 9])
    assert undated(again.report(**few)) == undated(ranker.report(**few))
    assert again.get_params().keys() == ranker.get_params().keys()


@pytest.mark.parametrize("store", STORES)
def test_another_threshold_of_a_ranker_that_is_back(store, ranker, data, tmp_path):
    again = store(ranker, tmp_path)
    for moved in ("coverage", "cost", "risk"):
        if not hasattr(ranker, f"at_{moved}"):
            continue
        both = [getattr(each, f"at_{moved}")(0.4) for each in (again, ranker)]
        assert both[0].threshold_ == both[1].threshold_
        assert both[0].coverage_ == both[1].coverage_
        np.testing.assert_array_equal(
            *(each.abstain(data.data, qid=data.qid) for each in both)
        )
    if isinstance(ranker, RiskControlledRanker):
        assert again.n_group_queries_ == ranker.n_group_queries_
        assert again.n_tuning_queries_ == ranker.n_tuning_queries_


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("rule", [None, CertifiedRisk(0.4), Price(0.3)])
@pytest.mark.parametrize("labels", ["numbers", "words"])
def test_a_classifier_that_is_back_answers_alike(store, rule, labels, pairs, tmp_path):
    X, y = pairs
    y = y.astype(np.int8)
    if labels == "words":
        X, y = X[y != 0], np.where(y[y != 0] > 0, "left", "right")
    fitted = PairwiseRankerClassifier(
        Ridge() if labels == "numbers" else LogisticRegression(),
        rule=rule,
        random_state=0,
    ).fit(X, y)
    again = store(fitted, tmp_path)
    assert again.classes_.dtype == fitted.classes_.dtype == y.dtype
    for method in ("predict", "predict_proba", "abstain", "conditional_risk"):
        np.testing.assert_array_equal(
            getattr(again, method)(X), getattr(fitted, method)(X)
        )
    assert_same(again.evaluate(X, y), fitted.evaluate(X, y))
    reports = [one.report(X[:40], y[:40]) for one in (again, fitted)]
    assert undated(reports[0]) == undated(reports[1])
    assert again.at_coverage(0.5).threshold_ == fitted.at_coverage(0.5).threshold_


def test_skops_asks_for_no_more_than_two_types_of_ours(ranker, tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(ranker, tmp_path / "fitted.skops")
    found = skops.get_untrusted_types(file=tmp_path / "fitted.skops")
    assert found == trusted(ranker)
    assert len(found) <= 3


@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
def test_what_travels_is_small(tie_model, data, model):
    fitted = BALToR(model, tie_model=tie_model, random_state=0)
    fitted = fitted.fit(data.data, data.target, qid=data.qid)
    # So that what is made on the way is there: none of it travels.
    fitted.at_coverage(0.5).report(data.data[:1], data.target[:1], qid=data.qid[:1])
    n_items, n_bins = data.qid.size, 256
    # The score, the grade, the hash of the row; the bits of the region, and edges,
    # centres and cuts of the bins.
    most = n_items * (8 + 1 + 8) + n_bins * (n_bins / 8 + 8 + 8 + 8)
    assert len(pickle.dumps(fitted)) < most + len(pickle.dumps(model)) + 5000
    assert fitted.estimator is fitted.estimator_
    again = pickle.loads(pickle.dumps(fitted))
    assert again.estimator is again.estimator_


def test_another_threshold_takes_nothing_apart(data, model):
    fitted = BALToR(model).fit(data.data, data.target, qid=data.qid)
    assert fitted.at_coverage(0.3)._calibration is fitted._calibration
    assert copy.copy(fitted).tie_model_ is fitted.tie_model_


class Softened(GradedRelevance):
    """A table of a user's own, made of ours."""

    def fit_bins(self, items):
        super().fit_bins(items)
        self.table_ = (self.table_ + 1 / 3) / 2


@pytest.mark.parametrize("kind", [GradedRelevance, Softened])
@pytest.mark.parametrize("y", [[2, 1, 0, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
@pytest.mark.filterwarnings("ignore:All items have the same relevance")
def test_a_table_is_back_as_it_was(kind, y):
    fitted = kind().fit([3.0, 1.0, 0.0, 2.0, 1.0, -1.0], y, qid=[0, 0, 0, 1, 1, 1])
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.table_, fitted.table_)
    assert vars(again).keys() == vars(fitted).keys()


def estimators(data, model):
    labels = data.data[:, :3] > 0
    yield BALToR(model)  # not fitted
    yield BradleyTerry().fit(data.data[:, 0], data.target, qid=data.qid)
    yield BALToR(model).fit(data.data, data.target, qid=data.qid)
    yield DistanceAbstainer(model).fit(data.data, data.target, qid=data.qid)
    yield ConstrainedLinearRanker(max_iter=2).fit(data.data, data.target, qid=data.qid)
    yield LinearMultilabelRanker().fit(data.data, labels)
    inner = LinearMultilabelRanker()
    yield SelectiveMultilabelRanker(inner, random_state=0).fit(data.data, labels)


def restored(estimator, state):
    again = type(estimator).__new__(type(estimator))
    again.__setstate__(state)
    return again


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_another_version_is_warned_of(data, model):
    for estimator in estimators(data, model):
        state = estimator.__getstate__()
        assert state[STAMP] == __version__
        assert not hasattr(estimator, STAMP)
        restored(estimator, state)  # in silence
        name = type(estimator).__name__
        for stamp, said in [({STAMP: "0.0.9"}, "0.0.9"), ({}, "unknown")]:
            other = {k: v for k, v in state.items() if k != STAMP} | stamp
            with pytest.warns(
                InconsistentVersionWarning,
                match=f"{name} of skrank_abstain from version {said} when using "
                f"version {__version__}",
            ):
                again = restored(estimator, other)
            assert not hasattr(again, STAMP)


def test_the_warning_points_at_the_line_that_loads(data, model, monkeypatch):
    fitted = BALToR(model).fit(data.data, data.target, qid=data.qid)
    monkeypatch.setattr("skrank_abstain._saving.__version__", "0.0.9")
    saved = pickle.dumps(fitted)
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning) as caught:
        again = pickle.loads(saved)
    names = [warning.message.estimator_name.split()[0] for warning in caught]
    assert names == ["GradedRelevance", "BALToR"]
    np.testing.assert_array_equal(again.predict(data.data), fitted.predict(data.data))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state["_region"].pop("risk"),
        lambda state: state["_region"].update(new=1),
        lambda state: state["_region"].update(skrank_abstain="Unheard"),
        lambda state: state["_calibration"]["model"].update(name="other_"),
        lambda state: state["_calibration"]["items"].pop("value"),
    ],
)
def test_what_cannot_be_read_is_an_error(spoil, data, model):
    fitted = BALToR(model).fit(data.data, data.target, qid=data.qid)
    state = fitted.__getstate__() | {STAMP: "0.0.9"}
    spoil(state)
    with pytest.raises(
        ValueError,
        match=f"BALToR was saved by skrank_abstain 0.0.9 and cannot be read by "
        f"{__version__}: fit it again, or install",
    ):
        restored(fitted, state)


def test_values_that_were_saved_otherwise_are_an_error(data, model):
    # As versions without a stamp saved them, by the names of their classes.
    fitted = BALToR(model).fit(data.data, data.target, qid=data.qid)
    with pytest.raises(ValueError, match="saved by skrank_abstain unknown"):
        restored(fitted, dict(vars(fitted)))
