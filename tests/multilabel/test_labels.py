"""Labels in Y: their names, labels that never occur, labels that are unknown."""

import re
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skrank_abstain import BALToR
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    RankIntervalDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    compare,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_utility,
)
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
    multilabel_loss,
    to_items,
)
from skrank_abstain.multilabel._ranker import (
    pairwise_logistic_objective,
    warn_of_another_order,
)
from skrank_abstain.scorers import ScoreColumn

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
        SelectiveMultilabelRanker(clone(linear), random_state=0),
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


def test_scores_that_are_named_as_the_labels_are_matched_by_name(data):
    X, y = data
    model = LinearMultilabelRanker().fit(X[:250], y[:250])
    scores = pd.DataFrame(model.predict(X[250:]), columns=NAMES)
    y = y[250:].reset_index(drop=True)
    ranker = SelectiveMultilabelRanker(ScoreColumn(), random_state=0).fit(scores, y)
    other = clone(ranker).fit(scores[MOVED], y)
    assert other.threshold_ == ranker.threshold_
    np.testing.assert_array_equal(other.predict(scores[MOVED]), scores)
    # Other names tell nothing: such columns go by position.
    ours = scores.rename(columns=lambda name: f"p_{name}")
    ranker = clone(ranker).fit(ours, y)
    assert ranker.threshold_ == other.threshold_


def test_scores_upside_down_are_no_other_order_of_the_columns(data):
    X, y = data
    scores = LinearMultilabelRanker().fit(X[:250], y[:250]).predict(X[250:])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SelectiveMultilabelRanker(ScoreColumn(), random_state=0).fit(-scores, y[250:])
    told = [str(each.message) for each in caught]
    assert not [text for text in told if "use the order of training" in text]
    assert [text for text in told if "higher is better" in text]


def test_known_names_are_not_moved_by_others(data):
    X, y = data
    ranker = SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0)
    ranker.fit(X[:350], y[:350])
    tags = [name.upper() for name in NAMES]
    renamed = ranker.ranking(X[:1], item_id=tags).item_id
    assert [name.lower() for name in renamed] == [*ranker.ranking(X[:1]).item_id]
    with pytest.raises(ValueError, match=r"in the order of y, .*\['war', 'sport'"):
        ranker.ranking(X[:1], item_id=MOVED)


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


def test_classes_in_words_are_names(data):
    X, y = data
    # As of documents with a topic each: scores come in the order of the alphabet.
    topic = y.to_numpy().argmax(axis=1)
    model = LogisticRegression(max_iter=1000).fit(X, np.array(NAMES)[topic])
    single = pd.DataFrame(np.eye(5)[topic], columns=NAMES)
    for steps in (model, make_pipeline(FrozenEstimator(model)).fit(X)):
        ranker = SelectiveMultilabelRanker(steps).fit(X, single)
        order = [sorted(NAMES).index(name) for name in NAMES]
        assert np.array_equal(
            ranker.decision_function(X), model.predict_proba(X)[:, order]
        )
    nameless = SelectiveMultilabelRanker(model).fit(X, single[sorted(NAMES)].to_numpy())
    assert nameless.label_names_ == sorted(NAMES)
    other = single.rename(columns={"law": "music"})
    with pytest.raises(
        ValueError, match=r"got \['art', 'food', .*'music'.*\] are known"
    ):
        SelectiveMultilabelRanker(model).fit(X, other)


@pytest.mark.filterwarnings("ignore:The scores do not agree with relevance")
@pytest.mark.filterwarnings("ignore:.* in the wrong order:UserWarning")
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(LogisticRegression(max_iter=1000)),
        MultiOutputClassifier(LogisticRegression(max_iter=1000)),
        RandomForestClassifier(30, random_state=0),
    ],
    ids=by_type,
)
def test_columns_in_another_order_than_those_of_a_fitted_model_warn(data, model, named):
    X, y = data
    model = clone(model).fit(X[:300], y[:300].to_numpy())
    right, moved = y[300:], y[300:][MOVED]
    known = NAMES if named else [MOVED.index(name) for name in NAMES]
    with pytest.warns(UserWarning, match=re.escape(f"its scores fit {known} far bett")):
        SelectiveMultilabelRanker(model).fit(
            X[300:], moved if named else moved.to_numpy()
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SelectiveMultilabelRanker(model).fit(X[300:], right)
        # Trained here, columns of y have the order of training.
        SelectiveMultilabelRanker(clone(model)).fit(X[300:], moved)


@pytest.mark.parametrize("kind", ["alone", "alike", "one", "ranked", "rare"])
def test_a_right_order_of_labels_rarely_warns_even_of_a_useless_model(kind):
    # 100 samples of 6 labels. Chance is at most .01 by a union bound, and .003 at most
    # in these simulations; the same labels moved by one are found.
    rng, n, n_labels = np.random.default_rng(0), 100, 6
    found = {"useless": 0, "good": 0, "moved": 0}
    for _ in range(200):
        truth = rng.normal(size=(n, n_labels))
        if kind == "alike":
            truth = 0.5 * truth + rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6))
        y = truth > np.linspace(0.2, 2.0 if kind == "rare" else 1.2, n_labels)
        if kind == "one":
            y = truth == truth.max(axis=1, keepdims=True)
        if kind == "ranked":
            y = truth.argsort(axis=1).argsort(axis=1)
        noise = rng.normal(size=(n, n_labels)) + rng.normal(size=(n, 1))
        for name, scores in (
            ("useless", noise),
            ("good", 0.7 * truth + noise),
            ("moved", np.roll(1.5 * truth + noise, 1, axis=1)),
        ):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                warn_of_another_order(scores, y.astype(float), [*NAMES, "sea"])
            found[name] += len(said)
    assert found["useless"] <= 3
    assert found["good"] == 0
    assert found["moved"] > 180


def test_unknown_and_constant_labels_do_not_warn_of_an_order(data):
    X, y = data
    model = RandomForestClassifier(30, random_state=0).fit(X[:300], y[:300])
    partly = y[300:].astype(float).assign(law=1.0)
    partly.iloc[::3, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "labels .* same relevance")
        SelectiveMultilabelRanker(model).fit(X[300:], partly)


@pytest.mark.filterwarnings("ignore:labels .* same relevance:UserWarning")
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
@pytest.mark.filterwarnings("ignore:labels .* have the same relevance")
def test_models_whose_scores_place_no_label_are_refused(data):
    X, y = data[0], data[1].to_numpy().copy()
    labels = MultiOutputClassifier(LinearSVC())
    with pytest.raises(TypeError, match=r"got MultiOutputClassifier.*whose values do"):
        SelectiveMultilabelRanker(labels, random_state=0).fit(X, y)
    learner = MultiOutputClassifier(SGDClassifier(random_state=0))
    with pytest.raises(TypeError, match="whose values do not place the labels"):
        OnlineMultilabelRanker([("margins", learner)]).fit(X, y)
    margins = OneVsRestClassifier(LinearSVC())
    SelectiveMultilabelRanker(margins, random_state=0).fit(X, y)
    y[:, 2] = 0
    remedy = (
        "CalibratedClassifierCV around its classifier in OneVsRestClassifier or Thr"
    )
    with pytest.raises(TypeError, match=f"never or always occurs .*{remedy}"):
        SelectiveMultilabelRanker(margins, random_state=0).fit(X, y)
    calibrated = CalibratedClassifierCV(LinearSVC())
    for model in (
        OneVsRestClassifier(calibrated),
        ThresholdDecompositionRanker(calibrated),
    ):
        ranker = SelectiveMultilabelRanker(model, random_state=0).fit(X[:300], y[:300])
        assert (ranker.predict_ranks(X[300:])[:, 2] == y.shape[1]).all()
    # scikit-learn fits one classifier a label here, and gives it one class.
    model = SelectiveMultilabelRanker(MultiOutputClassifier(LogisticRegression()))
    with pytest.raises(ValueError, match="needs samples of at least 2 classes"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_texts_are_a_column_of_a_frame(form):
    words = np.array(["ice", "sea", "sun", "tea"])
    y = (np.arange(200)[:, None] % [2, 3, 5, 7] == 0).astype(int)
    texts = [" ".join(["so", *words[row > 0]]) for row in y]
    column = make_column_transformer((TfidfVectorizer(), "text"))
    forest = make_pipeline(column, RandomForestClassifier(9, random_state=0))
    ranker = SelectiveMultilabelRanker(forest, random_state=0)
    known = ranker.fit(pd.DataFrame({"text": texts}), y)
    assert known.score(pd.DataFrame({"text": texts}), y) > 0.95
    with pytest.raises(ValueError, match=r"DataFrame\({'text': X}\), with a ColumnTr"):
        ranker.fit(form(texts), y)


@pytest.fixture(scope="module")
def selective(data):
    X, y = data
    model = ThresholdDecompositionRanker(LogisticRegression(max_iter=1000))
    return SelectiveMultilabelRanker(model, random_state=0).fit(X[:350], y[:350])


def test_scorers_take_samples_and_their_labels(data, selective):
    X, y = data[0][350:], data[1][350:]
    items = selective.to_items(X, y)
    inner = selective.selective_ranker_
    scorers = [
        selective_utility(0.2),
        neg_aurc_scorer,
        accuracy_at_coverage(0.5),
        coverage_at_risk(0.1),
    ]
    for scorer in scorers:
        want = scorer(inner, items.X, items.y, qid=items.qid)
        assert scorer(selective, X, y) == want
        assert scorer(selective, X, y[MOVED]) == want
    with pytest.raises(ValueError, match="qid must be None, since each sample is a qu"):
        neg_aurc_scorer(selective, X, y, qid=np.arange(len(X)))


@pytest.mark.filterwarnings("ignore:.* in the wrong order")
@pytest.mark.parametrize("routing", [True, False])
def test_a_search_by_scorers(data, routing):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(),
        SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0),
    )
    grid = {"selectivemultilabelranker__estimator__alpha": [1e3, 0.01]}
    with sklearn.config_context(enable_metadata_routing=routing):
        for scoring in (neg_aurc_scorer, selective_utility(0.2)):
            search = GridSearchCV(pipeline, grid, scoring=scoring, cv=2).fit(X, y)
            scores = search.cv_results_["mean_test_score"]
            # With so strong a penalty, all samples get nearly the same order.
            assert scores[1] > scores[0]
            assert scoring(search, X, y) == scoring(search.best_estimator_, X, y)


def test_displays_take_samples_and_their_labels(data, selective):
    pytest.importorskip("matplotlib")
    X, y = data[0][350:], data[1][350:]
    items = selective.to_items(X, y)
    inner = selective.selective_ranker_
    options = {"confidence": 0.9}
    curve, want = (
        RiskCoverageDisplay.from_estimator(*each, **options)
        for each, options in (
            ((selective, X, y[MOVED]), options),
            ((inner, items.X, items.y), options | {"qid": items.qid}),
        )
    )
    assert np.array_equal(curve.selective_risk, want.selective_risk)
    assert np.array_equal(curve.band, want.band)
    shares = CoverageDisplay.from_estimator(selective, X, y, coverages=[0.3, 0.8])
    assert shares.coverage[1] == selective.evaluate(X, y).coverage
    fraction = ClassFractionDisplay.from_estimator(selective, X, y)
    assert fraction.coverage[-1] == 1
    reliability = PairReliabilityDisplay.from_estimator(selective, X, y)
    assert reliability.figure_ is not None
    places = RankIntervalDisplay.from_estimator(selective, X, y, query=3)
    assert np.array_equal(
        np.sort(places.intervals, axis=0),
        np.sort(selective.rank_intervals(X[3:4])[0], axis=0),
    )


def test_methods_agree_with_the_other_rankers(data, selective):
    X, y = data[0][350:], data[1][350:]
    decisions = selective.predict_pairs(X)
    assert np.array_equal(selective.pair_proba(X), decisions.proba)
    some = selective.pair_proba(X, pairs=[[0, 1], [7, 6]])
    assert np.array_equal(some[1], selective.pair_proba(X, pairs=[[6, 7]])[0, ::-1])
    priced = selective.at_cost(0.1)
    assert priced.threshold_ == 0.1
    d = priced.predict_pairs(X)
    assert np.array_equal(d.accepted, d.risk <= 0.1)
    assert priced.at_coverage(0.8).threshold_ == selective.threshold_
    assert priced.at_coverage(0.8).cost is None
    # A copy at a price, even one that decides nothing, can be fitted again.
    for cost in (0.1, 0.0):
        again = clone(selective.at_cost(cost)).fit(X, y)
        assert again.threshold_ == cost == again.cost
    totals = selective.evaluate(X, y, qid=None)
    assert totals.pairs.tolist() == [10] * len(X)
    with pytest.raises(ValueError, match="qid must be None"):
        selective.evaluate(X, y, qid=np.arange(len(X)))


def test_a_label_makes_no_pair_with_itself(data, selective):
    items = selective.to_items(data[0][350:], data[1][350:])
    inner, options = selective.selective_ranker_, {"groups": items.item_id}
    options |= {"qid": items.qid}
    totals = inner.evaluate(items.X, items.y, **options)
    assert list(totals.by_group) == [*combinations(sorted(NAMES), 2)]
    pairs = [part.pairs.sum() for part in totals.by_group.values()]
    assert pairs == [totals.pairs.sum() / 10] * 10
    page = inner.report(items.X, items.y, **options)
    assert "| art, food | " in page
    assert not re.search(r"^\| (\w+), \1 \|", page, re.M)
    # With a threshold for each two labels, too.
    columns = pd.DataFrame(items.X, columns=["score", "number"])
    columns["label"] = items.item_id
    apart = BALToR(inner.estimator_, groups="label", coverage=0.7, random_state=0)
    apart.fit(columns, items.y, qid=items.qid)
    page = apart.report(columns, items.y, qid=items.qid)
    lines = re.findall(r"^\| (\w+), (\w+): risk at most (\S+) \|", page, re.M)
    assert len(lines) == 10
    assert {frozenset(line[:2]) for line in lines} == {
        *map(frozenset, combinations(NAMES, 2))
    }
    label = {name: k for k, name in enumerate(apart._calibration.item_groups)}
    for a, b, risk in lines:
        region = apart._region.at((label[a], label[b]))
        assert f"{region.risk:.4g}" == risk


@pytest.fixture(scope="module")
def partly(data):
    """Return the data with a fifth of the labels unknown, one of each sample known."""
    X, y = data
    unknown = np.random.RandomState(0).random_sample(y.shape) < 0.2
    unknown[np.arange(len(y)), np.arange(len(y)) % 5] = False
    return X, y.astype(float).mask(unknown)


def by_hand(X, y, ranker):
    """Count right, wrong and all pairs of known labels of each sample."""
    scores, counts = ranker.decision_function(X), []
    for of_sample, relevance in zip(scores, y, strict=True):
        right = wrong = every = 0
        for i in range(5):
            for j in range(i):
                if np.isnan(relevance[[i, j]]).any():
                    continue
                sign = (of_sample[i] - of_sample[j]) * (relevance[i] - relevance[j])
                right, wrong, every = right + (sign > 0), wrong + (sign < 0), every + 1
        counts.append((right, wrong, every))
    return np.array(counts).T


@pytest.mark.parametrize("ranker", [*rankers()[:1], rankers()[2]], ids=by_type)
def test_score_leaves_unknown_labels_out(partly, ranker):
    X, y = partly
    ranker.fit(X[:350], y[:350])
    X, y = X[350:], y[350:].to_numpy()
    right, wrong, _ = by_hand(X, y, ranker)
    share = np.where(right + wrong, right / np.maximum(right + wrong, 1), 1.0)
    got = ranker.score(X, y)
    if isinstance(ranker, OnlineMultilabelRanker):  # equal ranks count half
        votes = ranker.decision_function(X)
        assert all(len(np.unique(row)) == 5 for row in votes)
    assert got == pytest.approx(share.mean())


@pytest.mark.parametrize("loss", ["sum", "precision"])
def test_votes_are_scored_by_known_labels(partly, loss):
    X, y = partly
    classifier = LogisticRegression(max_iter=1000)
    ranker = ThresholdDecompositionRanker(classifier, p=2, loss=loss)
    ranker.fit(X[:350], y[:350])
    X, y = X[350:], y[350:].to_numpy()
    scores = ranker.decision_function(X)
    total, worst = 0.0, 0.0
    for of_sample, relevance in zip(scores, y, strict=True):
        known = ~np.isnan(relevance)
        for by, out in ((of_sample, "got"), (-relevance, "worst")):
            value = multilabel_loss(
                [relevance[known]],
                [by[known]],
                loss=loss,
                p=min(2, known.sum()),
                ties="average",
            )
            total, worst = (
                (total + value, worst) if out == "got" else (total, worst + value)
            )
    assert ranker.score(X, y) == pytest.approx(1 - total / worst)


def test_evaluate_leaves_unknown_labels_out(partly, selective):
    X, y = partly[0][350:], partly[1][350:]
    totals = selective.evaluate(X, y)
    _, wrong, every = by_hand(X, y.to_numpy(), selective)
    assert totals.pairs.tolist() == every.tolist()
    everything = selective.at_coverage(1.0).evaluate(X, y)
    assert everything.misranked.tolist() == wrong.tolist()
    d = selective.predict_pairs(X)
    truth = y.to_numpy().ravel()
    difference = truth[d.left] - truth[d.right]
    accepted = np.bincount(d.qid, d.accepted & ~np.isnan(difference), len(X))
    assert totals.accepted.tolist() == accepted.tolist()
    given = d.accepted & (d.label != 0) & ~np.isnan(difference) & (difference != 0)
    agrees = (d.label == np.sign(difference))[given].mean()
    correctness, _ = selective.correctness_completeness(X, y)
    assert correctness == pytest.approx(2 * agrees - 1)
    page = selective.report(X, y)
    assert f"{totals.coverage:.4f}" in page


def test_unknown_labels_teach_nothing(partly):
    X, y = partly
    linear = LinearMultilabelRanker(alpha=0.1).fit(X, y)
    # A label that is unknown adds no pair: so does one that is as relevant as all.
    one = np.isnan(y.to_numpy()).sum(axis=1) > 0
    assert one.any()
    params = np.random.RandomState(1).normal(size=5 * 9)
    value, _ = pairwise_logistic_objective(params, X, y.to_numpy(), 0.0)
    weights = params.reshape(5, 9)
    scores, total = X @ weights[:, :8].T + weights[:, 8], 0.0
    for s, r in zip(scores, y.to_numpy(), strict=True):
        losses = [
            np.logaddexp(0, s[j] - s[i])
            for i in range(5)
            for j in range(5)
            if r[i] > r[j]
        ]
        total += np.mean(losses) if losses else 0.0
    assert value == pytest.approx(total / len(X))
    assert np.isfinite(linear.coef_).all()
    votes = ThresholdDecompositionRanker(LogisticRegression(max_iter=1000)).fit(X, y)
    for column in range(5):
        known = y.iloc[:, column].notna().to_numpy()
        alone = LogisticRegression(max_iter=1000)
        alone.fit(X[known], y.iloc[known, column].astype(int))
        assert np.allclose(votes.estimators_[0][column].coef_, alone.coef_)


def test_unknown_labels_calibrate_nothing(partly):
    X, y = partly
    linear = LinearMultilabelRanker(alpha=0.1).fit(X[:200], y[:200])
    ranker = SelectiveMultilabelRanker(linear).fit(X[200:], y[200:])
    items = to_items(linear.decision_function(X[200:]), y=y[200:])
    assert items.y.size == y[200:].notna().to_numpy().sum()
    by_hand = BALToR(ScoreColumn(0)).fit(items.X, items.y, qid=items.qid)
    assert ranker.threshold_ == by_hand.threshold_
    trained = SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0)
    nullable = y.astype("Int64")
    assert np.array_equal(
        trained.fit(X, y).predict(X), clone(trained).fit(X, nullable).predict(X)
    )


@pytest.mark.parametrize("ranker", rankers(), ids=by_type)
def test_unknown_labels_are_not_minus_one(partly, ranker):
    X, y = partly
    minus = y.fillna(-1.0)
    row = int((minus == -1).any(axis=1).to_numpy().argmax())
    with pytest.raises(
        ValueError, match=rf"y must hold no -1 .* in row {row}\. If -1 is no"
    ):
        ranker.fit(X, minus)
    ranker.fit(X[:350], y[:350])
    with pytest.raises(ValueError, match="y must hold no -1 and a known"):
        ranker.score(X[350:], minus[350:])
    ranker.score(X[350:], minus[350:] + 0.5 * (minus[350:] == 1))  # real numbers
    empty = y.copy()
    empty.iloc[7] = np.nan
    with pytest.raises(ValueError, match=r"a known label in each row.* in row 7"):
        ranker.fit(X, empty)
    empty = y.copy()
    empty["law"] = np.nan
    named = empty[empty.notna().any(axis=1)]
    empty = named.to_numpy()
    if isinstance(ranker, OnlineMultilabelRanker):  # its fixed experts learn nothing
        assert clone(ranker).partial_fit(X[:1], empty[:1]).n_rounds_ == 1
        return
    with pytest.raises(ValueError, match=r"each column to fit, .* in column \[2\]"):
        ranker.fit(X[: len(empty)], empty)
    inner = isinstance(ranker, SelectiveMultilabelRanker)  # its model gets an array
    with pytest.raises(ValueError, match=r"\[2\]" if inner else r"in column \['law'\]"):
        ranker.fit(X[: len(empty)], named)


def test_places_among_all_labels_need_all_labels(partly):
    ranker = ThresholdDecompositionRanker(LogisticRegression(), thresholds="rank")
    with pytest.raises(ValueError, match="y with thresholds='rank' must be finite"):
        ranker.fit(*partly)


def test_a_price_promises_no_coverage():
    data = make_multilabel_classification(200, n_classes=4, random_state=0)
    model = ThresholdDecompositionRanker(LogisticRegression())
    ranker = SelectiveMultilabelRanker(model, coverage_guarantee="hierarchical")
    with pytest.raises(ValueError, match="coverage_guarantee must be None for at_cost"):
        ranker.set_params(random_state=0).fit(*data).at_cost(0.2)


def test_rankers_with_labels_in_other_orders_are_compared_by_name(data):
    X, y = data
    one, two = (
        SelectiveMultilabelRanker(LinearMultilabelRanker(alpha=alpha), random_state=0)
        for alpha in (0.01, 10.0)
    )
    one.fit(X[:350], y[:350])
    new = X[350:], y[350:]
    want = compare(one, two.fit(X[:350], y[:350]), *new).to_frame()
    moved = compare(one, two.fit(X[:350], y[:350][MOVED]), *new).to_frame()
    assert want["b"][0] != want["a"][0]
    # The optimiser may stop a rounding away.
    assert np.allclose(moved[["a", "b"]], want[["a", "b"]], atol=1e-3)


def test_frames_of_scores_and_relevance_stand_in_one_order(data, selective):
    y = data[1][350:].set_axis([f"s{k}" for k in range(150)])
    scores = pd.DataFrame(selective.predict(data[0][350:]), y.index, NAMES)
    items = to_items(scores, y=y)
    assert items.qid.tolist() == np.repeat(y.index, 5).tolist()
    assert items.item_id.tolist() == NAMES * 150
    assert to_items(scores.to_numpy(), y=y).item_id.tolist() == NAMES * 150
    assert to_items(scores.to_numpy()).item_id.tolist() == [0, 1, 2, 3, 4] * 150
    twice = scores.set_axis(["s0", *y.index[:-1]])
    assert to_items(twice).qid.tolist() == np.repeat(range(150), 5).tolist()
    for call in (
        lambda p, y: to_items(p, y=y),
        lambda p, y: multilabel_loss(y, p, p=3),
    ):
        with pytest.raises(ValueError, match=r"must have the columns of .* in their o"):
            call(scores, y[MOVED])
        with pytest.raises(ValueError, match="must have its rows in the order of"):
            call(scores, y[::-1])


def test_samples_go_by_the_index_of_their_frame(data, selective):
    known = pd.DataFrame(data[0]).add_prefix("x")
    X = known[350:353].set_axis(["p", "q", "r"])
    ranker = SelectiveMultilabelRanker(LinearMultilabelRanker(), random_state=0)
    ranker.fit(known[:350], data[1][:350])
    samples = np.repeat(["p", "q", "r"], 5).tolist()
    assert ranker.ranking(X).qid.tolist() == samples
    assert ranker.predict_pairs(X).qid.tolist() == np.repeat(X.index, 10).tolist()
    assert ranker.to_items(X).item_id.tolist() == NAMES * 3
    many = X.set_axis(pd.MultiIndex.from_product([["p"], [1, 2, 3]]))
    assert set(ranker.ranking(many).qid) == {0, 1, 2}


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (LogisticRegression(), lambda y: y, "1d array.* Wrap a classifier .* in OneVs"),
        (
            OneVsRestClassifier(LogisticRegression()),
            lambda y: y.mask(y.cumsum() == 1),
            r"contains NaN.* in multilabel\.ThresholdDecompositionRanker; ",
        ),
        (
            LinearMultilabelRanker(),
            lambda y: [["a"], ["a", "b"]] * 250,
            "MultiLabelBin",
        ),
        (
            LinearMultilabelRanker(),
            lambda y: y.set_axis([*"aabcd"], axis=1),
            r"got \['a', 'a', 'b', 'c', 'd'\]\. Rename",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_mistakes_about_labels_name_the_way_out(data, model, change, message):
    with pytest.raises(ValueError, match=message):
        SelectiveMultilabelRanker(model).fit(data[0], change(data[1]))
    with pytest.raises(ValueError, match=r"Several labels: multilabel\.S"):
        BALToR(model).fit(*data)


@pytest.mark.filterwarnings("ignore:The scores do not agree with relevance")
@pytest.mark.filterwarnings("ignore:y must have its columns in the order:UserWarning")
def test_a_fitted_model_of_labels_in_another_order_is_noticed(data):
    X, y = data
    model = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X[:200], y[:200])
    ranker = SelectiveMultilabelRanker(model)
    ranker.fit(X[200:350], y[200:350])
    with pytest.warns(UserWarning, match=r"in the wrong order \(a coin: 50%\): check"):
        ranker.fit(X[200:350], y[200:350][["food", "law", "art", "sport", "war"]])


@pytest.mark.slow
def test_twelve_samples_rarely_call_a_good_ranker_a_coin():
    def alarms():
        for seed in range(300):
            X, y = make_multilabel_classification(
                312, n_features=8, n_classes=5, random_state=seed
            )
            model = LinearMultilabelRanker(alpha=0.1).fit(X[:300], y[:300])
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                SelectiveMultilabelRanker(model).fit(X[300:], y[300:])
            yield any("(a coin: 50%)" in str(each.message) for each in said)

    assert np.mean(list(alarms())) < 0.05


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, random_state=0),
        OneVsRestClassifier(LogisticRegression()),
        MultiOutputClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    ],
    ids=["forest", "one_vs_rest", "multi_output"],
)
def test_samples_that_trained_a_fitted_model_are_told(model):
    X, Y = make_multilabel_classification(300, random_state=0)
    model = clone(model).fit(X[:150], Y[:150])
    with pytest.warns(UserWarning, match="All, or most, of 150 calibration samples"):
        SelectiveMultilabelRanker(model, random_state=0).fit(X[:150], Y[:150])
    SelectiveMultilabelRanker(model, random_state=0).fit(X[150:], Y[150:])


def test_labels_among_the_features_are_told():
    X, Y = make_multilabel_classification(120, n_classes=3, random_state=0)
    frame = pd.DataFrame(X).assign(sad=Y[:, 1])
    ranker = SelectiveMultilabelRanker(
        OneVsRestClassifier(LogisticRegression()), random_state=0
    )
    y = pd.DataFrame(Y, columns=["calm", "sad", "glad"])
    frame.columns = frame.columns.astype(str)
    with pytest.warns(UserWarning, match=r"column 20 of X equals label 'sad'"):
        ranker.fit(frame, y)
    ranker.fit(frame.drop(columns="sad"), y)
