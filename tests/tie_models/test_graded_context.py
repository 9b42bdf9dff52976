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
)


def shifted(n_queries, random_state, spread=3.0):
    """Return data whose scores carry a shift per query that means nothing."""
    data = make_ranking(n_queries, random_state=random_state)
    shift = np.random.default_rng(random_state).normal(0, spread, n_queries)
    codes = group_queries(data.qid, data.qid.size).codes
    return data, data.utility + shift[codes]


def in_ranker(data, scores, rows=slice(None)):
    """Return the model that a ranker fits on these scores."""
    queries = group_queries(data.qid[rows], scores.size)
    model = GradedRelevance()
    LabelledScores(scores[rows], data.target[rows].astype(float), queries).fit(model)
    return model


def test_context_is_taken_where_scores_are_shifted_by_query():
    data, scores = shifted(80, 0)
    model = in_ranker(data, scores)
    of_score, of_gap = model.weights_
    assert of_gap > 3 * of_score
    new, new_scores = shifted(300, 1)
    queries = group_queries(new.qid, new_scores.size)
    target = new.target.astype(float)

    def loss(model, values):
        return model.log_loss(ScoredItems.build(values, queries, target))

    alone = GradedRelevance().fit(scores, data.target, data.qid)
    with_context = loss(model, model.transform(new_scores, queries, None))
    assert with_context < loss(alone, new_scores) - 0.02


@pytest.mark.parametrize("n_queries", [6, 24, 100])
def test_context_is_left_out_where_scores_mean_the_same_everywhere(n_queries):
    taken = 0
    for seed in range(10):
        data = make_ranking(n_queries, random_state=seed)
        model = in_ranker(data, data.utility)
        taken += model.weights_.tolist() != [1, 0]
    # A gain of more than its standard error and one happens by chance now and then.
    assert taken <= 1


@pytest.mark.parametrize("scores", [[2.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
def test_scores_that_do_not_agree_with_relevance_are_told(scores):
    with pytest.warns(UserWarning, match="do not agree .* Check the orientation"):
        model = GradedRelevance().fit(scores * 20, [0, 1, 2] * 20, np.arange(60) // 3)
    assert model.slope_ == 0


def test_one_query_has_no_context():
    data = make_ranking(1, 40, random_state=0)
    model = in_ranker(data, data.utility)
    assert model.weights_.tolist() == [1, 0]


def test_two_scores_are_not_enough_with_context():
    data, scores = shifted(80, 0)
    model = in_ranker(data, scores)
    with pytest.raises(ValueError, match=r"weights_=\[.*pair_proba of the ranker"):
        model.proba([1.0], [0.0])
    # A fit on scores promises that two of them are enough.
    alone = GradedRelevance().fit(scores, data.target, data.qid)
    assert alone.weights_.tolist() == [1, 0]
    assert alone.proba([1.0], [0.0]).shape == (1, 3)


def test_values_with_context_are_what_the_weights_say():
    data, scores = shifted(80, 3)
    model = in_ranker(data, scores)
    assert model.weights_[1] > 0
    values = model.transform(scores, group_queries(data.qid, scores.size), None)
    for query in np.unique(data.qid):
        own = scores[data.qid == query]
        expected = model.weights_[0] * own + model.weights_[1] * (own - own.mean())
        np.testing.assert_allclose(values[data.qid == query], expected, rtol=1e-9)
        assert (np.diff(values[data.qid == query][np.argsort(own)]) >= 0).all()


def test_values_with_context_do_not_depend_on_the_order_of_rows():
    data, scores = shifted(80, 4)
    model = in_ranker(data, scores)
    assert model.weights_[1] > 0
    values = model.transform(scores, group_queries(data.qid, scores.size), None)
    codes = group_queries(data.qid, scores.size).codes
    order = np.lexsort((np.random.default_rng(0).random(scores.size), codes))
    again = in_ranker(data, scores, order)
    np.testing.assert_array_equal(again.table_, model.table_)
    queries = group_queries(data.qid[order], scores.size)
    np.testing.assert_array_equal(
        again.transform(scores[order], queries, None), values[order]
    )


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_context_knows_no_unit(scale):
    data, scores = shifted(80, 5)
    one = in_ranker(data, scores)
    assert one.weights_[1] > 0
    other = in_ranker(data, scores * scale)
    np.testing.assert_allclose(other.weights_ * scale, one.weights_, rtol=1e-6)
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-6)


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
