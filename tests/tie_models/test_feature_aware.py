"""The tie model that looks at features."""

from dataclasses import replace

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import rankdata, spearmanr
from scored import scored
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from tie_models.labelled import SMALL_TREE, log_loss, queried, values_of

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.tie_models import (
    FeatureAwareRelevance,
    GradedRelevance,
    _feature_aware,
)


class Spy(RegressorMixin, BaseEstimator):
    """A regressor that remembers, by the first feature, what it was fitted on.

    It predicts the highest grade for items that it has seen and the lowest for others.
    """

    def fit(self, X, y):
        self.design_ = np.array(X)
        self.y_ = np.array(y)
        return self

    def predict(self, X):
        return np.isin(X[:, 0], self.design_[:, 0]).astype(float)


def design_of(scores, qid, X):
    queries = group_queries(qid, len(scores))
    design = np.empty((len(scores), 2 * np.shape(X)[1] + 3))
    every = np.ones(len(scores), dtype=bool)
    for rows, part in _feature_aware.over_designs(
        np.asarray, scores, queries, X, every
    ):
        design[rows] = part
    return design


# The design


@pytest.fixture
def taken(monkeypatch):
    """Take the features, whatever they are worth; return what was weighed."""
    weighed = []

    def weigh(scores, expected, *rest):
        weighed.append(expected)
        return np.ones(2)

    monkeypatch.setattr(_feature_aware, "_weigh", weigh)
    return weighed


@pytest.mark.usefixtures("taken")
def test_the_regressor_sees_features_ranks_score_and_mean_score():
    X = np.array([[3.0, 7.0], [1.0, np.nan], [1.0, 9.0], [5.0, 0.0], [4.0, 0.0]])
    scores, qid = np.array([0.5, 2.0, 1.0, -1.0, 3.0]), ["b", "b", "b", "a", "a"]
    model = FeatureAwareRelevance(Spy())
    model.fit(scores, [0, 1, 0, 0, 1], qid=qid, X=X)
    third, half = 1 / 3, 1 / 2
    # Ranks are those within the query, less one half, as shares of the known values.
    expected = [
        [3.0, 7.0, 0.5, 2.5 * third, 0.5 * half, 0.5 * third, 3.5 / 3],
        [1.0, np.nan, 2.0, 1.0 * third, np.nan, 2.5 * third, 3.5 / 3],
        [1.0, 9.0, 1.0, 1.0 * third, 1.5 * half, 1.5 * third, 3.5 / 3],
        [5.0, 0.0, -1.0, 1.5 * half, 1.0 * half, 0.5 * half, 1.0],
        [4.0, 0.0, 3.0, 0.5 * half, 1.0 * half, 1.5 * half, 1.0],
    ]
    # Two queries: each regressor has seen one of them.
    without = {tuple(c.y_): c.design_ for c in model.regressors_}
    np.testing.assert_allclose(without[0, 1], expected[3:], rtol=1e-14)
    np.testing.assert_allclose(without[0, 1, 0], expected[:3], rtol=1e-14)


def test_the_value_is_the_weighted_sum_of_score_and_expected_grade():
    scores, y, qid, X = queried()
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    design = design_of(scores, qid, X)
    assert len(model.regressors_) == 12
    share = np.mean([fitted.predict(design) for fitted in model.regressors_], axis=0)
    expected = logit(np.clip(share, 0.001, 0.999))
    np.testing.assert_allclose(
        values_of(model, scores, qid, X),
        model.weights_[0] * scores + model.weights_[1] * expected,
        rtol=1e-10,
        atol=1e-10,
    )
    assert (model.weights_ >= 0).all()
    assert model.weights_[1] > 0.3


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_ranks_are_those_of_scipy_within_each_query(seed):
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, 4, 30)
    X = rng.choice([np.nan, -1.0, -0.0, 0.0, 0.5, 1e300], (30, 3))
    scores = rng.normal(size=30).round()
    ranks = design_of(scores, qid, X)[:, 4:8]
    columns = np.column_stack([X, scores])
    for query in set(qid.tolist()):
        rows = qid == query
        rank = rankdata(columns[rows], axis=0, nan_policy="omit")
        known = np.maximum(np.isfinite(columns[rows]).sum(axis=0), 1)
        np.testing.assert_allclose(ranks[rows], (rank - 0.5) / known, rtol=1e-14)


def test_the_pieces_of_a_design_make_the_whole(monkeypatch):
    scores, y, qid, X = queried(9, 7)
    qid = qid[np.random.default_rng(0).permutation(qid.size)]
    whole = design_of(scores, qid, X)
    values = values_of(
        FeatureAwareRelevance().fit(scores, y, qid=qid, X=X), scores, qid, X
    )
    for piece in (1, 20, 63, 64):
        monkeypatch.setattr(_feature_aware, "_PIECE", piece)
        np.testing.assert_array_equal(design_of(scores, qid, X), whole)
        again = FeatureAwareRelevance().fit(scores, y, qid=qid, X=X)
        np.testing.assert_array_equal(values_of(again, scores, qid, X), values)


@pytest.mark.parametrize(("n_queries", "size"), [(300, 3), (40, 60), (1, 900)])
def test_of_many_items_some_are_learned_from(n_queries, size, monkeypatch, taken):
    monkeypatch.setattr(_feature_aware, "_MOST_ITEMS", 400)
    scores, y, qid, X = queried(n_queries, size)
    model = FeatureAwareRelevance(Spy()).fit(scores, y, qid=qid, X=X)
    [expected] = taken
    # Seen or unseen, each item is judged by regressors that have not seen its query.
    np.testing.assert_allclose(expected, logit(0.001))
    learned = {row for c in model.regressors_ for row in c.design_[:, 0]}
    assert 350 <= len(learned) <= 400
    both = np.isin(X[:, 0], list(learned))
    assert len(set(qid[both])) == min(n_queries, 400 // min(size, 40), 133)


def test_values_of_other_queries_do_not_matter():
    scores, y, qid, X = queried()
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    together = values_of(model, scores, qid, X)
    for query in (0, 7):
        rows = qid == query
        alone = values_of(model, scores[rows], qid[rows], X[rows])
        np.testing.assert_array_equal(together[rows], alone)
    # Another item in the query moves ranks and means: the values may change.
    pair = values_of(model, scores[:2], qid[:2], X[:2])
    assert not np.array_equal(together[:2], pair)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter(seed):
    scores, y, qid, X = queried(n_queries=8)
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    order = np.random.default_rng(seed).permutation(scores.size)
    np.testing.assert_allclose(
        values_of(model, scores[order], qid[order], X[order]),
        values_of(model, scores, qid, X)[order],
        rtol=1e-12,
    )


# Values from fits that have not seen the query


@pytest.mark.parametrize("n_queries", [1, 2, 3, 5, 12])
def test_calibration_values_come_from_fits_without_the_query(n_queries, taken):
    scores, y, qid, X = queried(n_queries, 40 // n_queries)
    model = FeatureAwareRelevance(Spy()).fit(scores, y, qid=qid, X=X)
    # Never seen: the expectation is the lowest there is.
    [expected] = taken
    assert expected.shape == (scores.size,)
    np.testing.assert_allclose(expected, logit(0.001))
    # Of each division one regressor is kept; it has seen one half of the queries.
    design = design_of(scores, qid, X)
    assert len(model.regressors_) == 12
    for regressor in model.regressors_:
        seen = regressor.predict(design) == 1
        if n_queries > 1:
            assert len(set(qid[seen]) & set(qid[~seen])) == 0
            assert len(set(qid[seen])) in (n_queries // 2, (n_queries + 1) // 2)
        else:
            assert seen.sum() == 20


def test_whole_queries_are_left_out(monkeypatch):
    scores, y, qid, X = queried(12, 5)
    fits = []

    def recorded(self, X, y):
        # The mean score names the query.
        fits.append(set(X[:, -1]))
        return fit(self, X, y)

    fit = Spy.fit
    monkeypatch.setattr(Spy, "fit", recorded)
    FeatureAwareRelevance(Spy()).fit(scores, y, qid=qid, X=X)
    assert len(fits) == 24
    everything = set.union(*fits)
    assert len(everything) == 12
    for one, other in zip(fits[::2], fits[1::2], strict=True):
        assert len(one) == len(other) == 6
        assert one | other == everything
    assert len({frozenset(half) for half in fits}) == 24


@pytest.mark.parametrize(
    "memory",
    [DecisionTreeRegressor(random_state=0), KNeighborsRegressor(1)],
    ids=["tree", "neighbour"],
)
@pytest.mark.parametrize(("n_queries", "size"), [(1, 200), (40, 20)])
def test_a_regressor_that_memorises_promises_no_more_than_it_keeps(
    memory, n_queries, size
):
    data = make_ranking(n_queries, size, random_state=1)
    new = make_ranking(60, 20, random_state=99)
    loss = {}
    for model in ("graded_relevance", FeatureAwareRelevance(memory)):
        ranker = BALToR(FirstColumn().fit(None, None), tie_model=model, coverage=0.6)
        ranker.fit(data.data, data.target, qid=data.qid)
        totals = ranker.evaluate(new.data, new.target, qid=new.qid)
        assert totals.coverage == pytest.approx(0.6, abs=0.05)
        decisions = ranker.predict_pairs(new.data, qid=new.qid)
        promised = decisions.risk[decisions.accepted].mean()
        assert promised > totals.selective_risk - 0.05
        items = ranker._scored(new.data, new.qid)
        items = replace(items, y=new.target.astype(float)).ascending
        loss[str(model)] = log_loss(ranker.tie_model_, items)
    # Better, or hardly worse, than not to look at the features at all.
    plain, aware = loss.values()
    assert aware < plain + 0.01


def test_features_that_tell_more_lower_the_loss():
    train, new = queried(150, seed=1), queried(150, seed=2)
    scores, y, qid, X = new
    queries = group_queries(qid, scores.size)
    plain = GradedRelevance().fit(*train[:2], qid=train[2])
    aware = FeatureAwareRelevance(Ridge()).fit(*train[:2], qid=train[2], X=train[3])
    losses = [
        log_loss(plain, scored(scores, queries, y)),
        log_loss(aware, scored(values_of(aware, scores, qid, X), queries, y)),
    ]
    assert losses[1] < 0.9 * losses[0]


def test_features_of_pure_noise_are_ignored():
    rng = np.random.default_rng(0)
    n = 4000
    scores, qid = rng.normal(size=n), np.repeat(np.arange(400), 10)
    y = (scores + rng.logistic(size=n) > 0).astype(float)
    tree = DecisionTreeRegressor(random_state=0)
    model = FeatureAwareRelevance(tree).fit(
        scores, y, qid=qid, X=rng.normal(size=(n, 5))
    )
    assert model.weights_[0] == pytest.approx(1, abs=0.1)
    assert model.weights_[1] < 0.1


# Little data


def test_one_grade_needs_no_regressor():
    scores, _, qid, X = queried(5)
    with pytest.warns(UserWarning, match="same relevance"):
        model = FeatureAwareRelevance().fit(scores, np.ones(40), qid=qid, X=X)
    assert model.regressors_ == []
    assert model.weights_.tolist() == [1, 0]
    np.testing.assert_array_equal(values_of(model, scores, qid, X), scores)
    assert model.proba([0.0], [1.0])[0, 1] > 0.99


@pytest.mark.parametrize("regressor", [None, Ridge(), SMALL_TREE])
@pytest.mark.parametrize(
    ("y", "qid"),
    [
        ([0, 1], [0, 0]),
        ([0, 0, 0, 1], [0, 0, 1, 1]),  # all of the rest has one grade
        ([0, 1, 2], [0, 0, 0]),  # each grade once
        ([0, 1, 1, 0, 2], [0, 0, 0, 0, 1]),  # a query of one item
        ([3.5, 1.5, 2.5, 9.0], None),
    ],
)
@pytest.mark.filterwarnings("ignore:The scores do not agree")
def test_very_few_items(regressor, y, qid):
    rng = np.random.default_rng(0)
    scores, X = rng.normal(size=len(y)), rng.normal(size=(len(y), 2))
    model = FeatureAwareRelevance(regressor).fit(scores, y, qid=qid, X=X)
    assert np.isfinite(model.weights_).all()
    assert (model.table_ > 0).all()
    np.testing.assert_allclose(model.table_.sum(axis=2), 1)
    assert np.isfinite(values_of(model, scores, qid, X)).all()


def test_a_grade_that_is_missing_from_a_part_is_no_trouble():
    scores, y, qid, X = queried(10)
    y[qid > 0] = np.minimum(y[qid > 0], 1)
    y[0] = 2
    model = FeatureAwareRelevance(SMALL_TREE).fit(scores, y, qid=qid, X=X)
    assert model.cut_points_.shape == (2,)
    assert np.isfinite(model.table_).all()


@pytest.mark.usefixtures("taken")
def test_the_regressor_is_fitted_on_grades_as_shares_of_the_highest():
    scores, _, qid, X = queried(40)
    y = X[:, 0] + 2 * X[:, 1]
    model = FeatureAwareRelevance(Spy(), max_grades=4).fit(scores, y, qid=qid, X=X)
    assert len(model.regressors_) == 12
    for regressor in model.regressors_:
        values, counts = np.unique(regressor.y_, return_counts=True)
        np.testing.assert_allclose(values, [0, 1 / 3, 2 / 3, 1])
        assert counts.sum() == 160


def test_real_valued_relevance_is_divided_into_grades():
    scores, _, qid, X = queried(40)
    rng = np.random.default_rng(0)
    y = X[:, 0] + 2 * X[:, 1] + rng.normal(size=scores.size)
    aware = FeatureAwareRelevance(Ridge(), max_grades=4)
    aware.fit(scores, y, qid=qid, X=X)
    values = values_of(aware, scores, qid, X)
    assert spearmanr(values, X[:, 0] + 2 * X[:, 1])[0] > 0.97
    with pytest.raises(ValueError, match="max_grades must be"):
        FeatureAwareRelevance(max_grades=1).fit(scores, y, qid=qid, X=X)


@pytest.mark.filterwarnings("ignore:The scores do not agree")
def test_where_nothing_is_known_pairs_are_told_apart_by_the_score():
    n_collapsed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y, X = rng.integers(0, 2, 400), rng.normal(size=(400, 2))
        qid = np.repeat(np.arange(20), 20)
        aware = FeatureAwareRelevance(Ridge())
        ranker = BALToR(FirstColumn().fit(None, None), tie_model=aware, coverage=0.5)
        ranker.fit(X, y, qid=qid)
        assert ranker.coverage_ == pytest.approx(0.5, abs=0.01)
        n_collapsed += not ranker.tie_model_.regressors_
    assert n_collapsed > 0


@pytest.mark.usefixtures("taken")
def test_of_three_queries_new_items_are_judged_by_large_and_small_halves():
    scores, y, qid, X = queried(3, 10)
    model = FeatureAwareRelevance(Spy()).fit(scores, y, qid=qid, X=X)
    sizes = [regressor.y_.size for regressor in model.regressors_]
    assert sizes == [10, 20] * 6 or sizes == [20, 10] * 6
