"""The discordance that is certified: definition, words, and worlds that break it."""

import importlib
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.risk_controlled.certifying import certified_by_hand, fit
from sklearn.covariance import EllipticEnvelope

from skrank_abstain import (
    BALToR,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
    partitions,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.pairs import pair_labels
from skrank_abstain.selection import CertifiedRisk, margins

SILENT = "ignore:No threshold could be certified"


def by_definition(decisions, y):
    """Return D, d and w of each query, pair by pair: d is accepted, w wrong too."""
    truth = pair_labels(y, decisions.left, decisions.right)
    wrong = np.where(decisions.label == 0, 0.5, decisions.label != truth)
    differs, accepted = truth != 0, decisions.accepted
    queries = np.unique(decisions.qid)
    return np.array(
        [
            [
                (differs & (decisions.qid == query)).sum(),
                (differs & accepted & (decisions.qid == query)).sum(),
                (wrong * differs * accepted)[decisions.qid == query].sum(),
            ]
            for query in queries
        ]
    ).T


def test_margins_by_hand():
    proba = np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    found = margins(proba, np.array([1, -1, 0]), 0.4)
    np.testing.assert_allclose(found, np.array([0.2, 0.5, 0.35]) - 0.4 * 0.7)


@pytest.mark.parametrize("loss", ["misranking", "zero_one"])
@pytest.mark.parametrize(
    "tie_model", ["graded_relevance", "bradley_terry", "isotonic_difference"]
)
def test_pairs_are_accepted_by_the_margin(tie_model, loss, model, data):
    X, y, qid = data
    options = {"tie_model": tie_model, "loss": loss, "random_state": 0}
    ranker = fit(RiskControlledRanker(model, max_risk=0.06, **options), data)
    assert ranker.certified_
    assert 0 < ranker.coverage_ < 1
    decisions = ranker.predict_pairs(X, qid=qid)
    margin = margins(decisions.proba, decisions.label, 0.06)
    on_it = np.isclose(margin, ranker.threshold_, atol=1e-9)
    assert (decisions.accepted == (margin <= ranker.threshold_))[~on_it].all()
    # Labels and risks are those of the loss, whatever is certified.
    plain = fit(BALToR(model, **options), data).predict_pairs(X, qid=qid)
    assert (decisions.label == plain.label).mean() > 0.9
    # Counts agree with decisions.
    totals = ranker.evaluate(X, y, qid=qid)
    differ, accepted, wrong = by_definition(decisions, y).sum(axis=1)
    assert (totals.pairs - totals.tied).sum() == differ
    assert totals.unlike.sum() == accepted
    assert totals.discordant.sum() == wrong
    assert totals.discordance == wrong / accepted
    assert totals.discordance == pytest.approx(1 - totals.concordance)


@pytest.mark.parametrize("tie_model", ["graded_relevance", "bradley_terry"])
@pytest.mark.parametrize("weighting", ["queries", "pairs"])
def test_the_certificate_is_that_of_a_slow_recomputation(
    weighting, tie_model, model, data, spied
):
    options = {"weighting": weighting, "tie_model": tie_model, "delta": 0.2}
    options["largest_query"] = 14 if weighting == "pairs" else None
    ranker = RiskControlledRanker(model, max_risk=0.25, random_state=3, **options)
    fit(ranker, data)
    (share, wrong, start), _ = spied["certified"][0]
    thresholds, tuned, rest = ranker._calibration.loss_tables(
        0.25, 14 * 13 / 2 if weighting == "pairs" else None
    )
    best = certified_by_hand(share, wrong, start, 0.25, 0.2)
    assert ranker.threshold_ == thresholds[best]
    assert start == np.argmax((0.25 * tuned[0] - tuned[1]).mean(axis=0))
    # The column of the threshold, from the decisions about each pair.
    X, y, qid = data
    rows = np.isin(X[:, 1], spied["rest"][0].X[:, 1])
    decisions = ranker.predict_pairs(X[rows], qid=qid[rows])
    differ, accepted, lost = by_definition(decisions, y[rows])
    whole = 14 * 13 / 2 if weighting == "pairs" else np.maximum(differ, 1)
    found = np.sort(rest[0][:, best]), np.sort(rest[1][:, best])
    np.testing.assert_allclose(found[0], np.sort(accepted / whole))
    np.testing.assert_allclose(found[1], np.sort(lost / whole))


def test_totals_have_an_interval_of_the_discordance(model, data):
    X, y, qid = data
    ranker = fit(BALToR(model, coverage=0.6, random_state=0), data)
    totals = ranker.evaluate(X, y, qid=qid)
    differ, accepted, wrong = by_definition(ranker.predict_pairs(X, qid=qid), y)
    some = differ > 0
    for weighting, whole in (("pairs", 1.0), ("queries", differ[some])):
        found = totals.discordance_interval(weighting, confidence=0.9)
        both = wrong[some] / whole, accepted[some] / whole
        assert found[0] == pytest.approx(both[0].sum() / both[1].sum())
        assert found[1:] == pytest.approx(ratio_interval(*both, confidence=0.9))
    assert totals.discordance == totals.discordance_interval()[0]
    with pytest.raises(ValueError, match="weighting must be one of"):
        totals.discordance_interval("items")


def test_a_bound_on_the_loss_that_a_coin_keeps_warns(model, data):
    _, y, qid = data
    truth = [
        np.mean(
            np.abs(np.sign(np.subtract.outer(own, own)))[np.triu_indices(own.size, 1)]
        )
        for own in (y[qid == query] for query in np.unique(qid))
        if own.size > 1
    ]
    coin = np.mean(truth) / 2
    loss = {"bound": "loss", "random_state": 0}
    with pytest.warns(UserWarning, match="a coin that orders every .* risk of 0.2"):
        fit(RiskControlledRanker(model, max_risk=coin + 0.03, **loss), data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(RiskControlledRanker(model, max_risk=coin - 0.03, **loss), data)
    with pytest.warns(UserWarning, match=r"discordance of 0\.5\. Pass a lower"):
        fit(RiskControlledRanker(model, max_risk=0.5, random_state=0), data)


def test_queries_of_ties_alone_do_not_count_as_evidence():
    # Every third of 180 queries has pairs that differ, and all are in the right order.
    qid = np.repeat(np.arange(180), 5)
    y = np.tile(np.arange(5.0), 180) * (qid % 3 == 0)
    X = y[:, None] + np.random.default_rng(0).uniform(0, 0.1, (qid.size, 1))
    model = FirstColumn().fit(X, y)
    ranker = RiskControlledRanker(model, max_risk=0.02, random_state=0)
    with pytest.warns(UserWarning, match="No threshold could be certified") as seen:
        ranker.fit(X, y, qid=qid)
    totals = ranker.evaluate(X, y, qid=qid)
    assert np.count_nonzero(totals.pairs > totals.tied) == 60
    (text,) = (str(each.message) for each in seen)
    counts = re.search(
        r"on (\d+) queries with pairs that differ, of (\d+) queries", text
    )
    differ, every = map(int, counts.groups())
    assert every == ranker.n_queries_
    assert every / 4 < differ < every / 2
    # (1 - .02)**114 <= .1: all queries would do, those with evidence do not.
    assert differ < 114 < every
    assert "Even without a single error this takes 114 certification queries" in text


def test_a_turned_delta_warns_in_the_report_too(model, data):
    ranker = RiskControlledRanker(model, delta=0.6, random_state=0)
    with pytest.warns(UserWarning, match=r"delta=0\.6 promises something"):
        fit(ranker, data)
    assert "\n- delta=0.6 promises something" in ranker.report(np.zeros((3, 3)))


def test_what_a_report_promises(model, data):
    page = fit(RiskControlledRanker(model, random_state=0), data).report(
        np.zeros((3, 3))
    )
    assert "certified: discordance at most 0.3, each query counting alike" in page
    assert (
        "Of the decided pairs that differ, at most 30 % are in the wrong order" in page
    )
    assert "at most 10 % end in a promise that fails" in page


@pytest.mark.parametrize("bound", ["risk", "pairs"])
def test_bounds_are_named(bound):
    with pytest.raises(ValueError, match="bound must be one of"):
        CertifiedRisk(0.3, bound=bound)


@pytest.mark.parametrize("max_risk", [0, 1, 1.5])
def test_a_discordance_is_between_0_and_1(max_risk, model, data):
    with pytest.raises(ValueError, match="max_risk must be between 0 and 1"):
        fit(RiskControlledRanker(model, max_risk=max_risk), data)


def test_the_rule_does_the_same_in_every_estimator(model, data, groups):
    X, y, qid = data
    shell = fit(RiskControlledRanker(model, max_risk=0.25, random_state=0), data)
    rule = fit(
        SelectiveRanker(model, rule=CertifiedRisk(0.3), random_state=0), data
    ).at_risk(0.25)
    assert shell.threshold_ == rule.threshold_
    assert shell.at_risk(0.3).threshold_ == rule.at_risk(0.3).threshold_
    parts = [(X[qid % 2 == k], y[qid % 2 == k], qid[qid % 2 == k]) for k in (0, 1)]
    one = partitions.calibrate(RiskControlledRanker(model, random_state=0), parts)
    order = np.argsort(qid % 2, kind="stable")
    joined = tuple(each[order] for each in data)
    other = fit(RiskControlledRanker(model, random_state=0), joined)
    assert one.threshold_ == other.threshold_
    both = fit(RiskControlledRanker(model, random_state=0), data, groups=groups)
    assert both.certified_
    assert set(both.n_group_queries_) == {"north", "south"}


def test_comparisons_are_certified():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 600))
    label = np.sign(np.round(left - right + 1.2 * rng.normal(size=600)))
    X = np.column_stack([left, right])
    judge = PairwiseRankerClassifier(
        FirstColumn().fit(None, None), rule=CertifiedRisk(0.2), random_state=0
    ).fit(X, label)
    accepted = ~judge.abstain(X)
    proba = judge.pair_proba(X)
    found = margins(proba, judge.predict(X), 0.2) <= judge.threshold_
    np.testing.assert_array_equal(found, accepted)
    assert 0 < accepted.mean() < 1


@pytest.mark.filterwarnings("ignore:.*calibration items")
def test_pairs_of_novel_items_are_left_out(model, data):
    X, y, qid = data
    detector = EllipticEnvelope(support_fraction=1.0)
    ranker = fit(
        RiskControlledRanker(model, max_risk=0.45, novelty=detector, random_state=0),
        (X[:, [0, 2]], y, qid),
    )
    decisions = ranker.predict_pairs(X[:, [0, 2]], qid=qid)
    assert decisions.novel.any()
    assert not (decisions.accepted & decisions.novel).any()
    totals = ranker.evaluate(X[:, [0, 2]], y, qid=qid)
    assert totals.accepted.sum() == decisions.accepted.sum()


# What is promised, in worlds that break it.


@pytest.fixture(scope="module")
def promises():
    """The benchmark of promises, where the sources are at hand."""
    folder = Path(__file__).parents[3] / "benchmarks"
    if not folder.exists():
        pytest.skip("the package was installed without its sources")
    pytest.importorskip("lightgbm")
    # Benchmarks beside it are called as folders of tests are.
    names = "monitor", "places", "queries"
    folders = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        module = importlib.import_module("promises")
    for name in names:
        del sys.modules[name]
    sys.modules.update(folders)
    return module


@pytest.mark.filterwarnings(SILENT, "ignore:The scores do not agree")
@pytest.mark.parametrize("name", ["coin", "upside down"])
def test_a_coin_is_not_certified_however_many_pairs_are_ties(name, promises):
    for seed in range(3):
        known = promises.world(name, 0.81, 71, seed=seed)
        ranker = RiskControlledRanker(promises.SCORES, random_state=seed)
        assert not fit(ranker, known).certified_
        # The bound on the loss certifies both, for every pair.
        ranker.set_params(bound="loss")
        with pytest.warns(UserWarning, match="promises next to nothing"):
            assert fit(ranker, known).coverage_ == 1


def test_sixty_queries_certify_a_good_ranker(promises):
    known = promises.world("good", 0.81, 71, seed=0)
    ranker = fit(RiskControlledRanker(promises.SCORES, random_state=0), known)
    assert ranker.n_queries_ in (60, 61)
    assert ranker.coverage_ > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.81])
def test_the_promise_holds_in_six_worlds(ties, promises):
    rows = promises.certificates(20, sizes=(60, 150), ties=(ties,), n_before=0)
    for row in rows:
        assert row["measured"] <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 20), row
        if row["for_whom"].startswith(("coin", "upside down")):
            assert row["measured"] == 0
            assert row["power"].startswith("0.00")


@pytest.mark.slow
def test_the_promise_holds_for_sites_pairs_and_comparisons(promises):
    for row in promises.other_certificates(20, size=150):
        assert row["measured"] <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 20), row
