import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import COMPILED, EXAMPLES, cuts_for, grouped

from skrank_abstain._kernels import counting


@EXAMPLES
@given(st.data())
def test_counts_equal_those_of_the_definition(draw):
    data = draw.draw(grouped())
    cuts = draw.draw(cuts_for(data))
    found = counting.count_within(data.scores, data.offsets, cuts)
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
    found = counting.count_within(scores, offsets, cuts)
    assert found.tolist() == [within, n * (n - 1) // 2, 0]


def test_nan_is_refused():
    with pytest.raises(ValueError, match="without NaN"):
        counting.count_within(np.zeros(2), np.array([0, 2]), np.array([np.nan]))
