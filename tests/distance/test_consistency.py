"""Consistency bounds: published numbers, random distributions, where print fails."""

from itertools import permutations
from math import cosh, exp, log, sinh, sqrt, tanh

import numpy as np
import pytest
from distance.named import (
    bipartite_misranking_loss,
    pairwise_abstention_loss,
    pairwise_misranking_loss,
    pairwise_surrogate_loss,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

from skrank_abstain.distance import (
    Exponential,
    Hinge,
    LinearScorers,
    Logistic,
    MarginLoss,
    OneHiddenLayerScorers,
    Sigmoid,
    consistency_bound,
    minimal_conditional_risk,
    minimizability_gap,
    negative_example,
)

UNIT = LinearScorers(1.0)


class Own(MarginLoss):
    """A loss of one's own, of which no bound is known."""

    value = derivative = best_margin = Hinge.value


BOUNDED = [Hinge(), Exponential(), Sigmoid(), Sigmoid(3.0), Logistic()]
SETTINGS = ("pairwise", "bipartite")
PROBABILITIES = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


def bound(excess, surrogate, u, **options):
    """Bound for a class that reaches u at gamma."""
    return consistency_bound(excess, surrogate, UNIT, gamma=u, **options)


def test_published_bounds(oracles):
    names = {"hinge": "hinge", "exp": "exponential", "sig_k1": "sigmoid"}
    columns = {"general": "pairwise", "bipartite_as_stated": "bipartite"}
    for case in oracles["h_consistency"]:
        for column, setting in columns.items():
            for key, surrogate in names.items():
                found = bound(
                    case["t"],
                    surrogate,
                    case["Wgamma"],
                    setting=setting,
                    as_printed=True,
                )
                assert found == pytest.approx(case[column][key], rel=1e-9)
                if surrogate != "exponential":
                    assert found == bound(
                        case["t"], surrogate, case["Wgamma"], setting=setting
                    )


def test_corrected_bounds(oracles):
    for case in oracles["h_consistency"]:
        t, u = case["t"], case["Wgamma"]
        found = bound(t, "exponential", u, setting="bipartite")
        assert found == pytest.approx(case["bipartite_exp_corrected"], rel=1e-9)
        # The bound undoes the calibration function, or that of its convex hull.
        psi = case["Psi_exp_general"]
        assert bound(psi, "exponential", u) == pytest.approx(t, rel=1e-9)
        psi = case["Psi_exp_bipartite_exact"]
        found = bound(psi, "exponential", u, setting="bipartite")
        if t <= 1 - exp(-u / 2):
            assert found == pytest.approx(t, rel=1e-9)
        else:
            assert found >= t


@given(st.floats(0, 3), st.floats(0.01, 6))
def test_the_pairwise_bound_is_within_the_published_one(excess, u):
    sharp = bound(excess, "exponential", u)
    assert sharp <= bound(excess, "exponential", u, as_printed=True) * (1 + 1e-12)


@pytest.mark.parametrize("u", [0.05, 0.5, 2.0, 8.0])
def test_exponential_bounds_by_their_formulas(u):
    for s in (1e-4, 0.3, 0.9, 1.5):
        if s <= 1 - 1 / cosh(u):
            expected = sqrt(1 - (1 - s) ** 2)
        else:
            expected = (s + cosh(u) - 1) / sinh(u)
        assert bound(s, "exponential", u) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("surrogate", BOUNDED, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
def test_bounds_are_concave_and_start_at_zero(surrogate, setting):
    s = np.linspace(0, 2, 2001)
    for u in (0.05, 0.7, 3.0, 1000.0):
        value = bound(s, surrogate, u, setting=setting)
        assert value[0] == 0
        assert (np.diff(value) >= 0).all()
        assert np.diff(value, 2).max() <= 1e-12


@st.composite
def distributions(draw):
    """Pairs with probabilities of being drawn, distances and probabilities of labels.

    Scores differ by any share of what the class can give that pair, up to equality.
    """
    n = draw(st.integers(1, 6))

    def columns(elements):
        return np.array(draw(st.lists(elements, min_size=n, max_size=n)))

    weight = columns(st.floats(0.01, 1))
    eta, other = columns(PROBABILITIES), columns(PROBABILITIES)
    # Distances begin right beyond gamma; some are within.
    distance = columns(st.floats(0.5, 4)) * draw(st.sampled_from([0.05, 0.3, 1.0]))
    gamma = draw(st.sampled_from([distance.min(), np.median(distance)])) * (1 - 1e-9)
    share = columns(st.sampled_from([-1.0, -1e-9, 0.0, 1e-9, 1.0]) | st.floats(-1, 1))
    return weight / weight.sum(), eta, other, distance, gamma, share


@pytest.mark.parametrize("surrogate", BOUNDED, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
@given(
    st.one_of(
        st.just(UNIT),
        st.just(LinearScorers(0.3)),
        st.just(OneHiddenLayerScorers(0.5, 4.0, bias=1.0)),
    ),
    distributions(),
)
def test_no_distribution_violates_a_bound(surrogate, setting, scorers, distribution):
    weight, eta, other, distance, gamma, share = distribution
    decided = distance > gamma
    reach = scorers.reach(distance)
    difference = share * reach
    if setting == "pairwise":
        a, b = eta, 1 - eta
        target = np.where(difference >= 0, b, a)
    else:
        a, b = eta * (1 - other), other * (1 - eta)
        half = (a + b) / 2
        target = np.select([difference > 0, difference < 0], [b, a], half)
    risk = a * surrogate.value(difference) + b * surrogate.value(-difference)
    regret = target - minimal_conditional_risk(a, b, reach)
    excess = risk - minimal_conditional_risk(a, b, reach, surrogate)
    assert regret.min() >= 0
    assert excess.min() >= -1e-12
    lost = weight @ (regret * decided)
    # Near pairs cost the price and lose nothing, or cost the surrogate as published.
    for counted in (excess * decided, excess):
        most = consistency_bound(
            max(weight @ counted, 0), surrogate, scorers, gamma=gamma, setting=setting
        )
        assert lost <= most + 1e-7  # the root of rounding


def lost_on_a_grid(u, surrogate, setting):
    """Misranking and surrogate excess of single pairs that are right beyond gamma."""
    eta, other = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21))
    a, b = eta * (1 - other), other * (1 - eta)
    if setting == "pairwise":
        a, b = eta, 1 - eta
    target = np.where(a < b, b - a, 0)  # the first is scored higher, if by nothing
    excess = np.inf
    for d in (1e-12, 0.1 * u, 0.5 * u, u):
        risk = a * surrogate.value(d) + b * surrogate.value(-d)
        least = minimal_conditional_risk(a, b, u, surrogate)
        excess = np.minimum(excess, np.maximum(risk - least, 0))
    return target, excess


@pytest.mark.parametrize("u", [0.05, 0.3, 0.6, 1.0, 4.0])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pair_on_a_grid(setting, u):
    for surrogate in BOUNDED:
        target, excess = lost_on_a_grid(u, surrogate, setting)
        most = bound(excess, surrogate, u, setting=setting)
        # The excess has an error of 1e-16, of which the bound may take the root.
        assert (target <= most + 1e-7).all()
        # It is attained, but for two losses of items.
        loose = isinstance(surrogate, Exponential | Logistic)
        if not (loose and setting == "bipartite"):
            decided = target > 0
            np.testing.assert_allclose(most[decided], target[decided], rtol=1e-6)


def smallest(surrogate, a, b, u):
    """Smallest a Phi(d) + b Phi(-d) for d in [-u, u], by numerical minimisation."""
    found = minimize_scalar(
        lambda d: a * surrogate.value(d) + b * surrogate.value(-d),
        bounds=(-u, u),
        method="bounded",
        options={"xatol": 1e-10},
    )
    edges = [a * surrogate.value(d) + b * surrogate.value(-d) for d in (-u, u)]
    return min(found.fun, *edges)


@pytest.mark.parametrize("u", [0.05, 0.5, 2.0, 8.0])
def test_the_logistic_bound_undoes_its_calibration_function(u):
    # ln 2 less the smallest risk of a pair of which the likelier order has (1 + t) / 2.
    t = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])
    psi = np.array(
        [np.log(2) - smallest(Logistic(), (1 + v) / 2, (1 - v) / 2, u) for v in t]
    )
    found = bound(psi, "logistic", u, setting="pairwise")
    np.testing.assert_allclose(found, t, rtol=1e-6)
    assert (np.diff(psi) > 0).all()
    slopes = np.diff(psi) / np.diff(t)
    assert (np.diff(slopes) >= -1e-9).all()  # convex


def test_the_logistic_bound_at_its_ends():
    # Of tiny excesses the root of 2 s; where nothing is out of reach, the end is ln 2.
    tiny = np.array([1e-300, 1e-30, 1e-12])
    np.testing.assert_allclose(bound(tiny, "logistic", 9.0), np.sqrt(2 * tiny))
    for u in (30.0, 1e4, np.inf):
        assert bound(np.log(2), "logistic", u) == pytest.approx(1, rel=1e-9)
        assert bound(0.1, "logistic", u) == pytest.approx(bound(0.1, "logistic", 20.0))
    assert bound(1e-9, "logistic", 1e-6) == pytest.approx(2e-9 / 1e-6, rel=1e-3)


@given(eta=PROBABILITIES, other=PROBABILITIES, u=st.floats(0.01, 5))
def test_items_lose_more_than_pairs_by_the_logistic_loss(eta, other, u):
    # (a + b) psi(t / (a + b)) falls in a + b, which is at most (1 + t^2) / 2.
    a, b = eta * (1 - other), other * (1 - eta)
    assert a + b <= (1 + (a - b) ** 2) / 2 + 1e-15
    lost = max((a + b) * np.log(2) - smallest(Logistic(), a, b, u), 0)
    closer = bound(lost, "logistic", u, setting="bipartite")
    assert abs(a - b) <= closer + 1e-7
    assert closer <= bound(lost, "logistic", u) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("u", [0.05, 0.5, 2.0, 8.0, np.inf])
def test_the_bipartite_logistic_bound_is_a_convex_hull(u):
    # Of the excess of the two items that lose least: eta = (1 + t) / 2, (1 - t) / 2.
    t = np.linspace(0, 1, 2001)
    a, b = (1 + t) ** 2 / 4, (1 - t) ** 2 / 4
    d = np.minimum(4 * np.arctanh(np.minimum(t, 1 - 1e-16)), u)
    least = a * np.logaddexp(0, -d) + b * np.logaddexp(0, d)
    psi = (a + b) * np.log(2) - least
    found = bound(psi, "logistic", u, setting="bipartite")
    assert (found >= t - 1e-6).all()
    # The hull is the curve up to the steepest chord to its end, and that chord.
    start = int(np.argmax((psi[-1] - psi[:-1]) / (1 - t[:-1])))
    np.testing.assert_allclose(found[: start + 1], t[: start + 1], atol=2e-6)
    middle = (psi[start] + psi[-1]) / 2
    chord = bound(middle, "logistic", u, setting="bipartite")
    assert chord == pytest.approx((t[start] + 1) / 2, abs=2e-6)


@given(st.integers(0, 10**6))
def test_linear_scorers_in_the_plane(seed):
    rng = np.random.default_rng(seed)
    scorers = LinearScorers(rng.uniform(0.2, 3))
    X = rng.normal(size=(6, 2))
    X /= np.abs(X).max()  # the unit ball of the largest coordinate; its dual is l1
    w = rng.normal(size=2)
    w *= scorers.weight_norm / np.abs(w).sum() * rng.uniform()
    left, right = np.triu_indices(6, 1)
    distance = np.abs(X[left] - X[right]).max(axis=1)
    gamma = np.quantile(distance, 0.3)
    difference = (X[right] - X[left]) @ w
    assert (np.abs(difference) <= scorers.reach(distance) + 1e-12).all()
    eta = rng.uniform(size=left.size).round(1)
    far = distance > gamma
    for surrogate in BOUNDED:
        risk = eta * surrogate.value(difference)
        risk += (1 - eta) * surrogate.value(-difference)
        least = minimal_conditional_risk(
            eta, 1 - eta, scorers.reach(distance), surrogate
        )
        wrong = np.where(difference >= 0, 1 - eta, eta) - np.minimum(eta, 1 - eta)
        most = consistency_bound(
            np.mean((risk - least) * far), surrogate, scorers, gamma=gamma
        )
        assert np.mean(wrong * far) <= most + 1e-12


@pytest.mark.parametrize("surrogate", BOUNDED, ids=str)
@given(a=PROBABILITIES, b=PROBABILITIES, u=st.floats(0, 5))
def test_minimal_conditional_risk_on_a_grid(surrogate, a, b, u):
    d = np.linspace(-u, u, 401)
    on_grid = a * surrogate.value(d) + b * surrogate.value(-d)
    found = minimal_conditional_risk(a, b, u, surrogate)
    assert found <= on_grid.min() + 1e-12
    spacing = u / 200
    assert found >= on_grid.min() - 200 * spacing * (1 if u == 0 else spacing * exp(u))


def test_minimal_conditional_risk_by_its_formulas():
    eta = np.array([0.0, 0.1, 0.4, 0.5, 0.95])
    for u in (0.3, 1.0, 2.5):
        edge = np.abs(2 * eta - 1)
        risks = {
            "hinge": 1 - edge * min(u, 1),
            "sigmoid": 1 - edge * tanh(u),
            "exponential": [
                2 * sqrt(e * (1 - e))
                if 0 < e < 1 and abs(np.log(e / (1 - e))) / 2 <= u
                else max(e, 1 - e) * exp(-u) + min(e, 1 - e) * exp(u)
                for e in eta
            ],
        }
        for surrogate, expected in risks.items():
            found = minimal_conditional_risk(eta, 1 - eta, u, surrogate)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    found = minimal_conditional_risk(eta, 1 - eta, 1.0)
    np.testing.assert_array_equal(found, np.minimum(eta, 1 - eta))
    np.testing.assert_array_equal(
        minimal_conditional_risk(eta, 1 - eta, [[0.0], [1.0]]),
        [1 - eta, np.minimum(eta, 1 - eta)],
    )
    assert minimal_conditional_risk(1, 0, 1e4, "exponential") == 0
    assert minimal_conditional_risk(0, 0, 1.0, "exponential") == 0


@given(a=PROBABILITIES, b=PROBABILITIES, u=st.sampled_from([0.0, 1e-9, 2.0]))
def test_smallest_misranking_over_differences_of_scores(a, b, u):
    for setting in SETTINGS:
        risks = []
        for d in (-u, 0.0, u):
            # Of the order with weight a the difference is positive; sgn(0) = +1.
            predicted = a if d > 0 or (d == 0 and setting == "pairwise") else b
            half = d == 0 and setting == "bipartite"
            risks.append((a + b) / 2 if half else a + b - predicted)
        found = minimal_conditional_risk(a, b, u, setting=setting)
        assert found == pytest.approx(min(risks), abs=1e-15)


def test_minimizability_gap():
    # Two equal pairs that want opposite orders: no scorer can please both.
    minimal = minimal_conditional_risk([0.9, 0.1], [0.1, 0.9], 1.0, "hinge")
    gap = minimizability_gap(1.0, minimal)
    assert gap == pytest.approx(1 - (1 - 0.8))
    assert minimizability_gap(minimal[0], minimal[:1]) == 0
    assert minimizability_gap(0.4, [0.0, 1.0], [3, 1]) == pytest.approx(0.4 - 0.25)


def test_gap_of_the_best_linear_scorer():
    # The smallest hinge risk of w . x, |w|_1 <= W, as a linear programme.
    rng = np.random.default_rng(0)
    X, size = rng.uniform(-1, 1, (12, 2)), 1.5
    y = rng.permutation(12)
    left, right = np.triu_indices(12, 1)
    label = np.sign(y[right] - y[left])
    rows = label[:, None] * (X[right] - X[left])
    n = label.size
    # Unknowns: positive and negative part of w, and the hinge of each pair.
    result = linprog(
        np.concatenate([np.zeros(4), np.full(n, 1 / n)]),
        np.block([[-rows, rows, -np.eye(n)], [np.ones((1, 4)), np.zeros((1, n))]]),
        np.append(-np.ones(n), size),
    )
    w = result.x[:2] - result.x[2:4]
    loss, _ = pairwise_surrogate_loss(y, X @ w, surrogate="hinge")
    assert loss == pytest.approx(result.fun, rel=1e-9)
    distance = np.abs(X[left] - X[right]).max(axis=1)
    reach = LinearScorers(size).reach(distance)
    minimal = minimal_conditional_risk(label > 0, label < 0, reach, "hinge")
    assert minimizability_gap(loss, minimal) == pytest.approx(loss - minimal.mean())
    assert loss > minimal.mean()


@pytest.mark.parametrize("surrogate", BOUNDED, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
def test_negative_example(surrogate, setting):
    scorers = OneHiddenLayerScorers(2.0, 3.0, bias=2.0)
    previous = np.inf
    for epsilon in (100.0, 0.1, 1e-3, 1e-5):
        found = negative_example(epsilon, scorers, surrogate, setting=setting)
        u = scorers.reach(found.distance)
        assert u < epsilon
        assert found.distance == abs(found.better - found.worse)
        assert np.abs(found.better) < 1
        excess = surrogate.value(0.0) - surrogate.value(u)
        if isinstance(surrogate, Hinge):
            excess = min(u, 1)
        assert found.surrogate_excess == pytest.approx(excess, abs=1e-12)
        assert found.surrogate_excess < min(previous, 4 * epsilon)
        assert found.misranking_excess == (1 if setting == "pairwise" else 0.5)
        previous = found.surrogate_excess
        # Abstention takes the pair away, and only where it is that near.
        gamma = found.distance
        options = {"setting": setting, "gamma": gamma}
        assert negative_example(epsilon, scorers, surrogate, **options)[3:] == (0, 0)
        options["gamma"] = gamma * 0.999
        again = negative_example(epsilon, scorers, surrogate, **options)
        assert again[3:] == found[3:]
        most = consistency_bound(again[3], surrogate, scorers, **options)
        assert most >= again[4]


def test_without_abstention_there_is_no_bound():
    for surrogate in BOUNDED:
        for setting in SETTINGS:
            # For the logistic loss none is printed.
            for as_printed in (False, True)[: 2 - isinstance(surrogate, Logistic)]:
                options = {"setting": setting, "as_printed": as_printed}
                assert bound(0.0, surrogate, 0.0, **options) == 0
                assert bound(1e-9, surrogate, 0.0, **options) == np.inf


def test_reach():
    assert LinearScorers(2.0).reach(0.25) == 0.5
    assert OneHiddenLayerScorers(2.0, 3.0, bias=5.0).reach(0.25) == 1.5
    one = consistency_bound(0.1, "hinge", LinearScorers(2.0), gamma=0.25)
    assert one == pytest.approx(0.1 / 0.5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: LinearScorers(0),
            ValueError,
            r"weight_norm must be in \(0, inf\), got 0",
        ),
        (lambda: LinearScorers("2"), TypeError, "weight_norm must be a real number"),
        (
            lambda: OneHiddenLayerScorers(2.0, 1.0, bias=1.0),
            ValueError,
            "bias must be at least weight_norm = 2.0, got 1.0",
        ),
        (
            lambda: OneHiddenLayerScorers(2.0, -1.0, bias=2.0),
            ValueError,
            r"output_norm must be in \(0, inf\), got -1\.0",
        ),
        (lambda: bound(-0.1, "hinge", 1), ValueError, "excess must be non-negative"),
        (
            lambda: bound(np.nan, "hinge", 1),
            ValueError,
            "excess must be finite, got Na",
        ),
        (lambda: bound(0.1, Own(), 1), ValueError, "surrogate must be the hinge, exp"),
        (
            lambda: minimal_conditional_risk(1, 0, 1, setting="items"),
            ValueError,
            "setting must be one of 'pairwise', 'bipartite', got 'items'",
        ),
        (lambda: bound(0.1, "ramp", 1), ValueError, "surrogate must be one of 'hinge'"),
        (lambda: bound(0.1, "hinge", -1), ValueError, r"gamma must be in \[0, inf\]"),
        (
            lambda: bound(0.1, "hinge", 1, setting="listwise"),
            ValueError,
            "setting must be one of 'pairwise', 'bipartite', got 'listwise'",
        ),
        (
            lambda: minimal_conditional_risk(-1, 0, 1),
            ValueError,
            "weight must be non-negative, got -1.0",
        ),
        (
            lambda: minimal_conditional_risk(1, 0, np.inf),
            ValueError,
            "reach must be finite, got infinity",
        ),
        (
            lambda: minimizability_gap(0.1, [0.2, 0.3]),
            ValueError,
            "best_risk must be at least the mean of minimal_risks = 0.25, got 0.1",
        ),
        (
            lambda: minimizability_gap(0.1, [0.0], [0.0]),
            ZeroDivisionError,
            "Weights sum to zero",
        ),
        (
            lambda: negative_example(0, UNIT, "hinge"),
            ValueError,
            r"epsilon must be in \(0, inf\), got 0",
        ),
    ],
)
def test_checks(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


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
    with pytest.raises(ValueError, match=r"no printed bound, got .*as_printed=True"):
        consistency_bound(
            0.1, "logistic", LinearScorers(1.0), gamma=0.5, as_printed=True
        )


def test_a_price_without_features_is_refused():
    with pytest.raises(ValueError, match=r"X, .* and cost, .* must be given together"):
        pairwise_surrogate_loss([0, 1], [0.1, 0.2], cost=0.1)
