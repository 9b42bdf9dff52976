from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import COMPILED, EPS, EXAMPLES, cuts_for, grouped, random_queries

from skrank_abstain._kernels import outcomes
from skrank_abstain._kernels.outcomes import count_outcomes, count_outcomes_by_query

METHODS = [outcomes._BY_GRADE, outcomes._FENWICK, outcomes._ENUMERATE]


def always(method):
    """Count each query in one way, whatever it costs."""

    def choose(sizes, n_grades, n_cuts):
        return np.full(sizes.size, method), np.ones(sizes.size)

    return mock.patch.object(outcomes, "_choose", choose)


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(draw=st.data())
def test_outcomes_equal_those_of_the_definition(method, draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    tol = draw.draw(st.sampled_from([0.0, 3 * EPS, 1.0, 1e-310, 1e300]))
    expected = reference.count_outcomes_by_query(*data, cuts, tol)
    with always(method):
        found = count_outcomes_by_query(*data, cuts, tol)
        summed = count_outcomes(*data, cuts, tol)
    assert found.dtype == summed.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(summed, expected.sum(axis=0))


@pytest.mark.parametrize("n_grades", [1, 5, 31, 33, None])
@pytest.mark.parametrize("size", [40, pytest.param(700, marks=COMPILED)])
@pytest.mark.parametrize("n_cuts", [1, 100])
def test_the_three_ways_agree(n_grades, size, n_cuts):
    data = random_queries(6, size, n_grades, rounded=2)
    cuts = np.linspace(0, 4, n_cuts)
    found = []
    for method in METHODS:
        with always(method):
            found.append(count_outcomes_by_query(*data, cuts, 1e-9))
    chosen = count_outcomes_by_query(*data, cuts, 1e-9)
    for other in found:
        np.testing.assert_array_equal(other, chosen)


def test_one_outlying_cut_and_cuts_closer_than_a_cell():
    data = random_queries(20, 50)
    cuts = np.concatenate([1 + np.arange(40) * EPS, [1e300, 5e-324, np.inf]])
    with always(outcomes._ENUMERATE):
        enumerated = count_outcomes(*data, cuts)
    with always(outcomes._BY_GRADE):
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
    assert found.tolist() == [[n * (n - 1) // 2 - tied, tied, 0, 0]]


def test_no_queries():
    data = np.empty(0), np.empty(0, dtype=np.int64), np.array([0])
    assert count_outcomes(*data, np.array([0.0])).tolist() == [[0, 0, 0, 0]]
    assert count_outcomes_by_query(*data, np.array([0.0])).shape == (0, 1, 4)
