import warnings

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import paired
from scored import at_coverage
from selection.engines import ZERO_ONE, accept, decide, gap_risk, pairs_with
from strategies import COVERAGES, FixedModel, losses, models, scores

from skrank_abstain._validation import rounded_share
from skrank_abstain.baselines import ConfidenceThreshold, entropy
from skrank_abstain.metrics import (
    class_acceptance,
    coverage_score,
    selective_accuracy_score,
)

EPS = np.finfo(float).eps


def tolerance_of(s):
    return 8 * EPS * abs(s).max()


def select(model, loss, s, coverage, **options):
    gap = abs(np.subtract(*paired(s)))
    risk = gap_risk(model, loss, gap.max(), tolerance_of(s))
    return at_coverage(risk, pairs_with(gap), coverage, **options), gap


def reference_risks(model, loss, gap):
    return np.array(
        [reference.risk(model.kind, model.param, model.scale * d, loss) for d in gap]
    )


@given(models(), losses(), scores(), COVERAGES)
def test_accepts_what_is_at_most_the_order_statistic(model, loss, s, coverage):
    region, gap = select(model, loss, s, coverage)
    risk = reference_risks(model, loss, gap)
    tau = reference.order_statistic(risk, coverage)
    assert region.risk == pytest.approx(tau, rel=1e-9, abs=1e-15)
    accepted = accept(region, *paired(s))
    # Where a loss is zero all risks are; then the rule goes by gap instead.
    assume(tau > 1e-12)
    # Equal differences have equal risks, all others differ by far more than this.
    at = abs(risk - tau) <= 1e-9 * tau
    assume(len({*gap[at]}) == 1)
    np.testing.assert_array_equal(accepted, (risk < tau) | at)


@given(models(), losses(), scores(), COVERAGES)
def test_calibration_coverage_reaches_its_target_without_a_group_to_spare(
    model, loss, s, coverage
):
    region, gap = select(model, loss, s, coverage)
    accepted = accept(region, *paired(s))
    needed = reference.rank_of_quantile(coverage, gap.size)
    assert accepted.sum() >= needed
    largest_group = max(np.unique(gap, return_counts=True)[1])
    assert accepted.sum() < needed + largest_group
    # Some group of equal |d| is needed to get there.
    groups = [accepted & (gap == d) for d in np.unique(gap)]
    assert any(g.any() and accepted.sum() - g.sum() < needed for g in groups)


@given(models(), losses(), scores(), COVERAGES, COVERAGES)
def test_acceptance_is_nested_in_coverage(model, loss, s, one, other):
    assume(one != other)
    low, high = (select(model, loss, s, c)[0] for c in sorted((one, other)))
    assert low.risk <= high.risk
    left, right = paired(s)
    assert (accept(low, left, right) <= accept(high, left, right)).all()
    # Also on pairs that were not used for calibration.
    grid = np.linspace(0, 6, 97)
    assert (accept(low, grid, 0 * grid) <= accept(high, grid, 0 * grid)).all()


@given(models(), losses(), scores())
def test_full_coverage_accepts_every_pair_ever(model, loss, s):
    for quantile in ("inverted_cdf", "linear"):
        region, _ = select(model, loss, s, 1.0, quantile=quantile)
        grid = np.concatenate([[0.0, 5e-324], np.geomspace(1e-9, 1e300, 99)])
        assert accept(region, grid, np.zeros(grid.size)).all()
        assert region.weight(grid).tolist() == [1.0] * grid.size


@given(models(), losses(), scores(), COVERAGES, st.integers(0, 2**32 - 1))
def test_randomized_coverage_is_exact_in_expectation(model, loss, s, coverage, seed):
    region, gap = select(model, loss, s, coverage, boundary="randomize", seed=seed)
    weight = region.weight(gap)
    assert weight.mean() == pytest.approx(coverage, abs=1e-12)
    assert 0 < region.kappa <= 1
    # Randomising takes pairs away from the cut and nothing else.
    whole, _ = select(model, loss, s, coverage)
    assert (region.inner, region.outer) == (whole.inner, whole.outer)
    accepted = accept(region, *paired(s))
    assert (accepted <= accept(whole, *paired(s))).all()
    assert accepted[weight == 1].all()


def test_randomized_draws_have_the_right_share():
    s = np.arange(60) / 4
    shares = []
    for seed in range(200):
        region, _ = select(
            FixedModel("rao_kupper", 1.5),
            ZERO_ONE,
            s,
            0.7,
            boundary="randomize",
            seed=seed,
        )
        shares.append(accept(region, *paired(s)).mean())
    # About 45 of 1770 pairs lie on the cut: one draw has a standard error of at most
    # 0.5 * sqrt(60) / 1770 = 0.0022, the mean of 200 a fourteenth of that.
    assert np.mean(shares) == pytest.approx(0.7, abs=4 * 0.0022 / np.sqrt(200))
    assert np.std(shares) > 0


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted where")
@given(
    st.sampled_from(["rao_kupper", "davidson", "thurstone_mosteller"]).flatmap(
        lambda kind: models(kind, tie_zone=False)
    ),
    scores(),
    COVERAGES,
)
def test_without_a_tie_zone_all_rules_are_one_threshold_on_gap(model, s, coverage):
    left, right = paired(s)
    gap = abs(left - right)
    cut = np.sort(gap)[::-1][rounded_share(coverage, gap.size) - 1]
    by_gap = gap >= cut
    region, _ = select(model, ZERO_ONE, s, coverage)
    np.testing.assert_array_equal(accept(region, left, right), by_gap)
    # Beyond six the entropies of the normal model fall below the rule's 1e-12.
    if model.kind != "thurstone_mosteller" or model.scale * gap.max() < 6:
        proba = model.proba(left, right)
        sure = -entropy(proba)
        by_entropy = ConfidenceThreshold(coverage).fit(sure).accept(sure)
        np.testing.assert_array_equal(by_entropy, by_gap)


@given(models(), losses(), scores(), COVERAGES)
def test_linear_quantile_is_numpys(model, loss, s, coverage):
    region, gap = select(model, loss, s, coverage, quantile="linear")
    risk = reference_risks(model, loss, gap)
    tau = np.quantile(risk, coverage)
    assert region.risk == pytest.approx(tau, rel=1e-9, abs=1e-15)
    clear = abs(risk - tau) > 1e-9
    accepted = accept(region, *paired(s))
    np.testing.assert_array_equal(accepted[clear], risk[clear] <= tau)


@given(models(), losses(), scores())
def test_the_highest_risk_accepts_everything(model, loss, s):
    gap = abs(np.subtract(*paired(s)))
    risk = gap_risk(model, loss, gap.max())
    everything = risk.below(risk.highest)
    assert decide(risk, everything, *paired(s)).accepted.all()
    assert everything.risk == risk.highest


@given(models(), losses(), scores(), st.floats(0, 1), st.floats(0, 1))
def test_acceptance_is_nested_in_risk(model, loss, s, one, other):
    gap = abs(np.subtract(*paired(s)))
    risk = gap_risk(model, loss, gap.max())
    low, high = (risk.below(r * risk.highest).weight(gap) for r in sorted((one, other)))
    assert (low <= high).all()


def test_one_calibration_pair():
    s = np.array([1.0, 0.0])
    for coverage in (0.01, 0.5, 1.0):
        region, _ = select(FixedModel("davidson", 0.5), ZERO_ONE, s, coverage)
        assert accept(region, *paired(s)).tolist() == [True]


def test_equal_scores_only():
    s = np.full(4, 2.5)
    for param in (1.5, 5.0):
        model = FixedModel("rao_kupper", param)
        region, _ = select(model, ZERO_ONE, s, 0.5)
        assert accept(region, *paired(s)).all()
        region, gap = select(model, ZERO_ONE, s, 0.5, boundary="randomize")
        np.testing.assert_allclose(region.weight(gap), 0.5, rtol=1e-15)


def test_rounding_does_not_split_equal_differences():
    # 2.1 - 1.4 is not the float 0.7 that 1.4 - 0.7 is.
    s = np.array([0.7, 1.4, 2.1, 0.0, 2.8])
    gap = abs(np.subtract(*paired(s)))
    assert len({*gap}) > len({*gap.round(9)})
    region, _ = select(FixedModel("rao_kupper", 1.5), ZERO_ONE, s, 0.7)
    accepted = accept(region, *paired(s))
    for d in np.unique(gap.round(9)):
        assert len({*accepted[gap.round(9) == d]}) == 1


def worked_example(oracles):
    example = oracles["baltor_example"]
    left, right = [], []
    for query in example["queries"]:
        a, b = paired(np.array(query["scores"]))
        left.append(a)
        right.append(b)
    return example["runs"], np.concatenate(left), np.concatenate(right)


@pytest.mark.parametrize("run", [0, 1, 2])
def test_worked_example(run, oracles):
    runs, left, right = worked_example(oracles)
    case = runs[run]
    model = FixedModel(case["model"], case["param"])
    gap = abs(left - right)
    engine = gap_risk(model, ZERO_ONE, gap.max(), 8 * EPS * 2.1)
    risk = np.array([pair["risk"] for pair in case["pairs"]])
    truth = [pair["y"] for pair in case["pairs"]]
    predicted = [pair["pred"] for pair in case["pairs"]]
    np.testing.assert_allclose(left - right, [p["d"] for p in case["pairs"]])
    np.testing.assert_allclose(
        model.proba(left, right)[:, ::-1], [p["p"] for p in case["pairs"]], rtol=1e-12
    )
    decided = decide(engine, engine.below(1.0), left, right)
    # The example calls equal scores in the order of the rows; here they are a tie, at
    # the risk of that answer.
    risk = np.where(left == right, 1 - decided.proba[:, 1], risk)
    np.testing.assert_allclose(decided.risk, risk, rtol=1e-12)
    expected = np.where(left == right, 0, predicted)
    np.testing.assert_array_equal(decided.label, expected)
    for entry in case["thresholds"]:
        coverage = entry["c"]
        if entry.get("randomised"):
            region = at_coverage(
                engine, pairs_with(gap), coverage, boundary="randomize"
            )
            weight = region.weight(gap)
            if coverage < 1:
                assert region.kappa == pytest.approx(entry["kappa"], rel=1e-9)
                assert weight.sum() == pytest.approx(coverage * 16, rel=1e-12)
                assert region.risk == pytest.approx(entry["tau"], rel=1e-12)
                if entry["kappa"] < 1:
                    assert (weight == 1).sum() == entry["n_below"]
                    assert (weight == region.kappa).sum() == entry["n_at"]
            else:
                assert weight.tolist() == [1.0] * 16
            continue
        region = at_coverage(
            engine, pairs_with(gap), coverage, quantile=entry["quantile_method"]
        )
        accepted = decide(engine, region, left, right).accepted
        if coverage < 1:  # all pairs are accepted at 1, whatever their risk
            assert region.risk == pytest.approx(entry["tau"], rel=1e-12)
        assert accepted.sum() == entry["n_accepted"]
        assert coverage_score(accepted) == entry["coverage"]
        accuracy = selective_accuracy_score(truth, predicted, accepted)
        assert accuracy == pytest.approx(entry["accuracy"], rel=1e-14)
        shares = [entry["class_fraction"][label] for label in ("-1", "0", "1")]
        np.testing.assert_allclose(
            class_acceptance(truth, accepted), shares, rtol=1e-14
        )


@pytest.mark.parametrize(
    ("kind", "param", "size"),
    [("davidson", 3.0, 1e-10), ("davidson", 3.0, 1e-6), ("rao_kupper", 4.5, 1e-8)],
)
def test_rounding_of_a_flat_risk_does_not_move_the_coverage(kind, param, size):
    # Near zero the risk of a tie is flat: its floats are in no particular order.
    s = np.random.default_rng(0).normal(size=60) * size
    model = FixedModel(kind, param)
    risk = gap_risk(model, ZERO_ONE, np.ptp(s), tolerance_of(s))
    gap = np.abs(s[:, None] - s[None])[np.triu_indices(60, 1)]
    last = np.zeros(gap.size, dtype=bool)
    for coverage in (0.01, 0.3, 0.5, 0.9, 0.99):
        region = at_coverage(risk, pairs_with(gap), coverage)
        accepted = region.weight(gap) > 0
        assert 0 <= accepted.sum() - coverage * gap.size < 2
        assert (accepted >= last).all()
        last = accepted


def test_a_risk_that_is_constant_over_predicted_ties():
    model = FixedModel("rao_kupper", 1.0, 1.0000000000000002)
    loss = np.array([[0, 0, 3], [1, 0, 1], [3, 0, 0]], dtype=float)
    risk = gap_risk(model, loss, 0.25, 1e-15)
    gap = np.array([0.0, 0.25, 0.25])
    for coverage, expected in ((0.01, 1), (0.34, 3), (0.67, 3)):
        region = at_coverage(risk, pairs_with(gap), coverage)
        assert (region.weight(gap) > 0).sum() == expected


def test_where_an_order_never_wins_only_ties_are_accepted_in_silence():
    # A tie is the best answer up to 2 ln(nu) / scale, beyond any float.
    model = FixedModel("davidson", np.e**2, scale=5e-309)
    s = np.array([0.0, 1.0, 2.0, 4.0])
    risk = gap_risk(model, ZERO_ONE, 4.0, tolerance_of(s))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        region, gap = select(model, ZERO_ONE, s, 0.5)
    assert region.crossing == np.inf
    assert region.weight(gap).sum() == 4  # gaps 1, 1, 2, 2 of six
    assert (decide(risk, region, *paired(s)).label == 0).all()
