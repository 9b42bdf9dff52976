from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from kernels import reference
from kernels.grouped import COMPILED, EXAMPLES, grouped, random_queries
from scipy.optimize import minimize
from scipy.special import expit

from skrank_abstain._kernels import histogram
from skrank_abstain._kernels.histogram import outcome_histogram


def points_of(data):
    scores, _, offsets = data
    with np.errstate(over="ignore"):
        spans = [np.ptp(scores[lo:hi]) for lo, hi in pairwise(offsets) if lo < hi]
    return outcome_histogram(*data, max(spans, default=0.0))


def every_pair(data):
    """Return |d| and the outcome of all pairs, order taken at face value."""
    found = [], []
    for lo, hi in pairwise(data.offsets):
        i, j = np.triu_indices(hi - lo, 1)
        found[0].append(data.scores[lo:hi][j] - data.scores[lo:hi][i])
        found[1].append(np.sign(data.grades[lo:hi][j] - data.grades[lo:hi][i]))
    return np.concatenate(found[0]), np.concatenate(found[1])


def fit(differences, outcomes, weights, start=None):
    """Return scale and margin of P(+) = sigma(b d - e), P(-) = sigma(-b d - e)."""
    tied, share = outcomes == 0, weights / weights.sum()

    def loss(log_parameters):
        scale, margin = np.exp(log_parameters)
        z = np.where(tied, 1, outcomes) * scale * differences
        won = expit(z - margin)
        lost = expit(-z - margin)
        p = np.where(tied, 1 - won - lost, won)
        # Derivatives of P by the two parameters, then of its logarithm.
        d_won, d_lost = won * (1 - won), lost * (1 - lost)
        by_z = np.where(tied, d_lost - d_won, d_won) * z
        by_margin = np.where(tied, d_won + d_lost, -d_won) * margin
        gradient = -np.array([(share * by_z / p).sum(), (share * by_margin / p).sum()])
        return -(share * np.log(p)).sum(), gradient

    def slope(x):
        return loss(x)[1]

    x = minimize(loss, np.zeros(2), jac=True).x if start is None else np.log(start)
    for _ in range(4):  # Newton's steps from differences of the exact gradient
        h = 1e-5
        hessian = np.array(
            [(slope(x + h * u) - slope(x - h * u)) / (2 * h) for u in np.eye(2)]
        )
        x = x - np.linalg.solve(hessian, slope(x))
    return np.exp(x)


def counting_at_most(n_pairs):
    """Count a part of the pairs of larger queries."""
    return mock.patch.object(histogram, "_MOST_PAIRS", n_pairs)


@EXAMPLES
@given(data=grouped())
def test_weights_add_up_to_the_pairs(data):
    expected = reference.count_outcomes_by_query(*data, [0.0], 0.0).sum(axis=(0, 1))
    differences, outcomes, weights = points_of(data)
    tied = weights[outcomes == 0].sum()
    assert tied == pytest.approx(expected[1])
    assert weights.sum() == pytest.approx(expected.sum())
    assert (weights > 0).all()
    assert np.isfinite(differences).all()
    assert (differences >= 0).all()


@EXAMPLES
@given(data=grouped())
def test_enumerated_counts_and_means_are_exact(data):
    pairs = [
        (min(d, np.finfo(float).max), 1 - column)
        for q in range(len(data.offsets) - 1)
        for d, column in reference.pairs_of_query(*data, q)
    ]
    largest = max((d for d, _ in pairs), default=0.0)
    resolved = 1.01 * max(largest * 2**-52, 1e-307)
    differences, outcomes, weights = points_of(data)
    for outcome in (-1, 1):
        here = (outcomes == outcome) & (differences > 0)
        ordered = [d for d, o in pairs if o == outcome and d > resolved]
        if not ordered:
            continue
        top = max(ordered)
        assert differences[here].max() == pytest.approx(top, rel=2**-8)
        with np.errstate(over="ignore"):
            total = (weights[here] * (differences[here] / top)).sum()
        assert total == pytest.approx(sum(d / top for d in ordered), rel=1e-5)


CASES = {
    "ranking queries": (random_queries(200, 60, 5), 1.0),
    "scores of a large scale": (random_queries(2, 600, 3), 300.0),
    "rounded scores": (random_queries(2, 600, 4, rounded=1), 1.0),
    "many grades": (random_queries(1, 900, 300), 1.0),
}


@COMPILED
@pytest.mark.parametrize("name", CASES)
def test_a_fit_equals_the_fit_to_all_pairs(name):
    data, unit = CASES[name]
    found = points_of(data._replace(scores=data.scores * unit))
    estimate = fit(found[0] / unit, *found[1:])
    differences, outcomes = every_pair(data)
    expected = fit(differences, outcomes, np.ones(differences.size), estimate)
    np.testing.assert_allclose(estimate, expected, rtol=1e-6)


@pytest.mark.parametrize("n_pairs", [1, 7, 100, 200, 1000])
def test_partners_of_a_large_query_are_evenly_spaced_in_rank(n_pairs):
    scores, grades, ends = data = random_queries(1, 40, 5)
    step = -(-40 * 39 // (2 * n_pairs))
    i, j = np.triu_indices(40, 1)
    counted = (j - i) % step == (step + 1) // 2 % step
    differences = (scores[j] - scores[i])[counted]
    outcomes = np.sign(grades[j] - grades[i])[counted]
    with counting_at_most(n_pairs):
        _, found, weights = points_of(data)
        means, _, each = outcome_histogram(scores, 0 * grades, ends, 9.0)
    for outcome in (-1, 0, 1):
        assert weights[found == outcome].sum() == (outcomes == outcome).sum()
    np.testing.assert_allclose(
        np.repeat(means, each.astype(int)), np.sort(differences), rtol=2e-3
    )


@COMPILED
@pytest.mark.parametrize("n_grades", [2, 40, None])
def test_a_tenth_of_the_pairs_gives_nearly_the_same_fit(n_grades):
    """The fit moves by less than a third of its standard error, 1 / sqrt(4000)."""
    data = random_queries(1, 4000, n_grades)
    expected = fit(*points_of(data))
    with counting_at_most(800_000):
        found = fit(*points_of(data), expected)
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-6)


def test_equal_scores_count_half_in_each_order():
    data = np.zeros(4), np.array([0, 0, 1, 1]), np.array([0, 4])
    differences, outcomes, weights = points_of(data)
    assert dict(zip(outcomes, weights, strict=True)) == {-1: 2, 0: 2, 1: 2}
    assert (differences == 0).all()


def test_no_pairs():
    data = np.zeros(1), np.zeros(1, dtype=np.int64), np.array([0, 1])
    assert [part.size for part in points_of(data)] == [0, 0, 0]
