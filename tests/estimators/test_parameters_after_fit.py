"""Parameters that are set after ``fit`` promise nothing."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.queries import QueryRiskRanker
from skrank_abstain.selection import CertifiedRisk

TRAIN = make_ranking(n_queries=120, random_state=0)
NEW = make_ranking(n_queries=20, random_state=1)
FIT = TRAIN.data, TRAIN.target, TRAIN.qid
DAY = NEW.data, NEW.qid
LABELLED = NEW.data, NEW.target, NEW.qid


def undated_report(ranker):
    return re.sub("date: .*", "", str(ranker.report(*LABELLED)))


@pytest.mark.parametrize(
    ("ranker", "later"),
    [
        (
            RiskControlledRanker(Ridge(), max_risk=0.7, random_state=0),
            {"max_risk": 0.01, "delta": 0.01},
        ),
        (BALToR(Ridge(), coverage=0.6, random_state=0), {"coverage": 0.3}),
        (CostAbstainer(Ridge(), cost=0.4, random_state=0), {"cost": 0.1}),
        (
            BALToR(Ridge(), coverage=0.6, random_state=0),
            {"coverage_guarantee": "hierarchical"},
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_nothing_is_said_of_a_rule_that_did_not_set_the_threshold(ranker, later):
    ranker.fit(*FIT)
    rule = type(ranker._rule()).__name__
    accepted, text = ranker.predict_pairs(*DAY).accepted, undated_report(ranker)
    before = ranker.get_params()
    ranker.set_params(**later)
    for say in (
        lambda: ranker.report(*LABELLED),
        lambda: ranker.review(*DAY),
        lambda: ranker.operating_points(*LABELLED, coverages=[0.35]),
    ):
        with pytest.raises(ValueError, match=rf"got .* after {rule}\(.* had set it"):
            say()
    np.testing.assert_array_equal(ranker.predict_pairs(*DAY).accepted, accepted)
    assert undated_report(ranker.set_params(**before)) == text


def test_no_promise_is_made_of_pairs_that_fitted_the_tie_model():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0).fit(*FIT)
    ranker.set_params(coverage_guarantee="hierarchical")
    with pytest.raises(ValueError, match="must be GuaranteedCoverage in fit already"):
        ranker.at_coverage(0.5)
    assert (
        BALToR(Ridge(), coverage_guarantee="hierarchical", random_state=0)
        .fit(*FIT)
        .at_coverage(0.5)
    )
    left, right = np.arange(1000).reshape(2, -1)
    X = np.hstack([TRAIN.data[left], TRAIN.data[right]])
    y = np.sign(TRAIN.target[left] - TRAIN.target[right])
    classifier = PairwiseRankerClassifier(LogisticRegression(), coverage=0.7)
    classifier.fit(X, y).set_params(coverage=1.0, rule=CertifiedRisk(0.3))
    with pytest.raises(ValueError, match="must be CertifiedRisk in fit already"):
        classifier.at_risk(0.4)


def test_a_share_of_queries_is_not_certified_by_a_bound_that_comes_later():
    ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0).fit(*FIT)
    assert not ranker.set_params(coverage=None, max_risk=0.01).certified_
