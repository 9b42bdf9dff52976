"""Decisions by a table of bins: labels, thresholds, boundaries and sums."""

import dataclasses
import itertools

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from scored import at_coverage, mass_of, scored, totals_of
from selection.bins import (
    MISRANKING,
    ZERO_ONE,
    FixedCells,
    any_cases,
    are_equal,
    cases,
    decide,
    engine_of,
    keys_of,
    labelled,
)
from strategies import COVERAGES

from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import PairTotals, decide_pairs, decide_queries


def every_pair(queries):
    for query in range(queries.n_queries):
        yield from itertools.combinations(queries.rows(query).tolist(), 2)


@given(cases())
def test_labels_risks_and_probabilities_are_those_of_the_table(case):
    model, loss, s, _, queries = case
    risk = engine_of(model, loss)
    decisions = decide(risk, risk.below(np.inf), case)
    assert list(zip(decisions.left, decisions.right, strict=True)) == list(
        every_pair(queries)
    )
    assert decisions.accepted.all()
    number = [sum(value >= edge for edge in model.edges_) for value in s]
    for row, (i, j) in enumerate(every_pair(queries)):
        proba = model.table_[number[i], number[j]]
        assert decisions.proba[row].tolist() == proba.tolist()
        by_definition = reference.expected_losses(proba, loss)
        same = are_equal(model, s[i], s[j])
        best, least = reference.bayes_decision(proba, loss, same)
        assert decisions.risk[row] == pytest.approx(least, abs=1e-14)
        assert decisions.risk[row] <= risk.highest
        if same:
            assert decisions.label[row] == 0
            assert decisions.risk[row] == pytest.approx(by_definition[1], abs=1e-14)
        else:
            # Inside a bin, too, the higher score is first.
            assert decisions.label[row] in (0, reference.label(s[i] - s[j]))
            chosen = by_definition[decisions.label[row] + 1]
            assert chosen == pytest.approx(min(by_definition), abs=1e-14)
            if proba[0] != proba[2]:
                assert decisions.label[row] == best


CLEAR_ORDER = np.array([[0, 1, 1], [10, 0, 10], [1, 1, 0]])


@pytest.mark.parametrize(
    ("proba", "loss", "label", "risk"),
    [
        # The order: a tie would be wrong twice as often.
        ([0.2, 0.6, 0.2], MISRANKING, 1, 0.2),
        ([0.45, 0.1, 0.45], MISRANKING, 1, 0.45),
        # The more probable answer.
        ([0.2, 0.6, 0.2], ZERO_ONE, 0, 0.2 + 0.2),
        ([0.45, 0.1, 0.45], ZERO_ONE, 1, 0.45 + 0.1),
        # A tie is hardly ever an answer here, and one is wrong about equals.
        ([0.2, 0.6, 0.2], CLEAR_ORDER, 1, 0.2 + 0.6),
        ([0.02, 0.96, 0.02], CLEAR_ORDER, 0, 10 * (0.02 + 0.02)),
    ],
)
def test_inside_a_bin_the_higher_value_is_first(proba, loss, label, risk):
    engine = engine_of(FixedCells(np.empty(0), np.array([[proba]])), loss)
    s, queries = np.array([1.0, 0.0, 1.0]), group_queries(None, 3)
    decisions = decide_queries(engine, engine.below(np.inf), Scores(s, queries))
    of_tie = loss[1, 0] * (proba[0] + proba[2])
    # Only equal values are a tie whatever the loss is.
    assert decisions.label.tolist() == [label, 0, -label]
    np.testing.assert_allclose(decisions.risk, [risk, of_tie, risk], rtol=1e-15)
    assert decisions.proba.tolist() == [proba] * 3
    assert engine.highest == pytest.approx(max(risk, of_tie), rel=1e-15)
    # Three places: the middle one is that of equal values, or orders come first.
    ranks = engine.ranks(engine.below(risk), scored(s, queries))
    expected = [[1, 2], [3, 3], [1, 2]] if label else [[1, 3]] * 3
    assert ranks.tolist() == expected


def test_equal_chances_follow_the_scores():
    # Two bins that the model cannot tell apart, hardly ever tied.
    table = np.tile([0.45, 0.1, 0.45], (2, 2, 1))
    risk = engine_of(FixedCells(np.array([1.0]), table), ZERO_ONE)
    items = Scores(np.array([2.0, 0.0]), group_queries(None, 2))
    decisions = decide_queries(risk, risk.below(1.0), items)
    assert decisions.label.tolist() == [1]


@given(cases(), COVERAGES)
def test_the_threshold_is_the_order_statistic_of_the_pair_risks(case, coverage):
    risk = engine_of(case[0], case[1])
    items = labelled(case)
    every = decide(risk, risk.below(np.inf), case).risk
    region = at_coverage(risk, items, coverage)
    assert region.risk == reference.order_statistic(every.tolist(), coverage)
    decisions = decide(risk, region, case)
    assert decisions.accepted[every < region.risk].all()
    assert not decisions.accepted[every > region.risk].any()
    assert mass_of(risk, region, items) == decisions.accepted.sum()
    assert decisions.accepted.sum() >= coverage * every.size - 1e-9
    assert (every < region.risk).sum() < coverage * every.size + 1e-9


@given(cases(), COVERAGES)
def test_pairs_of_equal_risk_are_taken_by_gap(case, coverage):
    assume(coverage < 1)
    model, loss, s, _, _ = case
    risk = engine_of(model, loss)
    region = at_coverage(risk, labelled(case), coverage)
    decisions = decide(risk, region, case)
    bins = model.bins(s)
    edges = model.edges_.tolist()
    middles = [0.0, 1.0] if len(edges) == 1 else [0.0]
    if len(edges) > 1:
        # The first and the last bin are as wide as their neighbours.
        ends = 2 * edges[0] - edges[1], 2 * edges[-1] - edges[-2]
        middles = [
            (a + b) / 2 for a, b in itertools.pairwise([ends[0], *edges, ends[1]])
        ]
    gap = np.array(
        [
            abs(middles[bins[i]] - middles[bins[j]])
            for i, j in zip(decisions.left, decisions.right, strict=True)
        ]
    )
    # Sure orders first: far apart; then ties, close together first.
    key = np.where(decisions.label == 0, gap, -gap)
    at = decisions.risk == region.risk
    slack = 1e-9 * (1 + np.abs(s).max())
    last = key[at & decisions.accepted].max()
    assert decisions.accepted[at & (key < last - slack)].all()
    # It overshoots by the pairs of one gap at most.
    without = decisions.accepted & ~(at & (key >= last - slack))
    assert without.sum() < coverage * decisions.risk.size + 1e-9


def test_equal_risks_do_not_make_the_coverage_jump():
    # Everything is tied, and equally sure: 1, 2, 3 ... bins apart.
    table = np.tile([0.0, 1.0, 0.0], (20, 20, 1))
    risk = engine_of(FixedCells(np.arange(1.0, 20.0), table), ZERO_ONE)
    s = np.arange(20.0)
    items = scored(s, group_queries(None, 20), np.zeros(20))
    region = at_coverage(risk, items, 0.1)
    assert mass_of(risk, region, items) == 19  # of 190 pairs
    rows = Scores(s, group_queries(None, 20))
    decisions = decide_queries(risk, region, rows)
    apart = np.abs(s[decisions.left] - s[decisions.right])
    np.testing.assert_array_equal(decisions.accepted, apart == 1)


@given(cases(), st.floats(0.01, 0.99))
def test_the_linear_quantile_is_that_of_numpy(case, coverage):
    risk = engine_of(case[0], case[1])
    every = decide(risk, risk.below(np.inf), case).risk
    region = at_coverage(risk, labelled(case), coverage, quantile="linear")
    assert region.risk == pytest.approx(np.quantile(every, coverage), rel=1e-9)
    decisions = decide(risk, region, case)
    np.testing.assert_array_equal(decisions.accepted, every <= region.risk)


@given(cases())
def test_full_coverage_accepts_also_what_calibration_never_saw(case):
    risk = engine_of(case[0], case[1])
    region = at_coverage(risk, labelled(case), 1.0)
    assert region.risk == risk.highest
    assert (region.weight(risk._places()[0]) == 1).all()


@given(cases(), COVERAGES)
def test_a_randomised_boundary_makes_the_coverage_exact(case, coverage):
    model, loss, s, _, queries = case
    risk = engine_of(model, loss)
    items = labelled(case)
    plain = at_coverage(risk, items, coverage)
    region = at_coverage(risk, items, coverage, boundary="randomize", seed=3)
    assert region.risk == plain.risk
    mass = mass_of(risk, region, items)
    assert mass == pytest.approx(coverage * queries.n_pairs, rel=1e-12)
    totals = totals_of(risk, region, items)
    assert totals.coverage == pytest.approx(coverage, rel=1e-12)
    decisions = decide(risk, region, case)
    assert decisions.accepted[decisions.risk < region.risk].all()
    assert not decisions.accepted[decisions.risk > region.risk].any()
    # Turned around, and one by one, every pair has the same fate.
    sides = decisions.right, decisions.left
    items = Scores(s, queries, key=keys_of(s))
    turned = decide_pairs(risk, region, items, *sides)
    np.testing.assert_array_equal(turned.accepted, decisions.accepted)


def test_draws_on_the_boundary_have_the_share_that_they_should():
    n = 400
    model = FixedCells(np.empty(0), np.array([[[0.25, 0.5, 0.25]]]))
    risk = engine_of(model, ZERO_ONE)
    s = np.random.default_rng(0).normal(size=n)
    queries = group_queries(None, n)
    items = scored(s, queries, np.zeros(n))
    one, other = (
        decide_queries(
            risk,
            at_coverage(risk, items, 0.3, boundary="randomize", seed=seed),
            Scores(s, queries, key=keys_of(s)),
        )
        for seed in (0, 1)
    )
    assert one.accepted.mean() == pytest.approx(0.3, abs=0.01)
    both = (one.accepted & other.accepted).mean()
    assert both == pytest.approx(0.3 * 0.3, abs=0.01)


@given(cases(), st.integers(0, 10**6))
def test_orientation_and_order_of_rows_do_not_matter(case, seed):
    model, loss, s, _, queries = case
    risk = engine_of(model, loss)
    region = at_coverage(risk, labelled(case), 0.5)
    decisions = decide(risk, region, case)
    items = Scores(s, queries)
    turned = decide_pairs(risk, region, items, decisions.right, decisions.left)
    np.testing.assert_array_equal(turned.label, -decisions.label)
    np.testing.assert_array_equal(turned.accepted, decisions.accepted)
    np.testing.assert_array_equal(turned.risk, decisions.risk)
    np.testing.assert_array_equal(turned.proba, decisions.proba[:, ::-1])
    order = np.random.default_rng(seed).permutation(len(decisions))
    some = decide_pairs(
        risk, region, items, decisions.left[order], decisions.right[order]
    )
    for name in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(
            getattr(some, name), getattr(decisions, name)[order]
        )


@given(cases(), COVERAGES, st.sampled_from(["accept", "randomize"]), st.booleans())
def test_totals_add_up_the_pairs_of_each_query(case, coverage, boundary, weighted):
    model, loss, s, y, queries = case
    risk = engine_of(model, loss)
    items = labelled(case)
    region = at_coverage(risk, items, coverage, boundary=boundary)
    expected_mass = totals_of(risk, region, items).accepted.sum()
    assert expected_mass == pytest.approx(mass_of(risk, region, items))
    items = dataclasses.replace(items, key=keys_of(s)[items.rows])
    weight = np.arange(1.0, s.size + 1) if weighted else None
    totals = totals_of(risk, region, items, weight)
    decisions = decide(risk, region, case)
    taken = decisions.accepted
    _, *names = [field.name for field in dataclasses.fields(PairTotals)]
    expected = {name: [0.0] * queries.n_queries for name in names}
    for i, j, label, share in zip(
        decisions.left, decisions.right, decisions.label, taken, strict=True
    ):
        mass = 1.0 if weight is None else weight[i] * weight[j]
        truth = reference.label(y[i] - y[j])
        seen = {
            "pairs": 1.0,
            "accepted": share,
            "correct": share * (label == truth),
            "correct_all": label == truth,
            "tied": truth == 0,
            "accepted_tied": share * (truth == 0),
            "answered_tie": share * (label == 0),
            "ordered": share * (truth != 0) * (0.5 if label == 0 else label == truth),
            "misranked": share * (label * truth == -1),
            "loss": share * loss[label + 1, truth + 1],
            "loss_all": loss[label + 1, truth + 1],
            "coin_loss": share * (loss[0, truth + 1] + loss[2, truth + 1]) / 2,
            "tie_loss": share * loss[1, truth + 1],
        }
        for name, value in seen.items():
            expected[name][queries.codes[i]] += mass * value
    for name in names:
        found = getattr(totals, name)
        np.testing.assert_allclose(found, expected[name], atol=1e-9, err_msg=name)


@given(cases())
def test_the_profile_has_every_risk(case):
    model, loss, _, y, queries = case
    risk = engine_of(model, loss)
    decisions = decide(risk, risk.below(np.inf), case)
    truth = np.array([reference.label(y[i] - y[j]) for i, j in every_pair(queries)])
    profile = risk.tally(labelled(case)).profile()
    np.testing.assert_array_equal(profile.risk, np.unique(decisions.risk))
    spent = loss[decisions.label + 1, truth + 1]
    for level, n_pairs, lost in zip(
        profile.risk, profile.n_pairs, profile.loss, strict=True
    ):
        at = decisions.risk == level
        assert n_pairs == at.sum()
        assert lost == pytest.approx(spent[at].sum(), abs=1e-12)


@given(any_cases())
def test_turning_a_pair_of_any_table_changes_nothing(case):
    risk, _, s, queries = case
    region = risk.below(np.sort(risk._risk, axis=None)[risk._risk.size // 2])
    items = Scores(s, queries)
    every = decide_queries(risk, region, items)
    turned = decide_pairs(risk, region, items, every.right, every.left)
    np.testing.assert_array_equal(turned.accepted, every.accepted)
    np.testing.assert_array_equal(turned.label, -every.label)
    np.testing.assert_array_equal(turned.risk, every.risk)
