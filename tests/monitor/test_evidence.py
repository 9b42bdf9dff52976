"""The evidence of a monitor: seldom large by chance, and soon after a change."""

import numpy as np
import pytest
from scipy import stats

from skrank_abstain.monitor._evidence import (
    EXPONENTS,
    Bets,
    add_pvalues,
    online_pvalues,
)

START = np.full((1, 2, EXPONENTS.size), np.log(0.05))


def stream(seed, n_known=100, n_new=500, shift=0.0, n_quiet=0):
    """Return counts of known levels, and levels and draws of a stream."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 5, n_known + n_new)
    score[n_known + n_quiet :] += shift
    levels = np.rint(score.clip(0, 1) * 20).astype(int)
    counts = np.bincount(levels[:n_known], minlength=21)[None]
    return counts, levels[n_known:, None], rng.random((n_new, 1))


def test_pvalues_are_those_of_the_definition():
    counts, levels, draws = stream(0, n_known=5, n_new=6)
    seen = np.repeat(np.arange(21), counts[0]).tolist()
    found, after = online_pvalues(counts, levels, draws)
    for row, (level, draw) in enumerate(zip(levels[:, 0], draws[:, 0], strict=True)):
        seen.append(level)
        above, equal = sum(s > level for s in seen), sum(s == level for s in seen)
        assert found[row, 0] == pytest.approx((above + draw * equal) / len(seen))
    np.testing.assert_array_equal(after[0], np.bincount(seen, minlength=21))


def test_pvalues_are_uniform_and_independent_while_nothing_changes():
    found = np.concatenate([online_pvalues(*stream(seed))[0] for seed in range(20)])
    assert stats.kstest(found[:, 0], "uniform").pvalue > 0.01
    assert abs(np.corrcoef(found[1:, 0], found[:-1, 0])[0, 1]) < 0.03


def test_evidence_is_the_mean_capital_and_the_reserve():
    pvalues = np.array([[0.1], [0.02], [0.7]])
    logs, path = add_pvalues(START, pvalues, 0)
    capital = np.full((2, EXPONENTS.size), 0.05)
    for n, p in enumerate(pvalues[:, 0], 1):
        left = [0.95 / np.sqrt(1 + k / 1000) for k in (n - 1, n)]
        bets = [EXPONENTS * side ** (EXPONENTS - 1) for side in (p, 1 - p)]
        capital = (capital + left[0] - left[1]) * bets
        assert path[n - 1] == pytest.approx(capital.mean() + left[1])
    np.testing.assert_allclose(np.exp(logs[0]), capital)
    again, _ = add_pvalues(add_pvalues(START, pvalues[:2], 0)[0], pvalues[2:], 2)
    np.testing.assert_allclose(again, logs)
    unchanged, none = add_pvalues(logs, pvalues[:0], 3)
    assert none.size == 0
    np.testing.assert_array_equal(unchanged, logs)


@pytest.mark.parametrize("n_known", [20, 200])
def test_alarms_are_seldom_false(n_known):
    alarms = [
        add_pvalues(START, online_pvalues(*stream(seed, n_known))[0], 0)[1].max() >= 20
        for seed in range(500)
    ]
    # At most 5 %; three standard errors of the binomial.
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize("shift", [0.25, -0.2])
def test_a_change_is_seen_soon(shift):
    waits = []
    for seed in range(50):
        pvalues = online_pvalues(*stream(seed, shift=shift))[0]
        waits.append(np.argmax(add_pvalues(START, pvalues, 0)[1] >= 20))
    assert 0 < np.median(waits) < 30


@pytest.mark.slow
def test_a_change_after_years_is_seen_as_soon_as_one_at_the_start():
    waits, false = {0: [], 15_000: []}, []
    for seed in range(60):
        for n_quiet, found in waits.items():
            new = stream(seed, n_new=n_quiet + 500, shift=0.1, n_quiet=n_quiet)
            path = add_pvalues(START, online_pvalues(*new)[0], 0)[1]
            false.append(path[:n_quiet].max(initial=0) >= 20)
            found.append(np.argmax(path[n_quiet:] >= 20))
    late, early = np.median(waits[15_000]), np.median(waits[0])
    assert 0 < late <= 2 * early
    assert np.sum(false) / 60 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def capital(losses, bound):
    bets, largest = Bets(), 0.0
    for n, loss in enumerate(losses, 1):
        bets = bets.add(loss - bound, bound)
        largest = max(largest, bets.log_capital)
        if largest >= np.log(20):
            return n
    return 0


@pytest.mark.slow
def test_an_audit_is_seldom_wrong():
    rng = np.random.default_rng(0)
    alarms = [capital(rng.random(500) < 0.1, 0.1) > 0 for _ in range(500)]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_an_audit_finds_a_risk_that_grew():
    rng = np.random.default_rng(0)
    waits = np.array([capital(rng.random(200) < 0.15, 0.06) for _ in range(200)])
    # Measured prototype: 96 % within 200 labels.
    assert np.mean(waits > 0) >= 0.9


def test_a_bet_never_loses_everything():
    bets = Bets()
    for loss in [1.0] * 50 + [0.0] * 50:
        bets = bets.add(loss - 0.3, 0.3)
        assert np.isfinite(bets.log_capital)
        assert Bets().add(-0.5, 0.5) == Bets(1, -0.5, 0.25, 0.0)


def test_a_stake_is_the_mean_excess_over_the_mean_square_of_the_past():
    past = Bets(n=2, total=0.9, squares=0.5)
    mean, square = (0.9 + 0.5 - 0.3) / 4, (0.5 + 0.2**2) / 4
    stake = min(mean / square, 0.5 / 0.3)
    assert past.add(-0.3, 0.3).log_capital == pytest.approx(np.log1p(-0.3 * stake))
    # A past below the bound bets nothing.
    assert Bets(n=2, total=-0.5, squares=0.2).add(0.7, 0.3).log_capital == 0
