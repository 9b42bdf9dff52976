"""What a promise weighs: queries or pairs, against the definitions."""

import dataclasses
import warnings
from functools import cache

import numpy as np
import pytest
from doubles import FirstColumn
from scipy.stats import binom
from scored import totals_of

from skrank_abstain import BALToR, RiskControlledRanker, SelectiveRanker
from skrank_abstain.concentration import certify_risk, choose_start
from skrank_abstain.pairs import Scores, group_queries
from skrank_abstain.selection import (
    Bound,
    CertifiedRisk,
    GuaranteedCoverage,
    _rules,
    at_thresholds,
    fit_calibration,
)
from skrank_abstain.selection._rules import warn_of_other
from skrank_abstain.tie_models import BradleyTerry

MISRANKING = np.array([[0.0, 0, 1], [1, 0, 1], [1, 0, 0]])
LARGEST = 60


def draw(n_queries, seed, sizes=(2, LARGEST)):
    """Queries of 2 to 60 items, more often small; large ones are ordered badly."""
    rng = np.random.default_rng(seed)
    low, high = np.log(sizes[0]), np.log(sizes[1] + 1)
    size = np.exp(rng.uniform(low, high, n_queries)).astype(int)
    qid = np.repeat(np.arange(n_queries), size)
    quality = (10 / size**0.7)[qid]
    utility = rng.normal(size=qid.size)
    score = quality * utility + rng.normal(size=qid.size)
    return score[:, None], np.round(4 * utility), qid


def labelled(n_queries, seed):
    X, y, qid = draw(n_queries, seed)
    return Scores(X[:, 0], group_queries(qid, qid.size), y=y)


def fitted(rule, n_queries=800, seed=0):
    X, y, qid = draw(n_queries, seed)
    model = FirstColumn().fit(X, y)
    return SelectiveRanker(
        model, rule=rule, tie_model="bradley_terry", random_state=0
    ).fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(
        BradleyTerry(), MISRANKING, labelled(600, 1), labelled(300, 2), seed=3
    )


def both(part, whole, pairs):
    """Return a ratio by query and by pair, from the definitions."""
    some = pairs > 0
    shares = [(each[some] / pairs[some]).mean() for each in (part, whole)]
    return shares[0] / shares[1], part.sum() / whole.sum()


def test_pairs_are_certified_by_weighted_queries(calibration):
    loss = CertifiedRisk(0.25, bound="loss")
    rule = dataclasses.replace(loss, weighting="pairs", largest_query=LARGEST)
    most = LARGEST * (LARGEST - 1) / 2
    thresholds, tuned, rest = calibration.loss_tables()
    weight = calibration.items.pair_counts[:, None] / most
    tuning_weight = calibration.tuning.pair_counts[:, None] / most
    order = np.random.default_rng(3).permutation(weight.size)
    found = certify_risk(
        (weight * rest[0])[order],
        (weight * rest[1])[order],
        choose_start(*(tuning_weight * each for each in tuned), max_risk=0.25),
        max_risk=0.25,
        delta=0.1,
    )
    assert found is not None
    assert rule.select(calibration).risk == thresholds[found]
    assert loss.select(calibration).risk != thresholds[found]


def test_pairs_are_covered_by_weighted_queries(calibration):
    rule = GuaranteedCoverage(0.6, weighting="pairs", largest_query=LARGEST)
    risk = rule.select(calibration).risk
    most = LARGEST * (LARGEST - 1) / 2
    counts = calibration.items.pair_counts

    def accepted(threshold):
        found = at_thresholds(
            calibration.engine, calibration.items, np.array([threshold])
        )
        return found[0].sum()

    needed = 0.6 * (counts.sum() + most)
    assert accepted(risk) >= needed * (1 - 1e-12)
    assert accepted(np.nextafter(risk, 0)) < needed


def test_equal_sizes_make_the_weightings_equal():
    rng = np.random.default_rng(0)
    s = rng.normal(size=900)
    y = np.round(2 * (s + rng.logistic(size=s.size)))
    parts = [
        Scores(s[rows], group_queries(np.repeat(range(n), 6), 6 * n), y=y[rows])
        for rows, n in ((slice(0, 600), 100), (slice(600, 900), 50))
    ]
    calibration = fit_calibration(BradleyTerry(), MISRANKING, *parts)
    pairs = {"weighting": "pairs", "largest_query": 6}
    for rule in (CertifiedRisk(0.35), GuaranteedCoverage(0.6)):
        other = dataclasses.replace(rule, **pairs)
        expected = rule.select(calibration).risk
        assert np.isfinite(expected)
        assert other.select(calibration).risk == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rule", [CertifiedRisk, GuaranteedCoverage])
@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"weighting": "items"}, ValueError, "weighting must be one of"),
        ({"weighting": "pairs"}, ValueError, "largest_query must be given with"),
        ({"largest_query": 9}, ValueError, "largest_query must go with weighting="),
        (
            {"weighting": "pairs", "largest_query": 1},
            ValueError,
            "largest_query must be .*2",
        ),
        (
            {"weighting": "pairs", "largest_query": 9.5},
            TypeError,
            "largest_query must be an integer",
        ),
    ],
)
def test_bad_weightings_are_refused(rule, params, error, message):
    with pytest.raises(error, match=message):
        rule(0.3, **params)


@pytest.mark.filterwarnings("ignore:On the calibration data the")
@pytest.mark.parametrize("rule", [CertifiedRisk(0.4), GuaranteedCoverage(0.6)])
def test_larger_queries_are_refused_at_fit_and_later(rule):
    X, y, qid = draw(400, 0, sizes=(2, 20))
    rule = dataclasses.replace(rule, weighting="pairs", largest_query=20)
    ranker = SelectiveRanker(FirstColumn().fit(X, y), rule=rule, random_state=0)
    message = r"at most largest_query=20 items, got one of 21: .* predict"
    large = np.zeros((21, 1)), np.zeros(21), np.zeros(21, int)
    with pytest.raises(ValueError, match=message):
        ranker.fit(
            np.vstack([X, large[0]]),
            np.append(y, large[1]),
            qid=np.append(qid, 21 * [-1]),
        )
    ranker.fit(X, y, qid=qid)
    for call in (
        lambda: ranker.predict_pairs(large[0], qid=0),
        lambda: ranker.abstain(large[0], qid=0),
        lambda: ranker.ranking(large[0], qid=0),
        lambda: ranker.rank_intervals(large[0], qid=0),
        lambda: list(ranker.iter_pairs(large[0], qid=0)),
        lambda: ranker.evaluate(large[0], large[1], qid=0),
        lambda: ranker.report(large[0], qid=0),
        lambda: ranker.review(large[0], qid=0),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert ranker.predict(large[0]).shape == (21,)  # scores promise nothing
    assert ranker.predict_pairs(large[0][:20], qid=0).accepted.shape == (190,)


def test_comparisons_have_no_query_sizes():
    from skrank_abstain import PairwiseRankerClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.sign(X[:, 0] - X[:, 1] + rng.normal(size=80))
    rule = CertifiedRisk(0.3, weighting="pairs", largest_query=5)
    judge = PairwiseRankerClassifier(FirstColumn().fit(X, y), rule=rule)
    with pytest.raises(ValueError, match="weighting must be 'queries' for comparisons"):
        judge.fit(X, y)


def test_a_plain_quantile_has_no_weighting():
    ranker = BALToR(FirstColumn().fit(None, None), weighting="pairs", largest_query=9)
    with pytest.raises(ValueError, match="must go with coverage_guarantee='hier"):
        ranker.fit([[0.0], [1.0]], [0, 1], qid=0)


@pytest.mark.parametrize("bound", ["loss", "discordance"])
def test_fit_warns_where_the_bound_is_broken_by_pair(bound):
    with pytest.warns(UserWarning, match=r"\bby pair is .*, above") as seen:
        ranker = fitted(CertifiedRisk(0.25, bound=bound))
    totals = totals_of(
        ranker._calibration.engine, ranker._region, ranker._calibration.items, None
    )
    what = "selective risk" if bound == "loss" else "discordance"
    wrong, decided, pairs = totals.loss, totals.accepted, totals.pairs
    if bound == "discordance":
        wrong, decided = totals.discordant, totals.unlike
        pairs = totals.pairs - totals.tied
    by_query, by_pair = both(wrong, decided, pairs)
    assert by_query <= 0.25 < by_pair
    text = str(seen[0].message)
    assert text == (
        f"On the calibration data the {what} by pair is {by_pair:.4f}, above the bound "
        f"of 0.25, which is promised by query: there it is {by_query:.4f}. For a "
        "promise by pair see weighting='pairs'."
    )
    page = str(ranker.report(np.zeros((4, 1)), qid=0))
    assert f"was {by_query:.4f}, each query" in page
    assert f"and {by_pair:.4f}, each pair counting alike" in page
    assert f"- {text}" in page.split("## Warnings")[1]


def test_a_tenth_of_large_queries_breaks_the_bound_by_pair():
    # One query in ten has 20 items and is ordered badly; these have most of the
    # pairs. The others have 5 items and are ordered well.
    rng = np.random.default_rng(0)
    size = np.where(rng.random(400) < 0.1, 20, 5)
    qid = np.repeat(np.arange(400), size)
    y = rng.normal(size=qid.size)
    noise = np.where(size == 20, 4.0, 0.4)[qid]
    X = (y + noise * rng.normal(size=qid.size))[:, None]
    ranker = RiskControlledRanker(FirstColumn().fit(X, y), random_state=0)
    y = np.round(y)
    with pytest.warns(UserWarning, match=r"discordance by pair is 0\.3\d*, above"):
        ranker.fit(X, y, qid=qid)
    assert ranker.certified_


@pytest.mark.parametrize(
    ("bound", "found", "said"),
    [
        (Bound("discordance", 0.3, "queries"), (0.2, 0.3), None),
        (Bound("discordance", 0.3, "queries"), (0.2, 0.31), "by pair is 0.3100, above"),
        (Bound("discordance", 0.3, "pairs"), (0.2, 0.31), None),
        (Bound("discordance", 0.3, "pairs"), (0.31, 0.2), "by query is 0.3100, above"),
        (Bound("coverage", 0.7, "queries"), (0.71, 0.66), None),
        (Bound("coverage", 0.7, "queries"), (0.71, 0.64), "by pair is 0.6400, below"),
        (Bound("coverage", 0.7, "pairs"), (0.64, 0.71), "by query is 0.6400, below"),
        (Bound("coverage", 0.7, "pairs"), (0.9, 0.71), None),
        (Bound("discordance", 0.3, "queries"), (np.nan, np.nan), None),
    ],
)
def test_the_other_weighting_is_held_against_the_bound(bound, found, said, monkeypatch):
    monkeypatch.setattr(_rules, "both_ways", lambda *_: found)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_of_other(bound, None, None)
    texts = [str(each.message) for each in seen]
    assert len(texts) == (said is not None)
    assert all(said in text for text in texts)


def test_fit_says_nothing_where_they_agree():
    X, y, qid = draw(600, 0, sizes=(8, 12))
    ranker = RiskControlledRanker(FirstColumn().fit(X, y), max_risk=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ranker.fit(X, y, qid=qid).certified_


@pytest.mark.filterwarnings("ignore:On the calibration data the")
def test_shells_pass_the_weighting_on():
    X, y, qid = draw(800, 0)
    more = {"weighting": "pairs", "largest_query": LARGEST, "random_state": 0}
    model = FirstColumn().fit(X, y)
    by = {"tie_model": "bradley_terry"}
    risky = RiskControlledRanker(model, max_risk=0.25, **by, **more).fit(X, y, qid=qid)
    rule = CertifiedRisk(0.25, weighting="pairs", largest_query=LARGEST)
    assert risky.threshold_ == fitted(rule).threshold_
    guarantee = {"coverage": 0.6, "coverage_guarantee": "hierarchical"}
    covered = BALToR(model, **guarantee, **by, **more).fit(X, y, qid=qid)
    rule = GuaranteedCoverage(0.6, weighting="pairs", largest_query=LARGEST)
    assert covered.threshold_ == fitted(rule).threshold_
    assert covered.at_coverage(0.5).threshold_ < covered.threshold_


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_a_delta_that_looks_like_a_confidence_warns(delta, calibration):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        CertifiedRisk(0.25, delta=delta).select(calibration)
    said = [str(each.message) for each in seen if "promises something" in str(each)]
    # The other way round .5 is the same.
    assert len(said) == (delta != 0.5)
    assert all(f"pass delta={1 - delta:.3g}." in each for each in said)


# What is promised, in a population that is known: 200 draws.

N_RUNS, DELTA, N_POPULATION = 200, 0.1, 3000
#: More failures than this happen once in a thousand times if each has probability 0.1.
ALLOWED = int(binom.ppf(0.999, N_RUNS, DELTA))
WEIGHTINGS = ("queries", "pairs")


@cache
def world():
    """A tie model, thresholds, and shares of each query of a population."""
    everything = labelled(N_POPULATION, 10)
    calibration = fit_calibration(
        BradleyTerry(), MISRANKING, everything, labelled(300, 11)
    )
    return calibration, everything


@cache
def certified(weighting, max_risk, n_queries):
    """Return true risks by query and by pair, and coverages, of each draw."""
    calibration, _ = world()
    _, tuned, (share, loss) = calibration.loss_tables()
    count = calibration.items.pair_counts[:, None]
    most = LARGEST * (LARGEST - 1) / 2
    weight, tuning = np.ones_like(share), np.ones((len(tuned[0]), 1))
    if weighting == "pairs":
        weight, tuning = count / most, calibration.tuning.pair_counts[:, None] / most
    start = choose_start(tuning * tuned[0], tuning * tuned[1], max_risk=max_risk)
    true = {
        "queries": loss.sum(axis=0) / share.sum(axis=0),
        "pairs": (count * loss).sum(axis=0) / (count * share).sum(axis=0),
    }
    covered = (count * share).sum(axis=0) / count.sum()
    rng = np.random.default_rng(n_queries)
    rows = []
    for _ in range(N_RUNS):
        drawn = rng.integers(N_POPULATION, size=n_queries)
        found = certify_risk(
            (weight * share)[drawn],
            (weight * loss)[drawn],
            start,
            max_risk=max_risk,
            delta=DELTA,
        )
        rows.append(
            (0.0, 0.0, 0.0)
            if found is None
            else (true["queries"][found], true["pairs"][found], covered[found])
        )
    return np.array(rows).T


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [400, 1600])
@pytest.mark.parametrize("max_risk", [0.1, 0.2])
def test_each_weighting_keeps_its_own_bound(max_risk, n_queries):
    for k, weighting in enumerate(WEIGHTINGS):
        found = certified(weighting, max_risk, n_queries)
        assert (found[k] > max_risk).sum() <= ALLOWED
    # Where large queries are bad, the promise about queries says nothing about pairs.
    by_query, by_pair, _ = certified("queries", max_risk, n_queries)
    assert (by_query > 0).mean() > 0.9
    assert (by_pair > max_risk).mean() > 0.9
    if (max_risk, n_queries) == (0.2, 1600):  # not silent
        assert (certified("pairs", max_risk, n_queries)[2] > 0.3).mean() > 0.9


@pytest.mark.slow
def test_the_share_of_pairs_holds_on_average():
    # The promise about queries is kept in tests/estimators/test_coverage_guarantee.py.
    calibration, everything = world()
    items = everything.ascending
    rng = np.random.default_rng(0)
    rules = [
        GuaranteedCoverage(0.6, weighting="pairs", largest_query=LARGEST),
        GuaranteedCoverage(0.6),
    ]
    thresholds = [], []
    for run in range(N_RUNS):
        drawn = everything.take_queries(rng.integers(N_POPULATION, size=100))
        known = dataclasses.replace(calibration, items=drawn.ascending)
        for found, rule in zip(thresholds, rules[: 1 + (run < 40)], strict=False):
            found.append(rule.select(known).risk)
    levels, place = np.unique(np.concatenate(thresholds), return_inverse=True)
    accepted, _ = at_thresholds(calibration.engine, items, levels)
    covered = (accepted.sum(axis=0) / items.n_pairs)[place]
    by_pair, by_query = covered[:N_RUNS], covered[N_RUNS:]
    assert by_pair.mean() >= 0.6 - 3 * by_pair.std() / np.sqrt(N_RUNS)
    # The promise about queries covers fewer pairs: large queries are the risky ones.
    assert by_query.mean() < 0.55
