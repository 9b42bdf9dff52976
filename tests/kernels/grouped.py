"""Grouped scores for the tests of kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from numba import config

#: Compiling on the first example takes longer than any deadline.
EXAMPLES = settings(deadline=None, max_examples=60, database=None)

#: Interpreted kernels take minutes over a million items.
COMPILED = pytest.mark.skipif(config.DISABLE_JIT, reason="needs compiled kernels")

EPS = float(np.finfo(float).eps)

SCORES = {
    "few integers": st.integers(-2, 3).map(float),
    "floats": st.floats(-10, 10),
    "near-equal": st.integers(-6, 6).map(lambda k: 1.0 + k * EPS),
    "around zero": st.sampled_from(
        [0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, 1e-16]
    ),
    "huge": st.sampled_from([1e300, -1e300, 1.7e308, -1.7e308, 0.0, 1.0, 1e292]),
    "all equal": st.just(0.7),
}


class Grouped(NamedTuple):
    scores: np.ndarray
    grades: np.ndarray
    offsets: np.ndarray


def dense(values):
    return np.unique(values, return_inverse=True)[1].astype(np.int64).reshape(-1)


@st.composite
def grouped(draw, max_size=12, ascending=True):
    """Draw one to five queries, one-item and empty ones among them."""
    sizes = draw(st.lists(st.integers(0, max_size), min_size=1, max_size=5))
    n = sum(sizes)
    kind = draw(st.sampled_from(sorted(SCORES)))
    scores = np.array(draw(st.lists(SCORES[kind], min_size=n, max_size=n)), dtype=float)
    highest = draw(st.sampled_from([0, 1, 4, 1000]))
    grades = dense(draw(st.lists(st.integers(0, highest), min_size=n, max_size=n)))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if ascending:
        for lo, hi in pairwise(offsets):
            scores[lo:hi] = np.sort(scores[lo:hi] + 0.0)
    return Grouped(scores, grades, offsets)


@st.composite
def cuts_for(draw, data, max_cuts=6):
    """Draw cuts: attained differences, their neighbours, and anything else."""
    attained = [0.0]
    if data.scores.size:
        with np.errstate(over="ignore"):
            attained += (
                np.abs(data.scores[:8, None] - data.scores[None, :8]).ravel().tolist()
            )
    cut = st.one_of(
        st.sampled_from(attained),
        st.sampled_from(attained).map(lambda d: float(np.nextafter(d, np.inf))),
        st.sampled_from(attained).map(lambda d: float(np.nextafter(d, -np.inf))),
        st.sampled_from([-1.0, -np.inf, np.inf, 1.0, 0.5, 1e300, 1.7e308, 5e-324]),
    )
    return np.array(draw(st.lists(cut, min_size=0, max_size=max_cuts)), dtype=float)


def random_queries(n_queries, size, n_grades=5, seed=0, rounded=None):
    """Return queries with scores that say something about the grades."""
    random = np.random.default_rng(seed)
    n = n_queries * size
    scores = random.normal(size=(n_queries, size))
    if rounded is not None:
        scores = np.round(scores, rounded) + 0.0
    scores.sort(axis=1)
    relevance = scores.ravel() + random.logistic(size=n)
    if n_grades is not None:
        relevance = np.clip(np.floor(relevance + n_grades / 2), 0, n_grades - 1)
    offsets = np.arange(n_queries + 1, dtype=np.int64) * size
    return Grouped(scores.ravel(), dense(relevance), offsets)
