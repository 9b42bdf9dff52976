"""Intervals over queries."""

import numpy as np
import pytest
from scipy import stats

from skrank_abstain.concentration import ratio_interval


def test_equal_denominators_give_the_t_interval_of_the_mean():
    means = np.array([0.2, 0.5, 0.4, 0.9, 0.7])
    expected = stats.t.interval(
        0.95, 4, loc=means.mean(), scale=means.std(ddof=1) / np.sqrt(5)
    )
    assert ratio_interval(10 * means, np.full(5, 10)) == pytest.approx(expected)


def test_dependent_pairs_are_covered():
    # A query's pairs are all right or all wrong: 60 queries are 60 observations.
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        sizes = rng.integers(5, 30, 60)
        right = rng.random(60) < 0.7
        low, high = ratio_interval(sizes * right, sizes)
        hits += low <= 0.7 <= high
    # Binomial standard error 0.011 around 0.95; the interval is asymptotic.
    assert 0.91 < hits / 400 < 0.98


@pytest.mark.parametrize(("part", "whole"), [([3], [4]), ([0, 0], [0, 0]), ([], [])])
def test_undefined(part, whole):
    assert np.isnan(ratio_interval(part, whole)).all()


def test_confidence_is_checked():
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\), got 1"):
        ratio_interval([1, 2], [2, 2], confidence=1.0)
