"""A fitted model tells whether rows trained it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scorers.boosters import NAMELESS_WARNING, make_ranker, raw
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import RankerEnsemble, fit_ranker, trained_on

pytestmark = NAMELESS_WARNING
DAYS = make_ranking(40, n_items=13, random_state=0)
X, Y, QUERIES = DAYS.data, DAYS.target, group_queries(DAYS.qid, DAYS.target.size)
ORDER = np.random.default_rng(0).permutation(Y.size)


def trained(library, data=X, **options):
    return fit_ranker(make_ranker(library, **options), data, Y, QUERIES)


def told(model, data, y=Y, queries=QUERIES):
    return trained_on(model, data, y, queries)


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
@pytest.mark.parametrize("hold", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_boosters_know_their_rows_in_any_order(library, hold):
    model = trained(library, hold(X))
    for each in (model, raw(model, library)):
        assert told(each, hold(X[ORDER]))
        assert not told(each, hold(X[ORDER] + 0.5))
        assert not told(
            each, hold(X[:-13]), Y[:-13], group_queries(DAYS.qid[:-13], Y.size - 13)
        )


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(min_samples_leaf=5),
        ExtraTreesRegressor(3, random_state=0),
        GradientBoostingRegressor(n_estimators=3),
        make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3)),
        GridSearchCV(DecisionTreeRegressor(), {"max_depth": [3]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_of_scikit_learn_do(model):
    model.fit(X, Y)
    assert told(model, X[ORDER])
    assert not told(model, X[::-1] * 1.5)


def test_an_ensemble_asks_its_ranker():
    model = RankerEnsemble(make_ranker("lightgbm")).fit(X, Y, qid=DAYS.qid)
    assert told(model, X[ORDER])


SEEN = {
    "forest": RandomForestRegressor(3),
    "forest of a classifier": RandomForestClassifier(3),
    "histograms": HistGradientBoostingRegressor(max_iter=3),
    "histograms of a classifier": HistGradientBoostingClassifier(max_iter=3),
    "linear": Ridge(),
    "in a pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "in a search": GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2),
}


@pytest.mark.parametrize("name", SEEN)
def test_models_know_what_trained_them(name):
    y = (Y > 1).astype(int) if is_classifier(SEEN[name]) else Y
    model = clone(SEEN[name]).fit(X, y)
    assert told(model, X, y)
    assert not told(model, X[::-1], y)
    assert not told(model, X, y[ORDER]) or hasattr(model, "apply")


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"base_score": 0.5}])
def test_a_ranker_of_xgboost_knows_its_queries(options):
    XGBRanker = pytest.importorskip("xgboost").XGBRanker
    model = XGBRanker(n_estimators=3, **options).fit(X, Y, qid=DAYS.qid)
    assert told(model, X)
    assert not told(model, X, Y[::-1])
    stopped = XGBRanker(n_estimators=9, early_stopping_rounds=2)
    stopped.fit(X, Y, qid=DAYS.qid, eval_set=[(X, Y)], eval_qid=[DAYS.qid], verbose=0)
    assert told(stopped, X)


@pytest.mark.parametrize("hold", [np.asarray, pd.DataFrame, sparse.csr_matrix])
@pytest.mark.parametrize("tree_method", [None, "exact"])
def test_cuts_of_xgboost(hold, tree_method, monkeypatch):
    XGBRanker = pytest.importorskip("xgboost").XGBRanker
    options = {"n_estimators": 3, "tree_method": tree_method}
    model = XGBRanker(**options).fit(hold(X), Y, qid=DAYS.qid)
    assert told(model, hold(X))
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    assert told(XGBRanker(**options).fit(hold(gaps), Y, qid=DAYS.qid), hold(gaps))
    copies = []
    monkeypatch.setattr(XGBRanker, "fit", lambda self, *_, **__: copies.append(self))
    assert not told(model, hold(X + 0.001))
    # Midpoints, and columns of sparse matrices, are not looked for.
    assert bool(copies) == (tree_method == "exact" or hold is sparse.csr_matrix)


def test_boosters_of_grades_and_classes_do():
    xgboost, lightgbm = map(pytest.importorskip, ("xgboost", "lightgbm"))
    for kind, few in (
        (xgboost.XGBRegressor, {"reg_lambda": 0.5}),
        (xgboost.XGBClassifier, {}),
        (lightgbm.LGBMClassifier, {"subsample": 0.5, "subsample_freq": 1}),
    ):
        y = Y > 1 if "Classifier" in kind.__name__ else Y
        model = kind(n_estimators=3, verbosity=0, **few).fit(X, y.astype(int))
        assert told(model, X, y.astype(int))
        assert not told(model, X[::-1] * 1.5, y.astype(int))
    constant = xgboost.XGBRegressor(n_estimators=3, min_child_weight=1e9).fit(X, Y)
    assert not told(constant, X)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=3, subsample=0.5),
        DecisionTreeRegressor(max_depth=1),  # two leaves may be as full by chance
        SVR(),
        SGDRegressor(),  # another run ends elsewhere
    ],
)
def test_the_others_say_nothing(model):
    assert not told(model.fit(X, Y), X)


def test_a_copy_that_is_refused_the_labels_says_nothing(capfd):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRanker(n_estimators=2, verbose=-1)
    model.fit(X[:260], Y[:260], group=np.full(20, 13)).set_params(verbose=1)
    for wrong in (Y + 0.5, np.arange(Y.size)):  # no grades; too many
        assert not told(model, X, wrong)
    assert not told(model, X, Y)
    bagged = lightgbm.LGBMRanker(n_estimators=2, subsample=0.5, subsample_freq=1)
    bagged.set_params(verbose=-1).fit(X, Y, group=QUERIES.sizes).set_params(verbose=1)
    assert told(bagged, X)
    assert capfd.readouterr() == ("", "")


def test_raw_xgboost_says_nothing():
    assert not told(raw(trained("xgboost"), "xgboost"), X)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "subsample_freq": 1}])
def test_new_rows_raise_no_alarm(options):
    model = trained("lightgbm", num_leaves=5, min_child_samples=5, **options)
    assert told(model, X)
    # Of as many items, and of half as many, from the same source.
    half = group_queries(DAYS.qid[:260], 260)
    for seed in range(200):
        new = make_ranking(40, n_items=13, random_state=1000 + seed).data
        assert not told(model, new)
        assert not told(model, new[:260], Y[:260], half)


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_trees_tell_most_of_their_rows(library):
    days = make_ranking(150, n_items=12, random_state=0)
    queries = group_queries(days.qid, days.target.size)
    some = days.qid < 135
    sizes = np.bincount(days.qid[some])
    of_some = group_queries(days.qid[some], sizes.sum())
    model = fit_ranker(
        make_ranker(library), days.data[some], days.target[some], of_some
    )
    assert told(model, days.data, days.target, queries)
    # Of as many other queries, one in a thousand would be told.
    alarms = []
    for seed in range(200):
        new = make_ranking(120, n_items=12, random_state=seed + 1)
        codes = group_queries(new.qid, new.target.size)
        alarms.append(told(model, new.data, new.target, codes))
    assert sum(alarms) <= 2


def test_few_rows_have_small_trees():
    # 12 queries of 8 items: three to five leaves of some 20 rows.
    few = make_ranking(12, n_items=8, random_state=0)
    model = make_ranker("lightgbm", num_leaves=31, min_child_samples=20)
    model.fit(few.data, few.target, group=np.full(12, 8))
    assert told(model, few.data[::-1], few.target, group_queries(few.qid, 96))
    queries = group_queries(few.qid, 96)
    new = (make_ranking(12, n_items=8, random_state=seed) for seed in range(1, 301))
    alarms = [told(model, each.data, each.target, queries) for each in new]
    assert sum(alarms) <= 6  # at most one in a hundred, and two standard errors
