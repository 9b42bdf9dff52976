"""BALToR from end to end."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from doubles import FirstColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import pair_labels
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller


def column(scores):
    return np.asarray(scores, dtype=float)[:, None]


@pytest.fixture(scope="module")
def train():
    return make_ranking(n_queries=60, n_items=(1, 15), random_state=1)


@pytest.fixture(scope="module")
def test():
    return make_ranking(n_queries=40, n_items=(1, 15), random_state=2)


@pytest.fixture(scope="module")
def ranker(train):
    model = Ridge().fit(train.data, train.target)
    return BALToR(model, coverage=0.7, tie_model="bradley_terry").fit(
        train.data, train.target, qid=train.qid
    )


#: What is exact about gaps is tested with a model of the gap.
TERRY = {"tie_model": "bradley_terry"}


def fit_scores(scores, y, qid=None, **options):
    ranker = BALToR(FirstColumn().fit(None, None), **{**TERRY, **options})
    return ranker.fit(column(scores), y, qid=qid)


# --- the flow ----------------------------------------------------------------------


def test_methods_agree_with_each_other(ranker, test):
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    for name, value in [
        ("abstain", decisions.abstained),
        ("pair_proba", decisions.proba),
        ("conditional_risk", decisions.risk),
    ]:
        np.testing.assert_array_equal(
            getattr(ranker, name)(test.data, qid=test.qid), value
        )
    np.testing.assert_array_equal(
        ranker.predict(test.data), ranker.decision_function(test.data)
    )


def test_predict_is_the_wrapped_rankers_prediction(ranker, test):
    np.testing.assert_array_equal(
        ranker.predict(test.data), ranker.estimator_.predict(test.data)
    )


def test_zero_one_risk_is_one_minus_the_largest_probability(ranker, test):
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    np.testing.assert_allclose(
        decisions.risk, 1 - decisions.proba.max(axis=1), rtol=0, atol=1e-15
    )


def test_accepted_means_risk_at_most_threshold(ranker, test):
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    clear = np.abs(decisions.risk - ranker.threshold_) > 1e-12
    np.testing.assert_array_equal(
        decisions.accepted[clear], (decisions.risk <= ranker.threshold_)[clear]
    )


def test_calibration_coverage_is_the_smallest_that_reaches_the_target(train):
    for coverage in (0.05, 0.5, 0.8, 0.93):
        ranker = fit_scores(
            train.data[:, 0], train.target, train.qid, coverage=coverage
        )
        accepted = ranker.predict_pairs(
            column(train.data[:, 0]), qid=train.qid
        ).accepted
        assert ranker.coverage_ == accepted.mean() >= coverage
        assert accepted.mean() - coverage < 2 / accepted.size


def test_coverage_one_accepts_everything(ranker, test):
    full = ranker.at_coverage(1.0)
    assert full.predict_pairs(1e6 * test.data, qid=test.qid).accepted.all()
    assert full.predict_pairs(1e-6 * test.data, qid=test.qid).accepted.all()


def test_coverage_is_monotone(ranker, test):
    last = np.zeros(0)
    for coverage in np.linspace(0.02, 1, 25):
        accepted = (
            ranker.at_coverage(coverage).predict_pairs(test.data, qid=test.qid).accepted
        )
        if last.size:
            assert (accepted >= last).all()
        last = accepted


def test_at_coverage_is_what_fit_would_have_given(train, test):
    model = Ridge().fit(train.data, train.target)
    fitted = {
        c: BALToR(model, coverage=c).fit(train.data, train.target, qid=train.qid)
        for c in (0.4, 0.9)
    }
    moved = fitted[0.9].at_coverage(0.4)
    assert moved.get_params()["coverage"] == 0.4
    assert moved.threshold_ == fitted[0.4].threshold_
    assert moved.coverage_ == fitted[0.4].coverage_
    assert fitted[0.9].coverage == 0.9


def test_score_is_the_accuracy_of_accepted_pairs(ranker, test):
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, decisions.left, decisions.right)
    right = (decisions.label == truth)[decisions.accepted]
    assert ranker.score(test.data, test.target, qid=test.qid) == pytest.approx(
        right.mean(), rel=1e-12
    )


def test_score_weighs_a_pair_by_the_product_of_its_items(ranker, test):
    weight = np.random.default_rng(0).integers(0, 4, test.qid.size)
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, decisions.left, decisions.right)
    pair_weight = weight[decisions.left] * weight[decisions.right] * decisions.accepted
    expected = (pair_weight * (decisions.label == truth)).sum() / pair_weight.sum()
    assert ranker.score(
        test.data, test.target, qid=test.qid, sample_weight=weight
    ) == pytest.approx(expected, rel=1e-12)


def test_iter_pairs_is_predict_pairs_in_pieces(ranker, test):
    whole = ranker.predict_pairs(test.data, qid=test.qid)
    pieces = list(ranker.iter_pairs(test.data, qid=test.qid))
    assert len(pieces) == np.unique(test.qid).size
    for name in ("left", "right", "qid", "label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(
            np.concatenate([getattr(piece, name) for piece in pieces]),
            getattr(whole, name),
        )


def test_given_pairs_are_decided_like_all_pairs(ranker, test):
    whole = ranker.predict_pairs(test.data, qid=test.qid)
    chosen = np.random.default_rng(0).permutation(len(whole))[:50]
    pairs = np.stack([whole.left, whole.right], axis=1)[chosen]
    part = ranker.predict_pairs(test.data, qid=test.qid, pairs=pairs)
    np.testing.assert_array_equal(part.accepted, whole.accepted[chosen])
    np.testing.assert_array_equal(part.proba, whole.proba[chosen])
    turned = ranker.predict_pairs(test.data, qid=test.qid, pairs=pairs[:, ::-1])
    np.testing.assert_array_equal(turned.label, -part.label)
    np.testing.assert_array_equal(turned.proba, part.proba[:, ::-1])
    np.testing.assert_array_equal(turned.risk, part.risk)
    np.testing.assert_array_equal(turned.accepted, part.accepted)


# --- what a decision depends on ----------------------------------------------------


@pytest.mark.parametrize("boundary", ["accept", "randomize"])
def test_a_decision_does_not_depend_on_the_rest_of_the_batch(boundary):
    scores = np.round(np.random.default_rng(0).normal(size=80), 1)
    y = np.random.default_rng(1).integers(0, 3, 80)
    ranker = fit_scores(scores, y, coverage=0.6, boundary=boundary, random_state=3)
    whole = ranker.predict_pairs(column(scores))
    for k in range(0, len(whole), 97):
        rows = [whole.left[k], whole.right[k]]
        alone = ranker.predict_pairs(column(scores[rows]))
        assert alone.accepted[0] == whole.accepted[k]
        assert alone.label[0] == whole.label[k]
        with_outlier = ranker.predict_pairs(column([*scores[rows], 1e9]))
        assert with_outlier.accepted[0] == whole.accepted[k]


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["accept", "randomize"]))
def test_row_permutation_changes_nothing(random, boundary):
    data = make_ranking(n_queries=8, n_items=(1, 6), random_state=0)
    scores = np.round(data.data[:, 0], 1)
    ranker = fit_scores(
        scores, data.target, data.qid, boundary=boundary, random_state=0
    )
    order = np.array(random.sample(range(scores.size), scores.size))
    shuffled = ranker.predict_pairs(column(scores[order]), qid=data.qid[order])
    straight = ranker.predict_pairs(column(scores), qid=data.qid)

    def table(decisions, rows):
        left, right = rows[decisions.left], rows[decisions.right]
        turn = np.where(left < right, 1, -1)
        return {
            (min(i, j), max(i, j)): (label * sign, bool(accepted), risk)
            for i, j, label, sign, accepted, risk in zip(
                left,
                right,
                decisions.label,
                turn,
                decisions.accepted,
                decisions.risk,
                strict=True,
            )
        }

    assert table(shuffled, order) == table(straight, np.arange(scores.size))
    again = fit_scores(
        scores[order],
        data.target[order],
        data.qid[order],
        boundary=boundary,
        random_state=0,
    )
    assert again.threshold_ == pytest.approx(ranker.threshold_, rel=1e-9)
    assert again.coverage_ == pytest.approx(ranker.coverage_, rel=1e-9)


@pytest.mark.parametrize("factor", [0.125, 1024.0])
def test_the_scale_of_the_scores_does_not_matter_under_maximum_likelihood(factor):
    data = make_ranking(n_queries=30, random_state=0)
    scores = data.data[:, 0] + data.data[:, 1]
    small = fit_scores(scores, data.target, data.qid)
    large = fit_scores(factor * scores, data.target, data.qid)
    a = small.predict_pairs(column(scores), qid=data.qid)
    b = large.predict_pairs(column(factor * scores), qid=data.qid)
    np.testing.assert_array_equal(a.accepted, b.accepted)
    np.testing.assert_array_equal(a.label, b.label)
    np.testing.assert_allclose(a.proba, b.proba, rtol=1e-7)


def test_adding_a_constant_to_all_scores_changes_nothing():
    data = make_ranking(n_queries=30, random_state=0)
    scores = np.round(8 * data.data[:, 0]) / 8  # exact in binary, also when shifted
    near = fit_scores(scores, data.target, data.qid, coverage=0.6)
    far = fit_scores(scores + 1024, data.target, data.qid, coverage=0.6)
    a = near.predict_pairs(column(scores), qid=data.qid)
    b = far.predict_pairs(column(scores + 1024), qid=data.qid)
    np.testing.assert_array_equal(a.accepted, b.accepted)
    np.testing.assert_array_equal(a.proba, b.proba)


def test_pairs_of_equal_difference_are_never_split():
    # Differences of 0.1 that are different floats.
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    gaps = np.diff(scores)
    assert np.unique(gaps).size > 1
    y = [0, 1, 0, 1, 2, 1, 2, 2]
    for coverage in np.linspace(0.05, 1, 40):
        ranker = fit_scores(scores, y, coverage=coverage)
        decisions = ranker.predict_pairs(column(scores))
        steps = decisions.right - decisions.left
        for step in range(1, 8):
            assert np.unique(decisions.accepted[steps == step]).size == 1


def test_float32_scores_decide_like_their_float64_cast(train):
    scores = train.data[:, 0].astype(np.float32)
    ranker = fit_scores(scores, train.target, train.qid)
    a = ranker.predict_pairs(scores[:, None], qid=train.qid)
    b = ranker.predict_pairs(scores[:, None].astype(np.float64), qid=train.qid)
    np.testing.assert_array_equal(a.accepted, b.accepted)
    np.testing.assert_array_equal(a.proba, b.proba)


def test_equal_scores_are_ties_and_their_risk_is_that_of_a_tie():
    # Few ties: a strict label is likelier at d = 0, but the scores carry no order.
    ranker = fit_scores(
        [0, 1, 2, 3, 4, 2],
        [0, 1, 1, 3, 4, 3],
        tie_model=BradleyTerry(calibration="counts"),
    )
    decisions = ranker.predict_pairs(column([1.0, 1.0]))
    assert decisions.label[0] == 0
    assert decisions.proba[0, 1] < decisions.proba[0, 0] == decisions.proba[0, 2]
    assert decisions.risk[0] == pytest.approx(1 - decisions.proba[0, 1])


# --- boundary ----------------------------------------------------------------------


def test_randomised_boundary_meets_the_coverage_exactly():
    scores = np.repeat(np.arange(5.0), 8)
    y = np.random.default_rng(0).integers(0, 3, 40)
    for coverage in (0.31, 0.5, 0.77):
        ranker = fit_scores(
            scores, y, coverage=coverage, boundary="randomize", random_state=0
        )
        assert ranker.coverage_ == pytest.approx(coverage, rel=1e-12)
        deterministic = fit_scores(scores, y, coverage=coverage)
        assert deterministic.coverage_ > coverage + 0.01


def test_randomised_draws_are_seeded_and_about_right():
    scores = np.random.default_rng(0).normal(size=3000)
    scores[1500:] = scores[:1500] + 1.0  # 1500 pairs whose difference is one
    y = (scores > 0).astype(int)
    pairs = np.stack([np.arange(1500), np.arange(1500, 3000)], axis=1)
    draws = []
    for seed in (0, 0, 1):
        ranker = fit_scores(
            [0.0, 1.0, 0.0, 1.0, 5.0],
            [0, 1, 1, 0, 2],
            random_state=seed,
            coverage=0.6,
            boundary="randomize",
        )
        ranker._region = type(ranker._region)(
            0.3, -1.0, 1.0, 1e-9, kappa=0.3, seed=ranker._calibration.seed
        )
        draws.append(~ranker.abstain(column(scores), pairs=pairs))
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    # Binomial standard error 0.012.
    assert draws[0].mean() == pytest.approx(0.3, abs=0.05)
    assert y.size == 3000


# --- queries -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "rename",
    [
        lambda q: -q,
        lambda q: [f"day {v}" for v in q],
        lambda q: [(int(v), "site") for v in q],
        lambda q: pd.Series(q, index=q[::-1]),
        lambda q: pl.Series(q),
        lambda q: pd.Categorical([str(v) for v in q]),
    ],
    ids=["negative", "strings", "tuples", "pandas", "polars", "categorical"],
)
def test_any_hashable_qid(rename, train, ranker):
    order = np.random.default_rng(0).permutation(train.qid.size)
    qid = rename(train.qid[order])
    same = BALToR(ranker.estimator_, coverage=0.7, **TERRY).fit(
        train.data[order], train.target[order], qid=qid
    )
    assert same.threshold_ == pytest.approx(ranker.threshold_, rel=1e-9)
    assert same.n_queries_ == ranker.n_queries_
    assert len(same.predict_pairs(train.data[order], qid=qid)) == ranker.n_pairs_


def test_no_qid_and_a_scalar_mean_one_query(ranker, test):
    X = test.data[:6]
    a, b = ranker.predict_pairs(X), ranker.predict_pairs(X, qid="today")
    assert len(a) == len(b) == 15
    assert set(b.qid) == {"today"}


def test_one_item_queries_give_no_pairs(ranker, test):
    decisions = ranker.predict_pairs(test.data[:3], qid=[1, 2, 3])
    assert len(decisions) == 0
    assert decisions.proba.shape == (0, 3)
    assert np.isnan(decisions.coverage)


def test_scoring_without_the_qid_that_fit_had_is_an_error(ranker, test):
    with pytest.raises(ValueError, match=r"qid= must be given to score.*qid_col="):
        ranker.score(test.data, test.target)


# --- prefit ------------------------------------------------------------------------


def test_an_unfitted_ranker_is_trained_on_other_queries(train):
    ranker = BALToR(Ridge(), random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    assert not ranker.prefit_
    assert not hasattr(ranker.estimator, "coef_")
    assert ranker.n_queries_ == 15  # a quarter of 60
    again = BALToR(Ridge(), random_state=0).fit(train.data, train.target, qid=train.qid)
    assert again.threshold_ == ranker.threshold_


def test_a_fitted_ranker_is_only_calibrated(train):
    model = Ridge().fit(train.data, train.target)
    before = model.coef_.copy()
    ranker = BALToR(model).fit(train.data, train.target, qid=train.qid)
    assert ranker.prefit_
    assert ranker.estimator_ is model
    assert ranker.n_queries_ == 60
    np.testing.assert_array_equal(model.coef_, before)


def test_prefit_false_refits_a_clone(train):
    model = Ridge().fit(train.data, -train.target)
    before = model.coef_.copy()
    ranker = BALToR(model, prefit=False, random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    assert not ranker.prefit_
    assert ranker.score(train.data, train.target, qid=train.qid) > 0.5
    np.testing.assert_array_equal(model.coef_, before)


def test_prefit_true_insists():
    with pytest.raises(NotFittedError, match=r"lost its fit when it was cloned"):
        BALToR(Ridge(), prefit=True).fit(np.zeros((4, 1)), [0, 1, 2, 3])


def test_a_clone_keeps_a_fitted_ranker_fitted(train):
    model = make_pipeline(StandardScaler(), Ridge()).fit(train.data, train.target)
    copy = clone(BALToR(model, coverage=0.5))
    assert isinstance(copy.estimator, FrozenEstimator)
    assert copy.coverage == 0.5
    copy.fit(train.data, train.target, qid=train.qid)
    assert copy.prefit_
    assert isinstance(clone(BALToR(Ridge())).estimator, Ridge)


def test_setting_parameters_of_a_fitted_ranker_is_an_error(train):
    model = Ridge().fit(train.data, train.target)
    with pytest.raises(ValueError, match=r"prefit=False"):
        BALToR(model).set_params(estimator__alpha=2.0)
    assert model.alpha == 1.0
    assert BALToR(Ridge()).set_params(estimator__alpha=2.0).estimator.alpha == 2.0


def test_one_query_is_split_by_items():
    data = make_ranking(n_queries=1, n_items=40, random_state=0)
    ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target)
    assert ranker.n_queries_ == 1
    assert ranker.n_pairs_ == 10 * 9 / 2


def test_pickle(ranker, test):
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        loaded.abstain(test.data, qid=test.qid), ranker.abstain(test.data, qid=test.qid)
    )
    assert loaded.at_coverage(0.3).threshold_ == ranker.at_coverage(0.3).threshold_


def test_set_params_after_fit_changes_no_decision(ranker, test):
    before = ranker.abstain(test.data, qid=test.qid)
    changed = pickle.loads(pickle.dumps(ranker)).set_params(
        coverage=0.1, loss=5 * (1 - np.eye(3)), tie_model="thurstone_mosteller"
    )
    np.testing.assert_array_equal(changed.abstain(test.data, qid=test.qid), before)


# --- query column and frames -------------------------------------------------------


@pytest.fixture
def frame(train):
    names = [f"f{k}" for k in range(train.data.shape[1])]
    frame = pd.DataFrame(train.data, columns=names)
    frame.insert(3, "day", [f"d{q}" for q in train.qid])
    return frame


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"]
)
def test_qid_col_by_name(frame, train, make):
    X = make(frame)
    by_column = BALToR(Ridge(), qid_col="day", random_state=0).fit(X, train.target)
    by_argument = BALToR(Ridge(), random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    assert by_column.threshold_ == pytest.approx(by_argument.threshold_, rel=1e-9)
    assert by_column.n_features_in_ == train.data.shape[1] + 1
    assert by_column.predict(X).shape == (train.qid.size,)
    assert by_column.score(X, train.target) == pytest.approx(
        by_argument.score(train.data, train.target, qid=train.qid)
    )


@pytest.mark.parametrize("position", [3, -8])
def test_qid_col_by_position(train, position):
    X = np.insert(train.data, 3, train.qid, axis=1)
    ranker = BALToR(Ridge(), qid_col=position, random_state=0).fit(X, train.target)
    assert len(ranker.predict_pairs(X)) == sum(
        n * (n - 1) // 2 for n in np.bincount(train.qid)
    )


@pytest.mark.parametrize(
    ("qid_col", "change", "error", "match"),
    [
        ("night", lambda f: f, ValueError, r"qid_col must name a column.*'night'"),
        ("day", lambda f: f.to_numpy(), ValueError, r"qid_col must be an integer"),
        (99, lambda f: f, ValueError, r"qid_col must be a position below 11.*99"),
        (1.5, lambda f: f, TypeError, r"qid_col must be a column name or position"),
        ("day", lambda f: f[["day"]], ValueError, r"a column besides qid_col"),
        (
            "day",
            lambda f: f.assign(day=np.where(f.index == 2, np.nan, 1.0)),
            ValueError,
            r"qid must not be missing, got NaN at row 2",
        ),
        ("day", lambda f: f.assign(day=2.0**60), ValueError, r"exact as floats"),
    ],
)
def test_qid_col_errors(frame, train, qid_col, change, error, match):
    with pytest.raises(error, match=match):
        BALToR(Ridge(), qid_col=qid_col).fit(change(frame), train.target)


def test_qid_and_qid_col_exclude_each_other(frame, train):
    with pytest.raises(ValueError, match=r"qid must not be given when qid_col='day'"):
        BALToR(Ridge(), qid_col="day").fit(frame, train.target, qid=train.qid)


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"]
)
def test_named_columns_are_put_in_order(frame, train, make):
    X = make(frame.drop(columns="day"))
    ranker = BALToR(Ridge(), random_state=0).fit(X, train.target, qid=train.qid)
    turned = X[list(X.columns)[::-1]]
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(
            X.rename({"f1": "g1"})
            if make is pl.from_pandas
            else X.rename(columns={"f1": "g1"})
        )
    with pytest.raises(ValueError, match="feature"):
        ranker.predict(X[list(X.columns)[1:]])


# --- losses and tie models ---------------------------------------------------------


def test_a_cost_matrix_changes_labels_and_risks(train, test):
    model = Ridge().fit(train.data, train.target)
    # Predicting a tie for an order costs little: ties are predicted more often.
    loss = [[0, 1, 1], [0.3, 0, 0.3], [1, 1, 0]]
    plain = BALToR(model).fit(train.data, train.target, qid=train.qid)
    costly = BALToR(model, loss=loss).fit(train.data, train.target, qid=train.qid)
    a = plain.predict_pairs(test.data, qid=test.qid)
    b = costly.predict_pairs(test.data, qid=test.qid)
    assert (b.label == 0).sum() > (a.label == 0).sum()
    expected = (b.proba[:, None, :] * np.array(loss)[None]).sum(axis=2)
    np.testing.assert_allclose(b.risk, expected.min(axis=1), atol=1e-15)
    assert costly.coverage_ == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    "tie_model",
    ["bradley_terry", "davidson", "thurstone_mosteller", ThurstoneMosteller()],
)
def test_tie_models_by_name_and_instance(tie_model, train):
    ranker = BALToR(Ridge(), tie_model=tie_model, random_state=0)
    ranker.fit(train.data, train.target, qid=train.qid)
    assert ranker.tie_model_ is not tie_model
    assert ranker.tie_model_.scale_ > 0


def test_no_ties_and_only_ties_are_data(train):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = np.arange(train.qid.size) % 97
        distinct = fit_scores(train.data[:, 0], y, 0)  # one query is meant
    assert distinct.n_pairs_ > 0
    untied = fit_scores(
        [1.0, 2, 3, 4, 2.5],
        [1, 2, 4, 5, 3.5],
        tie_model=BradleyTerry(calibration="counts"),
    )
    assert untied.tie_model_.theta_ == 1
    assert (untied.pair_proba(column([0.0, 1.0]))[:, 1] == 0).all()
    with pytest.warns(UserWarning, match="half a pair"):
        tied = fit_scores(train.data[:, 0], np.ones(train.qid.size), train.qid)
    decisions = tied.predict_pairs(train.data[:, :1], qid=train.qid)
    assert np.isfinite(decisions.proba).all()
    assert (decisions.label == 0).mean() > 0.9


# --- bad input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"coverage": 0.0}, ValueError, r"coverage must be in \(0, 1\], got 0\.0"),
        ({"coverage": 1.2}, ValueError, r"coverage must be in \(0, 1\], got 1\.2"),
        ({"coverage": "high"}, TypeError, r"coverage must be a real number"),
        ({"coverage": np.nan}, ValueError, r"coverage must be in"),
        ({"tie_model": "elo"}, ValueError, r"tie_model must be one of .*got 'elo'"),
        ({"tie_model": Ridge()}, TypeError, r"tie_model must be a name or an instance"),
        (
            {"tie_model": BradleyTerry(ties="coin")},
            ValueError,
            r"ties must be one of .*'coin'",
        ),
        (
            {"loss": "hinge"},
            ValueError,
            r"loss must be one of .*, got 'hinge'",
        ),
        ({"loss": np.eye(3)}, ValueError, r"loss must have a zero diagonal"),
        (
            {"loss": [[0, 1, 2], [1, 0, 1], [1, 1, 0]]},
            ValueError,
            r"loss must be mirror-symmetric",
        ),
        ({"loss": np.ones((2, 2))}, ValueError, r"loss must be .*got shape \(2, 2\)"),
        ({"boundary": "toss"}, ValueError, r"boundary must be one of"),
        ({"quantile": "median"}, ValueError, r"quantile must be one of"),
        (
            {"quantile": "linear", "boundary": "randomize"},
            ValueError,
            r"boundary='randomize' must go with",
        ),
        ({"prefit": "yes"}, ValueError, r"prefit must be 'auto', True or False"),
        ({"calibration_size": 1.0}, ValueError, r"calibration_size must be in"),
    ],
)
def test_bad_parameters(options, error, match, train):
    with pytest.raises(error, match=match):
        BALToR(Ridge(), **options).fit(train.data, train.target, qid=train.qid)


def with_value(array, value):
    changed = np.array(array, dtype=float)
    changed[2] = value
    return changed


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: (d.data, d.target[:-1], d.qid), r"y must have one value per item"),
        (lambda d: (d.data, d.target, d.qid[:-1]), r"qid must have one value per item"),
        (lambda d: (d.data, with_value(d.target, np.nan), d.qid), r"y must be finite"),
        (
            lambda d: (d.data, d.target, with_value(d.qid, np.nan)),
            r"qid must not be mi",
        ),
        (lambda d: (d.data[:0], d.target[:0], d.qid[:0]), r"0 sample\(s\)"),
        (lambda d: (d.data[:, 0], d.target, d.qid), r"Expected 2D array, got 1D"),
        (lambda d: (d.data, ["x"] * len(d.data), d.qid), r"y must hold numbers"),
        (lambda d: (d.data, None, d.qid), r"requires y to be passed"),
    ],
)
def test_bad_data(change, match, train):
    X, y, qid = change(train)
    with pytest.raises(ValueError, match=match):
        BALToR(Ridge()).fit(X, y, qid=qid)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_scores_that_are_not_finite(value, name):
    scores = np.arange(10.0)
    scores[4] = value
    with pytest.raises(ValueError, match=rf"scores must be finite, got {name}.*row 4"):
        fit_scores(scores, np.arange(10))


def test_no_query_with_two_items(train):
    model = Ridge().fit(train.data, train.target)
    with pytest.raises(ValueError, match=r"at least one calibration query with two"):
        BALToR(model).fit(train.data, train.target, qid=np.arange(train.qid.size))


def test_too_few_items_to_split():
    with pytest.raises(ValueError, match=r"n_samples=3"):
        BALToR(Ridge()).fit(np.zeros((3, 1)), [0, 1, 2])


def test_features_that_do_not_match_the_model(ranker, test):
    with pytest.raises(ValueError, match="features"):
        ranker.predict_pairs(test.data[:, :4])


@pytest.mark.parametrize(
    ("pairs", "error", "match"),
    [
        ([[0, 99999]], ValueError, r"pairs must name rows from 0"),
        ([[0, 0]], ValueError, r"pairs must name two different rows, got \(0, 0\)"),
        ([[0, 1, 2]], ValueError, r"pairs must be of shape \(n_pairs, 2\)"),
        ([[0.0, 1.0]], TypeError, r"pairs must hold integers"),
    ],
)
def test_bad_pairs(pairs, error, match, ranker, test):
    with pytest.raises(error, match=match):
        ranker.predict_pairs(test.data, pairs=pairs)


def test_pairs_across_queries(ranker, test):
    other = int(np.flatnonzero(test.qid != test.qid[0])[0])
    with pytest.raises(ValueError, match=r"two rows of the same query"):
        ranker.predict_pairs(test.data, qid=test.qid, pairs=[[0, other]])


def test_not_fitted(test):
    ranker = BALToR(Ridge())
    for call in (
        lambda: ranker.predict(test.data),
        lambda: ranker.predict_pairs(test.data),
        lambda: ranker.at_coverage(0.5),
        lambda: ranker.score(test.data, test.target),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_nothing_accepted_scores_nan_with_a_warning():
    ranker = fit_scores(np.arange(20.0), np.tile([0, 1, 0, 2], 5), coverage=0.01)
    with pytest.warns(UndefinedMetricWarning, match="no pair is accepted"):
        assert np.isnan(ranker.score(column([0.0, 1.0]), [0, 1]))


def test_verbose_prints_a_line_and_silence_is_the_default(train, capsys):
    BALToR(Ridge(), random_state=0).fit(train.data, train.target, qid=train.qid)
    assert capsys.readouterr().out == ""
    BALToR(Ridge(), random_state=0, verbose=1).fit(
        train.data, train.target, qid=train.qid
    )
    assert "[BALToR] calibrated on" in capsys.readouterr().out
