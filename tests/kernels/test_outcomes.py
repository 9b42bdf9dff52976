from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import COMPILED, EPS, EXAMPLES, cuts_for, grouped, random_queries

from skrank_abstain._kernels import outcomes
from skrank_abstain._kernels.outcomes import count_outcomes

WAYS = ["enumerate", "tree"]


def always(way):
    """Count each query in one way, whatever it costs."""
    cost = -1.0 if way == "enumerate" else np.inf
    return mock.patch.object(
        outcomes, "_cost_of_pairs", lambda sizes, n_cuts: np.full(sizes.size, cost)
    )


@pytest.mark.parametrize("way", WAYS)
@EXAMPLES
@given(draw=st.data())
def test_outcomes_equal_those_of_the_definition(way, draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    tol = draw.draw(st.sampled_from([0.0, 3 * EPS, 1.0, 1e-310, 1e300]))
    expected = reference.count_outcomes_by_query(*data, cuts, tol)
    with always(way):
        found = count_outcomes(*data, cuts, tol)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_grades", [1, 5, 31, 33, None])
@pytest.mark.parametrize("size", [40, pytest.param(700, marks=COMPILED)])
@pytest.mark.parametrize("n_cuts", [1, 100])
def test_both_ways_agree(n_grades, size, n_cuts):
    data = random_queries(6, size, n_grades, rounded=2)
    cuts = np.linspace(0, 4, n_cuts)
    chosen = count_outcomes(*data, cuts, 1e-9)
    for way in WAYS:
        with always(way):
            np.testing.assert_array_equal(count_outcomes(*data, cuts, 1e-9), chosen)


def test_one_outlying_cut_and_cuts_closer_than_a_cell():
    data = random_queries(20, 50)
    cuts = np.concatenate([1 + np.arange(40) * EPS, [1e300, 5e-324, np.inf]])
    with always("enumerate"):
        enumerated = count_outcomes(*data, cuts)
    with always("tree"):
        np.testing.assert_array_equal(count_outcomes(*data, cuts), enumerated)


@COMPILED
@pytest.mark.parametrize("n_grades", [1, 2, 1_000_000])
def test_a_million_items_do_not_overflow(n_grades):
    n = 1_000_000
    scores = np.arange(n, dtype=float)
    grades = np.arange(n) * n_grades // n
    found = count_outcomes(scores, grades, np.array([0, n]), np.array([0.0]))
    each = n // n_grades
    tied = n_grades * (each * (each - 1) // 2)
    assert found.tolist() == [[[n * (n - 1) // 2 - tied, tied, 0, 0]]]


def test_no_queries():
    data = np.empty(0), np.empty(0, dtype=np.int64), np.array([0])
    assert count_outcomes(*data, np.array([0.0])).shape == (0, 1, 4)


@EXAMPLES
@given(st.data())
def test_integer_weights_are_the_products_of_the_definition(draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    tol = draw.draw(st.sampled_from([0.0, 1e-9, 0.5]))
    weights = np.array(
        draw.draw(
            st.lists(
                st.integers(0, 3), min_size=data.scores.size, max_size=data.scores.size
            )
        ),
        dtype=float,
    )
    found = count_outcomes(*data, cuts, tol, weights)
    expected = reference.weigh_outcomes_by_query(*data, cuts, tol, weights)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        count_outcomes(*data, cuts, tol, np.ones(data.scores.size)),
        count_outcomes(*data, cuts, tol),
    )
