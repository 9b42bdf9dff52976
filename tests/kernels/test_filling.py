import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels import reference
from kernels.grouped import EXAMPLES, grouped

from skrank_abstain._kernels.filling import fill_pairs


@EXAMPLES
@given(data=grouped(ascending=False), seed=st.integers(0, 9), part=st.booleans())
def test_pairs_come_in_canonical_order(data, seed, part):
    order = np.random.default_rng(seed).permutation(data.scores.size)
    start = len(data.offsets) // 2 if part else 0
    left, right, differences = reference.pairs(data.scores, order, data.offsets[start:])
    found = fill_pairs(data.scores, order, data.offsets, start)
    assert [part.shape for part in found] == [left.shape] * 3
    assert [part.dtype for part in found] == [np.int64, np.int64, np.float64]
    np.testing.assert_array_equal(found[0], left)
    np.testing.assert_array_equal(found[1], right)
    np.testing.assert_array_equal(found[2], differences)
    assert not np.signbit(found[2][found[2] == 0]).any()


@EXAMPLES
@given(data=grouped(ascending=False), stop=st.integers(0, 5))
def test_parts_of_the_queries_have_exactly_their_pairs(data, stop):
    stop = min(stop, len(data.offsets) - 1)
    arguments = data.scores, np.arange(data.scores.size), data.offsets
    parts = fill_pairs(*arguments, 0, stop), fill_pairs(*arguments, stop)
    pairs_of = reference.pairs(data.scores, arguments[1], data.offsets[: stop + 1])
    for first, second, whole, expected in zip(
        *parts, fill_pairs(*arguments), pairs_of, strict=True
    ):
        np.testing.assert_array_equal(first, expected)
        np.testing.assert_array_equal(np.append(first, second), whole)
