from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.grouped import COMPILED, EXAMPLES, dense, grouped, random_queries
from scipy.special import log_expit

from skrank_abstain._kernels import lags
from skrank_abstain._kernels.lags import (
    UNIT,
    cheaper_on_grid,
    lag_points,
    lag_weights,
)


def every_pair(data):
    """Return the difference from lower to higher grade, if tied; of all pairs."""
    found = [np.empty(0)], [np.empty(0)]
    for lo, hi in pairwise(data.offsets):
        i, j = np.triu_indices(hi - lo, 1)
        found[0].append(data.scores[lo:hi][j] - data.scores[lo:hi][i])
        found[1].append(np.sign(data.grades[lo:hi][j] - data.grades[lo:hi][i]))
    d, sign = np.concatenate(found[0]), np.concatenate(found[1])
    return np.where(sign == 0, d, sign * d), sign == 0


def n_grades(data):
    return int(data.grades.max(initial=0)) + 1


def points_of(data, step):
    return lag_points(lag_weights(*data, step, n_grades(data)), step)


def lag_sums(found, step, f):
    n_lags = found.tied.size
    signed = step * np.arange(1 - n_lags, n_lags)
    return UNIT * (found.tied @ f(signed[n_lags - 1 :])), UNIT * (
        found.untied @ f(signed)
    )


@EXAMPLES
@given(data=grouped(), step=st.sampled_from([0.25, 3.0]), power=st.integers(0, 5))
def test_polynomials_up_to_the_fifth_degree_are_summed_exactly(data, step, power):
    if np.abs(data.scores).max(initial=0.0) > 50:
        return
    spread = np.ptp(data.scores) if data.scores.size else 0.0
    found = lag_weights(*data, step, n_grades(data))
    d, tied = every_pair(data)
    assert found.n_tied == tied.sum()
    assert found.n_untied == (~tied).sum()
    largest = max(spread, 6 * step)
    sums = lag_sums(found, step, lambda x: (x / largest) ** power)
    expected = [((d[kind] / largest) ** power).sum() for kind in (tied, ~tied)]
    if power % 2:  # tied pairs know no sign
        sums, expected = sums[1:], expected[1:]
    # But for what each query's weights are rounded to.
    n_queries = data.offsets.size - 1
    atol = 1e-10 + n_queries * found.untied.size * UNIT / 2
    np.testing.assert_allclose(sums, expected, rtol=0, atol=atol)


CASES = {
    "five grades": random_queries(20, 60, 5),
    "one grade": random_queries(20, 60, 1),
    "equal scores": random_queries(20, 60, 4, rounded=0),
    "every item its own grade": random_queries(3, 700, None),
    "more items than are shared at a time": random_queries(1, 1300, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_smooth_functions_are_summed_within_the_bound(name):
    data, step = CASES[name], 0.2
    found = lag_weights(*data, step, n_grades(data))
    d, tied = every_pair(data)
    # The largest sixth derivative of the cosine is 1; two items are interpolated.
    bound = 2 * 3.6 / 720 * step**6
    sums = lag_sums(found, step, np.cos)
    expected = np.cos(d[tied]).sum()
    assert sums[0] == pytest.approx(expected, abs=1.2 * bound * tied.sum() + 1e-9)
    sums = lag_sums(found, step, lambda x: np.cos(x - 0.5))
    expected = np.cos(d[~tied] - 0.5).sum()
    assert sums[1] == pytest.approx(expected, abs=bound * (~tied).sum() + 1e-9)


def test_points_are_seen_from_the_higher_score():
    data = random_queries(20, 40, 3)
    d, tied = every_pair(data)
    distance, outcome, weight = points_of(data, 0.1)
    assert (distance >= 0).all()
    values = log_expit(np.where(outcome == -1, -1, 1) * distance)
    for kind in (False, True):
        found = (weight * values)[(outcome == 0) == kind].sum()
        if kind:  # without a sign
            values = values + log_expit(-distance)
            found = (weight * values)[outcome == 0].sum()
        expected = log_expit(d[tied == kind]).sum()
        expected += log_expit(-d[tied]).sum() if kind else 0.0
        assert found == pytest.approx(expected, rel=1e-8)


def test_no_points_of_what_does_not_happen():
    assert set(points_of(random_queries(5, 30, 1), 0.1)[1]) == {0}
    assert set(points_of(random_queries(1, 30, None), 0.1)[1]) == {-1, 1}


def test_an_outlier_makes_a_grid_dear():
    scores, _, offsets = random_queries(2, 200, 5)
    np.testing.assert_array_equal(cheaper_on_grid(scores, offsets, 5, 0.1), True)
    scores = scores.copy()
    scores[-1] = 1e9
    assert cheaper_on_grid(scores, offsets, 5, 0.1).tolist() == [True, False]
    scores[0] = -1.7e308
    scores[199] = 1.7e308
    assert not cheaper_on_grid(scores, offsets, 5, 0.1).any()


@COMPILED
def test_many_grades_are_ranked_within_queries():
    data = random_queries(30, 50, None)
    assert data.grades.max() > lags._FEW_GRADES
    found = lag_weights(*data, 0.2, n_grades(data))
    local = np.concatenate([dense(g) for g in data.grades.reshape(30, 50)])
    other = lag_weights(data.scores, local, data.offsets, 0.2, 50)
    np.testing.assert_array_equal(found.tied, other.tied)
    np.testing.assert_array_equal(found.untied, other.untied)


def test_parts_add_up_to_the_last_bit():
    data = random_queries(20, 60, 5)
    data.scores[600:] *= 3  # more lags
    whole = lag_weights(*data, 0.1, 5)
    parts = [
        lag_weights(
            data.scores[60 * lo : 60 * hi],
            data.grades[60 * lo : 60 * hi],
            np.arange(0, 60 * (hi - lo) + 1, 60),
            0.1,
            5,
        )
        for lo, hi in pairwise([0, 3, 3, 11, 20])
    ]
    for order in (parts, parts[::-1]):
        total = order[0] + order[1] + order[2] + order[3]
        np.testing.assert_array_equal(total.tied, whole.tied)
        np.testing.assert_array_equal(total.untied, whole.untied)
        assert (total.n_tied, total.n_untied) == (whole.n_tied, whole.n_untied)


def test_no_queries():
    nothing = np.empty(0, dtype=np.int64)
    found = lag_weights(np.empty(0), nothing, np.array([0]), 0.1, 1)
    assert (found.n_tied, found.n_untied) == (0, 0)
    assert not found.tied.any()
    assert lag_points(found, 0.1)[2].size == 0
