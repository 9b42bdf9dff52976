"""QueryRiskRanker: whole queries are left to a person, by their expected metric."""

import json
import pickle

import numpy as np
import pytest
from doubles import named
from queries.drawn import draw_queries
from sequential import is_rare
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import ndcg_score

from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskRanker
from skrank_abstain.queries._expected_metrics import ListMetric, gains_of

METRICS = ["ndcg@10", "mrr", "precision@3"]


def test_half_of_the_queries_are_accepted(half, past, new):
    X, _, qid = past
    assert half.coverage_ == 0.5
    assert half.accept_queries(X, qid=qid).accepted.mean() == 0.5
    assert (half.n_queries_, half.n_tuning_queries_) == (200, 0)
    assert not half.certified_
    found = half.accept_queries(new[0], qid=new[2])
    assert len(found) == found.accepted.size == 60
    np.testing.assert_array_equal(found.accepted, found.risk <= half.threshold_)


def test_a_table_of_queries_names_them_in_any_order_of_rows(half, new):
    X, y, qid = new
    name = np.array([f"q{k}" for k in qid])
    order = np.random.default_rng(0).permutation(qid.size)
    found = half.accept_queries(X[order], qid=name[order])
    # Not the order of np.unique.
    assert found.qid.tolist() == list(dict.fromkeys(name[order].tolist()))
    frame = found.to_frame().set_index("qid").loc[[f"q{k}" for k in np.unique(qid)]]
    here = half.query_risk(X, qid=qid)
    np.testing.assert_array_equal(frame["risk"], here.risk)
    np.testing.assert_array_equal(frame["accepted"], here.accepted)
    assert repr(found).endswith(f"(n_queries=60, accepted={here.accepted.sum()})")
    rows = half.evaluate(X, y, qid=name).to_dicts()
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    gains = ["ndcg@10 (exponential gain)", "ndcg@10 (linear gain)"]
    assert list(rows[0]) == ["qid", "risk", "accepted", *gains]
    assert np.isnan(found.metric).all()  # nothing is known without labels


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_a_metric_names_its_gain_and_the_linear_one_is_that_of_sklearn(
    model, past, new, gain
):
    X, y, qid = new
    ranker = QueryRiskRanker(model, metric="ndcg@3", coverage=0.5, gain=gain)
    found = ranker.fit(**named(*past)).evaluate(X, y, qid=qid)
    assert next(iter(found.metrics)) == f"ndcg@3 ({gain} gain)"
    np.testing.assert_array_equal(found.metric, found.metrics[f"ndcg@3 ({gain} gain)"])
    for q, linear in enumerate(found.metrics["ndcg@3 (linear gain)"]):
        own = qid == q
        if y[own].any() and own.sum() > 1:
            assert linear == pytest.approx(ndcg_score([y[own]], [X[own, 0]], k=3))


def test_a_gain_that_does_not_apply_is_left_out(model, past, new):
    X, y, qid = new
    ranker = QueryRiskRanker(model, coverage=0.5, gain=np.square).fit(**named(*past))
    found = ranker.evaluate(X, y / 2, qid=qid)
    assert list(found.metrics) == ["ndcg@10 (own gain)", "ndcg@10 (linear gain)"]
    ranker.set_params(metric="mrr").fit(**named(*past))
    assert list(ranker.evaluate(X, y, qid=qid).metrics) == ["mrr"]


def test_queries_without_a_relevant_item_are_counted(half, past):
    _, y, qid = past
    irrelevant = sum(y[qid == q].max() == 0 for q in np.unique(qid))
    assert 0 < irrelevant == half.n_irrelevant_queries_


@pytest.mark.parametrize("metric", METRICS)
def test_a_risk_is_what_the_grades_expect(model, past, new, metric):
    ranker = QueryRiskRanker(model, metric=metric, coverage=0.5, random_state=0)
    ranker.fit(**named(*past))
    X, _, qid = new
    risk, tie_model = ranker.query_risk(X, qid=qid).risk, ranker.tie_model_
    values = tie_model.transform(X[:, 0], group_queries(qid, qid.size), None)
    for k in range(0, 60, 10):
        rows = np.flatnonzero(qid == k)
        rows = rows[np.argsort(-X[rows, 0])]
        # Drawn anew: the error of a mean over 1000 draws is at most 1/2 / sqrt(1000).
        expected = ListMetric.parse(metric).expected(
            tie_model.grade_proba(values[rows]),
            tie_model.node_weights_,
            np.array([0.0, 1.0, 3.0]),
            X[rows, 0],
            seed=99,
            n_draws=20_000,
        )
        assert risk[k] == pytest.approx(1 - expected, abs=4 * 0.5 / np.sqrt(1000))


@pytest.mark.parametrize("metric", METRICS)
def test_accepted_lists_are_better(model, past, metric):
    ranker = QueryRiskRanker(model, metric=metric, coverage=0.3, random_state=0)
    ranker.fit(**named(*past))
    X, y, qid = draw_queries(500, 2)
    queries = ranker.evaluate(X, y, qid=qid)
    found, accepted = queries.metric, queries.accepted
    known = ~np.isnan(found)
    assert found[accepted & known].mean() > found[~accepted & known].mean() + 0.05
    assert ranker.score(X, y, qid=qid) == pytest.approx(found[accepted & known].mean())


def test_metrics_of_queries_are_those_of_their_lists(half, new):
    X, y, qid = new
    found = half.evaluate(X, y, qid=qid).metric
    queries = group_queries(qid, qid.size)
    metric, gains = ListMetric.parse("ndcg@10"), gains_of(y, "exponential")
    np.testing.assert_array_equal(found, metric.by_query(X[:, 0], gains, queries))
    none = [y[qid == q].max() == 0 for q in np.unique(qid)]
    np.testing.assert_array_equal(np.isnan(found), none)


def test_a_score_weighs_queries_by_their_items(half, new):
    X, y, qid = new
    weight = np.random.default_rng(0).uniform(size=qid.size)
    queries = half.evaluate(X, y, qid=qid)
    found, accepted = queries.metric, queries.accepted
    used = np.flatnonzero(accepted & ~np.isnan(found))
    means = [weight[qid == q].mean() for q in used]
    expected = np.average(found[used], weights=means)
    assert half.score(X, y, qid=qid, sample_weight=weight) == pytest.approx(expected)


def test_risks_do_not_depend_on_the_batch_or_the_order_of_rows(half, new):
    X, _, qid = new
    risk = half.query_risk(X, qid=qid).risk
    order = np.lexsort((np.random.default_rng(0).permutation(qid.size), qid))
    shuffled = half.query_risk(X[order], qid=qid[order])
    np.testing.assert_array_equal(shuffled.risk, risk)
    one = qid == 7
    np.testing.assert_array_equal(half.query_risk(X[one]).risk, risk[[7]])


def test_a_coverage_of_one_accepts_every_query(model, past, new):
    ranker = QueryRiskRanker(model, coverage=1.0).fit(**named(*past))
    assert ranker.coverage_ == 1
    assert ranker.accept_queries(new[0], qid=new[2]).accepted.all()


def test_a_bound_is_certified_on_queries_used_for_nothing_else(model, past):
    ranker = QueryRiskRanker(model, max_risk=0.3, random_state=0).fit(**named(*past))
    assert (ranker.n_tuning_queries_, ranker.n_queries_) == (60, 140)
    assert ranker.certified_
    assert 0.2 < ranker.coverage_ <= 1
    X, y, qid = draw_queries(1000, 5)
    assert 1 - ranker.score(X, y, qid=qid) <= 0.3
    looser = QueryRiskRanker(model, max_risk=0.35, random_state=0).fit(**named(*past))
    assert looser.threshold_ >= ranker.threshold_


def test_a_bound_that_cannot_be_kept_accepts_nothing(model, past, new):
    ranker = QueryRiskRanker(model, max_risk=0.02, random_state=0)
    message = r"No threshold could be certified for max_risk=0.02 at .* on every query"
    with pytest.warns(UserWarning, match=message):
        ranker.fit(**named(*past))
    assert not ranker.certified_
    assert (ranker.threshold_, ranker.coverage_) == (-np.inf, 0)
    assert not ranker.accept_queries(new[0], qid=new[2]).accepted.any()
    with pytest.warns(UndefinedMetricWarning, match="no accepted query has a relevant"):
        assert np.isnan(ranker.score(**named(*new)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No threshold could be certified")
@pytest.mark.filterwarnings("ignore:The scores do not agree")
def test_a_certified_bound_fails_in_at_most_delta_of_the_draws(model):
    X, y, qid = draw_queries(600, 10**6)

    def broken():
        for seed in range(200):
            ranker = QueryRiskRanker(model, max_risk=0.25, delta=0.2, random_state=seed)
            ranker.fit(**named(*draw_queries(120, seed)))
            yield ranker.certified_ and 1 - ranker.score(X, y, qid=qid) > 0.25

    assert is_rare(broken(), 0.2, 0.35)


def test_gains_of_ones_own_decide_what_is_relevant(model, past, new):
    X, y, qid = past
    real = y + np.random.default_rng(0).uniform(0, 0.5, y.size)
    ranker = QueryRiskRanker(model, coverage=0.5, random_state=0)
    with pytest.raises(ValueError, match=r"whole grades .* Pass gain='linear'"):
        ranker.fit(X, real, qid=qid)
    ranker.set_params(gain=np.floor, metric="mrr").fit(X, real, qid=qid)
    whole = QueryRiskRanker(model, coverage=0.5, metric="mrr", gain="linear")
    whole.fit(X, y, qid=qid)
    assert ranker.n_irrelevant_queries_ == whole.n_irrelevant_queries_ > 0
    # Ten grades of real numbers say what the three whole ones do.
    X, _, qid = new
    one, other = ranker.query_risk(X, qid=qid), whole.query_risk(X, qid=qid)
    assert np.corrcoef(one.risk, other.risk)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "coverage or max_risk must be given, and not both, got coverage=None"),
        ({"coverage": 0.5, "max_risk": 0.2}, "not both, got coverage=0.5 and max_"),
        ({"coverage": 0.0}, r"coverage must be in \(0, 1\], got 0.0"),
        ({"max_risk": 1.0}, r"max_risk must be in \(0, 1\), got 1.0"),
        ({"max_risk": 0.5, "delta": 0}, r"delta must be in \(0, 1\), got 0"),
        ({"coverage": 0.5, "metric": "map"}, "metric must be 'ndcg@k' or .*got 'map'"),
        ({"coverage": 0.5, "gain": "log"}, "gain must be 'exponential', 'linear' or"),
        ({"coverage": 0.5, "gain": [1]}, "gain must be 'exponential', 'linear' or"),
    ],
)
def test_bad_values_are_named(model, past, params, message):
    with pytest.raises(ValueError, match=message):
        QueryRiskRanker(model, **params).fit(**named(*past))


def test_tuning_queries_need_a_relevant_item(model):
    X, y, qid = draw_queries(4, 0)
    y = np.zeros(y.size)
    with (
        pytest.warns(UserWarning, match="All items have the same relevance"),
        pytest.raises(ValueError, match="y must give at least one of the queries"),
    ):
        QueryRiskRanker(model, max_risk=0.5).fit(X, y, qid=qid)


@pytest.mark.filterwarnings("ignore:270 of 400 rows have a qid of their own")
def test_lists_of_one_item_are_accepted_together(model):
    X, y, qid = draw_queries(60, 3)
    qid = np.where(qid < 40, 1000 + np.arange(qid.size), qid)
    y[qid >= 1000] = 1.0
    with pytest.warns(
        UserWarning, match="queries are accepted where .* many have the same"
    ):
        ranker = QueryRiskRanker(model, coverage=0.5, random_state=0).fit(X, y, qid=qid)
    assert ranker.coverage_ > 0.9


def test_another_coverage_takes_the_threshold_of_a_new_fit(half, model, past, new):
    other = half.at_coverage(0.8)
    again = QueryRiskRanker(model, coverage=0.8, random_state=0).fit(**named(*past))
    assert other.threshold_ == again.threshold_ > half.threshold_
    assert other.coverage_ == again.coverage_
    assert (other.coverage, half.coverage) == (0.8, 0.5)
    loaded = pickle.loads(pickle.dumps(half)).at_coverage(0.8)
    assert loaded.threshold_ == other.threshold_
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        half.at_coverage(0)
    with pytest.raises(ValueError, match=r"max_risk must be given in fit already"):
        half.at_risk(0.3)


def test_another_bound_takes_the_threshold_of_a_new_fit(model, past):
    ranker = QueryRiskRanker(model, max_risk=0.3, random_state=0).fit(**named(*past))
    other = ranker.at_risk(0.35)
    again = QueryRiskRanker(model, max_risk=0.35, random_state=0).fit(**named(*past))
    assert other.threshold_ == again.threshold_
    assert other.certified_
    half = ranker.at_coverage(0.5)
    assert half.coverage_ == 0.5
    assert not half.certified_
    assert half.max_risk is None


def test_the_share_that_tunes_is_a_parameter(model, past):
    ranker = QueryRiskRanker(model, max_risk=0.3, tuning_size=0.5, random_state=0)
    ranker.fit(**named(*past))
    assert (ranker.n_tuning_queries_, ranker.n_queries_) == (100, 100)
    with pytest.raises(ValueError, match=r"tuning_size must be in \(0, 1\), got 1"):
        ranker.set_params(tuning_size=1.0).fit(**named(*past))


def test_a_bound_holds_in_every_group_at_once(model):
    X, y, qid = draw_queries(600, 0)
    # The lists of odd queries are in a poorer order.
    X[:, 0] += np.where(qid % 2, np.random.default_rng(0).normal(0, 2, qid.size), 0)
    ranker = QueryRiskRanker(model, max_risk=0.25, random_state=0)
    site = np.where(qid % 2, "odd", "even")
    mixed = ranker.fit(X, y, qid=qid).coverage_
    assert ranker.n_group_queries_ == {None: ranker.n_queries_}
    ranker.fit(X, y, qid=qid, groups=site)
    assert ranker.n_group_queries_ == {"even": 210, "odd": 210}
    assert ranker.coverage_ < mixed
    found = ranker.evaluate(X, y, qid=qid)
    accepted, loss = found.accepted, 1 - found.metric
    for odd in (0, 1):
        own = accepted & (np.arange(600) % 2 == odd)
        assert np.nanmean(loss[own]) < 0.25
    with pytest.raises(ValueError, match="groups must be None with coverage"):
        QueryRiskRanker(model, coverage=0.5).fit(X, y, qid=qid, groups=site)
    with pytest.raises(ValueError, match="groups must be the same for all items"):
        ranker.fit(X, y, qid=qid, groups=np.arange(y.size))


def test_a_group_without_a_relevant_item_certifies_nothing(model, past):
    X, y, qid = past
    y = np.where(qid % 4 == 0, 0, y)
    ranker = QueryRiskRanker(model, max_risk=0.3, random_state=0)
    with pytest.warns(UserWarning, match=r"in each group, and True has 0"):
        ranker.fit(X, y, qid=qid, groups=qid % 4 == 0)
    assert not ranker.certified_


def test_lists_of_labelled_queries(half, new):
    X, y, qid = new
    weight = np.random.default_rng(0).uniform(size=y.size)
    found = half.evaluate(X, y, qid=qid, sample_weight=weight)
    same = half.evaluate(X, y, qid=qid)
    for name in ("qid", "accepted", "metric", "risk"):
        np.testing.assert_array_equal(getattr(found, name), getattr(same, name))
    known = ~np.isnan(found.metric)
    both, w = known & found.accepted, found.weight
    assert 0 < both.sum() < known.sum() < 60
    mean = np.average(1 - found.metric[both], weights=w[both])
    assert found.selective_risk == pytest.approx(mean)
    mean = np.average(1 - found.metric[known], weights=w[known])
    assert found.full_risk == pytest.approx(mean)
    assert found.coverage == pytest.approx(np.average(found.accepted, weights=w))
    assert half.score(X, y, qid=qid, sample_weight=weight) == 1 - found.selective_risk
