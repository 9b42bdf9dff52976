"""The kernel that hashes rows equals the sum of mixed values."""

import numpy as np

from skrank_abstain._kernels.features import add_row_hashes
from skrank_abstain._kernels.mixing import mix


def test_sums_of_mixed_values_are_added():
    rng = np.random.default_rng(0)
    bits = rng.integers(2**64, size=(50, 3), dtype=np.uint64)
    salt = rng.integers(2**64, size=3, dtype=np.uint64)
    before = rng.integers(2**64, size=50, dtype=np.uint64)
    out = before.copy()
    add_row_hashes(bits, salt, out)
    assert np.array_equal(out, before + mix(bits + salt).sum(axis=1, dtype=np.uint64))
