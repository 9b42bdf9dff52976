"""Conformal thresholds and p-values: oracles, definitions, guarantees on average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.concentration import (
    hierarchical_quantile,
    novelty_pvalues,
    novelty_pvalues_of_known,
)

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


# P-values of items of new queries


few = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def by_definition(value, known):
    """Return the p-value of an item among queries given as lists."""
    shares = [np.mean([each >= value for each in query]) for query in known]
    return (1 + sum(shares)) / (len(known) + 1)


@given(st.lists(few, min_size=1, max_size=6), few)
def test_p_values_of_new_items(known, new):
    reference = np.concatenate(known).astype(float)
    queries = np.repeat(np.arange(len(known)), [len(each) for each in known])
    expected = [by_definition(value, known) for value in new]
    found = novelty_pvalues(np.array(new, dtype=float), reference, queries)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(st.lists(few, min_size=1, max_size=6), st.randoms())
def test_known_items_are_compared_with_all_other_queries(known, random):
    sizes = [len(each) for each in known]
    reference = np.concatenate(known).astype(float)
    queries = np.repeat(np.arange(len(known)), sizes)
    expected = np.array(
        [
            by_definition(value, known[:q] + known[q + 1 :])
            for q, query in enumerate(known)
            for value in query
        ]
    )
    rows = list(range(reference.size))
    random.shuffle(rows)
    found = novelty_pvalues_of_known(reference[rows], queries[rows])
    np.testing.assert_allclose(found, expected[rows], atol=1e-12)


def test_one_known_query():
    reference, queries = np.array([1.0, 2.0]), np.zeros(2, dtype=int)
    assert novelty_pvalues_of_known(reference, queries).tolist() == [1.0, 1.0]
    found = novelty_pvalues(np.array([3.0, 2.0, 1.0]), reference, queries)
    assert found.tolist() == [1 / 2, (1 + 1 / 2) / 2, 1.0]


@pytest.mark.parametrize("n_queries", [10, 40])
def test_items_of_one_query_that_are_alike(n_queries):
    """A random item of a new query is rarely called novel; by items it often is."""
    rng = np.random.default_rng(0)
    n_items, n_draws, alpha = 20, 1000, 0.1
    low = low_by_items = 0.0
    for _ in range(n_draws):
        centre = 3 * rng.normal(size=n_queries + 1)
        values = centre[:, None] + rng.normal(size=(n_queries + 1, n_items))
        known = values[:-1].ravel()
        queries = np.repeat(np.arange(n_queries), n_items)
        low += np.mean(novelty_pvalues(values[-1], known, queries) <= alpha)
        alone = np.arange(known.size)
        low_by_items += np.mean(novelty_pvalues(values[-1], known, alone) <= alpha)
    error = 2 * np.sqrt(alpha * (1 - alpha) / n_draws)
    assert low / n_draws <= alpha + error
    if n_queries == 10:
        assert low_by_items / n_draws > alpha + error
