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
    check_row_order,
    check_sample_weight,
    check_scores,
    check_vector,
    encode_qid,
)

# fmt: off
VALUES = [
    (lambda: check_fraction(0, "c"), r"c must be in \(0, 1\), got 0\."),
    (lambda: check_fraction(1, "c"), r"c must be in \(0, 1\), got 1\."),
    (lambda: check_fraction(1.2, "c", include_one=True),
     r"c must be in \(0, 1\], got 1\.2\."),
    (lambda: check_fraction(-0.1, "c", include_zero=True),
     r"c must be in \[0, 1\), got -0\.1\."),
    (lambda: check_fraction(float("nan"), "c", include_zero=True, include_one=True),
     r"c must be in \[0, 1\], got nan\."),
    (lambda: check_choice("mean", "average", ("pooled", "query")),
     r"average must be one of 'pooled', 'query', got 'mean'\."),
    (lambda: check_choice(None, "a", ("b",)), r"one of 'b', got None\."),
    (lambda: check_choice(["b"], "a", ("b",)), r"one of 'b', got \['b'\]"),
    (lambda: check_positive_int(0, "k"), r"k must be at least 1, got 0\."),
    (lambda: check_positive_int(-1, "k", minimum=0), r"k must be at least 0, got -1\."),
    (lambda: check_loss("l1"), r"loss must be one of .*, got 'l1'"),
    (lambda: check_loss(np.eye(2)), r"3x3 matrix .*got shape \(2, 2\)"),
    (lambda: check_loss(1.0), r"3x3 matrix .*got shape \(\)"),
    (lambda: check_loss(-ZERO_ONE_LOSS), r"non-negative entries, got \[\["),
    (lambda: check_loss(np.where(ZERO_ONE_LOSS, np.inf, 0)), r"loss must be finite"),
    (lambda: check_loss(np.where(ZERO_ONE_LOSS, np.nan, 0)), r"loss must be finite"),
    (lambda: check_loss(np.zeros((3, 3))), r"loss must have a positive entry"),
    (lambda: check_loss(np.ones((3, 3))),
     r"loss must have a zero diagonal, got \[\[1\.0, 1\.0, 1\.0\]"),
    # A == A.T is not the symmetry that is asked for.
    (lambda: check_loss([[0, 1, 2], [1, 0, 3], [2, 3, 0]]),
     r"mirror-symmetric, loss\[i, j\] == loss\[2 - i, 2 - j\]"),
    (lambda: check_vector(3.0, "y"), r"y must be a 1d array, got 3.0"),
    (lambda: check_vector(np.zeros((2, 2)), "y"),
     r"y must be a 1d array, got shape \(2, 2\)"),
    (lambda: check_vector([1, 2], "y", 3),
     r"y must have one value per item: X has 3 rows, y has 2 values"),
    (lambda: check_relevance(["a", "b"]), r"y must hold numbers, got dtype"),
    (lambda: check_relevance(["1", "2"]), r"y must hold numbers"),
    (lambda: check_relevance([b"1"]), r"y must hold numbers"),
    (lambda: check_relevance(np.array([1, "2"], dtype=object)),
     r"y must hold numbers, got dtype object"),
    (lambda: check_relevance(np.array(["2020", "2021"], "M8[D]")),
     r"y must hold numbers, got dtype datetime64"),
    (lambda: check_relevance(np.array([1, 2], "m8[D]")),
     r"y must hold numbers, got dtype timedelta64"),
    (lambda: check_relevance(pd.Series([1, None], dtype="Int64").astype(object)),
     r"y must hold numbers, got dtype object"),
    (lambda: check_relevance([10**400, 0]), r"y must hold numbers"),
    (lambda: check_relevance([None, 1]), r"y must be finite, got NaN"),
    (lambda: check_relevance([1, np.nan]), r"keep = y\.notna\(\)\. y\.map gives none"),
    (lambda: check_relevance(pd.array([1, None], dtype="Int64")), r"keep = y\.notna"),
    (lambda: check_relevance(["red", None]), r"keep = y\.notna"),
    (lambda: check_relevance(["red", "green"]),
     r'map\({"green": 0, .*which end is best, LabelEncoder sorts by alphabet\.$'),
    (lambda: check_relevance(pd.Categorical(["low", "high"])), r"\.map\("),
    (lambda: check_relevance(pd.Categorical(["b", None], ordered=True)),
     r"y must hold numbers, .* keep = y\.notna.*\.map\("),
    (lambda: check_relevance(pd.Categorical(["b", None], ["b", "a"], ordered=True)),
     r"y must hold numbers, .*does not say which end is best"),
    (lambda: check_relevance(None), r"y must be a 1d array"),
    (lambda: check_relevance([1j, 0]), r"Complex data not supported: y"),
    (lambda: check_relevance([0, 1, np.nan, np.nan]),
     r"y must be finite, got NaN \(nan\) at row 2 and 2 such values in all"),
    (lambda: check_relevance([0, -np.inf]),
     r"y must be finite, got infinity \(-inf\) at row 1"),
    (lambda: check_relevance([0, 2**53 + 2]),
     r"y must not exceed 2\*\*53 .*got 9007199254740994"),
    (lambda: check_relevance(np.array([-(2**60), 0])), r"y must not exceed 2\*\*53"),
    (lambda: check_scores(["0.5"]), r"scores must hold numbers"),
    (lambda: check_scores([np.nan]),
     r"scores must be finite, got NaN .* Look at the model"),
    (lambda: check_scores([1.0], 2), r"scores must have one value per item"),
    (lambda: check_sample_weight([1, -0.5], 2),
     r"sample_weight must be non-negative, got -0\.5"),
    (lambda: check_sample_weight([1, np.inf], 2), r"sample_weight must be finite"),
    (lambda: check_sample_weight([1], 2, unit="pair"),
     r"sample_weight must have one value per pair: 2 pairs, sample_weight has 1 v"),
    (lambda: check_proba([["0", "0", "1"]]),
     r"proba must hold numbers, got dtype"),
    (lambda: check_proba(np.array([[0, 0, 1 + 1j]])),
     r"Complex data not supported: proba"),
    (lambda: check_proba([[0, 0, 1], [1]]), r"proba must have rows of one length"),
    (lambda: check_proba([[0, 0, 1]], 2, name="p"),
     r"p must be of shape \(n_pairs, 3\) = \(2, 3\), .* got \(1, 3\)"),
    (lambda: check_proba(np.empty((0, 2))),
     r"proba must be of shape \(n_pairs, 3\), .* got \(0, 2\)"),
    (lambda: check_proba([[np.inf, -np.inf, 1]]),
     r"proba must have non-negative rows .* got \[inf, -inf, 1\.0\] at row 0"),
    (lambda: encode_qid([1], 2, unit="pair"),
     r"qid must have one value per pair: 2 pairs, qid has 1 values"),
    (lambda: encode_qid([1, 1], 3),
     r"qid must have one value per item: X has 3 rows, qid has 2 values"),
    (lambda: encode_qid([1, 2], 3),
     r"got 2 values that add up to the 3 rows, as group sizes do: \[1, 2\]"),
    (lambda: encode_qid(np.zeros((2, 2)), 2),
     r"qid must be a 1d array, got shape \(2, 2\)"),
    (lambda: encode_qid([1.0, np.nan], 2),
     r"qid must not be missing, got NaN at row 1"),
    (lambda: encode_qid(["a", None], 2), r"qid must not be missing, got None at row 1"),
    (lambda: encode_qid(["a", " "], 2, name="groups"),
     r"groups must not be missing, got ' ' at row 1"),
    (lambda: encode_qid(["a", float("nan")], 2),
     r"qid must not be missing, got nan at row 1"),
    (lambda: encode_qid(pd.Series(["a", pd.NA], dtype="object"), 2),
     r"qid must not be missing, got <NA> at row 1"),
    (lambda: encode_qid(pl.Series([None, "a"]), 2),
     r"qid must not be missing, got None at row 0"),
    (lambda: encode_qid(np.array(["2020", "NaT"], "M8[ns]"), 2),
     r"qid must not be missing, got None at row 1"),
    (lambda: encode_qid([1, "1", 2], 3),
     r"qid must write each value in one way, got 1 and '1', .* by type, spaces"),
    (lambda: encode_qid([1.0, "2", "1"], 3), r"qid must write .*, got 1\.0 and '1'"),
    (lambda: encode_qid(np.array(["q1 ", "q2", "q1"]), 3),
     r"got 'q1 ' and 'q1', .* spaces at their ends or, .* pass \[str\(q\)\.strip\(\)"),
    (lambda: encode_qid(["Bo", "\tBo"], 2, name="item_id"), "item_id must write each"),
    (lambda: encode_qid(["F", "m", "f"], 3, name="groups"),
     r"groups must write .*, got 'F' and 'f', .* case alone"),
]
TYPES = [
    (lambda: check_fraction("0.5", "c"), r"c must be a real number in \(0"),
    (lambda: check_fraction(True, "c"), r"c must be a real number.*True"),
    (lambda: check_fraction(np.True_, "c"), r"c must be a real number"),
    (lambda: check_fraction(None, "c"), r"c must be .*, got None"),
    (lambda: check_fraction(1j, "c"), r"c must be a real number"),
    (lambda: check_positive_int(1.0, "k"), r"k must be an integer, got 1\.0"),
    (lambda: check_positive_int(True, "k"), r"k must be an integer"),
    (lambda: check_loss([["a"]]),
     r"loss must hold numbers, .*one of 'misranking', .*'zero_one' or a 3x3 matrix"),
    (lambda: check_loss([[0, 1], [1]]), r"loss must have rows of one length"),
    # The imaginary part would be lost.
    (lambda: check_loss(ZERO_ONE_LOSS * (1 + 1j)),
     r"Complex data not supported: loss"),
    (lambda: check_loss([["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]]),
     r"loss must hold numbers"),
    (lambda: check_loss(np.array([[0, "1", 1], [1, 0, 1], [1, "1", 0]], object)),
     r"loss must hold numbers"),
    (lambda: check_loss([[0, 10**400, 0]]), r"loss must hold numbers"),
    (lambda: encode_qid({"a", "b"}, 2),
     r"qid must be a list or an array, .* order of the rows, got a set\."),
    (lambda: encode_qid(frozenset({1}), 1),
     r"qid must be a list or an array, .* got a frozenset"),
    (lambda: encode_qid({0: "a", 1: "b"}, 2),
     r"qid must be a list or an array, .* got a dict"),
    (lambda: encode_qid((q for q in "ab"), 2),
     r"qid must be a list or an array, .* got a generator"),
    (lambda: encode_qid([np.array([1, 2]), np.array([1, 2])], 2),
     r"qid must hold hashable values: unhashable type: 'numpy.ndarray'"),
    (lambda: encode_qid([[1], [1]], 2),
     r"qid must hold hashable values: unhashable type: 'list'"),
    (lambda: encode_qid([0, {}], 2),
     r"qid must hold hashable values: unhashable type: 'dict'"),
]
# fmt: on


@pytest.mark.parametrize(("call", "message"), VALUES)
def test_refuses_values(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), TYPES)
def test_refuses_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    "y",
    [
        [2**53, 2**53 + 1],
        [[2**53 + 1], [0]],
        np.array([-(2**63)]),
        pd.Series([2**53, 2**53 + 1], dtype="Int64"),
        pl.Series([2**53, 2**53 + 1]),
    ],
)
def test_refuses_integers_that_floats_would_merge(y):
    with pytest.raises(
        ValueError, match=r"y must not exceed 2\*\*53 .*got -?\d{16,22}\."
    ):
        check_relevance(y)


def test_names_that_are_the_index_of_x_keep_its_order():
    X = pd.DataFrame({"age": [1, 2, 3]}, index=["Bo", "Ann", "Cy"])
    for names in ([*X.index], X.index, X.index.to_numpy(), ["Bo", "Ann", "Di"], "Bo"):
        check_row_order(X, item_id=names)
    for names in (sorted(X.index), X.index[::-1], np.sort([*X.index])):
        with pytest.raises(ValueError, match=r"item_id must name the rows .*=X\.index"):
            check_row_order(X, item_id=names)
    check_row_order(X.reset_index(drop=True), item_id=[2, 1, 0])  # ids of their own
