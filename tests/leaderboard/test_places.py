"""Sure orders and places against the rules they come from, written pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from skrank_abstain.leaderboard._places import compare_items

ONE = np.zeros(5, dtype=np.int64)


def compare(
    theta,
    covariance,
    component=None,
    *,
    alpha=0.05,
    control="familywise",
    degrees=np.inf,
):
    component = np.zeros(len(theta), dtype=np.int64) if component is None else component
    return compare_items(
        np.asarray(theta, dtype=float),
        covariance,
        covariance,
        component,
        alpha=alpha,
        control=control,
        degrees=degrees,
        rng=np.random.default_rng(0),
    )


def some_covariance(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T / n


def slow_step_down(theta, covariance, alpha, n_draws=100_000):
    """Return the sure orders by the step-down of the largest statistic alone."""
    draws = np.random.default_rng(1).multivariate_normal(
        np.zeros(len(theta)), covariance, size=n_draws
    )
    open_, sure = set(combinations(range(len(theta)), 2)), set()

    def error(i, j):
        return np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])

    while open_:
        every = [np.abs(draws[:, i] - draws[:, j]) / error(i, j) for i, j in open_]
        critical = np.quantile(np.max(every, axis=0), 1 - alpha)
        fallen = {
            (i, j)
            for i, j in open_
            if np.abs(theta[i] - theta[j]) / error(i, j) > critical
        }
        if not fallen:
            break
        open_, sure = open_ - fallen, sure | fallen
    return sure


@pytest.mark.parametrize("seed", range(6))
def test_sure_orders_are_those_of_the_step_down(seed):
    rng = np.random.default_rng(seed)
    theta, covariance = rng.normal(scale=4, size=6), some_covariance(6, seed)
    found = compare(theta, covariance)
    accepted = zip(found.left, found.right, found.accepted, strict=True)
    sure = {(i, j) for i, j, taken in accepted if taken}
    assert sure == slow_step_down(theta, covariance, 0.05)


def test_the_step_down_is_no_weaker_than_bonferronis_rule():
    rng = np.random.default_rng(0)
    theta, covariance = rng.normal(scale=0.5, size=40), 0.02 * np.eye(40)
    found = compare(theta, covariance)
    bonferroni = np.abs(found.statistic) > norm.isf(0.05 / (40 * 39))
    assert found.accepted[bonferroni].all()
    assert found.accepted.sum() > bonferroni.sum()


@pytest.mark.parametrize("control", ["familywise", "fdr"])
@pytest.mark.parametrize("seed", range(10))
def test_adjusted_pvalues_fall_with_the_statistic_and_decide(control, seed):
    rng = np.random.default_rng(seed)
    found = compare(rng.normal(size=12), 0.05 * np.eye(12), control=control)
    order = np.argsort(-np.abs(found.statistic))
    assert (np.diff(found.pvalue[order]) >= 0).all()
    np.testing.assert_array_equal(found.accepted, found.pvalue <= 0.05)
    assert 0 < found.accepted.mean() < 1


def test_fdr_is_benjamini_and_hochbergs_rule():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=10)
    found = compare(theta, 0.1 * np.eye(10), control="fdr", alpha=0.1)
    p = 2 * norm.sf(np.abs(theta[found.left] - theta[found.right]) / np.sqrt(0.2))
    ordered = np.sort(p)
    m = p.size
    last = max(k for k in range(m) if ordered[k] <= 0.1 * (k + 1) / m)
    np.testing.assert_array_equal(found.accepted, p <= ordered[last])


def test_places_are_counts_of_sure_orders_and_what_follows_from_them():
    theta = [0.0, 10, 10, 20, 10.5]
    found = compare(theta, 0.1 * np.eye(5))
    places = found.places(5)
    np.testing.assert_array_equal(places, [[5, 5], [2, 4], [2, 4], [1, 1], [2, 4]])


def test_equal_evidence_gives_equal_places():
    theta = np.repeat([0.0, 1.0, 2.0], 4)
    places = compare(theta, 0.05 * np.eye(12)).places(12)
    for group in np.split(places, 3):
        np.testing.assert_array_equal(group, np.tile(group[0], (4, 1)))


def test_items_that_never_met_span_all_places_of_each_other():
    theta = np.array([0.0, 9.0, 100.0, 200.0])
    found = compare(theta, 0.1 * np.eye(4), np.array([0, 0, 1, 1]))
    assert found.accepted.sum() == 2
    np.testing.assert_array_equal(found.places(4), [[2, 4], [1, 3], [2, 4], [1, 3]])


def test_fdr_counts_the_pairs_that_met_alone():
    theta = np.array([0.0, 0.9, 100.0, 200.0])
    found = compare(theta, 0.1 * np.eye(4), np.array([0, 0, 1, 1]), control="fdr")
    p = 2 * norm.sf(0.9 / np.sqrt(0.2))
    # Of two p-values the other one is 0.
    assert found.pvalue[0] == pytest.approx(p)
    assert found.pvalue.tolist().count(1.0) == 4
    assert found.accepted.sum() == 2


def test_the_larger_of_two_covariances_counts():
    theta = np.array([0.0, 1.0])
    small, large = 1e-4 * np.eye(2), np.eye(2)
    options = {"alpha": 0.05, "control": "familywise", "degrees": np.inf}
    for first, second in ((small, large), (large, small)):
        found = compare_items(
            theta, first, second, ONE[:2], rng=np.random.default_rng(0), **options
        )
        assert found.statistic[0] == pytest.approx(-np.sqrt(0.5))
        assert not found.accepted.any()


def test_no_spread_and_no_difference_are_no_evidence():
    found = compare([1.0, 1.0, 1.0], np.zeros((3, 3)))
    assert not found.accepted.any()
    np.testing.assert_array_equal(found.pvalue, 1)
    lonely = compare([0.0], np.zeros((1, 1)))
    np.testing.assert_array_equal(lonely.places(1), [[1, 1]])


def test_a_covariance_of_low_rank_will_do():
    # As of three clusters.
    root = np.random.default_rng(0).normal(size=(10, 3))
    found = compare(np.arange(10.0), root @ root.T / 100)
    assert found.accepted.any()


def test_the_same_seed_gives_the_same_decisions():
    rng = np.random.default_rng(0)
    theta, covariance = rng.normal(size=20), some_covariance(20) / 9
    one, two = compare(theta, covariance), compare(theta, covariance)
    np.testing.assert_array_equal(one.pvalue, two.pvalue)


def test_few_draws_among_equals_exceed_the_level():
    # 300 boards of equal items: any order is false.
    rng = np.random.default_rng(0)
    covariance = some_covariance(8)
    boards = rng.multivariate_normal(np.zeros(8), covariance, size=300)
    false = [compare(theta, covariance).accepted.any() for theta in boards]
    assert 0.02 < np.mean(false) < 0.08


def test_two_items_of_few_clusters_are_compared_by_students_distribution():
    for degrees, limit in ((4, 2.776), (9, 2.262), (np.inf, 1.960)):
        for ratio, sure in ((limit - 0.01, False), (limit + 0.01, True)):
            theta = [0.0, ratio * np.sqrt(2)]
            found = compare(theta, np.eye(2), degrees=degrees)
            assert found.accepted[0] == sure
            if np.isinf(degrees):
                assert found.pvalue[0] == pytest.approx(0.05, abs=0.01)
