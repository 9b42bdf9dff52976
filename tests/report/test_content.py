"""A report shows the features of the items that come first and last."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scored import scored

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.report import section_of_ends

QID = np.repeat([7, 8, 9], [3, 2, 1])
SCORES = np.array([0.0, 5.0, 1.0, 2.0, 3.0, 9.0])
Y = np.array([0.0, 2.0, 1.0, 0.0, 1.0, 1.0])
#: First are rows 1 and 4, last are rows 0 and 3; row 5 is alone.
COLUMNS = {
    "name": list("abcdef"),
    "age": [10.0, 30.0, 0.0, 20.0, np.nan, 99.0],
    "pain": [1, 8, 0, 2, 9, 99],
    "only_last": [1.0, np.nan, 0.0, 2.0, np.nan, 99.0],
}


def section(X, y=Y, scores=SCORES):
    queries = group_queries(QID, QID.size)
    return section_of_ends(X, scored(scores, queries, Y), y)


def rows(found):
    return found.blocks[1].rows


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_means_are_over_the_ends_of_each_query(frame):
    # Pain: 8.5 and 1.5, standard deviation of 1, 8, 2, 9 is 3.54: 1.98 apart.
    # Age: 30 and 15, standard deviation of 10, 30, 20 is 8.16: 1.84 apart.
    assert rows(section(frame(COLUMNS))) == [
        ["y", "1.5", "0"], ["pain", "8.5", "1.5"], ["age", "30", "15"],
    ]  # fmt: skip
    assert rows(section(frame(COLUMNS), y=None))[0][0] == "pain"


def test_columns_of_an_array_have_numbers_and_only_eight_are_shown():
    X = np.outer(SCORES, np.arange(12)) + np.arange(6)[:, None] % 2 * 5
    assert next(row[0] for row in rows(section(X))) == "y"
    assert len(rows(section(X))) == 9


@pytest.mark.parametrize(
    "X", [sparse.csr_array(np.eye(6)), np.array([["a", 1]] * 6, dtype=object)]
)
def test_what_is_not_numbers_has_no_section(X):
    assert section(X) is None


def test_single_items_have_no_section():
    queries = group_queries(np.arange(6), 6)
    assert section_of_ends(Y[:, None], scored(Y, queries, Y), Y) is None


def test_a_reversed_list_is_seen_in_the_report(ranker, new):
    def ends(fitted, y):
        page = fitted.report(new.data, y, qid=new.qid)
        table = page.split("## First and last items")[1].split("##")[0]
        assert "fit again with y.max() - y" in table
        return next(line.split(" | ") for line in table.splitlines() if "| y |" in line)

    _, first, last = ends(ranker, new.target)
    assert float(first) > float(last.strip(" |"))
    known = make_ranking(n_queries=60, n_items=(2, 12), random_state=0)
    turned = BALToR(ranker.estimator, random_state=0)
    turned.fit(known.data, -known.target, qid=known.qid)
    _, first, last = ends(turned, new.target)
    assert float(first) < float(last.strip(" |"))


def test_a_ranking_says_that_the_highest_score_comes_first(ranker, new):
    page = ranker.ranking(new.data[:5])._repr_html_()
    assert "the highest score comes first" in page
