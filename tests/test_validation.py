from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import losses, qids

from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    check_choice,
    check_fraction,
    check_loss,
    check_positive_int,
    check_proba,
    check_relevance,
    check_sample_weight,
    check_scores,
    check_vector,
    encode_qid,
    listed,
    shown,
)

SYMMETRIC = [[0, 0.5, 2], [0.25, 0, 0.25], [2, 0.5, 0]]

REFUSED = [
    (lambda: check_fraction("0.5", "c"), TypeError, r"c must be a real number in \(0"),
    (lambda: check_fraction(True, "c"), TypeError, r"c must be a real number.*True"),
    (lambda: check_fraction(np.True_, "c"), TypeError, r"c must be a real number"),
    (lambda: check_fraction(None, "c"), TypeError, r"c must be .*, got None"),
    (lambda: check_fraction(1j, "c"), TypeError, r"c must be a real number"),
    (lambda: check_fraction(0, "c"), ValueError, r"c must be in \(0, 1\), got 0\."),
    (lambda: check_fraction(1, "c"), ValueError, r"c must be in \(0, 1\), got 1\."),
    (
        lambda: check_fraction(1.2, "c", include_one=True),
        ValueError,
        r"c must be in \(0, 1\], got 1\.2\.",
    ),
    (
        lambda: check_fraction(-0.1, "c", include_zero=True),
        ValueError,
        r"c must be in \[0, 1\), got -0\.1\.",
    ),
    (
        lambda: check_fraction(float("nan"), "c", include_zero=True, include_one=True),
        ValueError,
        r"c must be in \[0, 1\], got nan\.",
    ),
    (
        lambda: check_choice("mean", "average", ("pooled", "query")),
        ValueError,
        r"average must be one of 'pooled', 'query', got 'mean'\.",
    ),
    (lambda: check_choice(None, "a", ("b",)), ValueError, r"one of 'b', got None\."),
    (lambda: check_choice(["b"], "a", ("b",)), ValueError, r"one of 'b', got \['b'\]"),
    (
        lambda: check_positive_int(1.0, "k"),
        TypeError,
        r"k must be an integer, got 1\.0",
    ),
    (lambda: check_positive_int(True, "k"), TypeError, r"k must be an integer"),
    (lambda: check_positive_int(0, "k"), ValueError, r"k must be at least 1, got 0\."),
    (
        lambda: check_positive_int(-1, "k", minimum=0),
        ValueError,
        r"k must be at least 0, got -1\.",
    ),
    (
        lambda: check_loss("l1"),
        ValueError,
        r"loss must be one of .*, got 'l1'",
    ),
    (
        lambda: check_loss([["a"]]),
        TypeError,
        r"loss must be 'zero_one', 'misranking' or a 3x3 matrix",
    ),
    (
        lambda: check_loss([[0, 1], [1]]),
        TypeError,
        r"loss must be .* matrix of numbers",
    ),
    (
        # The imaginary part would be lost.
        lambda: check_loss(ZERO_ONE_LOSS * (1 + 1j)),
        TypeError,
        r"loss must be .* matrix of numbers",
    ),
    (
        lambda: check_loss([["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]]),
        TypeError,
        r"loss must be .* matrix of numbers",
    ),
    (
        lambda: check_loss(np.array([[0, "1", 1], [1, 0, 1], [1, "1", 0]], object)),
        TypeError,
        r"loss must be .* matrix of numbers",
    ),
    (
        lambda: check_loss([[0, 10**400, 0]]),
        TypeError,
        r"loss must be .* matrix of numbers",
    ),
    (lambda: check_loss(np.eye(2)), ValueError, r"3x3 matrix .*got shape \(2, 2\)"),
    (lambda: check_loss(1.0), ValueError, r"3x3 matrix .*got shape \(\)"),
    (lambda: check_loss(-ZERO_ONE_LOSS), ValueError, r"non-negative entries, got \[\["),
    (
        lambda: check_loss(np.where(ZERO_ONE_LOSS, np.inf, 0)),
        ValueError,
        r"loss must have finite",
    ),
    (
        lambda: check_loss(np.where(ZERO_ONE_LOSS, np.nan, 0)),
        ValueError,
        r"loss must have finite",
    ),
    (
        lambda: check_loss(np.ones((3, 3))),
        ValueError,
        r"loss must have a zero diagonal, got \[1\.0, 1\.0, 1\.0\]",
    ),
    (
        # A == A.T is not the symmetry that is asked for.
        lambda: check_loss([[0, 1, 2], [1, 0, 3], [2, 3, 0]]),
        ValueError,
        r"mirror-symmetric, loss\[i, j\] == loss\[2 - i, 2 - j\]",
    ),
    (
        lambda: check_vector(3.0, "y"),
        ValueError,
        r"y must be a 1d array, got shape \(\)",
    ),
    (
        lambda: check_vector(np.zeros((2, 2)), "y"),
        ValueError,
        r"y must be a 1d array, got shape \(2, 2\)",
    ),
    (
        lambda: check_vector([1, 2], "y", 3),
        ValueError,
        r"y must have one value per item: X has 3 rows, y has 2 values",
    ),
    (
        lambda: check_relevance(["a", "b"]),
        ValueError,
        r"y must hold numbers, got dtype",
    ),
    (lambda: check_relevance(["1", "2"]), ValueError, r"y must hold numbers"),
    (lambda: check_relevance([b"1"]), ValueError, r"y must hold numbers"),
    (
        lambda: check_relevance(np.array([1, "2"], dtype=object)),
        ValueError,
        r"y must hold numbers, got dtype object",
    ),
    (
        lambda: check_relevance(np.array(["2020", "2021"], "M8[D]")),
        ValueError,
        r"y must hold numbers, got dtype datetime64",
    ),
    (
        lambda: check_relevance(np.array([1, 2], "m8[D]")),
        ValueError,
        r"y must hold numbers, got dtype timedelta64",
    ),
    (
        lambda: check_relevance(pd.Series([1, None], dtype="Int64").astype(object)),
        ValueError,
        r"y must hold numbers, got dtype object",
    ),
    (lambda: check_relevance([10**400, 0]), ValueError, r"y must hold numbers"),
    (lambda: check_relevance([None, 1]), ValueError, r"y must be finite, got NaN"),
    (lambda: check_relevance(None), ValueError, r"y must be a 1d array"),
    (lambda: check_relevance([1j, 0]), ValueError, r"Complex data not supported: y"),
    (
        lambda: check_relevance([0, 1, np.nan, np.nan]),
        ValueError,
        r"y must be finite, got NaN \(nan\) at row 2 and 2 such values in all",
    ),
    (
        lambda: check_relevance([0, -np.inf]),
        ValueError,
        r"y must be finite, got infinity \(-inf\) at row 1",
    ),
    (
        lambda: check_relevance([0, 2**53 + 2]),
        ValueError,
        r"y must not exceed 2\*\*53 .*got 9007199254740994",
    ),
    (
        lambda: check_relevance(np.array([-(2**60), 0])),
        ValueError,
        r"y must not exceed 2\*\*53",
    ),
    *[
        (
            lambda y=y: check_relevance(y),
            ValueError,
            r"y must not exceed 2\*\*53 .*got -?\d{16,22}\.",
        )
        for y in (
            [2**53, 2**53 + 1],
            [2**53 + 1, 0.5],
            [2**63, 2**63 + 1, -1],
            [2**70, 2**70 + 1],
            [-(2**70), 1.5],
            [[2**53 + 1], [0]],
            np.array([2**53 + 1, 0.5], dtype=object),
            np.array([-(2**63)]),
            pd.Series([2**53, 2**53 + 1], dtype="Int64"),
            pl.Series([2**53, 2**53 + 1]),
        )
    ],
    (lambda: check_scores(["0.5"]), ValueError, r"scores must hold numbers"),
    (
        lambda: check_scores([np.nan]),
        ValueError,
        r"scores must be finite, got NaN .* Look at the model",
    ),
    (
        lambda: check_scores([1.0], 2),
        ValueError,
        r"scores must have one value per item",
    ),
    (
        lambda: check_sample_weight([1, -0.5], 2),
        ValueError,
        r"sample_weight must be non-negative, got -0\.5",
    ),
    (
        lambda: check_sample_weight([1, np.inf], 2),
        ValueError,
        r"sample_weight must be finite",
    ),
    (
        lambda: check_sample_weight([1], 2, unit="pair"),
        ValueError,
        r"sample_weight must have one value per pair: 2 pairs, sample_weight has 1 v",
    ),
    (
        lambda: check_proba([["0", "0", "1"]]),
        ValueError,
        r"proba must hold numbers, three in each row",
    ),
    (
        lambda: check_proba(np.array([[0, 0, 1 + 1j]])),
        ValueError,
        r"proba must hold numbers, three in each row",
    ),
    (
        lambda: check_proba([[0, 0, 1], [1]]),
        ValueError,
        r"proba must hold numbers, three in each row",
    ),
    (
        lambda: check_proba([[0, 0, 1]], 2, name="p"),
        ValueError,
        r"p must be of shape \(n_pairs, 3\) = \(2, 3\), .* got \(1, 3\)",
    ),
    (
        lambda: check_proba(np.empty((0, 2))),
        ValueError,
        r"proba must be of shape \(n_pairs, 3\), .* got \(0, 2\)",
    ),
    (
        lambda: check_proba([[np.inf, -np.inf, 1]]),
        ValueError,
        r"proba must have non-negative rows .* got \[inf, -inf, 1\.0\] at row 0",
    ),
    (
        lambda: encode_qid({"a", "b"}, 2),
        TypeError,
        r"qid must be a list or an array, .* order of the rows, got a set\.",
    ),
    (
        lambda: encode_qid(frozenset({1}), 1),
        TypeError,
        r"qid must be a list or an array, .* got a frozenset",
    ),
    (
        lambda: encode_qid({0: "a", 1: "b"}, 2),
        TypeError,
        r"qid must be a list or an array, .* got a dict",
    ),
    (
        lambda: encode_qid((q for q in "ab"), 2),
        TypeError,
        r"qid must be a list or an array, .* got a generator",
    ),
    (
        lambda: encode_qid([np.array([1, 2]), np.array([1, 2])], 2),
        TypeError,
        r"qid must hold hashable values, got ndarray of shape \(2,\) at row 0",
    ),
    (
        lambda: encode_qid([1], 2, unit="pair"),
        ValueError,
        r"qid must have one value per pair: 2 pairs, qid has 1 values",
    ),
    (
        lambda: encode_qid([1, 2], 3),
        ValueError,
        r"qid must have one value per item: X has 3 rows, qid has 2 values",
    ),
    (
        lambda: encode_qid(np.zeros((2, 2)), 2),
        ValueError,
        r"qid must be a 1d array, got shape \(2, 2\)",
    ),
    (
        lambda: encode_qid([1.0, np.nan], 2),
        ValueError,
        r"qid must not be missing, got NaN at row 1",
    ),
    (
        lambda: encode_qid(["a", None], 2),
        ValueError,
        r"qid must not be missing, got None at row 1",
    ),
    (
        lambda: encode_qid(["a", float("nan")], 2),
        ValueError,
        r"qid must not be missing, got nan at row 1",
    ),
    (
        lambda: encode_qid(pd.Series(["a", pd.NA], dtype="object"), 2),
        ValueError,
        r"qid must not be missing, got <NA> at row 1",
    ),
    (
        lambda: encode_qid(pl.Series([None, "a"]), 2),
        ValueError,
        r"qid must not be missing, got None at row 0",
    ),
    (
        lambda: encode_qid(np.array(["2020", "NaT"], "M8[ns]"), 2),
        ValueError,
        r"qid must not be missing, got None at row 1",
    ),
    (
        lambda: encode_qid([[1], [1]], 2),
        TypeError,
        r"qid must hold hashable values, got \[1\] at row 0",
    ),
    (
        lambda: encode_qid([0, {}], 2),
        TypeError,
        r"qid must hold hashable values, got \{\} at row 1",
    ),
]


@pytest.mark.parametrize(("call", "exception", "message"), REFUSED)
def test_refuses(call, exception, message):
    with pytest.raises(exception, match=message):
        call()


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_fraction_accepts_every_real_type(value):
    checked = check_fraction(value, "c")
    assert checked == 0.5
    assert type(checked) is float


def test_fraction_includes_the_end_points_only_on_request():
    assert check_fraction(0, "c", include_zero=True) == 0
    assert check_fraction(1, "c", include_one=True) == 1


def test_positive_int_accepts_numpy_integers():
    checked = check_positive_int(np.int8(3), "k")
    assert checked == 3
    assert type(checked) is int


def test_loss_is_a_fresh_float_matrix():
    loss = check_loss("zero_one")
    loss[:] = 7
    np.testing.assert_array_equal(
        check_loss("zero_one"), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    )
    given = np.array(SYMMETRIC)
    checked = check_loss(given)
    checked[:] = 7
    np.testing.assert_array_equal(given, SYMMETRIC)
    assert check_loss(ZERO_ONE_LOSS.astype(int)).dtype == np.float64


@given(losses())
def test_every_mirror_symmetric_loss_is_accepted(loss):
    np.testing.assert_array_equal(check_loss(loss.tolist()), loss)


@given(losses(), st.integers(0, 2), st.integers(0, 2))
def test_any_broken_symmetry_is_refused(loss, row, column):
    if row == column == 1:
        return
    loss[row, column] += 1
    with pytest.raises(ValueError, match=r"loss must (be mirror|have a zero)"):
        check_loss(loss)


def test_one_column_is_a_vector():
    np.testing.assert_array_equal(check_vector([[1], [2]], "y", 2), [1, 2])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, bool, object])
def test_relevance_keeps_values_of_any_numeric_type(dtype):
    checked = check_relevance(np.array([1, 0, 1], dtype=dtype), 3)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, [1, 0, 1])


def test_the_largest_exact_integer_is_accepted():
    assert check_relevance([2**53, -(2**53)]).tolist() == [2**53, -(2**53)]


@pytest.mark.parametrize(
    "y",
    [[1, 0.5, True], [Decimal(1), Fraction(1, 2), 1], [np.int8(1), 0.5, np.True_]],
)
@pytest.mark.parametrize("container", [list, lambda y: np.array(y, dtype=object)])
def test_numbers_of_any_type_are_relevance(y, container):
    assert check_relevance(container(y)).tolist() == [1, 0.5, 1]


def test_floats_may_exceed_the_exact_integers():
    assert check_relevance([1e300, 2]).tolist() == [1e300, 2]
    assert check_relevance(np.array([1e300, 2], object)).tolist() == [1e300, 2]


def test_probabilities_are_not_rescaled():
    proba = [[0.2, 0.3, 0.5000001], [0, 1, 0]]
    np.testing.assert_array_equal(check_proba(proba), proba)
    assert check_proba([]).shape == check_proba([], 0).shape == (0, 3)


def test_read_only_input_is_accepted():
    y = np.array([1.0, 2.0])
    y.setflags(write=False)
    np.testing.assert_array_equal(check_relevance(y), y)


def test_no_weight_stays_none():
    assert check_sample_weight(None, 3) is None
    np.testing.assert_array_equal(check_sample_weight([0, 2], 2), [0.0, 2.0])


@pytest.mark.parametrize("qid", [None, 7, "query", b"query", np.int64(7), np.array(7)])
def test_none_and_scalars_are_one_query(qid):
    codes, values = encode_qid(qid, 3)
    assert codes.tolist() == [0, 0, 0]
    assert values.tolist() == [qid if not isinstance(qid, np.ndarray) else 7]


def test_an_identifier_that_ends_in_a_null_keeps_it():
    assert encode_qid("a\0", 2)[1].tolist() == ["a\0"]


@pytest.mark.parametrize("qid", [None, 7, [], (), np.empty(0), np.empty(0, object)])
def test_no_items_have_no_queries(qid):
    codes, values = encode_qid(qid, 0)
    assert codes.shape == values.shape == (0,)
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("qid", "codes", "values"),
    [
        ([5, 3, 5], [0, 1, 0], [5, 3]),
        ([0.5, -0.0, 0.0], [0, 1, 1], [0.5, 0.0]),
        ([1, "1", 1.0], [0, 1, 0], [1, "1"]),
        (["b", "a", "b"], [0, 1, 0], ["b", "a"]),
        ([b"a", "a"], [0, 1], [b"a", "a"]),
        ([(1, 2), (1, 3), (1, 2)], [0, 1, 0], [(1, 2), (1, 3)]),
        ([(1,), (1, 2), (1,)], [0, 1, 0], [(1,), (1, 2)]),
        ([(1, 2), "a"], [0, 1], [(1, 2), "a"]),
        (((1,), (1, 2)), [0, 1], [(1,), (1, 2)]),
        ([(1, (2, 3)), (1, (2, 3))], [0, 0], [(1, (2, 3))]),
        ([range(2), range(3), range(2)], [0, 1, 0], [range(2), range(3)]),
        ([2**70, 2**70 + 1], [0, 1], [2**70, 2**70 + 1]),
        ([2**53, 2**53 + 1, 0.5], [0, 1, 2], [2**53, 2**53 + 1, 0.5]),
        ([2**63, 2**63 + 1, -1], [0, 1, 2], [2**63, 2**63 + 1, -1]),
        ([np.int64(2**53 + 1), float(2**53)], [0, 1], [2**53 + 1, 2.0**53]),
        ([b"a", b"a\0", b"a"], [0, 1, 0], [b"a", b"a\0"]),
        (["a", "a\0", "a"], [0, 1, 0], ["a", "a\0"]),
        ([True, 1, 0.0, False], [0, 0, 1, 1], [True, 0.0]),
        ({2: 0, 1: 0}.keys(), [0, 1], [2, 1]),
        ({0: "b", 1: "a", 2: "b"}.values(), [0, 1, 0], ["b", "a"]),
        (deque("bab"), [0, 1, 0], ["b", "a"]),
        (range(3, 0, -1), [0, 1, 2], [3, 2, 1]),
        (np.array(["b", "b", "a", "b"]), [0, 0, 1, 0], ["b", "a"]),
        (np.array([2.0, 2, 1, 1, 2]), [0, 0, 1, 1, 0], [2, 1]),
        (pd.Series(["b", "a", "b"], index=[9, 8, 7]), [0, 1, 0], ["b", "a"]),
        (pd.Series(["b", "a", "b"], dtype="category"), [0, 1, 0], ["b", "a"]),
        (pd.Series([2, 1, 2], dtype="Int64"), [0, 1, 0], [2, 1]),
        (pl.Series(["b", "a", "b"]), [0, 1, 0], ["b", "a"]),
        (pl.Series([2, 1, 2]), [0, 1, 0], [2, 1]),
        (np.array([[2], [1], [2]]), [0, 1, 0], [2, 1]),
    ],
)
def test_queries_are_numbered_as_they_appear(qid, codes, values):
    got_codes, got_values = encode_qid(qid, len(qid))
    assert got_codes.tolist() == codes
    assert got_values.tolist() == values


def test_dates_keep_their_type():
    qid = np.array(["2021", "2020", "2021"], dtype="M8[ns]")
    codes, values = encode_qid(qid, 3)
    assert codes.tolist() == [0, 1, 0]
    np.testing.assert_array_equal(values, qid[:2])
    assert values.dtype == qid.dtype


@given(st.data(), st.integers(1, 10))
def test_codes_agree_with_a_plain_loop(data, n):
    qid = data.draw(qids(n))
    codes, values = encode_qid(qid, n)
    known = []
    for value in qid:
        if value not in known:
            known.append(value)
    assert codes.tolist() == [known.index(value) for value in qid]
    assert list(values) == known


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        ("median", "'median'"),
        (np.float64(2), "np.float64(2.0)"),
        ([1, 2], "[1, 2]"),
        (list(range(11)), "list of 11 values"),
        (np.zeros((2, 3)), "ndarray of shape (2, 3)"),
        ("x" * 200, "'" + "x" * 116 + "..."),
    ],
)
def test_values_in_messages_are_short(value, text):
    assert shown(value) == text


def test_lists_of_names_in_messages_are_short():
    assert listed(["a", 1]) == "['a', 1]"
    assert listed(range(12)) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...], 12 in all"
