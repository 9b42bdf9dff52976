"""Gaps of sorted items and gaps given one by one answer alike."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import outcomes_of as seen_from_the_higher
from scored import scored
from strategies import grades, scores

from skrank_abstain._kernels.gaps import differences_between
from skrank_abstain.pairs import (
    GapOutcomes,
    Scores,
    count_within,
    counts_by_gap,
    group_queries,
)


@st.composite
def both(draw):
    """The pairs of one query: one by one, and as sorted items."""
    s = draw(scores())
    y = draw(grades(s.size))
    left, right = np.triu_indices(s.size, 1)
    label = np.sign(y[left] - y[right])
    items = scored(s, group_queries(None, s.size), y.astype(float))
    return s, y, Scores.of_pairs(s[left], s[right], label), items


@given(both(), st.lists(st.floats(-1, 5), max_size=5))
def test_counts_within_a_gap(case, cuts):
    s, _, array, items = case
    gap = [abs(a - b) for k, a in enumerate(s) for b in s[k + 1 :]]
    expected = [sum(g <= cut for g in gap) for cut in cuts]
    for pairs in (array, items):
        assert count_within(pairs, cuts).tolist() == expected
        assert pairs.n_pairs == len(gap)
        assert pairs.largest_gap == max(gap)
        assert pairs.largest_value == abs(s).max()
        outlined, _, weight = pairs.gap_outcomes
        assert weight.sum() == len(gap)
        assert outlined @ weight == pytest.approx(sum(gap))


@given(both(), st.floats(-1, 4), st.floats(0, 4))
def test_gaps_between_two(case, low, width):
    s, _, array, items = case
    gap = sorted(abs(a - b) for k, a in enumerate(s) for b in s[k + 1 :])
    inside = [g for g in gap if low < g <= low + width]
    for pairs in (array, items):
        data = pairs.value, pairs.offsets
        found = differences_between(*data, low, low + width)
        assert sorted(found.tolist()) == inside


@given(both())
def test_outcomes_by_gap(case):
    s, y, array, items = case
    untied, totals = [], []
    for pairs in (array, items):
        gap, counts = counts_by_gap(pairs)
        assert (np.diff(gap) >= 0).all()
        totals.append(
            {
                g: counts[gap == g].sum(axis=0).tolist()
                for g in np.unique(gap[gap > 0]).tolist()
            }
        )
        untied.append(counts[gap == 0][:, [0, 2]].sum())
    expected = {}
    for k, a in enumerate(s):
        for j in range(k + 1, s.size):
            if a != s[j]:
                outcome = reference.label(a - s[j]) * reference.label(y[k] - y[j])
                row = expected.setdefault(abs(a - s[j]), [0.0, 0.0, 0.0])
                row[outcome + 1] += 1
    assert totals == [expected, expected]
    # Untied pairs of equal scores are no evidence for an order: their sum counts.
    assert untied[0] == untied[1]


def test_outcomes_are_seen_from_the_higher_score():
    difference = np.array([2.0, -2.0, 2.0, -2.0, 1.0, 0.0, 0.0, 0.0])
    label = np.array([1, 1, -1, -1, 0, 1, -1, 0])
    expected = [1, -1, -1, 1, 0, 1, 1, 0]
    assert seen_from_the_higher(difference, label).tolist() == expected


def test_outcomes_are_a_plain_tuple():
    gap, outcome, weight = GapOutcomes([1.0], [0], [2.0])
    assert (gap, outcome, weight) == ([1.0], [0], [2.0])
