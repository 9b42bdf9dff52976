"""Every page of the gallery runs, and says what its prose says."""

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGES = sorted(EXAMPLES.glob("plot_*.py"))


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a function that runs a page and returns its names; no data are found."""
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKRANK_DATA", str(tmp_path))
    monkeypatch.setattr(plt, "show", lambda: None)
    yield lambda name: runpy.run_path(str(EXAMPLES / f"{name}.py"))
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


def test_01_quickstart(page, capsys):
    asked, decided, accuracy = np.transpose(page("plot_01_quickstart")["table"])
    # 780 pairs of ten later days: the coverage is within sampling error.
    assert np.abs(decided - asked).max() < 0.1
    assert accuracy[-1] > accuracy[0] + 0.1
    assert Path("out", "quickstart.png").stat().st_size > 10_000
    assert re.search(r"patient \d+ or patient \d+\?", capsys.readouterr().out)


def test_02_displays(page):
    pytest.importorskip("lightgbm")
    found = page("plot_02_displays")
    assert len(plt.get_fignums()) == 5
    new = found["new"]
    half = [
        found["rankers"][name].at_coverage(0.5).score(new.data, new.target, qid=new.qid)
        for name in found["two"]
    ]
    assert half[1] > half[0]  # "a lower curve is better": graded relevance is lower


@pytest.mark.slow
def test_03_grid_search(page, capsys):
    pytest.importorskip("lightgbm")
    found = page("plot_03_grid_search")
    table, search = found["table"], found["search"]
    assert len(table) == 5 * 2 * 2
    chosen = table.loc[search.best_index_]
    assert chosen["utility"] == table["utility"].max()
    assert 0.1 < chosen["coverage"] < 1
    # Asking about every pair is worth 0.6, and deciding every pair is worth less.
    full = table["utility"][table["coverage"] == 1]
    assert chosen["utility"] > 0.62 > 0.58 > full.max()
    # Accuracy prefers the lowest coverage, whatever the model.
    for _, rows in table.groupby(["leaves", "tie model"]):
        assert rows["coverage"][rows["accuracy"].idxmax()] == 0.1
    # Only a high coverage reaches the pairs at which tie models differ.
    worth = table.groupby(["coverage", "tie model"])["utility"].mean().unstack()
    gap = worth.max(axis=1) - worth.min(axis=1)
    assert gap[gap.index >= 0.5].min() > gap[gap.index <= 0.3].max()
    later = re.findall(r": utility ([\d.]+), .* decided", capsys.readouterr().out)
    assert float(later[0]) > 0.6 > float(later[1])


@pytest.mark.slow
def test_09_review_loop(page):
    pytest.importorskip("lightgbm")
    found = page("plot_09_review_loop")
    answers, right, expected, ann, bo, best = np.transpose(found["rounds"])
    assert answers.tolist() == list(range(0, 180, 20))
    assert right[-1] > right[0] + 0.15
    assert abs(expected[-1] - right[-1]) < 0.04
    assert bo[-1] > ann[-1] + 0.02
    assert best[-1] < best[0] / 2
    before, after = (bars(ax) for ax in plt.figure(1).axes)
    assert after.mean() < before.mean() - 1  # in ranks
    curves = found["curves"]
    others = [curves[name]["accuracy"][-1] for name in ("top", "random")]
    assert curves["pairs"]["accuracy"][-1] > max(others) + 0.03
    others = [curves[name]["ndcg"][2] for name in ("pairs", "random")]
    assert curves["top"]["ndcg"][2] > max(others) + 0.015


def bars(ax):
    """Return the lengths of the intervals that a display of ranks shows."""
    segments = np.array(ax.collections[0].get_segments())
    return segments[:, 1, 0] - segments[:, 0, 0]


def test_13_pairwise_classifier(page, capsys):
    asked, decided, accuracy = np.transpose(
        page("plot_13_pairwise_classifier")["table"]
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


@pytest.mark.slow
def test_17_dask(page, capsys):
    for name in ("lightgbm", "dask", "distributed"):
        pytest.importorskip(name)
    found = page("plot_17_dask")
    ranker, alone, sums = found["ranker"], found["alone"], found["found"]
    # Calibrated as one machine would, to the last bit.
    assert ranker.threshold_ == alone.threshold_
    assert ranker.coverage_ == alone.coverage_
    assert (ranker.n_queries_, ranker.n_pairs_) == (80, 80 * 780)
    low, high = ranker.coverage_interval_
    at = dict(zip(sums["asked for"], sums["decided"], strict=True))
    assert low - 0.01 < at[0.7] < high + 0.01
    assert (sums["right of these"].diff()[1:] < 0).all()
    assert (found["todo"].compute()["risk"] > ranker.threshold_).all()
    assert re.search(r"8-\d+ +item \d+ +item \d+", capsys.readouterr().out)
