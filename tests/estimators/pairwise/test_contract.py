"""What the classifier of pairs shares with the rankers of items."""

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.linear_model import LogisticRegression, Ridge

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain._validation import check_loss
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_auc_scorer,
    selective_utility,
)
from skrank_abstain.selection import CertifiedRisk, Coverage, GuaranteedCoverage, Price

SCORER = FirstColumn().fit(None, None)


def losses(loss, label, truth):
    return check_loss(loss)[label + 1, truth + 1]


@pytest.mark.parametrize(
    "loss", ["zero_one", "misranking", [[0, 2, 5], [1, 0, 1], [5, 2, 0]]]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_is_in_the_classifiers_own_loss(three, items, loss, weighted):
    X, y = three
    ranker = Ridge().fit(items.data, items.target)
    model = PairwiseRankerClassifier(ranker, loss=loss).fit(X, y)
    weight = np.random.default_rng(0).integers(0, 3, y.size) if weighted else None
    accepted = ~model.abstain(X)
    lost = losses(loss, model.predict(X), y)[accepted]
    mean = np.average(lost, weights=None if weight is None else weight[accepted])
    assert model.score(X, y, sample_weight=weight) == pytest.approx(1 - mean, abs=1e-12)


def test_scorers_read_the_profile(three, items):
    X, y = three
    ranker = Ridge().fit(items.data, items.target)
    model = PairwiseRankerClassifier(ranker, loss="misranking").fit(X, y)
    lost, risk = losses("misranking", model.predict(X), y), model.conditional_risk(X)
    profile = model.risk_profile(X, y)
    for level, covered, mean in zip(
        profile.risk, profile.coverage, profile.selective_risk, strict=True
    ):
        below = risk <= level + 1e-9
        assert covered == pytest.approx(below.mean(), abs=1e-12)
        assert mean == pytest.approx(lost[below].mean(), abs=1e-12)
    at = np.argmin(abs(profile.coverage - 0.5))
    half = accuracy_at_coverage(profile.coverage[at])(model, X, y)
    right = (model.predict(X) == y)[risk <= profile.risk[at] + 1e-9]
    assert half == pytest.approx(right.mean(), abs=1e-12)
    assert neg_aurc_scorer(model, X, y) < 0
    assert coverage_at_risk(1.0)(model, X, y) == 1
    assert 0.5 < selective_auc_scorer(model, X, y) <= 1
    assert 0 < selective_utility(0.3)(model, X, y) < 1


def test_fit_warns_of_ties_and_of_excess(three):
    X, y = three
    scores = np.random.default_rng(0).normal(0, 1e-3, (300, 2))
    ties = np.where(np.arange(300) < 290, 0, np.where(scores[:, 0] > 0, 1, -1))
    with pytest.warns(UserWarning, match="Nearly all accepted pairs are ties"):
        PairwiseRankerClassifier(SCORER).fit(scores, ties)
    few = np.round(X[:, [0, X.shape[1] // 2]] > 0)
    with pytest.warns(UserWarning, match="of the calibration pairs are accepted where"):
        PairwiseRankerClassifier(SCORER, coverage=0.2).fit(few, y)


def test_it_says_what_it_did(two, capsys):
    PairwiseRankerClassifier(Ridge(), verbose=1, random_state=0).fit(*two)
    said = capsys.readouterr().out
    assert said.startswith(
        "[PairwiseRankerClassifier] calibrated on 150 pairs of 150 q"
    )
    PairwiseRankerClassifier(Ridge(), random_state=0).fit(*two)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("unknown", ["group", "sample_weight"])
def test_unknown_arguments_of_fit_are_refused(two, unknown):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
        PairwiseRankerClassifier(Ridge()).fit(*two, **{unknown: [1, 1]})


# --- another threshold --------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "method", "value", "expected"),
    [
        ({}, "at_coverage", 0.4, {"coverage": 0.4}),
        ({"coverage": 0.5}, "at_cost", 0.3, {"coverage": 0.5, "rule": Price(0.3)}),
        ({"rule": Price(0.1)}, "at_cost", 0.3, {"rule": Price(0.3)}),
        ({"rule": Price(0.1)}, "at_coverage", 0.4, {"coverage": 0.4}),
        (
            {"rule": Coverage(0.9, boundary="randomize")},
            "at_coverage",
            0.4,
            {"rule": Coverage(0.4, boundary="randomize")},
        ),
    ],
)
def test_another_threshold_is_what_fit_would_have_given(
    three, start, method, value, expected
):
    X, y = three
    model = PairwiseRankerClassifier(Ridge(), random_state=0, **start).fit(X, y)
    moved = getattr(model, method)(value)
    wanted = PairwiseRankerClassifier(Ridge(), random_state=0, **expected)
    assert repr(moved) == repr(wanted)
    np.testing.assert_array_equal(moved.abstain(X), wanted.fit(X, y).abstain(X))


def test_a_guarantee_can_become_a_certificate(three):
    X, y = three
    model = PairwiseRankerClassifier(
        LogisticRegression(), rule=GuaranteedCoverage(0.8), random_state=0
    ).fit(X, y)
    assert model.at_risk(0.4).rule == CertifiedRisk(0.4)


# --- groups --------------------------------------------------------------------------


def test_a_bound_is_certified_in_every_group():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 2, (4000, 2))
    site = np.repeat(["good", "poor"], [3000, 1000])
    noise = np.where(site == "good", 0.3, 1.2)
    y = np.where(X[:, 0] - X[:, 1] + noise * rng.logistic(size=4000) > 0, 1, -1)
    qid = np.arange(4000) // 4
    rule = CertifiedRisk(0.2, tuning_size=0.3)
    model = PairwiseRankerClassifier(SCORER, rule=rule, random_state=0)
    pooled = model.fit(X, y, qid=qid).coverage_
    for given in (qid, None):
        model.fit(X, y, qid=given, groups=site)
        counts = model._calibration.group_counts()
        wanted = (525, 175) if given is not None else (2100, 700)
        assert tuple(counts.values()) == wanted
        assert list(counts) == ["good", "poor"]
        assert 0 < model.coverage_ < pooled
        poor = site == "poor"
        assert model.score(X[poor], y[poor]) > 0.78
        # The groups were those of the queries that certified.
        items = model._calibration.items
        assert items.n_queries == sum(wanted)
    assert "- groups: good (" in model.report(X + 1, y)
    trained = PairwiseRankerClassifier(
        Ridge(), rule=CertifiedRisk(0.3), calibration_size=0.5, random_state=0
    ).fit(X, y, qid=qid, groups=site)
    assert trained._calibration.group_counts() == {"good": 319, "poor": 107}


def test_groups_without_a_certificate_are_refused(two):
    X, y = two
    with pytest.raises(ValueError, match=r"groups must come with rule=CertifiedRisk"):
        PairwiseRankerClassifier(Ridge()).fit(X, y, groups=y)
    with pytest.raises(
        ValueError, match="groups must be the same for all items of a q"
    ):
        PairwiseRankerClassifier(Ridge(), rule=CertifiedRisk(0.2)).fit(
            X, y, qid=np.arange(y.size) // 2, groups=np.arange(y.size)
        )
