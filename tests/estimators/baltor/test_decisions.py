"""What is decided of pairs, by which threshold, and what it depends on."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.baltor.columns import column, fit_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import concordance
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import pair_labels
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller


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
    model = Ridge().fit(train.data[::2], train.target[::2])
    fitted = {
        c: BALToR(model, coverage=c).fit(train.data, train.target, qid=train.qid)
        for c in (0.4, 0.9)
    }
    moved = fitted[0.9].at_coverage(0.4)
    assert moved.get_params()["coverage"] == 0.4
    assert moved.threshold_ == fitted[0.4].threshold_
    assert moved.coverage_ == fitted[0.4].coverage_
    assert fitted[0.9].coverage == 0.9


def test_score_counts_right_orders_and_one_half_for_an_open_pair(ranker, test):
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, decisions.left, decisions.right)
    right = concordance(decisions.label, decisions.accepted, truth)
    assert 0.5 < right < 1
    assert ranker.score(test.data, test.target, qid=test.qid) == pytest.approx(
        right, rel=1e-12
    )


def test_the_score_at_full_coverage_is_the_auc():
    data = make_ranking(n_queries=1, n_items=200, n_grades=2, random_state=0)
    ranker = BALToR(Ridge().fit(data.data[::2], data.target[::2]), coverage=1.0)
    ranker.fit(data.data, data.target, qid=0)
    expected = roc_auc_score(data.target, ranker.predict(data.data))
    for tie_model in ("graded_relevance", "bradley_terry"):
        ranker.set_params(tie_model=tie_model).fit(data.data, data.target, qid=0)
        found = ranker.score(data.data, data.target)
        assert found == pytest.approx(expected, rel=1e-12), tie_model


def test_score_weighs_a_pair_by_the_product_of_its_items(ranker, test):
    weight = np.random.default_rng(0).integers(0, 4, test.qid.size)
    decisions = ranker.predict_pairs(test.data, qid=test.qid)
    truth = pair_labels(test.target, decisions.left, decisions.right)
    of_pairs = weight[decisions.left] * weight[decisions.right]
    expected = concordance(decisions.label, decisions.accepted, truth, of_pairs)
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


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
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


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
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


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
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
        ranker.threshold_ = ranker._region.risk
        draws.append(~ranker.abstain(column(scores), pairs=pairs))
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    # Binomial standard error 0.012.
    assert draws[0].mean() == pytest.approx(0.3, abs=0.05)
    assert y.size == 3000


def test_a_cost_matrix_changes_labels_and_risks(train, test):
    model = Ridge().fit(train.data[::2], train.target[::2])
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
        warnings.filterwarnings("ignore", ".* in the wrong order")
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
        tied = fit_scores(
            train.data[:, 0], np.ones(train.qid.size), train.qid, loss="zero_one"
        )
    decisions = tied.predict_pairs(train.data[:, :1], qid=train.qid)
    assert np.isfinite(decisions.proba).all()
    assert (decisions.label == 0).mean() > 0.9


def test_pairs_that_cannot_be_told_apart_are_told():
    scores, y = np.tile([0.0, 1.0], 30), np.tile([0, 1, 1, 1, 0, 0], 10)
    with pytest.warns(UserWarning, match="are accepted where coverage=0.2 was asked"):
        ranker = fit_scores(scores, y, np.repeat(np.arange(10), 6), coverage=0.2)
    assert ranker.coverage_ > 0.4


def test_scores_that_were_squeezed_decide_nothing_and_it_is_said():
    known = make_ranking(n_queries=60, random_state=0)
    new = make_ranking(n_queries=30, random_state=1)
    ranker = BALToR(FirstColumn().fit(None, None), coverage=0.8)
    ranker.fit(known.data, known.target, qid=known.qid)
    assert 0.6 < ranker.predict_pairs(new.data, qid=new.qid).coverage < 0.95
    with pytest.warns(
        UserWarning, match=r"of \d+ pairs are decided, 80% at calibration"
    ):
        found = ranker.predict_pairs(new.data * [[0.001] + [1] * 9], qid=new.qid)
    assert found.coverage == 0
