"""Rows whose query nobody named: a warning or an error, never silence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    OneQueryWarning,
    PairwiseRankerClassifier,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import RankIntervalDisplay
from skrank_abstain.distance import ConstrainedLinearRanker, DistanceAbstainer
from skrank_abstain.selection import Coverage

pytestmark = pytest.mark.filterwarnings(
    "error",
    "ignore:Nearly all accepted pairs are ties",
    "ignore:.* have the features of items that fit got",
    "ignore:.* in the wrong order",
)

CLASSES = {
    "BALToR": lambda **options: BALToR(FirstColumn(), **options),
    "CostAbstainer": lambda **options: CostAbstainer(FirstColumn(), **options),
    "DistanceAbstainer": lambda **options: DistanceAbstainer(FirstColumn(), **options),
    "SelectiveRanker": lambda **options: SelectiveRanker(
        FirstColumn(), rule=Coverage(0.5), **options
    ),
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_items=6, random_state=0)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("qid", [None, "constant", "day"])
def test_fit_without_queries_warns_under_the_name_the_user_wrote(name, qid, data):
    ranker = CLASSES[name](random_state=0)
    given = np.full(data.target.size, 7) if qid == "constant" else qid
    told = "no qid" if qid is None else "a qid that is the same for all rows"
    with pytest.warns(
        OneQueryWarning, match=f"All 240 rows are one query: {name} got {told}"
    ):
        ranker.fit(data.data, data.target, qid=given)


@pytest.mark.parametrize("name", CLASSES)
def test_a_scalar_says_that_one_query_is_meant(name, data):
    ranker = CLASSES[name](random_state=0).fit(data.data, data.target, qid=0)
    # One query needs no qid to be scored.
    assert 0 <= ranker.score(data.data, data.target) <= 1


def test_no_qid_at_all_warns(data):
    with pytest.warns(OneQueryWarning):
        BALToR(FirstColumn(), random_state=0).fit(data.data, data.target)


def test_the_name_of_a_column_is_no_query(data):
    X = pd.DataFrame(data.data, columns=[f"f{k}" for k in range(data.data.shape[1])])
    X["day"] = data.qid
    ranker = BALToR(FirstColumn(), random_state=0)
    with pytest.raises(ValueError, match=r"pass X\['day'\] .* or qid_col='day'"):
        ranker.fit(X, data.target, qid="day")
    ranker.fit(X, data.target, qid=data.qid)
    with pytest.raises(ValueError, match=r"got 'day', the name of a column of X"):
        ranker.predict_pairs(X, qid="day")
    y, match = data.target, "the name of a column of X"
    with pytest.raises(ValueError, match=match):
        RankIntervalDisplay.from_estimator(ranker, X, qid="day")
    linear = ConstrainedLinearRanker(random_state=0)
    with pytest.raises(ValueError, match=match):
        linear.fit(X, y, qid="day")
    with pytest.raises(ValueError, match=match):
        linear.fit(X, y, qid=data.qid).score(X, y, qid="day")


def test_the_name_of_a_column_of_pairs_is_no_query_either(data):
    halves = data.data[::2], data.data[1::2]
    X = pd.DataFrame(np.hstack(halves)).rename(columns="f{}".format)
    y = np.where(data.target[::2] > data.target[1::2], "left", "right")
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    classifier.fit(X, y)
    for method in (classifier.evaluate, classifier.report, classifier.fit):
        with pytest.raises(ValueError, match="the name of a column of X"):
            method(X, y, qid="f0")


def test_folds_of_a_search_that_knows_the_groups_alone(data):
    search = GridSearchCV(
        BALToR(FirstColumn(), random_state=0),
        {"calibration_size": [0.5]},
        cv=GroupKFold(3),
    )
    with pytest.warns(OneQueryWarning, match="metadata routing"):
        search.fit(data.data, data.target, groups=data.qid)


@pytest.mark.parametrize("argument", ["group", "group_id", "sample_weight"])
@pytest.mark.parametrize("name", CLASSES)
def test_arguments_of_other_libraries_are_refused(name, argument, data):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{argument}'"):
        CLASSES[name]().fit(data.data, data.target, **{argument: data.qid})


@pytest.mark.parametrize("method", ["predict_pairs", "abstain", "rank_intervals"])
def test_a_large_batch_without_queries_warns(method, data):
    ranker = BALToR(FirstColumn(), random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    call = getattr(ranker, method)
    call(data.data[:12])  # twice the largest query may be one
    with pytest.warns(OneQueryWarning, match="largest query .* has 6 rows"):
        call(data.data[:13])
    call(data.data[:13], qid=data.qid[:13])
    call(data.data[:13], qid=0)


def test_requests_that_are_large_warn_once(data):
    ranker = BALToR(FirstColumn(), random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for n_items in (12, 13, 40, 240):
            ranker.predict_pairs(data.data[:n_items])
    assert [each.category for each in caught] == [OneQueryWarning]


def test_a_pipeline_hands_the_warning_on(data):
    pipeline = make_pipeline(StandardScaler(), BALToR(FirstColumn(), random_state=0))
    with pytest.warns(OneQueryWarning):
        pipeline.fit(data.data, data.target)
