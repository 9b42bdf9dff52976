import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import COMPILED, EXAMPLES, cuts_for, grouped

from skrank_abstain._kernels.gaps import count_within, differences_between, rank_bounds


@EXAMPLES
@given(st.data())
def test_counts_equal_those_of_the_definition(draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    found = count_within(data.scores, data.offsets, cuts)
    assert found.dtype == np.int64
    expected = reference.count_within(data.scores, data.offsets, cuts)
    np.testing.assert_array_equal(found, expected)


@COMPILED
def test_a_million_items_do_not_overflow():
    n = 1_000_000
    scores, offsets = np.arange(n, dtype=float), np.array([0, n])
    # n - d pairs have the difference d.
    k = 300_000
    within = sum(n - d for d in range(1, k + 1))
    cuts = np.array([float(k), np.inf, 0.0])
    found = count_within(scores, offsets, cuts)
    assert found.tolist() == [within, n * (n - 1) // 2, 0]


@EXAMPLES
@given(
    data=grouped(),
    ends=st.tuples(st.floats(-1, 1e301), st.floats(-1, 1e301)).map(sorted),
)
def test_collects_exactly_the_pairs_between(data, ends):
    low, high = ends
    every = np.concatenate(reference.differences(data.scores, data.offsets))
    found = differences_between(data.scores, data.offsets, low, high)
    expected = every[(every > low) & (every <= high)]
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))


def test_collecting_from_no_items():
    none = np.empty(0)
    assert differences_between(none, np.array([0]), 0.0, 1.0).shape == (0,)


@EXAMPLES
@given(data=grouped(), delta=st.sampled_from([5e-324, 1e-16, 1.0, 2.0, 1e300, np.inf]))
def test_ranks_equal_those_of_the_definition(data, delta):
    expected = reference.rank_bounds(data.scores, data.offsets, delta)
    found = rank_bounds(data.scores, data.offsets, delta)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
