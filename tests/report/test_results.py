"""What a report says, against every pair."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import aurc_loss
from skrank_abstain.pairs import group_queries, pair_labels
from skrank_abstain.report import _page, _results
from skrank_abstain.report._results import LossCurve


def rows_of(page, start):
    """Return the cells of the rows of a report that start so."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in page.splitlines()
        if line.startswith(f"| {start}")
    ]


# --- where it comes from --------------------------------------------------------------


class Triage(BALToR):
    """A user's own class."""


def test_the_page_says_whose_it_is_when_and_by_what(known, new, now):
    ranker = Triage(make_pipeline(StandardScaler(), FirstColumn()), random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    page = ranker.report(new.data, new.target, qid=new.qid)
    assert isinstance(page, str)
    head = page.split("\n## ")[0]
    assert head.startswith(f"# Triage: report\n\n- date: {now}\n- versions: ")
    assert re.search(r"skrank_abstain \S+, Python 3\.\d+\.\d+, scikit-learn ", head)
    assert f"numpy {np.__version__}, scipy " in head
    assert "doubles" not in head  # which has no version


def test_the_library_of_the_model_is_named(known, new):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRanker(n_estimators=2, n_jobs=1, verbose=-1)
    for wrapped in (model, make_pipeline(StandardScaler(), model)):
        ranker = BALToR(wrapped, random_state=0)
        ranker.fit(known.data, known.target, qid=known.qid)
        page = ranker.report(new.data, qid=new.qid)
        assert f", lightgbm {lightgbm.__version__}\n" in page


def test_the_date_is_that_of_now_in_iso_8601():
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", _page.date())


def fingerprints(page):
    """Return the fingerprint of the data, and that of what fit got."""
    return re.findall(r"^- fingerprint of .*: (\w+)$", page, flags=re.MULTILINE)


@pytest.mark.parametrize("hold", [pd.DataFrame, sparse.csr_array, np.asfortranarray])
def test_the_same_data_have_the_same_fingerprint_whatever_holds_them(hold, ranker, new):
    X, y, qid = new.data, new.target, new.qid
    mine, fits = fingerprints(ranker.report(X, y, qid=qid))
    assert re.fullmatch("[0-9a-f]{16}", mine)
    names = np.array([f"query {q}" for q in range(qid.max() + 1)])[qid]
    page = ranker.report(hold(X), y.astype(np.float32), qid=names)
    assert fingerprints(page) == [mine, fits]


def test_other_data_have_another_fingerprint(ranker, known, new):
    X, y, qid = new.data, new.target, new.qid
    turned = slice(None, None, -1)
    first = np.arange(y.size) == 0
    pages = [
        ranker.report(X, y, qid=qid),
        ranker.report(X[turned], y[turned], qid=qid[turned]),
        ranker.report(X + 1e-9, y, qid=qid),
        ranker.report(X, y + first, qid=qid),
        ranker.report(X, y, qid=np.where(first, -1, qid)),
        ranker.report(X, qid=qid),
    ]
    found = [fingerprints(page) for page in pages]
    assert len({mine for mine, _ in found}) == len(pages)
    mine, fits = fingerprints(ranker.report(known.data, known.target, qid=known.qid))
    assert {fits} == {mine} == {fits for _, fits in found}


def test_the_column_of_queries_is_no_part_of_the_rows(ranker, known, new):
    frame = pd.DataFrame(known.data).rename(columns=str).assign(day=known.qid)
    other = BALToR(Ridge(), qid_col="day", random_state=0).fit(frame, known.target)
    new_frame = pd.DataFrame(new.data).rename(columns=str).assign(day=new.qid)
    page = other.report(new_frame, new.target)
    expected = ranker.report(new.data, new.target, qid=new.qid)
    assert fingerprints(page) == fingerprints(expected)


def test_first_places_that_were_decided_are_counted(ranker, new):
    X, y, qid = new.data, new.target, new.qid
    (row,) = rows_of(ranker.report(X, y, qid=qid), "decided to be among the first 3")
    worst = ranker.rank_intervals(X, qid=qid)[:, 1]
    right, decided = [], []
    for query in np.unique(qid):
        own = np.flatnonzero(qid == query)
        listed = [k for k in own if worst[k] <= 3 and own.size > 3]
        decided.append(len(listed))
        right.append(sum(np.sum(y[own] > y[k]) < 3 for k in listed))
    assert 0 < sum(right) < sum(decided)
    assert float(row[1]) == pytest.approx(sum(right) / sum(decided), abs=5.1e-5)
    low, high = ratio_interval(np.array(right, float), np.array(decided, float))
    assert row[2] == f"{max(low, 0):.4f} to {min(high, 1):.4f}"


def test_places_that_held_are_those_of_the_ranker(ranker, new):
    X, y, qid = new.data, new.target, new.qid
    page = ranker.report(X, y, qid=qid)
    rows = r"^\| places at 90% confidence: (\w+).*? \| ([.\d]+) \|"
    found = dict(re.findall(rows, page, flags=re.MULTILINE))
    best, worst = ranker.rank_intervals(X, qid=qid, confidence=0.9).T
    held, width = [], []
    for query in np.unique(qid):
        own = qid == query
        if own.sum() > 1:
            first = [1 + sum(y[own] > each) for each in y[own]]
            last = [sum(y[own] >= each) for each in y[own]]
            held.append(np.mean((best[own] <= last) & (worst[own] >= first)))
            width.append(np.mean(worst[own] - best[own] + 1) / own.sum())
    assert float(found["hold"]) == pytest.approx(np.mean(held), abs=5.1e-5)
    assert float(found["mean"]) == pytest.approx(np.mean(width), abs=5.1e-5)
    found = ranker.evaluate_places(X, y, qid=qid, confidence=0.9)
    np.testing.assert_allclose(np.sort(found[0][~np.isnan(found[0])]), np.sort(held))
    np.testing.assert_allclose(np.sort(found[1][~np.isnan(found[1])]), np.sort(width))
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(found[1]))
    few = BALToR(Ridge(), random_state=0).fit(
        X[qid < 20], y[qid < 20], qid=qid[qid < 20]
    )
    rest = qid >= 20
    assert "places at" not in few.report(X[rest], y[rest], qid=qid[rest])


# --- a day without labels -------------------------------------------------------------


@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
@pytest.mark.parametrize("loss", ["zero_one", "misranking"])
@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_a_day_without_labels(known, new, tie_model, loss):
    ranker = BALToR(
        DecisionTreeRegressor(max_leaf_nodes=9, random_state=0),  # many equal scores
        coverage=0.6,
        tie_model=tie_model,
        loss=loss,
        random_state=0,
    ).fit(known.data, known.target, qid=known.qid)
    page = ranker.report(new.data, qid=new.qid)
    decisions = ranker.predict_pairs(new.data, qid=new.qid)
    n, orders = len(decisions), decisions.decided_order.sum()
    ties = decisions.decided_tie.sum()
    share = f"{100 * decisions.coverage:.1f} %"
    assert "NO LABELS WERE GIVEN: nothing about correctness was measured on" in page
    assert (
        f"- {orders + ties} of {n} pairs are decided ({share}): "
        f"{orders} by an order, {ties} by a tie; {n - orders - ties} are left to a "
        "person\n"
    ) in page
    if loss == "zero_one":
        # The probability of the answer, which for equal scores need not be the largest.
        answered = decisions.proba[np.arange(n), decisions.label + 1]
        name, expected = "expected accuracy", answered[decisions.accepted].mean()
    else:
        name, expected = "expected loss", decisions.risk[decisions.accepted].mean()
    [cells] = rows_of(page, name)
    assert float(cells[1]) == pytest.approx(expected, abs=5.1e-5)
    assert cells[2] == "not measured"
    for word in ("selective", "AURC", "right", "tied pairs", "yardstick", "predicted"):
        assert word not in page.split("## Assumptions")[0]


def test_a_day_without_labels_or_queries_is_one_query(ranker, new):
    page = ranker.report(new.data[:7])
    assert "- 7 items, 1 queries, 21 pairs of items of one query\n" in page
    with pytest.raises(ValueError, match="qid= must be given"):
        ranker.report(new.data[:7], new.target[:7])


def test_a_randomised_boundary_counts_what_was_drawn(known, new):
    model = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
    ranker = BALToR(
        model,
        coverage=0.6,
        loss="zero_one",
        boundary="randomize",
        calibration_size=0.25,  # scores out of folds have levels of their own
        random_state=0,
    )
    ranker.fit(known.data, known.target, qid=known.qid)
    totals = ranker.evaluate(new.data, new.target, qid=new.qid)
    page = ranker.report(new.data, qid=new.qid)
    [cells] = rows_of(page, "coverage: share of pairs decided")
    assert cells[1] == f"{totals.coverage:.4f}"
    decisions = ranker.predict_pairs(new.data, qid=new.qid)
    assert totals.accepted.sum() == decisions.accepted.sum()
    at = decisions.risk == ranker.threshold_
    assert 0 < decisions.accepted[at].mean() < 1
    [cells] = rows_of(page, "expected accuracy")
    expected = 1 - decisions.risk[decisions.accepted].mean()
    assert float(cells[1]) == pytest.approx(expected, abs=5.1e-5)


def test_nothing_to_decide(ranker, new):
    page = ranker.report(new.data[:1])
    assert "- 0 of 0 pairs are decided (an undefined share)" in page
    assert "- no pair is decided\n- queries with pairs: 0; with fewer than" in page


# --- groups ---------------------------------------------------------------------------


def test_each_group_by_its_own_pairs(ranker, new):
    X, y, qid = new.data, new.target, new.qid
    site = np.array(["north", "south", "east"])[qid % 3]
    page = ranker.report(X, y, qid=qid, groups=site)
    unlabelled = ranker.report(X, qid=qid, groups=site)
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    lost = (truth != 0) & (decisions.label != truth)
    wrong = (truth != 0) & (decisions.label == -truth)

    def cell(part, whole, among):
        # Queries without such pairs have no say.
        used = np.unique(decisions.qid[among])
        sums = [
            [some[decisions.qid == q].sum() for q in used] for some in (part, whole)
        ]
        low, high = ratio_interval(*sums)
        value = sum(sums[0]) / sum(sums[1])
        return f"{value:.3f} ({max(low, 0):.3f} to {min(high, 1):.3f})"

    for name, rest in [("north", 0), ("south", 1), ("east", 2)]:
        mine, unlike = decisions.qid % 3 == rest, truth != 0
        order, accepted = decisions.decided_order, decisions.accepted
        counts = [np.unique(decisions.qid[mine]).size, mine.sum(), order[mine].sum()]
        counts.append(decisions.decided_tie[mine].sum())
        [cells] = rows_of(page, name)
        assert cells[1:5] == [str(count) for count in counts]
        assert cells[5:] == [
            cell(accepted, np.ones(mine.size), mine),
            cell(accepted & wrong, accepted & unlike, mine & unlike),
            cell(accepted & lost, accepted, mine),
        ]
        assert rows_of(unlabelled, name) == [cells[:6]]
    assert "By group" not in ranker.report(X, y, qid=qid)


@pytest.mark.parametrize("loss", ["misranking", "clear_order", "zero_one"])
def test_a_yardstick_stands_beside_what_is_lost(known, new, loss):
    ranker = BALToR(Ridge(), coverage=0.6, loss=loss, random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    X, y, qid = new.data, new.target, new.qid
    page = ranker.report(X, y, qid=qid)
    totals, decisions = ranker.evaluate(X, y, qid=qid), ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    matrix, seen = ranker._loss, truth[decisions.accepted]
    tie = matrix[1, seen + 1].mean()
    coin = (matrix[0, seen + 1] + matrix[2, seen + 1]).mean() / 2
    assert totals.yardstick == pytest.approx(min(tie, coin))
    what = "had a coin ordered" if coin < tie else "had each been called"
    [cells] = rows_of(page, f"selective risk, {what}")
    assert cells[1] == f"{min(tie, coin):.4f}"
    order = decisions.accepted & (truth != 0)
    right = np.where(decisions.label == 0, 0.5, decisions.label == truth)[order]
    assert totals.concordance == pytest.approx(right.mean())
    pooled, by_query = rows_of(page, "discordance")
    assert pooled[1] == f"{1 - right.mean():.4f}"
    assert by_query[1] == f"{totals.discordance_interval('queries')[0]:.4f}"
    if loss == "misranking":
        assert coin < tie
        spent = matrix[decisions.label + 1, truth + 1]
        for name, pairs in (
            ("selective risk: loss per decided pair", decisions.accepted),
            ("selective risk, were every pair decided", decisions.risk > -1),
            ("risk of the deferred pairs, were they", ~decisions.accepted),
        ):
            cells = rows_of(page, name)[0]
            assert cells[1] == f"{spent[pairs].mean():.4f}"


def test_groups_are_checked(ranker, new):
    X, y, qid = new.data, new.target, new.qid
    with pytest.raises(ValueError, match="groups must"):
        ranker.report(X, y, qid=qid, groups=[1, 2])


def test_a_group_without_pairs_is_undefined(ranker, new):
    lonely = np.unique(new.qid, return_counts=True)[1] == 1
    kind = np.where(lonely[new.qid], "lonely", "others")
    page = ranker.report(new.data, new.target, qid=new.qid, groups=kind)
    assert rows_of(page, "lonely") == [
        ["lonely", "0", "0", "0", "0", *["undefined"] * 3]
    ]


# --- is the risk right ----------------------------------------------------------------


@pytest.mark.parametrize("leaves", [5, None])
@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
def test_bins_of_the_risk_hold_what_every_pair_says(known, new, leaves, tie_model):
    model = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0)
    if leaves is None:
        model = Ridge()
    ranker = BALToR(model, tie_model=tie_model, loss="zero_one", random_state=0)
    ranker.fit(known.data, known.target, qid=known.qid)
    X, y, qid = new.data, new.target, new.qid
    items = replace(ranker._scored(X, qid), y=y.astype(float)).ascending
    curve = LossCurve.of(ranker._calibration.engine, items)
    decisions = ranker.predict_pairs(X, qid=qid)
    wrong = decisions.label != pair_labels(y, decisions.left, decisions.right)
    risk = decisions.risk
    share, predicted, observed, interval = curve.bins()
    assert share.sum() == pytest.approx(1)
    assert (leaves is None) == (share.size == 10)
    low = 0.0
    for k, part in enumerate(np.cumsum(share)):
        # Equal risks, which may differ in the last bit, are in one bin.
        high = np.sort(risk)[round(part * risk.size) - 1] + 1e-9
        own = (risk > low) & (risk <= high)
        assert share[k] == pytest.approx(own.mean())
        assert predicted[k] == pytest.approx(risk[own].mean())
        assert observed[k] == pytest.approx(wrong[own].mean())
        codes = group_queries(decisions.qid, risk.size).codes
        sums = [np.bincount(codes, own & some) for some in (wrong, own)]
        # Queries without pairs add nothing to the totals, but to the number of units.
        missing = np.zeros(curve.pairs.shape[0] - sums[0].size)
        ends = ratio_interval(*(np.append(some, missing) for some in sums))
        np.testing.assert_allclose(interval[k], ends)
        low = high
    np.testing.assert_allclose(curve.predicted[-1], risk.sum())


# --- other estimators, and what casts doubt -------------------------------------------


def test_pairs_of_rows_have_groups_and_days_without_labels():
    items = make_ranking(500, n_items=2, n_grades=None, random_state=0)
    X = items.data.reshape(500, -1)
    y = np.where(items.target[::2] > items.target[1::2], "left", "right")
    classifier = PairwiseRankerClassifier(
        LogisticRegression(), coverage=0.7, random_state=0
    ).fit(X[:300], y[:300])
    language = np.array(["en", "fr"])[np.arange(200) % 2]
    page = classifier.report(X[300:], y[300:], groups=language)
    label, accepted = classifier.predict(X[300:]), ~classifier.abstain(X[300:])
    lost = accepted & (label != y[300:])
    for k, name in enumerate(["en", "fr"]):
        [cells] = rows_of(page, name)
        counts = [100, 100, accepted[k::2].sum(), 0]
        assert cells[1:5] == [str(count) for count in counts]
        assert cells[6].startswith(f"{lost[k::2].sum() / counts[2]:.3f} (")
    assert "- loss: each wrong answer costs 1" in page
    wrong, risk = label != y[300:], classifier.conditional_risk(X[300:])
    [cells] = rows_of(page, "AURC: mean over all coverages of the share of decided")
    assert float(cells[1]) == pytest.approx(
        aurc_loss(np.ones(200), np.where(wrong, -1, 1), risk), abs=5.1e-5
    )
    unlabelled = classifier.report(X[300:], groups=language)
    assert "NO LABELS WERE GIVEN" in unlabelled
    # Without ties among the labels what counts is errors, too.
    [cells] = rows_of(unlabelled, "expected accuracy")
    expected = 1 - classifier.conditional_risk(X[300:])[accepted].mean()
    assert float(cells[1]) == pytest.approx(expected, abs=5.1e-5)
    with pytest.raises(ValueError, match="groups must be the same"):
        classifier.report(X[300:], y[300:], qid=np.zeros(200), groups=language)


def test_what_casts_doubt_on_a_report_stands_first(known, new):
    X, y = new.data, new.target
    loss = [[0, 5, 9], [1, 0, 1], [9, 5, 0]]
    ties = CostAbstainer(Ridge(), cost=0.9, tie_model="bradley_terry", loss=loss)
    ties.fit(known.data, known.target, qid=known.qid)
    decisions = ties.predict_pairs(X, qid=new.qid)
    n_ties, n = decisions.decided_tie.sum(), decisions.accepted.sum()
    assert n_ties >= 0.95 * n > 0
    page = ties.report(X, y, qid=new.qid)
    assert f"\n- {n_ties} of {n} decided pairs are called a tie: " in page
    assert page.index("## Verdict") < page.index("## Warnings") < page.index("## Data")
    assert "- loss: [[0.0, 5.0, 9.0], [1.0, 0.0, 1.0], [9.0, 5.0, 0.0]], a row " in page
    with pytest.warns(UserWarning, match="No threshold could be certified"):
        silent = RiskControlledRanker(Ridge(), max_risk=0.001, random_state=0).fit(
            known.data, known.target, qid=known.qid
        )
    few = new.qid < 20
    page = silent.report(X[few], y[few], qid=new.qid[few])
    doubts = page.split("## Warnings\n\n")[1].split("\n\n")[0].splitlines()
    assert doubts[0].startswith("- No threshold could be certified for max_risk=0.001")
    assert doubts[1] == "- no pair is decided"
    assert doubts[2].startswith("- queries with pairs that differ: ")
    verdict = page.split("## Verdict\n\n")[1].split("\n\n")[0]
    assert verdict == "NOT CERTIFIED. Nothing is decided, so nothing is promised."


def test_levels_are_no_more_than_the_risks_that_occur(monkeypatch, ranker, new):
    monkeypatch.setattr(_results, "_LEVELS", 7)
    items = replace(
        ranker._scored(new.data, new.qid), y=new.target.astype(float)
    ).ascending
    curve = LossCurve.of(ranker._calibration.engine, items)
    assert curve.pairs.shape[1] == curve.predicted.size == 7
    assert curve.pairs[:, -1].sum() == items.n_pairs


def test_a_forgotten_qid_is_on_the_page(ranker, new):
    one = ranker.report(new.data)
    assert f"the ranker was calibrated on {ranker.n_queries_}: if these are" in one
    assert "taken for one query" not in ranker.report(new.data, qid=new.qid)
    rows = new.qid == 3
    for qid in (new.qid[rows], 3):  # one query is meant
        page = ranker.report(new.data[rows], qid=qid)
        assert "taken for one query" not in page


def test_no_interval_of_the_loss_falls_below_zero():
    loss, pairs = np.array([[1.0], [0.0], [0.0], [0.0]]), np.full((4, 1), 9.0)
    curve = _results.LossCurve(None, pairs, loss, np.ones(1))
    _, table, _ = _results._about_risk(curve, SimpleNamespace(highest_loss=1.0)).blocks
    low, high = map(float, table.rows[0][2].split(" to "))
    assert low == 0
    assert high > 1 / 36
