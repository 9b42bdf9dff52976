"""All methods give one answer: each is compared with the pairs written out one by one.

Random problems with few score levels, every rule and every loss: decisions, totals,
score, scorers, the display and the report say what the pairs say.
"""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from doubles import FirstColumn
from reference import concordance

from skrank_abstain import SelectiveRanker
from skrank_abstain._validation import check_loss
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_utility,
)
from skrank_abstain.selection import CertifiedRisk, Coverage, GuaranteedCoverage, Price

DEAR = ((0, 1, 5), (0.5, 0, 0.5), (5, 1, 0))
LOSSES = ["zero_one", "misranking", "clear_order", DEAR]
MODELS = ["graded_relevance", "bradley_terry", "isotonic_difference"]
RULES = [
    Coverage(0.6),
    Coverage(0.45, boundary="randomize"),
    Price(0.35),
    GuaranteedCoverage(0.5),
    CertifiedRisk(0.45, delta=0.4),
]
EXACT = {"rtol": 1e-12, "atol": 1e-12}
APPROX = {"rel": 1e-12, "abs": 1e-12}


def problem(seed):
    """Return items of some queries: score levels, and a column to tell rows apart."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, rng.integers(12, 30))
    n = int(sizes.sum())
    levels = int(rng.integers(2, 9))
    scores = rng.integers(0, levels, n) if seed % 3 else rng.normal(0, levels, n)
    y = np.clip(np.round(scores / levels * 3 + rng.normal(size=n)), 0, 3)
    qid = np.repeat(rng.permutation(sizes.size), sizes)
    return np.stack([scores, rng.normal(size=n)], axis=1), y, qid


def fitted(seed):
    combinations = [*itertools.product(RULES, LOSSES, MODELS)]
    rule, loss, tie_model = combinations[seed % len(combinations)]
    X, y, qid = problem(2 * seed)
    ranker = SelectiveRanker(
        FirstColumn().fit(None, None),
        rule=rule,
        loss=loss,
        tie_model=tie_model,
        random_state=seed,
    )
    return ranker.fit(X, y, qid=qid), check_loss(loss)


def pairs_one_by_one(y, qid):
    """Return the pairs of each query as (query, left, right, true label)."""
    for number, query in enumerate(dict.fromkeys(qid.tolist())):
        rows = np.flatnonzero(qid == query).tolist()
        for i, j in itertools.combinations(rows, 2):
            yield number, i, j, int(np.sign(y[i] - y[j]))


def area_under(risk, spent):
    """Return the mean loss of the surest pairs, over all numbers of them."""
    order = np.argsort(risk, kind="stable")
    spent = spent[order].astype(float)
    for level in np.unique(risk):
        # Pairs of one risk are in no order: each counts what all do on average.
        same = risk[order] == level
        spent[same] = spent[same].mean()
    return (np.cumsum(spent) / np.arange(1, spent.size + 1)).mean()


def check(seed):
    ranker, loss = fitted(seed)
    X, y, qid = problem(2 * seed + 1)
    pairs = [*pairs_one_by_one(y, qid)]
    query, left, right, truth = np.array(pairs).T
    decisions = ranker.predict_pairs(X, qid=qid)
    np.testing.assert_array_equal(decisions.left, left)
    np.testing.assert_array_equal(decisions.right, right)
    # The risk is the expected loss of the label, under the probabilities shown.
    expected = (decisions.proba * loss[decisions.label + 1]).sum(axis=1)
    np.testing.assert_allclose(decisions.risk, expected, **EXACT)
    equal = X[left, 0] == X[right, 0]
    assert (decisions.label[equal] == 0).all()
    if isinstance(ranker.rule, Price):
        clear = np.abs(decisions.risk - ranker.rule.cost) > 1e-9
        cheap = decisions.risk <= ranker.rule.cost
        np.testing.assert_array_equal(decisions.accepted[clear], cheap[clear])
    accepted, label = decisions.accepted, decisions.label
    spent = loss[label + 1, truth + 1]
    totals = ranker.evaluate(X, y, qid=qid)
    for name, each in {
        "pairs": np.ones(truth.size),
        "accepted": accepted,
        "correct": accepted & (label == truth),
        "tied": truth == 0,
        "answered_tie": accepted & (label == 0),
        "misranked": accepted & (label * truth == -1),
        "loss": accepted * spent,
    }.items():
        sums = np.bincount(query, each, len(set(qid.tolist())))
        np.testing.assert_allclose(getattr(totals, name), sums, **EXACT, err_msg=name)
    assert decisions.coverage == pytest.approx(totals.coverage, **APPROX)
    right = concordance(label, accepted, truth)
    assert ranker.score(X, y, qid=qid) == pytest.approx(right, nan_ok=True, **APPROX)
    # Scorers, the display and the report.
    paid = 1 - np.where(accepted, spent, 0.3).mean()
    assert selective_utility(0.3)(ranker, X, y, qid=qid) == pytest.approx(
        paid, **APPROX
    )
    everything = (label == truth).mean()
    assert accuracy_at_coverage(1.0)(ranker, X, y, qid=qid) == pytest.approx(
        everything, **APPROX
    )
    risk = decisions.risk
    area = -area_under(risk, spent)
    assert neg_aurc_scorer(ranker, X, y, qid=qid) == pytest.approx(
        area, rel=1e-9, abs=1e-9
    )
    upto = [spent[risk <= level].mean() for level in np.unique(risk)]
    shares = [(risk <= level).mean() for level in np.unique(risk)]
    kept = [s for s, mean in zip(shares, upto, strict=True) if mean <= 0.25]
    assert coverage_at_risk(0.25)(ranker, X, y, qid=qid) == pytest.approx(
        max(kept, default=0.0), abs=1e-9
    )
    shown = RiskCoverageDisplay.from_estimator(ranker, X, y, qid=qid)
    plt.close(shown.figure_)
    assert shown.selective_risk[-1] == pytest.approx(spent.mean(), **APPROX)
    said = str(ranker.report(X, y, qid=qid))
    share = "undefined" if not truth.size else f"{accepted.mean():.4f}"
    assert f"| coverage: share of pairs decided | {share} |" in said


def test_every_method_says_what_the_pairs_say():
    check_all(range(30))


@pytest.mark.slow
def test_every_method_says_what_the_pairs_say_in_many_problems():
    check_all(range(30, 210))  # three of each rule with each loss and tie model


def check_all(seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            check(seed)
