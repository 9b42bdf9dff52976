"""What is trained and what is calibrated on: queries, fitted models, columns."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators.baltor.columns import TERRY
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking


@pytest.mark.parametrize(
    "rename",
    [
        lambda q: -q,
        lambda q: [f"day {v}" for v in q],
        lambda q: [(int(v), "site") for v in q],
        lambda q: pd.Series(q, index=q[::-1]),
        lambda q: pl.Series(q),
        lambda q: pd.Categorical([str(v) for v in q]),
    ],
    ids=["negative", "strings", "tuples", "pandas", "polars", "categorical"],
)
def test_any_hashable_qid(rename, train, ranker):
    order = np.random.default_rng(0).permutation(train.qid.size)
    qid = rename(train.qid[order])
    options = {"coverage": 0.7, "loss": "zero_one", **TERRY}
    same = BALToR(ranker.estimator_, **options).fit(
        train.data[order], train.target[order], qid=qid
    )
    assert same.threshold_ == pytest.approx(ranker.threshold_, rel=1e-9)
    assert same.n_queries_ == ranker.n_queries_
    assert len(same.predict_pairs(train.data[order], qid=qid)) == ranker.n_pairs_


def test_no_qid_and_a_scalar_mean_one_query(ranker, test):
    X = test.data[:6]
    a, b = ranker.predict_pairs(X), ranker.predict_pairs(X, qid="today")
    assert len(a) == len(b) == 15
    assert set(b.qid) == {"today"}


def test_one_item_queries_give_no_pairs(ranker, test):
    decisions = ranker.predict_pairs(test.data[:3], qid=[1, 2, 3])
    assert len(decisions) == 0
    assert decisions.proba.shape == (0, 3)
    assert np.isnan(decisions.coverage)


def test_scoring_without_the_qid_that_fit_had_is_an_error(ranker, test):
    with pytest.raises(ValueError, match=r"qid= must be given to score.*qid_col="):
        ranker.score(test.data, test.target)


@pytest.mark.parametrize(("size", "n_queries"), [(0.25, 15), (None, 60)])
def test_an_unfitted_ranker_is_trained_on_other_queries(size, n_queries, train):
    ranker = BALToR(Ridge(), calibration_size=size, random_state=0)
    again = clone(ranker).fit(train.data, train.target, qid=train.qid)
    ranker = ranker.fit(train.data, train.target, qid=train.qid)
    assert not ranker.prefit_
    assert not hasattr(ranker.estimator, "coef_")
    assert ranker.n_queries_ == n_queries  # a quarter of 60, or all by folds
    assert again.threshold_ == ranker.threshold_


def test_a_fitted_ranker_is_only_calibrated(train):
    model = Ridge().fit(train.data[::2], train.target[::2])
    before = model.coef_.copy()
    ranker = BALToR(model).fit(train.data, train.target, qid=train.qid)
    assert ranker.prefit_
    assert ranker.estimator_ is model
    assert ranker.n_queries_ == 60
    np.testing.assert_array_equal(model.coef_, before)


def test_prefit_false_refits_a_clone(train):
    model = Ridge().fit(train.data, -train.target)
    before = model.coef_.copy()
    ranker = BALToR(model, prefit=False, random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    assert not ranker.prefit_
    assert ranker.score(train.data, train.target, qid=train.qid) > 0.5
    np.testing.assert_array_equal(model.coef_, before)


def test_prefit_true_insists():
    with pytest.raises(NotFittedError, match=r"lost its fit when it was cloned"):
        BALToR(Ridge(), prefit=True).fit(np.zeros((4, 1)), [0, 1, 2, 3])


def test_a_clone_keeps_a_fitted_ranker_fitted(train):
    model = make_pipeline(StandardScaler(), Ridge())
    model.fit(train.data[::2], train.target[::2])
    copy = clone(BALToR(model, coverage=0.5))
    assert isinstance(copy.estimator, FrozenEstimator)
    assert copy.coverage == 0.5
    copy.fit(train.data, train.target, qid=train.qid)
    assert copy.prefit_
    assert isinstance(clone(BALToR(Ridge())).estimator, Ridge)


def test_setting_parameters_of_a_fitted_ranker_is_an_error(train):
    model = Ridge().fit(train.data[::2], train.target[::2])
    with pytest.raises(ValueError, match=r"prefit=False"):
        BALToR(model).set_params(estimator__alpha=2.0)
    assert model.alpha == 1.0
    assert BALToR(Ridge()).set_params(estimator__alpha=2.0).estimator.alpha == 2.0


def test_one_query_is_split_by_items():
    data = make_ranking(n_queries=1, n_items=40, random_state=0)
    ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target)
    assert ranker.n_queries_ == 1
    assert ranker.n_pairs_ == 10 * 9 / 2


def test_pickle(ranker, test):
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        loaded.abstain(test.data, qid=test.qid), ranker.abstain(test.data, qid=test.qid)
    )
    assert loaded.at_coverage(0.3).threshold_ == ranker.at_coverage(0.3).threshold_


@pytest.mark.filterwarnings("ignore:Parameters were set after fit")
def test_set_params_after_fit_changes_no_decision(ranker, test):
    before = ranker.abstain(test.data, qid=test.qid)
    changed = pickle.loads(pickle.dumps(ranker)).set_params(
        coverage=0.1, loss=5 * (1 - np.eye(3)), tie_model="thurstone_mosteller"
    )
    np.testing.assert_array_equal(changed.abstain(test.data, qid=test.qid), before)


@pytest.fixture
def frame(train):
    names = [f"f{k}" for k in range(train.data.shape[1])]
    frame = pd.DataFrame(train.data, columns=names)
    frame.insert(3, "day", [f"d{q}" for q in train.qid])
    return frame


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"]
)
def test_qid_col_by_name(frame, train, make):
    X = make(frame)
    by_column = BALToR(Ridge(), qid_col="day", random_state=0).fit(X, train.target)
    by_argument = BALToR(Ridge(), random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    assert by_column.threshold_ == pytest.approx(by_argument.threshold_, rel=1e-6)
    assert by_column.n_features_in_ == train.data.shape[1] + 1
    assert by_column.predict(X).shape == (train.qid.size,)
    assert by_column.score(X, train.target) == pytest.approx(
        by_argument.score(train.data, train.target, qid=train.qid)
    )


@pytest.mark.parametrize("position", [3, -8])
def test_qid_col_by_position(train, position):
    X = np.insert(train.data, 3, train.qid, axis=1)
    ranker = BALToR(Ridge(), qid_col=position, random_state=0).fit(X, train.target)
    assert len(ranker.predict_pairs(X)) == sum(
        n * (n - 1) // 2 for n in np.bincount(train.qid)
    )


@pytest.mark.parametrize(
    ("qid_col", "change", "error", "match"),
    [
        ("night", lambda f: f, ValueError, r"qid_col must name a column.*'night'"),
        ("day", lambda f: f.to_numpy(), ValueError, r"qid_col must be an integer"),
        (99, lambda f: f, ValueError, r"qid_col must be a position below 11.*99"),
        (1.5, lambda f: f, TypeError, r"qid_col must be a column name or position"),
        ("day", lambda f: f[["day"]], ValueError, r"a column besides those of"),
        (
            "day",
            lambda f: f.assign(day=np.where(f.index == 2, np.nan, 1.0)),
            ValueError,
            r"qid must not be missing, got NaN at row 2",
        ),
        ("day", lambda f: f.assign(day=2.0**60), ValueError, r"exact as floats"),
    ],
)
def test_qid_col_errors(frame, train, qid_col, change, error, match):
    with pytest.raises(error, match=match):
        BALToR(Ridge(), qid_col=qid_col).fit(change(frame), train.target)


def test_qid_and_qid_col_exclude_each_other(frame, train):
    with pytest.raises(ValueError, match=r"qid must not be given when qid_col='day'"):
        BALToR(Ridge(), qid_col="day").fit(frame, train.target, qid=train.qid)


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"]
)
def test_named_columns_are_put_in_order(frame, train, make):
    X = make(frame.drop(columns="day"))
    ranker = BALToR(Ridge(), random_state=0).fit(X, train.target, qid=train.qid)
    turned = X[list(X.columns)[::-1]]
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(
            X.rename({"f1": "g1"})
            if make is pl.from_pandas
            else X.rename(columns={"f1": "g1"})
        )
    with pytest.raises(ValueError, match="feature"):
        ranker.predict(X[list(X.columns)[1:]])
