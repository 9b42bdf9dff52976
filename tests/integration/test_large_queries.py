"""One query of 200,000 items: an answer, or a refusal that says what to call."""

import numpy as np
import pytest
from doubles import FirstColumn

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer

MODEL = FirstColumn().fit(None, None)
N = 200_000
#: Two bytes of boolean per pair are 20 GB; nothing of the kind may be tried.
FORMS_PAIRS = ["predict_pairs", "abstain", "pair_proba", "conditional_risk"]


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.digitize(X[:, 0] + rng.logistic(size=N), [0.0, 1.0])


@pytest.fixture(scope="module")
def small():
    return make_ranking(n_queries=40, n_items=20, random_state=0)


def fitted(ranker, small):
    return ranker.fit(small.data[:, :2], small.target, qid=small.qid)


@pytest.fixture(
    scope="module", params=["bradley_terry", "isotonic_difference", "graded_relevance"]
)
def ranker(request, small):
    return fitted(BALToR(MODEL, tie_model=request.param), small)


def test_what_forms_no_pairs_answers(ranker, large):
    X, y = large
    totals = ranker.evaluate(X, y, qid=0)
    assert totals.pairs.sum() == N * (N - 1) // 2
    assert ranker.score(X, y, qid=0) == totals.score
    best, worst = ranker.rank_intervals(X, qid=0).T
    assert (best <= worst).all()
    assert len(ranker.ranking(X, qid=0)) > 0
    assert ranker.risk_profile(X, y, qid=0).n_pairs[-1] > 0
    points = ranker.operating_points(X, y, qid=0, coverages=[0.5])
    assert points[0].totals.pairs.sum() == N * (N - 1) // 2
    assert "pairs" in str(ranker.report(X, y, qid=0))


@pytest.mark.parametrize("method", FORMS_PAIRS)
def test_what_forms_pairs_says_what_does_not(ranker, large, method):
    said = "19999900000 pairs take .* Use evaluate, or .*rank_intervals .* pairs="
    with pytest.raises(ValueError, match=said):
        getattr(ranker, method)(large[0], qid=0)
    named = getattr(ranker, method)(large[0], qid=0, pairs=[[0, N - 1]])
    assert len(named) == 1


def test_pair_by_pair_and_as_a_graph(ranker, large):
    with pytest.raises(ValueError, match=r"pairs take .* Use evaluate, or"):
        next(ranker.iter_pairs(large[0], qid=0))
    with pytest.raises(ValueError, match=r"orders .* Use rank_intervals"):
        ranker.preference_graph(large[0], qid=0)


@pytest.mark.filterwarnings("ignore:A review rests on grades")
def test_a_review_of_it_asks_for_fewer_items(ranker, large):
    review = ranker.review(large[0], qid=0)
    said = r"19999900000 pairs take .* Review fewer queries .* highest items of a query"
    for ask in (
        lambda: review.ask(5),
        lambda: review.decisions,
        lambda: review.ranking(),
        lambda: review.expected_accuracy,
        lambda: review.worth_asking(0.1),
    ):
        with pytest.raises(ValueError, match=said):
            ask()


def test_a_ranker_is_fitted_on_it(large):
    X, y = large
    qid = np.repeat([0, 1], [N - 50, 50])
    ranker = CostAbstainer(MODEL, cost=0.3).fit(X, y, qid=qid)
    assert ranker.n_pairs_ == (N - 50) * (N - 51) // 2 + 50 * 49 // 2


def test_distances_are_searched_where_few_are_near_and_else_refused(small, large):
    X, y = large
    searched = fitted(DistanceAbstainer(MODEL, gamma=0.001), small)
    assert searched.evaluate(X, y, qid=0).pairs.sum() == N * (N - 1) // 2
    looked_at = fitted(DistanceAbstainer(MODEL, gamma=0.5), small)
    said = r"for one, 2.0e\+10 pairs .* Evaluate a random part"
    with pytest.raises(ValueError, match=said):
        looked_at.evaluate(X, y, qid=0)
    with pytest.raises(ValueError, match=r"pairs take .* Use evaluate"):
        looked_at.predict_pairs(X, qid=0)
    part = looked_at.evaluate(X[:500], y[:500], qid=0)
    assert part.pairs.sum() == 500 * 499 // 2


def test_long_names_are_not_copied_for_every_pair(small):
    ranker = fitted(BALToR(MODEL), small)
    X = small.data[:40, :2]
    name = 1_000 * "query"
    items = np.array([f"{i:02d}" + 1_000 * "item" for i in range(40)])
    decisions = ranker.predict_pairs(X, qid=[name] * 40, item_id=items)
    assert len(decisions) == 780
    assert decisions.qid.nbytes == decisions.left_id.nbytes == 780 * 8
    assert (decisions.qid == name).all()
    assert (decisions.left_id == items[decisions.left]).all()
    assert decisions.to_frame()["qid"].nunique() == 1
    for one in ranker.iter_pairs(X, qid=np.array([name] * 40)):
        assert one.qid.nbytes == 780 * 8


def test_a_million_queries_of_one_item_share_one_answer(small):
    ranker = fitted(BALToR(MODEL), small)
    X = np.zeros((1_000_000, 2))
    qid = np.arange(1_000_000)
    qid[:2] = 0
    found = ranker.iter_pairs(X, qid=qid)
    sizes = [len(next(found)) for _ in range(3)]
    assert sizes == [1, 0, 0]
    assert next(found) is next(found)
