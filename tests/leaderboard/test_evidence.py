"""Sure orders, places, questions and fragility, against definitions pair by pair."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from leaderboard.boards import draw
from scipy.stats import norm

from skrank_abstain.leaderboard import Leaderboard
from skrank_abstain.leaderboard._evidence import (
    _in_turn,
    _influence,
    _successor,
    choose_pairs,
    compare_items,
    information_of,
    largest_differences,
    variance_of_differences,
)
from skrank_abstain.leaderboard._fit import VOTE_MODELS

ONE = np.zeros(5, dtype=np.int64)
N = 5
THETA = np.array([1.0, 0.9, 0.2, 0, -0.5])
LETTERS = np.array(list("ABCDE"))


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


def test_the_largest_difference_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(6, 50)).astype(np.float32)
    left, right = np.triu_indices(6, 1)
    precision = rng.uniform(0.5, 2, size=left.size).astype(np.float32)
    largest = np.full(50, 0.7, dtype=np.float32)
    largest_differences(draws, left, right, precision, largest)
    every = np.abs(draws[left] - draws[right]) * precision[:, None]
    np.testing.assert_array_equal(largest, np.maximum(every.max(axis=0), 0.7))


def posterior_covariance(seed=0):
    root = np.random.default_rng(seed).normal(size=(N, N))
    centre = np.eye(N) - 1 / N
    return centre @ root @ root.T @ centre / 9


def side(i, j):
    return np.eye(N)[i] - np.eye(N)[j]


def after(covariance, i, j, information):
    """Return the covariance after one more vote, by its inverse."""
    d = side(i, j)
    # The centred covariance has no inverse; what is added cancels in differences.
    full = covariance + 1.0
    return np.linalg.inv(np.linalg.inv(full) + information[i, j] * np.outer(d, d))


def slow_gain(posterior, variance, information, i, j, leader=None):
    """Return by how much a vote lowers the variances, by their worth."""
    later, total = after(posterior, i, j, information), 0.0
    for k, m in combinations(range(N), 2):
        if leader is not None and leader not in (k, m):
            continue
        e, now = side(k, m), variance[k, m]
        t = abs(THETA[k] - THETA[m]) / np.sqrt(now)
        worth = norm.pdf(t) * max(t, 0.3) / (2 * now)
        total += worth * (e @ (posterior - later) @ e)
    return total


@pytest.mark.parametrize("leader", [None, 0])
def test_pairs_are_those_of_the_definition_each_given_those_before(leader):
    posterior = posterior_covariance()
    variance = variance_of_differences(posterior, posterior_covariance(1))
    information = information_of(THETA, VOTE_MODELS["rao_kupper"], 0.3)
    left, right, value = choose_pairs(
        THETA, posterior, variance, information, n=6, per_pair=2, leader=leader
    )
    times = dict.fromkeys(combinations(range(N), 2), 0)
    for chosen, found in zip(zip(left, right, strict=True), value, strict=True):
        gains = {
            pair: slow_gain(posterior, variance, information, *pair, leader)
            for pair, asked in times.items()
            if asked < 2
        }
        best = max(gains, key=gains.get)
        assert chosen == best
        assert found == pytest.approx(gains[best])
        times[best] += 1
        posterior = after(posterior, *best, information) - 1.0


def test_no_pair_is_asked_for_more_often_than_said():
    posterior = posterior_covariance()
    variance = variance_of_differences(posterior)
    information = information_of(THETA, VOTE_MODELS["davidson"], 0.3)
    options = {"per_pair": 3, "leader": None}
    left, right, _ = choose_pairs(
        THETA, posterior, variance, information, n=100, **options
    )
    assert left.size == 3 * N * (N - 1) // 2
    assert (left < right).all()


@pytest.mark.parametrize("ties", VOTE_MODELS)
def test_information_is_the_expected_curvature(ties):
    model = VOTE_MODELS[ties]
    found = information_of(THETA, model, 0.4)
    eta = THETA[0] - THETA[2]
    proba = model.proba(np.array([eta]), 0.4)
    curvature = model.expand(np.array([eta]), 0.4, proba).curvature[0]
    assert found[0, 2] == pytest.approx(curvature)
    np.testing.assert_allclose(found, found.T)


def test_the_larger_variance_of_a_difference_counts():
    one, two = posterior_covariance(0), posterior_covariance(1)
    found = variance_of_differences(one, two)
    for i, j in combinations(range(N), 2):
        d = side(i, j)
        assert found[i, j] == pytest.approx(max(d @ one @ d, d @ two @ d))


def board_of(strengths, n_votes, *, ties="rao_kupper", covariates=(), **options):
    left, right, label, z = draw(strengths, n_votes, **options)
    votes = {"left": LETTERS[left], "right": LETTERS[right], "z": z}
    votes["label"] = np.array(["right", "tie", "left"])[label + 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # items that won every time
        return Leaderboard(ties=ties).fit(votes, covariates=covariates), votes


@pytest.mark.parametrize("ties", ["rao_kupper", "davidson"])
@pytest.mark.parametrize("covariates", [(), ("z",)])
def test_influence_is_what_a_lead_loses_with_a_bit_of_a_vote(ties, covariates):
    board, votes = board_of(
        [0.5, 0, -1], 40, ties=ties, covariates=covariates, effect=0.5
    )
    evidence = board._evidence
    found = _influence(evidence, evidence.inverse_information(), 0, 1)
    step = 1e-4
    for row in (0, 7, 23):
        leads = []
        for change in (-step, step):
            weight = np.ones(40)
            weight[row] += change
            other = Leaderboard(ties=ties).fit(
                votes | {"weight": weight}, covariates=covariates
            )
            leads.append(other.strengths_[0] - other.strengths_[1])
        assert found[row] == pytest.approx((leads[1] - leads[0]) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_lead_is_lost_with_the_last_of_the_votes_and_not_before(seed):
    # Leads so large that the first order is far from the truth.
    board, _ = board_of([2.5, 1.5, 0, -1], 60, seed=seed)
    evidence, found = board._evidence, board.fragility()
    leader = int(evidence.theta.argmax())
    inverse = evidence.inverse_information()
    for other in np.argsort(-evidence.theta)[1:]:
        influence = _influence(evidence, inverse, leader, other)
        lead = evidence.theta[leader] - evidence.theta[other]
        order, _ = _in_turn(influence, lead)
        if np.array_equal(np.sort(order[: found.rows.size]), found.rows):
            break
    else:
        raise AssertionError("the votes are not the first of any order")
    assert _successor(evidence, leader, order[: found.rows.size]) is not None
    assert _successor(evidence, leader, order[: found.rows.size - 1]) is None
    assert found.leader == board.items_[leader]


def test_votes_go_by_their_influence_until_they_make_up_the_lead():
    influence = np.array([0.1, 0.5, -0.2, 0.3, 0.0])
    order, enough = _in_turn(influence, 0.7)
    assert order.tolist() == [1, 3, 0]
    assert enough == 2
    assert _in_turn(influence, 9.0)[1] == 3  # all there are
