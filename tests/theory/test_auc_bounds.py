"""Bounds on the AUC: published numbers, formulas, and what must shrink."""

from functools import partial
from math import e, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skrank_abstain.metrics import auc_test_set_bound
from skrank_abstain.theory import (
    auc_uniform_bound,
    auc_uniform_bound_by_share,
    auc_uniform_bound_freund,
    auc_uniform_probability,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)

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
        probability = auc_uniform_probability(0.2, m, n, LINE)
        assert probability == approx(case["thm2_prob_eps_0p2_lin1"])
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
        found = auc_uniform_bound_by_share(
            case["M"], case["rho"], LINE, delta=case["delta"]
        )
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
    found = auc_uniform_bound(m, n, log(7), delta=delta)
    assert found == approx(sqrt(8 * 100 * (log(7) + log(80)) / 2100))
    found = auc_uniform_bound_by_share(100, 0.3, log(7), delta=delta)
    assert found == approx(sqrt(8 * (log(7) + log(80)) / (0.3 * 0.7 * 100)))
    found = auc_uniform_probability(3, m, n, log(7))
    assert found == approx(4 * 7 * exp(-2100 * 9 / 800))
    found = auc_uniform_bound_freund(m, n, log, delta=delta)
    parts = [(log(60) + log(240)) / 30, (log(140) + log(240)) / 70]
    assert found == approx(2 * sqrt(parts[0]) + 2 * sqrt(parts[1]))


def test_coefficients_are_asked_for_twice_the_sample():
    asked = []

    def shatter(*sizes):
        asked.append(sizes)
        return 1.0

    auc_uniform_bound(3, 5, shatter, delta=0.1)
    auc_uniform_probability(0.1, 3, 5, shatter)
    auc_uniform_bound_by_share(30, 0.1, shatter, delta=0.1)
    auc_uniform_bound_by_share(10, 0.33, shatter, delta=0.1)
    auc_uniform_bound_freund(3, 5, shatter, delta=0.1)
    assert asked == [(6, 10), (6, 10), (6, 54), (7, 14), (6,), (10,)]


@given(SIZES, SIZES, DELTAS, CLASSES)
def test_probability_inverts_the_bound(m, n, delta, log_shatter):
    epsilon = auc_uniform_bound(m, n, log_shatter, delta=delta)
    found = auc_uniform_probability(epsilon, m, n, log_shatter)
    assert found == pytest.approx(delta, rel=1e-6)


@given(SIZES, SIZES, DELTAS, CLASSES)
def test_share_and_sizes_agree(m, n, delta, log_shatter):
    by_share = auc_uniform_bound_by_share(m + n, m / (m + n), log_shatter, delta=delta)
    assert by_share == approx(auc_uniform_bound(m, n, log_shatter, delta=delta))


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
        (5, 5, 0.0, ValueError, r"delta must be in \(0, 1\), got 0.0"),
        (5, 5, 1, ValueError, r"delta must be in \(0, 1\), got 1"),
        (5, 5, "small", TypeError, "delta must be a real number"),
    ],
)
def test_arguments_are_checked(name, m, n, delta, kind, message):
    with pytest.raises(kind, match=message):
        BOUNDS[name](m, n, delta=delta)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="method must be one of 'hoeffding', 'mcdia"):
        auc_test_set_bound(5, 5, delta=0.1, method="delong")
    for bad in (0, -0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"epsilon must be in \(0, inf\)"):
            auc_uniform_probability(bad, 5, 5, 1.0)
    with pytest.raises(TypeError, match=r"epsilon must be a real number .* got None"):
        auc_uniform_probability(None, 5, 5, 1.0)
    with pytest.raises(ValueError, match="n_items must be at least 2, got 1"):
        auc_uniform_bound_by_share(1, 0.5, 1.0, delta=0.1)
    with pytest.raises(ValueError, match=r"positive_share must be in \(0, 1\), got 1"):
        auc_uniform_bound_by_share(9, 1.0, 1.0, delta=0.1)


@pytest.mark.parametrize("bad", [-0.1, float("inf"), float("nan"), lambda *_: -1])
@pytest.mark.parametrize("bound", [auc_uniform_bound, auc_uniform_bound_freund])
def test_coefficients_are_checked(bound, bad):
    with pytest.raises(ValueError, match=r"log_shatter must be in .* logarithm"):
        bound(5, 5, bad, delta=0.1)


def test_coefficient_must_be_a_number():
    with pytest.raises(
        TypeError, match=r"log_shatter must be a real number .* got 'lin"
    ):
        auc_uniform_bound(5, 5, "linear", delta=0.1)
