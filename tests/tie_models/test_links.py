"""The three classical models as functions of gap and tie parameter."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import paired
from selection.engines import ZERO_ONE, decide_all
from strategies import LINKS, NO_TIE, FixedModel, models, scores
from strategies import losses as loss_matrices

from skrank_abstain.tie_models import expected_losses

KINDS = sorted(LINKS)


def test_oracle_probabilities(oracles):
    for case in oracles["pair_probabilities"]:
        model = FixedModel(case["model"], case["param"])
        proba = model.proba([case["d"]], [0.0])
        expected = [case["p_loss"], case["p_tie"], case["p_win"]]
        np.testing.assert_allclose(proba[0], expected, rtol=1e-13, atol=1e-16)


@given(models(), scores())
def test_probabilities_are_those_of_the_printed_formulas(model, s):
    left, right = paired(s)
    expected = [
        reference.probabilities(model.kind, model.param, model.scale * (a - b))
        for a, b in zip(left, right, strict=True)
    ]
    # The formulas themselves cancel where theta or epsilon is close to no tie.
    np.testing.assert_allclose(
        model.proba(left, right), expected, rtol=1e-9, atol=1e-15
    )


@given(models(), scores())
def test_probabilities_are_non_negative_and_sum_to_one(model, s):
    proba = model.proba(*paired(s))
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=4e-16)


@given(models(), scores())
def test_swapping_a_pair_mirrors_it_exactly(model, s):
    left, right = paired(s)
    np.testing.assert_array_equal(
        model.proba(left, right), model.proba(right, left)[:, ::-1]
    )


@given(models(), scores(), st.integers(-1000, 1000))
def test_a_constant_added_to_all_scores_changes_nothing(model, s, constant):
    left, right = paired(s)
    np.testing.assert_array_equal(
        model.proba(left, right), model.proba(left + constant, right + constant)
    )


@given(models(), scores())
def test_with_a_growing_gap_ties_get_rarer_and_the_order_surer(model, s):
    gap = np.unique(abs(np.subtract(*paired(s))))
    proba = model.proba_at_gap(gap)
    assert (np.diff(proba[:, 1]) <= 0).all()
    assert (np.diff(proba[:, 0]) <= 0).all()
    assert (np.diff(proba[:, 2]) >= 0).all()


@pytest.mark.parametrize("kind", ["rao_kupper", "davidson"])
@given(s=scores())
def test_without_ties_both_are_bradley_terry(kind, s):
    left, right = paired(s)
    proba = FixedModel(kind, NO_TIE[kind]).proba(left, right)
    win = np.exp(left) / (np.exp(left) + np.exp(right))
    np.testing.assert_array_equal(proba[:, 1], 0)
    np.testing.assert_allclose(proba[:, 2], win, rtol=1e-14)
    np.testing.assert_allclose(proba[:, 0], 1 - win, rtol=1e-13)


def test_without_margin_thurstone_is_case_v():
    proba = FixedModel("thurstone_mosteller", 0.0).proba([1.5], [0.5])
    phi = (1 + math.erf(1 / math.sqrt(2))) / 2
    np.testing.assert_allclose(proba, [[1 - phi, 0, phi]], rtol=1e-14)


@pytest.mark.parametrize("d", [50.0, 300.0])
@pytest.mark.parametrize("theta", [1.0, 1.5, 10.0])
def test_rao_kupper_tail_is_precise(d, theta):
    model = FixedModel("rao_kupper", theta)
    proba = model.proba_at_gap(np.array([d]))[0]
    # exp(-d) is below 1e-21: the next term of each expansion is out of reach.
    assert proba[0] == pytest.approx(math.exp(-d) / theta, rel=1e-13, abs=0)
    assert proba[1] == pytest.approx(
        (theta - 1 / theta) * math.exp(-d), rel=1e-13, abs=0
    )
    risk = decide_all(model, ZERO_ONE, [d], [0.0]).risk[0]
    assert risk == pytest.approx(theta * math.exp(-d), rel=1e-13, abs=0)


@pytest.mark.parametrize("d", [100.0, 300.0])
@pytest.mark.parametrize("nu", [0.0, 0.5, 4.0])
def test_davidson_tail_is_precise(d, nu):
    model = FixedModel("davidson", nu)
    proba = model.proba_at_gap(np.array([d]))[0]
    half = math.exp(-d / 2)
    assert proba[0] == pytest.approx(half**2, rel=1e-13, abs=0)
    assert proba[1] == pytest.approx(nu * half, rel=1e-13, abs=0)
    risk = decide_all(model, ZERO_ONE, [d], [0.0]).risk[0]
    assert risk == pytest.approx(nu * half + half**2, rel=1e-13, abs=0)


@pytest.mark.parametrize("d", [5.0, 15.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.4])
def test_thurstone_tail_is_precise(d, epsilon):
    model = FixedModel("thurstone_mosteller", epsilon)
    proba = model.proba_at_gap(np.array([d]))
    risk = decide_all(model, ZERO_ONE, [d], [0.0]).risk[0]
    # erfc loses about d**2 units in the last place to the rounding of its argument.
    upper = math.erfc((d - epsilon) / math.sqrt(2)) / 2
    assert risk == pytest.approx(upper, rel=1e-12, abs=0)
    lower = math.erfc((d + epsilon) / math.sqrt(2)) / 2
    assert proba[0, 0] == pytest.approx(lower, rel=1e-12, abs=0)


def log_upper_tail(u):
    """ln(1 - Phi(u)) by its asymptotic series, for u of 50 and more."""
    series = -1 / u**2 + 3 / u**4 - 15 / u**6 + 105 / u**8
    return -u * u / 2 - math.log(u * math.sqrt(2 * math.pi)) + math.log1p(series)


@pytest.mark.parametrize("d", [50.0, 300.0])
def test_log_likelihoods_far_out_are_precise(d):
    x, m = np.array([d]), 0.5
    expected = {
        ("rao_kupper", -1): -(d + m),
        ("rao_kupper", 0): m - d + math.log(-math.expm1(-2 * m)),
        ("davidson", -1): -d,
        ("davidson", 0): -d / 2 + math.log(m),
        ("thurstone_mosteller", -1): log_upper_tail(d + m),
        ("thurstone_mosteller", 0): log_upper_tail(d - m),
    }
    for (kind, outcome), value in expected.items():
        got = LINKS[kind].derivatives(outcome, x, m).value[0]
        assert got == pytest.approx(value, rel=1e-11, abs=0), (kind, outcome)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("param", [1.0, 1.5, 8.0])
@pytest.mark.parametrize("d", [1e3, 1e10, 1e300])
def test_huge_differences_are_certain(kind, param, d):
    model = FixedModel(kind, param)
    # Davidson's tie falls with exp(-d / 2) only.
    np.testing.assert_allclose(model.proba([d], [0.0]), [[0, 0, 1]], atol=1e-200)
    np.testing.assert_allclose(model.proba([-d], [d / 2]), [[1, 0, 0]], atol=1e-200)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("param", [1.0, 1.5, 8.0])
@pytest.mark.parametrize("d", [5e-324, 1e-310])
def test_subnormal_differences_are_like_none(kind, param, d):
    model = FixedModel(kind, param)
    np.testing.assert_array_equal(model.proba([d], [0.0]), model.proba([0.0], [0.0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", [-1, 0, 1])
@pytest.mark.parametrize("margin", [0.05, 0.7, 3.0])
def test_derivatives_are_those_of_the_value(kind, outcome, margin):
    link, h = LINKS[kind], 1e-5
    x = np.array([0.1, 0.5, 1.0, 2.5, 6.0])
    here = link.derivatives(outcome, x, margin)
    in_x = [link.derivatives(outcome, x + e, margin) for e in (h, -h)]
    in_m = [link.derivatives(outcome, x, margin + e) for e in (h, -h)]
    for name, of, (up, down) in [
        ("x", "value", in_x),
        ("m", "value", in_m),
        ("xx", "x", in_x),
        ("xm", "m", in_x),
        ("xm", "x", in_m),
        ("mm", "m", in_m),
    ]:
        slope = (getattr(up, of) - getattr(down, of)) / (2 * h)
        # A central difference is good to h**2 times the third derivative, which is
        # large where m is small: 1/m**3 = 8000 for ln P(tie).
        np.testing.assert_allclose(
            getattr(here, name), slope, rtol=2e-6, atol=1e-8, err_msg=f"{name} of {of}"
        )


@given(models(), st.sampled_from([-1, 0, 1]), scores(min_size=1))
def test_log_likelihood_is_the_logarithm_of_the_probability(model, outcome, s):
    if outcome == 0 and model.param == NO_TIE[model.kind]:
        return  # a tie is impossible and has no logarithm
    margin = math.log(model.param) if model.kind == "rao_kupper" else model.param
    link, x = LINKS[model.kind], abs(s)
    value = link.derivatives(outcome, x, margin).value
    expected = np.log(link.proba(x, margin)[:, outcome + 1])
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)


def test_counts(oracles):
    for case in oracles["theta_from_counts"]:
        n_pairs, untied = case["N"], case["n_nontied"]
        margins = {kind: LINKS[kind].from_counts(n_pairs, untied) for kind in KINDS}
        assert math.exp(margins["rao_kupper"]) == pytest.approx(case["theta"])
        assert margins["davidson"] == pytest.approx(case["nu_davidson"])
        assert margins["thurstone_mosteller"] == pytest.approx(case["eps_log_theta"])
        matched = LINKS["thurstone_mosteller"].from_tie_rate(n_pairs, untied)
        assert matched == pytest.approx(case["eps_tm_matched"])


@given(models(), scores(), loss_matrices())
def test_expected_losses_are_those_of_the_definition(model, s, loss):
    proba = model.proba(*paired(s))
    expected = [reference.expected_losses(row, loss) for row in proba]
    np.testing.assert_allclose(
        expected_losses(proba, loss), expected, rtol=1e-14, atol=1e-300
    )
