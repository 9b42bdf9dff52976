"""The page "What every estimator offers" agrees with the classes."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.linear_model import Ridge

import skrank_abstain
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.selection import Coverage

PAGE = Path(__file__).parent.parent / "docs" / "offers.md"
MODEL = Ridge()
#: Methods may depend on the parameters, so that an instance is asked, not its class.
ESTIMATORS = {
    type(each).__name__: each
    for each in (
        skrank_abstain.BALToR(MODEL),
        skrank_abstain.CostAbstainer(MODEL),
        skrank_abstain.RiskControlledRanker(MODEL),
        skrank_abstain.SelectiveRanker(MODEL, rule=Coverage(0.8)),
        skrank_abstain.PairwiseRankerClassifier(MODEL),
        TopSetRanker(MODEL),
        QueryRiskRanker(MODEL, coverage=0.8),
        DistanceAbstainer(MODEL),
    )
}
#: scikit-learn's own, which every estimator has.
COMMON = re.compile(r"_|get_|set_\w+_request$|set_params$")


def offers(estimator, row):
    """Whether it has what a row names: a method, its argument, or a parameter."""
    method, _, rest = row.partition("(")
    if rest:
        argument = rest.removesuffix("=)")
        found = getattr(estimator, method, None)
        return found is not None and argument in inspect.signature(found).parameters
    if row.endswith("="):
        return row[:-1] in inspect.signature(type(estimator)).parameters
    return hasattr(estimator, row)


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
        if offers(ESTIMATORS[column], row) != (cell == "✓")
    ]
    assert not wrong, wrong


def test_every_hole_has_a_reason_and_every_reason_a_hole():
    text, cells = table()
    used = {cell for cell in cells.values() if cell != "✓"}
    assert used == set(re.findall(r"^- \*\*(\w)\*\*: \S", text, flags=re.MULTILINE))


def test_every_class_has_a_column_and_every_method_a_row():
    _, cells = table()
    assert {column for _, column in cells} == set(ESTIMATORS)
    methods = {
        name
        for each in ESTIMATORS.values()
        for name in dir(type(each))
        if not COMMON.match(name) and inspect.ismethod(getattr(each, name, None))
    }
    assert methods <= {row for row, _ in cells}, methods
