"""Rows of one query on both sides of a split are seen by the sizes of the queries."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, train_test_split

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import selective_accuracy_scorer
from skrank_abstain.pairs import group_queries
from skrank_abstain.partitions import calibrate

DIVIDED = "queries were in fit, too, with other items"


def collection(seed, *, sizes=None, n_queries=120):
    """Return X, y and qid; all queries have 10 items, or ``sizes``."""
    rng = np.random.default_rng(seed)
    sizes = np.full(n_queries, 10) if sizes is None else sizes(rng, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = rng.normal(size=(qid.size, 3))
    return X, np.digitize(X[:, 0] + rng.normal(size=qid.size), [-1, 1]), qid


def unlike(rng, n_queries):
    return rng.integers(4, 40, n_queries)


def fitted(X, y, qid):
    return BALToR(Ridge(), coverage=0.5, random_state=0).fit(X, y, qid=qid)


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return any(DIVIDED in str(each.message) for each in found)


@pytest.mark.parametrize("name", [int, str, "day {:03d}".format])
@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("sizes", [None, unlike])
def test_rows_of_train_test_split_are_said(sizes, share, name):
    X, y, qid = collection(0, sizes=sizes)
    qid = np.array([name(each) for each in qid.tolist()])
    halves = train_test_split(X, y, qid, test_size=share, random_state=0)
    ranker = fitted(*halves[::2])
    with pytest.warns(UserWarning, match=f"of 1[012][0-9] {DIVIDED}"):
        ranker.evaluate(*halves[1::2])
    with pytest.warns(UserWarning, match="GroupShuffleSplit"):
        page = ranker.report(*halves[1::2])
    assert DIVIDED in page.split("## In short")[0]


@pytest.mark.parametrize("sizes", [None, unlike])
def test_whole_queries_are_not_divided(sizes):
    X, y, qid = collection(0, sizes=sizes)
    ranker = fitted(X, y, qid)
    # The same data, some of its queries, and others that count from 0 as well.
    assert not warned(lambda: ranker.evaluate(X, y, qid))
    some = qid < 60
    assert not warned(lambda: ranker.evaluate(X[some], y[some], qid[some]))
    for seed in range(1, 40):
        assert not warned(lambda s=seed: ranker.evaluate(*collection(s, sizes=sizes)))


def test_folds_of_rows_are_said_and_folds_of_queries_are_not():
    X, y, qid = collection(0, sizes=unlike)
    for folds, groups, expected in (
        (KFold(3, shuffle=True, random_state=0), None, True),
        (GroupKFold(3), qid, False),
    ):
        train, test = next(folds.split(X, y, groups))
        ranker = fitted(X[train], y[train], qid[train])
        rest = {"y": y[test], "qid": qid[test]}
        found = warned(partial(selective_accuracy_scorer, ranker, X[test], **rest))
        assert found == expected


def test_it_is_known_after_saving_and_over_partitions():
    X, y, qid = collection(0, sizes=unlike)
    rows, others = train_test_split(np.arange(qid.size), random_state=0)
    rows = rows[np.argsort(qid[rows], kind="stable")]
    ranker = fitted(X[rows], y[rows], qid[rows])
    first = qid[rows] < 60
    parts = [(X[rows][at], y[rows][at], qid[rows][at]) for at in (first, ~first)]
    joined = calibrate(
        BALToR(Ridge().fit(X[rows], y[rows]), coverage=0.5, random_state=0), parts
    )
    for each in (pickle.loads(pickle.dumps(ranker)), joined):
        assert warned(lambda e=each: e.evaluate(X[others], y[others], qid[others]))


def test_ids_that_cannot_be_hashed_or_are_few_say_nothing():
    known = fitted(*collection(0, sizes=unlike))._fit_rows.queries
    nine = group_queries(np.repeat(np.arange(9), np.arange(2, 11)), 54)
    assert known.divided(None, nine) == 0
    assert known.divided(known.hashes[:9], nine) == 0
    data = make_ranking(20, random_state=0)
    assert fitted(data.data, data.target, 0)._fit_rows.queries.hashes.size == 0
