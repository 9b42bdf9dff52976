import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import EXAMPLES, grouped

from skrank_abstain._kernels.ranks import rank_bounds


@EXAMPLES
@given(data=grouped(), delta=st.sampled_from([5e-324, 1e-16, 1.0, 2.0, 1e300, np.inf]))
def test_bounds_equal_those_of_the_definition(data, delta):
    expected = reference.rank_bounds(data.scores, data.offsets, delta)
    found = rank_bounds(data.scores, data.offsets, delta)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan])
def test_delta_must_be_positive(delta):
    with pytest.raises(ValueError, match="delta must be positive"):
        rank_bounds(np.zeros(2), np.array([0, 2]), delta)
