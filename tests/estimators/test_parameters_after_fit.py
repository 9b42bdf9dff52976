"""Parameters that are set after ``fit`` promise nothing."""

import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.queries import QueryRiskRanker
from skrank_abstain.selection import CertifiedRisk, Rule, RuleText

TRAIN = make_ranking(n_queries=120, random_state=0)
NEW = make_ranking(n_queries=20, random_state=1)
FIT = TRAIN.data, TRAIN.target, TRAIN.qid
DAY = NEW.data, NEW.qid
LABELLED = NEW.data, NEW.target, NEW.qid


@dataclass(frozen=True)
class Capped(Rule):
    cap: Callable

    def select(self, calibration):
        return calibration.engine.select_risk(self.cap(1.0))

    def in_words(self, calibration, threshold):
        return RuleText(f"at most {self.cap(1.0):g}", "Nothing.")


def undated_report(ranker):
    return re.sub("date: .*", "", str(ranker.report(*LABELLED)))


@pytest.mark.parametrize(
    ("ranker", "later", "got"),
    [
        (
            RiskControlledRanker(Ridge(), max_risk=0.7, random_state=0),
            {"max_risk": 0.01, "delta": 0.01},
            r"max_risk=0\.01 after 0\.7, delta=0\.01 after 0\.1",
        ),
        (
            BALToR(Ridge(), coverage=0.6, random_state=0),
            {"coverage": 0.3},
            r"coverage=0\.3 after 0\.6",
        ),
        (
            CostAbstainer(Ridge(), cost=0.4, random_state=0),
            {"cost": 0.1},
            r"cost=0\.1 after 0\.4",
        ),
        (
            BALToR(Ridge(), coverage=0.6, random_state=0),
            {"coverage_guarantee": "hierarchical"},
            "rule='GuaranteedCoverage' after 'Coverage', tuning_size=0.3 after None",
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_nothing_is_said_of_a_rule_that_did_not_set_the_threshold(ranker, later, got):
    ranker.fit(*FIT)
    accepted, text = ranker.predict_pairs(*DAY).accepted, undated_report(ranker)
    before = ranker.get_params()
    ranker.set_params(**later)
    for say in (lambda: ranker.report(*LABELLED), lambda: ranker.review(*DAY)):
        with pytest.raises(
            ValueError, match=rf"got {got}: the result .* Call fit again"
        ):
            say()
    np.testing.assert_array_equal(ranker.predict_pairs(*DAY).accepted, accepted)
    assert undated_report(ranker.set_params(**before)) == text


def test_points_of_a_curve_have_the_boundary_of_fit():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0).fit(*FIT)
    ranker.set_params(boundary="randomize")
    with pytest.raises(ValueError, match="got boundary='randomize' after 'accept'"):
        ranker.operating_points(*LABELLED, coverages=[0.35])
    # A price has no part in the curve.
    ranker = CostAbstainer(Ridge(), cost=0.4, random_state=0).fit(*FIT)
    before = ranker.operating_points(*LABELLED, coverages=[0.35])[0].threshold
    ranker.set_params(cost=0.1)
    after = ranker.operating_points(*LABELLED, coverages=[0.35])[0].threshold
    assert before == after


def test_an_equal_number_of_another_type_is_no_change():
    ranker = BALToR(Ridge(), coverage=np.float64(0.6), random_state=0).fit(*FIT)
    text = undated_report(ranker)
    ranker = pickle.loads(pickle.dumps(ranker)).set_params(coverage=0.6)
    assert undated_report(ranker) == text


def test_rules_that_differ_in_a_function_differ():
    def rule(cap):
        return Capped(lambda risk: min(risk, cap))

    ranker = SelectiveRanker(Ridge(), rule=rule(0.5), random_state=0).fit(*FIT)
    assert "at most 0.5" in str(ranker.report(*LABELLED))
    ranker.set_params(rule=rule(0.3))
    with pytest.raises(ValueError, match=r"got cap=.* after .*: the result"):
        ranker.report(*LABELLED)


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


def test_queries_and_distances_keep_to_what_was_fitted():
    ranker = QueryRiskRanker(Ridge(), coverage=0.4, random_state=0).fit(*FIT)
    risk, metric = ranker.query_risk(*DAY), ranker.query_metric(*LABELLED)
    ranker.set_params(metric="precision@1", gain="linear")
    np.testing.assert_array_equal(ranker.query_risk(*DAY), risk)
    np.testing.assert_array_equal(ranker.query_metric(*LABELLED), metric)
    near = DistanceAbstainer(Ridge(), gamma=0.3, norm=2, random_state=0).fit(*FIT)
    pairs = near.predict_pairs(*DAY)
    again = near.set_params(norm=1).predict_pairs(*DAY)
    np.testing.assert_array_equal(again.distance, pairs.distance)
    np.testing.assert_array_equal(again.accepted, pairs.accepted)
