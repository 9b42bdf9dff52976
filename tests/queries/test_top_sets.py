"""TopSetRanker: small sets, a best item in most of them."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from queries.drawn import PIPELINES_ROUTE, draw_queries
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import TopSetRanker
from skrank_abstain.queries._best_sets import first_best_proba, items_differ
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance


@pytest.fixture(scope="module")
def ranker(model, past):
    X, y, qid = past
    return TopSetRanker(model, random_state=0).fit(X, y, qid=qid)


def test_queries_are_divided_by_purpose(ranker, past):
    differ = items_differ(past[1], group_queries(past[2], past[2].size))
    n_tuning, n_rest = ranker.n_tuning_queries_, ranker.n_queries_
    assert n_tuning == 60
    assert n_tuning + n_rest + ranker.n_equal_queries_ == 200
    assert 0 < ranker.n_equal_queries_ < (~differ).sum()
    assert ranker.prefit_


def test_a_set_is_what_its_threshold_says(ranker, new):
    X, _, qid = new
    inside, sizes = ranker.predict_set(X, qid), ranker.set_sizes(X, qid)
    assert inside.dtype == bool
    assert sizes.dtype == np.int64
    tie_model = ranker.tie_model_
    values = tie_model.transform(X[:, 0], group_queries(qid, qid.size), None)
    for k, query in enumerate(np.unique(qid)):
        rows = np.flatnonzero(qid == query)
        rows = rows[np.argsort(-values[rows])]
        proba = tie_model.grade_proba(values[rows])
        added = first_best_proba(proba, tie_model.node_weights_)
        differ = 1 - (proba.prod(axis=1).sum(axis=1) * tie_model.node_weights_).sum()
        size = 1
        while size < rows.size and added[size] / differ >= ranker.threshold_:
            size += 1
        assert sizes[k] == size
        assert inside[rows].tolist() == [True] * size + [False] * (rows.size - size)


def test_score_is_the_share_of_sets_with_a_best_item(ranker, new):
    X, y, qid = new
    inside = ranker.predict_set(X, qid)
    hits = [
        (inside & (y == y[qid == q].max()))[qid == q].any()
        for q in np.unique(qid)
        if np.ptp(y[qid == q]) > 0
    ]
    assert ranker.score(X, y, qid) == np.mean(hits)
    assert len(hits) < 60
    weight = np.random.default_rng(0).uniform(size=qid.size)
    some = [q for q in np.unique(qid) if np.ptp(y[qid == q]) > 0]
    means = [weight[qid == q].mean() for q in some]
    found = ranker.score(X, y, qid, sample_weight=weight)
    assert found == pytest.approx(np.average(hits, weights=means))


def test_a_smaller_alpha_makes_larger_sets(model, past, new):
    sets = [
        TopSetRanker(model, alpha=alpha, random_state=0)
        .fit(*past)
        .predict_set(*new[::2])
        for alpha in (0.4, 0.2, 0.05)
    ]
    for smaller, larger in pairwise(sets):
        assert (larger >= smaller).all()
        assert larger.sum() > smaller.sum()


def test_sets_do_not_depend_on_the_batch_or_the_order_of_rows(ranker, new):
    X, _, qid = new
    inside = ranker.predict_set(X, qid)
    order = np.random.default_rng(0).permutation(qid.size)
    np.testing.assert_array_equal(
        ranker.predict_set(X[order], qid[order]), inside[order]
    )
    one = qid == 7
    np.testing.assert_array_equal(ranker.predict_set(X[one]), inside[one])


def test_equal_scores_come_in_together(model, past, new):
    X, y, qid = past
    ranker = TopSetRanker(model, random_state=0).fit(np.round(X), y, qid)
    X, _, qid = new
    inside, score = ranker.predict_set(np.round(X), qid), np.round(X[:, 0])
    for query in np.unique(qid):
        own = qid == query
        assert score[own & inside].min() > score[own & ~inside].max(initial=-np.inf)


def test_ties_at_the_top_are_all_inside(ranker):
    X = np.zeros((5, 2))
    assert ranker.predict_set(X, qid=0).all()
    assert ranker.set_sizes(X, qid=0).tolist() == [5]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The scores do not agree")
@pytest.mark.parametrize("n_queries", [30, 150])
def test_a_new_set_holds_a_best_item_as_often_as_promised(model, n_queries):
    population = draw_queries(1000, 10**6)
    share = []
    for seed in range(150):
        past = draw_queries(n_queries, seed)
        ranker = TopSetRanker(model, alpha=0.2, random_state=seed).fit(*past)
        share.append(ranker.score(*population))
    error = np.std(share) / np.sqrt(len(share))
    assert np.mean(share) > 0.8 - 2 * error


def test_it_is_saved_and_cloned(ranker, new):
    X, _, qid = new
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        loaded.predict_set(X, qid), ranker.predict_set(X, qid)
    )
    assert clone(ranker).get_params()["alpha"] == 0.1
    with pytest.raises(NotFittedError):
        TopSetRanker(Ridge()).predict_set(X)


def test_features_may_be_looked_at(model, past, new):
    X, y, qid = past
    X = np.column_stack([X, y + np.random.default_rng(0).normal(size=y.size)])
    ranker = TopSetRanker(model, tie_model="feature_aware_relevance", random_state=0)
    ranker.fit(X[:, [0, 2]], y, qid)
    X, y, qid = new
    assert ranker.tie_model_.weights_[1] > 0
    better = np.column_stack([X[:, 0], y])
    assert ranker.set_sizes(better, qid).mean() < 4


@pytest.mark.filterwarnings("ignore:The scores do not agree")
def test_routing_hands_on_the_queries(past, routing):
    X, y, qid = past
    search = GridSearchCV(
        TopSetRanker(Ridge(), calibration_size=0.5, random_state=0),
        {"alpha": [0.2, 0.3]},
        cv=GroupKFold(2),
        refit=False,
    )
    params = {"qid": qid, "groups": qid}
    search.fit(X, y, **params)
    assert (search.cv_results_["mean_test_score"] > 0.6).all()


@PIPELINES_ROUTE
def test_routing_hands_on_the_queries_of_a_pipeline(past, routing):
    X, y, qid = past
    params = {"qid": qid, "groups": qid}
    pipeline = make_pipeline(StandardScaler(), TopSetRanker(Ridge(), random_state=0))
    found = cross_validate(pipeline, X, y, cv=GroupKFold(2), params=params)
    assert (found["test_score"] > 0.7).all()


def test_a_column_may_name_the_queries(model, past, new):
    X, y, qid = past
    frame = np.column_stack([X, qid])
    ranker = TopSetRanker(model, qid_col=2, random_state=0).fit(frame, y)
    X, _, qid = new
    other = TopSetRanker(model, random_state=0).fit(*past)
    np.testing.assert_array_equal(
        ranker.set_sizes(np.column_stack([X, qid])), other.set_sizes(X, qid)
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, r"alpha must be in \(0, 1\), got 0.0"),
        ({"alpha": 1}, r"alpha must be in \(0, 1\), got 1"),
        ({"tuning_size": 1.0}, r"tuning_size must be in \(0, 1\), got 1.0"),
        ({"tie_model": "graded"}, "tie_model must be a model of grades"),
        ({"alpha": 0.005}, "alpha=0.005 needs at least 199 .* got 1.. of 140"),
    ],
)
def test_bad_values_are_named(model, past, params, message):
    with pytest.raises(ValueError, match=message):
        TopSetRanker(model, **params).fit(*past)


@pytest.mark.parametrize("tie_model", ["bradley_terry", "isotonic_difference"])
def test_a_model_of_differences_knows_nothing_of_a_list(model, past, tie_model):
    with pytest.raises(ValueError, match="tie_model must be a model of grades"):
        TopSetRanker(model, tie_model=tie_model).fit(*past)
    with pytest.raises(TypeError, match="tie_model must be a model of grades"):
        TopSetRanker(model, tie_model=BradleyTerry()).fit(*past)


def test_too_few_queries_are_an_error_that_counts_them(model):
    X, y, qid = draw_queries(10, 0)
    with pytest.raises(
        ValueError, match=r"at least 9 calibration queries .* got \d of"
    ):
        TopSetRanker(model).fit(X, y, qid)
    ranker = TopSetRanker(model, tie_model=GradedRelevance(max_grades=2), alpha=0.5)
    assert ranker.fit(X, y, qid).n_queries_ < 9


def test_labelled_rows_need_their_queries(ranker, new):
    X, y, _ = new
    with pytest.raises(ValueError, match="qid= must be given to score labelled rows"):
        ranker.score(X, y)


def test_a_score_of_equal_items_is_undefined(ranker):
    X, y, qid = np.arange(8.0).reshape(4, 2), np.ones(4), [0, 0, 1, 1]
    with pytest.warns(UndefinedMetricWarning, match="no query differ"):
        assert np.isnan(ranker.score(X, y, qid))


def test_unknown_arguments_of_fit_are_refused(model, past):
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        TopSetRanker(model).fit(*past, group=[1])
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_another_alpha_takes_the_threshold_of_a_new_fit(ranker, model, past, new):
    other = ranker.at_alpha(0.3)
    again = TopSetRanker(model, alpha=0.3, random_state=0).fit(*past)
    assert other.threshold_ == again.threshold_ > ranker.threshold_
    assert other.get_params()["alpha"] == 0.3
    assert ranker.get_params()["alpha"] == 0.1
    assert pickle.loads(pickle.dumps(ranker)).at_alpha(0.3).threshold_ == (
        other.threshold_
    )
    with pytest.raises(ValueError, match=r"alpha=0\.001 needs at least 999"):
        ranker.at_alpha(0.001)
    with pytest.raises(NotFittedError):
        TopSetRanker(model).at_alpha(0.2)


def test_a_verbose_fit_prints_one_line(model, past, capsys):
    TopSetRanker(model, random_state=0, verbose=1).fit(*past)
    assert capsys.readouterr().out.startswith("[TopSetRanker] calibrated on 1")
