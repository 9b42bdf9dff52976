"""Answers that do not go together."""

import numpy as np
import pytest

from skrank_abstain.pairs import group_queries
from skrank_abstain.review._answers import take_answers
from skrank_abstain.review._contradictions import find_contradictions

QUERIES = group_queries(["a"] * 4 + ["b"] * 2, 6)


def found(said, reviewers=None, proba=None, n_levels=np.inf):
    table = {
        "left": [int(answer[0]) for answer in said],
        "right": [int(answer[2]) for answer in said],
        "label": [{">": "left", "=": "same", "<": "right"}[a[1]] for a in said],
        "reviewer": reviewers or ["x"] * len(said),
    }
    answers = take_answers(table, QUERIES, None)
    if proba is None:
        proba = np.full((answers.pair_start.size - 1, 3), 1 / 3)
    return [
        (one.kind, one.qid, one.answers)
        for one in find_contradictions(answers, QUERIES, proba, n_levels)
    ]


@pytest.mark.parametrize(
    "said",
    [[], ["0>1", "1>2", "0>2"], ["0=1", "1=2"], ["0>1", "1=2", "0>2"], ["0>1", "4>5"]],
)
def test_answers_that_go_together(said):
    assert found(said) == []


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        (["0>1", "1>2", "2>0", "2>3"], (0, 1, 2)),
        (["0>1", "1=2", "2=0"], (0, 1, 2)),
        (["0>1", "2=1", "3=2", "3>0", "4>5"], (0, 1, 2, 3)),
    ],
)
def test_cycles_through_orders_and_ties(said, rows):
    assert found(said) == [("cycle", "a", rows)]


@pytest.mark.parametrize(
    ("said", "n_levels", "rows"),
    [
        (["0>1", "2<1", "2>3", "4>5"], 3, (0, 1, 2)),
        (["0>1", "1>2", "2>3", "0>3"], 2, (0, 1, 2)),
        (["0>1", "1=2", "2>3"], 2, (0, 2)),
        (["4>5"], 1, (0,)),
    ],
)
def test_orders_in_a_row_need_levels(said, n_levels, rows):
    query = "b" if len(said) == 1 else "a"
    assert found(said, n_levels=n_levels) == [("levels", query, rows)]
    assert found(said, n_levels=n_levels + 2) == []


def test_two_reviewers_and_one_who_changed():
    assert found(["0>1", "1=0"], ["x", "y"]) == [
        ("conflict", "a", (0, 1)),
        ("cycle", "a", (0, 1)),
    ]
    assert found(["4>5", "4=5"]) == [("changed", "b", (0, 1)), ("cycle", "b", (0, 1))]


def test_improbable_answers():
    proba = np.array([[0.9, 0.06, 0.04], [0.1, 0.1, 0.8]])
    assert found(["0>1", "4>5"], proba=proba) == [("improbable", "a", (0,))]
