import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score

from skrank_abstain.metrics import (
    class_acceptance,
    coverage_score,
    selective_accuracy_score,
)

TRUTH = [1, 0, -1, 1, 0, -1]
PREDICTED = [1, 0, 1, 1, 1, -1]
ACCEPTED = [True, True, True, False, True, False]
QID = ["a", "a", "b", "b", "b", "c"]
WEIGHT = [1.0, 2.0, 0.5, 8.0, 3.0, 4.0]
# Accepted: right, right, wrong, -, wrong, -.


def test_accuracy_counts_accepted_pairs():
    assert selective_accuracy_score(TRUTH, PREDICTED, ACCEPTED) == (1 + 1 + 0 + 0) / 4


def test_accuracy_with_weights():
    got = selective_accuracy_score(TRUTH, PREDICTED, ACCEPTED, sample_weight=WEIGHT)
    assert got == (1 + 2) / (1 + 2 + 0.5 + 3)


def test_accuracy_by_query():
    got = selective_accuracy_score(TRUTH, PREDICTED, ACCEPTED, qid=QID, average="query")
    # Query c has no accepted pair and stands aside.
    assert got == ((1 + 1) / 2 + (0 + 0) / 2) / 2


def test_accuracy_by_query_with_weights():
    weight = [1.0, 2.0, 0.5, 8.0, 3.0, 4.0]
    got = selective_accuracy_score(
        TRUTH,
        [1, 1, -1, 1, 1, -1],
        ACCEPTED,
        qid=QID,
        average="query",
        sample_weight=weight,
    )
    assert got == pytest.approx((1 / (1 + 2) + 0.5 / (0.5 + 3)) / 2, rel=1e-15)


def test_coverage():
    assert coverage_score(ACCEPTED) == 4 / 6
    got = coverage_score(ACCEPTED, sample_weight=WEIGHT)
    assert got == (1 + 2 + 0.5 + 3) / (1 + 2 + 0.5 + 8 + 3 + 4)
    got = coverage_score(ACCEPTED, qid=QID, average="query")
    assert got == pytest.approx((2 / 2 + 2 / 3 + 0 / 1) / 3, rel=1e-15)
    got = coverage_score(ACCEPTED, qid=QID, average="query", sample_weight=WEIGHT)
    expected = (3 / 3 + (0.5 + 3) / (0.5 + 8 + 3) + 0 / 4) / 3
    assert got == pytest.approx(expected, rel=1e-15)


def test_queries_of_zero_weight_stand_aside():
    got = coverage_score(
        [True, False, False], qid=[1, 1, 2], average="query", sample_weight=[1, 1, 0]
    )
    assert got == 1 / 2


def test_class_shares():
    np.testing.assert_array_equal(
        class_acceptance(TRUTH, ACCEPTED), [1 / 4, 2 / 4, 1 / 4]
    )
    got = class_acceptance(TRUTH, ACCEPTED, sample_weight=WEIGHT)
    np.testing.assert_allclose(got, np.array([0.5, 2 + 3, 1]) / 6.5, rtol=1e-15)
    np.testing.assert_array_equal(class_acceptance([1], [True]), [0, 0, 1])


labels = st.integers(-1, 1)
rows = st.tuples(labels, labels, st.booleans(), st.integers(0, 3), st.integers(0, 4))


@given(st.lists(rows, min_size=1, max_size=20))
def test_every_average_is_that_of_a_plain_loop(table):
    truth, predicted, accepted, qid, weight = (
        list(c) for c in zip(*table, strict=True)
    )
    whole = [w * a for w, a in zip(weight, accepted, strict=True)]
    right = [w * (t == p) for w, t, p in zip(whole, truth, predicted, strict=True)]
    if sum(whole):
        got = selective_accuracy_score(truth, predicted, accepted, sample_weight=weight)
        assert got == pytest.approx(sum(right) / sum(whole))
        got = selective_accuracy_score(
            truth, predicted, accepted, qid=qid, average="query", sample_weight=weight
        )
        assert got == pytest.approx(reference.ratio_by_query(right, whole, qid))
        shares = class_acceptance(truth, accepted, sample_weight=weight)
        expected = [
            sum(w for w, t in zip(whole, truth, strict=True) if t == label) / sum(whole)
            for label in reference.LABELS
        ]
        np.testing.assert_allclose(shares, expected)
    if sum(weight):
        got = coverage_score(accepted, qid=qid, average="query", sample_weight=weight)
        assert got == pytest.approx(reference.ratio_by_query(whole, weight, qid))


@given(st.lists(rows, min_size=1, max_size=20))
def test_at_full_coverage_it_is_plain_accuracy(table):
    truth, predicted, *_ = (list(c) for c in zip(*table, strict=True))
    got = selective_accuracy_score(truth, predicted, [True] * len(table))
    assert got == pytest.approx(accuracy_score(truth, predicted))
    assert coverage_score([True] * len(table)) == 1


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series])
def test_containers_make_no_difference(container):
    arguments = [container(a) for a in (TRUTH, PREDICTED, ACCEPTED)]
    got = selective_accuracy_score(*arguments, qid=container(QID), average="query")
    assert got == 0.5
    assert coverage_score(container(ACCEPTED)) == 4 / 6
    assert class_acceptance(container(TRUTH), container(ACCEPTED))[1] == 0.5


def test_labels_may_be_floats():
    assert selective_accuracy_score(np.array(TRUTH, float), PREDICTED, ACCEPTED) == 0.5


NONE = np.zeros(2, dtype=bool)
EMPTY = np.zeros(0, dtype=bool)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: selective_accuracy_score([1, 0], [1, 0], NONE), "accuracy"),
        (lambda: selective_accuracy_score([], [], EMPTY), "accuracy"),
        (
            lambda: selective_accuracy_score(
                [1, 0], [1, 0], ~NONE, sample_weight=[0, 0]
            ),
            "accuracy",
        ),
        (
            lambda: selective_accuracy_score(
                [1, 0], [1, 0], NONE, qid=[1, 2], average="query"
            ),
            "accuracy",
        ),
        (lambda: selective_accuracy_score([], [], []), "accuracy"),
        (lambda: coverage_score(EMPTY), "coverage"),
        (lambda: coverage_score([]), "coverage"),
        (lambda: coverage_score([], sample_weight=[], qid=[]), "coverage"),
        (lambda: coverage_score(EMPTY, qid=[], average="query"), "coverage"),
        (lambda: coverage_score(NONE, sample_weight=[0, 0]), "coverage"),
        (lambda: class_acceptance([1, 0], NONE), "class_acceptance"),
        (lambda: class_acceptance([], EMPTY), "class_acceptance"),
        (lambda: class_acceptance([], []), "class_acceptance"),
    ],
)
def test_nan_with_a_warning_where_nothing_counts(call, name):
    message = f"{name} is undefined and set to NaN: no pair counts"
    with pytest.warns(UndefinedMetricWarning, match=message):
        assert np.isnan(call()).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: selective_accuracy_score([1, 0], [1, 0], NONE),
        lambda: coverage_score(EMPTY),
        lambda: class_acceptance([1, 0], NONE),
    ],
)
def test_the_warning_points_at_the_caller(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [w.filename for w in caught] == [__file__]


def test_no_accepted_pair_is_coverage_zero():
    assert coverage_score(NONE) == 0


def accuracy(*arguments, **options):
    return lambda: selective_accuracy_score(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "exception", "message"),
    [
        (
            accuracy([1, 0], [1], [True, True]),
            ValueError,
            "y_pred must have one value per pair: 2 pairs, y_pred has 1",
        ),
        (
            accuracy([1, 0], [1, 0], [True]),
            ValueError,
            "accepted must have one value per pair: 2 pairs, accepted has 1",
        ),
        (
            accuracy([1, 2], [1, 0], [True, True]),
            ValueError,
            "y_true must hold the labels -1, 0 and 1, got",
        ),
        (
            accuracy([1, 0], [1, 0.5], [True, True]),
            ValueError,
            "y_pred must hold the labels -1, 0 and 1, got",
        ),
        (
            accuracy([1, np.nan], [1, 0], [True, True]),
            ValueError,
            "y_true must hold the labels -1, 0 and 1, got .*nan",
        ),
        (
            accuracy(["1", "0"], [1, 0], [True, True]),
            ValueError,
            "y_true must hold the labels -1, 0 and 1",
        ),
        (
            accuracy([[1, 0], [0, 1]], [1, 0], [True, True]),
            ValueError,
            r"y_true must be a 1d array, got shape \(2, 2\)",
        ),
        (
            accuracy([1, 0], [1, 0], [1, 0]),
            TypeError,
            "accepted must be boolean, got dtype int64",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], average="macro"),
            ValueError,
            "average must be one of 'pooled', 'query', got 'macro'",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], average="query"),
            ValueError,
            'qid must be given for average="query", got None',
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], average="query", qid=[1]),
            ValueError,
            "qid must have one value per pair: 2 pairs, qid has 1",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], qid=[1]),
            ValueError,
            "qid must have one value per pair",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], sample_weight=[1]),
            ValueError,
            "sample_weight must have one value per pair: 2 pairs, sample_weight has 1",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], sample_weight=[1, -1]),
            ValueError,
            r"sample_weight must be non-negative, got -1\.0",
        ),
        (
            accuracy([1, 0], [1, 0], [True, True], sample_weight=[1, np.nan]),
            ValueError,
            "sample_weight must be finite, got NaN",
        ),
        (
            lambda: coverage_score([0.5, 1.0]),
            TypeError,
            "accepted must be boolean, got dtype float64",
        ),
        (
            lambda: coverage_score([True], average="query"),
            ValueError,
            'qid must be given for average="query"',
        ),
        (
            lambda: coverage_score([True], sample_weight=[1, 2]),
            ValueError,
            "sample_weight must have one value per pair",
        ),
        (
            lambda: coverage_score([True], qid=[1, 2]),
            ValueError,
            "qid must have one value per pair",
        ),
        (
            lambda: class_acceptance([3], [True]),
            ValueError,
            "y_true must hold the labels",
        ),
        (
            lambda: class_acceptance([1], [True, False]),
            ValueError,
            "accepted must have one value per pair",
        ),
        (
            lambda: class_acceptance([1], ["yes"]),
            TypeError,
            "accepted must be boolean",
        ),
        (
            lambda: class_acceptance([1], [True], sample_weight=[-1]),
            ValueError,
            "sample_weight must be non-negative",
        ),
    ],
)
def test_refuses(call, exception, message):
    with pytest.raises(exception, match=message):
        call()
