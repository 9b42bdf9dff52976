"""Places with a confidence: expected ranks, margins and what they promise."""

import pickle

import numpy as np
import pytest
from doubles import FirstColumn, named
from scored import scored

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.partitions import calibrate
from skrank_abstain.selection import _places
from skrank_abstain.selection._places import middle_places, place_shares, true_places

MODEL = FirstColumn().fit(None, None)
MODELS = ["graded_relevance", "bradley_terry", "isotonic_difference"]


def world(seed, n_queries=80, largest=15, grid=None):
    """Return X, y, qid; with a ``grid`` scores are discrete."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes) + 1000 * seed
    score = rng.normal(size=qid.size)
    shift = np.repeat(rng.normal(scale=0.5, size=n_queries), sizes)
    noise = rng.logistic(scale=0.7, size=qid.size)
    y = np.clip(np.floor(1.5 * score + shift + noise + 1), 0, 3)
    if grid:
        score = np.round(score * grid) / grid
    order = rng.permutation(qid.size)
    return score[order, None], y[order], qid[order]


def fitted(data, tie_model="graded_relevance", **params):
    return BALToR(MODEL, tie_model=tie_model, random_state=0, **params).fit(
        **named(*data)
    )


def slow_middle(X, qid):
    """Count the items above each one and half of its equals."""
    middle = np.ones(len(X))
    for i, x in enumerate(X[:, 0]):
        others = X[qid == qid[i], 0]
        middle[i] += sum(others > x) + (sum(others == x) - 1) / 2
    return middle


def slow_intervals(X, qid, margin):
    """Return best and worst places within a share of the size of each query."""
    rank, n = slow_middle(X, qid), np.bincount(qid)[qid]
    best = np.maximum(np.floor(rank - margin * n + 1e-9), 1)
    worst = np.minimum(np.ceil(rank + margin * n - 1e-9), n)
    place = np.array(
        [
            1
            + sum((X[:, 0] > X[i, 0]) & (qid == qid[i]))
            + sum((X[:i, 0] == X[i, 0]) & (qid[:i] == qid[i]))
            for i in range(len(X))
        ]
    )
    return np.minimum(best, place), np.maximum(worst, place)


def slow_places(y, qid):
    return np.array(
        [
            [
                1 + sum((y > y[i]) & (qid == qid[i])),
                sum((y >= y[i]) & (qid == qid[i])),
            ]
            for i in range(len(y))
        ]
    )


def items_of(X, y, qid, novel=None):
    return scored(X[:, 0], group_queries(qid, len(qid)), y, novel)


@pytest.mark.parametrize("grid", [None, 2])
def test_places_are_those_of_the_definition(grid):
    X, y, qid = world(1, n_queries=12, grid=grid)
    items = items_of(X, y, qid)
    expected = slow_middle(X, qid)[items.rows]
    np.testing.assert_array_equal(middle_places(items), expected)
    places = true_places(items.grades, items.queries)
    np.testing.assert_array_equal(places, slow_places(y, qid)[items.rows])
    equal = group_queries([0, 1, 0, 1, 0, 0], 6)
    first, last = true_places(np.array([2.0, 2, 3, 5, 2, 1]), equal).T
    assert first.tolist() == [2, 2, 1, 1, 2, 4]
    assert last.tolist() == [3, 2, 1, 1, 3, 4]
    nothing = items_of(X[:0], y[:0], qid[:0])
    assert middle_places(nothing).size == 0


@pytest.mark.parametrize("tie_model", MODELS)
@pytest.mark.parametrize("grid", [None, 1])
@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_intervals_are_those_of_the_definition(tie_model, grid):
    known, (X, _, qid) = world(0, grid=grid), world(1, n_queries=12, grid=grid)
    ranker = fitted(known, tie_model)
    places, n = slow_places(*known[1:]), np.bincount(known[2])[known[2]]
    n_queries = np.unique(known[2]).size
    # The smallest margin, of 256 to a query's size, that holds enough items.
    for margin in _places.LEVELS:
        best, worst = slow_intervals(*known[::2], margin)
        holds = (best <= places[:, 1]) & (worst >= places[:, 0])
        if sum(holds / n) >= 0.8 * (n_queries + 1) - 1e-9:
            break
    best, worst = slow_intervals(X, qid, margin)
    found = ranker.rank_intervals(X, qid=qid, confidence=0.8)
    np.testing.assert_array_equal(found, np.stack([best, worst], axis=1))
    ranking = ranker.ranking(X, qid=qid, confidence=0.8)
    np.testing.assert_array_equal(ranking.best, found[ranking.item_id, 0])
    np.testing.assert_array_equal(ranking.worst, found[ranking.item_id, 1])


@pytest.mark.filterwarnings("ignore:No threshold could be certified")
@pytest.mark.parametrize("wrap", [BALToR, RiskControlledRanker])
def test_too_few_queries_are_an_error_with_the_number_needed(wrap):
    ranker = wrap(MODEL, random_state=0).fit(**named(*world(0, n_queries=14)))
    n = ranker.n_queries_
    with pytest.raises(ValueError, match=rf"needs at least 19 .* queries, got {n}:"):
        ranker.rank_intervals(world(1)[0], qid=world(1)[2], confidence=0.95)
    for wrong in (0, 1, 95):
        with pytest.raises(ValueError, match="confidence must be in"):
            ranker.rank_intervals(world(1)[0], qid=world(1)[2], confidence=wrong)


def test_a_novel_item_may_be_anywhere():
    data = world(0)
    ranker = BALToR(
        MODEL, novelty=lambda X: np.abs(X[:, 0]), novelty_level=0.05, random_state=0
    ).fit(**named(*data))
    X, qid = np.array([[0.0], [50.0], [1.0], [-1.0]]), np.zeros(4)
    found = ranker.rank_intervals(X, qid=qid, confidence=0.8)
    assert found[1].tolist() == [1, 4]
    assert (found[[0, 2, 3]] != [1, 4]).any()


@pytest.mark.parametrize("tie_model", MODELS)
def test_they_outlast_saving_and_partitions(tie_model):
    X, y, qid = world(0)
    new = world(1)[::2]
    ranker = fitted((X, y, qid), tie_model)
    expected = ranker.rank_intervals(new[0], qid=new[1], confidence=0.8)
    first = qid < 40
    parts = [(X[some], y[some], qid[some]) for some in (first, ~first)]
    joined = calibrate(BALToR(MODEL, tie_model=tie_model, random_state=0), parts)
    for each in (ranker, joined):
        for saved in (each, pickle.loads(pickle.dumps(each))):
            found = saved.rank_intervals(new[0], qid=new[1], confidence=0.8)
            assert abs(found - expected).max() <= (0 if each is ranker else 1)
            assert (found == expected).mean() > 0.99


def held(ranker, X, y, qid, confidence):
    """Return in which share of the items places hold, each query counting alike."""
    best, worst = ranker.rank_intervals(X, qid=qid, confidence=confidence).T
    places = slow_places(y, qid)
    holds = (best <= places[:, 1]) & (worst >= places[:, 0])
    n = np.bincount(np.unique(qid, return_inverse=True)[1])[
        np.unique(qid, return_inverse=True)[1]
    ]
    return (holds / n).sum() / np.unique(qid).size, ((worst - best + 1) / n).mean()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
@pytest.mark.parametrize("grid", [None, 1])
@pytest.mark.parametrize("n_queries", [20, 60])
def test_places_hold_as_often_as_is_promised(grid, n_queries):
    found = []
    for draw in range(100):
        ranker = fitted(world(2 * draw + 1, n_queries, grid=grid))
        found.append(held(ranker, *world(2 * draw + 2, 20, grid=grid), 0.8)[0])
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) >= 0.8 - 2 * error


def test_the_shares_end_with_the_number_of_queries():
    data = make_ranking(30, random_state=0)
    ranker = fitted((data.utility[:, None], data.target, data.qid))
    shares = place_shares(ranker._calibration.items)
    assert shares.shape == (257,)
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == pytest.approx(30, abs=1e-9)


def test_equal_values_have_own_places_in_the_order_of_their_rows():
    X, y, qid = world(3, n_queries=8, grid=1)
    items = items_of(X, y, qid)
    value = X[:, 0]
    expected = [
        1
        + sum(
            (qid == qid[i])
            & ((value > value[i]) | ((value == value[i]) & (np.arange(len(X)) < i)))
        )
        for i in range(len(X))
    ]
    np.testing.assert_array_equal(
        _places.own_places(items), np.array(expected)[items.rows]
    )


@pytest.mark.parametrize("grid", [None, 1])
@pytest.mark.parametrize("some_novel", [False, True])
def test_shares_are_of_the_items_that_each_margin_holds(grid, some_novel):
    X, y, qid = world(4, n_queries=9, largest=9, grid=grid)
    novel = np.arange(len(X)) % 4 == 0 if some_novel else None
    first, last = slow_places(y, qid).T
    found = place_shares(items_of(X, y, qid, novel))
    for k in range(0, 257, 8):
        best, worst = slow_intervals(X, qid, k / 256)
        holds = (best <= last) & (worst >= first)
        if some_novel:
            holds |= novel
        assert found[k] == pytest.approx(sum(holds / np.bincount(qid)[qid]))


def test_results_of_places_are_shares_and_widths_of_each_query():
    X, y, qid = world(5, n_queries=10, largest=6)
    rng = np.random.default_rng(0)
    size = np.bincount(qid)[qid]
    places = np.sort(rng.integers(1, size[:, None] + 1, (len(X), 2)), axis=1)
    held_, width = _places.place_results(places, items_of(X, y, qid))
    first, last = slow_places(y, qid).T
    holds = (places[:, 0] <= last) & (places[:, 1] >= first)
    wide = (places[:, 1] - places[:, 0] + 1) / size
    # Queries are in the order in which they come.
    for k, query in enumerate(dict.fromkeys(qid.tolist())):
        own = qid == query
        means = [holds[own].mean(), wide[own].mean()]
        expected = means if sum(own) > 1 else [np.nan] * 2
        np.testing.assert_allclose([held_[k], width[k]], expected)
    assert np.isnan(width).any()
    assert 0 < np.nanmean(held_) < 1


def test_results_of_first_places_count_what_is_decided_and_what_is_right():
    # Worst places of queries of five, of four, and of two items; the first two of each.
    qid = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    y = np.array([3.0, 2, 2, 1, 0, 0, 1, 1, 1, 0])
    worst = np.array([1, 2, 2, 2, 3, 2, 1, 3, 1, 2])
    items = items_of(-worst[:, None] * 1.0, y, qid)
    right, decided = _places.first_place_results(worst, items, 2)
    # The third of the first query ties with the second; the fourth is wrong. A query
    # of two is all among the first two.
    assert decided.tolist() == [4, 2, 0]
    assert right.tolist() == [3, 1, 0]


@pytest.mark.parametrize("level", [1, 64, 200])
def test_the_margin_is_the_first_whose_share_suffices(level):
    X, y, qid = world(6, n_queries=8)
    novel = np.arange(len(X)) % 5 == 0
    n_queries, confidence = 9, 0.8
    # The finite-sample share: confidence * (n_queries + 1) is reached just there.
    shares = np.where(np.arange(257) < level, 7.99, 8.0)
    size = np.bincount(qid)[qid]
    for which in (None, novel):
        found = _places.confident_places(
            shares, n_queries, items_of(X, y, qid, which), confidence
        )
        best, worst = slow_intervals(X, qid, level / 256)
        if which is not None:
            best[novel], worst[novel] = 1, size[novel]
        np.testing.assert_array_equal(found, np.stack([best, worst], axis=1))


@pytest.mark.parametrize(("confidence", "needed"), [(0.75, 3), (0.8, 4), (0.95, 19)])
def test_the_number_of_queries_that_is_named_suffices(confidence, needed):
    items = items_of(*world(7, n_queries=3))
    _places.confident_places(np.full(257, 1.0 * needed), needed, items, confidence)
    few = np.full(257, needed - 1.0)
    with pytest.raises(ValueError, match=rf"at least {needed} calibration queries"):
        _places.confident_places(few, needed - 1, items, confidence)
