"""Scores of pair decisions: shares of pairs, AUC, partial orders, proper scores."""

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from skrank_abstain.metrics import (
    class_acceptance,
    correctness_completeness_score,
    coverage_score,
    pairwise_brier_loss,
    pairwise_log_loss,
    selective_accuracy_score,
    selective_auc_score,
)
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels

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


LABEL = st.integers(-1, 1)
rows = st.tuples(LABEL, LABEL, st.booleans(), st.integers(0, 3), st.integers(0, 4))


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
    with pytest.warns(UndefinedMetricWarning, match=message) as log:
        assert np.isnan(call()).all()
    assert len(log) == 1


def test_no_accepted_pair_is_coverage_zero():
    assert coverage_score(NONE) == 0


GOOD = {
    "y_true": [1, 0],
    "y_pred": [1, 0],
    "accepted": [True, True],
    "proba": [[0, 0, 1], [0, 1, 0]],
}
CHECKED = [
    selective_accuracy_score,
    selective_auc_score,
    correctness_completeness_score,
    coverage_score,
    class_acceptance,
    pairwise_log_loss,
    pairwise_brier_loss,
]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y_pred": [1]}, "y_pred must have one value per pair: 2 pairs, y_pred has 1"),
        ({"y_true": [1, 2]}, "y_true must hold the labels -1, 0 and 1, got"),
        ({"y_pred": [1, 0.5]}, "y_pred must hold the labels -1, 0 and 1, got"),
        ({"y_true": [1, np.nan]}, "y_true must hold the labels -1, 0 and 1, got .*nan"),
        ({"y_true": ["1", "0"]}, "y_true must hold the labels -1, 0 and 1"),
        ({"y_true": np.eye(2)}, r"y_true must be a 1d array, got shape \(2, 2\)"),
        ({"average": "macro"}, "average must be one of 'pooled', 'query', got 'macro'"),
        ({"average": "query"}, "qid must be given for averages .*, got None"),
        ({"qid": [1]}, "qid must have one value per pair: 2 pairs, qid has 1"),
        ({"average": "query", "qid": [1]}, "qid must have one value per pair"),
        ({"sample_weight": [1]}, "sample_weight must have one value per pair: 2 pairs"),
        ({"sample_weight": [1, -1]}, r"sample_weight must be non-negative, got -1\.0"),
        ({"sample_weight": [1, np.nan]}, "sample_weight must be finite, got NaN"),
        ({"accepted": [1, 0]}, "accepted must be boolean, got dtype int64"),
        ({"accepted": [0.5, 1.0]}, "accepted must be boolean, got dtype float64"),
        ({"accepted": ["yes", "no"]}, "accepted must be boolean"),
        (
            {"y_true": [1, 0, 1], "y_pred": [1, 0, 1]},
            "accepted must have one value per pair: 3 pairs, accepted has 2",
        ),
        ({"y_true": [1, 0, 1], "accepted": [True] * 2}, "one value per pair: 3 pairs"),
    ],
)
def test_bad_arguments_are_refused(changed, message):
    error = TypeError if "boolean" in message else ValueError
    for metric in CHECKED:
        names = inspect.signature(metric).parameters
        if changed.keys() <= names.keys():
            arguments = {k: v for k, v in (GOOD | changed).items() if k in names}
            with pytest.raises(error, match=message):
                metric(**arguments)


@st.composite
def cases(draw):
    """Arguments of the metrics, and queries and weights of the pairs."""
    n = draw(st.integers(1, 20))
    rows = st.tuples(*[st.integers(0, 5)] * 3).filter(any)
    columns = {
        "y_true": LABEL,
        "y_pred": LABEL,
        "accepted": st.booleans(),
        "proba": rows,
        "qid": st.integers(0, 3),
        "weight": st.integers(0, 3),
    }
    case = {
        name: np.array(draw(st.lists(values, min_size=n, max_size=n)))
        for name, values in columns.items()
    }
    case["proba"] = case["proba"] / case["proba"].sum(axis=1, keepdims=True)
    case["weight"][0] += 1  # some pair counts
    return case


def score(metric, case, rows=slice(None), **options):
    """Return a metric of some pairs; -1 where it is undefined."""
    names = inspect.signature(metric).parameters
    columns = ("y_true", "y_pred", "accepted", "proba")
    arguments = {name: case[name][rows] for name in columns if name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        found = metric(**arguments, **options)
    return np.nan_to_num(found, nan=-1.0)


RATIOS = [
    metric
    for metric in CHECKED
    if metric not in (correctness_completeness_score, class_acceptance)
]


@pytest.mark.parametrize("metric", RATIOS)
@given(case=cases())
def test_integer_weights_are_copies(metric, case):
    copies = np.repeat(np.arange(case["weight"].size), case["weight"])
    assert score(metric, case, sample_weight=case["weight"]) == pytest.approx(
        score(metric, case, copies), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("metric", RATIOS)
@given(case=cases())
def test_query_average_is_the_mean_of_defined_queries(metric, case):
    qid, weight = case["qid"], case["weight"]
    values = [
        score(metric, case, qid == q, sample_weight=weight[qid == q])
        for q in np.unique(qid)
        if weight[qid == q].any()
    ]
    defined = [value for value in values if value >= 0]
    got = score(metric, case, qid=qid, average="query", sample_weight=weight)
    mean = np.mean(defined) if defined else -1
    assert got == pytest.approx(mean, rel=1e-9, abs=1e-12)


def test_counts_order_one_tie_half_and_wrong_order_nothing():
    truth, predicted = [1, -1, 1, -1, 0, 0], [1, -1, 0, 1, 0, 1]
    accepted = np.ones(6, dtype=bool)
    assert selective_auc_score(truth, predicted, accepted) == (1 + 1 + 0.5 + 0) / 4


def test_abstained_pairs_do_not_count():
    assert selective_auc_score([1, 1], [1, -1], [True, False]) == 1.0
    assert selective_auc_score([1, 1], [1, -1], [False, True]) == 0.0


@given(st.data())
def test_is_roc_auc_for_one_query_of_binary_relevance(data):
    n = data.draw(st.integers(2, 15))
    y = np.array(
        [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))]
    )
    grid = st.integers(-3, 3)  # many equal scores
    scores = np.array(data.draw(st.lists(grid, min_size=y.size, max_size=y.size)))
    left, right = enumerate_pairs(group_queries(None, y.size))
    score = selective_auc_score(
        pair_labels(y, left, right),
        pair_labels(scores, left, right),
        np.ones(left.size, dtype=bool),
    )
    assert score == pytest.approx(roc_auc_score(y, scores), rel=1e-12)


@given(cases())
def test_turning_pairs_around_and_reversing_predictions(case):
    accepted = np.append(case["accepted"], True)
    truth, predicted = (np.append(case[name], 1) for name in ("y_true", "y_pred"))
    sign = np.where(np.append(case["weight"], 0) > 1, -1, 1)
    score = selective_auc_score(truth, predicted, accepted)
    assert selective_auc_score(sign * truth, sign * predicted, accepted) == score
    reverse = selective_auc_score(truth, -predicted, accepted)
    assert reverse == pytest.approx(1 - score, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "accepted"), [([0, 0], [True, True]), ([1, 0], [False, True]), ([], [])]
)
def test_undefined_is_nan_with_a_warning(truth, accepted):
    with pytest.warns(UndefinedMetricWarning, match="selective AUC is undefined"):
        assert np.isnan(selective_auc_score(truth, truth, accepted))


def test_undefined_accuracy_is_nan_too():
    nothing = [False, False]
    assert selective_accuracy_score([1, 0], [1, 1], ~np.array(nothing)) == 0.5
    with pytest.warns(UndefinedMetricWarning, match="accuracy is undefined"):
        assert np.isnan(selective_accuracy_score([1, 0], [1, 1], nothing))


def test_four_items_with_two_pairs_left_open():
    # True order 0 > 1 > 2 > 3, pairs 01 02 12 03 13 23; predicted 01, 02, 21, 03.
    accepted = [True, True, True, True, False, False]
    correctness, completeness = correctness_completeness_score(
        [1] * 6, [1, 1, -1, 1, 1, 1], accepted
    )
    assert correctness == (3 - 1) / (3 + 1)
    assert completeness == (3 + 1) / 6


def test_ties_true_or_predicted_give_no_order():
    assert correctness_completeness_score([0, 1, 1], [1, 0, 1], [True] * 3) == (1, 0.5)


@given(
    st.lists(st.tuples(LABEL, LABEL, st.booleans()), max_size=30).map(
        lambda rows: [*rows, (1, 1, True)]
    )
)
def test_agrees_with_a_loop_and_with_the_auc(rows):
    concordant = sum(t * p > 0 and a for t, p, a in rows)
    discordant = sum(t * p < 0 and a for t, p, a in rows)
    truth, predicted, accepted = (np.array(c) for c in zip(*rows, strict=True))
    correctness, completeness = correctness_completeness_score(
        truth, predicted, accepted
    )
    assert correctness == (concordant - discordant) / (concordant + discordant)
    assert completeness == (concordant + discordant) / np.count_nonzero(truth)
    ordered = accepted & (predicted != 0)
    assert correctness == pytest.approx(
        2 * selective_auc_score(truth, predicted, ordered) - 1, abs=1e-12
    )


def test_each_value_is_undefined_on_its_own():
    with pytest.warns(UndefinedMetricWarning, match="correctness is undef"):
        values = correctness_completeness_score([1, 0], [1, 1], [False, True])
    assert np.isnan(values[0])
    assert values[1] == 0
    with (
        pytest.warns(UndefinedMetricWarning, match="correctness"),
        pytest.warns(UndefinedMetricWarning, match="completeness"),
    ):
        assert np.isnan(correctness_completeness_score([0], [1], [True])).all()
    with (
        pytest.warns(UndefinedMetricWarning, match="correctness"),
        pytest.warns(UndefinedMetricWarning, match="completeness"),
    ):
        assert np.isnan(correctness_completeness_score([], [], [])).all()


LOSSES = [pairwise_log_loss, pairwise_brier_loss]
EPS = np.finfo(np.float64).eps


@pytest.mark.parametrize(
    ("loss", "name"),
    [(pairwise_log_loss, "log_loss"), (pairwise_brier_loss, "brier_sum_over_classes")],
)
@pytest.mark.parametrize("run", [0, 1])
def test_published_example(loss, name, run, oracles):
    case = oracles["baltor_example"]["runs"][run]
    truth = [pair["y"] for pair in case["pairs"]]
    proba = [pair["p"][::-1] for pair in case["pairs"]]
    assert loss(truth, proba) == pytest.approx(case[name], rel=1e-9)


def test_by_hand():
    proba = [[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]]
    assert pairwise_log_loss([1, -1], proba) == pytest.approx(
        -(np.log(0.5) + np.log(0.1)) / 2
    )
    assert pairwise_brier_loss([1, -1], proba) == pytest.approx(
        ((0.2**2 + 0.3**2 + 0.5**2) + (0.9**2 + 0.7**2 + 0.2**2)) / 2
    )


@given(cases())
def test_log_loss_is_that_of_scikit_learn(case):
    truth, proba = case["y_true"], case["proba"]
    expected = log_loss(truth, proba, labels=[-1, 0, 1])
    assert pairwise_log_loss(truth, proba) == pytest.approx(expected, rel=1e-9)


def test_the_impossible_costs_much_but_not_infinitely_much():
    impossible = [[0.5, 0.0, 0.5]]
    assert pairwise_log_loss([0], impossible) == pytest.approx(-np.log(EPS))
    assert pairwise_log_loss([1], [[0, 0, 1]]) == pytest.approx(0, abs=1e-15)
    assert pairwise_brier_loss([1], [[1, 0, 0]]) == 2
    assert pairwise_brier_loss([1], [[0, 0, 1]]) == 0


@pytest.mark.parametrize("loss", LOSSES)
@given(case=cases())
def test_turning_pairs_around_changes_nothing(loss, case):
    truth, proba = case["y_true"], case["proba"]
    assert loss(-truth, proba[:, ::-1]) == pytest.approx(loss(truth, proba), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@given(shares=cases(), forecast=cases())
def test_the_truth_is_the_best_forecast(loss, shares, forecast):
    """Strictly proper: no forecast beats the frequencies of the labels."""
    truth, other = np.array([-1, 0, 1]), forecast["proba"][0]
    share = shares["proba"][0]
    own = loss(truth, np.tile(share, (3, 1)), sample_weight=share)
    assert own <= loss(truth, np.tile(other, (3, 1)), sample_weight=share) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_and_rounded_probabilities_are_taken(loss):
    exact = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    truth = np.random.default_rng(1).integers(-1, 2, 50)
    value = loss(truth, exact)
    assert loss(truth, exact.astype(np.float32)) == pytest.approx(value, rel=1e-5)
    assert loss(truth, exact.round(7)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_pairs_or_no_weight_is_undefined(loss):
    for options in ({}, {"qid": [], "average": "query"}):
        with pytest.warns(UndefinedMetricWarning, match="undefined"):
            assert np.isnan(loss([], np.empty((0, 3)), **options))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(loss([], []))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(loss([1], [[0, 0, 1]], sample_weight=[0]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("proba", "match"),
    [
        ([[0.5, 0.5]], r"shape \(n_pairs, 3\) = \(1, 3\).*got \(1, 2\)"),
        ([0.2, 0.3, 0.5], "shape"),
        ([[0.2, 0.3, 0.5]] * 2, "shape"),
        ([[-0.1, 0.6, 0.5]], "non-negative rows"),
        ([[0.2, 0.3, 0.50001]], "sum to one within 1e-06"),
        ([[np.nan, 0.5, 0.5]], "sum to one"),
        ([[np.inf, 0.5, 0.5]], "sum to one"),
    ],
)
def test_bad_probabilities_are_refused(loss, proba, match):
    with pytest.raises(ValueError, match=match):
        loss([1], proba)
