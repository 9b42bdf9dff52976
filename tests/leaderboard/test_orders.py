"""Sure orders and places, against definitions pair by pair and draw by draw."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm

from skrank_abstain.leaderboard._orders import (
    Alone,
    Bootstrapped,
    Comparisons,
    Flipped,
    Mixture,
    Ratio,
    Resampled,
    Systems,
    normal_draws,
    random_signs,
)


def ratio_test(theta, covariance, n_draws=2000, seed=0):
    """Return the test of differences by a covariance."""
    theta = np.asarray(theta, dtype=float)
    left, right = np.triu_indices(theta.size, 1)
    variance = np.diag(covariance)
    square = variance[left] + variance[right] - 2 * covariance[left, right]
    error = np.sqrt(square)
    size = np.zeros(left.size)
    np.divide(np.abs(theta[left] - theta[right]), error, out=size, where=error > 0)
    draws = normal_draws(covariance, n_draws, np.random.default_rng(seed))
    return Ratio(size, draws, error, left, right)


def compare(theta, pvalue, alpha=0.05):
    theta = np.asarray(theta, dtype=float)
    left, right = np.triu_indices(theta.size, 1)
    difference = theta[left] - theta[right]
    return Comparisons(left, right, difference, pvalue, pvalue <= alpha)


def some_covariance(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T / n


def slow_step_down(size, draws, alpha):
    """Return the sure pairs; draws are (n_pairs, n_draws)."""
    still_open = set(range(size.size))
    while still_open:
        rows = sorted(still_open)
        critical = np.quantile(draws[rows].max(axis=0), 1 - alpha)
        fallen = {row for row in rows if size[row] > critical}
        if not fallen:
            break
        still_open -= fallen
    return set(range(size.size)) - still_open


def test_compiled_and_drawn_pairs_step_down_alike():
    test = ratio_test([0, 0.5, 1, 3, 9], some_covariance(5))
    order = np.argsort(test.size, kind="stable")
    limits = test.size[order].astype(np.float32)
    expected = Resampled.step_down(test, order, limits)
    np.testing.assert_array_equal(test.step_down(order, limits), expected)
    assert 0 < expected.min() < expected.max() <= 1


@pytest.mark.parametrize("seed", range(6))
def test_sure_orders_are_those_of_the_step_down(seed):
    rng = np.random.default_rng(seed)
    test = ratio_test(rng.normal(scale=4, size=6), some_covariance(6, seed))
    sure = set(np.flatnonzero(test.pvalues("familywise") <= 0.05))
    every = test.by_chance(np.arange(15))
    assert sure == slow_step_down(test.size, every, 0.05)


def test_adjusted_pvalues_are_shares_of_draws_pair_by_pair():
    rng = np.random.default_rng(1)
    test = ratio_test(rng.normal(size=5), some_covariance(5), n_draws=200)
    draws, found = test.by_chance(np.arange(10)), test.pvalues("familywise")
    largest = 0.0
    for row in np.argsort(-test.size):
        weaker = test.size <= test.size[row]
        share = (draws[weaker].max(axis=0) >= test.size[row]).sum()
        largest = max(largest, (1 + share) / 201)
        assert found[row] == pytest.approx(largest)


def test_pairs_are_drawn_in_parts_as_all_together(monkeypatch):
    from skrank_abstain.leaderboard import _orders

    rng = np.random.default_rng(0)
    test = ratio_test(rng.normal(size=12), some_covariance(12))
    together = test.pvalues("familywise")
    monkeypatch.setattr(_orders, "_AT_A_TIME", 5)
    np.testing.assert_array_equal(test.pvalues("familywise"), together)


def test_the_step_down_is_no_weaker_than_bonferronis_rule():
    rng = np.random.default_rng(0)
    test = ratio_test(rng.normal(scale=0.5, size=40), 0.02 * np.eye(40))
    accepted = test.pvalues("familywise") <= 0.05
    bonferroni = test.size > norm.isf(0.05 / (40 * 39))
    assert accepted[bonferroni].all()
    assert accepted.sum() > bonferroni.sum()


@pytest.mark.parametrize("control", ["familywise", "fdr"])
@pytest.mark.parametrize("seed", range(10))
def test_adjusted_pvalues_fall_with_the_size(control, seed):
    rng = np.random.default_rng(seed)
    test = ratio_test(rng.normal(size=12), 0.05 * np.eye(12))
    mixture = Mixture(test.size, np.full(test.size.size, 3.0))
    for each in (test, mixture):
        pvalue = each.pvalues(control)
        assert (np.diff(pvalue[np.argsort(-each.size)]) >= 0).all()
        assert 0 < (pvalue <= 0.05).mean() < 1


def test_fdr_is_benjamini_and_hochbergs_rule():
    rng = np.random.default_rng(0)
    test = ratio_test(rng.normal(size=10), 0.1 * np.eye(10), n_draws=20_000)
    accepted = test.pvalues("fdr") <= 0.1
    p = 2 * norm.sf(test.size)
    ordered = np.sort(p)
    m = p.size
    last = max(k for k in range(m) if ordered[k] <= 0.1 * (k + 1) / m)
    np.testing.assert_array_equal(accepted, p <= ordered[last])


def test_places_are_counts_of_sure_orders_and_what_follows_from_them():
    theta = [0.0, 10, 10, 20, 10.5]
    pvalue = ratio_test(theta, 0.1 * np.eye(5)).pvalues("familywise")
    places = compare(theta, pvalue).places(np.arange(5))[:, :2]
    np.testing.assert_array_equal(places, [[5, 5], [2, 4], [2, 4], [1, 1], [2, 4]])


def test_equal_evidence_gives_equal_places():
    theta = np.repeat([0.0, 1.0, 2.0], 4)
    pvalue = ratio_test(theta, 0.05 * np.eye(12)).pvalues("familywise")
    for group in np.split(compare(theta, pvalue).places(np.arange(12))[:, :2], 3):
        np.testing.assert_array_equal(group, np.tile(group[0], (4, 1)))


@pytest.mark.parametrize("control", ["familywise", "fdr"])
def test_no_spread_and_no_difference_are_no_evidence(control):
    test = ratio_test([1.0, 1.0, 1.0], np.zeros((3, 3)))
    for each in (test, Mixture(test.size, np.zeros(3)), Alone(test.size)):
        np.testing.assert_array_equal(each.pvalues(control), 1)


def test_a_covariance_of_low_rank_will_do():
    # As of three clusters.
    root = np.random.default_rng(0).normal(size=(10, 3))
    test = ratio_test(np.arange(10.0), root @ root.T / 100)
    assert (test.pvalues("familywise") <= 0.05).any()


def test_few_draws_among_equals_exceed_the_level():
    # 300 boards of equal items: any order is false.
    rng = np.random.default_rng(0)
    covariance = some_covariance(8)
    boards = rng.multivariate_normal(np.zeros(8), covariance, size=300)
    false = [
        ratio_test(theta, covariance).pvalues("familywise").min() <= 0.05
        for theta in boards
    ]
    assert 0.02 < np.mean(false) < 0.08


@pytest.mark.parametrize("n", [1, 4, 11])
def test_few_signs_are_all_there_are_but_those_that_were_seen(n):
    signs = random_signs(n, 2000, np.random.default_rng(0))
    found = {tuple(column) for column in signs.T.astype(int)}
    every = {ways for ways in product((-1, 1), repeat=n) if ways[-1] == 1}
    assert found == every - {(1,) * n}
    assert signs.shape[1] == len(found)


def test_more_signs_are_drawn():
    signs = random_signs(12, 2000, np.random.default_rng(0))
    assert signs.shape == (12, 2000)
    assert set(np.unique(signs)) == {-1, 1}
    assert np.abs(signs.mean(axis=1)).max() < 0.1


def some_systems(n_queries=8, n=4, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(n_queries, n)) + np.arange(n) * 0.3
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores, Systems(scores, *np.triu_indices(n, 1), 0.05)


def both_tests(systems, n_draws=2000):
    """Return both tests of systems."""
    rng, n = np.random.default_rng(0), systems.scores.shape[1]
    times = rng.multinomial(n, np.full(n, 1 / n), n_draws).T.astype(np.float32)
    signs = random_signs(n, n_draws, rng)
    return Flipped(systems, signs), Bootstrapped(systems, times)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_sizes_of_systems_are_those_of_queries_that_both_have(missing):
    scores, systems = some_systems(20, missing=missing)
    flipped, again = both_tests(systems, 50)
    flips, draws = (test.by_chance(np.arange(6)) for test in (flipped, again))
    for row, (i, j) in enumerate(combinations(range(4), 2)):
        difference = scores[:, i] - scores[:, j]
        both = np.isfinite(difference)
        d, n = difference[both], both.sum()
        t = np.sqrt(n) * abs(d.mean()) / d.std()
        assert again.size[row] == pytest.approx(t)
        assert flipped.size[row] == pytest.approx(abs(d.sum()) / np.sqrt((d**2).sum()))
        expected = np.abs(d @ flipped.signs[both]) / np.sqrt((d**2).sum())
        np.testing.assert_allclose(flips[row], expected, atol=1e-5)
        for draw in range(50):
            e = np.repeat(d, again.times[both, draw].astype(int))
            variance = max(e.var(), 1e-3 * d.var())
            expected = np.sqrt(e.size / variance) * abs(e.mean() - d.mean())
            assert draws[row, draw] == pytest.approx(expected, rel=1e-3)


def test_two_systems_are_compared_by_all_flips():
    scores, systems = some_systems(6, n=2)
    d = scores[:, 0] - scores[:, 1]
    sums = [abs(np.dot(ways, d)) for ways in product((-1, 1), repeat=6)]
    test, _ = both_tests(systems)
    share = np.mean(np.array(sums) >= abs(d.sum()) * (1 - 1e-9))
    # The signs as seen, and all of them turned, count once.
    assert test.pvalues("familywise")[0] == pytest.approx(share)


def test_systems_apart_by_a_constant_are_certain_and_the_same_are_not_ordered():
    base = np.random.default_rng(0).normal(size=30)
    scores = np.stack([base, base + 0.2, base], axis=1)
    systems = Systems(scores, *np.triu_indices(3, 1), 0.05)
    for test in both_tests(systems):
        p = test.pvalues("familywise")
        np.testing.assert_array_equal(p <= 0.05, [True, False, True])
        assert p[1] == 1


def test_systems_without_a_query_of_both_are_not_ordered():
    scores = np.full((20, 2), np.nan)
    scores[:10, 0] = np.arange(10)
    scores[10:, 1] = 100 + np.arange(10)
    systems = Systems(scores, np.array([0]), np.array([1]), 0.05)
    assert [test.pvalues("fdr")[0] for test in both_tests(systems)] == [1, 1]


def test_the_mixture_is_the_mean_of_likelihood_ratios():
    tau, error, difference = 0.5, 0.2, 0.7
    rng = np.random.default_rng(0)
    # Half of the gaps have ten times the variance.
    gaps = rng.normal(scale=tau, size=800_000)
    gaps[::2] *= np.sqrt(10)
    ratios = norm.pdf(difference, gaps, error) / norm.pdf(difference, 0, error)
    test = Mixture(np.array([difference / error]), np.array([tau**2 / error**2]))
    assert np.exp(test.evidence(0)) == pytest.approx(ratios.mean(), rel=0.01)
    # Holm's rule for two pairs: the surer one by the number of both.
    two = Mixture(np.array([3.5, 3.0]), np.full(2, 6.0))
    single = np.exp(-two.evidence(slice(None)))
    np.testing.assert_allclose(two.pvalues("familywise"), [2 * single[0], single[1]])


@pytest.mark.slow
def test_the_mixture_is_rarely_wrong_at_any_look():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(400, 5000))
    z = np.abs(np.cumsum(steps, axis=1)) / np.sqrt(np.arange(1, 5001))
    test = Mixture(z.ravel(), np.tile(0.01 * np.arange(1, 5001), 400))
    ever = (test.evidence(slice(None)).reshape(z.shape) >= np.log(20)).any(axis=1)
    assert ever.mean() <= 0.05
    assert (z > 1.96).any(axis=1).mean() > 0.5


def test_growth_is_where_the_limit_is_reached():
    test = ratio_test([0.0, 0.1, 3.0], 0.02 * np.eye(3), n_draws=20_000)
    assert (test.pvalues("familywise") <= 0.05).tolist() == [False, True, True]
    growth = test.growth(np.array([0]), np.array([0]), 0.05)
    # One pair is left: it needs 1.96 standard errors, and has .5.
    assert growth[0] == pytest.approx((1.96 / 0.5) ** 2, rel=0.05)
    assert Alone(test.size).growth(np.array([0]), np.array([0]), 0.05)[
        0
    ] == pytest.approx((1.96 / 0.5) ** 2, rel=1e-3)
    mixture = Mixture(test.size, np.full(3, 5.0))
    k = mixture.growth(np.array([0]), np.array([0]), 0.05)
    more = Mixture(test.size * np.sqrt(k), np.full(3, 5.0) * k)
    assert more.pvalues("familywise")[0] == pytest.approx(0.05)
