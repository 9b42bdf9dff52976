"""Scores that are shifted from query to query, and the value that undoes it."""

import numpy as np
import pytest
from doubles import FirstColumn

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import ScoredItems, group_queries
from skrank_abstain.tie_models import (
    GradedRelevance,
    LabelledScores,
    cross_fit,
    cross_fitted_loss,
    tie_model_candidates,
)


def shifted(n_queries, random_state, spread=3.0):
    """Return data whose scores carry a shift per query that means nothing."""
    data = make_ranking(n_queries, random_state=random_state)
    shift = np.random.default_rng(random_state).normal(0, spread, n_queries)
    codes = group_queries(data.qid, data.qid.size).codes
    return data, data.utility + shift[codes]


def test_context_is_taken_where_scores_are_shifted_by_query():
    data, scores = shifted(80, 0)
    model = GradedRelevance(query_context="auto").fit(scores, data.target, data.qid)
    of_score, of_gap = model.weights_
    assert of_gap > 3 * of_score
    new, new_scores = shifted(300, 1)
    queries = group_queries(new.qid, new_scores.size)
    target = new.target.astype(float)

    def loss(model):
        values = model.transform(new_scores, queries, None)
        return model.log_loss(ScoredItems.build(values, queries, target))

    alone = GradedRelevance().fit(scores, data.target, data.qid)
    assert loss(model) < loss(alone) - 0.02


def test_context_is_left_out_where_scores_mean_the_same_everywhere():
    for seed in range(3):
        data = make_ranking(100, random_state=seed)
        model = GradedRelevance(query_context="auto")
        model.fit(data.utility, data.target, data.qid)
        with_context = GradedRelevance(query_context=True)
        with_context.fit(data.utility, data.target, data.qid)
        of_score, of_gap = with_context.weights_
        assert of_gap < 0.3 * of_score
        if model.weights_[1] == 0:
            assert model.weights_.tolist() == [1, 0]


def test_the_choice_is_that_of_the_cross_fitted_log_loss():
    data, scores = shifted(30, 2, spread=0.7)
    labelled_scores = LabelledScores(
        scores, data.target.astype(float), group_queries(data.qid, scores.size)
    )
    models = [GradedRelevance(query_context=context) for context in (False, True)]
    losses = [cross_fitted_loss(cross_fit(m, labelled_scores)) for m in models]
    best = models[int(np.argmin(losses))].fit(scores, data.target, data.qid)
    model = GradedRelevance(query_context="auto").fit(scores, data.target, data.qid)
    np.testing.assert_array_equal(model.weights_, best.weights_)
    np.testing.assert_array_equal(model.table_, best.table_)


def test_values_with_context_are_what_the_weights_say():
    data, scores = shifted(40, 3)
    model = GradedRelevance(query_context=True).fit(scores, data.target, data.qid)
    values = model.transform(scores, group_queries(data.qid, scores.size), None)
    for query in np.unique(data.qid):
        own = scores[data.qid == query]
        expected = model.weights_[0] * own + model.weights_[1] * (own - own.mean())
        np.testing.assert_allclose(values[data.qid == query], expected, rtol=1e-9)
        assert (np.diff(values[data.qid == query][np.argsort(own)]) >= 0).all()


def test_values_with_context_do_not_depend_on_the_order_of_rows():
    data, scores = shifted(40, 4)
    model = GradedRelevance(query_context=True).fit(scores, data.target, data.qid)
    values = model.transform(scores, group_queries(data.qid, scores.size), None)
    codes = group_queries(data.qid, scores.size).codes
    order = np.lexsort((np.random.default_rng(0).random(scores.size), codes))
    again = GradedRelevance(query_context=True)
    again.fit(scores[order], data.target[order], data.qid[order])
    np.testing.assert_array_equal(again.table_, model.table_)
    queries = group_queries(data.qid[order], scores.size)
    np.testing.assert_array_equal(
        again.transform(scores[order], queries, None), values[order]
    )


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_context_knows_no_unit(scale):
    data, scores = shifted(40, 5)
    one = GradedRelevance(query_context=True).fit(scores, data.target, data.qid)
    other = GradedRelevance(query_context=True)
    other.fit(scores * scale, data.target, data.qid)
    np.testing.assert_allclose(other.weights_ * scale, one.weights_, rtol=1e-6)
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-6)


def test_the_name_stands_for_a_choice_and_auto_has_both():
    (named,) = tie_model_candidates("graded_relevance")
    assert named.query_context == "auto"
    contexts = [
        model.query_context
        for model in tie_model_candidates("auto")
        if isinstance(model, GradedRelevance)
    ]
    assert contexts == [False, True]


def test_rankers_decide_by_values_with_context():
    data, scores = shifted(80, 6)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model="graded_relevance")
    ranker.fit(scores[:, None], data.target, qid=data.qid)
    assert ranker.tie_model_.weights_[1] > 0
    pairs = ranker.predict_pairs(scores[:, None], data.qid)
    values = ranker.tie_model_.transform(
        scores, group_queries(data.qid, scores.size), None
    )
    bins = ranker.tie_model_.bins(values)
    np.testing.assert_array_equal(
        pairs.proba, ranker.tie_model_.table_[bins[pairs.left], bins[pairs.right]]
    )
    intervals = ranker.rank_intervals(scores[:, None], data.qid)
    assert (intervals[:, 0] <= intervals[:, 1]).all()


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_query_context_is_auto_or_a_boolean(value):
    model = GradedRelevance(query_context=value)
    with pytest.raises(ValueError, match=f"query_context must be .* got {value!r}"):
        model.fit([0.0, 1.0], [0, 1])
