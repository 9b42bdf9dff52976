"""Fitting scale and tie parameter: oracles, optimality, invariance, hard data."""

import math

import numpy as np
import pandas as pd
import pytest
import reference
from scored import scored
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import LINKS, NO_TIE

from skrank_abstain.pairs import (
    GapOutcomes,
    enumerate_pairs,
    group_queries,
)
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller
from skrank_abstain.tie_models._difference_models import (
    fit_maximum_likelihood,
    n_pairs_of,
)

ML = {
    "rao_kupper": BradleyTerry(),
    "davidson": BradleyTerry(ties="davidson"),
    "thurstone_mosteller": ThurstoneMosteller(),
}
COUNTS = {
    "rao_kupper": BradleyTerry(calibration="counts"),
    "davidson": BradleyTerry(ties="davidson", calibration="counts"),
    "thurstone_mosteller": ThurstoneMosteller(calibration="counts"),
}
PARAMETER = {
    "rao_kupper": "theta_",
    "davidson": "nu_",
    "thurstone_mosteller": "epsilon_",
}
KINDS = sorted(ML)

all_kinds = pytest.mark.parametrize("kind", KINDS)
all_models = pytest.mark.parametrize(
    "model", [*ML.values(), *COUNTS.values()], ids=lambda model: repr(model)
)

NO_OPTIMUM = "maximum-likelihood tie model does not exist on these pairs"
DISAGREE = "scores do not agree with relevance"


def outcomes(d, y):
    """Pairs given by their score differences and labels, one of each."""
    d, y = np.asarray(d, dtype=float), np.asarray(y)
    outcome = np.where(d == 0, abs(y), np.sign(d) * y).astype(np.int64)
    return GapOutcomes(abs(d), outcome, np.ones(d.size))


def simulated(seed, n_queries=25, size=5, noise=1.0):
    """Scores, grades and queries where scores are informative and ties are common."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n_queries * size)
    y = np.digitize(s + noise * rng.logistic(size=s.size), [-1.0, 1.0])
    return s, y, rng.permutation(np.repeat(np.arange(n_queries), size))


def of_scores(data):
    """Return scores, grades and queries as the arguments of ``fit``."""
    return dict(zip(("scores", "y", "qid"), data, strict=False))


def differences(s, y, qid):
    left, right = enumerate_pairs(group_queries(qid, s.size))
    return s[left] - s[right], np.sign(y[left] - y[right])


@pytest.mark.parametrize(
    ("kind", "fit"), [("rao_kupper", "logit"), ("thurstone_mosteller", "probit")]
)
def test_oracle_of_maximum_likelihood(kind, fit, oracles):
    case = oracles["calibration_mle"]
    pairs = outcomes(case["d"], case["y"])
    assert n_pairs_of(pairs, 0) == case["n_tied"]
    scale, margin = fit_maximum_likelihood(LINKS[kind], pairs)
    expected = case["fits"][fit]
    assert scale == pytest.approx(expected["scale"], rel=1e-7)
    assert margin == pytest.approx(expected["eps"], rel=1e-7)
    param = math.exp(margin) if kind == "rao_kupper" else margin
    loglik = reference.log_likelihood(kind, scale, param, case["d"], case["y"])
    assert loglik == pytest.approx(expected["loglik"], rel=1e-12)


@all_kinds
def test_weights_are_repeated_pairs(kind, oracles):
    case = oracles["calibration_mle"]
    pairs = outcomes(case["d"], case["y"])
    weight = 1.0 + np.arange(pairs.weight.size) % 3
    repeated = [np.repeat(a, weight.astype(int)) for a in (pairs.gap, pairs.outcome)]
    one = fit_maximum_likelihood(
        LINKS[kind], GapOutcomes(pairs.gap, pairs.outcome, weight)
    )
    other = fit_maximum_likelihood(
        LINKS[kind], GapOutcomes(*repeated, np.ones(repeated[0].size))
    )
    assert one == pytest.approx(other, rel=1e-8)


@pytest.mark.parametrize(
    ("kind", "fit"),
    [("davidson", "dav"), ("rao_kupper", "rk"), ("thurstone_mosteller", "tm")],
)
def test_at_the_joint_estimate_of_strengths_the_scale_is_one(kind, fit, oracles):
    # Given strengths that maximise the likelihood jointly with the tie parameter,
    # stretching them cannot improve it.
    case = oracles["ties_fit_pudding"]
    mle = case["mle"][fit]
    s = np.array(mle["scores"])
    d = s[np.array(case["i"]) - 1] - s[np.array(case["j"]) - 1]
    wins, losses = np.array(case["w_ij"]), np.array(case["w_ji"])
    high, low = np.where(d > 0, wins, losses), np.where(d > 0, losses, wins)
    pairs = GapOutcomes(
        np.tile(abs(d), 3),
        np.repeat(np.array([1, 0, -1]), d.size),
        np.concatenate([high, case["t_ij"], low]).astype(float),
    )
    scale, margin = fit_maximum_likelihood(LINKS[kind], pairs)
    # The strengths are printed with an error of about 1e-8, on differences of 0.1.
    assert scale == pytest.approx(1, rel=1e-5)
    expected = mle["par"] if kind == "davidson" else mle["eps"]
    assert margin == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "distr"), [("rao_kupper", "logit"), ("thurstone_mosteller", "probit")]
)
def test_agrees_with_an_ordered_regression_on_both_orders(kind, distr, seed):
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    s, y, qid = simulated(seed)
    d, label = differences(s, y, qid)
    both = ordinal.OrderedModel(
        np.concatenate([label, -label]), np.concatenate([d, -d])[:, None], distr=distr
    )
    fit = both.fit(method="bfgs", disp=False, gtol=1e-8, maxiter=1000)
    thresholds = both.transform_threshold_params(fit.params)[1:-1]
    model = clone(ML[kind]).fit(s, y, qid=qid)
    # Its gradient is numerical, good to about 1e-6.
    assert model.scale_ == pytest.approx(fit.params[0], rel=1e-5)
    assert thresholds == pytest.approx([-model.epsilon_, model.epsilon_], rel=1e-5)


@all_kinds
@pytest.mark.parametrize("seed", range(5))
def test_no_neighbouring_parameters_are_more_likely(kind, seed):
    s, y, qid = simulated(seed)
    model = clone(ML[kind]).fit(s, y, qid=qid)
    param = getattr(model, PARAMETER[kind])
    margin = math.log(param) if kind == "rao_kupper" else param
    d, label = differences(s, y, qid)

    def loglik(log_scale, log_margin):
        m = margin * math.exp(log_margin)
        at = math.exp(m) if kind == "rao_kupper" else m
        scale = model.scale_ * math.exp(log_scale)
        return reference.log_likelihood(kind, scale, at, d, label)

    best, h = loglik(0, 0), 1e-4
    for a, b in [(h, 0), (0, h), (h, h), (h, -h)]:
        up, down = loglik(a, b), loglik(-a, -b)
        assert max(up, down) < best
        # Per pair; h**2 / 6 times a third derivative of the order of one.
        assert abs(up - down) / (2 * h) / d.size < 1e-8


@all_kinds
def test_finds_the_parameters_of_simulated_pairs(kind):
    rng = np.random.default_rng(7)
    truth = {"rao_kupper": 3.0, "davidson": 1.5, "thurstone_mosteller": 0.6}[kind]
    d = rng.normal(size=4000)
    draws = rng.random(d.size)
    labels = []
    for difference, u in zip(d, draws, strict=True):
        lose, tie, _ = reference.probabilities(kind, truth, 0.8 * difference)
        labels.append(-1 if u < lose else 0 if u < lose + tie else 1)
    scale, margin = fit_maximum_likelihood(LINKS[kind], outcomes(d, labels))
    param = math.exp(margin) if kind == "rao_kupper" else margin
    # Standard errors are about 4 % of the scale and 5 % of the tie parameter.
    assert scale == pytest.approx(0.8, rel=0.12)
    assert param == pytest.approx(truth, rel=0.15)


@all_kinds
@pytest.mark.parametrize("factor", [1e-100, 1e-6, 0.3, 4.0, 1e9, 1e100])
def test_a_factor_on_the_scores_is_absorbed_by_the_scale(kind, factor):
    s, y, qid = simulated(0)
    one = clone(ML[kind]).fit(s, y, qid=qid)
    other = clone(ML[kind]).fit(s * factor, y, qid=qid)
    assert other.scale_ * factor == pytest.approx(one.scale_, rel=1e-7)
    np.testing.assert_allclose(
        other.proba(s[1:] * factor, s[:-1] * factor),
        one.proba(s[1:], s[:-1]),
        rtol=1e-7,
    )


@all_kinds
def test_order_of_rows_and_names_of_queries_do_not_matter(kind):
    s, y, qid = simulated(1)
    model = clone(ML[kind]).fit(s, y, qid=qid)
    order = np.random.default_rng(0).permutation(s.size)
    names = pd.Series([f"query {q}" for q in qid[order]])
    other = clone(ML[kind]).fit(pd.Series(s[order]), pd.Series(y[order]), qid=names)
    assert other.scale_ == pytest.approx(model.scale_, rel=1e-8)
    assert getattr(other, PARAMETER[kind]) == pytest.approx(
        getattr(model, PARAMETER[kind]), rel=1e-8
    )


@all_kinds
def test_grades_count_by_their_order_only(kind):
    s, y, qid = simulated(2)
    values = np.array([-7.5, 0.0, 100.0])
    one = clone(ML[kind]).fit(s, y, qid=qid)
    other = clone(ML[kind]).fit(s, values[y], qid=qid)
    assert vars(one) == vars(other)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_mode(kind, oracles):
    for case in oracles["theta_from_counts"]:
        n_pairs, untied = case["N"], case["n_nontied"]
        # One query of two items per pair.
        y = np.zeros(2 * n_pairs)
        y[: 2 * untied : 2] = 1
        s = np.random.default_rng(0).normal(size=y.size)
        model = clone(COUNTS[kind]).fit(s, y, qid=np.repeat(np.arange(n_pairs), 2))
        assert model.scale_ == 1
        assert model.n_pairs_ == n_pairs
        name = {
            "rao_kupper": "theta",
            "davidson": "nu_davidson",
            "thurstone_mosteller": "eps_log_theta",
        }[kind]
        assert getattr(model, PARAMETER[kind]) == pytest.approx(case[name], rel=1e-12)


def test_margin_from_the_tie_rate(oracles):
    for case in oracles["theta_from_counts"]:
        n_pairs, untied = case["N"], case["n_nontied"]
        y = np.zeros(2 * n_pairs)
        y[: 2 * untied : 2] = 1
        qid = np.repeat(np.arange(n_pairs), 2)
        model = ThurstoneMosteller(calibration="counts", margin="tie_rate")
        with pytest.warns(UserWarning, match="same score, in each calibration query"):
            model.fit(np.zeros(y.size), y, qid=qid)
        assert model.scale_ == 1
        assert model.epsilon_ == pytest.approx(case["eps_tm_matched"], rel=1e-12)
        # What it is named after: equal scores tie as often as counted.
        tied = model.proba([0.0], [0.0])[0, 1]
        assert tied == pytest.approx(1 - untied / n_pairs, rel=1e-12)


def test_maximum_likelihood_needs_no_reading_of_the_margin():
    data = simulated(3)
    one, other = (
        ThurstoneMosteller(margin=margin).fit(**of_scores(data)).epsilon_
        for margin in ("log_theta", "tie_rate")
    )
    assert one == other


def test_theta_and_epsilon_are_one_parameter():
    for calibration in ("ml", "counts"):
        model = BradleyTerry(calibration=calibration).fit(**of_scores(simulated(0)))
        assert model.theta_ == pytest.approx(math.exp(model.epsilon_), rel=1e-15)
        assert not hasattr(model, "nu_")
    assert not hasattr(
        BradleyTerry(ties="davidson").fit(**of_scores(simulated(0))), "theta_"
    )


@pytest.mark.parametrize("models", [ML, COUNTS], ids=["ml", "counts"])
@all_kinds
def test_without_a_tied_pair_a_tie_is_impossible(kind, models):
    s, _, qid = simulated(3)
    y = s + np.random.default_rng(0).normal(size=s.size)
    model = clone(models[kind]).fit(s, y, qid=qid)
    assert getattr(model, PARAMETER[kind]) == NO_TIE[kind]
    np.testing.assert_array_equal(model.proba(s[1:], s[:-1])[:, 1], 0)


def assert_usable(model, s):
    proba = model.proba(s[1:], s[:-1])
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=4e-16)
    assert 0 < model.scale_ < np.inf


@all_kinds
def test_all_pairs_tied(kind):
    s, y, qid = simulated(0)
    with pytest.warns(UserWarning, match=NO_OPTIMUM):
        model = clone(ML[kind]).fit(s, np.zeros_like(y), qid=qid)
    assert_usable(model, s)
    # Half a pair each says -1, 0 and +1; the 250 pairs say 0.
    expected = (250 + 0.5) / (250 + 1.5)
    np.testing.assert_allclose(
        model.proba_at_gap(np.zeros(1))[0, 1], expected, rtol=1e-5
    )


@all_kinds
def test_all_pairs_tied_in_counts_mode(kind):
    s, y, qid = simulated(0)
    with pytest.warns(UserWarning, match="All pairs are tied"):
        model = clone(COUNTS[kind]).fit(s, np.zeros_like(y), qid=qid)
    theta = (2 * 250 - 0.5) / 0.5
    expected = {
        "rao_kupper": theta,
        "davidson": theta - 1,
        "thurstone_mosteller": math.log(theta),
    }
    assert getattr(model, PARAMETER[kind]) == pytest.approx(expected[kind], rel=1e-12)
    assert_usable(model, s)


@all_kinds
def test_perfectly_separated_pairs(kind):
    s, _, qid = simulated(0)
    with pytest.warns(UserWarning, match=NO_OPTIMUM):
        model = clone(ML[kind]).fit(s, s, qid=qid)
    assert_usable(model, s)
    # No pair is tied, so none is made up.
    assert getattr(model, PARAMETER[kind]) == NO_TIE[kind]
    # Ties near, orders far: the gap separates them just as well.
    close = np.round(s)
    with pytest.warns(UserWarning, match=NO_OPTIMUM):
        model = clone(ML[kind]).fit(close, close, qid=qid)
    assert_usable(model, s)


@all_kinds
def test_equal_scores_leave_the_share_of_ties(kind):
    _, y, qid = simulated(0)
    s = np.full(y.size, 3.25)
    with pytest.warns(UserWarning, match="same score, in each calibration query"):
        model = clone(ML[kind]).fit(s, y, qid=qid)
    _, label = differences(s, y, qid)
    share = np.mean(label == 0)
    np.testing.assert_allclose(
        model.proba([3.25], [3.25]), [[(1 - share) / 2, share, (1 - share) / 2]]
    )


@all_kinds
def test_scores_against_relevance_are_usable_with_a_warning(kind):
    s, y, qid = simulated(0)
    with pytest.warns(UserWarning, match=DISAGREE):
        model = clone(ML[kind]).fit(-s, y, qid=qid)
    assert_usable(model, s)
    _, label = differences(s, y, qid)
    share = np.mean(label == 0)
    proba = model.proba(s[1:], s[:-1])
    # The scores hardly matter: the scale leaves differences of a thousandth.
    expected = np.tile([(1 - share) / 2, share, (1 - share) / 2], (s.size - 1, 1))
    np.testing.assert_allclose(proba, expected, atol=1e-3)
    # But their order is kept: the surer pairs are still those further apart.
    order = model.proba_at_gap(np.array([0.5, 1.0, 2.0]))[:, 2]
    assert (np.diff(order) > 0).all()


@all_kinds
def test_scores_wrong_on_every_pair(kind):
    s, _, qid = simulated(0)
    with pytest.warns(UserWarning, match=DISAGREE):
        model = clone(ML[kind]).fit(s, -s, qid=qid)
    assert getattr(model, PARAMETER[kind]) == NO_TIE[kind]
    assert_usable(model, s)


@all_kinds
@pytest.mark.parametrize("factor", [1e160, 1e-170])
def test_extreme_scores_neither_overflow_nor_vanish(kind, factor):
    s, y, qid = simulated(0)
    plain = clone(ML[kind]).fit(s, y, qid=qid)
    extreme = clone(ML[kind]).fit(factor * s, y, qid=qid)
    assert extreme.scale_ * factor == pytest.approx(plain.scale_, rel=1e-6)
    np.testing.assert_allclose(
        extreme.proba(factor * s[1:], factor * s[:-1]),
        plain.proba(s[1:], s[:-1]),
        rtol=1e-5,
    )


def test_a_refit_leaves_no_parameter_of_another_model_behind():
    model = BradleyTerry().fit(**of_scores(simulated(0)))
    model.set_params(ties="davidson").fit(**of_scores(simulated(0)))
    assert not hasattr(model, "theta_")
    assert not hasattr(model, "epsilon_")
    assert model.nu_ > 0


def test_outcomes_are_seen_from_the_higher_score():
    s = np.array([1.0, 3.0, 3.0, 0.0])
    y = np.array([2.0, 1.0, 2.0, 2.0])
    pairs = scored(s, group_queries(None, 4), y).gap_outcomes
    weight = {
        (round(d, 6), o): w
        for d, o, w in zip(pairs.gap, pairs.outcome, pairs.weight, strict=True)
    }
    # Pairs 01, 02, 03, 12, 13, 23; the equal scores of 12 carry no order.
    assert weight == {
        (2.0, -1): 1,
        (2.0, 0): 1,
        (1.0, 0): 1,
        (0.0, 1): 0.5,
        (0.0, -1): 0.5,
        (3.0, -1): 1,
        (3.0, 0): 1,
    }
    assert [n_pairs_of(pairs, o) for o in (-1, 0, 1)] == [2.5, 3, 0.5]


@all_models
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1, 0, 1]), "y must have one value per item"),
        (([1.0, 2.0], [1, 0], [1]), "qid must have one value per item"),
        (([1.0, np.nan], [1, 0]), "scores must be finite, got NaN"),
        (([1.0, 2.0], [1, np.inf]), "y must be finite, got infinity"),
        (([1.0, 2.0], [1, 0], ["a", None]), "qid must not be missing"),
        (
            ([1.0, 2.0], [1, 0], [3, 4]),
            "at least one query with two items, got 2 queries with n_samples=2 items",
        ),
        (([], []), "at least one query with two items, got 0 queries"),
        (([1.0], [1]), "at least one query with two items, got 1 queries"),
    ],
)
def test_fit_refuses(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(**of_scores(arguments))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BradleyTerry(ties="none"), "ties must be one of 'rao_kupper', 'davidson'"),
        (BradleyTerry(calibration="map"), "calibration must be one of 'ml', 'counts'"),
        (ThurstoneMosteller(calibration=None), "calibration must be one of .*None"),
        (ThurstoneMosteller(margin="theta"), "margin must be one of .*'tie_rate', got"),
    ],
)
def test_options_are_checked_at_fit(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([1.0, 0.0], [1, 0])


@all_models
def test_probabilities_need_a_fit(model):
    with pytest.raises(NotFittedError):
        clone(model).proba([1.0], [0.0])


@all_models
def test_probabilities_of_unequal_lengths(model):
    fitted = clone(model).fit(**of_scores(simulated(0)))
    with pytest.raises(ValueError, match="must have one value per item"):
        fitted.proba([1.0, 2.0], [0.0])
    assert fitted.proba([], []).shape == (0, 3)


@all_models
def test_fitting_changes_no_option_and_no_input(model):
    s, y, qid = simulated(0)
    for array in (s, y, qid):
        array.setflags(write=False)
    fitted = clone(model)
    before = fitted.get_params()
    assert fitted.fit(s, y, qid=qid) is fitted
    assert fitted.get_params() == before
    assert fitted.n_pairs_ == 25 * 10
