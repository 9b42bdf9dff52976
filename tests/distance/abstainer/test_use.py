"""Scales, what is refused, and scikit-learn around a ranker that goes by distance."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from distance.abstainer.near import FITTED, NORMS, fit
from doubles import FirstColumn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import (
    DistanceAbstainer,
    pair_feature_distances,
)
from skrank_abstain.metrics import (
    neg_aurc_scorer,
    selective_utility,
)


# Scaling
@pytest.mark.parametrize("norm", NORMS)
def test_the_unit_ball_holds_the_calibration_items(norm, data):
    ranker = fit(data, norm=norm)
    low, high = data.data.min(axis=0), data.data.max(axis=0)
    spread = np.abs(data.data - (low + high) / 2)
    assert ranker.radius_ == pytest.approx(
        np.linalg.norm(spread, ord=norm, axis=1).max(), rel=1e-12
    )
    assert ranker.predict_pairs(data.data, data.qid).distance.max() <= 2


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_units_and_origin_do_not_matter_to_the_unit_ball(norm, data):
    one = fit(data, norm=norm, cost=0.15)
    moved = data.data * 8 + 64  # exact for most bits
    other = DistanceAbstainer(FITTED, norm=norm, cost=0.15)
    other.fit(moved, data.target, data.qid)
    assert other.gamma_ == pytest.approx(one.gamma_, rel=1e-9)
    assert other.coverage_ == one.coverage_
    np.testing.assert_array_equal(
        other.abstain(moved, data.qid), one.abstain(data.data, data.qid)
    )


def test_equal_items_have_a_radius_of_one():
    X = np.full((4, 2), 7.0)
    ranker = DistanceAbstainer(FITTED).fit(X, [0, 1, 2, 1])
    assert ranker.radius_ == 1
    assert ranker.abstain(X).all()


def test_a_transformer_makes_numbers_that_the_ranker_never_sees(data):
    seen = []

    class Looking(FirstColumn):
        def predict(self, X):
            seen.append(X)
            return np.zeros(len(X))

    frame = pd.DataFrame(data.data.copy(), columns=["a", "b"])
    frame.loc[3, "a"] = np.nan
    scale = make_pipeline(SimpleImputer(), StandardScaler())
    ranker = DistanceAbstainer(Looking().fit(None, None), scale=scale, gamma=1.0)
    ranker.fit(frame, data.target, data.qid)
    assert seen[0] is frame
    assert not hasattr(scale[1], "mean_")  # cloned
    decisions = ranker.predict_pairs(frame, data.qid)
    scaled = ranker.scaler_.transform(frame)
    distance = pair_feature_distances(scaled, decisions.left, decisions.right)
    np.testing.assert_array_equal(decisions.accepted, distance > 1.0)
    assert ranker.radius_ == 1


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        ([[0.0], [np.nan], [1.0]], ValueError, "NaN"),
        ([[0.0], [np.inf], [1.0]], ValueError, "infinity"),
        (pd.DataFrame({"a": ["x", "y", "z"]}), ValueError, "could not convert"),
        (csr_array([[0.0], [1.0], [2.0]]), TypeError, "[Ss]parse"),
    ],
)
def test_items_without_distances_are_refused_before_training(X, error, said):
    class Untrainable(BaseEstimator):
        def fit(self, X, y):
            raise AssertionError("trained")

        def predict(self, X):
            """Never called."""

    with pytest.raises(error, match=rf"X must be a dense matrix .*{said}[\s\S]*scale="):
        DistanceAbstainer(Untrainable()).fit(X, [0, 1, 2])


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_distances_that_would_overflow_are_refused(norm):
    X = np.array([[-1.0, 2.0], [1.0, 0.5], [0.0, 3.0]])
    said = r"X must be at most 1e\+300 in magnitude, got 3e\+307"
    with pytest.raises(ValueError, match=said):
        DistanceAbstainer(FITTED, norm=norm).fit(1e307 * X, [0, 1, 2])
    fitted = DistanceAbstainer(FITTED, norm=norm).fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match=said):
        fitted.predict_pairs(1e307 * X)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("unit", [2.0**-990, 2.0**-500, 2.0**500, 2.0**990])
def test_the_unit_of_the_features_does_not_matter(norm, unit):
    data = make_ranking(n_queries=6, n_items=10, random_state=0)
    X, given = data.data, {"y": data.target, "qid": data.qid}
    plain = DistanceAbstainer(FITTED, norm=norm, gamma=0.5).fit(X, **given)
    scaled = DistanceAbstainer(FITTED, norm=norm, gamma=0.5).fit(X * unit, **given)
    expected = plain.predict_pairs(X, qid=data.qid)
    found = scaled.predict_pairs(X * unit, qid=data.qid)
    assert 0 < expected.accepted.mean() < 1
    np.testing.assert_array_equal(found.accepted, expected.accepted)
    np.testing.assert_array_equal(found.label, expected.label)
    assert scaled.score(X * unit, **given) == plain.score(X, **given)


# Parameters
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"gamma": -0.1}, ValueError, r"gamma must be in .* got -0.1.* distance"),
        ({"gamma": np.nan}, ValueError, "gamma must be"),
        ({"gamma": "best"}, ValueError, "gamma must be 'auto' or .* got 'best'"),
        ({"gamma": None}, TypeError, r"gamma must be a real number .* got None"),
        ({"gamma": True}, TypeError, "gamma must be a real number"),
        ({"cost": 1.1}, ValueError, r"cost must be in \[0, 1\], got 1.1"),
        ({"cost": -0.1}, ValueError, "cost must be"),
        ({"cost": "x"}, TypeError, "cost must be"),
        ({"norm": 0.5}, ValueError, r"norm must be in \[1, inf\], got 0.5"),
        ({"norm": "l2"}, TypeError, "norm must be a real number"),
        ({"scale": "box"}, ValueError, "scale must be 'unit_ball', None or"),
        ({"scale": 3}, ValueError, "scale must be 'unit_ball', None or"),
    ],
)
def test_bad_parameters(options, error, said, data):
    with pytest.raises(error, match=said):
        fit(data, **options)


def test_copies_check_their_number_and_leave_the_original_alone(data):
    ranker = fit(data, cost=0.15)
    before = ranker.gamma_, ranker.coverage_, ranker.loss_curve_.loss.copy()
    with pytest.raises(ValueError, match="gamma must be"):
        ranker.at_gamma(-1)
    with pytest.raises(ValueError, match="cost must be"):
        ranker.at_cost(2)
    for method, value in (("at_gamma", 0.3), ("at_cost", 0.3), ("abstain", data.data)):
        with pytest.raises(NotFittedError):
            getattr(DistanceAbstainer(FITTED), method)(value)
    again = ranker.at_gamma(0.3).at_cost(0.05)
    fresh = fit(data, cost=0.05)
    assert again.gamma_ == fresh.gamma_ > ranker.gamma_
    np.testing.assert_array_equal(again.loss_curve_.loss, fresh.loss_curve_.loss)
    assert (ranker.gamma_, ranker.coverage_) == before[:2]
    np.testing.assert_array_equal(ranker.loss_curve_.loss, before[2])


def test_no_pairs_and_no_qid(data):
    with pytest.raises(ValueError, match="at least one calibration query with two"):
        DistanceAbstainer(FITTED).fit(data.data[:3], data.target[:3], [0, 1, 2])
    ranker = fit(data)
    with pytest.raises(ValueError, match="qid= must be given"):
        ranker.evaluate(data.data, data.target)
    totals = ranker.evaluate(data.data[:2], data.target[:2], [0, 1])
    assert totals.pairs.tolist() == [0, 0]
    assert len(ranker.predict_pairs(data.data[:1])) == 0


# A scikit-learn estimator
def test_clone_pickle_and_verbose(data, capsys):
    ranker = fit(data, Ridge(), cost=0.15, random_state=0, verbose=1)
    said = capsys.readouterr().out
    assert said.startswith("[DistanceAbstainer] calibrated on ")
    assert f"gamma {ranker.gamma_:.6g}, coverage {ranker.coverage_:.4f}" in said
    assert not ranker.prefit_
    copied = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        copied.abstain(data.data, data.qid), ranker.abstain(data.data, data.qid)
    )
    again = clone(ranker).fit(data.data, data.target, data.qid)
    assert again.gamma_ == ranker.gamma_


def test_a_search_over_gamma_with_routed_queries(data):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            DistanceAbstainer(Ridge(), random_state=0),
            {"gamma": [0.0, 0.2, "auto"], "norm": [2, np.inf]},
            scoring=selective_utility(0.3),
            cv=GroupKFold(2),
            error_score="raise",
        )
        search.fit(data.data, data.target, groups=data.qid, qid=data.qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(TypeError, match="which has risk_profile"):
        neg_aurc_scorer(search, data.data, data.target, qid=data.qid)


def test_a_booster_and_a_column_of_queries(data):
    lightgbm = pytest.importorskip("lightgbm")
    X = np.column_stack([data.qid, data.data])
    booster = lightgbm.LGBMRanker(
        n_estimators=5, min_child_samples=2, n_jobs=1, verbose=-1
    )
    ranker = DistanceAbstainer(booster, qid_col=0, gamma=0.3, random_state=0)
    ranker.fit(X, data.target)
    decisions = ranker.predict_pairs(X)
    distance = pair_feature_distances(
        data.data / ranker.radius_, decisions.left, decisions.right
    )
    np.testing.assert_array_equal(decisions.accepted, distance > 0.3)
    assert 0 < ranker.score(X, data.target) < 1


def test_scores_are_quiet_where_something_is_accepted(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0 < fit(data, gamma=0.2).score(data.data, data.target, data.qid) < 1
