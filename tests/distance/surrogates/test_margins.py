"""Margin losses: values, derivatives, minimisers, and no overflow."""

from math import exp, log, tanh

import numpy as np
import pytest
from distance.named import (
    bipartite_surrogate_loss,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from skrank_abstain.distance import (
    Exponential,
    Hinge,
    Logistic,
    MarginLoss,
    Sigmoid,
)

LOSSES = [Hinge(), Exponential(), Sigmoid(), Sigmoid(2.5), Logistic()]
MARGINS = st.floats(-20, 20)
WEIGHTS = st.floats(0.01, 1)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Hinge(), lambda t: max(0, 1 - t)),
        (Exponential(), lambda t: exp(-t)),
        (Sigmoid(), lambda t: 1 - tanh(t)),
        (Sigmoid(0.3), lambda t: 1 - tanh(0.3 * t)),
        (Logistic(), lambda t: log(1 + exp(-t))),
    ],
    ids=["hinge", "exponential", "sigmoid", "sigmoid of 0.3", "logistic"],
)
def test_values(loss, expected):
    margins = [-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0]
    values = [expected(t) for t in margins]
    np.testing.assert_allclose(loss.value(margins), values, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(t=MARGINS)
def test_derivatives_are_slopes(loss, t):
    step = 1e-5
    if isinstance(loss, Hinge) and abs(t - 1) < 2 * step:
        return
    slope = (loss.value(t + step) - loss.value(t - step)) / (2 * step)
    assert loss.derivative(t) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert loss.derivative(t) <= 0


def test_the_kink_of_the_hinge_is_flat():
    np.testing.assert_array_equal(Hinge().derivative([0.99, 1.0, 1.01]), [-1, 0, 0])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(a=WEIGHTS, b=WEIGHTS, reach=st.floats(0.01, 6))
def test_best_margin_in_an_interval_is_the_nearest_point(loss, a, b, reach):
    def risk(t):
        return float(a * loss.value(t) + b * loss.value(-t))

    found = minimize_scalar(risk, bounds=(-reach, reach), method="bounded")
    smallest = min(found.fun, risk(reach), risk(-reach), risk(0.0))
    best = float(np.clip(loss.best_margin(a, b), -reach, reach))
    assert risk(best) <= smallest + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_equal_weights_prefer_no_order(loss):
    np.testing.assert_array_equal(loss.best_margin([0, 0.5], [0, 0.5]), [0, 0])
    assert loss.best_margin(1, 0) > 0
    assert loss.best_margin(0, 1) < 0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_extreme_margins(loss):
    margins = np.array([-np.inf, -1e308, -800, 800, 1e308, np.inf])
    value, derivative = loss.value(margins), loss.derivative(margins)
    assert not np.isnan(value).any()
    assert not np.isnan(derivative).any()
    assert (np.diff(value[np.isfinite(value)]) <= 0).all()
    np.testing.assert_allclose(value[3:], 0, atol=1e-300)
    np.testing.assert_allclose(derivative[3:], 0, atol=1e-300)


def test_tails_do_not_cancel():
    assert Sigmoid().value(30.0) == pytest.approx(2 * exp(-60), rel=1e-12)
    assert Logistic().value(40.0) == pytest.approx(exp(-40), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_any_shape(loss):
    margins = np.linspace(-2, 2, 6).reshape(2, 3)
    assert loss.value(margins).shape == loss.derivative(margins).shape == (2, 3)
    assert loss.value(margins.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("k", [0, -1.0, np.inf, np.nan])
def test_steepness_must_be_positive(k):
    with pytest.raises(ValueError, match=r"k must be in \(0, inf\), got"):
        Sigmoid(k)


def test_steepness_must_be_a_number():
    with pytest.raises(TypeError, match=r"k must be a real number .* got 'steep'"):
        Sigmoid("steep")


class Squared(MarginLoss):
    """Anybody's loss."""

    def value(self, margin):
        return (1 - np.asarray(margin)) ** 2

    def derivative(self, margin):
        return -2 * (1 - np.asarray(margin))

    def best_margin(self, weight, opposite):
        raise NotImplementedError


def test_own_losses_and_unknown_names():
    loss, _ = bipartite_surrogate_loss([1, 0], [3.0, 0.0], surrogate=Squared())
    assert loss == 4
    with pytest.raises(ValueError, match="surrogate must be one of 'hinge', 'expon"):
        bipartite_surrogate_loss([1, 0], [3.0, 0.0], surrogate="squared")
