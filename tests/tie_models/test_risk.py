import numpy as np
import pytest
import reference
from hypothesis import given
from reference import paired
from strategies import FixedModel, losses, models, scores

from skrank_abstain.tie_models import bayes_decision, expected_losses

ZERO_ONE = 1 - np.eye(3)


def test_oracle_predictions_and_risks(oracles):
    for case in oracles["pair_probabilities"]:
        proba = FixedModel(case["model"], case["param"]).proba([case["d"]], [0.0])
        label, risk = bayes_decision(proba, ZERO_ONE, np.array([case["d"] == 0]))
        assert risk[0] == pytest.approx(case["risk01"], rel=1e-12)
        # Where the oracle calls the order at equal scores ambiguous, there is none.
        expected = 0 if str(case["pred"]).startswith("ambiguous") else case["pred"]
        assert label[0] == expected


@given(models(), scores(), losses())
def test_the_prediction_has_the_least_expected_loss(model, s, loss):
    left, right = paired(s)
    proba = model.proba(left, right)
    label, risk = bayes_decision(proba, loss, left == right)
    for row, (p, a, b) in enumerate(zip(proba, left, right, strict=True)):
        by_definition = reference.expected_losses(p, loss)
        assert risk[row] == pytest.approx(min(by_definition), rel=1e-13, abs=1e-300)
        if a == b:
            assert label[row] == 0
        else:
            chosen = by_definition[label[row] + 1]
            assert chosen == pytest.approx(min(by_definition), rel=1e-13, abs=1e-300)
            assert label[row] in (0, reference.label(a - b))


@given(models(), scores(), losses())
def test_turning_a_pair_around_turns_the_label_and_keeps_the_risk(model, s, loss):
    left, right = paired(s)
    one = bayes_decision(model.proba(left, right), loss, left == right)
    other = bayes_decision(model.proba(right, left), loss, left == right)
    np.testing.assert_array_equal(one[0], -other[0])
    np.testing.assert_array_equal(one[1], other[1])


@given(models(), scores())
def test_zero_one_risk_is_one_minus_the_largest_probability(model, s):
    left, right = paired(s)
    proba = model.proba(left, right)
    _, risk = bayes_decision(proba, ZERO_ONE, left == right)
    np.testing.assert_allclose(risk, 1 - proba.max(axis=1), rtol=0, atol=4e-16)


def test_a_tie_is_predicted_only_where_it_is_strictly_better():
    proba = np.array([[0.2, 0.4, 0.4], [0.25, 0.375, 0.375], [0.25, 0.5, 0.25]])
    label, risk = bayes_decision(proba, ZERO_ONE, np.zeros(3, bool))
    assert label.tolist() == [1, 1, 0]
    np.testing.assert_allclose(risk, [0.6, 0.625, 0.5])


def test_equal_scores_have_no_order_but_the_risk_of_the_best_prediction():
    proba = np.array([[0.45, 0.1, 0.45]])
    label, risk = bayes_decision(proba, ZERO_ONE, np.array([True]))
    assert label.tolist() == [0]
    assert risk.tolist() == [0.1 + 0.45]


def test_loss_by_hand():
    loss = np.array([[0, 0.5, 3], [0.25, 0, 0.25], [3, 0.5, 0]])
    proba = np.array([[0.1, 0.3, 0.6], [0.3, 0.3, 0.4]])
    expected = [
        [3 * 0.6 + 0.5 * 0.3, 0.25 * (0.1 + 0.6), 3 * 0.1 + 0.5 * 0.3],
        [3 * 0.4 + 0.5 * 0.3, 0.25 * (0.3 + 0.4), 3 * 0.3 + 0.5 * 0.3],
    ]
    np.testing.assert_allclose(expected_losses(proba, loss), expected, rtol=1e-15)
    label, risk = bayes_decision(proba, loss, np.zeros(2, bool))
    assert label.tolist() == [0, 0]
    np.testing.assert_allclose(risk, [0.25 * 0.7, 0.25 * 0.7])


def test_a_loss_that_does_not_tell_the_orders_apart_still_mirrors():
    loss = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    proba = np.array([[0.7, 0.1, 0.2], [0.2, 0.1, 0.7]])
    label, _ = bayes_decision(proba, loss, np.zeros(2, bool))
    assert label.tolist() == [-1, 1]


def test_no_pairs():
    label, risk = bayes_decision(np.empty((0, 3)), ZERO_ONE, np.empty(0, bool))
    assert label.shape == risk.shape == (0,)
    assert label.dtype == np.int64
