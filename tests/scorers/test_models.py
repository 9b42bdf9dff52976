import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from doubles import PredictOnly
from scorers.boosters import make_ranker, raw
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.scorers import (
    ScoreColumn,
    freeze,
    is_fitted,
    library_of,
    resolve_model,
    score_items,
)


class Duck:
    """Follows scikit-learn's conventions without its base class."""

    def fit(self, X, y):
        self.coef_ = 1.0
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Wrapper(BaseEstimator):
    def __init__(self, estimator):
        self.estimator = estimator


def test_one_column_of_scores_is_chosen_or_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"price": [3.0, 1.0], "score": [0.2, 0.7]})
    for X in (frame, frame.to_numpy(), [[3.0, 0.2]], [0.2, 0.7]):
        with pytest.raises(ValueError, match=r"one column .*X\[\['score'\]\]"):
            ScoreColumn().predict(X)
    for model, X in (
        (ScoreColumn(), frame[["score"]]),
        (ScoreColumn("score"), frame),
        (ScoreColumn(1), frame.to_numpy()),
    ):
        assert clone(model).predict(X).tolist() == [0.2, 0.7]


def test_boosters_are_fitted_after_fit(library, trained):
    model = trained(library)
    assert not is_fitted(make_ranker(library))
    assert not is_fitted(FrozenEstimator(make_ranker(library)))
    assert not is_fitted(make_pipeline(StandardScaler(), make_ranker(library)))
    for fitted in (
        model,
        raw(model, library),
        FrozenEstimator(model),
        freeze(raw(model, library)),
        make_pipeline("passthrough", model),
        make_pipeline("passthrough", make_pipeline("passthrough", model)),
        pickle.loads(pickle.dumps(model)),
    ):
        assert is_fitted(fitted)


def test_other_models_are_fitted_after_fit():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 3]
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2)
    for model in (Ridge(), search, make_pipeline(StandardScaler(), Ridge()), Duck()):
        assert not is_fitted(model)
        assert is_fitted(model.fit(X, y))
    assert is_fitted(PredictOnly())
    assert is_fitted("model.json")
    assert is_fitted(Path("model.json"))


def test_a_raw_catboost_model_without_trees_is_not_fitted():
    catboost = pytest.importorskip("catboost")
    assert not is_fitted(catboost.CatBoost())


def test_library_of(library, trained):
    model = trained(library)
    for one in (model, raw(model, library), FrozenEstimator(model), freeze(model)):
        assert library_of(one) == library
    assert library_of(make_pipeline(model)) is None


def test_library_of_others():
    assert library_of(Ridge()) is None
    assert library_of(FrozenEstimator(Ridge())) is None
    assert library_of(PredictOnly()) is None
    assert library_of("model.json") is None


def test_clones_share_a_frozen_model(library, data, trained):
    model = trained(library)
    for one in (model, raw(model, library)):
        frozen = freeze(one)
        assert clone(frozen) is frozen
        wrapper = clone(clone(Wrapper(frozen)))
        assert wrapper.estimator is frozen
        np.testing.assert_array_equal(
            score_items(wrapper.estimator, data.frame), model.predict(data.frame)
        )
        again = pickle.loads(pickle.dumps(frozen))
        np.testing.assert_array_equal(
            score_items(again, data.frame), model.predict(data.frame)
        )


def test_how_each_kind_is_frozen(trained):
    assert isinstance(freeze(trained("xgboost")), FrozenEstimator)
    catboost = trained("catboost")  # no scikit-learn estimator before 1.2.9
    modern = hasattr(catboost, "__sklearn_tags__")
    assert isinstance(freeze(catboost), FrozenEstimator) == modern
    assert isinstance(freeze(Ridge()), FrozenEstimator)
    frozen = FrozenEstimator(Ridge())
    assert freeze(frozen) is frozen
    assert freeze("model.json") == "model.json"
    for model in (PredictOnly(), Duck(), trained("lightgbm").booster_):
        one = freeze(model)
        assert not isinstance(one, FrozenEstimator)
        assert freeze(one) is one
        assert type(model).__name__ in repr(one)
        assert not hasattr(one, "get_params")


def test_parameters_of_a_frozen_model_are_fixed(trained):
    wrapper = Wrapper(freeze(trained("lightgbm").booster_))
    with pytest.raises(AttributeError, match="no attribute 'set_params'"):
        wrapper.set_params(estimator__num_leaves=3)


def test_resolve_model_returns_models_unchanged(library, trained):
    model = trained(library)
    for one in (model, raw(model, library), freeze(raw(model, library)), Ridge()):
        assert resolve_model(one) is one


@pytest.mark.parametrize("value", [None, 3, StandardScaler(), b"model.json", [Ridge()]])
def test_resolve_model_refuses_what_cannot_score(value):
    with pytest.raises(TypeError, match="estimator must have one of decision_function"):
        resolve_model(value)
    with pytest.raises(TypeError, match="estimator must have one of decision_function"):
        score_items(value, [[0.0]])


def test_resolve_model_refuses_classes():
    with pytest.raises(TypeError, match=r"instance, got the class Ridge; .*Ridge\(\)"):
        resolve_model(Ridge)


def test_no_library_is_imported_for_another_model():
    code = """
import sys
from sklearn.linear_model import Ridge
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, freeze, is_fitted, library_of
from skrank_abstain.scorers import resolve_model, score_items
model = fit_ranker(Ridge(), [[0.0], [1.0]], [0, 1], group_queries(None, 2))
assert is_fitted(freeze(resolve_model(model)))
assert library_of(model) is None
score_items(model, [[0.0]])
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"xgboost", "lightgbm", "catboost"}, loaded
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)
