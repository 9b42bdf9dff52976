"""A request without items gets an empty answer."""

import numpy as np
import pandas as pd
import pytest
from scorers.boosters import make_ranker
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.scorers import RankerEnsemble

DATA = make_ranking(n_queries=60, random_state=0)


def model_of(kind):
    if kind == "ridge":
        return Ridge()
    if kind == "ensemble":
        return RankerEnsemble(Ridge())
    return make_ranker(kind)


@pytest.mark.filterwarnings("ignore:A review rests on grades")
@pytest.mark.parametrize("qid", [0, []])
@pytest.mark.parametrize(
    ("kind", "tie_model"),
    [
        ("ridge", "graded_relevance"),
        ("ridge", "bradley_terry"),
        ("ridge", "feature_aware_relevance"),
        ("ensemble", "graded_relevance"),
        ("lightgbm", "graded_relevance"),
        ("xgboost", "graded_relevance"),
        ("catboost", "graded_relevance"),
    ],
)
def test_each_method_answers_with_nothing(kind, tie_model, qid):
    if kind not in ("ridge", "ensemble"):
        pytest.importorskip(kind)
    # Places with a confidence take a split.
    options = {"calibration_size": 0.25, "random_state": 0}
    ranker = BALToR(model_of(kind), tie_model=tie_model, **options)
    ranker.fit(DATA.data, DATA.target, qid=DATA.qid)
    none = DATA.data[:0]
    assert ranker.predict(none, qid=qid).shape == (0,)
    assert len(ranker.predict_pairs(none, qid=qid)) == 0
    assert ranker.predict_pairs(none, qid=qid).deferred(3).to_dicts() == []
    assert ranker.abstain(none, qid=qid).shape == (0,)
    assert ranker.pair_proba(none, qid=qid).shape == (0, 3)
    assert ranker.ranking(none, qid=qid, item_id=[]).to_dicts() == []
    assert ranker.rank_intervals(none, qid=qid).shape == (0, 2)
    assert ranker.rank_intervals(none, qid=qid, confidence=0.9).shape == (0, 2)
    assert len(ranker.review(none, qid=qid).ask(3)) == 0
    assert ranker.evaluate(none, DATA.target[:0], qid=DATA.qid[:0]).pairs.size == 0


@pytest.mark.parametrize("kind", ["lightgbm", "ridge"])
@pytest.mark.filterwarnings("error")
def test_an_empty_list_is_a_request_without_items(kind):
    if kind != "ridge":
        pytest.importorskip(kind)
    frame = pd.DataFrame(DATA.data).add_prefix("f")
    ranker = BALToR(model_of(kind), random_state=0)
    ranker.fit(frame, DATA.target, qid=DATA.qid)
    assert len(ranker.predict_pairs([])) == 0
    assert len(ranker.predict_pairs(pd.DataFrame([]))) == 0
    assert ranker.ranking([], item_id=[]).to_dicts() == []
    assert ranker.review([]).ask(3).to_dicts() == []
    with pytest.raises(ValueError, match="Expected 2D array"):
        ranker.fit([], [])


def test_an_ensemble_alone_answers_with_nothing_and_still_checks_columns():
    ensemble = RankerEnsemble(Ridge()).fit(DATA.data, DATA.target, qid=DATA.qid)
    scores = ensemble.predict(DATA.data[:0], qid=0)
    assert scores.shape == (0,)
    assert scores.dtype == np.float64
    with pytest.raises(ValueError, match="X has 3 features"):
        ensemble.predict(DATA.data[:0, :3], qid=0)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        ensemble.fit(DATA.data[:0], DATA.target[:0], qid=0)


def test_rankers_with_options_answer_with_nothing():
    none = DATA.data[:0]
    detector = IsolationForest(random_state=0)
    novel = BALToR(Ridge(), novelty=detector, novelty_level=0.1, random_state=0)
    grouped = BALToR(Ridge(), groups=0, random_state=0)
    X = DATA.data.copy()
    X[:, 0] = np.arange(len(X)) % 2  # two groups
    for ranker, data in ((novel, DATA.data), (grouped, X)):
        ranker.fit(data, DATA.target, qid=DATA.qid)
        assert len(ranker.predict_pairs(none, qid=[])) == 0
        assert ranker.ranking(none, qid=[]).to_dicts() == []
        assert ranker.rank_intervals(none, qid=[]).shape == (0, 2)
    assert novel.novelty_pvalues(none).shape == (0,)


@pytest.mark.parametrize(
    "labels",
    [
        LinearMultilabelRanker(),
        ThresholdDecompositionRanker(LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_rankers_of_labels_answer_with_nothing(labels):
    X, y = make_multilabel_classification(
        200, n_classes=4, allow_unlabeled=False, random_state=0
    )
    ranker = SelectiveMultilabelRanker(labels, random_state=0).fit(X, y)
    none = X[:0]
    assert ranker.predict(none).shape == ranker.predict_ranks(none).shape == (0, 4)
    assert ranker.rank_intervals(none).shape == (0, 4, 2)
    assert ranker.pair_proba(none).shape == (0, 3)
    assert ranker.abstain(none).shape == (0,)
    assert ranker.predict_pairs(none).to_dicts() == []
    assert ranker.ranking(none, item_id=list("abcd")).to_dicts() == []


def test_rankers_of_queries_answer_with_nothing():
    none = DATA.data[:0]
    sets = TopSetRanker(Ridge(), alpha=0.3, random_state=0)
    lists = QueryRiskRanker(Ridge(), coverage=0.8, random_state=0)
    for ranker in (sets, lists):
        ranker.fit(DATA.data, DATA.target, qid=DATA.qid)
    assert sets.predict_set(none, qid=[]).shape == (0,)
    assert sets.set_sizes(none, qid=[]).shape == (0,)
    assert lists.accept_queries(none, qid=[]).to_dicts() == []
    assert lists.query_risk(none, qid=[]).to_frame().shape == (0, 3)
