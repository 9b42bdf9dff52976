"""Columns of text: a Pipeline encodes them, and one may hold the query."""

import numpy as np
import pandas as pd
import pytest
from scorers.boosters import RANKERS, make_ranker, raw
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, score_items

DATA = make_ranking(
    n_queries=40, n_items=6, n_features=3, n_informative=3, random_state=0
)
FRAME = pd.DataFrame(DATA.data, columns=["age", "dose", "pulse"])
CITY = np.where(DATA.target > 1, "Bern", "Basel")


def test_text_that_a_pipeline_encodes_is_fine():
    X = FRAME.assign(city=CITY)
    encode = ColumnTransformer(
        [("city", OrdinalEncoder(), ["city"])], remainder="passthrough"
    )
    ranker = BALToR(make_pipeline(encode, Ridge()), random_state=0)
    ranker.fit(X, DATA.target, qid=DATA.qid)
    assert np.isfinite(ranker.predict(X)).all()


def test_other_errors_stay_as_they_are():
    X = FRAME.assign(city=CITY)
    X.loc[0, "age"] = np.nan
    encode = ColumnTransformer(
        [("city", OrdinalEncoder(), ["city"])], remainder="passthrough"
    )
    with pytest.raises(ValueError, match="NaN"):
        BALToR(make_pipeline(encode, Ridge())).fit(X, DATA.target, qid=DATA.qid)


@pytest.mark.parametrize("library", RANKERS)
def test_a_request_of_one_item_whose_value_is_null_is_answered(library):
    queries = group_queries(DATA.qid, DATA.target.size)
    model = fit_ranker(make_ranker(library), FRAME, DATA.target, queries)
    item = FRAME.iloc[3].to_dict() | {"pulse": None}
    expected = score_items(model, FRAME.iloc[[3]].assign(pulse=np.nan))
    for each in (model, raw(model, library)):
        found = score_items(each, pd.DataFrame([item]))
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(Exception, match=r"pulse|fast|object|str"):
            score_items(each, pd.DataFrame([item | {"pulse": "fast"}]))


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
    with pytest.raises(ValueError, match=r"got 'day'; X has \[.*'remainder__day'"):
        pipeline.fit(X, DATA.target)
    scale.set_params(verbose_feature_names_out=False)
    pipeline.fit(X, DATA.target)


def test_sizes_in_place_of_queries_are_recognised():
    sizes = np.full(40, 6)
    for given in (sizes, sizes.tolist(), pd.Series(sizes)):
        with pytest.raises(ValueError, match=r"add up to the 240 rows.*np\.repeat\("):
            BALToR(Ridge()).fit(FRAME, DATA.target, qid=given)
    by_size = np.repeat(np.arange(40), sizes)
    BALToR(Ridge(), random_state=0).fit(FRAME, DATA.target, qid=by_size)
