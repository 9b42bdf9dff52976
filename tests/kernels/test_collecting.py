import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import EXAMPLES, grouped

from skrank_abstain._kernels.collecting import differences_between


@EXAMPLES
@given(
    data=grouped(),
    ends=st.tuples(st.floats(-1, 1e301), st.floats(-1, 1e301)).map(sorted),
)
def test_collects_exactly_the_pairs_between(data, ends):
    low, high = ends
    every = np.concatenate(reference.differences(data.scores, data.offsets))
    n_within, found = differences_between(data.scores, data.offsets, low, high)
    expected = every[(every > low) & (every <= high)]
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))
    assert n_within == (every <= low).sum()


def test_no_items():
    none = np.empty(0)
    assert differences_between(none, np.array([0]), 0.0, 1.0)[1].shape == (0,)
