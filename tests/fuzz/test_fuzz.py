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
from skrank_abstain import distance, multilabel, tie_models

CASES = 200
#: It learns twenty-four classifiers a fit, and is in the cases of BALToR too.
FEW_CASES = {"FeatureAwareRelevance": 60}


def recipes(subject):
    return st.fixed_dictionaries(
        {name: st.sampled_from(of) for name, of in subject.every_choice.items()}
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SUBJECTS)
def test_laws_hold(name):
    subject, checked = SUBJECTS[name], [0] * len(GROUPS)
    n_cases = FEW_CASES.get(name, CASES)

    @settings(
        max_examples=n_cases,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(recipes(subject))
    def every_law(recipe):
        try:
            case = Case.of(subject, recipe)
        except ValueError as error:
            assume(not re.search(subject.refused, str(error)))
            raise
        checked[recipe["laws"]] += 1
        for law in GROUPS[recipe["laws"]]:
            law(case)

    every_law()
    assert min(checked) >= 0.15 * n_cases


def test_no_public_estimator_is_left_out():
    public = {
        name
        for room in (skrank_abstain, distance, multilabel, tie_models)
        for name in room.__all__
        if isinstance(getattr(room, name), type)
        and issubclass(getattr(room, name), BaseEstimator)
        and not inspect.isabstract(getattr(room, name))
    }
    # A column that is handed on: it learns nothing and decides nothing.
    assert public - {"ScoreColumn"} == set(SUBJECTS)
