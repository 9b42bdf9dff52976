"""The bootstrap of queries: its definition in loops, scipy, and coverage."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from skrank_abstain.concentration import (
    _bootstrap,
    cluster_bootstrap,
    ratio_interval,
)


def accuracy(correct, accepted):
    return correct / accepted


def simulated(rng, n_queries):
    """Return correct and accepted pairs of queries that differ in difficulty."""
    accepted = rng.integers(2, 40, n_queries)
    return rng.binomial(accepted, rng.beta(6, 2, n_queries)), accepted


def resampled_by_hand(correct, accepted, n_resamples, seed):
    """Return the accuracy of each resample, query by query."""
    rng = np.random.RandomState(seed)
    drawn = rng.randint(correct.size, size=(n_resamples, correct.size))
    return np.array([correct[rows].sum() / accepted[rows].sum() for rows in drawn])


def test_percentiles_of_resampled_queries():
    correct, accepted = simulated(np.random.default_rng(0), 25)
    values = resampled_by_hand(correct, accepted, 300, 7)
    found = cluster_bootstrap(
        accuracy, correct, accepted, n_resamples=300, confidence=0.8, random_state=7
    )
    assert found == pytest.approx(np.quantile(values, [0.1, 0.9]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bca_is_that_of_scipy(seed):
    correct, accepted = simulated(np.random.default_rng(seed), 25)
    values = resampled_by_hand(correct, accepted, 400, seed)
    expected = stats.bootstrap(
        (correct, accepted),
        lambda c, a: c.sum() / a.sum(),
        paired=True,
        vectorized=False,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=values),
        method="BCa",
    ).confidence_interval
    found = cluster_bootstrap(
        accuracy, correct, accepted, n_resamples=400, method="bca", random_state=seed
    )
    assert found == pytest.approx(tuple(expected), rel=1e-9)
    assert found != cluster_bootstrap(
        accuracy, correct, accepted, n_resamples=400, random_state=seed
    )


def test_arrays_of_curves():
    rng = np.random.default_rng(1)
    curves = rng.random((30, 5))
    found = cluster_bootstrap(lambda t: t.max(axis=1), curves, random_state=0)
    drawn = np.random.RandomState(0).randint(30, size=(2000, 30))
    values = curves[drawn].sum(axis=1).max(axis=1)
    assert found == pytest.approx(np.quantile(values, [0.025, 0.975]), rel=1e-9)


def test_blocks_draw_the_same(monkeypatch):
    correct, accepted = simulated(np.random.default_rng(2), 20)
    whole = cluster_bootstrap(accuracy, correct, accepted, random_state=3)
    monkeypatch.setattr(_bootstrap, "_BLOCK", 130)
    assert cluster_bootstrap(accuracy, correct, accepted, random_state=3) == whole


def test_dependent_pairs_are_covered():
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(300):
        sizes = rng.integers(5, 30, 60)
        right = rng.random(60) < 0.7
        low, high = cluster_bootstrap(
            accuracy, sizes * right, sizes, n_resamples=300, random_state=seed
        )
        hits += low <= 0.7 <= high
    # Binomial standard error 0.013 around 0.95; the interval is asymptotic.
    assert 0.89 < hits / 300 < 0.985


def test_many_queries_agree_with_the_t_interval():
    correct, accepted = simulated(np.random.default_rng(4), 2000)
    expected = ratio_interval(correct, accepted)
    for method in ("percentile", "bca"):
        found = cluster_bootstrap(
            accuracy, correct, accepted, method=method, random_state=0
        )
        width = expected[1] - expected[0]
        assert found == pytest.approx(expected, abs=0.1 * width)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_all_right(method):
    found = cluster_bootstrap(
        accuracy, [3, 4, 5], [3, 4, 5], method=method, random_state=0
    )
    assert found == (1.0, 1.0)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize(("part", "whole"), [([3], [4]), ([0, 0], [0, 0]), ([], [])])
def test_undefined(part, whole, method):
    found = cluster_bootstrap(accuracy, part, whole, method=method, random_state=0)
    assert np.isnan(found).all()


def test_resamples_with_nothing_accepted_are_left_out():
    part, whole = [1, 0, 0], [2, 0, 0]
    assert cluster_bootstrap(accuracy, part, whole, random_state=0) == (0.5, 0.5)
    # Without the first query nothing is accepted: there is no jackknife.
    found = cluster_bootstrap(accuracy, part, whole, method="bca", random_state=0)
    assert np.isnan(found).all()


def test_bca_without_resamples_on_both_sides():
    # The observed maximum is exceeded by no resample and falls short in most.
    found = cluster_bootstrap(
        lambda t: -((t - 6.0) ** 2), [1.0, 2.0, 3.0], method="bca", random_state=1
    )
    assert not np.isnan(found).any()
    found = cluster_bootstrap(
        lambda t: -np.abs(t - 0.6),
        [0.1, 0.2, 0.3],
        n_resamples=1,
        method="bca",
        random_state=1,
    )
    assert np.isnan(found).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster_bootstrap(accuracy), "arrays must hold at least one array"),
        (
            lambda: cluster_bootstrap(accuracy, [1, 2], [1, 2, 3]),
            r"arrays\[1\] must have one value per query like arrays\[0\], got 3 and 2",
        ),
        (
            lambda: cluster_bootstrap(accuracy, [1, 2], 3),
            r"arrays\[1\] must have one value per query, got shape \(\)",
        ),
        (
            lambda: cluster_bootstrap(np.sum, [1, 2]),
            r"statistic must return one number per resample, shape \(1,\), got \(\)",
        ),
        (
            lambda: cluster_bootstrap(accuracy, [1], [1], method="basic"),
            "method must be one of 'percentile', 'bca', got 'basic'",
        ),
        (
            lambda: cluster_bootstrap(accuracy, [1], [1], n_resamples=0),
            "n_resamples must be at least 1, got 0",
        ),
        (
            lambda: cluster_bootstrap(accuracy, [1], [1], confidence=1),
            r"confidence must be in \(0, 1\), got 1",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
