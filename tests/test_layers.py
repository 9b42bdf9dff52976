"""The architecture: a module imports only from lower layers, never sideways."""

import ast
from pathlib import Path

import pytest

import skrank_abstain

PACKAGE = Path(skrank_abstain.__file__).parent

# From the top down, as in docs/architecture.md.
LAYERS = [
    {"displays"},
    {"estimators"},
    {"metrics", "baselines", "theory"},
    {"selection"},
    {"concentration"},
    {"tie_models"},
    {"scorers", "datasets", "surrogates"},
    {"pairs"},
    {"_validation"},
    {"_kernels"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
)


def layer_of(path):
    """Return the name of the top-level module or folder of the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path):
    """Return the layers that a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "skrank_abstain":
                yield parts[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    own = layer_of(path)
    assert own in LEVEL, f"{own} has no layer"
    for imported in imported_layers(path):
        assert imported == own or LEVEL[imported] > LEVEL[own], (
            f"{own} imports {imported}, which is not below it"
        )


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_the_check_itself_sees_an_import(tmp_path):
    module = tmp_path / "m.py"
    module.write_text("def f():\n    from skrank_abstain.displays import x\n")
    assert list(imported_layers(module)) == ["displays"]
