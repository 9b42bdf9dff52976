"""Numbered pairs and their batches, gradients, and projections on balls."""

import itertools
from itertools import pairwise

import numpy as np
import pytest
from distance.named import bipartite_surrogate_loss
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import brentq, minimize

from skrank_abstain.distance import Exponential, Hinge, Logistic, Sigmoid
from skrank_abstain.distance._constrained import (
    DUAL,
    LinearProblem,
    Network,
    NetworkBounds,
    PairBatches,
    _slope,
    check_ball_norm,
    project_rows,
)
from skrank_abstain.pairs import NumberedPairs, group_queries


@given(st.lists(st.integers(0, 9), max_size=5), st.integers(1, 80))
def test_a_sample_is_spread_over_all_pairs(sizes, size):
    offsets = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))])
    # All pairs in the order of the later item, query by query.
    every = [
        (i, j)
        for lo, hi in pairwise(offsets)
        for i in range(lo, hi)
        for j in range(lo, i)
    ]
    later, earlier = NumberedPairs.every(offsets).sample(size)
    drawn = list(zip(later.tolist(), earlier.tolist(), strict=True))
    if len(every) <= size:
        assert drawn == every
        return
    assert len(drawn) == size
    places = [every.index(pair) for pair in drawn]
    for k, place in enumerate(places):
        # One of each of ``size`` equal shares; a pair may lie across two of them.
        assert k * len(every) / size - 1 < place < (k + 1) * len(every) / size


SMOOTH = [Exponential(), Sigmoid(2.0), Logistic()]


def strict_pairs(y, qid):
    return NumberedPairs.of(np.asarray(y, dtype=float), group_queries(qid, len(y)))


def brute_force(y, qid):
    return {
        (i, j)
        for i, j in itertools.permutations(range(len(y)), 2)
        if qid[i] == qid[j] and y[i] > y[j]
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=14
    )
)
def test_every_strict_pair_has_one_number(items):
    y, qid = [grade for grade, _ in items], [query for _, query in items]
    expected = brute_force(y, qid)
    if not expected:
        with pytest.raises(ValueError, match="y must have different relevance"):
            strict_pairs(y, qid)
        return
    pairs = strict_pairs(y, qid)
    better, worse = pairs.decode(np.arange(pairs.n_pairs))
    found = list(zip(better.tolist(), worse.tolist(), strict=True))
    assert len(found) == pairs.n_pairs == len(expected)
    assert set(found) == expected


def test_the_only_item_of_the_first_query_begins_no_pair():
    pairs = strict_pairs([5, 1, 2], ["a", "b", "b"])
    assert pairs.decode(np.arange(1)) == (np.array([2]), np.array([1]))


def test_drawn_pairs_are_uniform():
    # Queries of different sizes, grades of different counts, a tied query.
    y = [0, 0, 0, 1, 2, 2, 0, 1, 1, 1, 4, 4]
    qid = list("aaaaaabbbbcc")
    pairs = strict_pairs(y, qid)
    rng = np.random.RandomState(0)
    size, n_draws = 5, 20_000
    assert pairs.n_pairs % size != 0  # stretches do not end where pairs end
    counts = np.zeros(pairs.n_pairs)
    for _ in range(n_draws):
        counts += np.bincount(
            pairs.spread(size, rng.random_sample(size)), minlength=pairs.n_pairs
        )
    expected = size * n_draws / pairs.n_pairs
    # Each count is a sum of n_draws numbers in {0, 1}: five deviations.
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_as_many_stretches_as_pairs_give_each_once():
    pairs = strict_pairs(np.arange(30) % 4, None)
    draws = np.random.RandomState(0).random_sample(pairs.n_pairs)
    numbers = pairs.spread(pairs.n_pairs, draws)
    np.testing.assert_array_equal(numbers, np.arange(pairs.n_pairs))
    # The largest draw there is does not reach beyond the end.
    assert pairs.spread(7, np.nextafter(1.0, 0.0)).max() == pairs.n_pairs - 1


def test_a_batch_of_few_pairs_gathers_their_rows():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((100, 3)), np.arange(100) % 3
    batches = PairBatches(X, strict_pairs(y, None), 10, rng)
    batch = batches.draw()
    assert batch.items.shape == (20, 3)
    full = PairBatches(X, strict_pairs(y, None), 10**6, rng)
    assert full.complete
    assert full.draw().items is X
    assert full.draw() is full.draw()
    # Both name the same pairs by the same features.
    numbers = batches.pairs.spread(10, np.random.RandomState(0).random_sample(10))
    better, worse = batches.pairs.decode(numbers)
    gathered = batches.gather(*batches.pairs.sample(10))
    np.testing.assert_array_equal(gathered.items[gathered.better], X[better])
    np.testing.assert_array_equal(gathered.items[gathered.worse], X[worse])


@pytest.mark.parametrize("surrogate", [Hinge(), *SMOOTH])
def test_the_loss_is_the_bipartite_one_over_strict_pairs(surrogate):
    rng = np.random.RandomState(1)
    y = rng.randint(2, size=30)
    qid = rng.randint(3, size=30)
    X = rng.standard_normal((30, 1))
    batch = PairBatches(X, strict_pairs(y, qid), 10**6, rng).draw()
    loss, gradient = batch.loss(X[:, 0], surrogate)
    mean, slope = bipartite_surrogate_loss(y, X[:, 0], qid=qid, surrogate=surrogate)
    # There the mean is over all ordered pairs, each strict one counting twice.
    queries = group_queries(qid, 30)
    share = strict_pairs(y, qid).n_pairs / queries.n_pairs
    assert loss * share == pytest.approx(mean)
    np.testing.assert_allclose(gradient * share, slope, atol=1e-12)


def numerical(function, at, step=1e-6):
    slope = np.empty_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        slope[place] = (function(up) - function(down)) / (2 * step)
    return slope


@pytest.fixture
def batch():
    rng = np.random.RandomState(2)
    X = rng.standard_normal((25, 4))
    pairs = strict_pairs(rng.randint(3, size=25), rng.randint(2, size=25))
    return PairBatches(X, pairs, 10**6, rng).draw()


@pytest.mark.parametrize("surrogate", SMOOTH)
def test_linear_gradient(batch, surrogate):
    problem = LinearProblem(surrogate, 1.0, 2)
    weights = np.array([0.3, -0.2, 0.1, 0.5])
    expected = numerical(lambda w: problem.slope(w, batch)[0], weights)
    np.testing.assert_allclose(problem.slope(weights, batch)[1], expected, atol=1e-8)


@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("part", [0, 1, 2])
def test_network_gradient(batch, surrogate, part):
    bounds = NetworkBounds(1.0, 1.0, 2.0, np.inf)
    network = bounds.start(6, 4, np.random.RandomState(0))
    active = network.activations(batch.items)
    assert (active == 0).any()
    assert (active > 0).any()
    gradient = _slope(network, surrogate, batch)[1]

    def loss(values):
        moved = Network(*(values if i == part else p for i, p in enumerate(network)))
        return batch.loss(moved.scores(batch.items), surrogate)[0]

    np.testing.assert_allclose(
        gradient[part], numerical(loss, network[part]), atol=1e-8
    )


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("surrogate", [Hinge(), Logistic(), Exponential()])
def test_the_gap_bounds_what_any_weights_gain(batch, norm, surrogate):
    problem = LinearProblem(surrogate, 0.7, norm)
    rng = np.random.RandomState(3)
    for _ in range(20):
        here, there = (problem.project(w) for w in rng.standard_normal((2, 4)))
        loss, gradient = problem.slope(here, batch)
        assert loss - problem.slope(there, batch)[0] <= (
            problem.gap(here, gradient) + 1e-12
        )


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_networks_start_within_their_bounds(norm):
    bounds = NetworkBounds(0.7, 0.3, 2.0, norm)
    network = bounds.start(9, 4, np.random.RandomState(0))
    dual = {1: np.inf, 2: 2, np.inf: 1}[norm]
    sizes = np.linalg.norm(network.weights, dual, axis=1)
    assert (sizes <= 0.7).all()
    np.testing.assert_allclose(sizes, 0.7)
    assert np.abs(network.biases).max() <= 0.3
    assert np.abs(network.output).sum() <= 2.0
    assert {*np.sign(network.output)} == {-1.0, 1.0}


NORMS = [1, 2, np.inf]

vectors = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=2, max_side=6),
    elements=st.floats(-1e3, 1e3, allow_subnormal=False),
)
radii = st.floats(1e-3, 1e3)


def norms_of(rows, q):
    return np.linalg.norm(rows, q, axis=-1)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii)
def test_the_result_is_inside_and_stays(q, rows, radius):
    projected = project_rows(rows, radius, q)
    assert projected.shape == rows.shape
    assert (norms_of(projected, q) <= radius).all()  # not a rounding error more
    np.testing.assert_array_equal(project_rows(projected, radius, q), projected)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii)
def test_rows_inside_stay_and_others_reach_the_sphere(q, rows, radius):
    projected = project_rows(rows, radius, q)
    inside = norms_of(rows, q) <= radius
    np.testing.assert_array_equal(projected[inside], rows[inside])
    np.testing.assert_allclose(norms_of(projected, q)[~inside], radius, rtol=1e-9)


@pytest.mark.parametrize("q", NORMS)
@given(rows=vectors, radius=radii, seed=st.integers(0, 100))
def test_no_point_of_the_ball_is_on_the_far_side(q, rows, radius, seed):
    # (v - P v) . (z - P v) <= 0 for every z of the ball defines the projection.
    projected = project_rows(rows, radius, q)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        z = rng.standard_normal(rows.shape)
        z *= (
            radius / norms_of(z, q)[..., None]
            if rows.ndim > 1
            else (radius / norms_of(z, q))
        )
        product = ((rows - projected) * (z - projected)).sum(axis=-1)
        scale = norms_of(rows, 2) * (radius + norms_of(rows, 2)) * rows.shape[-1]
        assert (product <= 1e-12 * scale).all()


@pytest.mark.parametrize("q", NORMS)
def test_rows_are_independent(q):
    rows = np.random.default_rng(0).standard_normal((50, 7)) * 2
    one_by_one = [project_rows(row, 1.5, q) for row in rows]
    np.testing.assert_array_equal(project_rows(rows, 1.5, q), one_by_one)


def test_hand_computed():
    # l_1: all sizes less 1.5, so that 1.5 + 0.5 are left; l_2: the direction (3, 4).
    np.testing.assert_allclose(project_rows(np.array([3.0, -2.0]), 2, 1), [1.5, -0.5])
    np.testing.assert_allclose(
        project_rows(np.array([3.0, -4.0]), 1, 2), [3 / 5, -4 / 5]
    )
    np.testing.assert_array_equal(
        project_rows(np.array([3.0, -0.5]), 1, np.inf), [1.0, -0.5]
    )
    # One size is so much larger that it stays alone.
    np.testing.assert_array_equal(project_rows(np.array([9.0, 1.0]), 1, 1), [1.0, 0.0])


def test_l1_against_bisection():
    rng = np.random.default_rng(1)
    for _ in range(50):
        v = rng.standard_normal(20) * 3
        radius = rng.uniform(0.1, 10)

        def left(amount, v=v, radius=radius):
            return np.maximum(np.abs(v) - amount, 0).sum() - radius

        amount = brentq(left, 0, np.abs(v).max(), xtol=1e-14)
        expected = np.sign(v) * np.maximum(np.abs(v) - amount, 0)
        np.testing.assert_allclose(project_rows(v, radius, 1), expected, atol=1e-11)


@pytest.mark.parametrize("q", [1, 2])
def test_against_a_general_solver(q):
    rng = np.random.default_rng(2)
    for _ in range(5):
        v = rng.standard_normal(4) * 2
        # Positive and negative parts make the l_1 norm smooth.
        if q == 1:
            found = minimize(
                lambda z, v=v: ((z[:4] - z[4:] - v) ** 2).sum(),
                np.zeros(8),
                bounds=[(0, None)] * 8,
                constraints={"type": "ineq", "fun": lambda z: 1 - z.sum()},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            expected = found.x[:4] - found.x[4:]
        else:
            found = minimize(
                lambda z, v=v: ((z - v) ** 2).sum(),
                np.zeros(4),
                constraints={"type": "ineq", "fun": lambda z: 1 - z @ z},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            expected = found.x
        np.testing.assert_allclose(project_rows(v, 1.0, q), expected, atol=1e-6)


@pytest.mark.parametrize(("norm", "dual"), [(1, np.inf), (2, 2), (np.inf, 1)])
def test_dual_norms(norm, dual):
    # |w . x| is at most the product of the two norms, and reaches it.
    assert DUAL[check_ball_norm(norm)] == dual
    rng = np.random.default_rng(3)
    x = rng.standard_normal(6)
    corners = {
        np.inf: np.sign(x),
        2: x / np.linalg.norm(x),
        1: np.sign(x) * (np.abs(x) == np.abs(x).max()),
    }
    w = corners[dual]
    assert np.linalg.norm(w, dual) == pytest.approx(1)
    assert w @ x == pytest.approx(np.linalg.norm(x, norm))


@pytest.mark.parametrize("q", NORMS)
def test_diameter(q):
    corner = np.ones(9) if q == np.inf else np.eye(9)[0]
    norm = {1: np.inf, 2: 2, np.inf: 1}[q]
    problem = LinearProblem(Hinge(), 2.0, norm)
    assert problem.diameter(9) == pytest.approx(np.linalg.norm(4 * corner))


@pytest.mark.parametrize("norm", [3, 1.5, 0, -1, np.nan])
def test_other_norms_are_refused(norm):
    with pytest.raises(ValueError, match=r"norm must be 1, 2 or inf .*, got "):
        check_ball_norm(norm)


@pytest.mark.parametrize("norm", ["inf", None, True])
def test_norms_that_are_no_numbers_are_refused(norm):
    with pytest.raises(TypeError, match="norm must be a real number, got "):
        check_ball_norm(norm)
