"""Fitted judges of whole rows: their classes are read by meaning."""

import pickle

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.pairwise.comparisons import check_mirror
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skrank_abstain import PairwiseRankerClassifier

SPELLINGS = [
    ("right", "left"),
    ("model_b", "model_a"),
    ("B", "A"),
    ("second", "first"),
    ("loss", "win"),
    (0, 1),
    (-1, 1),
]


class Judge:
    """Has probabilities and classes, and nothing else."""

    def __init__(self, classes, columns=(0, 1)):
        self.classes_ = list(classes)
        self.columns = columns

    def predict_proba(self, X):
        half = X.shape[1] // 2
        odds = np.exp(2 * (np.asarray(X)[:, 0] - np.asarray(X)[:, half]))
        left = odds / (1 + odds)
        tie = 0.1 * np.ones_like(left)
        every = np.column_stack([0.9 * (1 - left), tie, 0.9 * left])
        return every[:, self.columns]


@pytest.mark.parametrize("kinds", SPELLINGS)
@pytest.mark.parametrize("spelled", ["left", 1])
def test_a_judge_of_any_spelling_is_right_alike(two, kinds, spelled):
    X, y = two
    known = np.array(kinds)[(y > 0).astype(int)]
    judge = LogisticRegression().fit(X[:-60], known[:-60])
    truth = np.where(y > 0, spelled, "right" if spelled == "left" else 0)
    alone = np.mean(judge.predict(X) == known)
    model = PairwiseRankerClassifier(judge, coverage=1).fit(X, truth)
    assert model.score(X, truth) > max(0.75, alone - 0.02)
    assert np.mean(clone(model).fit(X, truth).predict(X) == truth) > 0.75


def test_labels_name_the_classes_of_a_judge_too(two):
    X, y = two
    words = np.where(y > 0, "bad", "good")  # of the right one
    judge = LogisticRegression().fit(X[:-60], words[:-60])
    with pytest.raises(ValueError, match=r"classes_ of the estimator, Log.*'bad'"):
        PairwiseRankerClassifier(judge).fit(X, y)
    labels = {"good": "right", "bad": "left"}
    model = PairwiseRankerClassifier(judge, labels=labels, coverage=1).fit(X, words)
    assert model.score(X, words) > 0.75
    own = PairwiseRankerClassifier(LogisticRegression(), labels=labels, coverage=1)
    assert own.fit(X, words).score(X, words) > 0.75


def test_a_judge_of_three_classes(three):
    X, y = three
    for spelled in (["right", "tie", "left"], ["B", "draw", "A"], [-1, 0, 1]):
        judge = LogisticRegression().fit(X[::2], np.array(spelled)[y + 1][::2])
        model = PairwiseRankerClassifier(judge, coverage=1).fit(X, y)
        assert model.score(X, y) > 0.6
        proba = judge.predict_proba(X)[:, np.argsort(np.argsort(spelled))]
        order = np.argsort(proba[:, 2] - proba[:, 0])
        decision = model.decision_function(X)[order]
        assert decision[:50].mean() < 0 < decision[-50:].mean()
        check_mirror(model, X)


@pytest.mark.parametrize(
    ("classes", "columns"),
    [
        (["left", "right"], (2, 0)),
        (["right", "tie", "left"], (0, 1, 2)),
        (["left", "tie", "right"], (2, 1, 0)),
        ([0, 1], (0, 2)),
    ],
)
def test_an_object_that_has_only_probabilities(three, classes, columns):
    X, y = three
    judge = Judge(classes, columns)
    model = PairwiseRankerClassifier(judge, coverage=1).fit(X, y)
    assert model.prefit_
    half = X.shape[1] // 2
    better = X[:, 0] > X[:, half]
    np.testing.assert_array_equal(model.decision_function(X) > 0, better)
    check_mirror(model, X)
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class Speaks(Judge):
    """Also predicts words."""

    def predict(self, X):
        return np.asarray(self.classes_)[self.predict_proba(X).argmax(axis=1)]


def test_an_object_whose_classes_are_words_is_a_judge(two):
    X, y = two
    words = np.where(y > 0, "left", "right")
    model = PairwiseRankerClassifier(Speaks(["left", "right"], (2, 0)), coverage=1)
    found = model.fit(X, words).predict(X) == "left"
    np.testing.assert_array_equal(found, X[:, 0] > X[:, X.shape[1] // 2])


class Nameless:
    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (Nameless(), r"must have classes_, such as \['left', 'right'\], got Nameless,"),
        (
            Judge(["yes", "no"]),
            r"classes_ of the estimator, Judge, must hold label",
        ),
        (
            Judge(["left", "tie"]),
            r"one label for right preferred, one for left",
        ),
        (
            Judge(["left", "right"], (0, 1, 2)),
            r"finite values of shape \(600, 2\)",
        ),
    ],
)
def test_a_judge_that_cannot_be_understood_is_refused(two, judge, message):
    with pytest.raises(ValueError, match=message):
        PairwiseRankerClassifier(judge).fit(*two)


def test_a_ranker_of_items_is_no_judge(two):
    X, y = two
    model = PairwiseRankerClassifier(FirstColumn().fit(None, None)).fit(X, y)
    half = X.shape[1] // 2
    np.testing.assert_array_equal(model.decision_function(X), X[:, 0] - X[:, half])
