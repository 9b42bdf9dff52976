"""What the site's build does not look at: texts of pictures, and paths in prose."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_picture_says_what_it_shows(path):
    text = path.read_text(encoding="utf-8")
    said = re.findall(r"!\[([^\]]*)\]\((?!https:)", text)
    said += re.findall(r"```\{(?:image|figure)\} .*\n(?::alt: )?(.*)", text)
    assert all(len(words.split()) > 5 for words in said), said


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_scripts_that_are_named_are_there(path):
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"(?<!tests/)\b(?:examples|benchmarks)/[\w/]+\.py", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert set(missing) <= {"examples/plot_NN_name.py"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_files_of_the_package_that_are_named_are_there(path):
    there = {file.name for file in (ROOT / "skrank_abstain").rglob("*.py")}
    there |= {file.name for file in (ROOT / "tests").rglob("*.py")}
    named = re.findall(r"`(?:[\w/]+/)?(_\w+\.py)`", path.read_text(encoding="utf-8"))
    assert set(named) - there <= {"_NAME.py"}


def test_tests_that_are_named_are_there():
    text = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 10
    for file, name in named:
        found = [
            path
            for path in (ROOT / "tests").rglob("*.py")
            if path.as_posix().endswith(f"/{file.removeprefix('tests/')}")
        ]
        assert any(
            f"def {name}(" in path.read_text(encoding="utf-8") for path in found
        ), (file, name)


def test_every_figure_is_used():
    text = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    figures = [path.name for path in (ROOT / "docs" / "figures").iterdir()]
    assert figures
    assert [name for name in figures if name not in text] == []
