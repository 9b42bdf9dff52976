"""Accepted pairs and their loss at many thresholds, against decisions pair by pair."""

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given
from hypothesis import strategies as st
from scored import at_coverage, scored
from selection.engines import ZERO_ONE, gap_risk
from sklearn.linear_model import Ridge
from strategies import FixedModel, items, losses, models

from skrank_abstain import CostAbstainer
from skrank_abstain.concentration import choose_start
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import Scores, group_queries, pair_labels
from skrank_abstain.selection import RowPairs, _engine, at_thresholds
from skrank_abstain.tie_models import (
    BradleyTerry,
    FeatureAwareRelevance,
    GradedRelevance,
    IsotonicDifference,
)

LOSSES = {
    "zero_one": ZERO_ONE,
    # Dear swaps; a tie costs little, so that ties are predicted.
    "dear swap": np.array([[0, 1, 5], [0.5, 0, 0.5], [5, 1, 0]], dtype=float),
    # Dear ties: a tie is never predicted where there is an order.
    "dear tie": np.array([[0, 0.3, 1], [4, 0, 4], [1, 0.3, 0]]),
}
TIE_MODELS = {
    "bradley_terry": BradleyTerry(),
    "davidson": BradleyTerry(ties="davidson"),
    "isotonic": IsotonicDifference(),
    "graded": GradedRelevance(),
    "feature_aware": FeatureAwareRelevance(Ridge(), max_grades=3),
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, n_items=(1, 9), n_features=5, random_state=4)


def add_up(decisions, y, qid, loss):
    """Return a function of a mask: how many of its pairs each query has, and the loss.

    Queries in order of first appearance.
    """
    names = list(dict.fromkeys(qid))
    query = np.array([names.index(q) for q in decisions.qid], dtype=int)
    truth = pair_labels(y, decisions.left, decisions.right)
    spent = loss[decisions.label + 1, truth + 1]

    def sums(mask):
        return [
            np.bincount(query, weights=mask * values, minlength=len(names))
            for values in (np.ones(query.size), spent)
        ]

    return sums


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_equals_the_decisions_at_each_threshold(tie_model, loss, data):
    ranker = CostAbstainer(
        FirstColumn().fit(None, None),
        tie_model=TIE_MODELS[tie_model],
        loss=LOSSES[loss],
    ).fit(data.data, data.target, qid=data.qid)
    pairs = ranker.predict_pairs(data.data, qid=data.qid)
    _, items = ranker._labelled_items(data.data, data.target, data.qid)
    sums = add_up(pairs, data.target, data.qid, LOSSES[loss])
    # Risks of pairs themselves, between them, none, all; in no order.
    thresholds = np.quantile(pairs.risk, np.linspace(0, 1, 8), method="inverted_cdf")
    thresholds = np.r_[thresholds, np.linspace(0, pairs.risk.max(), 7), -np.inf]
    thresholds = np.r_[thresholds, ranker._loss.max()]  # decides everything
    thresholds = np.random.default_rng(0).permutation(thresholds)
    accepted, cost = at_thresholds(ranker._calibration.engine, items, thresholds)
    assert accepted.shape == cost.shape == (30, thresholds.size)
    for k, threshold in enumerate(thresholds):
        at = ranker._with(cost=max(threshold, 0.0)) if threshold >= 0 else None
        mask = np.zeros(len(pairs)) if at is None else decide(at, data).accepted
        n_pairs, spent = sums(mask)
        np.testing.assert_array_equal(accepted[:, k], n_pairs)
        np.testing.assert_allclose(cost[:, k], spent, rtol=1e-12, atol=1e-12)
        # Acceptance is by risk, but for the rounding of risks on the threshold.
        clear = abs(pairs.risk - threshold) > 1e-9
        np.testing.assert_array_equal(
            (mask == 1)[clear], (pairs.risk <= threshold)[clear]
        )
    assert 0 < accepted.sum() < accepted.shape[1] * len(pairs)
    assert cost.sum() > 0


def decide(ranker, data):
    return ranker.predict_pairs(data.data, qid=data.qid)


@given(items(max_size=10), models(), losses(), st.lists(st.floats(0, 3), max_size=5))
def test_difference_models_of_any_shape(data, model, loss, more):
    queries = group_queries(data.qid, data.scores.size)
    items = scored(data.scores, queries, data.y.astype(float))
    risk = gap_risk(model, loss, max(items.largest_gap, 0.25), 1e-12)
    thresholds = np.array([*more, 0.5, risk.highest, -np.inf])
    accepted, cost = at_thresholds(risk, items, thresholds)
    for k, threshold in enumerate(thresholds):
        region = risk.below(float(threshold))
        for query in range(queries.n_queries):
            rows = queries.rows(query)
            i, j = np.triu_indices(rows.size, 1)
            left, right = rows[i], rows[j]
            pairs = RowPairs.of(data.scores, left, right)
            made = risk.decide(region, data.scores, pairs)
            truth = np.sign(data.y[left] - data.y[right])
            spent = loss[made.label + 1, truth + 1]
            assert accepted[query, k] == made.accepted.sum()
            assert cost[query, k] == pytest.approx(
                spent[made.accepted].sum(), rel=1e-9, abs=1e-12
            )


@given(items(), models(), losses())
def test_acceptance_is_nested_and_the_loss_is_bounded(data, model, loss):
    queries = group_queries(data.qid, data.scores.size)
    items = scored(data.scores, queries, data.y.astype(float))
    risk = gap_risk(model, loss, max(items.largest_gap, 0.25), 1e-12)
    accepted, cost = at_thresholds(risk, items, np.linspace(0, risk.highest, 9))
    assert (np.diff(accepted, axis=1) >= 0).all()
    assert (np.diff(cost, axis=1) >= -1e-9).all()
    assert (cost <= loss.max() * accepted * (1 + 1e-12)).all()
    np.testing.assert_array_equal(accepted[:, -1], queries.pair_counts)
    # What certification asks of them.
    pairs = np.maximum(queries.pair_counts, 1)[:, None]
    choose_start(accepted / pairs, cost / (loss.max() * pairs), max_risk=0.3)


@pytest.mark.parametrize("counts", [1, 30, 100])
@pytest.mark.parametrize("loss", LOSSES)
def test_queries_counted_in_chunks(counts, loss, data, monkeypatch):
    queries = group_queries(data.qid, data.target.size)
    items = scored(data.data[:, 0], queries, data.target.astype(float))
    risk = gap_risk(FixedModel("davidson", 1.5), LOSSES[loss], items.largest_gap, 1e-12)
    thresholds = np.linspace(0, at_coverage(risk, items, 0.9).risk, 6)
    whole = at_thresholds(risk, items, thresholds)
    taken = []
    take = Scores.stretch

    def spy(self, start, stop):
        taken.append((start, stop))
        return take(self, start, stop)

    monkeypatch.setattr(_engine, "_COUNTS", counts)
    monkeypatch.setattr(Scores, "stretch", spy)
    chunked = at_thresholds(risk, items, thresholds)
    np.testing.assert_array_equal(chunked, whole)
    # Without gaps or overlaps; single queries at the least.
    assert len(taken) > 1
    assert [a for a, _ in taken] == [0, *(b for _, b in taken[:-1])]
    assert taken[-1][1] == 30
    if counts == 1:
        assert len(taken) == 30


@given(models(), losses(), st.lists(st.floats(-1, 2), max_size=9))
def test_thresholds_are_searched_for_together_as_one_by_one(model, loss, shares):
    engine = gap_risk(model, loss, 1.0)
    risks = engine.highest * np.array(shares)
    assert engine.each_below(risks) == [engine.below(risk) for risk in risks]


def test_many_thresholds_ask_the_model_as_often_as_the_slowest_of_them(monkeypatch):
    engine = gap_risk(FixedModel("davidson", 1.5), ZERO_ONE, 1.0)
    asked = []
    checked = FixedModel.checked_proba_at_gap

    def spy(self, gap):
        asked.append(gap.size)
        return checked(self, gap)

    monkeypatch.setattr(FixedModel, "checked_proba_at_gap", spy)
    risks = engine.highest * np.linspace(0.05, 0.95, 19)
    alone = []
    for risk in risks:
        engine.below(risk)
        alone.append(len(asked))
        asked.clear()
    engine.each_below(risks)
    # A tie and an order are two searches.
    assert max(alone) <= len(asked) <= max(alone) + 2 < sum(alone) / 15


def test_queries_without_pairs_have_none():
    scores, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0, 1.0])
    qid = np.array([0, 0, 1, 2])
    items = scored(scores, group_queries(qid, 4), y)
    risk = gap_risk(FixedModel("rao_kupper", 1.5), ZERO_ONE, 3.0, 1e-12)
    accepted, cost = at_thresholds(risk, items, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(accepted, [[0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(cost, np.zeros((3, 2)))
