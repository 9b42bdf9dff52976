"""What the checks of user input take, and what becomes of it."""

from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import losses, qids

from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    check_fraction,
    check_loss,
    check_positive_int,
    check_proba,
    check_relevance,
    check_sample_weight,
    check_vector,
    encode_qid,
    is_blank,
    is_missing,
    listed,
    rounded_share,
    shown,
)

SYMMETRIC = [[0, 0.5, 2], [0.25, 0, 0.25], [2, 0.5, 0]]


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


@pytest.mark.parametrize("value", [None, np.nan, pd.NaT, np.datetime64("NaT"), pd.NA])
def test_missing_values(value):
    assert is_missing(value)
    assert is_blank(value)


@pytest.mark.parametrize("value", [0, "", " ", "nan", [np.nan], np.array([np.nan, 1])])
def test_values_that_are_not_missing(value):
    assert not is_missing(value)
    assert is_blank(value) == (isinstance(value, str) and value != "nan")


def test_losses_have_names():
    np.testing.assert_array_equal(
        check_loss("misranking"), [[0, 0, 1], [1, 0, 1], [1, 0, 0]]
    )
    np.testing.assert_array_equal(
        check_loss("clear_order"), [[0, 1, 1], [10, 0, 10], [1, 1, 0]]
    )


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
        ([1, "a", 1.0], [0, 1, 0], [1, "a"]),
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


@given(st.integers(1, 1000), st.integers(1, 3000))
def test_rank_is_exact_for_decimal_coverages(permille, n_pairs):
    coverage = permille / 1000
    rank = rounded_share(coverage, n_pairs)
    assert rank == reference.rank_of_quantile(coverage, n_pairs)


@pytest.mark.parametrize(
    ("coverage", "n_pairs", "rank"),
    [
        (0.07, 100, 7),  # 0.07 * 100 is 7.000000000000001
        (0.29, 100, 29),  # 0.29 * 100 is 28.999999999999996
        (1.0, 7, 7),
        (1e-12, 7, 1),
        (0.5, 1, 1),
        (0.9999999, 10**9, 999_999_900),
        (0.5000001, 10**9, 500_000_100),
    ],
)
def test_rank_by_hand(coverage, n_pairs, rank):
    assert rounded_share(coverage, n_pairs) == rank


@given(st.integers(1, 100), st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_rank_is_that_of_numpys_inverted_cdf(percent, values):
    rank = rounded_share(percent / 100, len(values))
    expected = reference.order_statistic(values, percent / 100)
    assert sorted(values)[rank - 1] == expected
    if len(values) * percent % 100:  # numpy trips over coverage * n that is an integer
        inverted = np.quantile(values, percent / 100, method="inverted_cdf")
        assert inverted == expected


@pytest.mark.parametrize("container", [pd.Series, pd.Categorical, pd.Index])
def test_an_ordered_categorical_counts_by_its_numbers_or_is_refused(container):
    # People write the most urgent grade first as often as last.
    for names in (["green", "yellow", "red"], ["red", "yellow", "green"], [3, 2, 1]):
        y = container(pd.Categorical(names, categories=names, ordered=True))
        with pytest.raises(ValueError, match="which end is best"):
            check_relevance(y)
    y = container(pd.Categorical([1, 3, 2], ordered=True))
    np.testing.assert_array_equal(check_relevance(y, 3), [1, 3, 2])


def test_what_the_message_about_categoricals_says_works():
    words = ["red", "yellow", "green"]
    y = pd.Series(pd.Categorical(words, categories=words, ordered=True))
    grades = {"green": 0, "yellow": 1, "red": 2}
    given = y.astype(object).map(grades)
    np.testing.assert_array_equal(check_relevance(given), [2, 1, 0])
    # map alone keeps the order of the words.
    given = y.map(grades).astype(float)
    np.testing.assert_array_equal(check_relevance(given), [2, 1, 0])
