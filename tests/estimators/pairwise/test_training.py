"""What the classifier of pairs is trained on, or takes as fitted, and scikit-learn."""

import pickle

import numpy as np
import pytest
from doubles import Recorder
from estimators.pairwise.comparisons import N_FEATURES, check_mirror, turned
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import PairwiseRankerClassifier


def test_a_ranker_is_trained_on_each_pair_as_a_query_of_two(three):
    X, y = three
    classifier = PairwiseRankerClassifier(Recorder(), random_state=0).fit(X, y)
    rows, grades, pair = classifier.estimator_.seen_
    n = rows.shape[0] // 2
    assert n == 450
    assert classifier.n_pairs_ == 150
    np.testing.assert_array_equal(pair, np.tile(np.arange(n), 2))
    np.testing.assert_array_equal(grades[:n] + grades[n:], np.ones(n))
    seen = {tuple(row): grade for row, grade in zip(rows, grades, strict=True)}
    for row, label in zip(X, y, strict=True):
        if tuple(row[:N_FEATURES]) in seen:
            assert seen[tuple(row[:N_FEATURES])] == (1 + label) / 2
            assert seen[tuple(row[N_FEATURES:])] == (1 - label) / 2


def test_a_classifier_is_trained_on_strict_pairs_in_both_orders(three):
    X, y = three

    class Recording(LogisticRegression):
        def fit(self, X, y):
            self.seen_ = X, y
            return super().fit(X, y)

    classifier = PairwiseRankerClassifier(Recording(), random_state=0).fit(X, y)
    rows, label = classifier.estimator_.seen_
    n = rows.shape[0] // 2
    np.testing.assert_array_equal(rows[n:], turned(rows[:n]))
    np.testing.assert_array_equal(label[n:], 1 - label[:n])
    truth = {tuple(row): k for row, k in zip(X, y, strict=True) if k}
    assert [truth[tuple(row)] for row in rows[:n]] == (2 * label[:n] - 1).tolist()
    # What a linear model learns from both orders is a difference.
    weight = classifier.estimator_.coef_[0]
    np.testing.assert_allclose(weight[:N_FEATURES], -weight[N_FEATURES:], atol=1e-3)


@pytest.mark.filterwarnings("ignore:All items of a query have the same score")
def test_the_queries_of_training_and_calibration_do_not_meet(three):
    X, y = three
    qid = np.random.default_rng(0).integers(0, 40, y.size)
    X = np.column_stack([qid, X[:, 0], qid, X[:, N_FEATURES]]).astype(float)
    classifier = PairwiseRankerClassifier(
        Recorder(), coverage=1, calibration_size=0.25, random_state=0
    )
    classifier.fit(X, y, qid=qid.astype(str))
    trained = np.unique(classifier.estimator_.seen_[0][:, 0])
    assert trained.size == 30
    assert classifier.n_pairs_ == np.sum(~np.isin(qid, trained))


def test_without_queries_each_label_is_shared_out(three):
    X, y = three
    y = np.where(np.arange(y.size) < 8, 0, np.where(y >= 0, 1, -1))
    for seed in range(5):
        fitted = PairwiseRankerClassifier(Recorder(), random_state=seed).fit(X, y)
        assert np.sum(fitted.estimator_.seen_[1] == 0.5) == 2 * 6
    # One pair of a kind cannot be in both parts.
    alone = np.where(np.arange(y.size) < 1, 0, np.where(y >= 0, 1, -1))
    PairwiseRankerClassifier(Recorder(), random_state=0).fit(X, alone)


def test_a_seed_fixes_the_split(two):
    first, again = (
        PairwiseRankerClassifier(Ridge(), random_state=5).fit(*two) for _ in range(2)
    )
    assert first.threshold_ == again.threshold_


def test_a_fitted_ranker_is_only_calibrated(items, three):
    ranker = Ridge().fit(items.data, items.target)
    before = ranker.coef_.copy()
    classifier = PairwiseRankerClassifier(ranker).fit(*three)
    assert classifier.estimator_ is ranker
    np.testing.assert_array_equal(ranker.coef_, before)
    refitted = PairwiseRankerClassifier(ranker, prefit=False).fit(*three)
    assert not refitted.prefit_
    np.testing.assert_array_equal(ranker.coef_, before)


def test_a_fitted_classifier_is_read_by_its_number_of_columns(items, three, two):
    X, y = two
    of_items = LogisticRegression().fit(items.data, items.target > 0)
    of_pairs = LogisticRegression().fit(X, np.where(y > 0, "left", "right"))
    by_items = PairwiseRankerClassifier(of_items).fit(X, y)
    by_pairs = PairwiseRankerClassifier(of_pairs).fit(X, y)
    np.testing.assert_array_equal(
        by_items.decision_function(X),
        of_items.decision_function(X[:, :N_FEATURES])
        - of_items.decision_function(X[:, N_FEATURES:]),
    )
    np.testing.assert_allclose(
        by_pairs.decision_function(X),
        (of_pairs.decision_function(turned(X)) - of_pairs.decision_function(X)) / 2,
        rtol=1e-12,
    )
    # Three classes give the expected class, of which the log-odds are taken.
    X, y = three
    of_three = LogisticRegression().fit(X[::2], y[::2])
    classifier = PairwiseRankerClassifier(of_three).fit(X, y)
    assert classifier.score(X, y) > 0.6
    check_mirror(classifier, X)


def test_a_raw_booster_scores_items(items, three):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = three
    booster = lightgbm.train(
        {"objective": "regression", "verbose": -1, "num_threads": 1},
        lightgbm.Dataset(items.data, items.target),
        num_boost_round=10,
    )
    classifier = clone(PairwiseRankerClassifier(booster)).fit(X, y)
    assert classifier.prefit_
    np.testing.assert_array_equal(
        classifier.decision_function(X),
        booster.predict(X[:, :N_FEATURES]) - booster.predict(X[:, N_FEATURES:]),
    )


def test_a_clone_keeps_a_fitted_ranker_fitted(items, three):
    ranker = make_pipeline(StandardScaler(), Ridge()).fit(items.data, items.target)
    copy = clone(PairwiseRankerClassifier(ranker, coverage=0.5))
    assert isinstance(copy.estimator, FrozenEstimator)
    assert copy.coverage == 0.5
    assert copy.fit(*three).prefit_
    assert isinstance(clone(PairwiseRankerClassifier(Ridge())).estimator, Ridge)


def test_setting_parameters_of_a_fitted_ranker_is_an_error(items):
    ranker = Ridge().fit(items.data, items.target)
    with pytest.raises(ValueError, match=r"prefit=False"):
        PairwiseRankerClassifier(ranker).set_params(estimator__alpha=2.0)


def test_pickle(model, three):
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        loaded.predict_proba(three[0]), model.predict_proba(three[0])
    )
    assert loaded.at_coverage(0.3).threshold_ == model.at_coverage(0.3).threshold_


def test_it_is_a_classifier(two):
    assert is_classifier(PairwiseRankerClassifier(Ridge()))
    X, y = two
    classifier = PairwiseRankerClassifier(Ridge(), random_state=0)
    proba = cross_val_predict(classifier, X, y, method="predict_proba", cv=3)
    assert log_loss(y, proba) < 0.6
    frequency, mean = calibration_curve(y == 1, proba[:, 1], n_bins=4)
    np.testing.assert_allclose(frequency, mean, atol=0.12)
    pytest.importorskip("matplotlib").use("Agg")
    display = CalibrationDisplay.from_estimator(classifier.fit(X, y), X, y)
    assert display.y_prob.shape == y.shape


def test_grid_search_over_the_model_and_the_tie_model(two, items):
    X, y = two
    search = GridSearchCV(
        PairwiseRankerClassifier(Ridge(), prefit=False, random_state=0),
        {
            "estimator__alpha": [1e-3, 1e6],
            "tie_model": ["bradley_terry", "thurstone_mosteller"],
        },
        scoring="neg_log_loss",
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert np.unique(search.cv_results_["mean_test_score"]).size == 4
    assert search.predict(X).shape == y.shape
    ranker = Ridge().fit(items.data, items.target)
    prefit = GridSearchCV(
        PairwiseRankerClassifier(ranker),
        {"tie_model": ["bradley_terry", "davidson"]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert prefit.best_estimator_.prefit_


def test_group_k_fold_with_metadata_routing(three):
    X, y = three
    qid = np.arange(y.size) // 4
    with config_context(enable_metadata_routing=True):
        result = cross_validate(
            PairwiseRankerClassifier(Ridge(), random_state=0),
            X,
            y,
            params={"qid": qid},
            cv=GroupKFold(3).set_split_request(groups="qid"),
            error_score="raise",
            return_estimator=True,
            return_indices=True,
        )
    for fitted, train, test in zip(
        result["estimator"],
        result["indices"]["train"],
        result["indices"]["test"],
        strict=True,
    ):
        assert not set(qid[train]) & set(qid[test])
        assert fitted.n_pairs_ % 4 == 0  # fit got the queries, and kept them whole


def test_in_a_pipeline(two):
    X, y = two
    pipeline = make_pipeline(
        StandardScaler(), PairwiseRankerClassifier(Ridge(), random_state=0)
    ).fit(X, y)
    assert pipeline.score(X, y) > 0.7
    assert pipeline.predict_proba(X).shape == (y.size, 2)
