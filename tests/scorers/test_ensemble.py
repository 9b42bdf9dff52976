import pickle

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from scipy import sparse
from scorers.boosters import N_QUERIES, NAMELESS_WARNING, PER_QUERY, make_ranker
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import neg_aurc_scorer, selective_utility
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import RankerEnsemble, fit_ranker, score_items
from skrank_abstain.scorers._context import query_context, with_context

pytestmark = NAMELESS_WARNING
QID = np.repeat(np.arange(N_QUERIES), PER_QUERY)
QUERIES = group_queries(QID, len(QID))


def small(**options):
    """Return a quick classifier that takes missing values and categories."""
    return HistGradientBoostingClassifier(max_iter=3, random_state=0, **options)


def members_of(ensemble, X):
    """Return the score of each member, before these are standardised."""
    return ensemble._scores(X, QUERIES)


def filled(data):
    return np.nan_to_num(data.X)


def test_the_score_is_the_sum_of_standardised_members(data):
    X = filled(data)
    found = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, data.y, qid=QID)
    wide = np.hstack([X, query_context(X, QUERIES)])
    members = [Ridge().fit(X, data.y).predict(X)]
    for seen in (wide, X):
        proba = GaussianNB().fit(seen, data.y).predict_proba(seen)
        members.append(proba @ np.arange(proba.shape[1]))
    z = [(each - each.mean()) / each.std() for each in members]
    np.testing.assert_allclose(found.predict(X, qid=QID), z[0] + z[1], atol=1e-10)
    np.testing.assert_allclose(found.means_, np.mean(members[:2], axis=1))
    np.testing.assert_allclose(found.scales_, np.std(members[:2], axis=1))
    # Standardised by the training rows, not by those that are scored.
    some = QID < 2
    np.testing.assert_allclose(
        found.predict(X[some], qid=QID[some]), (z[0] + z[1])[some], atol=1e-10
    )
    without = RankerEnsemble(Ridge(), grades=GaussianNB(), context=False)
    without.fit(X, data.y, qid=QID)
    np.testing.assert_allclose(without.predict(X), z[0] + z[2], atol=1e-10)


@pytest.mark.parametrize("container", ["pandas", "polars", "array"])
def test_rankers_of_every_library_and_container(library, container, data):
    X = data.X
    if container != "array":
        pytest.importorskip(container)
        X = data.frame
    if container == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    ranker = make_ranker(library)
    ensemble = RankerEnsemble(ranker, grades=small()).fit(X, data.y, qid=QID)
    alone = score_items(fit_ranker(ranker, X, data.y, QUERIES), X)
    members = members_of(ensemble, X)
    np.testing.assert_array_equal(members[:, 0], alone)
    scores = ensemble.predict(X, qid=QID)
    assert scores.dtype == np.float64
    # Any order of the rows, and any subset of the queries, scores alike.
    rows = np.random.default_rng(0).permutation(len(QID))[:150]
    whole = np.flatnonzero(np.isin(QID, [3, 5, 8]))
    assert np.ptp(scores) > 1
    for part in (whole, whole[::-1]):
        taken = X[part.tolist()] if container != "pandas" else X.iloc[part]
        np.testing.assert_array_equal(
            ensemble.predict(taken, qid=QID[part]), scores[part]
        )
    assert rows.size  # the rows of a query belong together


def test_classifiers_of_every_library(library, data):
    module = pytest.importorskip(library)
    kind = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}[library]
    quiet = {
        "xgboost": {"n_jobs": 1},
        "lightgbm": {"n_jobs": 1, "verbose": -1},
        "catboost": {"thread_count": 1, "verbose": 0, "allow_writing_files": False},
    }[library]
    grades = getattr(module, f"{kind}Classifier")(n_estimators=3, **quiet)
    ensemble = RankerEnsemble(make_ranker(library), grades=grades)
    ensemble.fit(data.frame, data.y, qid=QID)
    wide = with_context(data.frame, QUERIES)
    proba = ensemble.grades_.predict_proba(wide)
    np.testing.assert_allclose(
        members_of(ensemble, data.frame)[:, 1],
        proba @ np.arange(proba.shape[1]),
        rtol=1e-6,
    )
    np.testing.assert_array_equal(
        ensemble.predict(data.frame[list("dcba")], qid=QID),
        ensemble.predict(data.frame, qid=QID),
    )


def test_categories_reach_the_members_and_context_takes_numbers(mixed):
    ensemble = RankerEnsemble(small(), grades=small())
    ensemble.fit(mixed.frame, mixed.y, qid=QID)
    assert ensemble.grades_.is_categorical_.sum() == 1
    assert ensemble.grades_.n_features_in_ == 5 + 4 + 4 + 1
    assert ensemble.predict(mixed.frame, qid=QID).shape == mixed.y.shape


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_the_default_classifier_numbers_categories(container, mixed):
    X, y = mixed.frame.assign(empty=np.nan), mixed.y
    X = X[["a", "b", "c", "d", "empty", "colour"]]
    if container == "pandas":
        X.loc[:4, "colour"] = None
    # As the sorted categories are numbered.
    codes = X["colour"].cat.codes.where(X["colour"].notna()).to_numpy(float)
    numbers = X.assign(colour=codes)
    new = X.assign(colour="violet")
    if container == "polars":
        polars = pytest.importorskip("polars")
        X, numbers, new = map(polars.from_pandas, (X, numbers, new))
    first = FrozenEstimator(FirstColumn().fit(np.zeros((1, 1)), [0]))
    plain = RankerEnsemble(first, context=False)
    expected = clone(plain).fit(numbers, y).predict(numbers)
    plain.fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), expected)
    within = RankerEnsemble(first).fit(X, y, qid=QID)
    for ensemble, qid in ((plain, None), (within, QID)):
        assert (
            np.ptp(ensemble.predict(X, qid=qid) - ensemble.predict(new, qid=qid)) > 0.1
        )
        read = pickle.loads(pickle.dumps(ensemble))
        np.testing.assert_array_equal(
            read.predict(X, qid=qid), ensemble.predict(X, qid=qid)
        )


def test_a_catboost_ranker_with_categories_is_cloned(mixed):
    catboost = pytest.importorskip("catboost")
    ranker = catboost.CatBoostRanker(
        iterations=3, verbose=0, allow_writing_files=False, cat_features=["colour"]
    )
    ensemble = clone(BALToR(RankerEnsemble(ranker), random_state=0))
    scores = ensemble.fit(mixed.frame, mixed.y, qid=QID).predict(mixed.frame, qid=QID)
    assert np.isfinite(scores).all()
    assert ensemble.estimator.ranker is not ranker
    assert ensemble.estimator.ranker.get_params() == ranker.get_params()


def test_a_column_without_values_in_a_request_stays_in_its_place(mixed):
    first = FrozenEstimator(FirstColumn().fit(np.zeros((1, 1)), [0]))
    ensemble = RankerEnsemble(first).fit(mixed.frame, mixed.y, qid=QID)
    expected = ensemble.predict(mixed.frame.assign(b=np.nan), qid=QID)
    without = mixed.frame.assign(b=pd.Series([None] * len(QID), dtype=object))
    np.testing.assert_array_equal(ensemble.predict(without, qid=QID), expected)
    with pytest.raises(ValueError, match="could not convert string to float: 'many'"):
        ensemble.predict(mixed.frame.assign(b="many"), qid=QID)


def test_fitted_rankers_are_used_as_they_are(library, data, trained):
    model = trained(library)
    ensemble = RankerEnsemble(model, grades=small())
    copies = ensemble, clone(ensemble), pickle.loads(pickle.dumps(clone(ensemble)))
    scores = [
        c.fit(data.frame, data.y, qid=QID).predict(data.frame, qid=QID) for c in copies
    ]
    assert copies[0].ranker_ is model
    np.testing.assert_array_equal(scores[1], scores[0])
    np.testing.assert_array_equal(scores[2], scores[0])
    np.testing.assert_array_equal(
        members_of(copies[1], data.frame)[:, 0], score_items(model, data.frame)
    )
    with pytest.raises(ValueError, match="parameters of the inner estimator"):
        copies[1].set_params(ranker__max_depth=2)


def test_a_frozen_classifier_serves_without_context(data):
    X = filled(data)
    served = LogisticRegression(max_iter=500).fit(X, data.y)
    for grades in (served, FrozenEstimator(served)):
        found = RankerEnsemble(Ridge(), grades=grades, context=False)
        assert found.fit(X, data.y, qid=QID).grades_ is grades
        with pytest.raises(ValueError, match="features, but LogisticRegression is exp"):
            RankerEnsemble(Ridge(), grades=grades).fit(X, data.y, qid=QID)


@pytest.mark.parametrize("context", [True, False])
def test_pickles_and_fits_again(context, data):
    X = filled(data)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB(), context=context)
    scores = ensemble.fit(X, data.y, qid=QID).predict(X, qid=QID)
    read = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(read.predict(X, qid=QID), scores)
    again = clone(ensemble).fit(X, data.y, qid=QID)
    np.testing.assert_array_equal(again.predict(X, qid=QID), scores)
    with pytest.raises(NotFittedError):
        clone(ensemble).predict(X, qid=QID)


def test_skops_stores_an_ensemble_without_pickle(data):
    skops = pytest.importorskip("skops.io")
    X = filled(data)
    ensemble = RankerEnsemble(Ridge()).fit(X, data.y, qid=QID)
    stored = skops.dumps(ensemble)
    trusted = skops.get_untrusted_types(data=stored)
    assert trusted == ["skrank_abstain.scorers._ensemble.RankerEnsemble"]
    read = skops.loads(stored, trusted=trusted)
    np.testing.assert_array_equal(
        read.predict(X, qid=QID), ensemble.predict(X, qid=QID)
    )


def test_inside_a_selective_ranker_a_pipeline_and_a_search():
    data = make_ranking(n_queries=40, random_state=0)
    X, y, qid = data.data, data.target, data.qid
    ranker = BALToR(
        make_pipeline(StandardScaler(), RankerEnsemble(Ridge(), grades=GaussianNB())),
        qid_col=None,
        random_state=0,
    )
    fitted = ranker.fit(X, y, qid=qid)
    scaled = fitted.estimator_[:-1].transform(X)
    np.testing.assert_array_equal(
        fitted.predict(X, qid=qid), fitted.estimator_[-1].predict(scaled, qid=qid)
    )
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    search = GridSearchCV(
        BALToR(
            RankerEnsemble(Ridge(), grades=LogisticRegression(max_iter=500)),
            qid_col="day",
            random_state=0,
        ),
        {"estimator__ranker__alpha": [1, 1e6], "estimator__grades__C": [0.1, 1.0]},
        scoring=neg_aurc_scorer,
        error_score="raise",
        cv=2,
    )
    search.fit(frame.assign(day=qid), y)
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    utility = selective_utility(0.2)
    assert np.isfinite(utility(search.best_estimator_, frame.assign(day=qid), y))


def test_a_fitted_ensemble_is_calibrated_as_it_is():
    data, new = (make_ranking(n_queries=40, random_state=k) for k in (0, 1))
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB())
    ensemble.fit(data.data, data.target, qid=data.qid)
    ranker = BALToR(ensemble, random_state=0).fit(new.data, new.target, qid=new.qid)
    assert ranker.prefit_
    assert clone(ranker).estimator.estimator is ensemble
    np.testing.assert_array_equal(
        ranker.predict(new.data, qid=new.qid), ensemble.predict(new.data, qid=new.qid)
    )


def test_relevance_bins_of_a_selective_ranker_serve_the_grades():
    data = make_ranking(n_queries=40, random_state=0)
    smooth = data.target + np.random.default_rng(0).random(len(data.target))
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB())
    with pytest.raises(
        ValueError, match=r"at most 31 distinct values.*relevance_bins="
    ):
        BALToR(ensemble, random_state=0).fit(data.data, smooth, qid=data.qid)
    ranker = BALToR(ensemble, relevance_bins=4, random_state=0)
    ranker.fit(data.data, smooth, qid=data.qid)
    assert len(ranker.estimator_.grades_.classes_) == 4


def test_a_query_of_one_item_has_a_score(data):
    X = filled(data)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, data.y, qid=QID)
    one = ensemble.predict(X[:1], qid=["new"])
    assert np.isfinite(one).all()


def test_a_member_of_one_score_adds_nothing(data):
    X = filled(data)
    constant = np.full((len(X), 1), 0.1)
    ensemble = RankerEnsemble(
        FrozenEstimator(FirstColumn().fit(X, data.y)), grades=GaussianNB()
    )
    wide = np.hstack([constant, X])
    ensemble.fit(wide, data.y, qid=QID)
    assert ensemble.scales_[0] == 1.0
    assert np.abs(ensemble.predict(wide, qid=QID)).max() < 100


def test_what_fit_set_stays_in_force(data):
    X = filled(data)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, data.y, qid=QID)
    scores = ensemble.predict(X, qid=QID)
    ensemble.set_params(context=False, ranker=FirstColumn())
    np.testing.assert_array_equal(ensemble.predict(X, qid=QID), scores)
    with pytest.raises(ValueError, match="qid must be given"):
        ensemble.predict(X)


def test_tags_follow_the_members_and_never_raise():
    def of(*args, **kwargs):
        return get_tags(RankerEnsemble(*args, **kwargs)).input_tags

    assert not of(Ridge()).allow_nan
    assert of(HistGradientBoostingClassifier()).allow_nan
    assert not of(Ridge()).sparse
    assert of(Ridge(), context=False).sparse
    assert not of(Ridge(), grades=LinearSVC()).allow_nan


def test_without_queries(data):
    X = filled(data)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB())
    with pytest.raises(ValueError, match=r"qid must be given, got None.*qid=0 says"):
        ensemble.fit(X, data.y)
    assert not hasattr(ensemble, "n_features_in_")
    ensemble.fit(X, data.y, qid=QID)
    with pytest.raises(ValueError, match=r"qid must be given, got None.*qid=0 says"):
        ensemble.predict(X)
    half = clone(ensemble).fit(X[::2], data.y[::2], qid=QID[::2])
    with pytest.raises(ValueError, match="qid must be given"):
        BALToR(half).fit(X, data.y, qid=QID).predict(X)
    free = RankerEnsemble(Ridge(), grades=GaussianNB(), context=False)
    ranker = BALToR(free, random_state=0).fit(X, data.y, qid=QID)
    assert ranker.predict(X[:2]).shape == (2,)
    nested = RankerEnsemble(ensemble, grades=GaussianNB(), context=False)
    with pytest.raises(ValueError, match="qid must be given"):
        nested.fit(X, data.y)
    assert nested.fit(X, data.y, qid=QID).predict(X, qid=QID).shape == data.y.shape


class Failing(ClassifierMixin, BaseEstimator):
    def __init__(self, when="fit"):
        self.when = when

    def fit(self, X, y):
        if self.when == "fit":
            raise RuntimeError("no luck")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        raise RuntimeError("no luck")


@pytest.mark.parametrize("when", ["fit", "predict"])
def test_nothing_is_half_fitted_by_a_member_that_fails(when, data):
    X = filled(data)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, data.y, qid=QID)
    ensemble.set_params(grades=Failing(when))
    with pytest.raises(RuntimeError, match="no luck"):
        ensemble.fit(X, data.y, qid=QID)
    assert not [name for name in vars(ensemble) if name.endswith("_")]
    ensemble = RankerEnsemble(FirstColumn, grades=GaussianNB())
    with pytest.raises(TypeError, match="got the class FirstColumn"):
        ensemble.fit(X, data.y, qid=QID)


def test_bad_input_is_named(data):
    X = filled(data)
    with pytest.raises(TypeError, match=r"grades must be a classifier with predict_pr"):
        RankerEnsemble(Ridge(), grades=LinearSVC()).fit(X, data.y, qid=QID)
    with pytest.raises(ValueError, match="31 distinct values"):
        RankerEnsemble(Ridge()).fit(X, np.arange(len(X)), qid=QID)
    with pytest.raises(TypeError, match="X must be dense where context=True"):
        RankerEnsemble(Ridge()).fit(sparse.csr_array(X), data.y, qid=QID)
    ensemble = RankerEnsemble(Ridge(), grades=GaussianNB()).fit(X, data.y, qid=QID)
    with pytest.raises(ValueError, match="X has 3 features"):
        ensemble.predict(X[:, :3], qid=QID)


def test_sparse_rows_score_as_dense_ones_without_context(data):
    X = filled(data)
    grades = LogisticRegression(max_iter=500)
    scores = [
        RankerEnsemble(Ridge(solver="lsqr"), grades=grades, context=False)
        .fit(form, data.y, qid=QID)
        .predict(form)
        for form in (X, sparse.csr_array(X))
    ]
    np.testing.assert_allclose(*scores, atol=1e-3)


@pytest.mark.usefixtures("routing")
def test_requests_follow_the_context():
    def requested(ensemble, method="predict"):
        return getattr(ensemble.get_metadata_routing(), method).requests.get("qid")

    assert requested(RankerEnsemble(Ridge()), "fit") is True
    assert requested(RankerEnsemble(Ridge())) is True
    assert requested(RankerEnsemble(Ridge(), context=False)) is False
    assert requested(clone(RankerEnsemble(RankerEnsemble(Ridge()), context=False)))
