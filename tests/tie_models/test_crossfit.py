"""Fits that have not seen what they judge, and the choice by them."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from skrank_abstain.pairs import group_queries
from skrank_abstain.tie_models import (
    BradleyTerry,
    IsotonicDifference,
    LabelledPairs,
    LabelledScores,
    ThurstoneMosteller,
    choose_tie_model,
)
from skrank_abstain.tie_models._crossfit import CrossFitted, cross_fit


def labelled(scores, y, qid):
    scores = np.asarray(scores, dtype=float)
    return LabelledScores(
        scores, np.asarray(y, dtype=float), group_queries(qid, scores.size)
    )


def simulated(link, n_queries=150, size=12, seed=0):
    """Pairs of two items: exactly the model of differences that ``link`` names."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n_queries * size, 2))
    noise = rng.logistic(size=n_queries * size)
    if link == "probit":
        noise = rng.normal(size=n_queries * size)
    latent = scores[:, 0] - scores[:, 1] + noise
    label = np.sign(np.where(np.abs(latent) < 1, 0, latent))
    y = np.stack([label, np.zeros(label.size)], axis=1)
    return labelled(scores.ravel(), y.ravel(), np.repeat(np.arange(label.size), 2))


def cross_fits(kind, data):
    """Return (fit without the query, query's rows) for each query with pairs."""
    codes = data.queries.codes
    rows = np.flatnonzero(data.queries.sizes[codes] > 1)
    for rest, part in GroupKFold(5).split(rows, groups=codes[rows]):
        rest = rows[rest]
        model = kind().fit(data.scores[rest], data.y[rest], codes[rest])
        for query in np.unique(codes[rows[part]]):
            yield model, rows[part][codes[rows[part]] == query]


def loss_by_definition(model, data, rows):
    losses = [
        -np.log(
            model.proba([data.scores[i]], [data.scores[j]])[0][
                int(np.sign(data.y[i] - data.y[j])) + 1
            ]
        )
        for i, j in combinations(rows, 2)
    ]
    return np.mean(losses), len(losses)


def test_every_query_is_judged_once_by_a_fit_without_it():
    rng = np.random.default_rng(0)
    qid = np.repeat([7, 3, 5, 1, 2, 9, 4], [3, 1, 4, 5, 2, 3, 4])
    scores, y = rng.normal(size=qid.size), rng.integers(0, 3, qid.size)
    data = labelled(scores, y, qid)
    found = cross_fit(BradleyTerry(), data)
    # Fewer than fifty queries are judged one by one; one item has no pair.
    expected = [
        loss_by_definition(model, data, rows)
        for model, rows in cross_fits(BradleyTerry, data)
    ]
    np.testing.assert_allclose(
        sorted(zip(found.loss, found.n_pairs, strict=True)), sorted(expected)
    )
    total = sum(loss * n for loss, n in expected)
    assert found.mean == pytest.approx(total / data.queries.n_pairs)


def test_of_many_queries_blocks_are_judged():
    data = simulated("logit", n_queries=20)  # 240 queries of one pair each
    found = cross_fit(BradleyTerry(), data)
    assert found.n_pairs.tolist() == pytest.approx([4.8] * 50, abs=1)
    assert found.n_pairs.sum() == 240
    expected = [
        loss_by_definition(model, data, rows)[0]
        for model, rows in cross_fits(BradleyTerry, data)
    ]
    assert found.mean == pytest.approx(np.mean(expected))


def test_of_two_queries_each_is_judged_by_a_fit_to_the_other():
    scores, y = np.array([0.0, 1.0, 2.0, 3.0] * 2), np.array([0, 1, 0, 1, 1, 0, 1, 2])
    data = labelled(scores, y, [0, 0, 0, 0, 1, 1, 1, 1])
    expected = []
    for one, other in ((slice(4), slice(4, 8)), (slice(4, 8), slice(4))):
        model = BradleyTerry().fit(scores[other], y[other])
        only = labelled(scores[one], y[one], None)
        expected.append(loss_by_definition(model, only, range(4)))
    found = cross_fit(BradleyTerry(), data)
    pairs = sorted(zip(found.loss, found.n_pairs, strict=True))
    np.testing.assert_allclose(pairs, sorted(expected))


def test_one_query_cannot_be_cross_fitted():
    data = labelled([0.0, 1.0, 2.0], [0, 1, 1], [0, 0, 0])
    assert cross_fit(BradleyTerry(), data) is None
    model = choose_tie_model([ThurstoneMosteller(), BradleyTerry()], data)
    assert isinstance(model, ThurstoneMosteller)


def test_the_choice_keeps_the_losses_it_was_made_by():
    data = simulated("logit", n_queries=20)
    candidates = [ThurstoneMosteller(), BradleyTerry()]
    model = choose_tie_model(candidates, data)
    assert list(model.candidate_losses_) == ["ThurstoneMosteller()", "BradleyTerry()"]
    expected = [cross_fit(other, data).mean for other in candidates]
    assert list(model.candidate_losses_.values()) == expected


def test_a_gain_must_exceed_two_standard_errors():
    n_pairs = np.array([10, 30, 20])
    default = CrossFitted(np.array([0.5, 0.6, 0.7]), n_pairs)
    gain = np.array([0.3, 0.1, -0.1])
    mean = (10 * 0.3 + 30 * 0.1 - 20 * 0.1) / 60
    terms = n_pairs * (gain - mean)
    error = np.sqrt(3 / 2 * (terms**2).sum()) / 60
    for more, beats in ((1.999, False), (2.001, True)):
        # Shifted so that the mean is just below and just above two errors.
        other = CrossFitted(default.loss - gain + mean - more * error, n_pairs)
        assert other.beats(default) is beats
    assert not default.beats(default)


def test_what_happened_against_all_odds_rules_a_model_out():
    n_pairs = np.ones(2, dtype=int)
    possible = CrossFitted(np.array([1.0, 2.0]), n_pairs)
    impossible = CrossFitted(np.array([0.1, np.inf]), n_pairs)
    assert possible.beats(impossible)
    assert not impossible.beats(possible)
    assert not impossible.beats(impossible)


@pytest.mark.parametrize(
    ("link", "kind"), [("logit", BradleyTerry), ("probit", ThurstoneMosteller)]
)
def test_the_generating_model_is_recovered(link, kind):
    candidates = [BradleyTerry(), ThurstoneMosteller()]
    model = choose_tie_model(candidates, simulated(link, n_queries=3000))
    assert isinstance(model, kind)


def test_the_first_model_wins_ties():
    data = simulated("logit", n_queries=10)
    first, second = BradleyTerry(), BradleyTerry()
    assert choose_tie_model([first, second], data) is first


def test_a_formula_that_does_not_fit_loses():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0, 4, (3000, 2))
    gap = np.abs(scores[:, 0] - scores[:, 1])
    # Almost always tied below 1, almost never above.
    tied = rng.random(3000) < np.where(gap < 1, 0.95, 0.05)
    label = np.where(tied, 0, np.sign(scores[:, 0] - scores[:, 1]))
    y = np.stack([label, np.zeros(3000)], axis=1).ravel()
    data = labelled(scores.ravel(), y, np.repeat(np.arange(3000), 2))
    model = choose_tie_model([BradleyTerry(), IsotonicDifference()], data)
    assert isinstance(model, IsotonicDifference)


@pytest.mark.parametrize(("n_queries", "chosen"), [(19, False), (20, True)])
def test_fewer_than_twenty_queries_choose_nothing(n_queries, chosen):
    rng = np.random.default_rng(0)
    left, right = rng.uniform(0, 4, (2, 200 * n_queries))
    # Almost always tied below a gap of 1, almost never above.
    tied = rng.random(left.size) < np.where(np.abs(left - right) < 1, 0.95, 0.05)
    label = np.where(tied, 0, np.sign(left - right))
    groups = np.repeat(np.arange(n_queries), 200)
    data = LabelledPairs(left, right, label.astype(int), groups)
    model = choose_tie_model([BradleyTerry(), IsotonicDifference()], data)
    assert isinstance(model, IsotonicDifference) is chosen
    assert len(model.candidate_losses_) == 2


def test_pairs_of_a_group_stay_together():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 30))
    label = np.sign(left - right).astype(int)
    groups = np.repeat(np.arange(3), 10)
    data = LabelledPairs(left, right, label, groups)
    assert cross_fit(IsotonicDifference(), data).n_pairs.tolist() == [10, 10, 10]
