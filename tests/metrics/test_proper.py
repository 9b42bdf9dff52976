"""Proper scores of pair probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import log_loss

from skrank_abstain.metrics import pairwise_brier_loss, pairwise_log_loss

LOSSES = [pairwise_log_loss, pairwise_brier_loss]
EPS = np.finfo(np.float64).eps


@st.composite
def forecasts(draw):
    """Labels, probabilities, queries and weights of some pairs."""
    n = draw(st.integers(1, 12))
    rows = st.tuples(*[st.integers(0, 5)] * 3).filter(any)
    proba = np.array(draw(st.lists(rows, min_size=n, max_size=n)), dtype=float)
    labels, small = st.sampled_from([-1, 0, 1]), st.integers(0, 3)
    columns = [
        draw(st.lists(s, min_size=n, max_size=n)) for s in (labels, small, small)
    ]
    return (
        np.array(columns[0]),
        proba / proba.sum(axis=1, keepdims=True),
        np.array(columns[1]),
        np.array(columns[2]),
    )


@pytest.mark.parametrize(
    ("loss", "name"),
    [(pairwise_log_loss, "log_loss"), (pairwise_brier_loss, "brier_sum_over_classes")],
)
@pytest.mark.parametrize("run", [0, 1])
def test_published_example(loss, name, run, oracles):
    case = oracles["baltor_example"]["runs"][run]
    truth = [pair["y"] for pair in case["pairs"]]
    proba = [pair["p"][::-1] for pair in case["pairs"]]
    assert loss(truth, proba) == pytest.approx(case[name], rel=1e-9)


def test_by_hand():
    proba = [[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]]
    assert pairwise_log_loss([1, -1], proba) == pytest.approx(
        -(np.log(0.5) + np.log(0.1)) / 2
    )
    assert pairwise_brier_loss([1, -1], proba) == pytest.approx(
        ((0.2**2 + 0.3**2 + 0.5**2) + (0.9**2 + 0.7**2 + 0.2**2)) / 2
    )


@given(forecasts())
def test_log_loss_is_that_of_scikit_learn(case):
    truth, proba, _, _ = case
    expected = log_loss(truth, proba, labels=[-1, 0, 1])
    assert pairwise_log_loss(truth, proba) == pytest.approx(expected, rel=1e-9)


def test_the_impossible_costs_much_but_not_infinitely_much():
    impossible = [[0.5, 0.0, 0.5]]
    assert pairwise_log_loss([0], impossible) == pytest.approx(-np.log(EPS))
    assert pairwise_log_loss([1], [[0, 0, 1]]) == pytest.approx(0, abs=1e-15)
    assert pairwise_brier_loss([1], [[1, 0, 0]]) == 2
    assert pairwise_brier_loss([1], [[0, 0, 1]]) == 0


@pytest.mark.parametrize("loss", LOSSES)
@given(case=forecasts())
def test_turning_pairs_around_changes_nothing(loss, case):
    truth, proba, _, _ = case
    assert loss(-truth, proba[:, ::-1]) == pytest.approx(loss(truth, proba), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@given(case=forecasts())
def test_integer_weights_are_copies(loss, case):
    truth, proba, _, weight = case
    weight[0] += 1
    copies = np.repeat(np.arange(truth.size), weight)
    assert loss(truth, proba, sample_weight=weight) == pytest.approx(
        loss(truth[copies], proba[copies]), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("loss", LOSSES)
@given(case=forecasts())
def test_query_average_is_the_mean_over_queries(loss, case):
    truth, proba, qid, weight = case
    weight[0] += 1
    values = [
        loss(truth[qid == q], proba[qid == q], sample_weight=weight[qid == q])
        for q in np.unique(qid)
        if weight[qid == q].any()
    ]
    assert loss(
        truth, proba, qid=qid, average="query", sample_weight=weight
    ) == pytest.approx(np.mean(values), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@given(shares=forecasts(), forecast=forecasts())
def test_the_truth_is_the_best_forecast(loss, shares, forecast):
    """Strictly proper: no forecast beats the frequencies of the labels."""
    truth, other = np.array([-1, 0, 1]), forecast[1][0]
    share = shares[1][0]
    own = loss(truth, np.tile(share, (3, 1)), sample_weight=share)
    assert own <= loss(truth, np.tile(other, (3, 1)), sample_weight=share) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_and_rounded_probabilities_are_taken(loss):
    exact = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    truth = np.random.default_rng(1).integers(-1, 2, 50)
    value = loss(truth, exact)
    assert loss(truth, exact.astype(np.float32)) == pytest.approx(value, rel=1e-5)
    assert loss(truth, exact.round(7)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_pairs_or_no_weight_is_undefined(loss):
    for options in ({}, {"qid": [], "average": "query"}):
        with pytest.warns(UndefinedMetricWarning, match="undefined") as log:
            assert np.isnan(loss([], np.empty((0, 3)), **options))
        assert log[0].filename == __file__
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(loss([], []))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(loss([1], [[0, 0, 1]], sample_weight=[0]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("proba", "match"),
    [
        ([[0.5, 0.5]], r"shape \(n_pairs, 3\) = \(1, 3\).*got \(1, 2\)"),
        ([0.2, 0.3, 0.5], "shape"),
        ([[0.2, 0.3, 0.5]] * 2, "shape"),
        ([[-0.1, 0.6, 0.5]], "non-negative rows"),
        ([[0.2, 0.3, 0.50001]], "sum to one within 1e-06"),
        ([[np.nan, 0.5, 0.5]], "sum to one"),
        ([[np.inf, 0.5, 0.5]], "sum to one"),
    ],
)
def test_bad_probabilities_are_refused(loss, proba, match):
    with pytest.raises(ValueError, match=match):
        loss([1], proba)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_pooled_loss_checks_its_queries_and_weights_too(loss):
    with pytest.raises(ValueError, match="qid must have one value per pair"):
        loss([1], [[0, 0, 1]], qid=[1, 2])
    with pytest.raises(ValueError, match="sample_weight must have one value per pair"):
        loss([1], [[0, 0, 1]], sample_weight=[1, 2])
