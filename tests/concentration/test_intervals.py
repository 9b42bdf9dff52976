"""Intervals over queries: ratios of totals, the paired test, and the bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain import concentration as room
from skrank_abstain.concentration import (
    cluster_bootstrap,
    paired_ratio_test,
    ratio_difference,
    ratio_interval,
)
from skrank_abstain.datasets import make_ranking


def bootstrapped(part, whole, **options):
    """Return the bootstrap interval of a ratio of totals."""

    def statistic(times):
        return (times @ part) / (times @ whole)

    return cluster_bootstrap(statistic, len(part), **options)


INTERVALS = [ratio_interval, bootstrapped]


def test_equal_denominators_give_the_t_interval_of_the_mean():
    means = np.array([0.2, 0.5, 0.4, 0.9, 0.7])
    expected = stats.t.interval(
        0.95, 4, loc=means.mean(), scale=means.std(ddof=1) / np.sqrt(5)
    )
    assert ratio_interval(10 * means, np.full(5, 10)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("interval", "options"),
    [(ratio_interval, {}), (bootstrapped, {"n_resamples": 300, "random_state": 0})],
)
def test_dependent_pairs_are_covered(interval, options):
    # A query's pairs are all right or all wrong: 60 queries are 60 observations.
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        sizes = rng.integers(5, 30, 60)
        right = rng.random(60) < 0.7
        low, high = interval(sizes * right, sizes, **options)
        hits += low <= 0.7 <= high
    # Binomial standard error 0.011 around 0.95; the intervals are asymptotic.
    assert 0.91 < hits / 400 < 0.98


def test_the_error_is_that_of_the_ratios_without_each_query():
    part, whole = np.array([3.0, 0, 2, 9]), np.array([4.0, 5, 2, 30])
    without = (part.sum() - part) / (whole.sum() - whole)
    error = np.sqrt(3 * np.mean((without - part.sum() / whole.sum()) ** 2))
    share = whole / whole.sum()
    half = stats.t.ppf(0.975, 1 / np.sum(share**2) - 1) * error
    low, high = ratio_interval(part, whole)
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((14 / 41, half))


@pytest.mark.parametrize("n_queries", [10, 40, 156])
def test_a_few_queries_may_hold_most_pairs(n_queries):
    rng = np.random.default_rng(0)

    def draw(n):
        sizes = np.ceil(np.exp(3 + 1.2 * rng.normal(size=n)))
        return sizes * rng.beta(1.5, 8, size=n), sizes  # pairs in the wrong order

    hits, taken_for_alike = 0, 0
    for _ in range(1000):
        part, whole = draw(n_queries)
        low, high = ratio_interval(part, whole)
        hits += low <= 1.5 / 9.5 <= high
        ratio = part.sum() / whole.sum()
        error = np.sqrt(n_queries) * np.std(part - ratio * whole, ddof=1) / whole.sum()
        half = stats.t.ppf(0.975, n_queries - 1) * error
        taken_for_alike += abs(ratio - 1.5 / 9.5) <= half
    # Binomial standard error .007 at .95.
    assert hits / 1000 > 0.92
    assert hits >= taken_for_alike + (0 if n_queries > 100 else 40)


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(("part", "whole"), [([3], [4]), ([0, 0], [0, 0]), ([], [])])
def test_undefined(interval, part, whole):
    assert np.isnan(interval(part, whole)).all()


def test_columns_have_intervals_of_their_own():
    part, whole = np.array([[3, 0], [1, 2], [4, 0]]), np.array([[4, 0], [2, 3], [4, 1]])
    low, high = ratio_interval(part, whole, confidence=0.8)
    for k in range(2):
        expected = ratio_interval(part[:, k], whole[:, k], confidence=0.8)
        assert (low[k], high[k]) == pytest.approx(expected)
    none = ratio_interval(0 * part, whole * [1, 0])
    assert np.isnan(none).tolist() == [[False, True], [False, True]]
    assert np.isnan(ratio_interval(part[:1], whole[:1])).all()


def counts(rng, n_queries):
    """Return correct and accepted pairs of two rankers on shared queries."""
    easy = rng.beta(6, 2, n_queries)
    accepted = rng.integers(3, 40, (2, n_queries))
    correct = rng.binomial(accepted, np.clip(easy + np.array([[0.0], [0.03]]), 0, 1))
    return correct[0], accepted[0], correct[1], accepted[1]


def test_equal_wholes_give_the_paired_t_test():
    one, two = np.array([3, 5, 4, 9, 7]), np.array([4, 4, 6, 9, 8])
    ten = np.full(5, 10)
    expected = stats.ttest_rel(one / 10, two / 10)
    interval = expected.confidence_interval(0.9)
    found = ratio_difference(one, ten, two, ten, confidence=0.9)
    assert found == pytest.approx(
        (
            *(one.mean() / 10, two.mean() / 10, np.mean(one - two) / 10),
            *(interval.low, interval.high, expected.pvalue),
        )
    )


def test_paired_test_against_a_constant_is_the_interval_of_the_ratio():
    # The second ratio is 0 in every query: only the first one varies.
    part, whole, *_ = counts(np.random.default_rng(0), 30)
    found = ratio_difference(part, whole, 0 * part, whole)
    assert found[3:5] == pytest.approx(ratio_interval(part, whole))
    assert found.difference == part.sum() / whole.sum()


@given(st.integers(0, 1000), st.integers(2, 30))
def test_paired_test_turns_around_and_rejects_with_its_interval(seed, n_queries):
    a, n_a, b, n_b = counts(np.random.default_rng(seed), n_queries)
    there = ratio_difference(a, n_a, b, n_b)
    back = ratio_difference(b, n_b, a, n_a)
    assert back == pytest.approx(
        (
            *(there.b, there.a, -there.difference),
            *(-there.high, -there.low, there.pvalue),
        )
    )
    assert (there.pvalue < 0.05) == (not there.low <= 0 <= there.high)


def test_paired_test_sees_what_unpaired_intervals_do_not():
    # Queries differ by far more than the rankers do.
    easy = np.linspace(0, 1, 40)
    better = easy + 0.02 + 0.01 * (-1) ** np.arange(40)
    whole = np.full(40, 100.0)
    found = ratio_difference(100 * better, whole, 100 * easy, whole)
    assert found.difference == pytest.approx(0.02)
    assert found.pvalue < 1e-9
    assert ratio_interval(100 * better, whole)[0] < ratio_interval(100 * easy, whole)[1]


def test_paired_test_keeps_its_level():
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(1000):
        easy = rng.beta(3, 1, 40)
        wholes = rng.integers(3, 40, (2, 40))
        parts = rng.binomial(wholes, easy)
        rejected += (
            ratio_difference(parts[0], wholes[0], parts[1], wholes[1]).pvalue < 0.1
        )
    # Binomial standard error 0.0095 around 0.1; the test is asymptotic.
    assert 0.07 < rejected / 1000 < 0.14


def test_equal_rankers():
    part, whole = [3, 0, 4], [4, 0, 9]
    assert ratio_difference(part, whole, part, whole)[2:] == (0, 0, 0, 1)
    # Ratios of 1 / 3 that rounding tells apart at most.
    third, tenth = np.array([1.0, 2, 3]), np.array([0.1, 0.2, 0.3])
    assert ratio_difference(third, 3 * third, tenth, 3 * tenth).pvalue == 1


def test_always_and_never_right():
    found = ratio_difference([2, 3], [2, 3], [0, 0], [4, 5])
    assert found == (1, 0, 1, 1, 1, 0)


def test_paired_test_undefined():
    assert np.isnan(ratio_difference([1, 1], [2, 2], [0, 0], [0, 0])[1:]).all()
    assert np.isnan(ratio_difference([], [], [], [])).all()
    found = ratio_difference([1], [2], [1], [4])
    assert found.difference == 0.25
    assert np.isnan(found[3:]).all()


class Totals:
    """Totals of a ranker, as ``evaluate`` returns them."""

    def __init__(self, qid, part, whole, coverage=0.5):
        self.qid, self.coverage = np.asarray(qid), coverage
        self.correct, self.accepted, self.pairs = part, whole, whole


def test_totals_are_compared_by_name():
    a, n_a, b, n_b = counts(np.random.default_rng(0), 12)
    one, two = Totals(range(12), a, n_a), Totals(range(12), b, n_b)
    found = paired_ratio_test(one, two, "correct", "accepted", confidence=0.8)
    assert found == ratio_difference(a, n_a, b, n_b, confidence=0.8)


@pytest.mark.parametrize("qid", [[1, 3, 2], [1, 2, 4], [1, 2], ["1", "2", "3"]])
def test_other_or_reordered_queries_are_refused(qid):
    a = Totals([1, 2, 3], [1, 2, 3], [4, 4, 4])
    b = Totals(qid, [1, 2, 3][: len(qid)], [4, 4, 4][: len(qid)])
    with pytest.raises(ValueError, match="b must be of the same queries as a, in the"):
        paired_ratio_test(a, b, "correct", "accepted")


def test_rows_of_one_query_are_added_up():
    # As of several seeds: copies of a query are no evidence.
    a, n_a, b, n_b = counts(np.random.default_rng(0), 12)
    names = [*range(11), None]
    one, two = Totals(names, a, n_a), Totals(names, b, n_b)
    expected = paired_ratio_test(one, two, "correct", "accepted")
    four = [
        Totals(4 * names, *(np.tile(column, 4) for column in each))
        for each in ((a, n_a), (b, n_b))
    ]
    found = paired_ratio_test(*four, "correct", "accepted")
    assert found == pytest.approx(expected, rel=1e-12)
    assert np.isnan(paired_ratio_test(*2 * [Totals([], [], [])], "correct", "pairs").a)


@pytest.mark.parametrize("name", ["right", "coverage"])
def test_names_of_no_totals_are_refused_with_those_that_there_are(name):
    a = Totals([1, 2, 3], [1, 2, 3], [4, 4, 4])
    known = f"'correct', 'accepted', 'pairs', got '{name}'"
    with pytest.raises(ValueError, match=f"part must be one of {known}"):
        paired_ratio_test(a, a, name, "accepted")
    with pytest.raises(ValueError, match=f"whole must be one of {known}"):
        paired_ratio_test(a, a, "correct", name)


def test_unequal_coverage_is_warned_of():
    a = Totals([1, 2, 3], [1, 2, 3], [4, 4, 4], coverage=0.5)
    b = Totals([1, 2, 3], [1, 2, 4], [4, 4, 4], coverage=0.53)
    with pytest.warns(UserWarning, match=r"a decides 0\.500 of the pairs and b 0\.530"):
        paired_ratio_test(a, b, "correct", "accepted")
    # All pairs are the same pairs, whatever was decided.
    paired_ratio_test(a, b, "correct", "pairs")
    b.coverage = 0.51
    paired_ratio_test(a, b, "correct", "accepted")


# The bootstrap


def correct_and_accepted(rng, n_queries):
    """Return correct and accepted pairs of queries that differ in difficulty."""
    return counts(rng, n_queries)[:2]


def test_percentiles_of_resampled_queries():
    correct, accepted = correct_and_accepted(np.random.default_rng(0), 25)
    drawn = np.random.RandomState(7).randint(25, size=(300, 25))
    values = [correct[rows].sum() / accepted[rows].sum() for rows in drawn]
    found = bootstrapped(
        correct, accepted, n_resamples=300, confidence=0.8, random_state=7
    )
    assert found == pytest.approx(np.quantile(values, [0.1, 0.9]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_that_of_scipy(seed):
    correct, accepted = correct_and_accepted(np.random.default_rng(seed), 25)
    expected = stats.bootstrap(
        (correct, accepted),
        lambda c, a: c.sum() / a.sum(),
        paired=True,
        vectorized=False,
        n_resamples=400,
        method="percentile",
        random_state=np.random.RandomState(seed),
    ).confidence_interval
    found = bootstrapped(correct, accepted, n_resamples=400, random_state=seed)
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
    correct, accepted = correct_and_accepted(np.random.default_rng(2), 20)
    whole = bootstrapped(correct, accepted, random_state=3)
    monkeypatch.setattr(room, "_BLOCK", 130)
    assert bootstrapped(correct, accepted, random_state=3) == whole


def test_many_queries_agree_with_the_t_interval():
    correct, accepted = correct_and_accepted(np.random.default_rng(4), 2000)
    low, high = ratio_interval(correct, accepted)
    found = bootstrapped(correct, accepted, random_state=0)
    assert found == pytest.approx((low, high), abs=0.1 * (high - low))


def test_all_right():
    assert bootstrapped([3, 4, 5], [3, 4, 5], random_state=0) == (1.0, 1.0)


def test_resamples_with_nothing_accepted_are_left_out():
    assert bootstrapped([1, 0, 0], [2, 0, 0], random_state=0) == (0.5, 0.5)


REFUSED = [
    (
        lambda: ratio_interval([1, 2], [1, 2, 3]),
        r"one value per query .* \(3,\) and \(2,\)",
    ),
    (lambda: ratio_interval([1, np.nan], [1, 2]), "numerators must be finite, got NaN"),
    (
        lambda: ratio_interval([1, 2], [3, -2]),
        "denominators must be non-negative, got -2",
    ),
    (lambda: ratio_interval([[[1]]], [[[2]]]), "numerators must have one .* got shape"),
    (lambda: ratio_interval([1, 2], [2, 2], confidence=1.0), r"in \(0, 1\), got 1"),
    (
        lambda: ratio_difference([[1]], [[2]], [[1]], [[2]]),
        "part_a must have one value",
    ),
    (lambda: ratio_difference([1], [2], [1], [-2]), "whole_b must be non-negative"),
    (lambda: bootstrapped([1], [1], n_resamples=0), "n_resamples must be at least 1"),
    (lambda: bootstrapped([1], [1], confidence=1), r"confidence must be in \(0, 1\)"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_text_is_refused():
    with pytest.raises(TypeError, match="whole_a must hold numbers"):
        ratio_difference([1], ["2"], [1], [2])


def test_a_failure_probability_passed_as_confidence_warns():
    with pytest.warns(UserWarning, match=r"confidence=0\.05 .* pass confidence=0\.95"):
        ratio_interval([1, 2, 3], [4, 4, 4], confidence=0.05)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_no_wrong_order_in_few_queries_leaves_room_for_some(weighting):
    data = make_ranking(n_queries=90, random_state=0)
    old, new = data.qid < 60, data.qid >= 60
    ranker = BALToR(Ridge(), random_state=0)
    ranker.fit(data.data[old], data.target[old], qid=data.qid[old])
    agreed = np.argsort(np.argsort(ranker.predict(data.data[new])))
    totals = ranker.evaluate(data.data[new], agreed, qid=data.qid[new])
    found = totals.discordance_interval(weighting, confidence=0.9)
    assert found == pytest.approx((0, 0, 1 - 0.05 ** (1 / 30)))
