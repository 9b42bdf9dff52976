"""Another bound, copies, routing and columns, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from estimators.risk_controlled.certifying import (
    BOUNDS,
    DEAR,
    LOSS,
    ZERO_ONE,
    by_loss,
    draw,
    fit,
    quietly,
)
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models import FeatureAwareRelevance

pytestmark = pytest.mark.filterwarnings("ignore:max_risk=.* promises next to nothing")


class TestRouting:
    @pytest.fixture(autouse=True)
    def _routing(self):
        with config_context(enable_metadata_routing=True):
            yield

    def test_defaults(self):
        requests = get_routing_for_object(RiskControlledRanker(Ridge()))
        assert requests.fit.requests == {"qid": True, "groups": False}
        assert requests.score.requests["qid"] is True

    def test_groups_on_request(self, model, data, spied):
        X, y, qid = data
        groups = np.array(["a", "b"])[qid % 2]
        plain = by_loss(model, max_risk=0.6, random_state=0)
        asked = clone(plain).set_fit_request(groups=True)
        asked = clone(asked)  # requests survive
        make_pipeline(asked).fit(X, y, qid=qid, groups=groups)
        assert np.unique(spied["certified"][-1][1]["groups"]).size == 2
        # Not requested: the pipeline has nobody to give them to.
        with pytest.raises((TypeError, UnsetMetadataPassedError), match="groups"):
            make_pipeline(clone(plain)).fit(X, y, qid=qid, groups=groups)
        make_pipeline(clone(plain)).fit(X, y, qid=qid)
        assert np.unique(spied["certified"][-1][1]["groups"]).size == 1


@pytest.mark.parametrize("loss", LOSS)
def test_at_risk_equals_a_refit(loss, model, data):
    bound = BOUNDS["graded_relevance", loss]

    def fitted(max_risk):
        estimator = by_loss(
            model,
            max_risk=max_risk,
            loss=LOSS[loss],
            tie_model="graded_relevance",
            random_state=1,
        )
        return quietly(lambda: fit(estimator, data))

    first = fitted(bound)
    thresholds = set()
    for max_risk in (0.05, 0.8 * bound, 1.2 * bound):
        moved = quietly(lambda r=max_risk: first.at_risk(r))
        again = fitted(max_risk)
        assert moved.tie_model_ is first.tie_model_
        assert moved.estimator_ is first.estimator_
        assert moved.max_risk == max_risk
        for name in ("threshold_", "coverage_", "certified_", "n_queries_"):
            assert getattr(moved, name) == getattr(again, name)
        thresholds.add(moved.threshold_)
    assert len(thresholds) >= 2
    assert first.max_risk == bound
    with pytest.raises(ValueError, match="max_risk must be between"):
        first.at_risk(bound * 100)


def test_at_risk_wants_a_fit(model):
    with pytest.raises(Exception, match="not fitted yet"):
        by_loss(model).at_risk(0.1)


def test_bounds_are_in_units_of_the_loss(model, data):
    """Everything costs three times as much: the bound has to, as well."""
    options = {"random_state": 0, "delta": 0.2}
    one = fit(by_loss(model, max_risk=0.36, loss="zero_one", **options), data)
    three = fit(by_loss(model, max_risk=1.08, loss=3 * ZERO_ONE, **options), data)
    # Risks are three times as large; sums round differently.
    assert three.threshold_ == pytest.approx(3 * one.threshold_, rel=1e-9)
    assert three.coverage_ == pytest.approx(one.coverage_, abs=1e-3)
    with pytest.raises(ValueError, match=r"between 0 and 3, the largest loss"):
        fit(by_loss(model, max_risk=3, loss=3 * ZERO_ONE), data)


def test_random_state_is_the_only_randomness(model, data, monkeypatch):
    # Nothing may draw from numpy's global generator.
    for name in ("random", "rand", "permutation", "shuffle", "randint", "choice"):
        monkeypatch.setattr(np.random, name, None)

    def once(seed):
        estimator = by_loss(
            model, max_risk=0.2, random_state=seed, tie_model="graded_relevance"
        )
        fit(estimator, data)
        return (
            estimator.threshold_,
            estimator.coverage_,
            estimator._calibration.loss_tables().rest[0],
        )

    first, again, other = once(7), once(7), once(8)
    assert first[:2] == again[:2]
    np.testing.assert_array_equal(first[2], again[2])
    assert not np.array_equal(first[2], other[2])
    assert once(np.random.RandomState(7))[:2] == first[:2]


def test_clone_pickle_params_and_repr(ranker, data):
    X, _, qid = data
    params = ranker.get_params(deep=False)
    assert params["max_risk"] == 0.36
    assert {"delta", "tuning_size", "tie_model", "loss"} <= set(params)
    copied = clone(ranker)
    assert not hasattr(copied, "threshold_")
    assert fit(copied, data).threshold_ == ranker.threshold_
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        loaded.abstain(X, qid=qid), ranker.abstain(X, qid=qid)
    )
    assert loaded.at_risk(0.6).threshold_ == ranker.at_risk(0.6).threshold_
    text = repr(RiskControlledRanker(Ridge(), max_risk=0.2, delta=0.1))
    assert text == "RiskControlledRanker(estimator=Ridge(), max_risk=0.2)"
    assert "max_risk" in ranker._repr_html_()


@pytest.mark.parametrize("named", [True, False])
def test_query_in_a_column(named, model, data):
    X, y, qid = data
    options = {"max_risk": 0.36, "random_state": 0}
    by_argument = fit(by_loss(model, **options), data)
    if named:
        table = pd.DataFrame(X, columns=["score", "noise", "more"])
        table = table.assign(day=[f"day {q}" for q in qid])
        columns = ["score", "noise", "more"]
        inner = FirstColumn().fit(table[columns], y)
        by_column = by_loss(inner, qid_col="day", **options)
    else:
        table = np.column_stack([X, qid])
        by_column = by_loss(model, qid_col=-1, **options)
    by_column.fit(table, y)
    assert by_column.threshold_ == by_argument.threshold_
    assert by_column.n_features_in_ == 4
    np.testing.assert_array_equal(
        by_column.abstain(table), by_argument.abstain(X, qid=qid)
    )
    with pytest.raises(ValueError, match="qid must not be given when qid_col"):
        by_column.fit(table, y, qid=qid)


@pytest.mark.filterwarnings("ignore:On the calibration data the selective risk by pair")
@pytest.mark.parametrize(
    "tie_model",
    [
        "bradley_terry",
        "graded_relevance",
        FeatureAwareRelevance(Ridge()),
    ],
    ids=str,
)
def test_tie_models(tie_model, model, data):
    X, y, qid = data
    bound = 0.34 if tie_model == "bradley_terry" else 0.2
    estimator = by_loss(
        model,
        max_risk=bound,
        delta=0.2,
        loss="zero_one",
        tie_model=tie_model,
        random_state=0,
    )
    fit(estimator, (X[:, :1], y, qid))
    assert estimator.certified_
    new = draw(150, 9)
    new = new[0][:, :1], *new[1:]
    decisions = estimator.predict_pairs(new[0], qid=new[2])
    np.testing.assert_array_equal(
        decisions.accepted, decisions.risk <= estimator.threshold_ + 1e-12
    )
    assert 0.1 < decisions.coverage < 1
    totals = estimator.evaluate(new[0], new[1], qid=new[2])
    pairs = np.maximum(totals.pairs, 1)
    risk = ((totals.accepted - totals.correct) / pairs).sum()
    # One new sample of 150 queries; the statistical tests are elsewhere.
    assert risk / (totals.accepted / pairs).sum() < bound + 0.05


def test_verbose(model, data, capsys):
    fit(by_loss(model, max_risk=0.36, random_state=0, verbose=1), data)
    assert "[RiskControlledRanker] calibrated on " in capsys.readouterr().out


INVALID = [
    ({"max_risk": 0}, ValueError, r"max_risk must be between 0 and 1, .*got 0\."),
    ({"max_risk": 1}, ValueError, r"max_risk must be between 0 and 1, .*got 1\."),
    ({"max_risk": -0.1}, ValueError, r"max_risk must be .*got -0\.1\."),
    ({"max_risk": np.nan}, ValueError, r"max_risk must be .*got nan\."),
    ({"max_risk": np.inf}, ValueError, r"max_risk must be .*got inf\."),
    ({"max_risk": "a"}, TypeError, r"max_risk must be a real number, got 'a'\."),
    ({"max_risk": True}, TypeError, r"max_risk must be a real number, got True\."),
    ({"max_risk": None}, TypeError, r"max_risk must be a real number, got None\."),
    ({"max_risk": 4, "loss": DEAR}, ValueError, r"max_risk must be between 0 and 3,"),
    ({"delta": 0}, ValueError, r"delta must be in \(0, 1\), got 0\."),
    ({"delta": 1.0}, ValueError, r"delta must be in \(0, 1\), got 1\.0\."),
    ({"delta": "a"}, TypeError, r"delta must be a real number .*got 'a'\."),
    ({"tuning_size": 0}, ValueError, r"tuning_size must be in \(0, 1\), got 0\."),
    ({"tuning_size": 1}, ValueError, r"tuning_size must be in \(0, 1\), got 1\."),
    ({"tuning_size": [0.3]}, TypeError, r"tuning_size must be a real number"),
]


@pytest.mark.parametrize(("params", "error", "message"), INVALID)
def test_invalid_parameters(params, error, message, model, data):
    with pytest.raises(error, match=message):
        fit(by_loss(model, **params), data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"coverage_guarantee": "x"},
            r"coverage_guarantee must be None or 'hierarchical', got 'x'\.",
        ),
        (
            {"coverage_guarantee": True},
            r"coverage_guarantee must be None or 'hierarchical', got True\.",
        ),
        (
            {"coverage_guarantee": "hierarchical", "boundary": "randomize"},
            r"coverage_guarantee='hierarchical' must go with .*boundary='randomize'",
        ),
        (
            {"coverage_guarantee": "hierarchical", "quantile": "linear"},
            r"coverage_guarantee='hierarchical' must go with .*'linear'",
        ),
    ],
)
def test_invalid_coverage_guarantees(params, message, model, data):
    with pytest.raises(ValueError, match=message):
        fit(BALToR(model, **params), data)


def test_a_loss_that_is_free_is_refused(model, data):
    with pytest.raises(ValueError, match="loss must have a positive entry"):
        fit(by_loss(model, loss=np.zeros((3, 3))), data)


def test_on_simulated_queries():
    train = make_ranking(n_queries=60, random_state=0)
    past = make_ranking(n_queries=200, random_state=1)
    estimator = by_loss(
        Ridge().fit(train.data, train.target), max_risk=0.4, random_state=0
    ).fit(past.data, past.target, qid=past.qid)
    assert estimator.certified_
