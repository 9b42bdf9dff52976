"""The first tree of a fitted model tells whether rows trained it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scorers.boosters import NAMELESS_WARNING, make_ranker, raw
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
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


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
@pytest.mark.parametrize("hold", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_boosters_know_their_rows_in_any_order(library, hold):
    model = trained(library, hold(X))
    for each in (model, raw(model, library)):
        assert trained_on(each, hold(X[ORDER]))
        assert not trained_on(each, hold(X[ORDER] + 0.5))
        assert not trained_on(each, hold(X[:-13]))


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
    assert trained_on(model, X[ORDER])
    assert not trained_on(model, X[::-1] * 1.5)


def test_an_ensemble_asks_its_ranker():
    model = RankerEnsemble(make_ranker("lightgbm")).fit(X, Y, qid=DAYS.qid)
    assert trained_on(model, X[ORDER])


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        RandomForestRegressor(3, random_state=0),  # draws its rows
        DecisionTreeRegressor(max_depth=1),  # two leaves may be as full by chance
    ],
)
def test_the_others_say_nothing(model):
    assert not trained_on(model.fit(X, Y), X)


def test_xgboost_says_nothing():
    assert not trained_on(trained("xgboost"), X)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "subsample_freq": 1}])
def test_new_rows_raise_no_alarm(options):
    model = trained("lightgbm", num_leaves=5, min_child_samples=5, **options)
    assert trained_on(model, X) is not bool(options)
    # Of as many items, and of half as many, from the same source.
    for seed in range(200):
        new = make_ranking(40, n_items=13, random_state=1000 + seed).data
        assert not trained_on(model, new)
        assert not trained_on(model, new[:260])


def test_few_rows_have_small_trees():
    # 12 queries of 8 items: three to five leaves of some 20 rows.
    few = make_ranking(12, n_items=8, random_state=0)
    model = make_ranker("lightgbm", num_leaves=31, min_child_samples=20)
    model.fit(few.data, few.target, group=np.full(12, 8))
    assert trained_on(model, few.data[::-1])
    alarms = [
        trained_on(model, make_ranking(12, n_items=8, random_state=seed).data)
        for seed in range(1, 301)
    ]
    assert sum(alarms) <= 6  # at most one in a hundred, and two standard errors
