"""The architecture: the spine imports downwards only, the wings stand beside it."""

import ast
from pathlib import Path

import pytest

import skrank_abstain

PACKAGE = Path(skrank_abstain.__file__).parent

# The spine from the top down, as in docs/architecture.md.
SPINE = [
    {"displays"},
    {"estimators"},
    {"report"},
    {"review"},
    {"intake"},
    {"metrics", "baselines"},
    {"selection"},
    {"concentration"},
    {"tie_models"},
    {"scorers", "datasets"},
    {"pairs"},
    {"_validation"},
    {"_saving"},
    {"_kernels", "_warnings", "_transaction"},
]
LEVEL = {name: level for level, names in enumerate(SPINE) for name in names}
WINGS = {"distance", "leaderboard", "multilabel", "partitions", "queries", "theory"}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
)


def room_of(path):
    """Return the name of the top-level module or folder of the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """Return what a module imports of the package, as dotted names without its own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "skrank_abstain":
                yield rest


def is_private(name):
    """Whether a dotted name passes through a private module of a room."""
    _, *inside = name.split(".")
    return any(part.startswith("_") and not part.startswith("__") for part in inside)


ids = {"ids": lambda path: str(path.relative_to(PACKAGE))}


@pytest.mark.parametrize("path", MODULES, **ids)
def test_the_spine_imports_downwards_and_no_wing(path):
    own = room_of(path)
    assert own in LEVEL or own in WINGS, f"{own} has no place in the house"
    if own in WINGS:
        return
    for name in imported(path):
        room = name.split(".")[0]
        assert room not in WINGS, f"{own} belongs to the spine and imports {name}"
        assert room == own or LEVEL[room] > LEVEL[own], f"{own} imports {name} above it"


@pytest.mark.parametrize("path", MODULES, **ids)
def test_wings_do_not_know_each_other(path):
    own = room_of(path)
    if own in WINGS:
        rooms = {name.split(".")[0] for name in imported(path)}
        assert not rooms & WINGS - {own}


@pytest.mark.parametrize("path", MODULES, **ids)
def test_no_private_module_of_another_room_is_imported(path):
    own = room_of(path)
    others = [name for name in imported(path) if name.split(".")[0] != own]
    assert not [name for name in others if is_private(name)]


def test_the_top_level_exports_the_spine_alone():
    rooms = {name.split(".")[0] for name in imported(PACKAGE / "__init__.py")}
    assert rooms <= set(LEVEL)


def code_lines(path):
    """Count lines of code: docstrings, comments and empty lines aside."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            docstring = node.body[0]
            for number in range(docstring.lineno - 1, docstring.end_lineno):
                lines[number] = ""
    return sum(bool(line.strip()) and line.strip()[0] != "#" for line in lines)


#: Files that are still too long.
TOO_LONG = {"beliefs.py", "_content.py"}


@pytest.mark.parametrize("path", MODULES, **ids)
def test_modules_stay_small(path):
    if path.name not in TOO_LONG:
        assert code_lines(path) <= 350


def test_the_check_itself_sees_an_import(tmp_path):
    module = tmp_path / "m.py"
    module.write_text("def f():\n    from skrank_abstain.displays._x import y\n")
    assert list(imported(module)) == ["displays._x.y"]
    assert code_lines(module) == 2
    assert is_private("displays._x.y")
    assert not is_private("displays.y")
