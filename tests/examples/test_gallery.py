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
def test_08_guarantees(page, capsys):
    found = page("plot_08_guarantees")
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
        right[kind] = found["ranker"].score(X, y, qid=day)
    assert right["worn"] < 0.7 < 0.8 < right["new"]  # the bound is 0.2 for all together
    printed = capsys.readouterr().out
    assert "- CERTIFIED. With a probability of at least 0.9" in printed
    assert re.search(r"^\| worn \| \d+ \|.* to .*\|$", printed, flags=re.MULTILINE)


def test_14_auc(page, capsys):
    found = page("plot_14_auc")
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


def test_15_multilabel(page, capsys):
    found = page("plot_15_multilabel")
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
        few, all_pairs = (ranker.at_coverage(c).score(X, y) for c in (0.3, 1.0))
        assert few > all_pairs + 0.1


def test_16_label_rankings(page):
    found = page("plot_16_label_rankings")
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
