"""The proportional-odds model with a shift per query, against its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, special
from scipy.special import expit

from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models._graded_relevance import (
    _cell_weights,
    _Likelihood,
    fit_grades,
    grade_proba,
    pair_table,
)

# Points and masses of the standard normal, of scipy instead of numpy.
POINTS, MASSES = special.roots_hermitenorm(7)
MASSES = MASSES / MASSES.sum()


def grade_probability(logit, cuts, grade):
    """P(grade) of one item, by the definition of the model."""
    at_least = 1.0 if grade == 0 else expit(logit - cuts[grade - 1])
    beyond = 0.0 if grade == len(cuts) else expit(logit - cuts[grade])
    return at_least - beyond


def likelihood_given(u, slopes, cuts, spread, inputs, grades):
    """Likelihood of the items of one query given its shift."""
    product = 1.0
    weight = min(1.0, 20 / len(grades))
    for row, grade in zip(inputs, grades, strict=True):
        logit = float(np.dot(row, slopes)) + spread * u
        product *= grade_probability(logit, cuts, grade) ** weight
    return product


def penalised(integral, slopes, cuts, spread, inputs, grades, query):
    """Log-likelihood with its prior; ``integral`` averages over the shift."""
    total = -(sum(s**2 for s in slopes) + spread**2) / 2
    for q in np.unique(query):
        rows = query == q
        total += np.log(
            integral(
                lambda u, rows=rows: likelihood_given(
                    u, slopes, cuts, spread, inputs[rows], grades[rows]
                )
            )
        )
    return total


def likelihood_of(inputs, grades, query):
    """The likelihood where each item is a cell of its own."""
    return _Likelihood(inputs, grades, _cell_weights(query, np.arange(query.size)))


def fit_items(inputs, grades, offsets):
    """Fit with a level for each item."""
    return fit_grades(inputs, np.arange(grades.size), grades, offsets)


def by_nodes(function):
    return sum(m * function(u) for u, m in zip(POINTS, MASSES, strict=True))


def by_quad(function):
    def integrand(u):
        return function(u) * np.exp(-u * u / 2) / np.sqrt(2 * np.pi)

    return integrate.quad(integrand, -9, 9, epsabs=1e-13, epsrel=1e-11, limit=200)[0]


@st.composite
def cases(draw, max_items=8):
    """Small data and parameters: inputs, grades, queries, theta."""
    n_inputs, n_grades = draw(st.integers(1, 2)), draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, max_items), min_size=1, max_size=3))
    sizes[0] = max(sizes[0], n_grades)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    query = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.integers(0, n_grades, query.size)
    grades[:n_grades] = np.arange(n_grades)
    theta = np.concatenate(
        [
            rng.uniform(0, 2, n_inputs),
            rng.normal(0, 1, 1),
            rng.normal(-0.5, 1, n_grades - 2),
            rng.uniform(0, 1.5, 1),
        ]
    )
    return rng.normal(size=(query.size, n_inputs)), grades, query, theta


@given(cases())
def test_the_objective_is_the_marginal_likelihood_by_loops(case):
    inputs, grades, query, theta = case
    likelihood = likelihood_of(inputs, grades, query)
    slopes, cuts, spread = likelihood.unpack(theta)
    assert (np.diff(cuts) > 0).all()
    expected = penalised(by_nodes, slopes, cuts, spread, inputs, grades, query)
    n_queries = query.max() + 1
    assert -likelihood(theta)[0] * n_queries == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_seven_points_are_enough_for_a_few_items(spread):
    rng = np.random.default_rng(1)
    query = np.array([0, 0, 0, 1, 1, 2])
    grades, inputs = np.array([0, 1, 2, 0, 0, 1]), rng.normal(size=(6, 1))
    theta = np.array([1.2, -0.3, np.log(1.1), spread])
    expected = penalised(
        by_quad, [1.2], [-0.3, -0.3 + 1.1], spread, inputs, grades, query
    )
    found = -likelihood_of(inputs, grades, query)(theta)[0] * 3
    assert found == pytest.approx(expected, abs=2e-4)


def test_a_large_query_weighs_as_twenty_items():
    rng = np.random.default_rng(0)
    inputs, grades = rng.normal(size=(60, 1)), rng.integers(0, 2, 60)
    theta = np.array([0.8, 0.1, 0.0])
    proba = [
        grade_probability(0.8 * x, [0.1], k)
        for x, k in zip(inputs[:, 0], grades, strict=True)
    ]
    expected = 20 / 60 * np.log(proba).sum() - 0.8**2 / 2
    found = -likelihood_of(inputs, grades, np.zeros(60, np.int64))(theta)[0]
    assert found == pytest.approx(expected, rel=1e-12)


@given(cases(max_items=30))
def test_the_gradient_is_that_of_finite_differences(case):
    inputs, grades, query, theta = case
    likelihood = likelihood_of(inputs, grades, query)
    _, gradient = likelihood(theta)
    step = 1e-5
    for place in range(theta.size):
        shift = np.zeros_like(theta)
        shift[place] = step
        up, down = likelihood(theta + shift)[0], likelihood(theta - shift)[0]
        slope = (up - down) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_items_of_one_level_are_counted_together():
    rng = np.random.default_rng(2)
    levels, level = rng.normal(size=(5, 2)), rng.integers(0, 5, 300)
    grades, offsets = rng.integers(0, 3, 300), np.array([0, 8, 40, 300])
    together = fit_grades(levels, level, grades, offsets)
    apart = fit_items(levels[level], grades, offsets)
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def simulated(n_queries, size, slope, cuts, spread, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_queries * size, 1))
    shift = np.repeat(spread * rng.normal(size=n_queries), size)
    latent = slope * x[:, 0] + shift + rng.logistic(size=n_queries * size)
    grades = np.searchsorted(cuts, latent).astype(np.int64)
    return x, grades, np.arange(0, n_queries * size + 1, size)


@pytest.mark.parametrize("size", [12, 50])
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_recovers_the_parameters_of_simulated_queries(size, spread):
    cuts = [-0.5, 1.0, 2.5]
    fit = fit_items(*simulated(1500, size, 1.3, cuts, spread))
    assert fit.slopes == pytest.approx([1.3], rel=0.05)
    assert fit.cuts == pytest.approx(cuts, abs=0.12)
    if size <= 20:
        assert fit.spread == pytest.approx(spread, abs=0.06)
    else:
        # A larger query weighs as one of 20 items, and these would scatter more: a
        # part of what queries differ by is put down to that.
        assert 0.6 * spread <= fit.spread <= spread + 0.06


def test_two_inputs_share_the_slope_by_what_they_tell():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(30_000, 3))
    latent = 0.5 * inputs[:, 0] + 1.5 * inputs[:, 1] - inputs[:, 2]
    grades = (latent + rng.logistic(size=latent.size) > 0).astype(np.int64)
    fit = fit_items(inputs, grades, np.arange(0, 30_001, 10))
    # A slope is never negative: the third input is left out, and is noise then.
    assert fit.slopes[2] == 0
    assert fit.slopes[1] / fit.slopes[0] == pytest.approx(3, rel=0.1)


def test_without_a_shift_it_is_the_ordered_logit_of_statsmodels():
    miscmodels = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(3)
    n_queries, size = 100, 20
    x = rng.normal(2, 3, n_queries * size)
    # Noise whose quantiles are the same in each query: no query is shifted.
    noise = [special.logit((rng.permutation(size) + 0.5) / size)] * n_queries
    noise = np.concatenate([rng.permutation(part) for part in noise])
    grades = np.searchsorted([-1.0, 2.0, 4.0], 0.6 * x + noise).astype(np.int64)
    fit = fit_items(x[:, None], grades, np.arange(0, x.size + 1, size))
    assert fit.spread == pytest.approx(0, abs=1e-6)

    model = miscmodels.OrderedModel(grades, x[:, None], distr="logit")

    def loss(params):
        # The prior is on the slope of the standardised input.
        return -model.loglike(params) + (params[0] * x.std()) ** 2 / 2

    start = np.concatenate([[0.1], [-1.0], np.zeros(2)])
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-5})
    cuts = model.transform_threshold_params(found.x)[1:-1]
    assert fit.slopes[0] == pytest.approx(found.x[0], rel=1e-4)
    assert fit.cuts == pytest.approx(cuts, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e290])
@pytest.mark.parametrize("shift", [0.0, -7.0, 1e3])
def test_shift_and_scale_of_the_inputs_do_not_matter(scale, shift):
    x, grades, offsets = simulated(60, 10, 1.0, [0.0, 1.5], 0.7, seed=4)
    plain = fit_items(x, grades, offsets)
    other = fit_items((x + shift) * scale, grades, offsets)
    tolerance = 1e-4 if shift else 1e-6
    assert other.slopes * scale == pytest.approx(plain.slopes, rel=tolerance)
    assert other.spread == pytest.approx(plain.spread, rel=tolerance, abs=1e-6)
    moved = (x + shift) * scale * other.slopes - other.cuts
    expected = x * plain.slopes - plain.cuts
    np.testing.assert_allclose(moved, expected, atol=10 * tolerance)


def test_single_precision_inputs_hardly_change_the_fit():
    x, grades, offsets = simulated(60, 10, 1.0, [0.0, 1.5], 0.7)
    plain = fit_items(x, grades, offsets)
    rounded = fit_items(x.astype(np.float32).astype(np.float64), grades, offsets)
    assert rounded.slopes == pytest.approx(plain.slopes, rel=1e-4)
    assert rounded.cuts == pytest.approx(plain.cuts, abs=1e-4)


def test_no_trial_of_the_optimiser_overflows():
    # A line search went to steps between cuts of exp(1718); its slopes were NaN, and
    # the fit ended where it stood.
    data = make_ranking(20, (5, 20), random_state=115)
    noise = np.random.default_rng(115).normal(size=data.target.size)
    score = data.utility + 0.5 * noise
    sizes = np.unique(data.qid, return_counts=True)[1]
    offsets = np.append(0, np.cumsum(sizes))
    mean = np.repeat(np.add.reduceat(score, offsets[:-1]) / sizes, sizes)
    inputs = np.column_stack([score, score - mean])
    fit_items(inputs, data.target.astype(int), offsets)  # warnings are errors


def test_inputs_that_tell_nothing_have_no_slope():
    grades = np.tile([0, 0, 0, 1, 2], 400)
    fit = fit_items(np.full((2000, 1), 0.1), grades, np.arange(0, 2001, 5))
    assert fit.slopes == pytest.approx([0], abs=1e-5)
    assert fit.spread == pytest.approx(0, abs=1e-3)
    # P(grade >= 1) = 2/5 and P(grade >= 2) = 1/5.
    np.testing.assert_allclose(
        expit(0.1 * fit.slopes - fit.cuts), [2 / 5, 1 / 5], atol=1e-3, rtol=0
    )


def test_scores_against_the_grades_have_no_slope():
    x, grades, offsets = simulated(50, 10, 2.0, [0.0], 0.0)
    assert fit_items(-x, grades, offsets).slopes.tolist() == [0.0]


@pytest.mark.parametrize("size", [2, 20, 300])
def test_one_query(size):
    x, grades, offsets = simulated(1, size, 1.0, [0.0], 0.0, seed=1)
    grades[:2] = 0, 1
    fit = fit_items(x, grades, offsets)
    assert np.isfinite([*fit.slopes, *fit.cuts, fit.spread]).all()
    # One query says nothing about how queries differ: the prior keeps it small.
    assert 0 <= fit.spread < 1


def test_perfectly_sorted_grades_give_a_finite_slope():
    x = np.linspace(-1, 1, 1000)[:, None]
    fit = fit_items(x, (x[:, 0] > 0).astype(np.int64), np.arange(0, 1001, 10))
    assert 3 < fit.slopes[0] < 100
    assert np.isfinite(fit.cuts).all()


CUTS = st.builds(
    lambda steps, first: first + np.append(0.0, np.cumsum(steps)),
    st.lists(st.floats(0.0625, 3), max_size=4),
    st.floats(-3, 3),
)
SPREADS = st.floats(0, 2)
VALUES = st.lists(st.floats(-20, 20), min_size=1, max_size=6)


def test_grade_probabilities_by_hand():
    proba = grade_proba(np.array([0.5]), np.array([-1.0, 0.5]), 0.5)
    assert proba.shape == (7, 1, 3)
    for u, (row,) in zip(POINTS, proba, strict=True):
        first, second = expit(0.5 + 0.5 * u + 1.0), expit(0.5 + 0.5 * u - 0.5)
        np.testing.assert_allclose(row, [1 - first, first - second, second], rtol=1e-9)


@given(CUTS, SPREADS, VALUES, st.data())
def test_the_table_is_the_sum_over_shifts_and_grades(cuts, spread, values, data):
    n_grades = cuts.size + 1
    shares = data.draw(st.lists(st.floats(0, 1), min_size=n_grades, max_size=n_grades))
    grade = grade_proba(np.array(values), cuts, spread)
    table = pair_table(grade, np.array(shares))
    for (i, a), (j, b) in itertools.product(enumerate(values), repeat=2):
        expected = [0.0, 0.0, 0.0]
        for u, mass in zip(POINTS, MASSES, strict=True):
            p = [
                [grade_probability(v + spread * u, cuts, k) for v in (a, b)]
                for k in range(n_grades)
            ]
            for k, m in itertools.product(range(n_grades), repeat=2):
                both = mass * p[k][0] * p[m][1]
                if k == m:
                    expected[1] += both * shares[k]
                    expected[0] += both * (1 - shares[k]) / 2
                    expected[2] += both * (1 - shares[k]) / 2
                else:
                    expected[2 if k > m else 0] += both
        np.testing.assert_allclose(table[i, j], expected, atol=1e-12)


@given(CUTS, SPREADS, VALUES, st.sampled_from([1.0, 0.25, 0.0]))
def test_the_table_is_a_mirror_and_stochastically_ordered(cuts, spread, values, share):
    values = np.sort(values)
    grade = grade_proba(values, cuts, spread)
    table = pair_table(grade, np.full(cuts.size + 1, share))
    np.testing.assert_allclose(table.sum(axis=2), 1, rtol=1e-15)
    np.testing.assert_array_equal(table, table.transpose(1, 0, 2)[:, :, ::-1])
    assert (table >= 0).all()
    lower, _, higher = np.moveaxis(table, 2, 0)
    below = np.tri(values.size, dtype=bool)
    assert (higher[below] >= lower[below] - 1e-15).all()
    # Up the values, more wins and fewer losses against anyone.
    assert (np.diff(higher, axis=0) >= -1e-14).all()
    assert (np.diff(lower, axis=0) <= 1e-14).all()
    assert (np.diff(higher, axis=1) <= 1e-14).all()


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_the_table_is_the_integral_over_the_shift(spread):
    cuts, values = np.array([0.0, 1.5]), np.array([-2.0, 0.0, 1.0, 3.0])
    table = pair_table(grade_proba(values, cuts, spread), np.ones(3))
    for i, j in itertools.combinations(range(4), 2):
        expected = by_quad(
            lambda u, i=i, j=j: sum(
                grade_probability(values[i] + spread * u, cuts, k)
                * grade_probability(values[j] + spread * u, cuts, k)
                for k in range(3)
            )
        )
        assert table[i, j, 1] == pytest.approx(expected, abs=3e-3 * spread**2)


def test_a_shift_makes_items_of_a_query_tied_more_often():
    value = np.array([-0.1, 0.0, 0.1])
    ties = [
        pair_table(grade_proba(value, np.zeros(1), spread), np.ones(2))
        for spread in (0.0, 1.0, 3.0)
    ]
    for less, more in itertools.pairwise(ties):
        assert (more[:, :, 1] > less[:, :, 1]).all()
