"""Fits that have not seen what they judge, and the choice by them."""

import numpy as np
import pytest

from skrank_abstain.pairs import group_queries
from skrank_abstain.tie_models import (
    BradleyTerry,
    IsotonicDifference,
    LabelledPairs,
    LabelledScores,
    ThurstoneMosteller,
    choose_tie_model,
    cross_fit,
    cross_fitted_loss,
)


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


def test_every_pair_is_judged_once_by_a_fit_without_its_query():
    rng = np.random.default_rng(0)
    qid = np.repeat([7, 3, 5, 1, 2, 9, 4], [3, 1, 4, 5, 2, 3, 4])
    scores, y = rng.normal(size=qid.size), rng.integers(0, 3, qid.size)
    data = labelled(scores, y, qid)
    parts = cross_fit(BradleyTerry(calibration="counts"), data)
    assert len(parts) == 5
    assert sum(items.n_pairs for _, items in parts) == data.queries.n_pairs
    for model, items in parts:
        # The queries of this part, found by their scores.
        inside = np.isin(scores, items.scores)
        rest = ~inside & (qid != 3)
        expected = BradleyTerry(calibration="counts")
        expected.fit(scores[rest], y[rest], qid[rest])
        assert model.theta_ == expected.theta_


def test_one_query_cannot_be_cross_fitted():
    data = labelled([0.0, 1.0, 2.0], [0, 1, 1], [0, 0, 0])
    assert cross_fit(BradleyTerry(), data) == []
    model = choose_tie_model([ThurstoneMosteller(), BradleyTerry()], data)
    assert isinstance(model, ThurstoneMosteller)


def test_the_choice_keeps_the_losses_it_was_made_by():
    data = simulated("logit", n_queries=20)
    candidates = [ThurstoneMosteller(), BradleyTerry()]
    model = choose_tie_model(candidates, data)
    assert list(model.candidate_losses_) == ["ThurstoneMosteller()", "BradleyTerry()"]
    expected = [cross_fitted_loss(cross_fit(other, data)) for other in candidates]
    assert list(model.candidate_losses_.values()) == expected
    assert model is candidates[int(np.argmin(expected))]


def test_the_loss_is_that_of_all_held_out_pairs():
    data = simulated("logit", n_queries=10)
    parts = cross_fit(BradleyTerry(), data)
    total, n_pairs = 0.0, 0
    for model, items in parts:
        for a, b in zip(items.offsets[:-1], items.offsets[1:], strict=True):
            assert b - a == 2
            low, high = items.scores[a], items.scores[a + 1]
            outcome = np.sign(items.grades[a + 1] - items.grades[a])
            proba = model.proba([high], [low])[0]
            total -= np.log(proba[int(outcome) + 1])
            n_pairs += 1
    assert cross_fitted_loss(parts) == pytest.approx(total / n_pairs, rel=1e-10)


@pytest.mark.parametrize(
    ("link", "kind"), [("logit", BradleyTerry), ("probit", ThurstoneMosteller)]
)
def test_the_generating_model_is_recovered(link, kind):
    candidates = [BradleyTerry(), ThurstoneMosteller()]
    model = choose_tie_model(candidates, simulated(link, n_queries=3000))
    assert isinstance(model, kind)


def test_the_simpler_model_wins_ties():
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


def test_pairs_of_a_group_stay_together():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 30))
    label = np.sign(left - right).astype(int)
    groups = np.repeat(np.arange(3), 10)
    parts = cross_fit(IsotonicDifference(), LabelledPairs(left, right, label, groups))
    assert [gaps.n_pairs for _, gaps in parts] == [10, 10, 10]
