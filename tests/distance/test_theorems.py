"""What the paper's theorems say, and where their printed form fails."""

from itertools import permutations
from math import cosh, exp, log, sinh, tanh

import numpy as np
import pytest
from distance.named import (
    bipartite_misranking_loss,
    pairwise_abstention_loss,
    pairwise_misranking_loss,
    pairwise_surrogate_loss,
)

from skrank_abstain.distance import (
    LinearScorers,
    OneHiddenLayerScorers,
    consistency_bound,
    minimal_conditional_risk,
    negative_example,
)

UNIT = LinearScorers(1.0)


def bound(excess, surrogate, u, **options):
    """Bound for a hypothesis set that reaches u at gamma."""
    return consistency_bound(excess, surrogate, UNIT, gamma=u, **options)


def lost_by_two_items(u, repeated):
    """Excess of the wrong order by nothing, eta = 1 and 0: misranking, exponential."""
    lost = np.zeros(2)
    eta = (1.0, 0.0)
    pairs = [(i, j) for i in (0, 1) for j in (0, 1) if repeated or i != j]
    for i, j in pairs:
        a, b = eta[i] * (1 - eta[j]), eta[j] * (1 - eta[i])
        # The item of eta = 1 is scored a trifle lower, so that the heavier side is
        # wrong; the best scorers have a difference of u, the surrogate here Phi(0).
        lost += max(a, b) - min(a, b), (a + b) - max(a, b) * exp(-u)
    return lost / len(pairs)


@pytest.mark.parametrize("u", [1e-3, 0.1, 0.5, 0.69, 0.7, 1.0, 3.0, 10.0])
def test_two_items_against_the_printed_theorem_3_1(u):
    for repeated, violated in ((False, True), (True, u < log(2))):
        misranking, surrogate = lost_by_two_items(u, repeated)
        assert misranking == (0.5 if repeated else 1.0)
        options = {"surrogate": "exponential", "u": u, "setting": "bipartite"}
        printed = bound(surrogate, **options, as_printed=True)
        assert (printed < misranking) == violated
        mended = bound(surrogate, **options)
        if repeated:
            assert mended >= misranking
        else:  # tight here
            assert mended == pytest.approx(misranking, rel=1e-9)


def test_two_items_whose_numbers_are_known(oracles):
    for case in oracles["h_consistency_counterexample_thm31"]:
        u = case["Wgamma"]
        misranking, surrogate = lost_by_two_items(u, repeated=True)
        assert misranking == case["target_excess"]
        assert surrogate == pytest.approx(case["surrogate_excess"], rel=1e-9)
        best = minimal_conditional_risk(1.0, 0.0, u, "exponential")
        assert surrogate == pytest.approx((1 - best) / 2, rel=1e-9)
        options = {"setting": "bipartite", "as_printed": True}
        printed = bound(surrogate, "exponential", u, **options)
        assert printed == pytest.approx(case["Gamma_stated"], rel=1e-9)
        assert (printed < misranking) == case["violated"]


def test_equation_20_fails_wherever_theorem_3_1_does():
    # It has tanh where the theorem has its inverse, and is less still.
    for u in (0.1, 0.5, 1.0, 3.0):
        misranking, s = lost_by_two_items(u, repeated=False)
        assert max(np.sqrt(s), s * tanh(u)) < misranking


@pytest.mark.parametrize("u", [0.3, 1.0, 2.0])
def test_the_simplified_calibration_function_of_theorem_2_1(u):
    # Appendix C prints (e^2u - 1) / (e^2u - 1) = 1 for where its pieces meet: tanh(u).
    t = np.linspace(0, 1, 1001)
    exact = np.where(t <= tanh(u), 1 - np.sqrt(1 - t**2), 1 - cosh(u) + t * sinh(u))
    simple = np.where(t <= tanh(u), t**2 / 2, tanh(u) * t / 2)
    assert (simple <= exact + 1e-12).all()
    at_one = t**2 / 2  # if they met at 1, the first piece would be all
    assert (at_one > exact + 1e-3).any() == (u < 0.5)
    printed = bound(simple, "exponential", u, as_printed=True)
    np.testing.assert_allclose(printed, t, rtol=1e-9, atol=1e-12)
    # The last step asks for a convex function: the exact one is, the simple one not.
    assert (np.diff(exact, 2) >= -1e-12).all()
    assert np.diff(simple, 2).min() < -1e-5


@pytest.mark.parametrize("u", [0.1, 0.7, 2.0])
def test_the_hinge_excess_is_min_u_1_of_the_misranking_excess(u):
    # A line of Appendix C ends in the misranking excess itself, without min(u, 1).
    for eta in (0.0, 0.2, 0.4):
        misranking = 1 - 2 * eta
        least = minimal_conditional_risk(eta, 1 - eta, u, "hinge")
        assert 1 - least == pytest.approx(min(u, 1) * misranking)
        assert (1 - least < misranking - 1e-9) == (u < 1)


def test_networks_need_biases_as_large_as_their_weights():
    # Items on both sides of 0, no bias: a unit sees but one of them.
    x, gamma = 0.1, 0.2 * (1 - 1e-9)
    w = np.linspace(-1, 1, 201)
    for bias, reach in ((0.0, 0.1), (0.05, 0.15), (0.1, 0.2), (1.0, 0.2)):
        b = np.linspace(-bias, bias, 201)[:, None]
        unit = np.maximum(w * x + b, 0) - np.maximum(-w * x + b, 0)
        # Sums of units with weights of sizes that add up to 1 reach no further.
        assert np.abs(unit).max() == pytest.approx(reach)
        # The pair is wrong by nothing: Phi(0) in place of the hinge at the reach.
        lost = 1.0 - (1 - reach)
        assert (lost / gamma < 1 - 1e-6) == (bias < 0.1)
    # With the condition no pair of the unit ball is so.
    scorers = OneHiddenLayerScorers(1.0, 1.0, bias=1.0)
    assert consistency_bound(0.2, "hinge", scorers, gamma=gamma) >= 1


def test_the_published_label_prefers_the_second_item():
    # y != sign(h(x') - h(x)), as equation (1) has it, for every label and order.
    for published in (-1, 1):
        for s, s_other in permutations((0.0, 1.0)):
            wrong = published != (1 if s_other - s >= 0 else -1)
            found = pairwise_misranking_loss(
                None, [s, s_other], pairs=[(0, 1)], pair_labels=[-published]
            )
            assert found == wrong


def test_gamma_0_gives_up_equal_items_and_no_other():
    # Equation (2) at gamma = 0 costs c, not L_01, where x = x'.
    y, s, X = [1, 0, 0], [0.0, 1.0, 2.0], [[0.0], [0.0], [1.0]]
    pairs = {(0, 1): 0.3, (1, 0): 0.3, (0, 2): 1.0}
    for pair, expected in pairs.items():
        found = pairwise_abstention_loss(y, s, X, gamma=0, cost=0.3, pairs=[pair])
        assert found == expected
        assert pairwise_misranking_loss(y, s, pairs=[pair]) == 1


def test_risks_of_two_conventions_do_not_mix():
    # A far pair in the wrong order by nothing, and a near one, of equal weight.
    gamma, reach = 0.5, UNIT.reach([0.5000001, 0.1])
    eta = np.array([0.0, 1.0])
    least = minimal_conditional_risk(eta, 1 - eta, reach, "hinge")
    misranking = 0.5

    def most(risk, smallest):
        return consistency_bound(np.mean(risk - smallest), "hinge", UNIT, gamma=gamma)

    with_price, price = np.array([1.0, 0.5]), np.array([least[0], 0.5])
    published = np.array([1.0, 1.0])  # Phi(0) for the near pair too
    assert most(with_price, price) >= misranking - 1e-6
    assert most(published, least) >= misranking - 1e-6
    assert most(with_price, least) < misranking / 2


@pytest.mark.parametrize("surrogate", ["hinge", "exponential", "sigmoid", "logistic"])
@pytest.mark.parametrize("epsilon", [0.1, 1e-6])
def test_the_negative_example_by_the_losses_of_its_pairs(surrogate, epsilon):
    example = negative_example(epsilon, UNIT, surrogate)
    # All equal, and the best that is within reach.
    scores = np.zeros(2), np.concatenate([example.better, example.worse])

    def misranked(pairs, labels):
        worst, best = (
            pairwise_misranking_loss(None, s, pairs=pairs, pair_labels=labels)
            for s in scores
        )
        return worst - best

    assert misranked([(0, 1)], [1]) == example.misranking_excess == 1
    # The 1 is of this ordered pair; over both orders it is one half.
    assert misranked([(1, 0)], [-1]) == 0
    assert misranked([(0, 1), (1, 0)], [1, -1]) == 0.5
    options = {"surrogate": surrogate, "pairs": [(0, 1)], "pair_labels": [1]}
    worst, best = (pairwise_surrogate_loss(None, s, **options)[0] for s in scores)
    assert worst - best == pytest.approx(example.surrogate_excess, rel=1e-6)
    items = negative_example(epsilon, UNIT, surrogate, setting="bipartite")
    assert bipartite_misranking_loss([1, 0], scores[0]) == items.misranking_excess
    assert bipartite_misranking_loss([1, 0], scores[1]) == 0
    # The wrong order, as near to equal scores as we like, loses twice as much.
    assert bipartite_misranking_loss([1, 0], -scores[1]) == 1
    # With repetition two of the four pairs are an item and itself.
    drawn = [0.5 * (y != other) for y in (1, 0) for other in (1, 0)]
    assert np.mean(drawn) == items.misranking_excess / 2


def test_sets_that_are_not_equicontinuous_have_a_bound_without_abstention():
    # If every two items can get scores 1 apart, the hinge excess is no less than the
    # misranking excess, however near they are.
    for eta in np.linspace(0, 1, 21):
        least = minimal_conditional_risk(eta, 1 - eta, 1.0, "hinge")
        for d in np.linspace(-2, 2, 41):
            risk = eta * max(0, 1 - d) + (1 - eta) * max(0, 1 + d)
            wrong = (1 - eta if d >= 0 else eta) - min(eta, 1 - eta)
            assert wrong <= risk - least + 1e-12


def test_an_excess_may_be_below_zero_by_rounding_alone():
    scorers = LinearScorers(1.0)
    assert consistency_bound(-1e-16, "logistic", scorers, gamma=0.5) == 0
    with pytest.raises(ValueError, match="excess must be non-negative"):
        consistency_bound(-1e-9, "logistic", scorers, gamma=0.5)


def test_no_bound_is_printed_for_the_logistic_loss():
    with pytest.raises(ValueError, match="as_printed must be False"):
        consistency_bound(
            0.1, "logistic", LinearScorers(1.0), gamma=0.5, as_printed=True
        )


def test_a_price_without_features_is_refused():
    with pytest.raises(ValueError, match="cost must come with X"):
        pairwise_surrogate_loss([0, 1], [0.1, 0.2], cost=0.1)
