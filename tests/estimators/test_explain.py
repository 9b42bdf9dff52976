"""explain: three sentences about one pair, and what they say holds."""

import re

import numpy as np
import pytest
from sklearn.covariance import EllipticEnvelope
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking

KNOWN = make_ranking(n_queries=100, random_state=0)
DAY = make_ranking(n_queries=1, n_items=12, random_state=1).data
FITTED = (KNOWN.data, KNOWN.target)
TIE_MODELS = ["graded_relevance", "bradley_terry", "isotonic_difference"]


@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_the_coverage_that_it_names_decides_the_pair(tie_model):
    ranker = BALToR(Ridge(), coverage=0.5, tie_model=tie_model, random_state=0)
    ranker.fit(*FITTED, qid=KNOWN.qid)
    for pair in ranker.predict_pairs(DAY).deferred(15):
        which = pair.left, pair.right
        text = ranker.explain(DAY, *which)
        coverage = float(re.search(r"at_coverage\((.*?)\)", text)[1])
        assert coverage > 0.5
        decided = ranker.at_coverage(coverage).predict_pairs(DAY, pairs=[which])
        assert decided.accepted.all()
        assert f"A person decides ({pair.reason})" in text
        assert len(re.findall(r"\. [A-Za-z]", text)) == 2
        assert f"the risk is {pair.risk:.4g}" in text
        assert f"pairs up to {ranker.threshold_:.4g} are decided" in text


def test_the_price_that_it_names_decides_the_pair():
    ranker = CostAbstainer(Ridge(), cost=0.01, random_state=0)
    ranker.fit(*FITTED, qid=KNOWN.qid)
    (pair, *_) = ranker.predict_pairs(DAY).deferred()
    text = ranker.explain(DAY, pair.left, pair.right)
    cost = float(re.search(r"at_cost\((.*?)\)", text)[1])
    assert pair.risk < cost <= pair.risk + 1.01e-4
    one = ranker.at_cost(cost).predict_pairs(DAY, pairs=[[pair.left, pair.right]])
    assert one.accepted.all()


def test_a_bound_is_about_the_margin():
    ranker = RiskControlledRanker(Ridge(), max_risk=0.3, random_state=0)
    ranker.fit(*FITTED, qid=KNOWN.qid)
    pairs = ranker.predict_pairs(DAY)
    decided = next(pair for pair in pairs if pair.accepted)
    text = ranker.explain(DAY, decided.left, decided.right)
    assert text.endswith(
        f" are decided by ranker {ranker.id_}. An answer of a person takes its place "
        "(review)."
    )
    pair = next(pair for pair in pairs if not pair.accepted)
    wrong = min(pair.p_left, pair.p_right)
    assert pair.margin == pytest.approx(wrong - 0.3 * (1 - pair.p_tie))
    text = ranker.explain(DAY, pair.left, pair.right)
    assert f"the margin is {pair.margin:.4g}" in text
    # A larger bound may certify nothing.
    assert text.endswith(
        "A larger max_risk may decide it; a person's answer does (review)."
    )


def test_a_decided_pair_an_equal_one_and_a_novel_one():
    detector = EllipticEnvelope(support_fraction=1.0)
    ranker = BALToR(Ridge(), coverage=0.6, novelty=detector, random_state=0)
    ranker.fit(*FITTED, qid=KNOWN.qid)
    X = DAY.copy()
    X[1] = X[0]
    X[2] = 9.0
    top, last = np.argsort(ranker.predict(DAY[3:]))[[-1, 0]] + 3
    decided = ranker.explain(X, top, last)
    said = f"row {top} and row {last}: Decided: row {top} first (decided)."
    assert said in decided
    equal = ranker.explain(X, 0, 1)
    assert "A person decides (equal scores); the best guess: equal." in equal
    novel = ranker.explain(X, 2, 4)
    assert "A person decides (unlike the calibration items)" in novel
    assert novel.endswith("Only a person decides it, or a lower novelty_level.")


def test_items_are_called_by_their_names():
    ranker = BALToR(Ridge(), random_state=0).fit(*FITTED, qid=KNOWN.qid)
    names = [f"p{k}" for k in range(12)]
    by_name = ranker.explain(DAY, "p3", "p7", item_id=names)
    assert by_name.replace("p3", "row 3").replace("p7", "row 7") == ranker.explain(
        DAY, 3, 7
    )
    with pytest.raises(ValueError, match="left and right must name two items that one"):
        ranker.explain(DAY, "p3", "Ann", item_id=names)
    X, qid = np.tile(DAY[:6], (2, 1)), np.repeat([0, 1], 6)
    twice = [*"abcdef", *"aghijk"]  # "a" is in two queries, "g" in one
    alone = ranker.explain(X[6:], "a", "g", item_id=twice[6:])
    assert ranker.explain(X, "a", "g", qid=qid, item_id=twice) == alone
    with pytest.raises(ValueError, match=r"in rows \[0, 6\] and \[7\]: .* qid="):
        ranker.explain(X, "a", "g", item_id=twice)
    with pytest.raises(ValueError, match=r"one query has, got 'b' .* \[1\] and \[\]"):
        ranker.explain(X, "b", "z", qid=qid, item_id=twice)
