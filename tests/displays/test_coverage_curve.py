"""Coverage asked for against coverage obtained."""

import numpy as np
import pytest

from skrank_abstain import BALToR
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import CoverageDisplay
from skrank_abstain.metrics import coverage_score

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
        CoverageDisplay.from_estimator(ranker, new.data, y, new.qid)
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
        ((["a"], [[True]]), TypeError, "target must be a real number"),
    ],
)
def test_arrays_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        CoverageDisplay.from_predictions(*arguments)


def test_options_of_an_estimator_are_checked(ranker, new):
    args = (ranker, new.data, None, new.qid)
    with pytest.raises(ValueError, match=r"coverages must be in \(0, 1\], got 2"):
        CoverageDisplay.from_estimator(*args, coverages=[0.5, 2])
    with pytest.raises(ValueError, match="coverages must be a 1d array"):
        CoverageDisplay.from_estimator(*args, coverages=0.5)
    with pytest.raises(ValueError, match="confidence must be in"):
        CoverageDisplay.from_estimator(*args, confidence=95)
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
        own.at_coverage(target).evaluate(new.data, new.target, new.qid).coverage
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
