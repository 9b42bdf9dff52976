"""Expected losses, and the engine's decisions, against the definition pair by pair."""

import numpy as np
import pytest
import reference
from hypothesis import given
from reference import paired
from selection.engines import ZERO_ONE, decide_all
from strategies import FixedModel, losses, models, scores

from skrank_abstain.tie_models import DifferenceModel, expected_losses


class Constant(DifferenceModel):
    """The same probabilities at every gap, seen from the higher score."""

    def __init__(self, proba):
        self.proba_ = proba

    def fit_outcomes(self, outcomes):
        raise NotImplementedError

    def proba_at_gap(self, gap):
        return np.tile(self.proba_, (gap.size, 1))


def decide_one(proba, loss, left=1.0, right=0.0):
    """Label and risk of one pair whose higher-scored item wins with ``proba[2]``."""
    decided = decide_all(Constant(proba), loss, [left], [right])
    return decided.label[0], decided.risk[0]


def test_oracle_predictions_and_risks(oracles):
    for case in oracles["pair_probabilities"]:
        model = FixedModel(case["model"], case["param"])
        decided = decide_all(model, ZERO_ONE, [case["d"]], [0.0])
        # Equal scores are called a tie, and their risk is that of this answer.
        risk = 1 - decided.proba[0, 1] if case["d"] == 0 else case["risk01"]
        assert decided.risk[0] == pytest.approx(risk, rel=1e-12)
        # Where the oracle calls the order at equal scores ambiguous, there is none.
        expected = 0 if str(case["pred"]).startswith("ambiguous") else case["pred"]
        assert decided.label[0] == expected


@given(models(), scores(), losses())
def test_the_prediction_has_the_least_expected_loss(model, s, loss):
    left, right = paired(s)
    proba = model.proba(left, right)
    decided = decide_all(model, loss, left, right)
    np.testing.assert_array_equal(decided.proba, proba)
    for row, (p, a, b) in enumerate(zip(proba, left, right, strict=True)):
        by_definition = reference.expected_losses(p, loss)
        label, least = reference.bayes_decision(p, loss, a == b)
        assert decided.risk[row] == pytest.approx(least, rel=1e-13, abs=1e-300)
        if a == b:
            assert decided.label[row] == label == 0
        else:
            chosen = by_definition[decided.label[row] + 1]
            assert chosen == pytest.approx(least, rel=1e-13, abs=1e-300)
            assert decided.label[row] in (0, reference.label(a - b))
            # A tie and an order that cost the same differ by their rounding.
            tie, strict = by_definition[1], min(by_definition[0], by_definition[2])
            if abs(tie - strict) > 1e-12 * least:
                assert decided.label[row] == label


@given(models(), scores(), losses())
def test_turning_a_pair_around_turns_the_label_and_keeps_the_risk(model, s, loss):
    left, right = paired(s)
    one = decide_all(model, loss, left, right)
    other = decide_all(model, loss, right, left)
    np.testing.assert_array_equal(one.label, -other.label)
    np.testing.assert_array_equal(one.risk, other.risk)
    np.testing.assert_array_equal(one.proba, other.proba[:, ::-1])


@given(models(), scores())
def test_zero_one_risk_is_one_minus_the_largest_probability(model, s):
    left, right = paired(s)
    proba = model.proba(left, right)
    risk = decide_all(model, ZERO_ONE, left, right).risk
    expected = np.where(left == right, 1 - proba[:, 1], 1 - proba.max(axis=1))
    np.testing.assert_allclose(risk, expected, rtol=0, atol=4e-16)


@pytest.mark.parametrize(
    ("proba", "label", "risk"),
    [
        ([0.2, 0.4, 0.4], 1, 0.6),
        ([0.25, 0.375, 0.375], 1, 0.625),
        ([0.25, 0.5, 0.25], 0, 0.5),
    ],
)
def test_a_tie_is_predicted_only_where_it_is_strictly_better(proba, label, risk):
    assert decide_one(proba, ZERO_ONE) == (label, pytest.approx(risk))
    assert reference.bayes_decision(proba, ZERO_ONE) == (label, pytest.approx(risk))


def test_equal_scores_have_no_order_and_the_risk_of_that_answer():
    assert decide_one([0.45, 0.1, 0.45], ZERO_ONE, 2.0, 2.0) == (0, 0.45 + 0.45)


def test_loss_by_hand():
    loss = np.array([[0, 0.5, 3], [0.25, 0, 0.25], [3, 0.5, 0]])
    proba = np.array([[0.1, 0.3, 0.6], [0.3, 0.3, 0.4]])
    expected = [
        [3 * 0.6 + 0.5 * 0.3, 0.25 * (0.1 + 0.6), 3 * 0.1 + 0.5 * 0.3],
        [3 * 0.4 + 0.5 * 0.3, 0.25 * (0.3 + 0.4), 3 * 0.3 + 0.5 * 0.3],
    ]
    np.testing.assert_allclose(expected_losses(proba, loss), expected, rtol=1e-15)
    for row in proba:
        assert decide_one(row, loss) == (0, pytest.approx(0.25 * 0.7))


def test_a_loss_that_does_not_tell_the_orders_apart_still_mirrors():
    loss = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    proba = [0.2, 0.1, 0.7]
    assert decide_one(proba, loss, 0.0, 1.0)[0] == -1
    assert decide_one(proba, loss, 1.0, 0.0)[0] == 1
    assert reference.bayes_decision(proba[::-1], loss)[0] == -1


def test_no_pairs():
    decided = decide_all(FixedModel(), ZERO_ONE, [], [])
    assert decided.label.shape == decided.risk.shape == (0,)
    assert decided.label.dtype == np.int64
    assert expected_losses(np.empty((0, 3)), ZERO_ONE).shape == (0, 3)
