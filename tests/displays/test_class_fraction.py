"""Shares of true outcomes among accepted pairs."""

import numpy as np
import pytest

from skrank_abstain.displays import ClassFractionDisplay
from skrank_abstain.metrics import class_acceptance
from skrank_abstain.pairs import pair_labels


@pytest.fixture(scope="module")
def truth(new, decisions):
    return pair_labels(new.target, decisions.left, decisions.right)


@pytest.mark.parametrize("merge", [True, False])
def test_shares_are_those_of_the_metric(merge, decisions, truth):
    display = ClassFractionDisplay.from_predictions(
        truth, decisions.risk, coverages=[0.2, 0.5, 0.9], merge_strict=merge
    )
    assert display.coverage.size == 3
    for k, coverage in enumerate(display.coverage):
        threshold = np.sort(decisions.risk)[round(coverage * truth.size) - 1]
        accepted = decisions.risk <= threshold
        assert accepted.mean() == pytest.approx(coverage)
        right, tie, left = class_acceptance(truth, accepted)
        expected = [left + right, tie] if merge else [left, tie, right]
        np.testing.assert_allclose(display.fraction[:, k], expected)
    for line, share in zip(display.lines_, display.fraction, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), display.coverage)
        np.testing.assert_array_equal(line.get_ydata(), share)


def test_estimator_counts_what_it_accepts(ranker, new, truth):
    display = ClassFractionDisplay.from_estimator(
        ranker, new.data, new.target, new.qid, coverages=[0.3, 1.0]
    )
    accepted = ranker.at_coverage(0.3).predict_pairs(new.data, qid=new.qid).accepted
    right, tie, left = class_acceptance(truth, accepted)
    np.testing.assert_allclose(display.fraction[:, 0], [left + right, tie])
    np.testing.assert_allclose(
        display.fraction[:, 1], [np.mean(truth != 0), np.mean(truth == 0)]
    )
    np.testing.assert_allclose(display.coverage, [accepted.mean(), 1])


def test_equal_risks_are_one_point():
    display = ClassFractionDisplay.from_predictions([1, 0, -1, 0], [0.5] * 4)
    np.testing.assert_array_equal(display.coverage, [1])
    np.testing.assert_array_equal(display.fraction, [[0.5], [0.5]])


def test_legend_names_outcome_and_model():
    display = ClassFractionDisplay.from_predictions(
        [1, 0], [0.1, 0.2], merge_strict=False, name="ours"
    )
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [
        "ours (left better (+1))",
        "ours (tie (0))",
        "ours (right better (-1))",
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "at least one pair"),
        (([3], [0.1]), {}, "y_true must hold the labels"),
        (([1], [np.inf]), {}, "risk must be finite"),
        (([1], [0.1, 0.2]), {}, "risk must have one value per pair"),
        (([1], [0.1]), {"coverages": []}, "coverages must be a 1d array"),
        (([1], [0.1]), {"coverages": [1, 0.5]}, "coverages must ascend"),
    ],
)
def test_arrays_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ClassFractionDisplay.from_predictions(*arguments, **options)


def test_no_pairs_are_refused(ranker, new):
    with pytest.raises(ValueError, match="query with two items"):
        ClassFractionDisplay.from_estimator(
            ranker, new.data[:2], new.target[:2], qid=[1, 2]
        )


def test_coverages_at_which_no_pair_is_accepted_are_left_out(ranker, new):
    # Two items of like score: their pair is among the last to be accepted.
    rows = np.argsort(new.data[new.qid == 0, 0])[:2]
    pair = new.data[new.qid == 0][rows]
    display = ClassFractionDisplay.from_estimator(
        ranker, pair, [0, 1], qid=0, coverages=[0.01, 1.0]
    )
    np.testing.assert_array_equal(display.coverage, [1])
    with pytest.raises(ValueError, match="some pair be accepted"):
        ClassFractionDisplay.from_estimator(
            ranker, pair, [0, 1], qid=0, coverages=[0.01]
        )


def test_every_rule_has_shares(rankers, new):
    for name in ("CostAbstainer", "RiskControlledRanker"):
        display = ClassFractionDisplay.from_estimator(
            rankers[name], new.data, new.target, new.qid
        )
        np.testing.assert_allclose(display.fraction.sum(axis=0), 1)
        everything = (
            rankers[name]
            .operating_points(new.data, new.target, new.qid, coverages=[1.0])[0]
            .totals
        )
        tied = everything.tied.sum() / everything.pairs.sum()
        np.testing.assert_allclose(display.fraction[1, -1], tied)
