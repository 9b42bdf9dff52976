"""Columns of text and dates are named, with what to do about them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking

DATA = make_ranking(
    n_queries=40, n_items=6, n_features=3, n_informative=3, random_state=0
)
FRAME = pd.DataFrame(DATA.data, columns=["age", "dose", "pulse"])
CITY = np.where(DATA.target > 1, "Bern", "Basel")
DAYS = pd.date_range("2024-01-01", periods=len(FRAME))
COMMA = FRAME["dose"].round(1).astype(str).str.replace(".", ",")
BROKEN = {
    "text": (
        FRAME.assign(city=CITY),
        "got text in column 'city', such as .*qid_col=",
    ),
    "dates": (FRAME.assign(when=DAYS), r"got dates in column 'when'.*dt\.days"),
    "comma": (
        FRAME.assign(dose=COMMA),
        r"got '-?\d+,\d+' with a decimal comma in column 'dose'.*decimal=','",
    ),
    "array": (FRAME.assign(city=CITY).to_numpy(), "got text in column 3, such as 'B"),
}


def models():
    yield Ridge()
    yield HistGradientBoostingRegressor(max_iter=3)
    for library, name in (
        ("xgboost", "XGBRanker"),
        ("lightgbm", "LGBMRanker"),
        ("catboost", "CatBoostRanker"),
    ):
        options = {"n_estimators": 3}
        if library == "catboost":
            options |= {"verbose": 0, "allow_writing_files": False}
        try:
            module = __import__(library)
        except ImportError:
            continue
        yield getattr(module, name)(**options)


@pytest.mark.parametrize("model", [*models()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("broken", BROKEN)
def test_the_column_and_the_remedy_are_named(model, broken):
    X, message = BROKEN[broken]
    with pytest.raises(
        ValueError, match=f"(?s)X must hold numbers, {message}"
    ) as found:
        BALToR(model, random_state=0).fit(X, DATA.target, DATA.qid)
    assert found.value.__cause__ is not None


def test_a_fitted_model_is_given_text_later():
    fitted = BALToR(Ridge(), random_state=0).fit(FRAME, DATA.target, DATA.qid)
    with pytest.raises(ValueError, match="with a decimal comma in column 'dose'"):
        fitted.predict(FRAME.assign(dose=COMMA))


def test_comparisons_of_text_are_refused_alike():
    X = FRAME.assign(city=CITY)
    X = pd.concat(
        [X[::2].reset_index(), X[1::2].reset_index().add_suffix("_b")], axis=1
    )
    y = np.where(DATA.target[::2] >= DATA.target[1::2], 1, -1)
    with pytest.raises(ValueError, match="X must hold numbers, got text in column 'ci"):
        PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)


def test_text_that_a_pipeline_encodes_is_fine():
    X = FRAME.assign(city=CITY)
    encode = ColumnTransformer(
        [("city", OrdinalEncoder(), ["city"])], remainder="passthrough"
    )
    ranker = BALToR(make_pipeline(encode, Ridge()), random_state=0)
    ranker.fit(X, DATA.target, DATA.qid)
    assert np.isfinite(ranker.predict(X)).all()


def test_other_errors_stay_as_they_are():
    X = FRAME.assign(city=CITY)
    X.loc[0, "age"] = np.nan
    encode = ColumnTransformer(
        [("city", OrdinalEncoder(), ["city"])], remainder="passthrough"
    )
    with pytest.raises(ValueError, match="NaN"):
        BALToR(make_pipeline(encode, Ridge())).fit(X, DATA.target, DATA.qid)


# --- the query ----------------------------------------------------------------------


def test_names_that_a_transformer_lost_are_asked_for():
    X = FRAME.assign(day=DATA.qid)
    scale = ColumnTransformer(
        [("all", StandardScaler(), ["age"])], remainder="passthrough"
    )
    pipeline = make_pipeline(scale, BALToR(Ridge(), qid_col="day", random_state=0))
    with pytest.raises(ValueError, match=r"set_output\(transform='pandas'\)"):
        pipeline.fit(X, DATA.target)
    scale.set_output(transform="pandas")
    renamed = re.escape("Pass qid_col='remainder__day', or give the ColumnTransformer")
    with pytest.raises(ValueError, match=renamed):
        pipeline.fit(X, DATA.target)
    scale.set_params(verbose_feature_names_out=False)
    pipeline.fit(X, DATA.target)


def test_sizes_in_place_of_queries_are_recognised():
    sizes = np.full(40, 6)
    for given in (sizes, sizes.tolist(), pd.Series(sizes)):
        with pytest.raises(ValueError, match=r"add up to the 240 rows.*np\.repeat\("):
            BALToR(Ridge()).fit(FRAME, DATA.target, given)
    by_size = np.repeat(np.arange(40), sizes)
    BALToR(Ridge(), random_state=0).fit(FRAME, DATA.target, by_size)
