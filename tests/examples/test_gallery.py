"""Every page of the gallery runs, and says what its prose says."""

import os
import re
import runpy
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from skrank_abstain.displays import PairReliabilityDisplay

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = Path(os.environ.get("SKRANK_DATA", EXAMPLES.parents[1] / "shared" / "data"))
PAGES = sorted(EXAMPLES.glob("plot_*.py"))


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a function that runs a page and returns its names; no data are found."""
    mpl.use("Agg")
    plt.close("all")  # those of other tests
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKRANK_DATA", str(tmp_path))
    monkeypatch.setattr(plt, "show", lambda: None)

    def run(name):
        with warnings.catch_warnings():
            # The site would print them above what the page shows.
            warnings.filterwarnings("error", "Only|More than|All")
            found = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        for figure in map(plt.figure, plt.get_fignums()):
            # A title is all that is said of a figure to who cannot see it.
            assert figure.get_suptitle() or any(ax.get_title() for ax in figure.axes)
        return found

    yield run
    plt.close("all")


def test_pages_are_numbered_as_a_course():
    numbers = [int(re.match(r"plot_(\d\d)_", path.name)[1]) for path in PAGES]
    assert numbers == list(range(1, len(PAGES) + 1))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_are_cells_with_prose_first(path):
    text = path.read_text(encoding="utf-8")
    title, line, blank, *_ = text.removeprefix('"""\n').splitlines()
    assert (line, blank) == ("=" * len(title), "")
    assert not re.search("argparse|__main__", text)  # top level, no arguments
    code = re.split(r"^# %%.*$", text, flags=re.MULTILINE)
    assert len(code) > 3
    assert all(cell.lstrip().startswith("#") for cell in code[1:])


def check_tie_models(accuracy):
    # "The models that know more than the difference are above the others."
    counts, difference, *others = accuracy.values()
    assert len(others) == 2
    for more in others:
        assert more[-1] > difference[-1] + 0.02
    assert np.less(counts, difference).all()


def check_losses(rows):
    shares = {(name, coverage): rest for name, coverage, *rest in rows}
    for coverage in (0.9, 0.7, 0.5):
        orders, _, _, ties, top = shares["zero_one", coverage]
        free, wrong, equal, no_ties, free_top = shares["misranking", coverage]
        clear, clear_wrong, clear_equal, few_ties, clear_top = shares[
            "clear_order", coverage
        ]
        # "part of the budget goes to ties"
        assert ties > 0.1 > max(few_ties, no_ties)
        assert min(free, clear) > orders + 0.1
        # "its orders are seldom wrong, and say less about who is on top"
        assert wrong / free < clear_wrong / clear
        assert equal / free > clear_equal / clear
        assert clear_top > free_top + 0.1 > top
    # "at as many orders it has the fewest wrong ones": half, beside the default's 70 %
    few, few_wrong = shares["zero_one", 0.7][:2]
    many, wrong = shares["misranking", 0.5][:2]
    assert few < many
    assert wrong * few <= few_wrong * many


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
@pytest.mark.parametrize(
    ("name", "found", "check"),
    [
        ("plot_03_tie_models", "accuracy", check_tie_models),
        ("plot_05_losses", "rows", check_losses),
    ],
)
def test_pages_say_the_same_of_real_data(page, monkeypatch, name, found, check):
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    check(page(name)[found])


def bars(ax):
    """Return the lengths of the intervals that a display of ranks shows."""
    segments = np.array(ax.collections[0].get_segments())
    return segments[:, 1, 0] - segments[:, 0, 0]


def test_01_quickstart(page, capsys):
    asked, decided, wrong = np.transpose(page("plot_01_quickstart")["table"])
    # 780 pairs of ten later days: the coverage is within sampling error.
    assert np.abs(decided - asked).max() < 0.05
    assert wrong[-1] < wrong[0] / 2
    assert (wrong < 0.5 / 2).all()
    assert Path("out", "quickstart.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert re.search(r"patient \d+ or patient \d+\?", said)
    assert "of the decided pairs that differ, in the wrong order" in said
    assert re.search(r"a coin +50\.0%", said)


def test_02_displays(page):
    pytest.importorskip("lightgbm")
    found = page("plot_02_displays")
    assert len(plt.get_fignums()) == 5
    new = found["new"]
    half = [
        found["rankers"][name]
        .at_coverage(0.5)
        .evaluate(new.data, new.target, qid=new.qid)
        .selective_risk
        for name in found["two"]
    ]
    assert half[1] < half[0]  # "a lower curve is better": graded relevance is lower


@pytest.mark.slow
def test_03_tie_models(page):
    pytest.importorskip("lightgbm")
    found = page("plot_03_tie_models")
    check_tie_models(found["accuracy"])
    assert len(plt.get_fignums()) == 2
    # "Far too sure": the mean distance from the diagonal, over pairs, here read anew.
    off = []
    for name in ("bradley_terry (counts)", "bradley_terry", "graded_relevance"):
        new = found["new"]
        display = PairReliabilityDisplay.from_estimator(
            found["rankers"][name], new.data, new.target, qid=new.qid
        )
        distance = np.abs(display.prob_true - display.prob_pred)
        off.append(np.average(distance, axis=1, weights=display.n_pairs).max())
    assert off[0] > 0.15 > 0.03 > max(off[1:])


def test_04_ensembles(page, capsys):
    pytest.importorskip("lightgbm")
    found = page("plot_04_ensembles")
    curves = [line.get_ydata() for line in plt.gcf().axes[0].lines[:3]]
    right = {name: totals.accuracy for name, totals in found["totals"].items()}
    assert right["ensemble"] > max(right["booster"], right["early stopping"]) + 0.03
    plain, stopped, ensemble = (np.mean(curve) for curve in curves)
    assert ensemble < min(plain, stopped) - 0.03
    printed = capsys.readouterr().out
    together, alone = re.findall(r"[+-]\d\.\d\d", printed)
    assert together != alone
    assert "qid must be given, got None" in printed


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
def test_04_ensembles_on_real_queries(page, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    right = {
        name: totals.accuracy
        for name, totals in page("plot_04_ensembles")["totals"].items()
    }
    assert right["ensemble"] > right["booster"]


def test_05_losses(page, capsys):
    pytest.importorskip("lightgbm")
    check_losses(page("plot_05_losses")["rows"])
    printed = re.findall(
        r"^(\w+) +(0\.\d+) +(0\.\d+) +(0\.\d+)$", capsys.readouterr().out, re.M
    )
    # One minus the zero-one loss is the accuracy.
    kept, blind, accuracy = np.array([row[1:] for row in printed], dtype=float).T
    assert kept[0] == accuracy[0]
    assert (kept > blind + 0.05).all()
    # Under other losses an order of equals is a wrong label, but not a wrong order.
    assert kept[1] > accuracy[0] + 0.02 > accuracy[1:].max() + 0.02


def test_06_cost_or_budget(page, capsys):
    found = page("plot_06_cost_or_budget")
    out = capsys.readouterr().out
    alike = re.findall(r"^ +0\.\d0 +[\d.]+% +([\d.]+)%$", out, re.M)
    # Up to calibration pairs of equal risk.
    assert len(alike) == 4
    assert min(map(float, alike)) > 99.9
    easy, hard = (
        np.array(re.findall(r"[\d.]+(?=%)", row), dtype=float)
        for row in re.findall("^(?:easy|hard) pairs.*$", out, re.M)
    )
    assert hard[0] < easy[0] - 10  # a price buys fewer decisions
    assert hard[2] == pytest.approx(easy[2], abs=3)  # a budget as many
    assert hard[3] < easy[3] - 5  # and lets the errors grow
    assert easy[1] - hard[1] < easy[3] - hard[3]
    new, budget = found["new"], found["budget"]
    points = list(zip(found["decided"], found["right"], strict=True))
    for coverage, right in points[:18]:  # the last decides nearly all
        at = budget.at_coverage(coverage)
        totals = at.evaluate(new.data, new.target, qid=new.qid)
        assert 1 - totals.selective_risk > right
    assert points[0][1] > points[18][1] + 0.03  # "the dashed curve rises as well"


@pytest.mark.slow
def test_07_grid_search(page, capsys):
    pytest.importorskip("lightgbm")
    found = page("plot_07_grid_search")
    table, search = found["table"], found["search"]
    assert len(table) == 5 * 2 * 2
    chosen = table.loc[search.best_index_]
    assert chosen["utility"] == table["utility"].max()
    assert 0.1 < chosen["coverage"] < 1
    # Asking about every pair is worth 0.85.
    full = table["utility"][table["coverage"] == 1]
    assert chosen["utility"] > max(0.85, full.max()) + 0.02
    # The share of right orders prefers the lowest coverage, whatever the model.
    for _, rows in table.groupby(["leaves", "tie model"]):
        assert rows["coverage"][rows["in order"].idxmax()] == 0.1
    # "The tie models hardly differ."
    worth = table.groupby(["coverage", "leaves", "tie model"])["utility"].mean()
    gap = np.ptp(worth.unstack().to_numpy(), axis=1)
    assert gap.max() < 0.006
    later = re.findall(r": utility ([\d.]+), .* decided", capsys.readouterr().out)
    # "Worth more than asking about every pair, and more than deciding every pair."
    assert float(later[0]) > max(0.85, float(later[1])) + 0.005


@pytest.mark.slow
def test_08_coverage_of_new_queries(page):
    found = page("plot_08_coverage_of_new_queries")
    plain, promised = found["plain"], found["promised"]
    scatter = np.array([plain[n][:, 0].std() for n in (12, 48, 192)])
    for n, spread in zip((12, 48, 192), scatter, strict=True):
        decided, per_query, low, high = plain[n].T
        error = spread / np.sqrt(decided.size)
        assert decided.mean() == pytest.approx(0.7, abs=3 * error)
        # 19 of 20; of 20 draws fewer than 16 would be chance in one of 400 cases.
        assert np.mean((low <= decided) & (decided <= high)) >= 0.8
        error = promised[n][:, 1].std() / np.sqrt(decided.size)
        assert promised[n][:, 1].mean() > 0.7 - 2 * error
        assert promised[n][:, 1].mean() > per_query.mean()
    # A half with four times as many; a standard deviation of 20 is known to 16 %.
    np.testing.assert_allclose(scatter[1:] / scatter[:-1], 0.5, atol=0.25)
    cost = [promised[n][:, 1].mean() - 0.7 for n in (12, 192)]
    assert cost[0] > 0.05 > 0.03 > cost[1]


@pytest.mark.slow
def test_09_guarantees(page):
    found = page("plot_09_guarantees")
    broken, delta, device = found["broken"], found["delta"], found["device"]
    # Two standard errors of a share of 30 draws that is delta.
    luck = 2 * np.sqrt(delta * (1 - delta) / 30)
    assert broken["queries"] < delta + luck < broken["pairs, binomial"]
    decided = {name: np.mean(values) for name, values in found["coverage"].items()}
    assert decided["pairs, binomial"] > decided["queries"] > 0.5
    right = {}
    for kind in np.unique(device):
        rows = found["new"] & (device == kind)
        X, y, day = (found[name][rows] for name in ("X", "y", "day"))
        right[kind] = 1 - found["ranker"].evaluate(X, y, qid=day).selective_risk
    assert right["worn"] < 0.7 < 0.8 < right["new"]  # the bound is 0.2 for all together
    assert "\n\nCERTIFIED. " in found["page"]
    assert "at most 10 % end in a promise that fails" in found["page"]
    assert re.search("group worn: .* above .* not promised for it", found["page"])
    assert re.search(
        r"^\| worn \| \d+ \|.* to .*\|$", found["page"], flags=re.MULTILINE
    )


@pytest.mark.slow
def test_10_review_loop(page):
    pytest.importorskip("lightgbm")
    found = page("plot_10_review_loop")
    answers, right, expected, ann, bo, best = np.transpose(found["rounds"])
    assert answers.tolist() == list(range(0, 180, 20))
    assert right[-1] > right[0] + 0.15
    assert abs(expected[-1] - right[-1]) < 0.04
    # 5 % and 20 % are wrong, half of them reversed.
    assert (ann[-1], bo[-1]) == pytest.approx((0.025, 0.1), abs=0.03)
    assert best[-1] < 0.75 * best[0]  # "two pairs at first and one in the end"
    before, after = (bars(plt.figure(number).axes[0]) for number in (1, 2))
    assert after.mean() < before.mean() - 0.2  # in ranks; one day differs from another
    before, after = (found[name].rank_intervals() for name in ("before", "review"))
    assert np.diff(after).mean() < np.diff(before).mean() - 1  # all ten days
    curves = found["curves"]
    random = curves["random"]["accuracy"][-1]
    assert curves["pairs"]["accuracy"][-1] > random + 0.05
    assert curves["top"]["accuracy"][-1] > random + 0.03
    others = [curves[name]["ndcg"][2] for name in ("pairs", "random")]
    # Here .0144; .0125 over eight draws (standard error .004).
    assert curves["top"]["ndcg"][2] > max(others) + 0.01


@pytest.mark.slow
def test_11_dask(page, capsys):
    for name in ("lightgbm", "dask", "distributed"):
        pytest.importorskip(name)
    found = page("plot_11_dask")
    ranker, alone, sums = found["ranker"], found["alone"], found["found"]
    # Calibrated as one machine would, to the last bit.
    assert ranker.threshold_ == alone.threshold_
    assert ranker.coverage_ == alone.coverage_
    assert (ranker.n_queries_, ranker.n_pairs_) == (80, 80 * 780)
    low, high = ranker.coverage_interval_
    at = dict(zip(sums["asked for"], sums["decided"], strict=True))
    assert low - 0.01 < at[0.7] < high + 0.01
    assert (sums["wrong order"].diff()[1:] > 0).all()
    assert (found["todo"].compute()["risk"] > ranker.threshold_).all()
    assert re.search(r"8-\d+ +item \d+ +item \d+", capsys.readouterr().out)


def test_12_monitor(page, capsys):
    found = page("plot_12_monitor")
    days = found["monitor"].days
    before = [max(days[f"{day}"]) for day in range(1, found["change"])]
    assert max(before) < 20
    assert found["change"] <= int(found["first"]) < found["change"] + 8
    # "A few kilobytes".
    printed = capsys.readouterr().out
    assert 1 < float(re.search(r"state: (\d+) kB", printed)[1]) < 6
    audited = found["audited"]
    assert audited.alarm
    # "One in sixteen in spring", and the margin of .02.
    assert audited.bound == pytest.approx(1 / 16 + 0.02, abs=0.01)
    assert audited.judged[0] / audited.judged[1] == pytest.approx(1 / 6, abs=0.06)


def test_13_top_sets(page, capsys):
    found = page("plot_13_top_sets")
    promised, kept, size = np.transpose(found["table"])
    # Of 500 calibration and 500 new queries: two standard errors are below 0.06.
    assert (kept > promised - 0.06).all()
    assert (np.diff(size) > 0).all()
    printed = re.findall(r"query \d+: (\d+) of (\d+) items", capsys.readouterr().out)
    assert len(printed) == 8
    assert all(1 <= int(some) <= int(items) for some, items in printed)
    # 70 % of 500 queries set the threshold, in whole items.
    assert 0.9 - 0.02 < found["results"].share < 0.95
    display = found["display"]
    needed = np.interp(kept[-1], display.fixed_coverage, display.fixed_size)
    assert size[-1] < needed  # "sets of different sizes need fewer on average"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
def test_13_top_sets_on_real_queries(page, monkeypatch):
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    promised, kept, size = np.transpose(page("plot_13_top_sets")["table"])
    # 157 calibration and 156 new queries.
    assert (kept > promised - 0.1).all()
    assert (np.diff(size) > 0).all()


@pytest.mark.slow
def test_14_query_abstention(page):
    found = page("plot_14_query_abstention")
    assert found["lists"].accepted.mean() == pytest.approx(0.5, abs=0.1)
    for all_lists, most, half in found["found"].values():
        assert half > most > all_lists
    assert found["certified"].certified_
    assert 0.4 < found["certified"].coverage_ < 1


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
def test_14_query_abstention_on_real_queries(page, monkeypatch):
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    found = page("plot_14_query_abstention")
    assert all(half > lists for lists, _, half in found["found"].values())
    assert not found["certified"].certified_  # 157 queries are too few


def test_15_novelty(page):
    found = page("plot_15_novelty")
    assert found["power"]["EllipticEnvelope"] > 0.9
    assert found["power"]["IsolationForest"] < 0.2
    assert all(share < 0.07 for share in found["false_alarms"].values())
    plain, sound = (found["kept"][name] for name in ("no detector", "EllipticEnvelope"))
    # Wrong orders double without the right detector, and stay as they are with it.
    assert 1 - plain[-1] > 2 * (1 - plain[0])
    assert abs(sound[0] - sound[-1]) < 0.02


def test_16_pairwise_classifier(page, capsys):
    asked, decided, accuracy = np.transpose(
        page("plot_16_pairwise_classifier")["table"]
    )
    # 4500 comparisons of 300 new sessions, calibrated on 150.
    np.testing.assert_allclose(decided, asked, rtol=0, atol=0.06)
    assert (np.diff(accuracy) > 0).all()
    assert accuracy[-1] > accuracy[0] + 0.2
    reliable, risk = (plt.figure(number).axes[0] for number in plt.get_fignums())
    # The standard error of a marker, 450 comparisons, is 0.024 at most.
    curves = [line for line in reliable.lines if line.get_label()[0] != "_"]
    for line in curves[:3]:
        predicted, observed = line.get_data()
        assert np.abs(predicted - observed).mean() < 0.03
    classifier, best = (line.get_ydata() for line in risk.lines)
    assert best.mean() < classifier.mean() - 0.03
    printed = re.search(r"loss ([\d.]+); .* be ([\d.]+)\.$", capsys.readouterr().out)
    loss, least = map(float, printed.groups())
    assert least < loss < least + 0.15


def test_17_leaderboard(page, capsys):
    found = page("plot_17_leaderboard")
    told = capsys.readouterr().out
    # Equals are in no order, and the usual rule puts some in one.
    assert np.mean(found["by_board"]) <= 0.1
    assert np.mean(found["by_intervals"]) > 0.2
    assert "model_a model_b  winner  voter" in told
    # Those of the first group share the first places.
    ranking = found["ranking"]
    assert all(name.startswith("A") for name in ranking.item_id[:5])
    assert (ranking.best[:5] == 1).all()
    assert len(found["questions"]) == 5
    assert "Fragility(leader='A" in told
    # Among equals there is next to nothing to decide.
    assert (found["needed"].more[:4] > 10_000).all()


def test_18_multilabel(page, capsys):
    found = page("plot_18_multilabel")
    names = list(found["scores"])
    for kind in found["kinds"]:
        constant, *learned = (found["losses"][name, kind].mean() for name in names)
        assert max(learned) < constant / 2
    printed = capsys.readouterr().out
    rows = re.findall(r"^ +(\d)  \w+ +\*? +(\d) to (\d)$", printed, flags=re.MULTILINE)
    place, best, worst = np.array(rows, dtype=int).T
    np.testing.assert_array_equal(place, [1, 2, 3, 4, 5])
    assert (best <= place).all()
    assert (place <= worst).all()
    assert ((best > 1) | (worst < 5)).any()  # something is decided
    X, y = found["X"][found["new"]], found["y"][found["new"]]
    for ranker in found["rankers"].values():
        few, every = (
            ranker.at_coverage(c).evaluate(X, y).selective_risk for c in (0.3, 1.0)
        )
        assert few < every / 2


def test_19_label_rankings(page):
    found = page("plot_19_label_rankings")
    correctness, completeness = {}, {}
    for key, scores in found["found"].items():
        correctness[key], completeness[key] = np.transpose(scores)
    for name in found["rankers"]:
        chosen, by_lot = (correctness[name, rule] for rule in found["left_open"])
        assert (np.diff(chosen) > 0).all()
        assert chosen[-1] > chosen[0] + 0.2
        # Three standard errors of the 800 pairs of the last.
        assert np.abs(by_lot - chosen[0]).max() < 3 / np.sqrt(800)
        for rule in found["left_open"]:
            share = completeness[name, rule]
            assert share == pytest.approx(found["coverages"], abs=0.05)
    constant, *learned = (correctness[name, "least sure"] for name in found["rankers"])
    assert (np.min(learned, axis=0) > constant + 0.3).all()


@pytest.mark.slow
def test_20_auc(page, capsys):
    found = page("plot_20_auc")
    rows = re.findall(r"([\d.]+), ([\d.]+) to ([\d.]+)", capsys.readouterr().out)
    auc, low, high = np.array(rows, dtype=float).T
    assert np.unique(auc).size == 1
    width = dict(zip(("delong", "bootstrap", "hoeffding"), high - low, strict=True))
    assert width["hoeffding"] > 2 * width["delong"]
    assert width["bootstrap"] == pytest.approx(width["delong"], rel=0.15)
    # Three standard errors of a share of 200 samples.
    held = {name: np.mean(values) for name, values in found["holds"].items()}
    assert held["for queries"] == pytest.approx(0.95, abs=0.047)
    assert held["for items"] < 0.95 - 0.047
    one, best = (
        found["auc_sample_size"](0.05, bound, delta=0.05, positive_share=0.25)
        for bound in (found["auc_test_set_bound"], found["best"])
    )
    assert one < best < tuple(2 * count for count in one)  # "but little"
    halves = []
    for ax in found["axes"]:
        linear, best, one, measured, _ = (line.get_ydata() for line in ax.lines)
        assert (linear > best).all()
        assert (best > one).all()
        assert (one[[0, 20, 40]] > measured).all()
        halves.append(found["sizes"][np.argmax(linear < 0.5)])
        assert halves[-1] > 5 * found["sizes"][np.argmax(one < 0.5)]
    assert halves[0] < halves[1]  # the rarer class decides


def test_21_clinic_day(page, capsys):
    pytest.importorskip("lightgbm")
    found = page("plot_21_clinic_day")
    before, after = (found[name].ranking() for name in ("before", "after"))
    # "Bea is first. Six others may be among the first three."
    assert (before.item_id[0], before.worst[0]) == ("Bea", 1)
    assert ((before.best <= 3) & (before.worst > 3)).sum() == 6
    # "No bar crosses the line." Kofi, seventh before, takes the slot of Dora.
    assert not ((after.best <= 3) & (after.worst > 3)).any()
    assert set(after.item_id[:3]) - set(before.item_id[:3]) == {"Kofi"}
    assert set(before.item_id[:3]) - set(after.item_id[:3]) == {"Dora"}
    assert before.item_id[6] == "Kofi"
    grade = dict(zip(found["NAMES"], found["y"][found["today"]], strict=True))
    assert (grade["Kofi"], grade["Dora"]) == (4, 3)
    told = capsys.readouterr().out
    assert told.count("Who is more urgent") == 5
    assert "12% of the decided pairs are in the wrong order; by a coin 39%" in told
    # Slots well used, of 30, and the questions of ten days.
    asked, alone, used = np.transpose(list(found["found"].values()))
    assert alone.tolist() == [23, 23, 23]
    assert used[1] == 27
    assert used[2] <= used[1]
    assert asked[1:] == pytest.approx([2.4, 5.1])
    assert used[0] < used[1]
    assert "does not guarantee an accuracy" in found["page"]


def test_22_search_week(page, capsys):
    pytest.importorskip("lightgbm")
    found = page("plot_22_search_week")
    told = capsys.readouterr().out
    assert "60 rated queries: not certified, decides 0%" in told
    assert found["shares"][300] == pytest.approx(0.67, abs=0.04)
    # "Isla stays; the next five may change places."
    today = found["today"]
    assert found["pinned"].tolist() == ["Isla"]
    assert (today.best[1:6] == 2).all()
    assert (today.worst[1:6] == 6).all()
    # The index breaks at noon, and the team stops at the alarm.
    display = plt.figure(2).axes[0]
    (evidence,) = (line.get_ydata() for line in display.lines[:1])
    hours = found["hours"][: evidence.size]
    assert found["hour"] == hours[-1]
    assert hours[-1] in {"Thu 12:00", "Thu 13:00"}  # "within two hours"
    assert (evidence[: hours.index("Thu 12:00")] < 2).all()
    # "About three in ten are wrong"; two standard errors of 39 answers are 0.15.
    assert found["audited"].alarm
    assert found["thursday"] == pytest.approx(0.3, abs=0.1)
    assert not found["monitor"].alarm
    assert found["monitor"].bets.n == 60  # lists of two pairs, as the page says
    assert found["truth"].discordance < 0.1


@pytest.mark.slow
def test_23_arena(page, capsys):
    found = page("plot_23_arena")
    told = capsys.readouterr().out
    first, boards = found["first"].ranking(), found["boards"]
    last = boards[-1].ranking()
    # "Five systems may be first."
    leaders = ["Heron", "Finch", "Dove", "Lark", "Egret"]
    assert first.item_id[first.best == 1].tolist() == leaders
    assert "without 7 of the votes Finch would lead" in told
    assert "without 66 of the votes Lark would lead" in told
    # "It stops on day 7: Heron is the winner."
    assert len(boards) == 8
    assert last.item_id[last.best == 1].tolist() == ["Heron"]
    assert set(found["battles"]) == {
        "Finch against Heron",
        "Dove against Heron",
        "Dove against Finch",
    }
    assert set(found["false"].values()) == {0}
    assert [share[14] for share in found["settled"].values()] == [9 / 12, 0]
