from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain.distance._pairs import StrictPairs


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
    later, earlier = StrictPairs.every(offsets).sample(size)
    drawn = list(zip(later.tolist(), earlier.tolist(), strict=True))
    if len(every) <= size:
        assert drawn == every
        return
    assert len(drawn) == size
    places = [every.index(pair) for pair in drawn]
    for k, place in enumerate(places):
        # One of each of ``size`` equal shares; a pair may lie across two of them.
        assert k * len(every) / size - 1 < place < (k + 1) * len(every) / size
