"""Pairs that were given one by one."""

import numpy as np

from skrank_abstain.pairs import ScoredItems, ScoredPairs, group_queries


def test_pairs_given_one_by_one_count_as_queries_of_two():
    rng = np.random.default_rng(0)
    scores, y = rng.integers(0, 6, 400) / 2, rng.integers(0, 3, 400)
    items = ScoredItems.build(
        scores, group_queries(np.arange(400) // 2, 400), y.astype(float)
    )
    pairs = ScoredPairs.of_pairs(
        scores[::2], scores[1::2], np.sign(y[::2] - y[1::2]).astype(np.int64)
    )
    cuts = np.array([0.0, 0.3, 0.5, 1.2, 2.5])
    for tolerance in (0.0, 0.6):
        np.testing.assert_array_equal(
            pairs.count_outcomes(cuts, tolerance), items.count_outcomes(cuts, tolerance)
        )
    item_weight = np.repeat(np.sqrt(np.arange(200) % 4), 2)
    np.testing.assert_allclose(
        pairs.weigh_outcomes(cuts, 0.0, item_weight[::2] ** 2),
        items.weigh_outcomes(cuts, 0.0, item_weight),
    )
    part = pairs.take(20, 50)
    assert part.n_queries == part.n_pairs == 30
    np.testing.assert_array_equal(
        part.count_outcomes(cuts, 0.0), items.take(20, 50).count_outcomes(cuts, 0.0)
    )


def test_pairs_of_a_query_are_added_up():
    left, right = np.array([3.0, 1.0, 2.0, 0.0]), np.array([1.0, 2.0, 2.0, 5.0])
    label = np.array([1, 1, -1, 0])
    pairs = ScoredPairs.of_pairs(left, right, label, np.array([7, 2, 7, 2]))
    assert pairs.pair_counts.tolist() == [2, 2]
    assert pairs.n_pairs == 4
    assert pairs.count_outcomes([0.0, 1.5], 0.0).tolist() == [
        [[0, 1, 1, 0], [0, 1, 0, 0]],
        [[1, 0, 0, 1], [1, 0, 0, 0]],
    ]
    weighed = pairs.weigh_outcomes([0.0], 0.0, np.array([1.0, 2.0, 4.0, 8.0]))
    assert weighed[:, 0].tolist() == [[0, 8, 2, 0], [1, 0, 0, 4]]
    assert pairs.take(1, 2).count_outcomes([0.0], 0.0).tolist() == [[[1, 0, 0, 1]]]
