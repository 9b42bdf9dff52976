"""The page "What every estimator offers" agrees with the classes."""

import inspect
import re
from pathlib import Path

import pytest

import skrank_abstain
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker

PAGE = Path(__file__).parent.parent / "docs" / "offers.md"
CLASSES = {
    each.__name__: each
    for each in (
        *(getattr(skrank_abstain, name) for name in ("BALToR", "CostAbstainer")),
        skrank_abstain.RiskControlledRanker,
        skrank_abstain.SelectiveRanker,
        skrank_abstain.PairwiseRankerClassifier,
        TopSetRanker,
        QueryRiskRanker,
        DistanceAbstainer,
    )
}
#: scikit-learn's own, which every estimator has.
COMMON = re.compile(r"_|get_|set_\w+_request$|set_params$")


def offers(cls, row):
    """Whether a class has what a row names: a method, its argument, or a parameter."""
    method, _, rest = row.partition("(")
    if rest:
        argument = rest.removesuffix("=)")
        found = getattr(cls, method, None)
        return found is not None and argument in inspect.signature(found).parameters
    if row.endswith("="):
        return row[:-1] in inspect.signature(cls).parameters
    found = getattr(cls, row, None)
    # `predict_proba` of a ranker of items is a property that refuses.
    return found is not None and getattr(found, "fget", None) is None


def table():
    """Return the text below the table, and each cell by its row and column."""
    if not PAGE.exists():
        pytest.skip("the package was installed without its sources")
    text = PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = (
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in lines
    )
    cells = {
        (row[0], column): cell
        for row in rows
        for column, cell in zip(head[1:], row[1:], strict=True)
    }
    return text, cells


def test_yes_stands_where_a_class_offers_it_and_nowhere_else():
    _, cells = table()
    wrong = [
        f"{row} of {column}: {cell!r}"
        for (row, column), cell in cells.items()
        if offers(CLASSES[column], row) != (cell == "yes")
    ]
    assert not wrong, wrong


def test_every_hole_has_a_reason_and_every_reason_a_hole():
    text, cells = table()
    used = {cell for cell in cells.values() if cell != "yes"}
    assert used == set(re.findall(r"^- \*\*(\w)\*\*: \S", text, flags=re.MULTILINE))


def test_every_class_has_a_column_and_every_method_a_row():
    _, cells = table()
    assert {column for _, column in cells} == set(CLASSES)
    methods = {
        name
        for cls in CLASSES.values()
        for name in dir(cls)
        if not COMMON.match(name) and inspect.isfunction(getattr(cls, name))
    }
    assert methods <= {row for row, _ in cells}, methods
