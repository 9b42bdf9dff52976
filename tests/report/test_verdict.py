"""The verdict and the warnings of a page, as an auditor reads them."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.datasets import make_ranking

TRAIN, PAST, NEW = (
    make_ranking(n_queries=n, random_state=seed)
    for seed, n in enumerate((100, 400, 100))
)
MODEL = Ridge().fit(TRAIN.data, TRAIN.target)
SITE = np.array(["north", "south"])


def certified(**params):
    ranker = RiskControlledRanker(MODEL, random_state=0, **params)
    site = SITE[PAST.qid % 2]
    return ranker.fit(PAST.data, PAST.target, qid=PAST.qid, groups=site)


@pytest.fixture(scope="module")
def ranker():
    return certified(max_risk=0.3)


def part(page, title):
    return page.split(f"## {title}\n\n")[1].split("\n\n## ")[0]


def drifted(noise):
    random = np.random.default_rng(0)
    return NEW.data + random.normal(0, noise, NEW.data.shape)


@pytest.mark.parametrize(
    ("noise", "lies"), [(0, "below"), (1.2, "around"), (9, "above")]
)
def test_the_verdict_says_how_the_interval_lies_to_the_bound(ranker, noise, lies):
    X, y, qid = drifted(noise), NEW.target, NEW.qid
    page = ranker.report(X, y, qid=qid)
    verdict = part(page, "Verdict")
    found = ranker.evaluate(X, y, qid=qid).discordance_interval("queries")
    value, low, high = (f"{100 * each:.3g} %" for each in found)
    assert (
        f"Observed in 100 queries: of the decided pairs that differ, {value} (95 % "
        f"interval {low} to {high}) are in the wrong order (a coin: 50 %), each query "
        f"counting alike. This interval lies {lies} the bound of 30 %: "
    ) in verdict
    assert lies == (
        "below" if found[2] < 0.3 else "above" if found[1] > 0.3 else "around"
    )
    assert "at most 30 % are in the wrong order" in verdict
    broken = "the observed discordance" in page and part(page, "Warnings")
    assert bool(broken) == (lies == "above")
    # Who reads one sentence reads what matters.
    first = "WHAT WAS PROMISED DOES NOT HOLD HERE: " if broken else "CERTIFIED. "
    assert verdict.strip().startswith(first)
    if broken:
        assert "above the bound of 30 %: WHAT WAS PROMISED DOES NOT HOLD HERE" in broken


def test_without_a_promise_the_verdict_has_the_wrong_orders_of_all_pairs():
    ranker = BALToR(MODEL, coverage=0.6, random_state=0)
    ranker.fit(PAST.data, PAST.target, qid=PAST.qid)
    verdict = part(ranker.report(NEW.data, NEW.target, qid=NEW.qid), "Verdict")
    wrong = ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid).discordance_interval(
        "pairs"
    )
    value, low, high = (f"{100 * each:.3g} %" for each in wrong)
    assert verdict.startswith("NOTHING IS PROMISED about errors")
    assert f" {value} (95 % interval {low} to {high}) are in the wrong order" in verdict
    assert "There is no bound to hold this against." in verdict
    unlabelled = part(ranker.report(NEW.data, qid=NEW.qid), "Verdict")
    assert "NO LABELS" in unlabelled
    assert "bound" not in unlabelled


@pytest.mark.parametrize("labelled", [True, False])
def test_a_guaranteed_coverage_is_held_against_its_bound(labelled):
    ranker = BALToR(
        MODEL, coverage=0.6, coverage_guarantee="hierarchical", random_state=0
    ).fit(PAST.data, PAST.target, qid=PAST.qid)
    y = NEW.target if labelled else None
    verdict = part(ranker.report(NEW.data, y, qid=NEW.qid), "Verdict")
    totals = ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid)
    mean = 100 * np.mean(totals.accepted / totals.pairs)
    assert f"The coverage is {mean:.3g} % (95 % interval " in verdict
    assert " the bound of 60 %" in verdict


@pytest.mark.filterwarnings("ignore:delta=0.6 ")
def test_every_warning_of_fit_is_on_the_page():
    ranker = RiskControlledRanker(
        MODEL, max_risk=0.45, delta=0.6, bound="loss", random_state=0
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ranker.fit(PAST.data, PAST.target, qid=PAST.qid)
    said = {str(each.message) for each in seen}
    assert any("promises next to nothing" in each for each in said)
    assert any(each.startswith("delta=0.6 ") for each in said)
    page = ranker.report(NEW.data, NEW.target, qid=NEW.qid)
    assert said <= {line[2:] for line in part(page, "Warnings").splitlines()}
    # A copy with another bound has the warnings of its own choice alone.
    page = ranker.at_risk(0.2).report(NEW.data, NEW.target, qid=NEW.qid)
    assert "promises next to nothing" not in page


@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_what_report_warns_of_is_on_the_page(ranker):
    page = ranker.report(PAST.data, PAST.target, qid=PAST.qid)
    assert "were in the calibration data of fit, with equal" in part(page, "Warnings")
    changed = certified(max_risk=0.3).set_params(max_risk=0.2)
    with pytest.warns(UserWarning, match="Parameters were set after fit"):
        page = changed.report(NEW.data, NEW.target, qid=NEW.qid)
    assert "- Parameters were set after fit: " in part(page, "Warnings")


def test_bounds_that_were_tried_leave_a_trace():
    ranker = certified(max_risk=0.3)
    assert "bounds tested" not in ranker.report(NEW.data, NEW.target, qid=NEW.qid)
    tried = [ranker.at_risk(bound) for bound in (0.25, 0.2, 0.25)]
    for each in (ranker, *tried):
        page = each.report(NEW.data, NEW.target, qid=NEW.qid)
        assert "- bounds tested since fit: 0.3, 0.25, 0.2. " in part(page, "Warnings")


def test_a_site_that_was_never_certified_is_named(ranker):
    site = np.array(["north", "south", "west"])[NEW.qid % 3]
    page = ranker.report(NEW.data, NEW.target, qid=NEW.qid, groups=site)
    doubt = "- never certified: west; the promise is about north, south"
    assert doubt in part(page, "Warnings").splitlines()
    assert f"Part of it was {doubt[2:]}." in part(page, "Verdict")
    page = ranker.report(NEW.data, NEW.target, qid=NEW.qid, groups=SITE[NEW.qid % 2])
    assert "never certified" not in page


def test_the_table_of_sites_counts_as_their_certificate_does(ranker):
    X = np.where(NEW.qid[:, None] % 2, NEW.data, drifted(9))
    site = SITE[NEW.qid % 2]
    page = ranker.report(X, NEW.target, qid=NEW.qid, groups=site)
    by_group = ranker.evaluate(X, NEW.target, qid=NEW.qid, groups=site).by_group
    for name, totals in by_group.items():
        value, low, high = totals.discordance_interval("queries")
        cell = f"| {value:.3f} ({low:.3f} to {high:.3f}) |"
        [row] = [each for each in page.splitlines() if each.startswith(f"| {name} |")]
        assert cell in row
    assert "Shares, each query counting alike. " in part(page, "By group")
    doubts = part(page, "Warnings").splitlines()
    [doubt] = [
        each for each in doubts if each.startswith("- group north: the observed ")
    ]
    assert doubt.endswith(
        "above the bound of 30 %: WHAT WAS PROMISED DOES NOT HOLD HERE"
    )
    assert "- group south: " not in page
    # Without a certificate of its own no promise about a site is broken.
    site = np.where(site == "north", "west", site)
    page = ranker.report(X, NEW.target, qid=NEW.qid, groups=site)
    [doubt] = [each for each in page.splitlines() if each.startswith("- group west: ")]
    assert doubt.endswith("the bound of 30 %, which was not promised for it alone")


def test_one_quantity_has_one_name(ranker):
    page = ranker.report(NEW.data, NEW.target, qid=NEW.qid)
    rows = [
        line.split(" | ")[0][2:] for line in part(page, "On these data").splitlines()
    ]
    for name in ("coverage: ", "discordance: ", "selective risk: "):
        pooled, alike = [row for row in rows if row.startswith(name)]
        assert alike == f"{pooled}, each query counting alike"
