"""Coverage, outcomes and probabilities against what was observed."""

import numpy as np
import pytest
from doubles import named

from skrank_abstain import BALToR
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    _shares,
)
from skrank_abstain.metrics import class_acceptance, coverage_score
from skrank_abstain.pairs import pair_labels

TARGETS = [0.3, 0.6, 1.0]


@pytest.fixture(scope="module")
def masks(ranker, new):
    return np.array(
        [
            ranker.at_coverage(target).predict_pairs(new.data, qid=new.qid).accepted
            for target in TARGETS
        ]
    )


def test_coverage_is_that_of_the_decisions(ranker, new, masks):
    display = CoverageDisplay.from_estimator(
        ranker, new.data, qid=new.qid, coverages=TARGETS
    )
    np.testing.assert_array_equal(display.line_.get_xdata(), TARGETS)
    np.testing.assert_allclose(
        display.line_.get_ydata(), [coverage_score(mask) for mask in masks]
    )
    x, y = display.diagonal_.get_data()
    np.testing.assert_array_equal(x, y)


def test_intervals_are_over_queries(ranker, new, masks, decisions):
    display = CoverageDisplay.from_estimator(
        ranker, new.data, qid=new.qid, coverages=TARGETS, confidence=0.9
    )
    pairs = [np.sum(decisions.qid == q) for q in range(30)]
    expected = [
        ratio_interval(
            [mask[decisions.qid == q].sum() for q in range(30)], pairs, confidence=0.9
        )
        for mask in masks
    ]
    np.testing.assert_allclose(display.interval, expected)
    bars = display.errorbar_.lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], expected)


def test_estimator_and_its_decisions_agree(ranker, new, masks, decisions):
    from_items = CoverageDisplay.from_estimator(
        ranker, new.data, qid=new.qid, coverages=TARGETS
    )
    from_pairs = CoverageDisplay.from_predictions(TARGETS, masks, qid=decisions.qid)
    np.testing.assert_allclose(from_items.coverage, from_pairs.coverage)
    np.testing.assert_allclose(from_items.interval, from_pairs.interval)


def test_labels_do_not_matter(ranker, new):
    one, other = (
        CoverageDisplay.from_estimator(ranker, new.data, y, qid=new.qid)
        for y in (None, new.target)
    )
    np.testing.assert_array_equal(one.coverage, other.coverage)


def test_one_query_has_no_intervals(ranker, new):
    one = new.qid == 0
    display = CoverageDisplay.from_estimator(ranker, new.data[one], qid=0)
    assert display.interval is None
    assert display.errorbar_ is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.5], [True, False]), ValueError, "accepted must be of shape"),
        (([0.5], [[1, 0]]), TypeError, "accepted must be boolean, got dtype int64"),
        (([0.5], [[]]), ValueError, "at least one pair"),
        (([0.5, 0.4], [[True], [True]]), ValueError, "target must ascend"),
        (([0.0], [[True]]), ValueError, r"target must be in \(0, 1\], got 0.0"),
        ((["a"], [[True]]), ValueError, "target must hold numbers"),
    ],
)
def test_arrays_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        CoverageDisplay.from_predictions(*arguments)


def test_options_of_an_estimator_are_checked(ranker, new):
    args = {"estimator": ranker, **named(new.data, None, new.qid)}
    with pytest.raises(ValueError, match=r"coverages must be in \(0, 1\], got 2"):
        CoverageDisplay.from_estimator(**args, coverages=[0.5, 2])
    with pytest.raises(ValueError, match="coverages must be a 1d array"):
        CoverageDisplay.from_estimator(**args, coverages=0.5)
    with pytest.raises(ValueError, match="confidence must be in"):
        CoverageDisplay.from_estimator(**args, confidence=95)
    with pytest.raises(ValueError, match="query with two items"):
        CoverageDisplay.from_estimator(ranker, new.data[:2], qid=[1, 2])


@pytest.mark.parametrize("rule", ["CostAbstainer", "RiskControlledRanker"])
def test_other_rules_are_asked_for_shares_of_their_calibration_pairs(
    rule, rankers, new
):
    display = CoverageDisplay.from_estimator(
        rankers[rule], new.data, qid=new.qid, coverages=TARGETS
    )
    assert display.line_.get_label() == rule
    np.testing.assert_allclose(display.coverage, TARGETS, atol=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"boundary": "randomize"},
        {"quantile": "linear"},
        {"coverage_guarantee": "hierarchical"},
    ],
)
def test_a_coverage_is_asked_for_in_the_ranker_s_own_way(options, ranker, new):
    data = make_ranking(n_queries=60, random_state=0)
    own = BALToR(ranker.estimator_, random_state=0, **options)
    own.fit(data.data, data.target, qid=data.qid)
    display = CoverageDisplay.from_estimator(
        own, new.data, qid=new.qid, coverages=TARGETS
    )
    expected = [
        own.at_coverage(target).evaluate(new.data, new.target, qid=new.qid).coverage
        for target in TARGETS
    ]
    np.testing.assert_array_equal(display.coverage, expected)


def test_intervals_end_where_coverage_does():
    rng = np.random.default_rng(0)
    masks = rng.random((2, 60)) < [[0.02], [0.97]]
    display = CoverageDisplay.from_predictions(
        [0.02, 0.97], masks, qid=np.repeat(np.arange(5), 12)
    )
    assert display.interval.min() == 0
    assert display.interval.max() == 1


@pytest.fixture(scope="module")
def truth(new, decisions):
    return pair_labels(new.target, decisions.left, decisions.right)


def test_shares_are_those_of_the_metric(decisions, truth):
    display = ClassFractionDisplay.from_predictions(
        truth, decisions.risk, coverages=[0.2, 0.5, 0.9]
    )
    assert display.coverage.size == 3
    for k, coverage in enumerate(display.coverage):
        threshold = np.sort(decisions.risk)[round(coverage * truth.size) - 1]
        accepted = decisions.risk <= threshold
        assert accepted.mean() == pytest.approx(coverage)
        right, tie, left = class_acceptance(truth, accepted)
        np.testing.assert_allclose(display.fraction[:, k], [left + right, tie])
    for line, share in zip(display.lines_, display.fraction, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), display.coverage)
        np.testing.assert_array_equal(line.get_ydata(), share)


def test_estimator_counts_what_it_accepts(ranker, new, truth):
    display = ClassFractionDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, coverages=[0.3, 1.0]
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
    display = ClassFractionDisplay.from_predictions([1, 0], [0.1, 0.2], name="ours")
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["ours (strict: one item better)", "ours (tie)"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "at least one pair"),
        (([3], [0.1]), {}, "y_true must hold the labels"),
        (([1], [np.inf]), {}, "risk must be finite"),
        (([1], [0.1, 0.2]), {}, "risk must have one value per pair"),
        (([1], [0.1]), {"coverages": []}, "coverages must ascend"),
        (([1], [0.1]), {"coverages": [1, 0.5]}, "coverages must ascend"),
    ],
)
def test_arrays_of_outcomes_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ClassFractionDisplay.from_predictions(*arguments, **options)


def test_no_pairs_have_no_outcomes(ranker, new):
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
            rankers[name], new.data, new.target, qid=new.qid
        )
        np.testing.assert_allclose(display.fraction.sum(axis=0), 1)
        everything = (
            rankers[name]
            .operating_points(new.data, new.target, qid=new.qid, coverages=[1.0])[0]
            .totals
        )
        tied = everything.tied.sum() / everything.pairs.sum()
        np.testing.assert_allclose(display.fraction[1, -1], tied)


def test_bins_are_of_like_difference():
    truth = [1, 0, -1, -1, 1, 0]
    difference = [1.0, 1.0, -3.0, -3.0, 3.0, -3.0]
    sure, unsure = [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]
    proba = [unsure, unsure, sure[::-1], sure[::-1], sure, sure[::-1]]
    display = PairReliabilityDisplay.from_predictions(
        truth, proba, difference, n_bins=3
    )
    np.testing.assert_array_equal(display.gap, [1, 3])
    np.testing.assert_array_equal(display.n_pairs, [2, 4])
    np.testing.assert_allclose(display.prob_pred, [[0.4, 0.7], [0.3, 0.2], [0.3, 0.1]])
    # Near: left (higher) once, tie once. Far: the higher-scored in 3 of 4, tie once.
    np.testing.assert_allclose(
        display.prob_true, [[1 / 2, 3 / 4], [1 / 2, 1 / 4], [0, 0]]
    )
    for k, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_xdata(), display.prob_pred[k])
        np.testing.assert_array_equal(line.get_ydata(), display.prob_true[k])


def test_turning_pairs_around_changes_nothing(ranker, new, decisions):
    truth = pair_labels(new.target, decisions.left, decisions.right)
    scores = ranker.predict(new.data)
    difference = scores[decisions.left] - scores[decisions.right]
    turn = np.random.default_rng(0).random(truth.size) < 0.5
    one = PairReliabilityDisplay.from_predictions(truth, decisions.proba, difference)
    other = PairReliabilityDisplay.from_predictions(
        np.where(turn, -truth, truth),
        np.where(turn[:, None], decisions.proba[:, ::-1], decisions.proba),
        np.where(turn, -difference, difference),
    )
    assert (difference == 0).any()
    np.testing.assert_allclose(one.prob_true, other.prob_true)
    np.testing.assert_allclose(one.prob_pred, other.prob_pred)
    np.testing.assert_allclose(one.prob_true.sum(axis=0), 1)


def test_equal_scores_count_half_for_each_side():
    display = PairReliabilityDisplay.from_predictions(
        [1, 1, 0, 0], [[0.2, 0.5, 0.3]] * 4, [0.0] * 4
    )
    np.testing.assert_allclose(display.prob_true[:, 0], [1 / 4, 1 / 2, 1 / 4])
    np.testing.assert_allclose(display.prob_pred[:, 0], [1 / 4, 1 / 2, 1 / 4])


def test_estimator_and_its_probabilities_agree(ranker, new, decisions):
    truth = pair_labels(new.target, decisions.left, decisions.right)
    scores = ranker.predict(new.data)
    difference = scores[decisions.left] - scores[decisions.right]
    from_items = PairReliabilityDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid
    )
    from_pairs = PairReliabilityDisplay.from_predictions(
        truth, decisions.proba, difference, qid=decisions.qid
    )
    np.testing.assert_array_equal(from_items.prob_true, from_pairs.prob_true)
    np.testing.assert_array_equal(from_items.interval, from_pairs.interval)
    assert from_items.n_pairs.sum() == truth.size
    assert from_items.n_pairs.size == 10


def test_true_probabilities_lie_on_the_diagonal():
    data = make_ranking(n_queries=150, random_state=0)
    from skrank_abstain.pairs import enumerate_pairs, group_queries

    left, right = enumerate_pairs(group_queries(data.qid, data.qid.size))
    display = PairReliabilityDisplay.from_predictions(
        pair_labels(data.target, left, right),
        data.pair_proba(left, right),
        data.utility[left] - data.utility[right],
        qid=data.qid[left],
        confidence=0.99,
    )
    low, high = display.interval[..., 0], display.interval[..., 1]
    inside = (low <= display.prob_pred) & (display.prob_pred <= high)
    assert inside.mean() >= 0.9
    np.testing.assert_allclose(display.prob_pred, display.prob_true, atol=0.06)


def test_intervals_of_frequencies_are_over_queries():
    random = np.random.default_rng(0)
    truth, qid = random.integers(-1, 2, 40), random.integers(0, 5, 40)
    difference = random.random(40) + 0.1  # left is the higher-scored everywhere
    proba = np.full((40, 3), 1 / 3)
    display = PairReliabilityDisplay.from_predictions(
        truth, proba, difference, qid=qid, n_bins=1
    )
    pairs = [np.sum(qid == q) for q in range(5)]
    for k, label in enumerate((1, 0, -1)):
        part = [np.sum((qid == q) & (truth == label)) for q in range(5)]
        np.testing.assert_allclose(display.interval[k, 0], ratio_interval(part, pairs))
    assert len(display.errorbars_) == 3


def test_without_queries_there_are_no_intervals():
    for qid in (None, [1, 1]):
        display = PairReliabilityDisplay.from_predictions(
            [1, 0], [[0.1, 0.1, 0.8]] * 2, [1, 2], qid=qid
        )
        assert display.interval is None
        assert display.errorbars_ == []


def test_large_data_are_drawn_by_whole_queries(ranker, new, monkeypatch):
    sizes = np.bincount(new.qid)
    pairs = sizes * (sizes - 1) // 2
    args = {"estimator": ranker, **named(new.data, new.target, new.qid)}
    monkeypatch.setattr(_shares, "_MOST_PAIRS", pairs.sum() // 2)
    one, same = (PairReliabilityDisplay.from_estimator(**args) for _ in range(2))
    np.testing.assert_array_equal(one.prob_true, same.prob_true)
    total = one.n_pairs.sum()
    assert pairs.sum() // 2 - pairs.max() < total <= pairs.sum() // 2
    monkeypatch.setattr(_shares, "_MOST_PAIRS", 1)
    least = PairReliabilityDisplay.from_estimator(**args)
    assert least.n_pairs.sum() in pairs
    assert least.interval is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], [], []), {}, "at least one pair"),
        (([2], [[0, 0, 1]], [1]), {}, "y_true must hold the labels"),
        (([1], [[0, 0, 2]], [1]), {}, "proba must have non-negative rows"),
        (([1], [[0, 0, 1]], [1, 2]), {}, "difference must have one value per pair"),
        (([1], [[0, 0, 1]], [np.nan]), {}, "difference must be finite, got NaN"),
        (([1], [[0, 0, 1]], ["a"]), {}, "difference must hold numbers"),
        (([1], [[0, 0, 1]], [1]), {"n_bins": 0}, "n_bins must be at least 1, got 0"),
        (([1], [[0, 0, 1]], [1]), {"confidence": 0}, "confidence must be in"),
    ],
)
def test_arrays_of_probabilities_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        PairReliabilityDisplay.from_predictions(*arguments, **options)


def test_intervals_end_where_frequencies_do():
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 0, 1], 60, p=[0.04, 0.04, 0.92])
    display = PairReliabilityDisplay.from_predictions(
        labels, [[0.04, 0.04, 0.92]] * 60, np.ones(60), qid=np.repeat(np.arange(5), 12)
    )
    assert display.interval.min() == 0
    assert display.interval.max() == 1
