from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, spearmanr

from skrank_abstain.selection._engine import unordered_uniform

keys = st.integers(0, 2**64 - 1)
seeds = st.integers(0, 2**32 - 1)


def draw(seed, left, right):
    return unordered_uniform(
        seed, np.array(left, np.uint64), np.array(right, np.uint64)
    )


@pytest.mark.parametrize(
    ("risks", "mass", "coverage", "expected"),
    [
        # All below the threshold, kappa = (.5 - .3) / .4 of those on it.
        ((0.1, 0.3, 0.5), (0.3, 0.4, 0.3), 0.5, {(10, 5, 0)}),
        # No pair is below the threshold: whatever is accepted of those on it, as long
        # as it is enough, has the least risk. "Only if" asks for half of them exactly.
        ((0.2, 0.5), (0.6, 0.4), 0.3, {(tenths, 0) for tenths in range(5, 11)}),
    ],
)
def test_optimal_rules_by_trying_all(risks, mass, coverage, expected):
    values = {}
    for tenths in product(range(11), repeat=len(risks)):
        accepted = np.array(tenths) / 10 * mass
        if accepted.sum() >= coverage - 1e-12:
            values[tenths] = accepted @ risks / accepted.sum()
    least = min(values.values())
    assert {t for t, value in values.items() if value < least + 1e-12} == expected


@given(seeds, keys, keys)
def test_in_the_unit_interval_and_the_same_from_both_sides(seed, a, b):
    one, other = draw(seed, [a, b], [b, a])
    assert one == other
    assert 0 <= one < 1


@given(seeds, st.lists(st.tuples(keys, keys), min_size=1, max_size=10))
def test_a_draw_depends_on_nothing_but_its_own_pair(seed, pairs):
    left, right = np.array(pairs, np.uint64).T
    together = draw(seed, left, right)
    alone = [draw(seed, [a], [b])[0] for a, b in pairs]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(draw(seed, left[::-1], right[::-1]), together[::-1])


def random_keys(n):
    return np.random.default_rng(0).integers(0, 2**64, (2, n), dtype=np.uint64)


def small_keys(n):
    left, right = np.triu_indices(int(np.sqrt(2 * n)), 1)
    return left.astype(np.uint64), right.astype(np.uint64)


def one_apart(n):
    high = np.arange(1, n + 1).astype(np.uint64)
    return high, high - np.uint64(1)


def same_item(n):
    return np.arange(n).astype(np.uint64) << np.uint64(40), np.full(n, 7, np.uint64)


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
@pytest.mark.parametrize("keys", [random_keys, small_keys, one_apart, same_item])
def test_uniform(keys, seed):
    left, right = keys(20_000)
    u = unordered_uniform(seed, left, right)
    assert np.unique(u).size == u.size
    # Twelve tests with fixed seeds; by chance one in eighty would be below 0.001.
    assert kstest(u, "uniform").pvalue > 1e-3
    # Neither do neighbours in a list go together.
    assert spearmanr(u[1:], u[:-1]).pvalue > 1e-3


def test_seeds_are_unrelated():
    left, right = random_keys(20_000)
    one, other = (unordered_uniform(seed, left, right) for seed in (0, 1))
    assert (one != other).all()
    assert spearmanr(one, other).pvalue > 1e-3


def test_no_pairs():
    assert draw(0, [], []).shape == (0,)


def test_values_do_not_change_between_versions():
    # Decisions that were published must be repeatable: SplitMix64 of 0, then of the
    # smaller and of the larger key, computed with Python's integers.
    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    assert mix(0) == 0xE220A8397B1DCDAF  # the first output of SplitMix64, seed 0
    state = mix(mix(mix(0) ^ 3) ^ 5)
    assert draw(0, [5], [3])[0] == (state >> 11) / 2**53
