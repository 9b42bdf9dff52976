"""Which queries train, calibrate and tune: counts, strata and what is refused."""

import numpy as np
import pytest

from skrank_abstain.intake._training import (
    CalibrationData,
    divide_queries,
    hold_out_of_each,
    split_for_calibration,
    two_parts,
)
from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import Groups

#: Sizes of queries; those of one item have no pairs.
SIZES = np.array([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6])
QUERIES = group_queries(np.repeat(np.arange(12), SIZES), SIZES.sum())


@pytest.mark.parametrize(("share", "wanted"), [(0.25, [2, 3]), (0.5, [4, 6])])
def test_of_each_stratum_the_same_share_is_held_out(share, wanted):
    strata = np.array([0, 1] * 8 + [1] * 4)
    drawn = np.array([hold_out_of_each(strata, share, seed) for seed in range(60)])
    for seed in drawn:
        assert np.bincount(strata[seed]).tolist() == wanted
    # Each of a stratum is as likely: four standard errors.
    error = np.sqrt(share * (1 - share) / 60)
    assert np.abs(drawn.mean(axis=0) - share).max() < 4 * error


def test_calibration_takes_a_share_of_whole_queries():
    train, calibration = split_for_calibration(QUERIES, 0.25, 0)
    assert np.unique(QUERIES.codes[calibration]).size == 3
    np.testing.assert_array_equal(
        np.sort(np.append(train, calibration)), np.arange(SIZES.sum())
    )
    assert not set(QUERIES.codes[train]) & set(QUERIES.codes[calibration])


def test_calibration_takes_a_share_of_each_group_of_queries_with_pairs():
    groups = np.array([0] * 6 + [1] * 6)
    for seed in range(5):
        _, calibration = split_for_calibration(QUERIES, 0.4, seed, groups)
        held = np.unique(QUERIES.codes[calibration])
        assert np.bincount(groups[held]).tolist() == [2, 2]  # of five each
        assert (SIZES[held] > 1).all()
    # Groups that differ in queries without pairs alone are no groups.
    alone = (SIZES == 1).astype(int)
    np.testing.assert_array_equal(
        split_for_calibration(QUERIES, 0.4, 0, alone)[1],
        split_for_calibration(QUERIES, 0.4, 0)[1],
    )


def test_one_query_is_split_by_rows():
    one = group_queries(None, 20)
    train, calibration = split_for_calibration(one, 0.25, 0)
    assert (train.size, calibration.size) == (15, 5)


@pytest.mark.parametrize(("n_held", "fine"), [(1, False), (2, True), (8, True), (9, 0)])
def test_each_part_has_two_rows(n_held, fine):
    held_out = np.arange(10) < n_held
    if fine:
        train, calibration = two_parts(held_out, 3)
        assert calibration.tolist() == [*range(n_held)]
        assert train.tolist() == [*range(n_held, 10)]
    else:
        with pytest.raises(ValueError, match=f"got {10 - n_held} and {n_held} from"):
            two_parts(held_out, 3)


def test_a_calibration_query_has_two_items():
    alone = Scores(np.zeros(2), group_queries([0, 1], 2))
    with pytest.raises(ValueError, match="got 2 queries with n_samples=2 items"):
        CalibrationData.of(alone, 0.0, 0, groups=Groups.one(2))


@pytest.mark.parametrize("tuning_size", [0.3, 0.5, 0.01, 0.99])
def test_tuning_takes_a_share_of_the_queries_with_pairs(tuning_size):
    tuning, rest = divide_queries(SIZES, np.zeros(12, dtype=int), tuning_size, 0)
    usable = np.flatnonzero(SIZES > 1)
    np.testing.assert_array_equal(np.sort(np.append(tuning, rest)), usable)
    # Of ten; neither part is empty.
    assert tuning.size == {0.3: 3, 0.5: 5, 0.01: 1, 0.99: 9}[tuning_size]


def test_tuning_takes_a_share_of_each_group():
    groups = np.array([0] * 6 + [1] * 6)
    for seed in range(6):
        tuning, rest = divide_queries(SIZES, groups, 0.4, seed)
        assert np.bincount(groups[tuning]).tolist() == [2, 2]
        assert np.bincount(groups[rest]).tolist() == [3, 3]
        assert (SIZES[np.append(tuning, rest)] > 1).all()


def test_too_few_queries_to_tune_are_an_error():
    one = np.array([1, 5, 1])
    with pytest.raises(ValueError, match=r"at least two calibration queries .* got 1"):
        divide_queries(one, np.zeros(3, dtype=int), 0.5, 0)
    two = np.array([2, 5])
    tuning, rest = divide_queries(two, np.zeros(2, dtype=int), 0.5, 0)
    assert sorted([*tuning, *rest]) == [0, 1]
    with pytest.raises(ValueError, match="one calibration query for each of 2 groups"):
        divide_queries(two, np.arange(2), 0.5, 0)
