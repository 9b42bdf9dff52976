"""Rules are values: what they refuse, what they select, what they say."""

import dataclasses

import numpy as np
import pytest
import reference
from hypothesis import given
from scored import at_coverage, mass_of, scored, totals_of
from selection.engines import ZERO_ONE, decide_all, pairs_with
from strategies import COVERAGES, FixedModel, items, losses, models

from skrank_abstain.concentration import hierarchical_quantile
from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import (
    Calibration,
    CertifiedRisk,
    Coverage,
    GuaranteedCoverage,
    Price,
    Rule,
    RuleText,
    at_thresholds,
    fit_calibration,
    risk_engine,
)
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, TieModel

OF_LOSS = CertifiedRisk(0.4, bound="loss")
RULES = [Coverage(0.7), GuaranteedCoverage(0.7), Price(0.2), OF_LOSS]
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


def labelled(n_queries, seed=0, size=8):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n_queries * size)
    y = np.digitize(s + 0.5 * rng.logistic(size=s.size), [-1.0, 1.0]).astype(float)
    qid = np.repeat(np.arange(n_queries), size)
    return Scores(s, group_queries(qid, s.size), y=y)


@pytest.fixture(scope="module", params=[BradleyTerry(), GradedRelevance()], ids=repr)
def calibration(request):
    found = fit_calibration(
        request.param, ZERO_ONE, labelled(90), labelled(40, seed=1), seed=3
    )
    assert found.model is request.param
    return found


def test_draws_are_the_same_unless_another_seed_is_given():
    assert fit_calibration(BradleyTerry(), ZERO_ONE, labelled(5)).seed == 0


@each_rule
def test_a_rule_is_a_value(rule):
    assert isinstance(rule, Rule)
    same = dataclasses.replace(rule)
    assert rule == same
    assert hash(rule) == hash(same)
    first = dataclasses.fields(rule)[0].name
    assert dataclasses.replace(rule, **{first: 0.55}) != rule
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(rule, first, 0.5)


def test_shares_of_the_queries_for_the_tie_model_alone():
    assert [rule.tuning_size for rule in RULES] == [0.0, 0.15, 0.0, 0.15]
    assert CertifiedRisk(0.5, tuning_size=0.4).tuning_size == 0.4


@each_rule
def test_a_rule_selects_the_pairs_below_its_threshold_and_says_so(rule, calibration):
    region = rule.select(calibration)
    items_ = calibration.items
    mass = mass_of(calibration.engine, region, items_)
    assert 0 < mass < items_.n_pairs
    assert 0 < region.risk < calibration.engine.highest
    text = rule.in_words(calibration, region.risk)
    assert isinstance(text, RuleText)
    assert text.done
    assert text.promised
    # Selecting again changes nothing.
    again = rule.select(calibration)
    assert again.risk == region.risk
    assert mass_of(calibration.engine, again, items_) == mass


def test_the_price_is_the_threshold(calibration):
    assert Price(0.2).select(calibration).risk == 0.2
    none = Price(0.0).select(calibration)
    assert mass_of(calibration.engine, none, calibration.items) == 0


def test_a_coverage_is_that_of_the_engine(calibration):
    rule = Coverage(0.7, boundary="randomize")
    region = rule.select(calibration)
    mass = mass_of(calibration.engine, region, calibration.items)
    assert mass == pytest.approx(0.7 * calibration.items.n_pairs, rel=1e-12)
    assert region.seed == calibration.seed == 3
    linear = Coverage(0.7, quantile="linear").select(calibration)
    expected = at_coverage(
        calibration.engine, calibration.items, 0.7, quantile="linear"
    )
    assert linear.risk == expected.risk


@given(items(), models(), losses(), COVERAGES)
def test_any_pairs_of_a_model_of_the_gap(data, model, loss, coverage):
    queries = group_queries(data.qid, data.scores.size)
    if queries.n_pairs == 0:
        return
    items = scored(data.scores, queries, data.y.astype(float))
    found = Coverage(coverage).select(Calibration(model, items, loss))
    pairs = reference.pairs(list(data.qid))
    left, right = (data.scores[list(rows)] for rows in zip(*pairs, strict=True))
    every = decide_all(model, loss, left, right).risk
    expected = reference.order_statistic(every.tolist(), coverage)
    assert found.risk == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_a_guaranteed_coverage_is_the_hierarchical_quantile(calibration):
    engine, items = calibration.engine, calibration.items

    def shares(thresholds):
        accepted, _ = at_thresholds(engine, items, thresholds)
        return accepted / items.pair_counts[:, None]

    expected = hierarchical_quantile(shares, 0.7, highest=engine.highest)
    region = GuaranteedCoverage(0.7).select(calibration)
    assert region.risk == expected
    # Each query counts alike, and one that is worse than all counts too.
    n = items.n_queries
    assert shares(np.array([region.risk])).sum() / (n + 1) >= 0.7 - 1e-12
    assert GuaranteedCoverage(1.0).select(calibration).risk == engine.highest


def test_too_few_queries_accept_everything_with_a_warning():
    few = fit_calibration(BradleyTerry(), ZERO_ONE, labelled(5), labelled(5, 1))
    with pytest.warns(UserWarning, match=r"at least 9 queries, got 5\."):
        region = GuaranteedCoverage(0.9).select(few)
    assert region.risk == few.engine.highest
    assert mass_of(few.engine, region, few.items) == few.items.n_pairs


def test_a_certified_risk_accepts_nothing_where_nothing_is_certified():
    few = fit_calibration(BradleyTerry(), ZERO_ONE, labelled(5), labelled(5, 1))
    with pytest.warns(UserWarning, match="No threshold could be certified"):
        region = CertifiedRisk(0.05).select(few)
    assert region.risk == -np.inf
    assert mass_of(few.engine, region, few.items) == 0
    text = CertifiedRisk(0.05).in_words(few, -np.inf)
    assert text.promised.startswith("NOT CERTIFIED")


def test_a_certified_loss_is_named_and_says_what_a_coin_has(calibration):
    def promised(rule):
        return rule.in_words(calibration, 0.3).promised

    every = calibration.engine.below(calibration.engine.highest)
    totals = totals_of(calibration.engine, every, calibration.items)
    coin = (totals.coin_loss / totals.pairs).mean()
    for max_risk in (coin - 1e-6, coin + 1e-6):
        text = promised(CertifiedRisk(max_risk, bound="loss"))
        assert "(loss zero_one)" in text
        assert f"a coin that orders every certification pair has {coin:.4f}" in text
        assert ("A COIN KEEPS THIS BOUND" in text) == (max_risk > coin)
    assert "A COIN" not in promised(CertifiedRisk(0.4))
    assert "A COIN KEEPS THIS BOUND" in promised(CertifiedRisk(0.5))


def test_a_certified_risk_holds_on_the_certification_queries(calibration):
    rule = OF_LOSS
    region = rule.select(calibration)
    totals = totals_of(calibration.engine, region, calibration.items)
    wrong = totals.accepted - totals.correct
    assert wrong.sum() / totals.accepted.sum() < 0.4
    assert rule.in_words(calibration, region.risk).promised.startswith("CERTIFIED")


def test_a_certificate_says_how_many_queries_fitted_the_tie_model(calibration):
    said = CertifiedRisk(0.4).in_words(calibration, 0.3).promised
    assert "; 40 others fitted the tie model" in said
    alone = dataclasses.replace(calibration, tuning=None)
    said = CertifiedRisk(0.4).in_words(alone, 0.3).promised
    assert "; 0 others fitted the tie model" in said


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Coverage(0.0), ValueError, "coverage must be"),
        (lambda: Coverage(1.01), ValueError, "coverage must be"),
        (lambda: Coverage("much"), TypeError, "coverage must be"),
        (lambda: Coverage(0.5, boundary="toss"), ValueError, "boundary must be one"),
        (lambda: Coverage(0.5, quantile="mid"), ValueError, "quantile must be one"),
        (
            lambda: Coverage(0.5, boundary="randomize", quantile="linear"),
            ValueError,
            "boundary='randomize' must go with quantile='inverted_cdf'",
        ),
        (lambda: GuaranteedCoverage(0), ValueError, "coverage must be"),
        (lambda: GuaranteedCoverage(2.0), ValueError, "coverage must be"),
        (lambda: Price(-0.1), ValueError, r"cost must be in \[0, inf\)"),
        (lambda: Price(np.inf), ValueError, r"cost must be in \[0, inf\)"),
        (lambda: Price(np.nan), ValueError, r"cost must be in \[0, inf\)"),
        (lambda: Price(True), TypeError, "cost must be a real number"),
        (lambda: Price("dear"), TypeError, "cost must be a real number"),
        (lambda: CertifiedRisk(True), TypeError, "max_risk must be a real number"),
        (lambda: CertifiedRisk(0.1, delta=1.0), ValueError, "delta must be"),
        (lambda: CertifiedRisk(0.1, tuning_size=0), ValueError, "tuning_size must be"),
    ],
)
def test_parameters_are_refused_when_a_rule_is_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("max_risk", [0.0, -1.0, 1.0, 2.5, np.nan])
def test_a_bound_beyond_the_largest_loss_is_refused(max_risk):
    with pytest.raises(ValueError, match="between 0 and 1, the largest loss"):
        CertifiedRisk(max_risk, bound="loss").check(ZERO_ONE)
    CertifiedRisk(1.0, bound="loss").check(2 * ZERO_ONE)


def test_pairs_given_one_by_one_are_pairs_too():
    gaps = pairs_with(np.array([0.0, 0.5, 1.0, 2.0]))
    model = FixedModel("rao_kupper", 1.5)
    calibration = Calibration(model, gaps, ZERO_ONE)
    region = Coverage(0.5).select(calibration)
    assert mass_of(calibration.engine, region, gaps) == 2
    assert region.outer == 1.0


def test_a_model_that_says_not_how_its_pairs_are_counted_is_refused():
    class Other(TieModel):
        def fit_items(self, items):
            return self

        def _proba(self, left, right):
            return np.full((left.size, 3), 1 / 3)

    with pytest.raises(TypeError, match="DifferenceModel or a BinModel"):
        risk_engine(Other(), ZERO_ONE, pairs_with(np.ones(1)))
