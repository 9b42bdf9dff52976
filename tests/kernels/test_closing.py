import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain._kernels.closing import (
    close_orders,
    ranks_of_bins,
    ranks_of_orders,
)


def lower(rng, n_bins, share):
    return np.tril(rng.random((n_bins, n_bins)) < share, k=-1)


@given(st.integers(0, 2**32), st.integers(1, 140), st.floats(0, 1))
def test_ranks_of_bins_are_those_of_the_closure(seed, n_bins, share):
    rng = np.random.default_rng(seed)
    over = lower(rng, n_bins, share**2)
    sizes = rng.integers(0, 150, 3)
    offsets = np.append(0, np.cumsum(sizes))
    bins = np.concatenate([np.sort(rng.integers(0, n_bins, size)) for size in sizes])
    query = np.repeat(np.arange(3), sizes)
    above = np.argwhere(over[bins[:, None], bins] & (query[:, None] == query))
    found = ranks_of_bins(bins, offsets, over)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, reference.rank_bounds(above, query))


@given(st.integers(0, 2**32), st.integers(1, 90), st.floats(0, 1), st.booleans())
def test_ranks_of_any_orders(seed, n, share, cycles):
    rng = np.random.default_rng(seed)
    orders, groups, above, start = [], [], [], 0
    for size in (n, 1, 5):
        # Along a hidden order of the items, unless there may be cycles.
        hidden = rng.permutation(size)
        over = rng.random((size, size)) < share**3
        over = over & ((hidden[:, None] > hidden) | cycles) & ~np.eye(size, dtype=bool)
        orders.append(np.argwhere(over))
        groups += [len(groups)] * size
        above += (orders[-1] + start).tolist()
        start += size
    reach = reference.closure(start, above)
    reach &= ~reach.T
    sizes = np.repeat([n, 1, 5], [n, 1, 5])
    expected = np.stack([1 + reach.sum(axis=0), sizes - reach.sum(axis=1)], axis=1)
    winner, loser = np.concatenate(orders).T
    counts = np.append(0, np.cumsum([len(some) for some in orders]))
    found = ranks_of_orders(winner, loser, counts, np.array([0, n, n + 1, n + 6]))
    np.testing.assert_array_equal(found, expected)
    assert (found[:, 0] <= found[:, 1]).all()


@given(st.integers(0, 2**32), st.integers(1, 70), st.floats(0, 1))
def test_places_keep_the_orders_and_are_else_as_wanted(seed, n, share):
    rng = np.random.default_rng(seed)
    orders = np.argwhere((rng.random((n, n)) < share**4) & ~np.eye(n, dtype=bool))
    winner, loser = orders.T
    wanted = rng.permutation(n)
    ends = np.array([0, winner.size]), np.array([0, n])
    best, worst, place = ranks_of_orders(winner, loser, *ends, wanted).T
    np.testing.assert_array_equal(np.sort(place), np.arange(1, n + 1))
    assert ((best <= place) & (place <= worst)).all()
    reach = reference.closure(n, orders.tolist())
    np.testing.assert_array_equal(close_orders(winner, loser, n), reach)
    # The first that is wanted, of those that nobody left is over.
    left = set(range(n))
    for i in np.argsort(place):
        free = [
            k
            for k in wanted
            if k in left and not any(reach[j, k] and not reach[k, j] for j in left)
        ]
        assert free[0] == i
        left.remove(i)
