"""What the classifier of pairs says of pairs: probabilities, decisions, symmetry."""

import os
from pathlib import Path

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.pairwise.comparisons import (
    N_FEATURES,
    check_mirror,
    comparisons,
    fit_differences,
)
from scored import fit_on_pairs
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels
from skrank_abstain.tie_models import BradleyTerry


def test_methods_agree_with_each_other(model, three):
    X, y = three
    proba, risk = model.predict_proba(X), model.conditional_risk(X)
    half = N_FEATURES
    np.testing.assert_array_equal(
        model.decision_function(X),
        model.estimator_.predict(X[:, :half]) - model.estimator_.predict(X[:, half:]),
    )
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[proba.argmax(axis=1)]
    )
    np.testing.assert_allclose(risk, 1 - proba.max(axis=1), rtol=0, atol=1e-14)
    clear = np.abs(risk - model.threshold_) > 1e-12
    np.testing.assert_array_equal(
        model.abstain(X)[clear], (risk > model.threshold_)[clear]
    )
    assert model.n_pairs_ == y.size
    assert model.n_features_in_ == 2 * N_FEATURES
    assert model.prefit_


def test_it_is_the_tie_model_of_the_score_difference(three):
    X, y = three
    difference = X[:, 0] - X[:, N_FEATURES]
    classifier = PairwiseRankerClassifier(FirstColumn().fit(None, None)).fit(X, y)
    expected = fit_on_pairs(BradleyTerry(), X[:, 0], X[:, N_FEATURES], y)
    # Gaps of queries are joined where they hardly differ.
    assert classifier.tie_model_.theta_ == pytest.approx(expected.theta_, rel=1e-6)
    np.testing.assert_allclose(
        classifier.predict_proba(X),
        expected.proba(difference, np.zeros(y.size)),
        atol=1e-6,
    )


def test_coverage_one_accepts_everything_and_scores_the_accuracy(three, model):
    X, y = three
    full = model.at_coverage(1.0)
    assert not full.abstain(1e6 * X).any()
    assert full.coverage_ == 1
    assert full.score(X, y) == pytest.approx(accuracy_score(y, full.predict(X)))


def test_score_is_the_accuracy_of_accepted_pairs(model, three):
    X, y = three
    accepted, weight = ~model.abstain(X), np.arange(y.size) % 4
    assert model.coverage_ == pytest.approx(accepted.mean())
    assert accepted.mean() == pytest.approx(0.7, abs=1 / y.size)
    for w in (None, weight):
        mass = accepted if w is None else accepted * w
        assert model.score(X, y, sample_weight=w) == pytest.approx(
            accuracy_score(y, model.predict(X), sample_weight=mass)
        )
    assert model.score(X, y, qid="not used") == model.score(X, y)


def test_at_coverage_is_what_fit_would_have_given(model, three, items):
    ranker = Ridge().fit(items.data, items.target)
    refitted = PairwiseRankerClassifier(ranker, coverage=0.4).fit(*three)
    moved = model.at_coverage(0.4)
    assert moved.get_params()["coverage"] == 0.4
    assert moved.threshold_ == refitted.threshold_
    assert moved.coverage_ == refitted.coverage_
    assert model.coverage == 0.7


def test_nothing_accepted_scores_nan_with_a_warning(model, three):
    X, y = three
    with pytest.warns(UndefinedMetricWarning, match="score is undefined"):
        assert np.isnan(model.score(X, y, sample_weight=np.zeros(y.size)))


def test_surer_pairs_are_more_often_right(two):
    X, y = two
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    classifier.fit(X, y)
    new, truth = comparisons(2000, n_grades=None, seed=9)[:2]
    scores = [classifier.at_coverage(c).score(new, truth) for c in (0.25, 0.5, 1)]
    assert scores[0] > scores[1] + 0.02 > scores[2] + 0.04


def test_bradley_terry_is_recovered_from_the_true_scores():
    _, y, proba, items = comparisons(4000, n_grades=None, noise="gumbel")
    utility = items.utility.reshape(-1, 2)
    classifier = PairwiseRankerClassifier(FirstColumn().fit(None, None))
    classifier.fit(utility, y)
    assert classifier.tie_model_.scale_ == pytest.approx(1, abs=0.08)
    np.testing.assert_allclose(
        classifier.predict_proba(utility), proba[:, [0, 2]], rtol=0, atol=0.02
    )


def test_bradley_terry_with_ties_is_recovered():
    rng = np.random.default_rng(0)
    difference = rng.normal(0, 2, 6000)
    counts = BradleyTerry(calibration="counts")
    truth = fit_on_pairs(counts, [1.0] * 3, [0.0] * 3, [0, 1, 1])
    proba = truth.proba(difference, np.zeros(6000))
    y = (rng.random(6000)[:, None] > proba.cumsum(axis=1)).sum(axis=1) - 1
    classifier = fit_differences(difference, y)
    assert classifier.tie_model_.theta_ == pytest.approx(truth.theta_, rel=0.05)
    X = np.column_stack([difference, np.zeros(6000)])
    np.testing.assert_allclose(classifier.predict_proba(X), proba, atol=0.02)


QUADRATIC = PolynomialFeatures(2, include_bias=False, interaction_only=False)


@pytest.mark.parametrize(
    ("estimator", "error"),
    [
        # The log-odds are quadratic in the features: the first is the true model.
        (make_pipeline(QUADRATIC, LogisticRegression(C=0.1)), 0.04),
        (LogisticRegression(), 0.1),
        (make_pipeline(QUADRATIC, Ridge()), 0.06),
        (Ridge(), 0.1),
        (HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8), 0.11),
        (RandomForestClassifier(60, random_state=0), 0.12),
    ],
    ids=lambda value: str(value)[:40],
)
def test_probabilities_of_trained_models_are_near_the_known_ones(estimator, error):
    X, y, *_ = comparisons(3000, n_grades=None, noise="gumbel", seed=4)
    new, _, proba, _ = comparisons(1000, n_grades=None, noise="gumbel", seed=5)
    classifier = PairwiseRankerClassifier(estimator, random_state=0).fit(X, y)
    assert not classifier.prefit_
    assert classifier.n_pairs_ == 750
    estimated = classifier.predict_proba(new)[:, 1]
    assert np.abs(estimated - proba[:, 2]).mean() < error


BOOSTERS = {
    "LGBMRanker": ("lightgbm", {"verbose": -1}),
    "LGBMClassifier": ("lightgbm", {"verbose": -1}),
    "XGBRanker": ("xgboost", {}),
    "XGBClassifier": ("xgboost", {}),
    "CatBoostRanker": ("catboost", {"silent": True, "allow_writing_files": False}),
    "CatBoostClassifier": ("catboost", {"silent": True, "allow_writing_files": False}),
}


@pytest.mark.parametrize("data", ["two", "three"])
@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(10, random_state=0),
    ],
    ids=["ridge", "logistic", "pipeline", "forest"],
)
def test_swapping_left_and_right_mirrors_everything(estimator, data, request):
    X, y = request.getfixturevalue(data)
    classifier = PairwiseRankerClassifier(estimator, coverage=0.6, random_state=0)
    classifier.fit(X, y)
    assert 0 < classifier.abstain(X).mean() < 1
    for rows in (X, np.asfortranarray(X), X[:7]):
        check_mirror(classifier, rows)


@pytest.mark.parametrize("name", sorted(BOOSTERS))
def test_boosters(name, three):
    X, y = three
    library, options = BOOSTERS[name]
    threads = {"thread_count" if library == "catboost" else "n_jobs": 1}
    booster = getattr(pytest.importorskip(library), name)(
        n_estimators=10, **threads, **options
    )
    classifier = PairwiseRankerClassifier(booster, random_state=0).fit(X, y)
    assert classifier.score(X, y) > 0.6
    check_mirror(classifier, X)


def draw_pairs(part, n_pairs, seed):
    """Draw rows [left | right] in random orientation, with labels and queries."""
    left, right = enumerate_pairs(group_queries(part.qid, part.qid.size))
    rng = np.random.default_rng(seed)
    chosen = rng.choice(left.size, n_pairs, replace=False)
    flip = rng.random(n_pairs) < 0.5
    one, other = left[chosen], right[chosen]
    left, right = np.where(flip, other, one), np.where(flip, one, other)
    X = np.hstack([part.data[left], part.data[right]])
    return X, pair_labels(part.target, left, right), part.qid[left]


def test_ohsumed():
    lightgbm = pytest.importorskip("lightgbm")
    default = Path(__file__).resolve().parents[4] / "shared" / "data"
    fold = Path(os.environ.get("SKRANK_DATA", default), "OHSUMED", "Fold1")
    if not fold.is_dir():
        pytest.skip("OHSUMED is not there; set SKRANK_DATA to its parent folder")
    data = load_letor(fold)
    train = data.train
    ranker = lightgbm.LGBMRanker(
        n_estimators=40, num_leaves=8, n_jobs=1, verbose=-1, random_state=0
    ).fit(
        train.data, train.target, group=group_queries(train.qid, train.qid.size).sizes
    )
    X, y, qid = draw_pairs(data.validation, 8000, 0)
    new, truth, _ = draw_pairs(data.test, 8000, 1)
    classifier = PairwiseRankerClassifier(ranker).fit(X, y, qid=qid)
    assert classifier.classes_.tolist() == [-1, 0, 1]
    share = np.bincount(y + 1) / y.size
    np.testing.assert_allclose(
        classifier.predict_proba(X).mean(axis=0), share, atol=0.02
    )
    uninformed = np.tile(share, (truth.size, 1))
    assert log_loss(truth, classifier.predict_proba(new)) < (
        log_loss(truth, uninformed) - 0.01
    )
    check_mirror(classifier, new)
    # Which of two unequal documents is better?
    order = PairwiseRankerClassifier(ranker).fit(X[y != 0], y[y != 0])
    new, truth = new[truth != 0], truth[truth != 0]
    scores = [order.at_coverage(c).score(new, truth) for c in (0.3, 0.5, 1.0)]
    assert scores[0] > scores[1] + 0.02 > scores[2] + 0.06
