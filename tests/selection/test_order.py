"""The search for the pair of a rank, against sorting all pairs."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import scored
from selection.engines import pairs_with
from strategies import FixedModel, losses, models, scores

from skrank_abstain.pairs import group_queries
from skrank_abstain.pairs._scores import every_outcome
from skrank_abstain.selection import _gaps
from skrank_abstain.selection._gaps import RiskCurve, cuts_at_rank

ZERO_ONE = 1 - np.eye(3)


def gaps_by_brute_force(s, qid):
    return np.array(
        [
            abs(s[i] - s[j])
            for i in range(s.size)
            for j in range(i + 1, s.size)
            if qid[i] == qid[j]
        ]
    )


def check(curve, gaps, every, rank):
    """The accepted pairs are ``rank`` of the surest, up to pairs of equal gap."""
    risk, inner, outer = cuts_at_rank(curve, gaps, rank, 0.0)
    inside = (every <= inner) | (every >= outer)
    strictly = (every < inner) | (every > outer)
    assert inside.sum() >= rank
    # The pair of the rank is a cut among its like; without its equals there are fewer.
    last = [inner] if inner in every and inner < curve.crossing else []
    last += [outer] if outer in every and outer >= curve.crossing else []
    (cut, *_) = (cut for cut in last if (inside & (every != cut)).sum() < rank)
    assert curve.at(cut) == pytest.approx(risk, abs=1e-12)
    assert strictly.sum() < rank
    # No pair left out is clearly surer than one accepted.
    if (~inside).any():
        assert curve(every[~inside]).min() >= curve(every[inside]).max() - 1e-12
    return risk, cut


@settings(max_examples=60, deadline=None)
@given(models(), losses(), scores(2, max_size=2) | scores(max_size=14), st.data())
@pytest.mark.parametrize("limit", [1, 5, 1 << 20])
def test_every_rank(limit, model, loss, s, data):
    every = gaps_by_brute_force(s, np.zeros(s.size))
    curve = RiskCurve(model, loss, every.max())
    rank = data.draw(st.integers(1, every.size))
    items = scored(s, group_queries(None, s.size), np.zeros(s.size))
    with mock.patch.object(_gaps, "COLLECT", limit):
        found = check(curve, items, every, rank)
        other = check(curve, pairs_with(every), every, rank)
    assert found[0] == pytest.approx(other[0], abs=1e-12)


@pytest.mark.parametrize("rounded", [None, 1])
@pytest.mark.parametrize("param", [1.5, 8.0])
def test_many_pairs_of_many_queries(param, rounded):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 60)
    s = rng.normal(size=qid.size)
    s = s if rounded is None else np.round(s, rounded)
    items = scored(s, group_queries(qid, s.size), np.zeros(s.size))
    every = every_outcome(items).gap
    curve = RiskCurve(FixedModel("rao_kupper", param, 2.0), ZERO_ONE, items.largest_gap)
    for rank in (1, 2, every.size // 7, every.size // 2, every.size - 1, every.size):
        whole = check(curve, items, every, rank)
        with mock.patch.object(_gaps, "COLLECT", 500):
            assert check(curve, items, every, rank) == whole


def test_few_counts_of_many_pairs():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(4), 1_000)
    s = rng.normal(size=qid.size)
    items = scored(s, group_queries(qid, s.size), np.zeros(s.size))
    curve = RiskCurve(FixedModel("rao_kupper", 1.5, 2.0), ZERO_ONE, items.largest_gap)
    # Each count walks along all items: bisection alone takes more than ten of them.
    with mock.patch.object(_gaps, "count_within", wraps=_gaps.count_within) as count:
        for rank in np.linspace(1, items.n_pairs, 9, dtype=int).tolist():
            count.reset_mock()
            cuts_at_rank(curve, items, rank, 0.0)
            assert count.call_count <= 4


def test_few_counts_where_both_guesses_fall_on_one_side(monkeypatch):
    # As of many more pairs: the bins of the guess hold more of them than are collected.
    monkeypatch.setattr(_gaps, "COLLECT", 1 << 6)
    monkeypatch.setattr(_gaps, "_AIM", 1 << 4)
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(4), 1_000)
    items = scored(rng.normal(size=4_000), group_queries(qid, 4_000), np.zeros(4_000))
    curve = RiskCurve(FixedModel("rao_kupper", 1.5, 2.0), ZERO_ONE, items.largest_gap)
    with mock.patch.object(_gaps, "count_within", wraps=_gaps.count_within) as count:
        for rank in np.linspace(1, items.n_pairs, 99, dtype=int).tolist():
            count.reset_mock()
            cuts_at_rank(curve, items, rank, 0.0)
            assert count.call_count <= 8


def test_a_million_items_of_one_query():
    n = 1_000_000
    s = np.arange(n) * 0.5
    items = scored(s, group_queries(None, n), np.zeros(n))
    curve = RiskCurve(FixedModel("rao_kupper", 1.5, 1.0), ZERO_ONE, items.largest_gap)
    # The largest difference occurs once, the next twice, and so on.
    for rank, steps in ((1, n - 1), (2, n - 2), (3, n - 2), (4, n - 3)):
        assert cuts_at_rank(curve, items, rank, 0.0)[2] == 0.5 * steps
    half = n * (n - 1) // 4
    steps = round(cuts_at_rank(curve, items, half, 0.0)[2] / 0.5)
    # Pairs at least ``steps`` apart: 1 + 2 + ... + (n - steps).
    assert (n - steps) * (n - steps + 1) // 2 >= half
    assert (n - steps - 1) * (n - steps) // 2 < half
