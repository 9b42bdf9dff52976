"""Random problems for every public estimator: what must hold, holds.

Recipes come from Hypothesis, the same ones each time; ``PYTHONPATH=tests python -m
fuzz`` draws others, as many as are wanted.
"""

import inspect
import re

import pytest
from fuzz.cases import Case
from fuzz.laws import GROUPS
from fuzz.subjects import SUBJECTS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import skrank_abstain
from skrank_abstain import distance, multilabel, queries, tie_models

#: Of each estimator, a quarter of them for each group of laws.
CASES = 100


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "group",
    [
        pytest.param(group, marks=[pytest.mark.slow] * (group > 0))
        for group in range(len(GROUPS))
    ],
)
@pytest.mark.parametrize("name", SUBJECTS)
def test_laws_hold(name, group):
    subject, checked = SUBJECTS[name], []
    n_cases = CASES // len(GROUPS)
    choices = {**subject.every_choice, "laws": (group,)}

    @settings(
        max_examples=n_cases,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(st.fixed_dictionaries({k: st.sampled_from(of) for k, of in choices.items()}))
    def every_law(recipe):
        try:
            case = Case.of(subject, recipe)
        except ValueError as error:
            assume(not re.search(subject.refused, str(error)))
            raise
        checked.append(recipe)
        for law in GROUPS[group]:
            law(case)

    every_law()
    assert len(checked) >= n_cases


def test_no_public_estimator_is_left_out():
    public = {
        name
        for room in (skrank_abstain, distance, multilabel, queries, tie_models)
        for name in room.__all__
        if isinstance(getattr(room, name), type)
        and issubclass(getattr(room, name), BaseEstimator)
        and not inspect.isabstract(getattr(room, name))
    }
    # A column that is handed on: it learns nothing and decides nothing.
    assert public - {"ScoreColumn"} == set(SUBJECTS)
