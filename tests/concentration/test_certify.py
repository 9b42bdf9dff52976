"""P-values of a mean loss, and thresholds that they certify: definition, guarantee."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skrank_abstain.concentration import (
    advise_on_certification,
    certify_risk,
    choose_start,
    fixed_sequence,
    least_queries,
    wsr_pvalue,
)

LOSSES = arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 4)),
    elements=st.floats(0, 1, width=32),
)
LEVELS = st.floats(0.01, 0.99)


def slow_wsr(losses, alpha, level):
    """Return the betting p-value of one column, bet by bet."""
    capital, largest = 1.0, 1.0
    means, squares = [alpha], [alpha * (1 - alpha)]
    for t, loss in enumerate(losses, start=1):
        variance = sum(squares) / t
        bet = math.sqrt(2 * math.log(1 / level) / (len(losses) * variance))
        capital *= 1 + min(bet, 0.99 / (1 - alpha)) * (alpha - loss)
        largest = max(largest, capital)
        means.append((alpha + sum(losses[:t])) / (t + 1))
        squares.append((loss - means[-1]) ** 2)
    return 1 / largest


@given(LOSSES, LEVELS, LEVELS)
def test_wsr_is_its_definition(losses, alpha, level):
    expected = [slow_wsr(column, alpha, level) for column in losses.T]
    np.testing.assert_allclose(wsr_pvalue(losses, alpha, level=level), expected)
    assert wsr_pvalue(losses[:, 0], alpha, level=level).shape == ()


def test_wsr_of_one_query_by_hand():
    # The largest bet, since sqrt(2 log 10 / 0.16) > 0.99 / 0.8.
    assert float(wsr_pvalue(np.zeros(1), 0.2)) == pytest.approx(
        1 / (1 + 0.99 / 0.8 * 0.2)
    )
    assert float(wsr_pvalue(np.array([0.3]), 0.2)) == 1.0


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("level", [0.01, 0.3])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.05, 1.0), (0.0, 0.85)])
def test_wsr_is_valid_whatever_the_level(alpha, level, values):
    # All sequences of ten losses of two values with mean alpha, with their
    # probabilities: P(p <= x) <= x exactly, at every x.
    low, high = values
    share = (alpha - low) / (high - low)
    lost = np.array(list(itertools.product([0, 1], repeat=10))).T
    pvalue = wsr_pvalue(np.where(lost, high, low), alpha, level=level)
    probability = np.prod(np.where(lost, share, 1 - share), axis=0)
    order = np.argsort(pvalue)
    reached = np.cumsum(probability[order])
    last = np.append(np.diff(pvalue[order]) > 1e-12, True)
    assert (reached[last] <= pvalue[order][last] + 1e-9).all()
    assert pvalue.min() < 1


def test_wsr_is_blind_to_the_loss_it_bets_on():
    # The bets on a query are placed before it is seen: its loss moves the capital
    # linearly. Capital after the last query, from the p-value of a rising capital.
    losses = np.full(20, 0.01)
    capital = []
    for last in (0.0, 0.02, 0.04):
        losses[-1] = last
        capital.append(1 / float(wsr_pvalue(losses, 0.2)))
    assert capital[0] > capital[1] > capital[2]
    assert capital[0] - capital[1] == pytest.approx(capital[1] - capital[2])


def test_wsr_learns_a_small_variance():
    losses = np.tile([0.04, 0.06], 150)
    wsr = float(wsr_pvalue(losses, 0.1))
    # Hoeffding's p-value, which looks at the mean alone: exp(-n kl(mean, alpha)).
    divergence = 0.05 * math.log(0.05 / 0.1) + 0.95 * math.log(0.95 / 0.9)
    assert wsr < 0.01 * math.exp(-300 * divergence)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
def test_wsr_without_losses(shape):
    assert wsr_pvalue(np.zeros(shape), 0.1).tolist() == np.ones(shape[1:]).tolist()


@given(LEVELS, st.integers(1, 60))
def test_nothing_but_errors_is_no_evidence(alpha, n):
    assert float(wsr_pvalue(np.ones(n), alpha)) == 1


@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.1), (0.02, 0.05), (0.5, 0.125)])
def test_least_queries(alpha, delta):
    n = least_queries(alpha, delta)
    assert (1 - alpha) ** n <= delta * (1 + 1e-9) < (1 - alpha) ** (n - 1)
    assert float(wsr_pvalue(np.zeros(n - 1), alpha, level=delta)) > delta
    assert float(wsr_pvalue(np.zeros(n + 2), alpha, level=delta)) <= delta


# Certificates

PVALUES = arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))


@st.composite
def shares(draw, max_queries=40):
    """Draw per-query shares of accepted and of wrongly decided pairs."""
    shape = draw(st.tuples(st.integers(1, max_queries), st.integers(1, 6)))
    unit = arrays(np.float64, shape, elements=st.floats(0, 1, width=32))
    accepted = np.sort(draw(unit), axis=1)
    return accepted, accepted * draw(unit) * draw(st.sampled_from([0.0, 0.05, 1.0]))


def population(rng, n_kinds=500, n_thresholds=12):
    """Return shares of kinds of queries; the ranker is wrongly sure of one in twenty.

    The selective risk falls and then rises: .17 at the first threshold, .12 at the
    third, .22 at the last.
    """
    accepted = np.cumsum(rng.dirichlet(np.ones(n_thresholds), n_kinds), axis=1)
    risk = np.linspace(0.01, 0.2, n_thresholds) * rng.gamma(4, 1 / 4, (n_kinds, 1))
    errors = accepted * np.minimum(risk, 1)
    bad = rng.random(n_kinds) < 0.05
    accepted[bad] **= 0.2
    errors[bad] = 0.5 * accepted[bad]
    return accepted, errors


@given(PVALUES, st.floats(0.01, 0.99), st.data())
def test_sequence_stops_before_the_first_failure(pvalues, delta, data):
    start = data.draw(st.integers(0, pvalues.size - 1))
    last = None
    for k in range(start, pvalues.size):
        if pvalues[k] > delta:
            break
        last = k
    assert fixed_sequence(pvalues, delta, start=start) == last


def test_sequence_includes_a_pvalue_of_delta():
    assert fixed_sequence(np.array([0.1, 0.1]), 0.1) == 1


@given(shares(), st.data())
def test_certificate_is_the_test_of_each_threshold(table, data):
    accepted, errors = table
    n_thresholds = accepted.shape[1]
    start = data.draw(st.integers(0, n_thresholds - 1))
    max_risk = data.draw(st.sampled_from([0.1, 0.3, 0.7]))
    delta = data.draw(st.sampled_from([0.05, 0.2, 0.6]))
    expected = None
    for k in range(start, n_thresholds):
        loss = errors[:, k] + max_risk * (1 - accepted[:, k])
        pvalue = wsr_pvalue(loss, max_risk, level=delta)
        # Blocks of columns add up in another order than single columns do.
        if abs(float(pvalue) - delta) < 1e-12:
            return
        if pvalue > delta:
            break
        expected = k
    found = certify_risk(accepted, errors, start, max_risk=max_risk, delta=delta)
    assert found == expected


@given(shares(), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_a_smaller_delta_certifies_no_more_by_the_same_pvalues(table, one, other):
    accepted, errors = table
    pvalues = wsr_pvalue(errors + 0.3 * (1 - accepted), 0.3)
    strict, loose = (fixed_sequence(pvalues, d) for d in sorted((one, other)))
    assert (-1 if strict is None else strict) <= (-1 if loose is None else loose)


def test_no_errors_need_enough_queries():
    # 0.9^21 > 0.1 > 0.9^22: fewer queries are no evidence.
    for n, expected in ((20, None), (24, 2)):
        accepted = np.ones((n, 3))
        found = certify_risk(accepted, 0 * accepted, 0, max_risk=0.1, delta=0.1)
        assert found == expected


def test_nothing_to_certify():
    ones = np.ones((200, 2))
    kwargs = {"max_risk": 0.5, "delta": 0.5}
    assert certify_risk(ones, ones, 0, **kwargs) is None  # nothing but errors
    assert certify_risk(0 * ones, 0 * ones, 0, **kwargs) is None  # nothing accepted
    assert certify_risk(ones[:0], ones[:0], 0, **kwargs) is None  # no query


def test_one_query():
    # One query without errors: p = 1 / (1 + 0.99) for the bet that keeps a hundredth.
    one = np.ones((1, 2))
    kwargs = {"max_risk": 0.5, "delta": 0.5}
    assert certify_risk(one, 0 * one, 0, **kwargs) is None
    assert certify_risk(one, 0 * one, 0, max_risk=0.5, delta=0.51) == 1


def test_start_has_the_largest_margin():
    accepted = np.array([[0.1, 0.5, 0.9], [0.3, 0.5, 1.0]])
    errors = np.array([[0.1, 0.0, 0.2], [0.0, 0.1, 0.3]])
    margins = [0.2 * 0.2 - 0.05, 0.2 * 0.5 - 0.05, 0.2 * 0.95 - 0.25]
    assert choose_start(accepted, errors, max_risk=0.2) == np.argmax(margins) == 1


def test_start_of_equals_is_the_conservative_one():
    assert (
        choose_start(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0]]), max_risk=0.2) == 0
    )


def test_a_sequence_from_the_smallest_coverage_is_lost_where_a_chosen_start_is_not():
    rng = np.random.default_rng(1)
    accepted, errors = population(rng)
    # The few queries accepted first are those on which the ranker errs.
    kwargs = {"max_risk": 0.15, "delta": 0.1}
    tune, rest = rng.integers(500, size=60), rng.integers(500, size=600)
    start = choose_start(accepted[tune], errors[tune], max_risk=0.15)
    assert certify_risk(accepted[rest], errors[rest], 0, **kwargs) is None
    assert certify_risk(accepted[rest], errors[rest], start, **kwargs) >= start


@pytest.mark.parametrize(
    ("n_queries", "max_risk", "certified"), [(80, 0.21, 0.4), (400, 0.15, 0.4)]
)
def test_guarantee(n_queries, max_risk, certified):
    """The share of wrong certificates is at most delta, and there are certificates."""
    rng = np.random.default_rng(1)
    accepted, errors = population(rng)
    risk = errors.mean(axis=0) / accepted.mean(axis=0)
    assert risk.min() < max_risk < risk[-1]
    n_runs, wrong, found = 400, 0, 0
    for _ in range(n_runs):
        tune, rest = np.split(rng.integers(500, size=n_queries), [n_queries // 4])
        start = choose_start(accepted[tune], errors[tune], max_risk=max_risk)
        index = certify_risk(
            accepted[rest],
            errors[rest],
            start,
            max_risk=max_risk,
            delta=0.1,
        )
        found += index is not None
        wrong += index is not None and risk[index] > max_risk
    assert wrong / n_runs <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / n_runs)
    assert found / n_runs >= certified


def test_guarantee_just_above_the_bound():
    """Every certificate is wrong here, so certificates must be as rare as delta."""
    rng = np.random.default_rng(2)
    n_runs, wrong = 1000, 0
    for _ in range(n_runs):
        accepted = np.ones((100, 1))
        errors = (rng.random((100, 1)) < 0.101).astype(float)
        wrong += certify_risk(accepted, errors, 0, max_risk=0.1, delta=0.2) is not None
    # Not far below delta either: the test has power.
    assert 0.05 < wrong / n_runs <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / n_runs)


def test_a_threshold_passes_only_if_it_passes_in_every_group():
    rng = np.random.default_rng(3)
    accepted, errors = population(rng)
    rows = rng.integers(500, size=3000)
    accepted, errors = accepted[rows], errors[rows]
    groups = rng.choice(["a", "b"], size=3000)
    errors[groups == "b"] *= 0.5
    kwargs = {"max_risk": 0.2, "delta": 0.1}
    both = certify_risk(accepted, errors, 3, groups=groups, **kwargs)
    alone = {
        group: certify_risk(
            accepted[groups == group], errors[groups == group], 3, **kwargs
        )
        for group in "ab"
    }
    # No part of delta is given away: the worse group decides by itself.
    assert both == min(alone.values())
    assert alone["a"] < alone["b"]


def test_guarantee_in_all_groups_at_once():
    """Each of four groups breaks the bound at another threshold, all with one delta."""
    rng = np.random.default_rng(5)
    n_runs, delta, bound = 1000, 0.2, 0.1
    # Shares of errors by group and threshold, just above the bound from some on.
    rate = np.full((4, 5), 0.01)
    for group in range(4):
        rate[group, 4 - group :] = 0.101
    groups = np.repeat(np.arange(4), 120)
    accepted = np.ones((groups.size, 5))
    last = []
    for _ in range(n_runs):
        errors = (rng.random((groups.size, 1)) < rate[groups]).astype(float)
        options = {"max_risk": bound, "delta": delta, "groups": groups}
        found = certify_risk(accepted, errors, 0, **options)
        last.append(-1 if found is None else found)
    # Beyond the first threshold some group, at least, breaks the bound.
    wrong = np.mean(np.array(last) >= 1)
    assert 0.02 < wrong <= delta + 3 * np.sqrt(delta * (1 - delta) / n_runs)
    assert np.mean(np.array(last) >= 0) > 0.8


def test_one_group_is_none():
    rng = np.random.default_rng(4)
    accepted, errors = population(rng)
    kwargs = {"max_risk": 0.2, "delta": 0.1}
    one = certify_risk(accepted, errors, 3, **kwargs)
    named = np.full(len(accepted), 7)
    assert certify_risk(accepted, errors, 3, groups=named, **kwargs) == one


def test_bets_are_sized_for_delta():
    errors = np.tile([0.0, 0.2, 0.1, 0.05, 0.15], 200)
    assert float(wsr_pvalue(errors, 0.107)) > 0.01
    assert float(wsr_pvalue(errors, 0.107, level=0.01)) < 0.01
    errors = errors[:, np.newaxis]
    assert certify_risk(errors**0, errors, 0, max_risk=0.107, delta=0.01) == 0


def test_the_advice_without_an_error_is_what_a_sure_test_takes():
    """Queries of which all is wrong, just often enough that the bound fails."""
    r, delta = 0.1, 0.1
    right = np.array([[1.0]]), np.array([[0.0]])
    said = advise_on_certification(r, delta, {None: 1}, right)
    sure = int(re.search(r"takes (\d+) certification queries", said).group(1))
    assert (1 - r) ** sure <= delta < (1 - r) ** (sure - 1)
    # Betting on queries without an error is sure from twice as many, and not before.
    for n, certified in ((sure - 1, False), (2 * sure, True)):
        shares = np.ones((n, 1)), np.zeros((n, 1))
        found = certify_risk(*shares, 0, max_risk=r, delta=delta)
        assert (found is not None) == certified


@pytest.mark.parametrize(
    ("counts", "wrong", "begins"),
    [
        ({None: 21}, 0.0, "Even without a single error this takes 22 certification"),
        ({None: 1000}, 0.06, "No threshold kept the bound on the queries that tuned"),
        ({None: 1000}, 0.05, "No threshold kept the bound on the queries that tuned"),
        ({None: 22}, 0.03, "Pass more labelled queries"),
        ({None: 1000}, 0.03, "Pass more labelled queries"),
        ({"a": 40, "b": 400}, 0.03, "Pass more labelled queries"),
    ],
)
def test_advice_by_what_stands_in_the_way(counts, wrong, begins):
    tuned = np.array([[0.5]]), np.array([[wrong]])
    said = advise_on_certification(0.1, 0.1, counts, tuned, besides=" Or so.")
    assert said.startswith(begins)
    assert said.endswith(" Or so.") == (counts != {None: 21})


def test_least_queries_refuses_what_is_no_probability():
    with pytest.raises(ValueError, match="delta must be in"):
        least_queries(0.1, 1.5)
