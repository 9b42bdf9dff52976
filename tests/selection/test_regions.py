import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from selection.engines import ZERO_ONE, accept, decide, gap_risk
from strategies import TIE_ZONE, FixedModel, losses, models, scores

from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels
from skrank_abstain.selection._gaps import GapRegion, RiskCurve
from skrank_abstain.tie_models import expected_losses


def gaps_of(s):
    left, right = np.triu_indices(s.size, 1)
    return abs(s[left] - s[right])


def test_oracle_regions(oracles):
    for case in oracles["risk_regions"]:
        risk = gap_risk(FixedModel(case["model"], case["param"]), ZERO_ONE, 3.0)
        region = risk.below(case["tau"])
        assert region.crossing == pytest.approx(case["d0"] or 0.0, rel=1e-12)
        curve = RiskCurve(FixedModel(case["model"], case["param"]), ZERO_ONE, 3.0)
        assert curve.highest == pytest.approx(case["r_max"], rel=1e-12)
        assert curve(np.zeros(1))[0] == pytest.approx(case["r_at_0"], rel=1e-12)
        # Equal scores are a tie also where there is no zone of ties.
        decided = decide(risk, region, [0.0], [0.0])
        at_0 = case["r_at_0"] if case["d0"] else 1 - decided.proba[0, 1]
        assert decided.risk[0] == pytest.approx(at_0, rel=1e-12)
        assert risk.highest == pytest.approx(max(case["r_max"], at_0), rel=1e-12)
        assert region.outer == pytest.approx(case["d_plus"], rel=1e-12)
        if case["d_minus"] is None:
            assert region.inner < 0
        else:
            # The risk is flat at d = 0: an error of a few eps there is one of its root
            # in d, some 1e-8; how many depends on the library of exponentials.
            assert region.inner == pytest.approx(case["d_minus"], rel=1e-12, abs=1e-7)


@pytest.mark.parametrize("kind", sorted(TIE_ZONE))
def test_a_tie_is_predicted_from_the_critical_parameter_on(kind, oracles):
    suffix = {"rao_kupper": "theta", "davidson": "nu", "thurstone_mosteller": "eps"}
    critical = oracles["critical_parameters"]["tie_label_possible"]
    param = critical[f"{kind}_{suffix[kind]}"]
    assert param == pytest.approx(TIE_ZONE[kind], rel=1e-14)
    below = RiskCurve(FixedModel(kind, param * (1 - 1e-9)), ZERO_ONE, 1.0)
    above = RiskCurve(FixedModel(kind, param * (1 + 1e-9)), ZERO_ONE, 1.0)
    assert below.crossing == 0
    assert 0 < above.crossing < 1e-8


@given(models(), losses(), scores(), st.floats(0.01, 1.2))
def test_accepts_exactly_the_pairs_of_at_most_this_risk(model, loss, s, share):
    gap = gaps_of(s)
    engine = gap_risk(model, loss, gap.max())
    risk = np.array(
        [reference.risk(model.kind, model.param, model.scale * d, loss) for d in gap]
    )
    tau = share * risk.max()
    region = engine.below(tau)
    decided = decide(engine, region, gap, np.zeros(gap.size))
    np.testing.assert_array_equal(decided.accepted, region.weight(gap) == 1)
    clear = abs(risk - tau) > 1e-9
    np.testing.assert_array_equal(decided.accepted[clear], risk[clear] <= tau)
    np.testing.assert_allclose(decided.risk, risk, rtol=1e-9, atol=1e-15)
    assert risk.max() <= engine.highest * (1 + 1e-9) + 1e-15


@given(models(), losses(), st.floats(0.01, 1), st.sampled_from([1e-9, 0.5, 1e9]))
def test_cuts_are_the_last_floats_of_their_risk(model, loss, share, unit):
    """To the last bit, whatever the unit of the search."""
    curve = RiskCurve(model, loss, unit)
    tau = share * curve.highest

    def at(gap, column):
        return expected_losses(model.proba_at_gap(np.array([gap])), loss)[0, column]

    outer, inner = curve.outer_cut(tau), curve.inner_cut(tau)
    if curve.crossing < outer < np.inf:
        assert at(outer, 2) <= tau < at(np.nextafter(outer, 0), 2)
    if 0 <= inner < curve.crossing:
        assert at(inner, 1) <= tau < at(np.nextafter(inner, np.inf), 1)
    if 0 < curve.crossing < np.inf:
        below = np.nextafter(curve.crossing, 0)
        assert at(below, 2) > at(below, 1)
        assert at(curve.crossing, 2) <= at(curve.crossing, 1)


@given(models(), losses(), st.integers(0, 400))
def test_accepts_exactly_the_risks_of_a_fine_grid(model, loss, step):
    # Gaps between those of calibration pairs, and far beyond them.
    grid = np.concatenate([np.linspace(0, 2, 101), np.linspace(2, 12, 101)])
    engine = gap_risk(model, loss, 1.0)
    risk = np.array(
        [reference.risk(model.kind, model.param, model.scale * d, loss) for d in grid]
    )
    tau = step / 400 * risk.max()
    clear = abs(risk - tau) > 1e-9
    region = engine.below(tau)
    accepted = decide(engine, region, grid, np.zeros(grid.size)).accepted
    np.testing.assert_array_equal(accepted[clear], risk[clear] <= tau)


@given(models(tie_zone=True), scores(), st.floats(0.1, 0.99))
def test_the_crossing_is_where_a_tie_stops_to_be_predicted(model, s, share):
    curve = RiskCurve(model, ZERO_ONE, max(gaps_of(s).max(), 0.25))
    crossing = model.scale * curve.crossing
    below = reference.probabilities(model.kind, model.param, crossing * (1 - 1e-9))
    above = reference.probabilities(model.kind, model.param, crossing * (1 + 1e-9))
    assert below[1] > below[2]
    assert above[1] < above[2]
    # Risk rises up to the crossing and falls from there.
    before, after = curve(curve.crossing * np.array([share, 2 - share]))
    assert max(before, after) < curve.highest


def test_a_model_that_always_predicts_ties_has_no_outer_cut():
    # A free tie: predicting one costs nothing, an order something, however far.
    loss = np.array([[0, 1, 1], [0, 0, 0], [1, 1, 0]], dtype=float)
    model = FixedModel("davidson", 1.0, scale=1e-30)
    curve = RiskCurve(model, loss, 1.0)
    assert curve.crossing == np.inf
    assert curve.outer_cut(0.5) == np.inf
    risk = gap_risk(model, loss, 1.0)
    decided = decide(risk, risk.below(0.0), [0.0, 5.0], [0.0, 0.0])
    assert decided.accepted.all()
    assert decided.label.tolist() == [0, 0]


def test_equal_calibration_scores_leave_a_usable_curve():
    curve = RiskCurve(FixedModel("rao_kupper", 1.5), ZERO_ONE, 0.0)
    assert curve.crossing == 0
    assert curve.highest == pytest.approx(1.5 / 2.5)
    # ln(theta (1 - tau) / tau)
    assert curve.outer_cut(0.2) == pytest.approx(np.log(1.5 * 4))


def test_oracle_decisions_of_three_items(oracles):
    case = oracles["tie_non_transitive_example"]
    model = FixedModel(case["model"], case["theta"])
    risk = gap_risk(model, ZERO_ONE, 3.1)
    region = risk.below(case["tau"])
    assert region.inner == pytest.approx(case["d_minus"], rel=1e-9)
    assert region.outer == pytest.approx(case["d_plus"], rel=1e-9)
    s = np.array(case["scores"])
    assert decide(risk, region, s[[0, 1, 0]], s[[1, 2, 2]]).accepted.all()


@pytest.mark.parametrize(
    ("key", "tolerance"),
    # The second case compares differences rounded to ten digits.
    [("pair_counts_from_scores", 0.0), ("pair_counts_rounded_scores_n40", 1e-10)],
)
def test_oracle_counts(key, tolerance, oracles):
    case = oracles[key]
    s = np.array(case["scores"])
    left, right = enumerate_pairs(group_queries(None, s.size))
    d = s[left] - s[right]
    truth = pair_labels(case["y"], left, right)
    for row in case["rows"]:
        region = GapRegion(0.0, row["d_minus"], row["d_plus"], tolerance)
        accepted = accept(region, s[left], s[right])
        tie = accepted & (abs(d) <= row["d_minus"] + tolerance)
        strict = accepted & ~tie
        assert strict.sum() == row["strict_accepted"]
        assert (truth[strict] == np.sign(d[strict])).sum() == row["strict_correct"]
        assert tie.sum() == row["ties_accepted"]
        assert (truth[tie] == 0).sum() == row["ties_correct"]
        if "coverage" in row:
            assert accepted.mean() == pytest.approx(row["coverage"])


class TestGapRegion:
    d = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    zero = np.zeros(6)

    def test_two_cuts(self):
        region = GapRegion(0.3, 0.5, 2.0, 0.0)
        assert accept(region, self.d, self.zero).tolist() == [1, 1, 0, 0, 1, 1]
        assert region.weight(self.d).tolist() == [1, 1, 0, 0, 1, 1]

    def test_no_inner_set(self):
        region = GapRegion(0.3, -1.0, 2.0, 0.75)
        # The tolerance widens the cuts there are, not one there is not.
        assert accept(region, self.d, self.zero).tolist() == [0, 0, 0, 1, 1, 1]

    def test_no_outer_set(self):
        region = GapRegion(0.3, 0.0, np.inf, 0.0)
        assert accept(region, self.d, self.zero).tolist() == [1, 0, 0, 0, 0, 0]

    def test_differences_within_the_tolerance_are_equal(self):
        region = GapRegion(0.3, 0.5, 2.0, 1e-9, kappa=0.25)
        near = np.array([0.5 - 5e-10, 0.5 + 5e-10, 2.0 - 5e-10, 2.0 + 5e-10])
        far = np.array([0.5 - 2e-9, 0.5 + 2e-9, 2.0 - 2e-9, 2.0 + 2e-9])
        assert region.weight(near).tolist() == [0.25] * 4
        assert region.weight(far).tolist() == [1, 0, 0, 1]

    def test_an_order_is_not_accepted_for_the_sake_of_a_tie(self):
        region = GapRegion(0.3, 0.95, np.inf, 0.1, crossing=1.0)
        near = np.array([0.95, 0.99, 1.01, 1.04])  # all within 0.1 of the inner cut
        assert accept(region, near, np.zeros(4)).tolist() == [1, 1, 0, 0]
        assert region.weight(near).tolist() == [1, 1, 0, 0]
        assert region.order_from == np.inf

    @pytest.mark.parametrize("tolerance", [0.75, 8.0])
    def test_the_smallest_order_is_no_surer_than_equal_scores(self, tolerance):
        region = GapRegion(0.3, -1.0, 1.5 * tolerance, tolerance)
        assert tolerance < region.smallest_order < 1.001 * tolerance
        gap = np.array([tolerance, region.smallest_order, 1.001 * tolerance])
        assert accept(region, gap, np.zeros(3)).tolist() == [0, 0, 1]
        starts, (weight,), _ = gap_risk(FixedModel(), ZERO_ONE, 1.0)._classes([region])
        np.testing.assert_array_equal(
            weight[np.searchsorted(starts, gap, side="right") - 1], [0, 0, 1]
        )

    def test_kappa_only_touches_the_cuts(self):
        region = GapRegion(0.3, 0.5, 2.0, 0.0, kappa=0.25)
        assert region.weight(self.d).tolist() == [1, 0.25, 0, 0, 0.25, 1]

    @pytest.mark.parametrize("kappa", [0.0, 0.3, 0.9, 1.0])
    def test_pairs_on_a_cut_are_accepted_with_probability_kappa(self, kappa):
        region = GapRegion(0.3, -1.0, 2.0, 0.0, kappa=kappa, seed=5)
        left = np.arange(20_000) / 4
        share = accept(region, left, left - 2.0).mean()
        # Four standard errors of at most 0.5 / sqrt(20000).
        assert share == pytest.approx(kappa, abs=0.0142 if 0 < kappa < 1 else 0)

    @given(scores(), st.floats(0, 1), st.integers(0, 2**32 - 1), st.randoms())
    def test_decisions_do_not_depend_on_side_order_or_batch(self, s, kappa, seed, rng):
        region = GapRegion(0.3, 0.25, 1.0, 0.0, kappa=kappa, seed=seed)
        left, right = np.triu_indices(s.size, 1)
        together = accept(region, s[left], s[right])
        np.testing.assert_array_equal(together, accept(region, s[right], s[left]))
        order = list(range(left.size))
        rng.shuffle(order)
        np.testing.assert_array_equal(
            together[order], accept(region, s[left][order], s[right][order])
        )
        alone = [
            accept(region, s[[i]], s[[j]])[0] for i, j in zip(left, right, strict=True)
        ]
        np.testing.assert_array_equal(together, alone)

    def test_no_piece_begins_at_infinity(self):
        region = GapRegion(0.3, 0.5, np.inf, 0.0)
        risk = gap_risk(FixedModel(), ZERO_ONE, 1.0)
        starts, (weight,), tie = risk._classes([region])
        # Equal scores are a tie, closer pairs than 0.5 are accepted, no other is.
        assert starts.tolist() == [0.0, 5e-324, np.nextafter(0.5, 1)]
        assert weight.tolist() == [1, 1, 0]
        assert tie.tolist() == [True, False, False]

    def test_no_pairs(self):
        region = GapRegion(0.3, 0.5, 2.0, 0.0, kappa=0.5)
        none = np.empty(0)
        assert accept(region, none, none).shape == region.weight(none).shape == (0,)
