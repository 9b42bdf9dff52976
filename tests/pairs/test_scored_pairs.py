"""Pairs that were given one by one."""

import numpy as np
from scored import scored

from skrank_abstain.pairs import Scores, count_outcomes, group_queries


def test_pairs_given_one_by_one_count_as_queries_of_two():
    rng = np.random.default_rng(0)
    scores, y = rng.integers(0, 6, 400) / 2, rng.integers(0, 3, 400)
    items = scored(scores, group_queries(np.arange(400) // 2, 400), y.astype(float))
    pairs = Scores.of_pairs(
        scores[::2], scores[1::2], np.sign(y[::2] - y[1::2]).astype(np.int64)
    )
    cuts = np.array([0.0, 0.3, 0.5, 1.2, 2.5])
    for tolerance in (0.0, 0.6):
        np.testing.assert_array_equal(
            count_outcomes(pairs, cuts, tolerance),
            count_outcomes(items, cuts, tolerance),
        )
    item_weight = np.repeat(np.sqrt(np.arange(200) % 4), 2)
    np.testing.assert_allclose(
        count_outcomes(pairs, cuts, 0.0, item_weight[::2] ** 2),
        count_outcomes(items, cuts, 0.0, item_weight),
    )
    part = pairs.stretch(20, 50)
    assert part.n_queries == part.n_pairs == 30
    np.testing.assert_array_equal(
        count_outcomes(part, cuts, 0.0),
        count_outcomes(items.stretch(20, 50), cuts, 0.0),
    )


def test_pairs_of_a_query_are_added_up():
    left, right = np.array([3.0, 1.0, 2.0, 0.0]), np.array([1.0, 2.0, 2.0, 5.0])
    label = np.array([1, 1, -1, 0])
    pairs = Scores.of_pairs(left, right, label, np.array([7, 2, 7, 2]))
    assert pairs.pair_counts.tolist() == [2, 2]
    assert pairs.n_pairs == 4
    assert count_outcomes(pairs, np.array([0.0, 1.5]), 0.0).tolist() == [
        [[0, 1, 1, 0], [0, 1, 0, 0]],
        [[1, 0, 0, 1], [1, 0, 0, 0]],
    ]
    weighed = count_outcomes(pairs, np.zeros(1), 0.0, np.array([1.0, 2.0, 4.0, 8.0]))
    assert weighed[:, 0].tolist() == [[0, 8, 2, 0], [1, 0, 0, 4]]
    assert count_outcomes(pairs.stretch(1, 2), np.zeros(1), 0.0).tolist() == [
        [[1, 0, 0, 1]]
    ]
