"""Each module has tests: under its name, by an import, or as CONTRIBUTING says."""

import re
from pathlib import Path

import pytest

import skrank_abstain

PACKAGE = Path(skrank_abstain.__file__).parent
TESTS = Path(__file__).parent
TEXTS = [path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")]
MODULES = [
    path.relative_to(PACKAGE).as_posix()
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "__init__.py"
]


def table():
    """Return the rows of the table in CONTRIBUTING: modules, and their tests."""
    path = TESTS.parent / "CONTRIBUTING.md"
    if not path.exists():
        pytest.skip("the package was installed without its sources")
    text = path.read_text(encoding="utf-8")
    rows = text.split("## Where the tests of a module are")[1].split("\n## ")[0]
    return [
        [re.findall("`([^`]+)`", cell) for cell in line.split("|")[1:3]]
        for line in rows.splitlines()
        if line.startswith("| `")
    ]


def is_named(module):
    """Whether a test file has the module's name, and the room's where it has one."""
    *folders, name = module.removesuffix(".py").split("/")
    found = TESTS.rglob(f"test_{name.lstrip('_')}.py")
    room = folders[0].removeprefix("_") if folders else ""
    return any(not room or room in path.parts for path in found)


def is_imported(module):
    """Whether a test imports the module itself."""
    package, _, name = f"skrank_abstain/{module.removesuffix('.py')}".rpartition("/")
    package = re.escape(package.replace("/", "."))
    direct = re.compile(
        rf"from {package} import (\([^)]*|[^\n]*)\b{name}\b|{package}\.{name}\b"
    )
    return any(direct.search(text) for text in TEXTS)


def test_each_module_has_tests():
    listed = {module for modules, _ in table() for module in modules}
    assert not [
        module
        for module in MODULES
        if module not in listed and not is_named(module) and not is_imported(module)
    ]


def test_the_table_names_what_exists():
    for modules, tests in table():
        assert set(modules) <= set(MODULES)
        assert tests
        assert not [test for test in tests if not (TESTS.parent / test).exists()]
