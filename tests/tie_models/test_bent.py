"""Grades whose steps have curves of their own, against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy.special import expit

from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models import GradedRelevance
from skrank_abstain.tie_models._bent import BentFit, _Likelihood, bend
from skrank_abstain.tie_models._graded_relevance import divide
from skrank_abstain.tie_models._ordinal import OrdinalFit, fit_grades

POINTS, MASSES = special.roots_hermitenorm(7)
MASSES = MASSES / MASSES.sum()


def in_steps(z, rng):
    """Grades that are no proportional odds, and their probabilities."""
    first, second = expit(1.6 * z - 0.6), expit(2.2 * z - 3)
    u, v = rng.random((2, z.size))
    proba = np.stack([1 - first, first * (1 - second), first * second], axis=1)
    return ((u < first) * (1 + (v < second))).astype(float), proba


def curved(z, rng):
    """Two grades, with a chance that rises where scores are middling, and stops."""
    proba = expit(-2 + 4 * np.clip(z, -0.5, 0.5))
    return (rng.random(z.size) < proba).astype(float), np.stack([1 - proba, proba], 1)


def of_pairs(left, right):
    """P(right preferred), P(tie) and P(left preferred) of independent items."""
    below = np.cumsum(right, axis=1) - right
    wins, ties = (left * below).sum(axis=1), (left * right).sum(axis=1)
    return np.stack([1 - wins - ties, ties, wins], axis=1)


def error(law, n_queries, seed):
    """Mean absolute error of pair probabilities of new items, and the model."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=12 * n_queries)
    y, _ = law(z, rng)
    model = GradedRelevance().fit(z, y, np.repeat(np.arange(n_queries), 12))
    new = rng.normal(size=(2, 3000))
    truth = of_pairs(*(law(side, rng)[1] for side in new))
    return np.abs(model.proba(*new) - truth).mean(), model


# The likelihood


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_steps, n_pieces = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 25), min_size=1, max_size=3))
    sizes[0] = max(sizes[0], n_steps + 1)
    query = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.integers(0, n_steps + 1, query.size)
    grades[: n_steps + 1] = np.arange(n_steps + 1)
    centres = np.sort(rng.normal(size=6)) + np.arange(6)
    bins = rng.integers(0, 6, query.size)
    bins[:2] = 0, 5
    knots = np.linspace(centres[0], centres[-1], n_pieces + 1)
    theta = rng.uniform(0.1, 1.5, n_steps * (n_pieces + 1) + 1)
    return centres, knots, bins, grades, query, theta


def of_query(u, steps, bins, grades, weight):
    """Likelihood of one query given its shift, by the definition of the model."""
    product = 1.0
    for place, grade in zip(bins, grades, strict=True):
        for k, logits in enumerate(steps):
            if grade >= k:
                taken = expit(logits[place] + u)
                product *= (taken if grade > k else 1 - taken) ** weight
    return product


@given(cases())
def test_the_objective_is_the_marginal_likelihood_by_loops(case):
    centres, knots, bins, grades, query, theta = case
    likelihood = _Likelihood(centres, knots, bins, grades, query)
    by_step = theta[:-1].reshape(grades.max(), -1)
    deviation = centres[bins].std()
    steps, penalty = [], theta[-1] ** 2
    for middle, *slopes in by_step:
        curve = [
            sum(
                slope * (np.clip(c, low, high) - low) / deviation
                for slope, low, high in zip(slopes, knots, knots[1:], strict=False)
            )
            for c in centres
        ]
        steps.append(middle + np.array(curve) - np.mean([curve[b] for b in bins]))
        penalty += np.mean(np.square(slopes)) + np.square(np.diff(slopes)).sum()
    total = -penalty / 2
    for q in np.unique(query):
        rows = query == q
        weight = min(1, 20 / rows.sum())
        data = steps, bins[rows], grades[rows], weight
        by_node = [of_query(theta[-1] * u, *data) for u in POINTS]
        total += np.log(np.dot(MASSES, by_node))
    n_queries = query.max() + 1
    assert -likelihood(theta)[0] * n_queries == pytest.approx(total, rel=1e-9)


@given(cases())
def test_the_gradient_is_that_of_finite_differences(case):
    *data, theta = case
    likelihood = _Likelihood(*data)
    _, gradient = likelihood(theta)
    for place, step in enumerate(1e-5 * np.eye(theta.size)):
        slope = (likelihood(theta + step)[0] - likelihood(theta - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@given(cases())
def test_what_is_fitted_has_the_likelihood_that_it_says(case):
    centres, knots, bins, grades, query, _ = case
    fit = _Likelihood(centres, knots, bins, grades, query).maximise()
    assert (np.diff(fit.logits, axis=1) >= 0).all()
    proba = fit.grade_proba(centres)
    np.testing.assert_allclose(proba.sum(axis=2), 1, rtol=1e-12)
    # The higher of two values has the better chance of each grade or a higher one.
    above = np.cumsum(proba[:, :, ::-1], axis=2)
    assert (np.diff(above, axis=1) >= -1e-12).all()
    for q in np.unique(query):
        rows = query == q
        weight = min(1, 20 / rows.sum())
        of_items = proba[:, bins[rows], grades[rows]]
        by_node = np.exp(weight * np.log(of_items).sum(axis=1))
        expected = np.log(MASSES @ by_node)
        assert fit.log_likelihood[q] == pytest.approx(expected, rel=1e-6, abs=1e-9)


# How well it does


@pytest.mark.parametrize("n_queries", [300, 1500])
def test_steps_of_their_own_slopes_are_found(n_queries):
    found, model = error(in_steps, n_queries, 0)
    assert found < 0.008
    assert model.knots_.size == 2
    slopes = np.diff(model.step_logits_)[:, 0] / np.diff(model.knots_)
    assert slopes == pytest.approx([1.6, 2.2], rel=0.15)


@pytest.mark.slow
def test_more_queries_bring_the_probabilities_nearer_to_the_truth():
    errors = [
        np.mean([error(in_steps, n, seed)[0] for seed in range(6)])
        for n in (30, 300, 3000)
    ]
    assert errors[0] > errors[1] > errors[2]
    # Proportional odds stay at .017 to .020, however many queries there are.
    assert errors[2] < 0.004


def test_a_chance_that_stops_rising_is_followed():
    model = error(curved, 1500, 0)[1]
    assert model.knots_.size == 4
    z = np.random.default_rng(1).normal(size=18_000)
    y, _ = curved(z, np.random.default_rng(2))
    straight = fit_grades(z[:, None], y.astype(int), np.arange(0, 18_001, 12))
    value = straight.value(z[:, None])
    odds = np.tensordot(MASSES, straight.grade_proba(value), axes=1)[:, 1]
    truth = expit(-2 + 4 * np.clip(z, -0.5, 0.5))
    bent = np.tensordot(MASSES, model.grade_proba(z), axes=1)[:, 1]
    assert np.abs(bent - truth).mean() < 0.6 * np.abs(odds - truth).mean()


def test_proportional_odds_stay_straight():
    n_bent = 0
    for seed in range(20):
        data = make_ranking(60, 12, random_state=seed)
        model = GradedRelevance().fit(data.utility, data.target, data.qid)
        n_bent += model.knots_.size > 0
    assert n_bent <= 2


def test_bent_models_answer_in_any_unit():
    rng = np.random.default_rng(0)
    z = rng.normal(size=3600)
    y, qid = in_steps(z, rng)[0], np.repeat(np.arange(300), 12)
    plain = GradedRelevance().fit(z, y, qid)
    assert plain.knots_.size == 2
    far = np.array([-1e300, -7.0, 0.1, 9.0, 1e300])
    expected = plain.proba(far, far[::-1])
    assert np.isfinite(expected).all()
    for unit in (2.0**-996, 2.0**-30, 2.0**990):
        other = GradedRelevance().fit(z * unit, y, qid)
        # Only the last digits of the fit differ.
        inside = far[1:-1] * unit
        found = other.proba(inside, inside[::-1])
        np.testing.assert_allclose(found, expected[1:-1], atol=1e-5)


def test_equal_values_are_not_bent():
    values, grades, offsets = np.zeros(100), np.tile([0, 1], 50), np.arange(0, 101, 10)
    straight = fit_grades(values[:, None], grades, offsets)
    assert bend(straight, *divide(values), values, grades, offsets) is straight


def test_parameters_are_counted():
    assert OrdinalFit(np.ones(1), np.zeros(3), 0.0).n_parameters == 1 + 3 + 1
    assert BentFit(np.zeros(4), np.zeros((3, 4)), 0.0).n_parameters == 3 * 4 + 1
