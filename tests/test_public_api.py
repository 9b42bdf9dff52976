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


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_module_declares_what_is_public(name):
    module = importlib.import_module(f"skrank_abstain.{name}")
    assert module.__doc__
    for member in module.__all__:
        assert getattr(module, member).__doc__, member


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions_and_classes_have_an_example(name):
    module = importlib.import_module(f"skrank_abstain.{name}")
    for member in module.__all__:
        target = getattr(module, member)
        is_plain = inspect.isfunction(target) or inspect.isclass(target)
        if is_plain and not inspect.isabstract(target):
            assert target.__doc__.splitlines()[0].endswith("."), member


def test_top_level_names():
    assert set(skrank_abstain.__all__) >= {"BALToR", "PairDecisions", "__version__"}
