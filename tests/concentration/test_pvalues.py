"""P-values of a mean: oracles, the definitions in loops, exact validity."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from skrank_abstain.concentration import (
    _pvalues,
    hoeffding_bentkus_pvalue,
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


def test_hoeffding_bentkus_oracle(oracles):
    for case in oracles["pvalues"]:
        pvalue = hoeffding_bentkus_pvalue(case["rhat"], case["n"], case["alpha"])
        assert float(pvalue) == pytest.approx(case["hb"], rel=1e-9)


def test_hoeffding_bentkus_of_no_errors_is_that_of_coin_flips():
    # kl(0, alpha) = -log(1 - alpha); e (1 - alpha)^n of Bentkus is larger.
    assert float(hoeffding_bentkus_pvalue(0, 30, 0.2)) == pytest.approx(0.8**30)


def test_hoeffding_bentkus_counts_whole_losses_exactly():
    # 7 / 25 * 25 is 7.000000000000001, and 8 losses would be a weaker result.
    assert 7 / 25 * 25 > 7
    expected = math.e * stats.binom.cdf(7, 25, 0.6)
    assert float(hoeffding_bentkus_pvalue(7 / 25, 25, 0.6)) == pytest.approx(
        min(
            expected,
            math.exp(-25 * (0.28 * math.log(0.28 / 0.6) + 0.72 * math.log(0.72 / 0.4))),
        )
    )
    low = hoeffding_bentkus_pvalue(np.arange(26) / 25, 25, 0.6)
    bentkus = np.minimum(1, math.e * stats.binom.cdf(np.arange(26), 25, 0.6))
    assert (low <= bentkus * (1 + 1e-12)).all()


def test_rounding_beyond_the_range_is_the_end_of_the_range():
    below = hoeffding_bentkus_pvalue(-1e-12, 30, 0.2)
    assert float(below) == float(hoeffding_bentkus_pvalue(0, 30, 0.2))


@pytest.mark.parametrize("n", [1, 5, 20, 100])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.8])
def test_hoeffding_bentkus_is_valid_for_coin_flips(n, alpha):
    lost = np.arange(n + 1)
    pvalue = hoeffding_bentkus_pvalue(lost / n, n, alpha)
    # P(p <= x) at the p-values themselves, where it is closest to x.
    probability = stats.binom.cdf(lost, n, alpha)
    assert (probability <= pvalue + 1e-12).all()


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
    assert wsr < 0.01 * float(hoeffding_bentkus_pvalue(0.05, 300, 0.1))


def test_wsr_works_in_blocks(monkeypatch):
    losses = np.random.default_rng(0).random((50, 9))
    whole = wsr_pvalue(losses, 0.6)
    assert (whole < 1).any()
    monkeypatch.setattr(_pvalues, "_BLOCK", 100)
    np.testing.assert_array_equal(wsr_pvalue(losses, 0.6), whole)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
def test_wsr_without_losses(shape):
    assert wsr_pvalue(np.zeros(shape), 0.1).tolist() == np.ones(shape[1:]).tolist()


@given(LEVELS, LEVELS, st.integers(1, 200), st.floats(0, 1))
def test_hoeffding_bentkus_falls_as_the_bound_rises(alpha, other, n, mean):
    low, high = sorted((alpha, other))
    pvalue = [float(hoeffding_bentkus_pvalue(mean, n, a)) for a in (low, high)]
    assert 0 <= pvalue[1] <= pvalue[0] * (1 + 1e-9)
    assert pvalue[0] <= 1


@given(LEVELS, st.integers(1, 60))
def test_nothing_but_errors_is_no_evidence(alpha, n):
    assert float(wsr_pvalue(np.ones(n), alpha)) == 1
    assert float(hoeffding_bentkus_pvalue(1.0, n, alpha)) == 1


@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.1), (0.02, 0.05), (0.5, 0.125)])
def test_least_queries(alpha, delta):
    n = least_queries(alpha, delta)
    assert (1 - alpha) ** n <= delta * (1 + 1e-9) < (1 - alpha) ** (n - 1)
    for test in (
        lambda n: hoeffding_bentkus_pvalue(0.0, n, alpha),
        lambda n: wsr_pvalue(np.zeros(n), alpha, level=delta),
    ):
        assert float(test(n - 1)) > delta
        assert float(test(n + 2)) <= delta


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
        (lambda: hoeffding_bentkus_pvalue(-0.1, 5, 0.1), ValueError, "mean must be in"),
        (
            lambda: hoeffding_bentkus_pvalue(0.1, 0, 0.1),
            ValueError,
            "n_queries must be at least 1, got 0",
        ),
        (lambda: least_queries(0.1, 1.5), ValueError, "delta must be in"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
