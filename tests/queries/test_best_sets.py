"""P(the first items hold a best one), against all grades that a query may have."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.pairs import group_queries
from skrank_abstain.queries._best_sets import (
    all_equal_proba,
    best_levels,
    conformal_level,
    first_best_places,
    first_best_proba,
    items_differ,
    levels_of_list,
)


def every_outcome(proba, weights):
    """Yield the grades of all items, and the probability of these."""
    n_nodes, n_items, n_grades = proba.shape
    for grades in product(range(n_grades), repeat=n_items):
        yield (
            np.array(grades),
            sum(
                weights[h] * np.prod([proba[h, i, g] for i, g in enumerate(grades)])
                for h in range(n_nodes)
            ),
        )


def draw(seed, n_items, n_grades, n_nodes=3):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_grades, 0.7), (n_nodes, n_items))
    return proba, rng.dirichlet(np.ones(n_nodes))


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3))
def test_each_place_is_the_first_best_as_often_as_grades_say(seed, n_items, n_grades):
    proba, weights = draw(seed, n_items, n_grades)
    expected, equal = np.zeros(n_items), 0.0
    for grades, share in every_outcome(proba, weights):
        expected[int(np.argmax(grades))] += share
        equal += share * (grades.min() == grades.max())
    found = first_best_proba(proba, weights)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert all_equal_proba(proba, weights) == pytest.approx(equal, abs=1e-12)


def test_two_items_of_two_grades_by_hand():
    proba = np.array([[[0.4, 0.6], [0.7, 0.3]]])
    second = 0.4 * 0.3
    np.testing.assert_allclose(
        first_best_proba(proba, np.ones(1)), [1 - second, second]
    )
    differ = 0.4 * 0.3 + 0.6 * 0.7
    levels = levels_of_list(proba, np.ones(1), np.array([2.0, 1.0]))
    np.testing.assert_allclose(levels, [np.inf, second / differ])


def test_a_thousand_items_neither_overflow_nor_vanish():
    proba = np.tile([[0.99, 0.01]], (1, 1000, 1))
    found = first_best_proba(proba, np.ones(1))
    # All irrelevant, or the first relevant one at place m.
    expected = 0.99 ** np.arange(1000) * 0.01
    expected[0] += 0.99**1000
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_levels_fall_and_equal_values_share_theirs(seed, n_items):
    proba, weights = draw(seed, n_items, 3)
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(0, 4, n_items))[::-1].astype(float)
    levels = levels_of_list(proba, weights, values)
    assert (levels[1:] <= levels[:-1]).all()
    assert np.isposinf(levels[values == values[0]]).all()
    added = first_best_proba(proba, weights)
    differ = 1 - all_equal_proba(proba, weights)
    for value in np.unique(values)[:-1]:
        first = int(np.argmax(values == value))
        expected = added[1 : first + 1].min() / differ
        np.testing.assert_allclose(levels[values == value], expected, rtol=1e-9)


def test_items_that_are_surely_alike_have_a_level():
    proba = np.zeros((1, 3, 2))
    proba[:, :, 0] = 1.0
    levels = levels_of_list(proba, np.ones(1), np.array([3.0, 2.0, 1.0]))
    assert levels.tolist() == [np.inf, 0.0, 0.0]


def test_the_level_of_a_query_is_that_of_its_first_best_item():
    queries = group_queries([0, 1, 0, 1, 0, 2, 2], 7)
    y = np.array([0.0, 1, 2, 0, 2, 1, 1])
    levels = np.array([np.inf, 0.2, 0.3, np.inf, 0.1, np.inf, 0.4])
    assert items_differ(y, queries).tolist() == [True, True, False]
    np.testing.assert_array_equal(best_levels(levels, y, queries), [0.3, 0.2, np.nan])


@pytest.mark.parametrize(
    ("alpha", "n", "k"), [(0.1, 9, 1), (0.1, 8, 0), (0.1, 19, 2), (0.3, 9, 3)]
)
def test_the_threshold_is_an_order_statistic(alpha, n, k):
    levels = np.random.default_rng(0).permutation(n).astype(float)
    assert conformal_level(levels, alpha) == (k - 1 if k else None)


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_a_new_level_is_below_the_threshold_no_more_often_than_alpha(alpha):
    # Exchangeable: each of n + 1 levels is the new one, by definition.
    levels = np.random.default_rng(1).normal(size=28)
    below = [
        levels[i] < conformal_level(np.delete(levels, i), alpha) for i in range(28)
    ]
    assert np.mean(below) <= alpha
    assert np.mean(below) > alpha - 1 / 28


@given(st.integers(0, 10**6))
def test_places_of_the_first_best_are_those_of_a_search(seed):
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, 4, 12)
    values, y = rng.integers(0, 4, 12).astype(float), rng.integers(0, 3, 12) * 1.0
    queries = group_queries(qid, 12)
    found = first_best_places(values, y, queries)
    for query in range(queries.n_queries):
        rows = queries.rows(query)
        # Item by item from the top; those of one value come in together.
        least = max(values[r] for r in rows if y[r] == y[rows].max())
        assert found[query] == (values[rows] >= least).sum()
