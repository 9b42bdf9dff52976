"""Tie models that know how relevant items of a score are, from the score alone."""

import itertools
import pickle

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import ScoredItems, group_queries
from skrank_abstain.tie_models import (
    BradleyTerry,
    GradedRelevance,
    LabelledScores,
    choose_tie_model,
    cross_fit,
    cross_fitted_loss,
    tie_model_candidates,
)
from skrank_abstain.tie_models._graded_relevance import (
    divide,
    merge_grades,
    tied_shares,
)


def labelled(data, scores=None):
    scores = data.utility if scores is None else scores
    return ScoredItems.build(
        scores, group_queries(data.qid, scores.size), data.target.astype(float)
    )


# Bins


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=60),
    st.sampled_from([1.0, 0.1, 1e-300, 1e290, 5e-324]),
)
def test_few_distinct_values_are_cells_of_their_own(values, scale):
    values = np.array(values) * scale
    edges, centres = divide(values)
    levels = np.unique(values)
    bins = np.searchsorted(edges, values, side="right")
    np.testing.assert_array_equal(np.unique(bins), np.arange(levels.size))
    np.testing.assert_allclose(centres, levels, rtol=1e-15)
    assert (edges > levels[:-1]).all()
    assert (edges <= levels[1:]).all()


@pytest.mark.parametrize("n", [257, 1000, 5000])
@pytest.mark.parametrize("kind", ["distinct", "heavy", "float32"])
def test_many_values_share_at_most_256_cells(n, kind):
    rng = np.random.default_rng(0)
    values = rng.normal(size=n)
    if kind == "heavy":
        values = np.where(rng.random(n) < 0.5, 0.25, values)
    elif kind == "float32":
        values = values.astype(np.float32).astype(np.float64)
    edges, centres = divide(values)
    assert centres.size <= 256
    assert centres.size == edges.size + 1
    assert (np.diff(edges) > 0).all()
    assert (np.diff(centres) > 0).all()
    assert not np.isin(edges, values).any()
    bins = np.searchsorted(edges, values, side="right")
    counts = np.bincount(bins, minlength=centres.size)
    assert (counts > 0).all()
    for number, centre in enumerate(centres):
        assert centre == pytest.approx(values[bins == number].mean(), abs=1e-12)
    if kind != "heavy":
        assert counts.max() <= np.ceil(n / 256) + 1
    else:
        # The values that half of the items share are one bin, with few others.
        assert counts.max() <= (values == 0.25).sum() + n / 256 + 1


def test_neighbouring_floats_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2)
    edges, _ = divide(np.array([low, high]))
    assert np.searchsorted(edges, [low, high], side="right").tolist() == [0, 1]


# Grades


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(2, 12))
def test_quantile_grades_keep_the_order_and_leave_no_gaps(values, max_grades):
    fine = np.unique(values, return_inverse=True)[1]
    merged = merge_grades(fine, max_grades)
    n_fine, n_merged = fine.max() + 1, merged.max() + 1
    assert set(merged) == set(range(n_merged))
    assert n_merged <= max_grades
    for a, b in itertools.pairwise(np.argsort(fine, kind="stable")):
        assert merged[a] <= merged[b]
        assert fine[a] != fine[b] or merged[a] == merged[b]
    if n_fine <= max_grades:
        np.testing.assert_array_equal(merged, fine)
    else:
        assert n_merged >= 2


def test_distinct_relevance_gives_equal_grades():
    merged = merge_grades(np.random.default_rng(0).permutation(1000), 8)
    assert np.bincount(merged).tolist() == [125] * 8


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=2, max_size=25),
    st.integers(1, 4),
)
def test_tied_shares_are_those_of_every_pair(rows, width):
    query, fine = np.array(sorted(rows)).T
    query = np.unique(query, return_inverse=True)[1]
    grades = np.unique(fine // width, return_inverse=True)[1]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query))])
    tied, same = np.zeros(grades.max() + 1), np.zeros(grades.max() + 1)
    for i, j in itertools.combinations(range(fine.size), 2):
        if query[i] == query[j] and grades[i] == grades[j]:
            same[grades[i]] += 1
            tied[grades[i]] += fine[i] == fine[j]
    expected = [t / s if s else 1.0 for t, s in zip(tied, same, strict=True)]
    np.testing.assert_allclose(tied_shares(fine, grades, offsets), expected)


def test_real_valued_relevance_has_nearly_no_ties_and_sensible_orders():
    data = make_ranking(200, 10, n_grades=None, noise="gumbel", random_state=0)
    model = GradedRelevance().fit(data.utility, data.target, data.qid)
    assert model.cut_points_.shape == (9,)
    assert model.table_[:, :, 1].max() == pytest.approx(1 / 3 / (9000 + 1), rel=1e-9)
    gap = np.linspace(-4, 4, 17)
    proba = model.proba(gap / 2, -gap / 2)
    # Differences of Gumbel noise are logistic.
    assert proba[:, 2] == pytest.approx(1 / (1 + np.exp(-gap)), abs=0.06)


def test_more_quantile_grades_say_more_of_real_valued_relevance():
    data = make_ranking(200, 10, n_grades=None, random_state=0)
    new = labelled(make_ranking(200, 10, n_grades=None, random_state=1))
    losses = []
    for max_grades in (2, 4, 10):
        model = GradedRelevance(max_grades=max_grades)
        model.fit(data.utility, data.target, data.qid)
        assert model.cut_points_.size == max_grades - 1
        # Not where a tie happened: none can.
        losses.append(model.log_loss(new))
    assert losses[0] > losses[1] > losses[2]


def test_quantile_grades_of_tied_relevance_are_tied_as_often_as_seen():
    # 40 levels of relevance, each of two items of a query: few pairs are ties.
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(rng.permutation(40), 2) for _ in range(50)])
    scores = y + rng.normal(0, 6, y.size)
    qid = np.repeat(np.arange(50), 80)
    model = GradedRelevance(max_grades=5).fit(scores, y, qid)
    proba = model.proba(scores[:2000:2], scores[2000::2])
    n_ties, n_pairs = 40, 80 * 79 / 2
    assert proba[:, 1].mean() == pytest.approx(n_ties / n_pairs, rel=0.3)


@pytest.mark.parametrize("value", [1, 0, -3])
def test_max_grades_is_at_least_two(value):
    with pytest.raises(ValueError, match=f"max_grades must be .* got {value}"):
        GradedRelevance(max_grades=value).fit([0.0, 1.0], [0, 1])


@pytest.mark.parametrize("value", [2.5, "ten", None, True])
def test_max_grades_is_an_integer(value):
    with pytest.raises(TypeError, match="max_grades must be"):
        GradedRelevance(max_grades=value).fit([0.0, 1.0], [0, 1])


# The fitted model


@given(
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.integers(1, 4),
    st.integers(2, 6),
    st.sampled_from([0.0, 1.0, 30.0]),
)
def test_tables_are_proper_whatever_the_data(seed, n, n_queries, n_grades, strength):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_grades, n).astype(float)
    y[:2] = 0, 1
    scores = np.round(strength * y + rng.normal(size=n), 1)
    qid = rng.integers(0, n_queries, n)
    qid[:2] = 0
    model = GradedRelevance().fit(scores, y, qid)
    table = model.table_
    assert (table > 0).all()
    assert (table < 1).all()
    np.testing.assert_allclose(table.sum(axis=2), 1, rtol=1e-14)
    np.testing.assert_array_equal(table, table.transpose(1, 0, 2)[:, :, ::-1])
    below = np.tri(table.shape[0], dtype=bool)
    assert (table[below][:, 2] >= table[below][:, 0] - 1e-15).all()
    assert (np.diff(table[:, :, 2], axis=0) >= -1e-14).all()
    assert (np.diff(table[:, :, 2], axis=1) <= 1e-14).all()
    assert model.slope_ >= 0
    assert model.query_spread_ >= 0
    assert (np.diff(model.cut_points_) > 0).all()
    assert model.n_pairs_ == sum(k * (k - 1) // 2 for k in np.bincount(qid))


def test_one_grade_is_all_tied_with_a_warning():
    with pytest.warns(UserWarning, match="every pair is expected to be tied"):
        model = GradedRelevance().fit([0.0, 1.0, 2.0, 2.0], [1, 1, 1, 1])
    # Six pairs, and one of unknown outcome.
    expected = np.array([1 / 3, 6 + 1 / 3, 1 / 3]) / 7
    np.testing.assert_allclose(model.proba([0.0, 5.0], [1.0, 5.0]), [expected] * 2)
    assert model.cut_points_.size == 0
    assert (model.slope_, model.query_spread_) == (0, 0)


def test_every_item_of_its_own_grade_in_perfect_order():
    model = GradedRelevance().fit(np.arange(30.0), np.arange(30))
    proba = model.proba([29.0, 15.0], [0.0, 14.0])
    assert proba[0, 2] > 0.95
    assert 0.5 < proba[1, 2] < proba[0, 2]
    assert proba[:, 1] == pytest.approx([1 / 3 / (435 + 1)] * 2)


def test_two_items():
    model = GradedRelevance().fit([0.0, 1.0], [0, 1])
    (lose, tie, win) = model.proba([1.0], [0.0])[0]
    assert 1 / 6 <= lose < win
    assert tie > 1 / 6
    with pytest.warns(UserWarning, match="same relevance"):
        tied = GradedRelevance().fit([0.0, 1.0], [2, 2])
    assert tied.proba([1.0], [0.0])[0] == pytest.approx([1 / 6, 4 / 6, 1 / 6])


def test_ten_queries_are_enough_to_be_better_than_the_shares():
    data, new = (make_ranking(n, 10, random_state=s) for n, s in ((10, 3), (300, 4)))
    model = GradedRelevance().fit(data.utility, data.target, data.qid)
    items = labelled(new)
    tied = labelled(data).outcomes
    share = tied.weight[tied.outcome == 0].sum() / tied.weight.sum()
    # The log loss of one forecast for all pairs.
    flat = -share * np.log(share) - (1 - share) * np.log((1 - share) / 2)
    assert model.log_loss(items) < 0.85 * flat


def test_items_of_one_score_are_tied_by_how_relevant_they_are():
    rng = np.random.default_rng(0)
    scores = np.repeat([0.0, 4.0], 2000)
    # Of score 0, all but a few are irrelevant; of score 4, half are.
    y = rng.random(4000) < np.where(scores == 0, 0.02, 0.5)
    order = rng.permutation(4000)
    model = GradedRelevance().fit(scores[order], y[order], np.repeat(range(400), 10))
    low, high = model.proba([0.0, 4.0], [0.0, 4.0])[:, 1]
    few, half = y[scores == 0].mean(), y[scores == 4].mean()
    assert low == pytest.approx(few**2 + (1 - few) ** 2, abs=2e-3)
    assert high == pytest.approx(half**2 + (1 - half) ** 2, abs=2e-3)
    assert low > 0.9


def test_low_scored_pairs_are_tied_more_often_than_middling_ones():
    data = make_ranking(300, random_state=0)
    model = GradedRelevance().fit(data.utility, data.target, data.qid)
    left = np.array([-4.0, -2.0, 0.0, 1.0])
    ties = model.proba(left, left - 1)[:, 1]
    assert (np.diff(ties) < 0).all()
    flat = BradleyTerry().fit(data.utility, data.target, data.qid)
    assert np.ptp(flat.proba(left, left - 1)[:, 1]) < 1e-12


@pytest.mark.parametrize("scale", [1e-300, 0.25, 1e290])
def test_scale_of_the_scores_does_not_matter(scale):
    data = make_ranking(40, random_state=0)
    one = GradedRelevance().fit(data.utility, data.target, data.qid)
    other = GradedRelevance().fit(data.utility * scale, data.target, data.qid)
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-7)
    assert other.slope_ * scale == pytest.approx(one.slope_, rel=1e-5)


def test_order_of_rows_and_names_of_queries_do_not_matter():
    data = make_ranking(40, random_state=0)
    scores = data.utility.round(1)
    one = GradedRelevance().fit(scores, data.target, data.qid)
    order = np.random.default_rng(0).permutation(scores.size)
    names = np.array([f"query {q:03d}" for q in data.qid])
    # Queries may come in another order; the sums then round differently.
    other = GradedRelevance().fit(scores[order], data.target[order], names[order])
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-6)
    np.testing.assert_array_equal(other.edges_, one.edges_)


def test_any_labels_of_the_same_order_give_the_same_model():
    data = make_ranking(30, random_state=0)
    one = GradedRelevance().fit(data.utility, data.target, data.qid)
    other = GradedRelevance().fit(
        data.utility, np.array([-7.5, 0.1, 1e9])[data.target], data.qid
    )
    np.testing.assert_array_equal(other.table_, one.table_)


def test_it_is_an_estimator():
    model = GradedRelevance(max_grades=4)
    assert model.get_params() == {"max_grades": 4, "query_context": False}
    assert repr(model) == "GradedRelevance(max_grades=4)"
    assert repr(GradedRelevance()) == "GradedRelevance()"
    model.fit([0.0, 1.0, 2.0], [0, 1, 1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.proba([0.0, 1.5], [2.0, 1.0]), model.proba([0.0, 1.5], [2.0, 1.0])
    )
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "table_")


def test_repeated_fits_agree_to_the_last_bit():
    data = make_ranking(30, random_state=0)
    model = GradedRelevance()
    one = model.fit(data.utility, data.target, data.qid).table_
    model.fit([0.0, 1.0], [0, 1])
    np.testing.assert_array_equal(
        model.fit(data.utility, data.target, data.qid).table_, one
    )


# Against the truth


def conditional_accuracy(proba, label, surest, coverage):
    """Expected accuracy of the ``surest`` share of the pairs, by the true model."""
    order = np.argsort(surest, kind="stable")[: int(coverage * label.size)]
    return proba[order, label[order] + 1].mean()


@pytest.fixture(scope="module")
def truth():
    """New queries, and the true probabilities of all their pairs."""
    new = make_ranking(150, 12, random_state=100)
    start = 12 * np.repeat(np.arange(150), 66)
    left, right = (np.tile(side, 150) + start for side in np.triu_indices(12, 1))
    return new, np.stack([left, right], axis=1), new.pair_proba(left, right)


def regrets(tie_model, n_queries, truth, seed=0):
    """How far below the Bayes accuracy, at several coverages."""
    data = make_ranking(n_queries, 12, random_state=seed)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=tie_model)
    ranker.fit(data.utility[:, None], data.target, qid=data.qid)
    new, pairs, proba = truth
    best = proba.argmax(axis=1) - 1
    decisions = ranker.predict_pairs(new.utility[:, None], qid=new.qid, pairs=pairs)
    return np.array(
        [
            conditional_accuracy(proba, best, 1 - proba.max(axis=1), coverage)
            - conditional_accuracy(proba, decisions.label, decisions.risk, coverage)
            for coverage in (0.1, 0.3, 0.5, 0.8, 1.0)
        ]
    )


@pytest.mark.slow
def test_the_accuracy_approaches_that_of_the_truth(truth):
    # Pooled over seeds, since ten queries can be lucky.
    few, many = (
        np.mean([regrets("graded_relevance", n, truth, s) for s in range(4)], axis=0)
        for n in (5, 500)
    )
    assert (few > -1e-3).all()
    assert many.max() < 0.003
    assert many.mean() < few.mean() / 3
    # The simulated grades follow this model, and no model of the difference.
    difference = regrets("bradley_terry", 500, truth)
    assert difference[:3].min() > 10 * many[:3].max()


def test_the_probabilities_approach_the_truth(truth):
    new, pairs, proba = truth
    errors = []
    for n_queries in (10, 100, 1000):
        data = make_ranking(n_queries, 12, random_state=1)
        model = GradedRelevance().fit(data.utility, data.target, data.qid)
        found = model.proba(*new.utility[pairs.T])
        errors.append(np.abs(found - proba).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01
    # The simulated model: slope 1, no shift of a query.
    assert model.slope_ == pytest.approx(1, abs=0.05)
    assert model.query_spread_ < 0.25


def test_risks_are_the_share_of_errors(truth):
    new, pairs, proba = truth
    data = make_ranking(500, 12, random_state=0)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model="graded_relevance")
    ranker.fit(data.utility[:, None], data.target, qid=data.qid)
    decisions = ranker.predict_pairs(new.utility[:, None], qid=new.qid, pairs=pairs)
    right = proba[np.arange(len(pairs)), decisions.label + 1]
    for low, high in itertools.pairwise(np.quantile(decisions.risk, [0, 0.2, 0.5, 1])):
        inside = (decisions.risk >= low) & (decisions.risk <= high)
        expected = 1 - decisions.risk[inside].mean()
        assert right[inside].mean() == pytest.approx(expected, abs=0.02)


def test_a_shared_shift_is_found_and_lowers_the_loss():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(600), 10)
    scores = rng.normal(size=qid.size)
    shift = 2.5 * rng.normal(size=600)[qid]
    y = (2 * scores + shift + rng.logistic(size=qid.size) > 1).astype(float)
    model = GradedRelevance().fit(scores[:3000], y[:3000], qid[:3000])
    # Fitted on single items of a query the shift cannot be seen.
    blind = GradedRelevance().fit(scores[:3000], y[:3000], rng.permutation(qid[:3000]))
    assert model.query_spread_ == pytest.approx(2.5, abs=0.3)
    assert blind.query_spread_ < 0.5
    items = ScoredItems.build(scores[3000:], group_queries(qid[3000:], 3000), y[3000:])
    assert model.log_loss(items) < blind.log_loss(items) - 0.02


def test_auto_recovers_the_generating_model():
    data = make_ranking(200, random_state=0)
    queries = group_queries(data.qid, data.qid.size)
    graded = LabelledScores(data.utility, data.target.astype(float), queries)
    candidates = tie_model_candidates("auto")
    assert isinstance(choose_tie_model(candidates, graded), GradedRelevance)


# Context of the query


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


# Grades


@pytest.mark.parametrize("max_grades", [10, 3])
def test_grade_probabilities_are_what_the_table_is_made_of(max_grades):
    data = make_ranking(n_queries=40, random_state=0)
    items = labelled(data)
    model = GradedRelevance(max_grades=max_grades).fit_items(items)
    centres = divide(items.scores)[1]
    grade = model.grade_proba(centres[[10, 200]])
    assert grade.shape == (model.node_weights_.size, 2, model.tied_shares_.size)
    np.testing.assert_allclose(grade.sum(axis=2), 1, rtol=0, atol=1e-15)
    assert model.node_weights_.sum() == pytest.approx(1)
    tie = model.node_weights_ @ (grade[:, 0] * grade[:, 1] * model.tied_shares_).sum(1)
    n = items.n_pairs
    assert model.table_[10, 200, 1] == pytest.approx((n * tie + 1 / 3) / (n + 1))


def test_one_grade_is_certain():
    with pytest.warns(UserWarning, match="same relevance"):
        model = GradedRelevance().fit([1.0, 2.0, 3.0], [1, 1, 1])
    np.testing.assert_array_equal(model.grade_proba([0.0]), np.ones((7, 1, 1)))


def test_grades_of_a_value_that_is_not_finite_are_refused():
    model = GradedRelevance().fit([1.0, 2.0, 3.0], [0, 1, 1])
    with pytest.raises(ValueError, match="finite"):
        model.grade_proba([np.nan])
