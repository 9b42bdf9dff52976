"""Decisions by models of bins, against every pair."""

import dataclasses
import itertools

import numpy as np
import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import COVERAGES, grades, losses, qids, scores

from skrank_abstain.pairs import ScoredItems, group_queries
from skrank_abstain.selection import PairTotals, decide_pairs, decide_queries
from skrank_abstain.selection._bin_risk import BinRegion, BinRisk, _is_semiorder
from skrank_abstain.tie_models import BinModel, GradedRelevance
from skrank_abstain.tie_models._ordinal import OrdinalFit, pair_table

ZERO_ONE = 1 - np.eye(3)
MISRANKING = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0]])


class FixedCells(BinModel):
    """A bin model with a given table."""

    def __init__(self, edges, table):
        self.edges = edges
        self.table = table
        self.edges_, self.table_, self.n_pairs_ = edges, table, 0

    def fit_bins(self, items):
        raise NotImplementedError


@st.composite
def cell_models(draw):
    """Graded relevance with given parameters, on bins between quarters."""
    edges = draw(st.lists(st.integers(-8, 8), unique=True, max_size=6))
    edges = np.sort(np.array(edges, dtype=float)) / 4
    steps = draw(st.lists(st.floats(0.25, 2), max_size=3))
    cuts = draw(st.floats(-2, 2)) + np.append(0.0, np.cumsum(steps))
    fit = OrdinalFit(np.ones(1), cuts, draw(st.floats(0, 1.5)))
    values = draw(st.sampled_from([0.5, 1.5, 5.0])) * np.arange(edges.size + 1.0)
    shares = np.full(cuts.size + 1, draw(st.sampled_from([1.0, 0.5])))
    return FixedCells(edges, pair_table(fit, values - values.mean(), shares))


@st.composite
def cases(draw):
    """Model, loss, scores, grades, queries with at least one pair."""
    s = draw(scores(max_size=10))
    qid = draw(qids(s.size))
    queries = group_queries(qid, s.size)
    assume(queries.n_pairs > 0)
    return draw(cell_models()), draw(losses()), s, draw(grades(s.size)), queries


def labelled(case):
    _, _, s, y, queries = case
    return ScoredItems.build(s, queries, y.astype(float))


def every_pair(queries):
    for query in range(queries.n_queries):
        yield from itertools.combinations(queries.rows(query).tolist(), 2)


def decide(risk, region, case):
    _, _, s, _, queries = case
    return decide_queries(risk, region, s, queries)


@given(cases())
def test_labels_risks_and_probabilities_are_those_of_the_table(case):
    model, loss, s, _, queries = case
    risk = BinRisk(model, loss)
    decisions = decide(risk, risk.select_risk(np.inf), case)
    assert list(zip(decisions.left, decisions.right, strict=True)) == list(
        every_pair(queries)
    )
    assert decisions.accepted.all()
    number = [sum(value >= edge for edge in model.edges_) for value in s]
    for row, (i, j) in enumerate(every_pair(queries)):
        proba = model.table_[number[i], number[j]]
        assert decisions.proba[row].tolist() == proba.tolist()
        by_definition = reference.expected_losses(proba, loss)
        same = number[i] == number[j]
        best, least = reference.bayes_decision(proba, loss, same)
        assert decisions.risk[row] == pytest.approx(least, abs=1e-14)
        assert decisions.risk[row] <= risk.highest
        order = reference.label(number[i] - number[j])
        assert decisions.label[row] in (0, order)
        if same:
            assert decisions.risk[row] == pytest.approx(by_definition[1], abs=1e-14)
        else:
            chosen = by_definition[decisions.label[row] + 1]
            assert chosen == pytest.approx(min(by_definition), abs=1e-14)
            if proba[0] != proba[2]:
                assert decisions.label[row] == best


def test_items_of_one_cell_carry_no_order():
    # Within the bin both orders are more probable than a tie.
    table = np.array([[[0.45, 0.1, 0.45]]])
    risk = BinRisk(FixedCells(np.empty(0), table), ZERO_ONE)
    queries = group_queries(None, 2)
    decisions = decide_queries(
        risk, risk.select_risk(1.0), np.array([1.0, 0.0]), queries
    )
    assert decisions.label.tolist() == [0]
    assert decisions.risk.tolist() == [0.45 + 0.45]
    assert risk.highest == 0.45 + 0.45


def test_equal_chances_follow_the_scores():
    # Two bins that the model cannot tell apart, hardly ever tied.
    table = np.tile([0.45, 0.1, 0.45], (2, 2, 1))
    risk = BinRisk(FixedCells(np.array([1.0]), table), ZERO_ONE)
    decisions = decide_queries(
        risk, risk.select_risk(1.0), np.array([2.0, 0.0]), group_queries(None, 2)
    )
    assert decisions.label.tolist() == [1]


@given(cases(), COVERAGES)
def test_the_threshold_is_the_order_statistic_of_the_pair_risks(case, coverage):
    risk = BinRisk(case[0], case[1])
    items = labelled(case)
    every = decide(risk, risk.select_risk(np.inf), case).risk
    region = risk.select_coverage(items, coverage)
    assert region.risk == reference.order_statistic(every.tolist(), coverage)
    decisions = decide(risk, region, case)
    assert decisions.accepted[every < region.risk].all()
    assert not decisions.accepted[every > region.risk].any()
    assert risk.accepted_mass(region, items) == decisions.accepted.sum()
    assert decisions.accepted.sum() >= coverage * every.size - 1e-9
    assert (every < region.risk).sum() < coverage * every.size + 1e-9


@given(cases(), COVERAGES)
def test_pairs_of_equal_risk_are_taken_by_gap(case, coverage):
    assume(coverage < 1)
    model, loss, s, _, _ = case
    risk = BinRisk(model, loss)
    region = risk.select_coverage(labelled(case), coverage)
    decisions = decide(risk, region, case)
    bins = model.bins(s)
    means = {number: np.mean(s[bins == number]) for number in set(bins.tolist())}
    gap = np.array(
        [
            abs(means[bins[i]] - means[bins[j]])
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
    risk = BinRisk(FixedCells(np.arange(1.0, 20.0), table), ZERO_ONE)
    s = np.arange(20.0)
    items = ScoredItems.build(s, group_queries(None, 20), np.zeros(20))
    region = risk.select_coverage(items, 0.1)
    assert risk.accepted_mass(region, items) == 19  # of 190 pairs
    decisions = decide_queries(risk, region, s, group_queries(None, 20))
    apart = np.abs(s[decisions.left] - s[decisions.right])
    np.testing.assert_array_equal(decisions.accepted, apart == 1)


@given(cases(), st.floats(0.01, 0.99))
def test_the_linear_quantile_is_that_of_numpy(case, coverage):
    risk = BinRisk(case[0], case[1])
    every = decide(risk, risk.select_risk(np.inf), case).risk
    region = risk.select_coverage(labelled(case), coverage, quantile="linear")
    assert region.risk == pytest.approx(np.quantile(every, coverage), rel=1e-9)
    decisions = decide(risk, region, case)
    np.testing.assert_array_equal(decisions.accepted, every <= region.risk)


@given(cases())
def test_full_coverage_accepts_also_what_calibration_never_saw(case):
    risk = BinRisk(case[0], case[1])
    region = risk.select_coverage(labelled(case), 1.0)
    assert region.risk == risk.highest
    assert (region.weight == 1).all()


@given(cases(), COVERAGES)
def test_a_randomised_boundary_makes_the_coverage_exact(case, coverage):
    model, loss, s, _, queries = case
    risk = BinRisk(model, loss)
    items = labelled(case)
    plain = risk.select_coverage(items, coverage)
    region = risk.select_coverage(items, coverage, boundary="randomize", seed=3)
    assert region.risk == plain.risk
    mass = risk.accepted_mass(region, items)
    assert mass == pytest.approx(coverage * queries.n_pairs, rel=1e-12)
    totals = risk.totals(region, items, None)
    assert totals.coverage == pytest.approx(coverage, rel=1e-12)
    decisions = decide(risk, region, case)
    assert decisions.accepted[decisions.risk < region.risk].all()
    assert not decisions.accepted[decisions.risk > region.risk].any()
    # Turned around, and one by one, every pair has the same fate.
    turned = decide_pairs(risk, region, s, queries, decisions.right, decisions.left)
    np.testing.assert_array_equal(turned.accepted, decisions.accepted)


def test_draws_on_the_boundary_have_the_share_that_they_should():
    n = 400
    model = FixedCells(np.empty(0), np.array([[[0.25, 0.5, 0.25]]]))
    risk = BinRisk(model, ZERO_ONE)
    s = np.random.default_rng(0).normal(size=n)
    queries = group_queries(None, n)
    items = ScoredItems.build(s, queries, np.zeros(n))
    one, other = (
        decide_queries(
            risk,
            risk.select_coverage(items, 0.3, boundary="randomize", seed=seed),
            s,
            queries,
        )
        for seed in (0, 1)
    )
    assert one.accepted.mean() == pytest.approx(0.3, abs=0.01)
    both = (one.accepted & other.accepted).mean()
    assert both == pytest.approx(0.3 * 0.3, abs=0.01)


@given(cases(), st.integers(0, 10**6))
def test_orientation_and_order_of_rows_do_not_matter(case, seed):
    model, loss, s, _, queries = case
    risk = BinRisk(model, loss)
    region = risk.select_coverage(labelled(case), 0.5)
    decisions = decide(risk, region, case)
    turned = decide_pairs(risk, region, s, queries, decisions.right, decisions.left)
    np.testing.assert_array_equal(turned.label, -decisions.label)
    np.testing.assert_array_equal(turned.accepted, decisions.accepted)
    np.testing.assert_array_equal(turned.risk, decisions.risk)
    np.testing.assert_array_equal(turned.proba, decisions.proba[:, ::-1])
    order = np.random.default_rng(seed).permutation(len(decisions))
    some = decide_pairs(
        risk, region, s, queries, decisions.left[order], decisions.right[order]
    )
    for name in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(
            getattr(some, name), getattr(decisions, name)[order]
        )


def acceptance(risk, region, case, decisions):
    """Probability that each pair is accepted."""
    bins = case[0].bins(case[2])
    return region.weight[bins[decisions.left], bins[decisions.right]]


@given(cases(), COVERAGES, st.sampled_from(["accept", "randomize"]), st.booleans())
def test_totals_add_up_the_pairs_of_each_query(case, coverage, boundary, weighted):
    model, loss, s, y, queries = case
    risk = BinRisk(model, loss)
    items = labelled(case)
    region = risk.select_coverage(items, coverage, boundary=boundary)
    weight = np.arange(1.0, s.size + 1) if weighted else None
    totals = risk.totals(region, items, weight)
    decisions = decide(risk, region, case)
    taken = acceptance(risk, region, case, decisions)
    names = [field.name for field in dataclasses.fields(PairTotals)]
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
        }
        for name, value in seen.items():
            expected[name][queries.codes[i]] += mass * value
    for name in names:
        found = getattr(totals, name)
        np.testing.assert_allclose(found, expected[name], atol=1e-9, err_msg=name)


@given(cases())
def test_the_profile_has_every_risk(case):
    model, loss, _, y, queries = case
    risk = BinRisk(model, loss)
    decisions = decide(risk, risk.select_risk(np.inf), case)
    truth = np.array([reference.label(y[i] - y[j]) for i, j in every_pair(queries)])
    profile = risk.profile(labelled(case))
    np.testing.assert_array_equal(profile.risk, np.unique(decisions.risk))
    for level, n_pairs, n_correct in zip(
        profile.risk, profile.n_pairs, profile.n_correct, strict=True
    ):
        at = decisions.risk == level
        assert n_pairs == at.sum()
        assert n_correct == (decisions.label == truth)[at].sum()


# Accepted orders


def accepted_orders(decisions):
    """Pairs (winner, loser) that are accepted as orders."""
    return {
        (int(i), int(j)) if label > 0 else (int(j), int(i))
        for i, j, label, accepted in zip(
            decisions.left,
            decisions.right,
            decisions.label,
            decisions.accepted,
            strict=True,
        )
        if accepted and label
    }


@given(cases(), COVERAGES)
def test_accepted_orders_have_no_cycle(case, coverage):
    risk = BinRisk(case[0], case[1])
    decisions = decide(risk, risk.select_coverage(labelled(case), coverage), case)
    for winner, loser in accepted_orders(decisions):
        # They never leave the order of the values, in which there is none.
        assert case[2][winner] > case[2][loser]


@given(cases(), st.floats(0.02, 0.5), st.booleans())
def test_below_a_half_accepted_orders_are_a_semiorder(case, threshold, exact):
    model, _, _, _, queries = case
    risk = BinRisk(model, ZERO_ONE)
    if exact:
        # Thresholds are risks of pairs, where rounding would show.
        known = risk._risk[risk._risk <= 0.5]
        assume(known.size > 0)
        threshold = known[int(threshold * known.size)]
    region = risk.select_risk(threshold)
    orders = accepted_orders(decide(risk, region, case))
    for a, b in orders:
        assert (b, a) not in orders
        for c, d in orders:
            if queries.codes[a] == queries.codes[c]:
                assert (a, d) in orders or (c, b) in orders
        for c in queries.rows(queries.codes[a]).tolist():
            if (b, c) in orders:
                rows = queries.rows(queries.codes[a]).tolist()
                assert all((a, d) in orders or (d, c) in orders for d in rows)
    bounds = risk.rank_bounds(region, labelled(case))
    for row, (best, worst) in enumerate(bounds.tolist()):
        size = queries.sizes[queries.codes[row]]
        assert best == 1 + sum(loser == row for _, loser in orders)
        assert worst == size - sum(winner == row for winner, _ in orders)


@st.composite
def any_cases(draw):
    """A table of a user's own, which need not be transitive, and any accepted pairs."""
    edges = np.sort(np.array(draw(st.lists(st.integers(-8, 8), max_size=7)))) / 4
    shape = (edges.size + 1, edges.size + 1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # The higher bin is never the less probable winner.
    lead = np.tril(rng.uniform(0, 1, shape), k=-1)
    lead, tie = lead - lead.T, np.tril(rng.uniform(0, 1, shape))
    tie = np.maximum(tie, tie.T)
    wins = (1 - tie) * (1 + lead) / 2
    # Mirrored but for rounding, as tables are that somebody computed.
    table = np.stack([wins.T, 1 - wins - wins.T, wins], axis=2)
    s = draw(scores(max_size=14))
    queries = group_queries(draw(qids(s.size)), s.size)
    assume(queries.n_pairs > 0)
    model = FixedCells(edges, table)
    model.check_probabilities()
    risk = BinRisk(model, draw(st.sampled_from([ZERO_ONE, MISRANKING])))
    if draw(st.booleans()):
        region = risk.select_risk(float(rng.choice(risk._risk.ravel())))
    else:
        weight = np.tril(rng.random(shape) < draw(st.floats(0, 1))).astype(float)
        region = BinRegion(0.5, np.maximum(weight, weight.T))
    return risk, region, s, queries


@settings(max_examples=300)
@given(any_cases())
def test_ranks_and_graph_are_those_of_the_closure(case):
    risk, region, s, queries = case
    items = ScoredItems.build(s, queries)
    orders = accepted_orders(decide_queries(risk, region, s, queries))
    bounds = risk.rank_bounds(region, items)
    np.testing.assert_array_equal(bounds, reference.rank_bounds(orders, queries.codes))
    graph = risk.preference_graph(region, items)
    assert graph.shape == (s.size, s.size)
    assert graph.dtype == bool
    found = list(zip(*map(np.ndarray.tolist, graph.nonzero()), strict=True))
    assert len(set(found)) == len(found) == graph.nnz
    assert set(found) == reference.reduction(s.size, orders)


@given(any_cases())
def test_turning_a_pair_of_any_table_changes_nothing(case):
    risk, _, s, queries = case
    region = risk.select_risk(np.sort(risk._risk, axis=None)[risk._risk.size // 2])
    every = decide_queries(risk, region, s, queries)
    turned = decide_pairs(risk, region, s, queries, every.right, every.left)
    np.testing.assert_array_equal(turned.accepted, every.accepted)
    np.testing.assert_array_equal(turned.label, -every.label)
    np.testing.assert_array_equal(turned.risk, every.risk)


ORDER, TIE, SAME = [0.1, 0.2, 0.7], [0.1, 0.6, 0.3], [0.2, 0.6, 0.2]


def three_cells(middle_low, high_low, high_middle):
    """Three bins, from the probabilities of each higher one against each lower one."""
    table = [
        [SAME, middle_low[::-1], high_low[::-1]],
        [middle_low, SAME, high_middle[::-1]],
        [high_low, high_middle, SAME],
    ]
    return BinRisk(FixedCells(np.array([1.0, 2.0]), np.array(table)), ZERO_ONE)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        # Neighbours are ordered: the two furthest apart are too, through the middle.
        ((ORDER, TIE, ORDER), [[3, 3], [2, 2], [1, 1]]),
        # The middle one is over the low one, the high one is not.
        ((ORDER, TIE, TIE), [[2, 3], [1, 2], [1, 3]]),
        # The high one is over the middle one, not over the low one.
        ((TIE, TIE, ORDER), [[1, 3], [2, 3], [1, 2]]),
    ],
)
def test_orders_that_are_no_semiorder_have_ranks_through_others(pairs, expected):
    risk = three_cells(*pairs)
    s = np.array([0.0, 1.0, 2.0])
    items = ScoredItems.build(s, group_queries(None, 3))
    bounds = risk.rank_bounds(risk.select_risk(0.5), items)
    assert bounds.tolist() == expected
    # Without an item in the middle nothing goes through it.
    ends = ScoredItems.build(s[[0, 2]], group_queries(None, 2))
    bounds = risk.rank_bounds(risk.select_risk(0.5), ends)
    assert bounds.tolist() == [[1, 2], [1, 2]]
    nothing = risk.rank_bounds(risk.select_risk(0.1), items)
    assert nothing.tolist() == [[1, 3]] * 3


def test_boundary_cells_count_as_abstained_in_rank_bounds():
    order, same = [0.1, 0.2, 0.7], [0.2, 0.6, 0.2]
    table = np.array([[same, order[::-1]], [order, same]])
    risk = BinRisk(FixedCells(np.array([1.0]), table), ZERO_ONE)
    items = ScoredItems.build(np.array([0.0, 1.0]), group_queries(None, 2))
    half = BinRegion(0.3, np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert risk.rank_bounds(half, items).tolist() == [[1, 2], [1, 2]]
    whole = BinRegion(0.3, np.ones((2, 2)))
    assert risk.rank_bounds(whole, items).tolist() == [[2, 2], [1, 1]]


def _is_semiorder_at(risk, threshold):
    """Whether ranks are found by sorting; a closure would cost more."""
    over = risk._over(risk.select_risk(threshold))
    return _is_semiorder(over, over.sum(axis=1))


def test_one_bit_of_rounding_does_not_break_the_semiorder():
    less = [0.1, 0.2 + 2**-53, 0.7 - 2**-53]
    assert less[0] + less[1] > ORDER[0] + ORDER[1]
    for pairs in ((ORDER, less, ORDER), (ORDER, ORDER, less), (less, ORDER, less)):
        risk = three_cells(*pairs)
        for threshold in (ORDER[0] + ORDER[1], less[0] + less[1]):
            assert _is_semiorder_at(risk, threshold)
    # More than rounding is left as it is.
    table = three_cells(ORDER, [0.1, 0.21, 0.69], ORDER)
    assert table._risk[2, 0] == pytest.approx(0.31)
    assert table._risk[1, 0] == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_never_breaks_the_semiorder(seed):
    # Scores far out, where probabilities no longer change but for rounding.
    rng = np.random.default_rng(seed)
    n = 1500
    s = rng.normal(size=n) * np.where(rng.random(n) < 0.3, 100.0, 1.0)
    y = np.clip(np.floor(2 * s + 0.3 * rng.logistic(size=n)), 0, 5)
    qid = np.repeat(np.arange(30), 50)
    model = GradedRelevance().fit(s, y, qid)
    risk = BinRisk(model, ZERO_ONE)
    orders = np.tril(risk._label == 1) & (risk._risk <= 0.5)
    # A lower risk for a higher item, a higher one for a nearer item.
    inside = orders[1:] & orders[:-1]
    assert (np.diff(risk._risk, axis=0)[inside] <= 0).all()
    inside = orders[:, 1:] & orders[:, :-1]
    assert (np.diff(risk._risk, axis=1)[inside] >= 0).all()
    for threshold in np.unique(risk._risk[orders])[::97]:
        assert _is_semiorder_at(risk, threshold)


@given(cases())
def test_smoothing_changes_no_risk_by_more_than_rounding(case):
    model, loss, *_ = case
    proba = model.table_.reshape(-1, 3)
    number = np.arange(model.table_.shape[0])
    same = np.equal.outer(number, number).ravel()
    expected = [
        reference.bayes_decision(row, loss, equal)[1]
        for row, equal in zip(proba, same, strict=True)
    ]
    expected = np.reshape(expected, (number.size, number.size))
    found = BinRisk(model, loss)._risk
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)


@given(cases(), COVERAGES)
def test_the_graph_has_all_accepted_orders_as_its_closure(case, coverage):
    model, _, s, _, _ = case
    risk = BinRisk(model, ZERO_ONE)
    queries = group_queries(None, s.size)
    items = ScoredItems.build(s, queries, np.zeros(s.size))
    region = risk.select_coverage(items, coverage)
    assume(region.risk <= 0.5)
    graph = risk.preference_graph(region, items)
    reached = graph.toarray()
    for _ in range(s.size):
        reached = reached | (reached.astype(int) @ reached.astype(int) > 0)
    orders = accepted_orders(decide_queries(risk, region, s, queries))
    assert set(map(tuple, np.argwhere(reached).tolist())) == orders
    # No entry follows from others.
    edges = graph.toarray()
    through = edges.astype(int) @ reached.astype(int) > 0
    assert not (edges & through).any()
