"""Parameters that are set after ``fit`` promise nothing."""

import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from doubles import named
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
from skrank_abstain.selection import CertifiedRisk, Coverage, Price, Rule, RuleText
from skrank_abstain.tie_models import BradleyTerry

TRAIN = make_ranking(n_queries=120, random_state=0)
NEW = make_ranking(n_queries=20, random_state=1)
FIT = named(TRAIN.data, TRAIN.target, TRAIN.qid)
DAY = {"X": NEW.data, "qid": NEW.qid}
LABELLED = named(NEW.data, NEW.target, NEW.qid)


@dataclass(frozen=True)
class Capped(Rule):
    cap: Callable

    def select(self, calibration):
        return calibration.engine.below(self.cap(1.0))

    def in_words(self, calibration, threshold):
        return RuleText(f"at most {self.cap(1.0):g}", "Nothing.")


def undated_report(ranker, X=None):
    data = LABELLED if X is None else {"X": X}
    return re.sub("date: .*", "", str(ranker.report(**data)))


@pytest.mark.parametrize(
    ("ranker", "later", "got"),
    [
        (
            RiskControlledRanker(Ridge(), max_risk=0.45, random_state=0),
            {"max_risk": 0.01, "delta": 0.01},
            r"CertifiedRisk\(max_risk=0\.45, delta=0\.1.*not of .*max_risk=0\.01, del",
        ),
        (
            BALToR(Ridge(), coverage=0.6, random_state=0),
            {"coverage": 0.3},
            r"Coverage\(coverage=0\.6,.*not of Coverage\(coverage=0\.3,",
        ),
        (
            CostAbstainer(Ridge(), cost=0.4, random_state=0),
            {"cost": 0.1},
            r"Price\(cost=0\.4\).*not of Price\(cost=0\.1\)",
        ),
        (
            BALToR(Ridge(), coverage=0.6, random_state=0),
            {"coverage_guarantee": "hierarchical"},
            r"Coverage\(coverage=0\.6,.*not of GuaranteedCoverage\(coverage=0\.6,",
        ),
        (
            SelectiveRanker(Ridge(), rule=Price(0.4), random_state=0),
            {"rule": Coverage(0.3)},
            r"Price\(cost=0\.4\).*not of Coverage\(coverage=0\.3,",
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_the_rule_of_fit_is_described_with_a_warning(ranker, later, got):
    ranker.fit(**FIT)
    pairs, text = ranker.predict_pairs(**DAY), undated_report(ranker)
    reviewed = ranker.review(**DAY)
    ranker.set_params(**later)
    for each in (ranker, pickle.loads(pickle.dumps(ranker))):
        with pytest.warns(UserWarning, match=f"the threshold is that of {got}"):
            lines = undated_report(each).splitlines()
        [doubt] = [line for line in lines if "Parameters were set after fit" in line]
        lines.remove(doubt)
        doubt = "PARAMETERS WERE SET AFTER FIT. This page is about those of fit"
        lines.remove(f"- {doubt}")
        told = "\n".join(lines).replace(f"{doubt}.\n\n", "").splitlines()
        # What was promised of other parameters is not said to hold.
        assert told == text.replace(": as promised", "").splitlines()
        with pytest.warns(UserWarning, match=f"the threshold is that of {got}"):
            review = each.review(**DAY)
        accepted = reviewed.decisions.accepted
        np.testing.assert_array_equal(review.decisions.accepted, accepted)
        with pytest.warns(UserWarning, match=f"the threshold is that of {got}"):
            again = each.predict_pairs(**DAY)
        np.testing.assert_array_equal(again.accepted, pairs.accepted)


@pytest.mark.parametrize(
    "later", [{"loss": "zero_one"}, {"tie_model": "davidson"}, {"tie_model__ties": "x"}]
)
@pytest.mark.parametrize("saved", [False, True])
def test_a_loss_or_a_tie_model_that_comes_later_is_noticed(later, saved):
    ranker = BALToR(Ridge(), tie_model=BradleyTerry(), random_state=0).fit(**FIT)
    ranker = ranker.at_coverage(0.5)
    ranker.tie_model.fit(TRAIN.data[:, 0], TRAIN.target)  # changes no parameter
    ranker = pickle.loads(pickle.dumps(ranker)) if saved else ranker
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs = ranker.predict_pairs(**DAY)
    ranker.set_params(**later)
    said = r"Parameters were set after fit: .* BradleyTerry\(\) and the loss \[\[0"
    with pytest.warns(UserWarning, match=said):
        np.testing.assert_array_equal(ranker.predict_pairs(**DAY).risk, pairs.risk)


@pytest.mark.parametrize("later", [{"loss": "zero_one"}, {"tie_model": "davidson"}])
def test_so_is_another_name_of_them(later):
    ranker = BALToR(Ridge(), random_state=0).fit(**FIT).set_params(**later)
    with pytest.warns(UserWarning, match=r"that of GradedRelevance\(\) and the loss"):
        ranker.predict_pairs(**DAY)


def test_points_of_a_curve_have_the_boundary_of_fit():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0).fit(**FIT)
    other = BALToR(Ridge(), coverage=0.6, boundary="randomize", random_state=0)
    for each in (ranker, other.fit(**FIT)):
        before = each.operating_points(**LABELLED, coverages=[0.35])[0]
        each.set_params(boundary="randomize", coverage=0.2)
        with pytest.warns(UserWarning, match="Parameters were set after fit"):
            after = each.operating_points(**LABELLED, coverages=0.35)[0]
        assert after.threshold == before.threshold
        np.testing.assert_array_equal(after.totals.accepted, before.totals.accepted)
    # A price has no part in the curve.
    ranker = CostAbstainer(Ridge(), cost=0.4, random_state=0).fit(**FIT)
    before = ranker.operating_points(**LABELLED, coverages=[0.35])[0].threshold
    ranker.set_params(cost=0.1)
    with pytest.warns(UserWarning, match="Parameters were set after fit"):
        after = ranker.operating_points(**LABELLED, coverages=[0.35])[0].threshold
    assert before == after


def test_a_threshold_or_a_model_set_by_hand_is_noticed():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0).fit(**FIT)
    loaded = pickle.loads(pickle.dumps(ranker))
    loaded.estimator_ = Ridge(alpha=100).fit(NEW.data, NEW.target)
    with pytest.warns(UserWarning, match="was fitted or set after the calibration"):
        decisions = loaded.predict_pairs(**DAY)
    assert decisions.id_ == loaded.id_ == f"{ranker.id_}, model changed since"
    assert ranker.predict_pairs(**DAY).id_ == ranker.id_
    ranker.threshold_ = 0.05
    with pytest.raises(ValueError, match=r"threshold_ must not be set, got 0\.05"):
        ranker.predict_pairs(**DAY)


def test_a_column_of_queries_and_labels_stay_those_of_fit():
    X = np.column_stack([NEW.qid, NEW.data, NEW.qid])
    ranker = BALToR(Ridge(), qid_col=0, random_state=0)
    ranker.fit(np.column_stack([TRAIN.qid, TRAIN.data, TRAIN.qid]), TRAIN.target)
    expected = ranker.predict_pairs(X), ranker.predict(X), undated_report(ranker, X)
    ranker.set_params(qid_col=-1)
    np.testing.assert_array_equal(ranker.predict_pairs(X).risk, expected[0].risk)
    np.testing.assert_array_equal(ranker.predict(X), expected[1])
    assert undated_report(ranker, X) == expected[2]
    pairs = np.hstack([TRAIN.data[:200], TRAIN.data[200:400]])
    y = np.where(TRAIN.target[:200] > TRAIN.target[200:400], 2, 1)
    classifier = PairwiseRankerClassifier(
        Ridge(), labels={1: "right", 2: "left"}, random_state=0
    )
    totals = classifier.fit(pairs, y).evaluate(pairs, y)
    for labels in ((2, 1), None, "abc"):
        classifier.set_params(labels=labels)
        again = classifier.evaluate(pairs, y)
        np.testing.assert_array_equal(again.correct, totals.correct)


def test_an_equal_number_of_another_type_is_no_change():
    ranker = BALToR(Ridge(), coverage=np.float64(0.6), random_state=0).fit(**FIT)
    text = undated_report(ranker)
    ranker = pickle.loads(pickle.dumps(ranker)).set_params(coverage=0.6)
    assert undated_report(ranker) == text


def test_rules_that_differ_in_a_function_differ():
    def rule(cap):
        return Capped(lambda risk: min(risk, cap))

    ranker = SelectiveRanker(Ridge(), rule=rule(0.5), random_state=0).fit(**FIT)
    assert "at most 0.5" in str(ranker.report(**LABELLED))
    ranker.set_params(rule=rule(0.3))
    with pytest.warns(UserWarning, match=r"is that of Capped\(cap=.*not of Capped"):
        assert "at most 0.5" in str(ranker.report(**LABELLED))


def test_no_promise_is_made_of_pairs_that_fitted_the_tie_model():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0).fit(**FIT)
    ranker.set_params(coverage_guarantee="hierarchical")
    with pytest.raises(ValueError, match="must be GuaranteedCoverage in fit already"):
        ranker.at_coverage(0.5)
    assert (
        BALToR(Ridge(), coverage_guarantee="hierarchical", random_state=0)
        .fit(**FIT)
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
    ranker = QueryRiskRanker(Ridge(), coverage=0.5, random_state=0).fit(**FIT)
    assert not ranker.set_params(coverage=None, max_risk=0.01).certified_


def test_queries_and_distances_keep_to_what_was_fitted():
    ranker = QueryRiskRanker(Ridge(), coverage=0.4, random_state=0).fit(**FIT)
    X, y, qid = LABELLED["X"], LABELLED["y"], LABELLED["qid"]
    before = ranker.evaluate(X, y, qid=qid)
    ranker.set_params(metric="precision@1", gain="linear")
    after = ranker.evaluate(X, y, qid=qid)
    np.testing.assert_array_equal(after.risk, before.risk)
    np.testing.assert_array_equal(after.metric, before.metric)
    near = DistanceAbstainer(Ridge(), gamma=0.3, norm=2, random_state=0).fit(**FIT)
    pairs = near.predict_pairs(**DAY)
    again = near.set_params(norm=1).predict_pairs(**DAY)
    np.testing.assert_array_equal(again.distance, pairs.distance)
    np.testing.assert_array_equal(again.accepted, pairs.accepted)
