"""Every page of the gallery runs, and says what its prose says."""

import os
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = Path(os.environ.get("SKRANK_DATA", EXAMPLES.parents[1] / "shared" / "data"))
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


def test_10_top_sets(page, capsys):
    found = page("plot_10_top_sets")
    promised, kept, size = np.transpose(found["table"])
    # Of 500 calibration and 500 new queries: two standard errors are below 0.06.
    assert (kept > promised - 0.06).all()
    assert (np.diff(size) > 0).all()
    printed = re.findall(r"query \d+: (\d+) of (\d+) items", capsys.readouterr().out)
    assert len(printed) == 8
    assert all(1 <= int(some) <= int(items) for some, items in printed)
    display = found["display"]
    needed = np.interp(kept[-1], display.fixed_coverage, display.fixed_size)
    assert size[-1] < needed  # "sets of different sizes need fewer on average"


@pytest.mark.slow
def test_11_query_abstention(page):
    found = page("plot_11_query_abstention")
    assert found["accepted"].mean() == pytest.approx(0.5, abs=0.1)
    for all_lists, most, half in found["found"].values():
        assert half > most > all_lists
    assert found["certified"].certified_
    assert 0.4 < found["certified"].coverage_ < 1


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
def test_11_query_abstention_on_real_queries(page, monkeypatch):
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    found = page("plot_11_query_abstention")
    assert all(half > lists for lists, _, half in found["found"].values())
    assert not found["certified"].certified_  # 157 queries are too few


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "MQ2008").exists(), reason="needs MQ2008")
def test_10_top_sets_on_real_queries(page, monkeypatch):
    monkeypatch.setenv("SKRANK_DATA", str(DATA))
    promised, kept, size = np.transpose(page("plot_10_top_sets")["table"])
    # 157 calibration and 156 new queries.
    assert (kept > promised - 0.1).all()
    assert (np.diff(size) > 0).all()


def test_12_novelty(page):
    found = page("plot_12_novelty")
    assert found["power"]["EllipticEnvelope"] > 0.9
    assert found["power"]["IsolationForest"] < 0.2
    assert all(share < 0.07 for share in found["false_alarms"].values())
    plain, sound = (
        found["accuracy"][name] for name in ("no detector", "EllipticEnvelope")
    )
    assert plain[0] - plain[-1] > 0.1 > abs(sound[0] - sound[-1])
