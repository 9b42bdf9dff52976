"""What goes to a person by distance, the choice of gamma, scales, and scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from distance.named import bipartite_abstention_loss
from doubles import FirstColumn, named
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import PairReliabilityDisplay
from skrank_abstain.distance import (
    DistanceAbstainer,
    _abstainer,
    _pairs,
    pair_feature_distances,
)
from skrank_abstain.distance._abstainer import NearCurve
from skrank_abstain.metrics import (
    neg_aurc_scorer,
    selective_accuracy_score,
    selective_auc_score,
    selective_utility,
)
from skrank_abstain.pairs import pair_labels


@pytest.fixture(scope="module")
def data():
    return make_ranking(50, (1, 12), 2, n_informative=2, random_state=4)


NORMS = [1, 2, 3.5, np.inf]
FITTED = FirstColumn().fit(None, None)


def fit(data, model=FITTED, **options):
    return DistanceAbstainer(model, **options).fit(data.data, data.target, qid=data.qid)


@pytest.fixture(scope="module")
def rounded(data):
    """Features of which many are equal: equal items, scores and distances."""
    return data.data.round(0) / 2, data.target, data.qid


def loss_of(totals, cost):
    """Misranked accepted pairs, half for equal scores, and the price of the others."""
    wrong = totals.accepted - totals.accepted_tied - totals.ordered
    asked = totals.pairs - totals.accepted
    return (wrong + cost * asked).sum() / totals.pairs.sum()


@pytest.mark.parametrize("norm", NORMS)
def test_decides_what_is_further_apart_than_gamma(norm, data):
    ranker = fit(data, gamma=0.4, norm=norm)
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    distance = pair_feature_distances(
        data.data / ranker.radius_, decisions.left, decisions.right, norm=norm
    )
    np.testing.assert_allclose(decisions.distance, distance, rtol=1e-12)
    np.testing.assert_array_equal(decisions.accepted, distance > 0.4)
    scores = data.data[:, 0]
    np.testing.assert_array_equal(
        decisions.label, np.sign(scores[decisions.left] - scores[decisions.right])
    )
    assert decisions.risk is None
    assert decisions.proba is None
    assert 0.1 < decisions.coverage < 0.9
    assert decisions.coverage == ranker.coverage_


def test_the_boundary_is_abstained_on_whatever_rounding_says():
    # 0.3 - 0.1 and 0.1 + 0.2 are not 0.2 and 0.3 in floating point.
    X = np.array([[0.1], [0.3], [0.1 + 0.2], [0.6]])
    ranker = DistanceAbstainer(FITTED, gamma=0.2, scale=None).fit(X, [0, 1, 2, 3])
    decisions = ranker.predict_pairs(X)
    assert decisions.accepted.tolist() == [False, False, True, False, True, True]
    assert ranker.coverage_ == 3 / 6
    assert decisions.label.tolist()[3] == -1
    assert ranker.at_gamma(0.3).coverage_ == 1 / 6


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cost", [0.0, 0.02, 0.1, 0.17, 0.25, 0.5, 1.0])
def test_auto_is_the_smallest_of_the_best_of_all_distances(norm, cost, rounded):
    X, y, qid = rounded
    y = (y >= 1).astype(int)
    ranker = DistanceAbstainer(FITTED, norm=norm, cost=cost).fit(X, y, qid=qid)

    def loss(gamma):
        return bipartite_abstention_loss(
            y, X[:, 0], X / ranker.radius_, qid, gamma=gamma, cost=cost, norm=norm
        )

    distance = ranker.predict_pairs(X, qid=qid).distance
    gammas = np.unique(np.append(0, distance))
    losses = np.array([loss(gamma) for gamma in gammas])
    best = gammas[np.flatnonzero(losses <= losses.min() + 1e-12)[0]]
    assert ranker.gamma_ == pytest.approx(best, rel=1e-12)
    curve = ranker.loss_curve_
    assert curve.loss.min() == pytest.approx(losses.min(), rel=1e-12, abs=1e-15)
    at = np.searchsorted(gammas, curve.gamma)
    np.testing.assert_allclose(curve.loss, losses[at], rtol=1e-12, atol=1e-15)
    # Distances that differ by rounding are one candidate; nothing else is left out.
    assert (
        curve.gamma.size
        == np.unique(
            losses.size
            - np.unique((distance[:, None] > gammas * (1 + 1e-12)).sum(axis=0))
        ).size
    )


@pytest.mark.parametrize("cost", [0.05, 0.1, 0.15, 0.2])
def test_graded_relevance_has_the_loss_that_evaluate_adds_up(cost, rounded):
    X, y, qid = rounded
    ranker = DistanceAbstainer(FITTED, cost=cost, norm=2).fit(X, y, qid=qid)
    curve = ranker.loss_curve_
    for gamma, loss, coverage in zip(*curve, strict=True):
        totals = ranker.at_gamma(gamma).evaluate(X, y, qid=qid)
        assert loss_of(totals, cost) == pytest.approx(loss, rel=1e-12)
        assert totals.coverage == pytest.approx(coverage, rel=1e-12)
    totals = ranker.evaluate(X, y, qid=qid)
    assert loss_of(totals, cost) == pytest.approx(curve.loss.min(), rel=1e-12)
    assert ranker.coverage_ == pytest.approx(totals.coverage, rel=1e-12)


def test_a_published_kind_of_shell_is_given_up_if_its_error_rate_exceeds_the_cost():
    # Distances 1 (wrong), 2 (right), 3: shells of error rate 1, 1/2 pooled, 0.
    X = np.array([[0.0], [1.0], [3.0]])
    ranker = DistanceAbstainer(FITTED, scale=None).fit(X, [1, 0, 2])
    assert ranker.loss_curve_.gamma.tolist() == [0, 1, 2, 3]
    assert ranker.loss_curve_.coverage.tolist() == [1, 2 / 3, 1 / 3, 0]
    expected = [1 / 3, 0.1 / 3, 0.2 / 3, 0.3 / 3]
    np.testing.assert_allclose(ranker.loss_curve_.loss, expected, rtol=1e-12)
    assert (ranker.gamma_, ranker.coverage_) == (1, 2 / 3)
    assert ranker.at_cost(0).gamma_ == 1  # the smallest of the best
    assert ranker.at_cost(1).gamma_ == 0  # giving it up costs what it saves


def test_a_long_curve_keeps_what_is_best_at_some_cost(data, monkeypatch):
    exact = fit(data, norm=2)
    monkeypatch.setattr(_abstainer, "_KEPT", 7)
    thin = fit(data, norm=2)
    assert thin.loss_curve_.gamma.size < exact.loss_curve_.gamma.size / 4
    for cost in np.linspace(0, 1, 101):
        assert thin.at_cost(cost).gamma_ == exact.at_cost(cost).gamma_
        assert thin.at_cost(cost).coverage_ == exact.at_cost(cost).coverage_


def test_of_very_many_pairs_some_choose(data, monkeypatch):
    monkeypatch.setattr(_abstainer, "_MOST_PAIRS", 500)
    some = fit(data, cost=0.15)
    assert some.n_pairs_ > 1000
    accepted = some.predict_pairs(data.data, qid=data.qid).coverage
    assert some.coverage_ == pytest.approx(accepted, abs=0.07)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NORMS), st.floats(0, 1))
def test_the_best_gamma_of_random_pairs(seed, norm, cost):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rng.integers(2, 12), 2)) / 4
    y, qid = rng.integers(0, 2, X.shape[0]), rng.integers(0, 2, X.shape[0])
    qid[:2] = 0
    ranker = DistanceAbstainer(FITTED, norm=norm, cost=cost, scale=None).fit(
        X, y, qid=qid
    )
    losses = [
        bipartite_abstention_loss(y, X[:, 0], X, qid, gamma=gamma, cost=cost, norm=norm)
        for gamma in np.append(0, ranker.predict_pairs(X, qid=qid).distance)
    ]
    assert ranker.loss_curve_.loss.min() == pytest.approx(min(losses), abs=1e-12)
    assert loss_of(ranker.evaluate(X, y, qid=qid), cost) == pytest.approx(
        min(losses), abs=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.8, 5.0])
def test_evaluate_adds_up_the_decisions_of_each_query(gamma, weighted, rounded):
    X, y, qid = rounded
    ranker = DistanceAbstainer(FITTED, gamma=gamma, scale=None).fit(X, y, qid=qid)
    weight = np.random.default_rng(0).uniform(0, 2, y.size) if weighted else None
    totals = ranker.evaluate(X, y, qid=qid, sample_weight=weight)
    decisions = ranker.predict_pairs(X, qid=qid)
    mass = weight if weighted else np.ones(y.size)
    mass = mass[decisions.left] * mass[decisions.right]
    truth = pair_labels(y, decisions.left, decisions.right)
    right, accepted = decisions.label == truth, decisions.accepted
    ordered = np.where(decisions.label == 0, 0.5, right) * (truth != 0)
    expected = {
        "pairs": np.ones(len(decisions)),
        "accepted": accepted,
        "correct": accepted & right,
        "correct_all": right,
        "tied": truth == 0,
        "accepted_tied": accepted & (truth == 0),
        "answered_tie": accepted & (decisions.label == 0),
        "ordered": accepted * ordered,
    }
    order = np.argsort(np.unique(qid, return_index=True)[1])
    query = np.argsort(order)[np.searchsorted(np.unique(qid), decisions.qid)]
    for name, values in expected.items():
        sums = np.bincount(query, weights=mass * values, minlength=order.size)
        np.testing.assert_allclose(getattr(totals, name), sums, atol=1e-9, err_msg=name)
    if not weighted and accepted.any():
        right = selective_accuracy_score(truth, decisions.label, accepted)
        assert totals.accuracy == pytest.approx(right, rel=1e-12)
        assert totals.concordance == pytest.approx(
            selective_auc_score(truth, decisions.label, accepted), rel=1e-12
        )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_features", [1, 3, 12])
def test_searching_for_neighbours_changes_nothing(norm, n_features, monkeypatch):
    rng = np.random.default_rng(n_features)
    qid = np.repeat([3, 1, 2], [150, 60, 10])
    # On a grid, so that many distances are exactly gamma.
    X = rng.integers(0, 9, (qid.size, n_features)) / 10
    y, weight = rng.integers(0, 3, qid.size), rng.uniform(0, 1, qid.size)
    ranker = DistanceAbstainer(FITTED, norm=norm, scale=None).fit(X, y, qid=qid)
    gammas = [0, *ranker.loss_curve_.gamma[[1, 2, 3, -2]], 0.1, 0.3, np.inf]
    monkeypatch.setattr(_abstainer, "_NEAR_SHARE", -1.0)
    looked_at = [ranker.at_gamma(gamma).evaluate(X, y, qid=qid) for gamma in gammas]
    weighed = [
        ranker.at_gamma(gamma).evaluate(X, y, qid=qid, sample_weight=weight)
        for gamma in gammas
    ]
    searched_in = []
    search = _abstainer.near_pairs
    monkeypatch.setattr(
        _abstainer, "near_pairs", lambda *a: (searched_in.append(a[1:3]), search(*a))[1]
    )
    monkeypatch.setattr(_abstainer, "_NEAR_SHARE", 2.0)
    monkeypatch.setattr(_abstainer, "_SEARCHED", 20)
    monkeypatch.setattr(_abstainer, "_TREE", 32)  # several trees a query
    for gamma, expected, heavy in zip(gammas, looked_at, weighed, strict=True):
        totals = ranker.at_gamma(gamma).evaluate(X, y, qid=qid)
        for name, values in vars(expected).items():
            np.testing.assert_array_equal(getattr(totals, name), values, err_msg=name)
        totals = ranker.at_gamma(gamma).evaluate(X, y, qid=qid, sample_weight=weight)
        for name, values in vars(heavy).items():
            np.testing.assert_allclose(
                getattr(totals, name), values, rtol=1e-9, atol=1e-9, err_msg=name
            )
    assert set(searched_in) == {(0, 150), (150, 210)}


def test_a_large_query_of_few_neighbours_takes_few_distances(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(20_000, 2)), rng.integers(0, 3, 20_000)
    ranker = DistanceAbstainer(FITTED, gamma=0.005, scale=None).fit(X[:99], y[:99])
    computed = []
    measure = _pairs.distances
    monkeypatch.setattr(
        _pairs,
        "distances",
        lambda c, left, right, norm: (
            computed.append(left.size),
            measure(c, left, right, norm),
        )[1],
    )
    totals = ranker.evaluate(X, y)
    assert totals.pairs.sum() == 20_000 * 19_999 / 2
    near = totals.pairs.sum() - totals.accepted.sum()
    # A square of side 2 gamma around each item, each pair once.
    assert near == pytest.approx(totals.pairs.sum() * (2 * 0.005) ** 2, rel=0.05)
    assert sum(computed) < 30_000


def test_gamma_zero_gives_up_equal_items_alone(rounded):
    X, y, qid = rounded
    ranker = DistanceAbstainer(FITTED, gamma=0).fit(X, y, qid=qid)
    decisions = ranker.predict_pairs(X, qid=qid)
    same = (X[decisions.left] == X[decisions.right]).all(axis=1)
    assert 0 < same.sum() < same.size
    np.testing.assert_array_equal(decisions.abstained, same)
    # Equal scores of different items: a tie, as everywhere.
    equal = X[decisions.left, 0] == X[decisions.right, 0]
    assert (equal & ~same).any()
    np.testing.assert_array_equal(decisions.label == 0, equal)


def test_gamma_infinity_gives_up_all(data):
    ranker = fit(data, gamma=np.inf)
    assert ranker.coverage_ == 0
    assert ranker.abstain(data.data, qid=data.qid).all()
    assert ranker.score(data.data, data.target, qid=data.qid) == 0.5  # as a coin


@given(st.integers(0, 2**32 - 1), st.sampled_from(NORMS))
def test_swapping_rows_and_pairs_changes_nothing_else(seed, norm):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (9, 2)) / 3, rng.integers(0, 3, 9)
    qid = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])
    turn = rng.permutation(9)
    one = DistanceAbstainer(FITTED, norm=norm).fit(X, y, qid=qid)
    other = DistanceAbstainer(FITTED, norm=norm).fit(X[turn], y[turn], qid=qid[turn])
    assert one.gamma_ == other.gamma_
    assert one.radius_ == other.radius_
    for gamma in one.loss_curve_.gamma[seed % 3 :: 3]:
        decisions = one.at_gamma(gamma).predict_pairs(X, qid=qid)
        pairs = np.argsort(turn)[np.column_stack([decisions.right, decisions.left])]
        swapped = other.at_gamma(gamma).predict_pairs(
            X[turn], qid=qid[turn], pairs=pairs
        )
        np.testing.assert_array_equal(swapped.accepted, decisions.accepted)
        np.testing.assert_array_equal(swapped.distance, decisions.distance)
        np.testing.assert_array_equal(swapped.label, -decisions.label)


def test_a_lipschitz_ranker_has_no_large_margin_on_what_is_given_up(data):
    # |w x - w x'| <= |w|_1 |x - x'|_inf, so wide margins are always decided.
    model = Ridge().fit(data.data[::2], data.target[::2])
    ranker = DistanceAbstainer(model, gamma=0.4, scale=None).fit(
        data.data, data.target, qid=data.qid
    )
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    scores = ranker.predict(data.data)
    margin = np.abs(scores[decisions.left] - scores[decisions.right])
    assert (margin[decisions.abstained] <= 0.4 * np.abs(model.coef_).sum()).all()
    wide = ranker.at_gamma(0.8).abstain(data.data, qid=data.qid)
    assert (wide >= decisions.abstained).all()
    assert wide.sum() > decisions.abstained.sum()


def test_iter_pairs_and_given_pairs_are_parts_of_all(data):
    ranker = fit(data, gamma=0.4)
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    parts = list(ranker.iter_pairs(data.data, qid=data.qid))
    for name in ("left", "right", "qid", "label", "accepted", "distance"):
        whole = getattr(decisions, name)
        np.testing.assert_array_equal(
            np.concatenate([getattr(part, name) for part in parts]), whole
        )
        some = ranker.predict_pairs(
            data.data,
            qid=data.qid,
            pairs=np.column_stack([decisions.left, decisions.right])[5:9],
        )
        np.testing.assert_array_equal(getattr(some, name), whole[5:9])


def test_the_nearest_deferred_pairs_come_first(data):
    decisions = fit(data, gamma=0.4).predict_pairs(data.data, qid=data.qid)
    deferred = decisions.deferred(10)
    np.testing.assert_array_equal(
        deferred.distance, np.sort(decisions.distance[decisions.abstained])[:10]
    )
    near = "distance within the threshold"
    assert set(deferred.reason) == {near}
    np.testing.assert_allclose(decisions.threshold, 0.4)
    assert (decisions.accepted == (decisions.distance > 0.4)).all()
    names = ["reason", "threshold", "distance", "id_"]
    assert list(decisions.to_frame())[5:] == names


def test_orders_have_no_cycle_but_are_not_transitive():
    # 0 over 1 and 1 over 2, but 0 and 2 are too near to say.
    X = np.array([[2.0, 0.0], [1.0, 9.0], [0.0, 0.0]])
    ranker = DistanceAbstainer(FITTED, gamma=3, scale=None).fit(X, [2, 1, 0])
    decisions = ranker.predict_pairs(X)
    assert decisions.label.tolist() == [1, 1, 1]
    assert decisions.accepted.tolist() == [True, False, True]
    assert not hasattr(ranker, "rank_intervals")


@pytest.mark.parametrize("method", ["conditional_risk", "pair_proba", "risk_profile"])
def test_there_is_no_risk(method, data):
    assert not hasattr(fit(data), method)


def test_a_display_of_risks_says_that_there_are_none(data):
    pytest.importorskip("matplotlib")
    with pytest.raises(TypeError, match=r"which has ranking, .*DistanceAbst"):
        PairReliabilityDisplay.from_estimator(
            fit(data), data.data, data.target, qid=data.qid
        )


def test_decides_where_a_risk_rule_decides_everything(data):
    # What the two have in common: at full coverage they say the same.
    near = fit(data, gamma=0.0)
    risk = BALToR(FITTED, coverage=1.0).fit(data.data, data.target, qid=data.qid)
    one, other = (
        ranker.evaluate(data.data, data.target, qid=data.qid) for ranker in (near, risk)
    )
    np.testing.assert_array_equal(one.pairs, other.pairs)
    np.testing.assert_array_equal(one.tied, other.tied)
    assert one.coverage == other.coverage == 1


def test_a_curve_of_one_pair():
    curve = NearCurve(np.array([0.0, 2.0]), np.array([0, 1]), np.array([2, 0]), 1)
    assert (curve.best(0.5), curve.best(1.0)) == (2, 0)
    assert [curve.coverage(gamma) for gamma in (0, 1.9, 2, 9)] == [1, 1, 0, 0]


@pytest.mark.parametrize("offset", [0, 2000, 10**6])
def test_equal_distances_stay_equal_wherever_the_features_lie(offset):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 31, (60, 1)).astype(float) + offset
    X[:2, 0] = offset, offset + 30
    ranker = DistanceAbstainer(Ridge().fit(X, np.arange(60)), gamma=0.2)
    ranker.fit(X, rng.integers(0, 3, 60), qid=np.repeat([0, 1], 30))
    assert ranker.radius_ == 15
    three = ranker.at_gamma(3 / ranker.radius_).predict_pairs(X)
    apart = np.abs(X[three.left, 0] - X[three.right, 0])
    np.testing.assert_array_equal(three.accepted, apart > 3)
    assert np.unique(ranker.loss_curve_.gamma).size <= 31


@pytest.mark.parametrize("norm", NORMS)
def test_a_coverage_takes_the_largest_distance_that_leaves_so_many(norm, rounded):
    ranker = DistanceAbstainer(FITTED, norm=norm).fit(**named(*rounded))
    curve = ranker.loss_curve_
    most = curve.coverage.max()
    for coverage in (0.05, 0.35, 0.7, most):
        moved = ranker.at_coverage(coverage)
        enough = curve.coverage >= coverage - 1e-12
        assert moved.gamma_ == curve.gamma[enough].max()
        assert moved.coverage_ == curve.coverage[enough].min()
    # Equal items are never told apart.
    assert most < 1
    with pytest.raises(
        ValueError, match=rf"coverage must be at most {most:.6g}, got 1"
    ):
        ranker.at_coverage(1.0)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        ranker.at_coverage(0)
    with pytest.raises(NotFittedError):
        DistanceAbstainer(FITTED).at_coverage(0.5)


# Scaling
@pytest.mark.parametrize("norm", NORMS)
def test_the_unit_ball_holds_the_calibration_items(norm, data):
    ranker = fit(data, norm=norm)
    low, high = data.data.min(axis=0), data.data.max(axis=0)
    spread = np.abs(data.data - (low + high) / 2)
    assert ranker.radius_ == pytest.approx(
        np.linalg.norm(spread, ord=norm, axis=1).max(), rel=1e-12
    )
    assert ranker.predict_pairs(data.data, qid=data.qid).distance.max() <= 2


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_units_and_origin_do_not_matter_to_the_unit_ball(norm, data):
    one = fit(data, norm=norm, cost=0.15)
    moved = data.data * 8 + 64  # exact for most bits
    other = DistanceAbstainer(FITTED, norm=norm, cost=0.15)
    other.fit(moved, data.target, qid=data.qid)
    assert other.gamma_ == pytest.approx(one.gamma_, rel=1e-9)
    assert other.coverage_ == one.coverage_
    np.testing.assert_array_equal(
        other.abstain(moved, qid=data.qid), one.abstain(data.data, qid=data.qid)
    )


def test_equal_items_have_a_radius_of_one():
    X = np.full((4, 2), 7.0)
    ranker = DistanceAbstainer(FITTED).fit(X, [0, 1, 2, 1])
    assert ranker.radius_ == 1
    assert ranker.abstain(X).all()


def test_a_transformer_makes_numbers_that_the_ranker_never_sees(data):
    seen = []

    class Looking(FirstColumn):
        def predict(self, X):
            seen.append(X)
            return np.zeros(len(X))

    frame = pd.DataFrame(data.data.copy(), columns=["a", "b"])
    frame.loc[3, "a"] = np.nan
    scale = make_pipeline(SimpleImputer(), StandardScaler())
    ranker = DistanceAbstainer(Looking().fit(None, None), scale=scale, gamma=1.0)
    ranker.fit(frame, data.target, qid=data.qid)
    assert seen[0] is frame
    assert not hasattr(scale[1], "mean_")  # cloned
    decisions = ranker.predict_pairs(frame, qid=data.qid)
    scaled = ranker.scaler_.transform(frame)
    distance = pair_feature_distances(scaled, decisions.left, decisions.right)
    np.testing.assert_array_equal(decisions.accepted, distance > 1.0)
    assert ranker.radius_ == 1


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        ([[0.0], [np.nan], [1.0]], ValueError, "NaN"),
        ([[0.0], [np.inf], [1.0]], ValueError, "infinity"),
        (pd.DataFrame({"a": ["x", "y", "z"]}), ValueError, "could not convert"),
        (csr_array([[0.0], [1.0], [2.0]]), TypeError, "[Ss]parse"),
    ],
)
def test_items_without_distances_are_refused_before_training(X, error, said):
    class Untrainable(BaseEstimator):
        def fit(self, X, y):
            raise AssertionError("trained")

        def predict(self, X):
            """Never called."""

    with pytest.raises(error, match=rf"X must be a dense matrix .*{said}[\s\S]*scale="):
        DistanceAbstainer(Untrainable()).fit(X, [0, 1, 2])


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("unit", [2.0**-990, 2.0**-500, 2.0**500, 2.0**990])
def test_the_unit_of_the_features_does_not_matter(norm, unit):
    data = make_ranking(n_queries=6, n_items=10, random_state=0)
    X, given = data.data, {"y": data.target, "qid": data.qid}
    plain = DistanceAbstainer(FITTED, norm=norm, gamma=0.5).fit(X, **given)
    scaled = DistanceAbstainer(FITTED, norm=norm, gamma=0.5).fit(X * unit, **given)
    expected = plain.predict_pairs(X, qid=data.qid)
    found = scaled.predict_pairs(X * unit, qid=data.qid)
    assert 0 < expected.accepted.mean() < 1
    np.testing.assert_array_equal(found.accepted, expected.accepted)
    np.testing.assert_array_equal(found.label, expected.label)
    assert scaled.score(X * unit, **given) == plain.score(X, **given)


# Parameters
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"gamma": -0.1}, ValueError, r"gamma must be in .* got -0.1.* distance"),
        ({"gamma": np.nan}, ValueError, "gamma must be"),
        ({"gamma": "best"}, TypeError, r"gamma must be a real number .* got 'best'"),
        ({"gamma": None}, TypeError, r"gamma must be a real number .* got None"),
        ({"gamma": True}, TypeError, "gamma must be a real number"),
        ({"cost": 1.1}, ValueError, r"cost must be in \[0, 1\], got 1.1"),
        ({"cost": -0.1}, ValueError, "cost must be"),
        ({"cost": "x"}, TypeError, "cost must be"),
        ({"norm": 0.5}, ValueError, r"norm must be in \[1, inf\], got 0.5"),
        ({"norm": "l2"}, TypeError, "norm must be a real number"),
        ({"scale": "box"}, ValueError, "scale must be one of 'unit_ball', got 'box'"),
        ({"scale": 3}, TypeError, "Cannot clone object '3'"),
    ],
)
def test_bad_parameters(options, error, said, data):
    with pytest.raises(error, match=said):
        fit(data, **options)


def test_copies_check_their_number_and_leave_the_original_alone(data):
    ranker = fit(data, cost=0.15)
    before = ranker.gamma_, ranker.coverage_, ranker.loss_curve_.loss.copy()
    with pytest.raises(ValueError, match="gamma must be"):
        ranker.at_gamma(-1)
    with pytest.raises(ValueError, match="cost must be"):
        ranker.at_cost(2)
    for method, value in (("at_gamma", 0.3), ("at_cost", 0.3), ("abstain", data.data)):
        with pytest.raises(NotFittedError):
            getattr(DistanceAbstainer(FITTED), method)(value)
    again = ranker.at_gamma(0.3).at_cost(0.05)
    fresh = fit(data, cost=0.05)
    assert again.gamma_ == fresh.gamma_ > ranker.gamma_
    np.testing.assert_array_equal(again.loss_curve_.loss, fresh.loss_curve_.loss)
    assert (ranker.gamma_, ranker.coverage_) == before[:2]
    np.testing.assert_array_equal(ranker.loss_curve_.loss, before[2])


def test_no_pairs_and_no_qid(data):
    with pytest.raises(ValueError, match="at least one calibration query with two"):
        DistanceAbstainer(FITTED).fit(data.data[:3], data.target[:3], qid=[0, 1, 2])
    ranker = fit(data)
    with pytest.raises(ValueError, match="qid= must be given"):
        ranker.evaluate(data.data, data.target)
    totals = ranker.evaluate(data.data[:2], data.target[:2], qid=[0, 1])
    assert totals.pairs.tolist() == [0, 0]
    assert len(ranker.predict_pairs(data.data[:1])) == 0


# A scikit-learn estimator
def test_clone_pickle_and_verbose(data, capsys):
    ranker = fit(data, Ridge(), cost=0.15, random_state=0, verbose=1)
    said = capsys.readouterr().out
    assert said.startswith("[DistanceAbstainer] calibrated on ")
    assert f"gamma {ranker.gamma_:.6g}, coverage {ranker.coverage_:.4f}" in said
    assert not ranker.prefit_
    copied = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        copied.abstain(data.data, qid=data.qid), ranker.abstain(data.data, qid=data.qid)
    )
    again = clone(ranker).fit(data.data, data.target, qid=data.qid)
    assert again.gamma_ == ranker.gamma_


def test_a_search_over_gamma_with_routed_queries(data):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            DistanceAbstainer(Ridge(), random_state=0),
            {"gamma": [0.0, 0.2, "auto"], "norm": [2, np.inf]},
            scoring=selective_utility(0.3),
            cv=GroupKFold(2),
            error_score="raise",
        )
        search.fit(data.data, data.target, groups=data.qid, qid=data.qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(TypeError, match="which has risk_profile"):
        neg_aurc_scorer(search, data.data, data.target, qid=data.qid)


def test_a_booster_and_a_column_of_queries(data):
    lightgbm = pytest.importorskip("lightgbm")
    X = np.column_stack([data.qid, data.data])
    booster = lightgbm.LGBMRanker(
        n_estimators=5, min_child_samples=2, n_jobs=1, verbose=-1
    )
    ranker = DistanceAbstainer(booster, qid_col=0, gamma=0.3, random_state=0)
    ranker.fit(X, data.target)
    decisions = ranker.predict_pairs(X)
    distance = pair_feature_distances(
        data.data / ranker.radius_, decisions.left, decisions.right
    )
    np.testing.assert_array_equal(decisions.accepted, distance > 0.3)
    assert 0 < ranker.score(X, data.target) < 1


def test_scores_are_quiet_where_something_is_accepted(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* have the features of items that fit got")
        assert 0 < fit(data, gamma=0.2).score(data.data, data.target, qid=data.qid) < 1
