import warnings

import numpy as np
import pandas as pd
import pytest
from doubles import PredictOnly
from scipy import sparse
from scorers.boosters import (
    N_QUERIES,
    NAMELESS_WARNING,
    PER_QUERY,
    make_ranker,
    raw,
    train_natively,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skrank_abstain.scorers import freeze, load_model, score_items

pytestmark = NAMELESS_WARNING
FORMS = ["ranker", "raw", "frozen", "pipeline"]


def form(model, library, name):
    """Return one of the ways in which a trained model can be handed over."""
    if name == "raw":
        return raw(model, library)
    if name == "frozen":
        return FrozenEstimator(FrozenEstimator(model))
    return make_pipeline("passthrough", model) if name == "pipeline" else model


@pytest.mark.parametrize("name", FORMS)
def test_frames_score_alike_whatever_the_order_of_their_columns(
    library, name, data, trained
):
    polars = pytest.importorskip("polars")
    model = form(trained(library), library, name)
    expected = trained(library).predict(data.frame)
    assert len(np.unique(expected)) > 20
    for frame in (data.frame, polars.from_pandas(data.frame)):
        for columns in (list("abcd"), list("dbca")):
            scores = score_items(model, frame[columns])
            assert scores.dtype == np.float64
            np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("name", FORMS)
def test_missing_and_unexpected_columns_are_named(library, name, data, trained):
    model = form(trained(library), library, name)
    renamed = data.frame.rename(columns={"a": "zz"})
    with pytest.raises(ValueError, match=r"missing: \['a'\]; unexpected: \['zz'\]\."):
        score_items(model, renamed)
    with pytest.raises(ValueError, match=r"got missing: \['d'\]\."):
        score_items(model, data.frame[list("abc")])
    with pytest.raises(ValueError, match=r"got unexpected: \['e'\]\."):
        score_items(model, data.frame.assign(e=1.0))
    twice = pd.concat([data.frame, data.frame[["a"]]], axis=1)
    with pytest.raises(ValueError, match=r"repeated: \['a'\]"):
        score_items(model, twice)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_arrays_score_by_position_and_are_counted(library, name, named, data, trained):
    model = form(trained(library, named), library, name)
    expected = trained(library).predict(data.frame)
    np.testing.assert_array_equal(score_items(model, data.X), expected)
    for width in (3, 5):
        X = np.resize(data.X, (200, width))
        with pytest.raises(ValueError, match=f"X must have 4 columns.*got {width}"):
            score_items(model, X)
        with pytest.raises(ValueError, match=f"X must have 4 columns.*got {width}"):
            score_items(model, sparse.csr_matrix(X))


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csc_matrix, sparse.coo_matrix]
)
@pytest.mark.parametrize("name", FORMS)
def test_a_model_of_an_array_scores_arrays_without_a_warning(
    library, name, container, data
):
    X = container(np.nan_to_num(data.X))
    ranker = train_natively(make_ranker(library), library, data.X, data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score_items(form(ranker, library, name), X).shape == (200,)


@pytest.mark.parametrize("name", ["ranker", "raw"])
def test_a_model_of_an_array_takes_any_names(library, name, data, trained):
    model = form(trained(library, named=False), library, name)
    expected = trained(library).predict(data.frame)
    np.testing.assert_array_equal(score_items(model, data.frame), expected)
    with pytest.raises(ValueError, match="X must have 4 columns"):
        score_items(model, data.frame[list("abc")])


def test_integer_column_names_are_names(library, data):
    frame = pd.DataFrame(data.X)
    model = train_natively(make_ranker(library), library, frame, data.y)
    expected = model.predict(frame)
    np.testing.assert_array_equal(score_items(model, frame[[2, 0, 3, 1]]), expected)


def test_names_that_a_library_rewrites(library, data):
    frame = data.frame.rename(columns={"a": "first column"})
    model = train_natively(make_ranker(library), library, frame, data.y)
    permuted = frame[frame.columns[::-1]]
    expected = model.predict(frame)
    np.testing.assert_array_equal(score_items(model, permuted), expected)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("name", ["ranker", "raw"])
def test_sparse_rows(library, name, container, data):
    dense = np.nan_to_num(data.X)
    model = train_natively(make_ranker(library), library, dense, data.y)
    X = container(np.round(dense))
    # Zeros that are not stored are missing to XGBoost; each library decides.
    np.testing.assert_array_equal(
        score_items(form(model, library, name), X), model.predict(X)
    )


@pytest.mark.parametrize("name", ["ranker", "raw"])
def test_categories_in_another_order_of_codes(library, name, mixed):
    options = {
        "xgboost": {"enable_categorical": True},
        "lightgbm": {"min_child_samples": 3, "min_data_per_group": 3},
        "catboost": {"cat_features": ["colour"]},
    }[library]
    model = make_ranker(library, **options)
    train_natively(model, library, mixed.frame, mixed.y)
    expected = model.predict(mixed.frame)
    recoded = mixed.frame["colour"].cat.set_categories(["red", "blue", "green"])
    assert (recoded.cat.codes != mixed.frame["colour"].cat.codes).any()
    X = mixed.frame.assign(colour=recoded)[["colour", "d", "c", "b", "a"]]
    np.testing.assert_array_equal(score_items(form(model, library, name), X), expected)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("name", ["ranker", "raw"])
def test_a_model_of_codes_refuses_categories(library, name, mixed):
    codes = mixed.frame.assign(colour=mixed.frame["colour"].cat.codes).to_numpy()
    if library == "xgboost":
        options = {"enable_categorical": True, "feature_types": ["q"] * 4 + ["c"]}
        model = train_natively(make_ranker(library, **options), library, codes, mixed.y)
    else:
        model = make_ranker(library)
        sizes = np.full(N_QUERIES, PER_QUERY)
        model.fit(codes, mixed.y, group=sizes, categorical_feature=[4])
    model = form(model, library, name)
    assert score_items(model, codes).shape == (200,)
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"codes.*columns \['colour'\]"):
        score_items(model, mixed.frame)
    with pytest.raises(ValueError, match="X must h"):
        score_items(model, polars.from_pandas(mixed.frame))


def test_lightgbm_reads_polars_categories_by_value(mixed):
    polars = pytest.importorskip("polars")
    model = make_ranker("lightgbm", min_child_samples=3, min_data_per_group=3)
    train_natively(model, "lightgbm", mixed.frame, mixed.y)
    np.testing.assert_array_equal(
        score_items(model, polars.from_pandas(mixed.frame)), model.predict(mixed.frame)
    )


def test_early_stopping_of_a_raw_xgboost_model(data, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    codes = np.repeat(np.arange(20), 10)
    ranker = xgboost.XGBRanker(n_estimators=60, n_jobs=1, early_stopping_rounds=3)
    noise = np.random.default_rng(3).integers(0, 4, 200)
    ranker.fit(
        data.frame,
        data.y,
        qid=codes,
        eval_set=[(data.frame, noise)],
        eval_qid=[codes],
        verbose=False,
    )
    booster = ranker.get_booster()
    assert ranker.best_iteration + 1 < booster.num_boosted_rounds()
    expected = ranker.predict(data.frame)
    every_tree = booster.predict(xgboost.DMatrix(data.frame))
    assert (every_tree != expected).any()
    ranker.save_model(tmp_path / "early.ubj")
    for model in (ranker, booster, freeze(booster), load_model(tmp_path / "early.ubj")):
        np.testing.assert_array_equal(score_items(model, data.frame), expected)


def test_a_linear_booster_has_no_trees_to_count(data):
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(np.nan_to_num(data.X), label=data.y)
    booster = xgboost.train(
        {"booster": "gblinear", "nthread": 1, "updater": "coord_descent"},
        matrix,
        num_boost_round=3,
    )
    expected = booster.predict(matrix)
    booster.set_attr(best_iteration="1")
    np.testing.assert_array_equal(score_items(booster, np.nan_to_num(data.X)), expected)


def test_early_stopping_of_the_others(data):
    lightgbm = pytest.importorskip("lightgbm")
    noise = np.random.default_rng(3).integers(0, 4, 200)
    sizes = np.full(20, 10)
    model = make_ranker("lightgbm", n_estimators=60)
    model.fit(
        data.X,
        data.y,
        group=sizes,
        eval_set=[(data.X, noise)],
        eval_group=[sizes],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    assert model.best_iteration_ < 60
    for one in (model, model.booster_):
        np.testing.assert_array_equal(score_items(one, data.X), model.predict(data.X))


def test_raw_boosters_give_scores_before_the_link(data):
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    target = (data.y > 1).astype(int)
    one = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(data.X, target)
    np.testing.assert_array_equal(
        score_items(one.get_booster(), data.X), one.predict(data.X, output_margin=True)
    )
    np.testing.assert_allclose(
        score_items(one, data.X), one.predict_proba(data.X)[:, 1], rtol=1e-6
    )
    two = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    two.fit(data.X, target)
    np.testing.assert_array_equal(
        score_items(two.booster_, data.X), two.predict(data.X, raw_score=True)
    )


def test_methods_are_tried_in_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5]) * 2  # classes 0, 2, 4
    binary = LogisticRegression().fit(X, y > 1)
    np.testing.assert_array_equal(score_items(binary, X), binary.decision_function(X))
    for model in (LogisticRegression().fit(X, y), RandomForestClassifier(5).fit(X, y)):
        proba = model.predict_proba(X)
        expected = 0 * proba[:, 0] + 2 * proba[:, 1] + 4 * proba[:, 2]
        np.testing.assert_allclose(score_items(model, X), expected)
    ridge = Ridge().fit(X, y)
    np.testing.assert_array_equal(score_items(ridge, X), ridge.predict(X))


def test_classes_that_are_no_numbers_raise():
    X = np.arange(9.0)[:, None]
    model = RandomForestClassifier(3).fit(X, list("abc") * 3)
    with pytest.raises(ValueError, match=r"numbers as classes, .*fit it on y == 'c'"):
        score_items(model, X)


def test_predict_only_objects():
    X = np.zeros((2, 1))
    column = np.array([[1.0], [2.0]], dtype=np.float32)
    assert score_items(PredictOnly(column), X).tolist() == [1.0, 2.0]
    assert score_items(freeze(PredictOnly(column)), X).tolist() == [1.0, 2.0]
    for values, message in (
        ([1.0, np.nan], "scores must be finite, got NaN"),
        ([1.0], "one value per item"),
        (np.ones((2, 3)), "one score for each row, got 3 from PredictOnly"),
        (["a", "b"], "scores must hold numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            score_items(PredictOnly(np.array(values)), X)


def test_columns_are_checked_at_the_end_of_a_pipeline(library, data):
    pipe = make_pipeline(FunctionTransformer(), make_ranker(library))
    scaler = FunctionTransformer().fit(data.frame)
    train_natively(pipe[-1], library, scaler.transform(data.frame), data.y)
    np.testing.assert_array_equal(
        score_items(pipe, data.frame[list("dcba")]), pipe[-1].predict(data.frame)
    )


def test_columns_are_checked_behind_a_search(data):
    lightgbm = pytest.importorskip("lightgbm")
    regressor = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1)
    search = GridSearchCV(regressor, {"num_leaves": [4]}, cv=2)
    search.fit(data.frame, data.y)
    np.testing.assert_array_equal(
        score_items(search, data.frame[list("dcba")]), search.predict(data.frame)
    )


def test_transformers_come_first(library, data):
    X = StandardScaler().fit_transform(data.X)
    model = train_natively(make_ranker(library), library, X, data.y)
    scaler = StandardScaler().fit(data.X)
    pipe = make_pipeline(scaler, make_pipeline("passthrough", model))
    np.testing.assert_array_equal(score_items(pipe, data.X), model.predict(X))


def test_a_subclass_is_of_its_library(data, trained):
    lightgbm = pytest.importorskip("lightgbm")

    class Mine(lightgbm.LGBMRanker):
        pass

    mine = Mine(n_estimators=5, n_jobs=1, verbose=-1)
    train_natively(mine, "lightgbm", data.frame, data.y)
    np.testing.assert_array_equal(
        score_items(mine, data.frame[list("dcba")]),
        trained("lightgbm").predict(data.frame),
    )
