"""Exponential weights: reference values, and bounds that no stream breaks."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from multilabel.definitions import auc_loss
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    multilabel_sample_losses,
)
from skrank_abstain.multilabel._online import exponential_weights, regret_bound

LOSSES = st.tuples(st.integers(1, 40), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 1))
)
RATES = st.none() | st.floats(0.01, 4)


def test_reference_values(oracles):
    case = oracles["rewa"]
    losses = np.array(case["loss_matrix_rounds_by_experts"])
    weights = exponential_weights(losses, case["eta"], 1.0)
    np.testing.assert_allclose(weights[0], 1 / 3)
    np.testing.assert_allclose(weights[1:], case["weights_after_each_round"], rtol=1e-9)
    expected = (weights[:-1] * losses).sum()
    assert expected == pytest.approx(case["expected_cumulative_loss"])
    assert losses.sum(axis=0).min() == case["best_expert_loss"]
    # At the best rate for T rounds the fixed bound is sqrt(T ln(N) / 2).
    assert regret_bound(3, len(losses), case["eta"], 1.0) == pytest.approx(
        case["regret_bound_sqrt_TlnN_over_2"]
    )


def test_the_bound_of_the_decreasing_rate():
    expected = 5 * (2 * np.sqrt(100 / 2 * np.log(8)) + np.sqrt(np.log(8) / 8))
    assert regret_bound(8, 100, None, 5.0) == pytest.approx(expected)


def regret(losses, eta, bound=1.0):
    weights = exponential_weights(bound * losses, eta, bound)[:-1]
    return bound * ((weights * losses).sum() - losses.sum(axis=0).min())


@given(LOSSES, RATES, st.sampled_from([1.0, 7.0]))
def test_no_stream_breaks_the_bound(losses, eta, bound):
    limit = regret_bound(losses.shape[1], losses.shape[0], eta, bound)
    assert regret(losses, eta, bound) <= limit + 1e-9


@given(st.integers(2, 6), st.integers(1, 150), RATES, st.booleans())
def test_no_adversary_breaks_the_bound(n_experts, n_rounds, eta, spread):
    """The losses of a round are chosen knowing its weights."""
    losses = np.zeros((n_rounds, n_experts))
    for t in range(n_rounds):
        weights = exponential_weights(losses[:t], eta, 1.0)[-1]
        losses[t] = (
            weights >= np.median(weights)
            if spread
            else weights.argmax() == (np.arange(n_experts))
        )
    found = regret(losses, eta)
    assert found <= regret_bound(n_experts, n_rounds, eta, 1.0) + 1e-9
    if not spread and n_rounds > 10 * n_experts and eta is None:
        assert found > 0  # the adversary is one


@given(LOSSES, RATES, st.data())
def test_rounds_may_come_in_parts(losses, eta, data):
    cut = data.draw(st.integers(0, len(losses)))
    whole = exponential_weights(losses, eta, 1.0)
    before = {"cumulative": losses[:cut].sum(axis=0), "n_before": cut}
    rest = exponential_weights(losses[cut:], eta, 1.0, **before)
    assert np.allclose(rest, whole[cut:])


def rankings(n_labels, n_experts, seed):
    rng = np.random.default_rng(seed)
    return [(str(i), rng.permutation(n_labels) + 1) for i in range(n_experts)]


@given(st.integers(0, 500), st.integers(1, 40), st.integers(1, 5))
def test_regret_of_the_estimator(seed, n_rounds, n_experts):
    rng = np.random.default_rng(seed)
    X, y = np.zeros((n_rounds, 1)), rng.integers(0, 3, (n_rounds, 4))
    ranker = OnlineMultilabelRanker(rankings(4, n_experts, seed)).fit(X, y)
    assert ranker.regret_ <= ranker.regret_bound_ + 1e-9
    assert ranker.regret_ == ranker.expected_loss_ - ranker.expert_losses_.min()
    assert ranker.n_rounds_ == n_rounds
    assert ranker.weights_.sum() == pytest.approx(1)


def test_losses_are_those_of_the_rankings():
    y = np.array([[2, 1, 0], [0, 1, 2]])
    experts = [("down", [1, 2, 3]), ("up", [3, 2, 1]), ("swap", [2, 1, 3])]
    ranker = OnlineMultilabelRanker(experts, eta=0.5)
    ranker.partial_fit([[0.0]], y[:1])
    assert np.allclose(ranker.expert_losses_, [0, 1, 1 / 3])
    weights = np.exp(-0.5 * np.array([0, 1, 1 / 3]))
    assert np.allclose(ranker.weights_, weights / weights.sum())
    assert ranker.expected_loss_ == pytest.approx((0 + 1 + 1 / 3) / 3)
    ranker.partial_fit([[0.0]], y[1:])
    assert np.allclose(ranker.expert_losses_, [1, 1, 1])


@pytest.fixture(scope="module")
def data():
    return make_multilabel_classification(
        240, n_features=6, n_classes=4, allow_unlabeled=False, random_state=0
    )


def learner():
    return MultiOutputRegressor(SGDRegressor(random_state=0, eta0=1e-3))


def test_experts_of_all_kinds(data):
    X, y = data
    experts = [
        ("fixed", [1, 2, 3, 4]),
        ("fitted", FrozenEstimator(RandomForestClassifier(20).fit(X[:80], y[:80]))),
        ("linear", FrozenEstimator(LinearMultilabelRanker().fit(X[:80], y[:80]))),
        ("regressor", learner()),
        (
            "classifier",
            MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0)),
        ),
    ]
    ranker = clone(OnlineMultilabelRanker(experts)).fit(X[80:], y[80:])
    assert ranker.regret_ <= ranker.regret_bound_
    assert ranker.weights_[1] + ranker.weights_[2] > 0.9
    assert not hasattr(experts[3][1], "estimators_")  # the user's own stays unfitted
    assert ranker.score(X, y) > 0.8
    again = pickle.loads(pickle.dumps(ranker)).partial_fit(X[:5], y[:5])
    assert again.n_rounds_ == 165
    assert ranker.n_rounds_ == 160


def test_experts_predict_before_they_learn(data):
    X, y = data
    ranker = OnlineMultilabelRanker([("learner", learner())])
    ranker.partial_fit(X[:1], y[:1])
    assert ranker.expert_losses_.tolist() == [0.5]  # all labels tied
    whole = OnlineMultilabelRanker([("learner", learner())], batch_size=60).fit(X, y)
    parts = OnlineMultilabelRanker([("learner", learner())])
    for start in range(0, 240, 60):
        parts.partial_fit(X[start : start + 60], y[start : start + 60])
    assert np.allclose(parts.expert_losses_, whole.expert_losses_)
    assert np.allclose(parts.predict(X), whole.predict(X))


def test_fit_forgets(data):
    X, y = data
    ranker = OnlineMultilabelRanker(rankings(4, 3, 0))
    once = ranker.fit(X, y).expert_losses_
    assert np.array_equal(ranker.fit(X, y).expert_losses_, once)


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_frames_reach_experts(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frozen = FrozenEstimator(LinearMultilabelRanker().fit(frame[:80], y[:80]))
    by_name = FrozenEstimator(
        make_pipeline(
            make_column_transformer((StandardScaler(), ["a", "b"])), Ridge()
        ).fit(frame[:80], y[:80])
    )
    experts = [("linear", frozen), ("by name", by_name), ("learns", learner())]
    ranker = OnlineMultilabelRanker(experts).fit(frame[80:], y[80:])
    ranker.partial_fit(frame[["f", "a", "b", "c", "d", "e"]], y)
    assert ranker.n_rounds_ == 160 + 240
    assert ranker.draw(frame[:3]).shape == (3, 4)


def test_missing_values_are_for_the_experts(data):
    X, y = data
    X = np.where(np.quantile(X, 0.9) < X, np.nan, X)
    forest = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, y))
    ranker = OnlineMultilabelRanker([("a", [1, 2, 3, 4]), ("forest", forest)])
    assert ranker.fit(X, y).weights_[1] > 0.5
    with pytest.raises(ValueError, match="NaN"):
        OnlineMultilabelRanker([("learns", learner())]).fit(X, y)
    assert not get_tags(OnlineMultilabelRanker([("l", learner())])).input_tags.allow_nan
    assert get_tags(ranker).input_tags.allow_nan


def test_the_vote_is_the_mean_of_ranks():
    experts = [("down", [1, 2, 3]), ("up", [3, 2, 1])]
    ranker = OnlineMultilabelRanker(experts).fit([[0.0]], [[1, 0, 0]])
    w = ranker.weights_
    expected = -(w[0] * np.array([1, 2, 3]) + w[1] * np.array([3, 2, 1]))
    assert np.allclose(ranker.predict([[0.0]]), expected)


def test_draws_follow_the_weights():
    experts = [("down", [1, 2]), ("up", [2, 1])]
    ranker = OnlineMultilabelRanker(experts, eta=1.0, random_state=0)
    ranker.fit([[0.0]], [[1, 0]])
    X = np.zeros((4000, 1))
    drawn = ranker.draw(X)
    assert (drawn[:, 0] == -1).mean() == pytest.approx(ranker.weights_[0], abs=0.03)
    assert not np.array_equal(ranker.draw(X), drawn)
    same = clone(ranker).fit([[0.0]], [[1, 0]])
    assert np.array_equal(same.draw(X), drawn)


def lost_by_drawing(batch_size, n_samples=400):
    """Return what drawing is expected to lose against the better of two rankings.

    The truth of each batch is what the ranking of larger weight gets wrong; draws are
    made for a whole batch before it is learned from.
    """
    ranker = OnlineMultilabelRanker([("down", [1, 2]), ("up", [2, 1])], random_state=0)
    lost = drawn_lost = 0.0
    weights = np.array([0.5, 0.5])
    for start in range(0, n_samples, batch_size):
        truth = [0, 1] if weights[0] >= weights[1] else [1, 0]
        wrong = 0 if truth == [0, 1] else 1
        X = np.zeros((batch_size, 1))
        lost += batch_size * weights[wrong]
        if start:
            drawn_lost += (ranker.draw(X)[:, wrong] == -1).sum()
        ranker.partial_fit(X, np.tile(truth, (batch_size, 1)))
        weights = ranker.weights_
    best = ranker.expert_losses_.min()
    # Draws are what is expected, to 4 standard deviations of 400 fair ones.
    assert drawn_lost + batch_size / 2 == pytest.approx(lost, abs=40 + batch_size / 2)
    return ranker, lost - best


def test_drawing_one_by_one_keeps_the_promise():
    ranker, lost = lost_by_drawing(1)
    assert lost == pytest.approx(ranker.regret_)
    assert 0 < lost <= ranker.regret_bound_


def test_drawing_for_batches_has_no_such_promise():
    ranker, lost = lost_by_drawing(100)
    assert lost > ranker.regret_bound_
    # The weights of this, unlike those of the draws, learn within the batch.
    assert ranker.regret_ <= ranker.regret_bound_


def test_losses_of_ones_own():
    def top_missed(y_true, y_score):
        return 4.0 * (y_true[np.arange(len(y_true)), y_score.argmax(axis=1)] == 0)

    experts = [("down", [1, 2, 3]), ("up", [3, 2, 1])]
    ranker = OnlineMultilabelRanker(experts, loss=top_missed, loss_bound=4.0)
    y = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 1]])
    ranker.fit(np.zeros((3, 1)), y)
    assert ranker.expert_losses_.tolist() == [0, 8]
    assert ranker.score(np.zeros((3, 1)), y) == 1.0
    assert ranker.score(np.zeros((3, 1)), 1 - y) == 0.0
    with pytest.raises(ValueError, match=r"values in \[0, loss_bound=2\], got 4"):
        ranker.set_params(loss_bound=2.0).fit(np.zeros((3, 1)), y)


def test_losses_of_the_package_can_be_used_and_pickled():
    loss = partial(multilabel_sample_losses, loss="sum", p=1)
    experts = [("down", [1, 2, 3]), ("up", [3, 2, 1])]
    ranker = OnlineMultilabelRanker(experts, loss=loss, loss_bound=2.0)
    X, y = np.zeros((2, 1)), np.array([[2, 1, 0], [2, 2, 0]])
    ranker = pickle.loads(pickle.dumps(clone(ranker))).fit(X, y)
    # Ranks 3, 2, 1, cut off at 2, cost 2*2 + 1*2 - (2*1 + 1*2) and 2*2 + 2*2 - 2 - 4.
    assert ranker.expert_losses_.tolist() == [0, 2 + 2]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"experts": []}, ValueError, "experts must be a list of at least one"),
        (
            {"experts": [("a", [1, 2]), ("a", [2, 1])]},
            ValueError,
            r"with different names, got \[\('a', \[1, 2\]\)",
        ),
        (
            {"experts": [("a", [0, 1])]},
            ValueError,
            r"permutations of 1 to 2, the number of labels; got \[0, 1\] for 'a'",
        ),
        (
            {"experts": [("a", Ridge())]},
            TypeError,
            "experts that are estimators must be fitted, inside a FrozenEst",
        ),
        ({"eta": 0.0}, ValueError, r"eta must be in \(0, inf\), got 0\.0"),
        ({"loss_bound": -1}, ValueError, r"loss_bound must be in \(0, inf\), got -1"),
        (
            {"loss": "sum"},
            ValueError,
            "loss must be one of 'misordered_share', got 'sum'",
        ),
        (
            {"loss": auc_loss},
            ValueError,
            r"loss must return one value per sample, 2, .* got shape \(\)",
        ),
        (
            {"experts": [[1, 2]]},
            ValueError,
            r"\(name, expert\) tuple, with .* got \[\[1, 2\]\]",
        ),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
    ],
)
def test_messages(params, error, message):
    ranker = OnlineMultilabelRanker([("a", [1, 2])]).set_params(**params)
    with pytest.raises(error, match=message):
        ranker.fit([[0.0], [1.0]], [[0, 1], [1, 0]])


def test_graded_relevance_needs_regressors():
    experts = [("a", MultiOutputClassifier(SGDClassifier(loss="log_loss")))]
    with pytest.raises(ValueError, match="y must be 0/1 for classifiers that learn"):
        OnlineMultilabelRanker(experts).fit([[0.0], [1.0]], [[0, 2], [1, 0]])
    learners = [("b", learner()), *experts]
    ranker = OnlineMultilabelRanker(learners).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    before = ranker.expert_losses_.copy()
    coef = ranker.experts_[0][1].estimators_[0].coef_.copy()
    with pytest.raises(ValueError, match="y must be 0/1 for classifiers that learn"):
        ranker.partial_fit([[0.0]], [[0, 2]])
    assert ranker.n_rounds_ == 2  # nothing was added up or learned
    assert np.array_equal(ranker.expert_losses_, before)
    assert np.array_equal(ranker.experts_[0][1].estimators_[0].coef_, coef)
    ranker = OnlineMultilabelRanker([("a", [1, 2])]).fit([[0.0]], [[0, 1]])
    with pytest.raises(ValueError, match="y must have 2 labels"):
        ranker.partial_fit([[0.0]], [[0, 1, 2]])
