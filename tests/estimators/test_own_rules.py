"""Rules of one's own: what they return is checked, and the rule is named."""

from dataclasses import dataclass

import numpy as np
import pytest
from doubles import FirstColumn, named
from scored import at_coverage

from skrank_abstain import SelectiveRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.selection import Coverage, Rule, RuleText

DATA = make_ranking(n_queries=30, random_state=0)
INPUT = named(DATA.data, DATA.target, DATA.qid)


@dataclass(frozen=True)
class Own(Rule):
    """Select and say what a test gives."""

    region: object = None
    text: object = RuleText("done", "promised")
    tuning_size: object = 0.0

    def select(self, calibration):
        return self.region(calibration) if callable(self.region) else self.region

    def in_words(self, calibration, threshold):
        return self.text


def fit(rule, tie_model="bradley_terry"):
    model = FirstColumn().fit(None, None)
    ranker = SelectiveRanker(model, rule=rule, tie_model=tie_model, random_state=0)
    return ranker.fit(**INPUT)


def half(calibration):
    return calibration.at_coverage(0.5)


@pytest.mark.parametrize("region", [None, 0.3, np.float64(0.3), np.ones(3, bool)])
def test_what_is_no_region_is_refused(region):
    with pytest.raises(TypeError, match=r"Own\.select must return a region.*got"):
        fit(Own(region))


def test_a_threshold_of_nan_is_refused():
    with pytest.raises(ValueError, match=r"Own\.select must return .* got NaN"):
        fit(Own(lambda calibration: calibration.engine.below(np.nan)))


@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
@pytest.mark.parametrize(
    ("coverage", "options", "message"),
    [
        (0.0, {}, r"coverage must be in \(0, 1\]"),
        (60, {}, r"coverage must be in \(0, 1\]"),
        (np.nan, {}, r"coverage must be in \(0, 1\]"),
        (0.5, {"boundary": "randomise"}, "boundary must be one of"),
        (0.5, {"quantile": "higher"}, "quantile must be one of"),
        (0.5, {"boundary": "randomize", "quantile": "linear"}, "must go with"),
    ],
)
def test_a_quantile_that_cannot_be_is_refused(tie_model, coverage, options, message):
    def select(calibration):
        engine, items = calibration.engine, calibration.items
        return at_coverage(engine, items, coverage, **options)

    with pytest.raises(ValueError, match=message):
        fit(Own(select), tie_model)


@pytest.mark.parametrize("size", [-0.1, 1.5, 2])
def test_a_share_that_is_none_is_refused(size):
    with pytest.raises(ValueError, match=r"Own\.tuning_size must be in \[0, 1\)"):
        fit(Own(half, tuning_size=size))
    with pytest.raises(TypeError, match=r"Own\.tuning_size must be a real number"):
        fit(Own(half, tuning_size=None))


@pytest.mark.parametrize("text", [None, "ab", "some words", ("done", "promised")])
def test_a_report_needs_the_words_of_a_rule(text):
    ranker = fit(Own(half, text))
    with pytest.raises(TypeError, match=r"Own\.in_words must return a RuleText, got"):
        ranker.report(**INPUT)


@pytest.mark.parametrize("rule", [None, Coverage, "coverage", 0.8])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(TypeError, match=r"such as Coverage\(0\.8\), got"):
        fit(rule)


def test_a_rule_is_a_dataclass():
    class Plain(Rule):
        def select(self, calibration):
            return half(calibration)

        def in_words(self, calibration, threshold):
            return RuleText("done", "promised")

    with pytest.raises(TypeError, match=r"@dataclass.* before the class Plain"):
        fit(Plain())


def test_coverages_move_a_rule_that_has_one():
    @dataclass(frozen=True)
    class Twice(Own):
        coverage: float = 0.5

        def select(self, calibration):
            share = self.coverage**2
            return calibration.at_coverage(share)

    @dataclass(frozen=True)
    class Computed(Own):
        @property
        def coverage(self):
            return 0.5

    moved, computed = fit(Twice()), fit(Computed(half))
    (point,) = moved.operating_points(**INPUT, coverages=[0.8])
    assert point.threshold == fit(Twice(coverage=0.8)).threshold_
    (point,) = computed.operating_points(**INPUT, coverages=[0.8])
    assert point.threshold == fit(Coverage(0.8)).threshold_
