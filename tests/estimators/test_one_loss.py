"""Every risk, score, utility and curve is in the ranker's own loss."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn, named

from skrank_abstain import SelectiveRanker
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    aurc_loss,
    coverage_at_risk,
    neg_aurc_scorer,
    risk_coverage_curve,
    selective_utility,
)
from skrank_abstain.pairs import pair_labels
from skrank_abstain.selection import CertifiedRisk, Coverage, GuaranteedCoverage, Price
from skrank_abstain.tie_models import (
    BradleyTerry,
    GradedRelevance,
    IsotonicDifference,
    ThurstoneMosteller,
)

LOSSES = [
    1 - np.eye(3),
    np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0.0]]),
    np.array([[0, 1, 1], [10, 0, 10], [1, 1, 0.0]]),
    np.array([[0, 0.3, 2.7], [0.9, 0, 0.9], [2.7, 0.3, 0]]),
]
RULES = [
    Coverage(0.5),
    Coverage(0.5, boundary="randomize"),
    Price(0.3),
    GuaranteedCoverage(0.3),
    CertifiedRisk(0.4),
]
TIE_MODELS = [
    BradleyTerry(),
    ThurstoneMosteller(),
    IsotonicDifference(),
    GradedRelevance(),
]


def problem(seed):
    """Draw a fitted ranker of few-valued scores, and new items."""
    rng = np.random.default_rng(seed)
    n, levels = 120, rng.integers(2, 9)
    data = []
    for _ in range(2):
        s = rng.integers(0, levels, n).astype(float)
        y = np.clip(np.round(s / 2 + rng.normal(size=n)), 0, 3)
        data.append((s[:, None], y, rng.integers(0, 25, n)))
    rule = RULES[rng.integers(len(RULES))]
    loss = LOSSES[rng.integers(2 if isinstance(rule, CertifiedRisk) else len(LOSSES))]
    ranker = SelectiveRanker(
        FirstColumn().fit(None, None),
        rule=rule,
        tie_model=TIE_MODELS[rng.integers(len(TIE_MODELS))],
        loss=loss,
        random_state=0,
    )
    return ranker.fit(**named(*data[0])), loss, data[1]


def check(seed):
    ranker, loss, (X, y, qid) = problem(seed)
    made = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, made.left, made.right)
    spent = loss[made.label + 1, truth + 1]
    close = {"rel": 1e-12, "abs": 1e-12}

    totals = ranker.evaluate(X, y, qid=qid)
    assert totals.loss.sum() == pytest.approx(spent[made.accepted].sum(), **close)
    if made.accepted.any():
        mean = spent[made.accepted].mean()
        seen = truth[made.accepted] + 1
        blind = min(loss[1, seen].mean(), (loss[0, seen] + loss[2, seen]).mean() / 2)
        assert totals.yardstick == pytest.approx(blind, **close)
        assert totals.selective_risk == pytest.approx(mean, **close)
    utility = 1 - (spent[made.accepted].sum() + 0.3 * made.abstained.sum()) / len(made)
    assert selective_utility(0.3)(ranker, X, y, qid=qid) == pytest.approx(
        utility, **close
    )

    # The risk of a pair and the area of a curve agree if equal risks do to the bit.
    risk = np.round(made.risk, 12)
    coverage, curve, levels = risk_coverage_curve(truth, made.label, risk, loss=loss)
    profile = ranker.risk_profile(X, y, qid=qid)
    last = np.searchsorted(np.round(profile.risk, 12), levels, side="right") - 1
    np.testing.assert_allclose(profile.selective_risk[last], curve, **ROUNDING)
    np.testing.assert_allclose(profile.coverage[last], coverage, **ROUNDING)
    unlike = truth != 0
    score = np.where(made.label == 0, 0.5, made.label == truth)
    for level, found in zip(levels, profile.concordance[last], strict=True):
        own = score[unlike & (risk <= level)]
        assert own.size == 0 or found == pytest.approx(own.mean(), **close)
    if last.size == profile.risk.size:
        area = aurc_loss(truth, made.label, risk, loss=loss)
        assert neg_aurc_scorer(ranker, X, y, qid=qid) == pytest.approx(-area, **close)
        kept = max([0.0, *coverage[curve <= 0.35]])
        assert coverage_at_risk(0.35)(ranker, X, y, qid=qid) == pytest.approx(
            kept, **close
        )
        correct = [((made.label == truth) & (risk <= level)).mean() for level in levels]
        right = np.interp(0.4, [0, *coverage], [0, *correct])
        found = accuracy_at_coverage(0.4)(ranker, X, y, qid=qid)
        assert found == pytest.approx(right / 0.4, **close)
    if (
        seed % 48 == 0
    ):  # of each kind of rule; a display of `GuaranteedCoverage` is slow
        display = RiskCoverageDisplay.from_estimator(
            ranker, X, y, qid=qid, confidence=0.9
        )
        np.testing.assert_array_equal(display.selective_risk, profile.selective_risk)
        assert display.selective_risk[-1] == pytest.approx(spent.mean(), **close)
        assert display.band[-1, 0] == 1
        other = RiskCoverageDisplay.from_predictions(
            truth, made.label, risk, loss=loss, confidence=0.9, qid=made.qid
        )
        np.testing.assert_allclose(other.selective_risk, curve, **ROUNDING)
        assert other.band[-1, 1] <= other.band[-1, 2]


ROUNDING = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("seeds", [range(40)])
def test_all_numbers_are_sums_over_pairs(seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few scores: many pairs of one risk
        for seed in seeds:
            check(seed)


@pytest.mark.slow
def test_all_numbers_are_sums_over_pairs_of_hundreds_of_problems():
    # Some four of each rule with each loss and tie model.
    test_all_numbers_are_sums_over_pairs(range(40, 280))


@pytest.mark.parametrize("cost", [0.5, 3.0])
def test_the_oracle_is_drawn_if_every_mistake_costs_the_same(cost):
    truth, label, risk = [1, 1, -1, 0], [1, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]
    alike = cost * LOSSES[1]
    display = RiskCoverageDisplay.from_predictions(
        truth, label, risk, loss=alike, reference=True
    )
    # One mistake in four: at coverage 1 the oracle makes it, too.
    ends = [line.get_ydata()[-1] for line in display.reference_]
    assert ends == pytest.approx([cost / 4, cost / 4])
    other = RiskCoverageDisplay.from_predictions(
        truth, label, risk, loss=LOSSES[2], reference=True
    )
    assert len(other.reference_) == 1
