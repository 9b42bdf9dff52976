"""What the checks of user input refuse, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

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
)


def assert_refused(exception, message, function, *args, **options):
    with pytest.raises(exception, match=message):
        function(*args, **options)


def each(table):
    """Return the entries of a table of values by message, one by one."""
    entries = [(message, value) for message in table for value in table[message]]
    return pytest.mark.parametrize(("message", "value"), entries)


@pytest.mark.parametrize("value", ["0.5", True, np.True_, None, 1j])
def test_fractions_of_another_type(value):
    message = rf"c must be a real number in \(0, 1\), got .*{value}"
    assert_refused(TypeError, message, check_fraction, value, "c")


@pytest.mark.parametrize(
    ("value", "ends", "message"),
    [
        (0, (), r"c must be in \(0, 1\), got 0\."),
        (1, (), r"c must be in \(0, 1\), got 1\."),
        (1.2, ["include_one"], r"c must be in \(0, 1\], got 1\.2\."),
        (-0.1, ["include_zero"], r"c must be in \[0, 1\), got -0\.1\."),
        (np.nan, ["include_zero", "include_one"], r"c must be in \[0, 1\], got nan\."),
    ],
)
def test_fractions_out_of_range(value, ends, message):
    options = dict.fromkeys(ends, True)
    assert_refused(ValueError, message, check_fraction, value, "c", **options)


@pytest.mark.parametrize(
    ("value", "choices", "message"),
    [
        (
            "mean",
            ("pooled", "query"),
            r"a must be one of 'pooled', 'query', got 'mean'\.",
        ),
        (None, ("b",), r"one of 'b', got None\."),
        (["b"], ("b",), r"one of 'b', got \['b'\]"),
    ],
)
def test_unknown_choices(value, choices, message):
    assert_refused(ValueError, message, check_choice, value, "a", choices)


@pytest.mark.parametrize(
    ("value", "exception", "message"),
    [
        (1.0, TypeError, r"k must be an integer, got 1\.0"),
        (True, TypeError, r"k must be an integer"),
        (0, ValueError, r"k must be at least 1, got 0\."),
    ],
)
def test_numbers_that_do_not_count(value, exception, message):
    assert_refused(exception, message, check_positive_int, value, "k")


def test_a_number_below_its_minimum():
    message = r"k must be at least 0, got -1\."
    assert_refused(ValueError, message, check_positive_int, -1, "k", minimum=0)


@pytest.mark.parametrize(
    "loss",
    [
        [["a"]],
        [[0, 1], [1]],
        ZERO_ONE_LOSS * (1 + 1j),  # the imaginary part would be lost
        [["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]],
        np.array([[0, "1", 1], [1, 0, 1], [1, "1", 0]], object),
        [[0, 10**400, 0]],
    ],
    ids=str,
)
def test_losses_that_are_no_numbers(loss):
    message = (
        r"loss must be one of 'misranking', .*'zero_one' or a 3x3 matrix of numbers"
    )
    assert_refused(TypeError, message, check_loss, loss)


LOSSES = {
    r"loss must be one of .*, got 'l1'": ["l1"],
    r"3x3 matrix .*got shape \(2, 2\)": [np.eye(2)],
    r"3x3 matrix .*got shape \(\)": [1.0],
    r"non-negative entries, got \[\[": [-ZERO_ONE_LOSS],
    r"loss must have finite": [
        np.where(ZERO_ONE_LOSS, np.inf, 0),
        np.where(ZERO_ONE_LOSS, np.nan, 0),
    ],
    r"loss must have a zero diagonal, got \[1\.0, 1\.0, 1\.0\]": [np.ones((3, 3))],
    # A == A.T is another symmetry.
    r"mirror-symmetric, loss\[i, j\] == loss\[2 - i, 2 - j\]": [
        [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    ],
}


@each(LOSSES)
def test_losses_that_break_a_rule(message, value):
    assert_refused(ValueError, message, check_loss, value)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((3.0, "y"), r"y must be a 1d array, got shape \(\)"),
        ((np.zeros((2, 2)), "y"), r"y must be a 1d array, got shape \(2, 2\)"),
        (
            ([1, 2], "y", 3),
            r"y must have one value per item: X has 3 rows, y has 2 val",
        ),
    ],
)
def test_arrays_that_are_no_vector_of_this_length(args, message):
    assert_refused(ValueError, message, check_vector, *args)


RELEVANCE = {
    r"y must hold numbers, got dtype (<U|\|S)": [["a", "b"], ["1", "2"], [b"1"]],
    r"y must hold numbers, got dtype object": [
        np.array([1, "2"], dtype=object),
        pd.Series([1, None], dtype="Int64").astype(object),
        [10**400, 0],
    ],
    r"y must hold numbers, got dtype datetime64": [np.array(["2020", "2021"], "M8[D]")],
    r"y must hold numbers, got dtype timedelta64": [np.array([1, 2], "m8[D]")],
    r"y must be finite, got NaN": [[None, 1]],
    r"y must be a 1d array": [None],
    r"Complex data not supported: y": [[1j, 0]],
    r"y must be finite, got NaN \(nan\) at row 2 and 2 such values in all": [
        [0, 1, np.nan, np.nan]
    ],
    r"y must be finite, got infinity \(-inf\) at row 1": [[0, -np.inf]],
    r"y must not exceed 2\*\*53 .*got 9007199254740994": [[0, 2**53 + 2]],
    r"y must not exceed 2\*\*53 .*got -?\d{16,22}\.": [
        np.array([-(2**60), 0]),
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
    ],
}


@each(RELEVANCE)
def test_relevance_that_is_refused(message, value):
    assert_refused(ValueError, message, check_relevance, value)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((["0.5"],), r"scores must hold numbers"),
        (([np.nan],), r"scores must be finite, got NaN .* Look at the model"),
        (([1.0], 2), r"scores must have one value per item"),
    ],
)
def test_scores_that_are_refused(args, message):
    assert_refused(ValueError, message, check_scores, *args)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -0.5], r"sample_weight must be non-negative, got -0\.5"),
        ([1, np.inf], r"sample_weight must be finite"),
        ([1], r"must have one value per pair: 2 pairs, sample_weight has 1 v"),
    ],
)
def test_weights_that_are_refused(weight, message):
    assert_refused(ValueError, message, check_sample_weight, weight, 2, unit="pair")


PROBA = {
    r"proba must hold numbers, three in each row": [
        [["0", "0", "1"]],
        np.array([[0, 0, 1 + 1j]]),
        [[0, 0, 1], [1]],
    ],
    r"proba must be of shape \(n_pairs, 3\), .* got \(0, 2\)": [np.empty((0, 2))],
    r"proba must have non-negative rows .* got \[inf, -inf, 1\.0\] at row 0": [
        [[np.inf, -np.inf, 1]]
    ],
}


@each(PROBA)
def test_probabilities_that_are_refused(message, value):
    assert_refused(ValueError, message, check_proba, value)


def test_probabilities_of_another_number_of_pairs():
    message = r"p must be of shape \(n_pairs, 3\) = \(2, 3\), .* got \(1, 3\)"
    assert_refused(ValueError, message, check_proba, [[0, 0, 1]], 2, name="p")


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        (
            {"a", "b"},
            r"qid must be a list or an array, .* order of the rows, got a set\.",
        ),
        (frozenset({1}), r"qid must be a list or an array, .* got a frozenset"),
        ({0: "a", 1: "b"}, r"qid must be a list or an array, .* got a dict"),
        ((q for q in "ab"), r"qid must be a list or an array, .* got a generator"),
        (
            [np.array([1, 2])] * 2,
            r"hashable values, got ndarray of shape \(2,\) at row 0",
        ),
        ([[1], [1]], r"qid must hold hashable values, got \[1\] at row 0"),
        ([0, {}], r"qid must hold hashable values, got \{\} at row 1"),
    ],
)
def test_queries_of_another_type(qid, message):
    assert_refused(TypeError, message, encode_qid, qid, 2)


MISSING = {
    r"qid must not be missing, got NaN at row 1": [[1.0, np.nan]],
    r"qid must not be missing, got None at row 1": [
        ["a", None],
        np.array(["2020", "NaT"], "M8[ns]"),
    ],
    r"qid must not be missing, got nan at row 1": [["a", float("nan")]],
    r"qid must not be missing, got <NA> at row 1": [
        pd.Series(["a", pd.NA], dtype="object")
    ],
    r"qid must not be missing, got None at row 0": [pl.Series([None, "a"])],
    r"qid must be a 1d array, got shape \(2, 2\)": [np.zeros((2, 2))],
}


@each(MISSING)
def test_queries_that_are_missing(message, value):
    assert_refused(ValueError, message, encode_qid, value, 2)


@pytest.mark.parametrize(
    ("qid", "n", "unit", "message"),
    [
        (
            [1],
            2,
            "pair",
            r"qid must have one value per pair: 2 pairs, qid has 1 values",
        ),
        (
            [1, 1],
            3,
            "item",
            r"qid .* one value per item: X has 3 rows, qid has 2 values",
        ),
        ([1, 2], 3, "item", r"2 values that add up to the 3 rows, as .* do: \[1, 2\]"),
    ],
)
def test_queries_of_another_number_of_rows(qid, n, unit, message):
    assert_refused(ValueError, message, encode_qid, qid, n, unit=unit)
