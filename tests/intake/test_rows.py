"""Columns of X are found by name; rows, groups and labels that cast doubt."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, OneQueryWarning
from skrank_abstain._validation import MOST_GRADES
from skrank_abstain.datasets import make_ranking
from skrank_abstain.intake import hash_rows
from skrank_abstain.intake._rows import (
    _TIMES,
    Rows,
    _doubt_about_queries,
    groups_of_queries,
    read_grades,
    take_columns,
    warn_of_batch,
    warn_of_empty_rows,
    warn_of_labels_in,
)
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, score_items


@pytest.mark.parametrize("name", ["column_names", "columns", "select"])
def test_a_column_with_the_name_of_an_attribute(name):
    data = make_ranking(n_queries=60, n_features=2, n_informative=2, random_state=0)
    frame = pd.DataFrame({"a": data.data[:, 0].astype("f4"), name: data.data[:, 1]})
    ranker = BALToR(Ridge(), random_state=0).fit(frame, data.target, qid=data.qid)
    turned = frame[[name, "a"]]
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(frame))
    other = frame.set_axis(["a", "b"], axis=1)
    np.testing.assert_array_equal(hash_rows(frame), hash_rows(other))


@pytest.mark.parametrize("name", ["column_names", "columns"])
def test_a_booster_whose_column_has_the_name_of_an_attribute(name):
    lightgbm = pytest.importorskip("lightgbm")
    data = make_ranking(n_queries=60, n_features=2, n_informative=2, random_state=0)
    frame = pd.DataFrame(data.data, columns=["a", name])
    queries = group_queries(data.qid, data.qid.size)
    model = lightgbm.LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1)
    ranker = fit_ranker(model, frame, data.target, queries)
    scores = score_items(ranker, frame)
    np.testing.assert_array_equal(score_items(ranker, frame[[name, "a"]]), scores)


X = np.arange(12.0).reshape(3, 4)
FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.mark.parametrize("hold", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("column", "place"), [(0, 0), (3, 3), (-1, 3), (-4, 0)])
def test_a_column_is_taken_by_its_position(hold, column, place):
    rest, (found, none) = take_columns(hold(X), qid_col=column, groups=None)
    rest = rest.toarray() if hold is sparse.csr_array else rest
    np.testing.assert_array_equal(found, X[:, place])
    np.testing.assert_array_equal(rest, np.delete(X, place, axis=1))
    assert none is None


def test_columns_of_a_frame_are_taken_by_name_or_position():
    rest, (one, other) = take_columns(FRAME, qid_col="c", groups=0)
    assert list(rest.columns) == ["b", "d"]
    np.testing.assert_array_equal(one, X[:, 2])
    np.testing.assert_array_equal(other, X[:, 0])
    same, nothing = take_columns(FRAME, qid_col=None, groups=None)
    assert same is FRAME
    assert nothing == [None, None]


@pytest.mark.parametrize(
    ("column", "data", "error", "message"),
    [
        ("a", X, ValueError, "integer position when X has no column names, got 'a'"),
        ("e", FRAME, ValueError, "must name a column of X, got 'e'"),
        (True, X, TypeError, "must be a column name or position, got True"),
        (1.0, X, TypeError, "must be a column name or position, got 1.0"),
        (4, X, ValueError, "a position below 4, the number of columns of X, got 4"),
        (-5, X, ValueError, "a position below 4, the number of columns of X, got -5"),
        (0, X[:, :1], ValueError, "X must have a column besides those of"),
    ],
)
def test_what_names_no_column_is_an_error(column, data, error, message):
    with pytest.raises(error, match=message):
        take_columns(data, qid_col=column)


def test_one_column_has_one_use():
    for groups in ("b", 1, -3):
        with pytest.raises(ValueError, match="must be different columns, got 1 twice"):
            take_columns(FRAME, qid_col="b", groups=groups)


def test_identifiers_are_exact():
    exact = np.array([[2.0**53, 1], [np.nan, 1]])
    assert take_columns(exact, qid_col=0)[1][0][0] == 2**53
    for wrong in (2.0**53 + 2, -(2.0**53) - 2):
        with pytest.raises(ValueError, match=r"exact as floats .* got .*9007199254740"):
            take_columns(np.array([[wrong, 1], [7, 1]]), qid_col=0)


def test_groups_are_those_of_queries_or_of_items():
    queries = group_queries(["q", "p", "q", "p"], 4)
    assert groups_of_queries(None, queries) is None
    whole = groups_of_queries(["y", "x", "y", "x"], queries)
    assert [whole.names[code] for code in whole.code] == ["y", "x"]
    # With vary they may differ, and are in the order of their texts.
    assert groups_of_queries(list("yxyx"), queries, vary=True).code.size == 2
    apart = groups_of_queries(list("yxzx"), queries, vary=True)
    assert (apart.names, apart.code.tolist()) == (["x", "y", "z"], [1, 0, 2, 0])
    message = "must be the same for all items of a query, got 'y' and 'z' for query 'q'"
    with pytest.raises(ValueError, match=message):
        groups_of_queries(list("yxzx"), queries)
    with pytest.raises(TypeError, match="one value per row, got 'site'"):
        groups_of_queries("site", queries)


def rows_of(qid, n, given=True):
    return Rows(np.zeros((n, 2)), group_queries(qid, n), given)


def test_rows_of_one_query_are_doubted_unless_a_number_says_so():
    model = BALToR(Ridge())
    for qid, given in ((None, False), ("day", True), ([3] * 4, True)):
        queries = None if qid == "day" else qid
        doubt = _doubt_about_queries(model, qid, rows_of(queries, 4, given))
        words = "a qid that is the same for all rows" if given else "no qid"
        assert str(doubt).startswith(
            f"All 4 rows are one query: BALToR got {words}. Pass the query of each row"
        )
    assert _doubt_about_queries(model, 0, rows_of(None, 4)) is None
    assert _doubt_about_queries(model, [1, 1, 2], rows_of([1, 1, 2], 3)) is None


@pytest.mark.parametrize("one_more", [0, 1])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("fitted", [True, False])
def test_a_batch_much_larger_than_any_query_is_doubted(one_more, given, fitted):
    n = 5 * _TIMES + one_more
    model = BALToR(Ridge())
    model._largest_query, model._fitted_with_qid = 5, fitted
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_batch(model, rows_of(None, n, given))
    expected = one_more and fitted and not given
    assert [each.category for each in caught] == [OneQueryWarning] * expected
    if expected:
        assert f"More than {5 * _TIMES} rows are one query" in str(caught[0].message)
        assert "calibrated on has 5 rows" in str(caught[0].message)
    if fitted and one_more:  # a text may be the name of a column that X lacks
        with pytest.warns(OneQueryWarning, match="got one text as qid, and"):
            warn_of_batch(model, rows_of(None, n, True), "query")


def test_rows_that_are_each_a_query_are_doubted():
    model = BALToR(Ridge())
    model._largest_query, model._fitted_with_qid = 5, True
    with pytest.warns(UserWarning, match="12 of 12 rows have a qid of their own"):
        warn_of_batch(model, rows_of([*range(12)], 12))
    for silent in (["a"], [], ["a", "b", "c"], [*range(11), 10]):
        warn_of_batch(model, rows_of(silent, len(silent)))


@pytest.mark.parametrize("as_frame", [True, False])
def test_items_without_any_feature_are_counted(as_frame):
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [np.nan, 2.0]])
    given = pd.DataFrame(X) if as_frame else X
    with pytest.warns(UserWarning, match="1 of 3 items lack .*, such as row 1: "):
        warn_of_empty_rows(given)
    for silent in (given[::2], X.astype(str), sparse.csr_array(X), X[:0]):
        warn_of_empty_rows(silent)


def test_an_item_that_lacks_most_features_is_named_if_none_in_fit_did():
    data = make_ranking(n_queries=40, random_state=0)
    X, y, day = data.data, data.target, data.qid
    new = X[day == 0].copy()
    new[1, 1:] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5)
    ranker = BALToR(model, random_state=0).fit(X, y, qid=day)
    with pytest.warns(UserWarning, match="such as row 1: their pairs are decided"):
        ranker.ranking(new)
    new[1, 1 : X.shape[1] // 2] = 0  # half is not most
    ranker.ranking(new)
    X[5, 1:] = np.nan
    ranker = BALToR(model, random_state=0).fit(X, y, qid=day)
    new[1, 1:] = np.nan
    ranker.ranking(new)
    new[1] = np.nan
    with pytest.warns(UserWarning, match="such as row 1: their pairs are decided"):
        ranker.ranking(new)


def messages(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("hold", [np.asarray, pd.DataFrame])
def test_labels_among_the_features_are_seen(hold):
    y = np.arange(10.0) % 3
    X = np.column_stack([np.zeros(10), y])
    [message] = messages(warn_of_labels_in, hold(X), y)
    assert message.startswith("column 1 of X equals y")
    for other, label in (
        (X[:9], y[:9]),  # nine may be chance
        (X[:, 1:], y),  # a column alone is a score
        (X, y + 1),
        (X, np.zeros(10)),  # all grades alike
    ):
        assert messages(warn_of_labels_in, hold(other), label) == []
    assert messages(warn_of_labels_in, sparse.csr_array(X), y) == []


@pytest.mark.parametrize(
    ("grades", "warns"),
    [
        ([-1, -1, 0, 1], True),
        ([-1, 0], False),
        ([0, 1, 2], False),
        ([-2, -1, 0, 1], False),
        ([-1, 0.5, 1, 2], False),
        ([-1, *range(MOST_GRADES - 1)], True),
        ([-1, *range(MOST_GRADES)], False),
        ([-1], False),
        ([], False),
        # Grades of 1 to 5 that somebody took from 99.
        ([94, 95, 96, 97, 98], False),
        ([0, 95, 96, 97, 98], True),
    ],
)
def test_one_negative_grade_beside_others_may_be_no_judgement(grades, warns):
    found = messages(read_grades, np.array(grades, dtype=float))
    assert len(found) == warns
    if grades == [-1, -1, 0, 1]:
        assert found[0].startswith(
            "y has 2 items of grade -1, unlike the other 2, and counts them as"
        )
