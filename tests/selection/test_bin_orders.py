"""Orders that a table of bins accepts: cycles, semiorders, ranks and graphs."""

import numpy as np
import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scored import at_coverage, scored
from selection.bins import (
    ZERO_ONE,
    FixedCells,
    any_cases,
    cases,
    decide,
    engine_of,
    labelled,
)
from strategies import COVERAGES

from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import decide_queries
from skrank_abstain.selection._bins import BinEngine, BinRegion, _is_semiorder
from skrank_abstain.tie_models import GradedRelevance


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
    risk = engine_of(case[0], case[1])
    decisions = decide(risk, at_coverage(risk, labelled(case), coverage), case)
    for winner, loser in accepted_orders(decisions):
        # They never leave the order of the values, in which there is none.
        assert case[2][winner] > case[2][loser]


@given(cases(), st.floats(0.02, 0.5), st.booleans())
def test_below_a_half_accepted_orders_are_a_semiorder(case, threshold, exact):
    model, _, _, _, queries = case
    risk = engine_of(model, ZERO_ONE)
    if exact:
        # Thresholds are risks of pairs, where rounding would show.
        known = risk._risk[risk._risk <= 0.5]
        assume(known.size > 0)
        threshold = known[int(threshold * known.size)]
    region = risk.below(threshold)
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
    bounds = risk.ranks(region, labelled(case))
    for row, (best, worst) in enumerate(bounds.tolist()):
        size = queries.sizes[queries.codes[row]]
        assert best == 1 + sum(loser == row for _, loser in orders)
        assert worst == size - sum(winner == row for winner, _ in orders)


@settings(max_examples=300)
@given(any_cases())
def test_ranks_and_graph_are_those_of_the_closure(case):
    risk, region, s, queries = case
    items = scored(s, queries)
    orders = accepted_orders(decide_queries(risk, region, Scores(s, queries)))
    bounds = risk.ranks(region, items)
    np.testing.assert_array_equal(bounds, reference.rank_bounds(orders, queries.codes))
    graph = risk.graph(region, items)
    assert graph.shape == (s.size, s.size)
    assert graph.dtype == bool
    found = list(zip(*map(np.ndarray.tolist, graph.nonzero()), strict=True))
    assert len(set(found)) == len(found) == graph.nnz
    assert set(found) == reference.reduction(s.size, orders)


ORDER, TIE, SAME = [0.1, 0.2, 0.7], [0.1, 0.6, 0.3], [0.2, 0.6, 0.2]


def three_cells(middle_low, high_low, high_middle):
    """Three bins, from the probabilities of each higher one against each lower one."""
    table = [
        [SAME, middle_low[::-1], high_low[::-1]],
        [middle_low, SAME, high_middle[::-1]],
        [high_low, high_middle, SAME],
    ]
    return engine_of(FixedCells(np.array([1.0, 2.0]), np.array(table)), ZERO_ONE)


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
    items = scored(s, group_queries(None, 3))
    bounds = risk.ranks(risk.below(0.5), items)
    assert bounds.tolist() == expected
    # Without an item in the middle nothing goes through it.
    ends = scored(s[[0, 2]], group_queries(None, 2))
    bounds = risk.ranks(risk.below(0.5), ends)
    assert bounds.tolist() == [[1, 2], [1, 2]]
    nothing = risk.ranks(risk.below(0.1), items)
    assert nothing.tolist() == [[1, 3]] * 3


def test_boundary_cells_count_as_abstained_in_rank_bounds():
    order, same = [0.1, 0.2, 0.7], [0.2, 0.6, 0.2]
    table = np.array([[same, order[::-1]], [order, same]])
    risk = engine_of(FixedCells(np.array([1.0]), table), ZERO_ONE)
    items = scored(np.array([0.0, 1.0]), group_queries(None, 2))
    last = risk._places()[0][1, 0]
    half = BinRegion(0.3, last, kappa=0.5)
    assert risk.ranks(half, items).tolist() == [[1, 2], [1, 2]]
    whole = BinRegion(0.3, last)
    assert risk.ranks(whole, items).tolist() == [[2, 2], [1, 1]]


def _is_semiorder_at(risk, threshold):
    """Whether ranks are found by sorting; a closure would cost more."""
    over = risk._over(risk.below(threshold))
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
    model = GradedRelevance().fit(s, y, qid=qid)
    risk = BinEngine(model, ZERO_ONE, 0.0)
    own_risk = risk._risk[:-1, :-1]
    orders = np.tril(risk._label[:-1, :-1] == 1) & (own_risk <= 0.5)
    # A lower risk for a higher item, a higher one for a nearer item.
    inside = orders[1:] & orders[:-1]
    assert (np.diff(own_risk, axis=0)[inside] <= 0).all()
    inside = orders[:, 1:] & orders[:, :-1]
    assert (np.diff(own_risk, axis=1)[inside] >= 0).all()
    for threshold in np.unique(own_risk[orders])[::97]:
        assert _is_semiorder_at(risk, threshold)


@given(cases())
def test_smoothing_changes_no_risk_by_more_than_rounding(case):
    model, loss, *_ = case
    proba = model.table_.reshape(-1, 3)
    number = np.arange(model.table_.shape[0])
    expected = [reference.bayes_decision(row, loss)[1] for row in proba]
    expected = np.reshape(expected, (number.size, number.size))
    found = engine_of(model, loss)._risk
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found[:-1, :-1], expected, rtol=1e-13, atol=1e-14)
    # Equal values.
    expected = [
        reference.bayes_decision(model.table_[k, k], loss, equal=True)[1]
        for k in number
    ]
    np.testing.assert_allclose(found[-1, :-1], expected, rtol=1e-13, atol=1e-14)


@given(cases(), COVERAGES)
def test_the_graph_has_all_accepted_orders_as_its_closure(case, coverage):
    model, _, s, _, _ = case
    risk = engine_of(model, ZERO_ONE)
    queries = group_queries(None, s.size)
    items = scored(s, queries, np.zeros(s.size))
    region = at_coverage(risk, items, coverage)
    assume(region.risk <= 0.5)
    graph = risk.graph(region, items)
    reached = graph.toarray()
    for _ in range(s.size):
        reached = reached | (reached.astype(int) @ reached.astype(int) > 0)
    orders = accepted_orders(decide_queries(risk, region, Scores(s, queries)))
    assert set(map(tuple, np.argwhere(reached).tolist())) == orders
    # No entry follows from others.
    edges = graph.toarray()
    through = edges.astype(int) @ reached.astype(int) > 0
    assert not (edges & through).any()
