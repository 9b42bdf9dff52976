"""One adapter knows each library; nothing else in the room names one."""

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scorers.boosters import ToyBoost, ToyRanker, make_ranker
from sklearn.pipeline import make_pipeline

from skrank_abstain import scorers
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import (
    BOOSTERS,
    Booster,
    describe,
    fit_ranker,
    freeze,
    is_fitted,
    library_of,
    load_model,
    score_items,
)

ROOM = Path(scorers.__file__).parent
NAMES = [booster.name for booster in BOOSTERS]


def literals(source):
    """Yield the strings of a module but for docstrings and the classes of libraries."""
    tree = ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not (
            isinstance(node, ast.ClassDef) and "Booster" in map(ast.unparse, node.bases)
        )
    ]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in docstrings:
            yield str(node.value).lower()


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_no_library_is_named_outside_its_class(path):
    for text in literals(path.read_text(encoding="utf-8")):
        assert not [name for name in NAMES if name in text], text


def test_the_check_itself_sees_a_name():
    source = '"""On catboost."""\ndef f(x):\n    return f"LightGBM {x}" == b"xgboost"'
    source += '\nclass A(Booster):\n    name = "lightgbm"'
    assert [any(name in text for name in NAMES) for text in literals(source)] == [
        True,
        True,
    ]


def test_each_library_has_the_name_of_its_import(library):
    booster = next(one for one in BOOSTERS if one.name == library)
    assert booster.module().__name__ == library
    assert booster.is_ranker(make_ranker(library))
    assert describe(make_ranker(library)) == f"{booster.title} {booster.ranker}"


def test_an_adapter_without_its_methods_is_refused_at_once():
    class Half(Booster):
        name = title = ranker = "half"

    with pytest.raises(TypeError, match=r"features.*predict.*query_arguments"):
        Half()


def test_a_new_booster_is_trained_and_scored(toyboost):
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [5.0, 6, 7, 8]})
    y, queries = np.array([0.5, 9, 0.5, 3]), group_queries(list("vwvw"), 4)
    for estimator in (ToyRanker(), make_pipeline("passthrough", ToyRanker())):
        fitted = fit_ranker(estimator, X, y, queries)
        ranker = fitted[-1] if hasattr(fitted, "steps") else fitted
        assert ranker.X_["a"].tolist() == [1, 3, 2, 4]
        assert ranker.y_.tolist() == [0, 0, 2, 1]
        assert ranker.starts_.tolist() == [0, 2]
        assert score_items(fitted, X[["b", "a"]]).tolist() == [1, 2, 3, 4]
        with pytest.raises(
            ValueError, match=r"ToyBoost model .*missing: \['a'\]; unexp"
        ):
            score_items(fitted, X.rename(columns={"a": "c"}))
    assert library_of(freeze(ranker)) == "toyboost"
    assert describe(freeze(ranker)) == "ToyBoost ToyRanker"
    assert is_fitted(ranker)
    assert not is_fitted(ToyRanker())


def test_a_new_booster_loads_its_files(toyboost, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"TOY1")
    assert score_items(path, np.array([[1.0, 2.0]])).tolist() == [2.0]
    path.write_bytes(b"TOY?")
    with pytest.raises(ValueError, match="a cut-off or damaged ToyBoost file"):
        load_model(path)
    path.write_bytes(b"OLDTOY")
    kinds = r"CatBoost \(cbm or JSON\) or ToyBoost \(one line\) saved"
    with pytest.raises(ValueError, match=f"{kinds}.*another kind of file"):
        load_model(path)


def test_a_file_of_a_library_that_is_not_there(toyboost, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "toyboost", None)
    monkeypatch.setattr(ToyBoost, "requirement", "toyboost-cpu")
    path = tmp_path / "model"
    path.write_bytes(b"TOY1")
    with pytest.raises(ImportError, match="requires toyboost; install toyboost-cpu"):
        load_model(path)


def test_a_library_that_breaks_at_import_does_not_accuse_the_file(
    toyboost, tmp_path, monkeypatch
):
    def broken(self):
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(ToyBoost, "module", broken)
    path = tmp_path / "model"
    path.write_bytes(b"TOY1")
    with pytest.raises(OSError, match=r"^libgomp"):
        load_model(path)


def test_the_nearest_base_class_decides(toyboost):
    parent = pytest.importorskip("lightgbm").LGBMRanker
    child = type("Child", (parent,), {"__module__": "toyboost"})
    assert library_of(child()) == "toyboost"
    assert library_of(type("Mine", (parent,), {})()) == "lightgbm"
