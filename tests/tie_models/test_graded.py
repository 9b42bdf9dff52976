"""Grades of items by their score: bins, tables and what they do not depend on."""

import itertools
import pickle

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given
from hypothesis import strategies as st
from scored import scored
from sklearn.base import clone
from tie_models.labelled import log_loss

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance
from skrank_abstain.tie_models._graded_relevance import divide


def labelled(data, scores=None):
    scores = data.utility if scores is None else scores
    return scored(
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


@pytest.mark.parametrize(("steps", "bins"), [(8, [0, 0]), (9, [0, 1])])
def test_values_that_differ_by_rounding_share_a_bin(steps, bins):
    values = np.array([1 - steps * 2.0**-52, 1.0])
    edges, _ = divide(values)
    assert np.searchsorted(edges, values, side="right").tolist() == bins


@pytest.mark.parametrize("n_levels", [5, 400])
def test_rounding_of_scores_changes_no_decision(n_levels):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, n_levels, 600) / n_levels
    y, qid = (3 * scores + rng.normal(size=600)).round(), np.arange(600) // 20
    rounded = scores + rng.integers(-2, 3, 600) * 2.0**-54
    model = FirstColumn().fit(None, None)
    exact, noisy = (
        BALToR(model, loss="misranking")
        .fit(values[:, None], y, qid=qid)
        .predict_pairs(values[:, None], qid=qid)
        for values in (scores, rounded)
    )
    np.testing.assert_array_equal(noisy.label, exact.label)
    np.testing.assert_array_equal(noisy.accepted, exact.accepted)


# Grades
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(2, 12))
def test_quantile_grades_keep_the_order_and_leave_no_gaps(values, max_grades):
    fine = np.unique(values, return_inverse=True)[1]
    model = GradedRelevance(max_grades=max_grades)
    merged = model.merged_grades(np.bincount(fine))[fine]
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
    merged = GradedRelevance(max_grades=8).merged_grades(np.ones(1000, dtype=int))
    assert np.bincount(merged).tolist() == [125] * 8


def test_real_valued_relevance_has_nearly_no_ties_and_sensible_orders():
    data = make_ranking(200, 10, n_grades=None, noise="gumbel", random_state=0)
    model = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
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
        model.fit(data.utility, data.target, qid=data.qid)
        assert model.cut_points_.size == max_grades - 1
        # Not where a tie happened: none can.
        losses.append(log_loss(model, new))
    assert losses[0] > losses[1] > losses[2]


def test_quantile_grades_of_tied_relevance_are_tied_as_often_as_seen():
    # 40 levels of relevance, each of two items of a query: few pairs are ties.
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(rng.permutation(40), 2) for _ in range(50)])
    scores = y + rng.normal(0, 6, y.size)
    qid = np.repeat(np.arange(50), 80)
    model = GradedRelevance(max_grades=5).fit(scores, y, qid=qid)
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
@pytest.mark.filterwarnings("ignore:The scores do not agree")
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
    model = GradedRelevance().fit(scores, y, qid=qid)
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
    model = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
    items = labelled(new)
    tied = labelled(data).gap_outcomes
    share = tied.weight[tied.outcome == 0].sum() / tied.weight.sum()
    # The log loss of one forecast for all pairs.
    flat = -share * np.log(share) - (1 - share) * np.log((1 - share) / 2)
    assert log_loss(model, items) < 0.85 * flat


def test_items_of_one_score_are_tied_by_how_relevant_they_are():
    rng = np.random.default_rng(0)
    scores = np.repeat([0.0, 4.0], 2000)
    # Of score 0, all but a few are irrelevant; of score 4, half are.
    y = rng.random(4000) < np.where(scores == 0, 0.02, 0.5)
    order = rng.permutation(4000)
    model = GradedRelevance().fit(
        scores[order], y[order], qid=np.repeat(range(400), 10)
    )
    low, high = model.proba([0.0, 4.0], [0.0, 4.0])[:, 1]
    few, half = y[scores == 0].mean(), y[scores == 4].mean()
    assert low == pytest.approx(few**2 + (1 - few) ** 2, abs=2e-3)
    assert high == pytest.approx(half**2 + (1 - half) ** 2, abs=2e-3)
    assert low > 0.9


def test_low_scored_pairs_are_tied_more_often_than_middling_ones():
    data = make_ranking(300, random_state=0)
    model = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
    left = np.array([-4.0, -2.0, 0.0, 1.0])
    ties = model.proba(left, left - 1)[:, 1]
    assert (np.diff(ties) < 0).all()
    flat = BradleyTerry().fit(data.utility, data.target, qid=data.qid)
    assert np.ptp(flat.proba(left, left - 1)[:, 1]) < 1e-12


@pytest.mark.parametrize("scale", [1e-300, 0.25, 1e290])
def test_scale_of_the_scores_does_not_matter(scale):
    data = make_ranking(40, random_state=0)
    one = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
    other = GradedRelevance().fit(data.utility * scale, data.target, qid=data.qid)
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-7)
    assert other.slope_ * scale == pytest.approx(one.slope_, rel=1e-5)


def test_order_of_rows_and_names_of_queries_do_not_matter():
    data = make_ranking(40, random_state=0)
    scores = data.utility.round(1)
    one = GradedRelevance().fit(scores, data.target, qid=data.qid)
    order = np.random.default_rng(0).permutation(scores.size)
    names = np.array([f"query {q:03d}" for q in data.qid])
    # Queries may come in another order; the sums then round differently.
    other = GradedRelevance().fit(scores[order], data.target[order], qid=names[order])
    np.testing.assert_allclose(other.table_, one.table_, atol=1e-6)
    np.testing.assert_array_equal(other.edges_, one.edges_)


def test_any_labels_of_the_same_order_give_the_same_model():
    data = make_ranking(30, random_state=0)
    one = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
    other = GradedRelevance().fit(
        data.utility, np.array([-7.5, 0.1, 1e9])[data.target], qid=data.qid
    )
    np.testing.assert_array_equal(other.table_, one.table_)


def test_it_is_an_estimator():
    model = GradedRelevance(max_grades=4)
    assert model.get_params() == {"max_grades": 4}
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


def test_an_unfitted_model_is_copied_with_its_parameters_only():
    copied = pickle.loads(pickle.dumps(GradedRelevance(max_grades=4)))
    assert vars(copied) == {"max_grades": 4}


def test_repeated_fits_agree_to_the_last_bit():
    data = make_ranking(30, random_state=0)
    model = GradedRelevance()
    one = model.fit(data.utility, data.target, qid=data.qid).table_
    model.fit([0.0, 1.0], [0, 1])
    np.testing.assert_array_equal(
        model.fit(data.utility, data.target, qid=data.qid).table_, one
    )


def test_thinning_keeps_the_fit():
    rng = np.random.default_rng(0)
    z, shared = rng.normal(size=240_000), np.repeat(0.6 * rng.normal(size=30_000), 8)
    noise = rng.logistic(size=240_000)
    y = np.digitize(1.3 * z + shared + noise, [0.0, 1.5])
    model = GradedRelevance().fit(z, y, qid=np.repeat(np.arange(30_000), 8))
    assert model.slope_ == pytest.approx(1.3, rel=0.03)
    assert model.query_spread_ == pytest.approx(0.6, abs=0.05)
    np.testing.assert_allclose(model.cut_points_, [0.0, 1.5], atol=0.05)


# Grades


@pytest.mark.parametrize("max_grades", [10, 3])
def test_grade_probabilities_are_what_the_table_is_made_of(max_grades):
    data = make_ranking(n_queries=40, random_state=0)
    items = labelled(data)
    model = GradedRelevance(max_grades=max_grades).fit_items(items)
    centres = divide(items.value)[1]  # of fewer items than are thinned
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


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([2.0, 1.0, 0.0], "do not agree .* Check the orientation"),
        ([1.0, 1.0, 1.0], "same score, in each calibration query.* no order"),
    ],
)
def test_scores_that_do_not_agree_with_relevance_are_told(scores, said):
    with pytest.warns(UserWarning, match=said):
        model = GradedRelevance().fit(
            scores * 20, [0, 1, 2] * 20, qid=np.arange(60) // 3
        )
    assert model.slope_ == 0
