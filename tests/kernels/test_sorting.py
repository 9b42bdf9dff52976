from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.grouped import EXAMPLES, grouped

from skrank_abstain._kernels.outcomes import sort_within_queries


def expected_rows(scores, order, offsets):
    parts = [
        order[lo:hi][np.argsort(scores[order[lo:hi]], kind="stable")]
        for lo, hi in pairwise(offsets)
    ]
    return np.concatenate(parts)


@EXAMPLES
@given(data=grouped(max_size=80, ascending=False), seed=st.integers(0, 9))
def test_sorts_each_query_stably(data, seed):
    order = np.random.default_rng(seed).permutation(data.scores.size)
    ascending, rows = sort_within_queries(data.scores, order, data.offsets)
    np.testing.assert_array_equal(rows, expected_rows(data.scores, order, data.offsets))
    np.testing.assert_array_equal(ascending, data.scores[rows])


def test_negative_zero_becomes_zero():
    scores = np.array([0.0, -0.0, -0.0, 0.0])
    ascending, rows = sort_within_queries(scores, np.arange(4), np.array([0, 4]))
    assert not np.signbit(ascending).any()
    np.testing.assert_array_equal(rows, np.arange(4))
    assert np.signbit(scores[1]), "the scores of the caller stay as they are"


@pytest.mark.parametrize("n", [1, 16, 17, 33, 1000, 4097, 20_000])
def test_sizes_around_those_of_runs_and_merges(n):
    scores = np.random.default_rng(n).integers(0, n, n).astype(float)
    order, offsets = np.arange(n), np.array([0, n])
    _, rows = sort_within_queries(scores, order, offsets)
    np.testing.assert_array_equal(rows, np.argsort(scores, kind="stable"))


def test_no_queries():
    nothing = np.empty(0, dtype=np.int64)
    ascending, rows = sort_within_queries(np.empty(0), nothing, np.array([0]))
    assert ascending.shape == rows.shape == (0,)
