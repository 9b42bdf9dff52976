"""The interval of the coverage that new queries will see."""

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.exceptions import NotFittedError

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.concentration import coverage_interval
from skrank_abstain.datasets import make_ranking


def shares(n_queries, rng):
    """Accepted pairs and pairs, of queries that differ in both."""
    pairs = rng.integers(1, 40, n_queries).astype(float)
    accepted = rng.binomial(pairs.astype(int), rng.beta(2, 1, n_queries))
    return accepted.astype(float), pairs


def test_of_queries_that_are_all_alike_nothing_is_unknown():
    found = coverage_interval(np.full(30, 7.0), np.full(30, 10.0), seed=0)
    np.testing.assert_allclose(found, [0.7, 0.7], rtol=1e-12)


def test_it_is_as_wide_as_the_linearised_error_of_two_ratios():
    accepted, pairs = shares(400, np.random.default_rng(0))
    coverage = accepted.sum() / pairs.sum()
    rest = accepted - coverage * pairs
    error = np.sqrt(2 * (rest**2).sum()) / pairs.sum()
    low, high = coverage_interval(accepted, pairs, seed=0)
    assert high - coverage == pytest.approx(1.96 * error, rel=0.08)
    assert coverage - low == pytest.approx(1.96 * error, rel=0.08)
    narrow = coverage_interval(accepted, pairs, seed=0, confidence=0.5)
    assert np.ptp(narrow) == pytest.approx(2 * 0.674 * error, rel=0.1)
    # Of 100 new queries: the two variances are those of 400 and of 100 queries.
    few = coverage_interval(accepted, pairs, seed=0, n_new=100)
    assert np.ptp(few) == pytest.approx(2 * 1.96 * error * np.sqrt(2.5), rel=0.1)


@pytest.mark.parametrize("n_queries", [25, 200])
def test_as_many_new_queries_are_inside_as_often_as_it_says(n_queries):
    rng = np.random.default_rng(n_queries)
    inside = []
    for seed in range(200):
        low, high = coverage_interval(*shares(n_queries, rng), seed=seed)
        accepted, pairs = shares(n_queries, rng)
        inside.append(low <= accepted.sum() / pairs.sum() <= high)
    # Binomial, four standard errors.
    assert np.mean(inside) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 200))


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [10, 20, 60])
def test_it_holds_for_thresholds_of_queries_of_very_different_sizes(n_queries):
    rng = np.random.default_rng(n_queries)

    def draw():
        """Return the risks of all pairs of queries of 2 to 45 items, by query."""
        sizes = rng.integers(2, 46, n_queries)
        return [
            0.6 * rng.normal() + rng.normal(size=size * (size - 1) // 2)
            for size in sizes
        ]

    inside = []
    for seed in range(500):
        past, new = draw(), draw()
        threshold = np.quantile(np.concatenate(past), 0.7, method="inverted_cdf")
        counts = [[(risks <= threshold).sum(), risks.size] for risks in past]
        low, high = coverage_interval(*np.array(counts, dtype=float).T, seed=seed)
        inside.append(low <= np.mean(np.concatenate(new) <= threshold) <= high)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_one_query_says_nothing():
    accepted, pairs = np.array([0.0, 6.0]), np.array([0.0, 10.0])
    assert coverage_interval(accepted, pairs, seed=0).tolist() == [0, 1]


def test_it_stays_between_nothing_and_all():
    accepted, pairs = np.array([1.0, 0.0, 9.0]), np.array([1.0, 10.0, 9.0])
    low, high = coverage_interval(accepted, pairs, seed=1)
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("tie_model", ["graded_relevance", "bradley_terry"])
def test_rankers_have_it(tie_model):
    data = make_ranking(n_queries=80, random_state=0)
    ranker = BALToR(
        FirstColumn().fit(None, None), tie_model=tie_model, coverage=0.6, random_state=0
    )
    with pytest.raises(NotFittedError):
        ranker.coverage_interval_  # noqa: B018
    ranker.fit(data.utility[:, None], data.target, qid=data.qid)
    low, high = ranker.coverage_interval_
    assert low < ranker.coverage_ < high
    assert 0.02 < high - low < 0.5
    np.testing.assert_array_equal(ranker.coverage_interval_, [low, high])
    # It belongs to the threshold.
    assert ranker.at_coverage(1.0).coverage_interval_.tolist() == [1, 1]
    counted = ranker.evaluate(data.utility[:, None], data.target, qid=data.qid)
    expected = coverage_interval(
        np.asarray(counted.accepted, dtype=float),
        np.asarray(counted.pairs, dtype=float),
        seed=ranker._calibration.seed,
    )
    np.testing.assert_allclose(ranker.coverage_interval_, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [6, 60])
def test_new_queries_of_a_fitted_ranker_are_inside(n_queries):
    ranker = BALToR(FirstColumn().fit(None, None), coverage=0.6, random_state=0)
    inside = []
    for seed in range(150):
        data, new = (
            make_ranking(n_queries, random_state=start + seed) for start in (0, 5000)
        )
        ranker.fit(data.utility[:, None], data.target, qid=data.qid)
        found = ranker.evaluate(new.utility[:, None], new.target, qid=new.qid)
        low, high = ranker.coverage_interval_
        inside.append(low <= found.coverage <= high)
    assert np.mean(inside) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 150))


def test_pairs_without_queries_are_resampled_one_by_one():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 400))
    y = np.sign(left - right + rng.logistic(size=400)).astype(int)
    ranker = PairwiseRankerClassifier(FirstColumn().fit(None, None), random_state=0)
    ranker.fit(np.column_stack([left, right]), y)
    low, high = ranker.coverage_interval_
    error = np.sqrt(2 * ranker.coverage_ * (1 - ranker.coverage_) / 400)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)
