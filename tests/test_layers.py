"""The architecture: the spine imports downwards only, the wings stand beside it."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skrank_abstain

PACKAGE = Path(skrank_abstain.__file__).parent

# The spine from the top down, as in docs/architecture.md.
SPINE = [
    {"estimators"},
    {"report"},
    {"displays"},
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
    {"_kernels", "_warnings"},
]
LEVEL = {name: level for level, names in enumerate(SPINE) for name in names}
WINGS = {"distance", "leaderboard", "monitor", "multilabel", "partitions", "queries"}
WINGS |= {"theory"}
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


def imports():
    """Return the rooms and names of all imports: module, its room, name, its room."""
    return [
        (str(path.relative_to(PACKAGE)), room_of(path), name, name.split(".")[0])
        for path in MODULES
        for name in imported(path)
    ]


IMPORTS = imports()


def test_every_room_has_a_place():
    assert {room_of(path) for path in MODULES} <= set(LEVEL) | WINGS


def test_the_spine_imports_downwards_only():
    spine = [found for found in IMPORTS if found[1] in LEVEL]
    assert not [found for found in spine if found[3] in WINGS]
    up = [found for found in spine if found[1] != found[3]]
    assert not [found for found in up if LEVEL[found[3]] <= LEVEL[found[1]]]


def test_wings_do_not_know_each_other():
    of_wings = [found for found in IMPORTS if found[1] in WINGS]
    assert not [found for found in of_wings if found[3] in WINGS - {found[1]}]


def test_no_private_module_of_another_room_is_imported():
    others = [found for found in IMPORTS if found[1] != found[3]]
    assert not [found for found in others if is_private(found[2])]


def test_the_top_level_exports_the_spine_alone():
    rooms = {name.split(".")[0] for name in imported(PACKAGE / "__init__.py")}
    assert rooms <= set(LEVEL)


def check_for_circles(found):
    """Raise a CycleError if modules import each other, in functions or on top."""
    graph = {}
    for path, _, name, _ in found:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        graph.setdefault(module, set()).add(name)
    for module, names in graph.items():
        # What is imported is a module, or defined in one.
        graph[module] = {n if n in graph else n.rpartition(".")[0] for n in names}
    TopologicalSorter(graph).prepare()


def test_no_modules_import_each_other():
    check_for_circles(IMPORTS)


def test_the_check_sees_a_circle():
    found = [("a/_b.py", "a", "a._c.f", "a"), ("a/_c.py", "a", "a._b", "a")]
    with pytest.raises(CycleError):
        check_for_circles(found)


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


def test_modules_stay_readable():
    assert not [path for path in MODULES if code_lines(path) > 450]


def test_the_check_itself_sees_an_import(tmp_path):
    module = tmp_path / "m.py"
    module.write_text("def f():\n    from skrank_abstain.displays._x import y\n")
    assert list(imported(module)) == ["displays._x.y"]
    assert code_lines(module) == 2
    assert is_private("displays._x.y")
    assert not is_private("displays.y")
