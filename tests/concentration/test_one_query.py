"""A bound for one long query, whose items are the sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from skrank_abstain.concentration import one_query_bound

# Items, delta of a two-sided interval of a U-statistic with values in [0, 1], and its
# half width sqrt(log(2 / delta) / (2 floor(n / 2))).
HALF_WIDTHS = [(10, 0.05, 0.6073614619083052), (200, 0.05, 0.13581015157406195)]


@pytest.mark.parametrize(("n_items", "delta", "half_width"), HALF_WIDTHS)
@pytest.mark.parametrize("errors", [0.0, 0.2])
def test_hoeffdings_half_width(n_items, delta, half_width, errors):
    # Of one side half of delta; an item without a partner adds nothing.
    for n in (n_items, n_items + 1):
        bound = one_query_bound(1.0, errors, n, delta=delta / 2)
        assert bound == pytest.approx(errors + half_width, rel=1e-12)


def test_by_hand():
    slack = np.sqrt(np.log(1 / 0.1) / (2 * 500))
    found = one_query_bound(0.5, 0.05, 1000, delta=0.1)
    assert found == pytest.approx((0.05 + slack) / 0.5, rel=1e-14)


@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(2, 10**6), st.floats(1e-6, 1 - 1e-6)
)
def test_bounds_are_above_what_was_seen(accepted, share, n_items, delta):
    errors = accepted * share
    bound = one_query_bound(accepted, errors, n_items, delta=delta)
    assert 0 < bound <= 1
    assert bound * accepted >= errors * (1 - 1e-12)
    # More items, or less confidence, never loosen it.
    assert one_query_bound(accepted, errors, 2 * n_items, delta=delta) <= bound
    surer = one_query_bound(accepted, errors, n_items, delta=delta / 2)
    assert surer >= bound


def test_nothing_accepted_or_nothing_but_errors():
    assert one_query_bound(0.0, 0.0, 10**9) == 1
    assert one_query_bound(1.0, 1.0, 10**9) == 1
    assert one_query_bound(1.0, 0.0, 2) == 1  # sqrt(log(20) / 2) > 1


def test_the_bound_holds():
    """A thousand queries of 100 items whose risk is known."""
    rng = np.random.default_rng(0)
    n, n_runs, delta, margin = 100, 1000, 0.2, 0.8
    i, j = np.triu_indices(n, 1)

    def shares(size):
        utility = rng.normal(size=size)
        return utility, utility + rng.normal(size=size)

    def judge(utility, score, left, right):
        difference = score[left] - score[right]
        accepted = abs(difference) >= margin
        return accepted, accepted & (difference * (utility[left] - utility[right]) < 0)

    utility, score = shares(2_000_000)
    halves = np.arange(1_000_000), np.arange(1_000_000, 2_000_000)
    accepted, wrong = judge(utility, score, *halves)
    risk = wrong.mean() / accepted.mean()
    n_failed, bounds = 0, []
    for _ in range(n_runs):
        accepted, wrong = judge(*shares(n), i, j)
        bounds.append(one_query_bound(accepted.mean(), wrong.mean(), n, delta=delta))
        n_failed += bounds[-1] < risk
    assert n_failed <= binom.ppf(0.999, n_runs, delta)
    assert risk < np.mean(bounds) < 0.5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: one_query_bound(1.2, 0, 9), ValueError, r"accepted must be in \[0, 1"),
        (lambda: one_query_bound(0.5, -0.1, 9), ValueError, "errors must be in"),
        (lambda: one_query_bound(0.2, 0.3, 9), ValueError, "errors must not exceed"),
        (lambda: one_query_bound("a", 0, 9), TypeError, "accepted must hold num"),
        (lambda: one_query_bound(0.5, 0, 1), ValueError, "n_items must be .*got 1"),
        (lambda: one_query_bound(0.5, 0, 2.5), TypeError, "n_items must be"),
        (lambda: one_query_bound(0.5, 0, 9, delta=1), ValueError, "delta must be in"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
