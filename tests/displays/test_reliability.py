"""Predicted probabilities against frequencies."""

import numpy as np
import pytest

from skrank_abstain.concentration import ratio_interval
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import PairReliabilityDisplay
from skrank_abstain.pairs import pair_labels


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


def test_estimator_and_its_pairs_agree(ranker, new, decisions):
    truth = pair_labels(new.target, decisions.left, decisions.right)
    scores = ranker.predict(new.data)
    difference = scores[decisions.left] - scores[decisions.right]
    from_items = PairReliabilityDisplay.from_estimator(
        ranker, new.data, new.target, new.qid
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


def test_intervals_are_over_queries():
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


def test_large_data_are_drawn_by_whole_queries(ranker, new):
    sizes = np.bincount(new.qid)
    pairs = sizes * (sizes - 1) // 2
    args = (ranker, new.data, new.target, new.qid)
    one, same, other = (
        PairReliabilityDisplay.from_estimator(
            *args, max_pairs=pairs.sum() // 2, random_state=seed
        )
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.prob_true, same.prob_true)
    assert one.n_pairs.sum() != other.n_pairs.sum()
    for display in (one, other):
        total = display.n_pairs.sum()
        assert pairs.sum() // 2 - pairs.max() < total <= pairs.sum() // 2
    least = PairReliabilityDisplay.from_estimator(*args, max_pairs=1, random_state=0)
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
def test_arrays_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        PairReliabilityDisplay.from_predictions(*arguments, **options)


def test_max_pairs_is_checked(ranker, new):
    with pytest.raises(ValueError, match="max_pairs must be at least 1"):
        PairReliabilityDisplay.from_estimator(
            ranker, new.data, new.target, new.qid, max_pairs=0
        )


def test_intervals_end_where_frequencies_do():
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 0, 1], 60, p=[0.04, 0.04, 0.92])
    display = PairReliabilityDisplay.from_predictions(
        labels, [[0.04, 0.04, 0.92]] * 60, np.ones(60), qid=np.repeat(np.arange(5), 12)
    )
    assert display.interval.min() == 0
    assert display.interval.max() == 1
