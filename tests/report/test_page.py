"""The report as one page with pictures, and in a notebook."""

import base64
import copy
import io
import pickle
import re
import sys
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from skrank_abstain import BALToR
from skrank_abstain.report import Report, Section, Table


class Page(HTMLParser):
    """A page taken apart; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.images, self.texts = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs))
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def pictures(page):
    """Return the pictures of a page as trees of elements."""
    head = "data:image/svg+xml;base64,"
    sources = [image["src"] for image in page.images]
    assert all(source.startswith(head) for source in sources)
    parts = [base64.b64decode(source.removeprefix(head)) for source in sources]
    return [ET.parse(io.BytesIO(part)) for part in parts]


def text_of(tree):
    return " ".join("".join(tree.getroot().itertext()).split())


NAMES = ["<script>alert(1)</script>", 'a | b\nc & "d"', "$x_1$ costs 5 $"]


def test_one_page_with_pictures_that_needs_nothing_else(ranker, new, tmp_path):
    pytest.importorskip("matplotlib")
    site = np.array(NAMES)[new.qid % 3]
    odd = copy.copy(ranker)
    odd.__class__ = type("Odd<b>", (BALToR,), {})
    report = odd.report(new.data, new.target, qid=new.qid, groups=site)
    report.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "link", "b"} & set(page.tags)
    assert "http" not in text  # nothing is loaded from anywhere
    assert "<title>Odd&lt;b&gt;: report</title>" in text
    # All that the markdown says, but for its own signs, is there, and in its order.
    words = " ".join(" ".join(page.texts).split())
    place = 0
    for line in report.replace("\\|", "|").splitlines()[1:]:
        for piece in line.strip("|#- ").split(" | ") if line[:4] != "| --" else []:
            place = words.index(" ".join(unescape(piece).split()), place)
    curve, reliability = pictures(page)
    for name in NAMES:
        assert " ".join(name.split()) in words
    assert "this threshold" in text_of(curve)
    assert "as predicted" in text_of(reliability)
    assert all(image["alt"] for image in page.images)


def test_a_page_without_pairs(ranker, new, tmp_path):
    pytest.importorskip("matplotlib")
    for y in (new.target[:1], None):
        report = ranker.report(new.data[:1], y, qid=0, groups=["x"])
        report.to_html(tmp_path / "page.html")
        page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert not page.images


def test_the_same_report_is_the_same_file(ranker, new, tmp_path, now):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = set(plt.get_fignums())
    files = []
    for k, style in enumerate(["default", "dark_background"]):
        report = ranker.report(new.data, new.target, qid=new.qid)
        if k:
            report = pickle.loads(pickle.dumps(copy.deepcopy(report)))
            assert isinstance(report, Report)
        with plt.style.context(style):
            report.to_html(tmp_path / f"{k}.html")
        files.append((tmp_path / f"{k}.html").read_bytes())
    assert files[0] == files[1]
    assert set(plt.get_fignums()) == before


def test_a_notebook_shows_escaped_words_and_no_pictures(ranker, new, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    groups = np.where(new.qid % 2, "<script>", "a & b")
    report = ranker.report(new.data, new.target, qid=new.qid, groups=groups)
    shown = report._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    # Every section is there; those after the summary wait for a click.
    titles = [line[3:] for line in report.splitlines() if line.startswith("## ")]
    assert re.findall("<summary>(.*)</summary>", shown) == titles
    ET.fromstring(f"<div>{shown}</div>".replace("<details open>", "<details>"))
    assert report._repr_markdown_() == report


def test_without_matplotlib_nothing_is_written(ranker, new, tmp_path, monkeypatch):
    report = ranker.report(new.data, new.target, qid=new.qid)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"install skrank-abstain\[plot\]"):
        report.to_html(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.html.gz", "a.md"])
def test_a_report_is_saved_as_a_page_alone(name, tmp_path):
    page = Report("Title", [Section("", ["Text"])])
    with pytest.raises(ValueError, match=r"path must end in \.html or \.htm, got"):
        page.to_html(tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"'[^']*nodir'$"):
        page.to_html(tmp_path / "nodir" / "a.html")
    page.to_html(tmp_path / "A.HTM")
    assert "<p>Text</p>" in (tmp_path / "A.HTM").read_text(encoding="utf-8")


def test_tags_in_names_are_texts_in_markdown():
    rows = [["<script>alert(1)</script>", "p < 0.05", "a<b"]]
    text = Report("T", [Section("", [Table(("x", "y", "z"), rows), ["<b>bold</b>"]])])
    assert "&lt;script>alert(1)&lt;/script> | p < 0.05 | a&lt;b" in text
    assert "- &lt;b>bold&lt;/b>" in text
