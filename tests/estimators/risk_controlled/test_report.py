"""The page of a risk-controlled ranker."""

from functools import partial

import numpy as np
import pytest
from estimators.risk_controlled.certifying import (
    BOUNDS,
    DEAR,
    LOSS,
    ZERO_ONE,
    by_loss,
    fit,
    recompute,
)
from scipy import stats

from skrank_abstain import BALToR
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import aurc_loss
from skrank_abstain.pairs import pair_labels

pytestmark = pytest.mark.filterwarnings("ignore:max_risk=.* promises next to nothing")


def test_report(ranker, data):
    X, y, qid = data
    page = ranker.report(X, y, qid=qid)
    assert page.startswith("# RiskControlledRanker: report\n")
    assert "(certified: selective risk at most 0.36, each query counting alike)" in page
    assert f"at most {ranker.threshold_:.6g}" in page
    assert "does not guarantee" not in page
    promise = page.split("## Verdict\n\n")[1]
    assert promise.startswith("SOME OF THESE DATA MAY NOT BE NEW: ")
    assert (
        "CERTIFIED. The selective risk, which is the mean loss of the decided pairs "
    ) in promise
    assert " is at most 0.36; a coin that orders every certification pair has " in page
    assert (
        f"promised for new queries from the source of the {ranker.n_queries_} "
        "certification queries, each query counting alike. Of all calibrations on such "
        "draws of queries, at most 10 % end in a promise that fails.\n\nObserved in "
    ) in page
    assert (
        "- test: betting with max_risk = 0.36 and delta = 0.1, on "
        f"{ranker.n_queries_} certification queries ({ranker.n_pairs_} pairs) that "
        f"set nothing else; {ranker.n_tuning_queries_} others fitted"
    ) in page
    assert "groups" not in page
    # The others promise nothing.
    other = fit(BALToR(ranker.estimator_), data).report(X, y, qid=qid)
    assert "it does not guarantee an accuracy" in other
    assert "CERTIFIED" not in other


@pytest.mark.parametrize(("delta", "warns"), [(0.4, False), (0.9, True)])
def test_a_delta_that_was_meant_as_the_confidence_is_on_the_page(
    model, data, delta, warns
):
    X, y, qid = data
    ranker = by_loss(model, max_risk=0.36, delta=delta, random_state=0)
    if warns:
        with pytest.warns(UserWarning, match=r"delta=0\.9 promises .* pass delta=0\.1"):
            ranker.fit(X, y, qid=qid)
    else:
        ranker.fit(X, y, qid=qid)
    page = ranker.report(X, y, qid=qid)
    assert (f"- delta={delta} promises" in page) == warns


def cells(page, start):
    """Return value and interval of the one row of a report that starts so."""
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    value, interval = row.strip("| ").split(" | ")[1:]
    return float(value), tuple(float(end) for end in interval.split(" to "))


@pytest.mark.parametrize("loss", LOSS)
def test_report_estimates_the_risk_that_is_bounded(loss, model, data):
    X, y, qid = data
    matrix = ZERO_ONE if loss == "zero_one" else DEAR
    ranker = by_loss(
        model,
        max_risk=BOUNDS["graded_relevance", loss],
        delta=0.2,
        tie_model="graded_relevance",
        loss=LOSS[loss],
        random_state=0,
    )
    page = fit(ranker, data).report(X, y, qid=qid)
    names, counts = np.unique(qid, return_counts=True)
    queries = names[counts > 1]
    accepted, spent = recompute(ranker, data, queries, [ranker.threshold_], matrix)
    spent *= matrix.max()
    what = "share of decided pairs wrong" if loss == "zero_one" else "loss per decided"
    risk = f"selective risk: {what}{' pair' * (loss != 'zero_one')}"
    value, interval = cells(page, f"{risk}, each query")
    assert value == pytest.approx(spent.mean() / accepted.mean(), abs=5.1e-5)
    expected = ratio_interval(spent[:, 0], accepted[:, 0])
    np.testing.assert_allclose(interval, expected, atol=5.1e-5)
    value, interval = cells(page, "coverage: share of pairs decided, each query")
    assert value == pytest.approx(accepted.mean(), abs=5.1e-5)
    t = stats.t.interval(0.95, queries.size - 1, value, stats.sem(accepted[:, 0]))
    np.testing.assert_allclose(interval, t, atol=1.1e-4)


def test_report_has_the_area_under_the_curve(ranker, data, monkeypatch):
    few = partial(cluster_bootstrap, n_resamples=300)  # as the report
    monkeypatch.setattr("skrank_abstain.concentration.cluster_bootstrap", few)
    X, y, qid = data
    page = ranker.report(X, y, qid=qid)
    pairs = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, pairs.left, pairs.right)
    value, (low, high) = cells(page, "AURC:")
    exact = aurc_loss(
        truth,
        pairs.label,
        # Equal up to rounding: one cell, one risk.
        pairs.risk.round(12),
        loss="misranking",
        qid=pairs.qid,
        interval="bootstrap",
        random_state=0,
    )
    assert value == pytest.approx(exact.value, abs=5.1e-5)
    # Other resamples, and pairs between two of 200 levels count as equal.
    width = exact.high - exact.low
    assert low == pytest.approx(exact.low, abs=0.15 * width)
    assert high == pytest.approx(exact.high, abs=0.15 * width)


def test_report_of_groups(model, data, groups):
    ranker = by_loss(model, max_risk=0.5, random_state=0)
    page = fit(ranker, data, groups=groups).report(*data[:2], qid=data[2])
    north, south = (ranker.n_group_queries_[name] for name in ("north", "south"))
    assert f"- groups: north ({north} queries), south ({south} queries); " in page
    assert "each of them at once" in page
    assert "certification queries, in each group by itself (north, south), " in page


@pytest.mark.filterwarnings("ignore:24 of 24 rows have a qid of their own")
def test_report_of_queries_without_pairs(ranker, data):
    X, y, qid = data
    rows = qid % 17 == 0  # of one item each
    page = ranker.report(X[rows], y[rows], qid=qid[rows])
    assert page.count("| undefined | undefined |") == 12


def test_report_of_hierarchical_coverage(model, data):
    X, y, qid = data
    ranker = BALToR(model, coverage_guarantee="hierarchical", random_state=0)
    page = fit(ranker, data).report(X, y, qid=qid)
    assert "the 0.8 hierarchical conformal quantile of the calibration risks" in page
