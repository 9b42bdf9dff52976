"""Confidence intervals of the AUC: formulas, ties, ends, queries and coverage."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit, logit, ndtr, ndtri
from sklearn.metrics import roc_auc_score
from strategies import items
from theory.matrices import rank_matrix

from skrank_abstain.concentration import ratio_interval
from skrank_abstain.metrics import Estimate
from skrank_abstain.theory import auc_confidence_interval

METHODS = ("delong", "bootstrap", "hoeffding", "mcdiarmid")
Z = 1.959963984540054


def sample(m, n, auc, rng):
    y = np.repeat([1, 0], [m, n])
    return y, rng.normal(sqrt(2) * ndtri(auc) * y)


def clustered(n_queries, rng):
    """Queries with a level of scores and a quality of their own; true AUC 0.788."""
    qid = np.repeat(np.arange(n_queries), rng.integers(4, 20, n_queries))
    y = (rng.random(qid.size) < 0.3).astype(int)
    level = rng.normal(scale=2, size=n_queries)
    quality = rng.normal(1.2, 0.5, size=n_queries)
    return y, rng.normal(level[qid] + quality[qid] * y), qid


def pairs_by_query(y, scores, qid):
    """Won and all pairs of queries with both classes, from rank matrices."""
    won, pairs = [], []
    for query in np.unique(qid):
        positive = scores[(qid == query) & (y == 1)]
        negative = scores[(qid == query) & (y == 0)]
        if positive.size and negative.size:
            matrix = rank_matrix(positive, negative)
            won.append(matrix.sum())
            pairs.append(matrix.size)
    return np.array(won), np.array(pairs)


def test_a_named_tuple(oracles):
    case = oracles["auc_ties"]
    result = auc_confidence_interval(case["y"], case["s"])
    assert isinstance(result, Estimate)
    auc, low, high = result
    assert (auc, low, high) == (result.value, result.low, result.high)
    assert auc == pytest.approx(case["auc"], rel=1e-9)


def test_delong_by_hand(oracles):
    case = oracles["auc_ties"]
    # Shares won by each positive and lost by each negative, of four; see the matrix
    # [[1, 1, 1, 1], [.5, 1, 1, 1], [0, .5, 1, 0], [0, 1, 1, .5]].
    positive = np.array([4, 3.5, 1.5, 2.5]) / 4
    negative = np.array([1.5, 3.5, 4, 2.5]) / 4
    auc = 11.5 / 16
    variance = positive.var(ddof=1) / 4 + negative.var(ddof=1) / 4
    half = Z * sqrt(variance) / (auc * (1 - auc))
    expected = expit(logit(auc) - half), expit(logit(auc) + half)
    result = auc_confidence_interval(case["y"], case["s"], method="delong")
    assert result[1:] == pytest.approx(expected, rel=1e-12)
    assert auc_confidence_interval(case["y"], case["s"]) == result


@pytest.mark.parametrize(
    ("method", "half"),
    [
        ("hoeffding", sqrt(log(20) / (2 * 30))),
        ("mcdiarmid", sqrt(log(20) * 100 / (2 * 2100))),
    ],
)
def test_bounds_as_intervals(method, half):
    y, scores = sample(30, 70, 0.6, np.random.default_rng(1))
    auc, low, high = auc_confidence_interval(y, scores, confidence=0.9, method=method)
    assert auc == roc_auc_score(y, scores)
    assert (low, high) == pytest.approx((auc - half, auc + half))
    y, scores = [0, 1, 1], [0.1, 0.1, 0.9]
    assert auc_confidence_interval(y, scores, method=method) == (0.75, 0.0, 1.0)


@pytest.mark.filterwarnings("ignore:.* promises something")
@given(items(min_size=4), st.sampled_from(METHODS), st.floats(0.05, 0.99))
def test_intervals_of_items(data, method, confidence):
    y = (data.y >= 2).astype(int)
    assume(2 <= y.sum() <= y.size - 2)
    options = {"confidence": confidence, "n_resamples": 100, "random_state": 0}
    result = auc_confidence_interval(y, data.scores, method=method, **options)
    auc, low, high = result
    assert auc == pytest.approx(roc_auc_score(y, data.scores), abs=1e-12)
    assert 0 <= low <= auc <= high <= 1
    assert low < high
    # A monotone transformation and other names of the classes change nothing.
    other = auc_confidence_interval(
        np.where(y == 1, 7.5, -3), 10 * data.scores + 1, method=method, **options
    )
    assert other == result
    # Turning the scores around mirrors it.
    turned = auc_confidence_interval(y, -data.scores, method=method, **options)
    assert turned == pytest.approx((1 - auc, 1 - high, 1 - low), abs=1e-9)


@given(items(min_size=4), st.sampled_from(["cluster", "bootstrap"]))
def test_intervals_of_queries(data, method):
    y = (data.y >= 2).astype(int)
    codes = np.array([list(data.qid).index(value) for value in data.qid])
    won, pairs = pairs_by_query(y, data.scores, codes)
    assume(won.size >= 2)
    auc, low, high = auc_confidence_interval(
        y, data.scores, qid=data.qid, method=method, n_resamples=100, random_state=0
    )
    assert auc == pytest.approx(won.sum() / pairs.sum(), abs=1e-12)
    assert 0 <= low <= auc <= high <= 1
    assert low < high
    expected = np.clip(ratio_interval(won, pairs), 0, 1)
    if method == "cluster" and np.ptp(won / pairs) > 1e-9:
        assert (low, high) == pytest.approx(expected, abs=1e-12)


def test_queries_are_pooled_over_pairs():
    # 3 of 4 pairs, 1 of 2, and one half of 1; the last query has no negative.
    y = [1, 1, 0, 0, 1, 0, 0, 1, 0, 1]
    scores = [9, 2, 1, 3, 5, 4, 6, 7, 7, 8]
    qid = list("aaaabbbccd")
    result = auc_confidence_interval(y, scores, qid=qid)
    low, high = ratio_interval([3, 1, 0.5], [4, 2, 1])
    assert result == pytest.approx((4.5 / 7, max(low, 0), min(high, 1)))
    order = np.random.default_rng(0).permutation(10)
    shuffled = auc_confidence_interval(
        *(np.array(a)[order] for a in (y, scores)), qid=np.array(qid)[order]
    )
    assert shuffled == pytest.approx(result, rel=1e-12)


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
@pytest.mark.parametrize("turn", [1, -1])
def test_a_perfect_ranker_is_not_certain(method, turn):
    y = np.repeat([1, 0], [8, 20])
    result = auc_confidence_interval(y, turn * y, method=method)
    # Eight disjoint pairs were all right: Clopper and Pearson's limit for 8 of 8.
    limit = 0.025 ** (1 / 8)
    expected = (1, limit, 1) if turn == 1 else (0, 0, 1 - limit)
    assert result == pytest.approx(expected)


def test_clopper_and_pearsons_upper_limit():
    # Of no errors in 50, at one-sided 95 %: 1 - 0.05**(1 / 50).
    y = np.repeat([1, 0], [50, 90])
    result = auc_confidence_interval(y, -y, confidence=0.9)
    assert result.high == pytest.approx(0.05815507911697225, rel=1e-12)


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_equal_scores_are_not_certain(method):
    y = np.repeat([1, 0], [8, 20])
    missed = 1 - 0.025 ** (1 / 8)
    expected = (0.5, 0.5 - missed / 2, 0.5 + missed / 2)
    result = auc_confidence_interval(y, np.zeros(28), method=method)
    assert result == pytest.approx(expected)


@pytest.mark.parametrize("method", ["cluster", "bootstrap"])
def test_perfect_queries_are_not_certain(method):
    y = np.tile([1, 0, 0], 12)
    qid = np.repeat(np.arange(12), 3)
    result = auc_confidence_interval(y, y + qid, qid=qid, method=method)
    assert result == pytest.approx((1, 0.025 ** (1 / 12), 1))


def test_bootstrap_agrees_with_delong_on_many_items():
    y, scores = sample(300, 500, 0.8, np.random.default_rng(0))
    delong = auc_confidence_interval(y, scores)
    bootstrap = auc_confidence_interval(y, scores, method="bootstrap", random_state=0)
    assert bootstrap == pytest.approx(delong, abs=0.006)
    assert bootstrap.value == delong.value


@pytest.mark.parametrize("with_queries", [False, True])
def test_bootstrap_is_reproducible(with_queries):
    y, scores, qid = clustered(10, np.random.default_rng(0))

    def interval(seed):
        return auc_confidence_interval(
            y,
            scores,
            qid=qid if with_queries else None,
            method="bootstrap",
            n_resamples=200,
            random_state=seed,
        )

    assert interval(3) == interval(3) == interval(np.random.RandomState(3))
    assert interval(3) != interval(4)


# Binomial standard error of 500 samples: 0.010 at 95 %.
@pytest.mark.parametrize(
    ("m", "n", "auc"), [(10, 10, 0.7), (30, 30, 0.95), (30, 100, 0.8)]
)
def test_delong_covers(m, n, auc):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(500):
        _, low, high = auc_confidence_interval(*sample(m, n, auc, rng))
        hits += low <= auc <= high
    assert 0.92 < hits / 500 < 0.985


@pytest.mark.slow
def test_bootstrap_covers():
    # Percentiles are a little short: about 93 %.
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(250):
        y, scores = sample(40, 60, 0.6, rng)
        _, low, high = auc_confidence_interval(
            y, scores, method="bootstrap", n_resamples=200, random_state=seed
        )
        hits += low <= 0.6 <= high
    assert 0.90 < hits / 250 < 0.98


@pytest.mark.parametrize("method", ["cluster", "bootstrap"])
def test_query_intervals_cover_new_queries(method):
    true = ndtr(1.2 / sqrt(2 + 0.5**2))
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(300):
        y, scores, qid = clustered(40, rng)
        _, low, high = auc_confidence_interval(
            y, scores, qid=qid, method=method, n_resamples=200, random_state=seed
        )
        hits += low <= true <= high
    assert 0.90 < hits / 300 < 0.98


def test_duplicated_queries_do_not_help_to_be_sure():
    # Copies of items within a query add pairs but no queries.
    y, scores, qid = clustered(30, np.random.default_rng(0))
    once = auc_confidence_interval(y, scores, qid=qid)
    twice = auc_confidence_interval(
        *(np.tile(a, 2) for a in (y, scores)), qid=np.tile(qid, 2)
    )
    assert twice == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        (
            [0, 1, 2],
            [1, 2, 3],
            r"two different values, .* got \[0\.0, 1\.0, 2\.0\]\. Turn grad",
        ),
        ([1, 1], [1, 2], r"y must have two different values, .* got \[1\.0\]"),
        ([], [], r"y must have two different values, .* got \[\]"),
        (range(9), range(9), r"got \[0\.0, 1\.0, 2\.0, 3\.0, 4\.0"),
        ([0, 1], [1], "scores must have one value per item"),
        ([0, 1], [1, np.nan], "scores must be finite, got NaN"),
        ([0, np.nan], [1, 2], "y must be finite, got NaN"),
        (["no", "yes"], [1, 2], "y must hold numbers"),
    ],
)
def test_items_are_checked(y, scores, message):
    with pytest.raises(ValueError, match=message):
        auc_confidence_interval(y, scores)


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_one_item_of_a_class_needs_a_bound(method):
    y, scores = [1, 0, 0], [3, 1, 2]
    message = rf"at least two items .*method='{method}', got 1 of the higher and 2"
    with pytest.raises(ValueError, match=message):
        auc_confidence_interval(y, scores, method=method)
    result = auc_confidence_interval(y, scores, method="hoeffding")
    assert result == (1, 0, 1)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"method": "wald"},
            ValueError,
            "method without qid must be one of 'auto', 'delong'",
        ),
        (
            {"method": "cluster"},
            ValueError,
            "method without qid .*'mcdiarmid', got 'cluster'",
        ),
        (
            {"method": "delong", "qid": [1, 1, 2, 2]},
            ValueError,
            "method with qid must be one of 'auto', 'cluster', .* got 'delong'",
        ),
        ({"confidence": 1.0}, ValueError, r"confidence must be in \(0, 1\), got 1.0"),
        ({"n_resamples": 99}, ValueError, "n_resamples must be at least 100, got 99"),
        ({"n_resamples": 1e3}, TypeError, "n_resamples must be an integer"),
        ({"qid": [1, 2]}, ValueError, "qid must have one value per item"),
        (
            {"qid": [1, 1, 2, 3]},
            ValueError,
            "at least two queries with items of both classes, got 1 such queries of 3",
        ),
        ({"qid": 7}, ValueError, "got 1 such queries of 1"),
    ],
)
def test_options_are_checked(options, kind, message):
    with pytest.raises(kind, match=message):
        auc_confidence_interval([0, 1, 0, 1], [1, 2, 2, 1], **options)


def test_arguments_are_left_alone():
    y, scores, qid = clustered(5, np.random.default_rng(0))
    for array in (y, scores, qid):
        array.setflags(write=False)
    auc_confidence_interval(y, scores, qid=qid)
    auc_confidence_interval(y.astype(np.float32), scores.astype(np.float32))
