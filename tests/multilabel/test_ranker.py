"""Matrices of labels, pairs in the right order, the minimum of the linear ranker."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import check_grad, minimize
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import (
    label_ranking_average_precision_score,
    label_ranking_loss,
    make_scorer,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from skrank_abstain.distance import Logistic
from skrank_abstain.multilabel import LinearMultilabelRanker, multilabel_sample_losses
from skrank_abstain.multilabel._losses import check_label_matrix
from skrank_abstain.multilabel._ranker import pairwise_logistic_objective

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 6))


misordered = partial(multilabel_sample_losses, loss="misordered_share", ties="average")


@st.composite
def scored(draw, grades=2):
    shape = draw(SHAPES)
    scores = draw(arrays(np.float64, shape, elements=st.integers(-4, 4).map(float)))
    return scores, draw(arrays(np.float64, shape, elements=st.integers(0, grades)))


@given(scored(grades=3))
def test_misordered_share_is_what_counting_pairs_says(data):
    scores, y = data
    for s, r, share in zip(scores, y, misordered(y, scores), strict=True):
        pairs = [(i, j) for i in range(r.size) for j in range(r.size) if r[i] > r[j]]
        wrong = sum((s[i] < s[j]) + 0.5 * (s[i] == s[j]) for i, j in pairs)
        assert share == pytest.approx(wrong / len(pairs) if pairs else 0.0)


def test_misordered_share_is_scikit_learns_loss_where_scores_differ():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, (40, 5)).astype(float), rng.normal(size=(40, 5))
    assert misordered(y, scores).mean() == pytest.approx(label_ranking_loss(y, scores))


def test_label_matrices_may_be_sparse():
    assert check_label_matrix(csr_array([[0, 1]]), "y").tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], r"y must be of shape \(n_samples, n_labels\).*got shape \(2,\)"),
        (
            np.zeros((2, 0)),
            r"y must be of shape .*, at least one of each, got shape \(2, 0\)",
        ),
        ([[1.0, np.nan]], r"y must be finite, got NaN .* at row 0, column 1"),
        ([["1", "2"]], "y must hold numbers, got dtype <U1"),
        ([[1j]], "Complex data not supported: y has complex128"),
        ([[1], [2]], r"y must have 1 samples, got shape \(2, 1\)"),
    ],
)
def test_messages_about_labels(values, message):
    with pytest.raises(ValueError, match=message):
        check_label_matrix(values, "y", (1, None))


def problem(seed, n=12, d=3, k=4, grades=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, grades, (n, k)).astype(float)


def plain_objective(params, X, y, alpha, fit_intercept):
    """Add up pairs one by one, as the docstring says."""
    weights = params.reshape(y.shape[1], -1)
    coef = weights[:, : X.shape[1]]
    scores = X @ coef.T + (weights[:, -1] if fit_intercept else 0)
    total = 0.0
    for s, r in zip(scores, y, strict=True):
        margins = [
            s[i] - s[j] for i in range(r.size) for j in range(r.size) if r[i] > r[j]
        ]
        total += Logistic().value(margins).mean() if margins else 0.0
    return total / len(X) + alpha / 2 * (coef**2).sum()


@given(st.integers(0, 1000), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_objective_and_gradient(seed, fit_intercept, alpha):
    X, y = problem(seed)
    args = X, y, alpha
    params = np.random.default_rng(seed).normal(size=4 * (3 + fit_intercept))
    value, gradient = pairwise_logistic_objective(params, *args)
    assert value == pytest.approx(plain_objective(params, *args, fit_intercept))
    error = check_grad(
        lambda p: pairwise_logistic_objective(p, *args)[0],
        lambda p: pairwise_logistic_objective(p, *args)[1],
        params,
    )
    assert error < 1e-5
    assert gradient.shape == params.shape


def test_one_pair_costs_what_the_formula_says():
    # Scores 2 * 3 and 2 * 1, so a margin of 4; half of 0.1 times 3**2 + 1**2.
    value, _ = pairwise_logistic_objective(
        np.array([3.0, 1.0]), np.array([[2.0]]), np.array([[1.0, 0.0]]), 0.1
    )
    assert value == pytest.approx(np.log(1 + np.exp(-4.0)) + 0.05 * (9 + 1))


def test_huge_margins_stay_finite():
    value, gradient = pairwise_logistic_objective(
        np.array([-1e4, 1e4]), np.array([[1.0]]), np.array([[1.0, 0.0]]), 0.0
    )
    assert value == pytest.approx(2e4)
    assert gradient.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_minimum_is_that_of_a_generic_optimiser(fit_intercept):
    X, y = problem(1, n=30)
    ranker = LinearMultilabelRanker(
        alpha=0.05, fit_intercept=fit_intercept, tol=1e-9
    ).fit(X, y)
    start = np.zeros(4 * (3 + fit_intercept))
    other = minimize(
        plain_objective, start, args=(X, y, 0.05, fit_intercept), method="BFGS"
    )
    parts = [ranker.coef_, ranker.intercept_[:, None]]
    found = np.hstack(parts if fit_intercept else parts[:1])
    assert np.allclose(found, other.x.reshape(4, -1), atol=1e-4)
    assert plain_objective(found.ravel(), X, y, 0.05, fit_intercept) <= other.fun + 1e-9


def test_only_differences_between_labels_matter():
    X, y = problem(2, n=40)
    ranker = LinearMultilabelRanker(alpha=0.01).fit(X, y)
    assert np.allclose(ranker.coef_.sum(axis=0), 0, atol=1e-5)
    assert ranker.intercept_.sum() == pytest.approx(0, abs=1e-5)


def test_scores_are_linear_and_sparse_input_is_the_same():
    X, y = problem(3, n=40)
    dense = LinearMultilabelRanker().fit(X, y)
    expected = X @ dense.coef_.T + dense.intercept_
    assert np.allclose(dense.decision_function(X), expected)
    sparse = LinearMultilabelRanker().fit(csr_array(X), csr_array(y))
    assert np.allclose(sparse.decision_function(csr_array(X)), expected, atol=1e-4)


def test_only_the_order_of_relevance_within_a_sample_matters():
    X, y = problem(4, n=40)
    one = LinearMultilabelRanker().fit(X, y)
    other = LinearMultilabelRanker().fit(X, np.exp(y) + np.arange(40)[:, None])
    assert np.array_equal(one.coef_, other.coef_)


def test_labels_that_are_always_tied_are_not_ordered():
    X, _ = problem(5)
    ranker = LinearMultilabelRanker().fit(X, np.ones((12, 4)))
    assert not ranker.decision_function(X).any()
    assert ranker.predict_ranks(X).tolist() == [[1, 2, 3, 4]] * 12
    assert ranker.score(X, np.ones((12, 4))) == 1.0


def test_it_learns_the_order():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(300, 4)), rng.normal(size=(4, 5))
    y = X @ W
    ranker = LinearMultilabelRanker(alpha=1e-4).fit(X[:200], y[:200])
    assert ranker.score(X[200:], y[200:]) > 0.97
    assert ranker.score(X[200:], -y[200:]) == pytest.approx(
        1 - ranker.score(X[200:], y[200:])
    )


@pytest.fixture(scope="module")
def music():
    return make_multilabel_classification(
        200, n_classes=4, allow_unlabeled=False, random_state=0
    )


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        pytest.param(
            "decision_function",
            marks=pytest.mark.skipif(
                parse_version(sklearn.__version__) < parse_version("1.9"),
                reason="older scorers ask only classifiers for anything but predict",
            ),
        ),
    ],
)
def test_scorers_of_scikit_learn_in_a_grid_search_over_a_pipeline(music, method):
    scorer = make_scorer(label_ranking_average_precision_score, response_method=method)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearMultilabelRanker()),
        {"linearmultilabelranker__alpha": [1e-3, 1e3]},
        scoring=scorer,
        cv=3,
    ).fit(*music)
    assert search.best_params_ == {"linearmultilabelranker__alpha": 1e-3}
    assert search.best_score_ > 0.85


def test_score_is_the_default_of_cross_validation(music):
    assert cross_val_score(LinearMultilabelRanker(), *music, cv=3).mean() > 0.85


def test_pickling(music):
    X, y = music
    ranker = LinearMultilabelRanker().fit(X, y)
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))


def test_stopping_early_warns(music):
    with pytest.warns(ConvergenceWarning, match="L-BFGS stopped after max_iter=2"):
        LinearMultilabelRanker(max_iter=2).fit(*music)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, r"alpha must be in \[0, inf\), got -1"),
        ({"alpha": r"1"}, TypeError, "alpha must be a real number .* got '1'"),
        ({"tol": np.inf}, ValueError, r"tol must be in \[0, inf\), got inf"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    ],
)
def test_messages(params, error, message):
    with pytest.raises(error, match=message):
        LinearMultilabelRanker(**params).fit([[0.0], [1.0]], [[0, 1], [1, 0]])


def test_y_needs_a_column_per_label():
    with pytest.raises(ValueError, match=r"y must be of shape \(n_samples, n_labels\)"):
        LinearMultilabelRanker().fit([[0.0], [1.0]], [0, 1])
