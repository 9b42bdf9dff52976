"""TopSetRanker: small sets, a best item in most of them.

P(the first items hold a best one) against all grades that a query may have.
"""

import json
import pickle
from itertools import combinations, pairwise, product

import numpy as np
import pytest
import sklearn
from doubles import named
from hypothesis import given
from hypothesis import strategies as st
from queries.drawn import draw_queries
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold

from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.queries import TopSetRanker
from skrank_abstain.queries._top_sets import (
    conformal_level,
    first_best_proba,
    first_levels,
    levels_of_list,
)
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance


def every_outcome(proba, weights):
    """Yield the grades of all items, and the probability of these."""
    n_nodes, n_items, n_grades = proba.shape
    for grades in product(range(n_grades), repeat=n_items):
        yield (
            np.array(grades),
            sum(
                weights[h] * np.prod([proba[h, i, g] for i, g in enumerate(grades)])
                for h in range(n_nodes)
            ),
        )


def draw(seed, n_items, n_grades, n_nodes=3):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_grades, 0.7), (n_nodes, n_items))
    return proba, rng.dirichlet(np.ones(n_nodes))


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3))
def test_each_place_is_the_first_best_as_often_as_grades_say(seed, n_items, n_grades):
    proba, weights = draw(seed, n_items, n_grades)
    expected = np.zeros(n_items)
    for grades, share in every_outcome(proba, weights):
        expected[int(np.argmax(grades))] += share
    found = first_best_proba(proba, weights)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_two_items_of_two_grades_by_hand():
    proba = np.array([[[0.4, 0.6], [0.7, 0.3]]])
    second = 0.4 * 0.3
    np.testing.assert_allclose(
        first_best_proba(proba, np.ones(1)), [1 - second, second]
    )
    differ = 0.4 * 0.3 + 0.6 * 0.7
    levels = levels_of_list(proba, np.ones(1), np.array([2.0, 1.0]))
    np.testing.assert_allclose(levels, [np.inf, second / differ])


def test_a_thousand_items_neither_overflow_nor_vanish():
    proba = np.tile([[0.99, 0.01]], (1, 1000, 1))
    found = first_best_proba(proba, np.ones(1))
    # All irrelevant, or the first relevant one at place m.
    expected = 0.99 ** np.arange(1000) * 0.01
    expected[0] += 0.99**1000
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_levels_fall_and_equal_values_share_theirs(seed, n_items):
    proba, weights = draw(seed, n_items, 3)
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(0, 4, n_items))[::-1].astype(float)
    levels = levels_of_list(proba, weights, values)
    assert (levels[1:] <= levels[:-1]).all()
    assert np.isposinf(levels[values == values[0]]).all()
    added = first_best_proba(proba, weights)
    outcomes = every_outcome(proba, weights)
    differ = sum(share for grades, share in outcomes if np.ptp(grades))
    for value in np.unique(values)[:-1]:
        first = int(np.argmax(values == value))
        expected = added[1 : first + 1].min() / differ
        np.testing.assert_allclose(levels[values == value], expected, rtol=1e-9)


def test_items_that_are_surely_alike_have_a_level():
    proba = np.zeros((1, 3, 2))
    proba[:, :, 0] = 1.0
    levels = levels_of_list(proba, np.ones(1), np.array([3.0, 2.0, 1.0]))
    assert levels.tolist() == [np.inf, 0.0, 0.0]


def test_the_level_of_a_query_is_that_of_its_first_best_item():
    queries = group_queries([0, 1, 0, 1, 0, 2, 2], 7)
    y = np.array([0.0, 1, 2, 0, 2, 1, 1])
    levels = np.array([np.inf, 0.2, 0.3, np.inf, 0.1, np.inf, 0.4])
    found = first_levels(levels, Scores(levels, queries, y=y), 1)
    np.testing.assert_array_equal(found[:, 0], [0.3, 0.2, np.nan])


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_levels_of_the_first_are_those_of_the_choice_that_enters_first(seed, k):
    rng = np.random.default_rng(seed)
    qid, y = rng.integers(0, 3, 12), rng.integers(0, 3, 12) * 1.0
    levels, queries = rng.integers(0, 5, 12) * 1.0, group_queries(qid, 12)
    found = first_levels(levels, Scores(levels, queries, y=y), k)
    for query in range(queries.n_queries):
        rows = queries.rows(query)
        if rows.size <= k or np.ptp(y[rows]) == 0:
            assert np.isnan(found[query]).all()
            continue
        # Every choice of k items that no other item is better than.
        best = sorted(y[rows])[-k:]
        choices = [
            sorted(levels[list(chosen)])
            for chosen in combinations(rows, k)
            if sorted(y[list(chosen)]) == best
        ]
        assert sorted(found[query]) == max(choices, key=sum)


@pytest.mark.parametrize(
    ("alpha", "n", "j"), [(0.1, 9, 1), (0.1, 8, 0), (0.1, 19, 2), (0.3, 9, 3)]
)
def test_the_threshold_is_an_order_statistic(alpha, n, j):
    levels = np.random.default_rng(0).permutation(n).astype(float)[:, None]
    assert conformal_level(levels, alpha) == (j - 1 if j else None)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_a_new_query_misses_no_more_of_its_first_than_alpha(alpha, k):
    # Exchangeable: each of n + 1 queries is the new one, by definition.
    levels = np.random.default_rng(1).normal(size=(28, k))
    missed = [
        (levels[i] < conformal_level(np.delete(levels, i, axis=0), alpha)).mean()
        for i in range(28)
    ]
    assert alpha - 1 / 28 < np.mean(missed) <= alpha


@pytest.mark.parametrize("k", [2, 5])
def test_the_threshold_is_the_highest_that_keeps_the_promise(k):
    levels, alpha = np.random.default_rng(k).integers(0, 40, (25, k)) * 1.0, 0.2
    kept = [
        level
        for level in np.unique(levels)
        if (levels < level).mean(axis=1).sum() + 1 <= alpha * 26 + 1e-9
    ]
    assert conformal_level(levels, alpha) == max(kept)


def test_queries_are_divided_by_purpose(sets, past):
    _, y, qid = past
    n_equal = sum(np.ptp(y[qid == q]) == 0 for q in np.unique(qid))
    n_tuning, n_rest = sets.n_tuning_queries_, sets.n_queries_
    assert n_tuning == 30
    assert n_tuning + n_rest + sets.n_equal_queries_ == 200
    assert 0 < sets.n_equal_queries_ < n_equal
    assert sets.prefit_


def test_a_set_is_what_its_threshold_says(sets, new):
    X, _, qid = new
    inside, sizes = sets.predict_set(X, qid=qid), sets.set_sizes(X, qid=qid)
    assert inside.dtype == bool
    assert sizes.dtype == np.int64
    tie_model = sets.tie_model_
    values = tie_model.transform(X[:, 0], group_queries(qid, qid.size), None)
    for k, query in enumerate(np.unique(qid)):
        rows = np.flatnonzero(qid == query)
        rows = rows[np.argsort(-values[rows])]
        proba = tie_model.grade_proba(values[rows])
        added = first_best_proba(proba, tie_model.node_weights_)
        differ = 1 - (proba.prod(axis=1).sum(axis=1) * tie_model.node_weights_).sum()
        size = 1
        while size < rows.size and added[size] / differ >= sets.threshold_:
            size += 1
        assert sizes[k] == size
        assert inside[rows].tolist() == [True] * size + [False] * (rows.size - size)


def test_score_is_the_share_of_sets_with_a_best_item(sets, new):
    X, y, qid = new
    inside = sets.predict_set(X, qid=qid)
    hits = [
        (inside & (y == y[qid == q].max()))[qid == q].any()
        for q in np.unique(qid)
        if np.ptp(y[qid == q]) > 0
    ]
    assert sets.score(X, y, qid=qid) == np.mean(hits)
    assert len(hits) < 60
    weight = np.random.default_rng(0).uniform(size=qid.size)
    some = [q for q in np.unique(qid) if np.ptp(y[qid == q]) > 0]
    means = [weight[qid == q].mean() for q in some]
    found = sets.score(X, y, qid=qid, sample_weight=weight)
    assert found == pytest.approx(np.average(hits, weights=means))


@pytest.fixture(scope="session")
def first_three(model, past):
    return TopSetRanker(model, k=3, alpha=0.1, random_state=0).fit(**named(*past))


def test_a_set_of_the_first_is_as_many_items_of_every_query(first_three, past, new):
    X, y, qid = new
    inside, found = (
        first_three.predict_set(X, qid=qid),
        first_three.evaluate(X, y, qid=qid),
    )
    for number, query in enumerate(np.unique(qid)):
        rows = np.flatnonzero(qid == query)
        n = rows.size
        size = min(int(-first_three.threshold_), n)
        best = rows[np.argsort(-X[rows, 0])][:size]
        assert set(best) == set(rows[inside[rows]])
        assert found.size[number] == size
        held = np.nan
        if n > 3 and np.ptp(y[rows]):
            lowest = np.sort(y[rows])[-3]
            above, tied = best[y[best] > lowest], best[y[best] == lowest]
            open_places = 3 - (y[rows] > lowest).sum()
            held = (above.size + min(tied.size, open_places)) / 3
        np.testing.assert_allclose(found.holds_best[number], held)
    assert found.share == first_three.score(X, y, qid=qid) > 0.8
    # No query is spent on a tie model that changes no place.
    left_out = [
        (past[2] == q).sum() <= 3 or np.ptp(past[1][past[2] == q]) == 0
        for q in np.unique(past[2])
    ]
    assert first_three.n_tuning_queries_ == 0
    assert first_three.n_equal_queries_ == sum(left_out)
    assert first_three.n_queries_ == 200 - sum(left_out)
    page = first_three.report(X, y, qid=qid)
    assert f"| share of the first 3 in a set | {found.share:.4f} |" in page
    assert "misses at most a share 0.1 of its first 3" in page
    learns = clone(first_three).set_params(tie_model="feature_aware_relevance")
    assert learns.fit(**named(*past)).n_tuning_queries_ == 30
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        clone(first_three).set_params(k=0).fit(**named(*past))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The scores do not agree")
@pytest.mark.parametrize(("k", "n_queries"), [(2, 40), (5, 150)])
def test_a_new_set_misses_at_most_the_share_promised(model, k, n_queries):
    population = draw_queries(1000, 10**6, largest=25)
    held = []
    for seed in range(75):
        past = draw_queries(n_queries, seed, largest=25)
        ranker = TopSetRanker(model, k=k, alpha=0.2, random_state=seed).fit(
            **named(*past)
        )
        held.append(ranker.score(**named(*population)))
    error = np.std(held) / np.sqrt(len(held))
    assert np.mean(held) > 0.8 - 2 * error


def test_a_smaller_alpha_makes_larger_sets(model, past, new):
    sets = [
        TopSetRanker(model, alpha=alpha, random_state=0)
        .fit(**named(*past))
        .predict_set(new[0], qid=new[2])
        for alpha in (0.4, 0.2, 0.05)
    ]
    for smaller, larger in pairwise(sets):
        assert (larger >= smaller).all()
        assert larger.sum() > smaller.sum()


def test_sets_do_not_depend_on_the_batch_or_the_order_of_rows(sets, new):
    X, _, qid = new
    inside = sets.predict_set(X, qid=qid)
    order = np.random.default_rng(0).permutation(qid.size)
    np.testing.assert_array_equal(
        sets.predict_set(X[order], qid=qid[order]), inside[order]
    )
    one = qid == 7
    np.testing.assert_array_equal(sets.predict_set(X[one]), inside[one])


def test_equal_scores_come_in_together(model, past, new):
    X, y, qid = past
    ranker = TopSetRanker(model, random_state=0).fit(np.round(X), y, qid=qid)
    X, _, qid = new
    inside, score = ranker.predict_set(np.round(X), qid=qid), np.round(X[:, 0])
    for query in np.unique(qid):
        own = qid == query
        assert score[own & inside].min() > score[own & ~inside].max(initial=-np.inf)


def test_ties_at_the_top_are_all_inside(sets):
    X = np.zeros((5, 2))
    assert sets.predict_set(X, qid=0).all()
    assert sets.set_sizes(X, qid=0).tolist() == [5]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The scores do not agree")
@pytest.mark.parametrize("n_queries", [30, 150])
def test_a_new_set_holds_a_best_item_as_often_as_promised(model, n_queries):
    population = draw_queries(1000, 10**6)
    share = []
    for seed in range(75):
        past = draw_queries(n_queries, seed)
        ranker = TopSetRanker(model, alpha=0.2, random_state=seed).fit(**named(*past))
        share.append(ranker.score(**named(*population)))
    error = np.std(share) / np.sqrt(len(share))
    assert np.mean(share) > 0.8 - 2 * error


def test_features_may_be_looked_at(model, past, new):
    X, y, qid = past
    X = np.column_stack([X, y + np.random.default_rng(0).normal(size=y.size)])
    ranker = TopSetRanker(model, tie_model="feature_aware_relevance", random_state=0)
    ranker.fit(X[:, [0, 2]], y, qid=qid)
    X, y, qid = new
    assert ranker.tie_model_.weights_[1] > 0
    better = np.column_stack([X[:, 0], y])
    assert ranker.set_sizes(better, qid=qid).mean() < 4


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


def test_a_column_may_name_the_queries(model, past, new):
    X, y, qid = past
    frame = np.column_stack([X, qid])
    ranker = TopSetRanker(model, qid_col=2, random_state=0).fit(frame, y)
    X, _, qid = new
    other = TopSetRanker(model, random_state=0).fit(**named(*past))
    np.testing.assert_array_equal(
        ranker.set_sizes(np.column_stack([X, qid])), other.set_sizes(X, qid=qid)
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, r"alpha must be in \(0, 1\), got 0.0"),
        ({"alpha": 1}, r"alpha must be in \(0, 1\), got 1"),
        ({"tuning_size": 1.0}, r"tuning_size must be in \(0, 1\), got 1.0"),
        ({"tie_model": "graded"}, "tie_model must be one of 'graded_relevance', 'fea"),
        ({"alpha": 0.005}, "alpha=0.005 needs at least 199 .* got 1.. of 170"),
    ],
)
def test_bad_values_are_named(model, past, params, message):
    with pytest.raises(ValueError, match=message):
        TopSetRanker(model, **params).fit(**named(*past))


@pytest.mark.parametrize("tie_model", ["bradley_terry", "isotonic_difference"])
def test_a_model_of_differences_knows_nothing_of_a_list(model, past, tie_model):
    with pytest.raises(ValueError, match="tie_model must be one of 'graded_relevance'"):
        TopSetRanker(model, tie_model=tie_model).fit(**named(*past))
    with pytest.raises(TypeError, match="tie_model must be a model of grades"):
        TopSetRanker(model, tie_model=BradleyTerry()).fit(**named(*past))


@pytest.mark.filterwarnings("ignore:alpha=0.5 promises")
def test_too_few_queries_are_an_error_that_counts_them(model):
    X, y, qid = draw_queries(10, 0)
    with pytest.raises(
        ValueError, match=r"at least 9 calibration queries .* got \d of"
    ):
        TopSetRanker(model, tuning_size=0.3).fit(X, y, qid=qid)
    two = GradedRelevance(max_grades=2)
    ranker = TopSetRanker(model, tie_model=two, alpha=0.5, tuning_size=0.3)
    assert ranker.fit(X, y, qid=qid).n_queries_ < 9


def test_labelled_rows_need_their_queries(sets, new):
    X, y, _ = new
    with pytest.raises(ValueError, match="qid= must be given to score labelled rows"):
        sets.score(X, y)


def test_a_score_of_equal_items_is_undefined(sets):
    X, y, qid = np.arange(8.0).reshape(4, 2), np.ones(4), [0, 0, 1, 1]
    with pytest.warns(
        UndefinedMetricWarning, match="there is no query with items that differ"
    ):
        assert np.isnan(sets.score(X, y, qid=qid))


def test_unknown_arguments_of_fit_are_refused(model, past):
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        TopSetRanker(model).fit(**named(*past), group=[1])
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_another_alpha_takes_the_threshold_of_a_new_fit(sets, model, past, new):
    other = sets.at_alpha(0.3)
    again = TopSetRanker(model, alpha=0.3, random_state=0).fit(**named(*past))
    assert other.threshold_ == again.threshold_ > sets.threshold_
    assert other.get_params()["alpha"] == 0.3
    assert sets.get_params()["alpha"] == 0.1
    assert pickle.loads(pickle.dumps(sets)).at_alpha(0.3).threshold_ == (
        other.threshold_
    )
    with pytest.raises(ValueError, match=r"alpha=0\.001 needs at least 999"):
        sets.at_alpha(0.001)
    with pytest.raises(NotFittedError):
        TopSetRanker(model).at_alpha(0.2)


def test_sets_of_labelled_queries(sets, new):
    X, y, qid = new
    weight = np.random.default_rng(0).uniform(size=y.size)
    found, inside = (
        sets.evaluate(X, y, qid=qid, sample_weight=weight),
        sets.predict_set(X, qid=qid),
    )
    np.testing.assert_array_equal(found.size, sets.set_sizes(X, qid=qid))
    assert found.size.dtype == found.n_items.dtype == np.int64
    for k in range(60):
        own = qid == k
        best = inside[own & (y == y[own].max())].any()
        expected = best if np.ptp(y[own]) else np.nan
        np.testing.assert_equal(found.holds_best[k], float(expected))
        assert found.n_items[k] == own.sum()
        assert found.weight[k] == pytest.approx(weight[own].mean())
    assert found.share == sets.score(X, y, qid=qid, sample_weight=weight)
    mean = np.average(found.size, weights=found.weight)
    assert found.mean_size == pytest.approx(mean)
    assert (sets.evaluate(X, y, qid=qid).weight == 1).all()
    # A table of queries by name, in plain types.
    named = sets.evaluate(X, y, qid=np.array([f"q{k}" for k in qid]))
    rows = named.to_dicts()
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert [row["qid"] for row in rows] == [f"q{k}" for k in dict.fromkeys(qid)]
    assert [row["size"] for row in rows] == found.size.tolist()
    assert repr(named) == f"SetResults(n_queries=60, mean_size={named.mean_size:.3g})"
