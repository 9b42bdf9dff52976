"""What the tie model that looks at features is given, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from tie_models.labelled import SMALL_TREE, queried, values_of

from skrank_abstain.tie_models import FeatureAwareRelevance


def test_missing_features_are_named():
    scores, y, qid, X = queried()
    with pytest.raises(ValueError, match="X must be given to FeatureAwareRelevance"):
        FeatureAwareRelevance().fit(scores, y, qid=qid)
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    with pytest.raises(ValueError, match="X must be given to FeatureAwareRelevance"):
        values_of(model, scores, qid, None)


def test_no_items_have_no_values():
    scores, y, qid, X = queried()
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    assert model.regressors_
    assert values_of(model, scores[:0], qid[:0], X[:0]).shape == (0,)


@pytest.mark.parametrize(
    "column",
    [
        ["x"] * 240,
        pd.Categorical(["x", "y"] * 120),
        pd.date_range("2020-01-01", periods=240),
        [np.inf] * 240,
    ],
    ids=["strings", "categories", "dates", "infinite"],
)
def test_features_that_are_no_numbers_are_refused_with_advice(column):
    scores, y, qid, X = queried()
    frame = pd.DataFrame({"a": X[:, 0], "b": column})
    message = (
        "X must be .* of numbers .* put an encoder before .* or use GradedRelevance"
    )
    with pytest.raises(ValueError, match=message):
        FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=frame)


def test_lengths_must_agree():
    scores, y, qid, X = queried()
    with pytest.raises(ValueError, match=r"inconsistent numbers.*\[239, 240\]"):
        FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X[1:])


def test_frames_of_any_numbers_are_as_good_as_arrays():
    scores, y, qid, X = queried()
    X = X.round()
    frame = pd.DataFrame(
        {
            "bool": X[:, 0] > 0,
            "nullable": pd.array(X[:, 1].astype(int), dtype="Int64"),
            "single": X[:, 2].astype(np.float32),
        }
    )
    one = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=frame)
    other = FeatureAwareRelevance(SMALL_TREE)
    other.fit(scores, y, qid=qid, X=np.column_stack([X[:, 0] > 0, X[:, 1:]]))
    np.testing.assert_array_equal(one.table_, other.table_)


@pytest.mark.parametrize("regressor", [None, HistGradientBoostingRegressor(max_iter=5)])
def test_missing_values_are_fine_for_trees(regressor):
    scores, y, qid, X = queried()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    model = FeatureAwareRelevance(regressor).fit(scores, y, qid=qid, X=X)
    for fitted in model.regressors_:
        assert isinstance(fitted, type(regressor or ExtraTreesRegressor()))
    assert model.weights_[1] > 0
    assert np.isfinite(values_of(model, scores, qid, X)).all()
    # A feature that nobody has, and one that only some queries have.
    X[:, 2] = np.nan
    X[qid > 2, 1] = np.nan
    model = FeatureAwareRelevance(regressor).fit(scores, y, qid=qid, X=X)
    assert np.isfinite(values_of(model, scores, qid, X)).all()


def test_a_regressor_of_ones_own_is_cloned():
    scores, y, qid, X = queried()
    mine = Ridge(alpha=0.1)
    model = FeatureAwareRelevance(mine).fit(scores, y, qid=qid, X=X)
    assert not hasattr(mine, "coef_")
    assert model.regressor is mine
    assert [regressor.alpha for regressor in model.regressors_] == [0.1] * 12
    assert model.regressors_[0].coef_.shape == (9,)


class Nothing(RegressorMixin, BaseEstimator):
    """A regressor whose numbers are none."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize("wrong", ["ridge", Ridge, LogisticRegression(), 3])
def test_what_is_no_regressor_is_refused(wrong):
    scores, y, qid, X = queried(5)
    with pytest.raises(TypeError, match="regressor must be None or an instance of"):
        FeatureAwareRelevance(wrong).fit(scores, y, qid=qid, X=X)


def test_a_regressor_that_predicts_no_numbers_is_an_error():
    scores, y, qid, X = queried(5)
    with pytest.raises(ValueError, match="what regressor predicts must"):
        FeatureAwareRelevance(Nothing()).fit(scores, y, qid=qid, X=X)


def test_it_is_an_estimator():
    model = FeatureAwareRelevance(Ridge(alpha=2.0), max_grades=4)
    params = model.get_params()
    assert params["max_grades"] == 4
    assert params["regressor__alpha"] == 2.0
    assert repr(model) == (
        "FeatureAwareRelevance(max_grades=4, regressor=Ridge(alpha=2.0))"
    )
    assert repr(FeatureAwareRelevance()) == "FeatureAwareRelevance()"
    assert repr(clone(model)) == repr(model)
    scores, y, qid, X = queried()
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        values_of(again, scores, qid, X), values_of(model, scores, qid, X)
    )


@pytest.mark.parametrize("regressor", [None, SMALL_TREE])
def test_fits_agree_to_the_last_bit(regressor):
    scores, y, qid, X = queried(10)
    one, other = (
        FeatureAwareRelevance(regressor).fit(scores, y, qid=qid, X=X) for _ in range(2)
    )
    np.testing.assert_array_equal(one.table_, other.table_)
    np.testing.assert_array_equal(
        values_of(one, scores, qid, X), values_of(other, scores, qid, X)
    )
