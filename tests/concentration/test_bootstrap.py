"""The bootstrap of queries: its definition in loops, scipy, and coverage."""

import numpy as np
import pytest
from scipy import stats

from skrank_abstain.concentration import (
    _bootstrap,
    cluster_bootstrap,
    ratio_interval,
)


def accuracy(correct, accepted, **options):
    """Return the interval of correct over accepted pairs."""

    def statistic(times):
        return (times @ correct) / (times @ accepted)

    return cluster_bootstrap(statistic, len(correct), **options)


def simulated(rng, n_queries):
    """Return correct and accepted pairs of queries that differ in difficulty."""
    accepted = rng.integers(2, 40, n_queries)
    return rng.binomial(accepted, rng.beta(6, 2, n_queries)), accepted


def test_percentiles_of_resampled_queries():
    correct, accepted = simulated(np.random.default_rng(0), 25)
    drawn = np.random.RandomState(7).randint(25, size=(300, 25))
    values = [correct[rows].sum() / accepted[rows].sum() for rows in drawn]
    found = accuracy(correct, accepted, n_resamples=300, confidence=0.8, random_state=7)
    assert found == pytest.approx(np.quantile(values, [0.1, 0.9]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_that_of_scipy(seed):
    correct, accepted = simulated(np.random.default_rng(seed), 25)
    expected = stats.bootstrap(
        (correct, accepted),
        lambda c, a: c.sum() / a.sum(),
        paired=True,
        vectorized=False,
        n_resamples=400,
        method="percentile",
        random_state=np.random.RandomState(seed),
    ).confidence_interval
    found = accuracy(correct, accepted, n_resamples=400, random_state=seed)
    assert found == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("columns", [slice(None), 0])
def test_tables_and_curves(columns):
    table = np.random.default_rng(1).random((30, 5))
    found = cluster_bootstrap(lambda t: (t @ table)[:, columns], 30, random_state=0)
    drawn = np.random.RandomState(0).randint(30, size=(2000, 30))
    values = table[drawn].sum(axis=1)[:, columns]
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_blocks_draw_the_same(monkeypatch):
    correct, accepted = simulated(np.random.default_rng(2), 20)
    whole = accuracy(correct, accepted, random_state=3)
    monkeypatch.setattr(_bootstrap, "_BLOCK", 130)
    assert accuracy(correct, accepted, random_state=3) == whole


def test_dependent_pairs_are_covered():
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(300):
        sizes = rng.integers(5, 30, 60)
        right = rng.random(60) < 0.7
        low, high = accuracy(sizes * right, sizes, n_resamples=300, random_state=seed)
        hits += low <= 0.7 <= high
    # Binomial standard error 0.013 around 0.95; the interval is asymptotic.
    assert 0.89 < hits / 300 < 0.985


def test_many_queries_agree_with_the_t_interval():
    correct, accepted = simulated(np.random.default_rng(4), 2000)
    low, high = ratio_interval(correct, accepted)
    found = accuracy(correct, accepted, random_state=0)
    assert found == pytest.approx((low, high), abs=0.1 * (high - low))


def test_all_right():
    assert accuracy([3, 4, 5], [3, 4, 5], random_state=0) == (1.0, 1.0)


@pytest.mark.parametrize(("part", "whole"), [([3], [4]), ([0, 0], [0, 0]), ([], [])])
def test_undefined(part, whole):
    assert np.isnan(accuracy(part, whole, random_state=0)).all()


def test_resamples_with_nothing_accepted_are_left_out():
    assert accuracy([1, 0, 0], [2, 0, 0], random_state=0) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be at least 1, got 0"),
        ({"confidence": 1}, r"confidence must be in \(0, 1\), got 1"),
    ],
)
def test_messages(options, message):
    with pytest.raises(ValueError, match=message):
        accuracy([1], [1], **options)
