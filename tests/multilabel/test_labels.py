"""Labels in Y: their names, labels that never occur, labels that are unknown."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)

NAMES = ["sport", "art", "law", "war", "food"]
MOVED = ["war", "sport", "food", "law", "art"]


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        500, n_features=8, n_classes=5, random_state=3
    )
    return X.astype(float), pd.DataFrame(y, columns=NAMES)


def rankers():
    linear = LinearMultilabelRanker(alpha=0.1)
    return [
        linear,
        ThresholdDecompositionRanker(LogisticRegression(max_iter=1000)),
        OnlineMultilabelRanker([("a", [1, 2, 3, 4, 5]), ("b", [5, 4, 3, 2, 1])]),
        SelectiveMultilabelRanker(linear, random_state=0),
    ]


def by_type(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("ranker", rankers(), ids=by_type)
def test_labels_are_matched_by_name(data, ranker):
    X, y = data
    ranker.fit(X[:350], y[:350])
    assert ranker.label_names_ == NAMES
    score = ranker.score(X[350:], y[350:])
    assert score == ranker.score(X[350:], y[350:].to_numpy())
    assert score != ranker.score(X[350:], y[350:][MOVED].to_numpy())
    for moved in (y[350:][MOVED], pl.from_pandas(y[350:][MOVED])):
        assert ranker.score(X[350:], moved) == score
    other = y[350:].rename(columns={"law": "music"})
    for wrong in (other, y[350:][NAMES[:4]]):
        with pytest.raises(ValueError, match="y must name each label once"):
            ranker.score(X[350:], wrong)
    twice = y.rename(columns={"law": "art"})
    with pytest.raises(ValueError, match=r"each label once.*got \['sport', 'art', 'a"):
        ranker.fit(X, twice)
    assert ranker.fit(X, y.to_numpy()).label_names_ is None


def test_all_methods_of_the_selective_ranker_match_names(data):
    X, y = data
    ranker = SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0)
    ranker.fit(X[:350], y[:350])
    X, y = X[350:], y[350:]
    moved = y[MOVED]
    assert ranker.evaluate(X, moved).correct.tolist() == (
        ranker.evaluate(X, y).correct.tolist()
    )
    assert ranker.correctness_completeness(X, moved) == (
        ranker.correctness_completeness(X, y)
    )
    assert np.array_equal(ranker.to_items(X, moved).y, y.to_numpy().ravel())
    pages = [ranker.report(X, each).splitlines() for each in (y, moved)]
    assert [line for line in pages[0] if line not in pages[1]] in (
        [],
        [line for line in pages[0] if line.startswith("- date: ")],
    )


def test_batches_of_a_stream_are_matched_by_name(data):
    X, y = data
    experts = [("fixed", [1, 2, 3, 4, 5]), ("other", [3, 1, 2, 5, 4])]
    one, two = (OnlineMultilabelRanker(experts) for _ in range(2))
    one.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    two.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:][MOVED])
    assert one.expert_losses_.tolist() == two.expert_losses_.tolist()


def test_names_are_shown(data):
    X, y = data
    ranker = SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0)
    ranker.fit(X[:350], y[:350])
    ranking, decisions = ranker.ranking(X[350:]), ranker.predict_pairs(X[350:])
    places = ranker.predict_ranks(X[350:])
    column = [NAMES.index(name) for name in ranking.item_id]
    assert ranking.place.tolist() == places[ranking.qid, column].tolist()
    assert decisions.left_id.tolist() == [NAMES[k % 5] for k in decisions.left]
    assert decisions.right_id.tolist() == [NAMES[k % 5] for k in decisions.right]
    given = ranker.ranking(X[350:], item_id=list("abcde"))
    assert given.item_id.tolist() == ["abcde"[k] for k in column]
    nameless = ranker.fit(X[:350], y[:350].to_numpy())
    assert nameless.predict_pairs(X[350:]).left_id is None
    assert set(nameless.ranking(X[350:]).item_id.tolist()) == set(range(5))


def test_names_of_a_fitted_model_hold(data):
    X, y = data
    linear = LinearMultilabelRanker(alpha=0.1).fit(X[:200], y[:200])
    known, moved, nameless = (
        SelectiveMultilabelRanker(linear).fit(X[200:350], each)
        for each in (y[200:350], y[200:350][MOVED], y[200:350].to_numpy())
    )
    assert moved.label_names_ == MOVED
    assert nameless.label_names_ == NAMES
    want = known.decision_function(X)
    order = [NAMES.index(name) for name in MOVED]
    assert np.array_equal(moved.decision_function(X), want[:, order])
    assert moved.score(X[350:], y[350:]) == known.score(X[350:], y[350:])
    other = y[200:350].rename(columns={"law": "music"})
    with pytest.raises(ValueError, match="y must name each label once"):
        SelectiveMultilabelRanker(linear).fit(X[200:350], other)
    expert = [("linear", FrozenEstimator(linear))]
    online = [OnlineMultilabelRanker(expert).fit(X, each) for each in (y, y[MOVED])]
    assert online[0].expected_loss_ == online[1].expected_loss_


@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())),
        RandomForestClassifier(30, random_state=0),
        ThresholdDecompositionRanker(LogisticRegression(max_iter=1000)),
        LinearMultilabelRanker(),
    ],
    ids=by_type,
)
def test_a_label_that_never_occurs_ranks_last(data, model):
    X, y = data[0], data[1].to_numpy().copy()
    y[:, 2] = 0
    ranker = SelectiveMultilabelRanker(model, random_state=0).fit(X[:350], y[:350])
    scores = ranker.decision_function(X[350:])
    assert (scores[:, 2] == scores.min(axis=1)).all()
    y[:, 2] = 1
    always = ranker.fit(X[:350], y[:350]).decision_function(X[350:])
    assert (always[:, 2] == always.max(axis=1)).all()


@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples")
def test_models_whose_scores_place_no_label_are_refused(data):
    X, y = data[0], data[1].to_numpy().copy()
    labels = MultiOutputClassifier(LinearSVC())
    with pytest.raises(
        TypeError, match=r"MultiOutputClassifier.*0/1 labels are no sco"
    ):
        SelectiveMultilabelRanker(labels, random_state=0).fit(X, y)
    learner = MultiOutputClassifier(SGDClassifier(random_state=0))
    with pytest.raises(TypeError, match="0/1 labels are no scores"):
        OnlineMultilabelRanker([("margins", learner)]).fit(X, y)
    margins = OneVsRestClassifier(LinearSVC())
    SelectiveMultilabelRanker(margins, random_state=0).fit(X, y)
    y[:, 2] = 0
    with pytest.raises(ValueError, match="relevant and irrelevant samples of each lab"):
        SelectiveMultilabelRanker(margins, random_state=0).fit(X, y)
