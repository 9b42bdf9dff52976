"""Packaging: one place for every setting, and commands that stay true."""

import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def setup_cfg_tools():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return {re.split(r"[-:]", section)[0] for section in parser.sections()}


def test_no_tool_is_configured_twice():
    assert not set(PYPROJECT["tool"]) & setup_cfg_tools()


def test_setup_cfg_holds_static_analysis_only():
    assert setup_cfg_tools() <= {"mypy", "coverage", "codespell"}


def readme_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^    (python3 -m venv .*)$", text, flags=re.MULTILINE)


def test_the_readme_gives_exactly_two_commands():
    commands = readme_commands()
    assert len(commands) == 2
    assert commands[0].endswith("examples/plot_01_quickstart.py")
    assert commands[1].endswith('-m pytest -n auto -m "not slow"')


def test_the_readmes_badges_are_true():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    badges = re.findall(r"img\.shields\.io/badge/(.*)-0072B2\)", text)
    project = PYPROJECT["project"]
    assert [unquote(badge) for badge in badges] == [
        "python-" + project["requires-python"].replace(">=", "≥"),
        "licence-" + project["license"].replace("-", "--"),
    ]


def test_no_address_is_named_that_does_not_exist():
    said = ("README.md", "pyproject.toml", "CITATION.cff", "CONTRIBUTING.md")
    paths = [*map(ROOT.joinpath, said), *(ROOT / "docs").glob("*.*")]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"skrank-abstain\.github|github\.com/skrank", text), path


def test_ci_runs_the_readmes_test_command():
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = [step.strip() for step in readme_commands()[1].split("&&")]
    for step in steps:
        assert step in ci, f".ci/run lacks: {step}"
    assert "-m pytest -n auto -m slow" in ci  # and what the command leaves out


def test_ci_finds_the_long_tests_by_what_their_files_say():
    # It collects the files that `grep` names: a mark elsewhere would be missed.
    others = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if not path.name.startswith("test_") and "slow" in path.read_text("utf-8")
    ]
    assert [path.name for path in others] == ["conftest.py"]
    said = others[0].read_text("utf-8")
    assert said.count("slow") == said.count("too_slow")  # of Hypothesis


def test_ci_tests_the_oldest_versions_that_are_declared():
    project = PYPROJECT["project"]
    lists = {"": project["dependencies"]} | project["optional-dependencies"]
    for name in ("docs", "spark", "dev"):  # no test wants them
        del lists[name]
    declared = re.findall(r"([\w-]+)(?:\[[\w,]*\])?>=([\d.]+)", str(lists.values()))
    text = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8")
    assert set(text.splitlines()[1:]) == set(map("==".join, declared))


def test_the_readmes_install_brings_what_its_table_writes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert '.to_tasks("questions.xlsx")' in readme
    assert ".[examples]" in readme_commands()[0]
    (own, *_) = PYPROJECT["project"]["optional-dependencies"]["examples"]
    assert "excel" in re.split(r"[\[\],]", own)


def test_import_needs_no_booster_no_engine_and_no_plotting_library():
    code = (
        "import sys, skrank_abstain\n"
        "names = ['xgboost', 'lightgbm', 'catboost', 'matplotlib', 'polars']\n"
        "names += ['dask', 'distributed', 'pyspark']\n"
        "print([name for name in names if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_a_wheel_has_every_file_of_the_package():
    package = ROOT / "skrank_abstain"
    files = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc")
    }
    declared = PYPROJECT["tool"]["setuptools"]["package-data"]["skrank_abstain"]
    assert files == set(declared)
    assert "py.typed" in files


def test_the_citation_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PYPROJECT['project']['version']}\n" in citation


def test_every_system_runs_the_readmes_tests():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert readme_commands()[1].partition("python -m ")[2] in workflow
