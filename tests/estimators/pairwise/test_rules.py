"""Sums, reports and promises of the classifier of pairs."""

from dataclasses import replace

import numpy as np
import pytest
from doubles import FirstColumn
from scored import fit_on_pairs
from sequential import is_rare
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.report import _results
from skrank_abstain.report._results import LossCurve
from skrank_abstain.selection import CertifiedRisk, Coverage, GuaranteedCoverage, Price
from skrank_abstain.tie_models import BradleyTerry

SCORER = FirstColumn().fit(None, None)
TIE_MODEL = fit_on_pairs(
    BradleyTerry(calibration="counts"), [1] * 4, [0] * 4, [0, 1, 1, -1]
)


def comparisons(n_pairs, *, ties=True, seed=0, per_query=1):
    """Return rows of two scores, labels from the model itself, and queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 2, (n_pairs, 2))
    proba = TIE_MODEL.proba(X[:, 0], X[:, 1])
    if not ties:
        proba[:, 1] = 0
        proba /= proba.sum(axis=1, keepdims=True)
    y = (rng.random(n_pairs)[:, None] > proba.cumsum(axis=1)).sum(axis=1) - 1
    return X, y, np.arange(n_pairs) // per_query


# --- sums -------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [True, False])
def test_evaluate_is_what_the_decisions_say(ties):
    X, y, _ = comparisons(500, ties=ties)
    X[:40, 1] = X[:40, 0]  # equal scores
    qid = np.random.default_rng(1).permutation(500) % 30
    classifier = PairwiseRankerClassifier(SCORER, coverage=0.6).fit(X, y)
    label, accepted = classifier.predict(X), ~classifier.abstain(X)
    weight = np.random.default_rng(2).integers(0, 3, 500).astype(float)
    for w in (None, weight):
        totals = classifier.evaluate(X, y, qid=qid, sample_weight=w)
        mass = np.ones(500) if w is None else w
        order = list(dict.fromkeys(qid.tolist()))  # queries as they appear

        def by_query(value, mass=mass, order=order):
            return [np.sum((mass * value)[qid == q]) for q in order]

        right, tie = label == y, label == 0
        for found, expected in [
            (totals.pairs, np.ones(500)),
            (totals.accepted, accepted),
            (totals.correct, accepted & right),
            (totals.correct_all, right),
            (totals.tied, y == 0),
            (totals.accepted_tied, accepted & (y == 0)),
            (totals.answered_tie, accepted & tie),
            (totals.ordered, accepted * (y != 0) * np.where(tie, 0.5, right)),
        ]:
            np.testing.assert_allclose(found, by_query(expected))
        assert totals.accuracy == pytest.approx(classifier.score(X, y, sample_weight=w))
    assert classifier.evaluate(X, y).pairs.shape == (500,)
    named = classifier.evaluate(X, y, qid=[f"day {k % 7}" for k in range(500)])
    assert named.qid.tolist() == [f"day {k}" for k in range(7)]
    assert classifier.evaluate(X, y, qid=7).pairs.shape == (1,)
    assert ties == (totals.tied.sum() > 0)


def test_evaluate_agrees_with_the_ranker_of_items():
    X, y, qid = comparisons(400)
    rows, twice = X.reshape(-1, 1), np.repeat(qid, 2)
    relevance = np.column_stack([1 + y, 1 - y]).ravel() / 2
    ranker = BALToR(SCORER, tie_model="bradley_terry", coverage=0.5)
    ranker.fit(rows, relevance, qid=twice)
    classifier = PairwiseRankerClassifier(SCORER, coverage=0.5).fit(X, y)
    expected = ranker.evaluate(rows, relevance, qid=twice)
    totals = classifier.evaluate(X, y)
    for name in ("pairs", "correct_all", "tied", "accepted", "correct", "ordered"):
        found, wanted = getattr(totals, name).sum(), getattr(expected, name).sum()
        assert found == pytest.approx(wanted, abs=2)


def test_many_equal_scores_without_ties_are_left_everywhere():
    X, y, _ = comparisons(300, ties=False)
    tree = DecisionTreeRegressor(max_leaf_nodes=3).fit(X[:, :1], X[:, 0])
    classifier = PairwiseRankerClassifier(tree, coverage=1).fit(X, y)
    assert 0.2 < np.mean(classifier.decision_function(X) == 0) < 0.7
    totals = classifier.evaluate(X, y)
    assert totals.accuracy == pytest.approx(np.mean(classifier.predict(X) == y))
    assert totals.answered_tie.sum() == 0
    page = classifier.report(X, y)
    assert f"decided pairs wrong | {1 - totals.accuracy:.4f} |" in page


def test_equal_scores_are_abstained_on_and_counted_so_near_the_cut():
    # Four steps are equal scores, twelve are not, and within the tolerance of the cut.
    steps = np.array([4, 4, 12, 12, 12, 40, 40, 40]) * np.finfo(float).eps
    up, y = np.array([[1, 0, 1, 0, 1, 0, 1, 0], [1, -1, 1, -1, -1, -1, 1, -1]])
    X = 1 + np.column_stack([steps * up, steps * (1 - up)])  # the fifth is wrong
    model = PairwiseRankerClassifier(SCORER, coverage=0.7).fit(X, y)
    assert model.abstain(X).tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert model.evaluate(X, y).accepted.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]
    assert model.coverage_ == 6 / 8


# --- report -----------------------------------------------------------------------


@pytest.mark.parametrize("ties", [True, False])
def test_report(ties):
    X, y, qid = comparisons(600, ties=ties, per_query=10)
    classifier = PairwiseRankerClassifier(SCORER, coverage=0.5).fit(X, y, qid=qid)
    report = classifier.report(X, y, qid=qid)
    totals = classifier.evaluate(X, y, qid=qid)
    assert report.startswith("# PairwiseRankerClassifier: report\n")
    for line in (
        "- 600 pairs of 60 queries\n",
        f"- tied pairs: {np.mean(y == 0):.4f}\n",
        "- ranker: FirstColumn, used as it was given\n",
        "- calibrated on 600 pairs of 60 queries\n",
        "(the 0.5 quantile of the calibration risks)\n",
        f"| coverage: share of pairs decided | {totals.coverage:.4f} | ",
        f"share of decided pairs wrong | {1 - totals.accuracy:.4f} | ",
        "| AURC: mean over all coverages of the ",
    ):
        assert line in report
    alone = PairwiseRankerClassifier(SCORER, coverage=0.5).fit(X, y).report(X, y)
    assert "- 600 pairs, each taken for a query of its own: no qid was given" in alone
    assert f"decided pairs wrong | {1 - totals.accuracy:.4f} | " in alone


@pytest.mark.parametrize("per_query", [10, 300])
def test_fitted_with_queries_a_report_wants_them_and_sums_do_not(per_query):
    X, y, qid = comparisons(600, per_query=per_query)
    classifier = PairwiseRankerClassifier(SCORER, coverage=0.5).fit(X, y, qid=qid)
    with pytest.raises(
        ValueError, match=r"^qid= must be given to report, since fit go"
    ):
        classifier.report(X, y)
    independent = classifier.report(X, y, qid=np.arange(600))  # the remedy
    assert "- 600 pairs of 600 queries" in independent
    pooled, by_query = classifier.evaluate(X, y), classifier.evaluate(X, y, qid=qid)
    assert (pooled.pairs.size, by_query.pairs.size) == (600, 600 // per_query)
    for name in ("coverage", "accuracy", "concordance"):
        # Sums of fewer than 2**53 pairs are exact.
        assert getattr(pooled, name) == getattr(by_query, name)
    assert classifier.score(X, y) == classifier.score(X, y, qid=qid)
    assert classifier.score(X, y) == pytest.approx(by_query.accuracy)
    classifier.fit(X, y, qid=0).report(X, y)  # one query of all pairs is no grouping


@pytest.mark.slow
def test_many_queries_are_taken_in_blocks_where_more_say_no_more(monkeypatch):
    X, y, qid = comparisons(1501, per_query=2)
    classifier = PairwiseRankerClassifier(SCORER, coverage=0.5).fit(X, y)
    whole = LossCurve.of(classifier._calibration.engine, classifier._calibration.items)
    monkeypatch.setattr(_results, "_MOST_UNITS", 40)
    blocks = LossCurve.of(classifier._calibration.engine, classifier._calibration.items)
    assert (whole.pairs.shape[0], blocks.pairs.shape[0]) == (1501, 40)
    # Of 1501 queries in 40 blocks the first has 37.
    assert blocks.pairs[0, -1] == 37
    for name in ("pairs", "loss"):
        sums = [getattr(curve, name).sum(axis=0) for curve in (whole, blocks)]
        np.testing.assert_array_equal(*sums)
    page = classifier.report(X, y, qid=qid)
    share = f"{1 - classifier.score(X, y):.4f}"
    assert f"share of decided pairs wrong | {share} | " in page


# --- promises ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("per_query", [1, 5])
def test_certified_risk(ties, per_query):
    X, y, qid = comparisons(4000, ties=ties, per_query=per_query)
    qid = None if per_query == 1 else qid
    bound = 0.2 if ties else 0.1
    rule = CertifiedRisk(bound, delta=0.1, bound="loss", tuning_size=0.3)
    classifier = PairwiseRankerClassifier(SCORER, rule=rule, random_state=0)
    classifier.fit(X, y, qid=qid)
    n_tuning = 1200 // per_query
    assert classifier.n_queries_ == 4000 // per_query - n_tuning
    assert classifier.n_pairs_ == 2800
    assert 0.2 < classifier.coverage_ < 1
    new, truth, _ = comparisons(20000, ties=ties, seed=1)
    # As close to the bound as the test allows.
    assert bound - 0.05 < 1 - classifier.score(new, truth) < bound + 0.005
    lenient = classifier.at_risk(bound + 0.05)
    assert lenient.coverage_ > classifier.coverage_
    assert lenient.rule == replace(rule, max_risk=bound + 0.05)
    refitted = clone(lenient).fit(X, y, qid=qid)
    assert refitted.threshold_ == lenient.threshold_
    report = classifier.report(X, y, qid=qid)
    assert "CERTIFIED. " in report
    assert "at most 10 % end in a promise that fails" in report
    assert f"on {4000 // per_query - n_tuning} certification queries" in report


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No threshold could be certified")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_certified_risk_holds_in_most_of_many_draws():
    new, truth, _ = comparisons(40000, seed=99)
    rule = CertifiedRisk(0.25, delta=0.2, bound="loss")

    def broken():
        for seed in range(200):
            X, y, _ = comparisons(600, seed=seed)
            model = PairwiseRankerClassifier(SCORER, rule=rule, random_state=seed)
            yield model.fit(X, y).score(new, truth) < 0.75

    assert is_rare(broken(), 0.2, 0.35)


def test_certification_does_not_meet_the_tuning_queries():
    X, y, qid = comparisons(300, per_query=3)
    classifier = PairwiseRankerClassifier(
        SCORER, rule=CertifiedRisk(0.3), random_state=0
    ).fit(X, y, qid=qid)
    tuning, items = classifier._calibration.tuning, classifier._calibration.items
    assert not set(tuning.gap_outcomes.gap) & set(items.gap_outcomes.gap)
    gap = np.abs(X[:, 0] - X[:, 1])
    of = [set(qid[np.isin(gap, part.gap_outcomes.gap)]) for part in (tuning, items)]
    assert not of[0] & of[1]
    assert [len(part) for part in of] == [15, 85]


def test_nothing_certified():
    X, y, _ = comparisons(40)
    classifier = PairwiseRankerClassifier(
        SCORER, rule=CertifiedRisk(0.01), random_state=0
    )
    with pytest.warns(UserWarning, match="No threshold could be certified"):
        classifier.fit(X, y)
    assert classifier.abstain(X).all()
    assert classifier.coverage_ == 0
    assert "NOT CERTIFIED" in classifier.report(X, y)


def test_guaranteed_coverage():
    X, y, qid = comparisons(1000, per_query=4)
    classifier = PairwiseRankerClassifier(
        SCORER, rule=GuaranteedCoverage(0.7), random_state=0
    ).fit(X, y, qid=qid)
    assert classifier.n_queries_ == 250 - int(
        0.15 * 250
    )  # the others fit the tie model
    new = comparisons(5000, seed=1)[0]
    assert 0.66 < np.mean(~classifier.abstain(new)) < 0.8
    half = classifier.at_coverage(0.5)
    assert half.rule == GuaranteedCoverage(0.5)
    assert half.coverage_ < classifier.coverage_


def test_a_price_and_a_randomised_boundary():
    X, y, _ = comparisons(400)
    priced = PairwiseRankerClassifier(SCORER, rule=Price(0.3)).fit(X, y)
    np.testing.assert_array_equal(priced.abstain(X), priced.conditional_risk(X) > 0.3)
    dropped = priced.at_coverage(0.5)
    assert dropped.rule is None
    assert dropped.coverage == 0.5
    X = np.round(X)  # many equal gaps
    drawn = PairwiseRankerClassifier(
        SCORER, rule=Coverage(0.5, boundary="randomize"), random_state=0
    ).fit(X, y)
    assert drawn.coverage_ == pytest.approx(0.5)
    assert drawn.evaluate(X, y).coverage == pytest.approx(0.5)
    assert np.mean(~drawn.abstain(X)) == pytest.approx(0.5, abs=0.1)


def test_rules_split_a_trained_models_pairs_once_more():
    X, y, qid = comparisons(400, per_query=4)
    classifier = PairwiseRankerClassifier(
        LogisticRegression(),
        rule=CertifiedRisk(0.3),
        calibration_size=0.5,
        random_state=0,
    )
    assert classifier.fit(X, y, qid=qid).n_queries_ == 43
    assert classifier.fit(X, y).n_queries_ == classifier.n_pairs_ == 170


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"rule": 0.1}, TypeError, r"rule must be a rule of .*got 0\.1"),
        ({"rule": CertifiedRisk}, TypeError, r"rule must be a rule"),
        (
            {"rule": CertifiedRisk(2)},
            ValueError,
            r"max_risk must be between 0 and 1, where all orders",
        ),
    ],
)
def test_bad_rules(options, error, match):
    X, y, _ = comparisons(20)
    with pytest.raises(error, match=match):
        PairwiseRankerClassifier(SCORER, **options).fit(X, y)


def test_too_few_queries_for_a_promise():
    X, y, qid = comparisons(30, per_query=10)
    classifier = PairwiseRankerClassifier(
        Ridge(), rule=CertifiedRisk(0.3), random_state=0
    )
    with pytest.raises(
        ValueError, match=r"least two calibration queries with pai.*1\."
    ):
        classifier.fit(X, y, qid=qid)


def test_a_bound_cannot_be_moved_without_one():
    X, y, _ = comparisons(100)
    classifier = PairwiseRankerClassifier(SCORER).fit(X, y)
    with pytest.raises(ValueError, match="rule must be CertifiedRisk in fit already"):
        classifier.at_risk(0.1)
