"""What `evaluate` of the rankers of whole queries returns, query by query."""

import numpy as np
import pytest

from skrank_abstain.queries import QueryRiskRanker, TopSetRanker


@pytest.fixture(scope="module")
def weight(new):
    return np.random.default_rng(0).uniform(size=new[1].size)


@pytest.fixture(scope="module")
def sets(model, past):
    return TopSetRanker(model, random_state=0).fit(*past)


@pytest.fixture(scope="module")
def lists(model, past):
    return QueryRiskRanker(model, coverage=0.5, random_state=0).fit(*past)


def test_sets_of_labelled_queries(sets, new, weight):
    X, y, qid = new
    found, inside = sets.evaluate(X, y, qid, weight), sets.predict_set(X, qid)
    np.testing.assert_array_equal(found.size, sets.set_sizes(X, qid))
    assert found.size.dtype == found.n_items.dtype == np.int64
    for k in range(60):
        own = qid == k
        best = inside[own & (y == y[own].max())].any()
        expected = best if np.ptp(y[own]) else np.nan
        np.testing.assert_equal(found.holds_best[k], float(expected))
        assert found.n_items[k] == own.sum()
        assert found.weight[k] == pytest.approx(weight[own].mean())
    assert found.share == sets.score(X, y, qid, weight)
    mean = np.average(found.size, weights=found.weight)
    assert found.mean_size == pytest.approx(mean)
    assert (sets.evaluate(X, y, qid).weight == 1).all()


def test_lists_of_labelled_queries(lists, new, weight):
    X, y, qid = new
    found = lists.evaluate(X, y, qid, sample_weight=weight)
    np.testing.assert_array_equal(found.accepted, lists.accept_queries(X, qid))
    np.testing.assert_array_equal(found.metric, lists.query_metric(X, y, qid))
    np.testing.assert_array_equal(found.risk, lists.query_risk(X, qid))
    known = ~np.isnan(found.metric)
    both, w = known & found.accepted, found.weight
    assert 0 < both.sum() < known.sum() < 60
    mean = np.average(1 - found.metric[both], weights=w[both])
    assert found.selective_risk == pytest.approx(mean)
    mean = np.average(1 - found.metric[known], weights=w[known])
    assert found.full_risk == pytest.approx(mean)
    assert found.coverage == pytest.approx(np.average(found.accepted, weights=w))
    assert lists.score(X, y, qid, weight) == 1 - found.selective_risk
