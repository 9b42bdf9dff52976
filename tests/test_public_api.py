"""What is public is documented, shown in an example that runs, and not too much."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skrank_abstain

WINGS = {"distance", "leaderboard", "monitor", "multilabel", "partitions", "queries"}
WINGS |= {"theory"}
ROOMS = sorted(
    name
    for _, name, _ in pkgutil.iter_modules(skrank_abstain.__path__)
    if not name.startswith("_")
)
NAMES = [
    (room, member)
    for room in ROOMS
    for member in importlib.import_module(f"skrank_abstain.{room}").__all__
]
#: Lists of values carry no docstring of their own; the page on extending shows them.
WITHOUT_DOCSTRING = {("scorers", "BOOSTERS")}


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_is_and_binds_what_it_exports(room):
    module = importlib.import_module(f"skrank_abstain.{room}")
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, member) for member in module.__all__)


@pytest.mark.parametrize(("room", "member"), NAMES, ids=lambda name: name)
def test_every_public_name_has_an_example_that_runs(room, member):
    if (room, member) in WITHOUT_DOCSTRING:
        return
    target = getattr(importlib.import_module(f"skrank_abstain.{room}"), member)
    # That it runs is seen to by --doctest-modules, which collects what has examples.
    assert target.__doc__.splitlines()[0].endswith("."), f"{room}.{member}"
    examples = doctest.DocTestParser().get_examples(target.__doc__ or "")
    assert examples, f"{room}.{member} has no example"


def callables_of(target):
    """Yield the public functions that a name of a room offers, and what they are."""
    if not inspect.isclass(target):
        yield from [("", target)] if callable(target) else []
        return
    for name, member in inspect.getmembers(target, callable):
        if name == "__call__" or not name.startswith("_"):
            yield name, member


@pytest.mark.parametrize(("room", "member"), NAMES, ids=lambda name: name)
def test_labels_are_never_taken_for_queries(room, member):
    target = getattr(importlib.import_module(f"skrank_abstain.{room}"), member)
    for name, function in callables_of(target):
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:  # of numpy or of C
            continue
        qid = parameters.get("qid")
        # Whoever has to name the queries knows that they are due.
        if qid is not None and qid.default is not qid.empty:
            assert qid.kind is qid.KEYWORD_ONLY, name


def test_the_spine_has_few_public_names():
    spine = {
        id(getattr(importlib.import_module(f"skrank_abstain.{room}"), member))
        for room, member in NAMES
        if room not in WINGS
    }
    assert len(spine) <= 81, len(spine)


def test_the_top_level_exports_the_spine_alone():
    names = set(skrank_abstain.__all__) - {"__version__"}
    assert names >= {"BALToR", "SelectiveRanker", "PairDecisions"}
    assert names <= {member for room, member in NAMES if room not in WINGS}


def test_the_reference_has_every_room_once():
    page = Path(__file__).parents[1] / "docs" / "reference.md"
    listed = re.findall(r"^   skrank_abstain\.(\w+)$", page.read_text("utf-8"), re.M)
    assert sorted(listed) == ROOMS
