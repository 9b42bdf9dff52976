"""How many rankings a class can tell apart."""

from functools import partial
from itertools import product
from math import comb, e, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from theory.matrices import rank_matrix

from skrank_abstain.theory import (
    count_rank_matrices,
    log_rank_shatter_linear,
    log_threshold_shatter_linear,
)

COUNTS = ("central", "lemma2")


def lemma2(n, dim):
    return sum(2**i * comb(n, i) for i in range(min(dim, n) + 1))


def central(n, dim):
    """Faces of n generic hyperplanes through the origin, as a double sum."""
    if n <= dim:
        return 3**n
    parts = [
        2 * sum(comb(n - i - 1, j) for j in range(dim - i))  # of a flat of dim - i
        for i in range(dim)
    ]
    return 1 + sum(comb(n, i) * parts[i] for i in range(dim))


def sign_patterns(vectors):
    """Sign vectors of w . v over all w in the plane."""
    # On each line w . v = 0, and between each two of its rays.
    turned = np.stack([-vectors[:, 1], vectors[:, 0]], axis=1)
    rays = np.concatenate([turned, -turned])
    between = (rays[:, None] + rays).reshape(-1, 2)
    w = np.concatenate([rays, between, vectors, -vectors])
    # Not a matrix product, whose fused operations miss the exact zeros.
    products = w[:, None] * vectors
    return np.unique(np.sign(products[..., 0] + products[..., 1]), axis=0)


def test_lemma_2(oracles):
    for case in oracles["lemma2_exact_sum"]:
        n, dim = case["N"], case["d"]
        value = log_rank_shatter_linear(n, 1, dim, count="lemma2")
        assert exp(value) == pytest.approx(case["sum"], rel=1e-9)
        assert (value <= dim * log(2 * e * n / dim)) == case["valid_closed"]


def test_where_the_closed_form_of_lemma_2_fails():
    # From d = N on 3^N is attained, and (2 e N / d)^d is less if d > x N, where
    # x ln(2 e / x) = ln 3.
    x = brentq(lambda x: x * log(2 * e / x) - log(3), 1, 5)
    assert x == pytest.approx(4.18006, abs=1e-5)
    for n in range(1, 31):
        for dim in range(1, 6 * n):
            holds = dim * log(2 * e * n / dim) >= log(lemma2(n, dim)) - 1e-12
            assert holds == (dim < x * n)
    assert lemma2(3, 5) == 27
    assert (2 * e * 3 / 5) ** 5 == pytest.approx(369.3, abs=0.05)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12))
def test_exact_counts(m, n, dim):
    by_count = {
        "central": min(central(m * n, dim), count_rank_matrices(m, n)),
        "lemma2": lemma2(m * n, dim),
    }
    for count, exact in by_count.items():
        value = log_rank_shatter_linear(m, n, dim, count=count)
        assert value == pytest.approx(log(exact), rel=1e-12)
    assert by_count["central"] <= by_count["lemma2"]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.sampled_from(COUNTS))
def test_larger_samples_and_spaces_have_no_fewer_rankings(m, n, dim, count):
    shatter = partial(log_rank_shatter_linear, count=count)
    value = shatter(m, n, dim) - 1e-9
    assert shatter(m + 1, n, dim) >= value
    assert shatter(m, n + 1, dim) >= value
    assert shatter(m, n, dim + 1) >= value
    assert shatter(n, m, dim) == pytest.approx(value + 1e-9)


def test_no_more_rankings_than_there_are_matrices(oracles):
    counted = {k: v for k, v in oracles["psi"].items() if k != "note"}
    for shape, matrices in counted.items():
        m, n = map(int, shape.split(","))
        for dim in range(1, 9):
            found = exp(log_rank_shatter_linear(m, n, dim))
            assert found == pytest.approx(min(central(m * n, dim), matrices), rel=1e-9)
    # Beyond 200 items the count alone, which is larger.
    capped, counted = (log_rank_shatter_linear(100, n, 5000) for n in (100, 101))
    assert capped < 2000 < counted


def test_rankings_in_the_plane(oracles):
    case = oracles["rank_shatter_R2_example"]
    positive, negative = np.array(case["X"]), np.array(case["Xp"])
    vectors = (positive[:, None] - negative).reshape(-1, 2)
    assert len(sign_patterns(vectors)) == case["distinct_matrices"]
    found = log_rank_shatter_linear(3, 2, 2)
    assert exp(found) == pytest.approx(case["central_arrangement_max"], rel=1e-9)
    found = log_rank_shatter_linear(3, 2, 2, count="lemma2")
    assert exp(found) == pytest.approx(case["exact_sum_bound"], rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_no_plane_has_more_rankings_than_counted(seed):
    rng = np.random.default_rng(seed)
    # Small integers: many hyperplanes coincide.
    vectors = rng.integers(-2, 3, (5, 2)) if seed % 2 else rng.normal(size=(5, 2))
    vectors = vectors[vectors.any(axis=1)].astype(float)
    counted = round(exp(log_rank_shatter_linear(len(vectors), 1, 2)))
    found = len(sign_patterns(vectors))
    assert found == counted if seed % 2 == 0 else found <= counted


def test_hyperplanes_of_space_by_enumeration():
    # Normals in general position; a grid of w meets all of their sign patterns.
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    w = np.array(list(product(range(-3, 4), repeat=3)))
    for n in (1, 2, 3, 4):
        found = len(np.unique(np.sign(w @ axes[:n].T), axis=0))
        assert found == central(n, 3)
        assert found == round(exp(log_rank_shatter_linear(n, 1, 3)))


def test_one_feature_has_three_rankings():
    for m, n in [(1, 1), (3, 4), (10**6, 10**6)]:
        assert log_rank_shatter_linear(m, n, 1) == pytest.approx(log(3), rel=1e-12)


def test_thresholds_on_the_line(oracles):
    for n, count in oracles["shatter_check_lin1"].items():
        value = log_threshold_shatter_linear(int(n), 1)
        assert exp(value) == pytest.approx(count, rel=1e-9)
        # w (x - z), z at, between and beyond the points.
        x = np.arange(int(n))
        z = np.arange(-1, 2 * int(n)) / 2
        signs = [np.sign(w * (x - point)) for w in (-1, 0, 1) for point in z]
        assert len(np.unique(signs, axis=0)) == count


def test_thresholds_are_a_dimension_more():
    assert log_threshold_shatter_linear(50, 3) == pytest.approx(log(central(50, 4)))
    assert log_threshold_shatter_linear(4, 3) == pytest.approx(4 * log(3))


@pytest.mark.parametrize("count", COUNTS)
def test_large_samples_do_not_overflow(count):
    value = log_rank_shatter_linear(10**9, 10**9, 10**4, count=count)
    # Within the closed form, and more than choosing 9999 of the pairs alone.
    assert value < 1e4 * log(2 * e * 1e18 / 1e4)
    assert value > 9999 * log(1e18 / 9999)


def test_finite_class():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=4), rng.normal(size=3)
    slopes = (-2.0, -1.0, 0.0, 0.5, 3.0)
    matrices = [rank_matrix(slope * x, slope * z) for slope in slopes]
    assert len(np.unique(matrices, axis=0)) == 3
    # All matrices of a shape, from all their scores.
    levels = np.array(list(product(range(4), repeat=4)))
    matrices = [rank_matrix(row[:2], row[2:]) for row in levels]
    assert len(np.unique(matrices, axis=0)) == count_rank_matrices(2, 2)


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        ((0, 1, 1), ValueError, "m must be at least 1, got 0"),
        ((1, 0, 1), ValueError, "n must be at least 1, got 0"),
        ((1, 1, 0), ValueError, "n_features must be at least 1, got 0"),
        ((1, 1, 2.0), TypeError, "n_features must be an integer, got 2.0"),
    ],
)
def test_sizes_are_checked(args, kind, message):
    with pytest.raises(kind, match=message):
        log_rank_shatter_linear(*args)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match="count must be one of 'central', 'lemma2'"):
        log_rank_shatter_linear(1, 1, 1, count="printed")
    with pytest.raises(ValueError, match="n_points must be at least 1, got 0"):
        log_threshold_shatter_linear(0, 1)
