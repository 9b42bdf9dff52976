"""Conformal thresholds: oracles, the definitions, and the guarantee on average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.concentration import hierarchical_quantile

QUERIES = st.lists(
    st.lists(
        st.floats(0, 1) | st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=9
    ),
    min_size=1,
    max_size=8,
)
COVERAGES = st.floats(0.01, 0.99)


def shares_of(queries):
    """Return the function that counts, query by query."""
    return lambda t: [np.mean(np.array(q)[:, None] <= t, axis=0) for q in queries]


def test_quantile_oracle(oracles):
    case = oracles["hierarchical_conformal_quantile"]
    shares = shares_of(case["risks_by_query"])
    for coverage, expected in zip(case["c"], case["threshold"], strict=True):
        threshold = hierarchical_quantile(shares, coverage)
        assert threshold == (np.inf if expected is None else expected)


@given(QUERIES, COVERAGES)
def test_quantile_is_its_definition(queries, coverage):
    expected = np.inf
    for t in sorted({risk for query in queries for risk in query}):
        covered = sum(np.mean(np.asarray(q) <= t) for q in queries)
        if covered / (len(queries) + 1) >= coverage - 1e-12:
            expected = t
            break
    assert hierarchical_quantile(shares_of(queries), coverage) == expected


@given(QUERIES, COVERAGES, COVERAGES)
def test_quantile_grows_with_coverage(queries, one, other):
    shares = shares_of(queries)
    low, high = sorted((one, other))
    assert hierarchical_quantile(shares, low) <= hierarchical_quantile(shares, high)


@given(QUERIES, COVERAGES, st.randoms(use_true_random=False))
def test_quantile_ignores_the_order_of_pairs(queries, coverage, random):
    shuffled = [random.sample(query, len(query)) for query in queries]
    assert hierarchical_quantile(
        shares_of(shuffled), coverage
    ) == hierarchical_quantile(shares_of(queries), coverage)


def test_quantile_weighs_queries_alike():
    # The second query has a hundred pairs and one vote.
    shares = shares_of([[0.1], np.full(100, 0.9)])
    assert hierarchical_quantile(shares, 1 / 3) == 0.1
    assert hierarchical_quantile(shares, 1 / 3 + 1e-9) == 0.9


def test_quantile_is_not_pushed_up_by_rounding():
    shares = shares_of([[0.1, 0.1, 0.1, 0.9, 0.9]] * 2)
    assert (3 / 5 + 3 / 5) / 3 < 0.4
    assert hierarchical_quantile(shares, 0.4) == 0.1


def test_quantile_of_one_or_no_query():
    shares = shares_of([[0.3, 0.1]])
    assert hierarchical_quantile(shares, 0.25) == 0.1
    assert hierarchical_quantile(shares, 0.5) == 0.3
    assert hierarchical_quantile(shares, 0.51) == np.inf
    assert hierarchical_quantile(lambda t: np.ones((0, t.size)), 0.5) == np.inf
    assert hierarchical_quantile(lambda t: [t >= 1], 0.5) == 1.0


def test_search_calls_few_times():
    calls = []

    def shares(t):
        calls.append(t)
        return [t >= 2.5, np.ones(t.size)]

    assert hierarchical_quantile(shares, 0.6, highest=4.0) == 2.5
    assert len(calls) <= 16
    assert np.concatenate(calls).max() <= 4.0


def test_quantile_covers_a_pair_of_a_new_query():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(2000):
        scale = rng.gamma(2, size=13)
        queries = [s * rng.random(rng.integers(1, 30)) for s in scale]
        shares = shares_of(queries[:-1])
        t = hierarchical_quantile(shares, 0.7, highest=100.0)
        covered.append(np.mean(queries[-1] <= t))
    error = np.std(covered) / np.sqrt(2000)
    # At least the target; with 12 queries not much more than 0.7 * 13 / 12.
    assert 0.7 - 3 * error <= np.mean(covered) <= 0.7 * 13 / 12 + 3 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hierarchical_quantile(shares_of([[0.1]]), 1.0),
            r"coverage must be in \(0, 1\), got 1.0",
        ),
        (
            lambda: hierarchical_quantile(shares_of([[1]]), 0.5, highest=0),
            r"highest must be in \(0, inf\), got 0",
        ),
        (
            lambda: hierarchical_quantile(lambda t: [t + 3], 0.5),
            r"the result of shares must be in \[0, 1\], got 3.0",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
