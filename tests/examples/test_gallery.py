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
