import numpy as np
import pandas as pd
import pytest
from doubles import PredictOnly, Recorder
from scipy import sparse
from scorers.boosters import (
    N_QUERIES,
    NAMELESS_WARNING,
    PER_QUERY,
    ToyRanker,
    make_ranker,
    train_natively,
)
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, freeze, is_fitted, score_items

pytestmark = NAMELESS_WARNING


@pytest.fixture
def shuffled(data):
    """The data with queries interleaved, rows of a query in their old order.

    The queries first appear in their old order too: the rows that a library is
    given are then the same as before, and so must be the trees.
    """
    place = np.arange(len(data.y))
    position, query = place % PER_QUERY, place // PER_QUERY
    rows = np.lexsort([query, position])
    qid = np.array([f"q{(7 * number) % 23}" for number in query])[rows]
    return rows, group_queries(qid, len(rows))


@pytest.mark.parametrize("container", ["pandas", "polars", "array", "csr", "coo"])
def test_any_row_order_and_any_qid_trains_the_same_model(
    library, container, data, shuffled
):
    rows, queries = shuffled
    if container == "pandas":
        full, X = data.frame, data.frame.iloc[rows]
    elif container == "polars":
        polars = pytest.importorskip("polars")
        full, X = data.frame, polars.from_pandas(data.frame)[rows.tolist()]
    else:
        dense = np.nan_to_num(data.X)
        wrap = {
            "array": np.asarray,
            "csr": sparse.csr_matrix,
            "coo": sparse.coo_matrix,
        }[container]
        full, X = wrap(dense), wrap(dense[rows])
    if container in ("csr", "coo"):
        full = full.tocsr()
    native = train_natively(make_ranker(library), library, full, data.y)
    ranker = fit_ranker(make_ranker(library), X, data.y[rows], queries)
    np.testing.assert_array_equal(score_items(ranker, full), native.predict(full))


def test_the_order_of_interleaved_rows_is_a_real_shuffle(shuffled):
    _, queries = shuffled
    assert queries.n_queries == N_QUERIES
    assert (np.diff(queries.codes[:N_QUERIES]) == 1).all()
    assert not (np.diff(queries.codes) >= 0).all()


def test_categories_and_missing_values_survive_sorting(library, mixed, shuffled):
    rows, queries = shuffled
    frame = mixed.frame
    options = {
        "xgboost": {"enable_categorical": True},
        "lightgbm": {"min_child_samples": 3, "min_data_per_group": 3},
        "catboost": {"cat_features": ["colour"]},
    }[library]
    ranker = make_ranker(library, **options)
    native = train_natively(make_ranker(library, **options), library, frame, mixed.y)
    fitted = fit_ranker(ranker, frame.iloc[rows], mixed.y[rows], queries)
    np.testing.assert_array_equal(score_items(fitted, frame), native.predict(frame))
    # The category matters, so the equality above says something about it.
    other = frame.assign(colour=frame["colour"].cat.categories[0])
    other["colour"] = other["colour"].astype(frame["colour"].dtype)
    assert (score_items(fitted, other) != score_items(fitted, frame)).any()


def test_one_query_with_negative_and_one_item_queries(library, data):
    qid = np.repeat([-5, 10**12, -7], [99, 1, 100])
    ranker = fit_ranker(make_ranker(library), data.X, data.y, group_queries(qid, 200))
    assert score_items(ranker, data.X).shape == (200,)


def test_the_estimator_is_never_changed(library, data, trained):
    model = trained(library)
    before = model.predict(data.frame)
    fitted = fit_ranker(model, data.frame[::-1], data.y, group_queries(None, 200))
    assert fitted is not model
    np.testing.assert_array_equal(model.predict(data.frame), before)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_boosters_end_pipelines(library, data, shuffled, nested, routing):
    rows, queries = shuffled
    last = make_ranker(library)
    if nested:
        last = make_pipeline(StandardScaler(), last)
    pipe = make_pipeline(StandardScaler(), last)
    scaled = StandardScaler().fit(data.X[rows]).transform(data.X)
    if nested:
        scaled = StandardScaler().fit(scaled[rows]).transform(scaled)
    native = train_natively(make_ranker(library), library, scaled, data.y)
    with config_context(enable_metadata_routing=routing):
        fitted = fit_ranker(pipe, data.X[rows], data.y[rows], queries)
    assert is_fitted(fitted)
    assert not is_fitted(pipe)
    # The scaler's sums run over other row orders, hence not exactly equal.
    np.testing.assert_allclose(
        score_items(fitted, data.X), native.predict(scaled), rtol=1e-6, atol=1e-9
    )


def test_other_estimators_get_rows_and_relevance_as_they_are(data):
    queries = group_queries(list("ba") * 100, 200)
    y = np.linspace(-1, 1, 200)
    for estimator in (Recorder(), make_pipeline(Recorder())):
        fitted = fit_ranker(estimator, data.frame, y, queries)
        seen = fitted[-1].seen_ if hasattr(fitted, "steps") else fitted.seen_
        assert seen[0] is data.frame
        np.testing.assert_array_equal(seen[1], y)
        np.testing.assert_array_equal(seen[2], queries.codes)


class TakesSizes(PredictOnly, BaseEstimator):
    """A ranker of one's own with LightGBM's way to pass queries."""

    def fit(self, X, y, group=None):
        self.seen_ = X, y, group
        return self


@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline])
def test_an_estimator_that_takes_group_gets_sizes_of_sorted_queries(wrap):
    X, y = np.arange(6.0)[:, None], np.linspace(0, 1, 6)
    queries = group_queries(["b", "a", "b", "c", "a", "b"], 6)
    fitted = fit_ranker(wrap(TakesSizes()), X, y, queries)
    seen = fitted[-1].seen_ if hasattr(fitted, "steps") else fitted.seen_
    order = [0, 2, 5, 1, 4, 3]
    np.testing.assert_array_equal(seen[0][:, 0], order)
    np.testing.assert_array_equal(seen[1], y[order])
    assert seen[2].tolist() == [3, 2, 1]
    search = TransformedTargetRegressor(regressor=TakesSizes())
    with pytest.raises(ValueError, match="must hand the queries on to TakesSizes"):
        fit_ranker(search, X, y, queries)


def test_other_estimators_train_as_without_queries():
    X = np.arange(12.0)[:, None]
    y = np.arange(12) % 3
    queries = group_queries(None, 12)
    for estimator in (Ridge(), LogisticRegression()):
        fitted = fit_ranker(estimator, X, y, queries)
        expected = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(score_items(fitted, X), score_items(expected, X))


def test_gaps_and_fractions_in_relevance_aregrades(library, data):
    queries = group_queries(np.repeat(np.arange(N_QUERIES), PER_QUERY), 200)
    native = train_natively(make_ranker(library), library, data.X, data.y)
    spread = np.array([-2.5, 0.1, 7.0, 1e6])[data.y]
    fitted = fit_ranker(make_ranker(library), data.X, spread, queries)
    np.testing.assert_array_equal(score_items(fitted, data.X), native.predict(data.X))


def test_many_grades_need_bins(library, data):
    queries = group_queries(None, 200)
    y = np.arange(200) / 7
    with pytest.raises(ValueError, match=r"31 distinct.*got 200; set relevance_bins="):
        fit_ranker(make_ranker(library), data.X, y, queries)
    with pytest.raises(ValueError, match="got 32;"):
        fit_ranker(make_ranker(library), data.X, np.arange(200) % 32, queries)
    fitted = fit_ranker(make_ranker(library), data.X, y, queries, relevance_bins=5)
    by_hand = fit_ranker(make_ranker(library), data.X, np.arange(200) // 40, queries)
    np.testing.assert_array_equal(
        score_items(fitted, data.X), score_items(by_hand, data.X)
    )


def grades(y, bins):
    """Return the grades that a ranker of one query is trained on."""
    X, queries = np.zeros((len(y), 1)), group_queries(None, len(y))
    return fit_ranker(ToyRanker(), X, y, queries, relevance_bins=bins).y_


def test_quantile_bins(toyboost):
    # Six values below 3 of eight: floor(4 * 6 / 8) = 3, and so on.
    y = np.array([3.0, 1, 1, 1, 2, 2, 2, 3])
    np.testing.assert_array_equal(grades(y, 4), [2, 0, 0, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(grades(y, 2), [1, 0, 0, 0, 0, 0, 0, 1])
    skewed = np.r_[np.zeros(90), np.arange(1.0, 11)]
    assert grades(skewed, 5).max() == 1  # bins that hold nothing are left out
    assert (grades(np.ones(4), 3) == 0).all()
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    order = rng.permutation(500)
    np.testing.assert_array_equal(grades(y, 31)[order], grades(y[order], 31))
    assert np.bincount(grades(y, 31)).min() >= 16


@pytest.mark.parametrize(("bins", "error"), [(1, ValueError), (2.5, TypeError)])
def test_bins_are_validated_for_every_estimator(bins, error):
    with pytest.raises(error, match=f"relevance_bins must .*got {bins}"):
        fit_ranker(Ridge(), [[0]], [0], group_queries(None, 1), relevance_bins=bins)


def test_lengths_must_agree(data):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit_ranker(Ridge(), data.X[:9], data.y[:8], group_queries(None, 8))
    with pytest.raises(ValueError, match="y has 7 values"):
        fit_ranker(Ridge(), data.X[:8], data.y[:7], group_queries(None, 8))


def test_what_has_no_fit_cannot_be_trained(library, trained):
    booster = freeze(trained("lightgbm").booster_)
    queries = group_queries(None, 2)
    for estimator in (PredictOnly(), booster, Ridge, None):
        with pytest.raises((AttributeError, TypeError), match=r"'fit'|clone|must"):
            fit_ranker(estimator, [[0], [1]], [0, 1], queries)
    with pytest.raises(TypeError, match="estimator must have one of"):
        fit_ranker(StandardScaler(), [[0], [1]], [0, 1], queries)


def test_a_frozen_estimator_is_returned_as_it_is(library, data, trained):
    frozen = FrozenEstimator(trained(library))
    y = np.arange(200)
    assert fit_ranker(frozen, data.frame, y, group_queries(None, 200)) is frozen


def test_catboost_is_quiet_unless_told_otherwise(data, capfd):
    queries = group_queries(None, 200)
    fit_ranker(make_ranker("catboost"), data.X, data.y, queries)
    assert capfd.readouterr().out == ""
    fit_ranker(make_ranker("catboost", verbose=1), data.X, data.y, queries)
    assert "total:" in capfd.readouterr().out


def test_catboost_with_lists_for_options_is_cloned_inside_a_pipeline(mixed):
    ranker = make_ranker("catboost", cat_features=["colour"])
    queries = group_queries(np.repeat(np.arange(20), 10), 200)
    alone = fit_ranker(ranker, mixed.frame, mixed.y, queries)
    pipe = make_pipeline("passthrough", ranker)
    fitted = fit_ranker(pipe, mixed.frame, mixed.y, queries)
    np.testing.assert_array_equal(
        score_items(fitted, mixed.frame), score_items(alone, mixed.frame)
    )
    assert pipe[-1] is ranker
    assert not is_fitted(ranker)


def test_a_raw_catboost_model_is_trained_too(data, trained):
    catboost = pytest.importorskip("catboost")
    params = make_ranker("catboost").get_params() | {"verbose": 0}
    queries = group_queries(np.repeat(np.arange(20), 10), 200)
    fitted = fit_ranker(catboost.CatBoost(params), data.frame, data.y, queries)
    assert type(fitted) is catboost.CatBoost
    np.testing.assert_array_equal(
        score_items(fitted, data.frame), trained("catboost").predict(data.frame)
    )


def test_lightgbm_and_polars_texts_raise_instead_of_ending_the_process(data):
    polars = pytest.importorskip("polars")
    texts = polars.from_pandas(data.frame.assign(d="x"))
    queries = group_queries(None, 200)
    with pytest.raises(ValueError, match="Fields with bad pandas dtypes: d"):
        fit_ranker(make_ranker("lightgbm"), texts, data.y, queries)
    fitted = fit_ranker(make_ranker("lightgbm"), data.frame, data.y, queries)
    with pytest.raises(ValueError, match="Fields with bad pandas dtypes: d"):
        score_items(fitted, texts)


def test_catboost_and_polars_texts_raise_instead_of_ending_the_process(data):
    polars = pytest.importorskip("polars")
    catboost = pytest.importorskip("catboost")
    queries = group_queries(np.repeat(np.arange(20), 10), 200)
    frame = data.frame.assign(d=np.tile(["x", "y"], 100))
    ranker = make_ranker("catboost")
    with pytest.raises(catboost.CatBoostError, match="convert 'x' to float"):
        fit_ranker(ranker, polars.from_pandas(frame), data.y, queries)
    fitted = fit_ranker(ranker, data.frame, data.y, queries)
    with pytest.raises(catboost.CatBoostError, match="convert 'x' to float"):
        score_items(fitted, polars.from_pandas(frame))
    # As a category a text is read.
    ranker = make_ranker("catboost", cat_features=["d"])
    fitted = fit_ranker(ranker, polars.from_pandas(frame), data.y, queries)
    np.testing.assert_array_equal(
        score_items(fitted, polars.from_pandas(frame)), fitted.predict(frame)
    )


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_polars_frames_become_pandas_frames(monkeypatch, library, data, trained):
    polars = pytest.importorskip("polars")
    native = trained(library)
    kinds = []
    for name in ("fit", "predict"):
        method = getattr(type(native), name)

        def spy(self, X, *args, method=method, **kwargs):
            kinds.append(type(X).__module__.split(".")[0])
            return method(self, X, *args, **kwargs)

        monkeypatch.setattr(type(native), name, spy)
    frame = polars.from_pandas(data.frame)
    queries = group_queries(np.repeat(np.arange(N_QUERIES), PER_QUERY), 200)
    fitted = fit_ranker(make_ranker(library), frame, data.y, queries)
    scores = score_items(fitted, frame[list("dbca")])
    assert kinds == ["pandas", "pandas"]
    np.testing.assert_array_equal(scores, native.predict(data.frame))


def test_a_pandas_index_plays_no_part(library, data):
    frame = data.frame.set_index(pd.Index(np.arange(200)[::-1]))
    queries = group_queries(list("ba") * 100, 200)
    one = fit_ranker(make_ranker(library), frame, data.y, queries)
    two = fit_ranker(make_ranker(library), data.frame, data.y, queries)
    np.testing.assert_array_equal(
        score_items(one, data.frame), score_items(two, data.frame)
    )


class Recording(Recorder):
    """A ranker for a search, which must hand the queries on to it."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012

    def __init__(self, alpha=0):
        self.alpha = alpha

    def score(self, X, y):
        return 0.0


def test_a_search_hands_the_queries_on_or_is_refused():
    X = np.arange(12.0)[:, None]
    queries = group_queries(np.repeat(["b", "a", "c"], 4), 12)
    with config_context(enable_metadata_routing=True):
        folds = GroupKFold(3).set_split_request(groups="qid")
    search = GridSearchCV(Recording(), {"alpha": [0, 1]}, cv=folds)
    advice = "must hand the queries on to Recording, and GridSearchCV does not"
    with pytest.raises(ValueError, match=advice):
        fit_ranker(search, X, X[:, 0], queries)
    with config_context(enable_metadata_routing=True):
        fitted = fit_ranker(search, X, X[:, 0], queries)
        np.testing.assert_array_equal(fitted.best_estimator_.seen_[2], queries.codes)
        with pytest.raises(ValueError, match="do not put the search into a Pipeline"):
            fit_ranker(make_pipeline(StandardScaler(), search), X, X[:, 0], queries)
    target = TransformedTargetRegressor(regressor=Recording())
    with pytest.raises(ValueError, match="TransformedTargetRegressor does not"):
        fit_ranker(target, X, X[:, 0], queries)
    # What takes no queries needs none.
    plain = GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=3)
    assert fit_ranker(plain, X, X[:, 0], queries).best_params_


def test_a_search_over_a_booster_is_refused(library):
    queries = group_queries(np.repeat([0, 1], 6), 12)
    search = GridSearchCV(make_ranker(library), {}, cv=2)
    with pytest.raises(ValueError, match="Put the search around"):
        fit_ranker(search, np.arange(12.0)[:, None], np.arange(12) % 3, queries)
