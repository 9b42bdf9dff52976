"""The features of the items that come first and last, and words of a report."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scored import scored
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain._validation import check_loss
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskRanker
from skrank_abstain.report import section_of_ends
from skrank_abstain.report._content import (
    _about_model,
    _about_novelty,
    _counted,
    _loss_in_words,
    _verdict,
    _warnings,
    about_model,
)

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


def test_orders_no_better_than_a_coin_are_said_to_be(ranker, new):
    coin = "the decided orders are perhaps no better than a coin"
    lot = np.random.default_rng(0).permutation(new.target)
    for target, expected in ((new.target, False), (lot, True)):
        high = ranker.evaluate(new.data, target, qid=new.qid).discordance_interval(
            "pairs"
        )[2]
        assert (high >= 0.5) == expected
        page = ranker.report(new.data, target, qid=new.qid)
        assert (coin in page.split("## Warnings")[1]) == expected
        assert coin not in ranker.report(new.data, qid=new.qid)


def test_a_ranking_says_that_the_highest_score_comes_first(ranker, new):
    page = ranker.ranking(new.data[:5])._repr_html_()
    assert "the highest score comes first" in page


def facts(*, n_queries=40, ties=0.0, accepted=100.0, asked=40, known=40):
    """Return what the warnings of a page are about, without bounds or groups."""
    pairs = np.append(np.full(n_queries, 9.0), 0.0)  # one query has no pairs
    totals = SimpleNamespace(
        pairs=pairs,
        accepted=np.array([accepted]),
        answered_tie=np.array([ties]),
        coverage=0.5,
        qid=np.array([None] if asked == 1 else range(asked)),
    )
    calibration = SimpleNamespace(groups=None, items=SimpleNamespace(n_queries=known))
    return SimpleNamespace(
        ranker=SimpleNamespace(_bounds=[], _calibration=calibration),
        doubts=["a doubt"],
        totals=totals,
        labelled=False,
        by_group=[],
        compared=[],
        by_site={},
        certified=[],
        expected=("are decided", 0.5, 0.4, 0.6),
        bound=None,
    )


@pytest.mark.parametrize(
    ("about", "start"),
    [
        ({}, ""),
        ({"accepted": 0.0}, "no pair is decided"),
        ({"ties": 94.0}, ""),
        ({"ties": 95.0}, "95 of 100 decided pairs are called a tie"),
        ({"n_queries": 30}, ""),
        ({"n_queries": 29}, "queries with pairs: 29; with fewer than 30"),
        ({"asked": 1}, "all items were taken for one query; the ranker was calibrat"),
        ({"asked": 2}, ""),
        ({"asked": 1, "known": 1}, ""),
        ({"asked": 1, "known": 2}, "all items were taken for one query; the ranker"),
    ],
)
def test_warnings_of_a_page_without_bounds(about, start):
    first, *found = _warnings(facts(**about))
    assert first == "a doubt"
    assert len(found) == bool(start)
    assert not start or found[0].startswith(start)


def test_what_was_counted():
    items = SimpleNamespace(rows=np.arange(7), n_queries=3, n_pairs=9, novel=None)
    totals = SimpleNamespace(pairs=np.array([6.0, 3]), tied=np.array([0.0, 3]))
    data = SimpleNamespace(items=items, totals=totals, counted="", labelled=True)
    text = "7 items, 3 queries, 9 pairs of items of one query"
    assert _counted(data) == [
        text,
        "tied pairs: 0.3333",
        "queries with pairs that differ: 1",
    ]
    data.labelled = False
    assert _counted(data) == [text]
    items.novel, items.sound = np.arange(7) < 2, SimpleNamespace(n_pairs=5)
    novel = (
        "; novel items, unlike those that the ranker was calibrated on: 2, whose 4 "
        "pairs are left to a person"
    )
    assert _counted(data) == [text + novel]
    data.counted = "7 rows"
    assert _counted(data) == ["7 rows" + novel]
    data.labelled, totals.pairs, totals.tied = True, np.zeros(1), np.zeros(1)
    assert _counted(data)[1:] == [
        "tied pairs: undefined",
        "queries with pairs that differ: 0",
    ]


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("n_pairs", [8.0, 0.0])
def test_the_verdict_counts_decisions(labelled, n_pairs):
    totals = SimpleNamespace(
        pairs=np.array([n_pairs, 0]),
        accepted=np.array([0.5 * n_pairs, 0]),
        answered_tie=np.array([0.125 * n_pairs, 0]),
        tied=np.zeros(2),
        unlike=np.array([0.25 * n_pairs, 0]),
        coverage=0.5,
    )
    data = SimpleNamespace(
        totals=totals,
        bound=None,
        labelled=labelled,
        weighting="pairs",
        text=SimpleNamespace(promised="Nothing.\n- a detail"),
        ranker=SimpleNamespace(
            _bounds=[],
            _region=None,
            _calibration=SimpleNamespace(items=None, totals=lambda *_: totals),
        ),
        doubts=[],
        share=lambda what, _: (0.2, 0.1, 0.3),
        rows=SimpleNamespace(seen=""),
        by_site={},
        compared=[],
        certified=[],
        expected=("are decided", 0.5, 0.5, 0.5),
        in_words=lambda what, _: f"so much {what}",
    )
    *said, [counts] = _verdict(data).blocks
    said = " ".join(said)
    share = "50.0 %" if n_pairs else "an undefined share"
    n = f"{n_pairs:.0f}"
    assert counts == (
        f"4 of {n} pairs are decided ({share}): 3 by an order, 1 by a tie; 4 are left "
        "to a person"
        if n_pairs
        else f"0 of 0 pairs are decided ({share}): 0 by an order, 0 by a tie; 0 are "
        "left to a person"
    )
    observed = (
        "Observed in 1 query with pairs that differ: of the decided ones, so much "
        "discordance are in the wrong order (a coin: 50 %; a called tie counts one "
        "half), each pair counting alike. There is no bound to hold this against."
    )
    assert said.startswith("Nothing. " if n_pairs or not labelled else "Nothing.")
    assert (observed in said) == (labelled and n_pairs > 0)
    assert ("NO LABELS WERE GIVEN" in said) == (not labelled)
    assert "detail" not in said


def test_a_model_in_words():
    class Ties:
        def __repr__(self):
            return "Ties(\n  of=1)"

    model = Ties()
    model.scale_, model.n_pairs_, model._own_, model.width = 2.5, 3.0, 4.0, 5.0
    line = about_model(Ridge(), model, prefit=True, note=" (a note)")
    assert line == [
        "ranker: Ridge, used as it was given (a note)",
        "tie model: Ties( of=1), scale_ = 2.5",
    ]
    assert about_model(Ridge(), model, prefit=False)[0] == "ranker: Ridge, trained here"
    for weights, words in (([1.0, 0.0], "not in use"), ([0.0, 1.0], "in use")):
        model.weights_ = weights
        assert about_model(Ridge(), model, prefit=True)[1] == (
            f"tie model: Ties( of=1), scale_ = 2.5, features {words}"
        )
    del model.weights_
    items = SimpleNamespace(n_pairs=6, n_queries=2)
    ranker = SimpleNamespace(
        estimator_=Ridge(),
        prefit_=True,
        n_folds_=0,
        id_="7",
        random_state=3,
        _calibration=SimpleNamespace(model=model, items=items),
    )
    data = SimpleNamespace(ranker=ranker, note="; a note")
    assert _about_model(data)[0].endswith("; a note")
    assert _about_model(data)[2:] == [
        "calibrated on 6 pairs of 2 queries",
        "id_: 7; random_state: 3",
    ]
    items.n_queries, ranker.n_folds_ = 1, 5
    assert _about_model(data)[2] == (
        "calibrated on 6 pairs of 1 queries (ONE query: nothing is known about "
        "others), scored out of 5 folds"
    )


def test_novelty_and_losses_in_words():
    assert _about_novelty(None) == []
    test = SimpleNamespace(queries=np.array([0, 1, 4]), level=0.05, detector=Ridge())
    [line] = _about_novelty(test)
    assert "p-value is at most 0.05 are left" in line
    assert line.endswith("have one (Ridge, against 5 queries)")

    def words(loss, *, errors=False):
        calibration = SimpleNamespace(loss=np.array(loss))
        ranker = SimpleNamespace(_calibration=calibration)
        return _loss_in_words(SimpleNamespace(ranker=ranker, counts_errors=errors))

    assert words([[0, 1]], errors=True) == "each wrong answer costs 1"
    assert words(check_loss("misranking")).startswith("'misranking': a wrong order")
    assert words([[0, 2]]).startswith("[[0, 2]], a row per answer")


def test_a_served_file_is_named(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    data = make_ranking(n_queries=30, random_state=0)
    file = tmp_path / "served.txt"
    rows = lightgbm.Dataset(data.data, data.target)
    lightgbm.train({"verbose": -1, "num_threads": 1}, rows, 3).save_model(file)
    new = make_ranking(n_queries=30, random_state=1)
    later = make_ranking(n_queries=30, random_state=2)
    for served in (BALToR(file, coverage=0.6), QueryRiskRanker(file, coverage=0.6)):
        ranker = served.fit(new.data, new.target, qid=new.qid)
        page = ranker.report(later.data, qid=later.qid)
        assert f"used as it was given, from {file}\n" in page
