"""The classifier of pairs from end to end."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from doubles import FirstColumn, Recorder
from scipy.sparse import coo_array, csr_array
from scorers.boosters import make_ranker
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.estimators._pair_columns import check_halves
from skrank_abstain.estimators._pair_rows import fit_on_pairs, take_pairs
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels
from skrank_abstain.scorers import fit_ranker, score_items
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller, TieModel

N_FEATURES = 5


def comparisons(n_pairs=600, *, n_grades=3, noise="logistic", seed=0):
    """Rows [left | right], canonical labels, and the true probabilities."""
    items = make_ranking(
        n_pairs,
        n_items=2,
        n_features=N_FEATURES,
        n_grades=n_grades,
        noise=noise,
        random_state=seed,
    )
    left, right = np.arange(0, 2 * n_pairs, 2), np.arange(1, 2 * n_pairs, 2)
    X = items.data.reshape(n_pairs, -1)
    return (
        X,
        pair_labels(items.target, left, right),
        items.pair_proba(left, right),
        items,
    )


def turned(X):
    """Return the rows with left and right swapped."""
    order = np.roll(np.arange(X.shape[1]), X.shape[1] // 2)
    if hasattr(X, "iloc"):
        return X.iloc[:, order].set_axis(X.columns, axis=1)
    if hasattr(X, "columns"):
        return X[:, order.tolist()].rename(
            {X.columns[old]: new for old, new in zip(order, X.columns, strict=True)}
        )
    return X[:, order]


@pytest.fixture(scope="module")
def three():
    """Comparisons with ties."""
    return comparisons(seed=1)[:2]


@pytest.fixture(scope="module")
def two():
    """Comparisons without ties."""
    return comparisons(n_grades=None, seed=2)[:2]


@pytest.fixture(scope="module")
def items():
    return make_ranking(60, n_features=N_FEATURES, random_state=3)


@pytest.fixture(scope="module")
def model(items, three):
    ranker = Ridge().fit(items.data, items.target)
    return PairwiseRankerClassifier(ranker, coverage=0.7).fit(*three)


def fit_differences(difference, y, **options):
    """Calibrate on given score differences."""
    X = np.column_stack([difference, np.zeros(len(difference))])
    return PairwiseRankerClassifier(FirstColumn().fit(None, None), **options).fit(X, y)


# --- the flow ---------------------------------------------------------------------


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
    expected = BradleyTerry().fit_pairs(X[:, 0], X[:, N_FEATURES], y)
    assert classifier.tie_model_.theta_ == expected.theta_
    np.testing.assert_array_equal(
        classifier.predict_proba(X), expected.proba(difference, np.zeros(y.size))
    )


def test_fitting_a_tie_model_on_pairs_is_fitting_it_on_queries_of_two():
    _, y, _, items = comparisons()
    left, right = items.data[::2, 0], items.data[1::2, 0]
    for tie_model in (
        BradleyTerry(),
        BradleyTerry(ties="davidson", calibration="counts"),
        ThurstoneMosteller(),
    ):
        by_pair = clone(tie_model).fit_pairs(left, right, y)
        by_query = clone(tie_model).fit(items.data[:, 0], items.target, items.qid)
        assert by_pair.n_pairs_ == by_query.n_pairs_ == y.size
        np.testing.assert_allclose(
            by_pair.proba(left, right), by_query.proba(left, right), atol=1e-6
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
    with pytest.warns(UndefinedMetricWarning, match="no pair is accepted"):
        assert np.isnan(model.score(X, y, sample_weight=np.zeros(y.size)))


def test_surer_pairs_are_more_often_right(two):
    X, y = two
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    classifier.fit(X, y)
    new, truth = comparisons(2000, n_grades=None, seed=9)[:2]
    scores = [classifier.at_coverage(c).score(new, truth) for c in (0.25, 0.5, 1)]
    assert scores[0] > scores[1] + 0.02 > scores[2] + 0.04


# --- known probabilities ----------------------------------------------------------


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
    truth = BradleyTerry(calibration="counts").fit_pairs(
        [0.0] * 3, [0.0] * 3, [0, 1, 1]
    )
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


# --- symmetry ---------------------------------------------------------------------


BOOSTERS = {
    "LGBMRanker": ("lightgbm", {"verbose": -1}),
    "LGBMClassifier": ("lightgbm", {"verbose": -1}),
    "XGBRanker": ("xgboost", {}),
    "XGBClassifier": ("xgboost", {}),
    "CatBoostRanker": ("catboost", {"silent": True, "allow_writing_files": False}),
    "CatBoostClassifier": ("catboost", {"silent": True, "allow_writing_files": False}),
}


def check_mirror(classifier, X):
    other = turned(X)
    np.testing.assert_array_equal(
        classifier.decision_function(other), -classifier.decision_function(X)
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(other), classifier.predict_proba(X)[:, ::-1]
    )
    np.testing.assert_array_equal(
        classifier.conditional_risk(other), classifier.conditional_risk(X)
    )
    np.testing.assert_array_equal(classifier.abstain(other), classifier.abstain(X))
    if classifier.decision_function(X).all():
        mirrored = dict(
            zip(classifier.classes_, classifier.classes_[::-1], strict=True)
        )
        expected = [mirrored[label] for label in classifier.predict(X)]
        np.testing.assert_array_equal(classifier.predict(other), expected)


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


NAMES = [*"abcde", *(f"{name}_r" for name in "abcde")]
CONTAINERS = {
    "csr": csr_array,
    "coordinates": coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("container", sorted(CONTAINERS))
@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()], ids=str)
def test_containers(estimator, container, three):
    X, y = three
    held = CONTAINERS[container](X)
    classifier = PairwiseRankerClassifier(estimator, random_state=0).fit(held, y)
    array = PairwiseRankerClassifier(estimator, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        classifier.predict_proba(held), array.predict_proba(X), rtol=0, atol=1e-4
    )
    if container not in ("coordinates", "lists"):
        check_mirror(classifier, held)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_fitted_ranker_gets_both_halves_under_its_own_names(frame, items, three):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = three
    names = list("abcde")
    ranker = lightgbm.LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1).fit(
        pd.DataFrame(items.data, columns=names),
        items.target,
        group=group_queries(items.qid, items.qid.size).sizes,
    )
    held = CONTAINERS[frame](X)
    classifier = PairwiseRankerClassifier(ranker).fit(held, y)
    plain = PairwiseRankerClassifier(ranker).fit(X, y)
    np.testing.assert_array_equal(
        classifier.decision_function(held), plain.decision_function(X)
    )
    # The names of the left half tell which column is which.
    order = [3, 1, 0, 2, 4]
    shuffled = held[[held.columns[k] for k in [*order, *(5 + k for k in order)]]]
    moved = PairwiseRankerClassifier(ranker).fit(shuffled, y)
    np.testing.assert_array_equal(
        moved.decision_function(shuffled), plain.decision_function(X)
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(shuffled), plain.predict_proba(X)
    )


@pytest.mark.parametrize(
    "marks",
    [
        ("left_{}", "right_{}"),
        ("{} (left)", "{} (right)"),
        ("a.{} at first", "b.{} at first"),
        ("{}", "{}_right"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_fitted_ranker_gets_its_names_without_the_mark_of_the_side(
    marks, frame, library, items, three
):
    X, y = three
    names = ["f", "f1", "f12", "left", "at"]
    columns = [mark.format(name) for mark in marks for name in names]
    held = frame(dict(zip(columns, X.T, strict=True)))
    known = pd.DataFrame(items.data, columns=names)
    if frame is pl.DataFrame:
        known = pl.from_pandas(known)
    queries = group_queries(items.qid, items.qid.size)
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge())
    for model in (Ridge(), scaled, make_ranker(library)):
        ranker = fit_ranker(model, known, items.target, queries)
        classifier = PairwiseRankerClassifier(ranker).fit(held, y)
        left, right = (
            score_items(ranker, type(known)(dict(zip(names, half, strict=True))))
            for half in (X.T[:5], X.T[5:])
        )
        np.testing.assert_array_equal(classifier.decision_function(held), left - right)


def test_names_that_no_mark_explains_are_left_to_the_model(items, three):
    X, y = three
    ranker = Ridge().fit(pd.DataFrame(items.data, columns=list("abcde")), items.target)
    columns = [f"{side}_{name}" for side in ("left", "right") for name in "abcdf"]
    with pytest.raises(ValueError, match="feature names should match"):
        PairwiseRankerClassifier(ranker).fit(pd.DataFrame(X, columns=columns), y)


def test_missing_values_reach_the_model(three):
    X, y = three
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    estimator = HistGradientBoostingClassifier(max_iter=10)
    classifier = PairwiseRankerClassifier(estimator, random_state=0).fit(holes, y)
    assert np.isfinite(classifier.predict_proba(holes)).all()
    check_mirror(classifier, holes)


# --- labels -----------------------------------------------------------------------


#: What is written for right, tie and left preferred; None: there are no ties.
WRITTEN = {
    "signs": (-1, 0, 1),
    "signs as floats": (-1.0, 0.0, 1.0),
    "points": (0, 0.5, 1),
    "zero and one": (0, None, 1),
    "booleans": (False, None, True),
    "signs without ties": (-1, None, 1),
    "arena": ("model_b", "tie", "model_a"),
    "arena without ties": ("model_b", None, "model_a"),
    "letters": ("B", "draw", "A"),
    "sides": ("right", "same", "left"),
    "sides in capitals": ("RIGHT", " Equal ", "Left"),
    "sides without ties": ("right", None, "left"),
    "places": ("second", "tie", "first"),
    "games": ("loss", "draw", "win"),
}


@pytest.mark.parametrize("kind", [str, object])
@pytest.mark.parametrize("name", WRITTEN)
def test_labels_are_read_by_what_they_mean(name, kind, two, three):
    labels = WRITTEN[name]
    X, y = two if labels[1] is None else three
    named = np.array([labels[k + 1] for k in y])
    if kind is object and named.dtype.kind == "U":
        named = named.astype(object)
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    classifier = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, named)
    assert classifier.classes_.tolist() == sorted(k for k in labels if k is not None)
    np.testing.assert_array_equal(
        classifier.predict(X), [labels[k + 1] for k in plain.predict(X)]
    )
    assert classifier.predict(X).dtype == classifier.classes_.dtype == named.dtype
    proba, columns = plain.pair_proba(X), [labels.index(k) for k in classifier.classes_]
    assert proba.shape == (y.size, 3)
    np.testing.assert_array_equal(classifier.pair_proba(X), proba)
    np.testing.assert_array_equal(classifier.predict_proba(X), proba[:, columns])
    assert classifier.score(X, named) == plain.score(X, y)
    np.testing.assert_array_equal(classifier.abstain(X), plain.abstain(X))


def test_labels_of_ones_own(three):
    X, y = three
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    for labels in [(0, 1, 2), [2, 0, 1], ("no", "?", "yes"), ("left", "tie", "right")]:
        classifier = PairwiseRankerClassifier(Ridge(), labels=labels, random_state=0)
        named = np.array([labels[k + 1] for k in y])
        assert clone(classifier).get_params()["labels"] == labels
        classifier.fit(X, named)
        np.testing.assert_array_equal(
            classifier.predict(X), [labels[k + 1] for k in plain.predict(X)]
        )
        np.testing.assert_array_equal(classifier.pair_proba(X), plain.pair_proba(X))
        assert classifier.score(X, named) == plain.score(X, y)


def test_scikit_learns_scorers_agree_whatever_the_labels_are(two):
    X, y = two
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    expected = {
        name: get_scorer(name)(plain, X, y)
        for name in ("roc_auc", "neg_log_loss", "accuracy", "balanced_accuracy")
    }
    assert expected["roc_auc"] > 0.8
    for labels in (("right", None, "left"), ("model_b", None, "model_a"), (0, None, 1)):
        named = np.array([labels[k + 1] for k in y])
        classifier = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, named)
        for name, value in expected.items():
            assert get_scorer(name)(classifier, X, named) == pytest.approx(value)
        # What scikit-learn calls positive is the second class.
        np.testing.assert_array_equal(
            classifier.classes_[(classifier.decision_function(X) > 0).astype(int)],
            classifier.predict(X),
        )


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        [1, 2, 3],
        ["yes", "no"],
        ["0", "1"],
        ["-1", "0", "1"],
        ["left", "model_b"],
        ["model_a", "tie (bothbad)", "model_b"],
        [0.2, 0.8],
        [-1.0, 0.5, 1.0],
    ],
    ids=str,
)
def test_labels_that_may_mean_anything_are_refused(labels):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.resize(labels, 30)
    with pytest.raises(ValueError, match=r"y must hold labels that are known") as error:
        PairwiseRankerClassifier(Ridge()).fit(X, y)
    message = str(error.value)
    assert f"got {sorted(labels)}. Say what yours mean with labels=" in message
    assert "labels=(right, tie, left)" in message
    assert "right / tie / left, model_b / tie / model_a" in message
    assert "(0, 0.5, 1)" in message


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["left", "Left", "right"], r"one word for each answer.*'Left', 'left'"),
        (["tie", "draw", "left"], r"one word for each answer"),
        (["left", "tie"], r"with right and with left preferred, got left only.*Turn"),
        (["loss", "draw"], r"with right and with left preferred, got right only"),
        ([0, 0.5], r"with right and with left preferred, got right only"),
        (["left", "left"], r"two or three kinds.*got 1 class: \['left'\]. Turn some"),
        (
            ["model_a", "model_b", "tie", "tie (bothbad)"],
            r"two or three kinds.*got 4 classes: .*Leave the rows of the others out",
        ),
    ],
)
def test_labels_of_known_meaning_that_are_no_comparisons(labels, match):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.resize(labels, 60)
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge()).fit(X, y)


@pytest.mark.parametrize(
    "labels",
    ["left", (1,), (1, 2, 3, 4), (1, 1, 2), {1, 2}, [[1, 2]], 3, ()],
    ids=str,
)
def test_labels_must_name_two_or_three(labels, two):
    with pytest.raises(ValueError, match=r"labels must be \(right, tie, left\), or"):
        PairwiseRankerClassifier(Ridge(), labels=labels).fit(*two)


def test_labels_that_are_not_named(three):
    match = r"y must hold nothing but the labels=\(-1, 1\), got \[0\] too"
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge(), labels=(-1, 1)).fit(*three)


def test_new_labels_in_score(two, three):
    X, y = two
    classifier = PairwiseRankerClassifier(Ridge(), random_state=0)
    words = np.where(y > 0, "left", "right")
    classifier.fit(X, words)
    # A tie is never right where none is predicted; another spelling is.
    assert classifier.score(X, np.full(y.size, "tie")) == 0
    assert classifier.score(X, np.char.upper(words)) == classifier.score(X, words)
    with pytest.raises(ValueError, match="y must hold labels that are known"):
        classifier.score(X, y)
    ones = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, (1 + y) // 2)
    assert ones.score(X, np.full(y.size, 0.5)) == 0
    with pytest.raises(ValueError, match=r"labels as in fit, \[0, 1\], got \[-1\] too"):
        ones.score(X, y)
    # 0 and 1 are read as in fit, where they are a tie and left.
    signs = PairwiseRankerClassifier(Ridge(), random_state=0).fit(*three)
    accuracy = np.mean(signs.predict(X) == abs(y))
    assert signs.score(X, abs(y)) == pytest.approx(accuracy)


def test_equal_scores_are_a_tie_or_else_left(two, three):
    same = np.full((3, 2 * N_FEATURES), 0.5)
    tied = PairwiseRankerClassifier(Ridge(), random_state=0).fit(*three)
    untied = PairwiseRankerClassifier(Ridge(), random_state=0).fit(*two)
    assert tied.predict(same).tolist() == [0, 0, 0]
    assert untied.predict(same).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(untied.predict_proba(same), np.full((3, 2), 0.5))


def test_without_ties_there_is_no_tie_even_where_half_a_pair_is_added():
    difference = np.linspace(-3, 3, 40)
    with pytest.warns(UserWarning, match="half a pair"):
        classifier = fit_differences(difference, np.sign(difference), coverage=0.5)
    assert classifier.tie_model_.theta_ == 1
    X = np.column_stack([difference, np.zeros(40)])
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        classifier.conditional_risk(X), proba.min(axis=1), rtol=0, atol=1e-15
    )
    np.testing.assert_array_equal(classifier.predict(X), np.sign(difference))
    np.testing.assert_array_equal(
        classifier.abstain(X), np.abs(difference) < np.median(np.abs(difference))
    )


def test_a_cost_matrix(three, two):
    # Predicting a tie for an order costs little: ties are predicted more often.
    loss = np.array([[0, 1, 1], [0.3, 0, 0.3], [1, 1, 0]])
    X, y = three
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    costly = PairwiseRankerClassifier(Ridge(), loss=loss, random_state=0).fit(X, y)
    assert (costly.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    expected = costly.predict_proba(X) @ loss.T
    np.testing.assert_allclose(costly.conditional_risk(X), expected.min(axis=1))
    # Without ties among the labels only the corners count.
    X, y = two
    plain = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    costly = PairwiseRankerClassifier(Ridge(), loss=2 * loss, random_state=0).fit(X, y)
    np.testing.assert_array_equal(costly.predict(X), plain.predict(X))
    np.testing.assert_allclose(
        costly.conditional_risk(X), 2 * plain.conditional_risk(X)
    )


@pytest.mark.parametrize("name", ["bradley_terry", "davidson", "thurstone_mosteller"])
def test_tie_models_by_name(name, three):
    classifier = PairwiseRankerClassifier(Ridge(), tie_model=name, random_state=0)
    assert classifier.fit(*three).tie_model_.scale_ > 0


# --- training ---------------------------------------------------------------------


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


def test_the_queries_of_training_and_calibration_do_not_meet(three):
    X, y = three
    qid = np.random.default_rng(0).integers(0, 40, y.size)
    X = np.column_stack([qid, X[:, 0], qid, X[:, N_FEATURES]]).astype(float)
    classifier = PairwiseRankerClassifier(Recorder(), random_state=0)
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


# --- prefit -----------------------------------------------------------------------


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
    of_pairs = LogisticRegression().fit(X, np.where(y > 0, "left", "a right"))
    by_items = PairwiseRankerClassifier(of_items).fit(X, y)
    by_pairs = PairwiseRankerClassifier(of_pairs).fit(X, y)
    np.testing.assert_array_equal(
        by_items.decision_function(X),
        of_items.decision_function(X[:, :N_FEATURES])
        - of_items.decision_function(X[:, N_FEATURES:]),
    )
    np.testing.assert_allclose(
        by_pairs.decision_function(X),
        (of_pairs.decision_function(X) - of_pairs.decision_function(turned(X))) / 2,
        rtol=1e-12,
    )
    # Three classes give the expected class, of which the log-odds are taken.
    X, y = three
    of_three = LogisticRegression().fit(X, y)
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


# --- with scikit-learn ------------------------------------------------------------


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


# --- bad input --------------------------------------------------------------------


class NotOfTheDifference(TieModel):
    def fit_items(self, items):
        return self

    def _proba(self, left, right):
        return np.full((left.size, 3), 1 / 3)

    def log_loss(self, items):
        return np.log(3)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"coverage": 0}, ValueError, r"coverage must be in \(0, 1\], got 0"),
        ({"coverage": "all"}, TypeError, r"coverage must be a real number"),
        ({"tie_model": "elo"}, ValueError, r"tie_model must be one of .*got 'elo'"),
        ({"tie_model": 3}, TypeError, r"tie_model must be a name or an instance"),
        (
            {"tie_model": NotOfTheDifference()},
            TypeError,
            r"tie_model must be a model of the score difference",
        ),
        (
            {"loss": "hinge"},
            ValueError,
            r"loss must be one of .*, got 'hinge'",
        ),
        ({"prefit": "yes"}, ValueError, r"prefit must be 'auto', True or False"),
        ({"prefit": True}, NotFittedError, r"prefit=True needs a fitted estimator"),
        ({"calibration_size": 1.0}, ValueError, r"calibration_size must be in"),
        ({"estimator": Ridge}, TypeError, r"estimator must be an instance"),
    ],
)
def test_bad_parameters(options, error, match, two):
    with pytest.raises(error, match=match):
        PairwiseRankerClassifier(**{"estimator": Ridge(), **options}).fit(*two)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda X, y: (X[:, 1:], y),
            r"X must have an even number of columns, .*got n_features=9",
        ),
        (
            lambda X, y: (pd.DataFrame(X, columns=list("abcdeabcdf")), y),
            r"X must have column names that differ, .*got 'a' more than once",
        ),
        (lambda X, y: (X[:, 0], y), r"Expected 2D array, got 1D"),
        (lambda X, y: (X[:0], y[:0]), r"0 sample\(s\)"),
        (lambda X, y: (X[:, :0], y), r"0 feature\(s\)"),
        (lambda X, y: (X, None), r"requires y to be passed"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples"),
        (lambda X, y: (X, 0 * y), r"two or three kinds .* got 1 class: \[0\]"),
        (
            lambda X, y: (X, np.arange(y.size) % 5),
            r"two or three kinds .* got 5 classes: \[0, 1, 2, 3, 4\]",
        ),
        (lambda X, y: (X, X[:, 0]), r"Unknown label type: continuous"),
        (lambda X, y: (X, np.where(y > 0, np.nan, 1.0)), r"contains NaN"),
        (lambda X, y: (X[:3], [-1, 1, 1]), r"at least 2 pairs to train .*n_samples=3"),
    ],
)
def test_bad_data(change, match, two):
    X, y = change(*two)
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge()).fit(X, y)


def test_bad_queries(two):
    X, y = two
    with pytest.raises(ValueError, match=r"qid must have one value per"):
        PairwiseRankerClassifier(Ridge()).fit(X, y, qid=[1, 2])
    with pytest.raises(ValueError, match=r"got (1 and 599|599 and 1) from .* 2 quer"):
        PairwiseRankerClassifier(Ridge(), random_state=0).fit(
            X, y, qid=np.arange(y.size) == 0
        )


def test_only_ties_to_train_on(two):
    X, y = two
    with pytest.raises(ValueError, match=r"a pair that is no tie .*n_samples=600"):
        fit_on_pairs(Ridge(), X, 0 * y)


def test_other_columns_than_in_fit(model, three):
    with pytest.raises(ValueError, match="features"):
        model.predict(three[0][:, :6])
    with pytest.raises(ValueError, match="even number"):
        PairwiseRankerClassifier(model.estimator_).fit(three[0][:, :7], three[1])


def test_scores_that_are_not_finite():
    difference = np.where(np.arange(10) == 4, np.nan, np.arange(10))
    with pytest.raises(ValueError, match=r"scores must be finite, got NaN.*row 4"):
        fit_differences(difference, np.arange(10) % 2)


def test_not_fitted(two):
    X, y = two
    classifier = PairwiseRankerClassifier(Ridge())
    for call in (
        lambda: classifier.predict(X),
        lambda: classifier.predict_proba(X),
        lambda: classifier.decision_function(X),
        lambda: classifier.conditional_risk(X),
        lambda: classifier.abstain(X),
        lambda: classifier.score(X, y),
        lambda: classifier.at_coverage(0.5),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_at_coverage_checks_its_argument(model):
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\], got 2"):
        model.at_coverage(2)


@pytest.mark.parametrize(
    ("left", "right", "label", "match"),
    [
        ([1.0], [2.0], [2], r"label must hold the labels -1, 0 and 1, got .*2"),
        ([1.0], [2.0, 3.0], [1], r"scores must have one value per item"),
        ([1.0], [2.0], [1, 1], r"label must have one value per"),
        ([], [], [], r"label must have at least one pair"),
        ([np.inf], [2.0], [1], r"scores must be finite"),
    ],
)
def test_fit_pairs_checks_its_arguments(left, right, label, match):
    with pytest.raises(ValueError, match=match):
        BradleyTerry().fit_pairs(left, right, label)


# --- real data --------------------------------------------------------------------


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
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
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


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c", "c_r", "b_r", "a_r"],
        ["a", "b", "c", "right_b", "right_a", "right_c"],
    ],
)
def test_halves_in_different_orders_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)), columns=names)
    with pytest.raises(ValueError, match="features of both halves in the same order"):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))


@pytest.mark.parametrize(
    "names",
    [
        ["right_a", "right_b", "right_c", "left_a", "left_b", "left_c"],
        ["age_right", "bmi_right", "age_left", "bmi_left"],
        ["age_right", "bmi_right", "age", "bmi"],
        ["age_r", "bmi_r", "age_l", "bmi_l"],
        ["b.age", "b.bmi", "a.age", "a.bmi"],
        ["model_b_len", "model_b_cost", "model_a_len", "model_a_cost"],
        ["second_age", "second_bmi", "first_age", "first_bmi"],
        ["age_y", "bmi_y", "age_x", "bmi_x"],
        ["age 2", "bmi 2", "age 1", "bmi 1"],
        ["score_right", "score_left"],
    ],
    ids=str,
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_right_half_first_is_refused_and_both_remedies_work(names, frame):
    half = len(names) // 2
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, len(names)))
    X = frame(dict(zip(names, data.T, strict=True)))
    difference = data[:, half] - data[:, 0] + rng.normal(0, 0.5, 200)
    label = np.where(difference > 0, "left", "right")
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match=r"got the right one first.*X\.to_numpy") as e:
        classifier.fit(X, label)
    assert f"X[[*X.columns[{half}:], *X.columns[:{half}]]]" in str(e.value)
    ordered = X[[*X.columns[half:], *X.columns[:half]]]
    assert classifier.fit(ordered, label).score(ordered, label) > 0.8
    other = np.where(difference < 0, "left", "right")
    assert classifier.fit(X.to_numpy(), other).score(X.to_numpy(), other) > 0.8


def test_right_and_left_in_turns_are_put_right_by_the_remedy():
    names = ["a_right", "a_left", "b_right", "b_left"]
    with pytest.raises(ValueError, match="got them in turns") as e:
        check_halves(names)
    assert str(e.value).endswith(
        "X[[*X.columns[1::2], *X.columns[::2]]]: ['a_left', 'b_left', 'a_right', "
        "'b_right']."
    )


INTERLEAVED = [
    ["a_left", "a_right", "b_left", "b_right"],
    ["left_a", "right_a", "left_b", "right_b"],
    ["a", "a_r", "b", "b_r", "c", "c_r"],
    ["age", "age_right", "age_sq", "age_sq_right"],
    ["age_1", "age_2", "bmi_1", "bmi_2"],
    ["age", "age_2", "age_sq", "age_sq_2"],
    ["age A", "age B", "bmi A", "bmi B"],
    ["age", "b_age", "bmi", "b_bmi", "sex", "b_sex"],
    ["p1.age", "p2.age", "p1.bmi", "p2.bmi"],
    ["home_age", "away_age", "home_bmi", "away_bmi"],
]


@pytest.mark.parametrize("names", INTERLEAVED, ids=str)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_halves_in_turns_are_refused_and_the_remedy_works(names, frame):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, len(names)))
    X = frame(dict(zip(names, data.T, strict=True)))
    label = np.where(data[:, 0] - data[:, 1] > rng.normal(0, 0.5, 200), 1, -1)
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    with pytest.raises(
        ValueError, match=r"then all of the right one, got them in tu"
    ) as e:
        classifier.fit(X, label)
    ordered = X[[*X.columns[::2], *X.columns[1::2]]]
    assert f"X[[*X.columns[::2], *X.columns[1::2]]]: {list(ordered.columns)}." in str(
        e.value
    )
    assert classifier.fit(ordered, label).score(ordered, label) > 0.8


@pytest.mark.parametrize(
    "names",
    [
        ["age", "bmi", "age_r", "bmi_r"],
        ["age", "bmi", "b_age", "b_bmi"],
        ["left_age", "left_bmi", "right_age", "right_bmi"],
        ["age (1)", "bmi (1)", "age (2)", "bmi (2)"],
        ["left_age", "left_bmi", "age_right", "bmi_right"],
        ["model_a.age", "model_a.bmi", "model_b.age", "model_b.bmi"],
        ["age", "age_sq", "age_r", "age_sq_r"],
        ["left_age", "left_age_sq", "right_age", "right_age_sq"],
        ["age_min", "age_max", "age_min_right", "age_max_right"],
        ["Lage", "Lbmi", "Rage", "Rbmi"],
        ["winner_age", "winner_bmi", "loser_age", "loser_bmi"],
        ["home_age", "home_bmi", "away_age", "away_bmi"],
        ["loser_age", "loser_bmi", "winner_age", "winner_bmi"],
        ["u_age", "u_bmi", "u_sex", "z_age", "z_bmi", "z_sex"],
        ["a_0", "a_1", "b_0", "b_1"],
        ["mean age x", "sd age x", "mean age y", "sd age y"],
        ["0", "1", "2", "3"],
        ["x0", "x1", "x2", "x3"],
        ["column_0", "column_1", "column_2", "column_3"],
        ["x1", "x11", "x2", "x12"],
        ["f7", "f3", "f12", "f101"],
        ["Unnamed: 0", "Unnamed: 1", "Unnamed: 3", "Unnamed: 5"],
        ["old", "new"],
        ["b", "a"],
    ],
    ids=str,
)
def test_names_of_halves_that_are_taken(names):
    check_halves(names)


def test_names_that_nobody_gave():
    X = np.random.default_rng(0).normal(size=(200, 8))
    nested = pd.MultiIndex.from_product([["left", "right"], list("abcd")])
    for frame in (
        pd.DataFrame(X),
        pd.DataFrame(X).iloc[:, [0, 2, 4, 6]],
        pd.DataFrame(X).add_prefix("x"),
        pd.DataFrame(X, columns=nested),
        pl.DataFrame(X),
        PCA(4).set_output(transform="pandas").fit_transform(X),
    ):
        taken = take_pairs(PairwiseRankerClassifier(Ridge()), frame, reset=True)
        assert taken.shape == frame.shape


@pytest.mark.parametrize(
    "names", [["a", "b", "x", "y"], ["age", "bmi", "age_r", "sex_r"], list("abcdef")]
)
def test_halves_with_unrelated_names_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, len(names))))
    y = np.tile([-1, 1], 100)
    with pytest.raises(ValueError, match=r"of the left half again .*or pass an array"):
        PairwiseRankerClassifier(Ridge()).fit(X.set_axis(names, axis=1), y)
    take_pairs(PairwiseRankerClassifier(Ridge()), X.to_numpy(), reset=True)


@pytest.mark.parametrize(
    "names", [["u_min", "u_max", "z_min", "z_max"], ["u_a", "u_a_sq", "z_a", "z_a_sq"]]
)
def test_names_that_may_be_halves_or_in_turns_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=names)
    with pytest.raises(ValueError, match=r"or in turns\. Mark the sides, as in age_le"):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))


def test_many_names_are_cut_short_in_messages():
    names = [f"{name}{side}" for name in "abcdefgh" for side in ("_left", "_right")]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 16)), columns=names)
    with pytest.raises(
        ValueError, match=r"'f_right'\] and so on.*'d_right'\] and so on"
    ):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))
