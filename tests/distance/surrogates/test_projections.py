"""Projections on balls, against what defines them and against a general solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import brentq, minimize

from skrank_abstain.distance import Hinge
from skrank_abstain.distance._descent import (
    LinearProblem,
    check_ball_norm,
    dual_norm,
    project_rows,
)

NORMS = [1, 2, np.inf]

vectors = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=2, max_side=6),
    elements=st.floats(-1e3, 1e3, allow_subnormal=False),
)
radii = st.floats(1e-3, 1e3)


def norms_of(rows, q):
    return np.linalg.norm(rows, q, axis=-1)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii)
def test_the_result_is_inside_and_stays(q, rows, radius):
    projected = project_rows(rows, radius, q)
    assert projected.shape == rows.shape
    assert (norms_of(projected, q) <= radius).all()  # not a rounding error more
    np.testing.assert_array_equal(project_rows(projected, radius, q), projected)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii)
def test_rows_inside_stay_and_others_reach_the_sphere(q, rows, radius):
    projected = project_rows(rows, radius, q)
    inside = norms_of(rows, q) <= radius
    np.testing.assert_array_equal(projected[inside], rows[inside])
    np.testing.assert_allclose(norms_of(projected, q)[~inside], radius, rtol=1e-9)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii, seed=st.integers(0, 100))
def test_no_point_of_the_ball_is_on_the_far_side(q, rows, radius, seed):
    # (v - P v) . (z - P v) <= 0 for every z of the ball defines the projection.
    projected = project_rows(rows, radius, q)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        z = rng.standard_normal(rows.shape)
        z *= (
            radius / norms_of(z, q)[..., None]
            if rows.ndim > 1
            else (radius / norms_of(z, q))
        )
        product = ((rows - projected) * (z - projected)).sum(axis=-1)
        scale = norms_of(rows, 2) * (radius + norms_of(rows, 2)) * rows.shape[-1]
        assert (product <= 1e-12 * scale).all()


@pytest.mark.parametrize("q", NORMS)
def test_rows_are_independent(q):
    rows = np.random.default_rng(0).standard_normal((50, 7)) * 2
    one_by_one = [project_rows(row, 1.5, q) for row in rows]
    np.testing.assert_array_equal(project_rows(rows, 1.5, q), one_by_one)


def test_hand_computed():
    # l_1: all sizes less 1.5, so that 1.5 + 0.5 are left; l_2: the direction (3, 4).
    np.testing.assert_allclose(project_rows(np.array([3.0, -2.0]), 2, 1), [1.5, -0.5])
    np.testing.assert_allclose(
        project_rows(np.array([3.0, -4.0]), 1, 2), [3 / 5, -4 / 5]
    )
    np.testing.assert_array_equal(
        project_rows(np.array([3.0, -0.5]), 1, np.inf), [1.0, -0.5]
    )
    # One size is so much larger that it stays alone.
    np.testing.assert_array_equal(project_rows(np.array([9.0, 1.0]), 1, 1), [1.0, 0.0])


def test_l1_against_bisection():
    rng = np.random.default_rng(1)
    for _ in range(50):
        v = rng.standard_normal(20) * 3
        radius = rng.uniform(0.1, 10)

        def left(amount, v=v, radius=radius):
            return np.maximum(np.abs(v) - amount, 0).sum() - radius

        amount = brentq(left, 0, np.abs(v).max(), xtol=1e-14)
        expected = np.sign(v) * np.maximum(np.abs(v) - amount, 0)
        np.testing.assert_allclose(project_rows(v, radius, 1), expected, atol=1e-11)


@pytest.mark.parametrize("q", [1, 2])
def test_against_a_general_solver(q):
    rng = np.random.default_rng(2)
    for _ in range(5):
        v = rng.standard_normal(4) * 2
        # Positive and negative parts make the l_1 norm smooth.
        if q == 1:
            found = minimize(
                lambda z, v=v: ((z[:4] - z[4:] - v) ** 2).sum(),
                np.zeros(8),
                bounds=[(0, None)] * 8,
                constraints={"type": "ineq", "fun": lambda z: 1 - z.sum()},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            expected = found.x[:4] - found.x[4:]
        else:
            found = minimize(
                lambda z, v=v: ((z - v) ** 2).sum(),
                np.zeros(4),
                constraints={"type": "ineq", "fun": lambda z: 1 - z @ z},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            expected = found.x
        np.testing.assert_allclose(project_rows(v, 1.0, q), expected, atol=1e-6)


@pytest.mark.parametrize(("norm", "dual"), [(1, np.inf), (2, 2), (np.inf, 1)])
def test_dual_norms(norm, dual):
    # |w . x| is at most the product of the two norms, and reaches it.
    assert dual_norm(check_ball_norm(norm)) == dual
    rng = np.random.default_rng(3)
    x = rng.standard_normal(6)
    corners = {
        np.inf: np.sign(x),
        2: x / np.linalg.norm(x),
        1: np.sign(x) * (np.abs(x) == np.abs(x).max()),
    }
    w = corners[dual]
    assert np.linalg.norm(w, dual) == pytest.approx(1)
    assert w @ x == pytest.approx(np.linalg.norm(x, norm))


@pytest.mark.parametrize("q", NORMS)
def test_diameter(q):
    corner = np.ones(9) if q == np.inf else np.eye(9)[0]
    norm = {1: np.inf, 2: 2, np.inf: 1}[q]
    problem = LinearProblem(Hinge(), 2.0, norm)
    assert problem.diameter(9) == pytest.approx(np.linalg.norm(4 * corner))


@pytest.mark.parametrize("norm", [3, 1.5, 0, -1, np.nan])
def test_other_norms_are_refused(norm):
    with pytest.raises(ValueError, match=r"norm must be 1, 2 or inf .*, got "):
        check_ball_norm(norm)


@pytest.mark.parametrize("norm", ["inf", None, True])
def test_norms_that_are_no_numbers_are_refused(norm):
    with pytest.raises(TypeError, match="norm must be a real number, got "):
        check_ball_norm(norm)
