"""at_coverage, at_cost and at_risk: another rule on the kept calibration."""

from dataclasses import dataclass

import numpy as np
import pytest
from doubles import named
from sklearn.linear_model import Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.selection import (
    CertifiedRisk,
    Coverage,
    GuaranteedCoverage,
    Price,
    Rule,
    RuleText,
)

TRAIN = make_ranking(n_queries=120, random_state=0)
NEW = make_ranking(n_queries=20, random_state=1)
FIT = named(TRAIN.data, TRAIN.target, TRAIN.qid)
METHODS = ("at_coverage", "at_cost", "at_risk")


@pytest.mark.parametrize(
    ("start", "method", "value", "expected"),
    [
        (Coverage(0.8), "at_coverage", 0.4, Coverage(0.4)),
        (Coverage(0.8, boundary="randomize"), "at_coverage", 0.4,
         Coverage(0.4, boundary="randomize")),
        (Coverage(0.8), "at_cost", 0.3, Price(0.3)),
        (Price(0.1), "at_cost", 0.3, Price(0.3)),
        (Price(0.1), "at_coverage", 0.3, Coverage(0.3)),
        (CertifiedRisk(0.4, delta=0.2), "at_risk", 0.3, CertifiedRisk(0.3, delta=0.2)),
        (GuaranteedCoverage(0.8), "at_coverage", 0.5, GuaranteedCoverage(0.5)),
        (GuaranteedCoverage(0.8), "at_risk", 0.4, CertifiedRisk(0.4)),
    ],
)  # fmt: skip
def test_a_rule_is_moved_as_a_fit_would(start, method, value, expected):
    ranker = SelectiveRanker(Ridge(), rule=start, random_state=0).fit(**FIT)
    moved = getattr(ranker, method)(value)
    assert moved.rule == expected
    assert ranker.rule == start
    fitted = SelectiveRanker(Ridge(), rule=expected, random_state=0).fit(**FIT)
    assert moved.threshold_ == fitted.threshold_
    found, wanted = (r.predict_pairs(NEW.data, qid=NEW.qid) for r in (moved, fitted))
    np.testing.assert_array_equal(found.accepted, wanted.accepted)
    moved.report(NEW.data, qid=NEW.qid)  # without a warning: they agree


def test_a_bound_needs_queries_that_did_not_tune():
    ranker = SelectiveRanker(Ridge(), rule=Coverage(0.8), random_state=0).fit(**FIT)
    with pytest.raises(ValueError, match="rule must be CertifiedRisk in fit already"):
        ranker.at_risk(0.3)


def test_which_estimators_have_which():
    offered = {
        BALToR(Ridge()): {"at_coverage"},
        CostAbstainer(Ridge()): {"at_cost"},
        RiskControlledRanker(Ridge()): {"at_risk"},
        SelectiveRanker(Ridge(), rule=Price(0.3)): set(METHODS),
        PairwiseRankerClassifier(Ridge()): set(METHODS),
    }
    for estimator, expected in offered.items():
        assert {name for name in METHODS if hasattr(estimator, name)} == expected


@dataclass(frozen=True)
class Computed(Rule):
    """Has a coverage that is no parameter."""

    @property
    def coverage(self):
        return 0.5

    def select(self, calibration):
        return calibration.at_coverage(self.coverage)

    def in_words(self, calibration, threshold):
        return RuleText("half", "Nothing.")


def test_a_rule_that_computes_its_coverage_is_replaced():
    ranker = SelectiveRanker(Ridge(), rule=Computed(), random_state=0).fit(**FIT)
    assert ranker.at_coverage(0.3).rule == Coverage(0.3)
