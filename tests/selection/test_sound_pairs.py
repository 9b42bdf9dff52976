"""Pairs with a novel item are accepted by no region; all others as they were."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scored import at_coverage, mass_of, scored, totals_of

from skrank_abstain._validation import ZERO_ONE_LOSS, check_loss
from skrank_abstain.pairs import Scores, enumerate_pairs, group_queries
from skrank_abstain.selection import (
    Coverage,
    GuaranteedCoverage,
    at_thresholds,
    decide_queries,
)
from skrank_abstain.selection._calibration import fit_calibration
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, IsotonicDifference

MODELS = [BradleyTerry, IsotonicDifference, GradedRelevance]


def draw(seed, n_queries=40):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, n_queries)
    qid = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    y = rng.integers(0, 3, qid.size).astype(float)
    scores = np.round(y + rng.normal(size=qid.size), 1)
    novel = rng.random(qid.size) < 0.15
    novel[qid == qid[0]] = True
    return scores, y, group_queries(qid, qid.size), novel


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.__name__)
def known(request):
    scores, y, queries, novel = draw(0)
    data = Scores(scores, queries, y=y, novel=novel)
    return fit_calibration(request.param(), ZERO_ONE_LOSS, data)


def pairs_of(calibration, region, seed=1):
    """Return every pair of new items, as it would be decided without novel ones."""
    scores, y, queries, novel = draw(seed)
    values = calibration.model.transform(scores, queries, None)
    made = decide_queries(calibration.engine, region, Scores(values, queries))
    items = scored(values, queries, y, novel)
    return made, items, queries, y, novel


def test_totals_are_sums_over_pairs(known):
    region = known.select(Coverage(0.5))
    made, items, queries, y, novel = pairs_of(known, region)
    accepted = made.accepted & ~(novel[made.left] | novel[made.right])
    truth = np.sign(y[made.left] - y[made.right]).astype(int)
    right = made.label == truth
    code = queries.codes[made.left]

    def add(which):
        return np.bincount(code, which, queries.n_queries)

    for weight in (None, np.ones(y.size)):
        totals = totals_of(known.engine, region, items, weight)
        assert {getattr(totals, each.name).size for each in fields(totals)} == {
            queries.n_queries
        }
        assert_allclose(totals.pairs, queries.pair_counts)
        assert_allclose(totals.accepted, add(accepted))
        assert_allclose(totals.correct, add(accepted & right))
        assert_allclose(totals.correct_all, add(right))
        assert_allclose(totals.tied, add(truth == 0))
        assert_allclose(totals.accepted_tied, add(accepted & (truth == 0)))
        assert_allclose(totals.answered_tie, add(accepted & (made.label == 0)))
        wrong = accepted & (truth * made.label == -1)
        assert_allclose(totals.misranked, add(wrong))
        assert_allclose(totals.loss, add(accepted & ~right))
        assert_allclose(totals.loss_all, add(~right))
        assert_allclose(totals.tie_loss, add(accepted & (truth != 0)))


def test_masses_thresholds_and_profile_are_of_sound_pairs(known):
    region = known.select(Coverage(0.5))
    made, items, queries, y, novel = pairs_of(known, region)
    sound = ~(novel[made.left] | novel[made.right])
    assert mass_of(known.engine, region, items) == (made.accepted & sound).sum()
    ties = made.decided_tie & sound
    tally = known.engine.tally(items, [region], outcomes=False)
    assert tally.mass()[1] == ties.sum()
    accepted, cost = at_thresholds(
        known.engine, items, np.array([region.risk, known.engine.highest])
    )
    assert_allclose(accepted.sum(axis=0), [(made.accepted & sound).sum(), sound.sum()])
    wrong = made.label != np.sign(y[made.left] - y[made.right])
    assert cost[:, 1].sum() == (wrong & sound).sum()
    assert accepted.shape == (queries.n_queries, 2)
    last = np.nextafter(known.engine.highest, np.inf)
    accepted, cost = at_thresholds(
        known.engine, items, np.array([known.engine.highest, last])
    )
    assert_array_equal(accepted[:, 1], queries.pair_counts)
    assert cost[:, 1].sum() == wrong.sum()
    profile = known.engine.tally(items).profile()
    assert (np.diff(profile.risk) > 0).all()
    assert profile.risk[-1] == last
    assert profile.n_pairs[-1] == (~sound).sum()
    assert profile.n_pairs.sum() == sound.size
    assert profile.loss[-1] == (wrong & ~sound).sum()
    assert profile.loss.sum() == wrong.sum()


def test_coverage_counts_all_pairs(known):
    items = known.items
    n_sound = items.sound.n_pairs
    assert 0 < n_sound < items.n_pairs
    most = n_sound / items.n_pairs
    for coverage in (0.2, 0.5, 0.9 * most, most):
        region = known.select(Coverage(coverage))
        mass = mass_of(known.engine, region, items)
        assert mass >= coverage * items.n_pairs * (1 - 1e-12)
        if coverage == most:
            assert mass == n_sound
    random = known.select(Coverage(0.4, boundary="randomize"))
    assert_allclose(mass_of(known.engine, random, items), 0.4 * items.n_pairs)


@pytest.mark.parametrize("coverage", [0.97, 1.0])
@pytest.mark.parametrize("rule", [Coverage, GuaranteedCoverage])
def test_a_coverage_that_cannot_be_reached(known, rule, coverage):
    with pytest.raises(ValueError, match=r"coverage must be lower, got .*novel item"):
        known.select(rule(coverage))


def test_ranks_of_a_novel_item_are_open_and_push_the_others(known):
    region = known.select(Coverage(0.5))
    made, items, queries, _, novel = pairs_of(known, region)
    bounds = known.engine.ranks(region, items)
    order = made.decided_order & ~(novel[made.left] | novel[made.right])
    over = np.zeros((novel.size, novel.size), dtype=bool)
    ahead = made.label > 0
    winner = np.where(ahead, made.left, made.right)[order]
    loser = np.where(ahead, made.right, made.left)[order]
    over[winner, loser] = True
    for through in range(novel.size):
        over |= over[:, [through]] & over[[through]]
    size = queries.sizes[queries.codes]
    expected = np.column_stack([1 + over.sum(axis=0), size - over.sum(axis=1)])
    assert_array_equal(bounds, expected)
    assert_array_equal(bounds[novel, 0], 1)
    assert_array_equal(bounds[novel, 1], size[novel])
    graph = known.engine.graph(region, items).toarray()
    reached = graph.copy()
    for through in range(novel.size):
        reached |= reached[:, [through]] & reached[[through]]
    assert_array_equal(reached, over)


def test_without_novel_items_nothing_changes(known):
    region = known.select(Coverage(0.5))
    _, items, queries, y, novel = pairs_of(known, region)
    engine = known.engine
    none = scored(items.value[np.argsort(items.rows)], queries, y, np.zeros_like(novel))
    plain = scored(items.value[np.argsort(items.rows)], queries, y)
    assert_array_equal(engine.ranks(region, none), engine.ranks(region, plain))
    assert at_coverage(engine, none, 0.7).risk == at_coverage(engine, plain, 0.7).risk
    one, other = (totals_of(engine, region, some) for some in (none, plain))
    for each in fields(one):
        assert_array_equal(getattr(one, each.name), getattr(other, each.name))


def test_misranking_costs_are_of_sound_pairs():
    scores, y, queries, novel = draw(0)
    data = Scores(scores, queries, y=y, novel=novel)
    known = fit_calibration(BradleyTerry(), check_loss("misranking"), data)
    tables = known.loss_tables()
    assert np.isfinite(tables.thresholds).all()
    left, right = enumerate_pairs(queries)
    sound = ~(novel[left] | novel[right])
    shares = tables.rest[0][:, -1] * queries.pair_counts
    assert_allclose(shares, np.bincount(queries.codes[left], sound, queries.n_queries))
