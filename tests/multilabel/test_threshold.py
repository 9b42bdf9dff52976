"""Rankings taken apart into binary problems, put together by votes; ties on music."""

import os
import pickle
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.io import arff
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from skrank_abstain.multilabel import (
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    label_ranks,
)
from skrank_abstain.multilabel._ranker import sample_weights, top_targets

MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 2))
)


class Frequency(ClassifierMixin, BaseEstimator):
    """The weighted share of ones: what a classifier without features converges to."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.share_ = np.average(y == 1, weights=sample_weight)
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share_, self.share_], (X.shape[0], 1))


def share_in_top(y, j):
    """Average "is in the top j" over all orders of the labels that fit y."""
    fitting = [
        order
        for order in permutations(range(y.size))
        if all(y[a] >= y[b] for a, b in pairwise(order))
    ]
    return np.mean([np.isin(np.arange(y.size), order[:j]) for order in fitting], axis=0)


@given(MATRICES, st.integers(1, 4))
def test_shared_targets_are_means_over_the_orders_of_tied_labels(y, j):
    expected = [share_in_top(row, j) for row in y]
    assert np.allclose(*top_targets(y, [j], "share"), expected)


@given(MATRICES, st.integers(1, 4))
def test_targets_by_index(y, j):
    assert np.array_equal(*top_targets(y, [j], "index"), label_ranks(y) <= j)


@given(
    arrays(np.float64, (6, 4), elements=st.integers(0, 1)),
    st.integers(1, 4),
    st.sampled_from(["sum", "precision"]),
    st.integers(1, 3),
)
def test_shared_votes_sort_by_mean_relevance_for_two_relevances(y, p, loss, scale):
    # Also where the two relevances are others in each sample.
    y = y * np.linspace(1, scale, 6)[:, None] + np.arange(6)[:, None]
    some = np.ptp(y, axis=1) > 0
    ranker = ThresholdDecompositionRanker(
        Frequency(), p=p, loss=loss, thresholds="rank"
    ).fit(np.zeros((6, 1)), y)
    votes = ranker.decision_function(np.zeros((1, 1)))[0]
    relevance = y[some].mean(axis=0) if some.any() else np.zeros(4)
    gaps = np.subtract.outer(relevance, relevance)
    ahead = np.subtract.outer(votes, votes)
    assert (np.sign(np.round(ahead, 9)) == np.sign(np.round(gaps, 9))).all()


def test_breaking_ties_by_index_does_not():
    y = np.array([[1, 1, 1, 0]] * 2 + [[0, 0, 1, 0]])
    votes = {
        ties: ThresholdDecompositionRanker(
            Frequency(), p=1, thresholds="rank", ties=ties
        )
        .fit(np.zeros((3, 1)), y)
        .decision_function(np.zeros((1, 1)))[0]
        for ties in ("share", "index")
    }
    assert votes["share"].argmax() == 2  # relevant to all three samples
    assert votes["index"].tolist() == [2 / 3, 0, 1 / 3, 0]


@given(arrays(np.float64, (5, 3), elements=st.sampled_from([-1.5, 0.0, 2.5, 3.0])))
def test_votes_for_grades_are_the_mean_relevance(y):
    ranker = ThresholdDecompositionRanker(Frequency()).fit(np.zeros((5, 1)), y)
    votes = ranker.decision_function(np.zeros((2, 1)))
    assert np.allclose(votes, y.mean(axis=0) - y.min())
    assert ranker.vote_weights_.sum() == pytest.approx(np.ptp(y))


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        160, n_features=8, n_classes=4, random_state=1
    )
    return X, y


def test_with_grades_binary_relevance_is_what_it_is(data):
    X, y = data
    base = LogisticRegression(C=0.1)
    ranker = ThresholdDecompositionRanker(base).fit(X, y)
    separate = MultiOutputClassifier(base).fit(X, y)
    expected = np.stack([p[:, 1] for p in separate.predict_proba(X)], axis=1)
    assert np.array_equal(ranker.decision_function(X), expected)


def test_binary_problems_are_those_of_the_definition(data):
    X, y = data
    order = np.argsort(np.random.default_rng(0).normal(size=y.shape), axis=1)
    y = order.astype(float)  # without ties
    base = LogisticRegression(C=0.1, max_iter=1000)
    ranker = ThresholdDecompositionRanker(base, p=2, thresholds="rank").fit(X, y)
    votes = np.zeros(y.shape)
    for label in range(4):
        for j in (1, 2):
            within = label_ranks(y)[:, label] <= j
            votes[:, label] += base.fit(X, within).predict_proba(X)[:, 1]
    assert np.allclose(ranker.decision_function(X), votes)
    assert [len(row) for row in ranker.estimators_] == [4, 4]
    assert ranker.thresholds_.tolist() == [1, 2]


def test_for_precision_only_the_last_rank_counts(data):
    X, y = data
    ranker = ThresholdDecompositionRanker(
        LogisticRegression(), p=2, loss="precision", thresholds="rank"
    ).fit(X, y)
    assert ranker.thresholds_.tolist() == [2]


def test_all_labels_are_among_all(data):
    X, y = data
    ranker = ThresholdDecompositionRanker(LogisticRegression(), thresholds="rank")
    assert ranker.fit(X, y).thresholds_.tolist() == [1, 2, 3]


def test_weights_of_samples():
    # p = 1: shares 1/2, 1/2, 0 against 1, 0, 0; the third sample ties all labels.
    y = np.array([[1.0, 1, 0], [1, 0, 0], [1, 1, 1]])
    weight = sample_weights(y, np.array([1]), "share")
    assert np.allclose(weight, np.array([2, 1, 0]) / 1.0)
    # p = 2: shares add up to 3/2, 3/2, 0 against 2, 1/2, 1/2: as far apart.
    assert sample_weights(y[:2], np.array([1, 2]), "share") is None


def test_constant_targets_need_no_classifier(data):
    X, y = data
    y = np.hstack([y, np.ones((160, 1), dtype=int), np.zeros((160, 1), dtype=int)])
    ranker = ThresholdDecompositionRanker(LogisticRegression()).fit(X, y)
    assert ranker.estimators_[0][4:] == [1.0, 0.0]
    assert (ranker.decision_function(X)[:, 4:] == [1.0, 0.0]).all()
    nothing = ThresholdDecompositionRanker(LogisticRegression()).fit(X, 0 * y)
    assert not nothing.decision_function(X).any()
    tied = ThresholdDecompositionRanker(LogisticRegression(), thresholds="rank")
    assert tied.fit(X, 0 * y).estimators_[0] == [1 / 6] * 6


@pytest.mark.parametrize("thresholds", ["grade", "rank"])
def test_any_number_of_jobs_gives_the_same(data, thresholds):
    X, y = data
    base = RandomForestClassifier(3, random_state=0)
    one, two = (
        ThresholdDecompositionRanker(base, p=2, thresholds=thresholds, n_jobs=jobs)
        .fit(X, y)
        .predict(X)
        for jobs in (None, 2)
    )
    assert np.array_equal(one, two)


def test_sparse_data_pipelines_and_pickles(data):
    X, y = data
    base = make_pipeline(
        StandardScaler(with_mean=False), make_pipeline(LogisticRegression())
    )
    ranker = ThresholdDecompositionRanker(base, p=1, thresholds="rank").fit(X, y)
    sparse = ThresholdDecompositionRanker(base, p=1, thresholds="rank").fit(
        csr_array(X), csr_array(y)
    )
    assert np.allclose(sparse.predict(csr_array(X)), ranker.predict(X), atol=1e-3)
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))


@pytest.mark.parametrize("thresholds", ["grade", "rank"])
def test_frames_reach_classifiers_untouched(data, thresholds):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X[:, :2], columns=["a", "b"])
    frame["kind"] = np.where(X[:, 2] > np.median(X[:, 2]), "high", "low")
    columns = make_column_transformer(
        (StandardScaler(), ["a"]), (OneHotEncoder(), ["kind"])
    )
    ranker = ThresholdDecompositionRanker(
        make_pipeline(columns, LogisticRegression()), thresholds=thresholds, p=2
    ).fit(frame, y)
    by_hand = ThresholdDecompositionRanker(
        LogisticRegression(), thresholds=thresholds, p=2
    ).fit(columns.fit_transform(frame), y)
    scores = by_hand.predict(columns.transform(frame))
    # With ranks samples come twice where they share, and are scaled so: nearly this.
    assert np.allclose(ranker.predict(frame), scores, atol=0.02)
    assert np.array_equal(
        ranker.predict(frame[["kind", "b", "a"]]), ranker.predict(frame)
    )
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame.rename(columns={"a": "z"}))


def test_pipelines_may_impute(data):
    X, y = data
    X = np.where(X == 0, np.nan, X)
    base = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000))
    assert ThresholdDecompositionRanker(base).fit(X, y).score(X, y) > 0.6


def test_missing_values_reach_estimators_that_take_them(data):
    X, y = data
    X = np.where(X == 0, np.nan, X)
    forest = ThresholdDecompositionRanker(RandomForestClassifier(3, random_state=0))
    assert np.isfinite(forest.fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        ThresholdDecompositionRanker(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize("loss", ["sum", "precision"])
@pytest.mark.parametrize("p", [1, 2])
def test_score_is_a_share_of_the_worst_loss(oracles, loss, p):
    cases = [c for c in oracles["multilabel_losses"] if max(c["y"]) == 1]
    y = np.array([c["y"] for c in cases])
    name = "sum_at" if loss == "sum" else "prec_at"
    losses = [c[name][str(p)] for c in cases]

    class Given(ThresholdDecompositionRanker):
        def decision_function(self, X):
            # The reference orders equal scores by index.
            return -label_ranks([c["scores"] for c in cases])

    ranker = Given(Frequency(), p=p, loss=loss).fit(np.zeros((2, 1)), y)
    # Two relevant labels of five. Best: first; worst: last.
    worst = 2 * (p + 1) - (1 + min(2, p + 1)) if loss == "sum" else min(2, p)
    assert ranker.score(None, y) == pytest.approx(1 - sum(losses) / (2 * worst))


def test_equal_votes_cost_the_average_over_orders():
    class Equal(ThresholdDecompositionRanker):
        def decision_function(self, X):
            return np.zeros((1, 3))

    ranker = Equal(Frequency(), p=1).fit(np.zeros((2, 1)), [[0, 0, 1], [1, 0, 0]])
    # Rank 1, 2 or 3 costs 0, 1 or 1, where the worst costs 1.
    for y in ([[0, 0, 1]], [[1, 0, 0]]):
        assert ranker.score(None, y) == pytest.approx(1 - (0 + 1 + 1) / 3)


@pytest.mark.parametrize("n_labels", [1, 2, 4])
def test_number_of_classifiers(n_labels):
    X = np.random.default_rng(0).normal(size=(62, 2))
    y = np.stack([np.roll(np.arange(62) % 31, i) for i in range(n_labels)], axis=1)
    grades = ThresholdDecompositionRanker(Frequency()).fit(X, y).estimators_
    assert sum(map(len, grades)) == 30 * n_labels
    ranks = ThresholdDecompositionRanker(Frequency(), thresholds="rank").fit(X, y)
    fitted = [e for row in ranks.estimators_ for e in row if not isinstance(e, float)]
    assert len(fitted) == n_labels * (n_labels - 1)


def test_score_where_no_order_matters(data):
    X, y = data
    ranker = ThresholdDecompositionRanker(LogisticRegression()).fit(X, y)
    assert ranker.score(X, np.zeros(y.shape)) == 1.0
    everything = ThresholdDecompositionRanker(
        LogisticRegression(), p=y.shape[1], loss="precision"
    ).fit(X, y)
    assert everything.score(X, np.random.default_rng(0).random(y.shape)) == 1.0


def test_choices_can_be_searched(data):
    X, y = data
    search = GridSearchCV(
        ThresholdDecompositionRanker(LogisticRegression(), p=2),
        {"thresholds": ["grade", "rank"], "estimator__C": [0.1]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": LinearSVC()}, TypeError, "estimator must have predict_proba"),
        (
            {"estimator": KNeighborsClassifier(), "thresholds": "rank", "p": 1},
            TypeError,
            "estimator must take sample_weight in fit where labels share ranks",
        ),
        ({"p": 5}, ValueError, "p must be at most 4, got 5"),
        ({"p": 0}, ValueError, "p must be at least 1, got 0"),
        ({"loss": "precision"}, ValueError, "p must be given with loss='precision'"),
        ({"loss": "auc"}, ValueError, "loss must be one of"),
        ({"thresholds": "top"}, ValueError, "thresholds must be one of"),
        ({"ties": "any"}, ValueError, "ties must be one of"),
    ],
)
def test_messages(data, params, error, message):
    ranker = ThresholdDecompositionRanker(LogisticRegression()).set_params(**params)
    with pytest.raises(error, match=message):
        ranker.fit(*data)


def test_neighbours_do_with_hard_targets(data):
    X, y = data
    for params in ({}, {"thresholds": "rank", "ties": "index"}):
        ranker = ThresholdDecompositionRanker(KNeighborsClassifier(), **params)
        assert ranker.fit(X, y).score(X, y) > 0.6


def test_too_many_grades(data):
    X, _ = data
    with pytest.raises(ValueError, match="y must have at most 31 different values"):
        ThresholdDecompositionRanker(LogisticRegression()).fit(
            X, np.log1p(X * X.sum(axis=0))
        )


def read(part):
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("SKRANK_DATA", default), "multilabel", "emotions")
    if not folder.is_dir():
        pytest.skip("the data are not here")
    table, _ = arff.loadarff(folder / f"emotions-{part}.arff")
    numbers = np.column_stack([table[name].astype(float) for name in table.dtype.names])
    return numbers[:, :72], numbers[:, 72:].astype(int)  # labels last


@pytest.fixture(scope="module")
def music():
    return read("train"), read("test")


def base():
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01))


@pytest.mark.parametrize("loss", ["sum", "precision"])
def test_ties_by_index_ruin_what_grades_and_shared_ranks_do_well(music, loss):
    (X, y), (X_test, y_test) = music
    scores = {
        (thresholds, ties): ThresholdDecompositionRanker(
            base(), p=3, loss=loss, thresholds=thresholds, ties=ties
        )
        .fit(X, y)
        .score(X_test, y_test)
        for thresholds, ties in [
            ("grade", "share"),
            ("rank", "share"),
            ("rank", "index"),
        ]
    }
    assert scores["grade", "share"] >= scores["rank", "share"] > 0.75
    assert scores["rank", "share"] > scores["rank", "index"] + 0.1


def test_fewer_pairs_are_decided_better(music):
    (X, y), (X_test, y_test) = music
    ranker = SelectiveMultilabelRanker(
        ThresholdDecompositionRanker(base()), random_state=0
    ).fit(X, y)
    risk = [
        ranker.at_coverage(c).evaluate(X_test, y_test).selective_risk
        for c in (1.0, 0.8, 0.5)
    ]
    assert risk == sorted(risk, reverse=True)
    assert risk[-1] < 0.6 * risk[0]
