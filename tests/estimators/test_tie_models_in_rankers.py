"""Tie models inside the rankers: by name on little data, and with features."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain import BALToR, CostAbstainer, PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import selective_utility
from skrank_abstain.pairs import pair_labels
from skrank_abstain.tie_models import FeatureAwareRelevance, GradedRelevance

NAMES = [
    "bradley_terry",
    "davidson",
    "thurstone_mosteller",
    "graded_relevance",
    "isotonic_difference",
    "feature_aware_relevance",
]
# What tie models say of pairs that are all tied, or that their scores divide.
FEW = [
    "ignore:All items have the same:UserWarning",
    "ignore:The maximum-like:UserWarning",
]
AWARE = FeatureAwareRelevance(DecisionTreeRegressor(max_depth=3, random_state=0))
CELLS = {"graded": GradedRelevance(), "aware": AWARE}


def weak_scores(n_queries=40, random_state=0):
    """Queries whose first column is a noisy utility, and the second a better one."""
    data = make_ranking(n_queries, (1, 12), random_state=random_state)
    noise = np.random.default_rng(random_state).normal(size=(data.utility.size, 2))
    noisy = data.utility[:, None] + noise * [2, 0.2]
    return np.column_stack([noisy, data.data]), data.target, data.qid


@pytest.fixture(scope="module", params=sorted(CELLS))
def tie_model(request):
    return CELLS[request.param]


@pytest.fixture(scope="module")
def data():
    return weak_scores()


@pytest.fixture(scope="module", params=["budget", "random boundary", "price", "loss"])
def ranker(request, tie_model, data):
    model = FirstColumn().fit(None, None)
    made = {
        "budget": BALToR(model, coverage=0.6),
        "random boundary": BALToR(
            model, coverage=0.6, boundary="randomize", random_state=0
        ),
        "price": CostAbstainer(model, cost=0.4),
        "loss": CostAbstainer(model, cost=0.5, loss=[[0, 1, 3], [1, 0, 1], [3, 1, 0]]),
    }[request.param]
    X, y, qid = data
    return made.set_params(tie_model=tie_model).fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def new():
    return weak_scores(25, random_state=7)


def acceptance(ranker, X, qid, decisions):
    """Probability that each pair is accepted."""
    values = ranker._scored(X, qid).value
    bins = ranker.tie_model_.bins(values)
    place, _ = ranker._calibration.engine._places()
    left, right = decisions.left, decisions.right
    # Equal values stand in the last column.
    equal = values[left] == values[right]
    return ranker._region.weight(place[bins[left], np.where(equal, -1, bins[right])])


# Decisions
def test_evaluate_adds_up_the_decisions_of_each_query(ranker, new):
    X, y, qid = new
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    weight = acceptance(ranker, X, qid, decisions)
    item_weight = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    product = item_weight[decisions.left] * item_weight[decisions.right]
    right = decisions.label == truth
    for given, mass in ((None, np.ones(len(decisions))), (item_weight, product)):
        totals = ranker.evaluate(X, y, qid=qid, sample_weight=given)
        expected = {
            "pairs": mass,
            "accepted": mass * weight,
            "correct": mass * weight * right,
            "correct_all": mass * right,
            "tied": mass * (truth == 0),
            "answered_tie": mass * weight * (decisions.label == 0),
        }
        for name, values in expected.items():
            sums = np.bincount(decisions.qid, values, minlength=25)
            np.testing.assert_allclose(
                getattr(totals, name), sums, atol=1e-9, err_msg=name
            )
        decided = (mass * weight).sum()
        assert totals.selective_risk == pytest.approx(totals.loss.sum() / decided)
        assert totals.accuracy == pytest.approx((mass * weight * right).sum() / decided)
        assert ranker.score(X, y, qid=qid, sample_weight=given) == totals.score


def test_the_profile_is_that_of_all_pairs(ranker, new):
    X, y, qid = new
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    profile = ranker.risk_profile(X, y, qid=qid)
    levels, entry = np.unique(decisions.risk, return_inverse=True)
    np.testing.assert_array_equal(profile.risk, levels)
    np.testing.assert_array_equal(profile.n_pairs, np.bincount(entry))
    spent = np.bincount(entry, ranker._loss[decisions.label + 1, truth + 1])
    np.testing.assert_array_equal(profile.loss, spent)


def test_chosen_pairs_are_decided_as_among_all(ranker, new):
    X, _, qid = new
    every = ranker.predict_pairs(X, qid=qid)
    some = np.random.default_rng(0).permutation(len(every))[:100]
    pairs = np.stack([every.left, every.right], axis=1)[some]
    chosen = ranker.predict_pairs(X, qid=qid, pairs=pairs)
    turned = ranker.predict_pairs(X, qid=qid, pairs=pairs[:, ::-1])
    for name in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(every, name)[some])
    np.testing.assert_array_equal(turned.label, -chosen.label)
    np.testing.assert_array_equal(turned.accepted, chosen.accepted)
    np.testing.assert_array_equal(turned.risk, chosen.risk)
    np.testing.assert_array_equal(turned.proba, chosen.proba[:, ::-1])
    # Query by query.
    parts = list(ranker.iter_pairs(X, qid=qid))
    for name in ("left", "right", "label", "accepted", "risk", "proba"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(every, name))


def test_the_order_of_rows_does_not_matter(ranker, new):
    X, y, qid = new
    order = np.random.default_rng(1).permutation(y.size)
    place = np.argsort(order)
    every = ranker.predict_pairs(X, qid=qid)
    moved = ranker.predict_pairs(
        X[order],
        qid=qid[order],
        pairs=np.stack([place[every.left], place[every.right]], axis=1),
    )
    np.testing.assert_array_equal(moved.label, every.label)
    np.testing.assert_array_equal(moved.accepted, every.accepted)
    np.testing.assert_array_equal(moved.risk, every.risk)
    one = ranker.evaluate(X, y, qid=qid).accuracy
    other = ranker.evaluate(X[order], y[order], qid=qid[order]).accuracy
    assert other == pytest.approx(one, rel=1e-12)


def certain_orders(ranker, X, qid=None):
    """Pairs (winner, loser) that are accepted as orders off the boundary."""
    decisions = ranker.predict_pairs(X, qid=qid)
    certain = (acceptance(ranker, X, qid, decisions) == 1) & (decisions.label != 0)
    swap = decisions.label < 0
    winner = np.where(swap, decisions.right, decisions.left)[certain]
    loser = np.where(swap, decisions.left, decisions.right)[certain]
    return winner, loser


def test_accepted_orders_are_a_semiorder_without_cycles(ranker, new):
    X, _, qid = new
    # Above a half an order may be accepted beside a stronger tie.
    assert ranker.threshold_ <= 0.5
    intervals = ranker.rank_intervals(X, qid=qid)
    winner, loser = certain_orders(ranker, X, qid)
    values = ranker._scored(X, qid).value
    assert (values[winner] > values[loser]).all()
    sizes = np.bincount(qid)[qid]
    np.testing.assert_array_equal(
        intervals[:, 0], 1 + np.bincount(loser, minlength=qid.size)
    )
    np.testing.assert_array_equal(
        intervals[:, 1], sizes - np.bincount(winner, minlength=qid.size)
    )
    for query in np.unique(qid)[:8]:
        rows = np.flatnonzero(qid == query)
        orders = {(a, b) for a, b in zip(winner, loser, strict=True) if qid[a] == query}
        for (a, b), (c, d) in itertools.product(orders, repeat=2):
            assert (a, d) in orders or (c, b) in orders
            if b == c:
                assert all((a, e) in orders or (e, d) in orders for e in rows)


def test_the_graph_closes_to_the_accepted_orders(ranker, new):
    X, _, qid = new
    # Above a half an order may be accepted beside a stronger tie.
    assert ranker.threshold_ <= 0.5
    # The largest query: few pairs of a small one are accepted.
    X = X[qid == np.bincount(qid).argmax()]
    graph = ranker.preference_graph(X).toarray()
    reached = graph.copy()
    for _ in range(len(X)):
        reached |= reached.astype(int) @ reached.astype(int) > 0
    orders = set(zip(*map(np.ndarray.tolist, certain_orders(ranker, X)), strict=True))
    assert set(map(tuple, np.argwhere(reached).tolist())) == orders
    assert not (graph & (graph.astype(int) @ reached.astype(int) > 0)).any()


def test_another_threshold_is_that_of_another_fit(tie_model, data, new):
    X, y, qid = data
    model = FirstColumn().fit(None, None)
    ranker = BALToR(model, coverage=0.9, tie_model=tie_model).fit(X, y, qid=qid)
    fitted = BALToR(model, coverage=0.4, tie_model=tie_model).fit(X, y, qid=qid)
    other = ranker.at_coverage(0.4)
    assert other.threshold_ == fitted.threshold_
    assert other.coverage_ == fitted.coverage_ >= 0.4
    assert other.tie_model_ is ranker.tie_model_
    np.testing.assert_array_equal(
        other.abstain(new[0], qid=new[2]), fitted.abstain(new[0], qid=new[2])
    )
    # Budget and price are two names for one threshold.
    price = CostAbstainer(model, cost=other.threshold_, tie_model=tie_model)
    price.fit(X, y, qid=qid)
    assert price.coverage_ == other.coverage_
    assert price.at_cost(0.0).coverage_ == 0
    everything = ranker.at_coverage(1.0)
    assert not everything.abstain(new[0], qid=new[2]).any()


@pytest.mark.parametrize("coverage", [0.3, 0.6, 0.9])
def test_new_queries_are_covered_as_asked(tie_model, coverage):
    covered, surplus = [], []
    for seed in range(4):
        X, y, qid = weak_scores(200, random_state=seed)
        ranker = BALToR(
            FirstColumn().fit(None, None), coverage=coverage, tie_model=tie_model
        ).fit(X, y, qid=qid)
        # A step of the risk may be as large as the pairs of two bins.
        assert coverage <= ranker.coverage_ < coverage + 0.02
        X, y, qid = weak_scores(200, random_state=100 + seed)
        totals = ranker.evaluate(X, y, qid=qid)
        decisions = ranker.predict_pairs(X, qid=qid)
        covered.append(totals.coverage)
        expected = decisions.risk[decisions.accepted].mean()
        surplus.append(expected - totals.selective_risk)
    # Of four runs, each with a standard deviation of about 0.02.
    assert np.mean(covered) == pytest.approx(coverage, abs=0.035)
    # The risks are as promised.
    assert np.mean(surplus) == pytest.approx(0, abs=0.035)


def test_features_buy_accuracy():
    train, new = (weak_scores(250, random_state=s) for s in (1, 2))
    accuracy = {}
    for name, model in {
        "graded": GradedRelevance(),
        "aware": FeatureAwareRelevance(Ridge()),
    }.items():
        ranker = BALToR(FirstColumn().fit(None, None), tie_model=model, coverage=0.5)
        ranker.fit(train[0], train[1], qid=train[2])
        totals = ranker.evaluate(new[0], new[1], qid=new[2])
        accuracy[name] = 1 - totals.selective_risk
    assert accuracy["aware"] > accuracy["graded"] + 0.02


def test_predict_keeps_the_scores_of_the_ranker(ranker, new):
    # Values are what the tie model compares; items are still scored by the ranker.
    np.testing.assert_array_equal(ranker.predict(new[0]), new[0][:, 0])


def test_a_fitted_ranker_survives_pickling(ranker, new):
    X, _, qid = new
    again = pickle.loads(pickle.dumps(ranker))
    one, other = (r.predict_pairs(X, qid=qid) for r in (ranker, again))
    np.testing.assert_array_equal(one.accepted, other.accepted)
    np.testing.assert_array_equal(one.proba, other.proba)


# Where X comes from
def test_the_query_column_is_no_feature(data, new):
    X, y, qid = data
    names = [f"x{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(q=[f"query {q}" for q in qid])
    for kind in (BALToR, CostAbstainer):
        by_column = kind(FirstColumn().fit(None, None), tie_model=AWARE, qid_col="q")
        by_column.fit(frame, y)
        plain = kind(FirstColumn().fit(None, None), tie_model=AWARE)
        plain.fit(pd.DataFrame(X, columns=names), y, qid=qid)
        assert by_column.threshold_ == plain.threshold_
        other = pd.DataFrame(new[0], columns=names).assign(q=new[2])
        shuffled = other[other.columns[::-1]]
        one, two, three = (
            by_column.predict_pairs(other),
            by_column.predict_pairs(shuffled),
            plain.predict_pairs(other.drop(columns="q"), qid=new[2]),
        )
        np.testing.assert_array_equal(one.accepted, two.accepted)
        np.testing.assert_array_equal(one.risk, three.risk)


def test_features_that_are_no_numbers_are_refused_with_advice(data):
    X, y, qid = data
    frame = pd.DataFrame(X[:, :2], columns=["score", "other"])
    frame["kind"] = np.where(X[:, 2] > 0, "a", "b")
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=AWARE)
    with pytest.raises(ValueError, match="put an encoder before the selective ranker"):
        ranker.fit(frame, y, qid=qid)
    BALToR(FirstColumn().fit(None, None), tie_model="graded_relevance").fit(
        frame, y, qid=qid
    )
    # The advice helps.
    encoded = frame.assign(kind=OrdinalEncoder().fit_transform(frame[["kind"]]))
    assert ranker.fit(encoded, y, qid=qid).tie_model_.weights_[0] > 0


def test_inside_a_pipeline(data, new):
    X, y, qid = data
    frame = np.column_stack([qid, X])
    pipe = make_pipeline(
        FunctionTransformer(lambda A: A),
        BALToR(Ridge(), tie_model=AWARE, qid_col=0, random_state=0),
    ).fit(frame, y)
    other = np.column_stack([new[2], new[0]])
    assert pipe.predict(other).shape == new[1].shape
    assert 0.5 < pipe.score(other, new[1]) < 1


def test_a_pipeline_as_the_wrapped_ranker():
    X, y, qid = weak_scores(160)
    one = FunctionTransformer(lambda A: A[:, :1])
    wrapped = make_pipeline(one, StandardScaler(), Ridge())
    ranker = BALToR(wrapped, tie_model=AWARE, random_state=0).fit(X, y, qid=qid)
    # The tie model sees the features as they came, not as the pipeline made them.
    assert ranker.tie_model_.regressors_[0].n_features_in_ == 2 * X.shape[1] + 3


def test_search_over_tie_models(data):
    X, y, qid = data
    frame = np.column_stack([qid, X])
    search = GridSearchCV(
        CostAbstainer(FrozenEstimator(FirstColumn().fit(None, None)), qid_col=0),
        {
            "tie_model": ["bradley_terry", "graded_relevance", AWARE],
            "cost": [0.3, 0.45],
        },
        scoring=selective_utility(0.3),
        cv=GroupKFold(3),
        error_score="raise",
    ).fit(frame, y, groups=qid)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert hasattr(search.best_estimator_, "tie_model_")
    nested = GridSearchCV(
        BALToR(FrozenEstimator(FirstColumn().fit(None, None)), tie_model=AWARE),
        {"tie_model__regressor__max_depth": [1, 4], "tie_model__max_grades": [2]},
        cv=GroupKFold(3),
        error_score="raise",
    ).set_params(estimator__qid_col=0)
    nested.fit(frame, y, groups=qid)
    best = nested.best_estimator_.tie_model_
    assert (
        best.regressors_[0].max_depth
        == nested.best_params_["tie_model__regressor__max_depth"]
    )
    assert best.max_grades == 2
    assert AWARE.regressor.max_depth == 3


def test_repeated_fits_agree(tie_model, data, new):
    X, y, qid = data
    ranker = BALToR(Ridge(), tie_model=tie_model, random_state=0)
    one = ranker.fit(X, y, qid=qid).predict_pairs(new[0], qid=new[2])
    other = clone(ranker).fit(X, y, qid=qid).predict_pairs(new[0], qid=new[2])
    np.testing.assert_array_equal(one.risk, other.risk)
    np.testing.assert_array_equal(one.accepted, other.accepted)


# The report
@pytest.mark.parametrize(
    ("kind", "tie_model"),
    [
        *((BALToR, name) for name in NAMES),
        pytest.param(BALToR, AWARE, id="own_regressor"),
        (CostAbstainer, "graded_relevance"),
    ],
)
def test_every_tie_model_has_a_report(kind, tie_model, data, new):
    X, y, qid = data
    ranker = kind(FirstColumn().fit(None, None), tie_model=tie_model)
    ranker.fit(X, y, qid=qid)
    lines = ranker.report(new[0], new[1], qid=new[2]).splitlines()
    [place] = [k for k, line in enumerate(lines) if "tie model: " in line]
    assert type(ranker.tie_model_).__name__ in lines[place]
    # One line of numbers, no dumps of arrays and objects.
    assert lines[place + 1].startswith("- calibrated on")
    assert len(lines[place]) < 400
    for garbage in ("array(", "object at 0x", "MonotoneCurve("):
        assert garbage not in lines[place]
    if isinstance(ranker.tie_model_, GradedRelevance):
        assert f"slope_ = {ranker.tie_model_.slope_:.6g}" in lines[place]


# Every model by its name, on little data


@pytest.mark.filterwarnings(*FEW)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_items", [2, 60])
def test_little_data(name, n_items):
    X, y, qid = (part[:n_items] for part in weak_scores(12))
    if n_items == 2:
        y, qid = np.argsort(X[:, 0]), np.zeros(2)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=name, coverage=0.5)
    ranker.fit(X, y, qid=qid)
    decisions = ranker.predict_pairs(X, qid=qid)
    assert decisions.accepted.any()
    np.testing.assert_allclose(decisions.proba.sum(axis=1), 1)
    assert 0 <= ranker.threshold_ <= 2 / 3 + 1e-12


@pytest.mark.filterwarnings(*FEW)
@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_tied(name):
    X, _, qid = weak_scores(12)
    y = np.ones(qid.size)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=name, loss="zero_one")
    decisions = ranker.fit(X, y, qid=qid).predict_pairs(X, qid=qid)
    assert (decisions.label == 0).all()
    with pytest.warns(UndefinedMetricWarning, match="score is undefined"):
        assert np.isnan(ranker.score(X, y, qid=qid))
    # No item is known to be better than another.
    sizes = np.bincount(qid)[qid]
    expected = np.stack([np.ones_like(sizes), sizes], axis=1)
    np.testing.assert_array_equal(ranker.rank_intervals(X, qid=qid), expected)


# Labelled pairs
def pairs_of_two(n, kind, seed=0):
    """Queries of two items that follow a model of the score difference exactly."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n, 2))
    noise = rng.logistic(size=n) if kind == "logit" else rng.normal(size=n)
    latent = scores[:, 0] - scores[:, 1] + noise
    label = np.sign(np.where(np.abs(latent) < 1, 0, latent))
    y = np.stack([label, np.zeros(n)], axis=1).ravel()
    return scores.reshape(-1, 1), y, np.repeat(np.arange(n), 2)


def test_labelled_pairs_know_no_relevance():
    scores, y, _ = pairs_of_two(200, "logit")
    for name in ("graded_relevance", "feature_aware_relevance"):
        classifier = PairwiseRankerClassifier(
            FirstColumn().fit(None, None), tie_model=name
        )
        with pytest.raises(
            ValueError, match="tie_model must be one of 'bradley_terry'"
        ):
            classifier.fit(scores.reshape(-1, 2), y[::2])
    classifier = PairwiseRankerClassifier(
        FirstColumn().fit(None, None), tie_model=GradedRelevance()
    )
    with pytest.raises(TypeError, match=r"tie_model must be .* DifferenceModel"):
        classifier.fit(scores.reshape(-1, 2), y[::2])
