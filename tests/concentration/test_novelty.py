"""P-values with the query as the sample, against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skrank_abstain.concentration import novelty_pvalues, novelty_pvalues_of_known

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
    assert_allclose(found, expected, atol=1e-12)


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
    assert_allclose(found, expected[rows], atol=1e-12)


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
