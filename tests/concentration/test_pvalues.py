"""P-values of a mean: oracles, the definitions in loops, exact validity."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skrank_abstain.concentration import (
    _pvalues,
    least_queries,
    wsr_pvalue,
)

LOSSES = arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 4)),
    elements=st.floats(0, 1, width=32),
)
LEVELS = st.floats(0.01, 0.99)


def slow_wsr(losses, alpha, level):
    """Return the betting p-value of one column, bet by bet."""
    capital, largest = 1.0, 1.0
    means, squares = [alpha], [alpha * (1 - alpha)]
    for t, loss in enumerate(losses, start=1):
        variance = sum(squares) / t
        bet = math.sqrt(2 * math.log(1 / level) / (len(losses) * variance))
        capital *= 1 + min(bet, 0.99 / (1 - alpha)) * (alpha - loss)
        largest = max(largest, capital)
        means.append((alpha + sum(losses[:t])) / (t + 1))
        squares.append((loss - means[-1]) ** 2)
    return 1 / largest


@given(LOSSES, LEVELS, LEVELS)
def test_wsr_is_its_definition(losses, alpha, level):
    expected = [slow_wsr(column, alpha, level) for column in losses.T]
    np.testing.assert_allclose(wsr_pvalue(losses, alpha, level=level), expected)
    assert wsr_pvalue(losses[:, 0], alpha, level=level).shape == ()


def test_wsr_of_one_query_by_hand():
    # The largest bet, since sqrt(2 log 10 / 0.16) > 0.99 / 0.8.
    assert float(wsr_pvalue([0.0], 0.2)) == pytest.approx(1 / (1 + 0.99 / 0.8 * 0.2))
    assert float(wsr_pvalue([0.3], 0.2)) == 1.0


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("level", [0.01, 0.3])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.05, 1.0), (0.0, 0.85)])
def test_wsr_is_valid_whatever_the_level(alpha, level, values):
    # All sequences of ten losses of two values with mean alpha, with their
    # probabilities: P(p <= x) <= x exactly, at every x.
    low, high = values
    share = (alpha - low) / (high - low)
    lost = np.array(list(itertools.product([0, 1], repeat=10))).T
    pvalue = wsr_pvalue(np.where(lost, high, low), alpha, level=level)
    probability = np.prod(np.where(lost, share, 1 - share), axis=0)
    order = np.argsort(pvalue)
    reached = np.cumsum(probability[order])
    last = np.append(np.diff(pvalue[order]) > 1e-12, True)
    assert (reached[last] <= pvalue[order][last] + 1e-9).all()
    assert pvalue.min() < 1


def test_wsr_is_blind_to_the_loss_it_bets_on():
    # The bets on a query are placed before it is seen: its loss moves the capital
    # linearly. Capital after the last query, from the p-value of a rising capital.
    losses = np.full(20, 0.01)
    capital = []
    for last in (0.0, 0.02, 0.04):
        losses[-1] = last
        capital.append(1 / float(wsr_pvalue(losses, 0.2)))
    assert capital[0] > capital[1] > capital[2]
    assert capital[0] - capital[1] == pytest.approx(capital[1] - capital[2])


def test_wsr_learns_a_small_variance():
    losses = np.tile([0.04, 0.06], 150)
    wsr = float(wsr_pvalue(losses, 0.1))
    # Hoeffding's p-value, which looks at the mean alone: exp(-n kl(mean, alpha)).
    divergence = 0.05 * math.log(0.05 / 0.1) + 0.95 * math.log(0.95 / 0.9)
    assert wsr < 0.01 * math.exp(-300 * divergence)


def test_wsr_works_in_blocks(monkeypatch):
    losses = np.random.default_rng(0).random((50, 9))
    whole = wsr_pvalue(losses, 0.6)
    assert (whole < 1).any()
    monkeypatch.setattr(_pvalues, "_BLOCK", 100)
    np.testing.assert_array_equal(wsr_pvalue(losses, 0.6), whole)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
def test_wsr_without_losses(shape):
    assert wsr_pvalue(np.zeros(shape), 0.1).tolist() == np.ones(shape[1:]).tolist()


@given(LEVELS, st.integers(1, 60))
def test_nothing_but_errors_is_no_evidence(alpha, n):
    assert float(wsr_pvalue(np.ones(n), alpha)) == 1


@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.1), (0.02, 0.05), (0.5, 0.125)])
def test_least_queries(alpha, delta):
    n = least_queries(alpha, delta)
    assert (1 - alpha) ** n <= delta * (1 + 1e-9) < (1 - alpha) ** (n - 1)
    assert float(wsr_pvalue(np.zeros(n - 1), alpha, level=delta)) > delta
    assert float(wsr_pvalue(np.zeros(n + 2), alpha, level=delta)) <= delta


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: wsr_pvalue([0.1, 1.2], 0.1),
            ValueError,
            r"losses must be in \[0, 1\]",
        ),
        (
            lambda: wsr_pvalue([np.nan], 0.1),
            ValueError,
            "losses must be finite, got NaN",
        ),
        (lambda: wsr_pvalue(["a"], 0.1), TypeError, "losses must hold numbers"),
        (
            lambda: wsr_pvalue(0.2, 0.1),
            ValueError,
            r"losses must be of shape .* got \(\)",
        ),
        (
            lambda: wsr_pvalue([0.2], 1.0),
            ValueError,
            r"alpha must be in \(0, 1\), got 1",
        ),
        (lambda: wsr_pvalue([0.2], 0.1, level=0), ValueError, "level must be in"),
        (lambda: least_queries(0.1, 1.5), ValueError, "delta must be in"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
