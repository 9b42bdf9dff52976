"""Small, quiet, deterministic rankers of each library."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skrank_abstain.scorers import Booster, Features

N_QUERIES, PER_QUERY = 20, 10
RANKERS = ("xgboost", "lightgbm", "catboost")

#: LightGBM before 4.7 warns of arrays whatever it was trained on, and the tests call
#: it directly. test_score.py has a test that score_items never lets this through.
NAMELESS_WARNING = pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names, but LGBM:UserWarning"
)


def make_ranker(library, **options):
    """Return an unfitted, quiet, deterministic ranker of five trees."""
    if library == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBRanker(n_estimators=5, n_jobs=1, **options)
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        quiet = {"n_estimators": 5, "n_jobs": 1, "verbose": -1}
        return lightgbm.LGBMRanker(**(quiet | options))
    catboost = pytest.importorskip("catboost")
    quiet = {"iterations": 5, "thread_count": 1, "allow_writing_files": False}
    return catboost.CatBoostRanker(**(quiet | options))


def train_natively(ranker, library, X, y):
    """Train on rows sorted by query, with the library's own argument."""
    codes = np.repeat(np.arange(N_QUERIES), PER_QUERY)
    if library == "xgboost":
        return ranker.fit(X, y, qid=codes)
    if library == "lightgbm":
        return ranker.fit(X, y, group=np.full(N_QUERIES, PER_QUERY))
    return ranker.fit(X, y, group_id=codes, verbose=False)


def raw(model, library):
    """Return the library's own object of a trained ranker."""
    if library == "xgboost":
        return model.get_booster()
    return model.booster_ if library == "lightgbm" else model


class ToyRanker(BaseEstimator):
    """A ranker of an imaginary library: scores are a column, training remembers."""

    __module__ = "toyboost"

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y, starts):
        self.X_, self.y_, self.starts_ = X, y, starts
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.column]


class ToyBoost(Booster):
    """The adapter of the imaginary library; its files hold the number of a column."""

    name = "toyboost"
    title = "ToyBoost"
    ranker = "ToyRanker"
    formats = "one line"

    def query_arguments(self, model, queries):
        return {"starts": queries.offsets[:-1]}

    def features(self, model):
        return Features(list("ab"), 2, knows_categories=True)

    def predict(self, model, X):
        return model.predict(X)

    def opens(self, content):
        return content.startswith(b"TOY")

    def load(self, path, content):
        return ToyRanker(int(content[3:]))
