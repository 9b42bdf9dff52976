"""What rankers with bounded weights refuse; scikit-learn and wrappers around them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from distance.constrained.bounded import RANKERS, strict_differences
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
)
from skrank_abstain.estimators import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.pairs import group_queries


@parametrize_with_checks(
    [
        ConstrainedLinearRanker(),
        ConstrainedLinearRanker(
            surrogate="logistic", norm=2, batch_size=8, max_iter=30, random_state=0
        ),
        ConstrainedMLPRanker(n_hidden=4, max_iter=30, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"surrogate": "log"}, ValueError, "surrogate must be one of 'hinge'"),
        ({"weight_norm": 0}, ValueError, r"weight_norm must be in .* got 0"),
        ({"weight_norm": "1"}, TypeError, "weight_norm must be a real number"),
        ({"norm": 3}, ValueError, r"norm must be 1, 2 or inf .*got 3"),
        ({"norm": "l2"}, TypeError, "norm must be a real number, got"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
        ({"batch_size": "all"}, ValueError, "batch_size must be one of 'auto'"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    ],
)
@pytest.mark.parametrize("make", RANKERS)
def test_parameters_are_checked(make, params, error, message):
    with pytest.raises(error, match=message):
        make(**params).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("make", "params", "error", "message"),
    [
        (ConstrainedLinearRanker, {"tol": -1}, ValueError, r"tol must be in \[0"),
        (ConstrainedLinearRanker, {"tol": "0"}, TypeError, "tol must be a real number"),
        (ConstrainedMLPRanker, {"n_hidden": 0}, ValueError, "n_hidden must be at"),
        (ConstrainedMLPRanker, {"output_norm": -1}, ValueError, "output_norm must be"),
        (ConstrainedMLPRanker, {"bias": 0}, ValueError, "bias must be in"),
    ],
)
def test_parameters_of_one_of_them(make, params, error, message):
    with pytest.raises(error, match=message):
        make(**params).fit([[0.0], [1.0]], [0, 1])


def test_features_without_scale():
    X = np.array([[0.0], [1e5], [-3e5]])
    with pytest.raises(ValueError, match=r"X must have features so small .*300000"):
        ConstrainedMLPRanker(surrogate="exponential", random_state=0).fit(X, [0, 1, 2])
    # From weights of zero small steps lead to the optimum: no order pays for itself.
    linear = ConstrainedLinearRanker(surrogate="exponential", tol=1e-5, max_iter=5000)
    linear.fit(X, [0, 1, 2])
    assert linear.loss_curve_[0] < 1.0
    assert linear.optimality_gap_ < 1.0


def test_a_surrogate_that_explodes_within_the_bound(data):
    # At the corners of the ball margins are hundreds, and so are exponents.
    options = {"surrogate": "exponential", "norm": 1, "weight_norm": 100.0}
    near = ConstrainedLinearRanker(**(options | {"weight_norm": 1.0}))
    near.fit(data.data, data.target, qid=data.qid)
    assert np.abs(near.coef_).max() < 0.9  # the optimum lies within either bound
    far = ConstrainedLinearRanker(**options).fit(data.data, data.target, qid=data.qid)
    assert far.optimality_gap_ <= 1e-4
    assert far.loss_curve_[-1] == pytest.approx(near.loss_curve_[-1], abs=1e-4)
    drawn = ConstrainedLinearRanker(**options, batch_size=200, random_state=0)
    network = ConstrainedMLPRanker(
        surrogate="exponential", output_norm=50.0, random_state=0
    )
    for ranker in (drawn, network):
        ranker.fit(data.data, data.target, qid=data.qid)
        assert ranker.score(data.data, data.target, qid=data.qid) > 0.8


def test_a_surrogate_that_explodes_on_pairs_that_were_not_drawn():
    # One query of a hundred holds a margin of 800, which exp does not survive.
    X = np.tile([[0.0], [1.0]], (100, 1))
    X[0] = 800.0
    y, qid = np.tile([0, 1], 100), np.repeat(np.arange(100), 2)
    ranker = ConstrainedLinearRanker(
        surrogate="exponential", batch_size=1, max_iter=5, random_state=0
    )
    with pytest.raises(ValueError, match=r"X must have features so small .*800"):
        ranker.fit(X, y, qid=qid)


def test_a_feature_that_says_nothing_gets_no_weight():
    # Better and worse items are the same on average: zero is optimal at once.
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    ranker = ConstrainedLinearRanker().fit(X, [0, 1, 1, 0], qid=[0, 0, 1, 1])
    assert ranker.coef_.tolist() == [0.0]
    assert (ranker.n_iter_, ranker.optimality_gap_) == (1, 0.0)
    assert ranker.loss_curve_.tolist() == [1.0]


@pytest.mark.parametrize("make", RANKERS)
def test_clone_and_pickle(data, make):
    ranker = make(max_iter=10, random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    again = clone(ranker).fit(data.data, data.target, qid=data.qid)
    restored = pickle.loads(pickle.dumps(ranker))
    expected = ranker.predict(data.data)
    np.testing.assert_array_equal(again.predict(data.data), expected)
    np.testing.assert_array_equal(restored.predict(data.data), expected)


def small(make, **options):
    return make(max_iter=20, random_state=0, **options)


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.parametrize("wrapper", [BALToR, CostAbstainer, RiskControlledRanker])
@pytest.mark.filterwarnings("ignore:No threshold could be certified:UserWarning")
def test_inside_the_wrappers(data, make, piped, prefit, wrapper):
    X, y, qid = data.data, data.target, data.qid
    inner = small(make)
    if piped:
        inner = make_pipeline(StandardScaler(), inner)
    if prefit:
        options = {f"{make.__name__.lower()}__qid": qid} if piped else {"qid": qid}
        inner.fit(X, y, **options)
    ranker = wrapper(inner, random_state=0).fit(X, y, qid=qid)
    assert ranker.prefit_ is prefit
    last = ranker.estimator_[-1] if piped else ranker.estimator_
    assert last._fitted_with_qid
    n_all = strict_differences(X, y, qid).shape[0]
    # Only pairs of one query, whichever queries were left to train on.
    assert last.n_pairs_ == n_all if prefit else last.n_pairs_ < n_all
    totals = ranker.evaluate(X, y, qid=qid)
    assert totals.pairs.sum() == group_queries(qid, len(y)).n_pairs
    np.testing.assert_array_equal(ranker.predict(X), ranker.estimator_.predict(X))


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize("prefit", [False, True])
def test_inside_the_classifier_of_pairs(make, prefit):
    answers = make_ranking(300, n_items=2, n_grades=None, random_state=0)
    X = answers.data.reshape(300, -1)
    y = np.where(answers.target[::2] > answers.target[1::2], 1, -1)
    inner = make(max_iter=100, random_state=0)
    if prefit:
        inner.fit(answers.data, answers.target, qid=answers.qid)
        assert inner.n_pairs_ == 300
    model = PairwiseRankerClassifier(inner, random_state=0).fit(X[:200], y[:200])
    if not prefit:
        assert model.estimator_.n_pairs_ == 150  # each pair is a query
    assert model.score(X[200:], y[200:]) > 0.6


def test_grid_search_with_queries(data):
    X, y, qid = data.data, data.target, data.qid
    grid = {"weight_norm": [1e-3, 1.0]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ConstrainedLinearRanker(max_iter=50),
            grid,
            cv=GroupKFold(3).set_split_request(groups="qid"),
            error_score="raise",
        ).fit(X, y, qid=qid)
        scores = cross_val_score(
            ConstrainedLinearRanker(max_iter=50),
            X,
            y,
            cv=GroupKFold(3).set_split_request(groups="qid"),
            params={"qid": qid},
            error_score="raise",
        )
    fitted = search.best_estimator_
    assert fitted._fitted_with_qid
    assert fitted.n_pairs_ == strict_differences(X, y, qid).shape[0]
    assert (search.cv_results_["mean_test_score"] > 0.6).all()
    assert (scores > 0.6).all()


def test_frames_keep_their_names(data):
    frame = pd.DataFrame(data.data).rename(columns="f{}".format)
    ranker = ConstrainedLinearRanker(max_iter=5)
    ranker.fit(frame, data.target, qid=data.qid)
    assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame.rename(columns={"f0": "other"}))
