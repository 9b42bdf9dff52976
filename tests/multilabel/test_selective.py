"""Labels as items of queries, and rankings of them that abstain."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sequential import is_rare
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    label_ranks,
    to_items,
)
from skrank_abstain.multilabel._ranker import label_scores
from skrank_abstain.scorers import ScoreColumn

pytestmark = pytest.mark.filterwarnings("ignore:Liblinear:UserWarning")


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(
        500, n_features=8, n_classes=5, random_state=3
    )
    return X.astype(float), y


@pytest.fixture(scope="module")
def ranker(data):
    X, y = data
    model = ThresholdDecompositionRanker(LogisticRegression(max_iter=1000))
    return SelectiveMultilabelRanker(model, random_state=0).fit(X[:350], y[:350])


def parts(items):
    return {"X": items.X, "y": items.y, "qid": items.qid}


def test_items_hold_scores_labels_and_samples():
    scores, y = np.arange(6.0).reshape(2, 3), np.array([[0, 1, 2], [2, 1, 0]])
    items = to_items(scores, y=y)
    for sample in range(2):
        for label in range(3):
            row = 3 * sample + label
            assert items.X[row].tolist() == [scores[sample, label], label]
            assert (items.y[row], items.qid[row]) == (y[sample, label], sample)
    assert to_items(scores).y is None
    with pytest.raises(ValueError, match="y must have 3 labels"):
        to_items(scores, y=[[1], [0]])


def test_it_is_baltor_on_the_items(data, ranker):
    X, y = data
    by_hand = BALToR(ScoreColumn(0), tie_model="graded_relevance", random_state=0)
    fitted = ranker.estimator_
    whole = SelectiveMultilabelRanker(fitted).fit(X, y)
    items = to_items(fitted.decision_function(X), y=y)
    by_hand.fit(items.X, items.y, qid=items.qid)
    mine, theirs = whole.predict_pairs(X), by_hand.predict_pairs(items.X, qid=items.qid)
    for name in ("left", "right", "qid", "label", "accepted", "risk", "proba"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name))
    assert whole.threshold_ == by_hand.threshold_
    assert whole.prefit_


def test_pairs_count_samples_and_labels(data, ranker):
    decisions = ranker.predict_pairs(data[0][:3])
    assert len(decisions) == 3 * 10
    assert np.array_equal(decisions.left // 5, decisions.qid)
    assert np.array_equal(decisions.right // 5, decisions.qid)
    assert (decisions.left % 5 < decisions.right % 5).all()
    some = ranker.predict_pairs(data[0][:3], pairs=[[5, 7], [14, 10]])
    assert some.qid.tolist() == [1, 2]
    assert ranker.abstain(data[0][:3], pairs=[[5, 7]]).shape == (1,)
    with pytest.raises(ValueError, match="pairs"):
        ranker.predict_pairs(data[0][:3], pairs=[[4, 5]])


def test_intervals_are_those_of_the_accepted_orders(data, ranker):
    X = data[0][350:]
    intervals = ranker.rank_intervals(X)
    assert intervals.shape == (150, 5, 2)
    d = ranker.predict_pairs(X)
    best, worst = np.ones(750, dtype=int), np.full(750, 5)
    strict = d.accepted & (d.label != 0)
    winner = np.where(d.label > 0, d.left, d.right)[strict]
    loser = np.where(d.label > 0, d.right, d.left)[strict]
    np.add.at(best, loser, 1)
    np.subtract.at(worst, winner, 1)
    assert np.array_equal(intervals.reshape(-1, 2), np.stack([best, worst], axis=1))


def test_a_ranking_by_name(data, ranker):
    X, names = data[0][350:353], ["sport", "art", "law", "war", "food"]
    ranking = ranker.ranking(X, item_id=names)
    assert ranking.qid.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    column = np.array([names.index(name) for name in ranking.item_id])
    places = ranker.predict_ranks(X)[ranking.qid, column]
    np.testing.assert_array_equal(ranking.place, places)
    bounds = ranker.rank_intervals(X)[ranking.qid, column]
    np.testing.assert_array_equal(np.stack([ranking.best, ranking.worst], 1), bounds)
    np.testing.assert_array_equal(ranker.ranking(X).item_id, column)
    for wrong in (names[:4], names * 3, ["art", *names[1:]], "sport"):
        with pytest.raises(ValueError, match=r"item_id must (have one|be unique)"):
            ranker.ranking(X, item_id=wrong)


def test_coverage_and_accuracy_on_new_samples(data, ranker):
    X, y = data[0][350:], data[1][350:]
    totals = ranker.evaluate(X, y)
    assert totals.coverage == pytest.approx(0.8, abs=0.1)
    assert ranker.score(X, y) == totals.score
    strict = ranker.at_coverage(0.3)
    # A third fewer wrong orders, at least.
    assert strict.evaluate(X, y).selective_risk < totals.selective_risk * 2 / 3
    assert 0.5 < strict.score(X, y) < ranker.score(X, y)
    assert (strict.coverage, ranker.coverage) == (0.3, 0.8)
    assert strict.coverage_ == pytest.approx(0.3, abs=0.02)
    assert strict.threshold_ < ranker.threshold_


def test_correctness_and_completeness_count_pairs(data, ranker):
    X, y = data[0][350:], data[1][350:]
    d = ranker.predict_pairs(X)
    truth = np.sign(y.ravel()[d.left] - y.ravel()[d.right])
    given = d.accepted & (d.label != 0) & (truth != 0)
    right = (d.label == truth)[given]
    correctness, completeness = ranker.correctness_completeness(X, y)
    assert correctness == pytest.approx(2 * right.mean() - 1)
    assert completeness == pytest.approx(given.sum() / (truth != 0).sum())
    low = ranker.at_coverage(0.3).correctness_completeness(X, y)
    assert low[1] < completeness


def test_ranks_and_scores_are_the_estimators(data, ranker):
    X = data[0][:20]
    scores = ranker.estimator_.decision_function(X)
    assert np.array_equal(ranker.predict(X), scores)
    assert np.array_equal(ranker.predict_ranks(X), label_ranks(scores))


MODELS = [
    RandomForestClassifier(20, random_state=0),
    MultiOutputClassifier(LogisticRegression(max_iter=1000)),
    OneVsRestClassifier(LogisticRegression(max_iter=1000)),
    make_pipeline(StandardScaler(), Ridge()),
    LinearMultilabelRanker(alpha=0.1),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_any_estimator_of_several_outputs(data, model):
    X, y = data
    ranker = SelectiveMultilabelRanker(model, coverage=0.6, random_state=0)
    ranker.fit(X[:350], y[:350])
    assert not ranker.prefit_
    assert ranker.score(X[350:], y[350:]) > 0.7
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))


def test_scores_of_classifiers_with_a_list_of_probabilities(data):
    X, y = data
    y = y.copy()
    y[:, 1] *= 2  # grades 0 and 2
    y[:, 2] = 1
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    proba = forest.predict_proba(X)
    scores = label_scores(forest, X, 5)
    assert np.allclose(scores[:, 0], proba[0][:, 1])
    assert np.allclose(scores[:, 1], 2 * proba[1][:, 1])
    assert (scores[:, 2] == 1).all()
    with pytest.raises(ValueError, match="scores must have 4 labels"):
        label_scores(forest, X, 4)


@pytest.mark.filterwarnings("ignore:All, or most, of 60 calibration samples")
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize(
    "model",
    [RidgeClassifier(), ClassifierChain(RidgeClassifier())],
    ids=["ridge", "chain"],
)
def test_constants_of_labels_without_two_classes_are_no_scores(model, value, fitted):
    X, y = make_multilabel_classification(60, n_classes=4, random_state=0)
    estimator = clone(model).fit(X, y) if fitted else clone(model)
    assert SelectiveMultilabelRanker(estimator).fit(X, y).n_labels_ == 4
    y[:, 2] = value
    estimator = clone(model).fit(X, y) if fitted else clone(model)
    with pytest.raises(TypeError, match="no label that never or always occurs in trai"):
        SelectiveMultilabelRanker(estimator).fit(X, y)


def test_unfitted_rankers_say_so(data):
    unfitted = SelectiveMultilabelRanker(LinearMultilabelRanker())
    methods = unfitted.score, unfitted.evaluate, unfitted.report
    for method in (*methods, unfitted.correctness_completeness):
        with pytest.raises(NotFittedError):
            method(*data)
    for method in (unfitted.predict, unfitted.predict_pairs, unfitted.abstain):
        with pytest.raises(NotFittedError):
            method(data[0])


def test_prefit(data):
    X, y = data
    model = LinearMultilabelRanker(alpha=0.1)
    with pytest.raises(NotFittedError, match="prefit=True needs a fitted estimator"):
        SelectiveMultilabelRanker(model, prefit=True).fit(X, y)
    model.fit(X[:100], y[:100])
    ranker = SelectiveMultilabelRanker(model)
    assert isinstance(clone(ranker).estimator, FrozenEstimator)
    scores = cross_val_score(ranker, X[100:], y[100:], cv=2)
    assert (scores > 0.6).all()
    assert not SelectiveMultilabelRanker(model, prefit=False).fit(X, y).prefit_
    with pytest.raises(ValueError, match="must not be set on a fitted estimator"):
        ranker.set_params(estimator__alpha=2.0)


def test_grid_search_needs_no_queries(data):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0),
            {"estimator__alpha": [0.1, 1.0]},
            cv=2,
        ).fit(X, y)
        routing = search.best_estimator_.get_metadata_routing()
    assert search.best_score_ > 0.6
    assert "qid" not in routing.fit.requests


def test_what_knows_queries_knows_labels(data, ranker):
    X, y = data[0][350:], data[1][350:]
    pytest.importorskip("matplotlib")
    display = RiskCoverageDisplay.from_estimator(
        ranker.selective_ranker_, **parts(ranker.to_items(X, y))
    )
    assert display is not None
    controlled = RiskControlledRanker(
        ScoreColumn(0), max_risk=0.3, tie_model="graded_relevance", random_state=0
    ).fit(**parts(ranker.to_items(X, y)))
    assert controlled.predict_pairs(to_items(ranker.predict(X[:1])).X).coverage > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No threshold could be certified")
def test_a_bound_on_wrong_orders_of_labels_is_rarely_broken():
    def broken():
        for seed in range(200):
            X, y = make_multilabel_classification(
                1500, n_features=6, n_classes=5, length=12, random_state=seed
            )
            model = LinearMultilabelRanker(alpha=0.01).fit(X[:200], y[:200])
            items, new = (
                parts(to_items(model.predict(X[rows]), y=y[rows]))
                for rows in (slice(200, 400), slice(400, None))
            )
            ranker = RiskControlledRanker(
                ScoreColumn(0), max_risk=0.1, delta=0.1, random_state=0
            ).fit(**items)
            totals = ranker.evaluate(**new)
            yield ranker.certified_ and totals.discordance_interval("queries")[0] > 0.1

    assert is_rare(broken(), 0.1, 0.25)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "bsr"])
def test_sparse_relevance(data, form):
    X, y = data
    dense, sparse = (
        SelectiveMultilabelRanker(LinearMultilabelRanker(alpha=0.1), random_state=0)
        .fit(X, relevance)
        .predict(X)
        for relevance in (y, csr_array(y).asformat(form))
    )
    assert np.array_equal(dense, sparse)


def test_report(data, ranker):
    X, y = data[0][350:], data[1][350:]
    page = ranker.report(X, y)
    assert page.startswith("# SelectiveMultilabelRanker: report")
    assert "- ranker: ThresholdDecompositionRanker, trained here; each label" in page
    inner = ranker.selective_ranker_.report(**parts(ranker.to_items(X, y)))
    assert "- ranker: ScoreColumn, used as it was given" in inner
    seen = (
        "- samples with features that fit had in its training and calibration "
        "data: 0 of"
    )
    assert seen in page
    # Else they are one page; what the inner ranker knows are scores, which repeat too
    # often to be looked for, and which it shows of the first and the last items.
    outer, inner = (
        {line for line in text.split("\n") if not line.startswith("- date: ")}
        for text in (page, inner)
    )
    assert [len(inner - outer), len(outer - inner)] == [11, 8]
    assert f"{ranker.evaluate(X, y).coverage:.4f}" in page
    fitted = SelectiveMultilabelRanker(ranker.estimator_).fit(X, y)
    line = "- ranker: ThresholdDecompositionRanker, used as it was given"
    assert line in fitted.report(X, y)
    # The data that fit got have the fingerprint that fit remembers.
    own = [
        text for text in fitted.report(X, y).splitlines() if "fingerprint of" in text
    ]
    assert own[0].split(": ")[1] == own[1].split(": ")[1]
    unlabelled = ranker.report(X, groups=np.arange(len(X)) % 2)
    assert "NO LABELS WERE GIVEN" in unlabelled
    assert f"| 0 | {(len(X) + 1) // 2} | " in unlabelled


def test_coverage_can_be_guaranteed(data, ranker):
    X, y = data
    sure = SelectiveMultilabelRanker(
        ranker.estimator_, coverage_guarantee="hierarchical", random_state=0
    ).fit(X[200:350], y[200:350])
    assert sure.evaluate(X[350:], y[350:]).coverage > 0.75


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"coverage": 0.0}, None, r"coverage must be in \(0, 1\], got 0.0"),
        ({"tie_model": "elo"}, None, "tie_model must be"),
        ({}, np.zeros((40, 1)), "y must have at least 2 labels"),
        ({}, np.zeros(40), "y must be of shape"),
        ({"calibration_size": 1.5}, None, "calibration_size must be"),
    ],
)
def test_messages(data, params, y, message):
    ranker = SelectiveMultilabelRanker(Ridge()).set_params(**params)
    with pytest.raises(ValueError, match=message):
        ranker.fit(data[0][:40], data[1][:40] if y is None else y)


def test_labels_that_say_nothing_are_named(data):
    """Pairs with them are decided first, and little is left for the others."""
    X, y = data
    pd = pytest.importorskip("pandas")
    y = pd.DataFrame(y, columns=[*"abcde"])
    y["flat"] = 0
    model = SelectiveMultilabelRanker(LinearMultilabelRanker(alpha=0.1), random_state=0)
    with pytest.warns(UserWarning, match=r"labels \['flat'\] have the same relevance"):
        model.fit(X, y)


def test_scores_of_another_system_are_decided(data, ranker):
    (X, y), model = data, ranker.estimator_
    inside = SelectiveMultilabelRanker(ScoreColumn(), random_state=0)
    inside.fit(model.predict(X[350:450]), y[350:450])
    by_model = SelectiveMultilabelRanker(model, random_state=0)
    by_model.fit(X[350:450], y[350:450])
    new = model.predict(X[450:])
    np.testing.assert_array_equal(inside.predict(new), new)
    made, expected = inside.predict_pairs(new), by_model.predict_pairs(X[450:])
    np.testing.assert_array_equal(made.accepted, expected.accepted)
    np.testing.assert_array_equal(made.label, expected.label)
    with pytest.raises(ValueError, match="X of ScoreColumn must have 5 labels"):
        SelectiveMultilabelRanker(ScoreColumn()).fit(new[:, :2], y[450:])


def test_samples_that_trained_certify_nothing_without_a_word(data, ranker):
    X, y = data
    for ask in (ranker.to_items, ranker.evaluate):
        with pytest.warns(UserWarning, match="samples have the features of samples th"):
            ask(X[:350], y[:350])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(X[350:], y[350:])


@pytest.mark.filterwarnings("ignore:The scores do not agree with relevance")
def test_texts_name_the_way_in():
    texts = pd.DataFrame({"text": [f"word{k % 7} more words" for k in range(60)]})
    y = np.arange(60)[:, None] % [2, 3] == 0
    model = OneVsRestClassifier(LogisticRegression())
    right = make_column_transformer((TfidfVectorizer(), "text"))
    ranker = SelectiveMultilabelRanker(make_pipeline(right, model), random_state=0)
    assert ranker.fit(texts, y.astype(int)).n_labels_ == 2
    for wrong in (
        TfidfVectorizer(),
        make_column_transformer((TfidfVectorizer(), ["text"])),
    ):
        ranker = SelectiveMultilabelRanker(make_pipeline(wrong, model), random_state=0)
        with pytest.raises(
            ValueError, match=r"Texts are a column of a frame, for make"
        ):
            ranker.fit(texts, y.astype(int))
