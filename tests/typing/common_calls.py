"""Common calls as a user writes them; type checkers read this file, nobody runs it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairDecisions,
    PairwiseRankerClassifier,
    Ranking,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.leaderboard import Fragility, ItemDecisions, Leaderboard, Standings
from skrank_abstain.metrics import aurc_loss
from skrank_abstain.report import Report
from skrank_abstain.review import Questions, Review
from skrank_abstain.selection import CertifiedRisk, Coverage, PairTotals, Price
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, TieModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def fit(model: object, X: Floats, y: Ints, qid: Ints) -> BALToR:
    ranker = BALToR(model, coverage=0.8, random_state=0).fit(X, y, qid=qid)
    assert_type(ranker, BALToR)
    assert_type(ranker.at_coverage(0.5), BALToR)
    assert_type(ranker.threshold_, float)
    assert_type(ranker.coverage_, float)
    assert_type(ranker.coverage_interval_, Floats)
    assert_type(ranker.calibration_totals_, PairTotals)
    assert_type(ranker.n_queries_, int)
    assert_type(ranker.n_pairs_, int)
    assert_type(ranker.prefit_, bool)
    assert_type(ranker.tie_model_, TieModel)
    return ranker


def construct(model: object) -> list[SelectiveRanker]:
    costs = [[0, 0, 1], [0.5, 0, 0.5], [1, 0, 0]]
    PairwiseRankerClassifier(
        model, labels={0: "tie", 1: "left"}, rule=CertifiedRisk(0.2)
    )
    PairwiseRankerClassifier(model, tie_model=BradleyTerry(), prefit=False)
    return [
        BALToR(model, tie_model="bradley_terry", loss="misranking", prefit=True),
        CostAbstainer(model, cost=0.3, tie_model=GradedRelevance(), loss=costs),
        RiskControlledRanker(model, max_risk=0.2, random_state=np.random.RandomState()),
        SelectiveRanker(
            model, rule=Price(0.4), loss=[[0, 1, 2], [1, 0, 1], [2, 1, 0.5]]
        ),
        SelectiveRanker(model, rule=Coverage(0.4), qid_col="day"),
    ]


def decide(ranker: BALToR, X: Floats, qid: Ints) -> None:
    assert_type(ranker.predict(X), Floats)
    assert_type(ranker.pair_proba(X, qid=qid), Floats)
    assert_type(ranker.conditional_risk(X, qid=qid), Floats)
    assert_type(ranker.rank_intervals(X, qid=qid), Ints)
    assert_type(ranker.iter_pairs(X, qid=qid), Iterator[PairDecisions])
    decisions = ranker.predict_pairs(
        X, qid=qid, item_id=[str(row) for row in range(len(X))]
    )
    assert_type(decisions, PairDecisions)
    assert_type(decisions.coverage, float)
    assert_type(decisions.left, Ints)
    assert_type(decisions.accepted, NDArray[np.bool_])
    assert_type(decisions.risk, Floats | None)
    assert_type(decisions.deferred(10, within_top=5), PairDecisions)
    assert_type(decisions.to_dicts(), list[dict[str, Any]])
    for pair in decisions:
        assert_type(pair.label, int)
        assert_type(pair.risk, float | None)
    ranking = ranker.ranking(X, qid=qid)
    assert_type(ranking, Ranking)
    assert_type(ranking.place, Ints)
    for item in ranking:
        assert_type((item.place, item.best, item.open), tuple[int, int, bool])


def judge(ranker: BALToR, X: Floats, y: Ints, qid: Ints) -> None:
    assert_type(ranker.score(X, y, qid=qid), float)
    totals = ranker.evaluate(X, y, qid=qid)
    assert_type(totals.coverage, float)
    assert_type(totals.accuracy, float)
    report = ranker.report(X, y, qid=qid, groups=["a"] * len(X))
    assert_type(report, Report)
    assert_type(report.splitlines(), list[str])
    report.to_html(Path("audit.html"))
    RiskCoverageDisplay.from_estimator(ranker, X, y, qid=qid).plot(name="mine")
    area: float = aurc_loss([1, 0, 1], [1, 1, 1], [0.1, 0.2, 0.3])
    assert area < 1


def ask(ranker: BALToR, X: Floats, qid: Ints) -> None:
    review = ranker.review(
        X, qid=qid, answers=[{"left": 0, "right": 1, "label": "left"}]
    )
    assert_type(review, Review)
    assert_type(review.ask(10, objective="top"), Questions)
    assert_type(review.ask(10).value, Floats)
    assert_type(review.decisions, PairDecisions)
    assert_type(review.ranking(), Ranking)
    assert_type(review.expected_accuracy, float)
    assert_type(review.reviewer_error_, dict[str, float])
    assert_type(review.worth_asking(0.5), bool)


def data() -> None:
    made = make_ranking(n_queries=10, random_state=0)
    read = load_letor("Fold1/train.txt")
    for bunch in (made, read):
        BALToR(object()).fit(bunch.data, bunch.target, qid=bunch.qid)


def compare(votes: dict[str, list[str]]) -> Leaderboard:
    board = Leaderboard(half_life=30, random_state=0).fit(votes, cluster="voter")
    assert_type(board, Leaderboard)
    assert_type(board.strengths_, Floats)
    assert_type(board.covariance_, Floats)
    assert_type(board.ranking(), Standings)
    assert_type(board.ranking().votes, Ints)
    assert_type(board.decisions, ItemDecisions)
    assert_type(board.decisions.pvalue, Floats)
    assert_type(board.predict_proba(["A"], ["B"]), Floats)
    assert_type(board.score(votes), float)
    assert_type(board.ask(3, objective="top"), Questions)
    assert_type(board.fragility(), Fragility)
    assert_type(board.report(), Report)
    return board
