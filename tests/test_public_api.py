"""What is public is documented, sorted out, and importable."""

import importlib
import inspect
import pkgutil

import pytest

import skrank_abstain

PUBLIC = [
    name
    for _, name, _ in pkgutil.iter_modules(skrank_abstain.__path__)
    if not name.startswith("_")
]

#: Rooms some of whose names have no example yet.
WITHOUT_EXAMPLES = {"pairs", "selection", "tie_models"}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_module_declares_what_is_public(name):
    module = importlib.import_module(f"skrank_abstain.{name}")
    assert module.__doc__
    for member in module.__all__:
        assert getattr(module, member).__doc__, member


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_begin_with_a_sentence(name):
    module = importlib.import_module(f"skrank_abstain.{name}")
    for member in module.__all__:
        target = getattr(module, member)
        if inspect.isroutine(target) or inspect.isclass(target):
            assert target.__doc__.splitlines()[0].endswith("."), member


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - WITHOUT_EXAMPLES))
def test_public_names_have_an_example(name):
    # Of an object, such as a scorer, it is in the docstring of its class.
    module = importlib.import_module(f"skrank_abstain.{name}")
    missing = [m for m in module.__all__ if ">>>" not in getattr(module, m).__doc__]
    assert not missing


def test_top_level_names():
    assert set(skrank_abstain.__all__) >= {"BALToR", "PairDecisions", "__version__"}
