"""Fits on pairs in bins, against fits on all pairs."""

import numpy as np
import pytest
from reference import outcomes_of
from scored import scored

from skrank_abstain.pairs import (
    GapOutcomes,
    enumerate_pairs,
    group_queries,
)
from skrank_abstain.tie_models._difference_models import (
    Davidson,
    RaoKupper,
    Thurstone,
    fit_maximum_likelihood,
    n_pairs_of,
)

LINKS = [RaoKupper(), Davidson(), Thurstone()]


def simulated(n_queries=40, size=100, cuts=(0.2, 1.0, 2.0, 3.0), noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n_queries * size)
    y = s + noise * rng.logistic(size=s.size)
    y = y if cuts is None else np.searchsorted(cuts, y).astype(float)
    return s, y, np.repeat(np.arange(n_queries), size)


def changed(change, **arguments):
    s, y, qid = simulated(**arguments)
    return change(s), y, qid


CASES = {
    "normal scores": simulated(),
    "heavy tails": changed(np.sinh),
    "outliers": changed(lambda s: np.where(s > 3, 1e4 * s, s)),
    "rounded scores": changed(lambda s: np.round(s, 1)),
    "three values": changed(lambda s: np.clip(np.round(s), -1, 1)),
    "scores of a thousandth": changed(lambda s: 1e-3 * s),
    "scores of a million": changed(lambda s: 1e6 * (s + 3)),
    "few items": simulated(1500, 9),
    "rare grades": simulated(cuts=(3.5, 7.0)),
    "real-valued grades": simulated(4, 400, cuts=None),
    "no information": simulated(noise=30.0),
    "steep": simulated(noise=0.1),
}
CASES["few and many items"] = tuple(
    np.concatenate([a, b])
    for a, b in zip(
        simulated(500, 9),
        [part + 2000 * (k == 2) for k, part in enumerate(simulated(10, 300))],
        strict=True,
    )
)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: type(link).__name__)
@pytest.mark.parametrize("name", CASES)
def test_a_fit_equals_the_fit_to_all_pairs(name, link):
    s, y, qid = CASES[name]
    queries = group_queries(qid, s.size)
    left, right = enumerate_pairs(queries)
    label = np.sign(y[left] - y[right]).astype(np.int64)
    expected = fit_maximum_likelihood(
        link,
        GapOutcomes(
            np.abs(s[left] - s[right]),
            outcomes_of(s[left] - s[right], label),
            np.ones(label.size),
        ),
    )
    pairs = scored(s, queries, y).gap_outcomes
    assert fit_maximum_likelihood(link, pairs) == pytest.approx(expected, rel=1e-6)
    assert n_pairs_of(pairs, 0) == pytest.approx((label == 0).sum())
    assert n_pairs_of(pairs, -1, 1) == pytest.approx((label != 0).sum())


def test_half_a_pair_of_each_outcome_is_added_where_there_is_no_optimum():
    pairs = GapOutcomes(np.full(3, 2.0), np.ones(3, dtype=np.int64), np.ones(3))
    with pytest.warns(UserWarning, match="half a pair of each outcome was added"):
        scale, margin = fit_maximum_likelihood(RaoKupper(), pairs)
    # No pair is tied: 3.5 of 4 pairs are won. The log of these odds, at a gap of 2.
    assert scale == pytest.approx(np.log(3.5 / 0.5) / 2, rel=1e-9)
    assert margin == 0


@pytest.mark.parametrize("tied", [[1.5], [0.5, 1.5], [1.5, 3.0], [0.5, 1.5, 3.0]])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: type(link).__name__)
def test_ties_among_the_orders_have_an_optimum(tied, link):
    # A pair of gap 1.5 is tied, one of gap 1 is not: no gap separates them.
    gap, outcome = np.array([1.0, 2.0, *tied]), np.array([1, 1] + [0] * len(tied))
    scale, margin = fit_maximum_likelihood(
        link, GapOutcomes(gap, outcome, np.ones(gap.size))
    )

    def loglik(log_scale, log_margin):
        x, m = np.exp(log_scale) * gap, np.exp(log_margin)
        values = [link.derivatives(o, x, m).value for o in (0, 1)]
        return np.where(outcome == 0, *values).sum()

    at, step = np.log([scale, margin]), 1e-4
    for change in ([step, 0], [0, step]):
        slope = loglik(*(at + change)) - loglik(*(at - change))
        assert slope / (2 * step) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("factor", [2.0**-40, 3.0, 1e9])
def test_a_factor_on_the_scores_changes_the_scale_only(factor):
    s, y, qid = simulated()
    fits = []
    for unit in (1.0, factor):
        items = scored(unit * s, group_queries(qid, s.size), y)
        scale, margin = fit_maximum_likelihood(RaoKupper(), items.gap_outcomes)
        fits.append((scale * unit, margin))
    assert fits[0] == pytest.approx(fits[1], rel=1e-9)
