"""Bounds on the AUC: published numbers, formulas, and what must shrink."""

from functools import partial
from itertools import product
from math import ceil, e, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from theory.matrices import rank_matrix

from skrank_abstain.theory import (
    auc_sample_size,
    auc_test_set_bound,
    auc_uniform_bound,
    auc_uniform_bound_freund,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)

# Theorems hold for every delta, and published numbers use large ones.
pytestmark = pytest.mark.filterwarnings("ignore:delta=.* promises something")

LINE = partial(log_rank_shatter_linear, n_features=1)
LINE_THRESHOLDS = partial(log_threshold_shatter_linear, n_features=1)
SIZES = st.integers(1, 3000)
DELTAS = st.floats(1e-6, 0.999)
CLASSES = st.sampled_from(
    [log(20), *(partial(log_rank_shatter_linear, n_features=d) for d in (1, 2, 7))]
)
BOUNDS = {
    "test": auc_test_set_bound,
    "mcdiarmid": partial(auc_test_set_bound, method="mcdiarmid"),
    "best": partial(auc_test_set_bound, n_rankers=20),
    "uniform": partial(auc_uniform_bound, log_shatter=LINE),
    "freund": partial(auc_uniform_bound_freund, log_shatter=LINE_THRESHOLDS),
}


def approx(value):
    return pytest.approx(value, rel=1e-9)


def test_published_numbers(oracles):
    for case in oracles["auc_bounds"]:
        m, n, delta = case["m"], case["n"], case["delta"]
        uniform = auc_uniform_bound(m, n, LINE, delta=delta)
        freund = auc_uniform_bound_freund(m, n, LINE_THRESHOLDS, delta=delta)
        assert uniform == approx(case["cor1_lin1"])
        assert freund == approx(case["thm6_lin1"])
        assert freund / uniform == approx(case["ratio"])
        for method, key in (
            ("mcdiarmid", "mcdiarmid"),
            ("hoeffding", "hoeffding_2sample"),
        ):
            found = auc_test_set_bound(m, n, delta=delta, method=method)
            assert found == approx(case[f"test_set_{key}"])
        # Theorem 2 is the corollary solved for delta.
        probability = case["thm2_prob_eps_0p2_lin1"]
        solved = auc_uniform_bound(m, n, LINE, delta=probability)
        assert solved == approx(0.2) if probability < 1 else solved >= 0.2
        for d, expected in case["cor1_lin_d_exactsum"].items():
            lemma2 = partial(log_rank_shatter_linear, n_features=int(d), count="lemma2")
            assert auc_uniform_bound(m, n, lemma2, delta=delta) == approx(expected)
            closed = int(d) * log(2 * e * 4 * m * n / int(d))
            printed = auc_uniform_bound(m, n, closed, delta=delta)
            assert printed == approx(case["cor1_lin_d"][d])
            central = partial(log_rank_shatter_linear, n_features=int(d))
            assert auc_uniform_bound(m, n, central, delta=delta) < expected < printed


def test_published_numbers_by_share(oracles):
    for case in oracles["auc_bounds_thm3"]:
        m = round(case["M"] * case["rho"])
        found = auc_uniform_bound(m, case["M"] - m, LINE, delta=case["delta"])
        assert found == approx(case["eps_lin1"])


def test_first_meaningful_sample_sizes(oracles):
    for case in oracles["figure1_meaningful_M"]:
        for bound, key in (("uniform", "cor1"), ("freund", "thm6")):
            first = case[f"M_first_eps_below_half_{key}"]
            step = 10 if first <= 20_000 else 1000
            for size, below in ((first, True), (first - step, False)):
                m = round(case["rho"] * size)
                epsilon = BOUNDS[bound](m, size - m, delta=case["delta"])
                assert (epsilon < 0.5) == below


def test_formulas():
    m, n, delta = 30, 70, 0.05
    assert auc_test_set_bound(m, n, delta=delta) == approx(sqrt(log(40) / 60))
    found = auc_test_set_bound(m, n, delta=delta, method="mcdiarmid")
    assert found == approx(sqrt(100 * log(40) / (2 * 2100)))
    found = auc_test_set_bound(m, n, delta=delta, n_rankers=7)
    assert found == approx(sqrt(log(7 * 40) / 60))
    found = auc_test_set_bound(m, n, delta=delta, n_rankers=7, method="mcdiarmid")
    assert found == approx(sqrt(100 * log(7 * 40) / (2 * 2100)))
    found = auc_uniform_bound(m, n, log(7), delta=delta)
    assert found == approx(sqrt(8 * 100 * (log(7) + log(80)) / 2100))
    found = auc_uniform_bound_freund(m, n, log, delta=delta)
    parts = [(log(60) + log(240)) / 30, (log(140) + log(240)) / 70]
    assert found == approx(2 * sqrt(parts[0]) + 2 * sqrt(parts[1]))


def test_coefficients_are_asked_for_twice_the_sample():
    asked = []

    def shatter(*sizes):
        asked.append(sizes)
        return 1.0

    auc_uniform_bound(3, 5, shatter, delta=0.1)
    auc_uniform_bound_freund(3, 5, shatter, delta=0.1)
    assert asked == [(6, 10), (6,), (10,)]


@given(SIZES, SIZES, DELTAS, CLASSES)
def test_theorems_2_and_3_are_the_bound_solved_and_by_share(m, n, delta, log_shatter):
    log_count = log_shatter(2 * m, 2 * n) if callable(log_shatter) else log_shatter
    epsilon = auc_uniform_bound(m, n, log_shatter, delta=delta)
    exponent = log(4) + log_count - m * n * epsilon**2 / (8 * (m + n))
    assert exp(exponent) == pytest.approx(delta, rel=1e-6)
    total, share = m + n, m / (m + n)
    by_share = 8 * (log_count + log(4 / delta)) / (share * (1 - share) * total)
    assert epsilon == approx(sqrt(by_share))


@pytest.mark.parametrize("name", BOUNDS)
@given(SIZES, SIZES, DELTAS)
def test_more_items_and_less_confidence_are_no_wider(name, m, n, delta):
    bound = BOUNDS[name]
    epsilon = bound(m, n, delta=delta)
    assert bound(n, m, delta=delta) == approx(epsilon)
    assert bound(2 * m, n, delta=delta) <= epsilon
    assert bound(m, 2 * n, delta=delta) <= epsilon
    assert bound(2 * m, 2 * n, delta=delta) < epsilon
    assert bound(m, n, delta=delta / 2) > epsilon


@given(SIZES, SIZES, DELTAS)
def test_one_ranker_is_bounded_closer_than_a_class(m, n, delta):
    hoeffding = auc_test_set_bound(m, n, delta=delta)
    mcdiarmid = auc_test_set_bound(m, n, delta=delta, method="mcdiarmid")
    assert hoeffding <= mcdiarmid * (1 + 1e-12)
    assert mcdiarmid < auc_uniform_bound(m, n, 0.0, delta=delta)


@given(st.integers(2, 3000), DELTAS)
def test_rank_shatter_is_narrower_for_equal_classes(m, delta):
    assume(delta <= 0.5)
    uniform, freund = (
        BOUNDS[name](m, m, delta=delta) for name in ("uniform", "freund")
    )
    assert uniform < freund


def test_freund_is_narrower_for_very_unequal_classes_and_small_delta():
    m, n, delta = 1000, 10**9, 1e-6
    uniform, freund = (
        BOUNDS[name](m, n, delta=delta) for name in ("uniform", "freund")
    )
    assert freund < 0.32 < 0.36 < uniform


@pytest.mark.parametrize(
    ("dim", "narrower"),
    [(1, "uniform"), (2, "uniform")] + [(dim, "freund") for dim in (3, 5, 46)],
)
def test_which_is_narrower_for_linear_functions(dim, narrower):
    rank = partial(log_rank_shatter_linear, n_features=dim)
    threshold = partial(log_threshold_shatter_linear, n_features=dim)
    bounds = {
        "uniform": auc_uniform_bound(5000, 5000, rank, delta=0.05),
        "freund": auc_uniform_bound_freund(5000, 5000, threshold, delta=0.05),
    }
    assert min(bounds, key=bounds.get) == narrower


def test_the_best_of_a_list_is_bounded_far_closer_than_a_class():
    test_set = auc_test_set_bound(500, 500, delta=0.05, n_rankers=20)
    uniform = auc_uniform_bound(500, 500, log(20), delta=0.05)
    # The probability that one of 20 fails, each by Hoeffding's inequality.
    assert 20 * 2 * exp(-2 * 500 * test_set**2) == approx(0.05)
    assert (round(test_set, 3), round(uniform, 3)) == (0.082, 0.486)


@given(SIZES, SIZES, DELTAS, st.integers(1, 1000))
def test_a_list_of_rankers_shares_the_failures(m, n, delta, n_rankers):
    one = auc_test_set_bound(m, n, delta=delta / n_rankers)
    found = auc_test_set_bound(m, n, delta=delta, n_rankers=n_rankers)
    assert found == approx(one)
    assert found < auc_uniform_bound(m, n, log(n_rankers), delta=delta)


def test_the_bound_of_the_best_holds():
    # As variable as the AUC can be, and rankers that fail apart from each other.
    rng = np.random.default_rng(0)
    m, delta, rankers = 20, 0.2, 10
    share = rng.binomial(m, 0.5, (20_000, rankers)) / m
    bound = auc_test_set_bound(m, 200, delta=delta, n_rankers=rankers)
    failed = (np.abs(share - 0.5) >= bound).any(axis=1).mean()
    alone = auc_test_set_bound(m, 200, delta=delta)
    assert 0.02 < failed < delta < (np.abs(share - 0.5) >= alone).any(axis=1).mean()


def test_delta_of_one():
    # The largest delta of Corollary 1: the bound that fails at worst always.
    m, n = 30, 70
    assert auc_test_set_bound(m, n, delta=1) == approx(sqrt(log(2) / 60))
    found = auc_uniform_bound(m, n, log(7), delta=1)
    assert found == approx(sqrt(8 * 100 * (log(7) + log(4)) / 2100))
    parts = [(log(60) + log(12)) / 30, (log(140) + log(12)) / 70]
    freund = auc_uniform_bound_freund(m, n, log, delta=1)
    assert freund == approx(2 * sqrt(parts[0]) + 2 * sqrt(parts[1]))


def test_only_the_numbers_of_labels_matter():
    # Every sample of four scores from {0, 1, 2}, positives being higher on average, and
    # every order of two positive and two negative labels.
    chances = {1: (0.1, 0.3, 0.6), 0: (0.5, 0.3, 0.2)}
    expected = sum(
        chances[1][i] * chances[0][j] * ((i > j) + (i == j) / 2)
        for i, j in product(range(3), repeat=2)
    )
    bound = auc_test_set_bound(2, 2, delta=0.5)
    failures = set()
    for labels in product((0, 1), repeat=4):
        if sum(labels) != 2:
            continue
        failed = 0.0
        for scores in product(range(3), repeat=4):
            positive = [s for s, y in zip(scores, labels, strict=True) if y]
            negative = [s for s, y in zip(scores, labels, strict=True) if not y]
            if abs(rank_matrix(positive, negative).mean() - expected) >= bound:
                drawn = zip(scores, labels, strict=True)
                failed += np.prod([chances[y][s] for s, y in drawn])
        failures.add(round(failed, 12))
    assert len(failures) == 1
    assert 0 < failures.pop() < 0.5


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("share", [0.5, 0.3, 0.02, 0.9])
def test_sample_size_is_the_inverse(name, share):
    bound = BOUNDS[name]
    m, n = auc_sample_size(0.4, bound, delta=0.05, positive_share=share)
    smaller, ratio = min(m, n), max(share, 1 - share) / min(share, 1 - share)
    assert max(m, n) == ceil(round(smaller * ratio, 6))
    assert (m <= n) == (share <= 0.5)
    # By trying one size after the other, up to the answer.
    values = [
        bound(k, ceil(round(k * ratio, 6)), delta=0.05) for k in range(1, smaller + 1)
    ]
    assert [value <= 0.4 for value in values] == [False] * (smaller - 1) + [True]


def test_sample_size_by_hand():
    # ln(2 / delta) / (2 epsilon^2), rounded up.
    assert auc_sample_size(0.05, delta=0.05) == (ceil(log(40) / 0.005),) * 2
    best = partial(auc_test_set_bound, n_rankers=20)
    assert auc_sample_size(0.05, best, delta=0.05) == (ceil(log(800) / 0.005),) * 2
    assert auc_sample_size(0.999, delta=1) == (1, 1)


def test_sample_size_that_is_never_reached():
    every_matrix = partial(auc_uniform_bound, log_shatter=lambda m, n: m * n * log(3))
    with pytest.raises(ValueError, match=r"half_width must be reachable, got 0\.3: "):
        auc_sample_size(0.3, every_matrix, delta=0.05)


def test_freund_asks_for_a_count_that_grows():
    with pytest.raises(TypeError, match=r"log_shatter must be a callable .* got 2\.99"):
        auc_uniform_bound_freund(5, 5, 2.99, delta=0.1)
    # Thresholds on two rankers at and between their scores: at most 2 (2 N + 1) signs.
    rng = np.random.default_rng(0)
    for size in (1, 2, 5):
        scores = rng.normal(size=(2, size))
        between = np.sort(scores, axis=1)
        cuts = [np.r_[row - 1e-9, row, row[-1] + 1] for row in between]
        signs = {
            tuple(np.sign(row - cut))
            for row, at in zip(scores, cuts, strict=True)
            for cut in at
        }
        assert 2 * size + 1 <= len(signs) <= 2 * (2 * size + 1)


def n_rankings(positive, negative):
    """Count the rank matrices of functions, each a row of scores."""
    matrices = map(rank_matrix, positive, negative)
    return len(np.unique([*matrices], axis=0))


def test_polynomials_are_linear_in_their_monomials():
    # x and x^2 of four items: no more rankings than lines in the plane can give.
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=2), rng.normal(size=2)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    w = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    curved = [w @ np.stack([item, item**2]) for item in (x, z)]
    quadratic = round(exp(log_rank_shatter_linear(2, 2, 2)))
    # The grid meets the open cells, half of the rankings but for all scores equal.
    assert n_rankings(*curved) == (quadratic - 1) // 2
    slopes = np.array([[-1], [0], [1]])
    assert n_rankings(slopes * x, slopes * z) == round(
        exp(log_rank_shatter_linear(2, 2, 1))
    )


def test_hoeffding_bound_holds():
    # Each positive is above all negatives or below all: the most variable AUC.
    rng = np.random.default_rng(0)
    m, n, delta = 20, 200, 0.1
    share = rng.binomial(m, 0.5, 20_000) / m
    failed = (np.abs(share - 0.5) >= auc_test_set_bound(m, n, delta=delta)).mean()
    assert 0.01 < failed < delta


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(
    ("m", "n", "delta", "kind", "message"),
    [
        (0, 5, 0.1, ValueError, "m must be at least 1, got 0"),
        (5, 0, 0.1, ValueError, "n must be at least 1, got 0"),
        (5.0, 5, 0.1, TypeError, "m must be an integer, got 5.0"),
        (5, 5, 0.0, ValueError, r"delta must be in \(0, 1\], got 0.0"),
        (5, 5, 1.1, ValueError, r"delta must be in \(0, 1\], got 1.1"),
        (5, 5, "small", TypeError, "delta must be a real number"),
    ],
)
def test_arguments_are_checked(name, m, n, delta, kind, message):
    with pytest.raises(kind, match=message):
        BOUNDS[name](m, n, delta=delta)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="method must be one of 'hoeffding', 'mcdia"):
        auc_test_set_bound(5, 5, delta=0.1, method="delong")
    for name, bad in (("half_width", {"half_width": 1}), ("share", {"share": 0})):
        given = {"half_width": 0.1, "share": 0.5} | bad
        with pytest.raises(ValueError, match=rf"{name} must be in \(0, 1\), got"):
            auc_sample_size(
                given["half_width"], delta=0.1, positive_share=given["share"]
            )
    with pytest.raises(ValueError, match="n_rankers must be at least 1, got 0"):
        auc_test_set_bound(5, 5, delta=0.1, n_rankers=0)


@pytest.mark.parametrize("bad", [-0.1, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "bound",
    [
        auc_uniform_bound,
        lambda m, n, bad, delta: auc_uniform_bound(m, n, lambda *_: bad, delta=delta),
        lambda m, n, bad, delta: auc_uniform_bound_freund(
            m, n, lambda _: bad, delta=delta
        ),
    ],
)
def test_coefficients_are_checked(bound, bad):
    with pytest.raises(ValueError, match=r"log_shatter must be in .* logarithm"):
        bound(5, 5, bad, delta=0.1)


def test_coefficient_must_be_a_number():
    with pytest.raises(
        TypeError, match=r"log_shatter must be a real number .* got 'lin"
    ):
        auc_uniform_bound(5, 5, "linear", delta=0.1)


@pytest.mark.parametrize(
    ("bound", "kind", "message"),
    [
        (lambda m, n, delta: float("nan"), ValueError, "what bound returns must be in"),
        (lambda m, n, delta: -1.0, ValueError, "what bound returns must be in"),
        (lambda m, n, delta: None, TypeError, "what bound returns"),
        ("hoeffding", TypeError, "'str' object is not callable"),
    ],
    ids=["nan", "negative", "none", "name"],
)
def test_sample_size_asks_for_a_bound(bound, kind, message):
    with pytest.raises(kind, match=message):
        auc_sample_size(0.05, bound, delta=0.05)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_confidence_passed_as_delta_warns(name):
    with pytest.warns(UserWarning, match=r"delta=0\.95 .* pass delta=0\.05\.$"):
        BOUNDS[name](500, 500, delta=0.95)
