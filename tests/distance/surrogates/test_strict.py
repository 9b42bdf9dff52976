"""Strict pairs by number, their batches, and gradients against finite differences."""

import itertools

import numpy as np
import pytest
from distance.named import (
    bipartite_surrogate_loss,
)
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.distance import (
    Exponential,
    Hinge,
    Logistic,
    Sigmoid,
)
from skrank_abstain.distance._descent import (
    LinearProblem,
    Network,
    NetworkBounds,
    PairBatches,
)
from skrank_abstain.distance._pairs import StrictPairs
from skrank_abstain.pairs import group_queries

SMOOTH = [Exponential(), Sigmoid(2.0), Logistic()]


def strict_pairs(y, qid):
    return StrictPairs.of(np.asarray(y, dtype=float), group_queries(qid, len(y)))


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
    gathered = batches.evenly(10)
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
    mean, slope = bipartite_surrogate_loss(y, X[:, 0], qid, surrogate=surrogate)
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
    slope = batch.loss(active @ network.output, surrogate)[1]
    gradient = network.gradient(batch.items, active, slope)

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
