"""Conformal thresholds: oracles, the definitions, and the guarantee on average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skrank_abstain.concentration import (
    conformal_risk_control,
    hierarchical_quantile,
    hierarchical_quantile_search,
)

QUERIES = st.lists(
    st.lists(
        st.floats(0, 1) | st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=9
    ),
    min_size=1,
    max_size=8,
)
COVERAGES = st.floats(0.01, 0.99)


def flatten(queries):
    """Return the risks of all pairs and the query of each."""
    qid = np.repeat(np.arange(len(queries)), [len(q) for q in queries])
    return np.concatenate([np.asarray(q, dtype=float) for q in queries]), qid


def shares_of(queries):
    """Return the function that counts, query by query."""
    return lambda t: [np.mean(np.array(q)[:, None] <= t, axis=0) for q in queries]


def test_quantile_oracle(oracles):
    case = oracles["hierarchical_conformal_quantile"]
    risks, qid = flatten(case["risks_by_query"])
    for coverage, expected in zip(case["c"], case["threshold"], strict=True):
        threshold = hierarchical_quantile(risks, qid, coverage)
        assert threshold == (np.inf if expected is None else expected)


@given(QUERIES, COVERAGES)
def test_quantile_is_its_definition(queries, coverage):
    risks, qid = flatten(queries)
    expected = np.inf
    for t in sorted(set(risks)):
        covered = sum(np.mean(np.asarray(q) <= t) for q in queries)
        if covered / (len(queries) + 1) >= coverage - 1e-12:
            expected = t
            break
    assert hierarchical_quantile(risks, qid, coverage) == expected
    assert hierarchical_quantile_search(shares_of(queries), coverage) == expected


@given(QUERIES, COVERAGES, COVERAGES)
def test_quantile_grows_with_coverage(queries, one, other):
    low, high = sorted((one, other))
    risks, qid = flatten(queries)
    assert hierarchical_quantile(risks, qid, low) <= hierarchical_quantile(
        risks, qid, high
    )


@given(QUERIES, COVERAGES, st.randoms(use_true_random=False))
def test_quantile_ignores_the_order_of_pairs_and_names_of_queries(
    queries, coverage, random
):
    risks, qid = flatten(queries)
    order = list(range(risks.size))
    random.shuffle(order)
    names = np.array([f"q{k}" for k in qid])
    assert hierarchical_quantile(
        risks[order], names[order], coverage
    ) == hierarchical_quantile(risks, qid, coverage)


def test_quantile_weighs_queries_alike():
    # The second query has a hundred pairs and one vote.
    risks, qid = np.r_[0.1, np.full(100, 0.9)], np.r_[0, np.ones(100, int)]
    assert hierarchical_quantile(risks, qid, 1 / 3) == 0.1
    assert hierarchical_quantile(risks, qid, 1 / 3 + 1e-9) == 0.9


def test_quantile_is_not_pushed_up_by_rounding():
    risks, qid = np.tile([0.1, 0.1, 0.1, 0.9, 0.9], 2), np.repeat([0, 1], 5)
    assert (3 / 5 + 3 / 5) / 3 < 0.4
    assert hierarchical_quantile(risks, qid, 0.4) == 0.1


def test_quantile_of_one_or_no_query():
    assert hierarchical_quantile([0.3, 0.1], [0, 0], 0.25) == 0.1
    assert hierarchical_quantile([0.3, 0.1], [0, 0], 0.5) == 0.3
    assert hierarchical_quantile([0.3, 0.1], [0, 0], 0.51) == np.inf
    assert hierarchical_quantile([], [], 0.5) == np.inf
    assert hierarchical_quantile_search(lambda t: np.ones((0, t.size)), 0.5) == np.inf
    assert hierarchical_quantile_search(lambda t: [t >= 1], 0.5) == 1.0


def test_search_calls_few_times():
    calls = []

    def shares(t):
        calls.append(t)
        return [t >= 2.5, np.ones(t.size)]

    assert hierarchical_quantile_search(shares, 0.6, highest=4.0) == 2.5
    assert len(calls) <= 16
    assert np.concatenate(calls).max() <= 4.0


def test_quantile_covers_a_pair_of_a_new_query():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(2000):
        scale = rng.gamma(2, size=13)
        queries = [s * rng.random(rng.integers(1, 30)) for s in scale]
        t = hierarchical_quantile(*flatten(queries[:-1]), 0.7)
        covered.append(np.mean(queries[-1] <= t))
    error = np.std(covered) / np.sqrt(2000)
    # At least the target; with 12 queries not much more than 0.7 * 13 / 12.
    assert 0.7 - 3 * error <= np.mean(covered) <= 0.7 * 13 / 12 + 3 * error


def test_risk_control_oracle(oracles):
    case = oracles["crc"]
    table = case["loss_table"]
    n, bound = len(table), case["B"]
    for alpha, expected in case["chosen_column"].items():
        assert conformal_risk_control(table, float(alpha), bound=bound) == expected
    for k, adjusted in enumerate(case["adjusted_risk"]):
        # The column is allowed at its adjusted risk and at nothing less.
        first = [row[: k + 1] for row in table]
        assert conformal_risk_control(first, adjusted * (1 + 1e-9)) == k
        below = conformal_risk_control(first, adjusted * (1 - 1e-9))
        assert below == (k - 1 if k else None)
    assert n == 5


LOSSES = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.floats(0, 1),
)


@given(LOSSES, COVERAGES)
def test_risk_control_never_looks_past_a_worse_candidate(losses, alpha):
    index = conformal_risk_control(losses, alpha)
    worst = np.maximum.accumulate(losses, axis=1)
    assert index == conformal_risk_control(worst, alpha)
    last = -1 if index is None else index
    adjusted = (worst.sum(axis=0) + 1) / (losses.shape[0] + 1)
    assert (adjusted[: last + 1] <= alpha).all()
    assert (adjusted[last + 1 :] > alpha).all()


def test_a_better_candidate_behind_a_worse_one_is_not_chosen():
    losses = np.tile([0.0, 0.5, 0.0], (40, 1))
    assert conformal_risk_control(losses, 0.2) == 0


@given(LOSSES, COVERAGES, st.sampled_from([0.5, 4.0]))
def test_risk_control_scales(losses, alpha, unit):
    assert conformal_risk_control(losses, alpha) == conformal_risk_control(
        unit * losses, unit * alpha, bound=unit
    )


def test_risk_control_of_one_query_no_query_and_only_errors():
    assert conformal_risk_control([[0.0, 0.0]], 0.5) == 1  # (0 + 1) / 2
    assert conformal_risk_control([[0.0, 0.0]], 0.49) is None
    assert conformal_risk_control(np.zeros((0, 2)), 0.9) is None
    assert conformal_risk_control(np.ones((50, 2)), 0.9) is None


def test_risk_control_bounds_the_expected_loss():
    rng = np.random.default_rng(0)
    loss = []
    for _ in range(2000):
        slope = rng.beta(0.5, 2, size=(16, 1))
        losses = slope * np.linspace(0, 1, 30)
        index = conformal_risk_control(losses[:-1], 0.1)
        loss.append(0.0 if index is None else losses[-1, index])
    error = np.std(loss) / np.sqrt(2000)
    # B / (n + 1) is given away: 0.1 - 1 / 16 = 0.0375 and above.
    assert 0.03 < np.mean(loss) <= 0.1 + 3 * error


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: hierarchical_quantile([0.1], [0], 1.0),
            ValueError,
            r"coverage must be in \(0, 1\), got 1.0",
        ),
        (
            lambda: hierarchical_quantile([np.inf], [0], 0.5),
            ValueError,
            "risks must be finite, got inf",
        ),
        (
            lambda: hierarchical_quantile([0.1, 0.2], [0], 0.5),
            ValueError,
            "qid must have one value per pair",
        ),
        (
            lambda: hierarchical_quantile(["a"], [0], 0.5),
            TypeError,
            "risks must hold numbers",
        ),
        (
            lambda: hierarchical_quantile_search(shares_of([[1]]), 0.5, highest=0),
            ValueError,
            r"highest must be in \(0, inf\), got 0",
        ),
        (
            lambda: hierarchical_quantile_search(lambda t: [t + 3], 0.5),
            ValueError,
            r"the result of shares must be in \[0, 1\], got 3.0",
        ),
        (
            lambda: conformal_risk_control([[0.1, 1.5]], 0.1),
            ValueError,
            r"losses must be in \[0, 1\], got 1.5",
        ),
        (
            lambda: conformal_risk_control([0.1], 0.1),
            ValueError,
            "losses must be of shape",
        ),
        (
            lambda: conformal_risk_control([[0.1]], 2.0, bound=2),
            ValueError,
            r"alpha must be in \(0, 2\), got 2.0",
        ),
        (
            lambda: conformal_risk_control([[0.1]], 0.1, bound=-1),
            ValueError,
            r"bound must be in \(0, inf\), got -1",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
