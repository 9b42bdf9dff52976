"""Queries of a ranker whose score is in the data already."""

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

PIPELINES_ROUTE = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="cross-validation hands older pipelines no qid for their own score",
)


def draw_queries(n_queries, seed, *, largest=12):
    """Draw lists that the first column orders well, or hardly; some all irrelevant."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, largest + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = rng.choice([0.3, 1.0, 3.0], n_queries)[qid]
    utility = rng.normal(size=qid.size)
    score = quality * utility + rng.normal(size=qid.size)
    shift = rng.normal(0, 0.7, n_queries)[qid]
    y = np.searchsorted([0.5, 1.5], utility + shift).astype(float)
    return np.column_stack([score, rng.normal(size=qid.size)]), y, qid
