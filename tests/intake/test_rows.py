"""Columns of X are found by name, whatever they are called."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.intake import hash_rows
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, score_items


@pytest.mark.parametrize("name", ["column_names", "columns", "select"])
def test_a_column_with_the_name_of_an_attribute(name):
    data = make_ranking(n_queries=60, n_features=2, n_informative=2, random_state=0)
    frame = pd.DataFrame({"a": data.data[:, 0].astype("f4"), name: data.data[:, 1]})
    ranker = BALToR(Ridge(), random_state=0).fit(frame, data.target, qid=data.qid)
    turned = frame[[name, "a"]]
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(frame))
    other = frame.set_axis(["a", "b"], axis=1)
    np.testing.assert_array_equal(hash_rows(frame), hash_rows(other))


@pytest.mark.parametrize("name", ["column_names", "columns"])
def test_a_booster_whose_column_has_the_name_of_an_attribute(name):
    lightgbm = pytest.importorskip("lightgbm")
    data = make_ranking(n_queries=60, n_features=2, n_informative=2, random_state=0)
    frame = pd.DataFrame(data.data, columns=["a", name])
    queries = group_queries(data.qid, data.qid.size)
    model = lightgbm.LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1)
    ranker = fit_ranker(model, frame, data.target, queries)
    scores = score_items(ranker, frame)
    np.testing.assert_array_equal(score_items(ranker, frame[[name, "a"]]), scores)
